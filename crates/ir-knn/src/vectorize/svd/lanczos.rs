//! Largest eigenvalues and eigenvectors of a symmetric operator.

use nalgebra::{DMatrix, SymmetricEigen};
use rayon::prelude::*;

use ir_core::SplitMix64;

/// Maximum number of restarts.
const MAX_RESTARTS: usize = 1000;

/// Thick-restart Lanczos method with full reorthogonalization.
///
/// The operator must be symmetric and positive semidefinite. Returns its largest eigenvalues in
/// descending order and their concatenated eigenvectors, or `None` when the iteration does not
/// converge or the operator returns `None`. The order of sums does not depend on the number of
/// threads.
///
/// # Source
/// Wu and Simon, "Thick-restart Lanczos method for large symmetric eigenvalue problems", SIMAX
/// 22(2), 2000.
pub(super) fn largest(
    mut operator: impl FnMut(&[f64]) -> Option<Vec<f64>>,
    size: usize,
    wanted: usize,
    tolerance: f64,
    seed: u64,
) -> Option<(Vec<f64>, Vec<f64>)> {
    let mut random = SplitMix64::new(seed, 0);
    let steps = size.min((2 * wanted + 1).max(20));
    let mut basis = KrylovBasis {
        size,
        values: Vec::with_capacity(size * (steps + 1)),
    };
    let mut start = basis.random_orthogonal(&mut random)?;
    normalize(&mut start)?;
    basis.push(&start);
    let mut projected = DMatrix::<f64>::zeros(steps, steps);
    let mut retained = 0;
    let mut previous: Option<Vec<f64>> = None;
    for _ in 0..MAX_RESTARTS {
        let mut residual = 0.0;
        for step in retained..steps {
            let mut next = operator(basis.vector(step))?;
            let before = norm(&next);
            let mut projections = basis.orthogonalize(&mut next);
            // Twice is enough: Parlett, "The Symmetric Eigenvalue Problem", section 6.9.
            for (sum, more) in projections.iter_mut().zip(basis.orthogonalize(&mut next)) {
                *sum += more;
            }
            for (row, &value) in projections.iter().enumerate() {
                projected[(row, step)] = value;
                projected[(step, row)] = value;
            }
            residual = norm(&next);
            if step + 1 == size {
                residual = 0.0;
                break;
            }
            if residual <= f64::EPSILON * before.max(f64::MIN_POSITIVE) * 8.0 {
                // The basis is an invariant subspace; the next vector starts outside of it.
                residual = 0.0;
                next = basis.random_orthogonal(&mut random)?;
            }
            normalize(&mut next)?;
            basis.push(&next);
        }
        let (mut values, vectors) = ritz_pairs(&projected)?;
        let bound = tolerance * values[0].max(0.0);
        let converged = (0..wanted).all(|i| residual * vectors[(steps - 1, i)].abs() <= bound);
        let confirmed = |before: &Vec<f64>| {
            let mut pairs = before.iter().zip(&values);
            converged && pairs.all(|(before, now)| (now - before).abs() <= bound)
        };
        if steps == size || previous.as_ref().is_some_and(confirmed) {
            let vectors = basis.combine(&vectors, wanted);
            values.truncate(wanted);
            return Some((values, vectors));
        }
        if converged {
            // A Krylov space contains one vector of each eigenspace only. Another round from a
            // random vector finds the others of repeated eigenvalues.
            retained = wanted;
            basis.restart(&vectors, retained);
            basis.pop();
            let mut random_start = basis.random_orthogonal(&mut random)?;
            normalize(&mut random_start)?;
            basis.push(&random_start);
            previous = Some(values[..wanted].to_vec());
        } else {
            retained = wanted + (steps - wanted) / 2;
            basis.restart(&vectors, retained);
        }
        projected.fill(0.0);
        for (i, &value) in values[..retained].iter().enumerate() {
            projected[(i, i)] = value;
        }
    }
    None
}

