//! The type `dense`.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use ir_bm25::StoredFields;
use ir_core::{DocIds, Encoded, Encoder, PrecomputedEncoder, Retriever as _};
use ir_data::DocTemplate;
use ir_knn::{EfSearch, SegmentedVectorIndex};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::data_documents::{RANKING, of_the_data};
use super::document_texts::{TextRendering, document_ids};
use super::existing_file::{existing_path, folder_hash};
use crate::cache::Stage;
use crate::entries::{
    BlankDocsName, CleaningEntry, DocOrderName, EncoderReference, IndexedFieldsEntry, cleaning,
    template,
};
use crate::error::SystemError;
use crate::hash::ContentHash;
use crate::observer::StageReport;
#[cfg(feature = "dense")]
use crate::saved_vectors::QueryEncoder;
use crate::saved_vectors::{
    DENSE, QueryVectors, TextComparison, VectorOrigin, grouped, open_vectors, vectors_hash,
};
use crate::system::{OpenSystem, SharedRetriever, System, SystemContext};

/// Dense retrieval with an encoder or with saved vectors.
///
/// Saved vectors of documents that the collection lacks are left out, and documents without a
/// vector are not retrieved, both with a warning. The encoder of the queries and the texts of the
/// documents are compared with the record of `ir encode` in the file of the vectors.
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
    /// query encoder with a model of its own, and vectors of other texts of documents and queries.
    /// Default: false.
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

/// What is not compared without a record of the encoder and the documents.
const DOCUMENTS_UNCHECKED: &str = "the encoder of the queries must be the model that encoded it, \
                                   and the documents must not have changed";

/// Saved vectors of documents, which systems share.
struct SavedVectors {
    path: PathBuf,
    index: SegmentedVectorIndex,
    /// How they were encoded; `None` without a record.
    origin: Option<VectorOrigin>,
    /// Message about documents with other texts, if they were compared.
    changed: OnceLock<Option<String>>,
}

impl SavedVectors {
    /// Opens the vectors of the key `vectors`, once.
    fn open(path: &str, context: &mut SystemContext<'_>) -> Result<Arc<Self>, SystemError> {
        let resolved = existing_path(context.source, "vectors", path)?;
        let verify = context.data.verification();
        let key = format!("saved vectors {verify:?} {}", resolved.display());
        let key = context.key(Stage::Vectors, &key);
        if let Some(open) = context.session.get(&key) {
            return Ok(open);
        }
        let index = open_vectors("vectors", &resolved, verify)?;
        let origin = VectorOrigin::read_with_warning(
            &index,
            Path::new(path),
            DOCUMENTS_UNCHECKED,
            &mut |text| context.warn_once(&text.to_string()),
        );
        if let Some(origin) = &origin
            && origin.template.is_none()
        {
            let message = format!(
                "{path}: expected vectors of documents, found vectors of queries (`ir encode \
                 --queries`)"
            );
            return Err(SystemError::parameter("vectors", message));
        }
        let open = Arc::new(Self {
            path: resolved,
            index,
            origin,
            changed: OnceLock::new(),
        });
        context.session.keep(key, open.clone());
        Ok(open)
    }

    /// Message about documents with other texts than those that were encoded, compared once.
    fn changed_texts(
        &self,
        path: &str,
        context: &mut SystemContext<'_>,
    ) -> Result<Option<&str>, SystemError> {
        if let Some(known) = self.changed.get() {
            return Ok(known.as_deref());
        }
        let found = self.compare_texts(path, context)?;
        Ok(self.changed.get_or_init(|| found).as_deref())
    }

