//! `ir mine`: hard-negative mining.

mod examples;
mod miner;
mod searched;
#[cfg(feature = "dense")]
mod teacher;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Result, bail};
use clap::ValueHint;
use ir_core::training::mining::{MiningConfig, MiningError, NegativeSelection, ScoreMargin};
use ir_core::training::{TrainingExample, TrainingSet};
use ir_core::trec::HeaderLine;
use ir_core::{Flow, Predicate, Progress, Run};
use ir_data::training::{DocumentTexts, OnInvalidExample, ids_by_text, write_example};
use ir_data::{DocTemplate, TextEncoding};

use self::examples::{check_split, read_examples};
use self::miner::Miner;
use self::searched::{Searched, search_index, system_of_file};
#[cfg(feature = "dense")]
use self::teacher::Teacher;
use crate::shared::console::{Console, Usage, bail_usage};
use crate::shared::feedback_collection::has_feedback_collection;
use crate::shared::filter::condition;
use crate::shared::format::grouped;
use crate::shared::indexing::IndexOptions;
use crate::shared::input::{self, DocumentSource, open_documents};
use crate::shared::options::{
    QueryForm, ReadingOptions, choice, has_encoded_queries, positive, use_threads,
};
use crate::shared::output::{OutputPath, OutputSink};
use crate::shared::shards::{InputHash, OutputKind, ShardOption, ShardPart};
use crate::shared::signals::{Interrupted, stop_on_interrupt};
use crate::shared::system_options::SystemSource;

const EXAMPLES: &str = "\
Examples:
  ir mine beir/nfcorpus -o train.jsonl      judged queries of split `train`
  ir mine docs.csv --queries queries.tsv --qrels qrels.txt -o train.jsonl
  ir mine makg --examples train.jsonl.zst -o hard.jsonl
  ir mine datafinder --template '{text} [SEP] {title}' --preset datafinder \\
      --not-later-than-query --leave-out -o train.jsonl
  ir mine bundled --first-rank 10 --last-rank 100 --draw random --seed 1
  ir mine bundled --negatives 4 --random 3  4 hard and 3 random negatives
  ir mine beir/nfcorpus --run dense.trec --relative-margin 0.05 -o train.jsonl
  ir mine beir/nfcorpus --teacher ms-marco-MiniLM -o scored.jsonl  for distillation

Top-ranked documents can be unjudged positives (false negatives). Exclude them
by rank (--first-rank) or by score (--margin, --relative-margin).

Output: JSON lines in Tevatron's format: query_id, query, positive_passages
and negative_passages with docid and text, and with --teacher score: the logit
of a cross-encoder, or MaxSim. A negative is never a positive, never has a
positive's text, with or without its title, and occurs once. Output is
deterministic for an input and a seed.

