//! The largest eigenvalues of a symmetric operator, and their vectors.

use nalgebra::{DMatrix, SymmetricEigen};
use rayon::prelude::*;

use ir_core::SplitMix;

/// Eigenvalues in descending order, and one vector of length `size` after the other.
pub(super) struct Eigen {
    pub(super) values: Vec<f64>,
    pub(super) vectors: Vec<f64>,
}

/// After so many restarts without the accuracy wanted, something is wrong.
const MOST_RESTARTS: usize = 1000;

/// The Lanczos method with thick restarts and full reorthogonalisation.
///
/// Wu and Simon, "Thick-restart Lanczos method for large symmetric eigenvalue problems", SIMAX
/// 22(2), 2000. The operator must be symmetric and must not have negative eigenvalues.
/// `None` when it does not converge.
///
/// Sums are taken in an order that does not depend on the number of threads.
pub(super) fn largest(
    operator: impl Fn(&[f64]) -> Vec<f64>,
    size: usize,
    wanted: usize,
    tolerance: f64,
    seed: u64,
) -> Option<Eigen> {
    let mut random = SplitMix::new(seed, 0);
    let steps = size.min((2 * wanted + 1).max(20));
    let mut basis = Basis::new(size, steps);
    let mut start = basis.noise(&mut random)?;
    scale(&mut start)?;
    basis.push(&start);
    let mut projected = DMatrix::<f64>::zeros(steps, steps);
    let mut kept = 0;
    let mut previous: Option<Vec<f64>> = None;
    for _ in 0..MOST_RESTARTS {
        let mut rest = 0.0;
        for step in kept..steps {
            let mut next = operator(basis.vector(step));
            let before = norm(&next);
            let mut along = basis.remove(&mut next);
            // Twice is enough: Parlett, "The Symmetric Eigenvalue Problem", section 6.9.
            for (sum, more) in along.iter_mut().zip(basis.remove(&mut next)) {
                *sum += more;
            }
            for (row, &value) in along.iter().enumerate() {
                projected[(row, step)] = value;
                projected[(step, row)] = value;
            }
            rest = norm(&next);
            if step + 1 == size {
                rest = 0.0;
                break;
            }
            if rest <= f64::EPSILON * before.max(f64::MIN_POSITIVE) * 8.0 {
                // The vectors so far span all that the operator reaches from them: go on elsewhere.
                rest = 0.0;
                next = basis.noise(&mut random)?;
            }
            scale(&mut next)?;
            basis.push(&next);
        }
        let Ritz {
            mut values,
            vectors,
        } = Ritz::of(&projected)?;
        let goal = tolerance * values[0].max(0.0);
        let converged = (0..wanted).all(|i| rest * vectors[(steps - 1, i)].abs() <= goal);
        let confirmed = |before: &Vec<f64>| {
            let pairs = before.iter().zip(&values);
            converged
                && pairs
                    .into_iter()
                    .all(|(before, now)| (now - before).abs() <= goal)
        };
        if steps == size || previous.as_ref().is_some_and(confirmed) {
            let vectors = basis.combine(&vectors, wanted);
            values.truncate(wanted);
            return Some(Eigen { values, vectors });
        }
        if converged {
            // One vector never meets the second direction of an eigenvalue that has several. A
            // round from somewhere else shows whether there are more.
            kept = wanted;
            basis.restart(&vectors, kept);
            basis.pop();
            let mut elsewhere = basis.noise(&mut random)?;
            scale(&mut elsewhere)?;
            basis.push(&elsewhere);
            previous = Some(values[..wanted].to_vec());
        } else {
            kept = wanted + (steps - wanted) / 2;
            basis.restart(&vectors, kept);
        }
        projected.fill(0.0);
        for (i, &value) in values[..kept].iter().enumerate() {
            projected[(i, i)] = value;
        }
    }
    None
}

/// Eigenvalues of the small projected matrix, descending, with their vectors as columns.
struct Ritz {
    values: Vec<f64>,
    vectors: DMatrix<f64>,
}

