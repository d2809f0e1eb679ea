//! Vectors of queries in a file.

use std::collections::HashSet;
use std::fmt::Display;
use std::path::Path;

use ir_core::store::Verify;
use ir_core::{PrecomputedEncoder, Query, Retriever};

use super::files::open_vectors;
use super::origin::{COMPARED_FIELDS, VectorOrigin};
use super::text_hashes::text_hash;
use crate::error::SystemError;

/// What is not compared without a record of the encoder and the queries.
const QUERIES_UNCHECKED: &str =
    "the documents must be encoded by the same model, and the queries must not have changed";

/// File of `ir encode --queries`, and what its vectors are compared with.
///
/// ```
/// use ir_core::{Encoder, Query};
/// use ir_system::saved_vectors::QueryVectors;
/// let path = std::env::temp_dir().join(format!("ir-system-queries-{}.jsonl", std::process::id()));
/// std::fs::write(&path, "{\"id\": \"q1\", \"vector\": [0.6, 0.8]}\n")?;
/// let file = QueryVectors {
///     key: "queries",
///     path: &path,
///     documents: None,
///     any_encoder: false,
///     acceptance: "any_encoder",
///     required: None,
/// };
/// let mut warnings = Vec::new();
/// let queries = [Query::new("q1", "green tea")];
/// let encoder = file.open(&queries, &mut |warning| warnings.push(warning.to_string()))?;
/// assert_eq!(encoder.dim(), 2);
/// // Vectors of another program have no record of their texts.
/// assert_eq!(warnings.len(), 1);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct QueryVectors<'a> {
    /// Key or option of the file, for errors.
    pub key: &'a str,
    /// File of the vectors.
    pub path: &'a Path,
    /// Origin of the vectors that are searched: the encoder must be the same.
    pub documents: Option<&'a VectorOrigin>,
    /// Accepts another encoder and other texts, with a warning.
    pub any_encoder: bool,
    /// Key or option that accepts them, for errors.
    pub acceptance: &'a str,
    /// Ids of the queries that must have a vector; others are left out. `None`: all queries.
    pub required: Option<&'a HashSet<String>>,
}

impl QueryVectors<'_> {
    /// Opens the file and finds the vectors of `queries` by their ids. Their texts must be those
    /// that were encoded.
    ///
    /// # Errors
    /// Returns [`SystemError::Parameter`] with `key` if the file has no vectors of queries, lacks
    /// the vector of a query, or has vectors of another encoder or of other texts.
    pub fn open(
        &self,
        queries: &[Query],
        warn: &mut dyn FnMut(&dyn Display),
    ) -> Result<PrecomputedEncoder, SystemError> {
        let path = self.path.display();
        let file = open_vectors(self.key, self.path, Verify::AllSections)?;
        let origin = VectorOrigin::read_with_warning(&file, self.path, QUERIES_UNCHECKED, warn);
        match &origin {
            None => {}
            Some(origin) if origin.template.is_some() => {
                return Err(self.error(
                    "expected vectors of queries (`ir encode --queries`), found vectors of documents",
                ));
            }
            Some(origin) => {
                let compared = |field: &str| COMPARED_FIELDS.contains(&field);
                let documents = self.documents;
                self.reject(
                    documents.and_then(|it| it.differences(origin, compared)),
                    warn,
                )?;
            }
        }
        let mut encoder = PrecomputedEncoder::new(path.to_string(), file.dim());
        let mut outdated = None;
        let required = self.required;
        let is_required =
            |query: &Query| required.is_none_or(|required| required.contains(&query.id));
        // Without words, a query is not encoded.
        for query in queries.iter().filter(|query| !query.text.trim().is_empty()) {
            let Some(doc) = file.ids().get(&query.id) else {
                if !is_required(query) {
                    continue;
                }
                return Err(self.error(&format!(
                    "expected a vector of every query, found none of {:?} (the split must be that \
                     of `ir encode`)",
                    query.id
                )));
            };
            if let Some(origin) = &origin
                && origin.texts.as_slice()[doc.index()] != text_hash(&query.id, &query.text)
            {
                if !is_required(query) {
                    continue;
                }
                outdated.get_or_insert(&query.id);
            }
            encoder.insert(&*query.text, file.vector(doc));
        }
        let outdated = outdated.map(|id| {
            format!(
                "expected vectors of the texts of the queries, found that of another text for {id:?}"
            )
        });
        self.reject(outdated, warn)?;
        Ok(encoder)
    }

    fn error(&self, message: &str) -> SystemError {
        SystemError::parameter(self.key, format!("{}: {message}", self.path.display()))
    }

    /// Reports a difference as an error, or as a warning if any encoder is accepted.
    fn reject(
        &self,
        difference: Option<String>,
        warn: &mut dyn FnMut(&dyn Display),
    ) -> Result<(), SystemError> {
        match difference {
            None => Ok(()),
            Some(difference) if self.any_encoder => {
                warn(&format_args!("{}: {difference}", self.path.display()));
                Ok(())
            }
            Some(difference) => Err(self.error(&format!(
                "{difference} (encode the queries again, with the encoder of the documents and the \
                 same query form, and without cleaning; {} searches all the same)",
                self.acceptance
            ))),
        }
    }
}
