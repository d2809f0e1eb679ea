//! What the pictures share: size, letters, colours, frames, and SVG around what plotters draws.

use std::io;

use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::Shift;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint};
use plotters::element::DashedPathElement;
use plotters::prelude::{
    Cartesian2d, Circle, Color, DrawingArea, DrawingAreaErrorKind, FontTransform, IntoDrawingArea,
    IntoFont, PathElement, Polygon, RGBColor, Ranged, SVGBackend, ShapeStyle, TextStyle,
};
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::labels::printable;

/// plotters counts in whole pixels; ours are tenths of the picture's.
pub(super) const UNIT: i32 = 10;
/// The width of all pictures, in pixels: at the width of a paper's column (240 points) the letters
/// have about 7 points.
pub(super) const WIDTH: i32 = 400;
/// The height of letters, in tenths of a pixel.
pub(super) const LETTERS: i32 = 125;
/// The height of smaller letters.
pub(super) const SMALL: i32 = 100;

pub(super) const INK: RGBColor = RGBColor(0, 0, 0);
pub(super) const PAPER: RGBColor = RGBColor(255, 255, 255);
/// For what is in the background: other systems, reference lines.
pub(super) const FAINT: RGBColor = RGBColor(136, 136, 136);
/// For grid lines and bands.
pub(super) const PALE: RGBColor = RGBColor(221, 221, 221);
pub(super) const BLUE: RGBColor = RGBColor(0, 114, 178);
pub(super) const VERMILION: RGBColor = RGBColor(213, 94, 0);

pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub(super) type Fault = DrawingAreaErrorKind<io::Error>;
pub(super) type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Marked, Marked>>;

/// A range with the values that are marked on it.
#[derive(Clone)]
pub(super) struct Marked {
    low: f64,
    high: f64,
    ticks: Vec<f64>,
}

impl Marked {
    fn new(scale: &Scale<'_>) -> Self {
        Self {
            low: scale.low,
            high: scale.high,
            ticks: scale.ticks.clone(),
        }
    }
}

impl Ranged for Marked {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        // Nothing is drawn outside of the plot.
        let share = ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        let length = f64::from(limit.1 - limit.0);
        limit.0 + (share * length).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.ticks.clone()
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.low..self.high
    }
}

/// A picture as SVG: a title and a description for those who cannot see it, and what `draw` draws.
pub(super) fn svg(
    height: i32,
    title: &str,
    alt: &str,
    draw: impl FnOnce(&Area<'_>) -> Result<(), Fault>,
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
        done.expect("a picture in memory");
    }
    // plotters' own first tag knows neither the scale nor the title.
    let body = drawn.split_once('>').map_or("", |(_, body)| body);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"{WIDTH}\" \
         height=\"{height}\" viewBox=\"0 0 {} {}\">\n<title>{}</title>\n<desc>{}</desc>{body}",
        size.0,
        size.1,
        escaped(title),
        escaped(alt),
    )
}

fn escaped(text: &str) -> String {
    let text = printable(text);
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// Letters of a height in tenths of a pixel.
pub(super) fn letters(height: i32) -> TextStyle<'static> {
    // plotters divides by 1.24 again.
    let size = f64::from(height) * 1.24;
    ("sans-serif", size).into_font().color(&INK)
}

/// The same, placed by another corner than the upper left.
pub(super) fn placed(style: TextStyle<'_>, across: HPos, down: VPos) -> TextStyle<'_> {
    style.pos(Pos::new(across, down))
}

/// The same, read from below.
pub(super) fn upwards(style: TextStyle<'_>) -> TextStyle<'_> {
    style.transform(FontTransform::Rotate270)
}

/// A line of a width in tenths of a pixel.
pub(super) fn stroke(color: RGBColor, tenths: u32) -> ShapeStyle {
    color.stroke_width(tenths)
}

/// A thin line of reference.
pub(super) fn reference(area: &Area<'_>, from: (i32, i32), to: (i32, i32)) -> Result<(), Fault> {
    let style = stroke(FAINT, 10);
    area.draw(&DashedPathElement::new(
        [from, to],
        4 * UNIT,
        3 * UNIT,
        style,
    ))
}

/// One axis: its range, the values that are marked, and what stands beside it.
pub(super) struct Scale<'a> {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) ticks: Vec<f64>,
    pub(super) title: &'a str,
    pub(super) label: &'a dyn Fn(f64) -> String,
}

impl Scale<'_> {
    /// A range without marks.
    pub(super) fn plain(low: f64, high: f64) -> Self {
        Self {
            low,
            high,
            ticks: Vec::new(),
            title: "",
            label: &|_| String::new(),
        }
    }
}

/// The room around the plotting area, in pixels.
pub(super) struct Room {
    pub(super) left: i32,
    pub(super) below: i32,
    pub(super) right: i32,
    pub(super) above: i32,
}

