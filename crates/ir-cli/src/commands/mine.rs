//! `ir mine`: hard-negative mining.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use ir_bm25::{Bm25, Index, StoredFields};
use ir_core::store::Verify;
use ir_core::training::mining::{
    MinedNegatives, MiningConfig, MiningError, MiningQuery, NegativeSelection, ScoreMargin,
};
use ir_core::training::{TrainingExample, TrainingSet, TrainingText};
use ir_core::trec::HeaderLine;
use ir_core::{
    AllOf, DocFilter, DocNum, DocSet, Flow, Hit, Predicate, Progress, Ranking, Run, Years,
};
use ir_data::attribute;
use ir_data::training::{
    DocumentTexts, JudgedTrainingSet, OnInvalidExample, TrainingFile, TrainingFormat, write_example,
};
use ir_data::{DataError, DocTemplate};

use crate::shared::console::{Console, Interrupted, Usage, stop_on_interrupt};
use crate::shared::filter::{AttributeCondition, select_documents};
use crate::shared::format::grouped;
use crate::shared::indexing::{IndexOptions, build_index};
use crate::shared::input::{self, CollectionSource, DocumentSource, FieldLayout, open_collection};
use crate::shared::options::positive;
use crate::shared::options::{Bm25Options, QueryForm, use_threads};
use crate::shared::output::OutputSink;
use crate::shared::qrels::with_warnings;

const EXAMPLES: &str = "\
Examples:
  ir mine beir/nfcorpus -o train.jsonl      for each judged query of the split
                                            `train`, the top 7 of 500 BM25
                                            hits that are not positives
  ir mine makg --examples train.jsonl.zst -o hard.jsonl
                                            positives from a file, by id
  ir mine datafinder --template '{text} [SEP] {title}' --preset datafinder \\
      --not-later-than-query --leave-out -o train.jsonl
  ir mine bundled --first-rank 10 --last-rank 100 --draw random --seed 1
  ir mine bundled --negatives 4 --random 3  4 hard and 3 random negatives
  ir mine beir/nfcorpus --run dense.trec --relative-margin 0.05 -o train.jsonl
                                            from another system's run, with a
                                            margin below the positives' scores

Top-ranked documents can be unjudged positives (false negatives). Exclude them
by rank (--first-rank) or by score (--margin, --relative-margin).

Output: JSON lines in Tevatron's format: query_id, query, positive_passages
and negative_passages with docid and text. A negative is never a positive,
never has a positive's text, and occurs once. Output is deterministic for an
input and a seed.

