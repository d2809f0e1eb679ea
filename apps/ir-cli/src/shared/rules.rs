//! Evaluation options, shared by the commands that evaluate runs.

use anyhow::Result;
use ir_core::Grade;
use ir_core::trec::HeaderLine;
use ir_eval::assess::preferences::PreferenceMeasure;
use ir_eval::trec_eval::{JudgmentKind, MeasureSelection};
use ir_eval::{
    Measure, MissingQueries, ParseMeasureError, QueriesWithoutRelevant, Rules, ScorePrecision,
    SelfHits, TrecEvalVersion, UnjudgedDocuments,
};

use crate::shared::console::{Usage, bail_usage};
use crate::shared::options::{choice, first_set, header, positive};

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Rules")]
pub(crate) struct RuleOptions {
    /// Minimum grade of a relevant document [default: 1, as in trec_eval]
    #[arg(
        short = 'l', long, alias = "level_for_rel", value_name = "N",
        default_value_t = 1, hide_default_value = true,
        value_parser = clap::value_parser!(i64).range(0..)
    )]
    level: Grade,

    /// Maximum number of retrieved documents evaluated per query [default: all]
    #[arg(short = 'M', long, alias = "Max_retrieved_per_topic", value_name = "N", value_parser = positive)]
    max_retrieved: Option<usize>,

    /// Evaluate judged documents only: remove unjudged documents from the rankings
    #[arg(short = 'J', long, alias = "Judged_docs_only")]
    judged_only: bool,

    /// Number of documents in the collection, for the measure `utility`
    #[arg(
        short = 'N', long, alias = "Number_docs_in_coll", value_name = "N",
        value_parser = clap::value_parser!(u64)
    )]
    collection_size: Option<u64>,

    /// Remove hits with the id of the query before evaluating, as BEIR does
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

/// Parses the values of `--measure`, each of which may list several measures.
pub(crate) fn select_measures<S: AsRef<str>>(
    judgments: JudgmentKind,
    options: &[S],
    rules: &Rules,
) -> Result<MeasureSelection> {
    let selection = parse_measures(judgments, options, rules);
    selection
        .map_err(|error| Usage(format!("--measure {}{}", error.error, error.suggestion)).into())
}

/// Error of a measure, and the end of the message that suggests another one, or nothing.
#[derive(Debug)]
pub(crate) struct MeasureError {
    pub(crate) error: ParseMeasureError,
    pub(crate) suggestion: String,
}

/// Parses lists of measures.
pub(crate) fn parse_measures<S: AsRef<str>>(
    judgments: JudgmentKind,
    options: &[S],
    rules: &Rules,
) -> Result<MeasureSelection, MeasureError> {
    let options: Vec<&str> = options
        .iter()
        .flat_map(|option| split_measures(option.as_ref()))
        .collect();
    MeasureSelection::parse_for(judgments, &options, rules.trec_eval_version).map_err(|error| {
        let suggestion = suggestion(&error);
        MeasureError { error, suggestion }
    })
}

fn suggestion(error: &ParseMeasureError) -> String {
    match error {
        ParseMeasureError::Unknown { text } => suggested_measure(text),
        ParseMeasureError::Value { text, .. } => suggested_cutoff(text),
        _ => String::new(),
    }
}

/// Parses one measure of an option other than a list.
#[cfg(feature = "dense")]
pub(crate) fn measure(text: &str) -> Result<Measure, String> {
    text.parse()
        .map_err(|error: ParseMeasureError| format!("{error}{}", suggestion(&error)))
}

/// Measures in the order of the values of `--measure`, not in trec_eval's.
pub(crate) fn measures_in_order<S: AsRef<str>>(
    options: &[S],
    rules: &Rules,
) -> Result<Vec<Measure>> {
    let mut measures = Vec::new();
    for option in options {
        for measure in split_measures(option.as_ref()) {
            measures.extend(select_measures(JudgmentKind::Grades, &[measure], rules)?.measures());
        }
    }
    Ok(measures)
}

/// Splits a list of measures at white space and commas before a name, outside brackets. `P.5,10`
/// and `nDCG(gains={1:2,2:3})` are one measure each.
fn split_measures(list: &str) -> Vec<&str> {
    let list = list.trim();
    let starts_name =
        |text: &str| text.starts_with(|c: char| c.is_alphabetic()) || text.starts_with("11pt");
    let separates = |c: char| c == ',' || c.is_whitespace();
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0_usize);
    let mut previous = None;
    for (at, c) in list.char_indices() {
        match c {
            '(' | '{' => depth += 1,
            ')' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        // The first of several separators.
        if depth == 0 && separates(c) && !previous.is_some_and(separates) {
            let next = list[at..].trim_start_matches(separates);
            if starts_name(next) {
                parts.push(list[start..at].trim());
                start = list.len() - next.len();
            }
        }
        previous = Some(c);
    }
    parts.push(list[start..].trim());
    parts
}

/// End of an error message with `ndcg_cut.10` for `ndcg.10`. Parameters of `ndcg` are gains.
fn suggested_cutoff(text: &str) -> String {
    match text.split_once('.') {
        Some(("ndcg", cutoffs)) if !cutoffs.contains('=') => {
            format!(" (did you mean ndcg_cut.{cutoffs}?)")
        }
        _ => String::new(),
    }
}

/// End of an error message with the measure, or the set of measures, that is closest to an unknown
/// name.
fn suggested_measure(text: &str) -> String {
    let sets = [
        "official",
        "all_trec",
        "set",
        "prefs",
        "all_prefs",
        "qrels_jg",
    ];
    let preferences = PreferenceMeasure::ALL.map(PreferenceMeasure::name);
    let others: Vec<&str> = sets.into_iter().chain(preferences).collect();
    ir_experiment::suggest::suggested_measure(text, &others)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_measures() {
        for (list, expected) in [
            ("nDCG@10", &["nDCG@10"][..]),
            ("nDCG@10 AP", &["nDCG@10", "AP"]),
            ("nDCG@10,AP, RR", &["nDCG@10", "AP", "RR"]),
            ("P.5,10,map", &["P.5,10", "map"]),
            ("map,11pt_avg", &["map", "11pt_avg"]),
            ("ndcg.1=3,2=9 bpref", &["ndcg.1=3,2=9", "bpref"]),
            (
                "nDCG(gains={1:2, 2:3})@5,P(rel=2)@5",
                &["nDCG(gains={1:2, 2:3})@5", "P(rel=2)@5"],
            ),
            (
                "nDCG(dcg='exp-log2', gains=x)",
                &["nDCG(dcg='exp-log2', gains=x)"],
            ),
            ("P.5, 10", &["P.5, 10"]),
            ("AP,", &["AP,"]),
            ("\n  AP\n  RR\n", &["AP", "RR"]),
            ("", &[""]),
        ] {
            assert_eq!(split_measures(list), expected, "{list}");
        }
    }
}
