//! The command line: its subcommands.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use clap::{CommandFactory, Parser, Subcommand, ValueHint};
use clap_complete::Shell;
use ir_data::{DataError, FORMATS};

#[cfg(feature = "remote")]
use crate::commands::load;
#[cfg(feature = "pdf")]
use crate::commands::pdf_text;
use crate::commands::{
    agree, ask, buckets, compare, datasets, diff, eval, export, frames, fuse, import_results,
    index, inspect, interleave, knn_accuracy, map, merge, mine, overlap, pool, reproduce, run,
    search, stats, sweep, worker,
};
#[cfg(feature = "serve")]
use crate::commands::{backup, serve};
#[cfg(feature = "dense")]
use crate::commands::{encode, models, train, train_reader};
use crate::help;
use crate::shared::console::{Console, Usage};
use crate::shared::list_style::wrapped;
use crate::shared::options::with_encoding_hint;
use crate::shared::output::{OutputSink, WorkPath, print};
use crate::shared::suggest::did_you_mean;
use crate::usage::report_usage_error;

const ABOUT: &str = "Index, search, train, evaluate and compare retrieval systems";

const EXAMPLES: &str = "\
Examples:
  ir search bundled 'boats photographed at night'  the built-in collection
  ir search ~/notes tax return                     notes (*.md, *.txt)

  ir search beir/nfcorpus --output run.trec        BM25 run over the judged
                                                   queries of a collection
  ir eval -m ndcg_cut.10 beir/nfcorpus run.trec    nDCG@10 of the run

  ir index corpus.jsonl -o corpus.ir               build an index once
  ir search corpus.ir 'vitamin d'                  search the saved index

`ir COMMAND -h` lists the common options of a command, `ir help COMMAND`
explains all, `ir help search models` a group; `ir help eval` lists every
measure, `ir help formats` every format that is read.
`ir datasets` lists named collections. Compressed files (gzip, zstd) are
detected by content.";

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
    /// Print errors only: no progress, warnings or notes
    #[arg(long, global = true, display_order = 900)]
    pub(crate) quiet: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Build, save and update a BM25 index of a collection
    Index(Box<index::Args>),
    /// Search: ranked results for one query, or a TREC run over many
    Search(Box<search::Args>),
    /// Evaluate a run, in trec_eval's output format
    Eval(eval::Args),
    /// Compare runs, with significance tests
    Compare(Box<compare::Args>),
    /// Report the differences between two runs; exit code 1 if there are any
    Diff(diff::Args),
    /// Fuse runs: reciprocal rank fusion, CombSUM, Borda, ...
    Fuse(fuse::Args),
    /// Interleave runs for an online comparison by clicks
    Interleave(interleave::Args),
    /// Convert result lists of other search engines to a run
    ImportResults(Box<import_results::Args>),
    /// Report which runs retrieve the same documents
    Overlap(overlap::Args),
    /// Pool documents for assessors, and merge their judgments
    Pool(pool::Args),
    /// Measure inter-assessor agreement
    Agree(agree::Args),
    /// Export an index to other search engines, in the Common Index File Format
    Export(export::Args),
    /// Estimate a tuned parameter's score by leave-one-query-out cross-validation
    Sweep(Box<sweep::Args>),
    /// Report recall by frequency of the documents in training data
    Buckets(buckets::Args),
    /// Run an experiment file: systems, grids, measures and significance tests
    Run(Box<run::Args>),
    /// Reproduce published values with experiment files, one page for each
    Reproduce(reproduce::Args),
    /// Encode texts as vectors with a model folder in the Hugging Face layout
    #[cfg(feature = "dense")]
    Encode(Box<encode::Args>),
    /// List known and downloaded encoders; download more
    #[cfg(feature = "dense")]
    Models(models::Args),
    /// Fine-tune a bi-encoder on queries with known relevant documents
    #[cfg(feature = "dense")]
    Train(Box<train::Args>),
    /// Train a cross-encoder, which reranks, on queries with known relevant documents
    #[cfg(feature = "dense")]
    TrainReranker(Box<train::reranker::Args>),
    /// Train an extractive reader, which finds answer spans, on SQuAD
    #[cfg(feature = "dense")]
    TrainReader(Box<train_reader::Args>),
    /// Mine hard negatives for training, with BM25 or from a run
    Mine(Box<mine::Args>),
    /// Merge the outputs of `--shard` into the output of the whole
    Merge(merge::Args),
    /// Load a collection into Milvus, Elasticsearch or OpenSearch
    #[cfg(feature = "remote")]
    Load(Box<load::Args>),
    /// Encode, search or tokenize records of standard input, one per line
    Worker(worker::Args),
    /// Evaluate embeddings by kNN classification accuracy
    KnnAccuracy(Box<knn_accuracy::Args>),
    /// Draw vectors or texts as a map in two dimensions, by t-SNE
    Map(Box<map::Args>),
    /// Answer questions with sentences of papers
    Ask(Box<ask::Args>),
    /// Convert a folder of papers to answer sentences with their contexts (frames)
    Frames(Box<frames::Args>),
    /// Serve a search page and a REST interface over papers, from one data folder
    #[cfg(feature = "serve")]
    Serve(Box<serve::Args>),
    /// Copy a data folder of `ir serve` while it is served, or restore a copy
    #[cfg(feature = "serve")]
    Backup(backup::Args),
    /// Extract the text of a PDF on standard input, for commands that read papers
    #[cfg(feature = "pdf")]
    #[command(hide = true)]
    PdfText(pdf_text::Args),
    /// Report what a file is taken for: format, fields, counts, first records
    Inspect(Box<inspect::Args>),
    /// Report statistics of a collection or index: lengths, vocabulary, judgments
    Stats(Box<stats::Args>),
    /// List, verify and download known collections
    Datasets(datasets::Args),
    /// Print a script that completes commands, options and values in a shell
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions {
        /// Shell that reads the script
        shell: Shell,
    },
    /// Print the manual page of a command, or write the pages of all
    Man(help::man::Args),
    /// Print the help of a command or a group of its options; `eval`: every measure, `formats`:
    /// every format
    Help {
        /// Command, such as `eval` or `datasets fetch`, and a group of its options, such as
        /// `search models`
        #[arg(value_name = "COMMAND", value_hint = ValueHint::Other)]
        command: Vec<String>,
    },
}

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  ir completions bash > ~/.local/share/bash-completion/completions/ir
  ir completions zsh > ~/.zfunc/_ir       with fpath+=~/.zfunc in ~/.zshrc
  ir completions fish > ~/.config/fish/completions/ir.fish";

