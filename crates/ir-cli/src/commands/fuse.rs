//! `ir fuse`: rank and score fusion of runs.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::ValueEnum;
use ir_core::fusion::interleave;
use ir_core::fusion::interleave::InterleaveConfig;
use ir_core::fusion::{Fusion, ScoreCombination, ScoreNormalization, fuse_runs};
use ir_core::trec;
use ir_core::trec::ScoreFormat;

use crate::shared::console::{Console, Usage};
use crate::shared::options::{positive, tag};
use crate::shared::output::OutputSink;
use crate::shared::runs::{RunOptions, reject_input_as_output};

const EXAMPLES: &str = "\
Examples:
  ir fuse bm25.trec dense.trec -o fused.trec    reciprocal rank fusion, k = 60
  ir fuse --method combmnz a.trec b.trec c.trec
  ir fuse --method combsum --normalize z-score a.trec b.trec
  ir fuse a.trec b.trec | ir eval -m map qrels.txt -

Methods, over the rankings that contain the document:
  rrf          sum of 1 / (k + rank)       (Cormack et al. 2009)
  combsum      sum of scores               (Fox and Shaw 1994, like all comb)
  combmnz      sum of scores times number of rankings
  combanz      mean of scores
  combmax, combmin, combmed
               largest, smallest, median score
  borda        Borda count: number of documents ranked below
  round-robin  rankings in turn, as in DataFinder's published code

The comb methods first normalize the scores of each ranking:
  min-max      (s - min) / (max - min)           the default
  z-score      (s - mean) / deviation
  sum          (s - min) / sum of (s - min)
  none         scores unchanged

Rankings are read in trec_eval's order. Ties in the result are written in that
order too: by descending document id.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// TREC runs; one may be `-` (standard input)
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<String>,

    /// Fusion method
    #[arg(long, value_enum, default_value_t = Method::Rrf, value_name = "METHOD", hide_possible_values = true)]
    method: Method,

    /// Score normalization of the comb methods [default: min-max]
    #[arg(
        long,
        value_enum,
        value_name = "METHOD",
        alias = "normalise", // language: allow
        hide_possible_values = true
    )]
    normalize: Option<Scale>,

    /// Constant k of reciprocal rank fusion; larger values flatten the weight of the top ranks
    #[arg(
        long,
        default_value_t = 60.0,
        value_name = "K",
        allow_negative_numbers = true
    )]
    rrf_k: f64,

    /// Maximum number of documents per topic
    #[arg(long, short = 'k', default_value_t = 1000, value_parser = positive, value_name = "N", allow_negative_numbers = true)]
    hits: usize,

    /// Run tag (last column)
    #[arg(long, default_value = "ir-fuse", value_name = "NAME", value_parser = tag)]
    tag: String,

    /// Output run file [default: standard output]
    #[arg(long, short = 'o', value_name = "FILE")]
    output: Option<PathBuf>,

    /// Skip a header line (text in a numeric column); trec_eval parses it as data
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

impl From<Scale> for ScoreNormalization {
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
    /// Score fusion method; `None` for round robin.
    fn fusion(&self) -> Result<Option<Fusion>, Usage> {
        let combination = match self.method {
            Method::Rrf => ScoreCombination::Rrf { k: self.rrf_k },
            Method::Combsum | Method::Borda => ScoreCombination::Sum,
            Method::Combmnz => ScoreCombination::Mnz,
            Method::Combanz => ScoreCombination::Anz,
            Method::Combmax => ScoreCombination::Max,
            Method::Combmin => ScoreCombination::Min,
            Method::Combmed => ScoreCombination::Med,
            Method::RoundRobin => ScoreCombination::Sum,
        };
        let by_rank = matches!(
            self.method,
            Method::Rrf | Method::Borda | Method::RoundRobin
        );
        if by_rank && self.normalize.is_some() {
            return Err(Usage(
                "--normalize: expected a comb method; the other methods use ranks only".into(),
            ));
        }
        let normalization = match self.method {
            Method::Borda => ScoreNormalization::Borda,
            Method::Rrf | Method::RoundRobin => ScoreNormalization::None,
            _ => self.normalize.unwrap_or(Scale::MinMax).into(),
        };
        let fusion = Fusion {
            normalization,
            combination,
        };
        Ok((self.method != Method::RoundRobin).then_some(fusion))
    }
}

pub(crate) fn run(args: &Args, console: &Console) -> Result<()> {
    let fusion = args.fusion()?;
    let reading = RunOptions {
        order: crate::shared::runs::RunOrderOption::TrecEval,
        skip_header: args.skip_header,
    };
    reject_input_as_output(args.output.as_deref(), "--output", &args.runs)?;
    let mut out = OutputSink::open(args.output.as_deref())?;
    let runs = reading.read(&args.runs, console)?;
    let fused = match fusion {
        Some(fusion) => {
            let mut fused = fuse_runs(&args.tag, &runs, fusion)?;
            fused.truncate(args.hits);
            fused
        }
        None => {
            let how = InterleaveConfig {
                method: interleave::InterleaveMethod::RoundRobin,
                limit: args.hits,
                ..InterleaveConfig::default()
            };
            interleave::to_run(&args.tag, &how.interleave(&runs)?, args.hits)
        }
    };
    trec::write_run(&fused, ScoreFormat::Exact, &mut out)
        .with_context(|| format!("{}: could not be written", out.name()))?;
    out.commit()
}