impl Ritz {
    fn of(projected: &DMatrix<f64>) -> Option<Self> {
        let eigen = SymmetricEigen::try_new(projected.clone(), f64::EPSILON, 0)?;
        let mut order: Vec<usize> = (0..eigen.eigenvalues.len()).collect();
        order.sort_by(|&a, &b| eigen.eigenvalues[b].total_cmp(&eigen.eigenvalues[a]));
        Some(Self {
            values: order.iter().map(|&i| eigen.eigenvalues[i]).collect(),
            vectors: eigen.eigenvectors.select_columns(&order),
        })
    }
}

/// Orthonormal vectors, one after the other.
struct Basis {
    size: usize,
    values: Vec<f64>,
}

/// How many elements one thread takes at a time.
const BLOCK: usize = 2048;

impl Basis {
    fn new(size: usize, steps: usize) -> Self {
        Self {
            size,
            values: Vec::with_capacity(size * (steps + 1)),
        }
    }

    fn len(&self) -> usize {
        self.values.len() / self.size
    }

    fn vector(&self, number: usize) -> &[f64] {
        &self.values[number * self.size..][..self.size]
    }

    fn push(&mut self, vector: &[f64]) {
        self.values.extend_from_slice(vector);
    }

    fn pop(&mut self) {
        self.values.truncate((self.len() - 1) * self.size);
    }

    /// Takes the parts along the basis out of `vector`, and says how long they were.
    fn remove(&self, vector: &mut [f64]) -> Vec<f64> {
        let along: Vec<f64> = self
            .values
            .par_chunks_exact(self.size)
            .with_min_len(8)
            .map(|other| dot(other, vector))
            .collect();
        let blocks = vector.par_chunks_mut(BLOCK).enumerate();
        blocks.for_each(|(block, part)| {
            for (number, &length) in along.iter().enumerate() {
                let other = &self.vector(number)[block * BLOCK..][..part.len()];
                for (value, other) in part.iter_mut().zip(other) {
                    *value -= length * other;
                }
            }
        });
        along
    }

    /// A random vector at right angles to the basis. `None` where there is none.
    fn noise(&self, random: &mut SplitMix) -> Option<Vec<f64>> {
        for _ in 0..10 {
            let mut vector: Vec<f64> = (0..self.size).map(|_| symmetric(random)).collect();
            scale(&mut vector)?;
            self.remove(&mut vector);
            if norm(&vector) > 1e-8 {
                scale(&mut vector)?;
                self.remove(&mut vector);
                return Some(vector);
            }
        }
        None
    }

    /// The first `count` combinations of the basis, each given by a column of `by`.
    fn combine(&self, by: &DMatrix<f64>, count: usize) -> Vec<f64> {
        let mut combined = vec![0.0; count * self.size];
        let vectors = combined.par_chunks_exact_mut(self.size).enumerate();
        vectors.for_each(|(column, vector)| {
            for (number, &weight) in by.column(column).iter().enumerate() {
                for (value, other) in vector.iter_mut().zip(self.vector(number)) {
                    *value += weight * other;
                }
            }
        });
        combined
    }

    /// Keeps the first `kept` combinations and the last vector.
    fn restart(&mut self, by: &DMatrix<f64>, kept: usize) {
        let last = self.vector(self.len() - 1).to_vec();
        self.values = self.combine(by, kept);
        self.push(&last);
    }
}

/// In eight sums at once, whose order is fixed.
pub(super) fn dot(one: &[f64], other: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (ones, others) = (one.chunks_exact(8), other.chunks_exact(8));
    let rest = ones.remainder().iter().zip(others.remainder());
    let rest: f64 = rest.map(|(a, b)| a * b).sum();
    for (one, other) in ones.zip(others) {
        for (sum, (a, b)) in sums.iter_mut().zip(one.iter().zip(other)) {
            *sum += a * b;
        }
    }
    sums.iter().sum::<f64>() + rest
}

fn norm(vector: &[f64]) -> f64 {
    dot(vector, vector).sqrt()
}

/// To length 1; `None` for a vector of zeros.
fn scale(vector: &mut [f64]) -> Option<()> {
    let length = norm(vector);
    if length <= 0.0 {
        return None;
    }
    vector.iter_mut().for_each(|value| *value /= length);
    Some(())
}

/// Evenly from -1 to 1.
fn symmetric(random: &mut SplitMix) -> f64 {
    (random.bits() >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}
