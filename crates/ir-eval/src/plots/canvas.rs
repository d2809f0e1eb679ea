//! Shared parts of the plots: size, fonts, colors, axes, series styles, SVG document.

use std::io;

use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::Shift;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint};
use plotters::element::DashedPathElement;
use plotters::prelude::{
    Cartesian2d, Circle, Color, DrawingArea, DrawingAreaErrorKind, IntoDrawingArea, IntoFont,
    PathElement, Polygon, RGBColor, Ranged, SVGBackend, TextStyle,
};
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::labels::{TickedRange, format_number, printable, text_width};

/// plotters has integer coordinates; one pixel of a plot is ten of its units.
pub(super) const UNIT: i32 = 10;
/// Width of all plots in pixels. In a paper column of 240 points, text has about 7 points.
pub(super) const WIDTH: i32 = 400;
/// Font height in tenths of a pixel.
pub(super) const TEXT_HEIGHT: i32 = 125;
/// Small font height in tenths of a pixel.
pub(super) const SMALL_TEXT_HEIGHT: i32 = 100;

pub(super) const INK: RGBColor = RGBColor(0, 0, 0);
pub(super) const PAPER: RGBColor = RGBColor(255, 255, 255);
/// Color of background systems and reference lines.
pub(super) const FAINT: RGBColor = RGBColor(136, 136, 136);
/// Color of grid lines and bands.
pub(super) const PALE: RGBColor = RGBColor(221, 221, 221);
pub(super) const BLUE: RGBColor = RGBColor(0, 114, 178);
pub(super) const VERMILION: RGBColor = RGBColor(213, 94, 0);

pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub(super) type DrawError = DrawingAreaErrorKind<io::Error>;
pub(super) type Chart<'a, 'b> =
    ChartContext<'a, SVGBackend<'b>, Cartesian2d<TickedRange, TickedRange>>;

impl Ranged for TickedRange {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        // Values are clamped to the plotting area.
        let fraction = ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        let length = f64::from(limit.1 - limit.0);
        limit.0 + (fraction * length).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.ticks.clone()
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.low..self.high
    }
}

/// Renders an SVG document with a title, a description and the drawing of `draw`.
pub(super) fn svg(
    height: i32,
    title: &str,
    alt: &str,
    draw: impl FnOnce(&Area<'_>) -> Result<(), DrawError>,
) -> String {
    let size = ((WIDTH * UNIT) as u32, (height.max(1) * UNIT) as u32);
    let mut drawn = String::new();
    {
        let area = SVGBackend::with_string(&mut drawn, size).into_drawing_area();
        let done = area
            .fill(&PAPER)
            .and_then(|()| draw(&area))
            .and_then(|()| area.present());
        #[allow(clippy::expect_used, reason = "a string can always be written")]
        done.expect("drawing into memory succeeds");
    }
    // The root element of plotters has neither a scale nor a title.
    let body = drawn.split_once('>').map_or("", |(_, body)| body);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"{WIDTH}\" \
         height=\"{height}\" viewBox=\"0 0 {} {}\">\n<title>{}</title>\n<desc>{}</desc>{body}",
        size.0,
        size.1,
        escape(title),
        escape(alt),
    )
}

/// Text of XML; control characters are visible.
pub(super) fn escape(text: &str) -> String {
    let text = printable(text);
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// Text style with a font height in tenths of a pixel.
fn text_style(height: i32) -> TextStyle<'static> {
    // plotters divides font sizes by 1.24.
    let size = f64::from(height) * 1.24;
    ("sans-serif", size).into_font().color(&INK)
}

/// Text style of a vertically centered label.
pub(super) fn label_style(height: i32, across: HPos) -> TextStyle<'static> {
    text_style(height).pos(Pos::new(across, VPos::Center))
}

pub(super) fn reference_line(
    area: &Area<'_>,
    from: (i32, i32),
    to: (i32, i32),
) -> Result<(), DrawError> {
    let style = FAINT.stroke_width(10);
    area.draw(&DashedPathElement::new(
        [from, to],
        4 * UNIT,
        3 * UNIT,
        style,
    ))
}

/// Axis: range with ticks, title and tick labels.
pub(super) struct AxisScale<'a> {
    pub(super) range: TickedRange,
    pub(super) title: &'a str,
    pub(super) label: &'a dyn Fn(f64) -> String,
}

impl<'a> AxisScale<'a> {
    /// Axis with numbers as tick labels.
    pub(super) fn new(range: TickedRange, title: &'a str) -> Self {
        Self {
            range,
            title,
            label: &format_number,
        }
    }

    /// Left margin of a vertical axis, in pixels: at least `least`, and enough for the title beside
    /// the widest tick label.
    pub(super) fn left_margin(&self, least: i32) -> i32 {
        let ticks = self.range.ticks.iter();
        let widths = ticks.map(|tick| text_width(&(self.label)(*tick), TEXT_HEIGHT));
        let title = if self.title.is_empty() { 0 } else { 19 };
        least.max(title + widths.max().unwrap_or(0) + 7)
    }

    /// Axis without ticks and labels.
    pub(super) fn without_ticks(low: f64, high: f64) -> Self {
        let ticks = Vec::new();
        Self::new(TickedRange { low, high, ticks }, "")
    }
}

/// Margins around the plotting area, in pixels.
pub(super) struct PlotMargins {
    pub(super) left: i32,
    pub(super) below: i32,
    pub(super) right: i32,
    pub(super) above: i32,
}