    fn compare_texts(
        &self,
        path: &str,
        context: &mut SystemContext<'_>,
    ) -> Result<Option<String>, SystemError> {
        let Some(origin) = &self.origin else {
            return Ok(None);
        };
        let template = origin.template.as_deref().unwrap_or_default();
        let template = template.parse::<DocTemplate>();
        let template = template.map_err(SystemError::stage("comparing texts"))?;
        let data = context.data;
        let (corpus, are_all) = match (data.all_documents(), data.index()) {
            (Some(corpus), _) => (corpus, true),
            (None, Some(index)) if index.config().store == StoredFields::Everything => {
                (data.corpus(), false)
            }
            _ => {
                context.inform_once(&format!(
                    "{path}: not compared with the texts of {}, which stores none",
                    data.name()
                ));
                return Ok(None);
            }
        };
        let total = corpus.len_hint();
        let mut texts = TextComparison::new(&template, self.index.ids(), &origin.texts);
        texts.compare(corpus, &mut |done| {
            context.report_progress("comparing texts", done, total)
        })?;
        let outdated = texts.outdated(are_all);
        Ok(outdated.map(|(count, first)| {
            format!(
                "{path}: expected vectors of the texts of {}, found other texts for {} of its \
                 documents, such as {first:?}",
                data.name(),
                grouped(count)
            )
        }))
    }
}

impl DenseSystem {
    /// Rejects an encoder of the queries that did not encode the documents.
    #[cfg(feature = "dense")]
    fn check_encoder(
        &self,
        reference: &EncoderReference,
        encoder: &ir_dense::BiEncoder,
        (path, documents): (&str, &VectorOrigin),
        context: &mut SystemContext<'_>,
    ) -> Result<(), SystemError> {
        let (model, prefix) = reference.inspect(context, |entry| {
            let model = entry.model.as_deref().unwrap_or("random model");
            Ok((model.to_owned(), entry.query_prefix.clone()))
        })?;
        let encoder = QueryEncoder {
            model: Path::new(&model),
            encoder,
            prefix: prefix.as_deref(),
            any_encoder: self.any_encoder,
            source: context.source,
        };
        encoder.check(Path::new(path), documents, &mut |text| {
            context.warn_once(&text.to_string());
        })
    }

    /// Vectors of the queries of the key `queries` for the documents of saved vectors, opened once.
    fn saved_queries(
        &self,
        documents: &SavedVectors,
        context: &mut SystemContext<'_>,
    ) -> Result<Arc<PrecomputedEncoder>, SystemError> {
        let path = self.queries.as_deref().unwrap_or_default();
        let resolved = existing_path(context.source, "queries", path)?;
        let mut queries = ContentHash::default();
        for query in context.data.queries() {
            queries.text(&query.id).text(&query.text);
        }
        let key = format!(
            "saved vectors {} of queries {} {:?} for {} {}",
            resolved.display(),
            queries.finish(),
            self.cleaning,
            documents.path.display(),
            self.any_encoder
        );
        let key = context.key(Stage::Vectors, &key);
        if let Some(open) = context.session.get(&key) {
            return Ok(open);
        }
        let open = Arc::new(query_vectors(
            context,
            path,
            documents.origin.as_ref(),
            self.any_encoder,
            self.cleaning.as_ref(),
        )?);
        context.session.keep(key, open.clone());
        Ok(open)
    }

