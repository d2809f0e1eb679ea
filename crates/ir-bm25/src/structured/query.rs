//! Structured queries as values.

use serde::{Deserialize, Serialize};

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
    /// Words near to each other. Scored as a term; the number of matches is its frequency. Needs an
    /// index with positions ([`IndexConfig::positions`](crate::IndexConfig::positions)).
    Window {
        /// Field; [`None`] for all fields.
        field: Option<String>,
        /// Text of the words.
        text: String,
        /// If `true`, the words must occur in this order: a match is an occurrence of the first
        /// word after which the others follow, each at most `width` positions after the word
        /// before. Otherwise, a match is a position of a word from which `width` positions contain
        /// all words.
        ordered: bool,
        /// Width in positions. An ordered window of width 1 is a phrase. Range: ≥ 1.
        width: u32,
    },
    /// Words near to each other: `"..."~N` of Lucene. An unordered [`StructuredQuery::Window`]. Its
    /// width is the distance from the first to the last position of the words after analysis, both
    /// included, plus `slop`. A slop of 0 is a phrase.
    SloppyPhrase {
        /// Field; [`None`] for all fields.
        field: Option<String>,
        /// Text of the words.
        text: String,
        /// Number of positions in addition to the positions of the phrase.
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
    /// Query with its score multiplied by a weight. Range: above 0, at most 1e9; also of the
    /// product of nested weights.
    Weighted {
        /// Factor of the score.
        weight: f32,
        /// Query with a weight, which multiplies its score.
        query: Box<StructuredQuery>,
    },
}

/// Clause of a Boolean query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BooleanClause {
    /// Effect of the clause on the matching documents.
    pub occur: Occur,
    /// Query of the clause.
    pub query: StructuredQuery,
}

/// Effect of a clause on the matching documents.
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

/// Maximum depth of a query.
pub(super) const MAX_DEPTH: usize = 64;

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
    /// Metzler and Croft, "A Markov Random Field Model for Term Dependencies", SIGIR 2005.
    /// Published weights: 0.85, 0.1 and 0.05.
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

    /// Sets the field of the parts without one.
    pub(super) fn with_field(self, name: &str) -> Self {
        let or_name = |field: Option<String>| Some(field.unwrap_or_else(|| name.to_owned()));
        match self {
            Self::Text { field, text } => Self::Text {
                field: or_name(field),
                text,
            },
            Self::Window {
                field,
                text,
                ordered,
                width,
            } => Self::Window {
                field: or_name(field),
                text,
                ordered,
                width,
            },
            Self::SloppyPhrase { field, text, slop } => Self::SloppyPhrase {
                field: or_name(field),
                text,
                slop,
            },
            Self::Synonyms(parts) => {
                let parts = parts.into_iter().map(|part| part.with_field(name));
                Self::Synonyms(parts.collect())
            }
            Self::Boolean(clauses) => {
                let clauses = clauses.into_iter().map(|clause| BooleanClause {
                    query: clause.query.with_field(name),
                    ..clause
                });
                Self::Boolean(clauses.collect())
            }
            Self::Weighted { weight, query } => Self::Weighted {
                weight,
                query: Box::new(query.with_field(name)),
            },
        }
    }
}
