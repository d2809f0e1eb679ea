//! Systems of an encoder: dense retrieval of datasets, and kNN over training queries.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use ir_bm25::{Bm25, Index};
use ir_core::fusion::{Fused, Fusion};
use ir_core::{Distinct, DocIds, Document, Encoded, Encoder, Retriever, Side, Years};
use ir_data::{Collection, DocTemplate};
use ir_dense::{BiEncoder, EncoderConfig};
use ir_knn::{
    FlatIndex, TrainingQuery, TrainingQueryKnn, TrainingQueryKnnConfig, VectorSimilarity,
};
use ir_studies::datafinder::lexicographic_row_order;

use crate::systems::System;

/// Number of hits of each retriever that the hybrid fuses.
const FUSION_DEPTH: usize = 100;

/// An encoder and the vectors of all datasets.
pub struct EncoderSystems {
    encoder: Arc<BiEncoder>,
    index: FlatIndex,
    /// Year of each record. Some datasets have two records.
    years: Years,
}

impl EncoderSystems {
    /// Opens the model folder and encodes every dataset with the template, truncated at 256 tokens.
    pub fn open(folder: &Path, collection: &Collection, text: &DocTemplate) -> Result<Self> {
        let config = EncoderConfig::default().with_max_tokens(256);
        let encoder = BiEncoder::open_with(folder, &config)?;
        let datasets = lexicographic_row_order(collection.corpus())?;
        let ids: DocIds = datasets.iter().map(|dataset| &dataset.id).collect();
        let texts: Vec<String> = datasets.iter().map(|it| text.render(it)).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let vectors = encoder.encode(Side::Document, &texts)?;
        let similarity = match encoder.similarity() {
            Some(VectorSimilarity::InnerProduct) => VectorSimilarity::InnerProduct,
            _ => VectorSimilarity::Cosine,
        };
        let index = FlatIndex::from_row_major(ids, encoder.dim(), vectors, similarity)?;
        let year = |dataset: &Document| dataset.attributes.year();
        Ok(Self {
            encoder: Arc::new(encoder),
            index,
            years: datasets.iter().map(year).collect(),
        })
    }

    /// kNN over training queries, which have the same form as the test queries.
    pub fn knn(&self, training: &[TrainingQuery]) -> Result<System<'_>> {
        let config = TrainingQueryKnnConfig::default().skip_unknown_documents();
        let ids = self.index.ids().clone();
        let encoder = self.encoder.clone();
        let knn = TrainingQueryKnn::new(ids, training.to_vec(), encoder, &config)?;
        Ok(System {
            name: "kNN (encoder)",
            distinct: Box::new(knn),
            raw: None,
            // Training queries name datasets, not records.
            years: self.years.of_first_record(self.index.ids()),
        })
    }

    /// Dense retrieval of the datasets' texts.
    pub fn dense(&self, name: &'static str) -> System<'_> {
        System {
            name,
            distinct: Box::new(Distinct(Encoded::new(&*self.encoder, &self.index))),
            raw: None,
            years: self.years.clone(),
        }
    }

    /// Reciprocal rank fusion of BM25 and dense retrieval.
    pub fn hybrid<'a>(&'a self, index: &'a Index) -> Result<System<'a>> {
        let bm25: Box<dyn Retriever<Query = str>> =
            Box::new(Distinct(index.searcher(Bm25::DATAFINDER)?));
        let fused = Fused::new([bm25, self.dense("").distinct], Fusion::RRF, FUSION_DEPTH)?;
        let years = index.years();
        let year = |id| index.ids().get(id).and_then(|doc| years.get(doc));
        let years = fused.ids().iter().map(year).collect();
        Ok(System {
            name: "hybrid (RRF)",
            distinct: Box::new(fused),
            raw: None,
            years,
        })
    }
}
