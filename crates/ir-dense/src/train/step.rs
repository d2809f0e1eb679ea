//! The loss of one step and its gradients.

use burn::tensor::{Bool, Int, Tensor, TensorData};
use ir_core::Side;
use rayon::prelude::*;

use super::dropout::Dropout;
use super::gradients::Gradients;
use super::sampler::Sample;
use super::tape::{Pass, Tape, through};
use super::{Loss, Similarity, TrainError, TrainingConfig, loss};
use crate::transformer::indices;
use crate::{Batch, Tower, pooling};

/// The towers in training: one for both sides, or one for each.
#[derive(Debug)]
pub(super) struct Towers(pub(super) Vec<Tower>);

impl Towers {
    /// The number of the tower of a side.
    fn number(&self, side: Side) -> usize {
        match side {
            Side::Query => 0,
            Side::Document => self.0.len() - 1,
        }
    }

    pub(super) fn of(&self, side: Side) -> &Tower {
        &self.0[self.number(side)]
    }

    /// The loss of a sample, and the gradients of every tower.
    pub(super) fn gradients(
        &self,
        sample: &Sample,
        config: &TrainingConfig,
        step: u64,
    ) -> Result<(f64, Vec<Gradients>), TrainError> {
        let queries = Texts::new(self, Side::Query, &sample.queries, config, step)?;
        let documents = Texts::new(self, Side::Document, &sample.documents, config, step)?;
        let sides = [queries, documents];
        // Encoded at once, the way back is kept; in blocks, it is made again block by block.
        let whole = sides.iter().all(|side| side.blocks.len() <= 1);
        let [queries, documents] = sides.each_ref().map(|side| side.encode(whole));
        let (value, changes) = value(
            queries.vectors.autodiff().require_grad(),
            documents.vectors.autodiff().require_grad(),
            sample,
            config,
        );
        let mut gradients: Vec<Gradients> = self
            .0
            .iter()
            .map(|tower| Gradients::new(&tower.model))
            .collect();
        let tapes = [queries.tapes, documents.tapes];
        for ((side, tapes), change) in sides.iter().zip(tapes).zip(changes) {
            side.backward(tapes, &change, &mut gradients[self.number(side.side)]);
        }
        Ok((value, gradients))
    }
}

/// The loss, and its gradients for the vectors of queries and of documents.
fn value(
    queries: Tensor<2>,
    documents: Tensor<2>,
    sample: &Sample,
    config: &TrainingConfig,
) -> (f64, [Tensor<2>; 2]) {
    let vectors = [queries.clone(), documents.clone()];
    let [q, d] = match config.similarity {
        Similarity::Dot => vectors,
        Similarity::Cosine => vectors.map(pooling::normalize),
    };
    let scores = q
        .matmul(d.transpose())
        .div_scalar(config.loss.temperature());
    let value = of_scores(scores, sample, config);
    let mut gradients = value.backward();
    let of = |vectors: &Tensor<2>, gradients: &mut burn::tensor::Gradients| {
        let gradient = vectors.grad_remove(gradients);
        gradient.unwrap_or_else(|| vectors.clone().without_autodiff().zeros_like())
    };
    let changes = [of(&queries, &mut gradients), of(&documents, &mut gradients)];
    (f64::from(value.into_scalar::<f32>()), changes)
}

/// The loss of the scores of every query and every document.
fn of_scores(scores: Tensor<2>, sample: &Sample, config: &TrainingConfig) -> Tensor<1> {
    let [queries, documents] = scores.dims();
    let positives: Vec<usize> = sample.own.iter().map(|own| own.start).collect();
    let device = scores.device();
    if let Loss::KlDivergence { .. } | Loss::MarginMse = config.loss {
        let each = sample.own.first().map_or(0, ExactSizeIterator::len);
        let own = sample
            .own
            .iter()
            .flat_map(|own| own.clone().map(|n| n as i64));
        let own: Tensor<2, Int> = indices(own, &device).reshape([queries, each]);
        let teacher = TensorData::new(sample.teacher.clone(), [queries, each]);
        let teacher: Tensor<2> = Tensor::from_data(teacher, &device);
        let teacher = teacher.div_scalar(config.loss.temperature());
        let scores = scores.gather(1, own);
        return match config.loss {
            Loss::MarginMse => loss::margin_mse(scores, teacher),
            _ => loss::kl_divergence(scores, teacher),
        };
    }
    let scores = match sample.excluded.contains(&true) {
        false => scores,
        true => {
            let excluded = TensorData::new(sample.excluded.clone(), [queries, documents]);
            let excluded: Tensor<2, Bool> = Tensor::from_data(excluded, &device);
            loss::without(scores, excluded)
        }
    };
    match config.loss {
        Loss::Symmetric { .. } => loss::symmetric(scores, &positives),
        Loss::Pointwise { scale } => loss::pointwise(scores, &positives, scale),
        Loss::Margin { margin } => loss::margin(scores, &positives, margin),
        _ => loss::softmax(scores, &positives),
    }
}

