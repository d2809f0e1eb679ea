//! DistilBERT: BERT without token types, with other names of tensors.

use super::bert;
use super::definition::{Definition, FieldNames, HeadLayout, LayerNames, Rows, TensorNames};
use crate::activation::Activation;
use crate::model_folder::Architecture;

/// Names of BERT's fields and of DistilBERT's.
const NAMES: &[(&str, &str)] = &[
    ("hidden_size", "dim"),
    ("num_hidden_layers", "n_layers"),
    ("num_attention_heads", "n_heads"),
    ("intermediate_size", "hidden_dim"),
    ("hidden_act", "activation"),
];

pub(super) const DISTILBERT: Definition = Definition {
    name: Architecture::DISTILBERT.0,
    model_types: &["distilbert"],
    class: "DistilBert",
    body: "distilbert",
    field_names: FieldNames {
        own: NAMES,
        aliases: NAMES,
    },
    read: |file| {
        let mut config = bert::read(file, Architecture::DISTILBERT)?;
        config.token_types = 0;
        // Whatever the file says.
        config.layer_norm_eps = 1e-12;
        Ok(config)
    },
    names: &[TensorNames {
        layer: "transformer.layer.",
        parts: LayerNames {
            qkv: &["attention.q_lin", "attention.k_lin", "attention.v_lin"],
            output: "attention.out_lin",
            attention_norm: "sa_layer_norm",
            up: Rows::All("ffn.lin1"),
            down: "ffn.lin2",
            norm: "output_layer_norm",
            ..TensorNames::BERT.parts
        },
        ..TensorNames::BERT
    }],
    head: Some(|_| Ok(HeadLayout::BERT.with_dense("pre_classifier", Activation::Relu))),
};
