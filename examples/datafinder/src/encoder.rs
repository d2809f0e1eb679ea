//! The systems of a transformer as it comes, without training: one compares queries with
//! descriptions, the other queries with past queries.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use ir_core::{Distinct, Document, Encoded, Encoder, Retriever, Side, Years};
use ir_data::datafinder::in_order_of_row_text;
use ir_data::{Collection, DocTemplate};
use ir_dense::{BiEncoder, EncoderConfig};
use ir_knn::{FlatIndex, LabelledQueries, LabelledQueriesConfig, LabelledQuery, Similarity};

use crate::systems::System;

/// An encoder and the vectors of all datasets.
pub struct OffTheShelf {
    encoder: Arc<BiEncoder>,
    index: FlatIndex,
    /// Of each record: of a dataset with two, that one is found which is old enough.
    years: Years,
}

impl OffTheShelf {
    /// The model of a folder. Encodes what `text` makes of every dataset, 256 tokens at most.
    pub fn open(
        folder: PathBuf,
        collection: &Collection,
        text: &DocTemplate,
    ) -> Result<Self> {
        let config = EncoderConfig::default().with_max_tokens(256);
        let encoder = Arc::new(BiEncoder::open_with(folder, &config)?);
        let datasets = in_order_of_row_text(collection.corpus())?;
        let texts: Vec<String> = datasets.iter().map(|dataset| text.of(dataset)).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let rows = encoder.encode(Side::Document, &texts)?;
        let ids = datasets.iter().map(|dataset| &dataset.id).collect();
        let index = FlatIndex::new(ids, encoder.dim(), rows, Similarity::Cosine)?;
        let year = |dataset: &Document| dataset.attributes.year();
        let years = datasets.iter().map(year).collect();
        Ok(Self {
            encoder,
            index,
            years,
        })
    }

    /// Past queries, in the form of those that will be asked.
    pub fn knn(&self, training: &[LabelledQuery]) -> Result<System<'_>> {
        let config = LabelledQueriesConfig::default().skip_unknown();
        let ids = self.index.ids().clone();
        let encoder = self.encoder.clone();
        let knn = LabelledQueries::new(ids, training.to_vec(), encoder, &config)?;
        Ok(System {
            name: "kNN (encoder)",
            distinct: Box::new(knn),
            raw: None,
            // Past queries name datasets, not records.
            years: self.years.of_first_record(self.index.ids()),
        })
    }

    /// The texts of the datasets.
    pub fn by_text(&self, name: &'static str) -> System<'_> {
        System {
            name,
            distinct: Box::new(Distinct(Encoded::new(&*self.encoder, &self.index))),
            raw: None,
            years: self.years.clone(),
        }
    }
}