impl Command {
    /// Work files and folders that the subcommand derives from its outputs.
    pub(crate) fn work_paths(&self) -> Vec<WorkPath> {
        match self {
            Self::Index(args) => args.work_paths(),
            #[cfg(feature = "dense")]
            Self::Encode(args) => args.work_paths(),
            #[cfg(feature = "dense")]
            Self::Train(args) => args.work_paths(),
            #[cfg(feature = "dense")]
            Self::TrainReranker(args) => args.work_paths(),
            #[cfg(feature = "dense")]
            Self::TrainReader(args) => args.work_paths(),
            _ => Vec::new(),
        }
    }

    /// Runs the subcommand and reports its error. Returns the exit code.
    pub(crate) fn run(&self, console: &Console) -> ExitCode {
        let done = match self {
            // As in diff(1): exit code 1 means different, 2 means failure.
            Self::Diff(args) => {
                return match diff::run(args, console) {
                    Ok(same) => ExitCode::from(u8::from(!same)),
                    Err(error) => console.fail_as(&error, 2),
                };
            }
            Self::Index(args) => index::run(args, console),
            Self::Search(args) => search::run(args, console),
            Self::Eval(args) => eval::run(args, console),
            Self::Buckets(args) => buckets::run(args, console),
            Self::Sweep(args) => sweep::run(args, console),
            Self::Compare(args) => compare::run(args, console),
            Self::Run(args) => run::run(args, console),
            Self::Reproduce(args) => reproduce::run(args, console),
            Self::KnnAccuracy(args) => knn_accuracy::run(args, console),
            Self::Map(args) => map::run(args, console),
            Self::Fuse(args) => fuse::run(args, console),
            Self::Interleave(args) => interleave::run(args, console),
            Self::ImportResults(args) => import_results::run(args, console),
            Self::Overlap(args) => overlap::run(args, console),
            Self::Pool(args) => pool::run(args, console),
            Self::Agree(args) => agree::run(args, console),
            Self::Mine(args) => mine::run(args, console),
            Self::Merge(args) => merge::run(args, console),
            #[cfg(feature = "remote")]
            Self::Load(args) => load::run(args, console),
            Self::Worker(args) => worker::run(args, console),
            Self::Export(args) => export::run(args, console),
            Self::Ask(args) => ask::run(args, console),
            Self::Frames(args) => frames::run(args, console),
            #[cfg(feature = "serve")]
            Self::Serve(args) => serve::run(args, console),
            #[cfg(feature = "serve")]
            Self::Backup(args) => backup::run(args, console),
            #[cfg(feature = "pdf")]
            Self::PdfText(args) => pdf_text::run(args),
            Self::Inspect(args) => inspect::run(args, console),
            Self::Stats(args) => stats::run(args, console),
            Self::Datasets(args) => datasets::run(args, console),
            Self::Completions { shell } => print_completions(*shell),
            Self::Man(args) => help::man::run(args, documented()),
            Self::Help { command } => return print_help(command),
            #[cfg(feature = "dense")]
            Self::Encode(args) => encode::run(args, console),
            #[cfg(feature = "dense")]
            Self::Train(args) => train::run(args, console),
            #[cfg(feature = "dense")]
            Self::TrainReranker(args) => train::reranker::run(args, console),
            #[cfg(feature = "dense")]
            Self::TrainReader(args) => train_reader::run(args, console),
            #[cfg(feature = "dense")]
            Self::Models(args) => models::run(args, console),
        };
        match done {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => console.fail(&self.with_suggestion(self.with_encoding_hint(error))),
        }
    }

