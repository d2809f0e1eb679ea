//! A transformer forwards, keeping what is needed, and backwards.
//!
//! Written out instead of left to burn's automatic gradients: it computes the same (a test compares
//! them), keeps less, and adds in an order that depends on the batch alone. Small parts that are not worth it (pooling, relative positions, rare activations) do use
//! burn's.

use burn::module::Param;
use burn::nn::{LayerNorm, Linear};
use burn::tensor::activation::{gelu_approximate, relu, softmax};
use burn::tensor::{Int, Tensor};

use super::dropout::{Dropout, Site};
use super::gradients::{Gradients, LayerSlots, Slots};
use super::kernels::{self, Normed};
use crate::transformer::{Layer, Masks, indices, relative};
use crate::{Activation, Batch, Transformer};

/// One encoding of a batch by a transformer.
pub(super) struct Pass<'a> {
    pub(super) model: &'a Transformer,
    pub(super) batch: &'a Batch,
    /// The numbers by which dropout knows the texts of the batch.
    pub(super) texts: &'a [usize],
    pub(super) dropout: Option<Dropout>,
}

/// What the way back needs.
pub(super) struct Tape {
    ids: Tensor<1, Int>,
    places: Tensor<1, Int>,
    normed: Normed,
    masks: Masks,
    layers: Vec<LayerTape>,
}

struct LayerTape {
    x: Tensor<2>,
    qkv: Tensor<2>,
    /// Of attention, per block, before dropout.
    shares: Vec<Tensor<4>>,
    seen: Tensor<2>,
    attention_normed: Normed,
    /// Between attention and feed-forward.
    middle: Tensor<2>,
    /// Before and after the activation.
    inner: [Tensor<2>; 2],
    normed: Normed,
}

