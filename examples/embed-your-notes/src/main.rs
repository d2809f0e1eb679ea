//! Dense retrieval over a folder of notes: one vector per paragraph, saved and searched.
//!
//! `cargo run --release -p embed-your-notes -- FOLDER WORDS...`; the default folder is the crates'
//! documentation. `IR_MODEL` names the folder of an encoder; without it, the vectors come from
//! latent semantic indexing fitted to the notes.

#![allow(clippy::print_stdout, reason = "a program for a terminal")]

use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context, Result, bail};
use ir_core::{Distinct, DocIds, Encoded, Encoder, Retriever, Search, Side};
use ir_dense::{BiEncoder, EncoderConfig};
use ir_knn::{FlatIndex, Lsi, LsiConfig, TruncatedSvdConfig, VectorSimilarity};

fn main() -> Result<()> {
    let mut args = env::args().skip(1);
    let folder = args
        .next()
        .unwrap_or_else(|| concat!(env!("CARGO_MANIFEST_DIR"), "/../../crates").to_owned());
    let mut query = args.collect::<Vec<_>>().join(" ");
    if query.is_empty() {
        query = "what happens to files when the program is interrupted".to_owned();
    }

    // One vector per paragraph. All paragraphs of a note have the note's id.
    let paragraphs = read_paragraphs(Path::new(&folder))?;
    if paragraphs.is_empty() {
        bail!("{folder}: expected notes (*.md, *.txt), found none");
    }
    let texts: Vec<&str> = paragraphs.iter().map(|(_, text)| text.as_str()).collect();
    let (model, encoder) = encoder(&texts)?;
    let vectors = encoder.encode(Side::Document, &texts)?;
    let ids: DocIds = paragraphs.iter().map(|(id, _)| id.as_str()).collect();
    let index =
        FlatIndex::from_row_major(ids, encoder.dim(), vectors, VectorSimilarity::InnerProduct)?;

    // Encoding is slow, so the vectors are saved; later searches open the file instantly.
    let file = env::temp_dir().join(format!("notes-{}.ir", std::process::id()));
    index.with_codes().save(&file)?;
    let index = FlatIndex::open(&file)?;
    println!(
        "{} paragraphs, vectors by {model}; best notes for: {query}\n",
        texts.len()
    );

    // The score of a note is the maximum over its paragraphs.
    let notes = Distinct(Encoded::new(&encoder, index));
    for hit in &notes.search(&query, &Search::top(3))? {
        println!("{:.2}  {}", hit.score, notes.ids().id(hit.doc));
        // The document number is that of the best paragraph.
        let text: Vec<&str> = texts[hit.doc.index()].split_whitespace().collect();
        let text = text.join(" ");
        let end = text
            .char_indices()
            .nth(300)
            .map_or(text.len(), |(end, _)| end);
        println!("      {}\n", &text[..end]);
    }
    fs::remove_file(&file)?;
    Ok(())
}

/// Encoder with unit vectors, and its name.
fn encoder(texts: &[&str]) -> Result<(String, Box<dyn Encoder>)> {
    if let Some(folder) = env::var_os("IR_MODEL") {
        let config = EncoderConfig::default().with_normalize(true);
        let name = folder.to_string_lossy().into_owned();
        return Ok((name, Box::new(BiEncoder::open_with(&folder, &config)?)));
    }
    let components = 100.min(texts.len() / 2);
    let config = LsiConfig::default()
        .with_svd(TruncatedSvdConfig::new(components))
        .with_normalize(true);
    let name = format!("latent semantic indexing, {components} dimensions");
    Ok((name, Box::new(Lsi::fit(texts, &config)?)))
}

/// Reads the paragraphs of all `.md` and `.txt` files below a folder, each with the path of its
/// file.
fn read_paragraphs(folder: &Path) -> Result<Vec<(String, String)>> {
    let mut paragraphs = Vec::new();
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
                let note = path
                    .strip_prefix(folder)
                    .unwrap_or(&path)
                    .display()
                    .to_string();
                let text = text.replace("\r\n", "\n");
                let parts = without_front_matter(&text)
                    .split("\n\n")
                    .filter(|part| part.split_whitespace().count() > 9);
                paragraphs.extend(parts.map(|part| (note.clone(), part.to_owned())));
            }
        }
    }
    Ok(paragraphs)
}

/// Text after the front matter, a block between lines of three hyphens.
fn without_front_matter(text: &str) -> &str {
    let body = text.strip_prefix("---\n");
    let body = body.and_then(|text| text.split_once("\n---\n"));
    body.map_or(text, |(_, body)| body)
}
