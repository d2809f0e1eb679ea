//! Which texts meet in a step: a function of data, configuration and step.

use std::collections::HashMap;
use std::ops::Range;

use ir_core::{SplitMix, TrainingExample, TrainingSet, TrainingText};

use super::{TrainError, TrainingConfig};

/// The texts of one step.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sample {
    pub(super) queries: Vec<String>,
    pub(super) documents: Vec<String>,
    /// Per query, the documents that it brought, the right one first.
    pub(super) own: Vec<Range<usize>>,
    /// The teacher's scores of all documents; empty when the loss needs none.
    pub(super) teacher: Vec<f32>,
    /// Query after query, whether a document is no negative although it is not the right one.
    pub(super) excluded: Vec<bool>,
}

/// Draws the texts of any step, in any order of steps.
pub(super) struct Sampler<'a> {
    data: &'a dyn TrainingSet,
    config: &'a TrainingConfig,
    /// The order of the examples in the epoch that was asked for last.
    order: Option<(u64, Vec<u32>)>,
}

impl<'a> Sampler<'a> {
    pub(super) fn new(data: &'a dyn TrainingSet, config: &'a TrainingConfig) -> Self {
        Self {
            data,
            config,
            order: None,
        }
    }

    /// The texts of a step from 0.
    pub(super) fn step(&mut self, step: u64) -> Result<Sample, TrainError> {
        let per_epoch = self.config.steps_per_epoch(self.data.len()).max(1);
        let (epoch, place) = (step / per_epoch, (step % per_epoch) as usize);
        if self.order.as_ref().is_none_or(|(of, _)| *of != epoch) {
            let mut order: Vec<u32> = (0..self.data.len() as u32).collect();
            let all = order.len();
            SplitMix::new(self.config.seed, epoch).draw(&mut order, all);
            self.order = Some((epoch, order));
        }
        let order = self.order.as_ref().map_or(&[][..], |(_, order)| order);
        let batch = self.config.batch;
        let from = (place * batch).min(order.len());
        let chosen = &order[from..(from + batch).min(order.len())];
        let examples = chosen.iter().map(|&index| {
            let index = index as usize;
            Ok((index, self.data.get(index)?))
        });
        let examples = examples.collect::<Result<Vec<_>, TrainError>>()?;
        self.sample(&examples, epoch)
    }

    fn sample(
        &self,
        examples: &[(usize, TrainingExample)],
        epoch: u64,
    ) -> Result<Sample, TrainError> {
        let distils = self.config.loss.distils();
        let mut texts: Vec<&TrainingText> = Vec::new();
        let (mut own, mut teacher) = (Vec::new(), Vec::new());
        for &(index, ref example) in examples {
            let first = texts.len();
            let positive = self.positive(index, example.positives.len(), epoch);
            let negatives = self.negatives(index, example.negatives.len(), epoch);
            if distils && negatives.is_empty() {
                return Err(TrainError::NoNegatives { example: index });
            }
            let right = example
                .positives
                .get(positive)
                .map(|text| ("positives", positive, text));
            let wrong = negatives
                .iter()
                .map(|&at| ("negatives", at, &example.negatives[at]));
            for (field, at, text) in right.into_iter().chain(wrong) {
                texts.push(text);
                if distils {
                    let example = index;
                    let score = text.score;
                    teacher.push(score.ok_or(TrainError::NoScore { example, field, at })?);
                }
            }
            own.push(first..texts.len());
        }
        let excluded = match self.config.skip_known_positives {
            true => known_positives(examples, &texts, &own),
            false => vec![false; examples.len() * texts.len()],
        };
        Ok(Sample {
            queries: examples.iter().map(|(_, e)| e.query.clone()).collect(),
            documents: texts.iter().map(|text| text.text.clone()).collect(),
            own,
            teacher,
            excluded,
        })
    }

    /// One positive an epoch, in turn.
    fn positive(&self, index: usize, count: usize, epoch: u64) -> usize {
        let turn = (index as u64)
            .wrapping_add(self.config.seed)
            .wrapping_add(epoch);
        (turn % count.max(1) as u64) as usize
    }

    /// Some negatives an epoch: in turn from a shuffled list, or drawn with repeats when there are
    /// too few.
    fn negatives(&self, index: usize, count: usize, epoch: u64) -> Vec<usize> {
        let wanted = self.config.negatives;
        if count == 0 {
            return Vec::new();
        }
        // Streams of orders are numbered by epochs; those of examples are named, to be others.
        if count < wanted {
            let mut random = SplitMix::named(self.config.seed, &format!("{index} in {epoch}"));
            return (0..wanted).map(|_| random.below(count)).collect();
        }
        let mut order: Vec<usize> = (0..count).collect();
        SplitMix::named(self.config.seed, &format!("{index}")).draw(&mut order, count);
        let from = (epoch as usize).wrapping_mul(wanted) % count;
        (0..wanted).map(|n| order[(from + n) % count]).collect()
    }
}

/// Which documents answer which queries, beside the one that each query brought first: by id or
/// text they are positives of the same query, as far as the examples of the batch tell.
fn known_positives(
    examples: &[(usize, TrainingExample)],
    texts: &[&TrainingText],
    own: &[Range<usize>],
) -> Vec<bool> {
    let mut right: HashMap<&str, Vec<&TrainingText>> = HashMap::new();
    for (_, example) in examples {
        right
            .entry(&example.query)
            .or_default()
            .extend(&example.positives);
    }
    let mut excluded = vec![false; examples.len() * texts.len()];
    for (row, ((_, example), own)) in examples.iter().zip(own).enumerate() {
        let right = right.get(&*example.query).map_or(&[][..], Vec::as_slice);
        for (column, text) in texts.iter().enumerate() {
            let known = right
                .iter()
                .any(|r| r.text == text.text || (r.id.is_some() && r.id == text.id));
            excluded[row * texts.len() + column] = known && column != own.start;
        }
    }
    excluded
}
