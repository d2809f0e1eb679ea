//! What may be learnt from: everything that is published but the test queries.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};
use ir_core::{Document, HeldBack, name};
use ir_data::Lines;
use ir_data::datafinder::{TestQuery, read_training_queries, underscored};
use serde::Deserialize;

use datafinder_ablations::names::Names;

/// A query of the training set in both forms, and the datasets that its paper is known to use.
pub(crate) struct Asked {
    pub(crate) sentence: String,
    pub(crate) keyphrases: String,
    pub(crate) datasets: BTreeSet<String>,
}

/// Training material.
pub(crate) struct Sources {
    /// Queries to learn from.
    pub(crate) learnt: Vec<Asked>,
    /// Queries on which choices are made; nothing is learnt from them.
    pub(crate) held_back: Vec<Asked>,
    /// How many texts name a dataset: papers, training queries, descriptions of other datasets.
    uses: BTreeMap<String, u16>,
}

/// A fifth of the labelled queries.
const HELD_BACK: HeldBack = HeldBack {
    share: 0.2,
    seed: 42,
};

/// A paper in which datasets were tagged, and the sentences that name them.
#[derive(Deserialize)]
struct Paper {
    datasets: Vec<String>,
    /// The training query made from it, where that is established.
    aligned_n: Option<u64>,
    snippets: Vec<String>,
}

impl Sources {
    /// Reads the files of the collection's folder.
    pub(crate) fn read(folder: &Path, datasets: &[Document]) -> Result<Self> {
        let names = Names::of(datasets);
        let known: BTreeSet<&str> = datasets.iter().map(|dataset| dataset.id.as_str()).collect();
        let mut sources = Self {
            learnt: Vec::new(),
            held_back: Vec::new(),
            uses: BTreeMap::new(),
        };

        // A paper uses what it was tagged with, and what else its sentences name.
        let mut used_by_query: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut papers = Vec::new();
        let path = folder.join("paper_dataset_pairs.jsonl.zst");
        let source = path.display().to_string();
        let mut lines = Lines::new(ir_data::open(&path)?, &source);
        while let Some(line) = lines.read()? {
            let place = || format!("{source}:{}", line.number);
            let paper: Paper = serde_json::from_str(line.text).with_context(place)?;
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

        let labelled = queries(&folder.join("train_labelled.jsonl"))?;
        let labels: BTreeMap<&str, &Vec<String>> = labelled
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
            let keyphrases = row.query.attributes.text(name::KEYPHRASES);
            let asked = Asked {
                sentence: names.without(&row.query.text),
                keyphrases: names.without(keyphrases.unwrap_or_default()),
                datasets: used.clone(),
            };
            if HELD_BACK.has(&row.query.text) {
                sources.held_back.push(asked);
            } else {
                sources.learnt.push(asked);
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

    /// How many texts name a dataset.
    pub(crate) fn uses(&self, dataset: &str) -> u16 {
        self.uses.get(dataset).copied().unwrap_or_default()
    }
}

fn queries(path: &Path) -> Result<Vec<TestQuery>> {
    let source = path.display().to_string();
    let reader = ir_data::open(path)?;
    Ok(read_training_queries(reader, &source, "")?)
}
