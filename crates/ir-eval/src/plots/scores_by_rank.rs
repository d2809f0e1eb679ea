//! Retrieval scores and relevant documents by rank.

use plotters::prelude::{Color, PathElement, Polygon, Rectangle};
use plotters::style::text_anchor::HPos;

use super::canvas::{
    Area, AxisScale, BLUE, Chart, DrawError, INK, PALE, PlotMargins, SERIES_STYLES, TEXT_HEIGHT,
    UNIT, WIDTH, axes, label_style, svg,
};
use super::labels::{
    MAX_DRAWN, TickedRange, elide, format_number, linear_ticks, log_ticks, text_width,
};
use super::{Plot, csv};
use crate::runs::{RankStatistics, ScoresByRank, log_spaced_cutoffs};

/// Plot of retrieval scores and relevant documents by rank.
///
/// The mean score, a band from the 10th to the 90th percentile, and bars of the proportion of
/// relevant documents.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoresByRankPlot(
    /// Statistics that are plotted.
    pub ScoresByRank,
);

/// Heights of score plot, relevance plot and header, in pixels.
const SCORE_HEIGHT: i32 = 210;
const RELEVANCE_HEIGHT: i32 = 110;
const HEADER_HEIGHT: i32 = 24;
const LEFT: i32 = 52;
const SCORE_TITLE: &str = "score";
const RELEVANCE_TITLE: &str = "relevant (%)";

impl Plot for ScoresByRankPlot {
    fn title(&self) -> String {
        format!("Scores by rank: {}", self.0.system)
    }

    fn alt(&self) -> String {
        let ranks = &self.0.ranks;
        let mut alt = format!(
            "Line of the mean score at each rank over {} queries, with a band from the tenth to the \
             ninetieth percentile, and bars of the proportion of relevant documents.",
            self.0.lists
        );
        if let (Some(first), Some(last)) = (ranks.first(), ranks.last()) {
            alt += &format!(
                " Score {} at rank 1, {} at rank {}.",
                format_number(first.mean),
                format_number(last.mean),
                ranks.len()
            );
        }
        alt
    }

    fn to_svg(&self) -> String {
        let height = HEADER_HEIGHT + SCORE_HEIGHT + RELEVANCE_HEIGHT + 34;
        svg(height, &self.title(), &self.alt(), |area| {
            self.draw_header(area)?;
            let plots = area.split_vertically(HEADER_HEIGHT * UNIT).1;
            let (upper, lower) = plots.split_vertically(SCORE_HEIGHT * UNIT);
            self.draw_scores(area, &upper)?;
            self.draw_relevance(area, &lower)
        })
    }

    fn to_csv(&self) -> String {
        let rows = (1..).zip(&self.0.ranks).map(|(rank, at): (usize, _)| {
            let counts = [rank, at.lists, at.relevant].map(|count| count.to_string());
            let scores = [at.mean, at.low, at.high].map(|score| score.to_string());
            counts.into_iter().chain(scores).collect()
        });
        let header = [
            "rank",
            "lists",
            "relevant",
            "mean score",
            "10th percentile",
            "90th percentile",
        ];
        csv(&header, rows)
    }
}

impl ScoresByRankPlot {
    /// Plotted ranks, enough for a smooth line.
    fn drawn(&self) -> Vec<(usize, RankStatistics)> {
        let ranks = self.smooth().into_iter();
        let points = ranks.map(|rank| (rank, self.0.ranks[rank - 1]));
        points.filter(|(_, at)| at.mean.abs() < MAX_DRAWN).collect()
    }

    fn smooth(&self) -> Vec<usize> {
        let depth = u32::try_from(self.0.ranks.len()).unwrap_or(u32::MAX);
        let ranks = log_spaced_cutoffs(depth).into_iter();
        ranks.map(|rank| rank as usize).collect()
    }

    /// Range of the horizontal axis, and whether it is logarithmic.
    fn x(&self) -> (TickedRange, bool) {
        let most = self.0.ranks.len().max(1) as f64;
        if most > 50.0 {
            return (log_ticks([0.0, most.log10()].into_iter()), true);
        }
        let mut ticks = linear_ticks([1.0, most].into_iter(), 8.0).ticks;
        ticks.retain(|tick| tick.fract() == 0.0 && (1.0..=most).contains(tick));
        if ticks.first() != Some(&1.0) {
            ticks.insert(0, 1.0);
        }
        let (low, high) = (0.5, most + 0.5);
        (TickedRange { low, high, ticks }, false)
    }

