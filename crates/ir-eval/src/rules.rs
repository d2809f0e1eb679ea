//! Evaluation rules: ties, missing queries, unjudged documents, relevance level, depth.

use std::fmt;

use ir_core::Grade;
use serde::{Deserialize, Serialize};

/// Evaluation rules: ties, missing queries, unjudged documents, relevance level, depth. Every
/// [`Report`](crate::Report) contains and prints its rules.
///
/// Default: the rules of `trec_eval -c`, release 10.0.
///
/// ```
/// use ir_eval::{MissingQueries, Rules};
/// let rules = Rules { level: 2, missing: MissingQueries::Skip, ..Rules::default() };
/// assert_eq!(
///     rules.to_string(),
///     "ties: score then id descending; missing queries: skipped; unjudged: not relevant; \
///      self-hits: kept; relevant from: 2; depth: all; scores: 64 bit; generation: 10"
/// );
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rules {
    /// Order of documents with equal scores. Default: descending id.
    pub ties: TieBreak,
    /// Queries with judgments but without results. Default: count as empty lists.
    pub missing: MissingQueries,
    /// Queries with judgments but without a relevant document. Default: count.
    pub no_relevant: QueriesWithoutRelevant,
    /// Retrieved documents without a judgment. Default: not relevant.
    pub unjudged: UnjudgedDocuments,
    /// Retrieved documents with the id of the query. Default: keep.
    pub self_hits: SelfHits,
    /// Relevance level: documents are relevant from this grade on, unless the measure has a level
    /// of its own. trec_eval's `-l`. Range: ≥ 0. Default: 1.
    pub level: Grade,
    /// Maximum number of documents per query; further ones are dropped. trec_eval's `-M`. Default:
    /// all.
    pub depth: Option<usize>,
    /// Floating-point precision in which scores are compared. Default: 64 bits.
    pub scores: ScorePrecision,
    /// Release of trec_eval to follow where releases differ. Default: 10.
    #[serde(rename = "generation")]
    pub trec_eval_version: TrecEvalVersion,
    /// Number of documents in the collection, which only [`Utility`](crate::measure::Utility)
    /// uses. trec_eval's `-N`. Default: 0.
    #[serde(rename = "collection")]
    pub collection_size: u64,
}

impl Rules {
    /// Rules of `trec_eval -c`, release 10.0 (the default).
    pub const TREC_EVAL_10: Self = Self {
        ties: TieBreak::TrecEval,
        missing: MissingQueries::Zero,
        no_relevant: QueriesWithoutRelevant::Count,
        unjudged: UnjudgedDocuments::NonRelevant,
        self_hits: SelfHits::Keep,
        level: 1,
        depth: None,
        scores: ScorePrecision::F64,
        trec_eval_version: TrecEvalVersion::V10,
        collection_size: 0,
    };

    /// Rules of `trec_eval -c`, release 9.0.8 (the git tag).
    pub const TREC_EVAL_9_0_8: Self = Self {
        trec_eval_version: TrecEvalVersion::V9,
        ..Self::TREC_EVAL_10
    };

    /// Rules of `trec_eval -c`, release 9.0.4, which Anserini used for years. Scores have 32 bits,
    /// so there are more ties. pytrec_eval (pytrec_eval-terrier 0.5.11) follows the same rules.
    pub const TREC_EVAL_9_0_4: Self = Self {
        scores: ScorePrecision::F32,
        ..Self::TREC_EVAL_9_0_8
    };

    /// Rules of gdeval: queries without a relevant document or without results are skipped.
    /// `gdeval -c` is `Rules { missing: MissingQueries::Zero, ..Rules::GDEVAL }`.
    pub const GDEVAL: Self = Self {
        missing: MissingQueries::Skip,
        no_relevant: QueriesWithoutRelevant::Skip,
        ..Self::TREC_EVAL_10
    };

    /// Rules of sample_eval as distributed by NIST: the first 1000 documents of each list count,
    /// and queries without results are skipped. (The total of
    /// [`StratifiedRelevantCount`](crate::measure::StratifiedRelevantCount) that sample_eval
    /// prints includes all judged queries nevertheless.)
    pub const SAMPLE_EVAL: Self = Self {
        missing: MissingQueries::Skip,
        depth: Some(1000),
        ..Self::TREC_EVAL_10
    };

