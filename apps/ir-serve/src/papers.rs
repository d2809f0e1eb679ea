//! Published papers: lists and citations.

use std::collections::{BTreeSet, HashMap};

use ir_qa::citation::{Citation, bibtex, ris};
use ir_qa::{ChunkKind, Frame};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::error::ServiceError;
use crate::published::{PublishedDocument, PublishedState};
use crate::service::PaperTags;

/// Field that a list of papers is sorted by. Papers without the field are last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PaperOrder {
    /// Title, or the id of the document, ignoring case.
    #[default]
    Title,
    /// Family name of the first author, ignoring case.
    Authors,
    /// Journal or conference, ignoring case.
    Venue,
    /// Year of publication, the earliest first.
    Year,
    /// Number of answer sentences.
    Answers,
    /// First tag in the order of the characters, ignoring case.
    Tags,
}

/// Published paper in a list.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PaperRecord {
    /// Id of the document.
    doc_id: String,
    /// Title, or the id if there is none.
    title: String,
    /// Names of the authors.
    authors: Vec<String>,
    /// Year of publication, if known.
    year: Option<i64>,
    /// Journal or conference, if known.
    venue: Option<String>,
    /// DOI without resolver, if known.
    doi: Option<String>,
    /// arXiv id, if known.
    arxiv: Option<String>,
    /// Address of the paper by its DOI or arXiv id, if known.
    url: Option<String>,
    /// Number of answer sentences.
    answers: usize,
    /// Tags that users gave the paper, and the field `tags` of the document.
    tags: BTreeSet<String>,
}

/// Papers of a list, and their order.
#[derive(Debug, Clone, Default)]
pub(crate) struct PaperSelection {
    pub(crate) order: PaperOrder,
    pub(crate) is_descending: bool,
    /// Words that titles contain.
    pub(crate) words: String,
    /// Tag of the papers; empty for all papers.
    pub(crate) tag: String,
}

/// Format of a list of citations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CitationFormat {
    /// Entries of BibTeX, for LaTeX.
    #[default]
    Bibtex,
    /// Records of RIS, for reference managers.
    Ris,
}

impl PaperOrder {
    pub(crate) const ALL: [Self; 6] = [
        Self::Title,
        Self::Authors,
        Self::Venue,
        Self::Year,
        Self::Answers,
        Self::Tags,
    ];

    /// Name in requests and URLs.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Authors => "authors",
            Self::Venue => "venue",
            Self::Year => "year",
            Self::Answers => "answers",
            Self::Tags => "tags",
        }
    }

    /// The order with a name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|order| order.name() == name)
    }

    fn key(self, paper: &PublishedDocument, tags: &PaperTags) -> Option<OrderKey> {
        let citation = || paper.citation();
        let text = |text: String| OrderKey::Text(text.to_lowercase());
        match self {
            Self::Title => Some(text(paper.title().to_owned())),
            Self::Authors => citation().family_names().into_iter().next().map(text),
            Self::Venue => citation().venue.map(text),
            Self::Year => paper.meta.year().map(OrderKey::Number),
            Self::Answers => i64::try_from(paper.answers.len())
                .ok()
                .map(OrderKey::Number),
            Self::Tags => tags.tags(paper).into_iter().map(text).min(),
        }
    }
}

/// Value that papers are sorted by. The values of an order have one variant.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum OrderKey {
    Number(i64),
    Text(String),
}

impl CitationFormat {
    /// Entries in the format.
    pub(crate) fn write(self, citations: &[Citation]) -> String {
        match self {
            Self::Bibtex => bibtex(citations),
            Self::Ris => ris(citations),
        }
    }
}

impl PublishedDocument {
    /// Citation of the document, with its title on pages.
    pub(crate) fn citation(&self) -> Citation {
        let mut citation = Citation::from_attributes(&self.id, &self.meta);
        self.title().clone_into(&mut citation.title);
        citation
    }

    /// The last heading above a chunk.
    pub(crate) fn section(&self, chunk: usize) -> Option<&str> {
        let above = self.chunks.get(..chunk)?;
        let is_heading = |chunk: &&ir_qa::Chunk| chunk.kind == ChunkKind::Section;
        above.iter().rev().find(is_heading)?.text.as_deref()
    }
}

