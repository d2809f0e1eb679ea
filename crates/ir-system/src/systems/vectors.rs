//! The type `dense`.

use std::collections::HashSet;
#[cfg(feature = "dense")]
use std::path::Path;
use std::sync::Arc;

use ir_core::store::Verify;
use ir_core::{Encoded, Encoder, PrecomputedEncoder};
use ir_data::DocTemplate;
use ir_knn::EfSearch;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::data_documents::{RANKING, of_the_data};
use super::document_texts::{TextRendering, document_ids};
use super::existing_file::{existing_path, folder_hash};
use crate::entries::{
    BlankDocsName, CleaningEntry, DocOrderName, EncoderReference, IndexedFieldsEntry, cleaning,
    template,
};
use crate::error::SystemError;
use crate::observer::StageReport;
#[cfg(feature = "dense")]
use crate::saved_vectors::COMPARED_FIELDS;
use crate::saved_vectors::{QueryVectors, VectorOrigin, open_vectors, vectors_hash};
use crate::system::{OpenSystem, SharedRetriever, System, SystemContext};

/// Dense retrieval with an encoder or with saved vectors.
///
/// Saved vectors of documents that the collection lacks are left out, with a warning.
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
    /// Saved vectors of the documents: a file of `ir encode`, a folder of `ir encode --add`, or
    /// vectors of another encoder, in .npy or .fvecs beside .ids, one id per line, or in JSON
    /// lines, Parquet or Arrow with `id` and `vector`.
    #[serde(default)]
    pub vectors: Option<String>,
    /// Saved vectors of the queries, written by `ir encode --queries`, in place of an encoder.
    #[serde(default)]
    pub queries: Option<String>,
    /// Accepts saved vectors of documents and queries by different recorded encoders, such as a
    /// query encoder with a model of its own, and vectors of other query texts. Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub any_encoder: bool,
    /// Beam width of the approximate search of saved vectors with graphs (`ir encode --hnsw`).
    /// Larger values find more of the nearest vectors and take longer. Range: ≥ 1. Default: 64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    #[schemars(extend("default" = EfSearch::default().0))]
    pub ef_search: Option<usize>,
    /// Compares all saved vectors also where there are graphs. Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exact: bool,
    /// Cleaning of the queries before they are encoded. Default: none.
    #[serde(
        default,
        deserialize_with = "cleaning::table",
        skip_serializing_if = "Option::is_none"
    )]
    pub cleaning: Option<CleaningEntry>,
    /// Documents without text in `fields`: `keep` returns them, `drop` leaves them out, as `ir
    /// search` does. An index has its own documents. Default: `keep`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blank: Option<BlankDocsName>,
    /// Fields that are blank in a document that `blank = "drop"` leaves out, by name or as a list.
    /// An index has its own. Default: `one`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fields: Option<IndexedFieldsEntry>,
    /// Order of documents with equal scores. An index has its own. Default: the order of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<DocOrderName>,
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

    /// Retriever of the saved vectors, which may return an id more than once.
    fn saved_retriever(
        &self,
        path: &str,
        context: &mut SystemContext<'_>,
    ) -> Result<SharedRetriever, SystemError> {
        let resolved = existing_path(context.source, "vectors", path)?;
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
        let encoder: Box<dyn Encoder> = if let Some(encoder) = &self.encoder {
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
                self.cleaning.as_ref(),
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
        let width = self.ef_search.map_or(EfSearch::default(), EfSearch);
        let graphs = documents.hnsw_searcher(width).filter(|_| !self.exact);
        if graphs.is_none() && self.ef_search.is_some() {
            let message = "expected vectors with graphs (`ir encode --add --hnsw`), found none";
            return Err(SystemError::parameter("ef_search", message));
        }
        Ok(match graphs {
            Some(graphs) => Arc::new(Encoded::new(encoder, graphs)),
            None => Arc::new(Encoded::new(encoder, documents)),
        })
    }
}

impl System for DenseSystem {
    fn check(&self) -> Result<(), SystemError> {
        let expected = |key: &str, message: &str| Err(SystemError::parameter(key, message));
        let (is_saved, has_queries) = (self.vectors.is_some(), self.queries.is_some());
        self.cleaning
            .as_ref()
            .map_or(Ok(()), CleaningEntry::check)?;
        let conflicts = [
            (
                ("ef_search", self.ef_search.is_some()),
                ("exact", self.exact),
                "an exact search has no beam",
            ),
            (
                ("vectors", is_saved),
                ("template", self.template.is_some()),
                "saved vectors have no template",
            ),
            (
                ("vectors", is_saved),
                ("questions", self.questions.is_some()),
                "only an encoder of the documents encodes questions",
            ),
            (
                ("queries", has_queries),
                ("encoder", self.encoder.is_some()),
                "both give the vectors of the queries",
            ),
        ];
        for ((first, is_first), (key, is_given), reason) in conflicts {
            if is_first && is_given {
                return Err(SystemError::conflict(first, key, reason));
            }
        }
        if let Some(fields) = &self.fields {
            fields.fields()?;
            if self.blank != Some(BlankDocsName::Drop) {
                return expected("fields", "expected blank = \"drop\", found another value");
            }
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
        files.extend(self.cleaning.as_ref().and_then(CleaningEntry::file));
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
        let mut content = CleaningEntry::content(self.cleaning.as_ref(), context)?;
        for (key, path) in self.saved() {
            let path = existing_path(context.source, key, path)?;
            content.push_str(&if path.is_dir() {
                folder_hash(context, &path)?
            } else {
                vectors_hash(context, &path)?
            });
        }
        if self.vectors.is_some() {
            content.push_str(RANKING);
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
        let fields = self.fields.as_ref().map(IndexedFieldsEntry::fields);
        let rendering = TextRendering {
            template: None,
            fields: fields.transpose()?.unwrap_or_default(),
            blank: self.blank,
            order: self.order,
        };
        let ids = document_ids(context, rendering)?;
        let inner = match &self.vectors {
            Some(path) => self.saved_retriever(path, context)?,
            None => {
                let missing = || SystemError::parameter("", "expected the key encoder, found none");
                let encoder = self.encoder.as_ref().ok_or_else(missing)?;
                let template = self.template()?;
                encoder.retriever(context, template.as_ref(), self.questions)?
            }
        };
        let path = self.vectors.as_deref().unwrap_or_default();
        let open = of_the_data(context, path, inner, ids)?;
        CleaningEntry::applied(self.cleaning.as_ref(), context, open)
    }
}

/// Opens the vectors of the queries of the key `queries`, which were encoded as the documents were.
/// The texts of the queries are cleaned.
pub(super) fn query_vectors(
    context: &mut SystemContext<'_>,
    path: &str,
    documents: Option<&VectorOrigin>,
    any_encoder: bool,
    cleaning: Option<&CleaningEntry>,
) -> Result<PrecomputedEncoder, SystemError> {
    let resolved = existing_path(context.source, "queries", path)?;
    let mut queries = context.data.all_queries()?;
    if let Some(entry) = cleaning {
        let cleaner = entry.open(context)?;
        for query in &mut queries {
            let cleaned = cleaner.clean(&query.text);
            query.text = cleaned.map_err(SystemError::stage("cleaning queries"))?;
        }
    }
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
