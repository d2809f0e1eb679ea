use std::collections::HashMap;
use std::path::Path;

use burn::tensor::{Device, Tensor, TensorData};

use super::*;
use crate::kernels::memory;

fn trainer() -> (ReaderTrainer, Vec<TargetWindow>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/reader/bert");
    let config = ReaderTrainingConfig {
        dropout: 0.0,
        ..ReaderTrainingConfig::default()
    };
    let trainer = ReaderTrainer::open(folder, &config).unwrap();
    let data = [
        ReaderExample::new("tea", "green tea, black tea", 11..20),
        ReaderExample::new("ship at sea", "the ship seen by radar at the sea", 17..22),
        ReaderExample::unanswerable("radar", "ships are seen"),
    ];
    let (windows, cut) = trainer.windows(&data).unwrap();
    assert_eq!((windows.len(), cut), (3, 0));
    assert_eq!(windows[2].targets, [0, 0]);
    (trainer, windows)
}

/// Moves a parameter by `distance` along its gradient of unit length.
fn moved(values: Tensor<1>, gradient: &[f32], norm: f64, distance: f64) -> Tensor<1> {
    let step = gradient
        .iter()
        .map(|g| (f64::from(*g) / norm * distance) as f32);
    let step: Vec<f32> = step.collect();
    let shape = [step.len()];
    values + Tensor::from_data(TensorData::new(step, shape), &Device::flex())
}

/// The derivative of the loss along the gradient of each parameter is its norm.
#[test]
fn gradients_equal_finite_differences() {
    const DISTANCE: f64 = 5e-3;
    let (trainer, windows) = trainer();
    let batch: Vec<&TargetWindow> = windows.iter().collect();
    let padding = trainer.reader.tokenizer.padding();
    let gradients_of = |model: &HeadedTransformer<SpanHead>| {
        span_gradients(model, &trainer.config, padding, &batch, 0)
    };
    let (_, mut gradients) = gradients_of(&trainer.model);
    let mut of_model: HashMap<String, Vec<f32>> = HashMap::new();
    for parameter in trainer.model.model.parameters() {
        let gradient = gradients.model.take(&parameter.name).unwrap();
        of_model.insert(parameter.name, gradient.into_vec());
    }
    let head = trainer.model.head.named_tensors().into_iter();
    let head = head.zip(&gradients.head);
    let of_head: HashMap<String, Vec<f32>> = head
        .map(|(it, gradient)| (it.name, gradient.clone()))
        .collect();
    let mut checked = 0;
    for (name, gradient) in of_model.iter().chain(&of_head) {
        let norm = gradient
            .iter()
            .map(|&g| f64::from(g).powi(2))
            .sum::<f64>()
            .sqrt();
        // A bias of keys does not change the attention: the softmax is invariant to it. Biases of
        // all projections are one parameter, so that only tiny gradients are skipped.
        if norm < 1e-4 {
            continue;
        }
        let loss = |distance: f64| {
            let mut model = trainer.model.clone();
            let at = |values| moved(values, gradient, norm, distance);
            if let Some(elements) = model.head.elements_mut(name) {
                let head = trainer.model.head.named_tensors().into_iter();
                let parameter = head.into_iter().find(|it| it.name == *name).unwrap();
                *elements = memory::into_vec(at(parameter.values));
            }
            model.model = model.model.map_parameters(|it| {
                if it.name == *name {
                    at(it.values)
                } else {
                    it.values
                }
            });
            gradients_of(&model).0
        };
        let slope = (loss(DISTANCE) - loss(-DISTANCE)) / (2.0 * DISTANCE);
        assert!((slope / norm - 1.0).abs() < 0.01, "{name}: {slope}, {norm}");
        checked += 1;
    }
    // Every parameter but the common shift of the biases of start and end: their gradients sum to
    // 0.
    assert!(checked >= of_model.len(), "{checked} of {}", of_model.len());
}

/// Cross-entropy by its formula.
#[test]
fn worked_loss() {
    let logits = [[0.0, 1.0], [2.0, 0.0], [0.0, 0.0]];
    let mut d = [[0.0; 2]; 3];
    let loss = span_loss(&logits, [1, 0], 2, &mut d);
    let start = (1.0 + 2_f64.exp() + 1.0).ln() - 2.0;
    let end = (1_f64.exp() + 2.0).ln() - 1.0;
    assert!((loss - (start + end) / 4.0).abs() < 1e-9);
    let p = 2_f64.exp() / (2.0 + 2_f64.exp());
    assert!((f64::from(d[1][0]) - (p - 1.0) / 4.0).abs() < 1e-7);
    let sums = [0, 1].map(|side| d.iter().map(|it| it[side]).sum::<f32>());
    assert!(sums.iter().all(|sum| sum.abs() < 1e-6));
}
