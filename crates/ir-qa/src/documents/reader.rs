use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io::Read;
use std::path::Path;

use super::error::PdfError;
use super::format::DocumentFormat;
use super::identifiers::set_identifiers;
use super::language::language_of;
use super::paper::Paper;
#[cfg(feature = "pdf")]
use super::pdf::{self, PdfConfig};
use super::xml::Element;
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
/// assert_eq!(file.missing, [MissingPart::Authors, MissingPart::Year]);
/// # Ok::<(), ir_qa::documents::DocumentError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentReader {
    max_bytes: u64,
    #[cfg(feature = "pdf")]
    pdf: Option<PdfConfig>,
}

/// Papers of a file.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ParsedFile {
    /// Format of the file; for XML and JSON, determined by the content.
    pub format: DocumentFormat,
    /// Papers in the order of the file; one, except for JSON and collections in XML.
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
    /// Page numbers of the paragraphs. Only of PDF and TEI: files of other formats need none.
    Pages,
    /// Text of some pages, which are damaged.
    DamagedPages,
    /// Rows of a table beyond the first 200.
    TableRows,
    /// Different ids of the papers: the second paper of an id has `-2` after it, and so on.
    UniqueIds,
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
            #[cfg(feature = "pdf")]
            pdf: None,
        }
    }

    /// Size limit of a file after decompression, in bytes. Default: [`DocumentReader::MAX_BYTES`].
    #[must_use]
    pub fn with_max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Reads PDF, too. Default: PDF is skipped in folders, and otherwise an error.
    #[cfg(feature = "pdf")]
    #[must_use]
    pub fn with_pdf(mut self, config: PdfConfig) -> Self {
        self.pdf = Some(config);
        self
    }

    /// Returns `true` if PDF is read.
    pub(super) fn reads_pdf(&self) -> bool {
        #[cfg(feature = "pdf")]
        return self.pdf.is_some();
        #[cfg(not(feature = "pdf"))]
        false
    }

    /// Reads a file. Its extension decides the format. `id` is the id of its paper.
    ///
    /// # Errors
    /// The extension is unknown, the file cannot be read, is too large, or is not in its format.
    pub fn read_file(&self, path: &Path, id: &str) -> Result<ParsedFile, DocumentError> {
        let name = path.display().to_string();
        let Some(format) = DocumentFormat::from_path(path) else {
            return Err(DocumentError::Format {
                path: name,
                expected: "an extension of text, Markdown, HTML, XML, JSON or PDF",
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
        if format == DocumentFormat::Pdf {
            return self.read_pdf(bytes, path, id);
        }
        if bytes.starts_with(b"%PDF-") {
            return Err(DocumentError::Format {
                path: path.to_owned(),
                expected: format.name(),
                found: "PDF".to_owned(),
            });
        }
        let content = decoding::decode(bytes, format, path)?;
        check_paragraphs(&content, format, path)?;
        let (format, papers) = match format {
            DocumentFormat::Text => (format, vec![text::read(&content, id)]),
            DocumentFormat::Markdown => (format, vec![markdown::read(&content, id)]),
            DocumentFormat::Html => (format, vec![html::read(&content, id)]),
            DocumentFormat::Json
            | DocumentFormat::Squad
            | DocumentFormat::Soco
            | DocumentFormat::S2orc => json::read(&content, path, id)?,
            DocumentFormat::Xml | DocumentFormat::Jats | DocumentFormat::Tei => {
                read_xml(&content, path, id)?
            }
            DocumentFormat::Pdf => return self.read_pdf(bytes, path, id),
        };
        let paragraphs = papers.iter().flat_map(Paper::paragraphs);
        if paragraphs.take(MAX_PARAGRAPHS + 1).count() > MAX_PARAGRAPHS {
            return Err(too_many_paragraphs(path));
        }
        Ok(ParsedFile::new(format, papers, path))
    }

    #[cfg(feature = "pdf")]
    fn read_pdf(&self, bytes: &[u8], path: &str, id: &str) -> Result<ParsedFile, DocumentError> {
        let config = self.pdf.as_ref().ok_or(PdfError::Feature);
        let read = config.and_then(|config| pdf::read(bytes, config, self.max_bytes, id));
        let (paper, is_damaged) = read.map_err(|error| DocumentError::Pdf {
            path: path.to_owned(),
            error,
        })?;
        let mut file = ParsedFile::new(DocumentFormat::Pdf, vec![paper], path);
        if is_damaged {
            file.missing.push(MissingPart::DamagedPages);
        }
        Ok(file)
    }

    #[cfg(not(feature = "pdf"))]
    fn read_pdf(&self, _: &[u8], path: &str, _: &str) -> Result<ParsedFile, DocumentError> {
        Err(DocumentError::Pdf {
            path: path.to_owned(),
            error: PdfError::Feature,
        })
    }
}

/// Reads XML in the format that its root names.
fn read_xml(
    content: &str,
    path: &str,
    id: &str,
) -> Result<(DocumentFormat, Vec<Paper>), DocumentError> {
    let root = xml::parse(content, path)?;
    Ok(match root.name.as_str() {
        "article" => (DocumentFormat::Jats, vec![jats::read(&root, id)]),
        "TEI" => (DocumentFormat::Tei, vec![tei::read(&root, id)]),
        "html" => (DocumentFormat::Html, vec![html::read(content, id)]),
        "pmc-articleset" | "OAI-PMH" | "teiCorpus" => read_collection(&root, path, id)?,
        other => {
            return Err(DocumentError::Format {
                path: path.to_owned(),
                expected: "the root <article>, <pmc-articleset> or <OAI-PMH> (JATS), <TEI>, \
                    <teiCorpus> or <html>",
                found: format!("<{other}>"),
            });
        }
    })
}

/// Reads the papers of a collection: articles of PubMed Central as efetch and OAI-PMH return them,
/// or documents of a TEI corpus. The id of a paper is the id of the file, `#` and its DOI, its id
/// in PubMed Central, or its number from 1.
fn read_collection(
    root: &Element,
    path: &str,
    id: &str,
) -> Result<(DocumentFormat, Vec<Paper>), DocumentError> {
    let documents = root.descendants_of(&["article", "TEI"]);
    if documents.is_empty() {
        let error = root.descendants("error").first().map(|error| error.text());
        return Err(DocumentError::Format {
            path: path.to_owned(),
            expected: "an <article> or <TEI>",
            found: match error.filter(|text| !text.is_empty()) {
                Some(error) => format!("<{}> with the error {error:?}", root.name),
                None => format!("<{}> without any", root.name),
            },
        });
    }
    let mut format = DocumentFormat::Tei;
    let papers = (1..).zip(documents).map(|(number, document): (u64, _)| {
        let mut paper = if document.name == "TEI" {
            tei::read(document, "")
        } else {
            format = DocumentFormat::Jats;
            jats::read(document, "")
        };
        let ids = ["doi", "pmcid", "pmc"].iter();
        let mut ids = ids.filter_map(|key| paper.metadata.text(key));
        let own = ids.find(|own| !own.is_empty()).map(str::to_owned);
        paper.id = format!("{id}#{}", own.unwrap_or_else(|| number.to_string()));
        paper
    });
    let papers = papers.collect();
    Ok((format, papers))
}

/// Maximum number of paragraphs of a file. A frame of a short one has several hundred bytes, most
/// of them context.
const MAX_PARAGRAPHS: usize = 1_000_000;

/// Rejects text with tags or lines for far more paragraphs than permitted before it is parsed.
fn check_paragraphs(text: &str, format: DocumentFormat, path: &str) -> Result<(), DocumentError> {
    let separator = match format {
        DocumentFormat::Html => b'<',
        DocumentFormat::Text | DocumentFormat::Markdown => b'\n',
        _ => return Ok(()),
    };
    let count = text.bytes().filter(|&byte| byte == separator).count();
    if count > 3 * MAX_PARAGRAPHS {
        Err(too_many_paragraphs(path))
    } else {
        Ok(())
    }
}

fn too_many_paragraphs(path: &str) -> DocumentError {
    DocumentError::Paragraphs {
        path: path.to_owned(),
        limit: MAX_PARAGRAPHS,
    }
}

impl ParsedFile {
    fn new(format: DocumentFormat, mut papers: Vec<Paper>, path: &str) -> Self {
        if !format.is_json() {
            for paper in &mut papers {
                paper.remove_invisible_characters();
                paper.split_acknowledgments();
                set_identifiers(paper, format);
                if let Some(language) = language_of(paper) {
                    paper.metadata.set("language", language);
                }
            }
        }
        let mut missing = missing_parts(&papers, format);
        if number_repeated_ids(&mut papers) {
            missing.push(MissingPart::UniqueIds);
        }
        for paper in &mut papers {
            if paper.title.is_empty() {
                paper.title = stem(path).to_owned();
            }
        }
        Self {
            format,
            papers,
            missing,
        }
    }
}

/// Appends a number to the ids of papers that an earlier one has. Returns whether there are any.
fn number_repeated_ids(papers: &mut [Paper]) -> bool {
    let mut used: HashSet<String> = papers.iter().map(|paper| paper.id.clone()).collect();
    if used.len() == papers.len() {
        return false;
    }
    let mut seen: HashMap<String, usize> = HashMap::new();
    for paper in papers {
        let count = seen.entry(paper.id.clone()).or_insert(0);
        *count += 1;
        while *count > 1 {
            let id = format!("{}-{count}", paper.id);
            if used.insert(id.clone()) {
                paper.id = id;
                break;
            }
            *count += 1;
        }
    }
    true
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

fn missing_parts(papers: &[Paper], format: DocumentFormat) -> Vec<MissingPart> {
    let any = |has: fn(&Paper) -> bool| papers.iter().any(has);
    let has_page = |p: &Paper| {
        let paragraphs = p.paragraphs().any(|paragraph| paragraph.page.is_some());
        paragraphs || p.sections.iter().any(|section| section.page.is_some())
    };
    let parts = [
        (
            MissingPart::Text,
            any(|p| p.paragraphs().next().is_some() || !p.faq.is_empty()),
        ),
        (MissingPart::Title, any(|p| !p.title.is_empty())),
        (MissingPart::Authors, any(|p| !p.authors.is_empty())),
        (MissingPart::Year, any(|p| p.year.is_some())),
        (
            MissingPart::Sections,
            any(|p| p.sections.iter().any(|s| !s.heading.is_empty())),
        ),
        (MissingPart::Pages, any(has_page) || !format.has_pages()),
        (
            MissingPart::TableRows,
            papers.iter().all(|paper| paper.omitted_rows == 0),
        ),
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
            Self::DamagedPages => "text of damaged pages",
            Self::TableRows => "rows of a table beyond the first 200",
            Self::UniqueIds => "unique ids",
        }
    }
}

impl fmt::Display for MissingPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
