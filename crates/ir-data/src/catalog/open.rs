use std::collections::HashMap;
use std::path::PathBuf;

use ir_core::trec::HeaderLine;
use ir_core::{Corpus, Qrels, Query};

use super::entry::{CatalogEntry, CatalogFormat};
use crate::beir::BeirFolder;
use crate::bundled::{self, BundledQueries};
use crate::collection::{Collection, CountedCorpus, InMemoryJudgedQueries, JudgedQueries};
use crate::compression::open;
use crate::datafinder::{
    DatasetCorpus, DatasetQuery, DatasetSplits, TRAINING_PREFIX, TestAndTrain, read_test_queries,
    read_training_queries,
};
use crate::error::{DataError, name_of};
use crate::json::JsonFields;
use crate::jsonl::{self, JsonlCorpus};
use crate::smart::{Cisi, Cranfield};
use crate::squad::SquadFile;
use crate::trec::read_qrels;

/// Opens the collection of an entry, whose files are at `paths`.
pub(super) fn open_entry(
    entry: &'static CatalogEntry,
    paths: Vec<PathBuf>,
) -> Result<Collection, DataError> {
    let file = |n: usize| paths.get(n).cloned().unwrap_or_default();
    Ok(match entry.format {
        CatalogFormat::Bundled => counted(entry, bundled::corpus(), DatasetSplits(BundledQueries)),
        CatalogFormat::Beir => {
            let folder = BeirFolder::from_files(entry.name.as_str().into(), paths);
            counted(entry, folder.corpus(), folder)
        }
        CatalogFormat::DataFinder => counted(
            entry,
            DatasetCorpus::new(file(0)),
            DatasetSplits(DataFinder {
                test: file(1),
                ids: file(2),
                qrels: file(3),
                train: file(4),
            }),
        ),
        CatalogFormat::Makg => counted(
            entry,
            DatasetCorpus::new(file(0)),
            DatasetSplits(Makg {
                test: file(1),
                train: file(2),
            }),
        ),
        CatalogFormat::Cranfield => counted(
            entry,
            Cranfield::corpus(file(0)),
            Cranfield::new(file(1), file(2)),
        ),
        CatalogFormat::Squad => {
            let file = SquadFile::new(file(0));
            counted(entry, file.clone(), file)
        }
        CatalogFormat::Iclr => {
            let fields = JsonFields {
                text: "abstract".to_owned(),
                ..JsonFields::anserini()
            };
            let corpus = JsonlCorpus::new(file(0)).with_fields(fields);
            counted(entry, corpus, InMemoryJudgedQueries::default())
        }
        CatalogFormat::Files => {
            return Err(DataError::NotACollection {
                name: entry.name.clone(),
            });
        }
        CatalogFormat::Cisi => counted(entry, Cisi::corpus(file(0)), Cisi::new(file(1), file(2))),
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

/// Queries and judgments whose counts are compared with the entry.
struct CountedQueries<J> {
    entry: &'static CatalogEntry,
    judged: J,
}

impl<J> CountedQueries<J> {
    fn check(&self, items: &'static str, expected: u64, found: usize) -> Result<(), DataError> {
        if expected == found as u64 {
            return Ok(());
        }
        Err(DataError::Count {
            path: self.entry.name.clone(),
            items,
            expected,
            found: found as u64,
        })
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

struct DataFinder {
    test: PathBuf,
    ids: PathBuf,
    qrels: PathBuf,
    train: PathBuf,
}

impl TestAndTrain for DataFinder {
    fn source(&self) -> String {
        name_of(&self.test)
    }

    /// Queries of the published file with the ids of the cleaned file.
    fn test(&self) -> Result<Vec<DatasetQuery>, DataError> {
        let ids_name = name_of(&self.ids);
        let cleaned = jsonl::read_queries(open(&self.ids)?, &ids_name, &JsonFields::beir())?;
        let mut ids: HashMap<String, String> = cleaned
            .into_iter()
            .map(|query| (query.text, query.id))
            .collect();
        let mut rows = read_test_queries(open(&self.test)?, &self.source(), "t")?;
        for DatasetQuery { query, .. } in &mut rows {
            query.id = ids
                .remove(&query.text)
                .ok_or_else(|| DataError::JudgedQueryMissing {
                    path: ids_name.clone(),
                    missing: 1,
                    query: query.id.clone(),
                })?;
        }
        Ok(rows)
    }

    fn train(&self) -> Result<Vec<DatasetQuery>, DataError> {
        read_training_queries(open(&self.train)?, &name_of(&self.train), TRAINING_PREFIX)
    }

    fn test_qrels(&self) -> Result<Qrels, DataError> {
        Ok(read_qrels(&self.qrels, HeaderLine::AsData)?.data)
    }
}

struct Makg {
    test: PathBuf,
    train: PathBuf,
}

impl TestAndTrain for Makg {
    fn source(&self) -> String {
        name_of(&self.test)
    }

    fn test(&self) -> Result<Vec<DatasetQuery>, DataError> {
        read_test_queries(open(&self.test)?, &self.source(), "test-")
    }

    fn train(&self) -> Result<Vec<DatasetQuery>, DataError> {
        read_training_queries(open(&self.train)?, &name_of(&self.train), TRAINING_PREFIX)
    }
}
