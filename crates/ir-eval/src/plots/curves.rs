//! Curves of several systems: precision over recall, a measure over its cutoff.

use plotters::prelude::{Color, PathElement};
use plotters::style::text_anchor::HPos;

use super::canvas::{
    Area, AxisScale, DrawError, FAINT, PlotMargins, SERIES_STYLES, SeriesStyle, TEXT_HEIGHT, UNIT,
    WIDTH, axes, label_style, svg,
};
use super::labels::{MAX_DRAWN, elided_labels, format_number, linear_ticks, log_ticks, text_width};
use super::{Plot, csv};
use crate::evaluate::Report;
use crate::measure::Measure;
use crate::runs::MeasureCurve;

/// Plot of the curves of one or more systems.
///
/// Up to eight curves differ in dash, marker and color. Of more than eight, the first and the seven
/// with the highest mean are highlighted; the others are gray, and the legend counts them.
#[derive(Debug, Clone, PartialEq)]
pub struct CurvePlot {
    /// Title of the plot.
    pub title: String,
    /// Horizontal axis: title and scale.
    pub x: PlotAxis,
    /// Title of the vertical axis.
    pub y: String,
    /// Curves in the order of the legend.
    pub curves: Vec<MeasureCurve>,
    /// Indices of the highlighted curves among more than eight; the first eight count. Default: the
    /// first curve and those with the highest mean.
    pub highlighted: Option<Vec<usize>>,
}

/// Horizontal axis of [`CurvePlot`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlotAxis {
    /// Title of the axis.
    pub title: String,
    /// If `true`, the axis is logarithmic, and values ≤ 0 are skipped.
    pub logarithmic: bool,
}

impl CurvePlot {
    /// Precision-recall plot of reports that contain
    /// [`eleven_point_precision`](crate::runs::eleven_point_precision).
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
            highlighted: None,
        }
    }

    /// Plot of a measure over its cutoff, of reports that contain it
    /// [`at_cutoffs`](crate::runs::at_cutoffs). The axis is logarithmic beyond a cutoff of 20.
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
            highlighted: None,
        }
    }
}

/// Name of the measure without its cutoff: `P(rel=2)`.
fn family(measure: Measure) -> String {
    let name = measure.at(1).to_string();
    name.strip_suffix("@1").unwrap_or(&name).to_owned()
}

