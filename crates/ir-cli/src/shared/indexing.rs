//! Options and construction of the BM25 index, shared by `ir index`, `ir search` and `ir mine`.

use std::path::Path;

use anyhow::Result;
use clap::ValueEnum;
use ir_bm25::{Analysis, Blank, DocOrder, Duplicates, Fields, Index, IndexBuilder, IndexConfig, Store};
use ir_data::datafinder::in_order_of_row_text;

use crate::shared::console::Console;
use crate::shared::input::{Documents, Layout};
use crate::shared::options::bytes;

/// Memory for building unless told otherwise, in bytes.
const MEMORY: usize = 512_000_000;

/// How an index is built.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct IndexOptions {
    /// How text becomes terms: anserini, anserini-unstemmed, english (Porter2), lucene-standard,
    /// whitespace, or a JSON file with the steps [default: anserini]
    #[arg(long, value_parser = analysis, value_name = "NAME", help_heading = "Index")]
    pub(crate) analysis: Option<Analysis>,

    /// What of a document is searched [default: one; text for datafinder]
    #[arg(long, value_enum, value_name = "FIELDS", help_heading = "Index")]
    pub(crate) fields: Option<Layout>,

    /// DocumentOrder of documents with equal scores [default: id, as Anserini has it; row-text for datafinder]
    #[arg(long, value_enum, value_name = "ORDER", help_heading = "Index")]
    pub(crate) order: Option<DocumentOrder>,

    /// Memory for building, about; what does not fit goes to temporary files [default: 512MB]
    #[arg(long, value_parser = bytes, value_name = "SIZE", help_heading = "Index")]
    pub(crate) memory: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DocumentOrder {
    /// By ascending id, as bytes
    Id,
    /// By place in the collection
    Insertion,
    /// By place in the collection, written in digits and compared as text, so that 10 stands before
    /// 9: where the records of a collection were given their row for an id. Takes the whole
    /// collection into memory
    RowText,
}

impl IndexOptions {
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
    pub(crate) fn order(&self, documents: &Documents) -> DocumentOrder {
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
            DocumentOrder::Id => DocOrder::Id,
            DocumentOrder::Insertion | DocumentOrder::RowText => DocOrder::Insertion,
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

/// Builds an index, in memory or in a file, and shows how far it is.
pub(crate) fn build_index(
    documents: &Documents,
    config: IndexConfig,
    setup: &IndexOptions,
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
        if setup.order(documents) == DocumentOrder::RowText {
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

