use std::collections::HashMap;
use std::path::PathBuf;

use ir_core::trec::HeaderLine;
use ir_core::{Corpus, Qrels, Query};

use super::entry::{CatalogEntry, CatalogFormat};
use crate::beir::BeirFolder;
use crate::bundled::{BundledCorpus, BundledQueries};
use crate::collection::{
    Collection, CountedCorpus, InMemoryJudgedQueries, JudgedQueries, value_of_split,
};
use crate::compression::open;
use crate::datafinder::{
    DatasetCorpus, DatasetQuery, TRAINING_PREFIX, TaggedDatasetCorpus, read_test_queries,
    read_training_queries, underscored, without_test_queries,
};
use crate::error::{DataError, check_count, name_of};
use crate::json::FieldNames;
use crate::jsonl::{self, JsonlCorpus};
use crate::smart::{SmartCorpus, SmartQueries};
use crate::squad::{SquadFile, SquadSentences};
use crate::trec::read_qrels;

/// Opens the collection of an entry, with its files at `paths`.
pub(super) fn open_entry(
    entry: &'static CatalogEntry,
    paths: Vec<PathBuf>,
) -> Result<Collection, DataError> {
    let file = |n: usize| paths.get(n).cloned().unwrap_or_default();
    Ok(match entry.format {
        CatalogFormat::Bundled => counted(entry, BundledCorpus, BundledQueries),
        CatalogFormat::Beir => {
            let folder = BeirFolder::from_files(entry.name.as_str().into(), paths);
            counted(entry, folder.corpus(), folder)
        }
        CatalogFormat::DataFinder | CatalogFormat::DataFinderTagged => {
            let corpus = DatasetCorpus::new(file(0));
            let judged = DatasetSplits {
                test: file(1),
                train: file(4),
                published: Some(PublishedTestSet {
                    ids: file(2),
                    qrels: file(3),
                }),
            };
            if entry.format == CatalogFormat::DataFinder {
                counted(entry, corpus, judged)
            } else {
                let papers = file(5);
                counted(entry, TaggedDatasetCorpus { corpus, papers }, judged)
            }
        }
        CatalogFormat::Makg => counted(
            entry,
            DatasetCorpus::new(file(0)),
            DatasetSplits {
                test: file(1),
                train: file(2),
                published: None,
            },
        ),
        CatalogFormat::Cranfield => counted(
            entry,
            SmartCorpus::cranfield(file(0)),
            SmartQueries::cranfield(file(1), file(2)),
        ),
        CatalogFormat::Cisi => counted(
            entry,
            SmartCorpus::cisi(file(0)),
            SmartQueries::cisi(file(1), file(2)),
        ),
        CatalogFormat::Squad => {
            let file = SquadFile::new(file(0));
            counted(entry, file.clone(), file)
        }
        CatalogFormat::SquadSentences => {
            let file = SquadSentences::new(file(0));
            counted(entry, file.clone(), file)
        }
        CatalogFormat::Iclr => {
            let fields = FieldNames {
                text: "abstract".to_owned(),
                ..FieldNames::anserini()
            };
            let corpus = JsonlCorpus::new(file(0)).with_fields(fields);
            counted(entry, corpus, InMemoryJudgedQueries::default())
        }
        CatalogFormat::Files | CatalogFormat::BioCaddie => {
            return Err(DataError::NotACollection {
                name: entry.name.clone(),
            });
        }
    })
}

fn counted(
    entry: &'static CatalogEntry,
    corpus: impl Corpus + 'static,
    judged: impl JudgedQueries + 'static,
) -> Collection {
    let corpus = CountedCorpus::new(corpus, entry.name.as_str(), entry.documents);
    Collection::new(
        entry.name.as_str(),
        corpus,
        CountedQueries { entry, judged },
    )
    .with_notes(entry.notes.iter().cloned())
}

/// Queries and judgments. Their counts are compared with the entry.
struct CountedQueries<J> {
    entry: &'static CatalogEntry,
    judged: J,
}

impl<J> CountedQueries<J> {
    fn check(&self, items: &'static str, expected: u64, found: usize) -> Result<(), DataError> {
        check_count(&self.entry.name, items, expected, found as u64)
    }
}

impl<J: JudgedQueries> JudgedQueries for CountedQueries<J> {
    fn source(&self) -> String {
        self.judged.source()
    }

    fn splits(&self) -> Vec<String> {
        self.entry.splits.keys().cloned().collect()
    }

    fn all_queries(&self) -> Result<Vec<Query>, DataError> {
        let queries = self.judged.all_queries()?;
        self.check("queries", self.entry.queries, queries.len())?;
        Ok(queries)
    }

    fn qrels(&self, split: &str) -> Result<Qrels, DataError> {
        let counts = value_of_split(&self.entry.splits, split, &self.entry.name)?;
        let qrels = self.judged.qrels(split)?;
        self.check("judged queries", counts.queries, qrels.len())?;
        self.check("judgments", counts.judgments, qrels.judgments())?;
        Ok(qrels)
    }

    fn left_out(&self, split: &str) -> Result<u64, DataError> {
        self.judged.left_out(split)
    }

    fn relevant_in_file_order(
        &self,
        split: &str,
    ) -> Result<HashMap<String, Vec<String>>, DataError> {
        self.judged.relevant_in_file_order(split)
    }
}

