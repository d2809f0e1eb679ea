//! `ir index`, and the settings of an index that `ir search` builds for itself.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use ir_bm25::{
    Analysis, Blank, DocOrder, Duplicates, Fields, Index, IndexBuilder, IndexConfig, Store, Verify,
};
use ir_core::AtomicFile;
use ir_data::datafinder::in_order_of_row_text;

use crate::args::{bytes, positive};
use crate::console::{Console, stop_on_interrupt};
use crate::datasets::grouped;
use crate::source::{Documents, Layout, Source, find};

const EXAMPLES: &str = "\
Examples:
  ir index beir/nfcorpus -o nfcorpus.ir           a collection by name
  ir index ~/beir/scifact -o scifact.ir           a folder in BEIR's layout
  ir index corpus.jsonl.zst -o c.ir --memory 2GB  JSON lines, compressed too
  ir index docs.tsv -o docs.ir                    `id TAB text [TAB title]`
  ir index ~/notes -o notes.ir --store all        a folder of *.md and *.txt

The defaults are Anserini's for BEIR's \"flat\" set-up: title, line end and text
in one field; Unicode words, possessive, lower case, 33 stop words, Porter's
stemmer; equal scores by id. BM25's k1 and b are chosen when searching. The
index is one file, the same bytes whatever --memory and --threads are; it
appears when it is complete.";

/// Memory for building unless told otherwise, in bytes.
const MEMORY: usize = 512_000_000;

/// The arguments of `ir index`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// What to index: a BEIR folder, a collection by name (see `ir datasets`), a .jsonl or .tsv
    /// file of documents, or a folder of notes (*.md, *.txt)
    collection: String,

    /// File for the index
    #[arg(short = 'o', long, value_name = "FILE")]
    output: PathBuf,

    #[command(flatten)]
    setup: Setup,

    /// What is kept beside the index, for lists with titles and for conditions
    #[arg(long, value_enum, default_value_t = Kept::All, value_name = "WHAT", help_heading = "Index")]
    store: Kept,

    /// Threads to build with [default: one per core]
    #[arg(long, value_parser = positive, allow_negative_numbers = true, value_name = "N")]
    threads: Option<usize>,
}

/// How an index is built.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Setup {
    /// How text becomes terms: anserini, anserini-unstemmed, english (Porter2), lucene-standard,
    /// whitespace, or a JSON file with the steps [default: anserini]
    #[arg(long, value_parser = analysis, value_name = "NAME", help_heading = "Index")]
    pub(crate) analysis: Option<Analysis>,

    /// What of a document is searched [default: one; text for datafinder]
    #[arg(long, value_enum, value_name = "FIELDS", help_heading = "Index")]
    pub(crate) fields: Option<Layout>,

    /// Order of documents with equal scores [default: id, as Anserini has it; row-text for datafinder]
    #[arg(long, value_enum, value_name = "ORDER", help_heading = "Index")]
    pub(crate) order: Option<Order>,

    /// Memory for building, about; what does not fit goes to temporary files [default: 512MB]
    #[arg(long, value_parser = bytes, value_name = "SIZE", help_heading = "Index")]
    pub(crate) memory: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Order {
    /// By ascending id, as bytes
    Id,
    /// By place in the collection
    Insertion,
    /// By place in the collection, written in digits and compared as text, so that 10 stands before
    /// 9: where the records of a collection were given their row for an id. Takes the whole
    /// collection into memory
    RowText,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kept {
    /// Ids and years alone
    Nothing,
    /// Attributes too, for --filter
    Attributes,
    /// Title, text and attributes
    All,
}

impl From<Kept> for Store {
    fn from(kept: Kept) -> Self {
        match kept {
            Kept::Nothing => Self::Nothing,
            Kept::Attributes => Self::Attributes,
            Kept::All => Self::Everything,
        }
    }
}

impl Setup {
    /// The first option that says how an index is built, by its name.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let given = [
            ("--analysis", self.analysis.is_some()),
            ("--fields", self.fields.is_some()),
            ("--order", self.order.is_some()),
            ("--memory", self.memory.is_some()),
        ];
        given.iter().find(|(_, is)| *is).map(|(name, _)| *name)
    }

    /// The order of documents with equal scores.
    pub(crate) fn order(&self, documents: &Documents) -> Order {
        self.order.unwrap_or(documents.order)
    }

    /// The configuration of an index of these documents.
    pub(crate) fn config(&self, documents: &Documents, store: Store) -> IndexConfig {
        let fields = match self.fields.unwrap_or(documents.layout) {
            Layout::One => Fields::One,
            Layout::Separate => Fields::Separate,
            Layout::Text => Fields::TextOnly,
        };
        // As Anserini: a document without searched text is not indexed.
        let blank = Blank::Drop;
        let order = match self.order(documents) {
            Order::Id => DocOrder::Id,
            Order::Insertion | Order::RowText => DocOrder::Insertion,
        };
        let duplicates = if documents.repeats {
            Duplicates::Keep
        } else {
            Duplicates::Reject
        };
        IndexConfig::default()
            .with_analysis(self.analysis.clone().unwrap_or_else(Analysis::anserini))
            .with_fields(fields)
            .with_order(order)
            .with_duplicates(duplicates)
            .with_blank(blank)
            .with_store(store)
    }
}

