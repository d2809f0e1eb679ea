//! Query expansion by a synonym file.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::sync::Arc;

use ir_core::excerpt;

use crate::{Searcher, WeightedTerm};

/// Synonyms of words and phrases, in the format of Solr's `synonyms.txt`.
///
/// ```text
/// # Equivalent: each entry has all others as synonyms.
/// heart attack, myocardial infarction
/// # One direction: the entries on the left have those on the right.
/// MG => myasthenia gravis
/// ```
///
/// Synonyms are added to a query, never removed from it. They are not expanded again: with
/// `a => b` and `b => c`, `a` has the synonym `b` only, so cycles are harmless.
///
/// ```
/// use ir_bm25::{Bm25, Index, IndexConfig, SynonymExpansion, Synonyms};
/// use ir_core::{Document, NoProgress, Retriever, Search};
///
/// let documents = vec![
///     Document::new("a").with_text("weakness in myasthenia gravis"),
///     Document::new("b").with_text("weakness of the heart"),
/// ];
/// let index = Index::build(&documents, &IndexConfig::default(), &mut NoProgress)?;
/// let synonyms = Synonyms::read("MG => myasthenia gravis\n".as_bytes(), "synonyms.txt")?;
/// let searcher = index.searcher(Bm25::ANSERINI)?;
/// let expanded = SynonymExpansion::new(searcher, &synonyms, SynonymExpansion::WEIGHT)?;
/// let ranking = expanded.search("MG", &Search::top(10))?;
/// assert_eq!(index.ids().id(ranking.hits()[0].doc), "a");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Synonyms {
    path: String,
    entries: BTreeMap<String, Entry>,
    /// If `true`, entries and synonyms of stop words only are skipped.
    skips_stop_words: bool,
}

/// Entry of a file of synonyms.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    /// First line with the entry.
    line: u64,
    /// Synonyms, each with the line that has it first.
    synonyms: BTreeMap<String, u64>,
}

/// Error reading synonyms, or expanding queries by them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum SynonymError {
    /// A line cannot be read.
    #[error("{path}:{line}: cannot be read")]
    Read {
        path: String,
        line: u64,
        #[source]
        source: std::io::Error,
    },
    /// A line is not UTF-8. `column` is a byte position from 1.
    #[error("{path}:{line}: expected UTF-8 text, found invalid bytes at column {column}")]
    InvalidText {
        path: String,
        line: u64,
        column: u64,
    },
    /// A line has neither two equivalent entries nor a rule.
    #[error("{path}:{line}: expected {expected}, found {found:?}")]
    Syntax {
        path: String,
        line: u64,
        expected: &'static str,
        found: String,
    },
    /// An entry has more than [`Synonyms::MAX_SYNONYMS`] synonyms.
    #[error(
        "{path}:{line}: expected at most {} synonyms of {entry:?}, found more",
        Synonyms::MAX_SYNONYMS
    )]
    TooMany {
        path: String,
        line: u64,
        entry: String,
    },
    /// The analyzer of the index removes all words of an entry.
    #[error("{path}:{line}: expected a text with terms, found {text:?}, stop words only")]
    NoTerms {
        path: String,
        line: u64,
        text: String,
    },
    /// The weight of synonyms is out of range.
    #[error("weight of synonyms: expected a finite number >= 0, found {found}")]
    Weight { found: f32 },
}

impl Synonyms {
    /// Maximum number of synonyms of an entry.
    pub const MAX_SYNONYMS: usize = 256;

    /// Reads a synonym file. `path` appears in errors. Empty lines and lines that start with `#`
    /// are ignored; a backslash escapes the next character.
    ///
    /// # Errors
    /// A line has another form, or an entry has more than [`Synonyms::MAX_SYNONYMS`] synonyms.
    pub fn read(input: impl BufRead, path: &str) -> Result<Self, SynonymError> {
        let mut synonyms = Self {
            path: path.to_owned(),
            ..Self::default()
        };
        for (line, text) in (1..).zip(input.split(b'\n')) {
            let text = text.map_err(|source| SynonymError::Read {
                path: path.to_owned(),
                line,
                source,
            })?;
            let text = std::str::from_utf8(&text).map_err(|error| SynonymError::InvalidText {
                path: path.to_owned(),
                line,
                column: error.valid_up_to() as u64 + 1,
            })?;
            let unmarked = text.strip_prefix('\u{feff}').filter(|_| line == 1);
            let text = unmarked.unwrap_or(text).trim();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            synonyms.add_line(line, text)?;
        }
        Ok(synonyms)
    }

