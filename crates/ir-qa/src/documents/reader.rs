use std::fmt;
use std::io::Read;
use std::path::Path;

use super::format::DocumentFormat;
use super::paper::Paper;
use super::{DocumentError, decoding, html, jats, json, markdown, tei, text, xml};

/// Reader of papers in any of the formats of this module.
///
/// ```
/// use ir_qa::documents::{DocumentFormat, DocumentReader, MissingPart};
/// let text = "# On tea\n\n## Origin\n\nTea comes from Asia.";
/// let reader = DocumentReader::default();
/// let file = reader.read_bytes(text.as_bytes(), DocumentFormat::Markdown, "tea.md", "tea.md")?;
/// let paper = &file.papers[0];
/// assert_eq!((paper.id.as_str(), paper.title.as_str()), ("tea.md", "On tea"));
/// assert_eq!(paper.sections[0].heading, "Origin");
/// assert_eq!(file.missing, [MissingPart::Authors, MissingPart::Year, MissingPart::Pages]);
/// # Ok::<(), ir_qa::documents::DocumentError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentReader {
    max_bytes: u64,
}

/// Papers of a file.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ParsedFile {
    /// Format of the file, that of the content for XML and JSON.
    pub format: DocumentFormat,
    /// Papers in the order of the file; one, except for JSON.
    pub papers: Vec<Paper>,
    /// Parts that no paper of the file has.
    pub missing: Vec<MissingPart>,
}

/// Part of a paper that a file does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum MissingPart {
    /// Text. The file has no frames but the title.
    Text,
    /// Title. The name of the file stands in.
    Title,
    /// Names of the authors.
    Authors,
    /// Year of the publication.
    Year,
    /// Headings of the sections.
    Sections,
    /// Page numbers of the paragraphs.
    Pages,
}

impl Default for DocumentReader {
    fn default() -> Self {
        Self::new()
    }
}

impl DocumentReader {
    /// Default size limit of a file after decompression in bytes: 64 MiB.
    pub const MAX_BYTES: u64 = 64 << 20;

    /// Creates a reader with the default limit.
    #[must_use]
    pub fn new() -> Self {
        Self {
            max_bytes: Self::MAX_BYTES,
        }
    }

    /// Size limit of a file after decompression, in bytes. Default: [`DocumentReader::MAX_BYTES`].
    #[must_use]
    pub fn with_max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Reads a file, whose format is that of its extension. `id` is the id of its paper.
    ///
    /// # Errors
    /// The extension is unknown, the file cannot be read, is too large, or is not in its format.
    pub fn read_file(&self, path: &Path, id: &str) -> Result<ParsedFile, DocumentError> {
        let name = path.display().to_string();
        let Some(format) = DocumentFormat::of_path(path) else {
            return Err(DocumentError::Format {
                path: name,
                expected: "an extension of text, Markdown, HTML, XML or JSON",
                found: path
                    .extension()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned(),
            });
        };
        let mut bytes = Vec::new();
        let file = ir_data::open(path)?;
        let read = file
            .take(self.max_bytes.saturating_add(1))
            .read_to_end(&mut bytes);
        if let Err(source) = read {
            return Err(ir_data::DataError::Read { path: name, source }.into());
        }
        self.read_bytes(&bytes, format, &name, id)
    }

    /// Parses the content of a file. `path` names it in errors, `id` is the id of its paper.
    ///
    /// # Errors
    /// The content is too large, or is not in its format.
    pub fn read_bytes(
        &self,
        bytes: &[u8],
        format: DocumentFormat,
        path: &str,
        id: &str,
    ) -> Result<ParsedFile, DocumentError> {
        if bytes.len() as u64 > self.max_bytes {
            return Err(DocumentError::TooLarge {
                path: path.to_owned(),
                limit: self.max_bytes,
            });
        }
        if bytes.starts_with(b"%PDF-") {
            return Err(DocumentError::Format {
                path: path.to_owned(),
                expected: format.name(),
                found: "PDF".to_owned(),
            });
        }
        let content = decoding::decode(bytes, format, path)?;
        let (format, mut papers) = match format {
            DocumentFormat::Text => (format, vec![text::read(&content, id)]),
            DocumentFormat::Markdown => (format, vec![markdown::read(&content, id)]),
            DocumentFormat::Html => (format, vec![html::read(&content, id)]),
            DocumentFormat::Json
            | DocumentFormat::Squad
            | DocumentFormat::Soco
            | DocumentFormat::S2orc => json::read(&content, path, id)?,
            DocumentFormat::Xml | DocumentFormat::Jats | DocumentFormat::Tei => {
                let root = xml::parse(&content, path)?;
                match root.name.as_str() {
                    "article" => (DocumentFormat::Jats, vec![jats::read(&root, id)]),
                    "TEI" => (DocumentFormat::Tei, vec![tei::read(&root, id)]),
                    "html" => (DocumentFormat::Html, vec![html::read(&content, id)]),
                    other => {
                        return Err(DocumentError::Format {
                            path: path.to_owned(),
                            expected: "the root <article> (JATS), <TEI> or <html>",
                            found: format!("<{other}>"),
                        });
                    }
                }
            }
        };
        let missing = missing_parts(&papers);
        for paper in &mut papers {
            if paper.title.is_empty() {
                paper.title = stem(path).to_owned();
            }
        }
        Ok(ParsedFile {
            format,
            papers,
            missing,
        })
    }
}

/// Name of a file without folders and extensions.
fn stem(path: &str) -> &str {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let name = [".gz", ".zst"]
        .iter()
        .find_map(|end| name.strip_suffix(end))
        .unwrap_or(name);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

fn missing_parts(papers: &[Paper]) -> Vec<MissingPart> {
    let any = |has: fn(&Paper) -> bool| papers.iter().any(has);
    let has_page = |p: &Paper| {
        let paragraphs = p.paragraphs().any(|paragraph| paragraph.page.is_some());
        paragraphs || p.sections.iter().any(|section| section.page.is_some())
    };
    let parts = [
        (MissingPart::Text, any(|p| p.paragraphs().next().is_some())),
        (MissingPart::Title, any(|p| !p.title.is_empty())),
        (MissingPart::Authors, any(|p| !p.authors.is_empty())),
        (MissingPart::Year, any(|p| p.year.is_some())),
        (
            MissingPart::Sections,
            any(|p| p.sections.iter().any(|s| !s.heading.is_empty())),
        ),
        (MissingPart::Pages, any(has_page)),
    ];
    parts
        .into_iter()
        .filter(|(_, has)| !has)
        .map(|(part, _)| part)
        .collect()
}

impl MissingPart {
    /// Name of the part in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Title => "title",
            Self::Authors => "authors",
            Self::Year => "year",
            Self::Sections => "sections",
            Self::Pages => "pages",
        }
    }
}

impl fmt::Display for MissingPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
