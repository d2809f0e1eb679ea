use std::sync::Arc;

use ir_core::DocNum;
use ir_core::training::{
    Fingerprint, TrainingExample, TrainingSet, TrainingSetError, TrainingText,
};

use super::{DocumentTexts, OnInvalidExample};
use crate::collection::Collection;
use crate::error::DataError;

/// Training set from the judgments of a split: documents of grade 1 or more are positives,
/// documents of grade 0 negatives. Judgments rarely contain negatives; `ir mine` adds mined ones.
///
/// Queries are in file order, their documents in id order.
///
/// ```
/// use std::sync::Arc;
/// use ir_core::training::TrainingSet;
/// use ir_data::DocTemplate;
/// use ir_data::training::{JudgedTrainingSet, DocumentTexts, OnInvalidExample};
/// let collection = ir_data::catalog::open("bundled")?;
/// let texts = Arc::new(DocumentTexts::from_corpus(collection.corpus(), &DocTemplate::default())?);
/// let set = JudgedTrainingSet::from_split(&collection, "train", texts, OnInvalidExample::Reject)?;
/// assert_eq!(set.len(), 88);
/// assert!(!set.get(0)?.positives.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct JudgedTrainingSet {
    texts: Arc<DocumentTexts>,
    rows: Vec<JudgedExample>,
    skipped: Vec<DataError>,
    fingerprint: u64,
}

#[derive(Debug)]
struct JudgedExample {
    id: String,
    query: String,
    positives: Vec<DocNum>,
    negatives: Vec<DocNum>,
}

impl JudgedTrainingSet {
    /// Joins queries and judgments of a split with the texts of the corpus.
    ///
    /// # Errors
    /// A file cannot be read or there is no such split. With [`OnInvalidExample::Reject`] also a
    /// query without positives or a judged document that is not in the corpus.
    pub fn from_split(
        collection: &Collection,
        split: &str,
        texts: Arc<DocumentTexts>,
        invalid: OnInvalidExample,
    ) -> Result<Self, DataError> {
        let qrels = collection.qrels(split)?;
        let path = || format!("{} {split}", collection.name());
        let mut set = Self {
            texts,
            rows: Vec::new(),
            skipped: Vec::new(),
            fingerprint: 0,
        };
        let mut fingerprint = Fingerprint::new();
        for query in collection.queries(split)? {
            let mut row = JudgedExample {
                id: query.id,
                query: query.text,
                positives: Vec::new(),
                negatives: Vec::new(),
            };
            for (doc, grade) in qrels.get(&row.id).into_iter().flatten() {
                let side = match grade {
                    1.. => &mut row.positives,
                    0 => &mut row.negatives,
                    // A negative grade means not judged.
                    _ => continue,
                };
                match set.texts.number(doc) {
                    Some(doc) => side.push(doc),
                    None => {
                        let error = DataError::UnknownDocument {
                            path: path(),
                            query: row.id.clone(),
                            doc: doc.to_owned(),
                        };
                        invalid.apply(error, &mut set.skipped)?;
                    }
                }
            }
            let example = set.example(&row);
            match example.check() {
                Ok(()) => {
                    fingerprint.add(&example);
                    set.rows.push(row);
                }
                Err(fault) => {
                    let (path, query) = (path(), row.id);
                    let error = DataError::JudgedExample { path, query, fault };
                    invalid.apply(error, &mut set.skipped)?;
                }
            }
        }
        set.fingerprint = fingerprint.finish();
        Ok(set)
    }

    /// Returns the errors of the skipped queries and documents ([`OnInvalidExample::Skip`]).
    #[must_use]
    pub fn skipped(&self) -> &[DataError] {
        &self.skipped
    }

    fn example(&self, row: &JudgedExample) -> TrainingExample {
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

impl TrainingSet for JudgedTrainingSet {
    fn len(&self) -> usize {
        self.rows.len()
    }

    fn get(&self, index: usize) -> Result<TrainingExample, TrainingSetError> {
        let len = self.rows.len();
        let row = self.rows.get(index);
        let row = row.ok_or(TrainingSetError::NoSuchExample { index, len })?;
        Ok(self.example(row))
    }

    fn fingerprint(&self) -> u64 {
        self.fingerprint
    }
}
