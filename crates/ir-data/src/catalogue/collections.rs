//! From the files of an entry to a collection.

use std::collections::HashMap;
use std::path::PathBuf;

use ir_core::trec::{self, Header};
use ir_core::{Corpus, Qrels, Query};

use super::{Catalogue, Entry};
use crate::beir::BeirFolder;
use crate::catalogue::entry::Form;
use crate::classic::{Cisi, Cranfield};
use crate::datafinder::{self, DatasetCorpus, TestQuery};
use crate::error::name_of;
use crate::open as open_file;
use crate::record::JsonFields;
use crate::{Collection, Counted, DataError, Judged, jsonl};

pub(super) fn open(catalogue: &Catalogue, entry: &'static Entry) -> Result<Collection, DataError> {
    let mut paths = Vec::new();
    for file in &entry.files {
        paths.push(catalogue.locate(entry, file)?);
    }
    let file = |n: usize| paths.get(n).cloned().unwrap_or_default();
    Ok(match entry.form {
        Form::Bundled => counted(
            entry,
            DatasetCorpus::embedded("bundled/corpus.jsonl", bundled::CORPUS),
            Bundled,
        ),
        Form::Beir => {
            let folder = BeirFolder::of(entry.name.as_str().into(), paths.clone());
            counted(entry, folder.corpus(), folder)
        }
        Form::DataFinder => counted(
            entry,
            DatasetCorpus::new(file(0)),
            DataFinder {
                test: file(1),
                ids: file(2),
                qrels: file(3),
                train: file(4),
            },
        ),
        Form::Makg => counted(
            entry,
            DatasetCorpus::new(file(0)),
            Makg {
                test: file(1),
                train: file(2),
            },
        ),
        Form::Cranfield => counted(
            entry,
            Cranfield::corpus(file(0)),
            Cranfield::new(file(1), file(2)),
        ),
        Form::Cisi => counted(entry, Cisi::corpus(file(0)), Cisi::new(file(1), file(2))),
    })
}

fn counted(
    entry: &'static Entry,
    corpus: impl Corpus + 'static,
    judged: impl Judged + 'static,
) -> Collection {
    let corpus = Counted::new(corpus, entry.name.as_str(), entry.documents);
    Collection::new(entry.name.as_str(), corpus, CountedJudged { entry, judged })
        .with_notes(entry.notes.iter().cloned())
}

/// Compares counts with those of the entry.
struct CountedJudged<J> {
    entry: &'static Entry,
    judged: J,
}

impl<J> CountedJudged<J> {
    fn check(&self, what: &'static str, expected: u64, found: usize) -> Result<(), DataError> {
        if expected == found as u64 {
            return Ok(());
        }
        Err(DataError::Count {
            path: self.entry.name.clone(),
            what,
            expected,
            found: found as u64,
        })
    }
}

impl<J: Judged> Judged for CountedJudged<J> {
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
        let Some(counts) = self.entry.splits.get(split) else {
            return Err(DataError::UnknownSplit {
                collection: self.entry.name.clone(),
                split: split.to_owned(),
                known: self.splits(),
            });
        };
        let qrels = self.judged.qrels(split)?;
        self.check("judged queries", counts.queries, qrels.len())?;
        self.check("judgments", counts.judgments, qrels.judgments())?;
        Ok(qrels)
    }
}

mod bundled {
    pub(super) const CORPUS: &str = include_str!("../../bundled/corpus.jsonl");
    pub(super) const TEST: &str = include_str!("../../bundled/test_queries.jsonl");
    pub(super) const TRAIN: &str = include_str!("../../bundled/train_queries.jsonl");
    pub(super) const QRELS: &str = include_str!("../../bundled/qrels.tsv");
}

/// The prefix of the ids of labelled training queries.
const TRAIN: &str = "train-";

fn queries_of(rows: Vec<TestQuery>) -> impl Iterator<Item = Query> {
    rows.into_iter().map(|row| row.query)
}

struct Bundled;

