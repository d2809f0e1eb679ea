//! Citations of papers and of quoted sentences: BibTeX, RIS, one line of text.
//!
//! The fields of a citation are the attributes of a document: `title` or `doc_title`, `authors`,
//! `year`, `venue`, `doi` and `arxiv`.

mod bibtex;
mod names;
mod ris;

use std::collections::HashMap;
use std::fmt;

use ir_core::{AttributeValue, Attributes};

pub use bibtex::bibtex;
pub use ris::ris;

use crate::frame::Frame;
use names::PersonName;

/// Fields of a paper for a bibliography, and sentences that are quoted from it.
///
/// ```
/// use ir_core::Attributes;
/// use ir_qa::citation::{Citation, bibtex};
/// let mut paper = Attributes::new();
/// paper.set("title", "Weak Labels & Birds");
/// paper.set("authors", vec!["Rosa Ibarra", "Chike Obi"]);
/// paper.set("year", 2018_i64);
/// paper.set("doi", "https://doi.org/10.1000/xyz_123");
/// let citation = Citation::from_attributes("birds.xml", &paper);
/// assert_eq!(citation.short(), "Ibarra and Obi (2018)");
/// assert_eq!(
///     bibtex(&[citation]),
///     "@misc{ibarra2018weak,\n  author = {Ibarra, Rosa and Obi, Chike},\n  \
///      title = {Weak Labels \\& Birds},\n  year = {2018},\n  \
///      doi = {10.1000/xyz_123},\n  url = {https://doi.org/10.1000/xyz_123}\n}\n"
/// );
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Citation {
    /// Title, or the id of the document if it has none.
    pub title: String,
    /// Names of the authors.
    pub authors: Vec<String>,
    /// Year of publication, if known.
    pub year: Option<i64>,
    /// Journal or conference, if known.
    pub venue: Option<String>,
    /// DOI without resolver and scheme, such as `10.1000/182`, if known.
    pub doi: Option<String>,
    /// arXiv id without scheme, such as `1706.03762`, if known.
    pub arxiv: Option<String>,
    /// Sentences that are quoted, in their order.
    pub quotes: Vec<Quote>,
}

/// Sentence that is quoted from a paper.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Quote {
    /// Text of the sentence.
    pub text: String,
    /// Page from 1, if known.
    pub page: Option<u32>,
}

/// Citations of the papers of answers, in the order of their first answers, with the answers as
/// quotes.
///
/// ```
/// use ir_qa::citation::cite_answers;
/// use ir_qa::{ChunkKind, Frame};
/// let frame = |id: &str, paper: &str, text: &str| {
///     Frame::new(id, paper, ChunkKind::Content, text, 0, text)
/// };
/// let frames = [
///     frame("a/1", "a", "Tea grows.")?,
///     frame("b/1", "b", "Cups hold tea.")?,
///     frame("a/2", "a", "Tea is drunk.")?,
/// ];
/// let cited = cite_answers(&frames);
/// assert_eq!(cited.len(), 2);
/// assert_eq!(cited[0].quotes[1].text, "Tea is drunk.");
/// # Ok::<(), ir_qa::FrameError>(())
/// ```
#[must_use]
pub fn cite_answers<'a>(answers: impl IntoIterator<Item = &'a Frame>) -> Vec<Citation> {
    let mut positions: HashMap<&str, usize> = HashMap::new();
    let mut citations: Vec<Citation> = Vec::new();
    for frame in answers {
        let position = *positions.entry(&frame.paper).or_insert_with(|| {
            citations.push(Citation::from_attributes(&frame.paper, &frame.metadata));
            citations.len() - 1
        });
        citations[position].push_quote(&frame.answer, frame.page);
    }
    citations
}

/// Kind of the venue of a paper, which decides the type of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum VenueKind {
    Journal,
    Conference,
    Unknown,
}