    /// Retriever of the saved vectors, which may return an id more than once, and the model that
    /// encodes the queries. `ids` are the documents to search.
    fn saved_retriever(
        &self,
        path: &str,
        ids: &DocIds,
        context: &mut SystemContext<'_>,
    ) -> Result<(SharedRetriever, Option<Arc<dyn Encoder>>), SystemError> {
        let saved = SavedVectors::open(path, context)?;
        let vectors = &saved.index;
        let encoder: Arc<dyn Encoder> = if let Some(reference) = &self.encoder {
            let encoder = reference.open(context)?;
            #[cfg(not(feature = "dense"))]
            match encoder {}
            #[cfg(feature = "dense")]
            {
                if let Some(origin) = &saved.origin {
                    self.check_encoder(reference, encoder.inner(), (path, origin), context)?;
                }
                encoder
            }
        } else {
            self.saved_queries(&saved, context)?
        };
        self.check_documents(path, &saved, ids, context)?;
        if !vectors.is_empty() && encoder.dim() != vectors.dim() {
            let key = self.encoder.as_ref().map_or("queries", |_| "encoder");
            let (expected, found) = (vectors.dim(), encoder.dim());
            let message =
                format!("expected vectors of {expected} dimensions, as in {path}, found {found}");
            return Err(SystemError::parameter(key, message));
        }
        let model = self.encoder.as_ref().map(|_| encoder.clone());
        let width = self.ef_search.map_or(EfSearch::default(), EfSearch);
        let graphs = vectors.hnsw_searcher(width).filter(|_| !self.exact);
        let Some(graphs) = graphs else {
            if self.ef_search.is_some() {
                let message = format!(
                    "{path}: expected vectors with graphs (`ir encode --add --hnsw`), found none, \
                     which are searched exactly"
                );
                return Err(SystemError::parameter("ef_search", message));
            }
            return Ok((Arc::new(Encoded::new(encoder, vectors.clone())), model));
        };
        let source = context.source;
        let [beam, exact] = [
            source.short_name(DENSE, "ef_search"),
            source.flag_name(DENSE, "exact"),
        ];
        context.inform_once(&format!(
            "{path}: approximate search of graphs, beam width {} ({beam}); {exact} compares all \
             vectors",
            width.0
        ));
        Ok((Arc::new(Encoded::new(encoder, graphs)), model))
    }

    /// Checks that documents have vectors, and the texts that were encoded.
    fn check_documents(
        &self,
        path: &str,
        saved: &SavedVectors,
        ids: &DocIds,
        context: &mut SystemContext<'_>,
    ) -> Result<(), SystemError> {
        let known = saved.index.ids();
        if saved.index.is_empty() && !ids.is_empty() {
            let message =
                format!("{path}: expected vectors of documents of the collection, found none");
            return Err(SystemError::parameter("vectors", message));
        }
        let missing = ids.iter().filter(|id| known.get(id).is_none()).count();
        // Without any, the vectors are of other documents, which is an error.
        if missing > 0 && missing < ids.len() {
            context.warn_once(&format!(
                "{path}: {} of {} documents have no vector and cannot be retrieved (run `ir \
                 encode` again)",
                grouped(missing),
                grouped(ids.len())
            ));
        }
        if missing == ids.len() {
            return Ok(());
        }
        match saved.changed_texts(path, context)? {
            None => Ok(()),
            Some(difference) if self.any_encoder => {
                context.warn_once(difference);
                Ok(())
            }
            Some(difference) => {
                let accepts = context.source.flag_name(DENSE, "any_encoder");
                let message = format!(
                    "{difference} (run `ir encode` again; {accepts} searches all the same)"
                );
                Err(SystemError::parameter("vectors", message))
            }
        }
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
        // Rankings of an index are not cached: large files open at once.
        for (key, path) in self.saved().filter(|_| context.data.index().is_none()) {
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
        let (inner, query_encoder) = match &self.vectors {
            Some(path) => self.saved_retriever(path, &ids, context)?,
            None => {
                let missing = || SystemError::parameter("", "expected the key encoder, found none");
                let encoder = self.encoder.as_ref().ok_or_else(missing)?;
                let template = self.template()?;
                let retriever = encoder.retriever(context, template.as_ref(), self.questions)?;
                (retriever, None)
            }
        };
        let path = self.vectors.as_deref().unwrap_or_default();
        let open = OpenSystem {
            query_encoder,
            description: self.vectors.as_ref().map(|_| "vectors".to_owned()),
            ..of_the_data(context, path, inner, ids)?
        };
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
        acceptance: &context.source.flag_name(DENSE, "any_encoder"),
        required: Some(&required),
    };
    let observer = &mut *context.observer;
    vectors.open(&queries, &mut |text| observer.warning(&text.to_string()))
}
