//! The command line: what all commands share, and how mistakes in it are told.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};

use crate::commands::{
    agree, buckets, compare, datasets, diff, eval, fuse, index, interleave, knn_accuracy, mine,
    overlap, pool, search, sweep,
};
#[cfg(feature = "dense")]
use crate::commands::{encode, models, train};

const ABOUT: &str = "Search a collection, and judge the result as trec_eval would";

const EXAMPLES: &str = "\
Examples:
  ir search bundled 'boats photographed at night'  the collection built in
  ir search ~/notes tax return                     notes (*.md, *.txt)

  ir search beir/nfcorpus --output run.trec        a BM25 run over the judged
                                                   queries of a collection,
  ir eval -m ndcg_cut.10 beir/nfcorpus run.trec    and its nDCG@10

  ir index corpus.jsonl -o corpus.ir               build an index once
  ir search corpus.ir 'vitamin d'                  and search it at once

Collections by name are found below the folder that the environment variable
IR_DATA names: `ir datasets` lists them. Files may be compressed (gzip, zstd)
whatever they are called.";

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "ir",
    version,
    about = ABOUT,
    after_help = EXAMPLES,
    max_term_width = 100,
    disable_help_subcommand = true,
    arg_required_else_help = true,
    propagate_version = true
)]
pub(crate) struct Cli {
    /// Errors only: no progress, no warnings, no notes
    #[arg(long, global = true, display_order = 900)]
    pub(crate) quiet: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What is to be done.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// A saved index of a collection, to be searched again and again
    Index(index::Args),
    /// The best documents for one query, or a TREC run over many
    Search(Box<search::Args>),
    /// The measures of a run, in trec_eval's format
    Eval(eval::Args),
    /// Several runs side by side, with tests of significance
    Compare(Box<compare::Args>),
    /// What is different between two runs; the exit code tells
    Diff(diff::Args),
    /// One run out of several: reciprocal rank fusion, CombSUM, Borda, ...
    Fuse(fuse::Args),
    /// One run out of several whose clicks tell which is preferred
    Interleave(interleave::Args),
    /// Which runs retrieve the same documents
    Overlap(overlap::Args),
    /// The documents that assessors should judge, and the judgments that come of it
    Pool(pool::Args),
    /// How much assessors agree
    Agree(agree::Args),
    /// What a tuned parameter is worth on queries it has not seen
    Sweep(sweep::Args),
    /// Recall by how often documents occur in training data
    Buckets(buckets::Args),
    /// Vectors of texts, by a BERT model from a Hugging Face folder
    #[cfg(feature = "dense")]
    Encode(Box<encode::Args>),
    /// The encoders known by name and those downloaded; fetching more
    #[cfg(feature = "dense")]
    Models(models::Args),
    /// A BERT model fine-tuned on queries whose answers are known
    #[cfg(feature = "dense")]
    Train(Box<train::Args>),
    /// Training data for dense retrievers: hard negatives by BM25 or from a run
    Mine(Box<mine::Args>),
    /// How well the neighbours of vectors or texts predict their classes
    KnnAccuracy(Box<knn_accuracy::Args>),
    /// The collections known by name
    Datasets(datasets::Args),
}

/// Prints help where it was asked for, and otherwise what is wrong, in one line.
pub(crate) fn complain(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let printed = error.print().and_then(|()| io::stdout().flush());
            match printed {
                // Nobody reads it: no reason to fail.
                Err(fault) if fault.kind() != io::ErrorKind::BrokenPipe => {
                    eprintln!("error: standard output: could not be written: {fault}");
                    ExitCode::FAILURE
                }
                _ => ExitCode::SUCCESS,
            }
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            ExitCode::from(2)
        }
        _ => {
            eprintln!("{}", complaint(&error.to_string()));
            ExitCode::from(2)
        }
    }
}

/// clap's paragraphs about a mistake as one line.
fn complaint(text: &str) -> String {
    let mut parts = Vec::new();
    for line in text.lines() {
        let line = line.trim();
        if line.starts_with("Usage:") || line.starts_with("For more information") {
            break;
        }
        if !line.is_empty() {
            parts.push(line);
        }
    }
    format!("{} (see --help)", parts.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn mistakes_in_one_line() {
        let error = Cli::try_parse_from(["ir", "eval", "qrels"]).unwrap_err();
        let line = complaint(&error.to_string());
        assert!(line.starts_with("error: the following required arguments were not provided"));
        assert!(!line.contains('\n') && line.contains("<RUN>"), "{line}");
    }
}
