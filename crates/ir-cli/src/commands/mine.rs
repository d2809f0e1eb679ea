//! `ir mine`: hard negatives for training.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use ir_bm25::{Bm25, Index, Store, Verify};
use ir_core::mine::{Draw, Margin, Mined, Mining, Question};
use ir_core::trec::Header;
use ir_core::{
    AllOf, DocFilter, DocNum, DocSet, Flow, Hit, Predicate, Progress, Ranking, Run,
    TrainingExample, TrainingSet, TrainingText, Years, name,
};
use ir_data::training::{Judgements, Texts, TrainingFile, TrainingForm, Unusable, write_example};
use ir_data::{DataError, DocTemplate};

use crate::shared::options::{b, k1, positive};
use crate::shared::console::{Console, Interrupted, Usage, stop_on_interrupt};
use crate::shared::format::grouped;
use crate::shared::indexing::{IndexOptions, build_index};
use crate::shared::qrels::told;
use crate::shared::filter::{AttributeCondition, select_documents};
use crate::shared::options::{Bm25Preset, QueryForm, use_threads};
use crate::shared::output::Sink;
use crate::shared::input::{self, Documents, Layout, Source, find};

const EXAMPLES: &str = "\
Examples:
  ir mine beir/nfcorpus -o train.jsonl      queries judged in `train`, and for
                                            each the first 7 of 500 BM25 hits
                                            that are not judged positive
  ir mine makg --examples train.jsonl.zst -o hard.jsonl
                                            positives from a file, by id
  ir mine datafinder --template '{text} [SEP] {title}' --preset datafinder \\
      --not-later-than-query --leave-out -o train.jsonl
  ir mine bundled --first-rank 10 --last-rank 100 --draw random --seed 1
  ir mine bundled --negatives 4 --random 3  four hard, three from anywhere
  ir mine beir/nfcorpus --run dense.trec --relative-margin 0.05 -o train.jsonl
                                            from another system's ranking, and
                                            well below the positives' scores

What trains best is hard, but no answer that nobody judged: leave out the
first ranks (--first-rank), or what scores about as much as the positives
(--margin, --relative-margin).

Output: JSON lines in Tevatron's form: query_id, query, positive_passages and
negative_passages of docid and text. Never a negative: a positive, what has its
text, an id twice. The same bytes whenever the input and --seed are the same.

Examples (--examples) are JSON lines: query, and positives or
positive_passages, which are texts with ids, or ids of the collection. Their
negatives, if any, stay in front with --keep and are dropped without.";

