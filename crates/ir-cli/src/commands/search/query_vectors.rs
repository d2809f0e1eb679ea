//! Queries whose vectors are in a file.

use std::path::Path;

use anyhow::{Result, bail};
use ir_core::store::Verify;
use ir_core::{PrecomputedEncoder, Query, Retriever};

use crate::shared::console::Console;
use crate::shared::encoder::{COMPARED_FIELDS, VectorOrigin};
use crate::shared::text_hashes::text_hash;
use crate::shared::vector_files::open_vectors;

/// What is not compared without a record of the encoder and the queries.
const QUERIES_UNCHECKED: &str = "the documents of --vectors must be encoded by the same model, and the queries must not have changed";

/// Opens a vector file of `ir encode --queries` and finds the vectors of `queries` by their
/// ids. `documents` is the origin of the vectors that are searched: the encoder must be the
/// same, and the texts those that were encoded, unless `any_encoder` is set.
pub(super) fn open_queries(
    path: &Path,
    documents: Option<&VectorOrigin>,
    queries: &[Query],
    any_encoder: bool,
    console: &Console,
) -> Result<PrecomputedEncoder> {
    let file = open_vectors("--query-vectors", path, Verify::AllSections)?;
    let origin = VectorOrigin::of(&file, path, QUERIES_UNCHECKED, console);
    if let Some(origin) = &origin {
        if origin.template.is_some() {
            bail!(
                "{}: expected vectors of queries (`ir encode --queries`), found vectors of documents",
                path.display()
            );
        }
        let compared = |field: &str| COMPARED_FIELDS.contains(&field);
        let differences = documents.and_then(|documents| documents.differences(origin, compared));
        reject(path, differences, any_encoder, console)?;
    }
    let mut encoder = PrecomputedEncoder::new(path.display().to_string(), file.dim());
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
        encoder.insert(&*query.text, file.vector(doc));
    }
    let outdated = outdated.map(|id| {
        format!(
            "expected vectors of the texts of the queries, found that of another text for {id:?}"
        )
    });
    reject(path, outdated, any_encoder, console)?;
    Ok(encoder)
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