impl PaperRecord {
    pub(crate) fn new(paper: &PublishedDocument, tags: &PaperTags) -> Self {
        let citation = paper.citation();
        Self {
            doc_id: paper.id.clone(),
            url: citation.url(),
            title: citation.title,
            authors: citation.authors,
            year: citation.year,
            venue: citation.venue,
            doi: citation.doi,
            arxiv: citation.arxiv,
            answers: paper.answers.len(),
            tags: tags.tags(paper),
        }
    }

    /// Names of [`PaperRecord::fields`].
    pub(crate) const COLUMNS: [&'static str; 10] = [
        "doc_id", "title", "authors", "year", "venue", "doi", "arxiv", "url", "answers", "tags",
    ];

    /// Fields of a line of a file; unknown ones are empty.
    pub(crate) fn fields(self) -> [String; 10] {
        let tags: Vec<String> = self.tags.into_iter().collect();
        [
            self.doc_id,
            self.title,
            self.authors.join("; "),
            self.year.map_or_else(String::new, |year| year.to_string()),
            self.venue.unwrap_or_default(),
            self.doi.unwrap_or_default(),
            self.arxiv.unwrap_or_default(),
            self.url.unwrap_or_default(),
            self.answers.to_string(),
            tags.join("; "),
        ]
    }
}

/// Returns `true` if a title contains all words, as parts of its words and in any case.
pub(crate) fn has_title_words(title: &str, words: &str) -> bool {
    let title = title.to_lowercase();
    let mut words = words.split_whitespace().map(str::to_lowercase);
    words.all(|word| title.contains(&word))
}

/// Papers of a selection, sorted by its field, then by id.
pub(crate) fn sorted_papers<'a>(
    state: &'a PublishedState,
    tags: &PaperTags,
    selection: &PaperSelection,
) -> Vec<&'a PublishedDocument> {
    let (words, tag) = (&selection.words, &selection.tag);
    let papers = state.documents().iter();
    let papers = papers.filter(|paper| {
        let has_tag = tag.is_empty() || tags.tags(paper).contains(tag);
        has_tag && has_title_words(paper.title(), words)
    });
    let mut keyed: Vec<_> = papers
        .map(|paper| (selection.order.key(paper, tags), paper))
        .collect();
    keyed.sort_by(|(a, first), (b, second)| {
        let by_key = match (a, b) {
            (Some(a), Some(b)) if selection.is_descending => b.cmp(a),
            (Some(a), Some(b)) => a.cmp(b),
            (a, b) => a.is_none().cmp(&b.is_none()),
        };
        by_key.then_with(|| first.id.cmp(&second.id))
    });
    keyed.into_iter().map(|(_, paper)| paper).collect()
}

/// Citations of papers by their ids, then of the papers of answers by the ids of the answers, with
/// the answers as quotes. A paper is cited once. Without ids, all papers are cited.
///
/// # Errors
/// Returns [`ServiceError::NoDocument`] and [`ServiceError::NoAnswer`] for unknown ids.
pub(crate) fn citations(
    state: &PublishedState,
    papers: &[String],
    answers: &[String],
) -> Result<Vec<Citation>, ServiceError> {
    if papers.is_empty() && answers.is_empty() {
        let all = state.documents().iter();
        return Ok(all.map(PublishedDocument::citation).collect());
    }
    let (mut citations, mut positions) = (Vec::new(), HashMap::new());
    let mut cite = |id: &str, answer: Option<&Frame>| -> Result<(), ServiceError> {
        let paper = state.document(id);
        let paper = paper.ok_or_else(|| ServiceError::NoDocument { id: id.to_owned() })?;
        let position = *positions.entry(id.to_owned()).or_insert_with(|| {
            citations.push(paper.citation());
            citations.len() - 1
        });
        if let (Some(answer), Some(citation)) = (answer, citations.get_mut(position)) {
            citation.push_quote(&answer.answer, answer.page);
        }
        Ok(())
    };
    for id in papers {
        cite(id, None)?;
    }
    for id in answers {
        let answer = state.frame(id);
        let answer = answer.ok_or_else(|| ServiceError::NoAnswer { id: id.clone() })?;
        cite(&answer.paper, Some(answer))?;
    }
    Ok(citations)
}