impl Pass<'_> {
    /// The vector of every token, `[tokens, hidden]`, and the way back if it is wanted.
    pub(super) fn forward(&self, keep: bool) -> (Tensor<2>, Option<Tape>) {
        let (model, device) = (self.model, self.model.device());
        let config = model.config();
        let ids = indices(self.batch.ids().iter().map(|&id| id as i64), &device);
        let first = config.first_position;
        let places = indices(self.batch.places().map(|p| (first + p) as i64), &device);
        let words = model.words.val().select(0, ids.clone());
        let mut x = words + model.positions.val().select(0, places.clone());
        if let Some(types) = &model.types {
            x = x + types.val().slice([0..1, 0..config.hidden]);
        }
        let (x, normed) = self.norm(x, &model.norm);
        let mut x = self.drop(x, Site::Embeddings);
        let masks = Masks::new(model, self.batch, &device);
        let mut layers = Vec::new();
        for (number, layer) in model.layers.iter().enumerate() {
            let (y, tape) = self.layer(layer, number, x, &masks);
            x = y;
            if keep {
                layers.push(tape);
            }
        }
        let tape = Tape {
            ids,
            places,
            normed,
            masks,
            layers,
        };
        (x, keep.then_some(tape))
    }

    fn norm(&self, x: Tensor<2>, norm: &LayerNorm) -> (Tensor<2>, Normed) {
        let eps = self.model.config().layer_norm_eps;
        kernels::layer_norm(x, norm.gamma.val(), shift(norm), eps)
    }

    fn drop(&self, x: Tensor<2>, site: Site) -> Tensor<2> {
        match self.dropout {
            None => x,
            Some(dropout) => dropout.tokens(x, self.batch, self.texts, site),
        }
    }

    /// The texts of every block of the batch, each with its tokens that are no padding.
    fn block_texts(&self) -> impl Iterator<Item = Vec<(usize, usize)>> {
        let mut texts = self.texts.iter().copied().zip(self.batch.real_lengths());
        let blocks = self.batch.blocks().iter();
        blocks.map(move |block| texts.by_ref().take(block.texts).collect())
    }

    fn layer(
        &self,
        layer: &Layer,
        number: usize,
        x: Tensor<2>,
        masks: &Masks,
    ) -> (Tensor<2>, LayerTape) {
        let qkv = layer.qkv.forward(x.clone());
        let (seen, shares) = self.attention(layer, number, &qkv, masks);
        let attended = layer.output.forward(seen.clone());
        let attended = self.drop(attended, Site::Attended(number)) + x.clone();
        let (middle, attention_normed) = self.norm(attended, &layer.attention_norm);
        let inner = match layer.activation {
            Activation::Gelu => {
                let up = middle.clone().matmul(layer.up.weight.val());
                let (before, after) = kernels::gelu(up, bias(&layer.up));
                [before, after]
            }
            other => {
                let before = layer.up.forward(middle.clone());
                [before.clone(), activate(other, before)]
            }
        };
        let down = layer.down.forward(inner[1].clone());
        let down = self.drop(down, Site::Down(number)) + middle.clone();
        let (y, normed) = self.norm(down, &layer.norm);
        let tape = LayerTape {
            x,
            qkv,
            shares,
            seen,
            attention_normed,
            middle,
            inner,
            normed,
        };
        (y, tape)
    }

    /// What the tokens see, `[tokens, hidden]`, and the shares of it per block.
    fn attention(
        &self,
        layer: &Layer,
        number: usize,
        qkv: &Tensor<2>,
        masks: &Masks,
    ) -> (Tensor<2>, Vec<Tensor<4>>) {
        let scale = layer.scale();
        let mut out = Vec::with_capacity(masks.of_blocks.len());
        let mut kept = Vec::with_capacity(masks.of_blocks.len());
        let blocks = self.batch.blocks().iter().zip(&masks.of_blocks);
        for ((block, mask), texts) in blocks.zip(self.block_texts()) {
            let [queries, keys, values] = layer.parts(qkv, *block);
            let scores = queries.matmul(keys.swap_dims(2, 3));
            let shares = match mask {
                None => kernels::softmax(scores, scale),
                Some(mask) => softmax(scores.mul_scalar(scale) + mask.clone(), 3),
            };
            kept.push(shares.clone());
            let shares = self.drop_shares(shares, &texts, number);
            out.push(layer.rows(shares.matmul(values), *block));
        }
        (together(out), kept)
    }

    fn drop_shares(&self, shares: Tensor<4>, texts: &[(usize, usize)], layer: usize) -> Tensor<4> {
        match self.dropout {
            None => shares,
            Some(dropout) => dropout.shares(shares, texts, Site::Shares(layer)),
        }
    }

    /// Adds the gradients of all weights, given those of the tokens' vectors.
    pub(super) fn backward(&self, tape: Tape, d_tokens: Tensor<2>, gradients: &mut Gradients) {
        let (model, device) = (self.model, self.model.device());
        let slots = Slots::new(model);
        let Tape {
            ids,
            places,
            normed,
            masks,
            layers,
        } = tape;
        let mut d = d_tokens;
        let mut d_apart: Vec<Option<Tensor<4>>> = vec![None; masks.of_blocks.len()];
        for (number, tape) in layers.into_iter().enumerate().rev() {
            let layer = Way {
                pass: self,
                layer: &model.layers[number],
                number,
                slots: slots.layer(number),
            };
            d = layer.backward(tape, d, gradients, &mut d_apart);
        }
        if let (Some(table), Some(slot)) = (&model.relative, slots.relative) {
            for (block, d_apart) in self.batch.blocks().iter().zip(d_apart) {
                if let Some(d_apart) = d_apart {
                    let d_table = through(table.val(), d_apart, |t| relative(t, block.length));
                    gradients.add(slot, d_table);
                }
            }
        }
        let d = self.drop(d, Site::Embeddings);
        let (d, [d_gamma, d_beta]) =
            kernels::layer_norm_backward(d, normed, model.norm.gamma.val());
        gradients.add(slots.norm, d_gamma);
        gradients.add(slots.norm + 1, d_beta);
        let hidden = model.config().hidden;
        if let Some(slot) = slots.types {
            // All tokens have type 0.
            let sums = kernels::column_sums(d.clone()).reshape([1, hidden]);
            let table = gradients.take(slot, &device).reshape([-1, hidden as i64]);
            let row = indices([0].into_iter(), &device);
            gradients.add(slot, kernels::add_rows(table, row, sums));
        }
        for (slot, rows) in [(slots.positions, places), (slots.words, ids)] {
            let table = gradients.take(slot, &device).reshape([-1, hidden as i64]);
            gradients.add(slot, kernels::add_rows(table, rows, d.clone()));
        }
    }
}

/// The way back through one layer.
struct Way<'a> {
    pass: &'a Pass<'a>,
    layer: &'a Layer,
    number: usize,
    slots: LayerSlots,
}

