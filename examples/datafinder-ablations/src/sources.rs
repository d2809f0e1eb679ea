//! Training data: everything that is published except the test queries.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};
use ir_core::Document;
use ir_core::training::HeldOut;
use ir_data::LineReader;
use ir_data::attribute;
use ir_data::datafinder::{DatasetNames, DatasetQuery, read_training_queries, underscored};
use serde::Deserialize;

/// A training query in both forms, and the datasets its paper is known to use.
pub(crate) struct PaperQuery {
    pub(crate) sentence: String,
    pub(crate) keyphrases: String,
    pub(crate) datasets: BTreeSet<String>,
}

/// Training and validation queries, and popularity counts.
pub(crate) struct Sources {
    /// Training queries, without the held-out ones.
    pub(crate) training: Vec<PaperQuery>,
    /// Held-out queries for model selection.
    pub(crate) held_out: Vec<PaperQuery>,
    /// Number of texts that mention a dataset: papers, training queries, other descriptions.
    uses: BTreeMap<String, u16>,
}

/// A fifth of the training queries is held out.
const HELD_OUT: HeldOut = HeldOut {
    fraction: 0.2,
    seed: 42,
};

/// A paper with tagged datasets and the sentences that mention them.
#[derive(Deserialize)]
struct Paper {
    datasets: Vec<String>,
    /// Training query made from the paper, if known.
    aligned_n: Option<u64>,
    snippets: Vec<String>,
}

impl Sources {
    /// Reads the files of the collection folder.
    pub(crate) fn read(folder: &Path, datasets: &[Document]) -> Result<Self> {
        let names = DatasetNames::new(datasets);
        let known: BTreeSet<&str> = datasets.iter().map(|dataset| dataset.id.as_str()).collect();
        let mut sources = Self {
            training: Vec::new(),
            held_out: Vec::new(),
            uses: BTreeMap::new(),
        };

        // Datasets of a paper: tagged ones, and those mentioned in its sentences.
        let mut used_by_query: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut papers = Vec::new();
        let path = folder.join("paper_dataset_pairs.jsonl.zst");
        let source = path.display().to_string();
        let mut lines = LineReader::new(ir_data::open(&path)?, &source);
        while let Some(line) = lines.read()? {
            let location = || format!("{source}:{}", line.number);
            let paper: Paper = serde_json::from_str(line.text).with_context(location)?;
            let tagged = paper.datasets.iter().map(|id| underscored(id));
            let mut used: BTreeSet<String> = tagged.collect();
            for snippet in &paper.snippets {
                used.extend(names.datasets(snippet).into_iter().map(str::to_owned));
            }
            used.retain(|id| known.contains(id.as_str()));
            match paper.aligned_n {
                Some(n) => drop(used_by_query.insert(n.to_string(), used)),
                None => papers.push(used),
            }
        }

        let labeled = queries(&folder.join("train_labelled.jsonl"))?; // language: allow
        let labels: BTreeMap<&str, &Vec<String>> = labeled
            .iter()
            .map(|row| (row.query.id.as_str(), &row.positives))
            .collect();
        for row in queries(&folder.join("train_queries.jsonl.zst"))? {
            let labels = labels.get(row.query.id.as_str());
            let named = names.datasets(&row.query.text);
            let mut used: BTreeSet<String> = named.into_iter().map(str::to_owned).collect();
            used.extend(used_by_query.remove(&row.query.id).into_iter().flatten());
            let labels = labels.into_iter().flat_map(|labels| labels.iter());
            used.extend(labels.map(|id| underscored(id)));
            used.retain(|id| known.contains(id.as_str()));
            if used.is_empty() {
                continue;
            }
            let keyphrases = row.query.attributes.text(attribute::KEYPHRASES);
            let query = PaperQuery {
                sentence: names.remove_from(&row.query.text),
                keyphrases: names.remove_from(keyphrases.unwrap_or_default()),
                datasets: used.clone(),
            };
            if HELD_OUT.contains(&row.query.text) {
                sources.held_out.push(query);
            } else {
                sources.training.push(query);
                papers.push(used);
            }
        }
        papers.extend(datasets.iter().map(|dataset| {
            let mut named = names.datasets(&dataset.text);
            named.remove(dataset.id.as_str());
            named.into_iter().map(str::to_owned).collect()
        }));
        for id in papers.into_iter().flatten() {
            *sources.uses.entry(id).or_default() += 1;
        }
        Ok(sources)
    }

    /// Number of texts that mention a dataset.
    pub(crate) fn uses(&self, dataset: &str) -> u16 {
        self.uses.get(dataset).copied().unwrap_or_default()
    }
}

fn queries(path: &Path) -> Result<Vec<DatasetQuery>> {
    let source = path.display().to_string();
    let reader = ir_data::open(path)?;
    Ok(read_training_queries(reader, &source, "")?)
}
