//! `ir pool`: what assessors should judge, and the judgments that come of it.

use std::io::{BufRead, Write};
use std::path::PathBuf;

use anyhow::{Context, Result, anyhow, bail};
use clap::ValueEnum;
use ir_core::Grade;
use ir_core::trec;
use ir_eval::{Pool, Pooling, Take};

use crate::shared::options::positive;
use crate::shared::console::{Console, Usage};
use crate::shared::runs::{RunOptions, apart, not_over, only_one_stdin};
use crate::shared::output::Sink;
use crate::shared::input;

const EXAMPLES: &str = "\
Examples:
  ir pool --depth 100 *.trec -o judge.tsv      the top 100 of every run
  ir pool --depth 10 --sample 100:5% --sample 1000:50 --seed 42 *.trec \\
     -o judge.tsv --pool pool.qrels            samples of the ranks below
  ir pool --judged first.qrels new.trec -o judge.tsv --pool pool.qrels
  ir pool --merge pool.qrels judge.tsv -o final.qrels
  ir eval -c -R strata -m xinfAP -m infNDCG final.qrels run.trec

The judging list has a line `topic TAB document` for each document to judge:
by document id, or in random order with --shuffle. Assessors see neither ranks
nor runs in it. They add a third column, the grade. --merge puts their grades
into the pool; several lists may be given, and four-column qrels too.

The pool (--pool) has the five columns of NIST's sample_eval, from which infAP
(`xinfAP` in ir eval) and infNDCG are estimated: topic, 0, document, stratum,
grade. ir eval reads it with -R strata. A stratum is a span of ranks, by the
best rank of a document in any run: 1 for --depth, then 2, 3, ... for each
--sample; 0 are earlier judgments (--judged), which are not judged again. The
grade is -2 for a document that waits for its judgment and -1 for one that was
not drawn.

bioCADDIE 2016 (Cohen et al., Database 2017): --preset biocaddie-organizers is
--depth 300; --preset biocaddie-submitted, with the judgments of the former as
--judged, is --depth 10 --sample 100:5%.";

/// The arguments of `ir pool`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Runs in TREC's form; with --merge judged lists. `-` for standard input
    #[arg(required = true, value_name = "RUN")]
    files: Vec<String>,

    /// Ranks of every run of which all documents are judged [default: 100]
    #[arg(long, short = 'k', value_name = "K", value_parser = positive, allow_negative_numbers = true)]
    depth: Option<usize>,

    /// A sample, for each topic, of the ranks below, down to TO: a share such as 100:5% (at least one
    /// document), or a number of documents such as 1000:50; repeatable
    #[arg(long, value_name = "TO:HOW", value_parser = sample)]
    sample: Vec<(usize, Take)>,

    /// A published procedure in place of --depth and --sample
    #[arg(long, value_enum, value_name = "NAME", conflicts_with_all = ["depth", "sample"])]
    preset: Option<Preset>,

    /// Earlier judgments, which are kept and not asked for again: qrels of four columns
    #[arg(long, value_name = "QRELS")]
    judged: Option<String>,

    /// Where the random numbers of samples and --shuffle start
    #[arg(long, default_value_t = 0, value_name = "N")]
    seed: u64,

    /// The documents of each topic in random order
    #[arg(long)]
    shuffle: bool,

    #[command(flatten)]
    reading: RunOptions,

    /// File for the judging list, or with --merge the judgments [default: standard output]
    #[arg(long, short = 'o', value_name = "FILE")]
    output: Option<PathBuf>,

    /// File for the pool with its strata
    #[arg(long, value_name = "FILE")]
    pool: Option<PathBuf>,

    /// Pool into which the grades of judged lists are put
    #[arg(long, value_name = "POOL", conflicts_with_all = ["depth", "sample", "preset", "judged", "shuffle", "pool", "order"])]
    merge: Option<String>,

    /// With --merge: qrels with strata, or four columns without them
    #[arg(long, value_enum, default_value_t = Form::Strata, requires = "merge", value_name = "FORM")]
    form: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Preset {
    /// The top 300
    BiocaddieOrganizers,
    /// The top 10, and 5 % of ranks 11 to 100
    BiocaddieSubmitted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// Five columns, every document of the pool
    Strata,
    /// Four columns, judged documents alone
    Plain,
}

fn sample(text: &str) -> Result<(usize, Take), String> {
    let expected = || format!("expected TO:SHARE% or TO:COUNT such as 100:5%, found {text:?}");
    let (to, how) = text.split_once(':').ok_or_else(expected)?;
    let to = positive(to).map_err(|_| expected())?;
    let take = match how.strip_suffix('%') {
        Some(percent) => {
            let percent: f64 = percent.trim().parse().map_err(|_| expected())?;
            if !(percent > 0.0 && percent <= 100.0) {
                return Err(expected());
            }
            Take::Share(percent / 100.0)
        }
        None => Take::Count(positive(how).map_err(|_| expected())?),
    };
    Ok((to, take))
}

/// Runs `ir pool`.
pub(crate) fn run(args: &Args, console: &Console) -> Result<()> {
    match &args.merge {
        Some(pool) => merge(args, pool, console),
        None => draw(args, console),
    }
}

