//! Encoders of systems: model, prefixes, pooling, and the vectors of the documents.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::SystemError;

/// Encoder: a model folder and options that differ from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EncoderEntry {
    /// Model folder in Hugging Face layout, relative to the experiment file, or the name of a
    /// downloaded model (`ir models`). A path may start with an environment variable: `$IR_MODEL`.
    pub model: String,
    /// Maximum sequence length in tokens. Range: ≥ 1. Default: that of the model.
    #[serde(default)]
    pub max_tokens: Option<usize>,
    /// Prefix of every query. Default: that of the model.
    #[serde(default)]
    pub query_prefix: Option<String>,
    /// Prefix of every document. Default: that of the model.
    #[serde(default)]
    pub document_prefix: Option<String>,
    /// Pooling of token vectors. Default: that of the model.
    #[serde(default)]
    pub pooling: Option<PoolingName>,
    /// Normalizes vectors to unit length. Default: that of the model.
    #[serde(default)]
    pub normalize: Option<bool>,
}

/// Pooling of token vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PoolingName {
    /// Vector of the first token.
    Cls,
    /// Mean of the token vectors.
    Mean,
    /// Elementwise maximum of the token vectors.
    Max,
    /// Sum divided by the square root of the number of tokens.
    MeanSqrt,
}

/// Key of the model of a system.
const MODEL_KEY: &str = "encoder.model";

impl EncoderEntry {
    pub(super) fn check(&self) -> Result<(), SystemError> {
        if self.max_tokens == Some(0) {
            let message = "expected at least 1, found 0";
            return Err(SystemError::parameter("encoder.max_tokens", message));
        }
        Ok(())
    }

    /// Key and path of the model.
    pub(super) fn file(&self) -> (String, String) {
        (MODEL_KEY.to_owned(), self.model.clone())
    }
}

#[cfg(feature = "dense")]
pub(crate) use with_models::SharedEncoder;

#[cfg(feature = "dense")]
mod with_models {
    use std::sync::Arc;

    use ir_core::store::Verify;
    use ir_core::{CachedEncoder, Distinct, Encoded, Encoder, Flow, Side};
    use ir_data::DocTemplate;
    use ir_dense::{BiEncoder, EncoderConfig, Pooling, SideConfig, encode_stream, model_files};
    use ir_knn::{FlatIndex, FlatIndexWriter};

    use super::{EncoderEntry, MODEL_KEY, PoolingName};
    use crate::cache::Stage;
    use crate::error::{ExperimentError, SystemError};
    use crate::model::{ModelFolder, find_model, similarity};
    use crate::observer::StageReport;
    use crate::system::{OpenSystem, SystemContext};

    /// Query encoder that keeps the vectors in memory.
    pub(crate) type SharedEncoder = Arc<CachedEncoder<BiEncoder>>;

    /// Number of documents after which their vectors are written.
    const BLOCK: usize = 256;

    impl EncoderEntry {
        fn find(&self, context: &SystemContext<'_>) -> Result<ModelFolder, SystemError> {
            let path = context.resolve(MODEL_KEY, &self.model)?;
            let found = if path.exists() {
                find_model(&path)
            } else {
                find_model(self.model.as_ref())
            };
            found.map_err(|error| SystemError::missing(MODEL_KEY, error.to_string()))
        }

        fn config(&self, model: &ModelFolder) -> EncoderConfig {
            let mut sides = [SideConfig::default(), SideConfig::default()];
            for (side, prefix) in sides
                .iter_mut()
                .zip([&self.query_prefix, &self.document_prefix])
            {
                side.max_tokens = self.max_tokens;
                side.prefix.clone_from(prefix);
            }
            let [query, document] = sides;
            let mut config = EncoderConfig::default()
                .with_query(query)
                .with_document(document);
            config.pooling = self.pooling.map(|pooling| match pooling {
                PoolingName::Cls => Pooling::Cls,
                PoolingName::Mean => Pooling::Mean,
                PoolingName::Max => Pooling::Max,
                PoolingName::MeanSqrt => Pooling::MeanSqrt,
            });
            config.normalize = self.normalize;
            model.with_catalog_defaults(config)
        }

        /// Hash of the files of the model and the configuration.
        pub(in crate::systems) fn content(
            &self,
            context: &SystemContext<'_>,
        ) -> Result<String, SystemError> {
            let model = self.find(context)?;
            let mut files = model_files(&model.folder);
            // Names that a folder may have.
            files.retain(|file| file.is_file());
            if files.is_empty() {
                let message = format!("{}: expected a model folder", model.folder.display());
                return Err(SystemError::parameter(MODEL_KEY, message));
            }
            let config = serde_json::to_string(&self.config(&model));
            let mut content = config.map_err(SystemError::stage("serialization"))?;
            for file in files {
                let name = file.file_name().unwrap_or_default().to_string_lossy();
                content.push_str(&format!(" {name}:{}", context.file_hash(&file)?));
            }
            Ok(content)
        }

