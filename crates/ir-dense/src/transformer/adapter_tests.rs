//! Bottleneck adapters against a textbook version of a BERT with an adapter, in f64.

use std::fs;
use std::path::Path;

use burn::nn::{LayerNorm, Linear};
use burn::tensor::{Device, Tensor};
use serde_json::json;

use super::cpu::CpuTransformer;
use super::{TokenBatch, Transformer};
use crate::kernels::team::ParallelRegion;
use crate::model_folder::{NamedTensor, TransformerConfig, WeightFile, write_json, write_tensors};
use crate::precision::Precision;

/// One vector per token.
type Rows = Vec<Vec<f64>>;

/// Projection with weights of any values, row-major `[to, from]` as in PyTorch.
struct Projection {
    name: String,
    from: usize,
    weight: Vec<f32>,
    bias: Vec<f32>,
}

impl Projection {
    fn new(layer: usize, part: &str, from: usize, to: usize) -> Self {
        let value = |at: usize| ((at * 37 + layer * 11 + from * 5) % 101) as f32 / 60.0 - 0.8;
        Self {
            // Names of `BertAdapterModel`; the base model has the names of `BertModel`.
            name: format!("bert.encoder.layer.{layer}.output.adapters.task.{part}"),
            from,
            weight: (0..to * from).map(value).collect(),
            bias: (0..to).map(|at| value(at + 50)).collect(),
        }
    }

    fn tensors(&self) -> [NamedTensor; 2] {
        let (name, shape) = (&self.name, vec![self.bias.len(), self.from]);
        let bias = vec![self.bias.len()];
        [
            NamedTensor::of_values(format!("{name}.weight"), shape, self.weight.clone()),
            NamedTensor::of_values(format!("{name}.bias"), bias, self.bias.clone()),
        ]
    }

    fn apply(&self, x: &[Vec<f64>]) -> Rows {
        let outputs = || self.weight.chunks(self.from).zip(&self.bias);
        let output = |row: &[f64], weight: &[f32], bias: f32| {
            let products = row.iter().zip(weight).map(|(x, w)| x * f64::from(*w));
            products.sum::<f64>() + f64::from(bias)
        };
        let project = |row: &Vec<f64>| outputs().map(|(w, b)| output(row, w, *b)).collect();
        x.iter().map(project).collect()
    }
}

fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.try_into_vec_as::<f32>().unwrap()
}

fn linear(x: &[Vec<f64>], layer: &Linear) -> Rows {
    let weight = layer.weight.val();
    let [from, _] = weight.dims();
    Projection {
        name: String::new(),
        from,
        weight: values(weight.transpose()),
        bias: values(layer.bias.as_ref().unwrap().val()),
    }
    .apply(x)
}

fn add(a: &[Vec<f64>], b: &[Vec<f64>]) -> Rows {
    let rows = a.iter().zip(b);
    rows.map(|(a, b)| a.iter().zip(b).map(|(a, b)| a + b).collect())
        .collect()
}

fn map(x: Rows, function: fn(f64) -> f64) -> Rows {
    let rows = x.into_iter();
    rows.map(|row| row.into_iter().map(function).collect())
        .collect()
}

fn layer_norm(x: &[Vec<f64>], norm: &LayerNorm) -> Rows {
    let scale = values(norm.gamma.val());
    let shift = values(norm.beta.as_ref().unwrap().val());
    let normalize = |row: &Vec<f64>| {
        let width = row.len() as f64;
        let mean = row.iter().sum::<f64>() / width;
        let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / width;
        let weights = scale.iter().zip(&shift);
        let row = row.iter().zip(weights);
        row.map(|(x, (scale, shift))| {
            (x - mean) / (variance + 1e-12).sqrt() * f64::from(*scale) + f64::from(*shift)
        })
        .collect()
    };
    x.iter().map(normalize).collect()
}

/// Context vectors of a text.
fn attention(qkv: &[Vec<f64>], heads: usize) -> Rows {
    let width = qkv[0].len() / 3;
    let dim = width / heads;
    let context = |query: &Vec<f64>| {
        let mut out = vec![0.0; width];
        for head in 0..heads {
            let part =
                |row: &[f64], number: usize| row[number * width + head * dim..][..dim].to_vec();
            let scores = qkv.iter().map(|key| {
                let (query, key) = (part(query, 0), part(key, 1));
                let product: f64 = query.iter().zip(&key).map(|(a, b)| a * b).sum();
                (product / (dim as f64).sqrt()).exp()
            });
            let scores: Vec<f64> = scores.collect();
            let total: f64 = scores.iter().sum();
            for (row, score) in qkv.iter().zip(scores) {
                for (out, value) in out[head * dim..].iter_mut().zip(part(row, 2)) {
                    *out += score / total * value;
                }
            }
        }
        out
    };
    qkv.iter().map(context).collect()
}

