//! The type `dense`.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ir_core::store::Verify;
use ir_core::{Distinct, Encoded, Encoder, PrecomputedEncoder, Retriever};
use ir_data::DocTemplate;
use ir_knn::EfSearch;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::existing_file;
use crate::entries::{EncoderReference, template};
use crate::error::SystemError;
use crate::hash::ContentHash;
use crate::observer::StageReport;
#[cfg(feature = "dense")]
use crate::saved_vectors::COMPARED_FIELDS;
use crate::saved_vectors::{QueryVectors, VectorOrigin, open_vectors, vectors_hash};
use crate::system::{OpenSystem, System, SystemContext, file_hash};

/// Dense retrieval with an encoder or with saved vectors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DenseSystem {
    /// Encoder of documents and queries.
    #[serde(default)]
    pub encoder: Option<EncoderReference>,
    /// Template of the document texts, for an encoder. Default: the encoder's.
    #[serde(default)]
    pub template: Option<String>,
    /// Questions that are generated for the text of each document and encoded as queries. The score
    /// of a document is the maximum over its vector and its questions' vectors. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub questions: Option<QuestionsName>,
    /// Saved vectors of the documents, written by `ir encode`: a file, or a folder of `ir encode
    /// --add`. The queries are encoded by `encoder`, or their vectors are read from `queries`.
    #[serde(default)]
    pub vectors: Option<String>,
    /// Saved vectors of the queries, written by `ir encode --queries`, for saved vectors of the
    /// documents.
    #[serde(default)]
    pub queries: Option<String>,
    /// Accepts saved vectors of documents and queries by different recorded encoders, such as a
    /// query encoder with a model of its own, and vectors of other query texts. Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub any_encoder: bool,
    /// Beam width of the approximate search of saved vectors with graphs (`ir encode --hnsw`).
    /// Range: ≥ 1. Default: 64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub ef_search: Option<usize>,
    /// Compares all saved vectors also where there are graphs. Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exact: bool,
}

/// Generator of questions about the documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QuestionsName {
    /// Templates on the structure of English sentences, as `ir frames --questions rules`. Documents
    /// are sentences.
    Rules,
}

impl DenseSystem {
    fn template(&self) -> Result<Option<DocTemplate>, SystemError> {
        self.template.as_deref().map(template).transpose()
    }

    /// Keys and paths of the saved vectors.
    fn saved(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let vectors = self.vectors.as_deref().map(|path| ("vectors", path));
        let queries = self.queries.as_deref().map(|path| ("queries", path));
        vectors.into_iter().chain(queries)
    }
}

impl DenseSystem {
    /// Rejects an encoder of the queries that did not encode the documents.
    #[cfg(feature = "dense")]
    fn check_encoder(
        &self,
        documents: &VectorOrigin,
        encoder: &ir_dense::BiEncoder,
        context: &mut SystemContext<'_>,
    ) -> Result<(), SystemError> {
        let fingerprint = encoder.fingerprint(ir_core::Side::Query);
        let found = VectorOrigin::new(Path::new("encoder"), &fingerprint, None);
        let found = found.map_err(SystemError::stage("serialization"))?;
        let differences = documents.differences(&found, |it| COMPARED_FIELDS.contains(&it));
        match differences {
            None => Ok(()),
            Some(differences) if self.any_encoder => {
                context.observer.warning(&format!("encoder: {differences}"));
                Ok(())
            }
            Some(differences) => {
                let message = format!(
                    "{differences} (expected the encoder of the documents; any_encoder = true \
                     accepts others)"
                );
                Err(SystemError::parameter("encoder", message))
            }
        }
    }
}

impl System for DenseSystem {
    fn check(&self) -> Result<(), SystemError> {
        let expected = |key: &str, message: &str| Err(SystemError::parameter(key, message));
        let (is_saved, has_queries) = (self.vectors.is_some(), self.queries.is_some());
        if self.ef_search.is_some() && self.exact {
            let reason = "an exact search has no beam";
            return Err(SystemError::conflict("ef_search", "exact", reason));
        }
        if is_saved && self.template.is_some() {
            return expected(
                "template",
                "expected an encoder; saved vectors have no template",
            );
        }
        if is_saved && self.questions.is_some() {
            let message = "expected an encoder, which encodes the questions";
            return expected("questions", message);
        }
        for (key, is_set) in [
            ("any_encoder", self.any_encoder),
            ("ef_search", self.ef_search.is_some()),
            ("exact", self.exact),
        ] {
            if is_set && !is_saved {
                return expected(key, "expected saved vectors, found an encoder");
            }
        }
        match (&self.encoder, is_saved, has_queries) {
            (Some(_), _, true) => expected(
                "encoder",
                "expected either an encoder or saved vectors of the queries, found both",
            ),
            (Some(encoder), ..) => {
                self.template()?;
                encoder.check()
            }
            (None, true, true) => Ok(()),
            (None, true, false) => expected(
                "vectors",
                "expected the key queries, the saved vectors of the queries, or encoder, found none",
            ),
            (None, false, true) => expected(
                "queries",
                "expected the key vectors, the saved vectors of the documents, found none",
            ),
            (None, false, false) => expected(
                "",
                "expected the key encoder, or the keys vectors and queries, found none",
            ),
        }
    }

    fn uses_query_ids(&self) -> bool {
        self.queries.is_some()
    }

    fn files(&self) -> Vec<(String, String)> {
        let saved = self.saved();
        let mut files: Vec<_> = saved
            .map(|(key, path)| (key.to_owned(), path.to_owned()))
            .collect();
        files.extend(self.encoder.as_ref().and_then(EncoderReference::file));
        files
    }

