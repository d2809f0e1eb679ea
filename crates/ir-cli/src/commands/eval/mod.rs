//! `ir eval`: what trec_eval prints, byte for byte, and a form for programs.

mod forms;

use std::io::{self, Write};
use std::num::NonZeroUsize;

use anyhow::{Context, Result};
use ir_eval::trec_eval::{Cell, Detail, Selection};
use ir_eval::{EvalError, Measure, Missing, Reading, Report, Rules};
use serde_json::json;

use crate::shared::console::{Console, Usage};
use crate::shared::rules::RuleOptions;
use crate::shared::output::Sink;
use crate::shared::input;

const EXAMPLES: &str = "\
Examples:
  ir eval qrels.txt run.trec                    trec_eval's official measures
  ir eval -c -m ndcg_cut.10 -m recall.100 qrels.txt run.trec
  ir eval -c -m nDCG@10 -m 'P(rel=2)@5' beir/nfcorpus:test run.trec
  ir eval -q -m map qrels.tsv run.trec          each query, then all
  ir search bundled --tag bm25 | ir eval -m all_trec bundled -
  ir eval --json -c -m AP qrels.txt run.trec    one JSON object per line
  ir eval -R prefs prefs.txt run.trec           by preferences, not grades
  ir eval -R strata -m xinfAP pool.qrels run    of a sample, made by ir pool
  ir eval -Z means.txt -m map qrels.txt run     compared with other systems

Measures (-m, repeatable), in trec_eval's spelling or that of ir_measures:
  P.5,10  recall.100  ndcg_cut.10  map  recip_rank  Rprec  bpref  ndcg.1=3
  P@5     R@100       nDCG@10      AP   RR          Rprec  Bpref  AP(rel=2)
  official (the default), all_trec, set: trec_eval's sets
  ERR@20  nDCG(dcg='exp-log2')@20  RBP(p=0.95)  Judged@10
  AP(judged_only=True)
  xinfAP@1000  infNDCG@1000  infP@10        of a sample: -R strata
                 (xinfAP is sample_eval's infAP; infAP is trec_eval's)
  alpha_nDCG@20  ERR_IA@20  StRecall@20     of subtopics: -R subtopics
  prefs, all_prefs with -R prefs or qrels_prefs; qrels_jg with -R qrels_jg

Rules, which are trec_eval's: lists are sorted by score, equal scores by
document id from z to a; the rank column is ignored; ndcg takes grades as
gains; a header line counts as data (a warning says so; --skip-header drops
it). Three rules are not: without -c a judged query that the run lacks is left
out with a warning, as in trec_eval 9; 10.0 stops there with an error. A
document that repeats is an error in any query, judged or not. Lines that
begin with # are comments in both generations; 9.0.x takes them as data.

In place of trec_eval: its options are taken, bundled (-qcM100), by their long
names and by unambiguous beginnings of those, and standard output is the same
to the byte; warnings are on standard error. Not taken: -D for one query, a
negative -l, more than eight gains of ndcg. The exit code is 0, or 1 on any
error, or 2 for a mistake in the command line.";

/// The arguments of `ir eval`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, infer_long_args = true, args_override_self = true)]
pub(crate) struct Args {
    /// Relevance judgments: a file in TREC's form (four columns) or BEIR's (three, with a header),
    /// a collection by name or folder such as `beir/nfcorpus` or `beir/nfcorpus:dev` (split test
    /// unless said), or `-` for standard input
    qrels: String,

    /// Run: a file in TREC's form (six columns), or `-` for standard input
    run: String,

    /// Measure to print; repeatable [default: official]
    #[arg(short = 'm', long, value_name = "MEASURE")]
    measure: Vec<String>,

    /// Averages over all judged queries: one without results counts 0
    #[arg(short = 'c', long, alias = "complete_rel_info_wanted")]
    complete: bool,

    /// Values of each query too
    #[arg(short = 'q', long, alias = "query_eval_wanted")]
    queries: bool,

    /// No averages; with -q the values of each query alone
    #[arg(short = 'n', long, alias = "nosummary")]
    no_summary: bool,

    #[command(flatten)]
    rules: RuleOptions,

