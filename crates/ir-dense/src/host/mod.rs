//! The forward pass of a transformer on the processor, without gradients.
//!
//! burn's backend for the processor computes softmax, GELU and attention in many passes over memory.
//! Here some rows at a time go through everything between two attentions while they are in the
//! cache, and the products read weights that were laid out for them once. The results are those of
//! [`Transformer::forward`] up to rounding.

mod attention;
pub(crate) mod functions;
mod matrix;

use burn::module::Param;
use burn::nn::{LayerNorm, Linear};
use burn::tensor::{Device, Tensor};
use rayon::prelude::*;

use crate::{Activation, Batch, Layer, Transformer};
use attention::Attention;
use matrix::{Panels, Rows};

/// Rows that pass through the weights together: they and what is made of them fit the second cache.
const ROWS: usize = 96;

/// The blocks of a [`Transformer`], laid out for the processor.
#[derive(Debug)]
pub(crate) struct Host {
    layers: Vec<HostLayer>,
    attention: Attention,
    activation: Activation,
}

#[derive(Debug)]
struct HostLayer {
    qkv: Product,
    output: Product,
    attention_norm: Norm,
    up: Product,
    down: Product,
    norm: Norm,
}

#[derive(Debug)]
struct Product {
    weight: Panels,
    bias: Vec<f32>,
}

#[derive(Debug)]
struct Norm {
    scale: Vec<f32>,
    shift: Vec<f32>,
    epsilon: f32,
}

impl Host {
    /// Of weights that lie in this process's memory and take no gradients; `None` of others.
    pub(crate) fn of(model: &Transformer) -> Option<Self> {
        let device = model.device();
        if device != Device::flex() || device.is_autodiff() {
            return None;
        }
        let config = model.config();
        let epsilon = config.layer_norm_eps as f32;
        let layers = model.layers.iter();
        let layers = layers.map(|layer| HostLayer::of(layer, epsilon));
        Some(Self {
            layers: layers.collect::<Option<_>>()?,
            attention: Attention::new(config, relative(model)?),
            activation: config.activation,
        })
    }

    /// The vector of every token of a batch without padding, `[tokens, hidden]`.
    pub(crate) fn forward(&self, model: &Transformer, batch: &Batch) -> Tensor<2> {
        let embedded = model.embed(batch);
        let device = embedded.device();
        let mut data = embedded.into_data();
        if let Ok(x) = data.as_mut_slice::<f32>() {
            let hidden = model.config().hidden;
            let mut attended = vec![0.0; x.len()];
            for layer in &self.layers {
                let qkv = layer.qkv(x, hidden);
                self.attention.forward(&qkv, batch, &mut attended);
                let rows = x.par_chunks_mut(ROWS * hidden);
                rows.zip(attended.par_chunks(ROWS * hidden))
                    .for_each(|(x, attended)| layer.finish(x, attended, self.activation));
            }
        }
        Tensor::from_data(data, &device)
    }
}

/// MPNet's table of scores for the distance between tokens; empty in other families.
fn relative(model: &Transformer) -> Option<Vec<f32>> {
    match &model.relative {
        None => Some(Vec::new()),
        Some(table) => values(table),
    }
}

impl HostLayer {
    fn of(layer: &Layer, epsilon: f32) -> Option<Self> {
        Some(Self {
            qkv: Product::of(&layer.qkv)?,
            output: Product::of(&layer.output)?,
            attention_norm: Norm::of(&layer.attention_norm, epsilon)?,
            up: Product::of(&layer.up)?,
            down: Product::of(&layer.down)?,
            norm: Norm::of(&layer.norm, epsilon)?,
        })
    }

    /// Queries, keys and values of every token, side by side.
    fn qkv(&self, x: &[f32], hidden: usize) -> Vec<f32> {
        let width = 3 * hidden;
        let mut qkv = vec![0.0; 3 * x.len()];
        qkv.par_chunks_mut(ROWS * width)
            .zip(x.par_chunks(ROWS * hidden))
            .for_each(|(qkv, x)| self.qkv.apply(x, hidden, qkv));
        qkv
    }

    /// From what some tokens saw to what they are after the layer.
    fn finish(&self, x: &mut [f32], attended: &[f32], activation: Activation) {
        let hidden = self.norm.scale.len();
        let width = self.up.bias.len();
        let mut seen = vec![0.0; x.len()];
        self.output.apply(attended, hidden, &mut seen);
        add(&mut seen, x);
        self.attention_norm.apply(&mut seen);

        let mut inner = vec![0.0; x.len() / hidden.max(1) * width];
        let up = &self.up;
        up.weight
            .product(Rows::of(&seen, hidden), None, &mut inner, width);
        functions::activate(activation, &mut inner, &up.bias);
        self.down.apply(&inner, width, x);
        add(x, &seen);
        self.norm.apply(x);
    }
}

impl Product {
    fn of(linear: &Linear) -> Option<Self> {
        let [from, to] = linear.weight.dims();
        Some(Self {
            weight: Panels::new(&values(&linear.weight)?, from, to),
            bias: match &linear.bias {
                Some(bias) => values(bias)?,
                None => vec![0.0; to],
            },
        })
    }

    fn apply(&self, x: &[f32], width: usize, out: &mut [f32]) {
        let (rows, stride) = (Rows::of(x, width), self.bias.len());
        self.weight.product(rows, Some(&self.bias), out, stride);
    }
}

impl Norm {
    fn of(norm: &LayerNorm, epsilon: f32) -> Option<Self> {
        let scale = values(&norm.gamma)?;
        Some(Self {
            shift: match &norm.beta {
                Some(beta) => values(beta)?,
                None => vec![0.0; scale.len()],
            },
            scale,
            epsilon,
        })
    }

    fn apply(&self, rows: &mut [f32]) {
        functions::normalize(rows, &self.scale, &self.shift, self.epsilon);
    }
}

fn add(to: &mut [f32], what: &[f32]) {
    for (to, what) in to.iter_mut().zip(what) {
        *to += what;
    }
}

fn values<const D: usize>(parameter: &Param<Tensor<D>>) -> Option<Vec<f32>> {
    parameter.val().try_into_vec_as::<f32>().ok()
}
