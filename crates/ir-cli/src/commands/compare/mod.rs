//! `ir compare`: runs on the same judgments, with significance tests and intervals.

mod page;
mod topics;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::ValueEnum;
use ir_eval::significance::{
    Alternative, BootstrapResampling, IntervalMethod, MultipleTestingCorrection, PairedTTest,
    RandomizationTest, WilcoxonTest,
};
use ir_eval::trec_eval::{JudgmentKind, MeasureSelection};
use ir_eval::{
    Bootstrap, ComparedPairs, Comparison, ComparisonConfig, Evaluator, HypothesisFamily, Measure,
    MissingQueries, Report, Rules, SignificanceTest,
};
use serde::Serialize;

use crate::shared::console::{Console, Usage, check_stopped};
use crate::shared::options::positive;
use crate::shared::output::OutputSink;
use crate::shared::rules::RuleOptions;
use crate::shared::runs::reject_input_as_output;
use crate::shared::systems::{
    EvaluatedRun, QrelsAndRuns, RunEvaluator, expected_two_runs, file_name, usage_error,
};

const EXAMPLES: &str = "\
Examples:
  ir compare qrels.txt bm25.trec dense.trec       the first is the baseline
  ir compare -m map -m ndcg_cut.10 qrels.txt *.trec
  ir compare --baseline dense.trec --test randomization qrels.txt *.trec
  ir compare --all-pairs --correction bonferroni qrels.txt *.trec
  ir compare --per-topic=10 -m AP qrels.txt old.trec new.trec
  ir compare --format latex --output table.tex qrels.txt old.trec new.trec
  ir compare --format html -o page.html qrels.txt *.trec  a page with plots
  ir compare --plots figures qrels.txt *.trec             plots for a paper

All systems are compared on the same queries: all judged queries, where a
missing one scores 0 (as with ir eval -c), or, with --common, those that every
run answers. A difference is the system's score minus the baseline's.

Paired tests of the per-query differences (--test):
  t              t test (the default)
  wilcoxon       signed-rank test, zeros dropped; exact where scipy is
  randomization  Fisher's randomization (permutation) test: exact up to 20
                 differing queries, otherwise --samples random sign patterns
  bootstrap      paired bootstrap: percentile one-sided, shifted two-sided
  datafinder     the one-sided paired bootstrap of DataFinder's evaluation

--correction applies to the tests of one measure, or to all (--family all).
Marks: † and ‡ for significantly higher and lower than the baseline, or the
letters of the systems that are significantly worse. LaTeX output is the score
table; --details adds intervals and differences. Output is deterministic for a
seed.";

