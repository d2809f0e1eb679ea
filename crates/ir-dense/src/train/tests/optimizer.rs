use burn::tensor::{Device, TensorData};

use super::*;

/// Rows and elements per row of the embedding table.
const SHAPE: [usize; 2] = [600, 40];

fn tensor(values: Vec<f32>) -> Tensor<1> {
    let length = values.len();
    Tensor::from_data(TensorData::new(values, [length]), &Device::flex())
}

/// Weights and optimizer state of a table.
struct Table {
    weights: Tensor<1>,
    state: AdamWState,
    time: u64,
}

impl Table {
    fn new() -> Self {
        let elements = SHAPE[0] * SHAPE[1];
        let weights = (0..elements).map(|n| (n as f32 * 0.7).sin()).collect();
        Self {
            weights: tensor(weights),
            state: AdamWState::default(),
            time: 0,
        }
    }

    fn update(&mut self, gradient: &Gradient) {
        self.time += 1;
        let config = AdamWConfig {
            weight_decay: 0.01,
            ..AdamWConfig::default()
        };
        let step = AdamWStep {
            config: &config,
            learning_rate: 0.03,
            clip_factor: 0.9,
            time: self.time,
        };
        let parameter = NamedTensor {
            name: "table".into(),
            shape: SHAPE.to_vec(),
            values: self.weights.clone(),
        };
        self.weights = self.state.update_parameter(parameter, gradient, step);
    }

    /// The state after a checkpoint, which has the moments alone.
    fn resume(&mut self) {
        let moments = std::mem::take(&mut self.state.moments);
        self.state = AdamWState {
            moments,
            ..AdamWState::default()
        };
    }

    /// Bits of weights and moments.
    fn bits(&self) -> Vec<Vec<u32>> {
        let moments = self.state.moments["table"].iter().cloned();
        let tensors = [self.weights.clone()].into_iter().chain(moments);
        let bits = |values: Vec<f32>| values.into_iter().map(f32::to_bits).collect();
        tensors.map(memory::into_vec).map(bits).collect()
    }
}

/// Gradient of some rows, which may repeat.
fn row_gradient(rows: &[usize]) -> Gradient {
    let elements = rows.len() * SHAPE[1];
    let values: Vec<f32> = (0..elements).map(|n| (n as f32 * 1.3).cos()).collect();
    let mut gradients = ModelGradients::default();
    gradients.add_row_values("table", SHAPE, rows.iter().copied(), &values);
    gradients.take("table").unwrap()
}

/// Updates with the gradients of rows equal those with all elements, bit for bit, with weight
/// decay: for rows that are used once, again, later or never, and after resuming.
#[test]
fn row_updates_equal_dense_updates() {
    let steps: [&[usize]; 6] = [&[0, 2, 599], &[2, 5, 2], &[], &[450], &[0], &[7, 5]];
    for resumed in 0..=steps.len() {
        let (mut by_rows, mut dense) = (Table::new(), Table::new());
        for (step, rows) in steps.iter().enumerate() {
            if step == resumed {
                by_rows.resume();
            }
            by_rows.update(&row_gradient(rows));
            dense.update(&Gradient::Values(row_gradient(rows).into_vec()));
            assert!(by_rows.bits() == dense.bits(), "step {step}, {resumed}");
        }
        let used = &by_rows.state.used_rows["table"];
        let used: Vec<usize> = (0..used.len()).filter(|&row| used[row]).collect();
        assert_eq!(used, [0, 2, 5, 7, 450, 599]);
    }
}

/// Rows that a gradient of all elements has used are updated afterwards.
#[test]
fn dense_gradients_use_all_rows() {
    let all: Vec<usize> = (0..SHAPE[0]).collect();
    let (mut mixed, mut dense) = (Table::new(), Table::new());
    for (step, rows) in [&[3][..], &all, &[4]].into_iter().enumerate() {
        let values = Gradient::Values(row_gradient(rows).into_vec());
        match step {
            1 => mixed.update(&values),
            _ => mixed.update(&row_gradient(rows)),
        }
        dense.update(&values);
        assert!(mixed.bits() == dense.bits(), "step {step}");
    }
}

/// A gradient of another variant is not lost silently.
#[test]
#[should_panic(expected = "gradient of table: expected values, found rows")]
fn variants_of_gradients_do_not_mix() {
    let mut gradients = ModelGradients::default();
    gradients.add_row_values("table", [2, 1], [1].into_iter(), &[0.5]);
    gradients.add_values("table".into(), &[1.0, 2.0]);
}