/// GELU by its tanh approximation, `gelu_new`.
fn gelu_new(x: f64) -> f64 {
    let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x.powi(3));
    0.5 * x * (1.0 + inner.tanh())
}

fn silu(x: f64) -> f64 {
    x / (1.0 + (-x).exp())
}

/// Hidden states of a text by the steps of the library `adapters`, or of BERT without an adapter.
fn hidden_states(model: &Transformer, ids: &[u32], adapter: Option<&[[Projection; 2]]>) -> Rows {
    let width = model.config().hidden_size;
    let tables = [
        values(model.token_embeddings.val()),
        values(model.position_embeddings.as_ref().unwrap().val()),
        values(model.token_type_embeddings.as_ref().unwrap().val()),
    ];
    let embeddings = ids.iter().enumerate().map(|(position, &id)| {
        let rows = [id as usize, position, 0];
        let cell = |column: usize| {
            let cells = tables
                .iter()
                .zip(rows)
                .map(|(it, row)| it[row * width + column]);
            cells.map(f64::from).sum::<f64>()
        };
        (0..width).map(cell).collect()
    });
    let sum: Rows = embeddings.collect();
    let mut x = layer_norm(&sum, model.embedding_norm.as_ref().unwrap());
    for (number, layer) in model.layers.iter().enumerate() {
        let context = attention(&linear(&x, &layer.qkv), model.config().heads);
        let sum = add(&linear(&context, &layer.output), &x);
        let attended = layer_norm(&sum, layer.attention_norm.as_ref().unwrap());
        let inner = map(linear(&attended, &layer.up), gelu_new);
        let mut output = linear(&inner, &layer.down);
        if let Some(adapter) = adapter {
            let [down, up] = &adapter[number];
            let normalized = layer_norm(&add(&output, &attended), &layer.norm);
            let adapted = up.apply(&map(down.apply(&normalized), silu));
            output = add(&adapted, &output);
        }
        x = layer_norm(&add(&output, &attended), &layer.norm);
    }
    x
}

#[test]
fn adapters_equal_a_textbook_version() {
    let families = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/families");
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for name in ["config.json", "model.safetensors"] {
        let base = families.join("bert-adapter/base").join(name);
        fs::copy(base, folder.join(name)).unwrap();
    }
    let (hidden, size) = (24, 7);
    let adapter = [0, 1].map(|layer| {
        [
            Projection::new(layer, "adapter_down.0", hidden, size),
            Projection::new(layer, "adapter_up", size, hidden),
        ]
    });
    let tensors = adapter.iter().flatten().flat_map(Projection::tensors);
    let tensors: Vec<NamedTensor> = tensors.collect();
    write_tensors(&folder.join("adapter.safetensors"), &tensors).unwrap();
    let config = json!({
        "config": {
            "mh_adapter": false,
            "output_adapter": true,
            "original_ln_before": true,
            "reduction_factor": 3.2,
            "non_linearity": "Swish",
        },
        "hidden_size": hidden,
        "model_type": "bert",
        "name": "task",
    });
    write_json(&folder.join("adapter_config.json"), &config).unwrap();

    let config = TransformerConfig::read(folder).unwrap();
    let file = WeightFile::open(folder).unwrap();
    let model = Transformer::load(config.clone(), &file, &Device::flex()).unwrap();
    file.check_unread().unwrap();
    let packed = CpuTransformer::load(&config, &file, Precision::F32);
    let packed = packed.unwrap().unwrap();
    let ids: [u32; 7] = [2, 9, 17, 4, 4, 30, 3];
    let batch = TokenBatch::new(&[ids]);
    let region = &mut ParallelRegion::sequential();
    let found = [
        packed.forward(&batch, region, <[f32]>::to_vec),
        values(model.forward(&batch)),
    ];
    let difference = |found: &[f32], expected: &[Vec<f64>]| {
        let expected: Vec<f64> = expected.concat();
        assert_eq!(found.len(), expected.len());
        let largest = expected.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
        let pairs = found.iter().zip(&expected);
        let apart = pairs.map(|(a, b)| (f64::from(*a) - b).abs());
        apart.fold(0.0, f64::max) / largest
    };
    let expected = hidden_states(&model, &ids, Some(&adapter));
    let without = hidden_states(&model, &ids, None);
    for found in found {
        let apart = difference(&found, &expected);
        assert!(apart < 1e-5, "{apart:e}");
        assert!(difference(&found, &without) > 0.1);
    }
}
