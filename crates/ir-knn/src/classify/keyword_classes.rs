//! Classes from author keywords.

use std::io::{self, BufRead};

use rustc_hash::FxHashMap;

/// Mapping from keywords to classes, by which the ICLR benchmark classifies papers.
///
/// The class of a paper is that of its rarest known keyword; ties go to the first keyword. Papers
/// without a known keyword have no class.
///
/// ```
/// use ir_knn::KeywordClasses;
/// let table = "keyword\tfrequency\tlabel\ngan\t300\tGANs\nprivacy\t200\tprivacy\n";
/// let classes = KeywordClasses::read(table.as_bytes(), "labels.tsv")?;
/// assert_eq!(classes.class(&["deep learning", "gan", "Privacy"]), Some("GANs"));
/// assert_eq!(classes.class(&["gan", "privacy"]), Some("privacy"));
/// assert_eq!(classes.class(&["deep learning"]), None);
/// # Ok::<(), ir_knn::KeywordTableError>(())
/// ```
///
/// # Source
/// González-Márquez and Kobak, "Learning representations of learning representations", 2024.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KeywordClasses {
    /// Frequency and class of each keyword.
    keywords: FxHashMap<String, (u64, String)>,
}

impl KeywordClasses {
    /// Creates an empty mapping.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds or replaces a keyword with its frequency, the number of papers that have it, and its
    /// class. Keywords are case-sensitive.
    pub fn insert(&mut self, keyword: impl Into<String>, frequency: u64, class: impl Into<String>) {
        self.keywords
            .insert(keyword.into(), (frequency, class.into()));
    }

    /// Reads a tab-separated table with a header line and the columns `keyword`, `frequency` and
    /// `label`, the class. `name` is the file name in error messages.
    ///
    /// # Errors
    /// When the source cannot be read, the header or a line is malformed, or a keyword is repeated.
    pub fn read(reader: impl BufRead, name: &str) -> Result<Self, KeywordTableError> {
        let mut classes = Self::new();
        for (line, text) in (1..).zip(reader.lines()) {
            let path = || name.to_owned();
            let syntax = |expected: &str, found: String| KeywordTableError::Syntax {
                path: path(),
                line,
                expected: expected.to_owned(),
                found,
            };
            let text = text.map_err(|source| KeywordTableError::Read {
                path: path(),
                line,
                source,
            })?;
            let text = text.trim_end_matches('\r');
            if line == 1 {
                let text = text.trim_start_matches('\u{feff}');
                if text != HEADER {
                    let expected = format!("the columns {HEADER:?}");
                    return Err(syntax(&expected, format!("{text:?}")));
                }
                continue;
            }
            let columns: Vec<&str> = text.split('\t').collect();
            let &[keyword, frequency, class] = columns.as_slice() else {
                return Err(syntax("3 columns", columns.len().to_string()));
            };
            let frequency = frequency
                .parse()
                .map_err(|_| syntax("a frequency, an integer from 0", format!("{frequency:?}")))?;
            if classes.keywords.contains_key(keyword) {
                return Err(syntax("every keyword once", format!("{keyword:?} again")));
            }
            classes.insert(keyword, frequency, class);
        }
        Ok(classes)
    }

    /// Returns the same mapping with frequencies counted in the keywords of these papers.
    #[must_use]
    pub fn with_frequencies_from<P, K>(&self, papers: impl IntoIterator<Item = P>) -> Self
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

    /// Returns the class of a paper with these keywords, in the author's order.
    #[must_use]
    pub fn class<K: AsRef<str>>(&self, keywords: &[K]) -> Option<&str> {
        let known = keywords
            .iter()
            .filter_map(|keyword| self.keywords.get(keyword.as_ref()));
        // `min_by_key` returns the first of equal elements.
        known
            .min_by_key(|(frequency, _)| frequency)
            .map(|(_, class)| class.as_str())
    }

    /// Returns the number of keywords.
    #[must_use]
    pub fn len(&self) -> usize {
        self.keywords.len()
    }

    /// Whether there are no keywords.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keywords.is_empty()
    }
}

const HEADER: &str = "keyword\tfrequency\tlabel";

/// Error reading a table of keywords.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "fields are named in the messages")]
pub enum KeywordTableError {
    /// The source returned an error or is not UTF-8.
    #[error("{path}:{line}: cannot be read")]
    Read {
        path: String,
        line: u64,
        #[source]
        source: io::Error,
    },
    /// The header is not that of the table, or a line has another number of columns, a frequency
    /// that is no integer, or the keyword of a line before it.
    #[error("{path}:{line}: expected {expected}, found {found}")]
    Syntax {
        path: String,
        line: u64,
        expected: String,
        found: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_go_to_the_first_keyword() {
        let mut classes = KeywordClasses::new();
        classes.insert("a", 5, "A");
        classes.insert("b", 5, "B");
        classes.insert("c", 1, "C");
        assert_eq!(classes.class(&["b", "a"]), Some("B"));
        assert_eq!(classes.class(&["b", "a", "c"]), Some("C"));
        assert_eq!(classes.class::<&str>(&[]), None);
        let recounted = classes.with_frequencies_from([vec!["c", "c", "a"], vec!["b", "c", "x"]]);
        assert_eq!(recounted.class(&["c", "b"]), Some("B"));
        assert_eq!((classes.len(), classes.is_empty()), (3, false));
    }

    #[test]
    fn malformed_tables_are_rejected() {
        let error = |text: &str| {
            KeywordClasses::read(text.as_bytes(), "t.tsv")
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
