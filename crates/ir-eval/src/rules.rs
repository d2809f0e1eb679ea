//! What an evaluation does where two of them could disagree.

use std::fmt;

use ir_core::Grade;
use serde::{Deserialize, Serialize};

/// The rules of an evaluation. Every [`Report`](crate::Report) carries and prints them.
///
/// The default is what `trec_eval -c` of release 10.0 does.
///
/// ```
/// use ir_eval::{Missing, Rules};
/// let rules = Rules { level: 2, missing: Missing::Skip, ..Rules::default() };
/// assert_eq!(
///     rules.to_string(),
///     "ties: score then id descending; missing queries: skipped; unjudged: not relevant; \
///      self-hits: kept; relevant from: 2; depth: all; scores: 64 bit; generation: 10"
/// );
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rules {
    /// The order of documents with equal scores.
    pub ties: Ties,
    /// Queries that have judgments and nothing retrieved.
    pub missing: Missing,
    /// Queries that have judgments and no relevant document.
    pub no_relevant: NoRelevant,
    /// Retrieved documents without a judgment.
    pub unjudged: Unjudged,
    /// A retrieved document whose id is the query's.
    pub self_hits: SelfHits,
    /// The grade from which on a document is relevant, unless the measure says otherwise; not
    /// negative. trec_eval's `-l`. Default 1.
    pub level: Grade,
    /// How many documents of each list count; the others are dropped. trec_eval's `-M`. Default all.
    pub depth: Option<usize>,
    /// The precision in which scores are compared.
    pub scores: ScoreWidth,
    /// The release of trec_eval to go by where they differ.
    pub generation: Generation,
    /// The number of documents in the collection, for utility alone. trec_eval's `-N`. Default 0.
    pub collection: u64,
}

impl Rules {
    /// `trec_eval -c`, release 10.0: the default.
    pub const TREC_EVAL_10: Self = Self {
        ties: Ties::TrecEval,
        missing: Missing::Zero,
        no_relevant: NoRelevant::Count,
        unjudged: Unjudged::NonRelevant,
        self_hits: SelfHits::Keep,
        level: 1,
        depth: None,
        scores: ScoreWidth::F64,
        generation: Generation::V10,
        collection: 0,
    };

    /// `trec_eval -c`, release 9.0.8 by its tag.
    pub const TREC_EVAL_9_0_8: Self = Self {
        generation: Generation::V9,
        ..Self::TREC_EVAL_10
    };

    /// `trec_eval -c`, release 9.0.4, which Anserini used for years: scores in 32 bits, so more
    /// ties. pytrec_eval compares in 32 bits, too (pytrec_eval-terrier 0.5.11): this is its rule.
    pub const TREC_EVAL_9_0_4: Self = Self {
        scores: ScoreWidth::F32,
        ..Self::TREC_EVAL_9_0_8
    };
}

impl Rules {
    /// gdeval: queries without a relevant document are left out, and so are those without results.
    /// Its `-c` is `Rules { missing: Missing::Zero, ..Rules::GDEVAL }`.
    pub const GDEVAL: Self = Self {
        missing: Missing::Skip,
        no_relevant: NoRelevant::Skip,
        ..Self::TREC_EVAL_10
    };

    /// sample_eval as NIST gives it out: the first 1000 documents of each list count, and queries
    /// without results are left out. (The total of [`Kind::InfNumRel`](crate::Kind::InfNumRel)
    /// that it prints takes in all judged queries all the same.)
    pub const SAMPLE_EVAL: Self = Self {
        missing: Missing::Skip,
        depth: Some(1000),
        ..Self::TREC_EVAL_10
    };

    /// ndeval with its option `-traditional`: queries without results are left out. (Without the
    /// option it goes by the rank column.)
    pub const NDEVAL: Self = Self {
        missing: Missing::Skip,
        ..Self::TREC_EVAL_10
    };
}

impl Default for Rules {
    fn default() -> Self {
        Self::TREC_EVAL_10
    }
}

