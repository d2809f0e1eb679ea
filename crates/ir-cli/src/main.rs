//! The `ir` command: index, search, evaluate.
#![forbid(unsafe_code)]
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command speaks to people through the standard streams"
)]

mod agree;
mod args;
mod buckets;
mod compare;
mod console;
mod datasets;
mod diff;
#[cfg(feature = "dense")]
mod encode;
mod eval;
mod fuse;
mod index;
mod interleave;
mod judgments;
mod knn_accuracy;
mod mine;
#[cfg(feature = "dense")]
mod models;
mod overlap;
mod pool;
mod rules;
mod runs;
mod search;
mod sink;
mod source;
mod sweep;
#[cfg(feature = "dense")]
mod train;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command};
use crate::console::Console;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return args::complain(&error),
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
        // As diff(1): 1 says that they differ, so trouble is 2.
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
