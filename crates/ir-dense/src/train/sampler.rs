//! Sampling of training batches: a function of data, configuration and step.

use std::collections::HashMap;
use std::ops::Range;

use ir_core::SplitMix64;
use ir_core::training::{TrainingExample, TrainingSet, TrainingText};

use super::TrainError;

/// Texts of a training step.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TrainingBatch {
    pub(super) queries: Vec<String>,
    pub(super) documents: Vec<String>,
    /// Documents of every query: its positive, then its hard negatives.
    pub(super) candidates: Vec<Range<usize>>,
    /// Teacher scores of all documents; empty if the loss needs none.
    pub(super) teacher_scores: Vec<f32>,
    /// `true` if a document is excluded from the negatives of a query, `[queries, documents]`.
    pub(super) masked: Vec<bool>,
}

/// Samples the batch of any step, in any order of steps.
pub(super) struct BatchSampler<'a> {
    data: &'a dyn TrainingSet,
    config: Sampling,
    order: EpochOrder,
}

/// Settings of the sampling.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sampling {
    pub(super) seed: u64,
    pub(super) batch_size: usize,
    pub(super) drop_last: bool,
    pub(super) hard_negatives: usize,
    /// If `true`, an example with too few negatives repeats them.
    pub(super) repeats_negatives: bool,
    pub(super) needs_scores: bool,
    pub(super) needs_negatives: bool,
    pub(super) skip_known_positives: bool,
}

impl Sampling {
    /// Number of steps of an epoch for a number of examples.
    pub(super) fn steps_per_epoch(self, examples: usize) -> u64 {
        let size = self.batch_size.max(1);
        let steps = if self.drop_last {
            (examples / size).max(usize::from(examples > 0))
        } else {
            examples.div_ceil(size)
        };
        steps as u64
    }
}

/// Shuffled order of examples in each epoch.
pub(super) struct EpochOrder {
    seed: u64,
    len: usize,
    batch_size: usize,
    /// Epoch of the last call and its order.
    order: Option<(u64, Vec<u32>)>,
}

impl EpochOrder {
    pub(super) fn new(seed: u64, len: usize, batch_size: usize) -> Self {
        Self {
            seed,
            len,
            batch_size,
            order: None,
        }
    }

    /// Returns the examples of a step, from 0, in their order.
    pub(super) fn batch(&mut self, step: u64, per_epoch: u64) -> &[u32] {
        let (epoch, index) = (step / per_epoch, (step % per_epoch) as usize);
        let is_cached = self.order.as_ref().is_some_and(|(of, _)| *of == epoch);
        let order = self.order.take().filter(|_| is_cached).unwrap_or_else(|| {
            let mut order: Vec<u32> = (0..self.len as u32).collect();
            SplitMix64::new(self.seed, epoch).partial_shuffle(&mut order, self.len);
            (epoch, order)
        });
        let (_, order) = self.order.insert(order);
        let chosen = order.chunks(self.batch_size.max(1)).nth(index);
        chosen.unwrap_or_default()
    }
}

impl<'a> BatchSampler<'a> {
    pub(super) fn new(data: &'a dyn TrainingSet, config: impl Into<Sampling>) -> Self {
        let config = config.into();
        Self {
            data,
            config,
            order: EpochOrder::new(config.seed, data.len(), config.batch_size),
        }
    }

    /// Returns the batch of a step, from 0.
    pub(super) fn batch(&mut self, step: u64) -> Result<TrainingBatch, TrainError> {
        let per_epoch = self.config.steps_per_epoch(self.data.len()).max(1);
        let epoch = step / per_epoch;
        let chosen = self.order.batch(step, per_epoch);
        let examples = chosen.iter().map(|&index| {
            let index = index as usize;
            Ok((index, self.data.get(index)?))
        });
        let examples = examples.collect::<Result<Vec<_>, TrainError>>()?;
        self.assemble(&examples, epoch)
    }