    fn encoders(&self) -> Vec<(String, String)> {
        let encoder = self.encoder.as_ref();
        encoder
            .and_then(EncoderReference::named)
            .into_iter()
            .collect()
    }

    fn content(&self, context: &SystemContext<'_>) -> Result<String, SystemError> {
        let mut content = String::new();
        for (key, path) in self.saved() {
            let path = existing_path(context, key, path)?;
            content.push_str(&if path.is_dir() {
                folder_hash(&path).map_err(SystemError::stage("reading vectors"))?
            } else {
                vectors_hash(context, &path)?
            });
        }
        if let Some(encoder) = &self.encoder {
            content.push_str(&encoder.content(context)?);
        }
        Ok(content)
    }

    fn stages(&self, context: &SystemContext<'_>) -> Result<Vec<StageReport>, SystemError> {
        match &self.encoder {
            None => Ok(Vec::new()),
            Some(encoder) if self.vectors.is_some() => encoder.query_stages(context),
            Some(encoder) => encoder.stages(context, self.template()?.as_ref(), self.questions),
        }
    }

    fn open(&self, context: &mut SystemContext<'_>) -> Result<OpenSystem, SystemError> {
        let (Some(path), encoder) = (&self.vectors, &self.encoder) else {
            let missing = || SystemError::parameter("", "expected the key encoder, found none");
            let encoder = self.encoder.as_ref().ok_or_else(missing)?;
            return encoder.retriever(context, self.template()?.as_ref(), self.questions);
        };
        let resolved = existing_path(context, "vectors", path)?;
        let documents = open_vectors("vectors", &resolved, Verify::AllSections)?;
        let origin = VectorOrigin::read(&documents);
        match &origin {
            None => context.observer.warning(&format!(
                "{path}: has no record of its encoder, which must be that of the queries"
            )),
            Some(origin) if origin.template.is_none() => {
                let message = "expected vectors of documents, found vectors of queries";
                return Err(SystemError::parameter("vectors", message));
            }
            Some(_) => {}
        }
        let encoder: Box<dyn Encoder> = if let Some(encoder) = encoder {
            let encoder = encoder.open(context)?;
            #[cfg(not(feature = "dense"))]
            match encoder {}
            #[cfg(feature = "dense")]
            {
                if let Some(origin) = &origin {
                    self.check_encoder(origin, encoder.inner(), context)?;
                }
                Box::new(encoder)
            }
        } else {
            let path = self.queries.as_deref().unwrap_or_default();
            Box::new(query_vectors(
                context,
                path,
                origin.as_ref(),
                self.any_encoder,
            )?)
        };
        if encoder.dim() != documents.dim() {
            let key = if self.encoder.is_some() {
                "encoder"
            } else {
                "queries"
            };
            let (expected, found) = (documents.dim(), encoder.dim());
            let message = format!("expected vectors of {expected} dimensions, found {found}");
            return Err(SystemError::parameter(key, message));
        }
        let known = context.data.ids();
        if let Some(id) = documents.ids().iter().find(|id| known.get(id).is_none()) {
            let message = format!("expected vectors of documents of the collection, found {id:?}");
            return Err(SystemError::parameter("vectors", message));
        }
        let width = self.ef_search.map_or(EfSearch::default(), EfSearch);
        let graphs = documents.hnsw_searcher(width).filter(|_| !self.exact);
        if graphs.is_none() && self.ef_search.is_some() {
            let message = "expected vectors with graphs (`ir encode --add --hnsw`), found none";
            return Err(SystemError::parameter("ef_search", message));
        }
        Ok(OpenSystem::new(match graphs {
            Some(graphs) => Arc::new(Distinct(Encoded::new(encoder, graphs))),
            None => Arc::new(Distinct(Encoded::new(encoder, documents))),
        }))
    }
}

/// Path of a file or folder of vectors.
fn existing_path(
    context: &SystemContext<'_>,
    key: &str,
    path: &str,
) -> Result<PathBuf, SystemError> {
    let resolved = context.resolve(key, path)?;
    if resolved.is_dir() {
        return Ok(resolved);
    }
    existing_file(context, key, path)
}

/// Opens the vectors of the queries of the key `queries`, which were encoded as the documents were.
pub(super) fn query_vectors(
    context: &mut SystemContext<'_>,
    path: &str,
    documents: Option<&VectorOrigin>,
    any_encoder: bool,
) -> Result<PrecomputedEncoder, SystemError> {
    let resolved = existing_path(context, "queries", path)?;
    let queries = context.data.all_queries()?;
    let required = context.data.queries().iter();
    let required: HashSet<String> = required.map(|query| query.id.clone()).collect();
    let vectors = QueryVectors {
        key: "queries",
        path: &resolved,
        documents,
        any_encoder,
        acceptance: "any_encoder = true",
        required: Some(&required),
    };
    let observer = &mut *context.observer;
    vectors.open(&queries, &mut |text| observer.warning(&text.to_string()))
}

/// Hash of the names and contents of the files of a folder.
fn folder_hash(folder: &Path) -> io::Result<String> {
    let entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let mut files: Vec<_> = entries.collect::<io::Result<_>>()?;
    files.retain(|file| file.is_file());
    files.sort();
    let mut hash = ContentHash::default();
    for file in files {
        hash.text(&file.file_name().unwrap_or_default().to_string_lossy());
        hash.text(&file_hash(&file)?);
    }
    Ok(hash.finish())
}
