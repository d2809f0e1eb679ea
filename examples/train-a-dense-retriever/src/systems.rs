//! Two ways to use an encoder: by what is written about a dataset, and by who used it before.

use anyhow::Result;
use ir_core::{
    CachedEncoder, Distinct, DocIds, Encoded, Encoder, NLTK_STOP_WORDS, Retriever, Side,
};
use ir_dense::BiEncoder;
use ir_knn::{
    DocFrequency, FlatIndex, LabelledQueries, LabelledQueriesConfig, Similarity, TfIdfConfig,
};

use crate::task::Task;

/// Any retriever over texts.
pub(crate) type System<'a> = &'a dyn Retriever<Query = str>;

/// Unlike retrievers in one list.
pub(crate) fn boxed<'a>(
    retriever: &'a (impl Retriever<Query = str> + ?Sized),
) -> Box<dyn Retriever<Query = str> + 'a> {
    Box::new(retriever)
}

/// An encoder whose vectors are kept: a mixture is tried under thirty settings, and no query needs to
/// be encoded twice.
pub(crate) struct Dense(CachedEncoder<BiEncoder>);

impl Dense {
    pub(crate) fn new(encoder: BiEncoder) -> Self {
        Self(CachedEncoder::new(encoder))
    }

    /// Datasets by the cosine of their text and the query.
    pub(crate) fn by_text(&self, task: &Task) -> Result<impl Retriever<Query = str>> {
        by_text(&self.0, task)
    }

    /// Datasets by the past query that is nearest: the vector of each stands for its datasets, and of
    /// several vectors of a dataset the best counts.
    pub(crate) fn by_past(&self, task: &Task) -> Result<impl Retriever<Query = str>> {
        let (mut ids, mut texts) = (DocIds::default(), Vec::new());
        for query in &task.past {
            for label in &query.labels {
                ids.push(label)?;
                texts.push(query.text.as_str());
            }
        }
        let vectors = self.0.encode(Side::Query, &texts)?;
        let index = FlatIndex::new(ids, self.0.dim(), vectors, Similarity::Cosine)?;
        Ok(Distinct(Encoded::new(&self.0, index)))
    }
}

/// Datasets by the cosine of their text and the query.
pub(crate) fn by_text<'a>(
    encoder: &'a impl Encoder,
    task: &Task,
) -> Result<impl Retriever<Query = str> + 'a> {
    let texts: Vec<&str> = task.texts.iter().map(String::as_str).collect();
    let vectors = encoder.encode(Side::Document, &texts)?;
    let index = FlatIndex::new(task.ids.clone(), encoder.dim(), vectors, Similarity::Cosine)?;
    Ok(Distinct(Encoded::new(encoder, index)))
}

/// kNN over past queries by their words, as the DataFinder paper has it.
pub(crate) fn knn_tfidf(task: &Task) -> Result<LabelledQueries> {
    let words = TfIdfConfig::default()
        .with_stop_words(NLTK_STOP_WORDS)
        .with_min_df(DocFrequency::Count(2));
    let config = LabelledQueriesConfig::default();
    Ok(LabelledQueries::tfidf(
        task.ids.clone(),
        task.past.clone(),
        &words,
        &config,
    )?)
}
