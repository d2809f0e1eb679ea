//! Structured queries as values, and their syntaxes.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::error::QueryParseError;
use super::{indri, lucene};

/// Structured query: a tree of words, phrases and windows under Boolean clauses and weights.
///
/// ```
/// use ir_bm25::{QuerySyntax, StructuredQuery};
/// let query = QuerySyntax::Lucene.parse(r#"+"green tea"^2 -milk (leaf OR leaves)"#)?;
/// assert_eq!(query.to_string(), r#"+"green tea"^2 -milk (leaf leaves)"#);
/// let same = StructuredQuery::boolean([
///     StructuredQuery::phrase("green tea").with_weight(2.0).must(),
///     StructuredQuery::text("milk").must_not(),
///     StructuredQuery::boolean(["leaf", "leaves"].map(|word| {
///         StructuredQuery::text(word).should()
///     })).should(),
/// ]);
/// assert_eq!(query, same);
/// # Ok::<(), ir_bm25::QueryParseError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum StructuredQuery {
    /// Words. The analyzer of the index turns them into terms, of which a document contains at
    /// least one. The score is the sum of the scores of these terms.
    Text {
        /// Field; [`None`] for all fields.
        field: Option<String>,
        /// Text of the words.
        text: String,
    },
    /// Words near to each other. The score is that of a term whose frequency is the number of
    /// matches. It needs an index with positions
    /// ([`IndexConfig::positions`](crate::IndexConfig::positions)).
    Window {
        /// Field; [`None`] for all fields.
        field: Option<String>,
        /// Text of the words.
        text: String,
        /// Whether the words occur in this order. A match is then an occurrence of the first word
        /// after which the others follow, each at most `width` positions after the one before.
        /// Otherwise it is a position of a word from which `width` positions contain all words.
        ordered: bool,
        /// Width in positions. An ordered window of width 1 is a phrase. Range: ≥ 1.
        width: u32,
    },
    /// Words near to each other, whose window is as wide as the phrase and `slop` positions more:
    /// `"..."~N` of Lucene. An unordered [`StructuredQuery::Window`] whose width is that of the
    /// words after analysis, from the first to the last position, plus `slop`; 0 is a phrase.
    SloppyPhrase {
        /// Field; [`None`] for all fields.
        field: Option<String>,
        /// Text of the words.
        text: String,
        /// Number of positions beyond those of the phrase.
        slop: u32,
    },
    /// Words, phrases and windows that count as one term: its frequency is the sum of their
    /// frequencies. Its document frequency is the largest of theirs, as in Lucene's `SynonymQuery`.
    /// All name the same field, or none.
    Synonyms(Vec<StructuredQuery>),
    /// Clauses. A document matches if it matches all [`Occur::Must`], no [`Occur::MustNot`] and,
    /// without any [`Occur::Must`], at least one [`Occur::Should`]. The score is the sum of the
    /// scores of the clauses that it matches, without [`Occur::MustNot`].
    Boolean(Vec<BooleanClause>),
    /// Query whose score is multiplied by a weight. Range: above 0, at most 1e9; also of the
    /// product of nested weights.
    Weighted {
        /// Factor of the score.
        weight: f32,
        /// Query whose score is weighted.
        query: Box<StructuredQuery>,
    },
}

/// Clause of a Boolean query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BooleanClause {
    /// Whether documents must match the clause.
    pub occur: Occur,
    /// Query of the clause.
    pub query: StructuredQuery,
}

/// Whether documents must match a clause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Occur {
    /// Other documents are no hits (`+`).
    Must,
    /// Documents may match, and score higher then.
    Should,
    /// Documents must not match.
    MustNot,
}

/// Syntax of structured queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum QuerySyntax {
    /// Lucene's classic syntax: `+must -not "a phrase" "near words"~8 field:word word^2 (a b)`, and
    /// `AND`, `OR`, `NOT`. A backslash escapes a character. `"..."~N` is an unordered window whose
    /// width is N plus that of the phrase, which equals Lucene's slop for two words in order. There
    /// are no wildcards, fuzzy words and ranges: `te*`, `te?m`, `team~` and `[a TO b]` are errors.
    Lucene,
    /// Indri's operators: `#combine(...)`, `#weight(w query ...)`, `#1(...)` and `#odN(...)`
    /// (ordered windows), `#uwN(...)` (unordered), `#syn(...)`, `#band(...)` (all words),
    /// `#or(...)` (any), `#not(...)` within `#band`. As in Indri, the weights of `#weight` and
    /// `#combine` are divided by their sum; parts of weight 0 are left out. `weight(` without `#`,
    /// as in bioCADDIE's topics, is accepted. `word.field` and `#1(...).field` search one field,
    /// whose name starts with a letter; `"example.com"` is a word with a dot.
    Indri,
}

/// Maximum depth of a query.
pub(super) const MAX_DEPTH: usize = 64;

impl QuerySyntax {
    /// Parses a query. A query without words matches nothing.
    ///
    /// # Errors
    /// [`QueryParseError`] names the position, what was expected and what was found.
    pub fn parse(self, query: &str) -> Result<StructuredQuery, QueryParseError> {
        match self {
            Self::Lucene => lucene::parse(query),
            Self::Indri => indri::parse(query),
        }
    }
}

