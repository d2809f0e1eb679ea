//! `ir pool`: pooling for relevance assessment, and merging of the judgments.

use std::io::Write;

use anyhow::{Result, anyhow, bail};
use clap::ValueEnum;
use ir_core::trec::write_qrels;
use ir_core::{Grade, Qrels, Run};
use ir_data::{Line, LineReader};
use ir_eval::assess::{Pool, PoolDesign, PoolJudgmentError, StratumSample};

use crate::shared::console::{Console, Usage, bail_usage};
use crate::shared::input::{self, QrelsArgument};
use crate::shared::options::{choice, positive};
use crate::shared::output::{OutputPath, OutputSink};
use crate::shared::runs::{RunOptions, at_most_one_stdin, warn_of_repeated, without_common_query};

const EXAMPLES: &str = "\
Examples:
  ir pool --depth 100 *.trec -o judge.tsv      depth-100 pool
  ir pool --depth 10 --sample 100:5% --sample 1000:50 --seed 42 *.trec \\
     -o judge.tsv --pool pool.qrels            with sampled strata
  ir pool --judged first.qrels new.trec -o judge.tsv --pool pool.qrels
  ir pool --merge pool.qrels judge.tsv -o final.qrels
  ir pool --merge final.qrels --form plain -o final-plain.qrels
  ir eval -c -R strata -m xinfAP -m infNDCG final.qrels run.trec

The output has one line `query TAB document` per document to judge, ordered by
document id or, with --shuffle, at random. It shows neither ranks nor runs.
Assessors add a third column, the grade. --merge writes their grades into the
pool; it accepts the files of several assessors, and four-column qrels. Files
that judge the same document must agree on its grade: `ir agree` measures how
far assessors differ, and --merge takes one file of agreed grades. With --form
plain, --merge converts the file of one assessor, or a pool, to qrels.

The pool (--pool) has the five columns of NIST's sample_eval: query, 0,
document, stratum, grade. `ir eval -R strata` estimates infAP (`xinfAP`) and
infNDCG from it. A stratum is a range of ranks, by the best rank of a document
in any run: 1 for --depth, then 2, 3, ... for each --sample; stratum 0 holds
earlier judgments (--judged), which are not judged again. Grade -2 marks a
document without a judgment yet, -1 one that was not sampled.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// TREC runs, or with --merge files of judgments; one may be `-` (standard input)
    #[arg(required_unless_present = "form", value_name = "RUN")]
    files: Vec<String>,

    /// Pool depth: all documents up to this rank in any run are judged [default: 100]
    #[arg(long, short = 'k', value_name = "K", value_parser = positive)]
    depth: Option<usize>,

    /// Sampled stratum per query: the ranks from the previous stratum down to TO, with a fraction
    /// such as 100:5% (at least one document) or a count such as 1000:50; repeatable
    #[arg(long, value_name = "TO:SIZE", value_parser = sample)]
    sample: Vec<(usize, StratumSample)>,

    /// Published pooling procedure (Cohen et al., Database 2017), instead of --depth and --sample
    #[arg(long, value_parser = choice(presets()), value_name = "NAME", conflicts_with_all = ["depth", "sample"])]
    preset: Option<PoolDesign>,

    /// Earlier judgments (four-column qrels), kept and not judged again
    #[arg(long, value_name = "QRELS")]
    judged: Option<String>,

    /// Random seed of sampling and --shuffle [default: 0]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Shuffle the documents of each query
    #[arg(long)]
    shuffle: bool,

    #[command(flatten)]
    reading: RunOptions,

    /// Output file of the documents to judge or, with --merge, the merged judgments; .gz and .zst
    /// are compressed [default: standard output]
    #[arg(long, short = 'o', value_name = "FILE")]
    output: Option<OutputPath>,

    /// Output file of the pool with its strata
    #[arg(long, value_name = "FILE")]
    pool: Option<OutputPath>,

    /// Pool (a file of --pool) to merge the judgments of assessors into
    #[arg(long, value_name = "POOL", conflicts_with_all = OPTIONS_OF_POOLS)]
    merge: Option<String>,

    /// With --merge: output format, with or without strata; files of judgments are then optional
    /// [default: strata]
    #[arg(long, value_enum, requires = "merge", conflicts_with_all = OPTIONS_OF_POOLS, value_name = "FORM")]
    form: Option<MergedFormat>,
}

/// Options that choose documents or read runs.
const OPTIONS_OF_POOLS: [&str; 9] = [
    "depth",
    "sample",
    "preset",
    "judged",
    "seed",
    "shuffle",
    "pool",
    "order",
    "skip_header",
];