        /// Encoder of documents and queries, which systems with the same files share.
        pub(in crate::systems) fn open(
            &self,
            context: &mut SystemContext<'_>,
        ) -> Result<SharedEncoder, SystemError> {
            let content = self.content(context)?;
            if let Some(encoder) = context.session.encoders.get(&content) {
                return Ok(encoder.clone());
            }
            let model = self.find(context)?;
            let encoder = BiEncoder::open_with(&model.folder, &self.config(&model));
            let encoder = encoder.map_err(SystemError::stage("opening the model"))?;
            let encoder = Arc::new(CachedEncoder::new(encoder));
            context.session.encoders.insert(content, encoder.clone());
            Ok(encoder)
        }

        /// Cache key and description of the vectors of the documents.
        fn stage(
            &self,
            context: &SystemContext<'_>,
            template: &DocTemplate,
        ) -> Result<(String, String), SystemError> {
            let content = self.content(context)?;
            let name = self.model.rsplit('/').next().unwrap_or(&self.model);
            let description = format!("document vectors of {name}, template {template}");
            let key = context.key(Stage::Vectors, &format!("{template}\n{content}"));
            Ok((key, description))
        }

        pub(in crate::systems) fn stages(
            &self,
            context: &SystemContext<'_>,
            template: &DocTemplate,
        ) -> Result<Vec<StageReport>, SystemError> {
            let (key, description) = self.stage(context, template)?;
            Ok(vec![context.planned(Stage::Vectors, &key, &description)])
        }

        /// Dense retriever over the vectors of the documents.
        pub(in crate::systems) fn retriever(
            &self,
            context: &mut SystemContext<'_>,
            template: &DocTemplate,
        ) -> Result<OpenSystem, SystemError> {
            let (key, description) = self.stage(context, template)?;
            let encoder = self.open(context)?;
            let vectors = match context.session.vectors.get(&key) {
                Some(vectors) => vectors.clone(),
                None => Arc::new(context.cached(
                    Stage::Vectors,
                    &key,
                    &description,
                    |path| FlatIndex::open_with(path, Verify::AllSections),
                    |context, path| encode_documents(context, encoder.inner(), template, path),
                )?),
            };
            context.session.vectors.insert(key, vectors.clone());
            let retriever = Distinct(Encoded::new(encoder, vectors));
            Ok(OpenSystem::new(Arc::new(retriever)))
        }
    }

    /// Encodes all documents. A killed job resumes after its last [`BLOCK`].
    fn encode_documents(
        context: &mut SystemContext<'_>,
        encoder: &BiEncoder,
        template: &DocTemplate,
        path: &std::path::Path,
    ) -> Result<(), SystemError> {
        fn failed<E: std::error::Error + Send + Sync + 'static>(error: E) -> SystemError {
            SystemError::stage("encoding")(error)
        }
        let task = context.task;
        template.check(task.corpus()).map_err(failed)?;
        let similarity = similarity(encoder.similarity());
        let mut writer =
            FlatIndexWriter::resume(path, encoder.dim(), similarity).map_err(failed)?;
        let (done, total) = (writer.len(), Some(task.ids().len() as u64));
        let documents = task.corpus().docs().map_err(failed)?.skip(done);
        let texts = documents.map(|doc| {
            let doc = doc.map_err(failed)?;
            let text = template.render(&doc);
            Ok((doc.id, text))
        });
        let push = |id: &str, vector: &[f32]| {
            writer.push(id, vector).map_err(failed)?;
            match writer.len().is_multiple_of(BLOCK) {
                true => writer.flush().map_err(failed),
                false => Ok(()),
            }
        };
        let mut progress = |stage: &str, new: u64, _: Option<u64>| {
            context.observer.report(stage, done as u64 + new, total)
        };
        let ended = encode_stream(encoder, Side::Document, texts, total, push, &mut progress)?;
        match ended {
            Flow::Continue => writer.finish().map_err(failed),
            Flow::Stop => {
                writer.flush().map_err(failed)?;
                Err(ExperimentError::Canceled.into())
            }
        }
    }
}

#[cfg(not(feature = "dense"))]
mod without_models {
    use std::convert::Infallible;

    use ir_data::DocTemplate;

    use super::EncoderEntry;
    use crate::error::SystemError;
    use crate::observer::StageReport;
    use crate::system::{OpenSystem, SystemContext};

    impl EncoderEntry {
        fn unavailable() -> SystemError {
            let message =
                "encoders need the feature `dense`, with which this program was not built";
            SystemError::missing("encoder", message)
        }

        pub(in crate::systems) fn content(
            &self,
            _: &SystemContext<'_>,
        ) -> Result<String, SystemError> {
            Err(Self::unavailable())
        }

        pub(in crate::systems) fn stages(
            &self,
            _: &SystemContext<'_>,
            _: &DocTemplate,
        ) -> Result<Vec<StageReport>, SystemError> {
            Err(Self::unavailable())
        }

        pub(in crate::systems) fn retriever(
            &self,
            _: &mut SystemContext<'_>,
            _: &DocTemplate,
        ) -> Result<OpenSystem, SystemError> {
            Err(Self::unavailable())
        }

        pub(in crate::systems) fn open(
            &self,
            _: &mut SystemContext<'_>,
        ) -> Result<Infallible, SystemError> {
            Err(Self::unavailable())
        }
    }
}