impl Bundled {
    fn train() -> Result<Vec<TestQuery>, DataError> {
        datafinder::read_training_queries(
            bundled::TRAIN.as_bytes(),
            "bundled/train_queries.jsonl",
            TRAIN,
        )
    }
}

impl Judged for Bundled {
    fn source(&self) -> String {
        "bundled".to_owned()
    }

    fn splits(&self) -> Vec<String> {
        vec!["test".to_owned(), "train".to_owned()]
    }

    fn all_queries(&self) -> Result<Vec<Query>, DataError> {
        let name = "bundled/test_queries.jsonl";
        let test = datafinder::read_test_queries(bundled::TEST.as_bytes(), name, "q")?;
        Ok(queries_of(test).chain(queries_of(Self::train()?)).collect())
    }

    fn qrels(&self, split: &str) -> Result<Qrels, DataError> {
        if split == "train" {
            return Ok(TestQuery::qrels(&Self::train()?));
        }
        let text = bundled::QRELS.as_bytes();
        Ok(trec::read_qrels(text, "bundled/qrels.tsv", Header::AsData)?.data)
    }
}

struct DataFinder {
    test: PathBuf,
    ids: PathBuf,
    qrels: PathBuf,
    train: PathBuf,
}

impl DataFinder {
    fn train(&self) -> Result<Vec<TestQuery>, DataError> {
        let file = open_file(&self.train)?;
        datafinder::read_training_queries(file, &name_of(&self.train), TRAIN)
    }

    /// The rows of the published file, by the ids of the cleaned one.
    fn test(&self) -> Result<Vec<Query>, DataError> {
        let ids_name = name_of(&self.ids);
        let cleaned = jsonl::read_queries(open_file(&self.ids)?, &ids_name, &JsonFields::beir())?;
        let mut ids: HashMap<String, String> = cleaned
            .into_iter()
            .map(|query| (query.text, query.id))
            .collect();
        let name = name_of(&self.test);
        let rows = datafinder::read_test_queries(open_file(&self.test)?, &name, "t")?;
        let mut queries = Vec::with_capacity(rows.len());
        for mut query in queries_of(rows) {
            query.id = ids
                .remove(&query.text)
                .ok_or_else(|| DataError::JudgedQueryMissing {
                    path: ids_name.clone(),
                    missing: 1,
                    query: query.id.clone(),
                })?;
            queries.push(query);
        }
        Ok(queries)
    }
}

impl Judged for DataFinder {
    fn source(&self) -> String {
        name_of(&self.test)
    }

    fn splits(&self) -> Vec<String> {
        vec!["test".to_owned(), "train".to_owned()]
    }

    fn all_queries(&self) -> Result<Vec<Query>, DataError> {
        let mut queries = self.test()?;
        queries.extend(queries_of(self.train()?));
        Ok(queries)
    }

    fn qrels(&self, split: &str) -> Result<Qrels, DataError> {
        if split == "train" {
            return Ok(TestQuery::qrels(&self.train()?));
        }
        Ok(crate::read_qrels(&self.qrels, Header::AsData)?.data)
    }
}

struct Makg {
    test: PathBuf,
    train: PathBuf,
}

impl Makg {
    fn rows(&self, split: &str) -> Result<Vec<TestQuery>, DataError> {
        if split == "train" {
            let file = open_file(&self.train)?;
            return datafinder::read_training_queries(file, &name_of(&self.train), TRAIN);
        }
        datafinder::read_test_queries(open_file(&self.test)?, &name_of(&self.test), "test-")
    }
}

impl Judged for Makg {
    fn source(&self) -> String {
        name_of(&self.test)
    }

    fn splits(&self) -> Vec<String> {
        vec!["test".to_owned(), "train".to_owned()]
    }

    fn all_queries(&self) -> Result<Vec<Query>, DataError> {
        let test = queries_of(self.rows("test")?);
        Ok(test.chain(queries_of(self.rows("train")?)).collect())
    }

    fn qrels(&self, split: &str) -> Result<Qrels, DataError> {
        Ok(TestQuery::qrels(&self.rows(split)?))
    }
}
