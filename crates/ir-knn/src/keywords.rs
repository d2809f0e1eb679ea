//! Classes from authors' keywords.

use std::io::{self, BufRead};

use rustc_hash::FxHashMap;

/// Classes by the rarest keyword: how the ICLR benchmark labels papers.
///
/// Some keywords stand for a class. A paper gets the class of that of its keywords which is rarest
/// among all papers, since rare keywords say most; of keywords equally rare, that which its author
/// put first. Papers without any such keyword have no class.
///
/// ```
/// use ir_knn::KeywordLabels;
/// let table = "keyword\tfrequency\tlabel\ngan\t300\tGANs\nprivacy\t200\tprivacy\n";
/// let labels = KeywordLabels::read(table.as_bytes(), "labels.tsv")?;
/// assert_eq!(labels.label(&["deep learning", "gan", "Privacy"]), Some("GANs"));
/// assert_eq!(labels.label(&["gan", "privacy"]), Some("privacy"));
/// assert_eq!(labels.label(&["deep learning"]), None);
/// # Ok::<(), ir_knn::KeywordsError>(())
/// ```
///
/// # Source
/// González-Márquez and Kobak, "Learning representations of learning representations", 2024.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KeywordLabels {
    /// Frequency and class.
    keywords: FxHashMap<String, (u64, String)>,
}

impl KeywordLabels {
    /// No keywords.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a keyword, compared letter for letter, with how many papers have it and its class. A
    /// keyword that is there already is replaced.
    pub fn insert(&mut self, keyword: impl Into<String>, frequency: u64, class: impl Into<String>) {
        self.keywords
            .insert(keyword.into(), (frequency, class.into()));
    }

    /// Reads a table of three columns separated by tabs, `keyword`, `frequency` and `label`, under
    /// a line with these names. `name` is what errors call it.
    ///
    /// # Errors
    /// When it cannot be read, or a line is not like that, or a keyword stands there twice.
    pub fn read(reader: impl BufRead, name: &str) -> Result<Self, KeywordsError> {
        let mut labels = Self::new();
        for (number, line) in (1..).zip(reader.lines()) {
            let path = || name.to_owned();
            let line = line.map_err(|source| KeywordsError::Read {
                path: path(),
                line: number,
                source,
            })?;
            let line = line.trim_end_matches('\r');
            if number == 1 {
                let line = line.trim_start_matches('\u{feff}');
                if line != HEADER {
                    return Err(KeywordsError::Header {
                        path: path(),
                        found: line.to_owned(),
                    });
                }
                continue;
            }
            let columns: Vec<&str> = line.split('\t').collect();
            let &[keyword, frequency, class] = columns.as_slice() else {
                return Err(KeywordsError::Columns {
                    path: path(),
                    line: number,
                    found: columns.len(),
                });
            };
            let frequency = frequency.parse().map_err(|_| KeywordsError::Frequency {
                path: path(),
                line: number,
                found: frequency.to_owned(),
            })?;
            if labels.keywords.contains_key(keyword) {
                return Err(KeywordsError::Repeated {
                    path: path(),
                    line: number,
                    keyword: keyword.to_owned(),
                });
            }
            labels.insert(keyword, frequency, class);
        }
        Ok(labels)
    }

    /// The same keywords and classes with the frequencies that they have in these papers: how often
    /// each is among all their keywords.
    #[must_use]
    pub fn recounted<P, K>(&self, papers: impl IntoIterator<Item = P>) -> Self
    where
        P: IntoIterator<Item = K>,
        K: AsRef<str>,
    {
        let mut recounted = self.clone();
        for (frequency, _) in recounted.keywords.values_mut() {
            *frequency = 0;
        }
        for keyword in papers.into_iter().flatten() {
            if let Some((frequency, _)) = recounted.keywords.get_mut(keyword.as_ref()) {
                *frequency += 1;
            }
        }
        recounted
    }

    /// The class of a paper with these keywords, in its author's order.
    #[must_use]
    pub fn label<K: AsRef<str>>(&self, keywords: &[K]) -> Option<&str> {
        let known = keywords
            .iter()
            .filter_map(|keyword| self.keywords.get(keyword.as_ref()));
        // Of equal ones, `min_by_key` takes the first.
        known
            .min_by_key(|(frequency, _)| frequency)
            .map(|(_, class)| class.as_str())
    }

    /// How many keywords stand for a class.
    #[must_use]
    pub fn len(&self) -> usize {
        self.keywords.len()
    }

    /// Whether none does.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keywords.is_empty()
    }
}

const HEADER: &str = "keyword\tfrequency\tlabel";

/// Why a table of keywords could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeywordsError {
    /// The source failed, or is not UTF-8 text.
    #[error("{path}:{line}: could not be read")]
    Read {
        /// The source.
        path: String,
        /// The line, from 1.
        line: u64,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The first line does not name the columns.
    #[error("{path}:1: expected the columns {HEADER:?}, found {found:?}")]
    Header {
        /// The source.
        path: String,
        /// The first line.
        found: String,
    },
    /// A line has another number of columns.
    #[error("{path}:{line}: expected 3 columns, found {found}")]
    Columns {
        /// The source.
        path: String,
        /// The line, from 1.
        line: u64,
        /// How many there are.
        found: usize,
    },
    /// A frequency is no whole number.
    #[error("{path}:{line}: expected a whole number for a frequency, found {found:?}")]
    Frequency {
        /// The source.
        path: String,
        /// The line, from 1.
        line: u64,
        /// What stands there.
        found: String,
    },
    /// A keyword stands there twice.
    #[error("{path}:{line}: expected every keyword once, found {keyword:?} again")]
    Repeated {
        /// The source.
        path: String,
        /// The line, from 1.
        line: u64,
        /// The keyword.
        keyword: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_go_to_the_authors_first() {
        let mut labels = KeywordLabels::new();
        labels.insert("a", 5, "A");
        labels.insert("b", 5, "B");
        labels.insert("c", 1, "C");
        assert_eq!(labels.label(&["b", "a"]), Some("B"));
        assert_eq!(labels.label(&["b", "a", "c"]), Some("C"));
        assert_eq!(labels.label::<&str>(&[]), None);
        let recounted = labels.recounted([vec!["c", "c", "a"], vec!["b", "c", "x"]]);
        assert_eq!(recounted.label(&["c", "b"]), Some("B"));
        assert_eq!((labels.len(), labels.is_empty()), (3, false));
    }

    #[test]
    fn tables_with_mistakes() {
        let error = |text: &str| {
            KeywordLabels::read(text.as_bytes(), "t.tsv")
                .unwrap_err()
                .to_string()
        };
        assert!(error("a\tb\n").starts_with("t.tsv:1: expected the columns"));
        let header = format!("{HEADER}\n");
        assert_eq!(
            error(&format!("{header}a\t1\n")),
            "t.tsv:2: expected 3 columns, found 2"
        );
        assert!(error(&format!("{header}a\t-1\tb\n")).contains("found \"-1\""));
        assert!(error(&format!("{header}a\t1\tb\na\t2\tc\n")).starts_with("t.tsv:3:"));
    }
}
