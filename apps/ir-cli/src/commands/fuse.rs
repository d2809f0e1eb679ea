//! `ir fuse`: rank and score fusion of runs.

use anyhow::Result;
use clap::ValueHint;
use ir_core::RunOrder;
use ir_core::fusion::interleave::{self, InterleaveConfig, InterleaveMethod};
use ir_core::fusion::{
    Fusion, FusionError, ScoreCombination, ScoreNormalization, fuse_weighted_runs,
};

use crate::shared::console::{Console, bail_usage};
use crate::shared::input;
use crate::shared::options::{choice, non_negative, positive, tag};
use crate::shared::output::{OutputPath, OutputSink};
use crate::shared::runs::{self, RunOptions, warn_of_disjoint, warn_of_repeated, warn_of_single};
use crate::shared::signals::{Interrupted, stop_on_interrupt};

const EXAMPLES: &str = "\
Examples:
  ir fuse bm25.trec dense.trec -o fused.trec    reciprocal rank fusion, k = 60
  ir fuse --method combmnz a.trec b.trec c.trec
  ir fuse --method combsum --normalize z-score a.trec b.trec
  ir fuse --method combsum --weights 0.3,0.7 bm25.trec dense.trec
  ir fuse a.trec b.trec | ir eval -m map qrels.txt -

A document's score is computed over the rankings that contain it. Weights
multiply the normalized scores of a run, or its reciprocal ranks; tune them on
held-out queries. A fused score that is infinite is an error.
Rankings are read in trec_eval's order. Ties in the result are written in that
order too: by descending document id.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// TREC runs; one may be `-` (standard input)
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<String>,

    /// Fusion method
    #[arg(long, value_parser = choice(METHODS), default_value = "rrf", value_name = "METHOD")]
    method: FusionMethod,

    /// Score normalization of the comb methods, per ranking [default: min-max]
    #[arg(
        long, value_parser = choice(NORMALIZATIONS), value_name = "METHOD",
        alias = "normalise" // language: allow
    )]
    normalize: Option<ScoreNormalization>,

    /// Weight of each run, in the order of the runs; not for round-robin [default: 1 each]
    #[arg(long, value_delimiter = ',', value_name = "W,W,...", value_hint = ValueHint::Other, value_parser = non_negative::<f64>)]
    weights: Vec<f64>,

    /// Constant k of reciprocal rank fusion; larger values flatten the weight of the top ranks.
    /// Range: ≥ 0 [default: 60]
    #[arg(long, value_name = "K", value_parser = non_negative::<f64>)]
    rrf_k: Option<f64>,

    /// Maximum number of documents per query; the constant k of reciprocal rank fusion is --rrf-k
    #[arg(long, short = 'k', default_value_t = 1000, value_parser = positive, value_name = "N")]
    hits: usize,

    /// Run tag (last column)
    #[arg(long, default_value = "ir-fuse", value_name = "NAME", value_hint = ValueHint::Other, value_parser = tag)]
    tag: String,

    /// Output run file; .gz and .zst are compressed [default: standard output]
    #[arg(long, short = 'o', value_name = "FILE")]
    output: Option<OutputPath>,

    /// Skip a header line (text in a numeric column); trec_eval parses it as data
    #[arg(long)]
    skip_header: bool,
}

#[derive(Debug, Clone, Copy)]
enum FusionMethod {
    Rrf,
    Comb(ScoreCombination),
    Borda,
    RoundRobin,
}

const METHODS: [(&str, &str, FusionMethod); 9] = [
    (
        "rrf",
        "Sum of 1 / (k + rank) (Cormack et al. 2009)",
        FusionMethod::Rrf,
    ),
    (
        "combsum",
        "Sum of scores (Fox and Shaw 1994, like all comb methods)",
        FusionMethod::Comb(ScoreCombination::Sum),
    ),
    (
        "combmnz",
        "Sum of scores times number of rankings",
        FusionMethod::Comb(ScoreCombination::Mnz),
    ),
    (
        "combanz",
        "Mean of scores",
        FusionMethod::Comb(ScoreCombination::Anz),
    ),
    (
        "combmax",
        "Largest score",
        FusionMethod::Comb(ScoreCombination::Max),
    ),
    (
        "combmin",
        "Smallest score",
        FusionMethod::Comb(ScoreCombination::Min),
    ),
    (
        "combmed",
        "Median score",
        FusionMethod::Comb(ScoreCombination::Med),
    ),
    (
        "borda",
        "Borda count: number of documents ranked below",
        FusionMethod::Borda,
    ),
    (
        "round-robin",
        "Rankings in turn, as in DataFinder's published code",
        FusionMethod::RoundRobin,
    ),
];