    /// Synonyms of the concepts of a terminology: lines of the file with equivalent terms. `path`
    /// appears in errors. Terms that consist of stop words are skipped, and so are the terms of a
    /// concept beyond [`Synonyms::MAX_SYNONYMS`].
    ///
    /// ```
    /// use ir_bm25::Synonyms;
    /// let terms = ["Myasthenia Gravis".to_owned(), "MG".to_owned()];
    /// let synonyms = Synonyms::from_concepts("MRCONSO.RRF", [(1, &terms[..])]);
    /// assert_eq!(synonyms.get("MG").collect::<Vec<_>>(), ["Myasthenia Gravis"]);
    /// ```
    #[must_use]
    pub fn from_concepts<'a>(
        path: &str,
        concepts: impl IntoIterator<Item = (u64, &'a [String])>,
    ) -> Self {
        let mut synonyms = Self {
            path: path.to_owned(),
            skips_stop_words: true,
            ..Self::default()
        };
        for (line, terms) in concepts {
            for term in terms {
                let new = || Entry {
                    line,
                    synonyms: BTreeMap::new(),
                };
                let known = synonyms.entries.entry(term.clone()).or_insert_with(new);
                for other in terms.iter().filter(|other| *other != term) {
                    if known.synonyms.len() >= Self::MAX_SYNONYMS {
                        break;
                    }
                    known.synonyms.entry(other.clone()).or_insert(line);
                }
            }
        }
        synonyms
    }

    fn add_line(&mut self, line: u64, text: &str) -> Result<(), SynonymError> {
        let syntax = |expected| SynonymError::Syntax {
            path: self.path.clone(),
            line,
            expected,
            found: excerpt(text),
        };
        let sides = split(text);
        if sides.iter().flatten().any(String::is_empty) {
            return Err(syntax("entries between commas"));
        }
        let (left, right) = match sides.as_slice() {
            [all] if all.len() < 2 => {
                return Err(syntax("two entries or more, or a rule `a => b`"));
            }
            [all] => (all, all),
            [left, right] => (left, right),
            _ => return Err(syntax("one `=>`")),
        };
        for entry in left {
            let new = || Entry {
                line,
                synonyms: BTreeMap::new(),
            };
            let known = &mut self
                .entries
                .entry(entry.clone())
                .or_insert_with(new)
                .synonyms;
            for synonym in right.iter().filter(|synonym| *synonym != entry) {
                known.entry(synonym.clone()).or_insert(line);
                if known.len() > Self::MAX_SYNONYMS {
                    return Err(SynonymError::TooMany {
                        path: self.path.clone(),
                        line,
                        entry: entry.clone(),
                    });
                }
            }
        }
        Ok(())
    }

    /// Synonyms of an entry, in ascending byte order.
    pub fn get(&self, entry: &str) -> impl Iterator<Item = &str> {
        let synonyms = self.entries.get(entry).into_iter();
        synonyms.flat_map(|entry| entry.synonyms.keys().map(String::as_str))
    }

    /// Number of entries with synonyms.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns `true` if no entry has synonyms.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// Entries of a line: lists between `=>`, split at commas and trimmed.
fn split(text: &str) -> Vec<Vec<String>> {
    let mut sides = vec![vec![String::new()]];
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let Some(entries) = sides.last_mut() else {
            break;
        };
        match c {
            ',' => entries.push(String::new()),
            '=' if chars.peek() == Some(&'>') => {
                chars.next();
                sides.push(vec![String::new()]);
            }
            _ => {
                let c = if c == '\\' {
                    chars.next().unwrap_or(c)
                } else {
                    c
                };
                if let Some(entry) = entries.last_mut() {
                    entry.push(c);
                }
            }
        }
    }
    for entry in sides.iter_mut().flatten() {
        *entry = entry.trim().to_owned();
    }
    sides
}