    /// Adds the option `--encoding`, if it is not given, to the error of text that is not UTF-8.
    fn with_encoding_hint(&self, error: anyhow::Error) -> anyhow::Error {
        let encoding = match self {
            Self::Index(args) => Some(args.text.encoding),
            Self::Search(args) => Some(args.text.encoding),
            Self::Mine(args) => Some(args.text.encoding),
            Self::Inspect(args) => Some(args.text.encoding),
            Self::Stats(args) => Some(args.text.encoding),
            Self::ImportResults(args) => Some(args.text.encoding),
            #[cfg(feature = "dense")]
            Self::Encode(args) => Some(args.text.encoding),
            _ => None,
        };
        with_encoding_hint(error, encoding)
    }

    /// Adds the closest known name to the error of an unknown name, or an argument that selects a
    /// known split.
    fn with_suggestion(&self, error: anyhow::Error) -> anyhow::Error {
        let hint = match error.downcast_ref() {
            Some(DataError::UnknownCollection { name, known }) => suggestion(name, known),
            Some(DataError::UnknownSplit {
                collection, known, ..
            }) if known.is_empty() => format!(" ({collection} has no judgments)"),
            Some(DataError::UnknownSplit {
                collection,
                split,
                known,
            }) => match (suggestion(split, known), self.example_split(known)) {
                (hint, Some(known)) if hint.is_empty() => {
                    format!(" (for example {})", self.split_argument(collection, known))
                }
                (hint, _) => hint,
            },
            Some(DataError::TemplateField { field, known, .. }) => suggestion(field, known),
            _ => String::new(),
        };
        if hint.is_empty() {
            return error;
        }
        anyhow::anyhow!("{error:#}{hint}")
    }

    /// Split to propose: not the judgments of the test for training.
    fn example_split<'a>(&self, known: &'a [String]) -> Option<&'a String> {
        let trains = match self {
            Self::Mine(_) => true,
            #[cfg(feature = "dense")]
            Self::Train(_) | Self::TrainReranker(_) => true,
            _ => false,
        };
        known.iter().find(|split| !trains || *split != "test")
    }

    /// Argument that selects a split of a collection.
    fn split_argument(&self, collection: &str, split: &str) -> String {
        match self {
            Self::Search(_) | Self::Mine(_) | Self::Stats(_) | Self::ImportResults(_) => {
                format!("--split {split}")
            }
            #[cfg(feature = "dense")]
            Self::Encode(_) => format!("--split {split}"),
            #[cfg(feature = "dense")]
            Self::Train(_) | Self::TrainReranker(_) => format!("--dev-split {split}"),
            _ => format!("{collection}:{split}"),
        }
    }
}

/// Formats that are read, one paragraph each.
fn list_formats() -> String {
    const WIDTH: usize = 78;
    const LABEL: usize = 12;
    let mut paragraphs = Vec::new();
    for format in FORMATS {
        let mut lines = vec![format!("{} ({})", format.name, format.content)];
        for (label, text) in [
            ("by", format.recognized_by),
            ("fields", format.fields),
            ("encodings", format.encodings),
            ("skipped", format.skipped),
        ] {
            for (n, line) in wrapped(text, WIDTH - LABEL).iter().enumerate() {
                let label = if n == 0 { label } else { "" };
                lines.push(format!("  {label:<10}{line}"));
            }
        }
        paragraphs.push(lines.join("\n"));
    }
    paragraphs.push(
        "Files may be compressed by gzip or zstd, whatever their names; bzip2, xz, lz4,\n\
         zip and 7z are named in an error. `ir inspect FILE` prints what a file is\n\
         taken for."
            .to_owned(),
    );
    paragraphs.join("\n\n")
}

