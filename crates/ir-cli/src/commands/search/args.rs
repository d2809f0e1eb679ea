//! The arguments of `ir search`.

use std::path::PathBuf;

use clap::ValueEnum;
use ir_bm25::Verify;
use ir_core::trec::RunScores;

use crate::shared::options::{b, k1, positive, tag};
use crate::shared::filter::AttributeCondition;
use crate::shared::indexing::IndexOptions;
use crate::shared::options::{Bm25Preset, QueryForm};

const EXAMPLES: &str = "\
Examples:
  ir search bundled 'boats photographed at night'   the best ten, and why
  ir search corpus.ir vitamin d --explain           how each score came about
  ir search ~/notes --query 'tax return' --json     one JSON object per hit

  ir search beir/nfcorpus --k1 0.9 --b 0.4 --hits 1000 --output run.trec
  ir search beir/arguana --remove-self --scores strict --output run.trec
  ir search corpus.ir --queries queries.tsv --output run.trec.gz
  ir search datafinder --preset datafinder --hits 5 \\
      --not-later-than-query --query-form keyphrases

With vectors (feature `dense`), alone or beside the words:
  ir encode all-MiniLM-L6-v2 beir/nfcorpus -o vectors.ir
  ir search beir/nfcorpus --vectors vectors.ir --encoder all-MiniLM-L6-v2
  ir search beir/nfcorpus --vectors vectors.ir --encoder all-MiniLM-L6-v2 \\
      --alpha 0.05 --output hybrid.trec
  ir search beir/nfcorpus --vectors e5.ir --encoder e5-small-v2 \\
      --prefix 'query: '
What `ir encode` was told of pooling, length and the like is told here again.

Without words the queries are those that the collection has judged (--split),
and the result is a TREC run; with words it is a list to read.

Equal scores. A list is ordered by score, then by document id. Whoever
evaluates a run file sorts it again by score, and trec_eval puts the *last*
id first among equals. --scores says what becomes of that: `anserini` (the
default) writes scores as Anserini does, with steps of 0.000001 that are lost
where scores are large, `strict` always keeps the order of the list, `exact`
writes the scores as they are. ArguAna, where many texts are the same, has
nDCG@10 .3970 as Anserini writes it (the published figure) and .4005 with
strict.";

