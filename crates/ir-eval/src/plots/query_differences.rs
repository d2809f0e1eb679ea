//! Differences between two systems per query.

use plotters::prelude::{Color, FontTransform, PathElement, Polygon, RGBColor};
use plotters::style::text_anchor::HPos;

use super::canvas::{
    Area, AxisScale, BLUE, Chart, DrawError, INK, PlotMargins, SMALL_TEXT_HEIGHT, TEXT_HEIGHT,
    UNIT, VERMILION, WIDTH, axes, label_style, reference_line, svg,
};
use super::labels::{MAX_DRAWN, elide, elided_labels, linear_ticks, text_width};
use super::{Plot, csv};
use crate::compare::{Comparison, QueryDifference};
use crate::measure::Measure;
use crate::statistics::mean;

/// Bar chart of the differences between two systems per query, in descending order, with the mean
/// as a dashed line.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryDifferencePlot {
    /// Name of the measure.
    pub measure: String,
    /// Name of the system.
    pub system: String,
    /// Name of the system that it is compared with.
    pub against: String,
    /// Number of won queries, as in [`EffectSize`](crate::compare::significance::EffectSize).
    pub wins: usize,
    /// Number of lost queries.
    pub losses: usize,
    /// Number of tied queries.
    pub ties: usize,
    /// Differences, in any order.
    pub queries: Vec<QueryDifference>,
}

/// Maximum number of queries with labels and separate bars.
const MAX_LABELED: usize = 30;
/// Height of the plot, in pixels.
const PLOT_HEIGHT: i32 = 220;
/// Heights below the plot, in pixels: query labels, axis title, and each line of the legend.
const LABEL_HEIGHT: i32 = 74;
const AXIS_HEIGHT: i32 = 22;
const LINE_HEIGHT: i32 = 17;
const LEFT: i32 = 52;
const RIGHT: i32 = 10;
/// Fill color of losses.
const LOSS: RGBColor = RGBColor(250, 214, 190);

impl QueryDifferencePlot {
    /// Plot of two systems of a comparison; `None` if it does not have the systems or the measure.
    #[must_use]
    pub fn new(
        comparison: &Comparison,
        system: &str,
        against: &str,
        measure: Measure,
    ) -> Option<Self> {
        let [wins, ties, losses] = comparison.wins_ties_losses(system, against, measure)?;
        Some(Self {
            measure: measure.to_string(),
            system: system.to_owned(),
            against: against.to_owned(),
            wins,
            losses,
            ties,
            queries: comparison.query_differences(system, against, measure)?,
        })
    }

    /// Queries in descending order of difference.
    fn sorted(&self) -> Vec<&QueryDifference> {
        let mut sorted: Vec<&QueryDifference> = self.queries.iter().collect();
        let descending = |a: &&QueryDifference, b: &&QueryDifference| {
            let gains = b.difference.total_cmp(&a.difference);
            gains.then_with(|| a.query.cmp(&b.query))
        };
        sorted.sort_by(descending);
        sorted
    }

    fn mean_text(&self) -> String {
        match self.mean() {
            mean if mean.is_nan() => "no mean difference".to_owned(),
            mean => format!("mean difference {}", format_signed(mean)),
        }
    }