/// The arguments of `ir mine`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Where negatives come from: a BEIR folder, a collection by name (see `ir datasets`), a
    /// .jsonl or .tsv file of documents
    collection: String,

    /// File for the examples; compressed as its name says [default: standard output]
    #[arg(short = 'o', long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Split whose judged queries are mined for [default: train]
    #[arg(
        long,
        value_name = "SPLIT",
        conflicts_with = "examples",
        help_heading = "Queries"
    )]
    split: Option<String>,

    /// File of training examples that are mined for
    #[arg(long, value_name = "FILE", help_heading = "Queries")]
    examples: Option<PathBuf>,

    /// Negatives that the examples have already are kept
    #[arg(long, requires = "examples", help_heading = "Queries")]
    keep: bool,

    /// Form of the queries: their text, or their keyphrases
    #[arg(long, value_enum, default_value_t = QueryForm::Text, value_name = "FORM", help_heading = "Queries")]
    query_form: QueryForm,

    /// Queries without positives in the collection, and the like, are left out and counted
    #[arg(long, help_heading = "Queries")]
    leave_out: bool,

    /// Text of a document in the output, of its parts in braces: {title}, {text}, {id}, or an
    /// attribute [default: '{title} {text}'; '{text}' for datafinder]
    #[arg(long, value_name = "TEXT", help_heading = "Output")]
    template: Option<DocTemplate>,

    /// Hard negatives per query
    #[arg(
        long,
        short = 'n',
        default_value_t = 7,
        value_name = "N",
        help_heading = "Negatives"
    )]
    negatives: usize,

    /// Documents drawn from the whole collection, on top of the hard ones
    #[arg(
        long,
        default_value_t = 0,
        value_name = "N",
        help_heading = "Negatives"
    )]
    random: usize,

    /// First rank that is looked at; positives have ranks, too
    #[arg(long, default_value_t = 1, value_parser = positive, allow_negative_numbers = true, value_name = "RANK", help_heading = "Negatives")]
    first_rank: usize,

    /// Last rank that is looked at
    #[arg(long, default_value_t = 500, value_parser = positive, allow_negative_numbers = true, value_name = "RANK", help_heading = "Negatives")]
    last_rank: usize,

    /// Which of those between the ranks
    #[arg(long, value_enum, default_value_t = Which::Best, value_name = "WHICH", help_heading = "Negatives")]
    draw: Which,

    /// Only what scores at most the lowest positive's score minus this
    #[arg(
        long,
        allow_negative_numbers = true,
        value_name = "NUMBER",
        conflicts_with = "relative_margin",
        help_heading = "Negatives"
    )]
    margin: Option<f32>,

    /// Only what scores at most the lowest positive's score minus this share of it, from 0 to 1
    #[arg(
        long,
        allow_negative_numbers = true,
        value_name = "SHARE",
        help_heading = "Negatives"
    )]
    relative_margin: Option<f32>,

    /// Seed of what is drawn
    #[arg(
        long,
        default_value_t = 0,
        value_name = "N",
        help_heading = "Negatives"
    )]
    seed: u64,

    /// TREC run of another system over these queries, in place of BM25; `-` for standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["preset", "k1", "b"], help_heading = "Model")]
    run: Option<String>,

    /// BM25 parameters by name [default: anserini, k1 0.9 and b 0.4, as DataFinder mined]
    #[arg(long, value_enum, value_name = "NAME", help_heading = "Model")]
    preset: Option<Bm25Preset>,

    /// Saturation of term frequency, from 0 [default: that of the preset]
    #[arg(long, value_parser = k1, allow_negative_numbers = true, value_name = "K1", help_heading = "Model")]
    k1: Option<f32>,

    /// Weight of document length, from 0 to 1 [default: that of the preset]
    #[arg(long, value_parser = b, allow_negative_numbers = true, value_name = "B", help_heading = "Model")]
    b: Option<f32>,

    #[command(flatten)]
    setup: IndexOptions,

    /// Only documents that are not newer than their query, by the attribute `year`; an unknown
    /// year passes
    #[arg(long, conflicts_with = "examples", help_heading = "Filter")]
    not_later_than_query: bool,

    /// Only documents that fulfil a condition on an attribute, as in `ir search`; repeatable
    #[arg(long, value_name = "CONDITION", help_heading = "Filter")]
    filter: Vec<AttributeCondition>,

    /// Threads; the result does not depend on it [default: one per core]
    #[arg(long, value_parser = positive, allow_negative_numbers = true, value_name = "N", help_heading = "Output")]
    threads: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Which {
    /// The best ranked
    Best,
    /// Any, all equally likely
    Random,
}

impl Args {
    fn mining(&self) -> Result<Mining, Usage> {
        let mining = Mining {
            hard: self.negatives,
            random: self.random,
            first: self.first_rank,
            last: self.last_rank,
            draw: match self.draw {
                Which::Best => Draw::Best,
                Which::Random => Draw::Random,
            },
            margin: match (self.margin, self.relative_margin) {
                (Some(margin), _) => Margin::Absolute(margin),
                (None, Some(share)) => Margin::Relative(share),
                (None, None) => Margin::None,
            },
            seed: self.seed,
        };
        let fault = |error: ir_core::SearchError| Usage(error.to_string());
        mining.validate().map_err(fault)?;
        Ok(mining)
    }

    fn bm25(&self) -> Bm25 {
        let mut bm25 = self.preset.unwrap_or(Bm25Preset::Anserini).bm25();
        bm25.k1 = self.k1.unwrap_or(bm25.k1);
        bm25.b = self.b.unwrap_or(bm25.b);
        bm25
    }

