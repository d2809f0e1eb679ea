//! Full-text search over a folder of notes, with highlights and an explanation.
//!
//! `cargo run --release -p search-your-notes -- FOLDER WORDS...`; the default folder is the crates'
//! documentation.

#![allow(clippy::print_stdout, reason = "a program for a terminal")]

use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context, Result};
use ir_bm25::analysis::{Highlighter, mark};
use ir_bm25::{Bm25, Index, IndexConfig, IndexedFields, StoredFields};
use ir_core::{Document, NoProgress, Retriever, Search};

fn main() -> Result<()> {
    let mut args = env::args().skip(1);
    let folder = args
        .next()
        .unwrap_or_else(|| concat!(env!("CARGO_MANIFEST_DIR"), "/../../crates").to_owned());
    let mut query = args.collect::<Vec<_>>().join(" ");
    if query.is_empty() {
        query = "how are equal scores ordered".to_owned();
    }

    // One document per note: the path is the id, the first heading is the title.
    let notes = read_notes(Path::new(&folder))?;
    let config = IndexConfig::default()
        .with_fields(IndexedFields::Separate)
        .with_store(StoredFields::Everything);
    let index = Index::build(&notes, &config, &mut NoProgress)?;

    // The title has twice the weight of the text.
    let searcher = index
        .searcher(Bm25::LUCENE)?
        .with_weights(&[("title", 2.0), ("text", 1.0)])?;
    let search = Search::top(5);
    let ranking = searcher.search(&query, &search)?;
    println!(
        "{} notes, {} found for: {query}\n",
        notes.len(),
        ranking.len()
    );

    let analyzer = index.config().analysis.build()?;
    let highlighter = Highlighter::new(&analyzer, &query);
    for hit in &ranking {
        let note = index.document(hit.doc)?;
        let snippet = highlighter.snippet(&note.text, 200);
        let spans: Vec<_> = snippet
            .spans
            .iter()
            .map(|span| span.start - snippet.range.start..span.end - snippet.range.start)
            .collect();
        let text = mark(&note.text[snippet.range.clone()], &spans, "[", "]");
        println!("{:.2}  {}  ({})", hit.score, note.title, note.id);
        println!(
            "      {}\n",
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        );
    }
    if let Some(first) = ranking.hits().first() {
        // The explanation is a tree down to term frequencies and lengths; `{why}` prints all of it.
        let why = searcher.explain(&query, first.doc, &search)?;
        let why = why.context("the first hit has no explanation")?;
        println!(
            "score of the first note: {} is the {}",
            why.value, why.description
        );
        for part in &why.details {
            let term = part.description.split(": ").next().unwrap_or_default();
            println!("  {:>7.4}  {term}", part.value);
        }
    }
    Ok(())
}

/// Reads all `.md` and `.txt` files below a folder, except hidden and build folders.
fn read_notes(folder: &Path) -> Result<Vec<Document>> {
    let mut notes = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(current) = folders.pop() {
        let entries = fs::read_dir(&current).with_context(|| current.display().to_string())?;
        let mut paths: Vec<PathBuf> = entries.map(|e| Ok(e?.path())).collect::<Result<_>>()?;
        paths.sort();
        for path in paths {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if path.is_dir() && !name.starts_with('.') && name != "target" {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "md" || e == "txt") {
                let text = String::from_utf8_lossy(&fs::read(&path)?).into_owned();
                let text = without_front_matter(&text).trim_start();
                let (heading, body) = text.split_once('\n').unwrap_or((text, ""));
                let title = heading.trim_start_matches(['#', ' ']).to_owned();
                let id = path
                    .strip_prefix(folder)
                    .unwrap_or(&path)
                    .display()
                    .to_string();
                notes.push(Document::new(id).with_title(title).with_text(body));
            }
        }
    }
    Ok(notes)
}

/// Text after the front matter, a block between lines of three hyphens.
fn without_front_matter(text: &str) -> &str {
    let body = text.strip_prefix("---\n");
    let body = body.and_then(|text| text.split_once("\n---\n"));
    body.map_or(text, |(_, body)| body)
}
