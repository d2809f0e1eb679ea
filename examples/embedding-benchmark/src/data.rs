//! What is judged: texts and maps with their labels, and the figures that others found.

use std::collections::HashMap;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use ir_data::Lines;
use ir_data::catalogue::{self, Catalogue};
use ir_knn::{DenseRows, Labels, npy};
use serde_json::Value;

/// The label of papers that none of the keywords decides for. They are not judged.
const UNLABELLED: &str = "unlabeled";

/// Which items have a label, and which.
pub(crate) struct Labelled {
    /// How many items there are, with a label or without.
    pub(crate) items: usize,
    /// The numbers of those with a label.
    pub(crate) rows: Vec<usize>,
    /// Theirs, in the same order.
    pub(crate) labels: Labels,
}

impl Labelled {
    fn of<S: AsRef<str>>(all: &[S]) -> Self {
        let labels = || all.iter().map(AsRef::as_ref).enumerate();
        let known = || labels().filter(|&(_, label)| label != UNLABELLED);
        Self {
            items: all.len(),
            rows: known().map(|(row, _)| row).collect(),
            labels: Labels::new(known().map(|(_, label)| label)),
        }
    }

    /// Prints what is judged, and the names of the columns.
    pub(crate) fn head(&self, name: &str, columns: &[&str]) {
        let (items, known, classes) = (self.items, self.rows.len(), self.labels.classes().len());
        println!("{name}: {items}, of which {known} have a label, of {classes} classes");
        println!("accuracy of 10 nearest neighbours, mean of 10 folds, %\n");
        print!("{:<26}{:>8}", "", "ours");
        for column in columns {
            print!("{column:>16}");
        }
        println!();
    }
}

/// Texts with labels, and what is known of them.
pub(crate) struct Texts {
    pub(crate) name: &'static str,
    pub(crate) texts: Vec<String>,
    pub(crate) labelled: Labelled,
    /// Dimensions of the SVD.
    pub(crate) components: usize,
    /// Who else computed the figures.
    pub(crate) columns: &'static [&'static str],
    /// Theirs, for TF-IDF, SVD, SVD with L2 norm, and its map.
    pub(crate) expected: &'static [&'static [&'static str]],
}

/// Abstracts of three years: scikit-learn on the same, with the map by openTSNE 1.0.4 (seed 42); all
/// years as published.
const OTHERS: [&str; 2] = ["Python", "all years"];
const EXPECTED: [&[&str]; 4] = [
    &["59.38", "59.18"],
    &["56.33", "58.86"],
    &["60.57", "60.72"],
    &["55.22", "56.74"],
];

/// Name, file and published accuracy of the maps (scripts/05 of berenslab/iclr-dataset).
pub(crate) const MAPS: [(&str, &str, &str); 4] = [
    ("SBERT", "tsne_sbert", "56.8"),
    ("SVD, L2 norm", "tsne_L2_svd", "56.74"),
    ("OpenAI v3", "tsne_openai", "57.14"),
    ("Cohere v3", "tsne_cohere", "56.40"),
];

/// scikit-learn 1.9.1 on the published map.
pub(crate) const SBERT_FOLDS: &str =
    "0.5689 0.5934 0.6087 0.6038 0.5785 0.5686 0.5625 0.5448 0.5333 0.5218";

/// What is said of the bundled collection.
pub(crate) const NOTE: &str = "\
This is the small bundled collection: descriptions of invented datasets and queries for them. With so
few texts the figures say little. Set IR_DATA to a folder with the real files (iclr/labels_24v2.txt,
iclr/tsne_*.npy, iclr/abstracts_2017_2018_2021.jsonl.zst) to compare with what is published.";

/// The folder of the benchmark, if it is there.
pub(crate) fn iclr() -> Option<PathBuf> {
    let folder = Catalogue::from_env().root()?.join("iclr");
    folder.is_dir().then_some(folder)
}

/// The bundled collection: a query has the class of the dataset that answers it.
pub(crate) fn bundled() -> Result<Texts> {
    let classes = include_str!("classes.tsv").lines();
    let classes: HashMap<&str, &str> = classes.filter_map(|line| line.split_once('\t')).collect();
    let class = |id: &str| {
        classes
            .get(id)
            .copied()
            .with_context(|| format!("no class of {id}"))
    };
    let collection = catalogue::open("bundled")?;
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
            let (doc, _) = answers.next().context("an answer to every query")?;
            labels.push(class(doc)?);
            texts.push(query.text);
        }
    }
    Ok(Texts {
        name: "The bundled collection",
        texts,
        labelled: Labelled::of(&labels),
        components: 20,
        columns: &[],
        expected: &[],
    })
}

/// The abstracts that can be had.
pub(crate) fn abstracts(folder: &Path) -> Result<Texts> {
    let path = folder.join("abstracts_2017_2018_2021.jsonl.zst");
    let name = path.display().to_string();
    let mut lines = Lines::new(ir_data::open(&path)?, &name);
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
    Ok(Texts {
        name: "Abstracts of 2017, 2018 and 2021",
        texts,
        labelled: Labelled::of(&labels),
        components: 100,
        columns: &OTHERS,
        expected: &EXPECTED,
    })
}

/// The labels of all papers of all years.
pub(crate) fn labels(folder: &Path) -> Result<Labelled> {
    let path = folder.join("labels_24v2.txt");
    let name = path.display().to_string();
    let mut lines = Lines::new(ir_data::open(&path)?, &name);
    let mut labels = Vec::new();
    while let Some(line) = lines.read()? {
        labels.push(line.text.to_owned());
    }
    Ok(Labelled::of(&labels))
}

/// One of the published maps, for as many papers as there are labels.
pub(crate) fn map(folder: &Path, file: &str, papers: usize) -> Result<DenseRows> {
    let path = folder.join(file).with_extension("npy");
    let name = path.display().to_string();
    let file = File::open(&path).with_context(|| format!("{name}: could not be opened"))?;
    let map = npy::read(BufReader::new(file), &name)?;
    let (rows, columns) = (map.len(), map.dim());
    let expected = rows == papers && columns == 2;
    ensure!(
        expected,
        "{name}: expected {papers} rows of 2, found {rows} of {columns}"
    );
    Ok(map)
}