    fn assemble(
        &self,
        examples: &[(usize, TrainingExample)],
        epoch: u64,
    ) -> Result<TrainingBatch, TrainError> {
        let mut texts: Vec<&TrainingText> = Vec::new();
        let (mut candidates, mut teacher_scores) = (Vec::new(), Vec::new());
        for &(index, ref example) in examples {
            let first = texts.len();
            let positive = self.positive(index, example.positives.len(), epoch);
            let negatives = self.negatives(index, example.negatives.len(), epoch);
            if self.config.needs_negatives && negatives.is_empty() {
                return Err(TrainError::NoNegatives { example: index });
            }
            let positive = example
                .positives
                .get(positive)
                .map(|text| ("positives", positive, text));
            let negatives = negatives
                .iter()
                .map(|&at| ("negatives", at, &example.negatives[at]));
            for (field, at, text) in positive.into_iter().chain(negatives) {
                texts.push(text);
                if self.config.needs_scores {
                    let example = index;
                    let score = text.score;
                    teacher_scores.push(score.ok_or(TrainError::NoScore { example, field, at })?);
                }
            }
            candidates.push(first..texts.len());
        }
        let masked = if self.config.skip_known_positives {
            known_positives(examples, &texts, &candidates)
        } else {
            vec![false; examples.len() * texts.len()]
        };
        Ok(TrainingBatch {
            queries: examples.iter().map(|(_, e)| e.query.clone()).collect(),
            documents: texts.iter().map(|text| text.text.clone()).collect(),
            candidates,
            teacher_scores,
            masked,
        })
    }

    /// One positive per epoch, in turn.
    fn positive(&self, index: usize, count: usize, epoch: u64) -> usize {
        let turn = (index as u64)
            .wrapping_add(self.config.seed)
            .wrapping_add(epoch);
        (turn % count.max(1) as u64) as usize
    }

    /// Hard negatives of an epoch: in turn from a shuffled list, or drawn with replacement if the
    /// example has too few.
    fn negatives(&self, index: usize, count: usize, epoch: u64) -> Vec<usize> {
        let wanted = self.config.hard_negatives;
        if count == 0 {
            return Vec::new();
        }
        // Random streams of epochs have numbers, streams of examples names: they never coincide.
        if count < wanted && !self.config.repeats_negatives {
            return (0..count).collect();
        }
        if count < wanted {
            let mut random =
                SplitMix64::from_name(self.config.seed, &format!("{index} in {epoch}"));
            return (0..wanted).map(|_| random.below(count)).collect();
        }
        let mut order: Vec<usize> = (0..count).collect();
        SplitMix64::from_name(self.config.seed, &format!("{index}"))
            .partial_shuffle(&mut order, count);
        let from = (epoch as usize).wrapping_mul(wanted) % count;
        (0..wanted).map(|n| order[(from + n) % count]).collect()
    }
}

/// Checks that every text of an example has a score, in 0..=1 if it is a label.
pub(super) fn check_scores(
    number: usize,
    example: &TrainingExample,
    is_label: bool,
) -> Result<(), TrainError> {
    let positives = example.positives.iter().enumerate();
    let negatives = example.negatives.iter().enumerate();
    let all = positives.map(|(at, text)| ("positives", at, text));
    let mut all = all.chain(negatives.map(|(at, text)| ("negatives", at, text)));
    all.try_for_each(|(field, at, text)| match text.score {
        None => Err(TrainError::NoScore {
            example: number,
            field,
            at,
        }),
        Some(found) if is_label && !(0.0..=1.0).contains(&found) => Err(TrainError::Label {
            example: number,
            field,
            at,
            found,
        }),
        Some(_) => Ok(()),
    })
}

/// Mask of documents that are known positives of a query other than its sampled positive: by id or
/// text they are positives of the same query in an example of the batch.
fn known_positives(
    examples: &[(usize, TrainingExample)],
    texts: &[&TrainingText],
    candidates: &[Range<usize>],
) -> Vec<bool> {
    let mut positives: HashMap<&str, Vec<&TrainingText>> = HashMap::new();
    for (_, example) in examples {
        positives
            .entry(&example.query)
            .or_default()
            .extend(&example.positives);
    }
    let mut masked = vec![false; examples.len() * texts.len()];
    for (row, ((_, example), own)) in examples.iter().zip(candidates).enumerate() {
        let positives = positives
            .get(&*example.query)
            .map_or(&[][..], Vec::as_slice);
        for (column, text) in texts.iter().enumerate() {
            let known = positives
                .iter()
                .any(|p| p.text == text.text || (p.id.is_some() && p.id == text.id));
            masked[row * texts.len() + column] = known && column != own.start;
        }
    }
    masked
}