    #[command(flatten)]
    forms: forms::FormArgs,

    /// Threads that read the run; the output is the same [default: one per core]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    threads: Option<NonZeroUsize>,

    /// One JSON object per value and line: measure, query, value in full precision; the rules in
    /// a last one
    #[arg(long)]
    json: bool,
}

impl Args {
    fn rules(&self) -> Rules {
        self.rules.rules(if self.complete {
            Missing::Zero
        } else {
            Missing::Skip
        })
    }

    fn reading(&self) -> Reading {
        Reading {
            header: self.rules.header(),
            threads: self.threads,
        }
    }

    /// What is printed; `None` for nothing at all.
    fn detail(&self) -> Option<Detail> {
        match (self.queries, self.no_summary) {
            (true, true) => Some(Detail::Queries),
            (true, false) => Some(Detail::QueriesAndSummary),
            (false, false) => Some(Detail::Summary),
            (false, true) => None,
        }
    }
}

/// Runs `ir eval`.
pub(crate) fn run(args: &Args, console: &Console) -> Result<()> {
    if args.qrels == "-" && args.run == "-" {
        return Err(
            Usage("expected one of <QRELS> and <RUN> as a file, found `-` twice".into()).into(),
        );
    }
    args.forms.check()?;
    let rules = args.rules();
    let selection = Selection::parse_for(args.forms.judgments(), &args.measure, rules.generation)
        .map_err(|error| Usage(format!("--measure {error}")))?;
    let reference = args.forms.reference(console)?;
    let out = forms::Output {
        detail: args.detail(),
        json: args.json,
        rules: &rules,
        reference: reference.as_ref(),
    };
    let Some(form) = args.forms.grades() else {
        args.rules.grades_only()?;
        let (files, how) = (
            (args.qrels.as_str(), args.run.as_str()),
            (&selection, rules),
        );
        return args.forms.evaluate(files, how, &out, console);
    };
    let qrels = form.read(&args.qrels, args.rules.header(), console)?;
    // The process ends before they are of no use: to free them one by one takes longer than that.
    let judgments = Box::leak(qrels);
    let evaluator = selection.evaluator(judgments, rules).map_err(|error| {
        let hint = match error {
            EvalError::NoSubtopics { .. } => " (-R subtopics reads the second column as subtopic)",
            _ => "",
        };
        anyhow::anyhow!("{}: {error}{hint}", args.qrels)
    })?;
    let reading = args.reading();
    let report = source::evaluate(&evaluator, &args.run, &args.qrels, reading, console)?;
    forms::warn_of_gaps(&rules, report.missing(), report.unjudged(), console);
    if reference.is_some() || !args.json {
        return out.print(selection.sheet(&report));
    }
    let Some(detail) = out.detail else {
        return Ok(());
    };
    let mut out = Sink::open(None)?;
    let written = write_json(&selection, &report, detail, &mut out);
    written.with_context(|| format!("{}: could not be written", out.name()))?;
    out.commit()
}

fn write_json(
    selection: &Selection,
    report: &Report,
    detail: Detail,
    out: &mut dyn Write,
) -> io::Result<()> {
    for line in selection.sheet(report).lines(detail) {
        if let Cell::Text(text) = line.value {
            let line = json!({
                "measure": line.name,
                "trec_eval": line.name,
                "query": line.query,
                "value": text,
            });
            writeln!(out, "{line}")?;
        }
    }
    let mut line = |query: &str, measure: Measure, value: f64| {
        let value = if measure.is_count() {
            json!(value as i64)
        } else {
            json!(value)
        };
        let line = json!({
            "measure": measure.to_string(),
            "trec_eval": measure.trec_name(),
            "query": query,
            "value": value,
        });
        writeln!(out, "{line}")
    };
    if detail != Detail::Summary {
        for query in report.queries() {
            for (&measure, &value) in report.measures().iter().zip(query.values()) {
                line(query.query(), measure, value)?;
            }
        }
    }
    if detail != Detail::Queries {
        for measure in selection.measures() {
            if let Some(value) = report.summary(measure) {
                line("all", measure, value)?;
            }
        }
    }
    forms::write_rules(report.rules(), out)
}
