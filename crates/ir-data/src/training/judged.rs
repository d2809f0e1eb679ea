//! Training examples out of a judged split.

use std::sync::Arc;

use ir_core::{DocNum, Fingerprint, TrainingError, TrainingExample, TrainingSet, TrainingText};

use super::{Texts, Unusable};
use crate::{Collection, DataError};

/// The judged queries of a split with the texts of their documents: a document of grade 1 or more
/// is a positive, one of grade 0 a negative. Such sets have few negatives or none: `ir mine`
/// finds some.
///
/// Queries come in the order of the file, their documents by id.
///
/// ```
/// use std::sync::Arc;
/// use ir_core::TrainingSet;
/// use ir_data::DocTemplate;
/// use ir_data::training::{Judgements, Texts, Unusable};
/// let collection = ir_data::catalogue::open("bundled")?;
/// let texts = Arc::new(Texts::read(collection.corpus(), &DocTemplate::default())?);
/// let set = Judgements::read(&collection, "train", texts, Unusable::Refuse)?;
/// assert_eq!(set.len(), 88);
/// assert!(!set.get(0)?.positives.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Judgements {
    texts: Arc<Texts>,
    rows: Vec<Row>,
    left_out: Vec<DataError>,
    fingerprint: u64,
}

#[derive(Debug)]
struct Row {
    id: String,
    query: String,
    positives: Vec<DocNum>,
    negatives: Vec<DocNum>,
}

impl Judgements {
    /// Joins the queries and judgments of a split with the texts of the collection.
    ///
    /// # Errors
    /// When a file cannot be read or there is no such split; and, unless they are to be left out,
    /// for a query without positives or a judged document that the collection does not have.
    pub fn read(
        collection: &Collection,
        split: &str,
        texts: Arc<Texts>,
        unusable: Unusable,
    ) -> Result<Self, DataError> {
        let qrels = collection.qrels(split)?;
        let path = || format!("{} {split}", collection.name());
        let mut all = Self {
            texts,
            rows: Vec::new(),
            left_out: Vec::new(),
            fingerprint: 0,
        };
        let mut fingerprint = Fingerprint::new();
        for query in collection.queries(split)? {
            let mut row = Row {
                id: query.id,
                query: query.text,
                positives: Vec::new(),
                negatives: Vec::new(),
            };
            for (doc, grade) in qrels.get(&row.id).into_iter().flatten() {
                let side = match grade {
                    1.. => &mut row.positives,
                    0 => &mut row.negatives,
                    // Not judged.
                    _ => continue,
                };
                match all.texts.number(doc) {
                    Some(doc) => side.push(doc),
                    None => all.unusable(
                        unusable,
                        DataError::UnknownDocument {
                            path: path(),
                            query: row.id.clone(),
                            doc: doc.to_owned(),
                        },
                    )?,
                }
            }
            let example = all.example(&row);
            match example.check() {
                Ok(()) => {
                    fingerprint.add(&example);
                    all.rows.push(row);
                }
                Err(fault) => all.unusable(
                    unusable,
                    DataError::JudgedExample {
                        path: path(),
                        query: row.id,
                        fault,
                    },
                )?,
            }
        }
        all.fingerprint = fingerprint.finish();
        Ok(all)
    }

    /// What was left out: the errors that it would have been.
    #[must_use]
    pub fn left_out(&self) -> &[DataError] {
        &self.left_out
    }

    fn unusable(&mut self, unusable: Unusable, error: DataError) -> Result<(), DataError> {
        match unusable {
            Unusable::Refuse => Err(error),
            Unusable::LeaveOut => {
                self.left_out.push(error);
                Ok(())
            }
        }
    }

    fn example(&self, row: &Row) -> TrainingExample {
        let texts = |docs: &[DocNum]| {
            docs.iter()
                .map(|&doc| {
                    TrainingText::new(self.texts.text(doc)).with_id(self.texts.ids().id(doc))
                })
                .collect()
        };
        TrainingExample {
            query_id: Some(row.id.clone()),
            query: row.query.clone(),
            positives: texts(&row.positives),
            negatives: texts(&row.negatives),
        }
    }
}

impl TrainingSet for Judgements {
    fn len(&self) -> usize {
        self.rows.len()
    }

    fn get(&self, index: usize) -> Result<TrainingExample, TrainingError> {
        let len = self.rows.len();
        let row = self.rows.get(index);
        let row = row.ok_or(TrainingError::NoSuchExample { index, len })?;
        Ok(self.example(row))
    }

    fn fingerprint(&self) -> u64 {
        self.fingerprint
    }
}
