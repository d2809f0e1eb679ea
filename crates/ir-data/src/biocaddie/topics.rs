//! Topics in all forms, and judgments of the test and training topics.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ir_core::trec::HeaderLine;
use ir_core::{Qrels, Query};

use super::BioCaddieCorpus;
use super::corpus::MissingRecords;
use crate::collection::{Collection, JudgedQueries, value_of_split};
use crate::compression::open;
use crate::error::{DataError, name_of};
use crate::indri::read_queries;
use crate::trec::read_qrels;

/// Topics and judgments of the challenge, from its folder with `queries` and `qrels`.
///
/// Splits: `test` (T1 to T15), `train` (EA1 to EA6). The text of a query is the curators' text.
/// Other forms are attributes: `short` and `stopped` (keywords), `weighted` (`#weight` with idf)
/// and `structured` (Boolean operators).
///
/// ```no_run
/// use ir_data::JudgedQueries;
/// use ir_data::biocaddie::BioCaddieTopics;
/// let topics = BioCaddieTopics::new("biocaddie");
/// assert_eq!(topics.all_queries()?.len(), 21);
/// assert_eq!(topics.qrels("test")?.judgments(), 20_184);
/// # Ok::<(), ir_data::DataError>(())
/// ```
#[derive(Debug, Clone)]
pub struct BioCaddieTopics {
    folder: PathBuf,
}

/// File of the curators' texts.
const TEXTS: &str = "queries.combined.orig";

/// Attributes and the files of their texts.
const FORMS: [(&str, &str); 4] = [
    ("short", "queries.combined.short"),
    ("stopped", "queries.combined.stopped"),
    ("weighted", "queries.combined.idf"),
    ("structured", "boolqueries.combined.short"),
];

impl BioCaddieTopics {
    /// Creates the topics of a folder.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    /// Topics of a folder, if it has them: `queries/queries.combined.orig`.
    #[must_use]
    pub fn find(folder: &Path) -> Option<Self> {
        let topics = folder.join("queries").join(TEXTS);
        topics.is_file().then(|| Self::new(folder))
    }

    /// Collection of the topics, the judgments and records, such as those beside them
    /// ([`BioCaddieCorpus::find`]). Without records, only reading documents is an error.
    pub fn into_collection(
        self,
        name: impl Into<String>,
        records: Option<BioCaddieCorpus>,
    ) -> Collection {
        let name = name.into();
        match records {
            Some(records) => Collection::new(name, records, self),
            None => {
                let missing = MissingRecords {
                    folder: self.folder.clone(),
                    collection: name.clone(),
                };
                Collection::new(name, missing, self)
            }
        }
    }

    fn read(&self, file: &str) -> Result<Vec<Query>, DataError> {
        let path = self.folder.join("queries").join(file);
        read_queries(open(&path)?, &name_of(&path))
    }
}

impl JudgedQueries for BioCaddieTopics {
    fn source(&self) -> String {
        name_of(&self.folder)
    }

    fn splits(&self) -> Vec<String> {
        vec!["test".to_owned(), "train".to_owned()]
    }

    fn all_queries(&self) -> Result<Vec<Query>, DataError> {
        let mut queries = self.read(TEXTS)?;
        for (attribute, file) in FORMS {
            let texts = self.read(file)?.into_iter();
            let mut texts: BTreeMap<String, String> =
                texts.map(|query| (query.id, query.text)).collect();
            for query in &mut queries {
                if let Some(text) = texts.remove(&query.id) {
                    query.attributes.set(attribute, text);
                }
            }
        }
        Ok(queries)
    }

    fn qrels(&self, split: &str) -> Result<Qrels, DataError> {
        let splits = self.splits().into_iter();
        let names: BTreeMap<String, String> = splits
            .map(|split| (split.clone(), format!("biocaddie.qrels.{split}")))
            .collect();
        let name = value_of_split(&names, split, &self.source())?;
        let path = self.folder.join("qrels").join(name);
        Ok(read_qrels(path, HeaderLine::AsData)?.data)
    }
}
