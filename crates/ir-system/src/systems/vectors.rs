//! The type `dense`.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use ir_core::store::Verify;
use ir_core::{Distinct, Encoded, Encoder, PrecomputedEncoder, Retriever};
use ir_data::DocTemplate;
use ir_knn::{EfSearch, FlatIndex, SegmentedVectorIndex};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::existing_file;
use crate::entries::{EncoderReference, template};
use crate::error::SystemError;
use crate::hash::ContentHash;
use crate::observer::StageReport;
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
    /// Accepts saved vectors of documents and queries by different recorded encoders, such
    /// as a query encoder with a model of its own. Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub any_encoder: bool,
    /// Beam width of the approximate search of saved vectors with graphs (`ir encode --hnsw`).
    /// Range: ≥ 1. Default: 64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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

/// Encoder of saved vectors, as `ir encode` records it in their file.
#[derive(Debug, Deserialize)]
struct RecordedEncoder {
    model_name: String,
    encoder: RecordedFingerprint,
    /// Template of documents; `None` for queries.
    template: Option<String>,
}

/// What the vectors of documents and queries have in common; prefixes and length limits may differ.
#[derive(Debug, Deserialize, PartialEq)]
struct RecordedFingerprint {
    model: String,
    /// Not recorded if it is f32.
    #[serde(default = "f32_name")]
    precision: String,
    /// Not recorded for f32.
    #[serde(default)]
    arithmetic: u32,
    pooling: String,
    normalize: bool,
}

fn f32_name() -> String {
    "f32".to_owned()
}

impl RecordedEncoder {
    fn new(index: &SegmentedVectorIndex) -> Option<Self> {
        serde_json::from_str(index.config().user_metadata.as_deref()?).ok()
    }

    /// Differences to the encoder of other vectors; `None` if there are none.
    fn differences(&self, found: &Self) -> Option<String> {
        let fields = |it: &Self| {
            let encoder = &it.encoder;
            [
                ("model", format!("{} ({})", it.model_name, encoder.model)),
                ("precision", encoder.precision.clone()),
                ("arithmetic version", encoder.arithmetic.to_string()),
                ("pooling", encoder.pooling.clone()),
                ("normalize", encoder.normalize.to_string()),
            ]
        };
        let same_model = self.encoder.model == found.encoder.model;
        let pairs = fields(self).into_iter().zip(fields(found));
        let different = pairs.filter(|((name, expected), (_, found))| {
            expected != found && !(*name == "model" && same_model)
        });
        let different: Vec<String> = different
            .map(|((name, expected), (_, found))| {
                format!("expected {name} {expected}, found {found}")
            })
            .collect();
        (!different.is_empty()).then(|| different.join("; "))
    }
}

impl DenseSystem {
    /// Rejects vectors of different encoders, and files of the other side. Without a record, warns.
    fn check_encoders(
        &self,
        records: [Option<RecordedEncoder>; 2],
        context: &mut SystemContext<'_>,
    ) -> Result<(), SystemError> {
        for ((key, path), record) in self.saved().zip(&records) {
            let Some(record) = record else {
                context.observer.warning(&format!(
                    "{path}: has no record of its encoder, which must be that of the other vectors"
                ));
                continue;
            };
            let (side, other) = match key {
                "queries" => ("queries (`ir encode --queries`)", "documents"),
                _ => ("documents", "queries"),
            };
            if record.template.is_some() == (key == "queries") {
                let message = format!("expected vectors of {side}, found vectors of {other}");
                return Err(SystemError::parameter(key, message));
            }
        }
        let [Some(documents), Some(queries)] = records else {
            return Ok(());
        };
        match documents.differences(&queries) {
            None => Ok(()),
            Some(differences) if self.any_encoder => {
                context.observer.warning(&format!("queries: {differences}"));
                Ok(())
            }
            Some(differences) => {
                let message = format!(
                    "{differences} (encode the queries with the encoder of the documents; \
                     any_encoder = true accepts them)"
                );
                Err(SystemError::parameter("queries", message))
            }
        }
    }
}

impl System for DenseSystem {
    fn check(&self) -> Result<(), SystemError> {
        let expected = |key: &str, message: &str| Err(SystemError::parameter(key, message));
        let (is_saved, has_queries) = (self.vectors.is_some(), self.queries.is_some());
        if self.ef_search == Some(0) {
            return expected("ef_search", "expected at least 1, found 0");
        }
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
            let path = context.resolve(key, path)?;
            if path.is_dir() {
                content
                    .push_str(&folder_hash(&path).map_err(SystemError::stage("reading vectors"))?);
            } else {
                let path = existing_file(context, key, &path.to_string_lossy())?;
                content.push_str(&context.file_hash(&path)?);
            }
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
        let documents = open_vectors(context, "vectors", path)?;
        let dim = |key: &str, found: usize| {
            if found == documents.dim() {
                Ok(())
            } else {
                let expected = documents.dim();
                let message = format!("expected vectors of {expected} dimensions, found {found}");
                Err(SystemError::parameter(key, message))
            }
        };
        let encoder: Box<dyn Encoder> = if let Some(encoder) = encoder {
            let encoder = encoder.open(context)?;
            #[cfg(not(feature = "dense"))]
            match encoder {}
            #[cfg(feature = "dense")]
            {
                dim("encoder", encoder.dim())?;
                let fingerprint = encoder.inner().fingerprint(ir_core::Side::Query);
                let found = serde_json::to_value(&fingerprint);
                let found = found.and_then(serde_json::from_value::<RecordedFingerprint>);
                let found = found.map_err(SystemError::stage("serialization"))?;
                let found = RecordedEncoder {
                    model_name: "encoder".to_owned(),
                    encoder: found,
                    template: None,
                };
                self.check_encoders([RecordedEncoder::new(&documents), Some(found)], context)?;
                Box::new(encoder)
            }
        } else {
            let path = self.queries.as_deref().unwrap_or_default();
            let queries = open_vectors(context, "queries", path)?;
            dim("queries", queries.dim())?;
            let records = [&documents, &queries].map(RecordedEncoder::new);
            self.check_encoders(records, context)?;
            let mut encoder = PrecomputedEncoder::new(path, queries.dim());
            for query in context.data.all_queries()? {
                if let Some(doc) = queries.ids().get(&query.id) {
                    encoder.insert(query.text, queries.vector(doc));
                }
            }
            Box::new(encoder)
        };
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

/// Opens saved vectors: a file, or the folder of a segmented index.
fn open_vectors(
    context: &SystemContext<'_>,
    key: &str,
    path: &str,
) -> Result<SegmentedVectorIndex, SystemError> {
    let resolved = context.resolve(key, path)?;
    let failed = SystemError::stage("opening vectors");
    if SegmentedVectorIndex::exists(&resolved) {
        return SegmentedVectorIndex::open_with(&resolved, Verify::AllSections).map_err(failed);
    }
    let resolved = existing_file(context, key, path)?;
    let index = FlatIndex::open_with(&resolved, Verify::AllSections).map_err(failed)?;
    Ok(index.into())
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
