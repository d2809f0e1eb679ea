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

use crate::cli::Cli;
use crate::shared::console::Console;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return cli::report_usage_error(&error),
    };
    let console = Console::new(cli.quiet);
    cli.command.run(&console)
}
