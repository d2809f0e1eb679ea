//! Lines of several systems: precision over recall, a measure over its cut-off.

use plotters::prelude::PathElement;
use plotters::style::text_anchor::{HPos, VPos};

use super::canvas::{
    Area, FAINT, Fault, LETTERS, LOOKS, Look, Room, Scale, UNIT, WIDTH, axes, letters, placed,
    stroke, svg,
};
use super::labels::{MOST, labels, powers, short_number, ticks, width};
use super::{Plot, csv};
use crate::{Measure, MeasureCurve, Report};

/// Curves of one or more systems in one plot.
///
/// Up to eight are told apart by line, marker and colour. Of more than eight, the first and the
/// seven with the highest mean figure are; the others stand behind them in grey, and the legend
/// counts them.
#[derive(Debug, Clone, PartialEq)]
pub struct CurvePlot {
    /// A short name of the picture.
    pub title: String,
    /// What the curves run over.
    pub x: PlotAxis,
    /// What is drawn upwards.
    pub y: String,
    /// The curves.
    pub curves: Vec<MeasureCurve>,
    /// Where there are more than eight curves, the places of those that are told apart, the first
    /// eight of them; `None` for the first curve and those with the highest means.
    pub front: Option<Vec<usize>>,
}

/// The horizontal axis of [`CurvePlot`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlotAxis {
    /// What it shows.
    pub title: String,
    /// Whether it is logarithmic; values of 0 and less are then left out.
    pub logarithmic: bool,
}

impl CurvePlot {
    /// Interpolated precision over recall, of reports that have
    /// [`eleven_point_precision`](crate::eleven_point_precision).
    #[must_use]
    pub fn precision_recall(reports: &[Report]) -> Self {
        Self {
            title: "Precision and recall".to_owned(),
            x: PlotAxis {
                title: "recall".to_owned(),
                logarithmic: false,
            },
            y: "interpolated precision".to_owned(),
            curves: reports.iter().map(MeasureCurve::precision_recall).collect(),
            front: None,
        }
    }

    /// A measure over its cut-off, of reports that have it
    /// [`at_cutoffs`](crate::at_cutoffs). The axis is logarithmic beyond a cut-off of 20.
    #[must_use]
    pub fn over_cutoffs(reports: &[Report], measure: Measure) -> Self {
        let curves: Vec<MeasureCurve> = reports
            .iter()
            .map(|report| MeasureCurve::over_cutoffs(report, measure))
            .collect();
        let ends = curves.iter().filter_map(|curve| curve.points.last());
        let name = family(measure);
        Self {
            title: format!("{name} by cut-off"),
            x: PlotAxis {
                title: "cut-off k (documents)".to_owned(),
                logarithmic: ends.fold(0.0, |most: f64, end| most.max(end.0)) > 20.0,
            },
            y: format!("{name}@k"),
            curves,
            front: None,
        }
    }
}

/// The measure without its cut-off: `P(rel=2)`.
fn family(measure: Measure) -> String {
    let name = measure.at(1).to_string();
    name.strip_suffix("@1").unwrap_or(&name).to_owned()
}

/// The height of the plot with its axes, in pixels.
const PLOT: i32 = 274;
/// The height of a line of the legend.
const LINE: i32 = 17;

impl Plot for CurvePlot {
    fn title(&self) -> String {
        self.title.clone()
    }

    fn alt(&self) -> String {
        let all = self.curves.len();
        let mut alt = format!(
            "Line plot of {} over {} for {all} {}.",
            self.y,
            self.x.title,
            if all == 1 { "system" } else { "systems" }
        );
        for &(at, _) in &self.chosen() {
            let curve = &self.curves[at];
            let ends = (curve.points.first(), curve.points.last());
            if let (Some(first), Some(last)) = ends {
                alt += &format!(
                    " {}: {} at {}, {} at {}.",
                    curve.system,
                    short_number(first.1),
                    short_number(first.0),
                    short_number(last.1),
                    short_number(last.0)
                );
            }
        }
        alt
    }

    fn to_svg(&self) -> String {
        let chosen = self.chosen();
        let legend = Legend::new(self, &chosen);
        let height = PLOT + legend.height();
        svg(height, &self.title, &self.alt(), |area| {
            self.plot(&area.split_vertically((PLOT - 6) * UNIT).0, &chosen)?;
            legend.draw(area)
        })
    }

    fn to_csv(&self) -> String {
        let rows = self.curves.iter().flat_map(|curve| {
            let row =
                |&(x, y): &(f64, f64)| vec![curve.system.clone(), x.to_string(), y.to_string()];
            curve.points.iter().map(row)
        });
        csv(&["system", &self.x.title, &self.y], rows)
    }
}

impl CurvePlot {
    /// The curves that are told apart, in their order, and how.
    fn chosen(&self) -> Vec<(usize, Look)> {
        let mut chosen: Vec<usize> = (0..self.curves.len()).collect();
        if chosen.len() > LOOKS.len() {
            if let Some(front) = &self.front {
                chosen = front.clone();
                chosen.retain(|&at| at < self.curves.len());
                chosen.truncate(LOOKS.len());
                chosen.sort_unstable();
                chosen.dedup();
                return chosen.into_iter().zip(LOOKS).collect();
            }
            let mean = |at: usize| {
                let points = &self.curves[at].points;
                points.iter().map(|point| point.1).sum::<f64>() / points.len().max(1) as f64
            };
            chosen[1..].sort_by(|&a, &b| mean(b).total_cmp(&mean(a)));
            chosen.truncate(LOOKS.len());
            chosen.sort_unstable();
        }
        chosen.into_iter().zip(LOOKS).collect()
    }

