//! The command `ir`.
#![forbid(unsafe_code)]
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line program prints to the standard streams"
)]

mod cli;
mod commands;
mod help;
#[cfg(test)]
mod papers_page;
mod shared;
mod usage;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use crate::cli::Cli;
use crate::shared::console::{Console, print_line, print_panics};
use crate::shared::output::reject_inputs_as_outputs;
use crate::shared::shards::record_command_line;
use crate::shared::signals::handle_signals;

/// Allocator of static builds: the allocator of musl serializes threads.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    print_panics();
    let arguments = std::env::args_os().map(|argument| argument.to_string_lossy().into_owned());
    let command = help::arranged(Cli::command(), &arguments.collect::<Vec<_>>());
    let mut command = cli::with_negative_values(command);
    let parsed = command.try_get_matches_from_mut(std::env::args_os());
    let parsed = parsed.and_then(|matches| Ok((Cli::from_arg_matches(&matches)?, matches)));
    let (cli, matches) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => return usage::report_usage_error(&command, &error),
    };
    handle_signals(|line| print_line(format_args!("{line}")));
    let console = Console::new(cli.quiet);
    if let Err(error) = reject_inputs_as_outputs(&command, &matches, cli.command.work_paths()) {
        return console.fail(&error);
    }
    record_command_line(&command, &matches);
    cli.command.run(&console)
}
