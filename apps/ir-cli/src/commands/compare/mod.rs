//! `ir compare`: runs on the same judgments, with significance tests and intervals.

mod lists;
mod page;
mod topics;

use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;

use anyhow::Result;
use clap::{ValueEnum, ValueHint};
use ir_eval::compare::significance::{
    Alternative, BootstrapResampling, IntervalMethod, MultipleTestingCorrection, PairedTTest,
    RandomizationTest, WilcoxonTest,
};
use ir_eval::compare::{
    Bootstrap, CompareError, ComparedPairs, Comparison, ComparisonConfig, HypothesisFamily,
    SignificanceTest,
};
use ir_eval::runs::SideBySide;
use ir_eval::{ComparisonPage, Evaluator, Report, WinsAndLosses};
use serde::Serialize;

use crate::shared::console::{Console, bail_usage};
use crate::shared::options::{choice, first_set, fraction, positive};
use crate::shared::output::{OutputPath, OutputSink, create_folder};
use crate::shared::plots::write_plots;
use crate::shared::rules::measures_in_order;
use crate::shared::signals::{check_stopped, stop_on_interrupt};
use crate::shared::suggest::did_you_mean;
use crate::shared::systems::{EvaluatedRun, QrelsAndRuns, usage_error};

const EXAMPLES: &str = "\
Examples:
  ir compare qrels.txt bm25.trec dense.trec       the first is the baseline
  ir compare --baseline dense.trec --test randomization qrels.txt *.trec
  ir compare --all-pairs --correction bonferroni qrels.txt *.trec
  ir compare --per-topic=10 -m AP qrels.txt old.trec new.trec
  ir compare --query q1 qrels.txt old.trec new.trec       two lists of a query
  ir compare --format latex --output table.tex qrels.txt old.trec new.trec
  ir compare --format html -o page.html qrels.txt *.trec  a page with plots
  ir compare --plots figures qrels.txt *.trec             plots for a paper

All systems are compared on the same queries: all judged queries, where a
missing one scores 0 (as with ir eval -c), or, with --common, those that every
run answers. A difference is the system's score minus the baseline's.

--correction applies to the tests of one measure, or to all (--family all).
Marks: † and ‡ for significantly higher and lower than the baseline, or the
letters of the systems that are significantly worse. LaTeX output is the score
table; --details adds intervals and differences. Output is deterministic for a
seed.";

/// Maximum number of bootstrap samples of an interval: 800 MB of means.
const MAX_INTERVAL_SAMPLES: u32 = 100_000_000;

const MEASURES: [&str; 5] = ["nDCG@10", "AP", "RR", "P@5", "R@100"];

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    input: QrelsAndRuns,

    /// Average over all judged queries (the default; accepted for trec_eval users)
    #[arg(short = 'c', long, hide = true, conflicts_with = "common")]
    complete: bool,

    /// Measure or list of measures, as in `ir eval`; repeatable
    /// (default: nDCG@10, AP, RR, P@5, R@100)
    #[arg(short = 'm', long, value_name = "MEASURE", value_hint = ValueHint::Other)]
    measure: Vec<String>,

    /// Baseline run, by tag or file name [default: the first]
    #[arg(long, value_name = "RUN", conflicts_with = "all_pairs")]
    baseline: Option<String>,

    /// Compare every pair of runs
    #[arg(long)]
    all_pairs: bool,

    /// Significance test: a paired test of the per-query differences
    #[arg(long, value_parser = choice(tests()), default_value = "t", value_name = "TEST")]
    test: SignificanceTest,

    /// Alternative hypothesis [default: two-sided; greater for datafinder]
    #[arg(long, value_parser = choice(ALTERNATIVES), value_name = "HYPOTHESIS")]
    alternative: Option<Alternative>,

    /// Multiple-testing correction
    #[arg(long, value_parser = choice(CORRECTIONS), default_value = "holm", value_name = "NAME")]
    correction: MultipleTestingCorrection,

    /// Family of the correction: the tests of one measure, or all [default: measure]
    #[arg(long, value_parser = choice(FAMILIES), value_name = "NAME")]
    family: Option<HypothesisFamily>,

    /// Significance level; confidence intervals have the level 1 - alpha
    #[arg(long, default_value_t = 0.05, value_parser = fraction, value_name = "ALPHA")]
    alpha: f64,

    /// Confidence interval method
    #[arg(long, value_parser = choice(intervals()), default_value = "student", value_name = "NAME")]
    interval: IntervalMethod,

    /// Random samples of the tests randomization, bootstrap and datafinder, at least 1 / alpha,
    /// and of --interval bootstrap. The minimum also applies to randomization on up to 20 differing
    /// queries, which draws none [default: 100000, 10000, 1000, 10000]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..), value_name = "N")]
    samples: Option<u32>,

    /// Random seed of resampling tests and bootstrap intervals [default: 0]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Also print the N queries with the largest gains and losses of each pair, by the first
    /// measure, with the documents that changed their rank [default N: 5]. In csv, replaces the
    /// tables and omits documents
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "5", value_parser = positive)]
    per_topic: Option<usize>,

    /// Also print the first documents of all runs for a query side by side, with their grades;
    /// repeatable
    #[arg(long, value_name = "ID", value_hint = ValueHint::Other)]
    query: Vec<String>,

    /// Number of documents of each list of --query
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = positive, requires = "query")]
    query_depth: usize,

    /// Output format; csv and json in full precision, json with per-query scores, html is one
    /// self-contained page with plots [default: by the extension of --output (.html, .md, .tex,
    /// .csv, .json), otherwise table]
    #[arg(long, value_enum, value_name = "FORM")]
    format: Option<OutputFormat>,

    /// Add LaTeX tables of confidence intervals and differences
    #[arg(long)]
    details: bool,

    /// Title of the HTML page [default: the names of the runs]
    #[arg(long, value_name = "TEXT", value_hint = ValueHint::Other)]
    title: Option<String>,

    /// Output folder for all plots (SVG, column width) and their data (CSV)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    plots: Option<OutputPath>,

    /// Output file, written atomically; .gz and .zst are compressed [default: standard output]
    #[arg(short = 'o', long, value_name = "FILE")]
    output: Option<OutputPath>,
}

