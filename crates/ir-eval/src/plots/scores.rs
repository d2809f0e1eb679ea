//! Scores by rank.

use plotters::prelude::{Color, PathElement, Polygon, Rectangle};
use plotters::style::text_anchor::{HPos, VPos};

use super::canvas::{
    Area, BLUE, Chart, Fault, INK, LETTERS, LOOKS, PALE, Room, Scale, UNIT, WIDTH, axes, letters,
    placed, stroke, svg,
};
use super::labels::{MOST, powers, short_number, shorten, ticks, width};
use super::{Plot, csv};
use crate::{RankStatistics, ScoresByRank, log_spaced_cutoffs};

/// How scores fall with the rank, and where the relevant documents are.
///
/// Over several queries: the mean score, a band that holds the middle four fifths of the scores,
/// and below it the share of relevant documents. For one query: its scores, with a dot for each
/// relevant document.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoresByRankPlot(
    /// What is drawn.
    pub ScoresByRank,
);

/// The heights of the two plots, in pixels.
const PLOT: i32 = 210;
const SHARES: i32 = 110;
const LINE: i32 = 18;
const LEFT: i32 = 52;

impl Plot for ScoresByRankPlot {
    fn title(&self) -> String {
        match &self.0.query {
            None => format!("Scores by rank: {}", self.0.system),
            Some(query) => format!("Scores by rank: {}, query {query}", self.0.system),
        }
    }

    fn alt(&self) -> String {
        let ranks = &self.0.ranks;
        let mut alt = match self.0.query {
            None => format!(
                "Line of the mean score at each rank over {} queries, with a band from the tenth \
                 to the ninetieth percentile, and bars of the share of relevant documents.",
                self.0.lists
            ),
            Some(_) => "Line of the score at each rank, relevant documents marked.".to_owned(),
        };
        if let (Some(first), Some(last)) = (ranks.first(), ranks.last()) {
            alt += &format!(
                " Score {} at rank 1, {} at rank {}.",
                short_number(first.mean),
                short_number(last.mean),
                ranks.len()
            );
        }
        if self.0.query.is_some() {
            let found: Vec<String> = self
                .relevant()
                .map(|rank| rank.to_string())
                .take(20)
                .collect();
            let all = self.relevant().count();
            alt += &match all {
                0 => " No relevant document.".to_owned(),
                _ if all > found.len() => {
                    format!(
                        " {all} relevant documents, the first at ranks {}.",
                        found.join(", ")
                    )
                }
                _ => format!(" Relevant at ranks {}.", found.join(", ")),
            };
        }
        alt
    }

