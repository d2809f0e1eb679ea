//! `ir eval`: trec_eval's output byte for byte, or JSON.

mod forms;
mod measures;

use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::Path;

use anyhow::Result;
use clap::ValueHint;
use ir_eval::trec_eval::{MeasureSelection, OutputDetail, OutputValue};
use ir_eval::{EvalError, Measure, MissingQueries, Report, Rules, RunFileOptions};
use serde_json::json;

use self::forms::JudgmentFormat;
pub(crate) use self::measures::list_measures;
use crate::shared::console::{Console, Usage, bail_usage};
use crate::shared::input;
use crate::shared::options::check_threads;
use crate::shared::output::OutputSink;
use crate::shared::qrels::with_judgments_hint;
use crate::shared::rules::{MeasureError, RuleOptions, parse_measures, select_measures};
use crate::shared::runs::{at_most_one_stdin, run_names, warn_of_repeated, warn_of_unmatched};
use crate::shared::signals::check_stopped;

const EXAMPLES: &str = "\
Examples:
  ir eval qrels.txt run.trec                    trec_eval's official measures
  ir eval qrels.txt run.trec nDCG@10 AP         two measures
  ir eval -c -m nDCG@10 -m 'P(rel=2)@5' beir/nfcorpus:test run.trec
  ir eval -q -m map qrels.tsv run.trec          per query, then averages
  ir eval -m nDCG@10,AP qrels a.trec b.trec     a column per run
  ir search bundled --tag bm25 | ir eval -m all_trec bundled -
  ir eval -R prefs prefs.txt run.trec           preference judgments
  ir eval -R strata -m xinfAP pool.qrels run    sampled pool of `ir pool`
  ir eval -Z means.txt -m map qrels.txt run     z-scores
  ir eval qrels.txt run.trec > scores.txt       output in a file

Measures (-m; several values, or a list such as -m nDCG@10,AP or -m 'P@5 AP'),
in trec_eval's spelling or that of ir_measures; `ir help eval` lists them all,
with their parameters:
  P.5,10  recall.100  ndcg_cut.10  map  recip_rank  Rprec  bpref  ndcg.1=3
  P@5     R@100       nDCG@10      AP   RR          Rprec  Bpref  AP(rel=2)
  official (the default), all_trec, set: trec_eval's sets
  ERR@20  nDCG(dcg='exp-log2')@20  RBP(p=0.95)  Judged@10
  AP(judged_only=True)  P(relative=True)@5  SetF(beta=0.5)  Rprec(mult=2)
  ERR(max_rel=2)@20  nDCG(gains={1:2,2:5})@10  RBP(p=0.9,gain=graded)
  xinfAP@1000  infNDCG@1000  infP@10        sampled pool: -R strata
                 (xinfAP is sample_eval's infAP; infAP is trec_eval's)
  alpha_nDCG(alpha=0.5)@20  ERR_IA@20  StRecall@20
                                            subtopics: -R subtopics
  prefs, all_prefs with -R prefs or qrels_prefs; qrels_jg with -R qrels_jg

Several runs: a header line, then a line per measure (and query, with -q) with
a value per run; `-` if the run lacks the query. In JSON, values have `run`.

Rules are trec_eval's: rankings are sorted by descending score, ties by
descending document id; the rank column is ignored; ndcg uses grades as gains;
a header line is parsed as data (with a warning; --skip-header skips it).
Differences: without -c, a judged query missing from the run is excluded with
a warning, as in trec_eval 9 (10.0 fails). A duplicate document is an error in
any query, judged or not. Lines starting with # are comments; 9.0.x parses
them as data. Cranfield's judgments, in a file named cranqrel, are codes, not
grades: 1 (complete answer) to 4 (minimum interest) are read as grades 4 to 1,
and -1 (the paper from which the query was taken) as grade 1.

