//! Open encoders, and dense retrieval over the cached vectors of the documents.

use std::path::Path;
use std::sync::Arc;

use ir_bm25::{TermVectors, TermWords};
use ir_core::store::Verify;
use ir_core::{
    CachedEncoder, DocIds, DocNum, Encoded, Encoder, Explanation, Flow, Ranking, Retriever, Search,
    SearchError, Side,
};
use ir_data::DocTemplate;
use ir_dense::{
    BiEncoder, EncoderConfig, ModelError, Pooling, Precision, SideConfig, SparseEncoder,
    TokenizerError, encode_stream,
};
use ir_knn::{
    EncodedSparse, FlatIndex, FlatIndexWriter, SparseIndex, SparseVector, VectorSimilarity,
};

use crate::cache::Stage;
use crate::entries::{EncoderEntry, EncoderReference, PoolingName};
use crate::error::{SpecError, SystemError};
use crate::model::similarity;
use crate::observer::StageReport;
use crate::system::{SharedRetriever, SystemContext};
use crate::systems::vectors::QuestionsName;

/// Query encoder that keeps the vectors in memory.
pub(crate) type SharedEncoder = Arc<CachedEncoder<BiEncoder>>;

/// Number of texts after which their vectors are written.
const BLOCK: usize = 256;

impl EncoderReference {
    /// Weights, configuration and template: everything that the run of a system depends on.
    pub(crate) fn content(&self, context: &SystemContext<'_>) -> Result<String, SystemError> {
        self.inspect(context, |entry| {
            let (content, template) = (entry.content(context)?, entry.template()?);
            Ok(format!("{template}\n{content}"))
        })
    }

    /// Stages that an encoder of queries needs.
    pub(crate) fn query_stages(
        &self,
        context: &SystemContext<'_>,
    ) -> Result<Vec<StageReport>, SystemError> {
        self.inspect(context, |entry| entry.model_stages(context))
    }

    /// Stages that dense retrieval needs.
    pub(crate) fn stages(
        &self,
        context: &SystemContext<'_>,
        template: Option<&DocTemplate>,
        questions: Option<QuestionsName>,
    ) -> Result<Vec<StageReport>, SystemError> {
        self.inspect(context, |entry| {
            let mut stages = entry.model_stages(context)?;
            let (key, description) = entry.stage(context, &entry.template_or(template)?)?;
            stages.push(context.planned(Stage::Vectors, &key, &description));
            if let Some(questions) = questions {
                let (key, description) = entry.question_stage(context, questions)?;
                stages.push(context.planned(Stage::Vectors, &key, &description));
            }
            Ok(stages)
        })
    }

    /// Encoder of documents and queries, which systems with the same weights share.
    pub(crate) fn open(
        &self,
        context: &mut SystemContext<'_>,
    ) -> Result<SharedEncoder, SystemError> {
        self.with(context, EncoderEntry::open)
    }

    /// Dense retriever over the vectors of the documents and of generated questions, which have the
    /// ids of their documents.
    pub(crate) fn retriever(
        &self,
        context: &mut SystemContext<'_>,
        template: Option<&DocTemplate>,
        questions: Option<QuestionsName>,
    ) -> Result<SharedRetriever, SystemError> {
        // Outside of the encoder: the template has a key of its own.
        if let Some(template) = template {
            context.check_template(template)?;
        }
        self.with(context, |entry, context| {
            let encoder = entry.open(context)?;
            let template = entry.template_or(template)?;
            let vectors = entry.document_vectors(context, &encoder, &template)?;
            let vectors = match questions {
                None => vectors,
                Some(questions) => {
                    Arc::new(entry.with_questions(context, &encoder, &vectors, questions)?)
                }
            };
            Ok(Arc::new(Encoded::new(encoder, vectors)) as SharedRetriever)
        })
    }

    /// Retriever of a learned sparse encoder over the weights of the documents.
    pub(crate) fn sparse_retriever(
        &self,
        context: &mut SystemContext<'_>,
    ) -> Result<SharedRetriever, SystemError> {
        self.with(context, |entry, context| {
            let encoder = entry.open_sparse(context)?;
            let template = entry.template()?;
            context.check_template(&template)?;
            let ids = context.data.ids().clone();
            let total = ids.len() as u64;
            let mut texts = Vec::with_capacity(BLOCK);
            let mut vectors = Vec::with_capacity(ids.len());
            let mut documents = context.data.corpus().docs().map_err(failed)?;
            loop {
                texts.clear();
                for document in documents.by_ref().take(BLOCK) {
                    texts.push(template.render(&document.map_err(failed)?));
                }
                if texts.is_empty() {
                    break;
                }
                let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                for weights in encoder.encode_documents(&texts).map_err(failed)? {
                    let (columns, values) = weights.into_iter().unzip();
                    vectors.push(SparseVector::new(columns, values).map_err(failed)?);
                }
                let done = vectors.len() as u64;
                if context.observer.report("encoding", done, Some(total)) == Flow::Stop {
                    return Err(SpecError::Canceled.into());
                }
            }
            let dim = encoder.dim();
            let index = SparseIndex::new(ids, dim, vectors, VectorSimilarity::InnerProduct);
            let index = index.map_err(failed)?;
            let retriever = SharedTokens(EncodedSparse::new(encoder, index));
            Ok(Arc::new(retriever) as SharedRetriever)
        })
    }

