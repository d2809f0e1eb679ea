//! Rotary position embeddings: tables of cosines and sines, rotation of queries and keys.

use std::f64::consts::TAU;

use pulp::Arch;

use crate::model_folder::{Rotary, RotaryScaling};

/// Cosines and sines of the positions of a text, `[positions, dim / 2]`.
#[derive(Debug, Default)]
pub(crate) struct RotaryTable {
    rotary: Option<Rotary>,
    cosines: Vec<f32>,
    sines: Vec<f32>,
}

impl RotaryTable {
    /// Computes the positions below `length` that the table lacks.
    pub(crate) fn prepare(&mut self, rotary: Rotary, length: usize) {
        if self.rotary != Some(rotary) {
            *self = Self {
                rotary: Some(rotary),
                ..Self::default()
            };
        }
        let half = (rotary.dim / 2).max(1);
        let first = self.cosines.len() / half;
        if first >= length {
            return;
        }
        let frequencies = frequencies(rotary);
        let scale = match rotary.scaling {
            Some(RotaryScaling::Yarn {
                attention_factor, ..
            }) => attention_factor as f32,
            _ => 1.0,
        };
        for position in first..length {
            for frequency in &frequencies {
                // The angle is rounded to f32, as in transformers.
                let angle = f64::from(frequency * position as f32);
                self.cosines.push(angle.cos() as f32 * scale);
                self.sines.push(angle.sin() as f32 * scale);
            }
        }
    }

    /// Cosines and sines of positions, `[length, dim / 2]`.
    pub(crate) fn values(&self, length: usize) -> [&[f32]; 2] {
        let half = self.rotary.map_or(0, |rotary| rotary.dim / 2);
        [&self.cosines, &self.sines].map(|values| &values[..length * half])
    }

    /// Rotates heads of rows: `count` vectors of `width` elements, from column `first` on.
    ///
    /// # Shapes
    /// `rows`: one row of `stride` elements per position.
    pub(crate) fn rotate(
        &self,
        (rows, stride): (&mut [f32], usize),
        positions: &[u32],
        first: usize,
        (count, width): (usize, usize),
    ) {
        let half = self.rotary.map_or(0, |rotary| rotary.dim / 2);
        Arch::new().dispatch(|| {
            for (row, &position) in rows.chunks_exact_mut(stride.max(1)).zip(positions) {
                let at = position as usize * half;
                let cosines = &self.cosines[at..][..half];
                let sines = &self.sines[at..][..half];
                let heads = row[first..][..count * width].chunks_exact_mut(width.max(1));
                for head in heads {
                    let (left, right) = head.split_at_mut(half);
                    let pairs = left.iter_mut().zip(right);
                    for ((x, y), (cos, sin)) in pairs.zip(cosines.iter().zip(sines)) {
                        (*x, *y) = (*x * cos - *y * sin, *y * cos + *x * sin);
                    }
                }
            }
        });
    }
}

/// Frequencies of the rotations, by decreasing size.
fn frequencies(rotary: Rotary) -> Vec<f32> {
    let dim = rotary.dim as f64;
    let all = (0..rotary.dim / 2).map(|at| {
        let frequency = rotary.theta.powf(-2.0 * at as f64 / dim);
        match rotary.scaling {
            None => frequency,
            Some(RotaryScaling::Linear { factor }) => frequency / factor,
            Some(RotaryScaling::Ntk { factor, exponent }) => {
                let fraction = 2.0 * (at + 1) as f64 / dim;
                frequency / factor.powf(fraction.powf(exponent))
            }
            Some(RotaryScaling::Llama3 {
                factor,
                low_frequency_factor: low,
                high_frequency_factor: high,
                original_positions,
            }) => {
                // Number of rotations over the positions of pretraining.
                let rotations = original_positions as f64 * frequency / TAU;
                let fraction = ((rotations - low) / (high - low)).clamp(0.0, 1.0);
                (1.0 - fraction) * frequency / factor + fraction * frequency
            }
            Some(RotaryScaling::Yarn {
                factor,
                beta_fast,
                beta_slow,
                original_positions,
                truncate,
                ..
            }) => {
                // Component with a number of rotations over the positions of pretraining.
                let component = |rotations: f64| {
                    let length = original_positions as f64 / (rotations * TAU);
                    dim * length.ln() / (2.0 * rotary.theta.ln())
                };
                let (mut low, mut high) = (component(beta_fast), component(beta_slow));
                if truncate {
                    (low, high) = (low.floor(), high.ceil());
                }
                let (low, high) = (low.max(0.0), high.min(dim - 1.0));
                let width = if low == high { 0.001 } else { high - low };
                let fraction = ((at as f64 - low) / width).clamp(0.0, 1.0);
                fraction * frequency / factor + (1.0 - fraction) * frequency
            }
        }
    });
    all.map(|frequency| frequency as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Formulas 6 and 10 to 13 of the description that GTE's code names
    /// (<https://kexue.fm/archives/9706>), by hand: (θs)^(−2i/d) / s^(2/d), and with an exponent b,
    /// θ^(−2i/d) / exp(a(i + 1)^b) with a = ln s / (d/2)^b.
    #[test]
    fn ntk_scaling_divides_low_frequencies_by_more() {
        for (exponent, expected) in [
            // 1600^0 / 4, 1600^(-1/2) / 4.
            (1.0, [0.25, 0.006_25]),
            // a = ln 16 / 4: 1 / exp(a), 0.1 / exp(4a).
            (2.0, [0.5, 0.006_25]),
        ] {
            let factor = 16.0;
            let found = frequencies(Rotary {
                theta: 100.0,
                dim: 4,
                scaling: Some(RotaryScaling::Ntk { factor, exponent }),
            });
            assert_eq!(found.len(), expected.len());
            for (found, expected) in found.iter().zip(expected) {
                assert!((found - expected).abs() < 1e-8, "{found}, {expected}");
            }
        }
    }

    /// Rotation by complex multiplication.
    #[test]
    fn rotations_equal_complex_products() {
        let rotary = Rotary {
            theta: 100.0,
            dim: 4,
            scaling: None,
        };
        let mut table = RotaryTable::default();
        table.prepare(rotary, 2);
        table.prepare(rotary, 6);
        let row: Vec<f32> = (1..=12).map(|x| x as f32).collect();
        for position in 0..6 {
            let mut found = row.clone();
            table.rotate((&mut found, 12), &[position], 1, (2, 4));
            let mut expected = row.clone();
            for head in [1, 5] {
                for (at, frequency) in [1.0_f32, 0.1].into_iter().enumerate() {
                    let (sin, cos) = (frequency * position as f32).sin_cos();
                    let (x, y) = (row[head + at], row[head + at + 2]);
                    expected[head + at] = x * cos - y * sin;
                    expected[head + at + 2] = x * sin + y * cos;
                }
            }
            for (found, expected) in found.iter().zip(&expected) {
                assert!((found - expected).abs() < 1e-5, "{position}");
            }
        }
    }
}