    fn chart<'a, 'b>(
        &self,
        area: &'a Area<'b>,
        title: &str,
        y: &AxisScale<'_>,
    ) -> Result<(Chart<'a, 'b>, bool), DrawError> {
        let (range, logarithmic) = self.x();
        let label: &dyn Fn(f64) -> String = match (title.is_empty(), logarithmic) {
            (true, _) => &|_| String::new(),
            (_, true) => &|value| format_number(10_f64.powf(value).round()),
            (_, false) => &format_number,
        };
        let x = AxisScale {
            range,
            title,
            label,
        };
        // Both plots have the same axis of ranks.
        let axes_of_both = [
            AxisScale::new(self.scores(), SCORE_TITLE),
            AxisScale::new(self.relevance().1, RELEVANCE_TITLE),
        ];
        let left = axes_of_both.iter().map(|axis| axis.left_margin(LEFT)).max();
        let margins = PlotMargins {
            left: left.unwrap_or(LEFT),
            below: if title.is_empty() { 8 } else { 38 },
            right: 22,
            above: 4,
        };
        Ok((axes(area, &margins, &x, y)?, logarithmic))
    }

    /// Draws the scores with their percentile band.
    fn draw_scores(&self, area: &Area<'_>, plot: &Area<'_>) -> Result<(), DrawError> {
        let drawn = self.drawn();
        let y = AxisScale::new(self.scores(), SCORE_TITLE);
        let (chart, logarithmic) = self.chart(plot, "", &y)?;
        let at = |rank: usize, score: f64| {
            let rank = rank as f64;
            chart.backend_coord(&(if logarithmic { rank.log10() } else { rank }, score))
        };
        let above = drawn.iter().map(|(rank, here)| at(*rank, here.high));
        let below = drawn.iter().rev().map(|(rank, here)| at(*rank, here.low));
        let band: Vec<(i32, i32)> = above.chain(below).collect();
        area.draw(&Polygon::new(band, PALE))?;
        let line = drawn.iter().map(|(rank, here)| at(*rank, here.mean));
        let mut line: Vec<(i32, i32)> = line.collect();
        line.dedup();
        area.draw(&PathElement::new(line.clone(), INK.stroke_width(15)))?;
        if let [one] = line[..] {
            SERIES_STYLES[0].mark(area, one)?;
        }
        Ok(())
    }

    /// Range of the scores.
    fn scores(&self) -> TickedRange {
        let drawn = self.drawn();
        let ends = drawn.iter().flat_map(|(_, at)| [at.low, at.mean, at.high]);
        linear_ticks(ends, 7.0)
    }

    /// Bars of the percentage of relevant documents, each after a rank and up to another, and the
    /// range of their axis.
    fn relevance(&self) -> (Vec<(usize, usize, f64)>, TickedRange) {
        let mut bars = Vec::new();
        let mut from = 0;
        for to in self.smooth() {
            let sum = |of: fn(&RankStatistics) -> usize| {
                self.0.ranks[from..to].iter().map(of).sum::<usize>()
            };
            let proportion = sum(|at| at.relevant) as f64 / sum(|at| at.lists).max(1) as f64;
            bars.push((from, to, proportion * 100.0));
            from = to;
        }
        let mut y = linear_ticks(bars.iter().map(|bar| bar.2).chain([0.0]), 3.0);
        y.low = 0.0;
        (bars, y)
    }

    /// Draws bars of the proportion of relevant documents, of about equal width on the axis.
    fn draw_relevance(&self, area: &Area<'_>, plot: &Area<'_>) -> Result<(), DrawError> {
        let (bars, y) = self.relevance();
        let y = AxisScale::new(y, RELEVANCE_TITLE);
        let (chart, logarithmic) = self.chart(plot, "rank", &y)?;
        let TickedRange { low, high, .. } = self.x().0;
        for (from, to, percent) in bars {
            // Ranks from + 1 to `to`, with half a rank on either side.
            let edge = |rank: usize| {
                let rank = rank as f64 + 0.5;
                (if logarithmic { rank.log10() } else { rank }).clamp(low, high)
            };
            let corners =
                [(edge(from), percent), (edge(to), 0.0)].map(|corner| chart.backend_coord(&corner));
            let [(left, top), (right, bottom)] = corners;
            let gap = if right - left > 30 { 5 } else { 0 };
            area.draw(&Rectangle::new(
                [(left + gap, top), (right - gap, bottom)],
                BLUE.filled(),
            ))?;
        }
        Ok(())
    }

    fn draw_header(&self, area: &Area<'_>) -> Result<(), DrawError> {
        let style = label_style(TEXT_HEIGHT, HPos::Left);
        let rest = format!("; mean of {} lists, band: middle 80 %", self.0.lists);
        let max_width = WIDTH - 20 - text_width(&rest, TEXT_HEIGHT);
        let text = elide(&self.0.system, max_width, TEXT_HEIGHT) + &rest;
        area.draw_text(&text, &style, (10 * UNIT, HEADER_HEIGHT / 2 * UNIT))
    }
}
