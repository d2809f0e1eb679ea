use std::fmt;
use std::path::Path;

/// Format of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum DocumentFormat {
    /// Plain text; pages are separated by form feeds.
    Text,
    /// Markdown (CommonMark), possibly with a metadata block.
    Markdown,
    /// HTML page, such as arXiv's.
    Html,
    /// XML; JATS, TEI or HTML by its root.
    Xml,
    /// JATS article, as in PubMed Central, or several in `pmc-articleset` or `OAI-PMH`.
    Jats,
    /// TEI document, as GROBID writes it, or several in `teiCorpus`.
    Tei,
    /// JSON; SQuAD, SOCO or S2ORC by its content.
    Json,
    /// SQuAD 1.1: every article is a paper.
    Squad,
    /// Records of SOCO: documents (`soco_doc`) and questions with answers (`soco_faq`).
    Soco,
    /// Parsed papers of S2ORC, as JSON lines or one object.
    S2orc,
    /// PDF (feature `pdf`).
    Pdf,
}

impl DocumentFormat {
    /// Format by the extension of a file, without `.gz` and `.zst`. [`DocumentFormat::Xml`] stands
    /// for JATS and TEI,
    /// [`DocumentFormat::Json`] for SQuAD, SOCO and S2ORC.
    ///
    /// ```
    /// use ir_qa::documents::DocumentFormat;
    /// assert_eq!(DocumentFormat::from_path("a/b.md.gz"), Some(DocumentFormat::Markdown));
    /// assert_eq!(DocumentFormat::from_path("a/b.docx"), None);
    /// ```
    #[must_use]
    pub fn from_path(path: impl AsRef<Path>) -> Option<Self> {
        let name = path.as_ref().file_name()?.to_string_lossy().to_lowercase();
        let name = [".gz", ".zst"]
            .iter()
            .find_map(|end| name.strip_suffix(end))
            .unwrap_or(&name);
        let (_, extension) = name.rsplit_once('.')?;
        Some(match extension {
            "txt" | "text" => Self::Text,
            "md" | "markdown" => Self::Markdown,
            "html" | "htm" | "xhtml" => Self::Html,
            "xml" | "nxml" | "jats" | "tei" => Self::Xml,
            "json" | "jsonl" => Self::Json,
            "pdf" => Self::Pdf,
            _ => return None,
        })
    }

    /// Returns `true` if files of the format usually have page numbers.
    pub(super) fn has_pages(self) -> bool {
        matches!(self, Self::Pdf | Self::Tei)
    }

    /// Returns `true` if the format is JSON. Answers in it are verbatim in their text.
    pub(super) fn is_json(self) -> bool {
        matches!(self, Self::Json | Self::Squad | Self::Soco | Self::S2orc)
    }

    /// Name of the format in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "plain text",
            Self::Markdown => "Markdown",
            Self::Html => "HTML",
            Self::Xml => "XML",
            Self::Jats => "JATS",
            Self::Tei => "TEI",
            Self::Json => "JSON",
            Self::Squad => "SQuAD",
            Self::Soco => "SOCO",
            Self::S2orc => "S2ORC",
            Self::Pdf => "PDF",
        }
    }
}

impl fmt::Display for DocumentFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
