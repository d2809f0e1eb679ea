use std::collections::HashMap;
use std::path::PathBuf;

use ir_core::{AttributeValue, Attributes, Corpus, CorpusError, DocReader, Document};
use serde::Deserialize;

use super::citances::{CITANCES, Citance, select_citances};
use super::metadata::{DatasetMetadata, STRUCTURED_INFO};
use super::{DatasetCorpus, underscored};
use crate::compression::open;
use crate::error::{DataError, Location, name_of};
use crate::json::json_error;
use crate::lines::LineReader;

/// Name of the attribute with the number of tagged papers that use a dataset.
const NUM_PAPERS: &str = "num_papers";

/// Paper with the datasets that it uses and the passages that mention them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct TaggedPaper {
    /// Names of the datasets, as in the corpus.
    pub datasets: Vec<String>,
    /// Number of the training query that was written from the paper, if it is known.
    #[serde(rename = "aligned_n", default)]
    pub training_query: Option<u64>,
    /// Passages of one to three sentences that mention a dataset.
    #[serde(default)]
    pub snippets: Vec<String>,
}

/// Reads tagged papers: JSON lines with `datasets`, `snippets` and `aligned_n`.
///
/// # Errors
/// The file cannot be read, or a line is not such an object.
pub fn read_tagged_papers(path: &std::path::Path) -> Result<Vec<TaggedPaper>, DataError> {
    let source = name_of(path);
    let mut lines = LineReader::new(open(path)?, &source);
    let mut papers = Vec::new();
    while let Some(line) = lines.read()? {
        if line.text.trim_ascii().is_empty() {
            continue;
        }
        let at = Location::new(&source, line.number);
        papers.push(serde_json::from_str(line.text).map_err(|error| json_error(&error, at))?);
    }
    Ok(papers)
}

/// Corpus of datasets with attributes from papers that use them: [`STRUCTURED_INFO`],
/// [`CITANCES`] and `num_papers`, the number of these papers.
///
/// A passage is a citance of the datasets that it names, or of the only dataset of its paper.
#[derive(Debug, Clone)]
pub struct TaggedDatasetCorpus {
    /// File of datasets, to which the attributes are added.
    pub corpus: DatasetCorpus,
    /// File of tagged papers, possibly compressed ([`read_tagged_papers`]).
    pub papers: PathBuf,
}

impl Corpus for TaggedDatasetCorpus {
    fn open(&self) -> Result<Box<dyn DocReader + '_>, CorpusError> {
        let papers = read_tagged_papers(&self.papers)?;
        let mut by_dataset: HashMap<String, Vec<usize>> = HashMap::new();
        for (n, paper) in papers.iter().enumerate() {
            for name in &paper.datasets {
                by_dataset.entry(underscored(name)).or_default().push(n);
            }
        }
        Ok(Box::new(TaggedReader {
            documents: self.corpus.open()?,
            papers,
            by_dataset,
        }))
    }
}

struct TaggedReader<'a> {
    documents: Box<dyn DocReader + 'a>,
    papers: Vec<TaggedPaper>,
    /// Numbers of the papers of a dataset.
    by_dataset: HashMap<String, Vec<usize>>,
}

impl DocReader for TaggedReader<'_> {
    fn read(&mut self, doc: &mut Document) -> Result<bool, CorpusError> {
        if !self.documents.read(doc)? {
            return Ok(false);
        }
        // A record may have metadata of its own, which stay.
        let derived = DatasetMetadata::from_attributes(&doc.attributes).verbalize();
        let is_derived = doc
            .attributes
            .text(STRUCTURED_INFO)
            .is_none_or(|found| found == derived);
        let papers = self.by_dataset.get(&doc.id).map_or(&[][..], Vec::as_slice);
        let names = names(&doc.attributes);
        let citances: Vec<Vec<Citance>> = papers
            .iter()
            .map(|&n| citances(&self.papers[n], &names))
            .collect();
        let citances = select_citances(&citances);
        let citances: Vec<&str> = citances.iter().map(|it| it.text.as_str()).collect();
        let citances = citances.join("\n");
        doc.attributes.set(CITANCES, citances);
        if doc.attributes.int(NUM_PAPERS).is_none() {
            let count = i64::try_from(papers.len()).unwrap_or(i64::MAX);
            doc.attributes.set(NUM_PAPERS, count);
        }
        if is_derived {
            let metadata = DatasetMetadata::from_attributes(&doc.attributes);
            doc.attributes.set(STRUCTURED_INFO, metadata.verbalize());
        }
        Ok(true)
    }
}

/// Names of a dataset.
fn names(attributes: &Attributes) -> Vec<String> {
    let name = attributes.text(super::NAME).map(str::to_owned);
    let variants = match attributes.get("variants") {
        Some(AttributeValue::List(values)) => values.as_slice(),
        _ => &[],
    };
    let variants = variants.iter().filter_map(|value| match value {
        AttributeValue::Text(text) if !text.is_empty() => Some(text.clone()),
        _ => None,
    });
    name.into_iter().chain(variants).collect()
}

/// Citances of a dataset in one of its papers.
fn citances(paper: &TaggedPaper, names: &[String]) -> Vec<Citance> {
    let snippets = paper.snippets.iter().map(|text| Citance {
        text: text.clone(),
        sentences: sentence_count(text),
        is_named: names.iter().any(|name| text.contains(name.as_str())),
    });
    snippets
        .filter(|citance| citance.is_named || paper.datasets.len() == 1)
        .collect()
}

/// Number of sentences: `.`, `!` or `?` before white space and an upper-case letter ends one.
fn sentence_count(text: &str) -> usize {
    let ends = text.match_indices(['.', '!', '?']).filter(|(at, _)| {
        let rest = &text[at + 1..];
        let next = rest.trim_start();
        next.len() < rest.len() && next.starts_with(char::is_uppercase)
    });
    1 + ends.count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_of_passages() {
        for (text, count) in [
            ("We use COCO.", 1),
            ("We use COCO [3]. It has 5.1 million labels.", 2),
            ("As in [7] , e.g. patches. Then? No.", 3),
        ] {
            assert_eq!(sentence_count(text), count, "{text}");
        }
    }
}