    fn mean(&self) -> f64 {
        let differences: Vec<f64> = self.queries.iter().map(|query| query.difference).collect();
        mean(&differences)
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
        let (better, worse, equal) = (self.wins, self.losses, self.ties);
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
                format_signed(best.difference),
                best.query,
                format_signed(worst.difference),
                worst.query
            );
        }
        alt
    }

    fn to_svg(&self) -> String {
        let height = self.below() + AXIS_HEIGHT + 3 * LINE_HEIGHT;
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
    fn labeled(&self) -> bool {
        (1..=MAX_LABELED).contains(&self.queries.len())
    }

    /// Vertical position of the axis title, in pixels.
    fn below(&self) -> i32 {
        PLOT_HEIGHT + self.label_height()
    }

    /// Height of the query ids below the bars, in pixels.
    fn label_height(&self) -> i32 {
        if !self.labeled() {
            return 0;
        }
        let ids = self.queries.iter().map(|query| query.query.as_str());
        let longest = ids.map(|id| text_width(id, SMALL_TEXT_HEIGHT)).max();
        (longest.unwrap_or(0) + 8).min(LABEL_HEIGHT)
    }

    fn plot(&self, area: &Area<'_>) -> Result<(), DrawError> {
        let sorted = self.sorted();
        let gains: Vec<f64> = sorted.iter().map(|query| query.difference).collect();
        let title = format!("difference in {}", self.measure);
        let title = elide(&title, PLOT_HEIGHT - 20, TEXT_HEIGHT);
        let count = gains.len().max(1) as f64;
        let x = AxisScale::without_ticks(0.0, count);
        let y = linear_ticks(gains.iter().copied().chain([0.0]), 8.0);
        let y = AxisScale::new(y, &title);
        let margins = PlotMargins {
            left: y.left_margin(LEFT),
            below: 8,
            right: RIGHT,
            above: 8,
        };
        let plot = area.split_vertically(PLOT_HEIGHT * UNIT).0;
        let chart = axes(&plot, &margins, &x, &y)?;
        let at = |x: f64, y: f64| chart.backend_coord(&(x, y));
        if self.labeled() {
            draw_bars(area, &chart, &gains)?;
            let style = label_style(SMALL_TEXT_HEIGHT, HPos::Right);
            let style = style.transform(FontTransform::Rotate270);
            let names: Vec<&str> = sorted.iter().map(|query| query.query.as_str()).collect();
            let names = elided_labels(&names, self.label_height() - 8, SMALL_TEXT_HEIGHT);
            for (i, name) in names.iter().enumerate() {
                let x = at(i as f64 + 0.5, 0.0).0;
                area.draw_text(name, &style, (x, (PLOT_HEIGHT - 4) * UNIT))?;
            }
        } else {
            draw_outline(area, &chart, &gains)?;
        }
        let ground = [at(0.0, 0.0), at(count, 0.0)];
        area.draw(&PathElement::new(ground, INK.stroke_width(8)))?;
        let mean = self.mean();
        if mean.abs() < MAX_DRAWN {
            reference_line(area, at(0.0, mean), at(count, mean))?;
        }
        self.draw_legend(area)
    }

    fn draw_legend(&self, area: &Area<'_>) -> Result<(), DrawError> {
        let axis = match self.queries.len() {
            0 => "no queries".to_owned(),
            1 => "1 query".to_owned(),
            n => format!("{n} queries, by falling difference"),
        };
        let centered = label_style(TEXT_HEIGHT, HPos::Center);
        let middle = (LEFT + (WIDTH - LEFT - RIGHT) / 2) * UNIT;
        let top = self.below();
        area.draw_text(&axis, &centered, (middle, (top + AXIS_HEIGHT / 2) * UNIT))?;

        let (better, worse, equal) = (self.wins, self.losses, self.ties);
        let max_width = WIDTH - LEFT - 30;
        let line = |count: usize, name: &str| {
            let count = format!("better on {count}: ");
            let left = max_width - text_width(&count, TEXT_HEIGHT);
            count + &elide(name, left, TEXT_HEIGHT)
        };
        let lines = [
            line(better, &self.system),
            line(worse, &self.against),
            format!("{}; equal on {equal}", self.mean_text()),
        ];
        let style = label_style(TEXT_HEIGHT, HPos::Left);
        for (i, text) in lines.iter().enumerate() {
            let y = (top + AXIS_HEIGHT + i as i32 * LINE_HEIGHT + LINE_HEIGHT / 2 - 2) * UNIT;
            let (from, to) = ((LEFT * UNIT, y), ((LEFT + 20) * UNIT, y));
            match i {
                2 => reference_line(area, from, to)?,
                _ => bar(area, (from.0, y - 50), (to.0, y + 50), i == 0)?,
            }
            area.draw_text(text, &style, ((LEFT + 26) * UNIT, y))?;
        }
        Ok(())
    }
}

fn format_signed(value: f64) -> String {
    format!("{value:+.4}").replace('-', "−")
}

/// Draws a bar between two corners: dark for a gain, light with an outline for a loss.
fn bar(area: &Area<'_>, from: (i32, i32), to: (i32, i32), gain: bool) -> Result<(), DrawError> {
    shape(area, vec![from, (to.0, from.1), to, (from.0, to.1)], gain)
}

fn shape(area: &Area<'_>, mut corners: Vec<(i32, i32)>, gain: bool) -> Result<(), DrawError> {
    let (fill, edge) = if gain {
        (BLUE, BLUE)
    } else {
        (LOSS, VERMILION)
    };
    area.draw(&Polygon::new(corners.clone(), fill))?;
    corners.extend_from_within(..1);
    area.draw(&PathElement::new(corners, edge.stroke_width(6)))
}

fn draw_bars(area: &Area<'_>, chart: &Chart<'_, '_>, gains: &[f64]) -> Result<(), DrawError> {
    let at = |x: f64, y: f64| chart.backend_coord(&(x, y));
    let ground = at(0.0, 0.0);
    let half = ((at(1.0, 0.0).0 - ground.0) * 4 / 10).min(15 * UNIT);
    for (i, &gain) in gains.iter().enumerate() {
        if gain == 0.0 || gain.abs() >= MAX_DRAWN || gain.is_nan() {
            continue;
        }
        let (x, end) = at(i as f64 + 0.5, gain);
        bar(area, (x - half, ground.1), (x + half, end), gain > 0.0)?;
    }
    Ok(())
}

fn draw_outline(area: &Area<'_>, chart: &Chart<'_, '_>, gains: &[f64]) -> Result<(), DrawError> {
    let at = |x: f64, y: f64| chart.backend_coord(&(x, y));
    if gains.is_empty() {
        return Ok(());
    }
    let (left, ground) = at(0.0, 0.0);
    // Columns are half a pixel wide.
    let columns = (at(gains.len() as f64, 0.0).0 - left) / 5;
    let columns = usize::try_from(columns).unwrap_or(0);
    for gain in [true, false] {
        let mut corners: Vec<(i32, i32)> = Vec::new();
        for column in 0..columns {
            let first = column * gains.len() / columns;
            let last = ((column + 1) * gains.len() / columns)
                .saturating_sub(1)
                .max(first);
            // Differences are sorted in descending order.
            let value = gains[if gain { first } else { last }];
            let there = if gain { value > 0.0 } else { value < 0.0 };
            if !there || value.abs() >= MAX_DRAWN {
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
