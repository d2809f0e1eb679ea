//! Scores of pairs, in batches sorted by length.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use ir_core::{Candidate, Explanation, Reranker, SearchError};
use rayon::prelude::*;

use super::pairs::{DocumentPairs, PairQuery};
use super::{CrossEncoder, Windows};
use crate::encode::pair_template::Window;
use crate::encode::{EncoderConfig, SequenceBatches};
use crate::error::ModelError;
use crate::kernels::team::CALLS;
use crate::transformer::InferenceModel;
use crate::transformer::batch::TokenSequence;

/// Number of pairs that are tokenized and scored at once.
const CHUNK: usize = 1 << 12;

/// Predicate that stops scoring when it returns `false`.
type GoesOn<'a> = &'a (dyn Fn() -> bool + Sync);

/// Logits of the windows of a document, one row of labels per window.
pub(super) struct DocumentLogits {
    pub(super) windows: Vec<Vec<f32>>,
}

impl CrossEncoder {
    /// Returns the scores of pairs of a query and a document, one per label.
    ///
    /// ```no_run
    /// let model = ir_dense::CrossEncoder::open("nli-deberta-v3-small")?;
    /// let scores = model.predict(&[("A man eats.", "A man is eating food.")])?;
    /// assert_eq!(scores[0].len(), model.labels());
    /// # Ok::<(), ir_dense::ModelError>(())
    /// ```
    ///
    /// # Errors
    /// If tokenization or the chat template of the model fails, or a score is not finite.
    pub fn predict(&self, pairs: &[(&str, &str)]) -> Result<Vec<Vec<f32>>, ModelError> {
        let scores = self.pair_scores(pairs, |pair| format!("pair {pair}"), &|| true)?;
        Ok(scores.unwrap_or_default())
    }

    /// Returns the scores of pairs, one per label, or `None` once `goes_on` returns `false`. `name`
    /// names a pair in errors by its index.
    fn pair_scores(
        &self,
        pairs: &[(&str, &str)],
        name: impl Fn(usize) -> String,
        goes_on: GoesOn<'_>,
    ) -> Result<Option<Vec<Vec<f32>>>, ModelError> {
        let mut scores = Vec::with_capacity(pairs.len());
        for chunk in pairs.chunks(CHUNK) {
            let Some(logits) = self.pair_logits(chunk, goes_on)? else {
                return Ok(None);
            };
            for logits in logits {
                let pair = scores.len();
                scores.push(self.document_scores(&logits, || name(pair))?);
            }
        }
        Ok(Some(scores))
    }

    /// Returns the logits of the windows of every pair, or `None` once `goes_on` returns `false`.
    fn pair_logits(
        &self,
        pairs: &[(&str, &str)],
        goes_on: GoesOn<'_>,
    ) -> Result<Option<Vec<DocumentLogits>>, ModelError> {
        let documents = self.tokenize(pairs)?;
        let windows: Vec<&Window> = documents.iter().flat_map(|it| &it.windows).collect();
        let Some(logits) = self.window_logits_while(&windows, goes_on) else {
            return Ok(None);
        };
        let long = documents.iter().filter(|it| it.is_long).count();
        self.long_documents
            .fetch_add(long as u64, Ordering::Relaxed);
        let mut logits = logits.into_iter();
        let logits = documents.iter().map(|document| DocumentLogits {
            windows: logits.by_ref().take(document.windows.len()).collect(),
        });
        Ok(Some(logits.collect()))
    }

    /// Tokenizes pairs: every distinct query once.
    pub(crate) fn tokenize(
        &self,
        pairs: &[(&str, &str)],
    ) -> Result<Vec<DocumentPairs>, ModelError> {
        let mut numbers: HashMap<&str, usize> = HashMap::new();
        let mut queries = Vec::new();
        let of_pair = pairs.iter().map(|&(query, _)| {
            *numbers.entry(query).or_insert_with(|| {
                queries.push(query);
                queries.len() - 1
            })
        });
        let of_pair: Vec<usize> = of_pair.collect();
        let queries = queries.par_iter();
        let queries = queries.map(|query| self.pairs.query(&self.tokenizer, query));
        let queries: Vec<PairQuery<'_>> = queries.collect::<Result<_, _>>()?;
        let documents = pairs
            .par_iter()
            .zip(of_pair)
            .map(|(&(_, document), query)| {
                let query = &queries[query];
                self.pairs.document(&self.tokenizer, query, document)
            });
        documents.collect()
    }

    /// Returns the token ids of a query and a document with prompt and special tokens, one sequence
    /// per window.
    ///
    /// # Errors
    /// If tokenization or the chat template of the model fails.
    pub fn token_ids(&self, query: &str, document: &str) -> Result<Vec<Vec<u32>>, ModelError> {
        let query = self.pairs.query(&self.tokenizer, query)?;
        let pairs = self.pairs.document(&self.tokenizer, &query, document)?;
        Ok(pairs.windows.into_iter().map(|it| it.ids).collect())
    }

    /// Returns the logits of sequences, one per label.
    pub(crate) fn window_logits(&self, windows: &[&Window]) -> Vec<Vec<f32>> {
        self.window_logits_while(windows, &|| true)
            .unwrap_or_default()
    }

