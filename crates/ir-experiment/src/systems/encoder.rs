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

impl EncoderEntry {
    pub(super) fn check(&self, key: &str) -> Result<(), SystemError> {
        if self.max_tokens == Some(0) {
            let key = format!("{key}.max_tokens");
            return Err(SystemError::parameter(key, "expected at least 1, found 0"));
        }
        Ok(())
    }

    /// Key and path of the model.
    pub(super) fn file(&self) -> (String, String) {
        ("encoder.model".to_owned(), self.model.clone())
    }
}

#[cfg(feature = "dense")]
mod with_models {
    use std::sync::Arc;

    use ir_core::store::Verify;
    use ir_core::{CachedEncoder, Distinct, Document, Encoded, Encoder, Flow, Side};
    use ir_data::DocTemplate;
    use ir_dense::{BiEncoder, EncoderConfig, Pooling, SideConfig, model_files};
    use ir_knn::{FlatIndex, FlatIndexWriter};

    use super::{EncoderEntry, PoolingName};
    use crate::cache::Stage;
    use crate::error::{ExperimentError, SystemError};
    use crate::model::{ModelFolder, find_model, similarity};
    use crate::observer::StageReport;
    use crate::system::{OpenSystem, SystemContext};

    /// Query encoder that keeps the vectors in memory.
    pub(crate) type SharedEncoder = Arc<CachedEncoder<BiEncoder>>;

    /// Number of documents after which their vectors are written.
    const CHUNK: usize = 256;

    impl EncoderEntry {
        fn find(&self, context: &SystemContext<'_>) -> Result<ModelFolder, SystemError> {
            let key = "encoder.model";
            let path = context.resolve(key, &self.model)?;
            let found = if path.exists() {
                find_model(&path)
            } else {
                find_model(self.model.as_ref())
            };
            found.map_err(|error| SystemError::missing(key, error.to_string()))
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
            key: &str,
        ) -> Result<String, SystemError> {
            let model = self.find(context)?;
            let mut files = model_files(&model.folder);
            // Names that a folder may have.
            files.retain(|file| file.is_file());
            if files.is_empty() {
                let message = format!("{}: expected a model folder", model.folder.display());
                return Err(SystemError::parameter(format!("{key}.model"), message));
            }
            let config = serde_json::to_string(&self.config(&model));
            let mut content = config.map_err(SystemError::stage("serialization"))?;
            for file in files {
                let name = file.file_name().unwrap_or_default().to_string_lossy();
                content.push_str(&format!(" {name}:{}", context.file_hash(&file)?));
            }
            Ok(content)
        }

        /// Opens the encoder, once per task.
        pub(in crate::systems) fn open(
            &self,
            context: &mut SystemContext<'_>,
        ) -> Result<SharedEncoder, SystemError> {
            let content = self.content(context, "encoder")?;
            let known = context.session.values.get(&content).cloned();
            if let Some(encoder) = known.and_then(|value| value.downcast().ok()) {
                return Ok(encoder);
            }
            let model = self.find(context)?;
            let encoder = BiEncoder::open_with(&model.folder, &self.config(&model));
            let encoder = encoder.map_err(SystemError::stage("opening the model"))?;
            let encoder = Arc::new(CachedEncoder::new(encoder));
            context.session.values.insert(content, encoder.clone());
            Ok(encoder)
        }

        /// Cache key and description of the vectors of the documents.
        fn stage(
            &self,
            context: &SystemContext<'_>,
            template: &DocTemplate,
        ) -> Result<(String, String), SystemError> {
            let content = self.content(context, "encoder")?;
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
            let vectors = context.cached(
                Stage::Vectors,
                &key,
                &description,
                |path| FlatIndex::open_with(path, Verify::AllSections),
                |context, path| encode_documents(context, encoder.inner(), template, path),
            )?;
            let retriever = Distinct(Encoded::new(encoder, vectors));
            let mut open = OpenSystem::new(Arc::new(retriever));
            // The vectors are in the order of the documents.
            open.years = Some(context.task().years());
            Ok(open)
        }
    }

    /// Encodes all documents. An interrupted job resumes after its last chunk.
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
        let total = task.ids().len() as u64;
        template.check(task.corpus()).map_err(failed)?;
        let (dim, similarity) = (encoder.dim(), similarity(encoder.similarity()));
        let mut writer = FlatIndexWriter::resume(path, dim, similarity).map_err(failed)?;
        let mut reader = task.corpus().open().map_err(failed)?;
        let mut doc = Document::default();
        for _ in 0..writer.len() {
            reader.read(&mut doc).map_err(failed)?;
        }
        let mut chunk: Vec<(String, String)> = Vec::with_capacity(CHUNK);
        loop {
            let more = reader.read(&mut doc).map_err(failed)?;
            if more {
                chunk.push((doc.id.clone(), template.render(&doc)));
            }
            if chunk.len() < CHUNK && more {
                continue;
            }
            let texts: Vec<&str> = chunk.iter().map(|(_, text)| text.as_str()).collect();
            let rows = encoder.encode(Side::Document, &texts).map_err(failed)?;
            for ((id, _), row) in chunk.iter().zip(rows.chunks(dim)) {
                writer.push(id, row).map_err(failed)?;
            }
            writer.flush().map_err(failed)?;
            chunk.clear();
            if !more {
                return writer.finish().map_err(failed);
            }
            let done = writer.len() as u64;
            if context.observer.report("encoding", done, Some(total)) == Flow::Stop {
                return Err(ExperimentError::Canceled.into());
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
            _: &str,
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