As a replacement of trec_eval: its options are accepted, bundled (-qcM100), by
long name and by unambiguous prefix, and standard output is byte-identical;
warnings go to standard error. -o, trec_eval's old output format, is accepted
and ignored: redirect standard output to write a file. Not supported: -D for
one query, a negative -l, more than eight gains of ndcg. Exit codes: 0
success, 1 error, 2 usage error.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, infer_long_args = true, args_override_self = true)]
pub(crate) struct Args {
    /// Relevance judgments: a file in the format of TREC, BEIR, Cranfield, CISI or CACM; a
    /// collection or folder such as `beir/nfcorpus` or `beir/nfcorpus:dev` (default split: test),
    /// or `-` for standard input
    qrels: String,

    /// TREC runs (six columns), runs in JSON or tables with names of columns; one may be `-` for
    /// standard input. After the first run also measures, as in `ir eval QRELS RUN nDCG@10`: a name
    /// that is no file
    #[arg(required = true, num_args = 1.., value_name = "RUN")]
    runs: Vec<String>,

    /// Measure to print, or a list of measures; repeatable [default: official]
    #[arg(short = 'm', long, value_name = "MEASURE", value_hint = ValueHint::Other)]
    measure: Vec<String>,

    /// Average over all judged queries; a query without results scores 0
    #[arg(short = 'c', long, alias = "complete_rel_info_wanted")]
    complete: bool,

    /// Also print per-query values
    #[arg(short = 'q', long, alias = "query_eval_wanted")]
    queries: bool,

    /// Omit the averages; with -q, print per-query values only
    #[arg(short = 'n', long, alias = "nosummary")]
    no_summary: bool,

    #[command(flatten)]
    rules: RuleOptions,

    #[command(flatten)]
    forms: forms::FormArgs,

    /// Number of threads that read the run; does not affect the output [default: one per core]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,

    /// Print one JSON object per value, in full precision, and a last one with the rules
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Runs and measures of the arguments. Files and standard input are runs.
    fn runs_and_measures(&self, rules: &Rules) -> Result<(Vec<String>, Vec<String>)> {
        let (mut runs, mut measures) = (Vec::new(), self.measure.clone());
        for (n, argument) in self.runs.iter().enumerate() {
            if n == 0 || argument == "-" || Path::new(argument).exists() {
                runs.push(argument.clone());
                continue;
            }
            match parse_measures(self.forms.judgments(), &[argument], rules) {
                Ok(_) => measures.push(argument.clone()),
                Err(MeasureError { error, suggestion })
                    if self.is_like_measure(argument, &suggestion) =>
                {
                    bail_usage!("{error}{suggestion}; no file has this name, either");
                }
                Err(_) => runs.push(argument.clone()),
            }
        }
        Ok((runs, measures))
    }

    /// Returns `true` if the name of a missing file is a measure with a mistake: it has a cutoff or
    /// parameters, or is close to the name of one. A name after `-o` may be an output file.
    fn is_like_measure(&self, argument: &str, suggestion: &str) -> bool {
        let is_close = !suggestion.is_empty() && !argument.contains('.') && !self.forms.old;
        !argument.contains('/') && (argument.contains(['@', '(']) || is_close)
    }

    /// Printed detail; `None` prints nothing.
    fn detail(&self) -> Option<OutputDetail> {
        match (self.queries, self.no_summary) {
            (true, true) => Some(OutputDetail::Queries),
            (true, false) => Some(OutputDetail::QueriesAndSummary),
            (false, false) => Some(OutputDetail::Summary),
            (false, true) => None,
        }
    }
}

pub(crate) fn run(args: &Args, console: &Console) -> Result<()> {
    evaluate(args, console).map_err(|error| {
        // A file name after -o is read as another run.
        if !args.forms.old || args.runs.len() < 2 || error.is::<Usage>() {
            return error;
        }
        let hint = "-o is trec_eval's option without a value; redirect standard output to write a file: > FILE";
        anyhow::anyhow!("{error:#} ({hint})")
    })
}

