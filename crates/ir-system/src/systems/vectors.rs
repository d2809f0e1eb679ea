//! The type `dense`.

use std::sync::Arc;

use ir_core::store::Verify;
use ir_core::{Distinct, Encoded, PrecomputedEncoder, Retriever};
use ir_data::DocTemplate;
use ir_knn::FlatIndex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::existing_file;
use crate::entries::{EncoderReference, template};
use crate::error::SystemError;
use crate::observer::StageReport;
use crate::system::{OpenSystem, System, SystemContext};

/// Dense retrieval with an encoder or with saved vectors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DenseSystem {
    /// Encoder of documents and queries.
    #[serde(default)]
    pub encoder: Option<EncoderReference>,
    /// Template of the document texts, for an encoder. Default: that of the encoder.
    #[serde(default)]
    pub template: Option<String>,
    /// Questions that are generated for the text of each document and encoded as queries. The score
    /// of a document is the maximum over its vector and those of its questions. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub questions: Option<QuestionsName>,
    /// Saved vectors of the documents, written by `ir encode`, instead of an encoder.
    #[serde(default)]
    pub vectors: Option<String>,
    /// Saved vectors of the queries, written by `ir encode --queries`, for saved vectors of the
    /// documents.
    #[serde(default)]
    pub queries: Option<String>,
    /// Accepts saved vectors of documents and queries whose files record different encoders, such
    /// as a query encoder with a model of its own. Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub any_encoder: bool,
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
    fn saved(&self) -> Option<[(&'static str, &str); 2]> {
        let (vectors, queries) = (self.vectors.as_deref()?, self.queries.as_deref()?);
        Some([("vectors", vectors), ("queries", queries)])
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
    fn new(index: &FlatIndex) -> Option<Self> {
        serde_json::from_str(index.user_metadata()?).ok()
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
        documents: &FlatIndex,
        queries: &FlatIndex,
        context: &mut SystemContext<'_>,
    ) -> Result<(), SystemError> {
        let records = [documents, queries].map(RecordedEncoder::new);
        for ((key, path), record) in self.saved().into_iter().flatten().zip(&records) {
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
        let set = [self.vectors.is_some(), self.queries.is_some()];
        match (&self.encoder, set) {
            (Some(_), [false, false]) if self.any_encoder => {
                let message = "expected saved vectors, found an encoder";
                Err(SystemError::parameter("any_encoder", message))
            }
            (Some(encoder), [false, false]) => {
                self.template()?;
                encoder.check()
            }
            (None, [true, true]) if self.template.is_some() => {
                let message = "expected an encoder; saved vectors have no template";
                Err(SystemError::parameter("template", message))
            }
            (None, [true, true]) if self.questions.is_some() => {
                let message = "expected an encoder, which encodes the questions";
                Err(SystemError::parameter("questions", message))
            }
            (None, [true, true]) => Ok(()),
            (None, [true, false]) => Err(SystemError::parameter(
                "vectors",
                "expected the key queries, the saved vectors of the queries, found none",
            )),
            (None, [false, true]) => Err(SystemError::parameter(
                "queries",
                "expected the key vectors, the saved vectors of the documents, found none",
            )),
            (None, [false, false]) => Err(SystemError::parameter(
                "",
                "expected the key encoder, or the keys vectors and queries, found none",
            )),
            (Some(_), _) => Err(SystemError::parameter(
                "encoder",
                "expected either an encoder or saved vectors, found both",
            )),
        }
    }

    fn files(&self) -> Vec<(String, String)> {
        let saved = self.saved().into_iter().flatten();
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
        if let Some(encoder) = &self.encoder {
            return encoder.content(context);
        }
        let mut content = String::new();
        for (key, path) in self.saved().into_iter().flatten() {
            let path = existing_file(context, key, path)?;
            content.push_str(&context.file_hash(&path)?);
        }
        Ok(content)
    }

    fn stages(&self, context: &SystemContext<'_>) -> Result<Vec<StageReport>, SystemError> {
        match &self.encoder {
            None => Ok(Vec::new()),
            Some(encoder) => encoder.stages(context, self.template()?.as_ref(), self.questions),
        }
    }

    fn open(&self, context: &mut SystemContext<'_>) -> Result<OpenSystem, SystemError> {
        if let Some(encoder) = &self.encoder {
            return encoder.retriever(context, self.template()?.as_ref(), self.questions);
        }
        let open = |key, path: &str| -> Result<Arc<FlatIndex>, SystemError> {
            let path = existing_file(context, key, path)?;
            let index = FlatIndex::open_with(&path, Verify::AllSections);
            Ok(Arc::new(
                index.map_err(SystemError::stage("opening vectors"))?,
            ))
        };
        let saved = self.saved().unwrap_or_default();
        let documents = open(saved[0].0, saved[0].1)?;
        let queries = open(saved[1].0, saved[1].1)?;
        if queries.dim() != documents.dim() {
            let message = format!(
                "expected vectors of {} dimensions, found {}",
                documents.dim(),
                queries.dim()
            );
            return Err(SystemError::parameter("queries", message));
        }
        self.check_encoders(&documents, &queries, context)?;
        let mut encoder = PrecomputedEncoder::new(saved[1].1, queries.dim());
        for query in context.data.all_queries()? {
            if let Some(doc) = queries.ids().get(&query.id) {
                encoder.insert(query.text, queries.vector(doc));
            }
        }
        let known = context.data.ids();
        if let Some(id) = documents.ids().iter().find(|id| known.get(id).is_none()) {
            let message = format!("expected vectors of documents of the collection, found {id:?}");
            return Err(SystemError::parameter("vectors", message));
        }
        let retriever = Distinct(Encoded::new(encoder, documents));
        Ok(OpenSystem::new(Arc::new(retriever)))
    }
}