Examples (--examples) are JSON lines: query, and positives or
positive_passages, which are texts with ids, or ids of the collection; or the
columns of sentence-transformers, anchor and positive, which are texts.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Collection to mine negatives from, as in `ir index`
    collection: String,

    #[command(flatten)]
    pub(crate) text: ReadingOptions,

    /// Output file of the examples; .gz and .zst are compressed [default: standard output]
    #[arg(short = 'o', long, value_name = "FILE")]
    output: Option<OutputPath>,

    /// Split with the judged queries that become examples [default: train]
    #[arg(long, value_name = "SPLIT", value_hint = ValueHint::Other, conflicts_with = "examples", help_heading = QUERIES)]
    split: Option<String>,

    /// Queries of the judgments --qrels, in place of a split: a file or collection, as in
    /// `ir search`
    #[arg(long, value_name = "FILE|COLLECTION", requires = "qrels", conflicts_with_all = ["examples", "split"], help_heading = QUERIES)]
    queries: Option<PathBuf>,

    /// Judgments of --queries, as in `ir eval`; documents of grade 1 or more are positives
    #[arg(long, value_name = "FILE|COLLECTION", requires = "queries", conflicts_with_all = ["examples", "split"], help_heading = QUERIES)]
    qrels: Option<String>,

    /// File of training examples to add negatives to
    #[arg(long, value_name = "FILE", help_heading = QUERIES)]
    examples: Option<PathBuf>,

    /// Keep the negatives of the examples, before the mined negatives
    #[arg(
        long, requires = "examples", help_heading = QUERIES,
        conflicts_with_all = ["split", "queries", "qrels", "not_later_than_query"],
    )]
    keep: bool,

    /// Text of the queries: text, keyphrases, or another text attribute
    #[arg(long, default_value_t, value_name = "FORM", value_hint = ValueHint::Other, help_heading = QUERIES)]
    query_form: QueryForm,

    /// Skip invalid queries, such as those without positives in the collection, with a warning; by
    /// default they are an error
    #[arg(long, help_heading = QUERIES)]
    leave_out: bool,

    /// Template of a document's text, as in `ir encode`
    #[arg(long, value_name = "TEXT", help_heading = "Output")]
    template: Option<DocTemplate>,

    /// Teacher of a distillation: cross-encoder or late-interaction model, a folder or the name of
    /// a downloaded model. The output has its score of every positive and negative, for the losses
    /// margin-mse and kl-divergence
    #[cfg(feature = "dense")]
    #[arg(long, value_name = "MODEL", help_heading = "Output")]
    teacher: Option<PathBuf>,

    #[command(flatten, next_help_heading = "Negatives")]
    choice: NegativeOptions,

    /// Exclude documents newer than the query (attribute `year`); those without a year pass
    #[arg(long, conflicts_with = "examples", help_heading = "Filter")]
    not_later_than_query: bool,

    /// Attribute condition that candidates must satisfy, as in `ir search`; repeatable
    #[arg(long, value_parser = condition, value_name = "CONDITION", help_heading = "Filter")]
    filter: Vec<Predicate>,

    /// TREC run to take candidates from, instead of a system; `-` for standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = other_models(), help_heading = "Model")]
    run: Option<String>,

    #[command(flatten)]
    model: SystemSource,

    #[command(flatten)]
    setup: IndexOptions,

    #[command(flatten)]
    shard: ShardOption,

    /// Number of threads; does not affect the result [default: one per core]
    #[arg(long, value_parser = positive, value_name = "N", help_heading = "Execution")]
    threads: Option<usize>,
}

/// Choice of the negatives. The command that flattens them sets the help heading.
#[derive(Debug, clap::Args)]
struct NegativeOptions {
    /// Number of hard negatives per query
    #[arg(long, short = 'n', default_value_t = 7, value_name = "N")]
    negatives: usize,

    /// Number of random negatives per query, in addition to hard negatives
    #[arg(long, default_value_t = 0, value_name = "N")]
    random: usize,

    /// First rank of the candidates; ranks include positives
    #[arg(long, default_value_t = 1, value_parser = positive, value_name = "RANK")]
    first_rank: usize,

    /// Last rank of the candidates
    #[arg(long, default_value_t = 500, value_parser = positive, value_name = "RANK")]
    last_rank: usize,

    /// Selection of the hard negatives from the candidates
    #[arg(long, value_parser = choice(SELECTIONS), default_value = "best", value_name = "WHICH")]
    draw: NegativeSelection,

    /// Absolute margin: candidates score at most the lowest positive score minus it
    #[arg(long, value_name = "NUMBER", conflicts_with = "relative_margin")]
    margin: Option<f32>,

    /// Relative margin: candidates score at most the lowest positive score minus this fraction of
    /// it, 0 to 1
    #[arg(long, value_name = "FRACTION")]
    relative_margin: Option<f32>,

    /// Seed of --random and --draw random [default: 0]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

/// Options of systems, besides which there is no run.
fn other_models() -> Vec<clap::Id> {
    let mut ids = SystemSource::ids();
    let analysis = [
        "analysis",
        "fold",
        "stemmer",
        "stop_words",
        "protected_words",
    ];
    ids.extend(analysis.map(clap::Id::from));
    ids
}

const SELECTIONS: [(&str, &str, NegativeSelection); 2] = [
    ("best", "Highest ranked candidates", NegativeSelection::Best),
    ("random", "Uniformly at random", NegativeSelection::Random),
];

const QUERIES: &str = "Queries";

impl NegativeOptions {
    fn config(&self) -> Result<MiningConfig> {
        let is_random = self.random > 0 || matches!(self.draw, NegativeSelection::Random);
        if self.seed.is_some() && !is_random {
            bail_usage!(
                "--seed: expected --random or --draw random; other negatives are not random"
            );
        }
        let mining = MiningConfig {
            hard: self.negatives,
            random: self.random,
            first_rank: self.first_rank,
            last_rank: self.last_rank,
            selection: self.draw,
            margin: match (self.margin, self.relative_margin) {
                (Some(margin), _) => ScoreMargin::Absolute(margin),
                (None, Some(fraction)) => ScoreMargin::Relative(fraction),
                (None, None) => ScoreMargin::None,
            },
            seed: self.seed.unwrap_or_default(),
        };
        mining.validate().map_err(|error| {
            Usage(match error {
                MiningError::LastRank { first, last } => {
                    format!("--last-rank: expected a rank >= {first} (--first-rank), found {last}")
                }
                MiningError::AbsoluteMargin { .. } => format!("--margin: {error}"),
                MiningError::RelativeMargin { .. } => format!("--relative-margin: {error}"),
                error => error.to_string(),
            })
        })?;
        Ok(mining)
    }
}

impl Args {
    fn split(&self) -> &str {
        self.split.as_deref().unwrap_or("train")
    }