    fn unusable(&self) -> Unusable {
        if self.leave_out {
            Unusable::LeaveOut
        } else {
            Unusable::Refuse
        }
    }
}

/// Queries mined for between two looks at the progress bar and the interrupt key.
const CHUNK: usize = 128;

/// What is mined for.
struct Wanted {
    set: Box<dyn TrainingSet>,
    /// The years of the queries, by their ids, where they count.
    years: HashMap<String, i64>,
    left_out: Vec<String>,
}

/// Runs `ir mine`.
pub(crate) fn run(args: &Args, console: &Console) -> Result<()> {
    stop_on_interrupt();
    use_threads(args.threads)?;
    let mining = args.mining()?;
    let each = mining.hard.saturating_add(mining.random);
    let documents = match find(&args.collection, Verify::Tables)? {
        Source::Documents(documents) => documents,
        Source::Index(_) => bail!(
            "{}: expected documents, whose texts are written, found an index",
            args.collection
        ),
    };
    let mut out = Sink::open(args.output.as_deref())?;
    let other = args.run.as_deref();
    let other = other.map(|run| source::run(run, Header::AsData));
    let other = other.transpose()?.map(|run| told(run, console));

    let template = args.template.clone().unwrap_or(match documents.layout {
        Layout::Text => DocTemplate::text(),
        Layout::One | Layout::Separate => DocTemplate::default(),
    });
    let texts = Texts::read(documents.collection.corpus(), &template)?;
    let texts = Arc::new(texts);
    let wanted = wanted(args, &documents, &texts, console)?;
    for what in wanted.left_out.iter().take(3) {
        console.warn(format_args!("left out: {what}"));
    }
    if let Some(more) = wanted.left_out.len().checked_sub(3).filter(|&n| n > 0) {
        console.warn(format_args!("left out: {} more", grouped(more as u64)));
    }

    let store = if args.filter.is_empty() {
        Store::Nothing
    } else {
        Store::Attributes
    };
    let config = args.setup.config(&documents, store);
    let index = build_index(&documents, config, &args.setup, args.threads, None, console)?;
    let mut miner = Miner::new(args, mining, index, texts, other, console)?;
    miner.name(&*wanted.set)?;

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
            "{} of {} queries have fewer new negatives than {}, {} of them none at all",
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
            args.bm25().to_string()
        },
    ));
    Ok(())
}