/// Height of the plot with its axes, in pixels.
const PLOT_HEIGHT: i32 = 274;
/// Height of a line of the legend, in pixels.
const LINE_HEIGHT: i32 = 17;

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
        for &(at, _) in &self.highlighted_curves() {
            let curve = &self.curves[at];
            let ends = (curve.points.first(), curve.points.last());
            if let (Some(first), Some(last)) = ends {
                alt += &format!(
                    " {}: {} at {}, {} at {}.",
                    curve.system,
                    format_number(first.1),
                    format_number(first.0),
                    format_number(last.1),
                    format_number(last.0)
                );
            }
        }
        alt
    }

    fn to_svg(&self) -> String {
        let highlighted = self.highlighted_curves();
        let legend = CurveLegend::new(self, &highlighted);
        let height = PLOT_HEIGHT + legend.height();
        svg(height, &self.title, &self.alt(), |area| {
            self.plot(
                &area.split_vertically((PLOT_HEIGHT - 6) * UNIT).0,
                &highlighted,
            )?;
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
    /// Highlighted curves, in order, with their styles.
    fn highlighted_curves(&self) -> Vec<(usize, SeriesStyle)> {
        let mut highlighted: Vec<usize> = (0..self.curves.len()).collect();
        if highlighted.len() > SERIES_STYLES.len() {
            if let Some(indices) = &self.highlighted {
                highlighted.clone_from(indices);
                highlighted.retain(|&at| at < self.curves.len());
            } else {
                let mean = |at: usize| {
                    let points = &self.curves[at].points;
                    points.iter().map(|point| point.1).sum::<f64>() / points.len().max(1) as f64
                };
                highlighted[1..].sort_by(|&a, &b| mean(b).total_cmp(&mean(a)));
            }
            highlighted.truncate(SERIES_STYLES.len());
            highlighted.sort_unstable();
            highlighted.dedup();
        }
        highlighted.into_iter().zip(SERIES_STYLES).collect()
    }

    /// Position of a value on the axis, if it can be drawn.
    fn axis_position(&self, x: f64) -> Option<f64> {
        let x = if self.x.logarithmic { x.log10() } else { x };
        (x.abs() < MAX_DRAWN).then_some(x)
    }

    /// Points of a curve that can be drawn.
    fn points<'c>(
        &self,
        curve: &'c MeasureCurve,
    ) -> impl Iterator<Item = (f64, f64)> + use<'_, 'c> {
        let drawn = curve.points.iter();
        drawn.filter_map(|&(x, y)| {
            Some((self.axis_position(x)?, (y.abs() < MAX_DRAWN).then_some(y)?))
        })
    }

    fn plot(&self, area: &Area<'_>, highlighted: &[(usize, SeriesStyle)]) -> Result<(), DrawError> {
        let all = || self.curves.iter().flat_map(|curve| self.points(curve));
        let positions = all().map(|point| point.0);
        let mut x = if self.x.logarithmic {
            AxisScale {
                range: log_ticks(positions),
                title: &self.x.title,
                label: &|value| format_number(10_f64.powf(value).round()),
            }
        } else {
            AxisScale::new(linear_ticks(positions, 10.0), &self.x.title)
        };
        if all().all(|point| point.0.fract() == 0.0) {
            // Cutoffs are integers.
            let ticks = &mut x.range.ticks;
            ticks.retain(|tick| self.x.logarithmic || tick.fract() == 0.0);
        }
        // The axis starts at 0 unless all values are high.
        let least = all().map(|point| point.1).fold(f64::INFINITY, f64::min);
        let most = all().map(|point| point.1).fold(f64::NEG_INFINITY, f64::max);
        let zero = (least > 0.0 && least < 0.5 * most).then_some(0.0);
        let heights = all().map(|point| point.1).chain(zero);
        let y = AxisScale::new(linear_ticks(heights, 6.0), &self.y);
        let margins = PlotMargins {
            left: y.left_margin(52),
            below: 40,
            right: 22,
            above: 8,
        };
        let chart = axes(area, &margins, &x, &y)?;
        let path = |curve: &MeasureCurve| -> Vec<(i32, i32)> {
            let points = self.points(curve);
            points.map(|point| chart.backend_coord(&point)).collect()
        };
        let is_highlighted = |at: &usize| highlighted.iter().any(|(other, _)| other == at);
        for at in (0..self.curves.len()).filter(|at| !is_highlighted(at)) {
            let style = FAINT.stroke_width(6);
            area.draw(&PathElement::new(path(&self.curves[at]), style))?;
        }
        for &(at, style) in highlighted.iter().rev() {
            let curve = &self.curves[at];
            style.line(area, &path(curve))?;
            let few = curve.points.len() <= 12;
            let marked = |at: f64| few || x.range.ticks.iter().any(|tick| (tick - at).abs() < 1e-9);
            for point in self.points(curve).filter(|point| marked(point.0)) {
                style.mark(area, chart.backend_coord(&point))?;
            }
        }
        Ok(())
    }
}

/// Legend: names of the systems and samples of their lines.
struct CurveLegend {
    entries: Vec<(Option<SeriesStyle>, String)>,
    columns: usize,
}

impl CurveLegend {
    const SAMPLE: i32 = 30;
    const LEFT: i32 = 14;

    fn new(curves: &CurvePlot, highlighted: &[(usize, SeriesStyle)]) -> Self {
        let name = |&(at, _): &(usize, SeriesStyle)| curves.curves[at].system.as_str();
        let names: Vec<&str> = highlighted.iter().map(name).collect();
        let widest = names.iter().map(|name| text_width(name, TEXT_HEIGHT)).max();
        let max_width = |columns: i32| (WIDTH - Self::LEFT) / columns - Self::SAMPLE - 14;
        // One column if a name is too long for two.
        let columns = if widest.unwrap_or(0) <= max_width(2) {
            2
        } else {
            1
        };
        let names = elided_labels(&names, max_width(columns), TEXT_HEIGHT);
        let styles = highlighted.iter().map(|&(_, style)| Some(style));
        let mut entries: Vec<_> = styles.zip(names).collect();
        let others = curves.curves.len() - highlighted.len();
        if others > 0 {
            entries.push((None, format!("{others} others")));
        }
        Self {
            entries,
            columns: columns as usize,
        }
    }

    fn height(&self) -> i32 {
        self.entries.len().div_ceil(self.columns) as i32 * LINE_HEIGHT + 6
    }

    fn draw(&self, area: &Area<'_>) -> Result<(), DrawError> {
        let text = label_style(TEXT_HEIGHT, HPos::Left);
        let across = (WIDTH - Self::LEFT) / self.columns as i32;
        for (at, (style, name)) in self.entries.iter().enumerate() {
            let left = Self::LEFT + (at % self.columns) as i32 * across;
            let y =
                (PLOT_HEIGHT + (at / self.columns) as i32 * LINE_HEIGHT + LINE_HEIGHT / 2) * UNIT;
            let sample = [(left * UNIT, y), ((left + Self::SAMPLE) * UNIT, y)];
            match style {
                None => area.draw(&PathElement::new(sample, FAINT.stroke_width(6)))?,
                Some(style) => {
                    style.line(area, &sample)?;
                    style.mark(area, ((left + Self::SAMPLE / 2) * UNIT, y))?;
                }
            }
            area.draw_text(name, &text, ((left + Self::SAMPLE + 6) * UNIT, y))?;
        }
        Ok(())
    }
}