fn evaluate(args: &Args, console: &Console) -> Result<()> {
    check_threads(args.threads.map(NonZeroUsize::get))?;
    args.forms.check()?;
    let rules = args.rules.rules(if args.complete {
        MissingQueries::Zero
    } else {
        MissingQueries::Skip
    });
    let (runs, measures) = args.runs_and_measures(&rules)?;
    at_most_one_stdin(std::iter::once(&args.qrels).chain(&runs))?;
    warn_of_repeated(&runs, console);
    let selection = select_measures(args.forms.judgments(), &measures, &rules)?;
    let reference = args.forms.reference(console)?;
    let out = forms::Output {
        detail: args.detail(),
        json: args.json,
        rules: &rules,
        reference: reference.as_ref(),
    };
    let form = match args.forms.form {
        JudgmentFormat::Graded(form) => form,
        JudgmentFormat::Other(form) => {
            args.rules.grades_only()?;
            let files = (args.qrels.as_str(), &runs[..]);
            return forms::FormArgs::evaluate(form, files, &selection, &out, console);
        }
    };
    let qrels = form.read(&args.qrels, args.rules.header(), console)?;
    // Leaked on purpose: the process exits soon, and freeing the maps takes measurable time.
    let judgments = Box::leak(qrels);
    let evaluator = selection.evaluator(judgments, rules).map_err(|error| {
        let hint = match error {
            EvalError::NoSubtopics { .. } => " (-R subtopics reads the second column as subtopic)",
            _ => "",
        };
        anyhow::anyhow!("{}: {error}{hint}", args.qrels)
    })?;
    let reading = RunFileOptions {
        header: args.rules.header(),
        threads: args.threads,
    };
    let mut reports = Vec::with_capacity(runs.len());
    for run in &runs {
        check_stopped()?;
        let report = input::evaluate(&evaluator, run, &args.qrels, reading, console);
        let report = report.map_err(|error| with_judgments_hint(error, &args.qrels))?;
        let name = (runs.len() > 1).then_some(run.as_str());
        forms::warn_of_gaps(name, &rules, report.missing(), report.unjudged(), console);
        warn_of_unmatched(run, &report, console);
        reports.push(report);
    }
    let names = run_names(reports.iter().map(Report::run), &runs);
    if reference.is_some() || !args.json {
        let sheets = reports.iter().map(|report| selection.output(report));
        return out.print(sheets.collect(), &names);
    }
    let Some(detail) = out.detail else {
        return Ok(());
    };
    OutputSink::open(None)?.write_with(|out| {
        for (report, name) in reports.iter().zip(&names) {
            let name = (reports.len() > 1).then_some(name.as_str());
            write_json(&selection, report, name, detail, out)?;
        }
        forms::write_rules(&rules, out)
    })
}

fn write_json(
    selection: &MeasureSelection,
    report: &Report,
    run: Option<&str>,
    detail: OutputDetail,
    out: &mut dyn Write,
) -> io::Result<()> {
    for line in selection.output(report).lines(detail) {
        if let OutputValue::Text(text) = line.value {
            let names = (line.name, Some(line.name));
            forms::write_value(names, line.query, run, json!(text), out)?;
        }
    }
    let mut line = |query: &str, measure: Measure, value: f64| {
        let value = if measure.is_count() {
            json!(value as i64)
        } else {
            json!(value)
        };
        let (name, trec_eval) = (measure.to_string(), measure.trec_name());
        forms::write_value((&name, trec_eval.as_deref()), query, run, value, out)
    };
    if detail != OutputDetail::Summary {
        for query in report.queries() {
            for (&measure, &value) in report.measures().iter().zip(query.values()) {
                line(query.query(), measure, value)?;
            }
        }
    }
    if detail != OutputDetail::Queries {
        for measure in selection.measures() {
            if let Some(value) = report.summary(measure) {
                line("all", measure, value)?;
            }
        }
    }
    Ok(())
}