fn tests() -> [(&'static str, &'static str, SignificanceTest); 5] {
    [
        (
            "t|student|ttest|t-test",
            "Student's t test [aliases: student, ttest, t-test]",
            SignificanceTest::PairedT(PairedTTest),
        ),
        (
            "wilcoxon",
            "Signed-rank test, zeros dropped; exact where scipy is",
            SignificanceTest::Wilcoxon(WilcoxonTest::default()),
        ),
        (
            "randomization|fisher|permutation|randomisation", // language: allow
            "Fisher's randomization (permutation) test: exact up to 20 differing queries, otherwise \
         --samples random sign patterns [aliases: fisher, permutation]",
            SignificanceTest::Randomization(RandomizationTest::default()),
        ),
        (
            "bootstrap",
            "Paired bootstrap: percentile one-sided, shifted two-sided",
            SignificanceTest::Bootstrap(BootstrapResampling::default()),
        ),
        (
            "datafinder",
            "The one-sided paired bootstrap of DataFinder's evaluation",
            SignificanceTest::BootstrapWins(Bootstrap::DATAFINDER),
        ),
    ]
}

const ALTERNATIVES: [(&str, &str, Alternative); 3] = [
    ("two-sided", "", Alternative::TwoSided),
    ("greater", "", Alternative::Greater),
    ("less", "", Alternative::Less),
];

const CORRECTIONS: [(&str, &str, MultipleTestingCorrection); 3] = [
    ("holm", "", MultipleTestingCorrection::Holm),
    ("bonferroni", "", MultipleTestingCorrection::Bonferroni),
    ("none", "", MultipleTestingCorrection::None),
];

const FAMILIES: [(&str, &str, HypothesisFamily); 2] = [
    ("measure", "", HypothesisFamily::Measure),
    ("all", "", HypothesisFamily::All),
];