/// Eigenvalues of the projected matrix in descending order, and its eigenvectors as columns.
fn ritz_pairs(projected: &DMatrix<f64>) -> Option<(Vec<f64>, DMatrix<f64>)> {
    let eigen = SymmetricEigen::try_new(projected.clone(), f64::EPSILON, 0)?;
    let mut order: Vec<usize> = (0..eigen.eigenvalues.len()).collect();
    order.sort_by(|&a, &b| eigen.eigenvalues[b].total_cmp(&eigen.eigenvalues[a]));
    let values = order.iter().map(|&i| eigen.eigenvalues[i]).collect();
    Some((values, eigen.eigenvectors.select_columns(&order)))
}

/// Orthonormal basis of a Krylov space, concatenated.
struct KrylovBasis {
    size: usize,
    values: Vec<f64>,
}

/// Components per parallel task.
const BLOCK: usize = 2048;

impl KrylovBasis {
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

    /// Subtracts the projections of `vector` on the basis and returns their lengths.
    fn orthogonalize(&self, vector: &mut [f64]) -> Vec<f64> {
        let projections: Vec<f64> = self
            .values
            .par_chunks_exact(self.size)
            .with_min_len(8)
            .map(|other| dot(other, vector))
            .collect();
        let blocks = vector.par_chunks_mut(BLOCK).enumerate();
        blocks.for_each(|(block, part)| {
            for (number, &length) in projections.iter().enumerate() {
                let other = &self.vector(number)[block * BLOCK..][..part.len()];
                for (value, other) in part.iter_mut().zip(other) {
                    *value -= length * other;
                }
            }
        });
        projections
    }

    /// Returns a random vector orthogonal to the basis, or `None` if the basis spans the space.
    fn random_orthogonal(&self, random: &mut SplitMix64) -> Option<Vec<f64>> {
        for _ in 0..10 {
            let mut vector: Vec<f64> = (0..self.size).map(|_| uniform(random)).collect();
            normalize(&mut vector)?;
            self.orthogonalize(&mut vector);
            if norm(&vector) > 1e-8 {
                normalize(&mut vector)?;
                self.orthogonalize(&mut vector);
                return Some(vector);
            }
        }
        None
    }

    /// Returns `count` linear combinations of the basis, weighted by the columns of
    /// `coefficients`.
    fn combine(&self, coefficients: &DMatrix<f64>, count: usize) -> Vec<f64> {
        let mut combined = vec![0.0; count * self.size];
        let vectors = combined.par_chunks_exact_mut(self.size).enumerate();
        vectors.for_each(|(column, vector)| {
            for (number, &weight) in coefficients.column(column).iter().enumerate() {
                for (value, other) in vector.iter_mut().zip(self.vector(number)) {
                    *value += weight * other;
                }
            }
        });
        combined
    }

    /// Replaces the basis by `retained` linear combinations, followed by its last vector.
    fn restart(&mut self, coefficients: &DMatrix<f64>, retained: usize) {
        let last = self.vector(self.len() - 1).to_vec();
        self.values = self.combine(coefficients, retained);
        self.push(&last);
    }
}

/// Inner product in eight partial sums, added in a fixed order.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (a_chunks, b_chunks) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest = a_chunks.remainder().iter().zip(b_chunks.remainder());
    let rest: f64 = rest.map(|(a, b)| a * b).sum();
    for (a, b) in a_chunks.zip(b_chunks) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a * b;
        }
    }
    sums.iter().sum::<f64>() + rest
}

fn norm(vector: &[f64]) -> f64 {
    dot(vector, vector).sqrt()
}

/// Scales a vector to length 1. Returns `None` for a zero vector.
fn normalize(vector: &mut [f64]) -> Option<()> {
    let length = norm(vector);
    if length <= 0.0 {
        return None;
    }
    vector.iter_mut().for_each(|value| *value /= length);
    Some(())
}

/// Returns a uniform random number from -1 to 1.
fn uniform(random: &mut SplitMix64) -> f64 {
    (random.next_u64() >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}