impl StructuredQuery {
    /// Words in all fields.
    pub fn text(text: impl Into<String>) -> Self {
        let text = text.into();
        Self::Text { field: None, text }
    }

    /// Phrase in all fields: the words in successive positions.
    pub fn phrase(text: impl Into<String>) -> Self {
        Self::ordered(text, 1)
    }

    /// Ordered window in all fields.
    pub fn ordered(text: impl Into<String>, width: u32) -> Self {
        Self::Window {
            field: None,
            text: text.into(),
            ordered: true,
            width,
        }
    }

    /// Unordered window in all fields.
    pub fn unordered(text: impl Into<String>, width: u32) -> Self {
        Self::Window {
            field: None,
            text: text.into(),
            ordered: false,
            width,
        }
    }

    /// Boolean query of clauses.
    pub fn boolean(clauses: impl IntoIterator<Item = BooleanClause>) -> Self {
        Self::Boolean(clauses.into_iter().collect())
    }

    /// The query with its score multiplied by a weight.
    #[must_use]
    pub fn with_weight(self, weight: f32) -> Self {
        Self::Weighted {
            weight,
            query: Box::new(self),
        }
    }

    /// Clause that documents must match.
    #[must_use]
    pub fn must(self) -> BooleanClause {
        self.clause(Occur::Must)
    }

    /// Clause that documents may match.
    #[must_use]
    pub fn should(self) -> BooleanClause {
        self.clause(Occur::Should)
    }

    /// Clause that documents must not match.
    #[must_use]
    pub fn must_not(self) -> BooleanClause {
        self.clause(Occur::MustNot)
    }

    fn clause(self, occur: Occur) -> BooleanClause {
        BooleanClause { occur, query: self }
    }

    /// Sequential dependence model of the words: the words, phrases of successive words, and
    /// unordered windows of width 8 of successive words, with these weights, each divided by the
    /// number of its parts. Parts of weight 0 are left out.
    ///
    /// # Source
    /// Metzler and Croft, "A Markov Random Field Model for Term Dependencies", SIGIR 2005, whose
    /// weights are 0.85, 0.1 and 0.05.
    #[must_use]
    pub fn sequential_dependence(words: &[&str], weights: [f32; 3]) -> Self {
        let pairs: Vec<String> = words.windows(2).map(|pair| pair.join(" ")).collect();
        let parts = [
            words
                .iter()
                .map(|word| Self::text(*word))
                .collect::<Vec<_>>(),
            pairs.iter().map(Self::phrase).collect(),
            pairs.iter().map(|pair| Self::unordered(pair, 8)).collect(),
        ];
        let weighted = parts.into_iter().zip(weights);
        let weighted = weighted.filter(|(parts, weight)| !parts.is_empty() && *weight != 0.0);
        Self::boolean(weighted.flat_map(|(parts, weight)| {
            let weight = weight / parts.len() as f32;
            parts
                .into_iter()
                .map(move |part| part.with_weight(weight).should())
        }))
    }
}

/// Prints the query in Lucene's syntax; windows that are not phrases as `#odN(...)` and `#uwN(...)`
/// and synonyms as `#syn(...)`, which Lucene does not have.
impl fmt::Display for StructuredQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn prefix(f: &mut fmt::Formatter<'_>, field: Option<&String>) -> fmt::Result {
            field.map_or(Ok(()), |field| {
                write!(f, "{}:", lucene::escaped_word(field))
            })
        }
        match self {
            Self::Text { field, text } => {
                prefix(f, field.as_ref())?;
                match lucene::escaped_word(text) {
                    word if !text.is_empty() && word == *text => f.write_str(text),
                    escaped => write!(f, "({escaped})"),
                }
            }
            Self::Window {
                field,
                text,
                ordered,
                width,
            } => {
                prefix(f, field.as_ref())?;
                match (ordered, width) {
                    (true, 1) => write!(f, "\"{}\"", lucene::escaped_phrase(text)),
                    (true, width) => write!(f, "#od{width}({text})"),
                    (false, width) => write!(f, "#uw{width}({text})"),
                }
            }
            Self::SloppyPhrase { field, text, slop } => {
                prefix(f, field.as_ref())?;
                write!(f, "\"{}\"~{slop}", lucene::escaped_phrase(text))
            }
            Self::Synonyms(parts) => {
                f.write_str("#syn(")?;
                for (at, part) in parts.iter().enumerate() {
                    write!(f, "{}{part}", if at == 0 { "" } else { " " })?;
                }
                f.write_str(")")
            }
            Self::Boolean(clauses) => {
                for (at, BooleanClause { occur, query }) in clauses.iter().enumerate() {
                    let sign = match occur {
                        Occur::Must => "+",
                        Occur::Should => "",
                        Occur::MustNot => "-",
                    };
                    let space = if at == 0 { "" } else { " " };
                    match query {
                        Self::Boolean(_) => write!(f, "{space}{sign}({query})")?,
                        _ => write!(f, "{space}{sign}{query}")?,
                    }
                }
                Ok(())
            }
            Self::Weighted { weight, query } => match **query {
                Self::Boolean(_) | Self::Weighted { .. } => write!(f, "({query})^{weight}"),
                _ => write!(f, "{query}^{weight}"),
            },
        }
    }
}
