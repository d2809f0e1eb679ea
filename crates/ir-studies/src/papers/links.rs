use std::collections::{BTreeSet, HashMap, HashSet};

use ir_core::{AttributeValue, Document};
use ir_data::datafinder::NAME;
use ir_data::s2orc::{Paper, PaperKeys};

/// Dataset, as a target of tagging.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DatasetRecord {
    /// Id of the dataset's document.
    pub id: String,
    /// Canonical name of the dataset.
    pub name: String,
    /// Alternative names, which papers may use as well.
    pub variants: Vec<String>,
    /// Paper that introduces the dataset.
    pub paper: PaperKeys,
}

impl DatasetRecord {
    /// Creates the record of a document of DataFinder's corpus. The title is the title of the
    /// paper. The attributes `name`, `variants`, `doi`, `arxiv_id` and `paper_url` are used if
    /// present. The default name is the id with spaces for `_`.
    #[must_use]
    pub fn from_document(document: &Document) -> Self {
        let attributes = &document.attributes;
        let text = |name| attributes.text(name).unwrap_or_default().to_owned();
        let url = PaperKeys::from_url(attributes.text("paper_url").unwrap_or_default());
        let or = |own: String, other: String| if own.is_empty() { other } else { own };
        let variants = match attributes.get("variants") {
            Some(AttributeValue::List(values)) => values.as_slice(),
            _ => &[],
        };
        let variants = variants.iter().filter_map(|value| match value {
            AttributeValue::Text(text) if !text.trim().is_empty() => Some(text.clone()),
            _ => None,
        });
        Self {
            id: document.id.clone(),
            name: or(text(NAME), document.id.replace('_', " ")),
            variants: variants.collect(),
            paper: PaperKeys {
                title: document.title.clone(),
                doi: or(text("doi"), url.doi),
                arxiv: or(text("arxiv_id"), url.arxiv),
            },
        }
    }

    /// Iterates over the canonical name and the variants.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.name.as_str()).chain(self.variants.iter().map(String::as_str))
    }
}

/// Links between datasets and papers, by title, DOI or arXiv id.
///
/// Each dataset is introduced by at most one of the papers: of several matches the last counts, as
/// published.
#[derive(Debug, Clone, Default)]
pub struct DatasetLinks {
    /// Paper id of each dataset.
    papers: Vec<Option<String>>,
    /// Datasets by the id of the paper that introduces them.
    by_paper: HashMap<String, Vec<usize>>,
    /// Datasets by normalized keys of that paper.
    by_key: HashMap<String, Vec<usize>>,
}

impl DatasetLinks {
    /// Finds the papers that introduce datasets.
    #[must_use]
    pub fn new(datasets: &[DatasetRecord], papers: &[Paper]) -> Self {
        let mut links = Self {
            papers: vec![None; datasets.len()],
            ..Self::default()
        };
        for (n, dataset) in datasets.iter().enumerate() {
            for key in dataset.paper.normalized() {
                links.by_key.entry(key).or_default().push(n);
            }
        }
        for paper in papers {
            for key in paper.keys.normalized() {
                for &n in links.by_key.get(&key).into_iter().flatten() {
                    links.papers[n] = Some(paper.id.clone());
                }
            }
        }
        for (n, paper) in links.papers.iter().enumerate() {
            if let Some(paper) = paper {
                links.by_paper.entry(paper.clone()).or_default().push(n);
            }
        }
        links
    }

    /// Returns the id of the paper that introduces a dataset, if it is known.
    #[must_use]
    pub fn paper(&self, dataset: usize) -> Option<&str> {
        self.papers.get(dataset)?.as_deref()
    }

    /// Returns `true` if a paper introduces a dataset.
    #[must_use]
    pub fn introduces(&self, paper: &Paper) -> bool {
        self.by_paper.contains_key(&paper.id)
    }