fn draw(args: &Args, console: &Console) -> Result<()> {
    apart(args.output.as_deref(), args.pool.as_deref(), "--pool")?;
    let read = || args.files.iter().chain(&args.judged);
    only_one_stdin(&read().collect::<Vec<_>>())?;
    not_over(args.output.as_deref(), "--output", read())?;
    not_over(args.pool.as_deref(), "--pool", read())?;
    let mut pooling = match args.preset {
        Some(Preset::BiocaddieOrganizers) => Pooling::biocaddie_organizers(),
        Some(Preset::BiocaddieSubmitted) => Pooling::biocaddie_submitted(),
        None => {
            let top = Pooling::depth(args.depth.unwrap_or(100));
            let below = args.sample.iter();
            below.fold(top, |pooling, &(to, take)| pooling.then(to, take))
        }
    };
    pooling = pooling.seeded(args.seed);
    pooling.order = args.reading.order.into();
    if pooling.strata.len() > 1 && args.pool.is_none() {
        return Err(Usage(
            "a sample needs --pool: without its strata nothing can be estimated from it".into(),
        )
        .into());
    }
    let judged = match &args.judged {
        Some(qrels) => {
            let read = source::qrels(qrels, args.reading.header())?;
            read.oddities.iter().for_each(|oddity| console.warn(oddity));
            Some(read.data)
        }
        None => None,
    };
    let runs = args.reading.read(&args.files, console)?;
    let pool = pooling
        .pool(&runs, judged.as_ref())
        .map_err(|error| Usage(format!("--depth, --sample: {error}")))?;
    let list = if args.shuffle {
        pool.shuffled(args.seed)
    } else {
        pool.to_judge().collect()
    };
    console.note(format_args!(
        "{} documents of {} in the pool are to be judged",
        list.len(),
        pool.documents()
    ));
    let mut out = Sink::open(args.output.as_deref())?;
    let strata = match &args.pool {
        Some(path) => Some(Sink::open(Some(path))?),
        None => None,
    };
    let written = list
        .iter()
        .try_for_each(|(query, doc)| writeln!(out, "{query}\t{doc}"));
    written.with_context(|| format!("{}: could not be written", out.name()))?;
    if let Some(mut strata) = strata {
        pool.write(&mut strata)
            .with_context(|| format!("{}: could not be written", strata.name()))?;
        strata.commit()?;
    }
    out.commit()
}

fn merge(args: &Args, file: &str, console: &Console) -> Result<()> {
    let files: Vec<&String> = std::iter::once(&args.merge)
        .flatten()
        .chain(&args.files)
        .collect();
    only_one_stdin(&files)?;
    not_over(args.output.as_deref(), "--output", &args.files)?;
    let mut pool = Pool::read(source::text(file)?, source::name(file))?;
    let mut blank = 0;
    for list in &args.files {
        blank += judge(&mut pool, list)?;
    }
    let waiting = pool.to_judge().count();
    if waiting > 0 {
        console.warn(format_args!(
            "{waiting} documents of the pool still wait for their judgment ({blank} lines have no \
             grade): they count as not drawn"
        ));
    }
    let mut out = Sink::open(args.output.as_deref())?;
    let written = match args.form {
        Form::Strata => pool.write(&mut out).map_err(|error| anyhow!(error)),
        Form::Plain => {
            let mut qrels = ir_core::Qrels::new();
            for (query, doc, pooled) in pool.iter().filter(|line| line.2.grade >= 0) {
                qrels.insert(query, doc, pooled.grade);
            }
            trec::write_qrels(&qrels, &mut out).map_err(|error| anyhow!(error))
        }
    };
    written.with_context(|| format!("{}: could not be written", out.name()))?;
    out.commit()
}

/// Puts the grades of one list into a pool; gives the number of lines without one.
fn judge(pool: &mut Pool, file: &str) -> Result<usize> {
    let name = source::name(file);
    let mut blank = 0;
    for (number, line) in (1..).zip(source::text(file)?.lines()) {
        let line = line.with_context(|| format!("{name}:{number}: could not be read"))?;
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let (query, doc, grade) = match fields[..] {
            [] => continue,
            _ if line.starts_with('#') => continue,
            [_, _] => {
                blank += 1;
                continue;
            }
            [query, doc, grade] | [query, _, doc, grade] => (query, doc, grade),
            _ => bail!(
                "{name}:{number}: expected topic, document and grade, or four columns of qrels, \
                 found {} columns",
                fields.len()
            ),
        };
        let Ok(grade) = grade.parse::<Grade>() else {
            bail!("{name}:{number}: expected a whole number as grade, found {grade:?}");
        };
        pool.judge(query, doc, grade)
            .with_context(|| format!("{name}:{number}"))?;
    }
    Ok(blank)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples() {
        assert_eq!(sample("100:5%"), Ok((100, Take::Share(0.05))));
        assert_eq!(sample("1000:50"), Ok((1000, Take::Count(50))));
        for wrong in [
            "", "100", "100:", "0:5%", "100:0%", "100:101%", "100:0", "a:5%", "100:x",
        ] {
            assert!(sample(wrong).is_err(), "{wrong}");
        }
    }
}