/// The texts of one side, in blocks.
struct Texts<'a> {
    side: Side,
    tower: &'a Tower,
    blocks: Vec<Block>,
    dropout: Option<Dropout>,
}

/// Texts that are encoded at once.
struct Block {
    /// Their numbers.
    texts: Vec<usize>,
    batch: Batch,
}

/// What encoding gives.
struct Encoded {
    /// `[texts, dimensions]`, in the order of the texts.
    vectors: Tensor<2>,
    /// Per block, the vectors of tokens and the way back, if they were kept.
    tapes: Vec<Option<(Tensor<2>, Tape)>>,
}

impl<'a> Texts<'a> {
    fn new(
        towers: &'a Towers,
        side: Side,
        texts: &[String],
        config: &TrainingConfig,
        step: u64,
    ) -> Result<Self, TrainError> {
        let tower = towers.of(side);
        let encoder = config.encoder.side(side);
        let ids = texts.par_iter().map(|text| tower.ids(side, encoder, text));
        let ids = ids.collect::<Result<Vec<Vec<u32>>, _>>()?;
        // Texts of one length together, and blocks of about one length.
        let mut order: Vec<usize> = (0..ids.len()).collect();
        order.sort_by_key(|&text| (std::cmp::Reverse(ids[text].len()), text));
        let padded = tower.model.device() != burn::tensor::Device::flex();
        let blocks = order
            .chunks(config.block.unwrap_or(ids.len()).max(1))
            .map(|texts| {
                let rows: Vec<&[u32]> = texts.iter().map(|&text| &ids[text][..]).collect();
                let batch = match padded {
                    true => Batch::padded(&rows, tower.tokens.padding()),
                    false => Batch::new(&rows),
                };
                Block {
                    texts: texts.into(),
                    batch,
                }
            });
        Ok(Self {
            side,
            tower,
            blocks: blocks.collect(),
            dropout: Dropout::new(config.dropout, config.seed, step, side),
        })
    }

    fn pass<'b>(&'b self, block: &'b Block) -> Pass<'b> {
        Pass {
            model: &self.tower.model,
            batch: &block.batch,
            texts: &block.texts,
            dropout: self.dropout,
        }
    }

    fn encode(&self, keep: bool) -> Encoded {
        let (mut vectors, mut tapes) = (Vec::new(), Vec::new());
        let mut places = vec![0_i64; self.blocks.iter().map(|b| b.texts.len()).sum()];
        let mut next = 0;
        for block in &self.blocks {
            let (tokens, tape) = self.pass(block).forward(keep);
            vectors.push(self.tower.pool(tokens.clone(), &block.batch));
            tapes.push(tape.map(|tape| (tokens, tape)));
            for &text in &block.texts {
                places[text] = next;
                next += 1;
            }
        }
        let vectors = Tensor::cat(vectors, 0);
        let places = indices(places.into_iter(), &vectors.device());
        Encoded {
            vectors: vectors.select(0, places),
            tapes,
        }
    }

    /// Adds the gradients of the weights, given those of the vectors.
    fn backward(
        &self,
        tapes: Vec<Option<(Tensor<2>, Tape)>>,
        change: &Tensor<2>,
        gradients: &mut Gradients,
    ) {
        for (block, kept) in self.blocks.iter().zip(tapes) {
            let pass = self.pass(block);
            let (tokens, tape) = match kept {
                Some((tokens, tape)) => (tokens, Some(tape)),
                None => pass.forward(true),
            };
            let texts = block.texts.iter().map(|&text| text as i64);
            let change = change.clone().select(0, indices(texts, &change.device()));
            let pool = |tokens| self.tower.pool(tokens, &block.batch);
            let d_tokens = through(tokens, change, pool);
            if let Some(tape) = tape {
                pass.backward(tape, d_tokens, gradients);
            }
        }
    }
}
