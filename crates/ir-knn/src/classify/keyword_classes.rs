//! Classes from author keywords.

use std::io::{self, BufRead};

use ir_core::excerpt;
use rustc_hash::FxHashMap;

/// Mapping from keywords to classes, by which the ICLR benchmark classifies papers.
///
/// The rarest known keyword of a paper determines its class; ties go to the first keyword. Papers
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

    /// Reads the classes of one version of the benchmark from a tab-separated table with a header
    /// line and the columns `keyword`, `freq_24v2`, `label_24v2`, `label_25v2` and `label_26v1`. A
    /// version lacks the keywords with an empty label.
    ///
    /// Frequencies come from `freq_24v2`, and are 0 for keywords that 24v2 lacks. Later versions
    /// count keywords in their own papers: [`KeywordClasses::recount`].
    ///
    /// ```
    /// use ir_knn::{IclrVersion, KeywordClasses};
    /// let table = "keyword\tfreq_24v2\tlabel_24v2\tlabel_25v2\tlabel_26v1\n\
    ///              gan\t300\tGANs\tGANs\tGANs\n\
    ///              pde\t\t\t\tPDEs\n";
    /// let read = |version| KeywordClasses::read_version(table.as_bytes(), "map.tsv", version);
    /// assert_eq!(read(IclrVersion::V24v2)?.class(&["pde", "gan"]), Some("GANs"));
    /// let papers = [vec!["gan", "pde"], vec!["gan"]];
    /// let classes = read(IclrVersion::V26v1)?.recount(&papers);
    /// assert_eq!(classes.class(&["gan", "pde"]), Some("PDEs"));
    /// # Ok::<(), ir_knn::KeywordTableError>(())
    /// ```
    ///
    /// # Errors
    /// If the table cannot be read or is malformed. A keyword of 24v2 without a frequency is
    /// malformed.
    pub fn read_version(
        reader: impl BufRead,
        name: &str,
        version: IclrVersion,
    ) -> Result<Self, KeywordTableError> {
        let mut classes = Self::new();
        read_table(reader, name, VERSIONS_HEADER, 5, |columns, syntax| {
            let (keyword, frequency) = (columns[0], columns[1]);
            let label = columns[2 + version as usize];
            if label.is_empty() {
                return Ok(());
            }
            let absent = columns[2].is_empty() && frequency.is_empty();
            let frequency = if absent {
                0
            } else {
                parse_frequency(frequency, syntax)?
            };
            classes.insert_once(keyword, frequency, label, syntax)
        })?;
        Ok(classes)
    }

    fn insert_once(
        &mut self,
        keyword: &str,
        frequency: u64,
        class: &str,
        syntax: &SyntaxFn<'_>,
    ) -> Result<(), KeywordTableError> {
        if self.keywords.contains_key(keyword) {
            return Err(syntax("every keyword once", format!("{keyword:?} again")));
        }
        self.insert(keyword, frequency, class);
        Ok(())
    }

    /// Reads a tab-separated table with a header line and the columns `keyword`, `frequency` and
    /// `label`, the class. `name` is the file name in error messages.
    ///
    /// # Errors
    /// When the source cannot be read, the header or a line is malformed, or a keyword is repeated.
    pub fn read(reader: impl BufRead, name: &str) -> Result<Self, KeywordTableError> {
        let mut classes = Self::new();
        read_table(reader, name, HEADER, 3, |columns, syntax| {
            let frequency = parse_frequency(columns[1], syntax)?;
            classes.insert_once(columns[0], frequency, columns[2], syntax)
        })?;
        Ok(classes)
    }

    /// Returns the same mapping with frequencies counted in the keywords of papers.
    #[must_use]
    pub fn recount<P, K>(&self, papers: impl IntoIterator<Item = P>) -> Self
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

    /// Returns `true` if there are no keywords.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keywords.is_empty()
    }
}

/// Version of the ICLR dataset and of its classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IclrVersion {
    /// Papers of 2017 to 2024: 111 keywords, 45 classes.
    V24v2,
    /// Papers of 2017 to 2025: 134 keywords, 50 classes.
    V25v2,
    /// Papers of 2017 to 2026: 147 keywords, 54 classes. Keywords are cleaned
    /// (`ir_studies::iclr::clean_keywords`).
    V26v1,
}

const HEADER: &str = "keyword\tfrequency\tlabel";
const VERSIONS_HEADER: &str = "keyword\tfreq_24v2\tlabel_24v2\tlabel_25v2\tlabel_26v1";

/// Creates the error of a line from what was expected and found.
type SyntaxFn<'a> = dyn Fn(&str, String) -> KeywordTableError + 'a;

fn parse_frequency(text: &str, syntax: &SyntaxFn<'_>) -> Result<u64, KeywordTableError> {
    let wrong = |_| syntax("a frequency, an integer from 0", format!("{text:?}"));
    text.parse().map_err(wrong)
}

/// Calls `row` with the columns of every line after the header.
fn read_table(
    reader: impl BufRead,
    name: &str,
    header: &str,
    columns: usize,
    mut row: impl FnMut(&[&str], &SyntaxFn<'_>) -> Result<(), KeywordTableError>,
) -> Result<(), KeywordTableError> {
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
            if text != header {
                let expected = format!("the columns {header:?}");
                return Err(syntax(&expected, format!("{:?}", excerpt(text))));
            }
            continue;
        }
        let found: Vec<&str> = text.split('\t').collect();
        if found.len() != columns {
            let expected = format!("{columns} columns");
            return Err(syntax(&expected, found.len().to_string()));
        }
        row(&found, &syntax)?;
    }
    Ok(())
}

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
    /// Unexpected header or number of columns, a frequency that is no integer, or a repeated
    /// keyword.
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
        let recounted = classes.recount([vec!["c", "c", "a"], vec!["b", "c", "x"]]);
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
    #[test]
    fn tables_of_versions() {
        let read = |text: &str, version| {
            let table = format!("{VERSIONS_HEADER}\n{text}");
            KeywordClasses::read_version(table.as_bytes(), "t.tsv", version)
        };
        let table = "a\t7\tA\tA\tB\nb\t\t\tC\tC\nc\t\t\t\tD\n";
        for (version, keywords, class) in [
            (IclrVersion::V24v2, 1, Some("A")),
            (IclrVersion::V25v2, 2, Some("C")),
            (IclrVersion::V26v1, 3, Some("C")),
        ] {
            let classes = read(table, version).unwrap();
            assert_eq!(
                (classes.len(), classes.class(&["a", "b"])),
                (keywords, class)
            );
        }
        let error = |text| read(text, IclrVersion::V24v2).unwrap_err().to_string();
        assert!(error("a\t\tA\tA\tA\n").starts_with("t.tsv:2: expected a frequency"));
        assert!(error("a\t1\tA\n").contains("expected 5 columns, found 3"));
        assert!(error("a\t1\tA\tA\tA\na\t1\tA\tA\tA\n").contains("every keyword once"));
    }
}