/// Draws axes and grid lines. Titles and tick labels must fit into the margins.
pub(super) fn axes<'a, 'b>(
    area: &'a Area<'b>,
    margins: &PlotMargins,
    x: &AxisScale<'_>,
    y: &AxisScale<'_>,
) -> Result<Chart<'a, 'b>, DrawError> {
    let mut chart = ChartBuilder::on(area)
        .margin_top(margins.above * UNIT)
        .margin_right(margins.right * UNIT)
        .margin_left(2 * UNIT)
        .x_label_area_size(margins.below * UNIT)
        .y_label_area_size((margins.left - 2) * UNIT)
        .build_cartesian_2d(x.range.clone(), y.range.clone())?;
    let (x_label, y_label) = (
        |value: &f64| (x.label)(*value),
        |value: &f64| (y.label)(*value),
    );
    let mut mesh = chart.configure_mesh();
    mesh.max_light_lines(0)
        .x_labels(x.range.ticks.len().max(1))
        .y_labels(y.range.ticks.len().max(1))
        .x_label_formatter(&x_label)
        .y_label_formatter(&y_label)
        .label_style(text_style(TEXT_HEIGHT))
        .axis_desc_style(text_style(TEXT_HEIGHT))
        .axis_style(INK.stroke_width(8))
        .bold_line_style(PALE.stroke_width(6))
        .set_all_tick_mark_size(3 * UNIT);
    if !x.title.is_empty() {
        mesh.x_desc(x.title);
    }
    if !y.title.is_empty() {
        mesh.y_desc(y.title);
    }
    mesh.draw()?;
    drop(mesh);
    Ok(chart)
}

/// Style of a system's curve: color, dash and marker.
#[derive(Clone, Copy)]
pub(super) struct SeriesStyle {
    color: RGBColor,
    /// Dash and gap lengths in pixels; `None` is a solid line.
    dash: Option<(i32, i32)>,
    marker: MarkerShape,
}

#[derive(Clone, Copy)]
enum MarkerShape {
    Dot,
    Ring,
    Square,
    Box,
    Triangle,
    Wedge,
    Diamond,
    Cross,
}

/// Colorblind-safe colors of Okabe and Ito, "Color universal design", 2008, each with its own dash
/// and marker.
pub(super) const SERIES_STYLES: [SeriesStyle; 8] = [
    series_style(INK, None, MarkerShape::Dot),
    series_style(BLUE, Some((9, 4)), MarkerShape::Box),
    series_style(VERMILION, Some((3, 3)), MarkerShape::Triangle),
    series_style(RGBColor(0, 158, 115), None, MarkerShape::Diamond),
    series_style(RGBColor(204, 121, 167), Some((9, 4)), MarkerShape::Ring),
    series_style(RGBColor(230, 159, 0), Some((3, 3)), MarkerShape::Square),
    series_style(RGBColor(86, 180, 233), None, MarkerShape::Wedge),
    series_style(RGBColor(85, 85, 85), Some((9, 4)), MarkerShape::Cross),
];

const fn series_style(
    color: RGBColor,
    dash: Option<(i32, i32)>,
    marker: MarkerShape,
) -> SeriesStyle {
    SeriesStyle {
        color,
        dash,
        marker,
    }
}

impl SeriesStyle {
    pub(super) fn line(self, area: &Area<'_>, points: &[(i32, i32)]) -> Result<(), DrawError> {
        let style = self.color.stroke_width(15);
        match self.dash {
            None => area.draw(&PathElement::new(points, style)),
            Some((dash, gap)) => area.draw(&DashedPathElement::new(
                points.iter().copied(),
                dash * UNIT,
                gap * UNIT,
                style,
            )),
        }
    }

    pub(super) fn mark(self, area: &Area<'_>, (x, y): (i32, i32)) -> Result<(), DrawError> {
        let shape = |corners: &[(i32, i32)]| -> Vec<(i32, i32)> {
            corners.iter().map(|(dx, dy)| (x + dx, y + dy)).collect()
        };
        let filled = |corners: &[(i32, i32)]| area.draw(&Polygon::new(shape(corners), self.color));
        let hollow = |corners: &[(i32, i32)]| {
            let mut corners = shape(corners);
            area.draw(&Polygon::new(corners.clone(), PAPER))?;
            corners.extend_from_within(..2.min(corners.len()));
            area.draw(&PathElement::new(corners, self.color.stroke_width(12)))
        };
        const SQUARE: [(i32, i32); 4] = [(-28, -28), (28, -28), (28, 28), (-28, 28)];
        match self.marker {
            MarkerShape::Dot => area.draw(&Circle::new((x, y), 32, self.color.filled())),
            MarkerShape::Ring => {
                area.draw(&Circle::new((x, y), 30, PAPER.filled()))?;
                area.draw(&Circle::new((x, y), 30, self.color.stroke_width(12)))
            }
            MarkerShape::Square => filled(&SQUARE),
            MarkerShape::Box => hollow(&SQUARE),
            MarkerShape::Triangle => filled(&[(0, -40), (36, 26), (-36, 26)]),
            MarkerShape::Wedge => hollow(&[(0, 40), (36, -26), (-36, -26)]),
            MarkerShape::Diamond => filled(&[(0, -42), (42, 0), (0, 42), (-42, 0)]),
            MarkerShape::Cross => {
                let style = self.color.stroke_width(14);
                area.draw(&PathElement::new(shape(&[(-30, -30), (30, 30)]), style))?;
                area.draw(&PathElement::new(shape(&[(-30, 30), (30, -30)]), style))
            }
        }
    }
}