/// A preset by its name, or a file with the steps in JSON.
fn analysis(text: &str) -> Result<Analysis, String> {
    let error = match text.parse::<Analysis>() {
        Ok(analysis) => return Ok(analysis),
        Err(error) => error.to_string(),
    };
    if !Path::new(text).is_file() {
        return Err(format!("{error} (or a file)"));
    }
    let json = std::fs::read_to_string(text).map_err(|error| error.to_string())?;
    let analysis: Analysis = serde_json::from_str(&json).map_err(|error| error.to_string())?;
    analysis.build().map_err(|error| error.to_string())?;
    Ok(analysis)
}

/// Sets the number of threads for the whole command.
pub(crate) fn use_threads(threads: Option<usize>) -> Result<()> {
    if let Some(threads) = threads {
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build_global()
            .context("the threads could not be started")?;
    }
    Ok(())
}

/// Builds an index, in memory or in a file, and shows how far it is.
pub(crate) fn build(
    documents: &Documents,
    config: IndexConfig,
    setup: &Setup,
    threads: Option<usize>,
    path: Option<&Path>,
    console: &Console,
) -> Result<Index> {
    let mut bar = console.bar();
    let corpus = documents.collection.corpus();
    let build = || {
        let mut builder = IndexBuilder::new(config)?.with_memory(setup.memory.unwrap_or(MEMORY));
        if let Some(threads) = threads {
            builder = builder.with_threads(threads);
        }
        if setup.order(documents) == Order::RowText {
            builder.push_all(&in_order_of_row_text(corpus)?, &mut bar)?;
        } else {
            builder.push_all(corpus, &mut bar)?;
        }
        match path {
            Some(path) => builder.finish_to_with(path, &mut bar),
            None => builder.finish_with(&mut bar),
        }
    };
    Ok(build()?)
}

/// Runs `ir index`.
pub(crate) fn run(args: Args, console: &Console) -> Result<()> {
    stop_on_interrupt();
    use_threads(args.threads)?;
    let documents = match find(&args.collection, Verify::Tables)? {
        Source::Documents(documents) => documents,
        Source::Index(_) => bail!("{}: expected documents, found an index", args.collection),
    };
    // The builder makes its file at the end; a destination that cannot be is told now.
    drop(
        AtomicFile::create(&args.output)
            .with_context(|| format!("{}: could not be written", args.output.display()))?,
    );
    let config = args.setup.config(&documents, args.store.into());
    let began = Instant::now();
    let index = build(
        &documents,
        config,
        &args.setup,
        args.threads,
        Some(&args.output),
        console,
    )?;
    let stats = index.stats();
    if index.is_empty() {
        console.warn(format_args!(
            "{}: no document with text in it: the index is empty",
            args.collection
        ));
    }
    if stats.blank_dropped > 0 {
        console.note(format_args!(
            "{} documents without searched text were left out",
            grouped(stats.blank_dropped)
        ));
    }
    for field in &stats.fields {
        console.note(format_args!(
            "field {}: {} different terms, {:.1} a document",
            field.name,
            grouped(field.terms),
            field.average_length()
        ));
    }
    console.note(format_args!(
        "{}: {} documents, {:.1} MB, {:.1} s",
        args.output.display(),
        grouped(stats.documents as u64),
        stats.bytes as f64 / 1e6,
        began.elapsed().as_secs_f64()
    ));
    Ok(())
}
