//! What happened, step by step.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

/// The course of training: a row per step, and one per evaluation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// Every step, in order.
    pub steps: Vec<StepRow>,
    /// Every evaluation, in order.
    pub evaluations: Vec<Evaluated>,
}

/// One step.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StepRow {
    /// Its number, from 1.
    pub step: u64,
    /// Its epoch, from 1.
    pub epoch: u64,
    /// The learning rate.
    pub learning_rate: f64,
    /// The loss before the step.
    pub loss: f64,
    /// The length of the gradient before it was shortened.
    pub gradient: f64,
}

/// One evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Evaluated {
    /// Steps taken before it.
    pub step: u64,
    /// The measure; higher is better.
    pub value: f64,
}

impl History {
    /// The best evaluation, the first of equal ones.
    pub fn best(&self) -> Option<Evaluated> {
        let better = |best: Evaluated, next: &Evaluated| match next.value > best.value {
            true => *next,
            false => best,
        };
        let (first, rest) = self.evaluations.split_first()?;
        Some(rest.iter().fold(*first, better))
    }

    /// A table for plotting programs: `step,epoch,learning_rate,loss,gradient,measure`, where what
    /// there is not is left empty.
    ///
    /// ```
    /// use ir_dense::train::{Evaluated, History, StepRow};
    /// let history = History {
    ///     steps: vec![StepRow { step: 1, epoch: 1, learning_rate: 1e-5, loss: 4.5, gradient: 2.0 }],
    ///     evaluations: vec![Evaluated { step: 0, value: 0.25 }, Evaluated { step: 1, value: 0.5 }],
    /// };
    /// let table = "step,epoch,learning_rate,loss,gradient,measure\n\
    ///              0,,,,,0.25\n\
    ///              1,1,0.00001,4.5,2,0.5\n";
    /// assert_eq!(history.to_csv(), table);
    /// ```
    pub fn to_csv(&self) -> String {
        let mut out = String::from("step,epoch,learning_rate,loss,gradient,measure\n");
        let mut evaluations = self.evaluations.iter().peekable();
        while let Some(first) = evaluations.next_if(|evaluation| evaluation.step == 0) {
            let _ = writeln!(out, "0,,,,,{}", first.value);
        }
        for row in &self.steps {
            let (step, epoch, rate) = (row.step, row.epoch, row.learning_rate);
            let (loss, gradient) = (row.loss, row.gradient);
            let _ = write!(out, "{step},{epoch},{rate},{loss},{gradient},");
            if let Some(evaluation) = evaluations.next_if(|e| e.step == step) {
                let _ = write!(out, "{}", evaluation.value);
            }
            out.push('\n');
        }
        out
    }
}