    /// Returns the datasets with a paper in the bibliography, in ascending order. An entry is
    /// matched by its linked paper, or by title, DOI or arXiv id.
    #[must_use]
    pub fn cited(&self, paper: &Paper) -> BTreeSet<usize> {
        let mut cited = BTreeSet::new();
        for entry in paper.bibliography.values() {
            let linked = entry.paper.as_ref().and_then(|id| self.by_paper.get(id));
            cited.extend(linked.into_iter().flatten());
            let keys: HashSet<String> = entry.keys.normalized().into_iter().collect();
            for key in keys {
                cited.extend(self.by_key.get(&key).into_iter().flatten());
            }
        }
        cited
    }
}

#[cfg(test)]
mod tests {
    use ir_data::s2orc::BibliographyEntry;

    use super::*;

    fn dataset(id: &str, title: &str, url: &str) -> DatasetRecord {
        let document = Document::new(id).with_title(title).with("paper_url", url);
        DatasetRecord::from_document(&document)
    }

    fn paper(id: &str, title: &str, doi: &str, arxiv: &str) -> Paper {
        Paper {
            id: id.to_owned(),
            keys: PaperKeys {
                title: title.to_owned(),
                doi: doi.to_owned(),
                arxiv: arxiv.to_owned(),
            },
            ..Paper::default()
        }
    }

    #[test]
    fn links_by_title_doi_and_arxiv_id() {
        let datasets = [
            dataset("A", "A Corpus  of Trees", ""),
            dataset("B", "", "https://doi.org/10.1000/ABC"),
            dataset("C", "", "http://arxiv.org/abs/1606.05250v2"),
            dataset("D", "", "https://example.org/paper"),
            dataset("E", "a corpus of trees", ""),
        ];
        let papers = [
            paper("p0", "a corpus of Trees", "", ""),
            paper("p1", "", "10.1000/abc", ""),
            paper("p2", "", "", "1606.05250"),
            paper("p3", "", "", ""),
            // The last match counts.
            paper("p4", "A corpus of trees", "", "arXiv:1606.05250v7"),
        ];
        let links = DatasetLinks::new(&datasets, &papers);
        let found: Vec<Option<&str>> = (0..6).map(|n| links.paper(n)).collect();
        let expected = [Some("p4"), Some("p1"), Some("p4"), None, Some("p4"), None];
        assert_eq!(found, expected);
        let introduces: Vec<bool> = papers.iter().map(|it| links.introduces(it)).collect();
        assert_eq!(introduces, [false, true, false, false, true]);

        let mut citing = paper("p5", "", "", "");
        let entry = |paper: Option<&str>, keys: PaperKeys| BibliographyEntry {
            keys,
            paper: paper.map(str::to_owned),
        };
        let doi = papers[1].keys.clone();
        citing.bibliography.insert("b0".into(), entry(None, doi));
        assert_eq!(Vec::from_iter(links.cited(&citing)), [1]);
        let linked = entry(Some("p4"), PaperKeys::default());
        citing.bibliography.insert("b1".into(), linked);
        assert_eq!(Vec::from_iter(links.cited(&citing)), [0, 1, 2, 4]);
        // A superseded match is no introduction.
        let old = entry(Some("p2"), PaperKeys::default());
        citing.bibliography = [("b".to_owned(), old)].into();
        assert!(links.cited(&citing).is_empty());
    }

    #[test]
    fn names_of_datasets() {
        let variants = ["PTB", ""].map(|it| AttributeValue::Text(it.into()));
        let document =
            Document::new("Penn_Treebank").with("variants", AttributeValue::List(variants.into()));
        let record = DatasetRecord::from_document(&document);
        assert_eq!(Vec::from_iter(record.names()), ["Penn Treebank", "PTB"]);
        let record = DatasetRecord::from_document(&document.with(NAME, "The Penn_TB"));
        assert_eq!(record.name, "The Penn_TB");
    }
}