Examples (--examples) are JSON lines: query, and positives or
positive_passages, which are texts with ids, or ids of the collection. --keep
keeps their negatives before the mined ones.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Collection to draw negatives from: a BEIR folder, a collection by name (see `ir datasets`),
    /// a .jsonl or .tsv file of documents
    collection: String,

    /// Output file of the examples; .gz and .zst are compressed [default: standard output]
    #[arg(short = 'o', long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Split whose judged queries become examples [default: train]
    #[arg(
        long,
        value_name = "SPLIT",
        conflicts_with = "examples",
        help_heading = "Queries"
    )]
    split: Option<String>,

    /// File of training examples to add negatives to
    #[arg(long, value_name = "FILE", help_heading = "Queries")]
    examples: Option<PathBuf>,

    /// Keep the negatives that the examples already have
    #[arg(long, requires = "examples", help_heading = "Queries")]
    keep: bool,

    /// Query text to use: the text, or the keyphrases
    #[arg(long, value_enum, default_value_t = QueryForm::Text, value_name = "FORM", help_heading = "Queries")]
    query_form: QueryForm,

    /// Skip and count queries that are unusable, such as those without positives in the collection
    #[arg(long, help_heading = "Queries")]
    leave_out: bool,

    /// Template of a document's text: {title}, {text}, {id} and attributes in braces
    /// [default: '{title} {text}'; '{text}' for datafinder]
    #[arg(long, value_name = "TEXT", help_heading = "Output")]
    template: Option<DocTemplate>,

    /// Number of hard negatives per query
    #[arg(
        long,
        short = 'n',
        default_value_t = 7,
        value_name = "N",
        help_heading = "Negatives"
    )]
    negatives: usize,

    /// Number of random negatives per query, in addition to the hard ones
    #[arg(
        long,
        default_value_t = 0,
        value_name = "N",
        help_heading = "Negatives"
    )]
    random: usize,

    /// First candidate rank; positives occupy ranks
    #[arg(long, default_value_t = 1, value_parser = positive, allow_negative_numbers = true, value_name = "RANK", help_heading = "Negatives")]
    first_rank: usize,

    /// Last candidate rank
    #[arg(long, default_value_t = 500, value_parser = positive, allow_negative_numbers = true, value_name = "RANK", help_heading = "Negatives")]
    last_rank: usize,

    /// Selection among the candidates
    #[arg(long, value_enum, default_value_t = SelectionArg::Best, value_name = "WHICH", help_heading = "Negatives")]
    draw: SelectionArg,

    /// Absolute margin: candidates score at most the lowest positive score minus it
    #[arg(
        long,
        allow_negative_numbers = true,
        value_name = "NUMBER",
        conflicts_with = "relative_margin",
        help_heading = "Negatives"
    )]
    margin: Option<f32>,

    /// Relative margin: candidates score at most the lowest positive score minus this fraction of
    /// it, 0 to 1
    #[arg(
        long,
        allow_negative_numbers = true,
        value_name = "FRACTION",
        help_heading = "Negatives"
    )]
    relative_margin: Option<f32>,

    /// Random seed
    #[arg(
        long,
        default_value_t = 0,
        value_name = "N",
        help_heading = "Negatives"
    )]
    seed: u64,

    /// TREC run to take candidates from, instead of BM25; `-` for standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["preset", "k1", "b"], help_heading = "Model")]
    run: Option<String>,

    #[command(flatten)]
    bm25: Bm25Options,

    #[command(flatten)]
    setup: IndexOptions,

    /// Exclude documents newer than the query, by the attribute `year`; documents without a year
    /// pass
    #[arg(long, conflicts_with = "examples", help_heading = "Filter")]
    not_later_than_query: bool,

    /// Attribute condition that candidates must satisfy, as in `ir search`; repeatable
    #[arg(long, value_name = "CONDITION", help_heading = "Filter")]
    filter: Vec<AttributeCondition>,

    /// Number of threads; does not affect the result [default: one per core]
    #[arg(long, value_parser = positive, allow_negative_numbers = true, value_name = "N", help_heading = "Output")]
    threads: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum SelectionArg {
    /// Highest ranked candidates
    Best,
    /// Uniformly at random
    Random,
}

