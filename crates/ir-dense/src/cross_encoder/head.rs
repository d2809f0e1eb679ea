//! Classification head: hidden states of a pair to one logit per label.

use crate::activation::Activation;
use crate::architectures::{HeadLayout, HeadPooling};
use crate::encode::Pooling;
use crate::error::ModelError;
use crate::head_layers::{HeadLayerNorm, HeadLinear, LayerName, named_tensors};
use crate::model_folder::{NamedTensor, TensorSource};

/// Weights of a classification head.
#[derive(Debug, Clone)]
pub(crate) struct ClassificationHead {
    pub(crate) pooling: HeadPooling,
    pub(crate) dense: Option<DenseHead>,
    pub(crate) classifier: HeadLinear,
    /// Token that is not the last one of a pair: padding in the weights' training.
    padding: Option<u32>,
}

/// Linear layer with activation and normalization.
#[derive(Debug, Clone)]
pub(crate) struct DenseHead {
    pub(crate) linear: HeadLinear,
    pub(crate) activation: Activation,
    pub(crate) norm: Option<HeadLayerNorm>,
}

impl ClassificationHead {
    /// Reads the head of a model. `prefix` precedes the names of the encoder.
    pub(crate) fn load(
        layout: &HeadLayout,
        weights: &dyn TensorSource,
        prefix: &str,
        hidden: usize,
        labels: usize,
        padding: Option<u32>,
    ) -> Result<Self, ModelError> {
        let dense = layout.dense.map(|dense| {
            let name = LayerName {
                name: dense.name,
                in_encoder: dense.in_encoder,
            };
            let norm = dense.norm.map(|norm| {
                let shift = |name: &str| weights.take(&format!("{name}.bias"), &[hidden]);
                Ok::<_, ModelError>(HeadLayerNorm {
                    name: LayerName::new(norm.name),
                    scale: weights.take(&format!("{}.weight", norm.name), &[hidden])?,
                    shift: norm.bias.then(|| shift(norm.name)).transpose()?,
                    epsilon: norm.epsilon,
                })
            });
            Ok::<_, ModelError>(DenseHead {
                linear: HeadLinear::load(weights, name, prefix, [hidden, hidden], dense.bias)?,
                activation: dense.activation,
                norm: norm.transpose()?,
            })
        });
        let (name, shape) = (LayerName::new(layout.classifier), [labels, hidden]);
        Ok(Self {
            pooling: layout.pooling,
            dense: dense.transpose()?,
            classifier: HeadLinear::load(weights, name, prefix, shape, layout.classifier_bias)?,
            padding,
        })
    }

    pub(crate) fn labels(&self) -> usize {
        self.classifier.outputs()
    }

    /// Returns one logit per label, given the hidden states of a pair, `[tokens, hidden_size]`, and
    /// its token ids.
    pub(crate) fn logits(&self, states: &[f32], ids: &[u32]) -> Vec<f32> {
        let width = self.classifier.inputs.max(1);
        let pooling = match self.pooling {
            HeadPooling::MeanLogits => return self.mean_logits(states),
            HeadPooling::First => Pooling::Cls,
            HeadPooling::Mean => Pooling::Mean,
            HeadPooling::Last => Pooling::LastToken,
        };
        let mut states = states;
        if pooling == Pooling::LastToken {
            states = &states[..(self.last_token(ids) + 1) * width];
        }
        let mut pooled = vec![0.0; width];
        pooling.pool_text(states, 0, &mut pooled);
        self.classify(&pooled)
    }

    /// Last token of a pair that is not padding.
    pub(crate) fn last_token(&self, ids: &[u32]) -> usize {
        let last = ids.iter().rposition(|&id| Some(id) != self.padding);
        last.unwrap_or(0)
    }

    fn mean_logits(&self, states: &[f32]) -> Vec<f32> {
        let rows = states.chunks_exact(self.classifier.inputs.max(1));
        let count = rows.len().max(1) as f32;
        let mut sums = vec![0.0; self.labels()];
        for row in rows {
            let logits = self.classify(row);
            sums.iter_mut().zip(logits).for_each(|(sum, x)| *sum += x);
        }
        sums.into_iter().map(|sum| sum / count).collect()
    }

    fn classify(&self, pooled: &[f32]) -> Vec<f32> {
        match &self.dense {
            Some(dense) => self.classifier.apply(&dense.apply(pooled)),
            None => self.classifier.apply(pooled),
        }
    }

    /// Layers from the hidden states to the logits, in words.
    pub(super) fn layers(&self) -> String {
        let pooling = match self.pooling {
            HeadPooling::First => "first token",
            HeadPooling::Last => "last token",
            HeadPooling::Mean => "mean of the tokens",
            HeadPooling::MeanLogits => "mean of the logits of the tokens",
        };
        let linear = |layer: &HeadLinear| format!("{} to {}", layer.inputs, layer.outputs());
        let dense = self.dense.iter().map(|dense| {
            let norm = dense.norm.as_ref().map_or("", |_| ", LayerNorm");
            let (shape, activation) = (linear(&dense.linear), dense.activation.class());
            format!("; Dense {shape}, {activation}{norm}")
        });
        let dense: String = dense.collect();
        format!("{pooling}{dense}; classifier {}", linear(&self.classifier))
    }

    /// Names of the layers in a file in which `prefix` precedes the names of the encoder.
    pub(crate) fn layer_names(&self, prefix: &str) -> Vec<String> {
        let dense = self.dense.iter();
        let names = dense.flat_map(|dense| {
            let norm = dense.norm.iter().map(|norm| norm.name);
            [dense.linear.name].into_iter().chain(norm)
        });
        let names = names.chain([self.classifier.name]);
        names.map(|name| name.in_file(prefix)).collect()
    }

    /// Text that identifies what the head computes besides its weights.
    pub(crate) fn description(&self) -> String {
        let dense = self.dense.as_ref();
        let dense = dense.map(|dense| (dense.activation, dense.norm.as_ref().map(|it| it.epsilon)));
        format!("{:?} {dense:?} {:?}", self.pooling, self.padding)
    }

    /// Name, shape and elements of the weights in a file. `prefix` precedes the names of the
    /// encoder.
    pub(crate) fn weights(&self, prefix: &str) -> Vec<(String, Vec<usize>, &[f32])> {
        let mut weights = Vec::new();
        if let Some(dense) = &self.dense {
            dense.linear.add_weights(prefix, &mut weights);
            if let Some(norm) = &dense.norm {
                norm.add_weights(prefix, &mut weights);
            }
        }
        self.classifier.add_weights(prefix, &mut weights);
        weights
    }

    /// [`Self::weights`] as tensors.
    pub(crate) fn named_tensors(&self, prefix: &str) -> Vec<NamedTensor> {
        named_tensors(self.weights(prefix))
    }
}

impl DenseHead {
    fn apply(&self, pooled: &[f32]) -> Vec<f32> {
        let mut out = self.linear.apply(pooled);
        out.iter_mut().for_each(|x| *x = self.activation.value(*x));
        if let Some(norm) = &self.norm {
            norm.apply(&mut out);
        }
        out
    }
}
