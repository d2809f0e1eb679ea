//! Evaluation options, shared by the commands that evaluate runs.

use anyhow::Result;
use ir_core::Grade;
use ir_core::trec::HeaderLine;
use ir_eval::trec_eval::{JudgmentKind, MeasureSelection};
use ir_eval::{
    MissingQueries, QueriesWithoutRelevant, Rules, ScorePrecision, SelfHits, TrecEvalVersion,
    UnjudgedDocuments,
};

use crate::shared::console::{Usage, bail_usage};
use crate::shared::options::{choice, first_set, header, positive};

#[derive(Debug, clap::Args)]
pub(crate) struct RuleOptions {
    /// Minimum grade of a relevant document [default: 1, as in trec_eval]
    #[arg(
        short = 'l', long, alias = "level_for_rel", value_name = "N",
        default_value_t = 1, hide_default_value = true, allow_negative_numbers = true,
        value_parser = clap::value_parser!(i64).range(0..)
    )]
    level: Grade,

    /// Maximum number of retrieved documents evaluated per query [default: all]
    #[arg(short = 'M', long, alias = "Max_retrieved_per_topic", value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    max_retrieved: Option<usize>,

    /// Evaluate judged documents only: remove unjudged ones from the rankings
    #[arg(short = 'J', long, alias = "Judged_docs_only")]
    judged_only: bool,

    /// Number of documents in the collection, for the measure `utility`
    #[arg(
        short = 'N', long, alias = "Number_docs_in_coll", value_name = "N",
        value_parser = clap::value_parser!(u64), allow_negative_numbers = true
    )]
    collection_size: Option<u64>,

    /// Remove hits whose id equals the query id before evaluating, as BEIR does
    #[arg(long)]
    remove_self: bool,

    /// Exclude queries without relevant documents from the averages, as gdeval does
    #[arg(long)]
    skip_no_relevant: bool,

    /// trec_eval release to reproduce where releases differ
    #[arg(long, value_parser = choice(RELEASES), default_value = "10", value_name = "RELEASE")]
    generation: (TrecEvalVersion, ScorePrecision),

    /// Skip a header line (text in a numeric column) in qrels and run; trec_eval parses it as data
    #[arg(long)]
    skip_header: bool,
}

const RELEASES: [(&str, &str, (TrecEvalVersion, ScorePrecision)); 3] = [
    (
        "9.0.4",
        "Scores compared as f32, as in pytrec_eval",
        (TrecEvalVersion::V9, ScorePrecision::F32),
    ),
    ("9|9.0.8", "", (TrecEvalVersion::V9, ScorePrecision::F64)),
    ("10|10.0", "", (TrecEvalVersion::V10, ScorePrecision::F64)),
];

impl RuleOptions {
    /// Evaluation rules; `missing` is the treatment of queries without results.
    pub(crate) fn rules(&self, missing: MissingQueries) -> Rules {
        let (trec_eval_version, scores) = self.generation;
        Rules {
            missing,
            unjudged: if self.judged_only {
                UnjudgedDocuments::Remove
            } else {
                UnjudgedDocuments::NonRelevant
            },
            self_hits: if self.remove_self {
                SelfHits::Drop
            } else {
                SelfHits::Keep
            },
            no_relevant: if self.skip_no_relevant {
                QueriesWithoutRelevant::Skip
            } else {
                QueriesWithoutRelevant::Count
            },
            level: self.level,
            depth: self.max_retrieved,
            collection_size: self.collection_size.unwrap_or_default(),
            scores,
            trec_eval_version,
            ..Rules::default()
        }
    }

    /// Rejects options that apply to plain qrels only.
    pub(crate) fn grades_only(&self) -> Result<()> {
        let qrels_only = [
            ("--skip-header", self.skip_header),
            ("--remove-self", self.remove_self),
            ("--skip-no-relevant", self.skip_no_relevant),
        ];
        if let Some(option) = first_set(qrels_only) {
            bail_usage!("{option}: expected judgments in the format `qrels` (-R)");
        }
        Ok(())
    }

    pub(crate) fn header(&self) -> HeaderLine {
        header(self.skip_header)
    }
}

/// Parses the values of `--measure`.
pub(crate) fn select_measures<S: AsRef<str>>(
    judgments: JudgmentKind,
    options: &[S],
    rules: &Rules,
) -> Result<MeasureSelection> {
    MeasureSelection::parse_for(judgments, options, rules.trec_eval_version)
        .map_err(|error| Usage(format!("--measure {error}")).into())
}
