//! A measure per system, with intervals.

use plotters::prelude::{Circle, Color, PathElement};
use plotters::style::text_anchor::{HPos, VPos};

use super::canvas::{
    Area, Fault, INK, LETTERS, Room, Scale, UNIT, WIDTH, axes, letters, placed, reference, stroke,
    svg,
};
use super::labels::{MOST, labels, short_number, ticks, width};
use super::{Plot, csv};
use crate::{ComparedSystem, Comparison, Measure};

/// A measure of one or more systems, one below the other, each with its interval.
#[derive(Debug, Clone, PartialEq)]
pub struct SystemScorePlot {
    /// The measure.
    pub measure: String,
    /// What the intervals are: "95 % interval, bootstrap", for example. Empty without any.
    pub interval: String,
    /// Over how many queries.
    pub queries: usize,
    /// A value to compare all with, drawn as a dashed line: that of the baseline.
    pub reference: Option<f64>,
    /// The systems.
    pub systems: Vec<PlottedScore>,
}

/// A system's figure.
#[derive(Debug, Clone, PartialEq)]
pub struct PlottedScore {
    /// The system's name.
    pub system: String,
    /// The figure over all queries.
    pub value: f64,
    /// The lower and the upper end of its interval.
    pub interval: Option<(f64, f64)>,
}

/// The height of a system's line, in pixels.
const LINE: i32 = 18;
/// The room for a name, and for a figure.
const NAMES: i32 = 160;
const FIGURES: i32 = 46;

impl SystemScorePlot {
    /// The systems of a comparison, with its intervals; `None` where it does not have the measure.
    #[must_use]
    pub fn new(comparison: &Comparison, measure: Measure) -> Option<Self> {
        let mean = |system: &ComparedSystem| {
            let score = system
                .scores
                .iter()
                .find(|score| score.measure == measure)?;
            Some(PlottedScore {
                system: system.name.clone(),
                value: score.value,
                interval: Some((score.interval.low, score.interval.high)),
            })
        };
        let confidence = (1.0 - comparison.config().level) * 100.0;
        Some(Self {
            measure: measure.to_string(),
            interval: format!("{} % intervals", short_number(confidence)),
            queries: comparison.queries().len(),
            reference: comparison
                .baseline()
                .and_then(|name| Some(comparison.score(name, measure)?.value)),
            systems: comparison
                .systems()
                .iter()
                .map(mean)
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
        let height = self.systems.len().max(1) as i32 * LINE + 56;
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
    fn plot(&self, area: &Area<'_>, height: i32) -> Result<(), Fault> {
        let names: Vec<&str> = self
            .systems
            .iter()
            .map(|mean| mean.system.as_str())
            .collect();
        let widest = names.iter().map(|name| width(name, LETTERS)).max();
        let left = widest.unwrap_or(0).min(NAMES) + 12;
        let names = labels(&names, NAMES, LETTERS);
        let ends = self.systems.iter().flat_map(|mean| {
            let (low, high) = mean.interval.unwrap_or((mean.value, mean.value));
            [low, mean.value, high]
        });
        let (low, high, marks) = ticks(ends.chain(self.reference), 5.0);
        let axis = self.axis();
        let room = Room {
            left,
            below: 22,
            right: FIGURES + 4,
            above: 6,
        };
        let upper = area.split_vertically((height - 20) * UNIT).0;
        let x = Scale {
            low,
            high,
            ticks: marks,
            title: "",
            label: &short_number,
        };
        let rows = self.systems.len().max(1) as f64;
        let y = Scale::plain(rows, 0.0);
        let chart = axes(&upper, &room, &x, &y)?;
        // The title of the axis is longer than the axis.
        let below = placed(letters(LETTERS), HPos::Center, VPos::Center);
        let title = super::labels::shorten(&axis, WIDTH - 8, LETTERS);
        area.draw_text(&title, &below, (WIDTH / 2 * UNIT, (height - 12) * UNIT))?;

        let drawn = |value: f64| value.abs() < MOST;
        if let Some(value) = self.reference.filter(|value| drawn(*value)) {
            let (x, top) = chart.backend_coord(&(value, 0.0));
            reference(area, (x, top), (x, chart.backend_coord(&(value, rows)).1))?;
        }
        let right = placed(letters(LETTERS), HPos::Right, VPos::Center);
        for (at, (mean, name)) in self.systems.iter().zip(&names).enumerate() {
            let at = at as f64 + 0.5;
            let y = chart.backend_coord(&(low, at)).1;
            area.draw_text(name, &right, ((left - 6) * UNIT, y))?;
            let value = if mean.value.is_nan() {
                "–".to_owned()
            } else {
                format!("{:.4}", mean.value)
            };
            area.draw_text(&value, &right, ((WIDTH - 4) * UNIT, y))?;
            if let Some((from, to)) = mean.interval.filter(|ends| drawn(ends.0) && drawn(ends.1)) {
                let (from, to) = (
                    chart.backend_coord(&(from, at)).0,
                    chart.backend_coord(&(to, at)).0,
                );
                let style = stroke(INK, 12);
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
