//! Loss and metric over the steps of a training run.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

/// History of a training run: one row per step and one per evaluation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TrainingHistory {
    /// One row per training step, in order.
    pub steps: Vec<TrainingStep>,
    /// One row per evaluation, in order.
    pub evaluations: Vec<EvaluationPoint>,
}

/// Values of a training step.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TrainingStep {
    /// Step number, from 1.
    pub step: u64,
    /// Epoch number, from 1.
    pub epoch: u64,
    /// Learning rate of the step.
    pub learning_rate: f64,
    /// Loss before the update.
    pub loss: f64,
    /// Global gradient norm before clipping.
    pub gradient_norm: f64,
}

/// Metric of an evaluation during training.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EvaluationPoint {
    /// Number of steps before the evaluation.
    pub step: u64,
    /// Metric; higher is better.
    pub value: f64,
}

impl TrainingHistory {
    /// Returns the best evaluation, the first of equal ones.
    pub fn best(&self) -> Option<EvaluationPoint> {
        let evaluations = self.evaluations.iter().copied();
        evaluations.reduce(|best, next| if next.value > best.value { next } else { best })
    }

    /// Formats the history as CSV with the columns
    /// `step,epoch,learning_rate,loss,gradient,measure`. Missing values are empty.
    ///
    /// ```
    /// use ir_dense::train::{EvaluationPoint, TrainingHistory, TrainingStep};
    /// let (learning_rate, gradient_norm) = (1e-5, 2.0);
    /// let step = TrainingStep { step: 1, epoch: 1, learning_rate, loss: 4.5, gradient_norm };
    /// let evaluation = |step, value| EvaluationPoint { step, value };
    /// let history = TrainingHistory {
    ///     steps: vec![step],
    ///     evaluations: vec![evaluation(0, 0.25), evaluation(1, 0.5)],
    /// };
    /// let table = "step,epoch,learning_rate,loss,gradient,measure\n\
    ///              0,,,,,0.25\n\
    ///              1,1,0.00001,4.5,2,0.5\n";
    /// assert_eq!(history.to_csv(), table);
    /// ```
    pub fn to_csv(&self) -> String {
        let mut out = String::from("step,epoch,learning_rate,loss,gradient,measure\n");
        for first in self
            .evaluations
            .iter()
            .take_while(|evaluation| evaluation.step == 0)
        {
            let _ = writeln!(out, "0,,,,,{}", first.value);
        }
        out + &self.csv_rows(0)
    }

    /// Formats the rows of the steps after the first `steps`, as in [`Self::to_csv`]. Appending
    /// them to the CSV of the first `steps` steps gives the whole CSV.
    pub fn csv_rows(&self, steps: usize) -> String {
        let mut out = String::new();
        let new = self.steps.get(steps..).unwrap_or_default();
        let first = new.first().map_or(u64::MAX, |row| row.step);
        let before = self
            .evaluations
            .partition_point(|evaluation| evaluation.step < first);
        let mut evaluations = self.evaluations[before..].iter().peekable();
        for row in new {
            let (step, epoch, rate) = (row.step, row.epoch, row.learning_rate);
            let (loss, gradient) = (row.loss, row.gradient_norm);
            let _ = write!(out, "{step},{epoch},{rate},{loss},{gradient},");
            if let Some(evaluation) = evaluations.next_if(|e| e.step == step) {
                let _ = write!(out, "{}", evaluation.value);
            }
            out.push('\n');
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn appended_rows_equal_the_table() {
        let step = |step| TrainingStep {
            step,
            epoch: 1,
            learning_rate: 0.5,
            loss: 1.0 / step as f64,
            gradient_norm: 2.0,
        };
        let evaluation = |step, value| EvaluationPoint { step, value };
        let whole = TrainingHistory {
            steps: (1..=5).map(step).collect(),
            evaluations: vec![evaluation(0, 0.1), evaluation(2, 0.2), evaluation(5, 0.3)],
        };
        for known in 0..=5 {
            let mut earlier = whole.clone();
            earlier.steps.truncate(known);
            earlier
                .evaluations
                .retain(|point| point.step <= known as u64);
            assert_eq!(earlier.to_csv() + &whole.csv_rows(known), whole.to_csv());
        }
    }
}