    fn to_svg(&self) -> String {
        let shares = if self.0.query.is_none() { SHARES } else { 0 };
        let height = LINE + PLOT + shares + 34;
        svg(height, &self.title(), &self.alt(), |area| {
            self.header(area)?;
            let plots = area.split_vertically(LINE * UNIT).1;
            if self.0.query.is_some() {
                return self.lines(area, &plots, "rank");
            }
            let (upper, lower) = plots.split_vertically(PLOT * UNIT);
            self.lines(area, &upper, "")?;
            self.shares(area, &lower)
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
    /// The ranks of relevant documents.
    fn relevant(&self) -> impl Iterator<Item = usize> {
        let ranks = (1..).zip(&self.0.ranks);
        ranks
            .filter(|(_, at): &(usize, &RankStatistics)| at.relevant > 0)
            .map(|(rank, _)| rank)
    }

    /// The ranks that are drawn: enough for a smooth line, and those that are marked.
    fn drawn(&self) -> Vec<(usize, RankStatistics)> {
        let mut drawn = self.smooth();
        if self.0.query.is_some() {
            drawn.extend(self.relevant());
            drawn.sort_unstable();
            drawn.dedup();
        }
        let points = drawn.into_iter().map(|rank| (rank, self.0.ranks[rank - 1]));
        points.filter(|(_, at)| at.mean.abs() < MOST).collect()
    }

    fn smooth(&self) -> Vec<usize> {
        let depth = u32::try_from(self.0.ranks.len()).unwrap_or(u32::MAX);
        let ranks = log_spaced_cutoffs(depth).into_iter();
        ranks.map(|rank| rank as usize).collect()
    }

    fn x(&self) -> (f64, f64, Vec<f64>, bool) {
        let most = self.0.ranks.len().max(1) as f64;
        if most > 50.0 {
            let (low, high, ticks) = powers([0.0, most.log10()].into_iter());
            return (low, high, ticks, true);
        }
        let ticks = ticks([1.0, most].into_iter(), 8.0).2;
        let whole = |tick: &f64| tick.fract() == 0.0 && (1.0..=most).contains(tick);
        let mut ticks: Vec<f64> = ticks.into_iter().filter(whole).collect();
        if ticks.first() != Some(&1.0) {
            ticks.insert(0, 1.0);
        }
        (0.5, most + 0.5, ticks, false)
    }

    fn chart<'a, 'b>(
        &self,
        area: &'a Area<'b>,
        title: &str,
        y: &Scale<'_>,
    ) -> Result<(Chart<'a, 'b>, bool), Fault> {
        let (low, high, ticks, logarithmic) = self.x();
        let label: &dyn Fn(f64) -> String = match (title.is_empty(), logarithmic) {
            (true, _) => &|_| String::new(),
            (_, true) => &|value| short_number(10_f64.powf(value).round()),
            (_, false) => &short_number,
        };
        let x = Scale {
            low,
            high,
            ticks,
            title,
            label,
        };
        let below = if title.is_empty() { 8 } else { 38 };
        let room = Room {
            left: LEFT,
            below,
            right: 22,
            above: 4,
        };
        Ok((axes(area, &room, &x, y)?, logarithmic))
    }

    /// The scores.
    fn lines(&self, area: &Area<'_>, plot: &Area<'_>, title: &str) -> Result<(), Fault> {
        let drawn = self.drawn();
        let ends = drawn.iter().flat_map(|(_, at)| [at.low, at.mean, at.high]);
        let (low, high, lines) = ticks(ends, 7.0);
        let y = Scale {
            low,
            high,
            ticks: lines,
            title: "score",
            label: &short_number,
        };
        let (chart, logarithmic) = self.chart(plot, title, &y)?;
        let at = |rank: usize, score: f64| {
            let rank = rank as f64;
            chart.backend_coord(&(if logarithmic { rank.log10() } else { rank }, score))
        };
        if self.0.query.is_none() {
            let above = drawn.iter().map(|(rank, here)| at(*rank, here.high));
            let below = drawn.iter().rev().map(|(rank, here)| at(*rank, here.low));
            let band: Vec<(i32, i32)> = above.chain(below).collect();
            area.draw(&Polygon::new(band, PALE))?;
        }
        let mut line: Vec<(i32, i32)> = drawn
            .iter()
            .map(|(rank, here)| at(*rank, here.mean))
            .collect();
        line.dedup();
        area.draw(&PathElement::new(line.clone(), stroke(INK, 15)))?;
        if self.0.query.is_some() {
            let mut last = None;
            for rank in self.relevant() {
                let score = self.0.ranks[rank - 1].mean;
                let here = at(rank, score);
                // Dots less than a pixel apart are one.
                let near =
                    |(x, y): (i32, i32)| (x - here.0).abs() < UNIT && (y - here.1).abs() < UNIT;
                if score.abs() < MOST && !last.is_some_and(near) {
                    LOOKS[0].mark(area, here)?;
                    last = Some(here);
                }
            }
        } else if let [one] = line[..] {
            LOOKS[0].mark(area, one)?;
        }
        Ok(())
    }

    /// The share of relevant documents, in bars that are about equally wide on the axis.
    fn shares(&self, area: &Area<'_>, plot: &Area<'_>) -> Result<(), Fault> {
        let mut bars = Vec::new();
        let mut from = 0;
        for to in self.smooth() {
            let sum = |of: fn(&RankStatistics) -> usize| {
                self.0.ranks[from..to].iter().map(of).sum::<usize>()
            };
            let share = sum(|at| at.relevant) as f64 / sum(|at| at.lists).max(1) as f64;
            bars.push((from, to, share * 100.0));
            from = to;
        }
        let (_, high, lines) = ticks(bars.iter().map(|bar| bar.2).chain([0.0]), 3.0);
        let y = Scale {
            low: 0.0,
            high,
            ticks: lines,
            title: "relevant (%)",
            label: &short_number,
        };
        let (chart, logarithmic) = self.chart(plot, "rank", &y)?;
        let (low, high, ..) = self.x();
        for (from, to, share) in bars {
            // Ranks from + 1 to `to`, half a rank to either side.
            let edge = |rank: usize| {
                let rank = rank as f64 + 0.5;
                (if logarithmic { rank.log10() } else { rank }).clamp(low, high)
            };
            let corners =
                [(edge(from), share), (edge(to), 0.0)].map(|corner| chart.backend_coord(&corner));
            let [(left, top), (right, bottom)] = corners;
            let gap = if right - left > 30 { 5 } else { 0 };
            area.draw(&Rectangle::new(
                [(left + gap, top), (right - gap, bottom)],
                BLUE.filled(),
            ))?;
        }
        Ok(())
    }

    /// What the marks mean.
    fn header(&self, area: &Area<'_>) -> Result<(), Fault> {
        let style = placed(letters(LETTERS), HPos::Left, VPos::Center);
        let rest = match &self.0.query {
            Some(query) => format!(", query {}; ● relevant", shorten(query, 120, LETTERS)),
            None => format!("; mean of {} lists, band: middle 80 %", self.0.lists),
        };
        let room = WIDTH - 20 - width(&rest, LETTERS);
        let text = shorten(&self.0.system, room, LETTERS) + &rest;
        area.draw_text(&text, &style, (10 * UNIT, LINE / 2 * UNIT))
    }
}
