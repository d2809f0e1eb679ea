//! Training data: everything that is published except the test queries.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Result;
use ir_core::Document;
use ir_core::training::HeldOut;
use ir_data::attribute;
use ir_data::datafinder::{
    DatasetQuery, read_tagged_papers, read_training_queries, underscored, without_test_queries,
};
use ir_studies::datafinder::{DatasetNames, UsageCounts};

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
    /// Texts that mention a dataset: papers, training queries, other descriptions. Only
    /// descriptions have a year.
    pub(crate) uses: UsageCounts,
    /// Years of the dated texts, once for each dataset that a text mentions.
    years: Vec<i64>,
}

/// A fifth of the training queries is held out.
const HELD_OUT: HeldOut = HeldOut {
    fraction: 0.2,
    seed: 42,
};

impl Sources {
    /// Reads the files of the collection folder. Training queries that equal one of
    /// `test_queries` are left out.
    pub(crate) fn read(
        folder: &Path,
        datasets: &[Document],
        test_queries: &[String],
    ) -> Result<Self> {
        let names = DatasetNames::new(datasets);
        let known: BTreeSet<&str> = datasets.iter().map(|dataset| dataset.id.as_str()).collect();
        let mut sources = Self {
            training: Vec::new(),
            held_out: Vec::new(),
            uses: UsageCounts::default(),
            years: Vec::new(),
        };

        // Datasets of a paper: tagged ones, and those mentioned in its sentences.
        let mut used_by_query: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut papers = Vec::new();
        for paper in read_tagged_papers(&folder.join("paper_dataset_pairs.jsonl.zst"))? {
            let tagged = paper.datasets.iter().map(|id| underscored(id));
            let mut used: BTreeSet<String> = tagged.collect();
            for snippet in &paper.snippets {
                used.extend(names.datasets(snippet).into_iter().map(str::to_owned));
            }
            used.retain(|id| known.contains(id.as_str()));
            match paper.training_query {
                Some(n) => drop(used_by_query.insert(n.to_string(), used)),
                None => papers.push((used, None)),
            }
        }

        let labeled = queries(&folder.join("train_labelled.jsonl"))?; // language: allow
        let labels: BTreeMap<&str, &Vec<String>> = labeled
            .iter()
            .map(|row| (row.query.id.as_str(), &row.positives))
            .collect();
        let rows = queries(&folder.join("train_queries.jsonl.zst"))?;
        let (rows, equal) = without_test_queries(rows, test_queries.iter().map(String::as_str));
        for row in equal {
            println!(
                "training query {} equals a test query: left out",
                row.query.id
            );
        }
        for row in rows {
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
                papers.push((used, None));
            }
        }
        papers.extend(datasets.iter().map(|dataset| {
            let mut named = names.datasets(&dataset.text);
            named.remove(dataset.id.as_str());
            let named = named.into_iter().map(str::to_owned).collect();
            (named, dataset.attributes.year())
        }));
        for (used, year) in papers {
            for id in used {
                sources.uses.add(&id, year);
                sources.years.extend(year);
            }
        }
        Ok(sources)
    }

    /// Proportion of the dated mentions that are older than a year.
    pub(crate) fn proportion_before(&self, year: i64) -> f64 {
        let before = self.years.iter().filter(|&&of_text| of_text < year);
        before.count() as f64 / self.years.len().max(1) as f64
    }

    /// Number of texts that mention a dataset.
    pub(crate) fn uses(&self, dataset: &str) -> u64 {
        self.uses.total(dataset)
    }
}

fn queries(path: &Path) -> Result<Vec<DatasetQuery>> {
    let source = path.display().to_string();
    let reader = ir_data::open(path)?;
    Ok(read_training_queries(reader, &source, "")?)
}