impl Way<'_> {
    fn backward(
        &self,
        tape: LayerTape,
        dy: Tensor<2>,
        gradients: &mut Gradients,
        d_apart: &mut [Option<Tensor<4>>],
    ) -> Tensor<2> {
        let (layer, slots, pass) = (self.layer, self.slots, self.pass);
        let d = norm_back(dy, tape.normed, &layer.norm, slots.norm, gradients);
        let d_down = pass.drop(d.clone(), Site::Down(self.number));
        let [before, after] = tape.inner;
        let d_after = linear_back(d_down, after, &layer.down, slots.down, gradients);
        let d_before = match layer.activation {
            Activation::Gelu => kernels::gelu_backward(d_after, before),
            other => through(before, d_after, |x| activate(other, x)),
        };
        let d_middle = linear_back(d_before, tape.middle, &layer.up, slots.up, gradients) + d;
        let normed = tape.attention_normed;
        let slot = slots.attention_norm;
        let d = norm_back(d_middle, normed, &layer.attention_norm, slot, gradients);
        let d_attended = pass.drop(d.clone(), Site::Attended(self.number));
        let d_seen = linear_back(
            d_attended,
            tape.seen,
            &layer.output,
            slots.output,
            gradients,
        );
        let d_qkv = self.attention_back(d_seen, &tape.qkv, tape.shares, d_apart);
        linear_back(d_qkv, tape.x, &layer.qkv, slots.qkv, gradients) + d
    }

    /// The gradient of queries, keys and values side by side.
    fn attention_back(
        &self,
        d_seen: Tensor<2>,
        qkv: &Tensor<2>,
        shares: Vec<Tensor<4>>,
        d_apart: &mut [Option<Tensor<4>>],
    ) -> Tensor<2> {
        let (layer, pass) = (self.layer, self.pass);
        let scale = layer.scale();
        let [_, hidden] = d_seen.dims();
        let mut out = Vec::with_capacity(shares.len());
        let blocks = pass.batch.blocks().iter().zip(pass.block_texts());
        for (((block, texts), shares), d_apart) in blocks.zip(shares).zip(d_apart) {
            let [queries, keys, values] = layer.parts(qkv, *block);
            let d_seen = d_seen.clone().slice([block.tokens(), 0..hidden]);
            let d_seen = layer.heads_of(d_seen, *block);
            let d_shares = d_seen.clone().matmul(values.swap_dims(2, 3));
            let d_shares = pass.drop_shares(d_shares, &texts, self.number);
            let dropped = pass.drop_shares(shares.clone(), &texts, self.number);
            let d_values = dropped.swap_dims(2, 3).matmul(d_seen);
            let d_scores = kernels::softmax_backward(d_shares, shares, scale);
            if pass.model.relative.is_some() {
                let of_all = d_scores.clone().sum_dim(0).div_scalar(scale);
                *d_apart = Some(match d_apart.take() {
                    Some(sum) => sum + of_all,
                    None => of_all,
                });
            }
            let d_queries = d_scores.clone().matmul(keys);
            let d_keys = d_scores.swap_dims(2, 3).matmul(queries);
            let rows = [d_queries, d_keys, d_values].map(|d| layer.rows(d, *block));
            out.push(Tensor::cat(rows.into(), 1));
        }
        together(out)
    }
}

/// Through x·W + b: adds the gradients of W and b, gives that of x.
fn linear_back(
    dy: Tensor<2>,
    x: Tensor<2>,
    linear: &Linear,
    slot: usize,
    gradients: &mut Gradients,
) -> Tensor<2> {
    gradients.add(slot, x.transpose().matmul(dy.clone()));
    gradients.add(slot + 1, kernels::column_sums(dy.clone()));
    dy.matmul(linear.weight.val().transpose())
}

fn norm_back(
    dy: Tensor<2>,
    normed: Normed,
    norm: &LayerNorm,
    slot: usize,
    gradients: &mut Gradients,
) -> Tensor<2> {
    let (dx, [d_gamma, d_beta]) = kernels::layer_norm_backward(dy, normed, norm.gamma.val());
    gradients.add(slot, d_gamma);
    gradients.add(slot + 1, d_beta);
    dx
}

fn activate(activation: Activation, x: Tensor<2>) -> Tensor<2> {
    match activation {
        Activation::Gelu => burn::tensor::activation::gelu(x),
        Activation::GeluTanh => gelu_approximate(x),
        Activation::Relu => relu(x),
    }
}

/// The gradient of what `f` was given, by burn's automatic gradients.
pub(super) fn through<const A: usize, const B: usize>(
    x: Tensor<A>,
    dy: Tensor<B>,
    f: impl FnOnce(Tensor<A>) -> Tensor<B>,
) -> Tensor<A> {
    let x = x.autodiff().require_grad();
    let y = f(x.clone());
    let mut gradients = (y * dy.autodiff()).sum().backward();
    let gradient = x.grad_remove(&mut gradients);
    gradient.unwrap_or_else(|| x.without_autodiff().zeros_like())
}

fn together(mut blocks: Vec<Tensor<2>>) -> Tensor<2> {
    match blocks.len() {
        1 => blocks.remove(0),
        _ => Tensor::cat(blocks, 0),
    }
}

fn bias(linear: &Linear) -> Tensor<1> {
    or_zeros(
        linear.bias.as_ref(),
        linear.weight.val().dims()[1],
        &linear.weight,
    )
}

fn shift(norm: &LayerNorm) -> Tensor<1> {
    or_zeros(norm.beta.as_ref(), norm.gamma.val().dims()[0], &norm.gamma)
}

fn or_zeros<const D: usize>(
    vector: Option<&Param<Tensor<1>>>,
    length: usize,
    like: &Param<Tensor<D>>,
) -> Tensor<1> {
    match vector {
        Some(vector) => vector.val(),
        None => Tensor::zeros([length], &like.val().device()),
    }
}
