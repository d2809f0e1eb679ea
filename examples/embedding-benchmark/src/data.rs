//! Texts and maps with class labels, and reference accuracies.

use std::collections::HashMap;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use ir_data::LineReader;
use ir_data::catalog::{self, Catalog};
use ir_knn::{Classes, npy};
use ndarray::Array2;
use serde_json::Value;

/// Label of papers without a keyword class. They are not classified.
const UNLABELED: &str = "unlabeled";

/// Items with a class.
pub(crate) struct LabeledItems {
    /// Number of items, including unlabeled ones.
    pub(crate) items: usize,
    /// Indexes of the labeled items.
    pub(crate) rows: Vec<usize>,
    /// Classes of the labeled items.
    pub(crate) classes: Classes,
}

impl LabeledItems {
    fn new<S: AsRef<str>>(all: &[S]) -> Self {
        let labels = || all.iter().map(AsRef::as_ref).enumerate();
        let known = || labels().filter(|&(_, label)| label != UNLABELED);
        Self {
            items: all.len(),
            rows: known().map(|(row, _)| row).collect(),
            classes: Classes::new(known().map(|(_, label)| label)),
        }
    }

    /// Prints the number of items and classes, and the column names.
    pub(crate) fn head(&self, name: &str, columns: &[&str]) {
        let (items, known, classes) = (self.items, self.rows.len(), self.classes.names().len());
        println!("{name}: {items} items, {known} labeled, {classes} classes");
        println!("kNN accuracy (k = 10), mean of 10 folds, %\n");
        print!("{:<26}{:>8}", "", "ours");
        for column in columns {
            print!("{column:>16}");
        }
        println!();
    }
}

/// Labeled texts and reference accuracies.
pub(crate) struct LabeledTexts {
    pub(crate) name: &'static str,
    pub(crate) texts: Vec<String>,
    pub(crate) items: LabeledItems,
    /// Number of dimensions of the SVD.
    pub(crate) components: usize,
    /// Names of the reference columns.
    pub(crate) columns: &'static [&'static str],
    /// Reference accuracies of TF-IDF, SVD, normalized SVD, and its map.
    pub(crate) expected: &'static [&'static [&'static str]],
}

/// Reference columns for the abstracts of three years: scikit-learn on the same texts, with
/// openTSNE 1.0.4 (seed 42) for the map; published values for all years.
const OTHERS: [&str; 2] = ["Python", "all years"];
const EXPECTED: [&[&str]; 4] = [
    &["59.38", "59.18"],
    &["56.33", "58.86"],
    &["60.57", "60.72"],
    &["55.22", "56.74"],
];

/// Name, file and published accuracy of the maps (berenslab/iclr-dataset, scripts/05).
pub(crate) const MAPS: [(&str, &str, &str); 4] = [
    ("SBERT", "tsne_sbert", "56.8"),
    ("SVD, L2 norm", "tsne_L2_svd", "56.74"),
    ("OpenAI v3", "tsne_openai", "57.14"),
    ("Cohere v3", "tsne_cohere", "56.40"),
];

/// Fold accuracies of scikit-learn 1.9.1 on the published SBERT map.
pub(crate) const SBERT_FOLDS: &str =
    "0.5689 0.5934 0.6087 0.6038 0.5785 0.5686 0.5625 0.5448 0.5333 0.5218";

/// Note for the bundled collection.
pub(crate) const NOTE: &str = "\
This is the small bundled collection of invented datasets and queries; its accuracies are not
meaningful. Set IR_DATA to a folder with the real files (iclr/labels_24v2.txt, iclr/tsne_*.npy,
iclr/abstracts_2017_2018_2021.jsonl.zst) to compare with published values.";

/// Folder of the benchmark files, if present.
pub(crate) fn iclr() -> Option<PathBuf> {
    let folder = Catalog::from_env().root()?.join("iclr");
    folder.is_dir().then_some(folder)
}

/// The bundled collection. A query has the class of its relevant dataset.
pub(crate) fn bundled() -> Result<LabeledTexts> {
    let classes = include_str!("classes.tsv").lines();
    let classes: HashMap<&str, &str> = classes.filter_map(|line| line.split_once('\t')).collect();
    let class = |id: &str| {
        classes
            .get(id)
            .copied()
            .with_context(|| format!("{id}: no class"))
    };
    let collection = catalog::open("bundled")?;
    let (mut texts, mut labels) = (Vec::new(), Vec::new());
    let mut docs = collection.corpus().docs()?;
    while let Some(doc) = docs.next().transpose()? {
        labels.push(class(&doc.id)?);
        texts.push(doc.text.clone());
    }
    for split in ["train", "test"] {
        let qrels = collection.qrels(split)?;
        for query in collection.queries(split)? {
            let mut answers = qrels.get(&query.id).into_iter().flatten();
            let (doc, _) = answers.next().context("a query has no relevant dataset")?;
            labels.push(class(doc)?);
            texts.push(query.text);
        }
    }
    Ok(LabeledTexts {
        name: "The bundled collection",
        texts,
        items: LabeledItems::new(&labels),
        components: 20,
        columns: &[],
        expected: &[],
    })
}

/// Reads the available abstracts.
pub(crate) fn abstracts(folder: &Path) -> Result<LabeledTexts> {
    let path = folder.join("abstracts_2017_2018_2021.jsonl.zst");
    let name = path.display().to_string();
    let mut lines = LineReader::new(ir_data::open(&path)?, &name);
    let (mut texts, mut labels) = (Vec::new(), Vec::new());
    while let Some(line) = lines.read()? {
        let at = || format!("{name}:{}", line.number);
        let paper: Value = serde_json::from_str(line.text).with_context(at)?;
        let field = |field: &str| -> Result<String> {
            let text = paper[field].as_str();
            let expected = || format!("{}: expected text in the field {field:?}", at());
            Ok(text.with_context(expected)?.to_owned())
        };
        texts.push(field("abstract")?);
        labels.push(field("label")?);
    }
    Ok(LabeledTexts {
        name: "Abstracts of 2017, 2018 and 2021",
        texts,
        items: LabeledItems::new(&labels),
        components: 100,
        columns: &OTHERS,
        expected: &EXPECTED,
    })
}

/// Reads the labels of all papers.
pub(crate) fn labels(folder: &Path) -> Result<LabeledItems> {
    let path = folder.join("labels_24v2.txt");
    let name = path.display().to_string();
    let mut lines = LineReader::new(ir_data::open(&path)?, &name);
    let mut labels = Vec::new();
    while let Some(line) = lines.read()? {
        labels.push(line.text.to_owned());
    }
    Ok(LabeledItems::new(&labels))
}

/// Reads a published map with one row per label.
pub(crate) fn map(folder: &Path, file: &str, papers: usize) -> Result<Array2<f64>> {
    let path = folder.join(file).with_extension("npy");
    let name = path.display().to_string();
    let file = File::open(&path).with_context(|| format!("{name}: cannot open"))?;
    let map = npy::read(BufReader::new(file), &name)?;
    let (rows, columns) = map.dim();
    let expected = rows == papers && columns == 2;
    ensure!(
        expected,
        "{name}: expected {papers} rows of 2, found {rows} of {columns}"
    );
    Ok(map)
}
