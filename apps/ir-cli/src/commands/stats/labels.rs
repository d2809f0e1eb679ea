//! Classes of the papers of the ICLR dataset by a map of keywords (`--keyword-labels`).

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::{Result, bail};
use ir_data::iclr::Paper;
use ir_knn::{IclrVersion, KeywordClasses, KeywordTableError};
use ir_studies::iclr::{UNLABELED, clean_keywords};
use serde_json::{Value, json};

use super::{Args, Row};
use crate::shared::console::Console;
use crate::shared::format::grouped;
use crate::shared::input;
use crate::shared::output::OutputSink;

/// Class of each paper by a map of keywords.
pub(super) struct KeywordLabels {
    /// Class by paper, in the order of the file.
    labels: Vec<String>,
    /// Number of papers with another class in the file.
    changed: u64,
}

impl KeywordLabels {
    /// Reads the map and assigns the classes. [`None`] without `--keyword-labels`.
    pub(super) fn read(args: &Args, papers: &[Paper], console: &Console) -> Result<Option<Self>> {
        let Some(file) = &args.keyword_labels else {
            return Ok(None);
        };
        let (reader, name) = input::open(file, console)?;
        let version = args.keyword_version;
        let classes = match version {
            Some(version) => KeywordClasses::read_version(reader, &name, version),
            None => KeywordClasses::read(reader, &name),
        };
        let classes = classes.map_err(|error| with_advice(error, version))?;
        if classes.is_empty() {
            bail!("--keyword-labels: {name}: expected keywords, found none");
        }
        Ok(Some(Self::new(papers, classes, version)))
    }

    fn new(papers: &[Paper], classes: KeywordClasses, version: Option<IclrVersion>) -> Self {
        let keywords = papers.iter().map(|paper| match version {
            Some(IclrVersion::V26v1) => clean_keywords(&paper.keywords),
            _ => paper.keywords.clone(),
        });
        let keywords: Vec<Vec<String>> = keywords.collect();
        let classes = match version {
            None | Some(IclrVersion::V24v2) => classes,
            Some(_) => classes.recount(&keywords),
        };
        let label =
            |keywords: &Vec<String>| classes.class(keywords).unwrap_or(UNLABELED).to_owned();
        let labels: Vec<String> = keywords.iter().map(label).collect();
        let both = papers.iter().zip(&labels);
        let changed = both.filter(|(paper, label)| paper.class != **label).count() as u64;
        Self { labels, changed }
    }

    /// Number of papers by class.
    fn counts(&self) -> BTreeMap<&str, u64> {
        let mut counts = BTreeMap::new();
        for label in &self.labels {
            *counts.entry(label.as_str()).or_default() += 1;
        }
        counts
    }

    /// Number of classes, then a row for each class, largest first.
    pub(super) fn rows(&self) -> Vec<Row> {
        let mut counts: Vec<(&str, u64)> = self.counts().into_iter().collect();
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let classes = counts.iter().filter(|(class, _)| *class != UNLABELED);
        let mut rows = vec![
            [
                "classes by keywords".to_owned(),
                classes.count().to_string(),
            ],
            [
                "other classes than in the file".to_owned(),
                grouped(self.changed),
            ],
        ];
        rows.extend(
            counts
                .iter()
                .map(|(class, count)| [format!("  {class}"), grouped(*count)]),
        );
        rows
    }

    pub(super) fn to_json(&self) -> Value {
        json!({ "papers_by_class": self.counts(), "other_than_in_the_file": self.changed })
    }

    /// Writes the class of each paper as a line.
    pub(super) fn write(&self, args: &Args) -> Result<()> {
        let Some(path) = &args.write_labels else {
            return Ok(());
        };
        OutputSink::open(Some(path))?.write_with(|out| {
            self.labels
                .iter()
                .try_for_each(|label| writeln!(out, "{label}"))
        })
    }
}

/// Names the option that reads the other form of a map.
fn with_advice(error: KeywordTableError, version: Option<IclrVersion>) -> anyhow::Error {
    let has_versions = match &error {
        KeywordTableError::Syntax { line: 1, found, .. } => match found.as_str() {
            r#""keyword\tfrequency\tlabel""# => Some(false),
            found if found.contains("label_24v2") => Some(true),
            _ => None,
        },
        _ => None,
    };
    let error = anyhow::Error::from(error);
    match (version, has_versions) {
        (None, Some(true)) => {
            error.context("--keyword-labels: a map of all versions needs --keyword-version")
        }
        (Some(_), Some(false)) => {
            error.context("--keyword-labels: a map of one version has no --keyword-version")
        }
        _ => error.context("--keyword-labels"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first keyword is rarest in the map, the second in the papers.
    #[test]
    fn later_versions_count_in_the_papers() {
        let paper = |keywords: &[&str]| Paper {
            keywords: keywords.iter().map(|&keyword| keyword.to_owned()).collect(),
            class: "A".to_owned(),
            ..Paper::default()
        };
        let papers = [
            paper(&["a", "b"]),
            paper(&["a"]),
            paper(&["A; B."]),
            paper(&["x"]),
        ];
        let table = "keyword\tfreq_24v2\tlabel_24v2\tlabel_25v2\tlabel_26v1\n\
                     a\t1\tA\tA\tA\nb\t9\tB\tB\tB\n";
        let labels = |version| {
            let classes = KeywordClasses::read_version(table.as_bytes(), "map.tsv", version);
            KeywordLabels::new(&papers, classes.unwrap(), Some(version))
        };
        let first = labels(IclrVersion::V24v2);
        assert_eq!(first.labels, ["A", "A", "unlabeled", "unlabeled"]);
        assert_eq!(first.changed, 2);
        let second = labels(IclrVersion::V25v2);
        assert_eq!(second.labels, ["B", "A", "unlabeled", "unlabeled"]);
        // Cleaned: a; b. Three papers have a, two have b.
        let third = labels(IclrVersion::V26v1);
        assert_eq!(third.labels, ["B", "A", "B", "unlabeled"]);
        let rows = third.rows();
        assert_eq!(rows[0][1], "2");
        assert_eq!(rows[2], ["  B".to_owned(), "2".to_owned()]);
    }
}