impl Citation {
    /// Citation of a document with these attributes. `id` is its title if it has none.
    #[must_use]
    pub fn from_attributes(id: &str, attributes: &Attributes) -> Self {
        let text = |name| {
            let text = attributes.text(name).map(single_line);
            text.filter(|text| !text.is_empty())
        };
        let authors = match attributes.get("authors") {
            Some(AttributeValue::Text(author)) => vec![single_line(author)],
            Some(AttributeValue::List(names)) => {
                let names = names.iter().filter_map(|name| match name {
                    AttributeValue::Text(name) => Some(single_line(name)),
                    _ => None,
                });
                names.collect()
            }
            _ => Vec::new(),
        };
        Self {
            title: text("title")
                .or_else(|| text("doc_title"))
                .unwrap_or_else(|| single_line(id)),
            authors: authors.into_iter().filter(|it| !it.is_empty()).collect(),
            year: attributes.year(),
            venue: text("venue"),
            doi: text("doi").and_then(|text| doi_of(&text)),
            arxiv: text("arxiv").and_then(|text| arxiv_of(&text)),
            quotes: Vec::new(),
        }
    }

    /// Adds a quoted sentence.
    #[must_use]
    pub fn with_quote(mut self, text: &str, page: Option<u32>) -> Self {
        self.push_quote(text, page);
        self
    }

    /// Adds a quoted sentence.
    pub fn push_quote(&mut self, text: &str, page: Option<u32>) {
        let text = single_line(text);
        self.quotes.push(Quote { text, page });
    }

    /// Address of the paper: the resolver of its DOI, or else its page at arXiv.
    ///
    /// ```
    /// use ir_core::Attributes;
    /// use ir_qa::citation::Citation;
    /// let mut paper = Attributes::new();
    /// paper.set("arxiv", "arXiv:1706.03762v7");
    /// let url = Citation::from_attributes("p", &paper).url();
    /// assert_eq!(url.as_deref(), Some("https://arxiv.org/abs/1706.03762v7"));
    /// ```
    #[must_use]
    pub fn url(&self) -> Option<String> {
        match (&self.doi, &self.arxiv) {
            (Some(doi), _) => Some(format!("https://doi.org/{}", url_path(doi))),
            (None, Some(id)) => Some(format!("https://arxiv.org/abs/{}", url_path(id))),
            (None, None) => None,
        }
    }

    /// Family names and year, as in a running text: `Ibarra et al. (2018)`. The title replaces
    /// unknown authors.
    #[must_use]
    pub fn short(&self) -> String {
        let mut text = self.author_text().unwrap_or_else(|| self.title.clone());
        if let Some(year) = self.year {
            text += &format!(" ({year})");
        }
        text
    }

    /// The quoted sentences, each with its page, and the reference in a line below.
    ///
    /// ```
    /// use ir_core::Attributes;
    /// use ir_qa::citation::Citation;
    /// let mut paper = Attributes::new();
    /// paper.set("title", "On Tea");
    /// let citation = Citation::from_attributes("p", &paper).with_quote("Tea grows.", Some(2));
    /// assert_eq!(citation.quotation(), "“Tea grows.” (page 2)\nOn Tea.");
    /// ```
    #[must_use]
    pub fn quotation(&self) -> String {
        let quotes = self.quotes.iter().map(Quote::marked);
        let lines: Vec<String> = quotes.chain([self.to_string()]).collect();
        lines.join("\n")
    }

    /// Family names of the authors.
    #[must_use]
    pub fn family_names(&self) -> Vec<String> {
        let authors = self.authors.iter();
        authors.map(|name| PersonName::parse(name).family).collect()
    }

    /// Family names of at most two authors, or of the first one with `et al.`
    fn author_text(&self) -> Option<String> {
        let names = self.family_names();
        Some(match names.as_slice() {
            [] => return None,
            [one] => one.clone(),
            [first, second] => format!("{first} and {second}"),
            [first, ..] => format!("{first} et al."),
        })
    }

