//! The command `ir`.
#![forbid(unsafe_code)]
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line program prints to the standard streams"
)]

mod cli;
mod commands;
mod shared;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Cli, Command};
use crate::commands::{
    agree, buckets, compare, datasets, diff, eval, fuse, index, interleave, knn_accuracy, mine,
    overlap, pool, search, sweep,
};
#[cfg(feature = "dense")]
use crate::commands::{encode, models, train};
use crate::shared::console::Console;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return cli::report_usage_error(&error),
    };
    let console = Console::new(cli.quiet);
    let done = match cli.command {
        Command::Index(args) => index::run(args, &console),
        Command::Search(args) => search::run(*args, &console),
        #[cfg(feature = "dense")]
        Command::Encode(args) => encode::run(&args, &console),
        #[cfg(feature = "dense")]
        Command::Train(args) => train::run(&args, &console),
        Command::Eval(args) => eval::run(&args, &console),
        Command::Buckets(args) => buckets::run(&args, &console),
        Command::Sweep(args) => sweep::run(&args, &console),
        Command::Compare(args) => compare::run(&args, &console),
        Command::KnnAccuracy(args) => knn_accuracy::run(&args, &console),
        // As in diff(1): exit code 1 means different, 2 means failure.
        Command::Diff(args) => {
            return match diff::run(&args, &console) {
                Ok(same) => ExitCode::from(u8::from(!same)),
                Err(error) => console.fail_as(&error, 2),
            };
        }
        Command::Fuse(args) => fuse::run(&args, &console),
        Command::Interleave(args) => interleave::run(&args, &console),
        Command::Overlap(args) => overlap::run(&args, &console),
        Command::Pool(args) => pool::run(&args, &console),
        Command::Agree(args) => agree::run(&args, &console),
        Command::Mine(args) => mine::run(&args, &console),
        #[cfg(feature = "dense")]
        Command::Models(args) => models::run(args, &console),
        Command::Datasets(args) => datasets::run(args, &console),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => console.fail(&error),
    }
}