    /// The examples of `--shard`.
    fn part(
        &self,
        set: &dyn TrainingSet,
        documents: &DocumentSource,
        console: &Console,
    ) -> Result<Option<ShardPart>> {
        let Some(shard) = self.shard.shard else {
            return Ok(None);
        };
        let mut input = InputHash::default();
        for n in 0..set.len() {
            let example = set.get(n)?;
            let id = example.query_id.as_deref().unwrap_or_default();
            input.push(id, &serde_json::to_string(&example)?);
        }
        let input = input.and_documents(documents.collection.corpus(), console)?;
        Ok(Some(ShardPart::new(shard, &input)))
    }

    /// Maximum number of queries between progress updates and interrupt checks.
    fn chunk(&self) -> usize {
        #[cfg(feature = "dense")]
        if self.teacher.is_some() {
            return CHUNK_OF_TEACHER;
        }
        CHUNK
    }

    fn unusable(&self) -> OnInvalidExample {
        if self.leave_out {
            OnInvalidExample::Skip
        } else {
            OnInvalidExample::Reject
        }
    }
}

/// Number of queries between progress updates and interrupt checks.
const CHUNK: usize = 128;
/// [`CHUNK`] with a teacher, which is slow.
#[cfg(feature = "dense")]
const CHUNK_OF_TEACHER: usize = 8;
/// Number of negatives between progress updates and interrupt checks, at least one query.
const CHUNK_NEGATIVES: usize = 1 << 16;

pub(crate) fn run(args: &Args, console: &Console) -> Result<()> {
    stop_on_interrupt();
    use_threads(args.threads)?;
    args.shard.check(args.output.as_ref())?;
    if let Some(option) = args.model.described_by() {
        args.setup.reject_beside(option)?;
    }
    let mining = args.choice.config()?;
    let each = mining.hard.saturating_add(mining.random);
    let documents = open_documents(&args.collection, args.text.read_options(), console)?;
    let spec = args.model.spec()?;
    // Queries of a file, or feedback documents of another collection, may have the encoding.
    let is_of_queries = has_encoded_queries(args.queries.as_deref());
    if args.text.encoding != TextEncoding::Utf8 && !is_of_queries && !has_feedback_collection(&spec)
    {
        documents.check_encoding(args.text.encoding)?;
    }
    check_split(args, &documents)?;
    let mut out = OutputSink::open(args.output.as_ref())?;
    let other = args.run.as_deref();
    let other = other
        .map(|run| input::run(run, HeaderLine::AsData, console))
        .transpose()?;

    let texts = Arc::new(documents.texts(args.template.as_ref())?);
    let wanted = read_examples(args, &documents, &texts, console)?;
    for what in wanted.left_out.iter().take(3) {
        console.warn(format_args!("skipped: {what}"));
    }
    if let Some(more) = wanted.left_out.len().checked_sub(3).filter(|&n| n > 0) {
        console.warn(format_args!("skipped: {} more", grouped(more as u64)));
    }

    #[cfg(feature = "dense")]
    let teacher = args.teacher.as_deref().map(Teacher::open).transpose()?;
    if let (Some(run), Some(file)) = (&other, &args.run) {
        check_run(run, file, &*wanted.set, console)?;
    }
    texts.release();
    let Searched {
        candidates,
        filters,
        label,
        folder: _folder,
    } = match args.model.described_by() {
        Some(_) => system_of_file(args, &spec, &*wanted.set, console)?,
        None => search_index(args, &documents, &spec, other, texts.is_in_file(), console)?,
    };
    let ids = candidates.ids();
    let miner = Miner {
        mining,
        positions: ids.iter().map(|id| texts.ids().get(id)).collect(),
        named: named_positives(args, &*wanted.set, &documents, &texts)?,
        texts,
        filters,
        candidates,
    };

    let part = args.part(&*wanted.set, &documents, console)?;
    let range = part.as_ref().map_or(0..wanted.set.len(), ShardPart::range);
    let (mut at, end, total) = (range.start, range.end, range.len());
    let mut bar = console.bar();
    let (mut found, mut short, mut none) = (0, 0, 0);
    while at < end {
        let chunk = at..end.min(at + (CHUNK_NEGATIVES / each.max(1)).clamp(1, args.chunk()));
        let examples = chunk.clone().map(|n| wanted.set.get(n));
        let mut examples = examples.collect::<Result<Vec<TrainingExample>, _>>()?;
        let mined = miner.mine(&examples, &wanted.years)?;
        for (example, mined) in examples.iter_mut().zip(&mined) {
            let added = miner.add(example, mined, args.keep);
            found += example.negatives.len();
            short += usize::from(added < each);
            none += usize::from(added == 0);
        }
        #[cfg(feature = "dense")]
        if let Some(teacher) = &teacher {
            teacher.score(&mut examples)?;
        }
        for (n, example) in examples.iter().enumerate() {
            let (name, line) = (out.name().to_owned(), (at + n) as u64 + 1);
            write_example(&mut out, example, &name, line)?;
        }
        miner.texts.release();
        at = chunk.end;
        let done = (at - range.start) as u64;
        if bar.report("mining", done, Some(total as u64)) == Flow::Stop {
            return Err(Interrupted.into());
        }
    }
    bar.finish();
    out.commit()?;
    if let (Some(part), Some(output)) = (part, &args.output) {
        part.write_record(output, OutputKind::Lines, "examples", None)?;
    }
    if short > 0 {
        console.warn(format_args!(
            "{} of {} queries have fewer than {} mined negatives, {} of them none",
            grouped(short as u64),
            grouped(total as u64),
            each,
            grouped(none as u64),
        ));
    }
    #[cfg(feature = "dense")]
    if let Some(teacher) = &teacher {
        teacher.note_long_texts(console);
    }
    console.note(format_args!(
        "{} examples, {} negatives, {}",
        grouped(total as u64),
        grouped(found as u64),
        label,
    ));
    Ok(())
}

/// Warns about queries without results in the run. Returns an error if no query has results.
fn check_run(run: &Run, file: &str, set: &dyn TrainingSet, console: &Console) -> Result<()> {
    let mut missing = Vec::new();
    for n in 0..set.len() {
        let Some(id) = set.get(n)?.query_id else {
            bail!(
                "--run: expected an id of every query, found none in example {}",
                n + 1
            )
        };
        if run.get(&id).is_none() {
            missing.push(id);
        }
    }
    let (without, all) = (grouped(missing.len() as u64), grouped(set.len() as u64));
    match missing.first() {
        None => {}
        Some(first) if missing.len() == set.len() => bail!(
            "{file}: expected results for the {all} queries, such as {first:?}, found none (is the run of other queries?)"
        ),
        Some(first) => console.warn(format_args!(
            "{file}: {without} of {all} queries have no results and therefore no hard negatives, such as {first:?}"
        )),
    }
    Ok(())
}

/// Ids of the documents with the text of a positive that has no id of the collection.
fn named_positives(
    args: &Args,
    set: &dyn TrainingSet,
    documents: &DocumentSource,
    known: &DocumentTexts,
) -> Result<HashMap<String, Vec<String>>> {
    let is_known =
        |id: &Option<String>| id.as_ref().is_some_and(|id| known.ids().get(id).is_some());
    let mut texts = HashSet::new();
    for index in 0..set.len() {
        let positives = set.get(index)?.positives.into_iter();
        texts.extend(positives.filter(|p| !is_known(&p.id)).map(|p| p.text));
    }
    if texts.is_empty() {
        return Ok(HashMap::new());
    }
    let template = documents.template(args.template.as_ref())?;
    Ok(ids_by_text(
        documents.collection.corpus(),
        &template,
        texts,
    )?)
}
