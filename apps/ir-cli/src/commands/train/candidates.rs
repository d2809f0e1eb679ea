//! Candidates of BM25 for the queries of a validation set, which a model reranks.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use ir_bm25::{Bm25, Index, IndexConfig};
use ir_core::{Candidate, Document, NoProgress, Reranker, Run};
use ir_dense::{CrossEncoder, MultiVectorEncoder};
use ir_knn::max_sim;
use rayon::prelude::*;
use serde_json::json;

use super::dev::DevSet;
use super::options::EvaluationOptions;
use crate::shared::input::fingerprint;
use crate::shared::training_runs::values::Evaluation;

/// Number of documents with token vectors in memory at once.
const CHUNK: usize = 256;

/// Documents of the first stage for every validation query.
pub(super) struct Candidates<'a> {
    dev_set: &'a DevSet,
    depth: usize,
    run: Run,
}

impl<'a> Candidates<'a> {
    /// Returns the first `depth` documents of BM25 for every query.
    pub(super) fn search(dev_set: &'a DevSet, depth: usize) -> Result<Self> {
        let documents = dev_set.documents();
        let documents: Vec<Document> = documents
            .map(|(id, text)| Document::new(id).with_text(text))
            .collect();
        let index = Index::build(&documents, &IndexConfig::default(), &mut NoProgress)?;
        let run = dev_set.search(&index.searcher(Bm25::ANSERINI)?, depth)?;
        if run.is_empty() {
            bail!("--dev: expected documents with words of the queries, found none");
        }
        Ok(Self {
            dev_set,
            depth,
            run,
        })
    }

    /// Everything that determines the evaluation, recorded beside the checkpoints.
    pub(super) fn evaluation(&self, args: &EvaluationOptions, every: Option<u64>) -> Evaluation {
        let mut values = self.dev_set.evaluation(args, every);
        values.push(("candidates", json!(self.depth)));
        values.push(("candidate_lists", json!(self.fingerprint())));
        values
    }

    /// Id and text of the candidates of a query.
    fn texts_of(&self, query: &str) -> impl Iterator<Item = (&str, &str)> {
        let list = self.run.get(query).unwrap_or_default().iter();
        list.filter_map(move |scored| self.dev_set.texts.get(&scored.doc))
    }

    fn fingerprint(&self) -> String {
        let queries = self.dev_set.queries().iter();
        fingerprint(queries.flat_map(|query| {
            let list = self.run.get(&query.id).unwrap_or_default().iter();
            let ids = list.map(|scored| scored.doc.as_str());
            [query.id.as_str()].into_iter().chain(ids)
        }))
    }

    /// Measure of the candidates reranked by a cross-encoder.
    pub(super) fn cross_encoder(&self, model: &CrossEncoder) -> Result<f64> {
        let mut reranked = Run::new("dev");
        for query in self.dev_set.queries() {
            let texts = self.texts_of(&query.id);
            let texts: Vec<Candidate<'_>> =
                texts.map(|(id, text)| Candidate::new(id, text)).collect();
            for (candidate, score) in texts.iter().zip(model.scores(&query.text, &texts)?) {
                if let Some(score) = score {
                    reranked.push(&query.id, candidate.id, f64::from(score));
                }
            }
        }
        self.dev_set.score(&reranked)
    }

    /// Measure of the candidates reranked by MaxSim, which orders them as the mean does. Each
    /// document is encoded once.
    pub(super) fn late_interaction(&self, encoder: &MultiVectorEncoder) -> Result<f64> {
        let queries = self.dev_set.queries();
        // Text of every candidate, and the queries that have it.
        let mut documents: BTreeMap<&str, (&str, Vec<usize>)> = BTreeMap::new();
        for (number, query) in queries.iter().enumerate() {
            for (id, text) in self.texts_of(&query.id) {
                let (_, numbers) = documents.entry(id).or_insert((text, Vec::new()));
                numbers.push(number);
            }
        }
        let documents: Vec<(&str, (&str, Vec<usize>))> = documents.into_iter().collect();
        let texts: Vec<&str> = queries.iter().map(|query| &*query.text).collect();
        let vectors = encoder.encode_queries(&texts)?;
        let mut reranked = Run::new("dev");
        for chunk in documents.chunks(CHUNK) {
            let texts: Vec<&str> = chunk.iter().map(|(_, (text, _))| *text).collect();
            let encoded = encoder.encode_documents(&texts)?;
            let scores = chunk.par_iter().zip(&encoded);
            let scores = scores.map(|((_, (_, numbers)), document)| {
                let scores = numbers.iter();
                let scores = scores.map(|&number| max_sim(&vectors[number], document));
                scores.collect::<Result<Vec<f32>, _>>()
            });
            let scores = scores.collect::<Result<Vec<Vec<f32>>, _>>()?;
            for ((id, (_, numbers)), scores) in chunk.iter().zip(scores) {
                for (&number, score) in numbers.iter().zip(scores) {
                    reranked.push(&queries[number].id, *id, f64::from(score));
                }
            }
        }
        self.dev_set.score(&reranked)
    }
}
