//! Batches of token sequences, and the hidden states of their tokens.

use rayon::prelude::*;

use super::EncoderConfig;
use crate::kernels::memory;
use crate::kernels::team::{ParallelRegion, ThreadTeam};
use crate::precision::Precision;
use crate::transformer::batch::TokenSequence;
use crate::transformer::{BLOCK_ROWS, InferenceModel, TokenBatch};

/// Sequences that pass through a model in batches.
pub(crate) struct SequenceBatches<'a> {
    pub(crate) model: &'a InferenceModel,
    pub(crate) sequences: &'a [TokenSequence<'a>],
    /// Number of tokens of every sequence that are attended to; empty if all are.
    pub(crate) attended: &'a [usize],
    /// Limits of batches; with `uses_team`, also the precision of the model.
    pub(crate) config: &'a EncoderConfig,
    /// Id of the padding token.
    pub(crate) padding: u32,
    /// If `true`, a single batch runs on this thread and, if it is a short sequence, on the threads
    /// of [`ThreadTeam::global`].
    pub(crate) uses_team: bool,
}

impl SequenceBatches<'_> {
    /// Calls `f` with the number of every sequence and the hidden states of its tokens, row-major.
    /// Returns the results in the order of the sequences.
    pub(crate) fn map<T: Clone + Default + Send>(
        &self,
        f: impl Fn(usize, &[f32]) -> T + Sync,
    ) -> Vec<T> {
        self.map_while(&|| true, f).unwrap_or_default()
    }

    /// [`Self::map`], or `None` once `goes_on` returns `false`, which is called before every batch.
    pub(crate) fn map_while<T: Clone + Default + Send>(
        &self,
        goes_on: &(dyn Fn() -> bool + Sync),
        f: impl Fn(usize, &[f32]) -> T + Sync,
    ) -> Option<Vec<T>> {
        let ids: Vec<&[u32]> = self.sequences.iter().map(|(ids, _)| *ids).collect();
        let is_padded = matches!(self.model, InferenceModel::Module(_));
        let mut batches = batches(&ids, self.config, is_padded);
        // Without special tokens, an empty text has no tokens.
        batches
            .iter_mut()
            .for_each(|batch| batch.retain(|&at| !ids[at].is_empty()));
        batches.retain(|batch| !batch.is_empty());
        let run = |batch: &Vec<usize>| goes_on().then(|| self.run(batch, &f));
        // Other backends parallelize within a batch.
        let found: Option<Vec<Vec<T>>> = if is_padded || (self.uses_team && batches.len() == 1) {
            batches.iter().map(run).collect()
        } else {
            batches.par_iter().map(run).collect()
        };
        let mut all = vec![T::default(); ids.len()];
        for (at, value) in batches.iter().flatten().zip(found?.into_iter().flatten()) {
            all[*at] = value;
        }
        for at in (0..ids.len()).filter(|&at| ids[at].is_empty()) {
            all[at] = f(at, &[]);
        }
        Some(all)
    }

    fn run<T>(&self, batch: &[usize], f: &impl Fn(usize, &[f32]) -> T) -> Vec<T> {
        let chosen: Vec<TokenSequence<'_>> = batch.iter().map(|&at| self.sequences[at]).collect();
        let is_padded = matches!(self.model, InferenceModel::Module(_));
        let mut tokens = TokenBatch::from_sequences(&chosen, is_padded.then_some(self.padding));
        if !self.attended.is_empty() {
            tokens = tokens.with_attended(batch.iter().map(|&at| self.attended[at]).collect());
        }
        let map = |states: &[f32]| -> Vec<T> {
            let width = states.len() / tokens.ids().len().max(1);
            let mut rest = states;
            let sequences = tokens.lengths().zip(batch).map(|(length, &at)| {
                let (own, others) = rest.split_at(length * width);
                rest = others;
                // Without padding.
                f(at, &own[..self.sequences[at].0.len() * width])
            });
            sequences.collect()
        };
        match self.model {
            InferenceModel::Cpu(model) => model.forward(&tokens, &mut self.region(&tokens), map),
            InferenceModel::Module(model) => {
                let states = memory::data(model.forward(&tokens));
                map(memory::values(&states))
            }
        }
    }

    /// Threads of a batch: a team for a short text, outside the threads of rayon. In int8, one
    /// thread is faster.
    fn region(&self, batch: &TokenBatch) -> ParallelRegion<'static> {
        let is_short = batch.texts() == 1 && batch.ids().len() <= BLOCK_ROWS;
        let uses_team = self.uses_team && is_short && self.config.precision != Precision::Int8;
        match rayon::current_thread_index() {
            None if uses_team => ThreadTeam::global().region(),
            _ => ParallelRegion::sequential(),
        }
    }
}

/// Splits texts into batches of at most `batch_tokens` tokens and `batch_texts` texts, sorted by
/// decreasing length. With `padded`, every text counts as long as the longest of its batch.
pub(crate) fn batches<T: AsRef<[u32]>>(
    ids: &[T],
    config: &EncoderConfig,
    padded: bool,
) -> Vec<Vec<usize>> {
    let max_texts = config.batch_texts.unwrap_or(usize::MAX);
    let mut order: Vec<usize> = (0..ids.len()).collect();
    order.sort_by_key(|&text| (std::cmp::Reverse(ids[text].as_ref().len()), text));
    let mut batches: Vec<Vec<usize>> = Vec::new();
    let (mut room, mut longest) = (0, 0);
    for text in order {
        let length = ids[text].as_ref().len();
        let cost = if padded { longest } else { length };
        match batches.last_mut() {
            Some(batch) if cost <= room && batch.len() < max_texts => {
                batch.push(text);
                room -= cost;
            }
            _ => {
                batches.push(vec![text]);
                room = config.batch_tokens.saturating_sub(length);
                longest = length;
            }
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_respect_token_budget() {
        let tokens: Vec<Vec<u32>> = [9, 3, 3, 30, 4, 2, 3, 12]
            .map(|length| vec![1; length])
            .into();
        let config = EncoderConfig::default().with_batch_tokens(16);
        for padded in [false, true] {
            let found = batches(&tokens, &config, padded);
            let mut all = found.concat();
            all.sort_unstable();
            assert_eq!(all, (0..tokens.len()).collect::<Vec<_>>());
            for batch in &found {
                let lengths = batch.iter().map(|&text| tokens[text].len());
                let cost = if padded {
                    batch.len() * lengths.max().unwrap_or(0)
                } else {
                    lengths.sum()
                };
                assert!(cost <= 16 || batch.len() == 1, "{padded}: {batch:?}");
            }
        }
        let expected: [&[usize]; 4] = [&[3], &[7], &[0, 4, 1], &[2, 6, 5]];
        assert_eq!(batches(&tokens, &config, false), expected);
        let expected: [&[usize]; 5] = [&[3], &[7], &[0], &[4, 1, 2, 6], &[5]];
        assert_eq!(batches(&tokens, &config, true), expected);
        let pairs = config.with_batch_tokens(usize::MAX).with_batch_texts(2);
        let expected: [&[usize]; 4] = [&[3, 7], &[0, 4], &[1, 2], &[6, 5]];
        assert_eq!(batches(&tokens, &pairs, true), expected);
    }
}