fn intervals() -> [(&'static str, &'static str, IntervalMethod); 2] {
    let bootstrap = IntervalMethod::Bootstrap(BootstrapResampling::default());
    [
        ("student|t", "", IntervalMethod::Student),
        ("bootstrap", "", bootstrap),
    ]
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OutputFormat {
    Table,
    Markdown,
    Latex,
    Csv,
    Json,
    Html,
}

impl Args {
    /// Comparison plan; `baseline` is a system name.
    fn plan(&self, baseline: Option<String>) -> ComparisonConfig {
        let seed = self.seed.unwrap_or_default();
        let test = self.test.with_sampling(self.samples, seed);
        let mut interval = self.interval;
        if let IntervalMethod::Bootstrap(interval) = &mut interval {
            interval.samples = self.samples.unwrap_or(interval.samples);
            interval.seed = seed;
        }
        ComparisonConfig {
            pairs: match baseline {
                _ if self.all_pairs => ComparedPairs::AllPairs,
                None => ComparedPairs::WithFirst,
                Some(name) => ComparedPairs::WithBaseline(name),
            },
            test,
            alternative: self.alternative.unwrap_or(test.default_alternative()),
            correction: self.correction,
            family: self.family.unwrap_or(HypothesisFamily::Measure),
            level: self.alpha,
            interval,
        }
    }

    fn format(&self) -> OutputFormat {
        self.format.unwrap_or_else(|| {
            let extension = self.output.as_ref().and_then(|path| path.extension());
            match extension.and_then(OsStr::to_str) {
                Some("html" | "htm") => OutputFormat::Html,
                Some("md") => OutputFormat::Markdown,
                Some("tex") => OutputFormat::Latex,
                Some("csv") => OutputFormat::Csv,
                Some("json") => OutputFormat::Json,
                _ => OutputFormat::Table,
            }
        })
    }

    fn is_one_sided(&self) -> bool {
        matches!(self.test, SignificanceTest::BootstrapWins(_))
    }

    fn check(&self) -> Result<()> {
        self.input.check()?;
        if self.is_one_sided() && self.alternative == Some(Alternative::TwoSided) {
            bail_usage!(
                "--test datafinder: expected --alternative greater or less, found two-sided"
            );
        }
        let number = |file: &&String| file.bytes().all(|b| b.is_ascii_digit());
        let mut numbers = self.input.files().filter(number);
        if self.per_topic.is_some()
            && let Some(number) = numbers.find(|file| !Path::new(file).exists())
        {
            bail_usage!("--per-topic {number}: expected --per-topic={number}, with an equals sign");
        }
        if self.per_topic.is_some() && self.format() == OutputFormat::Latex {
            bail_usage!(
                "--per-topic: expected --format table, markdown, csv, json or html, found latex"
            );
        }
        if !self.query.is_empty()
            && matches!(self.format(), OutputFormat::Latex | OutputFormat::Csv)
        {
            bail_usage!("--query: expected --format table, markdown, json or html");
        }
        if self.details && self.format() != OutputFormat::Latex {
            bail_usage!("--details: expected --format latex; the other formats include all tables");
        }
        let plots = self.plots.as_ref().and_then(|path| path.extension());
        if plots.is_some_and(|extension| {
            ["svg", "png", "pdf", "html"]
                .iter()
                .any(|it| extension == *it)
        }) {
            bail_usage!(
                "--plots: expected a folder, which gets a file per plot, found a file name"
            );
        }
        if self.family.is_some() && matches!(self.correction, MultipleTestingCorrection::None) {
            bail_usage!("--family: expected --correction holm or bonferroni, found none");
        }
        let interval = matches!(self.interval, IntervalMethod::Bootstrap(_));
        let sampling = [
            ("--samples", self.samples.is_some()),
            ("--seed", self.seed.is_some()),
        ];
        if let Some(option) = first_set(sampling)
            && !interval
            && !self.test.draws_samples()
        {
            bail_usage!(
                "{option}: expected --test randomization, bootstrap or datafinder, or --interval bootstrap; no other test or interval draws samples"
            );
        }
        if let Err(error) = self.plan(None).check_samples() {
            let hint = match (&error, self.test) {
                (CompareError::SamplesForLevel { .. }, SignificanceTest::Randomization(_)) => {
                    " (checked before the queries are read; the test draws samples for more than \
                     20 differing ones)"
                }
                _ => "",
            };
            bail_usage!("--samples, --alpha: {error}{hint}");
        }
        if let Some(found) = self
            .samples
            .filter(|&n| interval && n > MAX_INTERVAL_SAMPLES)
        {
            bail_usage!(
                "--samples: expected at most {MAX_INTERVAL_SAMPLES} for --interval bootstrap, which keeps all means in memory, found {found}"
            );
        }
        if self.title.is_some() && self.format() != OutputFormat::Html {
            bail_usage!("--title: expected --format html");
        }
        Ok(())
    }
}

pub(crate) fn run(args: &Args, console: &Console) -> Result<()> {
    args.check()?;
    let rules = args.input.rules();
    let measures = if args.measure.is_empty() {
        measures_in_order(&MEASURES, &rules)?
    } else {
        measures_in_order(&args.measure, &rules)?
    };
    if measures.is_empty() {
        let found = args.measure.join(", ");
        bail_usage!("--measure: expected a measure with one value, found {found}");
    }
    let folder = args.plots.as_ref().map(OutputPath::folder);
    let folder = folder.as_deref();
    let qrels = args.input.judgments(console)?;
    let _new_folder = folder.map(create_folder).transpose()?;
    let evaluator = Evaluator::with_rules(&*qrels, &measures, rules)?;
    let out = OutputSink::open(args.output.as_ref())?;
    let needs_page = args.format() == OutputFormat::Html || folder.is_some();
    let keep = needs_page || args.per_topic.is_some() || !args.query.is_empty();
    let systems = (args.input).evaluate(&args.input.runs, &evaluator, keep, console)?;
    let baseline = args.baseline.as_ref();
    let baseline = baseline.map(|name| resolve(name, &systems)).transpose()?;
    let reports: Vec<Report> = systems.iter().map(|system| system.report.clone()).collect();
    // Nothing is written before; reading is not interruptible.
    stop_on_interrupt();
    let plan = args.plan(baseline);
    let comparison = Comparison::with_progress(&reports, &plan, &mut console.bar());
    let comparison = comparison.map_err(usage_error)?;
    let topics = args
        .per_topic
        .map(|most| topics::wins_and_losses(&comparison, &*qrels, &systems, most));
    let lists = lists::side_by_side(args, &*qrels, rules, &systems)?;
    let page = if needs_page {
        check_stopped()?;
        let mut page = page::comparison_page(args, &comparison, &*qrels, &systems)?;
        page.lists.clone_from(&lists);
        Some(page)
    } else {
        None
    };
    if let (Some(page), Some(folder)) = (&page, folder) {
        write_plots(&page.plots, folder)?;
    }
    let details = QueryDetails {
        topics: topics.as_deref(),
        lists: &lists,
    };
    out.write_with(|out| write(args, &comparison, details, page.as_ref(), out))
}

/// Resolves a run by name, file, file name or tag; each must be unique.
fn resolve(text: &str, systems: &[EvaluatedRun]) -> Result<String> {
    let names: [fn(&EvaluatedRun) -> &str; 4] = [
        EvaluatedRun::name,
        |system| &system.file,
        EvaluatedRun::file_name,
        |system| &system.tag,
    ];
    fn plain(text: &str) -> &str {
        text.strip_prefix("./").unwrap_or(text)
    }
    for name in names {
        let named = |system: &&EvaluatedRun| plain(name(system)) == plain(text);
        let mut found = systems.iter().filter(named);
        if let (Some(one), None) = (found.next(), found.next()) {
            return Ok(one.name().to_owned());
        }
    }
    let names = systems
        .iter()
        .flat_map(|system| [system.name(), system.file_name()]);
    let hint = did_you_mean(text, names);
    let known: Vec<String> = systems.iter().map(name_and_file).collect();
    let known = known.join(", ");
    bail_usage!("--baseline: expected one of the runs ({known}), found {text:?}{hint}")
}

fn name_and_file(system: &EvaluatedRun) -> String {
    match (system.name(), system.file_name()) {
        (name, file) if name == file => name.to_owned(),
        (name, file) => format!("{name} in {file}"),
    }
}

/// JSON output: the comparison and its per-query part.
#[derive(Serialize)]
struct ComparisonJson<'a> {
    #[serde(flatten)]
    comparison: &'a Comparison,
    #[serde(skip_serializing_if = "Option::is_none")]
    topics: Option<&'a [WinsAndLosses]>,
    #[serde(skip_serializing_if = "<[SideBySide]>::is_empty")]
    lists: &'a [SideBySide],
}