    /// [`Self::window_logits`], or `None` once `goes_on` returns `false`, which is called before
    /// every batch.
    fn window_logits_while(
        &self,
        windows: &[&Window],
        goes_on: GoesOn<'_>,
    ) -> Option<Vec<Vec<f32>>> {
        let Some(model) = self.inference.as_deref() else {
            return Some(vec![Vec::new(); windows.len()]);
        };
        let is_padded = matches!(model, InferenceModel::Module(_));
        let threads = rayon::current_num_threads();
        // A thread that waits for the end of a batch starts another one.
        let divisor = if threads > 2 && !is_padded {
            threads
        } else {
            1
        };
        let batch_tokens = self.config.batch_tokens / divisor;
        let sequences: Vec<TokenSequence<'_>> = windows.iter().map(|it| it.tokens()).collect();
        let batches = SequenceBatches {
            model,
            sequences: &sequences,
            attended: &[],
            config: &EncoderConfig::default().with_batch_tokens(batch_tokens),
            padding: self.tokenizer.padding(),
            uses_team: false,
        };
        let _call = CALLS.start();
        batches.map_while(goes_on, |window, states| {
            self.head.logits(states, &windows[window].ids)
        })
    }

    /// Returns the score of a document per label. `name` names the document in errors.
    ///
    /// # Errors
    /// Returns [`ModelError::Score`] if a logit is not finite.
    pub(super) fn document_scores(
        &self,
        logits: &DocumentLogits,
        name: impl Fn() -> String,
    ) -> Result<Vec<f32>, ModelError> {
        let mut values = logits.windows.iter().flatten();
        if let Some(&value) = values.find(|value| !value.is_finite()) {
            let document = name();
            return Err(ModelError::Score { document, value });
        }
        let score = |label: usize| {
            let windows = logits.windows.iter();
            let scores = windows.map(|labels| self.activation.value(labels[label]));
            self.combined(scores)
        };
        Ok((0..self.labels()).map(score).collect())
    }

    /// Returns the score of a document from the scores of its windows.
    fn combined(&self, scores: impl ExactSizeIterator<Item = f32>) -> f32 {
        let count = scores.len();
        if self.pairs.windows == Windows::Mean && count > 1 {
            let sum: f64 = scores.map(f64::from).sum();
            return (sum / count as f64) as f32;
        }
        scores.reduce(f32::max).unwrap_or(f32::NAN)
    }

    pub(crate) fn one_label(&self) -> Result<(), ModelError> {
        match self.labels() {
            1 => Ok(()),
            labels => {
                let path = self.folder.join("config.json");
                let expected = "1 for a score; CrossEncoder::predict returns all labels";
                Err(ModelError::setting(
                    &path,
                    "the number of labels",
                    expected,
                    labels,
                ))
            }
        }
    }

    /// Returns the scores of candidates, each with its query, or `None` once `goes_on` returns
    /// `false`.
    fn candidate_scores(
        &self,
        pairs: &[(&str, Candidate<'_>)],
        goes_on: GoesOn<'_>,
    ) -> Result<Option<Vec<Option<f32>>>, ModelError> {
        self.one_label()?;
        let texts = pairs
            .iter()
            .map(|(query, candidate)| (*query, candidate.text));
        let texts: Vec<(&str, &str)> = texts.collect();
        let name = |pair: usize| format!("candidate {}", pairs[pair].1.id);
        let scores = self.pair_scores(&texts, name, goes_on)?;
        Ok(scores.map(|scores| {
            let scores = scores.into_iter();
            scores.map(|labels| labels.first().copied()).collect()
        }))
    }
}

impl Reranker for CrossEncoder {
    type Query = str;

    fn scores(
        &self,
        query: &str,
        candidates: &[Candidate<'_>],
    ) -> Result<Vec<Option<f32>>, SearchError> {
        let scores = self.scores_while(query, candidates, &|| true)?;
        Ok(scores.unwrap_or_default())
    }

    /// Tokenizes the query once, and scores the candidates in batches by length.
    fn scores_while(
        &self,
        query: &str,
        candidates: &[Candidate<'_>],
        goes_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<Vec<Option<f32>>>, SearchError> {
        let pairs = candidates.iter().map(|&candidate| (query, candidate));
        let pairs: Vec<_> = pairs.collect();
        self.candidate_scores(&pairs, goes_on).map_err(failed)
    }

    /// Scores the candidates of all queries in the same batches.
    fn scores_batch(
        &self,
        queries: &[(&str, &[Candidate<'_>])],
    ) -> Result<Vec<Vec<Option<f32>>>, SearchError> {
        let pairs = queries.iter().flat_map(|&(query, candidates)| {
            let candidates = candidates.iter();
            candidates.map(move |&candidate| (query, candidate))
        });
        let pairs: Vec<_> = pairs.collect();
        let scores = self.candidate_scores(&pairs, &|| true).map_err(failed)?;
        let mut scores = scores.unwrap_or_default().into_iter();
        let counts = queries.iter().map(|(_, candidates)| candidates.len());
        Ok(counts
            .map(|count| scores.by_ref().take(count).collect())
            .collect())
    }

    fn explain(
        &self,
        query: &str,
        candidates: &[Candidate<'_>],
        n: usize,
    ) -> Result<Option<Explanation>, SearchError> {
        self.one_label().map_err(failed)?;
        let candidate = candidates.get(n);
        let explained = candidate.map(|candidate| self.explained(query, candidate));
        explained.transpose().map_err(failed)
    }
}

fn failed(source: ModelError) -> SearchError {
    SearchError::Engine {
        engine: "cross-encoder",
        source: Box::new(source),
    }
}