/// Queries of DataFinder or MAKG with the splits `test` and `train`.
struct DatasetSplits {
    test: PathBuf,
    train: PathBuf,
    published: Option<PublishedTestSet>,
}

/// Files with the ids and the judgments of DataFinder's test queries.
struct PublishedTestSet {
    ids: PathBuf,
    qrels: PathBuf,
}

impl DatasetSplits {
    /// Queries of the test file, with the ids of the cleaned file if there is one.
    fn test(&self) -> Result<Vec<DatasetQuery>, DataError> {
        let prefix = if self.published.is_some() {
            "t"
        } else {
            "test-"
        };
        let mut rows = read_test_queries(open(&self.test)?, &self.source(), prefix)?;
        let Some(PublishedTestSet { ids: cleaned, .. }) = &self.published else {
            return Ok(rows);
        };
        let source = name_of(cleaned);
        let cleaned = jsonl::read_queries(open(cleaned)?, &source, &FieldNames::beir())?;
        let mut ids: HashMap<String, String> = cleaned
            .into_iter()
            .map(|query| (query.text, query.id))
            .collect();
        for DatasetQuery { query, .. } in &mut rows {
            query.id = ids
                .remove(&query.text)
                .ok_or_else(|| DataError::JudgedQueryMissing {
                    path: source.clone(),
                    missing: 1,
                    query: query.id.clone(),
                })?;
        }
        Ok(rows)
    }

    /// Queries of the training file. Those of DataFinder that equal a test query are left out.
    fn train(&self) -> Result<Vec<DatasetQuery>, DataError> {
        Ok(self.train_and_left_out()?.0)
    }

    /// Queries of the training file, and those that are left out.
    fn train_and_left_out(&self) -> Result<(Vec<DatasetQuery>, Vec<DatasetQuery>), DataError> {
        let source = name_of(&self.train);
        let rows = read_training_queries(open(&self.train)?, &source, TRAINING_PREFIX)?;
        if self.published.is_none() {
            return Ok((rows, Vec::new()));
        }
        let test = self.test()?;
        let test = test.iter().map(|row| row.query.text.as_str());
        Ok(without_test_queries(rows, test))
    }
}

impl JudgedQueries for DatasetSplits {
    fn source(&self) -> String {
        name_of(&self.test)
    }

    fn splits(&self) -> Vec<String> {
        vec!["test".to_owned(), "train".to_owned()]
    }

    fn all_queries(&self) -> Result<Vec<Query>, DataError> {
        let rows = self.test()?.into_iter().chain(self.train()?);
        Ok(rows.map(|row| row.query).collect())
    }

    fn qrels(&self, split: &str) -> Result<Qrels, DataError> {
        match &self.published {
            _ if split == "train" => Ok(DatasetQuery::qrels(&self.train()?)),
            Some(published) => Ok(read_qrels(&published.qrels, HeaderLine::AsData)?.data),
            None => Ok(DatasetQuery::qrels(&self.test()?)),
        }
    }

    fn left_out(&self, split: &str) -> Result<u64, DataError> {
        match split {
            "train" => Ok(self.train_and_left_out()?.1.len() as u64),
            _ => Ok(0),
        }
    }

    /// Positives of the training queries.
    fn relevant_in_file_order(
        &self,
        split: &str,
    ) -> Result<HashMap<String, Vec<String>>, DataError> {
        if split != "train" {
            return Ok(HashMap::new());
        }
        let of_row = |row: DatasetQuery| {
            let positives = row.positives.iter().map(|name| underscored(name));
            (row.query.id, positives.collect())
        };
        Ok(self.train()?.into_iter().map(of_row).collect())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use super::*;

    /// A training query that equals a test query is left out, with a note.
    #[test]
    fn training_queries_that_are_test_queries() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            path
        };
        let row = |query: &str, field: &str| {
            format!("{{\"query\": \"{query}\", \"keyphrase_query\": \"\", \"{field}\": [\"d\"]}}\n")
        };
        let splits = DatasetSplits {
            test: write("test.jsonl", &row("parse trees", "documents")),
            train: write(
                "train.jsonl",
                &["images", " parse trees"]
                    .map(|text| row(text, "positives"))
                    .into_iter()
                    .chain([row("tea", "positives").replace("[\"d\"]", "[\"e f\", \"d\"]")])
                    .collect::<String>(),
            ),
            published: Some(PublishedTestSet {
                ids: write(
                    "ids.jsonl",
                    "{\"_id\": \"t0\", \"text\": \"parse trees\"}\n",
                ),
                qrels: write("qrels.trec", "t0 0 d 1\n"),
            }),
        };
        assert_eq!(splits.qrels("train").unwrap().len(), 2);
        // The order of the file; judgments are in byte order.
        let relevant = splits.relevant_in_file_order("train").unwrap();
        assert_eq!(relevant["train-2"], ["e_f", "d"]);
        assert!(splits.relevant_in_file_order("test").unwrap().is_empty());
        let collection = Collection::new("datafinder", Vec::<ir_core::Document>::new(), splits);
        assert_eq!(
            collection.left_out_note("train").unwrap().as_deref(),
            Some("1 query of split train left out: equal to a test query")
        );
        assert_eq!(collection.left_out_note("test").unwrap(), None);
    }
}