const NORMALIZATIONS: [(&str, &str, ScoreNormalization); 4] = [
    (
        "min-max",
        "(s - min) / (max - min); 0 if all scores of a ranking are equal",
        ScoreNormalization::MinMax,
    ),
    (
        "z-score",
        "(s - mean) / deviation; 0 if all scores of a ranking are equal",
        ScoreNormalization::ZScore,
    ),
    (
        "sum",
        "(s - min) / sum of (s - min); 0 if all scores of a ranking are equal",
        ScoreNormalization::Sum,
    ),
    ("none", "Scores unchanged", ScoreNormalization::None),
];

impl Args {
    /// Score fusion method; `None` for round robin.
    fn fusion(&self) -> Result<Option<Fusion>> {
        if self.rrf_k.is_some() && !matches!(self.method, FusionMethod::Rrf) {
            bail_usage!("--rrf-k: expected --method rrf; the other methods have no constant k");
        }
        let (normalization, combination) = match (self.method, self.normalize) {
            (FusionMethod::Comb(combination), normalize) => {
                (normalize.unwrap_or(ScoreNormalization::MinMax), combination)
            }
            (_, Some(_)) => {
                bail_usage!("--normalize: expected a comb method; the other methods use ranks only")
            }
            (FusionMethod::Rrf, None) => (
                ScoreNormalization::None,
                ScoreCombination::Rrf {
                    k: self.rrf_k.unwrap_or(60.0),
                },
            ),
            (FusionMethod::Borda, None) => (ScoreNormalization::Borda, ScoreCombination::Sum),
            (FusionMethod::RoundRobin, None) => return Ok(None),
        };
        Ok(Some(Fusion {
            normalization,
            combination,
        }))
    }
}

pub(crate) fn run(args: &Args, console: &Console) -> Result<()> {
    let fusion = args.fusion()?;
    let mut weights = args.weights.clone();
    if weights.is_empty() {
        weights.resize(args.runs.len(), 1.0);
    } else if fusion.is_none() {
        bail_usage!("--weights: expected a method with scores, found round-robin");
    } else if weights.len() != args.runs.len() {
        let (expected, found) = (args.runs.len(), weights.len());
        bail_usage!(
            "--weights: expected one for each of {expected} runs, separated by commas (--weights 0.3,0.7), found {found}"
        );
    }
    let reading = RunOptions {
        order: RunOrder::Score,
        skip_header: args.skip_header,
    };
    for run in &args.runs {
        input::check_is_run(run, " (this command takes runs only)")?;
    }
    let out = OutputSink::open(args.output.as_ref())?;
    warn_of_single(
        &args.runs,
        "its documents are scored anew and ranked as they are",
        console,
    );
    warn_of_repeated(&args.runs, console);
    let runs = reading.read(&args.runs, console)?;
    warn_of_disjoint(&runs, console);
    let fused = match fusion {
        Some(fusion) => {
            stop_on_interrupt();
            let mut bar = console.bar();
            let fused = fuse_weighted_runs(&args.tag, &runs, &weights, fusion, &mut bar);
            let mut fused = fused.map_err(|error| match error {
                FusionError::Canceled => Interrupted.into(),
                error => anyhow::Error::new(error),
            })?;
            fused.truncate(args.hits);
            fused
        }
        None => {
            let config = InterleaveConfig {
                method: InterleaveMethod::RoundRobin,
                limit: args.hits,
                ..InterleaveConfig::default()
            };
            interleave::to_run(&args.tag, &config.interleave(&runs)?, args.hits)
        }
    };
    runs::write(&fused, out, console)
}