/// Output of single queries.
#[derive(Clone, Copy)]
struct QueryDetails<'a> {
    topics: Option<&'a [WinsAndLosses]>,
    lists: &'a [SideBySide],
}

fn write(
    args: &Args,
    comparison: &Comparison,
    QueryDetails { topics, lists }: QueryDetails<'_>,
    page: Option<&ComparisonPage<'_>>,
    out: &mut OutputSink,
) -> Result<()> {
    match args.format() {
        OutputFormat::Table => {
            out.write_all(comparison.to_text().as_bytes())?;
            topics::write(topics.unwrap_or_default(), false, out)?;
            lists::write(lists, out)?;
        }
        OutputFormat::Markdown => {
            out.write_all(comparison.to_markdown().as_bytes())?;
            topics::write(topics.unwrap_or_default(), true, out)?;
            lists::write_markdown(lists, out)?;
        }
        OutputFormat::Latex => {
            out.write_all(comparison.to_latex().as_bytes())?;
            if args.details {
                write!(out, "\n{}", comparison.to_latex_details())?;
            }
        }
        OutputFormat::Csv => match topics {
            None => comparison.write_csv(&mut *out)?,
            Some(topics) => topics::csv(topics, out)?,
        },
        OutputFormat::Json => {
            serde_json::to_writer_pretty(
                &mut *out,
                &ComparisonJson {
                    comparison,
                    topics,
                    lists,
                },
            )?;
            out.write_all(b"\n")?;
        }
        OutputFormat::Html => {
            let page = page.map(ComparisonPage::to_html).unwrap_or_default();
            out.write_all(page.as_bytes())?;
        }
    }
    Ok(())
}
