//! Simulated judges with a known error rate.

use std::collections::BTreeMap;

use ir_core::{Grade, SplitMix64};

/// Judge who reports the true grade, or with a known probability another one.
///
/// Errors of different judges and documents are independent, and the same for the same seed.
#[derive(Debug, Clone, PartialEq)]
pub struct SimulatedJudge {
    name: String,
    error_rate: f64,
    /// Grades of the collection, in ascending order.
    grades: Vec<Grade>,
    seed: u64,
}

impl SimulatedJudge {
    /// Creates a judge. `error_rate` is the probability of an error, from 0 to 1; a wrong grade is
    /// drawn uniformly from the other `grades`.
    #[must_use]
    pub fn new(name: impl Into<String>, error_rate: f64, grades: &[Grade], seed: u64) -> Self {
        Self {
            name: name.into(),
            error_rate,
            grades: grades.to_vec(),
            seed,
        }
    }

    /// Name of the judge.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Grade that the judge reports for a document of grade `truth`.
    #[must_use]
    pub fn judge(&self, query: &str, doc: &str, truth: Grade) -> Grade {
        let stream = format!("{}\n{query}\n{doc}", self.name);
        let mut random = SplitMix64::from_name(self.seed, &stream);
        let uniform = (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        let others: Vec<Grade> = self
            .grades
            .iter()
            .copied()
            .filter(|&g| g != truth)
            .collect();
        if uniform >= self.error_rate || others.is_empty() {
            return truth;
        }
        others[random.below(others.len())]
    }
}

/// Cohen's kappa that two such judges have in expectation, where `counts` are the numbers of
/// documents by true grade. `None` if chance agreement is 1.
///
/// A judge reports grade j for a document of grade i with probability c(i, j): 1 − ε on the
/// diagonal, ε / (g − 1) elsewhere. Observed agreement is Σᵢ πᵢ Σⱼ c(i, j)², chance agreement
/// Σⱼ (Σᵢ πᵢ c(i, j))².
#[must_use]
pub fn expected_kappa(counts: &BTreeMap<Grade, u64>, error_rate: f64) -> Option<f64> {
    let documents: u64 = counts.values().sum();
    let grades = counts.len() as f64;
    if grades < 2.0 || documents == 0 {
        return None;
    }
    let wrong = error_rate / (grades - 1.0);
    let reports = |truth: Grade, grade: Grade| {
        if truth == grade {
            1.0 - error_rate
        } else {
            wrong
        }
    };
    let fraction = |truth: Grade| counts[&truth] as f64 / documents as f64;
    let observed = (1.0 - error_rate).powi(2) + (grades - 1.0) * wrong * wrong;
    let chance: f64 = counts
        .keys()
        .map(|&grade| {
            let reported = counts.keys();
            let reported: f64 = reported
                .map(|&truth| fraction(truth) * reports(truth, grade))
                .sum();
            reported * reported
        })
        .sum();
    (chance < 1.0).then(|| (observed - chance) / (1.0 - chance))
}