    /// Encoder, and the vectors of the documents.
    pub(crate) fn vectors(
        &self,
        context: &mut SystemContext<'_>,
        template: Option<&DocTemplate>,
    ) -> Result<(SharedEncoder, Arc<FlatIndex>), SystemError> {
        if let Some(template) = template {
            context.check_template(template)?;
        }
        self.with(context, |entry, context| {
            let encoder = entry.open(context)?;
            let template = entry.template_or(template)?;
            let vectors = entry.document_vectors(context, &encoder, &template)?;
            Ok((encoder, vectors))
        })
    }

    /// Stages that the vectors of words need. `words` identifies the words of these documents.
    pub(crate) fn word_stages(
        &self,
        context: &SystemContext<'_>,
        words: &str,
    ) -> Result<Vec<StageReport>, SystemError> {
        self.inspect(context, |entry| {
            let mut stages = entry.model_stages(context)?;
            let (key, description) = entry.word_stage(context, words)?;
            stages.push(context.planned(Stage::Vectors, &key, &description));
            Ok(stages)
        })
    }

    /// Encoder and vectors of words. `words` identifies the words that `read` returns.
    pub(crate) fn word_vectors(
        &self,
        context: &mut SystemContext<'_>,
        words: &str,
        read: impl FnOnce(&mut SystemContext<'_>) -> Result<TermWords, SystemError>,
    ) -> Result<(Arc<dyn Encoder>, TermVectors), SystemError> {
        self.with(context, |entry, context| {
            let (key, description) = entry.word_stage(context, words)?;
            let encoder = entry.open(context)?;
            let index = context.cached(
                Stage::Vectors,
                &key,
                &description,
                |path| FlatIndex::open_with(path, Verify::AllSections),
                |context, path| {
                    let words = read(context)?;
                    encode_words(context, encoder.inner(), &words, path)
                },
            )?;
            let terms = index.ids().iter().map(str::to_owned);
            let values = index.vectors().iter().copied().collect();
            let vectors = TermVectors::new(terms, index.dim(), values);
            let vectors = vectors.map_err(SystemError::stage("vectors of words"))?;
            Ok((encoder as Arc<dyn Encoder>, vectors))
        })
    }
}

/// Search without documents that share no token with the query, as of files of vectors.
struct SharedTokens(EncodedSparse<SparseEncoder>);

impl Retriever for SharedTokens {
    type Query = str;

    fn ids(&self) -> &DocIds {
        self.0.ids()
    }

    fn search(&self, query: &str, search: &Search<'_>) -> Result<Ranking, SearchError> {
        let ranking = self.0.search(query, search)?;
        Ok(ranking.retain(|hit| hit.score != 0.0))
    }

