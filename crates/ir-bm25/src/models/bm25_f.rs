//! BM25F: BM25 over weighted fields.

use std::fmt::Write;

use super::parameter::{self, B, K1, PARAMETERS, ParameterRange};
use crate::{DocLengths, SearcherError};

/// BM25F: the frequencies of a term in the fields of a document are normalized by the length of
/// each field, added up with the weights of the fields, and saturated once.
///
/// The contribution of a term is `w · x / (k1 + x)`, where
/// `x = Σ weight · tf / (1 - b + b · length / average)` over the fields of the index that are
/// searched, with the weight, `b` and lengths of each field, and `w` is the idf
/// `ln(1 + (N - df + 0.5) / (df + 0.5))` times the count in the query. `N` is the number of
/// documents, `df` the number of documents with the term in any field that is searched, `average`
/// the mean length over the documents with at least one token in the field. With one field of
/// weight 1, [`Bm25`](crate::Bm25) has the same scores, if no document is blank.
///
/// Other models score each field on its own and add the scores, so that a term that occurs once in
/// two fields counts more than one that occurs twice in one field. BM25F has one set of statistics
/// for all fields. It is therefore no [`ScoringModel`](super::ScoringModel), and the document
/// frequency of a term in several fields is counted when it is searched. Term scores are
/// rounded to multiples of 2^-36; [`Pruning`](crate::Pruning) other than exhaustive search is
/// MaxScore. Structured queries with clauses, phrases or named fields return an error.
///
/// ```
/// use ir_bm25::models::Bm25F;
/// use ir_bm25::{Index, IndexConfig, IndexedFields, Model};
/// use ir_core::{Document, NoProgress, Retriever, Search};
///
/// let documents = vec![
///     Document::new("a").with_title("tea").with_text("green tea"),
///     Document::new("b").with_title("milk").with_text("black tea with milk"),
/// ];
/// let config = IndexConfig::default().with_fields(IndexedFields::Separate);
/// let index = Index::build(&documents, &config, &mut NoProgress)?;
/// let bm25f = Bm25F::new(1.2, 0.75).with_field("title", 2.0, 0.5);
/// let ranking = index.searcher(bm25f.clone())?.search("milk", &Search::top(1))?;
/// // N = 2, df = 1, so that w = ln(1 + 1.5 / 1.5). Title: tf = 1, length 1 = average. Text:
/// // tf = 1, length 3 ("with" is a stop word), average 2.5.
/// // x = 2 · 1 / 1 + 1 · 1 / (0.25 + 0.75 · 3 / 2.5) = 2.869565
/// // score: 0.693147 · 2.869565 / (1.2 + 2.869565)
/// assert!((ranking.hits()[0].score - 0.488_758).abs() < 1e-6);
///
/// // The same by name.
/// let text = "bm25f(k1=1.2,b=0.75,weight.title=2,b.title=0.5,lengths=one-byte)";
/// assert_eq!(Model::from(bm25f).to_string(), text);
/// let named: Model = text.parse()?;
/// assert_eq!(named.to_string(), text);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
/// # Source
/// Zaragoza, Craswell, Taylor, Saria and Robertson, "Microsoft Cambridge at TREC-13: Web and HARD
/// tracks", TREC 2004; Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and
/// Beyond", Foundations and Trends in Information Retrieval 3(4), 2009, section 3.6.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Bm25F {
    /// Term-frequency saturation; 0 ignores repeated occurrences. Range: >= 0, finite. Default:
    /// 0.9.
    pub k1: f32,
    /// Length normalization of fields without parameters of their own. 0 disables it, 1 normalizes
    /// fully. Range: 0..=1. Default: 0.4.
    pub b: f32,
    /// Parameters of single fields. Others have the weight 1 and the `b` of all.
    pub fields: Vec<FieldParameters>,
    /// Precision of document lengths. Default: [`DocLengths::OneByte`].
    pub lengths: DocLengths,
}

/// Parameters of a field in [`Bm25F`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct FieldParameters {
    /// Name of the field.
    pub name: String,
    /// Factor of the normalized frequency;
    /// [`Searcher::with_weights`](crate::Searcher::with_weights) overrides it. 0 excludes the
    /// field. Range: 0 or 1e-9..=1e9. Default: 1.
    pub weight: f32,
    /// Length normalization. Range: 0..=1. Default: [`Bm25F::b`].
    pub b: f32,
}

pub(super) const NAME: &str = "bm25f";

/// Parameters of a field, before its name.
const WEIGHT: &str = "weight";
const B_OF_FIELD: &str = "b";

impl Bm25F {
    /// Parameters of all fields.
    #[must_use]
    pub const fn new(k1: f32, b: f32) -> Self {
        Self {
            k1,
            b,
            fields: Vec::new(),
            lengths: DocLengths::OneByte,
        }
    }

    /// Sets the parameters of a field.
    #[must_use]
    pub fn with_field(mut self, name: impl Into<String>, weight: f32, b: f32) -> Self {
        let field = self.field(name.into());
        field.weight = weight;
        field.b = b;
        self
    }

    /// The parameters of a field, by default if it has none.
    fn field(&mut self, name: String) -> &mut FieldParameters {
        let b = self.b;
        let at = self.fields.iter().position(|field| field.name == name);
        let at = at.unwrap_or_else(|| {
            let weight = 1.0;
            self.fields.push(FieldParameters { name, weight, b });
            self.fields.len() - 1
        });
        &mut self.fields[at]
    }

    /// Sets a parameter `weight.FIELD` or `b.FIELD`; returns whether the name is such a one.
    pub(super) fn set(&mut self, name: &str, value: f32) -> bool {
        match name.split_once('.') {
            Some((WEIGHT, field)) if !field.is_empty() => {
                self.field(field.to_owned()).weight = value;
            }
            Some((B_OF_FIELD, field)) if !field.is_empty() => {
                self.field(field.to_owned()).b = value;
            }
            _ => return false,
        }
        true
    }

    /// Length normalization of a field.
    pub(crate) fn b_of(&self, name: &str) -> f32 {
        let mut fields = self.fields.iter();
        let field = fields.find(|field| field.name == name);
        field.map_or(self.b, |field| field.b)
    }

    pub(super) fn validate(&self) -> Result<(), SearcherError> {
        parameter::check(PARAMETERS, &[self.k1, self.b])?;
        for field in &self.fields {
            for (parameter, range, found) in [
                (WEIGHT, ParameterRange::Weight, field.weight),
                (B_OF_FIELD, ParameterRange::Fraction, field.b),
            ] {
                if !range.contains(found) {
                    return Err(SearcherError::FieldParameter {
                        name: format!("{parameter}.{}", field.name),
                        expected: range.expected(),
                        found,
                    });
                }
            }
        }
        Ok(())
    }

    pub(super) fn name(&self) -> String {
        let mut text = format!("{NAME}(k1={},b={},", self.k1, self.b);
        for FieldParameters { name, weight, b } in &self.fields {
            let _ = write!(text, "{WEIGHT}.{name}={weight},{B_OF_FIELD}.{name}={b},");
        }
        text + "lengths=" + self.lengths.name() + ")"
    }
}

impl Default for Bm25F {
    fn default() -> Self {
        Self::new(K1.default, B.default)
    }
}
