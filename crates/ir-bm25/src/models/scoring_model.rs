//! The seam for scoring models.

use std::fmt;

use ir_core::Explanation;

use crate::{DocLengths, SearcherError};

/// Scoring model. The score of a document is the sum of its term scores, over the query terms that
/// it contains. A [`DocumentScorer`] adds a summand of the document.
/// [`Index::searcher`](crate::Index::searcher) accepts any.
///
/// Known elsewhere as similarity (Lucene) or weighting model (Terrier).
///
/// ```
/// use ir_bm25::models::{ScoringModel, TermBound, TermScorer, TermStatistics};
/// use ir_bm25::{Index, IndexConfig};
/// use ir_core::{Document, NoProgress, Retriever, Search};
///
/// /// The number of query terms in a document.
/// #[derive(Debug)]
/// struct CoordinationLevel;
///
/// impl ScoringModel for CoordinationLevel {
///     fn name(&self) -> String {
///         "coordination-level".to_owned()
///     }
///
///     fn term_scorer(&self, _: &TermStatistics) -> Box<dyn TermScorer> {
///         Box::new(One)
///     }
/// }
///
/// #[derive(Debug)]
/// struct One;
///
/// impl TermScorer for One {
///     fn score(&self, _tf: u32, _length: u32) -> f32 {
///         1.0
///     }
///
///     fn bound(&self) -> TermBound {
///         TermBound::AtMost(1.0)
///     }
/// }
///
/// let documents = vec![
///     Document::new("a").with_text("tea, tea, tea"),
///     Document::new("b").with_text("green tea"),
/// ];
/// let index = Index::build(&documents, &IndexConfig::default(), &mut NoProgress)?;
/// let searcher = index.searcher(CoordinationLevel)?;
/// let best = searcher.search("green tea", &Search::top(1))?.hits()[0];
/// assert_eq!((index.ids().id(best.doc), best.score), ("b", 2.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait ScoringModel: fmt::Debug + Send + Sync + 'static {
    /// Name and parameters, such as `qld(mu=1000)`, for messages and run tags.
    fn name(&self) -> String;

    /// Precision of the document lengths. Default: [`DocLengths::OneByte`].
    fn lengths(&self) -> DocLengths {
        DocLengths::OneByte
    }

    /// Checks the parameters, when a searcher is created. Default: all are valid.
    ///
    /// # Errors
    /// [`SearcherError::Parameter`] for a parameter that is out of range.
    fn validate(&self) -> Result<(), SearcherError> {
        Ok(())
    }

    /// Creates the scorer of a query term in a field.
    fn term_scorer(&self, term: &TermStatistics) -> Box<dyn TermScorer>;

    /// Creates the scorer of what a document adds to the sum of its term scores, such as the
    /// probability of the query terms that it does not contain. Default: [`None`], nothing.
    ///
    /// `query` holds the statistics in one field of all query terms, in their order, at least one.
    /// Terms that do not occur have a document frequency of 0. The scorer is asked for documents
    /// with at least one query term in a field; in this field, they may have none, or no tokens.
    fn document_scorer(&self, query: &[TermStatistics]) -> Option<Box<dyn DocumentScorer>> {
        let _ = query;
        None
    }

    /// Statistics by which phrases and windows of structured queries are scored. Default:
    /// [`WindowStatistics::Terms`].
    fn window_statistics(&self) -> WindowStatistics {
        WindowStatistics::Terms
    }
}

/// Statistics by which a [`ScoringModel`] scores the phrases and windows of structured queries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum WindowStatistics {
    /// Statistics of the terms: the score is the sum of the scores of the terms at the frequency of
    /// the window, as in Lucene.
    #[default]
    Terms,
    /// Statistics of the window: the numbers of documents with a match, and of all matches, as in
    /// Indri. Finding them reads the positions of all documents with the terms.
    Matches,
}

/// Scorer of what a document adds to the sum of its term scores, by its length in one field.
///
/// ```
/// use ir_bm25::models::{DocumentScorer, ScoringModel, TermScorer, TermStatistics};
/// use ir_bm25::{DocLengths, Index, IndexConfig};
/// use ir_core::{Document, NoProgress, Retriever, Search};
///
/// /// Minus the number of tokens of a document that are not in the query.
/// #[derive(Debug)]
/// struct FewestOthers;
///
/// impl ScoringModel for FewestOthers {
///     fn name(&self) -> String {
///         "fewest-others".to_owned()
///     }
///
///     fn lengths(&self) -> DocLengths {
///         DocLengths::Exact
///     }
///
///     fn term_scorer(&self, _: &TermStatistics) -> Box<dyn TermScorer> {
///         Box::new(Occurrences)
///     }
///
///     fn document_scorer(&self, _: &[TermStatistics]) -> Option<Box<dyn DocumentScorer>> {
///         Some(Box::new(Length))
///     }
/// }
///
/// #[derive(Debug)]
/// struct Occurrences;
///
/// impl TermScorer for Occurrences {
///     fn score(&self, tf: u32, _length: u32) -> f32 {
///         tf as f32
///     }
/// }
///
/// #[derive(Debug)]
/// struct Length;
///
/// impl DocumentScorer for Length {
///     fn score(&self, length: u32) -> f64 {
///         -f64::from(length)
///     }
///
///     fn bound(&self) -> f64 {
///         0.0
///     }
/// }
///
/// let documents = vec![
///     Document::new("a").with_text("tea, tea, tea, coffee, coffee, milk"),
///     Document::new("b").with_text("green tea, black tea"),
/// ];
/// let index = Index::build(&documents, &IndexConfig::default(), &mut NoProgress)?;
/// let searcher = index.searcher(FewestOthers)?;
/// let best = searcher.search("tea", &Search::top(1))?.hits()[0];
/// assert_eq!((index.ids().id(best.doc), best.score), ("b", -2.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait DocumentScorer: fmt::Debug {
    /// Summand of a document with `length` ≥ 0 tokens in the field. Must be finite, may be
    /// negative. Depends on the length alone.
    fn score(&self, length: u32) -> f64;

    /// Upper bound of [`DocumentScorer::score`] for all lengths, by which documents are skipped
    /// that cannot enter the top k. Default: infinity, which skips none.
    fn bound(&self) -> f64 {
        f64::INFINITY
    }

    /// The formula, for explanations. Default: `summand of the document`.
    fn formula(&self) -> String {
        "summand of the document".to_owned()
    }

    /// The values in the formula other than the length, for explanations. Default: none.
    fn details(&self, length: u32) -> Vec<Explanation> {
        let _ = length;
        Vec::new()
    }
}