impl Args {
    fn mining(&self) -> Result<MiningConfig, Usage> {
        let mining = MiningConfig {
            hard: self.negatives,
            random: self.random,
            first_rank: self.first_rank,
            last_rank: self.last_rank,
            selection: match self.draw {
                SelectionArg::Best => NegativeSelection::Best,
                SelectionArg::Random => NegativeSelection::Random,
            },
            margin: match (self.margin, self.relative_margin) {
                (Some(margin), _) => ScoreMargin::Absolute(margin),
                (None, Some(share)) => ScoreMargin::Relative(share),
                (None, None) => ScoreMargin::None,
            },
            seed: self.seed,
        };
        let fault = |error: MiningError| Usage(error.to_string());
        mining.validate().map_err(fault)?;
        Ok(mining)
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

/// Examples to mine negatives for.
struct MiningInput {
    set: Box<dyn TrainingSet>,
    /// Years by query id.
    years: HashMap<String, i64>,
    left_out: Vec<String>,
}

pub(crate) fn run(args: &Args, console: &Console) -> Result<()> {
    stop_on_interrupt();
    use_threads(args.threads)?;
    let mining = args.mining()?;
    let each = mining.hard.saturating_add(mining.random);
    let documents = match open_collection(&args.collection, Verify::SmallSections)? {
        CollectionSource::Documents(documents) => documents,
        CollectionSource::Index(_) => bail!(
            "{}: expected documents (their texts are part of the output), found an index",
            args.collection
        ),
    };
    let mut out = OutputSink::open(args.output.as_deref())?;
    let other = args.run.as_deref();
    let other = other.map(|run| input::run(run, HeaderLine::AsData));
    let other = other.transpose()?.map(|run| with_warnings(run, console));

    let template = args.template.clone().unwrap_or(match documents.layout {
        FieldLayout::Text => DocTemplate::text_only(),
        FieldLayout::One | FieldLayout::Separate => DocTemplate::default(),
    });
    let texts = DocumentTexts::from_corpus(documents.collection.corpus(), &template)?;
    let texts = Arc::new(texts);
    let wanted = read_examples(args, &documents, &texts, console)?;
    for what in wanted.left_out.iter().take(3) {
        console.warn(format_args!("skipped: {what}"));
    }
    if let Some(more) = wanted.left_out.len().checked_sub(3).filter(|&n| n > 0) {
        console.warn(format_args!("skipped: {} more", grouped(more as u64)));
    }

    let store = if args.filter.is_empty() {
        StoredFields::Nothing
    } else {
        StoredFields::Attributes
    };
    let config = args.setup.config(&documents, store);
    let index = build_index(&documents, config, &args.setup, args.threads, None, console)?;
    let mut miner = Miner::new(args, mining, index, texts, other, console)?;
    miner.resolve_ids(&*wanted.set)?;

    let total = wanted.set.len();
    let mut bar = console.bar();
    let (mut found, mut short, mut none) = (0, 0, 0);
    let mut at = 0;
    while at < total {
        let chunk = at..total.min(at + CHUNK);
        let examples = chunk.clone().map(|n| wanted.set.get(n));
        let mut examples = examples.collect::<Result<Vec<TrainingExample>, _>>()?;
        let mined = miner.mine(&examples, &wanted.years)?;
        for (n, (example, mined)) in examples.iter_mut().zip(&mined).enumerate() {
            let added = miner.add(example, mined, args.keep);
            found += example.negatives.len();
            short += usize::from(added < each);
            none += usize::from(added == 0);
            let (name, line) = (out.name().to_owned(), (at + n) as u64 + 1);
            write_example(&mut out, example, &name, line)?;
        }
        at = chunk.end;
        if bar.report("mining", at as u64, Some(total as u64)) == Flow::Stop {
            return Err(Interrupted.into());
        }
    }
    bar.finish();
    out.commit()?;
    if short > 0 {
        console.warn(format_args!(
            "{} of {} queries have fewer than {} new negatives, {} of them none",
            grouped(short as u64),
            grouped(total as u64),
            each,
            grouped(none as u64),
        ));
    }
    console.note(format_args!(
        "{} examples, {} negatives, {}",
        grouped(total as u64),
        grouped(found as u64),
        if miner.other.is_some() {
            "from a run".to_owned()
        } else {
            args.bm25.parameters().to_string()
        },
    ));
    Ok(())
}

/// Reads the examples, without mined negatives.
fn read_examples(
    args: &Args,
    documents: &DocumentSource,
    texts: &Arc<DocumentTexts>,
    console: &Console,
) -> Result<MiningInput> {
    let keyphrases = args.query_form == QueryForm::Keyphrases;
    let advice = "(--leave-out skips such queries)";
    let advise = |error: DataError| match error {
        DataError::JudgedExample { .. }
        | DataError::UnknownDocument { .. }
        | DataError::UnknownId { .. }
        | DataError::PositiveIsNegative { .. }
        | DataError::Example { .. }
        | DataError::MissingField { .. }
        | DataError::WrongType { .. } => anyhow::anyhow!("{error} {advice}"),
        error => error.into(),
    };
    let messages = |errors: &[DataError]| errors.iter().map(ToString::to_string).collect();
    if let Some(path) = &args.examples {
        let mut form = TrainingFormat::default()
            .with_texts(Arc::clone(texts))
            .on_invalid_example(args.unusable());
        if keyphrases {
            form = form.with_query_field(attribute::KEYPHRASES);
        }
        let mut bar = console.bar();
        let set = TrainingFile::open_with_progress(path, form, &mut bar).map_err(advise)?;
        return Ok(MiningInput {
            left_out: messages(set.skipped()),
            set: Box::new(set),
            years: HashMap::new(),
        });
    }
    let collection = &documents.collection;
    let split = args.split.as_deref().unwrap_or("train");
    if collection.splits().is_empty() {
        return Err(Usage(format!(
            "{}: expected judged queries, found none (give --examples FILE)",
            args.collection
        ))
        .into());
    }
    let set = JudgedTrainingSet::from_split(collection, split, Arc::clone(texts), args.unusable());
    let set = set.map_err(advise)?;
    let mut left_out: Vec<String> = messages(set.skipped());
    let queries = collection.queries(split)?;
    let years = queries
        .iter()
        .filter_map(|query| Some((query.id.clone(), query.attributes.year()?)))
        .collect();
    let set: Box<dyn TrainingSet> = if keyphrases {
        let forms: HashMap<&str, &str> = queries
            .iter()
            .filter_map(|query| {
                Some((
                    query.id.as_str(),
                    query.attributes.text(attribute::KEYPHRASES)?,
                ))
            })
            .collect();
        let mut list = Vec::with_capacity(set.len());
        for n in 0..set.len() {
            let mut example = set.get(n)?;
            let id = example.query_id.clone().unwrap_or_default();
            match forms.get(id.as_str()) {
                Some(keyphrases) => {
                    example.query = (*keyphrases).to_owned();
                    list.push(example);
                }
                None => {
                    let what = format!(
                        "{} {split}, query {id:?}: expected keyphrases, found none",
                        collection.name()
                    );
                    if !args.leave_out {
                        bail!("{what} {advice}");
                    }
                    left_out.push(what);
                }
            }
        }
        Box::new(list)
    } else {
        Box::new(set)
    };
    Ok(MiningInput {
        set,
        years,
        left_out,
    })
}

struct Miner {
    mining: MiningConfig,
    index: Index,
    bm25: Bm25,
    /// Position in `texts` of each document of the index.
    positions: Vec<Option<DocNum>>,
    texts: Arc<DocumentTexts>,
    /// Ids of positives that were given by text only, by text.
    named: HashMap<String, String>,
    /// Candidate run, if given.
    other: Option<Run>,
    years: Years,
    time: bool,
    chosen: Option<DocSet>,
}

impl Miner {
    fn new(
        args: &Args,
        mining: MiningConfig,
        index: Index,
        texts: Arc<DocumentTexts>,
        other: Option<Run>,
        console: &Console,
    ) -> Result<Self> {
        let conditions: Vec<Predicate> = args.filter.iter().map(|c| c.0.clone()).collect();
        let chosen = if conditions.is_empty() {
            None
        } else {
            Some(select_documents(
                &index,
                conditions,
                &args.collection,
                console,
            )?)
        };
        // Records with the same id have the year of the first one.
        let years = index.years().of_first_record(index.ids());
        let all = || (0..index.len() as u32).map(DocNum::new);
        if args.not_later_than_query && all().all(|doc| years.get(doc).is_none()) {
            console.warn("no document has a year; the time filter has no effect");
        }
        let positions = index.ids().iter().map(|id| texts.ids().get(id)).collect();
        Ok(Self {
            named: HashMap::new(),
            mining,
            bm25: args.bm25.parameters(),
            positions,
            texts,
            other,
            years,
            time: args.not_later_than_query,
            chosen,
            index,
        })
    }

    fn text(&self, doc: DocNum) -> Option<&str> {
        let position = *self.positions.get(doc.index())?;
        position.map(|position| self.texts.text(position))
    }

    /// Resolves the ids of positives given by text only, in one pass over the documents.
    fn resolve_ids(&mut self, set: &dyn TrainingSet) -> Result<()> {
        let mut unnamed = HashSet::new();
        for index in 0..set.len() {
            let positives = set.get(index)?.positives.into_iter();
            unnamed.extend(positives.filter(|p| p.id.is_none()).map(|p| p.text));
        }
        if unnamed.is_empty() {
            return Ok(());
        }
        let ids = self.index.ids();
        let docs = (0..ids.len() as u32).map(DocNum::new);
        let named = docs.filter_map(|doc| {
            let text = unnamed.get(self.text(doc)?)?;
            Some((text.clone(), ids.id(doc).to_owned()))
        });
        self.named = named.collect();
        Ok(())
    }

    fn mine<'a>(
        &'a self,
        examples: &'a [TrainingExample],
        years: &HashMap<String, i64>,
    ) -> Result<Vec<MinedNegatives>> {
        let times: Vec<_> = examples
            .iter()
            .map(|example| {
                let id = example.query_id.as_deref().unwrap_or_default();
                self.years.not_later_than(years.get(id).copied())
            })
            .collect();
        let filters: Vec<AllOf<'_>> = times
            .iter()
            .map(|time| {
                let chosen = self.chosen.iter().map(|set| set as &dyn DocFilter);
                let time = self.time.then_some(time as &dyn DocFilter);
                AllOf(chosen.chain(time).collect())
            })
            .collect();
        let positives: Vec<Vec<&str>> = examples
            .iter()
            .map(|example| {
                let positives = example.positives.iter();
                let id = |p: &'a TrainingText| {
                    let id = p.id.as_ref().or_else(|| self.named.get(&p.text));
                    id.map(String::as_str)
                };
                positives.filter_map(id).collect()
            })
            .collect();
        let questions: Vec<MiningQuery<'_>> = examples
            .iter()
            .zip(&positives)
            .zip(&filters)
            .map(|((example, positives), filter)| MiningQuery {
                text: &example.query,
                positives,
                within: (!filter.0.is_empty()).then_some(filter as &dyn DocFilter),
            })
            .collect();
        let text = |doc: DocNum| self.text(doc);
        let Some(run) = &self.other else {
            let searcher = self.index.searcher(self.bm25)?;
            return Ok(self.mining.mine(&searcher, &questions, &text)?);
        };
        let mut mined = Vec::with_capacity(examples.len());
        for (example, question) in examples.iter().zip(&questions) {
            let id = example.query_id.as_deref().unwrap_or_default();
            let ranking = self.ranking(run, id)?;
            let within = ranking.clone();
            let within = within.retain(|hit| question.within.is_none_or(|f| f.contains(hit.doc)));
            let ids = self.index.ids();
            mined.push(self.mining.select(ids, question, &within, &ranking, &text));
        }
        Ok(mined)
    }