fn presets() -> [(&'static str, &'static str, PoolDesign); 2] {
    let (organizers, submitted) = (
        PoolDesign::biocaddie_organizers(),
        PoolDesign::biocaddie_submitted(),
    );
    [
        ("biocaddie-organizers", "Depth 300, no sampling", organizers),
        (
            "biocaddie-submitted",
            "With the judgments of the former as --judged: depth 10, and 5 % of ranks 11 to 100",
            submitted,
        ),
    ]
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MergedFormat {
    /// Five columns, all pooled documents
    Strata,
    /// Four columns, judged documents only
    Plain,
}

fn sample(text: &str) -> Result<(usize, StratumSample), String> {
    let expected = || format!("expected TO:PERCENT% or TO:COUNT such as 100:5%, found {text:?}");
    let (to, how) = text.split_once(':').ok_or_else(expected)?;
    let to = positive(to).map_err(|_| expected())?;
    let take = match how.strip_suffix('%') {
        Some(percent) => {
            let percent: f64 = percent.trim().parse().map_err(|_| expected())?;
            if !(percent > 0.0 && percent <= 100.0) {
                return Err(expected());
            }
            StratumSample::Fraction(percent / 100.0)
        }
        None => StratumSample::Count(positive(how).map_err(|_| expected())?),
    };
    Ok((to, take))
}

pub(crate) fn run(args: &Args, console: &Console) -> Result<()> {
    match &args.merge {
        Some(pool) => merge(args, pool, console),
        None => draw(args, console),
    }
}

fn draw(args: &Args, console: &Console) -> Result<()> {
    at_most_one_stdin(args.files.iter().chain(&args.judged))?;
    let from_options = || {
        let top = PoolDesign::depth(args.depth.unwrap_or(100));
        let below = args.sample.iter();
        below.fold(top, |pooling, &(to, take)| pooling.with_stratum(to, take))
    };
    let mut pooling = args.preset.clone().unwrap_or_else(from_options);
    if args.seed.is_some() && pooling.strata.len() < 2 && !args.shuffle {
        bail_usage!(
            "--seed: expected --sample, --preset biocaddie-submitted or --shuffle; a pool without samples is not random"
        );
    }
    let seed = args.seed.unwrap_or_default();
    pooling = pooling.with_seed(seed);
    pooling.order = args.reading.order;
    if pooling.strata.len() > 1 && args.pool.is_none() {
        let option = match &args.preset {
            Some(_) => "--preset",
            None => "--sample",
        };
        bail_usage!("{option}: expected --pool, because estimates need the strata");
    }
    let judged = args.judged.as_ref();
    let judged = judged
        .map(|qrels| input::qrels(qrels, QrelsArgument::Option, args.reading.header(), console));
    let judged = judged.transpose()?;
    warn_of_repeated(&args.files, console);
    let runs = args.reading.read(&args.files, console)?;
    let unjudged = |run: &Run| without_common_query(judged.as_ref()?, run);
    if let Some(found) = runs.first().and_then(unjudged)
        && runs.iter().all(|run| unjudged(run).is_some())
    {
        console.warn(format_args!("--judged: no query of the runs ({found})"));
    }
    let pool = pooling
        .pool(&runs, judged.as_ref())
        .map_err(|error| Usage(format!("--depth, --sample: {error}")))?;
    let list = if args.shuffle {
        pool.shuffled(seed)
    } else {
        pool.to_judge().collect()
    };
    console.note(format_args!(
        "{} of {} pooled documents to judge",
        list.len(),
        pool.documents()
    ));
    let out = OutputSink::open(args.output.as_ref())?;
    let strata = args.pool.as_ref().map(|path| OutputSink::open(Some(path)));
    let strata = strata.transpose()?;
    out.write_with(|out| {
        list.iter()
            .try_for_each(|(query, doc)| writeln!(out, "{query}\t{doc}"))
    })?;
    match strata {
        Some(strata) => strata.write_with(|out| pool.write(out)),
        None => Ok(()),
    }
}

fn merge(args: &Args, file: &str, console: &Console) -> Result<()> {
    at_most_one_stdin(args.merge.iter().chain(&args.files))?;
    let (input, name) = input::open(file, console)?;
    let mut pool = Pool::read(input, &name)?;
    let mut blank = 0;
    for list in &args.files {
        blank += judge(&mut pool, list, console)?;
    }
    let waiting = pool.to_judge().count();
    if waiting > 0 {
        console.warn(format_args!(
            "{waiting} pooled documents have no judgment yet ({blank} lines have no grade); they \
             count as not sampled"
        ));
    }
    let out = OutputSink::open(args.output.as_ref())?;
    if args.form != Some(MergedFormat::Plain) {
        return out.write_with(|out| pool.write(out));
    }
    let mut qrels = Qrels::new();
    for (query, doc, _, grade) in pool.iter().filter(|line| line.3 >= 0) {
        qrels.insert(query, doc, grade);
    }
    out.write_with(|out| write_qrels(&qrels, out))
}

/// Merges an assessor's file into a pool. Returns the number of lines without a grade.
fn judge(pool: &mut Pool, file: &str, console: &Console) -> Result<usize> {
    let (input, name) = input::open(file, console)?;
    let mut blank = 0;
    let mut lines = LineReader::new(input, &name);
    while let Some(Line { number, text }) = lines.read()? {
        let fields: Vec<&str> = text.split_ascii_whitespace().collect();
        let (query, doc, grade) = match fields[..] {
            [] => continue,
            _ if text.starts_with('#') => continue,
            [_, _] => {
                blank += 1;
                continue;
            }
            [query, doc, grade] | [query, _, doc, grade] => (query, doc, grade),
            _ => bail!(
                "{name}:{number}: expected three columns (query, document, grade) or the four of qrels, \
                 found {} columns",
                fields.len()
            ),
        };
        let Ok(grade) = grade.parse::<Grade>() else {
            bail!("{name}:{number}: expected an integer grade, found {grade:?}");
        };
        pool.judge(query, doc, grade).map_err(|error| {
            let hint = match error {
                PoolJudgmentError::Conflict { .. } => {
                    " (assessors differ? `ir agree` compares their qrels; merge one file of agreed grades)"
                }
                _ => "",
            };
            anyhow!("{name}:{number}: {error}{hint}")
        })?;
    }
    Ok(blank)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples() {
        assert_eq!(sample("100:5%"), Ok((100, StratumSample::Fraction(0.05))));
        assert_eq!(sample("1000:50"), Ok((1000, StratumSample::Count(50))));
        for wrong in [
            "", "100", "100:", "0:5%", "100:0%", "100:101%", "100:0", "a:5%", "100:x",
        ] {
            assert!(sample(wrong).is_err(), "{wrong}");
        }
    }
}
