//! SVG plot of a training run.

use std::fmt::Write;

use super::TrainingHistory;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 64.0;
const TOP: f64 = 28.0;
const BOTTOM: f64 = 36.0;
/// Vermillion and blue of the color-blind-safe palette of Okabe and Ito (2008).
const COLORS: [&str; 2] = ["#d55e00", "#0072b2"];

impl TrainingHistory {
    /// Plots the loss over the steps as SVG, and below it the metric under the name `measure`, if
    /// there were evaluations. Deterministic.
    ///
    /// ```
    /// use ir_dense::train::{EvaluationPoint, TrainingHistory, TrainingStep};
    /// let (epoch, learning_rate, gradient_norm) = (1, 1e-5, 2.0);
    /// let step = |step, loss| TrainingStep { step, epoch, learning_rate, loss, gradient_norm };
    /// let evaluation = |step, value| EvaluationPoint { step, value };
    /// let history = TrainingHistory {
    ///     steps: vec![step(1, 4.5), step(2, 3.0)],
    ///     evaluations: vec![evaluation(0, 0.25), evaluation(2, 0.5)],
    /// };
    /// let plot = history.to_svg("nDCG@10");
    /// assert!(plot.starts_with("<svg") && plot.contains(">nDCG@10</text>"));
    /// assert_eq!(plot.matches("<polyline").count(), 2);
    /// ```
    #[must_use]
    pub fn to_svg(&self, measure: &str) -> String {
        let loss: Vec<(f64, f64)> = self
            .steps
            .iter()
            .map(|row| (row.step as f64, row.loss))
            .collect();
        let evaluations = self.evaluations.iter();
        let values: Vec<(f64, f64)> = evaluations.map(|e| (e.step as f64, e.value)).collect();
        let mut panels = vec![("loss", loss)];
        if !values.is_empty() {
            panels.push((measure, values));
        }
        let steps = self.steps.len().max(1) as f64;
        let height = HEIGHT * panels.len() as f64;
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
             viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
        );
        for (number, (name, points)) in panels.iter().enumerate() {
            panel(&mut out, number, name, points, steps);
        }
        out.push_str("</svg>\n");
        out
    }
}

fn panel(out: &mut String, number: usize, name: &str, points: &[(f64, f64)], steps: f64) {
    let top = HEIGHT * number as f64 + TOP;
    let bottom = HEIGHT * (number + 1) as f64 - BOTTOM;
    let right = WIDTH - 16.0;
    let values = || points.iter().map(|point| point.1);
    let (low, high) = (
        values().fold(f64::MAX, f64::min),
        values().fold(f64::MIN, f64::max),
    );
    let is_flat = high <= low;
    let (low, high) = if is_flat {
        (low - 0.5, low + 0.5)
    } else {
        (low, high)
    };
    let x = |step: f64| LEFT + (right - LEFT) * step / steps;
    let y = |value: f64| bottom - (bottom - top) * (value - low) / (high - low);
    let name = name.replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(
        out,
        "<text x=\"{LEFT}\" y=\"{:.1}\" font-weight=\"bold\">{name}</text>",
        top - 10.0
    );
    for tick in [0.0, 0.5, 1.0] {
        let (value, step) = (low + tick * (high - low), (tick * steps).round());
        let (tick_y, tick_x) = (y(value), x(step));
        // The values of a flat curve are one value.
        if !is_flat || tick == 0.5 {
            let _ = writeln!(
                out,
                "<line x1=\"{LEFT}\" x2=\"{right}\" y1=\"{tick_y:.1}\" y2=\"{tick_y:.1}\" stroke=\"#ddd\"/>\n\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{value:.4}</text>",
                LEFT - 6.0,
                tick_y + 4.0
            );
        }
        let _ = writeln!(
            out,
            "<text x=\"{tick_x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{step:.0}</text>",
            bottom + 16.0
        );
    }
    let _ = writeln!(
        out,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">step</text>",
        (LEFT + right) / 2.0 + 60.0,
        bottom + 28.0
    );
    let color = COLORS[number % COLORS.len()];
    let line: Vec<String> = points
        .iter()
        .map(|&(step, value)| format!("{:.1},{:.1}", x(step), y(value)))
        .collect();
    let _ = writeln!(
        out,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"1.5\"/>",
        line.join(" ")
    );
    // With few points, markers show where they are.
    if points.len() <= 50 {
        for &(step, value) in points {
            let (x, y) = (x(step), y(value));
            let _ = writeln!(
                out,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.5\" fill=\"{color}\"/>"
            );
        }
    }
}