/// Axes with grid lines. Empty titles and labels take no room but that of `room`.
pub(super) fn axes<'a, 'b>(
    area: &'a Area<'b>,
    room: &Room,
    x: &Scale<'_>,
    y: &Scale<'_>,
) -> Result<Chart<'a, 'b>, Fault> {
    let mut chart = ChartBuilder::on(area)
        .margin_top(room.above * UNIT)
        .margin_right(room.right * UNIT)
        .margin_left(2 * UNIT)
        .x_label_area_size(room.below * UNIT)
        .y_label_area_size((room.left - 2) * UNIT)
        .build_cartesian_2d(Marked::new(x), Marked::new(y))?;
    let (across, upwards) = (
        |value: &f64| (x.label)(*value),
        |value: &f64| (y.label)(*value),
    );
    let mut mesh = chart.configure_mesh();
    mesh.max_light_lines(0)
        .x_labels(x.ticks.len().max(1))
        .y_labels(y.ticks.len().max(1))
        .x_label_formatter(&across)
        .y_label_formatter(&upwards)
        .label_style(letters(LETTERS))
        .axis_desc_style(letters(LETTERS))
        .axis_style(stroke(INK, 8))
        .bold_line_style(stroke(PALE, 6))
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

/// How a system's line is told from the others without colour.
#[derive(Clone, Copy)]
pub(super) struct Look {
    color: RGBColor,
    /// Dash and gap in pixels; none is a solid line.
    dash: Option<(i32, i32)>,
    marker: Marker,
}

#[derive(Clone, Copy)]
enum Marker {
    Dot,
    Ring,
    Square,
    Box,
    Triangle,
    Wedge,
    Diamond,
    Cross,
}

/// Colours by Okabe and Ito, "Color universal design", 2008, which the colour-blind can tell
/// apart; each with a dash and a marker of its own.
pub(super) const LOOKS: [Look; 8] = [
    look(INK, None, Marker::Dot),
    look(BLUE, Some((9, 4)), Marker::Box),
    look(VERMILION, Some((3, 3)), Marker::Triangle),
    look(RGBColor(0, 158, 115), None, Marker::Diamond),
    look(RGBColor(204, 121, 167), Some((9, 4)), Marker::Ring),
    look(RGBColor(230, 159, 0), Some((3, 3)), Marker::Square),
    look(RGBColor(86, 180, 233), None, Marker::Wedge),
    look(RGBColor(85, 85, 85), Some((9, 4)), Marker::Cross),
];

const fn look(color: RGBColor, dash: Option<(i32, i32)>, marker: Marker) -> Look {
    Look {
        color,
        dash,
        marker,
    }
}

impl Look {
    /// A line through points.
    pub(super) fn line(self, area: &Area<'_>, points: &[(i32, i32)]) -> Result<(), Fault> {
        let style = stroke(self.color, 15);
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

    /// A marker.
    pub(super) fn mark(self, area: &Area<'_>, (x, y): (i32, i32)) -> Result<(), Fault> {
        let shape = |corners: &[(i32, i32)]| -> Vec<(i32, i32)> {
            corners.iter().map(|(dx, dy)| (x + dx, y + dy)).collect()
        };
        let filled = |corners: &[(i32, i32)]| area.draw(&Polygon::new(shape(corners), self.color));
        let hollow = |corners: &[(i32, i32)]| {
            let mut corners = shape(corners);
            area.draw(&Polygon::new(corners.clone(), PAPER))?;
            corners.extend_from_within(..2.min(corners.len()));
            area.draw(&PathElement::new(corners, stroke(self.color, 12)))
        };
        const SQUARE: [(i32, i32); 4] = [(-28, -28), (28, -28), (28, 28), (-28, 28)];
        match self.marker {
            Marker::Dot => area.draw(&Circle::new((x, y), 32, self.color.filled())),
            Marker::Ring => {
                area.draw(&Circle::new((x, y), 30, PAPER.filled()))?;
                area.draw(&Circle::new((x, y), 30, stroke(self.color, 12)))
            }
            Marker::Square => filled(&SQUARE),
            Marker::Box => hollow(&SQUARE),
            Marker::Triangle => filled(&[(0, -40), (36, 26), (-36, 26)]),
            Marker::Wedge => hollow(&[(0, 40), (36, -26), (-36, -26)]),
            Marker::Diamond => filled(&[(0, -42), (42, 0), (0, 42), (-42, 0)]),
            Marker::Cross => {
                let style = stroke(self.color, 14);
                area.draw(&PathElement::new(shape(&[(-30, -30), (30, 30)]), style))?;
                area.draw(&PathElement::new(shape(&[(-30, 30), (30, -30)]), style))
            }
        }
    }
}