    fn explain(
        &self,
        query: &str,
        doc: DocNum,
        search: &Search<'_>,
    ) -> Result<Option<Explanation>, SearchError> {
        let explained = self.0.explain(query, doc, search)?;
        Ok(explained.filter(|explanation| explanation.value != 0.0))
    }
}

impl EncoderEntry {
    /// Template of a system, or else the entry's.
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
            PoolingName::LastToken => Pooling::LastToken,
            PoolingName::Mean => Pooling::Mean,
            PoolingName::Max => Pooling::Max,
            PoolingName::MeanSqrt => Pooling::MeanSqrt,
            PoolingName::WeightedMean => Pooling::WeightedMean,
        });
        config.normalize = self.normalize;
        config.truncate_dim = self.truncate_dim;
        config.precision = self.precision.map(Precision::from).unwrap_or_default();
        config
    }

    /// Configuration with the defaults of the catalog; trained weights have them in their folder.
    fn config(&self, context: &SystemContext<'_>) -> Result<EncoderConfig, SystemError> {
        let mut options = self.options();
        options.backend = context.session.backend;
        match self.training {
            Some(_) => Ok(options),
            None => self.with_catalog_defaults(context, options),
        }
    }

    /// Weights and configuration, without the template, which encoders of queries do not use.
    pub(super) fn content(&self, context: &SystemContext<'_>) -> Result<String, SystemError> {
        let config = serde_json::to_string(&self.config(context)?);
        let config = config.map_err(SystemError::stage("serialization"))?;
        Ok(config + &self.weights(context)?)
    }

    fn open(&self, context: &mut SystemContext<'_>) -> Result<SharedEncoder, SystemError> {
        let content = self.content(context)?;
        if let Some(encoder) = context.session.get(&content) {
            return Ok(encoder);
        }
        let config = self.config(context)?;
        let encoder = BiEncoder::open_with(self.folder(context)?, &config);
        let encoder = encoder.map_err(|error| self.opening_error(error))?;
        if let (Some(model), None) = (&self.model, &self.training) {
            for note in encoder.notes() {
                context.observer.note(&format!("{model}: {note}"));
            }
        }
        let encoder = Arc::new(CachedEncoder::new(encoder));
        context.session.keep(content, encoder.clone());
        Ok(encoder)
    }

    /// Opens the model as a learned sparse encoder.
    fn open_sparse(&self, context: &mut SystemContext<'_>) -> Result<SparseEncoder, SystemError> {
        let mut config = self.config(context)?;
        // The catalog has them for dense vectors.
        config.pooling = self.options().pooling;
        config.normalize = self.normalize;
        config.truncate_dim = self.truncate_dim;
        let encoder = SparseEncoder::open_with(self.folder(context)?, &config);
        encoder.map_err(|error| self.opening_error(error))
    }

    /// Error of opening the model: of the key that the model does not accept, if it is one.
    fn opening_error(&self, error: ModelError) -> SystemError {
        let key = match &error {
            ModelError::Setting { field, .. } if field == "max_tokens" => "max_tokens",
            ModelError::Setting { field, .. }
                if field == "truncate_dim" && self.truncate_dim.is_some() =>
            {
                "truncate_dim"
            }
            ModelError::Tokenizer(TokenizerError::Limit { .. }) if self.max_tokens.is_some() => {
                "max_tokens"
            }
            ModelError::Precision { .. } => "precision",
            _ => return SystemError::stage("opening the model")(error),
        };
        SystemError::parameter(key, error.to_string())
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

    /// Cache key and description of the vectors of words.
    fn word_stage(
        &self,
        context: &SystemContext<'_>,
        words: &str,
    ) -> Result<(String, String), SystemError> {
        let content = self.content(context)?;
        let description = format!("vectors of the words of the documents, {}", self.label());
        let key = context.key(Stage::Vectors, &format!("{words}\n{content}"));
        Ok((key, description))
    }

    fn document_vectors(
        &self,
        context: &mut SystemContext<'_>,
        encoder: &SharedEncoder,
        template: &DocTemplate,
    ) -> Result<Arc<FlatIndex>, SystemError> {
        let (key, description) = self.stage(context, template)?;
        let vectors = match context.session.get(&key) {
            Some(vectors) => vectors,
            None => Arc::new(context.cached(
                Stage::Vectors,
                &key,
                &description,
                |path| FlatIndex::open_with(path, Verify::AllSections),
                |context, path| encode_documents(context, encoder.inner(), template, path),
            )?),
        };
        context.session.keep(key, vectors.clone());
        Ok(vectors)
    }
}

pub(super) fn failed<E: std::error::Error + Send + Sync + 'static>(error: E) -> SystemError {
    SystemError::stage("encoding")(error)
}

/// Encodes all documents. A killed job resumes after its last [`BLOCK`].
fn encode_documents(
    context: &mut SystemContext<'_>,
    encoder: &BiEncoder,
    template: &DocTemplate,
    path: &Path,
) -> Result<(), SystemError> {
    let data = context.data;
    context.check_template(template)?;
    let similarity = similarity(encoder.similarity());
    let writer = FlatIndexWriter::resume(path, encoder.dim(), similarity).map_err(failed)?;
    let documents = data.corpus().docs().map_err(failed)?.skip(writer.len());
    let texts = documents.map(|doc| {
        let doc = doc.map_err(failed)?;
        let text = template.render(&doc);
        Ok((doc.id, text))
    });
    let total = data.ids().len();
    encode_to(writer, context, encoder, Side::Document, texts, total)
}

/// Encodes the words of terms, with the terms as ids. A killed job resumes after its last
/// [`BLOCK`].
fn encode_words(
    context: &mut SystemContext<'_>,
    encoder: &BiEncoder,
    words: &TermWords,
    path: &Path,
) -> Result<(), SystemError> {
    let similarity = VectorSimilarity::InnerProduct;
    let writer = FlatIndexWriter::resume(path, encoder.dim(), similarity).map_err(failed)?;
    let texts = words.most_frequent().skip(writer.len());
    let texts = texts.map(|(term, word)| Ok((term.to_owned(), word.to_owned())));
    encode_to(writer, context, encoder, Side::Document, texts, words.len())
}

/// Encodes texts after those that a writer has; `total` is the number of all.
pub(super) fn encode_to(
    mut writer: FlatIndexWriter,
    context: &mut SystemContext<'_>,
    encoder: &BiEncoder,
    side: Side,
    texts: impl Iterator<Item = Result<(String, String), SystemError>>,
    total: usize,
) -> Result<(), SystemError> {
    let (done, total) = (writer.len(), Some(total as u64));
    let push = |id: &str, vector: &[f32]| {
        writer.push(id, vector).map_err(failed)?;
        if writer.len().is_multiple_of(BLOCK) {
            writer.flush().map_err(failed)
        } else {
            Ok(())
        }
    };
    let mut progress = |stage: &str, new: u64, _: Option<u64>| {
        context.observer.report(stage, done as u64 + new, total)
    };
    let ended = encode_stream(encoder, side, texts, total, push, &mut progress)?;
    match ended {
        Flow::Continue => writer.finish().map_err(failed),
        Flow::Stop => {
            writer.flush().map_err(failed)?;
            Err(SpecError::Canceled.into())
        }
    }
}
