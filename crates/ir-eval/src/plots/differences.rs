//! Two systems, query by query.

use plotters::prelude::{PathElement, Polygon, RGBColor};
use plotters::style::text_anchor::{HPos, VPos};

use super::canvas::{
    Area, BLUE, Chart, Fault, INK, LETTERS, Room, SMALL, Scale, UNIT, VERMILION, WIDTH, axes,
    letters, placed, reference, stroke, svg, upwards,
};
use super::labels::{MOST, labels, short_number, shorten, ticks, width};
use super::{Plot, csv};
use crate::{Comparison, Measure, QueryDifference};

/// What one system gains over another on each query: bars from the greatest gain to the greatest
/// loss, and the mean as a dashed line.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryDifferencePlot {
    /// The measure.
    pub measure: String,
    /// The system that is compared.
    pub system: String,
    /// The one it is compared with.
    pub against: String,
    /// The queries, in any order.
    pub queries: Vec<QueryDifference>,
}

/// Up to how many queries are named, and stand in bars of their own.
const NAMED: usize = 30;
/// The height of the plot, in pixels.
const PLOT: i32 = 220;
/// The room below it for names, for the title of the axis, and for each line below that.
const NAMES: i32 = 74;
const AXIS: i32 = 22;
const LINE: i32 = 17;
const LEFT: i32 = 52;
const RIGHT: i32 = 10;
/// The filling of losses.
const LOSS: RGBColor = RGBColor(250, 214, 190);

impl QueryDifferencePlot {
    /// Two systems of a comparison on a measure; `None` where it does not have them.
    #[must_use]
    pub fn new(
        comparison: &Comparison,
        system: &str,
        against: &str,
        measure: Measure,
    ) -> Option<Self> {
        Some(Self {
            measure: measure.to_string(),
            system: system.to_owned(),
            against: against.to_owned(),
            queries: comparison.query_differences(system, against, measure)?,
        })
    }

    /// The queries by falling gain.
    fn sorted(&self) -> Vec<&QueryDifference> {
        let mut sorted: Vec<&QueryDifference> = self.queries.iter().collect();
        let falling = |a: &&QueryDifference, b: &&QueryDifference| {
            let gains = b.difference.total_cmp(&a.difference);
            gains.then_with(|| a.query.cmp(&b.query))
        };
        sorted.sort_by(falling);
        sorted
    }

    fn counts(&self) -> (usize, usize, usize) {
        let count =
            |sign: fn(f64) -> bool| self.queries.iter().filter(|q| sign(q.difference)).count();
        (
            count(|gain| gain > 0.0),
            count(|gain| gain < 0.0),
            count(|gain| gain == 0.0),
        )
    }

    fn mean_text(&self) -> String {
        match self.mean() {
            mean if mean.is_nan() => "no mean difference".to_owned(),
            mean => format!("mean difference {}", signed(mean)),
        }
    }

    fn mean(&self) -> f64 {
        self.queries
            .iter()
            .map(|query| query.difference)
            .sum::<f64>()
            / self.queries.len() as f64
    }
}

impl Plot for QueryDifferencePlot {
    fn title(&self) -> String {
        format!(
            "{} per query: {} against {}",
            self.measure, self.system, self.against
        )
    }

    fn alt(&self) -> String {
        let (better, worse, equal) = self.counts();
        let mut alt = format!(
            "Bars of the difference in {} between {} and {}, one for each query ({}), sorted: \
             better on {better}, worse on {worse}, equal on {equal}; {}.",
            self.measure,
            self.system,
            self.against,
            self.queries.len(),
            self.mean_text(),
        );
        let sorted = self.sorted();
        if let (Some(best), Some(worst)) = (sorted.first(), sorted.last()) {
            alt += &format!(
                " Greatest: {} on {}; least: {} on {}.",
                signed(best.difference),
                best.query,
                signed(worst.difference),
                worst.query
            );
        }
        alt
    }

    fn to_svg(&self) -> String {
        let height = self.below() + AXIS + 3 * LINE;
        svg(height, &self.title(), &self.alt(), |area| self.plot(area))
    }

    fn to_csv(&self) -> String {
        let rows = self.sorted().into_iter().map(|q| {
            let values = [q.against, q.value, q.difference].map(|value| value.to_string());
            std::iter::once(q.query.clone()).chain(values).collect()
        });
        let header = |name: &str| format!("{} of {name}", self.measure);
        csv(
            &[
                "query",
                &header(&self.against),
                &header(&self.system),
                "difference",
            ],
            rows,
        )
    }
}

impl QueryDifferencePlot {
    /// Whether the queries are named.
    fn named(&self) -> bool {
        (1..=NAMED).contains(&self.queries.len())
    }

    /// Where the title of the horizontal axis begins.
    fn below(&self) -> i32 {
        PLOT + if self.named() { NAMES } else { 0 }
    }

