//! Texts of the benchmark beside ONNX Runtime, and randomly initialized models.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use bench_common::Options;
use ir_core::Side;
use ir_data::catalog::Catalog;
use ir_dense::{BiEncoder, RandomModel};

use super::texts::{collection_name, read_documents, texts_of_length};

/// Texts of a batch of the peer.
const PEER_BATCH: usize = 32;

/// Texts that are encoded in batches or one by one.
pub(crate) struct Workload {
    pub(crate) name: String,
    /// Name of the list of texts in the file of the peer.
    pub(crate) list: String,
    pub(crate) side: Side,
    /// Texts of a batch of the peer; 1 if both sides encode one by one.
    pub(crate) peer_batch: usize,
    pub(crate) texts: Vec<String>,
}

/// First documents of ArguAna and queries of NFCorpus, or those of the bundled collection.
pub(crate) struct Texts {
    documents: Vec<String>,
    queries: Vec<String>,
}

impl Texts {
    pub(crate) fn read() -> Result<Self> {
        let catalog = Catalog::from_env();
        let documents = read_documents(&catalog)?;
        let nfcorpus = catalog.open(collection_name(&catalog, "beir/nfcorpus"))?;
        let queries = nfcorpus.all_queries()?.into_iter().map(|query| query.text);
        let queries: Vec<String> = queries.collect();
        ensure!(!queries.is_empty(), "the collection is empty");
        Ok(Self { documents, queries })
    }

    /// Documents and queries in batches, queries one by one.
    pub(crate) fn workloads(&self, options: &Options) -> Result<Vec<Workload>> {
        let batch = options.number("--peer-batch", PEER_BATCH)?;
        let all = [
            ("documents", &self.documents, Side::Document, batch, 200),
            ("queries", &self.queries, Side::Query, batch, 1000),
            ("single", &self.queries, Side::Query, 1, 200),
        ];
        let mut workloads = Vec::new();
        for (list, texts, side, peer_batch, default) in all {
            let count = options.number(&format!("--{list}"), default)?;
            let name = if list == "single" {
                "queries, one by one"
            } else {
                list
            };
            workloads.push(Workload {
                name: name.into(),
                list: list.into(),
                side,
                peer_batch,
                texts: texts.iter().cycle().take(count).cloned().collect(),
            });
        }
        workloads.retain(|workload| !workload.texts.is_empty());
        Ok(workloads)
    }

    /// Texts of exactly so many tokens, special tokens included, in batches.
    pub(crate) fn workloads_of_lengths(
        &self,
        lengths: &[usize],
        encoder: &BiEncoder,
        options: &Options,
    ) -> Result<Vec<Workload>> {
        let total: usize = options.number("--length-tokens", 16_384)?;
        let count_tokens =
            |text: &str| -> Result<usize> { Ok(encoder.token_ids(Side::Document, text)?.len()) };
        let words = self
            .documents
            .iter()
            .flat_map(|text| text.split_whitespace());
        let mut words = words.cycle();
        let mut workload = |length: usize| -> Result<Workload> {
            let count = (total / length.max(1)).max(1);
            let texts = texts_of_length(&mut words, count, length, count_tokens);
            let texts = texts.context("--lengths")?;
            Ok(Workload {
                name: format!("texts of {length} tokens"),
                list: format!("tokens-{length}"),
                side: Side::Document,
                peer_batch: options.number("--peer-batch", PEER_BATCH)?,
                texts,
            })
        };
        lengths.iter().map(|&length| workload(length)).collect()
    }
}

/// Numbers of tokens of `--lengths`; empty without the option.
pub(crate) fn read_lengths(options: &Options) -> Result<Vec<usize>> {
    let lengths = options.value("--lengths").unwrap_or_default();
    let lengths = lengths.split(',').filter(|text| !text.is_empty());
    let lengths = lengths.map(|text| text.parse().with_context(|| format!("--lengths: {text:?}")));
    lengths.collect()
}

/// Writes a randomly initialized model of a shape: `bert-base`, or dimension, layers and heads.
pub(crate) fn create_model(folder: &Path, shape: &str, texts: &Texts) -> Result<()> {
    let shape = match shape {
        "bert-base" => "768,12,12",
        other => other,
    };
    let numbers: Vec<usize> = shape
        .split(',')
        .filter_map(|text| text.parse().ok())
        .collect();
    let [dim, layers, heads] = numbers[..] else {
        anyhow::bail!(
            "--random-model: expected bert-base or dimension, layers and heads such as 384,6,12, \
             found {shape:?}"
        );
    };
    let model = RandomModel::default().with_shape(dim, layers, heads);
    let texts: Vec<&str> = texts.documents.iter().map(String::as_str).collect();
    Ok(model.create(folder, &texts)?)
}