    /// Ranking of the candidate run in document numbers of the index, in line order.
    fn ranking(&self, run: &Run, query: &str) -> Result<Ranking> {
        let list = run.get(query).with_context(|| {
            format!("the run: expected results for query {query:?}, found none")
        })?;
        let mut seen = DocSet::new();
        let mut hits = Vec::with_capacity(list.len());
        for scored in list {
            // Documents without indexed text are not in the index.
            if let Some(doc) = self.index.ids().get(&scored.doc)
                && !seen.contains(doc)
            {
                seen.insert(doc);
                hits.push(Hit::new(doc, scored.score as f32));
            }
        }
        Ok(Ranking::from_hits(hits)?)
    }

    /// Adds mined negatives to an example. Returns the number added.
    fn add(&self, example: &mut TrainingExample, mined: &MinedNegatives, keep: bool) -> usize {
        if !keep {
            example.negatives.clear();
        }
        let before = example.negatives.len();
        for doc in mined.docs() {
            let id = self.index.ids().id(doc);
            let known = |text: &TrainingText| text.id.as_deref() == Some(id);
            let Some(text) = self.text(doc) else { continue };
            let reads = |positive: &TrainingText| positive.text == text;
            // Positives without an id are identified by their text.
            if !example.negatives.iter().any(known) && !example.positives.iter().any(reads) {
                example.negatives.push(TrainingText::new(text).with_id(id));
            }
        }
        example.negatives.len() - before
    }
}