    fn plot(&self, area: &Area<'_>) -> Result<(), Fault> {
        let sorted = self.sorted();
        let gains: Vec<f64> = sorted.iter().map(|query| query.difference).collect();
        let (low, high, lines) = ticks(gains.iter().copied().chain([0.0]), 8.0);
        let title = format!("difference in {}", self.measure);
        let title = shorten(&title, PLOT - 20, LETTERS);
        let room = Room {
            left: LEFT,
            below: 8,
            right: RIGHT,
            above: 8,
        };
        let count = gains.len().max(1) as f64;
        let x = Scale::plain(0.0, count);
        let y = Scale {
            low,
            high,
            ticks: lines,
            title: &title,
            label: &short_number,
        };
        let plot = area.split_vertically(PLOT * UNIT).0;
        let chart = axes(&plot, &room, &x, &y)?;
        let at = |x: f64, y: f64| chart.backend_coord(&(x, y));
        if self.named() {
            bars(area, &chart, &gains)?;
            let style = upwards(placed(letters(SMALL), HPos::Right, VPos::Center));
            let names: Vec<&str> = sorted.iter().map(|query| query.query.as_str()).collect();
            for (i, name) in labels(&names, NAMES - 8, SMALL).iter().enumerate() {
                let x = at(i as f64 + 0.5, low).0;
                area.draw_text(name, &style, (x, (PLOT - 4) * UNIT))?;
            }
        } else {
            hills(area, &chart, &gains)?;
        }
        area.draw(&PathElement::new(
            [at(0.0, 0.0), at(count, 0.0)],
            stroke(INK, 8),
        ))?;
        let mean = self.mean();
        if mean.abs() < MOST {
            reference(area, at(0.0, mean), at(count, mean))?;
        }
        self.explain(area)
    }

    /// What stands below the bars.
    fn explain(&self, area: &Area<'_>) -> Result<(), Fault> {
        let axis = match self.queries.len() {
            0 => "no queries".to_owned(),
            1 => "1 query".to_owned(),
            n => format!("{n} queries, by falling difference"),
        };
        let centred = placed(letters(LETTERS), HPos::Center, VPos::Center);
        let middle = (LEFT + (WIDTH - LEFT - RIGHT) / 2) * UNIT;
        let top = self.below();
        area.draw_text(&axis, &centred, (middle, (top + AXIS / 2) * UNIT))?;

        let (better, worse, equal) = self.counts();
        let room = WIDTH - LEFT - 30;
        let line = |count: usize, name: &str| {
            let count = format!("better on {count}: ");
            let name = shorten(name, room - width(&count, LETTERS), LETTERS);
            count + &name
        };
        let lines = [
            line(better, &self.system),
            line(worse, &self.against),
            format!("{}; equal on {equal}", self.mean_text()),
        ];
        let style = placed(letters(LETTERS), HPos::Left, VPos::Center);
        for (i, text) in lines.iter().enumerate() {
            let y = (top + AXIS + i as i32 * LINE + LINE / 2 - 2) * UNIT;
            let (from, to) = ((LEFT * UNIT, y), ((LEFT + 20) * UNIT, y));
            match i {
                2 => reference(area, from, to)?,
                _ => bar(area, (from.0, y - 50), (to.0, y + 50), i == 0)?,
            }
            area.draw_text(text, &style, ((LEFT + 26) * UNIT, y))?;
        }
        Ok(())
    }
}

/// A difference with its sign.
fn signed(value: f64) -> String {
    format!("{value:+.4}").replace('-', "−")
}

/// A bar between two corners: dark for a gain, light with an edge for a loss.
fn bar(area: &Area<'_>, from: (i32, i32), to: (i32, i32), gain: bool) -> Result<(), Fault> {
    shape(area, vec![from, (to.0, from.1), to, (from.0, to.1)], gain)
}

fn shape(area: &Area<'_>, mut corners: Vec<(i32, i32)>, gain: bool) -> Result<(), Fault> {
    let (fill, edge) = if gain {
        (BLUE, BLUE)
    } else {
        (LOSS, VERMILION)
    };
    area.draw(&Polygon::new(corners.clone(), fill))?;
    corners.extend_from_within(..1);
    area.draw(&PathElement::new(corners, stroke(edge, 6)))
}

/// A bar for each query.
fn bars(area: &Area<'_>, chart: &Chart<'_, '_>, gains: &[f64]) -> Result<(), Fault> {
    let at = |x: f64, y: f64| chart.backend_coord(&(x, y));
    let half = (at(1.0, 0.0).0 - at(0.0, 0.0).0) * 4 / 10;
    let half = half.min(15 * UNIT);
    for (i, &gain) in gains.iter().enumerate() {
        if gain == 0.0 || gain.abs() >= MOST || gain.is_nan() {
            continue;
        }
        let (x, end) = at(i as f64 + 0.5, gain);
        bar(
            area,
            (x - half, at(0.0, 0.0).1),
            (x + half, end),
            gain > 0.0,
        )?;
    }
    Ok(())
}

/// The outline of bars that are too many to be seen one by one.
fn hills(area: &Area<'_>, chart: &Chart<'_, '_>, gains: &[f64]) -> Result<(), Fault> {
    let at = |x: f64, y: f64| chart.backend_coord(&(x, y));
    let ground = at(0.0, 0.0).1;
    let (left, right) = (at(0.0, 0.0).0, at(gains.len() as f64, 0.0).0);
    // Half a pixel each.
    let columns = if gains.is_empty() {
        0
    } else {
        (right - left) / 5
    };
    let columns = usize::try_from(columns).unwrap_or(0);
    for gain in [true, false] {
        let mut corners: Vec<(i32, i32)> = Vec::new();
        for column in 0..columns {
            let first = column * gains.len() / columns;
            let last = ((column + 1) * gains.len() / columns)
                .saturating_sub(1)
                .max(first);
            // They are sorted: the best is the first.
            let value = gains[if gain { first } else { last }];
            let there = if gain { value > 0.0 } else { value < 0.0 };
            if !there || value.abs() >= MOST {
                continue;
            }
            let (from, to) = (left + column as i32 * 5, left + column as i32 * 5 + 5);
            let y = at(0.0, value).1;
            match corners.last_mut() {
                None => corners.extend([(from, ground), (from, y), (to, y)]),
                Some(end) if end.1 == y => end.0 = to,
                Some(_) => corners.extend([(from, y), (to, y)]),
            }
        }
        if let Some(&(x, _)) = corners.last() {
            corners.push((x, ground));
            shape(area, corners, gain)?;
        }
    }
    Ok(())
}
