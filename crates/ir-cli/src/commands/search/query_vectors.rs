//! Queries whose vectors are in a file.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use ir_core::store::Verify;
use ir_core::{DocNum, EncodeError, Encoder, Query, Retriever, Side};
use ir_knn::SegmentedVectorIndex;

use super::vectors::{open_vectors, vector_origin};
use crate::shared::console::Console;
use crate::shared::encoder::VectorOrigin;
use crate::shared::text_hashes::text_hash;

/// Encoder of the queries of a search, by their text.
pub(super) struct EncodedQueries {
    path: PathBuf,
    dim: usize,
    vectors: HashMap<String, Vec<f32>>,
}

/// What is not compared without a record of the encoder and the queries.
const QUERIES_UNCHECKED: &str = "the documents of --vectors must be encoded by the same model, and the queries must not have changed";

impl EncodedQueries {
    /// Opens a vector file of `ir encode --queries` and finds the vectors of `queries` by their
    /// ids. `documents` is the origin of the vectors that are searched: the encoder must be the
    /// same, and the texts those that were encoded, unless `any_encoder` is set.
    pub(super) fn open(
        path: &Path,
        documents: Option<&VectorOrigin>,
        queries: &[Query],
        any_encoder: bool,
        console: &Console,
    ) -> Result<Self> {
        let file = open_vectors("--query-vectors", path, Verify::AllSections)?;
        let origin = vector_origin(QUERIES_UNCHECKED, path, &file, console);
        if let Some(origin) = &origin {
            if origin.template.is_some() {
                bail!(
                    "{}: expected vectors of queries (`ir encode --queries`), found vectors of documents",
                    path.display()
                );
            }
            let compared = |field: &str| ["model", "pooling", "normalize"].contains(&field);
            let differences =
                documents.and_then(|documents| documents.differences(origin, compared));
            reject(path, differences, any_encoder, console)?;
        }
        let mut vectors = HashMap::new();
        let mut outdated = None;
        // Without words, a query is not encoded.
        for query in queries.iter().filter(|query| !query.text.trim().is_empty()) {
            let Some(doc) = file.ids().get(&query.id) else {
                bail!(
                    "{}: expected a vector of every query, found none of {:?} (--split must be that of `ir encode`)",
                    path.display(),
                    query.id
                );
            };
            if let Some(origin) = &origin
                && origin.texts.as_slice()[doc.index()] != text_hash(&query.id, &query.text)
            {
                outdated.get_or_insert(&query.id);
            }
            vectors.insert(query.text.clone(), vector(&file, doc));
        }
        let outdated = outdated.map(|id| {
            format!("expected vectors of the texts of the queries, found that of another text for {id:?}")
        });
        reject(path, outdated, any_encoder, console)?;
        Ok(Self {
            path: path.to_owned(),
            dim: file.dim(),
            vectors,
        })
    }
}

fn vector(file: &SegmentedVectorIndex, doc: DocNum) -> Vec<f32> {
    file.vector(doc).to_vec()
}

/// Reports a difference as an error, or as a warning if any encoder is accepted.
fn reject(
    path: &Path,
    difference: Option<String>,
    any_encoder: bool,
    console: &Console,
) -> Result<()> {
    match difference {
        None => Ok(()),
        Some(difference) if any_encoder => {
            console.warn(format_args!("{}: {difference}", path.display()));
            Ok(())
        }
        Some(difference) => bail!(
            "{}: {difference} (encode the queries again, with the encoder of the documents and the \
             same --query-form, and without --clean; --any-encoder searches all the same)",
            path.display()
        ),
    }
}

impl Encoder for EncodedQueries {
    fn dim(&self) -> usize {
        self.dim
    }

    fn encode_into(&self, _: Side, texts: &[&str], out: &mut [f32]) -> Result<(), EncodeError> {
        let (expected, found) = (texts.len() * self.dim, out.len());
        if found != expected {
            return Err(EncodeError::Shape { expected, found });
        }
        for (text, row) in texts.iter().zip(out.chunks_exact_mut(self.dim.max(1))) {
            let Some(vector) = self.vectors.get(*text) else {
                return Err(EncodeError::Model {
                    model: self.path.display().to_string(),
                    source: format!("expected a vector of the query {text:?}, found none").into(),
                });
            };
            row.copy_from_slice(vector);
        }
        Ok(())
    }
}