/// The examples without new negatives.
fn wanted(
    args: &Args,
    documents: &Documents,
    texts: &Arc<Texts>,
    console: &Console,
) -> Result<Wanted> {
    let keyphrases = args.query_form == QueryForm::Keyphrases;
    let advice = "(--leave-out leaves such queries out)";
    let advise = |error: DataError| match error {
        DataError::JudgedExample { .. }
        | DataError::UnknownDocument { .. }
        | DataError::UnknownId { .. }
        | DataError::PositiveIsNegative { .. }
        | DataError::Example { .. }
        | DataError::MissingField { .. }
        | DataError::Kind { .. } => anyhow::anyhow!("{error} {advice}"),
        error => error.into(),
    };
    let told = |errors: &[DataError]| errors.iter().map(ToString::to_string).collect();
    if let Some(path) = &args.examples {
        let mut form = TrainingForm::default()
            .with_texts(Arc::clone(texts))
            .with_unusable(args.unusable());
        if keyphrases {
            form = form.with_query(name::KEYPHRASES);
        }
        let mut bar = console.bar();
        let set = TrainingFile::open_watched(path, form, &mut bar).map_err(advise)?;
        return Ok(Wanted {
            left_out: told(set.left_out()),
            set: Box::new(set),
            years: HashMap::new(),
        });
    }
    let collection = &documents.collection;
    let split = args.split.as_deref().unwrap_or("train");
    if collection.splits().is_empty() {
        return Err(Usage(format!(
            "{} has no judged queries: give --examples FILE",
            args.collection
        ))
        .into());
    }
    let set = Judgements::read(collection, split, Arc::clone(texts), args.unusable());
    let set = set.map_err(advise)?;
    let mut left_out: Vec<String> = told(set.left_out());
    let queries = collection.queries(split)?;
    let years = queries
        .iter()
        .filter_map(|query| Some((query.id.clone(), query.attributes.year()?)))
        .collect();
    let set: Box<dyn TrainingSet> = if keyphrases {
        let forms: HashMap<&str, &str> = queries
            .iter()
            .filter_map(|query| Some((query.id.as_str(), query.attributes.text(name::KEYPHRASES)?)))
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
    Ok(Wanted {
        set,
        years,
        left_out,
    })
}

struct Miner {
    mining: Mining,
    index: Index,
    bm25: Bm25,
    /// The place in `texts` of each document of the index.
    places: Vec<Option<DocNum>>,
    texts: Arc<Texts>,
    /// The ids of positives that came without one, by their texts.
    named: HashMap<String, String>,
    /// Rankings of another system, by query id.
    other: Option<Run>,
    years: Years,
    time: bool,
    chosen: Option<DocSet>,
}

impl Miner {
    fn new(
        args: &Args,
        mining: Mining,
        index: Index,
        texts: Arc<Texts>,
        other: Option<Run>,
        console: &Console,
    ) -> Result<Self> {
        let conditions: Vec<Predicate> = args.filter.iter().map(|c| c.0.clone()).collect();
        let chosen = if conditions.is_empty() {
            None
        } else {
            Some(select_documents(&index, conditions, &args.collection, console)?)
        };
        // Records that share an id are one document to the filter.
        let years = index.years().of_first_record(index.ids());
        let all = || (0..index.len() as u32).map(DocNum::new);
        if args.not_later_than_query && all().all(|doc| years.get(doc).is_none()) {
            console.warn("no document has a year: the time filter lets all of them pass");
        }
        let places = index.ids().iter().map(|id| texts.ids().get(id)).collect();
        Ok(Self {
            named: HashMap::new(),
            mining,
            bm25: args.bm25(),
            places,
            texts,
            other,
            years,
            time: args.not_later_than_query,
            chosen,
            index,
        })
    }

    fn text(&self, doc: DocNum) -> Option<&str> {
        let place = *self.places.get(doc.index())?;
        place.map(|place| self.texts.text(place))
    }

    /// Looks for the documents of positives without an id: once for all examples, as every document
    /// is read for it.
    fn name(&mut self, set: &dyn TrainingSet) -> Result<()> {
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
    ) -> Result<Vec<Mined>> {
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
        let questions: Vec<Question<'_>> = examples
            .iter()
            .zip(&positives)
            .zip(&filters)
            .map(|((example, positives), filter)| Question {
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
            mined.push(self.mining.pick(ids, question, &within, &ranking, &text));
        }
        Ok(mined)
    }

    /// The list of a run over the numbers of the index, in the run's own order.
    fn ranking(&self, run: &Run, query: &str) -> Result<Ranking> {
        let list = run
            .get(query)
            .with_context(|| format!("the run: expected query {query:?}, found nothing of it"))?;
        let mut seen = DocSet::new();
        let mut hits = Vec::with_capacity(list.len());
        for scored in list {
            // A document without searched text is in no index.
            if let Some(doc) = self.index.ids().get(&scored.doc)
                && !seen.contains(doc)
            {
                seen.insert(doc);
                hits.push(Hit::new(doc, scored.score as f32));
            }
        }
        Ok(Ranking::from_hits(hits)?)
    }

    /// Puts what was found into an example; gives how many are new there.
    fn add(&self, example: &mut TrainingExample, mined: &Mined, keep: bool) -> usize {
        if !keep {
            example.negatives.clear();
        }
        let before = example.negatives.len();
        for doc in mined.docs() {
            let id = self.index.ids().id(doc);
            let known = |text: &TrainingText| text.id.as_deref() == Some(id);
            let Some(text) = self.text(doc) else { continue };
            let reads = |positive: &TrainingText| positive.text == text;
            // Positives without an id are only known by their text.
            if !example.negatives.iter().any(known) && !example.positives.iter().any(reads) {
                example.negatives.push(TrainingText::new(text).with_id(id));
            }
        }
        example.negatives.len() - before
    }
}
