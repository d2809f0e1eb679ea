//! DOIs and arXiv ids of papers.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use ir_core::Attributes;
use ir_data::s2orc::PaperKeys;

use super::format::DocumentFormat;
use super::paper::Paper;

/// Number of paragraphs at the start of a paper that may have its identifiers.
const MAX_PARAGRAPHS: usize = 6;
/// Maximum length of a paragraph with identifiers of the paper in bytes. Longer ones, such as the
/// abstract, have identifiers of other papers.
const MAX_PARAGRAPH: usize = 200;

/// DOIs and arXiv ids of the papers so far.
///
/// ```
/// use ir_qa::documents::{Paper, SeenPapers};
/// let mut seen = SeenPapers::default();
/// let mut paper = Paper::new("a.xml");
/// paper.metadata.set("doi", "10.9/TEA.1");
/// assert_eq!(seen.duplicate_of(&paper.id, &paper.metadata), None);
/// let mut other = Paper::new("b.pdf");
/// other.metadata.set("doi", "https://doi.org/10.9/tea.1");
/// assert_eq!(seen.duplicate_of(&other.id, &other.metadata), Some("a.xml"));
/// ```
#[derive(Debug, Clone, Default)]
pub struct SeenPapers {
    /// Ids of papers by their normalized identifiers.
    papers: HashMap<String, String>,
}

impl SeenPapers {
    /// Returns the id of an earlier paper of another file with the DOI or the arXiv id in the
    /// metadata of a paper. Without one, the paper is remembered. Records of one file may be parts
    /// of a paper.
    pub fn duplicate_of(&mut self, id: &str, metadata: &Attributes) -> Option<&str> {
        let keys = keys(metadata).normalized();
        let is_other = |first: &String| file_of(first) != file_of(id);
        let is_known = |key: &&String| self.papers.get(*key).is_some_and(is_other);
        if let Some(key) = keys.iter().find(is_known) {
            return self.papers.get(key).map(String::as_str);
        }
        for key in keys {
            if let Entry::Vacant(entry) = self.papers.entry(key) {
                entry.insert(id.to_owned());
            }
        }
        None
    }
}

/// File of the id of a paper.
fn file_of(id: &str) -> &str {
    id.split_once('#').map_or(id, |(file, _)| file)
}

fn keys(metadata: &Attributes) -> PaperKeys {
    let text = |name| metadata.text(name).unwrap_or_default().to_owned();
    PaperKeys {
        title: String::new(),
        doi: text("doi"),
        arxiv: text("arxiv"),
    }
}

/// Normalizes the identifiers of a paper, after a search for them at the start of text without
/// metadata.
pub(super) fn set_identifiers(paper: &mut Paper, format: DocumentFormat) {
    let mut keys = keys(&paper.metadata);
    if matches!(format, DocumentFormat::Text | DocumentFormat::Pdf) {
        let start = paper.paragraphs().take(MAX_PARAGRAPHS);
        for paragraph in start.filter(|paragraph| paragraph.text.len() <= MAX_PARAGRAPH) {
            let text = &paragraph.text;
            if keys.arxiv.is_empty() {
                keys.arxiv = word_after(text, "arXiv:").unwrap_or_default();
            }
            if keys.doi.is_empty() {
                let names = ["https://doi.org/", "doi:", "DOI:", "DOI"];
                let mut found = names.iter().filter_map(|name| word_after(text, name));
                keys.doi = found.find(|doi| doi.starts_with("10.")).unwrap_or_default();
            }
        }
    }
    for (name, value) in [
        ("doi", keys.normalized_doi()),
        ("arxiv", keys.normalized_arxiv()),
    ] {
        if let Some(value) = value {
            paper.metadata.set(name, value);
        }
    }
}

/// Word after the first occurrence of a name, without punctuation behind it.
fn word_after(text: &str, name: &str) -> Option<String> {
    let (_, after) = text.split_once(name)?;
    let word = after.split_whitespace().next()?;
    Some(word.trim_end_matches(['.', ',', ';', ')']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_at_the_start_of_text() {
        let mut paper = Paper::default();
        paper.push_paragraph("arXiv:1606.05250v3 [cs.CL] 11 Oct 2016", None);
        paper.push_paragraph("Available at https://doi.org/10.18653/v1/D16-1264.", None);
        set_identifiers(&mut paper, DocumentFormat::Text);
        assert_eq!(paper.metadata.text("arxiv"), Some("1606.05250"));
        assert_eq!(paper.metadata.text("doi"), Some("10.18653/v1/d16-1264"));
        let mut cited = Paper::default();
        (0..10).for_each(|_| cited.push_paragraph("Tea is a drink.", None));
        cited.push_paragraph("See doi: 10.9/x.", None);
        set_identifiers(&mut cited, DocumentFormat::Text);
        assert_eq!(cited.metadata.text("doi"), None);
    }

    #[test]
    fn papers_with_one_identifier_in_common() {
        let mut seen = SeenPapers::default();
        let mut duplicate_of = |id: &str, doi: &str, arxiv: &str| {
            let mut metadata = Attributes::new();
            for (name, value) in [("doi", doi), ("arxiv", arxiv)] {
                if !value.is_empty() {
                    metadata.set(name, value);
                }
            }
            seen.duplicate_of(id, &metadata).map(str::to_owned)
        };
        let a = Some("a".to_owned());
        assert_eq!(duplicate_of("a", "10.9/x", "1606.05250v1"), None);
        assert_eq!(duplicate_of("b", "", ""), None);
        assert_eq!(duplicate_of("c", "", ""), None);
        assert_eq!(duplicate_of("d", "10.9/X", ""), a);
        assert_eq!(duplicate_of("e", "", "arXiv:1606.05250"), a);
        assert_eq!(duplicate_of("f#1", "10.9/y", ""), None);
        assert_eq!(duplicate_of("f#2", "10.9/y", ""), None);
        assert_eq!(duplicate_of("g", "10.9/y", ""), Some("f#1".to_owned()));
    }
}