    /// Where a value stands on the axis.
    fn across(&self, x: f64) -> Option<f64> {
        let x = if self.x.logarithmic { x.log10() } else { x };
        (x.abs() < MOST).then_some(x)
    }

    /// The points of a curve that can be drawn.
    fn points<'c>(
        &self,
        curve: &'c MeasureCurve,
    ) -> impl Iterator<Item = (f64, f64)> + use<'_, 'c> {
        let drawn = curve.points.iter();
        drawn.filter_map(|&(x, y)| Some((self.across(x)?, (y.abs() < MOST).then_some(y)?)))
    }

    fn plot(&self, area: &Area<'_>, chosen: &[(usize, Look)]) -> Result<(), Fault> {
        let all = || self.curves.iter().flat_map(|curve| self.points(curve));
        let (mut low, mut high, mut marks) = ticks(all().map(|point| point.0), 10.0);
        let label: &dyn Fn(f64) -> String = if self.x.logarithmic {
            (low, high, marks) = powers(all().map(|point| point.0));
            &|value| short_number(10_f64.powf(value).round())
        } else {
            &short_number
        };
        if all().all(|point| point.0.fract() == 0.0) {
            // There is no cut-off of 1.5.
            marks.retain(|mark| self.x.logarithmic || mark.fract() == 0.0);
        }
        // Most measures start at 0; where all figures are high, the axis need not.
        let least = all().map(|point| point.1).fold(f64::INFINITY, f64::min);
        let most = all().map(|point| point.1).fold(f64::NEG_INFINITY, f64::max);
        let zero = (least > 0.0 && least < 0.5 * most).then_some(0.0);
        let heights = all().map(|point| point.1).chain(zero);
        let (bottom, top, lines) = ticks(heights, 6.0);
        let room = Room {
            left: 52,
            below: 40,
            right: 22,
            above: 8,
        };
        let x = Scale {
            low,
            high,
            ticks: marks.clone(),
            title: &self.x.title,
            label,
        };
        let y = Scale {
            low: bottom,
            high: top,
            ticks: lines,
            title: &self.y,
            label: &short_number,
        };
        let chart = axes(area, &room, &x, &y)?;
        let path = |curve: &MeasureCurve| -> Vec<(i32, i32)> {
            let points = self.points(curve);
            points.map(|point| chart.backend_coord(&point)).collect()
        };
        let known = |at: &usize| chosen.iter().any(|(known, _)| known == at);
        for at in (0..self.curves.len()).filter(|at| !known(at)) {
            area.draw(&PathElement::new(path(&self.curves[at]), stroke(FAINT, 6)))?;
        }
        for &(at, look) in chosen.iter().rev() {
            let curve = &self.curves[at];
            look.line(area, &path(curve))?;
            let few = curve.points.len() <= 12;
            let marked = |x: f64| few || marks.iter().any(|mark| (mark - x).abs() < 1e-9);
            for point in self.points(curve).filter(|point| marked(point.0)) {
                look.mark(area, chart.backend_coord(&point))?;
            }
        }
        Ok(())
    }
}

/// The names of the systems beside samples of their lines.
struct Legend {
    entries: Vec<(Option<Look>, String)>,
    columns: usize,
}

impl Legend {
    const SAMPLE: i32 = 30;
    const LEFT: i32 = 14;

    fn new(curves: &CurvePlot, chosen: &[(usize, Look)]) -> Self {
        let name = |&(at, _): &(usize, Look)| curves.curves[at].system.as_str();
        let names: Vec<&str> = chosen.iter().map(name).collect();
        let widest = names.iter().map(|name| width(name, LETTERS)).max();
        let room = |columns: i32| (WIDTH - Self::LEFT) / columns - Self::SAMPLE - 14;
        // One column when a name needs it.
        let columns = if widest.unwrap_or(0) <= room(2) { 2 } else { 1 };
        let names = labels(&names, room(columns), LETTERS);
        let looks = chosen.iter().map(|&(_, look)| Some(look));
        let mut entries: Vec<_> = looks.zip(names).collect();
        let others = curves.curves.len() - chosen.len();
        if others > 0 {
            entries.push((None, format!("{others} others")));
        }
        Self {
            entries,
            columns: columns as usize,
        }
    }

    fn height(&self) -> i32 {
        self.entries.len().div_ceil(self.columns) as i32 * LINE + 6
    }

    fn draw(&self, area: &Area<'_>) -> Result<(), Fault> {
        let style = placed(letters(LETTERS), HPos::Left, VPos::Center);
        let across = (WIDTH - Self::LEFT) / self.columns as i32;
        for (at, (look, name)) in self.entries.iter().enumerate() {
            let left = Self::LEFT + (at % self.columns) as i32 * across;
            let y = (PLOT + (at / self.columns) as i32 * LINE + LINE / 2) * UNIT;
            let sample = [(left * UNIT, y), ((left + Self::SAMPLE) * UNIT, y)];
            match look {
                None => area.draw(&PathElement::new(sample, stroke(FAINT, 6)))?,
                Some(look) => {
                    look.line(area, &sample)?;
                    look.mark(area, ((left + Self::SAMPLE / 2) * UNIT, y))?;
                }
            }
            area.draw_text(name, &style, ((left + Self::SAMPLE + 6) * UNIT, y))?;
        }
        Ok(())
    }
}
