//! Scores of systems on one measure, with confidence intervals.

use plotters::prelude::{Circle, Color, PathElement};
use plotters::style::text_anchor::HPos;

use super::canvas::{
    Area, AxisScale, DrawError, INK, PlotMargins, TEXT_HEIGHT, UNIT, WIDTH, axes, label_style,
    reference_line, svg,
};
use super::labels::{MAX_DRAWN, elide, elided_labels, format_number, linear_ticks, text_width};
use super::{Plot, csv};
use crate::compare::{ComparedSystem, Comparison};
use crate::measure::Measure;

/// Dot plot of the scores of systems on one measure, with confidence intervals.
#[derive(Debug, Clone, PartialEq)]
pub struct SystemScorePlot {
    /// Name of the measure.
    pub measure: String,
    /// Description of the intervals, for example "95 % interval, bootstrap". Empty without
    /// intervals.
    pub interval: String,
    /// Number of evaluated queries.
    pub queries: usize,
    /// Score of the baseline, drawn as a dashed reference line.
    pub reference: Option<f64>,
    /// Systems, from top to bottom.
    pub systems: Vec<PlottedScore>,
}

/// Score of one system in a [`SystemScorePlot`].
#[derive(Debug, Clone, PartialEq)]
pub struct PlottedScore {
    /// Name of the system.
    pub system: String,
    /// Score over all queries.
    pub value: f64,
    /// Lower and upper bound of the confidence interval.
    pub interval: Option<(f64, f64)>,
}

/// Height of a system's row, in pixels.
const ROW_HEIGHT: i32 = 18;
/// Maximum width of a name, in pixels.
const MAX_NAME_WIDTH: i32 = 160;
/// Width of the column of scores, in pixels.
const SCORE_WIDTH: i32 = 46;

impl SystemScorePlot {
    /// Plot of the systems of a comparison; `None` if it does not have the measure.
    #[must_use]
    pub fn new(comparison: &Comparison, measure: Measure) -> Option<Self> {
        let plotted = |system: &ComparedSystem| {
            let score = comparison.score(&system.name, measure)?;
            Some(PlottedScore {
                system: system.name.clone(),
                value: score.value,
                interval: Some((score.interval.low, score.interval.high)),
            })
        };
        let confidence = (1.0 - comparison.config.level) * 100.0;
        Some(Self {
            measure: measure.to_string(),
            interval: format!("{} % intervals", format_number(confidence)),
            queries: comparison.queries.len(),
            reference: comparison
                .baseline()
                .and_then(|name| Some(comparison.score(name, measure)?.value)),
            systems: comparison
                .systems
                .iter()
                .map(plotted)
                .collect::<Option<_>>()?,
        })
    }

    fn axis(&self) -> String {
        let queries = if self.queries == 1 {
            "query"
        } else {
            "queries"
        };
        let mut axis = format!("{} over {} {queries}", self.measure, self.queries);
        if !self.interval.is_empty() {
            axis = format!("{axis}, {}", self.interval);
        }
        axis
    }
}

impl Plot for SystemScorePlot {
    fn title(&self) -> String {
        format!("{} per system", self.measure)
    }

    fn alt(&self) -> String {
        let mut alt = format!("Dot plot of {}.", self.axis());
        for PlottedScore {
            system,
            value,
            interval,
        } in self.systems.iter().take(30)
        {
            alt += &format!(" {system}: {value:.4}");
            if let Some((low, high)) = interval {
                alt += &format!(" ({low:.4} to {high:.4})");
            }
            alt.push('.');
        }
        if self.systems.len() > 30 {
            alt += &format!(" And {} others.", self.systems.len() - 30);
        }
        alt
    }

    fn to_svg(&self) -> String {
        let height = self.systems.len().max(1) as i32 * ROW_HEIGHT + 56;
        svg(height, &self.title(), &self.alt(), |area| {
            self.plot(area, height)
        })
    }

    fn to_csv(&self) -> String {
        let rows = self.systems.iter().map(|mean| {
            let end = |end: Option<f64>| end.map_or_else(String::new, |end| end.to_string());
            vec![
                mean.system.clone(),
                mean.value.to_string(),
                end(mean.interval.map(|ends| ends.0)),
                end(mean.interval.map(|ends| ends.1)),
            ]
        });
        csv(&["system", &self.measure, "low", "high"], rows)
    }
}

impl SystemScorePlot {
    fn plot(&self, area: &Area<'_>, height: i32) -> Result<(), DrawError> {
        let names = self.systems.iter().map(|mean| mean.system.as_str());
        let names: Vec<&str> = names.collect();
        let widest = names.iter().map(|name| text_width(name, TEXT_HEIGHT)).max();
        let left = widest.unwrap_or(0).min(MAX_NAME_WIDTH) + 12;
        let names = elided_labels(&names, MAX_NAME_WIDTH, TEXT_HEIGHT);
        let ends = self.systems.iter().flat_map(|mean| {
            let (low, high) = mean.interval.unwrap_or((mean.value, mean.value));
            [low, mean.value, high]
        });
        let x = AxisScale::new(linear_ticks(ends.chain(self.reference), 5.0), "");
        let margins = PlotMargins {
            left,
            below: 22,
            right: SCORE_WIDTH + 4,
            above: 6,
        };
        let upper = area.split_vertically((height - 20) * UNIT).0;
        let rows = self.systems.len().max(1) as f64;
        let y = AxisScale::without_ticks(rows, 0.0);
        let chart = axes(&upper, &margins, &x, &y)?;
        // The title can be wider than the axis.
        let below = label_style(TEXT_HEIGHT, HPos::Center);
        let title = elide(&self.axis(), WIDTH - 8, TEXT_HEIGHT);
        area.draw_text(&title, &below, (WIDTH / 2 * UNIT, (height - 12) * UNIT))?;

        let drawn = |value: f64| value.abs() < MAX_DRAWN;
        if let Some(value) = self.reference.filter(|value| drawn(*value)) {
            let (x, top) = chart.backend_coord(&(value, 0.0));
            reference_line(area, (x, top), (x, chart.backend_coord(&(value, rows)).1))?;
        }
        let right = label_style(TEXT_HEIGHT, HPos::Right);
        for (at, (mean, name)) in self.systems.iter().zip(&names).enumerate() {
            let at = at as f64 + 0.5;
            let y = chart.backend_coord(&(0.0, at)).1;
            area.draw_text(name, &right, ((left - 6) * UNIT, y))?;
            let value = if mean.value.is_nan() {
                "–".to_owned()
            } else {
                format!("{:.4}", mean.value)
            };
            area.draw_text(&value, &right, ((WIDTH - 4) * UNIT, y))?;
            if let Some((from, to)) = mean.interval.filter(|ends| drawn(ends.0) && drawn(ends.1)) {
                let [from, to] = [from, to].map(|end| chart.backend_coord(&(end, at)).0);
                let style = INK.stroke_width(12);
                area.draw(&PathElement::new([(from, y), (to, y)], style))?;
                for end in [from, to] {
                    area.draw(&PathElement::new([(end, y - 30), (end, y + 30)], style))?;
                }
            }
            if drawn(mean.value) {
                let x = chart.backend_coord(&(mean.value, at)).0;
                area.draw(&Circle::new((x, y), 34, INK.filled()))?;
            }
        }
        Ok(())
    }
}