/// The order of documents whose scores are equal. All of them sort by descending score first:
/// the order of the lines and the rank column of a file mean nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Ties {
    /// By document id, descending by bytes, as trec_eval does on purpose: an order that no system
    /// would have chosen in its own favour.
    #[default]
    TrecEval,
    /// By document id, ascending by bytes.
    IdAscending,
    /// As the run lists them.
    RunOrder,
    /// Not at all: equal scores are an error.
    Reject,
}

/// What queries count that have judgments and nothing retrieved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Missing {
    /// As an empty list, so 0 for nearly all measures: trec_eval's `-c`.
    #[default]
    Zero,
    /// They are left out of every mean: trec_eval 9 without `-c`. (Release 10.0 stops with an
    /// error instead.) Figures over different subsets of the queries cannot be compared.
    Skip,
}

/// What queries count of whose judged documents none reaches the relevance level of the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoRelevant {
    /// They count, as 0 for nearly all measures: trec_eval.
    #[default]
    Count,
    /// They are left out of every mean: gdeval.
    Skip,
}

/// What becomes of retrieved documents that have no judgment, or a negative one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unjudged {
    /// They count as not relevant.
    #[default]
    NonRelevant,
    /// They are taken out, after sorting and cutting, and the list closes up: trec_eval's `-J`.
    Remove,
}

/// What becomes of a document whose id is that of the query, in collections where queries are
/// documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SelfHits {
    /// It stays.
    #[default]
    Keep,
    /// It is dropped before anything else, as BEIR does.
    Drop,
}

/// The precision in which scores are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScoreWidth {
    /// 32 bits: trec_eval 9.0.4, pytrec_eval.
    F32,
    /// 64 bits: trec_eval from 9.0.8 on.
    #[default]
    F64,
}

/// The release of trec_eval to go by where they differ.
///
/// | | 9 | 10 |
/// |---|---|---|
/// | relevant documents needed for recall r of R, in interpolated precision | ⌊rR + 0.9⌋ | rR rounded, halves up |
/// | per-query output | queries of the run | queries of the qrels, missing ones too where they count |
/// | [`Yaap`](crate::Kind::Yaap) of a missing query | 0 | ln(1 / (1 + R)) |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum Generation {
    /// 9.0.x.
    #[serde(rename = "9")]
    V9,
    /// 10.0.
    #[default]
    #[serde(rename = "10")]
    V10,
}

impl fmt::Display for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ties = match self.ties {
            Ties::TrecEval => "score then id descending",
            Ties::IdAscending => "score descending then id ascending",
            Ties::RunOrder => "score descending then run order",
            Ties::Reject => "rejected",
        };
        let missing = match self.missing {
            Missing::Zero => "count as 0",
            Missing::Skip => "skipped",
        };
        let unjudged = match self.unjudged {
            Unjudged::NonRelevant => "not relevant",
            Unjudged::Remove => "removed",
        };
        let self_hits = match self.self_hits {
            SelfHits::Keep => "kept",
            SelfHits::Drop => "dropped",
        };
        let scores = match self.scores {
            ScoreWidth::F32 => "32 bit",
            ScoreWidth::F64 => "64 bit",
        };
        let generation = match self.generation {
            Generation::V9 => "9",
            Generation::V10 => "10",
        };
        write!(
            f,
            "ties: {ties}; missing queries: {missing}; unjudged: {unjudged}; \
             self-hits: {self_hits}; relevant from: {}; depth: ",
            self.level
        )?;
        match self.depth {
            None => f.write_str("all")?,
            Some(depth) => write!(f, "{depth}")?,
        }
        write!(f, "; scores: {scores}; generation: {generation}")?;
        if self.no_relevant == NoRelevant::Skip {
            f.write_str("; queries without relevant documents: skipped")?;
        }
        if self.collection > 0 {
            write!(f, "; collection: {} documents", self.collection)?;
        }
        Ok(())
    }
}
