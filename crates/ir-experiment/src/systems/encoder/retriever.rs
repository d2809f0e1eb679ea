//! Open encoders, and dense retrieval over the cached vectors of the documents.

use std::path::Path;
use std::sync::Arc;

use ir_core::store::Verify;
use ir_core::{CachedEncoder, Distinct, Encoded, Encoder, Flow, Side};
use ir_data::DocTemplate;
use ir_dense::{BiEncoder, EncoderConfig, Pooling, SideConfig, encode_stream};
use ir_knn::{FlatIndex, FlatIndexWriter};

use super::{EncoderEntry, EncoderReference, PoolingName};
use crate::cache::Stage;
use crate::error::{ExperimentError, SystemError};
use crate::model::similarity;
use crate::observer::StageReport;
use crate::system::{OpenSystem, SystemContext};

/// Query encoder that keeps the vectors in memory.
pub(crate) type SharedEncoder = Arc<CachedEncoder<BiEncoder>>;

/// Number of documents after which their vectors are written.
const BLOCK: usize = 256;

impl EncoderReference {
    /// Weights, configuration and template: everything that the run of a system depends on.
    pub(in crate::systems) fn content(
        &self,
        context: &SystemContext<'_>,
    ) -> Result<String, SystemError> {
        self.inspect(context, |entry| {
            let (content, template) = (entry.content(context)?, entry.template()?);
            Ok(format!("{template}\n{content}"))
        })
    }

    /// Stages that an encoder of queries needs.
    pub(in crate::systems) fn query_stages(
        &self,
        context: &SystemContext<'_>,
    ) -> Result<Vec<StageReport>, SystemError> {
        self.inspect(context, |entry| entry.model_stages(context))
    }

    /// Stages that dense retrieval needs.
    pub(in crate::systems) fn stages(
        &self,
        context: &SystemContext<'_>,
        template: Option<&DocTemplate>,
    ) -> Result<Vec<StageReport>, SystemError> {
        self.inspect(context, |entry| {
            let mut stages = entry.model_stages(context)?;
            let (key, description) = entry.stage(context, &entry.template_or(template)?)?;
            stages.push(context.planned(Stage::Vectors, &key, &description));
            Ok(stages)
        })
    }

    /// Encoder of documents and queries, which systems with the same weights share.
    pub(in crate::systems) fn open(
        &self,
        context: &mut SystemContext<'_>,
    ) -> Result<SharedEncoder, SystemError> {
        self.with(context, EncoderEntry::open)
    }

    /// Dense retriever over the vectors of the documents.
    pub(in crate::systems) fn retriever(
        &self,
        context: &mut SystemContext<'_>,
        template: Option<&DocTemplate>,
    ) -> Result<OpenSystem, SystemError> {
        self.with(context, |entry, context| {
            entry.retriever(context, &entry.template_or(template)?)
        })
    }
}

impl EncoderEntry {
    /// Template of a system, or that of the entry.
    fn template_or(&self, template: Option<&DocTemplate>) -> Result<DocTemplate, SystemError> {
        template.cloned().map_or_else(|| self.template(), Ok)
    }

    /// Options of the entry, without defaults of the model.
    pub(super) fn options(&self) -> EncoderConfig {
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
            PoolingName::Sep => Pooling::Sep,
            PoolingName::Mean => Pooling::Mean,
            PoolingName::Max => Pooling::Max,
            PoolingName::MeanSqrt => Pooling::MeanSqrt,
        });
        config.normalize = self.normalize;
        config
    }

    /// Configuration with the defaults of the catalog; trained weights have them in their folder.
    fn config(&self, context: &SystemContext<'_>) -> Result<EncoderConfig, SystemError> {
        match self.training {
            Some(_) => Ok(self.options()),
            None => self.with_catalog_defaults(context, self.options()),
        }
    }

    /// Weights and configuration, without the template, which encoders of queries do not use.
    fn content(&self, context: &SystemContext<'_>) -> Result<String, SystemError> {
        let config = serde_json::to_string(&self.config(context)?);
        let config = config.map_err(SystemError::stage("serialization"))?;
        Ok(config + &self.weights(context)?)
    }

    fn open(&self, context: &mut SystemContext<'_>) -> Result<SharedEncoder, SystemError> {
        let content = self.content(context)?;
        if let Some(encoder) = context.session.encoders.get(&content) {
            return Ok(encoder.clone());
        }
        let config = self.config(context)?;
        let encoder = BiEncoder::open_with(self.folder(context)?, &config);
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
        let description = format!("document vectors of {}, template {template}", self.label());
        let key = context.key(Stage::Vectors, &format!("{template}\n{content}"));
        Ok((key, description))
    }

    fn retriever(
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
    path: &Path,
) -> Result<(), SystemError> {
    fn failed<E: std::error::Error + Send + Sync + 'static>(error: E) -> SystemError {
        SystemError::stage("encoding")(error)
    }
    let task = context.task;
    template.check(task.corpus()).map_err(failed)?;
    let similarity = similarity(encoder.similarity());
    let mut writer = FlatIndexWriter::resume(path, encoder.dim(), similarity).map_err(failed)?;
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
