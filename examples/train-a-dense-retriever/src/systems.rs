//! Two retrievers of one encoder: by the dataset's text, and by similar training queries.

use anyhow::Result;
use ir_core::stop_words::NLTK;
use ir_core::{CachedEncoder, Distinct, DocIds, Encoded, Encoder, Retriever, Side};
use ir_dense::BiEncoder;
use ir_knn::{
    DocFrequency, FlatIndex, TfidfConfig, TrainingQueryKnn, TrainingQueryKnnConfig,
    VectorSimilarity,
};

use crate::task::Task;

/// A retriever of text queries.
pub(crate) type System<'a> = &'a dyn Retriever<Query = str>;

/// Boxes a retriever, so that different types fit in one list.
pub(crate) fn boxed<'a>(
    retriever: &'a (impl Retriever<Query = str> + ?Sized),
) -> Box<dyn Retriever<Query = str> + 'a> {
    Box::new(retriever)
}

/// An encoder with cached vectors, so that a grid search encodes each query once.
pub(crate) struct Dense(CachedEncoder<BiEncoder>);

impl Dense {
    pub(crate) fn new(encoder: BiEncoder) -> Self {
        Self(CachedEncoder::new(encoder))
    }

    /// Ranks datasets by the cosine of their text and the query.
    pub(crate) fn by_document(&self, task: &Task) -> Result<impl Retriever<Query = str>> {
        by_document(&self.0, task)
    }

    /// Ranks datasets by the maximum cosine of the query and their training queries.
    pub(crate) fn by_training_query(&self, task: &Task) -> Result<impl Retriever<Query = str>> {
        let (mut ids, mut texts) = (DocIds::default(), Vec::new());
        for query in &task.training_queries {
            for label in &query.relevant {
                ids.push(label)?;
                texts.push(query.text.as_str());
            }
        }
        let vectors = self.0.encode(Side::Query, &texts)?;
        let index =
            FlatIndex::from_row_major(ids, self.0.dim(), vectors, VectorSimilarity::Cosine)?;
        Ok(Distinct(Encoded::new(&self.0, index)))
    }
}

/// Ranks datasets by the cosine of their text and the query.
pub(crate) fn by_document<'a>(
    encoder: &'a impl Encoder,
    task: &Task,
) -> Result<impl Retriever<Query = str> + 'a> {
    let texts: Vec<&str> = task.texts.iter().map(String::as_str).collect();
    let vectors = encoder.encode(Side::Document, &texts)?;
    let index = FlatIndex::from_row_major(
        task.ids.clone(),
        encoder.dim(),
        vectors,
        VectorSimilarity::Cosine,
    )?;
    Ok(Distinct(Encoded::new(encoder, index)))
}

/// kNN over training queries by TF-IDF, as in the DataFinder paper.
pub(crate) fn knn_tfidf(task: &Task) -> Result<TrainingQueryKnn> {
    let words = TfidfConfig::default()
        .with_stop_words(NLTK)
        .with_min_df(DocFrequency::Count(2));
    let config = TrainingQueryKnnConfig::default();
    Ok(TrainingQueryKnn::tfidf(
        task.ids.clone(),
        task.training_queries.clone(),
        &words,
        &config,
    )?)
}
