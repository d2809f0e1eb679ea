//! `ir man`: manual pages, from the definition of the command line.

use std::io::Write;

use anyhow::Result;
use clap::{Command, ValueHint};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::shared::console::{bail_usage, one_line};
use crate::shared::file_set::write_files;
use crate::shared::output::{OutputPath, OutputSink, create_folder, reject_taken};
use crate::shared::suggest::did_you_mean;

const EXAMPLES: &str = "\
Examples:
  ir man search | man -l -                  the page of a command
  ir man -o ~/.local/share/man/man1         all pages, for `man ir-search`
  ir man -o /usr/local/share/man/man1       for all users";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Command of the printed page, such as `search` or `datasets fetch` [default: `ir` itself]
    #[arg(value_name = "COMMAND", value_hint = ValueHint::Other, conflicts_with = "output")]
    command: Vec<String>,

    /// Output folder for the pages of all commands: ir.1, ir-search.1, ... [default: print one
    /// page]
    #[arg(short = 'o', long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    output: Option<OutputPath>,
}

/// Prints the page of a command, or writes the pages of all commands below `root`.
pub(crate) fn run(args: &Args, mut root: Command) -> Result<()> {
    root.build();
    let Some(folder) = &args.output else {
        let page = page(find(&root, &args.command)?)?;
        return OutputSink::open(None)?.write_with(|out| out.write_all(page.as_bytes()));
    };
    let folder = folder.folder();
    let _created = create_folder(&folder)?;
    let mut files = Vec::new();
    for (name, text) in pages(&root)? {
        let path = folder.join(name);
        reject_taken("--output", &path)?;
        files.push((path, text));
    }
    write_files(files)
}

/// Finds the command of the names, below `root`.
fn find<'a>(root: &'a Command, names: &[String]) -> Result<&'a Command> {
    let mut command = root;
    for name in names {
        let Some(found) = command.find_subcommand(name) else {
            let known = shown(command).map(Command::get_name);
            let path = command.get_bin_name().unwrap_or("ir");
            let hint = did_you_mean(name, known);
            let found = one_line(&format!("{name:?}"));
            bail_usage!("COMMAND: expected a command of `{path}`, found {found}{hint}");
        };
        command = found;
    }
    Ok(command)
}

/// Subcommands that help lists.
fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    let commands = command.get_subcommands();
    commands.filter(|command| !command.is_hide_set())
}

/// File name and text of the page of a command and of each command below.
fn pages(command: &Command) -> Result<Vec<(String, String)>> {
    let mut found = vec![(format!("{}.1", page_name(command)), page(command)?)];
    for command in shown(command) {
        found.extend(pages(command)?);
    }
    Ok(found)
}

/// Name of the page: `ir-datasets-fetch`.
fn page_name(command: &Command) -> &str {
    command
        .get_display_name()
        .unwrap_or_else(|| command.get_name())
}

/// Page of a built command. Unlike the pages of clap_mangen, the synopsis is the line of `--help`,
/// examples keep their lines, and the version is in the footer alone.
fn page(command: &Command) -> Result<String> {
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").to_owned();
    let shown = command.clone().override_usage(usage).after_help(None);
    let man = Man::new(shown)
        .source(concat!("ir ", env!("CARGO_PKG_VERSION")))
        .manual("Manual of ir");
    let mut page = Vec::new();
    man.render(&mut page)?;
    let mut page = String::from_utf8(page)?;
    page.truncate(page.find(".SH VERSION\n").unwrap_or(page.len()));
    let mut end = Roff::new();
    if let Some(after) = command.get_after_help() {
        let after = after.to_string();
        let (heading, text) = match after.strip_prefix("Examples:\n") {
            Some(text) => ("EXAMPLES", text),
            None => ("NOTES", &*after),
        };
        end.control("SH", [heading]).control("nf", []);
        for line in text.lines() {
            end.text([roman(line)]);
        }
        end.control("fi", []);
    }
    let path = command.get_bin_name().unwrap_or_default();
    if let Some((parent, _)) = path.rsplit_once(' ') {
        end.control("SH", ["SEE ALSO"]);
        end.text([bold(parent.replace(' ', "-")), roman("(1)")]);
    }
    let end = end.render();
    // Both parts start with the definitions of the crate.
    page.push_str(&end[end.find(".SH ").unwrap_or(end.len())..]);
    Ok(page)
}