/// Scorer of a query term in one field of a document.
pub trait TermScorer: fmt::Debug {
    /// The contribution of `tf` > 0 occurrences in a field of `length` tokens. Must be a number. It
    /// depends on the arguments alone: each pair is computed once per query. Contributions are
    /// rounded to multiples of 2^-36.
    ///
    /// With [`DocLengths::OneByte`], `length` may be less than `tf`.
    fn score(&self, tf: u32, length: u32) -> f32;

    /// What is known of all contributions, by which documents are skipped that cannot enter the top
    /// k. Default: [`TermBound::Unknown`].
    fn bound(&self) -> TermBound {
        TermBound::Unknown
    }

    /// The formula of the contribution, for explanations. Default: `contribution of the term`.
    fn formula(&self) -> String {
        "contribution of the term".to_owned()
    }

    /// The values in the formula other than frequency and length, for explanations. Default: none.
    fn details(&self, tf: u32, length: u32) -> Vec<Explanation> {
        let _ = (tf, length);
        Vec::new()
    }
}

/// What is known of the contributions of a query term, for pruning.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum TermBound {
    /// The computed contributions are at least 0, do not fall as the frequency grows at the same
    /// length, and do not rise as the length grows at the same frequency. Block-max MaxScore
    /// bounds them by the impacts of the postings.
    Monotone,
    /// Contributions are from 0 to this. MaxScore prunes by it.
    AtMost(f32),
    /// Nothing is known. Queries with the term are scored exhaustively.
    Unknown,
}

/// What [`TermStatistics::boost`] is, for explanations.
pub(crate) const BOOST: &str =
    "boost: weight in the query, by default the count, × weight of the field";

/// Statistics of a query term in a field of the collection, without deleted documents.
///
/// ```
/// use ir_bm25::models::TermStatistics;
/// let term = TermStatistics::new(10, 120, 3, 5);
/// assert_eq!(term.average_length(), 12.0);
/// assert_eq!(term.with_count(2.0).boost(), 2.0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct TermStatistics {
    /// N: number of documents with at least one token in the field.
    pub documents: u64,
    /// Number of tokens in the field of all documents.
    pub tokens: u64,
    /// Document frequency: number of documents with the term in the field.
    pub df: u64,
    /// Collection frequency: number of occurrences of the term in the field.
    pub cf: u64,
    /// Weight of the term in the query, by default its count.
    pub count: f32,
    /// Weight of the field.
    pub weight: f32,
}

impl TermStatistics {
    /// Statistics with a weight in the query and a field weight of 1.
    #[must_use]
    pub const fn new(documents: u64, tokens: u64, df: u64, cf: u64) -> Self {
        Self {
            documents,
            tokens,
            df,
            cf,
            count: 1.0,
            weight: 1.0,
        }
    }

    /// Sets the weight in the query.
    #[must_use]
    pub const fn with_count(self, count: f32) -> Self {
        Self { count, ..self }
    }

    /// Weight in the query × weight of the field.
    #[must_use]
    pub fn boost(&self) -> f32 {
        self.count * self.weight
    }

    /// N and df in double precision.
    pub(super) fn counts(&self) -> (f64, f64) {
        (self.documents as f64, self.df as f64)
    }

    /// Average number of tokens in the field, over the documents with at least one; 1 if there are
    /// none.
    #[must_use]
    pub fn average_length(&self) -> f64 {
        match self.documents {
            0 => 1.0,
            n => self.tokens as f64 / n as f64,
        }
    }

    /// Probability of the term in the collection as Lucene estimates it: `(cf + 1) / (tokens + 1)`.
    #[must_use]
    pub fn collection_probability(&self) -> f64 {
        (self.cf as f64 + 1.0) / (self.tokens as f64 + 1.0)
    }

    /// Probability of the term in the collection as Indri estimates it: `cf / tokens`, and
    /// `1 / (2 · tokens)` for a term that does not occur.
    #[must_use]
    pub fn relative_collection_frequency(&self) -> f64 {
        let cf = match self.cf {
            0 => 0.5,
            cf => cf as f64,
        };
        cf / self.tokens.max(1) as f64
    }
}
