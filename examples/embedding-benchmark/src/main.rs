//! How good are embeddings? The ICLR benchmark: the class of a paper is predicted from its nearest
//! neighbours, among vectors of abstracts and on two-dimensional maps of such vectors.
//!
//! `cargo run --release --example embedding-benchmark -- [FOLDER]`: with a folder, the maps are drawn
//! there. Runs on the bundled collection, or on the real files when `IR_DATA` holds them.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for a terminal"
)]

mod data;
mod map;
mod picture;

use std::env;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Result, bail};
use data::{Labelled, Texts};
use ir_core::AtomicFile;
use ir_knn::{Accuracy, DenseRows, Knn, KnnError, Rows, Svd, SvdConfig, Tf, TfIdf, TfIdfConfig};

fn main() -> Result<()> {
    let pictures = env::args_os().nth(1);
    if let Some(option) = pictures.as_ref().and_then(|name| name.to_str())
        && option.starts_with('-')
    {
        bail!("expected the folder for pictures, or nothing, found {option}");
    }
    let pictures = pictures.as_deref().map(Path::new);
    match data::iclr() {
        Some(folder) => {
            of_texts(&data::abstracts(&folder)?, pictures)?;
            of_maps(&folder, pictures)
        }
        None => {
            of_texts(&data::bundled()?, pictures)?;
            println!("{}", data::NOTE);
            Ok(())
        }
    }
}

/// Ten folds without shuffling, ten neighbours by Euclidean distance.
fn judge<'a>(rows: impl Into<Rows<'a>>, labelled: &Labelled) -> Result<Accuracy, KnnError> {
    Knn::default().cross_validate(rows, &labelled.labels, 10)
}

/// Vectors that this project makes of texts, and a map of them.
fn of_texts(texts: &Texts, pictures: Option<&Path>) -> Result<()> {
    let labelled = &texts.labelled;
    // All texts help to weigh words, to find directions and to draw the map; those with a label
    // are judged.
    let config = TfIdfConfig::default().with_tf(Tf::Sublinear);
    let (_, tfidf) = TfIdf::fit_transform(&texts.texts, &config)?;
    let svd = Svd::fit(&tfidf, &SvdConfig::components(texts.components))?.transform(&tfidf)?;
    let mut unit = svd.clone();
    unit.normalize();
    let map = map::tsne(&unit)?;

    let known = &labelled.rows;
    let figures = [
        ("TF-IDF".to_owned(), judge(&tfidf.select(known), labelled)?),
        (
            format!("SVD, {} dimensions", texts.components),
            judge(&svd.select(known), labelled)?,
        ),
        (
            "  with L2 norm".to_owned(),
            judge(&unit.select(known), labelled)?,
        ),
        (
            "  and its map by t-SNE".to_owned(),
            judge(&map.select(known), labelled)?,
        ),
    ];
    labelled.head(texts.name, texts.columns);
    for (n, (name, accuracy)) in figures.iter().enumerate() {
        row(name, accuracy, texts.expected.get(n).map_or(&[], |row| row));
    }
    for small in &figures[0].1.small {
        println!("Fewer than folds: {} {}", small.members, small.class);
    }
    println!();
    draw(
        "map-of-svd",
        "SVD with L2 norm, mapped by t-SNE",
        &map,
        labelled,
        pictures,
    )
}

/// Maps that were published with the benchmark.
fn of_maps(folder: &Path, pictures: Option<&Path>) -> Result<()> {
    let labelled = data::labels(folder)?;
    labelled.head("Published maps by t-SNE", &["published"]);
    let mut folds = Vec::new();
    for (name, file, published) in data::MAPS {
        let map = data::map(folder, file, labelled.items)?;
        let accuracy = judge(&map.select(&labelled.rows), &labelled)?;
        row(name, &accuracy, &[published]);
        draw(file, name, &map, &labelled, pictures)?;
        if name == "SBERT" {
            folds = accuracy.folds;
        }
    }
    let folds: Vec<String> = folds.iter().map(|fold| format!("{fold:.4}")).collect();
    println!("\nSBERT, fold by fold\nours          {}", folds.join(" "));
    println!("scikit-learn  {}", data::SBERT_FOLDS);
    Ok(())
}

fn row(name: &str, ours: &Accuracy, others: &[&str]) {
    print!("{name:<26}{:>8.2}", ours.mean() * 100.0);
    for figure in others {
        print!("{figure:>16}");
    }
    println!();
}

/// Draws a map as `name.svg` in a folder, if one is given.
fn draw(
    name: &str,
    title: &str,
    map: &DenseRows,
    labelled: &Labelled,
    pictures: Option<&Path>,
) -> Result<()> {
    let Some(folder) = pictures else {
        return Ok(());
    };
    fs::create_dir_all(folder)?;
    let path = folder.join(name).with_extension("svg");
    let svg = picture::scatter(title, &map.select(&labelled.rows), &labelled.labels)?;
    let mut file = AtomicFile::create(&path)?;
    file.write_all(svg.as_bytes())?;
    file.commit()?;
    eprintln!("wrote {}", path.display());
    Ok(())
}
