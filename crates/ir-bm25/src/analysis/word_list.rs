//! Lists of stop words and protected words in files.

use std::collections::{BTreeMap, BTreeSet};

use ir_core::excerpt;

/// List of stop words or protected words in a text: one word per line. `#` and `|`, as in the
/// lists of Snowball, start comments; blank lines are skipped.
///
/// ```
/// use ir_bm25::analysis::{Analysis, StopWords, WordList};
/// use ir_core::Analyzer;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let words = WordList::parse("# Diseases\naids\n\nlupus | SLE\n", "protected.txt")?;
/// assert_eq!(words.line("lupus"), Some(4));
/// let analysis = Analysis::default().with_protected_words(words.words());
/// assert_eq!(analysis.build()?.terms("AIDS aid"), ["aids", "aid"]);
///
/// let error = WordList::parse("le\nla\nde la", "french.txt").unwrap_err();
/// assert_eq!(error.to_string(), "french.txt:3: expected one word, found \"de la\"");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WordList {
    path: String,
    /// The words, each with the line that has it first.
    lines: BTreeMap<String, u64>,
}

/// Error of a line with several words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}:{line}: expected one word, found {found:?}")]
#[allow(missing_docs)]
pub struct WordListError {
    pub path: String,
    pub line: u64,
    pub found: String,
}

impl WordList {
    /// Parses the words of a text. `path` is the file in errors.
    ///
    /// # Errors
    ///
    /// Returns [`WordListError`] for a line with several words.
    pub fn parse(text: &str, path: impl Into<String>) -> Result<Self, WordListError> {
        let path = path.into();
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut lines = BTreeMap::new();
        for (content, line) in text.lines().zip(1..) {
            let word = content.split(['#', '|']).next().unwrap_or_default().trim();
            if word.contains(char::is_whitespace) {
                return Err(WordListError {
                    path,
                    line,
                    found: excerpt(word),
                });
            }
            if !word.is_empty() {
                lines.entry(word.to_owned()).or_insert(line);
            }
        }
        Ok(Self { path, lines })
    }

    /// The file of the list.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The words, in byte order.
    #[must_use]
    pub fn words(&self) -> BTreeSet<String> {
        self.lines.keys().cloned().collect()
    }

    /// The first line with the word.
    #[must_use]
    pub fn line(&self, word: &str) -> Option<u64> {
        self.lines.get(word).copied()
    }
}
