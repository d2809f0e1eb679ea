//! `ir datasets`: lists, verifies and downloads the collections of the catalog.

use std::io::Write;
use std::path::Path;

use anyhow::{Result, bail};
use ir_data::catalog::{Catalog, CatalogFile, entries};
use serde_json::json;

use crate::shared::console::Console;
use crate::shared::format::{grouped, table_with_text};
use crate::shared::input::{is_collection, names};
use crate::shared::output::OutputSink;
use crate::shared::signals::stop_on_interrupt;

const EXAMPLES: &str = "\
Examples:
  ir datasets                        list collections and their availability
  ir datasets verify beir/nfcorpus   verify sizes, hashes and counts
  ir datasets where beir/nfcorpus    show its files and their source
  ir datasets fetch beir/nfcorpus    download it into the folder IR_DATA

Collections are looked up in the folder IR_DATA (environment variable). The
collection `bundled` is built in and always available.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Option<Action>,

    /// Print one JSON object per collection
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Verify sizes, hashes and counts of a collection against the catalog
    Verify(EntryArgument),
    /// Show the files of a collection: expected paths, sizes, source
    Where(EntryArgument),
    /// Download a public collection into the folder IR_DATA and verify it
    Fetch(EntryArgument),
}

#[derive(Debug, clap::Args)]
struct EntryArgument {
    /// Collection, such as `beir/nfcorpus`
    name: String,
}

pub(crate) fn run(args: &Args, console: &Console) -> Result<()> {
    let catalog = Catalog::from_env();
    let mut out = OutputSink::open(None)?;
    match &args.action {
        None if args.json => list_json(&catalog, &mut out)?,
        None => list(&catalog, &mut out, console)?,
        Some(Action::Verify(entry)) => verify(&catalog, entry.name()?, &mut out, console)?,
        Some(Action::Where(entry)) => locate(&catalog, entry.name()?, &mut out)?,
        Some(Action::Fetch(entry)) => fetch(&catalog, entry.name()?, &mut out, console)?,
    }
    out.commit()
}

impl EntryArgument {
    /// The name. Returns an error that helps if it is a path and no collection.
    fn name(&self) -> Result<&str> {
        let name = &self.name;
        if !is_collection(name) && Path::new(name).exists() {
            bail!(
                "{name}: expected the name of a collection ({}), found a path (`ir search` reads folders and files)",
                names()
            );
        }
        Ok(name)
    }
}

fn list(catalog: &Catalog, out: &mut OutputSink, console: &Console) -> Result<()> {
    let head = [
        "name",
        "documents",
        "queries",
        "judgments",
        "present",
        "description",
    ];
    let mut rows = vec![head.map(str::to_owned)];
    for entry in entries() {
        let (present, description) = match catalog.has(&entry.name) {
            Ok(true) => ("yes", entry.about.clone()),
            Ok(false) => ("no", entry.about.clone()),
            Err(error) => ("damaged", format!("damaged: {error}")),
        };
        let judgments = entry.splits.values().map(|split| split.judgments).sum();
        rows.push([
            entry.name.clone(),
            count(entry.documents),
            count(entry.queries),
            count(judgments),
            present.to_owned(),
            description,
        ]);
    }
    writeln!(out, "{}", table_with_text(rows, 4))?;
    match catalog.root() {
        Some(root) => console.note(format_args!("\ndata folder: {}", root.display())),
        None => console.note("\nIR_DATA is not set; only `bundled` is available"),
    }
    Ok(())
}

/// Count of the catalog. `None` for 0, which means absent or unknown.
fn known(count: u64) -> Option<u64> {
    Some(count).filter(|&count| count > 0)
}

fn count(number: u64) -> String {
    known(number).map_or_else(|| "-".to_owned(), grouped)
}

