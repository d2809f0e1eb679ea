//! `ir fuse`: one run out of several.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::ValueEnum;
use ir_core::fuse::{Combine, Fusion, Normalise, fuse_runs};
use ir_core::interleave::{self, Interleave};
use ir_core::trec::{self, RunScores};

use crate::shared::options::{positive, tag};
use crate::shared::console::{Console, Usage};
use crate::shared::runs::{RunOptions, not_over};
use crate::shared::output::Sink;

const EXAMPLES: &str = "\
Examples:
  ir fuse bm25.trec dense.trec -o fused.trec    reciprocal rank fusion, k = 60
  ir fuse --method combmnz a.trec b.trec c.trec  sum times number of lists
  ir fuse --method combsum --normalise z-score a.trec b.trec
  ir fuse a.trec b.trec | ir eval -m map qrels.txt -

Methods, over the lists that hold a document:
  rrf          sum of 1 / (k + rank)       (Cormack et al. 2009)
  combsum      sum of scores               (Fox and Shaw 1994, like all comb)
  combmnz      sum of scores times number of lists
  combanz      mean of scores
  combmax, combmin, combmed
               largest, smallest, median score
  borda        points for the documents ranked below
  round-robin  the lists in turn, as DataFinder's published code does

The comb methods normalise the scores of each list first, by topic:
  min-max      (s - min) / (max - min)           the default
  z-score      (s - mean) / deviation
  sum          (s - min) / sum of (s - min)
  none         the scores as they are

Lists are taken in trec_eval's order, and equal scores of the result stand in
it too: by document id from z to a.";

/// The arguments of `ir fuse`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Runs in TREC's form; `-` for standard input
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<String>,

    /// How a document's places or scores become one
    #[arg(long, value_enum, default_value_t = Method::Rrf, value_name = "METHOD", hide_possible_values = true)]
    method: Method,

    /// How the scores of a list are made comparable, for the comb methods [default: min-max]
    #[arg(
        long,
        value_enum,
        value_name = "WAY",
        alias = "normalize",
        hide_possible_values = true
    )]
    normalise: Option<Scale>,

    /// k of reciprocal rank fusion: the larger, the less the first ranks stand out
    #[arg(
        long,
        default_value_t = 60.0,
        value_name = "K",
        allow_negative_numbers = true
    )]
    rrf_k: f64,

    /// Documents per topic
    #[arg(long, short = 'k', default_value_t = 1000, value_parser = positive, value_name = "N", allow_negative_numbers = true)]
    hits: usize,

    /// Name of the run, its last column
    #[arg(long, default_value = "ir-fuse", value_name = "NAME", value_parser = tag)]
    tag: String,

    /// File for the run [default: standard output]
    #[arg(long, short = 'o', value_name = "FILE")]
    output: Option<PathBuf>,

    /// A first line with text in place of a number dropped; trec_eval counts it as data
    #[arg(long)]
    skip_header: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Method {
    Rrf,
    Combsum,
    Combmnz,
    Combanz,
    Combmax,
    Combmin,
    Combmed,
    Borda,
    RoundRobin,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Scale {
    None,
    MinMax,
    ZScore,
    Sum,
}

impl From<Scale> for Normalise {
    fn from(scale: Scale) -> Self {
        match scale {
            Scale::None => Self::None,
            Scale::MinMax => Self::MinMax,
            Scale::ZScore => Self::ZScore,
            Scale::Sum => Self::Sum,
        }
    }
}

impl Args {
    /// `None` for the round robin.
    fn fusion(&self) -> Result<Option<Fusion>, Usage> {
        let combine = match self.method {
            Method::Rrf => Combine::Rrf { k: self.rrf_k },
            Method::Combsum | Method::Borda => Combine::Sum,
            Method::Combmnz => Combine::Mnz,
            Method::Combanz => Combine::Anz,
            Method::Combmax => Combine::Max,
            Method::Combmin => Combine::Min,
            Method::Combmed => Combine::Med,
            Method::RoundRobin => Combine::Sum,
        };
        let by_rank = matches!(
            self.method,
            Method::Rrf | Method::Borda | Method::RoundRobin
        );
        if by_rank && self.normalise.is_some() {
            return Err(Usage(
                "--normalise is for the comb methods: the others look at ranks alone".into(),
            ));
        }
        let normalise = match self.method {
            Method::Borda => Normalise::Borda,
            Method::Rrf | Method::RoundRobin => Normalise::None,
            _ => self.normalise.unwrap_or(Scale::MinMax).into(),
        };
        let fusion = Fusion { normalise, combine };
        Ok((self.method != Method::RoundRobin).then_some(fusion))
    }
}

/// Runs `ir fuse`.
pub(crate) fn run(args: &Args, console: &Console) -> Result<()> {
    let fusion = args.fusion()?;
    let reading = RunOptions {
        order: crate::shared::runs::Order::TrecEval,
        skip_header: args.skip_header,
    };
    not_over(args.output.as_deref(), "--output", &args.runs)?;
    let mut out = Sink::open(args.output.as_deref())?;
    let runs = reading.read(&args.runs, console)?;
    let fused = match fusion {
        Some(fusion) => {
            let mut fused = fuse_runs(&args.tag, &runs, fusion)?;
            fused.cut(args.hits);
            fused
        }
        None => {
            let how = Interleave {
                method: interleave::Method::RoundRobin,
                limit: args.hits,
                ..Interleave::default()
            };
            interleave::to_run(&args.tag, &how.runs(&runs)?, args.hits)
        }
    };
    trec::write_run(&fused, RunScores::Exact, &mut out)
        .with_context(|| format!("{}: could not be written", out.name()))?;
    out.commit()
}
