//! Histogram: a bar for each count, with labels that are values or intervals.

use plotters::prelude::{Color, Rectangle};

use super::canvas::{AxisScale, BLUE, PlotMargins, UNIT, axes, svg};
use super::labels::{TickedRange, linear_ticks};
use super::{Plot, csv};

/// Histogram: a bar for each count.
///
/// ```
/// use ir_eval::plots::{HistogramPlot, Plot};
/// let plot = HistogramPlot {
///     title: "Relevant documents per query".into(),
///     value: "relevant documents".into(),
///     count: "queries".into(),
///     bars: vec![("1".into(), 104), ("2".into(), 91)],
/// };
/// assert!(plot.to_svg().starts_with("<svg"));
/// assert_eq!(plot.to_csv(), "relevant documents,queries\n1,104\n2,91\n");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistogramPlot {
    /// Title of the plot.
    pub title: String,
    /// Title of the horizontal axis: what a bar stands for.
    pub value: String,
    /// Title of the vertical axis: what is counted.
    pub count: String,
    /// Label and count of each bar, from left to right.
    pub bars: Vec<(String, u64)>,
}

const HEIGHT: i32 = 220;

/// Maximum number of labels below the bars, and of their characters, gaps included.
const MAX_LABELS: usize = 9;
const MAX_LABEL_CHARS: usize = 48;

impl Plot for HistogramPlot {
    fn title(&self) -> String {
        self.title.clone()
    }

    fn alt(&self) -> String {
        let highest = self.bars.iter().rev().max_by_key(|bar| bar.1);
        let mut alt = format!("Bars of the number of {} by {}.", self.count, self.value);
        if let (Some((label, count)), Some((first, _)), Some((last, _))) =
            (highest, self.bars.first(), self.bars.last())
        {
            alt += &format!(" From {first} to {last}; highest bar {count} at {label}.");
        }
        alt
    }

    fn to_svg(&self) -> String {
        let bars = self.bars.len();
        let counts = self.bars.iter().map(|bar| bar.1 as f64).chain([0.0]);
        let mut y = linear_ticks(counts, 5.0);
        y.ticks.retain(|tick| tick.fract() == 0.0);
        let longest = self.bars.iter().map(|(label, _)| label.chars().count());
        let labels = MAX_LABEL_CHARS / (longest.max().unwrap_or(0) + 2);
        let every = bars.div_ceil(labels.clamp(1, MAX_LABELS)).max(1);
        let x = AxisScale {
            range: TickedRange {
                low: -0.5,
                high: bars.max(1) as f64 - 0.5,
                ticks: (0..bars).step_by(every).map(|bar| bar as f64).collect(),
            },
            title: &self.value,
            label: &|value| match self.bars.get(value.max(0.0).round() as usize) {
                Some((label, _)) => label.clone(),
                None => String::new(),
            },
        };
        let y = AxisScale::new(y, &self.count);
        let margins = PlotMargins {
            left: y.left_margin(52),
            below: 40,
            right: 36,
            above: 10,
        };
        svg(HEIGHT, &self.title(), &self.alt(), |area| {
            let chart = axes(area, &margins, &x, &y)?;
            for (n, (_, count)) in self.bars.iter().enumerate() {
                let top = chart.backend_coord(&(n as f64 - 0.5, *count as f64));
                let bottom = chart.backend_coord(&(n as f64 + 0.5, 0.0));
                let gap = if bottom.0 - top.0 > 3 * UNIT {
                    UNIT / 2
                } else {
                    0
                };
                let corners = [(top.0 + gap, top.1), (bottom.0 - gap, bottom.1)];
                area.draw(&Rectangle::new(corners, BLUE.filled()))?;
            }
            Ok(())
        })
    }

    fn to_csv(&self) -> String {
        let rows = self.bars.iter();
        let rows = rows.map(|(label, count)| vec![label.clone(), count.to_string()]);
        csv(&[&self.value, &self.count], rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(bars: &[(&str, u64)]) -> HistogramPlot {
        HistogramPlot {
            title: "Lengths".into(),
            value: "tokens".into(),
            count: "documents".into(),
            bars: bars
                .iter()
                .map(|(label, n)| ((*label).into(), *n))
                .collect(),
        }
    }

    #[test]
    fn one_bar_per_count() {
        let svg = plot(&[("0", 2), ("1", 0), ("2-3", 7)]).to_svg();
        // The background is a rectangle, too.
        assert_eq!(svg.matches("<rect ").count(), 4);
        assert!(svg.contains("highest bar 7 at 2-3") && svg.contains("documents"));
        assert!(svg.contains("2-3\n") || svg.contains(">2-3<"), "{svg}");
    }

    #[test]
    fn without_bars() {
        let empty = plot(&[]);
        assert!(empty.to_svg().contains("</svg>"));
        assert_eq!(empty.to_csv(), "tokens,documents\n");
    }
}