fn list_json(catalog: &Catalog, out: &mut OutputSink) -> Result<()> {
    for entry in entries() {
        let present = catalog.has(&entry.name);
        let line = json!({
            "name": entry.name,
            "about": entry.about,
            "documents": known(entry.documents),
            "distinct_ids": known(entry.distinct_ids),
            "queries": known(entry.queries),
            "splits": entry.splits,
            "license": entry.license,
            "present": matches!(present, Ok(true)),
            "damaged": present.err().map(|error| error.to_string()),
        });
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn verify(catalog: &Catalog, name: &str, out: &mut OutputSink, console: &Console) -> Result<()> {
    stop_on_interrupt();
    let found = catalog.verify(name, &mut console.bar())?;
    writeln!(
        out,
        "{name}: verified: {} files ({} bytes), {} documents with {} distinct ids, {} queries, {} judgments",
        grouped(found.files),
        grouped(found.bytes),
        grouped(found.documents),
        grouped(found.distinct_ids),
        grouped(found.queries),
        grouped(found.judgments)
    )?;
    Ok(())
}

fn locate(catalog: &Catalog, name: &str, out: &mut OutputSink) -> Result<()> {
    let entry = catalog.entry(name)?;
    writeln!(out, "{}: {}", entry.name, entry.about)?;
    if entry.files.is_empty() {
        writeln!(out, "  built in")?;
    }
    for file in &entry.files {
        writeln!(out, "  {}", locate_file(catalog, file))?;
    }
    for (split, counts) in &entry.splits {
        let (queries, judgments) = (grouped(counts.queries), grouped(counts.judgments));
        writeln!(
            out,
            "  split {split}: {queries} judged queries, {judgments} judgments"
        )?;
    }
    writeln!(out, "  license: {}", entry.license)?;
    writeln!(out, "  source: {}", entry.source)?;
    if let Some(archive) = &entry.archive {
        writeln!(out, "  URL: {}", archive.url)?;
    }
    for note in &entry.notes {
        writeln!(out, "  note: {note}")?;
    }
    Ok(())
}

/// Path and size of the compressed or the plain file, whichever exists; of both if neither does.
fn locate_file(catalog: &Catalog, file: &CatalogFile) -> String {
    let path = |path: &str| {
        catalog.root().map_or_else(
            || format!("$IR_DATA/{path}"),
            |root| root.join(path).display().to_string(),
        )
    };
    let exists = |path: &str| catalog.root().is_some_and(|root| root.join(path).is_file());
    let listed = format!("{}  {} bytes", path(&file.path), grouped(file.bytes));
    let missing = match catalog.root() {
        Some(_) => " (missing)",
        None => "",
    };
    match file.plain_path() {
        _ if exists(&file.path) => listed,
        Some((plain, content)) if exists(plain) => {
            format!("{}  {} bytes", path(plain), grouped(content.bytes))
        }
        Some((plain, content)) => format!(
            "{listed}, or {}  {} bytes{missing}",
            path(plain),
            grouped(content.bytes)
        ),
        None => format!("{listed}{missing}"),
    }
}

#[cfg(feature = "fetch")]
fn fetch(catalog: &Catalog, name: &str, out: &mut OutputSink, console: &Console) -> Result<()> {
    catalog.entry(name)?;
    // A damaged copy is downloaded again.
    if matches!(catalog.has(name), Ok(true)) {
        writeln!(
            out,
            "{name}: already present (`ir datasets verify {name}` checks it)"
        )?;
        return Ok(());
    }
    stop_on_interrupt();
    catalog.fetch(name, &mut console.bar())?;
    let root = catalog.root().unwrap_or(std::path::Path::new(""));
    writeln!(out, "{name}: downloaded to {} and verified", root.display())?;
    Ok(())
}

#[cfg(not(feature = "fetch"))]
fn fetch(catalog: &Catalog, name: &str, _: &mut OutputSink, _: &Console) -> Result<()> {
    let entry = catalog.entry(name)?;
    let place = match &entry.archive {
        Some(archive) => format!("; its URL is {}", archive.url),
        None => format!("; it has no public URL; source: {}", entry.source),
    };
    anyhow::bail!(
        "cannot download {name:?}: built without the feature \"fetch\" \
         (cargo install --path apps/ir-cli --features fetch){place}"
    )
}