    fn venue_kind(&self) -> VenueKind {
        const CONFERENCES: [&str; 5] = [
            "proceedings",
            "conference",
            "workshop",
            "symposium",
            "meeting",
        ];
        match &self.venue {
            None => VenueKind::Unknown,
            Some(venue) => {
                let venue = venue.to_lowercase();
                // The journal of a society may be named after its proceedings.
                let is_journal = ["national academy", "royal society"]
                    .iter()
                    .any(|society| venue.starts_with(&format!("proceedings of the {society}")));
                if !is_journal && CONFERENCES.iter().any(|word| venue.contains(word)) {
                    VenueKind::Conference
                } else {
                    VenueKind::Journal
                }
            }
        }
    }
}

/// Reference in one line: authors, year, title, venue, address.
///
/// ```
/// use ir_core::Attributes;
/// use ir_qa::citation::Citation;
/// let mut paper = Attributes::new();
/// paper.set("title", "Is It Night?");
/// paper.set("authors", vec!["Sven Aalto"]);
/// paper.set("venue", "Harbor Imaging");
/// let line = Citation::from_attributes("p", &paper).to_string();
/// assert_eq!(line, "Aalto. Is It Night? Harbor Imaging.");
/// ```
impl fmt::Display for Citation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.authors.is_empty() {
            write!(f, "{} ", sentence(&self.short()))?;
        }
        f.write_str(&sentence(&self.title))?;
        if let Some(venue) = &self.venue {
            write!(f, " {}", sentence(venue))?;
        }
        if let (true, Some(year)) = (self.authors.is_empty(), self.year) {
            write!(f, " {year}.")?;
        }
        match self.url() {
            Some(url) => write!(f, " {url}"),
            None => Ok(()),
        }
    }
}

impl Quote {
    /// The sentence in quotation marks, with its page.
    fn marked(&self) -> String {
        match self.page {
            Some(page) => format!("“{}” (page {page})", self.text),
            None => format!("“{}”", self.text),
        }
    }
}

/// Text with a period unless it ends with punctuation.
fn sentence(text: &str) -> String {
    if text.ends_with(['.', '?', '!', '。', '？', '！']) {
        text.to_owned()
    } else {
        format!("{text}.")
    }
}

/// Text in one line, without control characters.
fn single_line(text: &str) -> String {
    let visible: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    visible.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The DOI of a text such as `doi:10.1000/182` or `https://doi.org/10.1000/182`.
fn doi_of(text: &str) -> Option<String> {
    let start = text.find("10.")?;
    let before = text[..start].trim_end();
    let is_prefix = before.is_empty() || before.ends_with([':', '/']);
    let doi = &text[start..];
    let (registrant, name) = doi.split_once('/')?;
    let is_registrant = registrant[3..].len() >= 4
        && registrant[3..]
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.');
    (is_prefix && is_registrant && !name.is_empty() && !doi.contains(char::is_whitespace))
        .then(|| doi.to_owned())
}

/// The arXiv id of a text such as `arXiv:1706.03762` or `https://arxiv.org/abs/1706.03762`.
fn arxiv_of(text: &str) -> Option<String> {
    // The class may follow: `1606.05250v3 [cs.CL]`.
    let text = text.split('[').next().unwrap_or_default().trim();
    let mut id = text.strip_suffix(".pdf").unwrap_or(text);
    for prefix in [
        "https://",
        "http://",
        "www.",
        "export.",
        "arxiv.org/abs/",
        "arxiv.org/pdf/",
        "arxiv:",
    ] {
        if let Some(start) = id.get(..prefix.len())
            && start.eq_ignore_ascii_case(prefix)
        {
            id = id[prefix.len()..].trim_start();
        }
    }
    let is_id = !id.is_empty()
        && id.contains(|c: char| c.is_ascii_digit())
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"./-".contains(&byte));
    is_id.then(|| id.to_owned())
}

/// Path of a URL: characters that end a URL, or that BibTeX or HTML may misread, are
/// percent-encoded.
fn url_path(text: &str) -> String {
    let mut path = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii_alphanumeric() || "-._~/:;()".contains(c) {
            path.push(c);
        } else {
            for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                path += &format!("%{byte:02X}");
            }
        }
    }
    path
}

#[cfg(test)]
mod tests;