/// Lets every option of the command and its subcommands have a negative number as its value, so
/// that the error names the valid range.
pub(crate) fn with_negative_values(command: clap::Command) -> clap::Command {
    command
        .mut_args(|arg| match arg.get_action().takes_values() {
            true if !arg.is_positional() => arg.allow_negative_numbers(true),
            _ => arg,
        })
        .mut_subcommands(with_negative_values)
}

fn print_completions(shell: Shell) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "ir", &mut script);
    OutputSink::open(None)?.write_with(|out| out.write_all(&script))
}

/// Command line as `ir help` explains it: `eval` with all measures.
fn documented() -> clap::Command {
    let command = Cli::command().mut_subcommands(help::with_common_first);
    command.mut_subcommand("eval", |command| {
        let examples = command.get_after_help().map(ToString::to_string);
        let examples = examples.unwrap_or_default();
        command.after_help(format!("{examples}\n\n{}", eval::list_measures()))
    })
}

/// Prints what `ir COMMAND --help` prints and, for `eval`, all measures; or the help of a group of
/// options. Returns the exit code.
fn print_help(names: &[String]) -> ExitCode {
    if let Some(("formats", rest)) = names.split_first().map(|(first, rest)| (&**first, rest)) {
        let printed = match rest.first() {
            None => print(list_formats()),
            Some(found) => {
                let message = format!("expected nothing after `ir help formats`, found {found:?}");
                Err(Usage(message).into())
            }
        };
        return match printed {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => Console::new(false).fail(&error),
        };
    }
    if let Some((command, path, group)) = help::find_group(&Cli::command(), names) {
        return help::print_group(command, &path, group);
    }
    let names = names.iter().map(String::as_str);
    let arguments = ["ir"].into_iter().chain(names).chain(["--help"]);
    match documented().try_get_matches_from(arguments) {
        Ok(_) => ExitCode::SUCCESS,
        Err(help) => report_usage_error(&Cli::command(), &help),
    }
}

fn suggestion(found: &str, known: &[String]) -> String {
    did_you_mean(found, known.iter().map(String::as_str))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    /// Ids of the options that an option requires, which clap has in its `Debug` form only.
    fn required(option: &clap::Arg) -> Vec<String> {
        let text = format!("{option:?}");
        let (_, list) = text.split_once(", requires: [").unwrap();
        let (list, _) = list.split_once(']').unwrap();
        let quoted = list.split('"').skip(1).step_by(2);
        quoted.map(str::to_owned).collect()
    }

    /// clap drops a requirement that conflicts with an option on the command line. The option that
    /// requires it would be ignored. `ir search` itself checks what requires --engine.
    #[test]
    fn conflicts_of_a_requirement_are_conflicts_of_the_option() {
        fn check(command: &clap::Command, path: &str, found: &mut Vec<String>) -> usize {
            let is_conflict = |a: &clap::Arg, b: &clap::Arg| {
                let has = |a, b: &clap::Arg| {
                    let conflicts = command.get_arg_conflicts_with(a).into_iter();
                    conflicts.map(clap::Arg::get_id).any(|id| id == b.get_id())
                };
                has(a, b) || has(b, a)
            };
            let options: Vec<&clap::Arg> = command.get_arguments().collect();
            let mut requirements = 0;
            for option in &options {
                let all = required(option).into_iter();
                for id in all.filter(|id| !id.starts_with("engine")) {
                    requirements += 1;
                    let target = options.iter().find(|it| it.get_id() == id.as_str());
                    for other in &options {
                        let is_dropped = target.is_some_and(|it| is_conflict(it, other));
                        if is_dropped && !is_conflict(option, other) {
                            let (option, other) = (option.get_id(), other.get_id());
                            found.push(format!("{path}: {option} requires {id}, beside {other}"));
                        }
                    }
                }
            }
            for command in command.get_subcommands() {
                let path = format!("{path} {}", command.get_name());
                requirements += check(command, &path, found);
            }
            requirements
        }
        let mut command = Cli::command();
        command.build();
        let mut found = Vec::new();
        assert!(check(&command, "ir", &mut found) > 30);
        assert!(found.is_empty(), "{}", found.join("\n"));
    }
}