const MEASURES: [&str; 5] = ["nDCG@10", "AP", "RR", "P@5", "R@100"];

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    input: QrelsAndRuns,

    /// Measure, as in `ir eval`; repeatable (default: nDCG@10, AP, RR, P@5, R@100)
    #[arg(short = 'm', long, value_name = "MEASURE")]
    measure: Vec<String>,

    /// Baseline run, by tag or file name [default: the first]
    #[arg(long, value_name = "RUN", conflicts_with = "all_pairs")]
    baseline: Option<String>,

    /// Compare every pair of runs
    #[arg(long)]
    all_pairs: bool,

    /// Significance test: t, wilcoxon, randomization, bootstrap or datafinder
    #[arg(long, value_enum, default_value_t = TestName::T, hide_possible_values = true, value_name = "TEST")]
    test: TestName,

    /// Alternative hypothesis: two-sided, greater or less [default: two-sided; greater for
    /// datafinder]
    #[arg(
        long,
        value_enum,
        hide_possible_values = true,
        value_name = "HYPOTHESIS"
    )]
    alternative: Option<AlternativeName>,

    /// Multiple-testing correction: holm, bonferroni or none
    #[arg(long, value_enum, default_value_t = CorrectionName::Holm, hide_possible_values = true, value_name = "NAME")]
    correction: CorrectionName,

    /// Family of the correction: the tests of one measure, or all
    #[arg(long, value_enum, default_value_t = FamilyName::Measure, hide_possible_values = true, value_name = "NAME")]
    family: FamilyName,

    /// Significance level; confidence intervals have the level 1 - alpha
    #[arg(long, default_value_t = 0.05, value_parser = fraction, allow_negative_numbers = true, value_name = "ALPHA")]
    alpha: f64,

    /// Confidence interval method: student or bootstrap
    #[arg(long, value_enum, default_value_t = IntervalName::Student, hide_possible_values = true, value_name = "NAME")]
    interval: IntervalName,

    /// Number of random samples of randomization, bootstrap (also for intervals) and datafinder
    /// [default: 100000, 10000, 1000]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true, value_name = "N")]
    samples: Option<u32>,

    /// Random seed
    #[arg(long, default_value_t = 0, value_name = "N")]
    seed: u64,

    /// Average over the queries that every run answers, instead of scoring missing ones 0
    #[arg(long, conflicts_with = "complete")]
    common: bool,

    /// Average over all judged queries (the default; accepted for trec_eval users)
    #[arg(short = 'c', long, hide = true)]
    complete: bool,

    #[command(flatten)]
    rules: RuleOptions,

    /// Also print the N queries with the largest gains and losses of each pair, by the first
    /// measure, with the documents whose rank changed [default N: 5]. In csv, replaces the tables
    /// and omits documents
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "5", value_parser = positive)]
    per_topic: Option<usize>,

    /// Output format: table, markdown, latex, csv or json (csv and json in full precision, json
    /// with per-query scores), or html: one self-contained page with tables, plots, and the queries
    /// and documents behind each difference
    #[arg(long, value_enum, default_value_t = OutputFormat::Table, hide_possible_values = true, value_name = "FORM")]
    format: OutputFormat,

    /// Add LaTeX tables of confidence intervals and differences
    #[arg(long)]
    details: bool,

    /// Title of the HTML page [default: the names of the runs]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,

    /// Output folder for plots (SVG, column width) and their data (CSV): scores with intervals,
    /// precision-recall, measures by cutoff, per-query differences, scores by rank
    #[arg(long, value_name = "DIR")]
    plots: Option<PathBuf>,

    /// Output file, written atomically [default: standard output]
    #[arg(short = 'o', long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TestName {
    T,
    Wilcoxon,
    #[value(alias = "fisher", alias = "randomisation")] // language: allow
    Randomization,
    Bootstrap,
    Datafinder,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum AlternativeName {
    TwoSided,
    Greater,
    Less,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum CorrectionName {
    Holm,
    Bonferroni,
    None,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum FamilyName {
    Measure,
    All,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum IntervalName {
    #[value(alias = "t")]
    Student,
    Bootstrap,
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

/// Parses a number strictly between 0 and 1.
fn fraction(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if share > 0.0 && share < 1.0 => Ok(share),
        _ => Err(format!("expected a number between 0 and 1, found {text:?}")),
    }
}

impl Args {
    /// Comparison plan; `baseline` is a system name.
    fn plan(&self, baseline: Option<String>) -> ComparisonConfig {
        let seed = self.seed;
        let samples = |test| self.samples.unwrap_or(test);
        ComparisonConfig {
            pairs: match baseline {
                _ if self.all_pairs => ComparedPairs::AllPairs,
                None => ComparedPairs::WithFirst,
                Some(name) => ComparedPairs::WithBaseline(name),
            },
            test: match self.test {
                TestName::T => SignificanceTest::PairedT(PairedTTest),
                TestName::Wilcoxon => SignificanceTest::Wilcoxon(WilcoxonTest::default()),
                TestName::Randomization => SignificanceTest::Randomization(RandomizationTest {
                    samples: samples(RandomizationTest::default().samples),
                    seed,
                }),
                TestName::Bootstrap => SignificanceTest::Bootstrap(BootstrapResampling {
                    samples: samples(BootstrapResampling::default().samples),
                    seed,
                }),
                TestName::Datafinder => SignificanceTest::BootstrapWins(Bootstrap {
                    samples: samples(Bootstrap::DATAFINDER.samples),
                    seed,
                    ..Bootstrap::DATAFINDER
                }),
            },
            alternative: match (self.alternative, self.test) {
                (Some(AlternativeName::Greater), _) | (None, TestName::Datafinder) => {
                    Alternative::Greater
                }
                (Some(AlternativeName::Less), _) => Alternative::Less,
                (Some(AlternativeName::TwoSided) | None, _) => Alternative::TwoSided,
            },
            correction: match self.correction {
                CorrectionName::Holm => MultipleTestingCorrection::Holm,
                CorrectionName::Bonferroni => MultipleTestingCorrection::Bonferroni,
                CorrectionName::None => MultipleTestingCorrection::None,
            },
            family: match self.family {
                FamilyName::Measure => HypothesisFamily::Measure,
                FamilyName::All => HypothesisFamily::All,
            },
            level: self.alpha,
            interval: match self.interval {
                IntervalName::Student => IntervalMethod::Student,
                IntervalName::Bootstrap => IntervalMethod::Bootstrap(BootstrapResampling {
                    samples: samples(BootstrapResampling::default().samples),
                    seed,
                }),
            },
        }
    }

    /// Checks that need no input file.
    fn check(&self) -> Result<(), Usage> {
        if self.input.runs.len() < 2 {
            return Err(expected_two_runs(&self.input.qrels));
        }
        let files = std::iter::once(&self.input.qrels).chain(&self.input.runs);
        if files.filter(|file| *file == "-").count() > 1 {
            return Err(Usage(
                "expected `-` at most once among <QRELS> and <RUN>, found it more than once"
                    .to_owned(),
            ));
        }
        if self.test == TestName::Datafinder && self.alternative == Some(AlternativeName::TwoSided)
        {
            return Err(Usage(
                "--test datafinder: expected --alternative greater or less, found two-sided"
                    .to_owned(),
            ));
        }
        let number = |file: &&String| file.bytes().all(|b| b.is_ascii_digit());
        let files = std::iter::once(&self.input.qrels).chain(&self.input.runs);
        if let (Some(_), Some(number)) = (
            self.per_topic,
            files.filter(number).find(|file| !Path::new(file).exists()),
        ) {
            return Err(Usage(format!(
                "--per-topic {number}: expected --per-topic={number}, with an equals sign"
            )));
        }
        if self.per_topic.is_some() && self.format == OutputFormat::Latex {
            return Err(Usage(
                "--per-topic: expected --format table, markdown, csv, json or html, found latex"
                    .to_owned(),
            ));
        }
        if self.details && self.format != OutputFormat::Latex {
            return Err(Usage(
                "--details: expected --format latex; the other formats include all tables"
                    .to_owned(),
            ));
        }
        if self.title.is_some() && self.format != OutputFormat::Html {
            return Err(Usage("--title: expected --format html".to_owned()));
        }
        Ok(())
    }
}

pub(crate) fn run(args: &Args, console: &Console) -> Result<()> {
    args.check()?;
    let missing = if args.common {
        MissingQueries::Skip
    } else {
        MissingQueries::Zero
    };
    let rules = args.rules.rules(missing);
    let measures = if args.measure.is_empty() {
        MEASURES.map(str::to_owned).to_vec()
    } else {
        args.measure.clone()
    };
    let measures = in_order(&measures, &rules)?;
    if measures.is_empty() {
        let found = args.measure.join(", ");
        return Err(Usage(format!(
            "--measure: expected a measure with one value, found {found}"
        ))
        .into());
    }
    let read = std::iter::once(&args.input.qrels).chain(&args.input.runs);
    reject_input_as_output(args.output.as_deref(), "--output", read)?;
    let qrels = (args.input.form).read(&args.input.qrels, args.rules.header(), console)?;
    let folder = args.plots.as_deref();
    folder.map(page::make_folder).transpose()?;
    let evaluator = Evaluator::with_rules(&*qrels, &measures, rules)?;
    let mut out = OutputSink::open(args.output.as_deref())?;
    let needs_page = args.format == OutputFormat::Html || folder.is_some();
    let judged = RunEvaluator {
        evaluator: &evaluator,
        qrels: &args.input.qrels,
        header: args.rules.header(),
        lists: needs_page || args.per_topic.is_some(),
    };
    let systems = judged.systems(&args.input.runs, console)?;
    let baseline = args.baseline.as_ref();
    let baseline = baseline.map(|name| resolve(name, &systems)).transpose()?;
    let reports: Vec<Report> = systems.iter().map(|system| system.report.clone()).collect();
    let comparison = Comparison::new(&reports, &args.plan(baseline)).map_err(usage_error)?;
    let topics = args.per_topic.map(|most| {
        let lists = systems.iter();
        let lists = lists.filter_map(|system| Some((system.name(), system.list.as_ref()?)));
        topics::of(&comparison, &*qrels, &lists.collect(), most)
    });
    let page = if needs_page {
        check_stopped()?;
        Some(page::of(args, &comparison, &*qrels, &systems)?)
    } else {
        None
    };
    if let (Some(page), Some(folder)) = (&page, folder) {
        page::write_plots(page, folder)?;
    }
    let written = match page {
        Some(page) if args.format == OutputFormat::Html => {
            out.write_all(page.to_html().as_bytes()).map_err(Into::into)
        }
        _ => write(args, &comparison, topics.as_deref(), &mut out),
    };
    written.with_context(|| format!("{}: could not be written", out.name()))?;
    out.commit()
}

/// Measures in the order of the options, not in trec_eval's.
fn in_order(options: &[String], rules: &Rules) -> Result<Vec<Measure>> {
    let mut measures = Vec::new();
    for option in options {
        let selection =
            MeasureSelection::parse_for(JudgmentKind::Grades, &[option], rules.trec_eval_version)
                .map_err(|error| Usage(format!("--measure {error}")))?;
        measures.extend(selection.measures());
    }
    Ok(measures)
}

/// Resolves a run by name, file, file name or tag; each must be unique.
fn resolve(text: &str, systems: &[EvaluatedRun]) -> Result<String> {
    let ways: [fn(&EvaluatedRun) -> String; 4] = [
        |system| system.name().to_owned(),
        |system| system.file.clone(),
        |system| file_name(&system.file),
        |system| system.tag.clone(),
    ];
    for way in ways {
        let plain = |text: &str| text.strip_prefix("./").unwrap_or(text).to_owned();
        let mut found = systems
            .iter()
            .filter(|system| plain(&way(system)) == plain(text));
        if let (Some(one), None) = (found.next(), found.next()) {
            return Ok(one.name().to_owned());
        }
    }
    let known: Vec<&str> = systems.iter().map(EvaluatedRun::name).collect();
    Err(Usage(format!(
        "--baseline: expected one of the runs ({}), found {text:?}",
        known.join(", ")
    ))
    .into())
}

/// JSON output: the comparison and its per-query part.
#[derive(Serialize)]
struct ComparisonJson<'a> {
    #[serde(flatten)]
    comparison: &'a Comparison,
    #[serde(skip_serializing_if = "Option::is_none")]
    topics: Option<&'a [topics::Topics]>,
}

fn write(
    args: &Args,
    comparison: &Comparison,
    topics: Option<&[topics::Topics]>,
    out: &mut OutputSink,
) -> Result<()> {
    match args.format {
        OutputFormat::Table => {
            out.write_all(comparison.to_text().as_bytes())?;
            topics.map_or(Ok(()), |topics| topics::text(topics, out))?;
        }
        OutputFormat::Markdown => {
            out.write_all(comparison.to_markdown().as_bytes())?;
            topics.map_or(Ok(()), |topics| topics::markdown(topics, out))?;
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
            serde_json::to_writer_pretty(&mut *out, &ComparisonJson { comparison, topics })?;
            out.write_all(b"\n")?;
        }
        // The HTML page is written by the module `page`.
        OutputFormat::Html => {}
    }
    Ok(())
}
