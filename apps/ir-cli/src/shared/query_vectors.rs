//! Query vectors of a file.

use std::collections::HashSet;
use std::fmt::Display;
use std::path::Path;

use anyhow::{Result, bail};
use ir_core::store::Verify;
use ir_core::{PrecomputedEncoder, Query, Retriever};

use crate::shared::encoder::{COMPARED_FIELDS, VectorOrigin};
use crate::shared::text_hashes::text_hash;
use crate::shared::vector_files::open_vectors;

/// What is not compared without a record of the encoder and the queries.
const QUERIES_UNCHECKED: &str =
    "the documents must be encoded by the same model, and the queries must not have changed";

/// Vector file of `ir encode --queries`.
pub(crate) struct QueryVectors<'a> {
    /// Option or key of the file.
    pub(crate) option: &'a str,
    pub(crate) path: &'a Path,
    /// Origin of the vectors that are searched: the encoder must be the same.
    pub(crate) documents: Option<&'a VectorOrigin>,
    /// Accepts another encoder and other texts, with a warning.
    pub(crate) any_encoder: bool,
    /// Option or key that accepts them, for errors.
    pub(crate) acceptance: &'a str,
    /// Ids of the queries that must have a vector; others are left out. `None`: all queries.
    pub(crate) required: Option<&'a HashSet<String>>,
}

impl QueryVectors<'_> {
    /// Opens the file and finds the vectors of `queries` by their ids. Their texts must be those
    /// that were encoded.
    pub(crate) fn open(
        &self,
        queries: &[Query],
        warn: &mut dyn FnMut(&dyn Display),
    ) -> Result<PrecomputedEncoder> {
        let path = self.path.display();
        let file = open_vectors(self.option, self.path, Verify::AllSections)?;
        let origin = VectorOrigin::read(&file);
        match &origin {
            None => warn(&format_args!(
                "{path}: has no record of its encoder and texts; {QUERIES_UNCHECKED}"
            )),
            Some(origin) if origin.template.is_some() => bail!(
                "{path}: expected vectors of queries (`ir encode --queries`), found vectors of documents"
            ),
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
        // Without words, a query is not encoded.
        for query in queries.iter().filter(|query| !query.text.trim().is_empty()) {
            let Some(doc) = file.ids().get(&query.id) else {
                if self
                    .required
                    .is_some_and(|required| !required.contains(&query.id))
                {
                    continue;
                }
                bail!(
                    "{path}: expected a vector of every query, found none of {:?} (--split must be that of `ir encode`)",
                    query.id
                );
            };
            if let Some(origin) = &origin
                && origin.texts.as_slice()[doc.index()] != text_hash(&query.id, &query.text)
            {
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

    /// Reports a difference as an error, or as a warning if any encoder is accepted.
    fn reject(&self, difference: Option<String>, warn: &mut dyn FnMut(&dyn Display)) -> Result<()> {
        let path = self.path.display();
        match difference {
            None => Ok(()),
            Some(difference) if self.any_encoder => {
                warn(&format_args!("{path}: {difference}"));
                Ok(())
            }
            Some(difference) => bail!(
                "{path}: {difference} (encode the queries again, with the encoder of the documents and the \
                 same --query-form, and without --clean; {} searches all the same)",
                self.acceptance
            ),
        }
    }
}