/// The arguments of `ir search`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// What to search: a saved index, a BEIR folder, a collection by name (see `ir datasets`), a
    /// .jsonl or .tsv file of documents, or a folder of notes (*.md, *.txt)
    pub(crate) collection: String,

    /// Words of one query
    #[arg(value_name = "WORDS", conflicts_with_all = ["query", "queries"])]
    pub(crate) words: Vec<String>,

    /// One query, as one argument
    #[arg(
        long,
        value_name = "TEXT",
        help_heading = "Queries",
        conflicts_with = "queries"
    )]
    pub(crate) query: Option<String>,

    /// File of queries: BEIR's queries.jsonl, other JSON lines with `id` and `text`, or lines
    /// `id TAB text`; `-` for standard input
    #[arg(long, value_name = "FILE", help_heading = "Queries")]
    pub(crate) queries: Option<PathBuf>,

    /// Split of the collection whose judged queries are searched [default: test]
    #[arg(long, value_name = "SPLIT", help_heading = "Queries", conflicts_with_all = ["words", "query", "queries"])]
    pub(crate) split: Option<String>,

    /// Form of the queries: their text, or their keyphrases where the collection has them
    #[arg(long, value_enum, default_value_t = QueryForm::Text, value_name = "FORM", help_heading = "Queries")]
    pub(crate) query_form: QueryForm,

    /// Retrieval model
    #[arg(long, value_enum, default_value_t = Model::Bm25, value_name = "MODEL", help_heading = "Model")]
    pub(crate) model: Model,

    /// BM25 parameters by name [default: anserini, k1 0.9 and b 0.4, tuned on TREC collections]
    #[arg(long, value_enum, value_name = "NAME", help_heading = "Model")]
    pub(crate) preset: Option<Bm25Preset>,

    /// Saturation of term frequency, from 0 [default: that of the preset]
    #[arg(long, alias = "bm25.k1", value_parser = k1, allow_negative_numbers = true, value_name = "K1", help_heading = "Model")]
    pub(crate) k1: Option<f32>,

    /// Weight of document length, from 0 to 1 [default: that of the preset]
    #[arg(long, alias = "bm25.b", value_parser = b, allow_negative_numbers = true, value_name = "B", help_heading = "Model")]
    pub(crate) b: Option<f32>,

    /// Form of the document lengths: as Lucene keeps them, rounded to one byte, or exact
    #[arg(long, value_enum, default_value_t = Lengths::OneByte, value_name = "FORM", help_heading = "Model")]
    pub(crate) lengths: Lengths,

    /// Weights of the fields of an index with separate ones, such as title=2,text=1 [default: 1 each]
    #[arg(long, value_delimiter = ',', value_parser = weight, value_name = "FIELD=WEIGHT", help_heading = "Model")]
    pub(crate) weights: Vec<(String, f32)>,

    #[cfg(feature = "dense")]
    #[command(flatten)]
    pub(crate) vectors: super::vectors::Vectors,

    #[command(flatten)]
    pub(crate) setup: IndexOptions,

    /// Folder in which indexes built for a search are kept for the next one; without it they are
    /// built in memory each time
    #[arg(long, value_name = "DIR", help_heading = "Index")]
    pub(crate) cache: Option<PathBuf>,

    /// Every byte of a saved index compared with its checksum; without it postings and stored
    /// texts are left out, so that large indexes open at once
    #[arg(long, help_heading = "Index")]
    pub(crate) verify: bool,

    /// Only documents that are not newer than their query, by the attribute `year`; an unknown
    /// year passes. `exact` fills the list up; `published` is the procedure of the DataFinder
    /// paper (ACL 2023), which cuts first and filters then
    #[arg(
        long, value_enum, value_name = "WAY", num_args = 0..=1, require_equals = true,
        default_missing_value = "exact", help_heading = "Filter"
    )]
    pub(crate) not_later_than_query: Option<TimeFilter>,

    /// Only documents that fulfil a condition on an attribute: year<=2015, year>=2010,
    /// repository=geo,sra, language!=German, or the name of an attribute that must be there;
    /// repeatable. A document without the attribute passes <=, >= and !=, and fails the others
    #[arg(long, value_name = "CONDITION", help_heading = "Filter")]
    pub(crate) filter: Vec<AttributeCondition>,

    /// Hits per query [default: 1000 for a run, 10 for a list]
    #[arg(long, short = 'k', value_parser = positive, allow_negative_numbers = true, value_name = "K", help_heading = "Output")]
    pub(crate) hits: Option<usize>,

    /// Hits that are the query itself (the same id) dropped, after the best K were taken: for
    /// collections whose queries are documents, such as ArguAna. Anserini's -removeQuery
    #[arg(long, help_heading = "Output")]
    pub(crate) remove_self: bool,

    /// File for the result; it appears when it is complete. A name in .gz or .zst is compressed
    /// [default: standard output]
    #[arg(long, short = 'o', value_name = "FILE", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,

    /// Name of the run, its last column [default: ir-bm25, or what else was searched]
    #[arg(long, value_name = "NAME", value_parser = tag, help_heading = "Output")]
    tag: Option<String>,

    /// How equal scores are written (see below)
    #[arg(long, value_enum, default_value_t = Scores::Anserini, value_name = "WAY", help_heading = "Output")]
    pub(crate) scores: Scores,

    /// One JSON object per hit and line, with title, attributes and text where they are at hand
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,

    /// How each score came about; for lists and JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) explain: bool,

    /// Threads to build and search with; the result does not depend on it [default: one per core]
    #[arg(long, value_parser = positive, allow_negative_numbers = true, value_name = "N", help_heading = "Output")]
    pub(crate) threads: Option<usize>,
}

impl Args {
    /// How much of a saved index is checked.
    pub(crate) fn verification(&self) -> Verify {
        if self.verify {
            Verify::Everything
        } else {
            Verify::Tables
        }
    }

    /// The name of the run.
    pub(crate) fn tag(&self) -> &str {
        self.tag.as_deref().unwrap_or(self.system())
    }

    /// The name of a run unless it is given one, which says what is searched with.
    pub(crate) fn system(&self) -> &'static str {
        #[cfg(feature = "dense")]
        if let Some(system) = self.vectors.system() {
            return system;
        }
        "ir-bm25"
    }

    /// The one query of the command line.
    pub(crate) fn typed(&self) -> Option<String> {
        if self.words.is_empty() {
            self.query.clone()
        } else {
            Some(self.words.join(" "))
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Model {
    /// Robertson's BM25, as Lucene computes it
    Bm25,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Lengths {
    /// Rounded as Lucene rounds them to fit into one byte
    OneByte,
    /// As they are
    Exact,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TimeFilter {
    /// The best K of all documents that pass
    Exact,
    /// The published procedure: five times K hits; ids already written and newer datasets skipped;
    /// an end only where a written hit stands at position K
    Published,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scores {
    /// Rounded to 4 decimals, equal ones 0.000001 apart, in 32-bit floats
    Anserini,
    /// Equal ones apart by the least possible, so that the order of the list survives
    Strict,
    /// As they are; equal ones are left to the evaluator
    Exact,
}

impl From<Scores> for RunScores {
    fn from(scores: Scores) -> Self {
        match scores {
            Scores::Anserini => Self::Anserini,
            Scores::Strict => Self::Strict,
            Scores::Exact => Self::Exact,
        }
    }
}

fn weight(text: &str) -> Result<(String, f32), String> {
    let expected = || format!("expected FIELD=WEIGHT with a number from 0, found {text:?}");
    let (field, weight) = text.split_once('=').ok_or_else(expected)?;
    let weight: f32 = weight.parse().map_err(|_| expected())?;
    if !(weight >= 0.0 && weight.is_finite()) {
        return Err(expected());
    }
    Ok((field.to_owned(), weight))
}