    /// Rules of ndeval with the option `-traditional`: queries without results are skipped.
    /// (Without the option, ndeval sorts by the rank column.)
    pub const NDEVAL: Self = Self {
        missing: MissingQueries::Skip,
        ..Self::TREC_EVAL_10
    };
}

impl Default for Rules {
    fn default() -> Self {
        Self::TREC_EVAL_10
    }
}

/// Order of documents with equal scores. Documents are always sorted by descending score first;
/// the line order and the rank column of a run file are ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum TieBreak {
    /// Descending byte order of the document id, as in trec_eval. Independent of the system.
    #[default]
    TrecEval,
    /// Ascending byte order of the document id.
    IdAscending,
    /// Order of the run.
    RunOrder,
    /// Equal scores are an error.
    Reject,
}

/// Treatment of queries with judgments but without results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MissingQueries {
    /// Queries count with an empty list, so 0 for nearly all measures: trec_eval's `-c`.
    #[default]
    Zero,
    /// Queries are excluded from every mean: trec_eval 9 without `-c`. (Release 10.0 stops with an
    /// error instead.) Means over different subsets of the queries are not comparable.
    Skip,
}

/// Treatment of queries without a document that reaches the relevance level of the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueriesWithoutRelevant {
    /// Queries count, as 0 for nearly all measures: trec_eval.
    #[default]
    Count,
    /// Queries are excluded from every mean: gdeval.
    Skip,
}

/// Treatment of retrieved documents without a judgment, or with a negative grade.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnjudgedDocuments {
    /// Documents count as not relevant.
    #[default]
    NonRelevant,
    /// Documents are removed after sorting and cutting, and those below move up: trec_eval's `-J`.
    Remove,
}

/// Treatment of retrieved documents with the id of the query. Some collections use documents as
/// queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SelfHits {
    /// Documents count like any other.
    #[default]
    Keep,
    /// Documents are removed before anything else, as in BEIR.
    Drop,
}

/// Floating-point precision in which scores are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScorePrecision {
    /// 32 bits: trec_eval 9.0.4, pytrec_eval.
    F32,
    /// 64 bits: trec_eval from 9.0.8 on.
    #[default]
    F64,
}

/// Release of trec_eval to follow where releases differ.
///
/// | | 9 | 10 |
/// |---|---|---|
/// | hits at which recall r is reached in interpolated precision | ⌊rR + 0.9⌋ | rR rounded |
/// | per-query output | queries of the run | queries of the qrels |
/// | [`Yaap`](crate::measure::Yaap) of a missing query | 0 | ln(1 / (1 + R)) |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum TrecEvalVersion {
    /// Releases 9.0.4 to 9.0.8.
    #[serde(rename = "9")]
    V9,
    /// Release 10.0 and later.
    #[default]
    #[serde(rename = "10")]
    V10,
}

impl fmt::Display for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ties = match self.ties {
            TieBreak::TrecEval => "score then id descending",
            TieBreak::IdAscending => "score descending then id ascending",
            TieBreak::RunOrder => "score descending then run order",
            TieBreak::Reject => "rejected",
        };
        let missing = match self.missing {
            MissingQueries::Zero => "count as 0",
            MissingQueries::Skip => "skipped",
        };
        let unjudged = match self.unjudged {
            UnjudgedDocuments::NonRelevant => "not relevant",
            UnjudgedDocuments::Remove => "removed",
        };
        let self_hits = match self.self_hits {
            SelfHits::Keep => "kept",
            SelfHits::Drop => "dropped",
        };
        let scores = match self.scores {
            ScorePrecision::F32 => "32 bit",
            ScorePrecision::F64 => "64 bit",
        };
        let generation = match self.trec_eval_version {
            TrecEvalVersion::V9 => "9",
            TrecEvalVersion::V10 => "10",
        };
        let depth = self
            .depth
            .map_or_else(|| "all".to_owned(), |depth| depth.to_string());
        write!(
            f,
            "ties: {ties}; missing queries: {missing}; unjudged: {unjudged}; \
             self-hits: {self_hits}; relevant from: {}; depth: {depth}; scores: {scores}; \
             generation: {generation}",
            self.level
        )?;
        if self.no_relevant == QueriesWithoutRelevant::Skip {
            f.write_str("; queries without relevant documents: skipped")?;
        }
        if self.collection_size > 0 {
            write!(f, "; collection: {} documents", self.collection_size)?;
        }
        Ok(())
    }
}
