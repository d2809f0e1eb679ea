//! `ir datasets`: what the catalogue knows, and what of it is there.

use std::io::Write;

use anyhow::Result;
use ir_data::catalogue::{Catalogue, Entry, entries};
use serde_json::json;

use crate::shared::console::{Console, stop_on_interrupt};
use crate::shared::output::Sink;

const EXAMPLES: &str = "\
Examples:
  ir datasets                        all collections, and which are there
  ir datasets verify beir/nfcorpus   sizes, hashes and counts compared
  ir datasets where beir/nfcorpus    its files, and where they come from
  ir datasets fetch beir/nfcorpus    downloaded into the folder IR_DATA

The environment variable IR_DATA names the folder in which collections are
looked for. The collection `bundled` is part of this program and is always
there.";

/// The arguments of `ir datasets`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Option<Action>,

    /// One JSON object per collection and line
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Sizes, hashes and counts of a collection compared with what the catalogue states
    Verify {
        /// Collection, such as `beir/nfcorpus`
        name: String,
    },
    /// Files of a collection: where they are expected, their sizes, where they come from
    Where {
        /// Collection, such as `beir/nfcorpus`
        name: String,
    },
    /// A collection with a public address downloaded into the folder IR_DATA, and verified
    Fetch {
        /// Collection, such as `beir/nfcorpus`
        name: String,
    },
}

/// Runs `ir datasets`.
pub(crate) fn run(args: Args, console: &Console) -> Result<()> {
    let catalogue = Catalogue::from_env();
    let mut out = Sink::open(None)?;
    match args.action {
        None if args.json => list_json(&catalogue, &mut out)?,
        None => list(&catalogue, &mut out, console)?,
        Some(Action::Verify { name }) => verify(&catalogue, &name, &mut out, console)?,
        Some(Action::Where { name }) => locate(&catalogue, &name, &mut out)?,
        Some(Action::Fetch { name }) => fetch(&catalogue, &name, &mut out, console)?,
    }
    out.commit()
}

fn list(catalogue: &Catalogue, out: &mut Sink, console: &Console) -> Result<()> {
    let width = entries().iter().map(|e| e.name.len()).max().unwrap_or(0);
    writeln!(
        out,
        "{:width$}  {:>9}  {:>7}  {:>9}  {:7}  what",
        "name", "documents", "queries", "judgments", "there"
    )?;
    for entry in entries() {
        let (there, what) = match catalogue.has(&entry.name) {
            Ok(true) => ("yes", entry.about.clone()),
            Ok(false) => ("no", entry.about.clone()),
            Err(error) => ("damaged", format!("damaged: {error}")),
        };
        writeln!(
            out,
            "{:width$}  {:>9}  {:>7}  {:>9}  {:7}  {}",
            entry.name,
            grouped(entry.documents),
            grouped(entry.queries),
            grouped(judgments(entry)),
            there,
            what
        )?;
    }
    match catalogue.root() {
        Some(root) => console.note(format_args!("\nlooked for in {}", root.display())),
        None => console.note("\nIR_DATA is not set: only `bundled` can be opened"),
    }
    Ok(())
}

fn list_json(catalogue: &Catalogue, out: &mut Sink) -> Result<()> {
    for entry in entries() {
        let splits: serde_json::Map<String, serde_json::Value> = entry
            .splits
            .iter()
            .map(|(name, counts)| {
                let counts = json!({"queries": counts.queries, "judgments": counts.judgments});
                (name.clone(), counts)
            })
            .collect();
        let there = catalogue.has(&entry.name);
        let line = json!({
            "name": entry.name,
            "about": entry.about,
            "documents": entry.documents,
            "distinct_ids": entry.distinct,
            "queries": entry.queries,
            "splits": splits,
            "licence": entry.licence,
            "there": matches!(there, Ok(true)),
            "damaged": there.err().map(|error| error.to_string()),
        });
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn verify(catalogue: &Catalogue, name: &str, out: &mut Sink, console: &Console) -> Result<()> {
    stop_on_interrupt();
    let mut bar = console.bar();
    let found = catalogue.verify(name, &mut bar);
    bar.finish();
    let found = found?;
    writeln!(
        out,
        "{name}: as stated: {} files ({} bytes), {} documents with {} different ids, {} queries, {} judgments",
        grouped(found.files),
        grouped(found.bytes),
        grouped(found.documents),
        grouped(found.distinct),
        grouped(found.queries),
        grouped(found.judgments)
    )?;
    Ok(())
}

fn locate(catalogue: &Catalogue, name: &str, out: &mut Sink) -> Result<()> {
    let entry = catalogue.entry(name)?;
    writeln!(out, "{}: {}", entry.name, entry.about)?;
    if entry.files.is_empty() {
        writeln!(out, "  part of this program")?;
    }
    for file in &entry.files {
        let path = catalogue.root().map_or_else(
            || format!("$IR_DATA/{}", file.path),
            |root| root.join(&file.path).display().to_string(),
        );
        writeln!(out, "  {path}  {} bytes", grouped(file.bytes))?;
    }
    for (split, counts) in &entry.splits {
        let (queries, judgments) = (grouped(counts.queries), grouped(counts.judgments));
        writeln!(
            out,
            "  split {split}: {queries} judged queries, {judgments} judgments"
        )?;
    }
    writeln!(out, "  licence: {}", entry.licence)?;
    writeln!(out, "  source: {}", entry.source)?;
    if let Some(archive) = &entry.archive {
        writeln!(out, "  address: {}", archive.url)?;
    }
    for note in &entry.notes {
        writeln!(out, "  note: {note}")?;
    }
    Ok(())
}

#[cfg(feature = "fetch")]
fn fetch(catalogue: &Catalogue, name: &str, out: &mut Sink, console: &Console) -> Result<()> {
    catalogue.entry(name)?;
    // A damaged copy is fetched anew.
    if matches!(catalogue.has(name), Ok(true)) {
        writeln!(
            out,
            "{name}: there already; `ir datasets verify {name}` reads all of it"
        )?;
        return Ok(());
    }
    stop_on_interrupt();
    let mut bar = console.bar();
    catalogue.fetch(name, &mut bar)?;
    bar.finish();
    let root = catalogue.root().unwrap_or(std::path::Path::new(""));
    writeln!(out, "{name}: fetched into {}, and verified", root.display())?;
    Ok(())
}

#[cfg(not(feature = "fetch"))]
fn fetch(catalogue: &Catalogue, name: &str, _: &mut Sink, _: &Console) -> Result<()> {
    let entry = catalogue.entry(name)?;
    let place = match &entry.archive {
        Some(archive) => format!("; it is at {}", archive.url),
        None => format!(
            "; it has no public address, and comes from {}",
            entry.source
        ),
    };
    anyhow::bail!(
        "this program was built without the feature \"fetch\", so that it cannot download {name:?} \
         (cargo install --path . --features fetch){place}"
    )
}

fn judgments(entry: &Entry) -> u64 {
    entry.splits.values().map(|split| split.judgments).sum()
}