/// Retriever that adds synonyms to queries, as a bag of weighted terms.
///
/// Entries are found in the query after analysis, from left to right, the longest first. The terms
/// of their synonyms are searched with the weight of synonyms for each occurrence, the terms of the
/// query with their counts. A query without entries, and every query at weight 0, has the ranking
/// and the scores of the searcher.
#[derive(Debug, Clone)]
pub struct SynonymExpansion {
    searcher: Searcher,
    weight: f32,
    /// Terms of the synonyms by the terms of an entry.
    rules: Arc<BTreeMap<Vec<String>, Vec<String>>>,
    /// Number of terms of the longest entry.
    longest: usize,
}

impl SynonymExpansion {
    /// Weight of synonyms relative to the words of a query, 1 : 5.
    ///
    /// # Source
    /// Weights of a run submitted to bioCADDIE 2016, with five MeSH synonyms per term (Database,
    /// 2017, bax065).
    pub const WEIGHT: f32 = 0.2;

    /// Creates a retriever that searches with `searcher`. `weight` is the weight of a term of a
    /// synonym; one of the query has weight 1. Range: ≥ 0.
    ///
    /// # Errors
    /// The weight is out of range, or the analyzer of the index removes all words of an entry or
    /// synonym.
    pub fn new(searcher: Searcher, synonyms: &Synonyms, weight: f32) -> Result<Self, SynonymError> {
        if !(weight >= 0.0 && weight.is_finite()) {
            return Err(SynonymError::Weight { found: weight });
        }
        let analyzed = |text: &str, line: u64| {
            let terms = searcher.analyzer().terms(text);
            if terms.is_empty() && !synonyms.skips_stop_words {
                let (path, text) = (synonyms.path.clone(), text.to_owned());
                return Err(SynonymError::NoTerms { path, line, text });
            }
            Ok(terms)
        };
        let mut rules: BTreeMap<Vec<String>, Vec<String>> = BTreeMap::new();
        for (entry, found) in &synonyms.entries {
            let entry = analyzed(entry, found.line)?;
            for (synonym, &line) in &found.synonyms {
                let synonym = analyzed(synonym, line)?;
                // Spellings that analysis makes equal are no synonyms.
                if synonym != entry && !entry.is_empty() && !synonym.is_empty() {
                    rules.entry(entry.clone()).or_default().extend(synonym);
                }
            }
        }
        Ok(Self {
            longest: rules.keys().map(Vec::len).max().unwrap_or(0),
            searcher,
            weight,
            rules: Arc::new(rules),
        })
    }

    /// Returns the weighted terms of the expanded query: the terms of the query in their order,
    /// then the other terms of synonyms, in the order of their entries.
    #[must_use]
    pub fn expand(&self, query: &str) -> Vec<WeightedTerm> {
        let mut expanded = self.searcher.query_terms(query);
        if self.weight == 0.0 {
            return expanded;
        }
        let terms = self.searcher.analyzer().terms(query);
        let mut at = 0;
        while at < terms.len() {
            let lengths = (1..=self.longest.min(terms.len() - at)).rev();
            let found = lengths
                .filter_map(|length| Some((length, self.rules.get(&terms[at..at + length])?)))
                .next();
            let Some((length, synonyms)) = found else {
                at += 1;
                continue;
            };
            for term in synonyms {
                match expanded.iter_mut().find(|known| known.term == *term) {
                    Some(known) => known.weight += self.weight,
                    None => expanded.push(WeightedTerm::new(term.as_str(), self.weight)),
                }
            }
            at += length;
        }
        expanded
    }

    /// Returns the searcher of the expanded queries.
    #[must_use]
    pub const fn searcher(&self) -> &Searcher {
        &self.searcher
    }
}

retrieve_rewritten!(
    SynonymExpansion,
    |this, query| this.expand(query),
    searcher.search_terms,
    /// Explains a score as the sum of the scores of the weighted terms of the expanded query.
    explain_terms
);

#[cfg(test)]
mod tests;
