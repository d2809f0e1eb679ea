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

use crate::shared::options::{bytes, positive};
use crate::shared::console::{Console, stop_on_interrupt};
use crate::shared::format::grouped;
use crate::shared::input::{Documents, Layout, Source, find};

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
    setup: IndexOptions,

    /// What is kept beside the index, for lists with titles and for conditions
    #[arg(long, value_enum, default_value_t = StoredFields::All, value_name = "WHAT", help_heading = "Index")]
    store: StoredFields,

    /// Threads to build with [default: one per core]
    #[arg(long, value_parser = positive, allow_negative_numbers = true, value_name = "N")]
    threads: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StoredFields {
    /// Ids and years alone
    Nothing,
    /// Attributes too, for --filter
    Attributes,
    /// Title, text and attributes
    All,
}

impl From<StoredFields> for Store {
    fn from(kept: StoredFields) -> Self {
        match kept {
            StoredFields::Nothing => Self::Nothing,
            StoredFields::Attributes => Self::Attributes,
            StoredFields::All => Self::Everything,
        }
    }
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
    let index = build_index(
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
