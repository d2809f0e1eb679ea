//! SVG scatter plot with a color per class.

use std::cmp::Reverse;
use std::io;

use ir_knn::Classes;
use ndarray::Array2;
use plotters::coord::Shift;
use plotters::prelude::{
    BLACK, Circle, Color, DrawingArea, DrawingAreaErrorKind, HSLColor, IntoDrawingArea, IntoFont,
    Rectangle, SVGBackend, TextStyle, WHITE,
};
use plotters::style::RGBAColor;
use plotters::style::text_anchor::{HPos, Pos, VPos};

type DrawError = DrawingAreaErrorKind<io::Error>;
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// plotters uses integer pixels; one unit is a tenth of a pixel.
const UNIT: i32 = 10;
/// Side length of the map in pixels.
const SIDE: i32 = 640;
/// Margin of the map in pixels.
const MARGIN: i32 = 12;
/// Top of the map and the legend in pixels.
const TOP: i32 = 34;
/// Width of a legend column and height of a legend line in pixels.
const COLUMN: i32 = 196;
const LINE: i32 = 17;
/// Font size in pixels.
const FONT_SIZE: i32 = 11;

/// Plots every row of a map in the color of its class. Class names are placed at the median of
/// their points unless they overlap a larger class's name; the legend lists all classes by size.
pub(crate) fn scatter(
    title: &str,
    map: &Array2<f64>,
    classes: &Classes,
) -> Result<String, DrawError> {
    let plot = ScatterPlot::new(map, classes);
    let lines = ((SIDE - TOP) / LINE) as usize;
    let columns = plot.by_size.len().div_ceil(lines);
    let (width, height) = (SIDE + COLUMN * columns as i32, TOP + SIDE);
    let size = ((width * UNIT) as u32, (height * UNIT) as u32);
    let mut drawn = String::new();
    {
        let area = SVGBackend::with_string(&mut drawn, size).into_drawing_area();
        area.fill(&WHITE)?;
        let head = text_style(FONT_SIZE + 3);
        area.draw_text(title, &head, (MARGIN * UNIT, MARGIN * UNIT))?;
        plot.draw_points(&area)?;
        plot.draw_names(&area)?;
        plot.draw_legend(&area, lines)?;
        area.present()?;
    }
    // Replace the root element of plotters, whose size is in tenths of a pixel.
    let body = drawn.split_once('>').map_or("", |(_, body)| body);
    Ok(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"{width}\" \
         height=\"{height}\" viewBox=\"0 0 {} {}\">\n<title>{title}</title>{body}",
        size.0, size.1
    ))
}

struct ScatterPlot<'a> {
    classes: &'a Classes,
    /// Number of items of each class.
    sizes: Vec<usize>,
    /// Classes by descending size.
    by_size: Vec<usize>,
    colors: Vec<RGBAColor>,
    /// Position of every row in tenths of a pixel.
    positions: Vec<(i32, i32)>,
}

impl<'a> ScatterPlot<'a> {
    fn new(map: &Array2<f64>, classes: &'a Classes) -> Self {
        let sizes = classes.sizes();
        let mut by_size: Vec<usize> = (0..sizes.len()).collect();
        by_size.sort_by_key(|&class| Reverse(sizes[class]));
        let mut colors = vec![BLACK.to_rgba(); by_size.len()];
        for (rank, &class) in by_size.iter().enumerate() {
            colors[class] = color(rank);
        }
        // Both axes have the same scale.
        let range = |axis: usize| {
            let values = || map.column(axis).into_iter().copied();
            let low = values().fold(f64::INFINITY, f64::min);
            (low, values().fold(f64::NEG_INFINITY, f64::max))
        };
        let ((left, right), (low, high)) = (range(0), range(1));
        let extent = (right - left).max(high - low).max(f64::MIN_POSITIVE);
        let scale = f64::from((SIDE - 2 * MARGIN) * UNIT) / extent;
        let center = f64::from(SIDE / 2 * UNIT);
        let to_pixels = |value: f64, (low, high): (f64, f64)| {
            (center + (value - (low + high) / 2.0) * scale).round() as i32
        };
        let positions = map.rows().into_iter().map(|row| {
            let across = to_pixels(row[0], (left, right));
            // The y axis points up.
            (
                across,
                TOP * UNIT + SIDE * UNIT - to_pixels(row[1], (low, high)),
            )
        });
        let positions = positions.collect();
        Self {
            classes,
            sizes,
            by_size,
            colors,
            positions,
        }
    }

    fn draw_points(&self, area: &Area<'_>) -> Result<(), DrawError> {
        let radius = match self.positions.len() {
            0..500 => 36,
            500..5_000 => 20,
            _ => 11,
        };
        for (&position, &class) in self.positions.iter().zip(self.classes.codes()) {
            let style = self.colors[class as usize].filled();
            area.draw(&Circle::new(position, radius, style))?;
        }
        Ok(())
    }

    fn draw_names(&self, area: &Area<'_>) -> Result<(), DrawError> {
        let style = text_style(FONT_SIZE).pos(Pos::new(HPos::Center, VPos::Center));
        let mut occupied: Vec<[i32; 4]> = Vec::new();
        for &class in &self.by_size {
            let name = &self.classes.names()[class];
            let (x, y) = self.median_position(class);
            let (across, down) = area.estimate_text_size(name, &style)?;
            let (across, down) = (across as i32 / 2 + 10, down as i32 / 2 + 10);
            // Keep the name inside the map.
            let x = x.clamp(across, (SIDE * UNIT - across).max(across));
            let label_box = [x - across, y - down, x + across, y + down];
            let is_disjoint = |other: &[i32; 4]| {
                label_box[2] < other[0]
                    || other[2] < label_box[0]
                    || label_box[3] < other[1]
                    || other[3] < label_box[1]
            };
            if !occupied.iter().all(is_disjoint) {
                continue;
            }
            let corners = [(label_box[0], label_box[1]), (label_box[2], label_box[3])];
            area.draw(&Rectangle::new(corners, WHITE.mix(0.75).filled()))?;
            area.draw_text(name, &style, (x, y))?;
            occupied.push(label_box);
        }
        Ok(())
    }

    /// Componentwise median of a class.
    fn median_position(&self, class: usize) -> (i32, i32) {
        let codes = self.classes.codes();
        let members = || {
            self.positions
                .iter()
                .zip(codes)
                .filter(|&(_, &code)| code as usize == class)
        };
        let median = |mut values: Vec<i32>| {
            values.sort_unstable();
            values[values.len() / 2]
        };
        let across = median(members().map(|(position, _)| position.0).collect());
        (
            across,
            median(members().map(|(position, _)| position.1).collect()),
        )
    }

    fn draw_legend(&self, area: &Area<'_>, lines: usize) -> Result<(), DrawError> {
        let style = text_style(FONT_SIZE).pos(Pos::new(HPos::Left, VPos::Center));
        for (at, &class) in self.by_size.iter().enumerate() {
            let left = SIDE + MARGIN + (at / lines) as i32 * COLUMN;
            let y = (TOP + (at % lines) as i32 * LINE + LINE / 2) * UNIT;
            let dot = Circle::new((left * UNIT, y), 45, self.colors[class].filled());
            area.draw(&dot)?;
            let name = format!("{} ({})", self.classes.names()[class], self.sizes[class]);
            area.draw_text(&name, &style, ((left + 10) * UNIT, y))?;
        }
        Ok(())
    }
}

/// Color by rank: golden-ratio hues in three lightness levels.
fn color(rank: usize) -> RGBAColor {
    let hue = (rank as f64 * 0.381_966).fract();
    let lightness = [0.45, 0.62, 0.32][rank / 5 % 3];
    HSLColor(hue, 0.75, lightness).to_rgba()
}

/// Text style of a font size in pixels.
fn text_style(height: i32) -> TextStyle<'static> {
    // plotters divides the size by 1.24.
    let size = f64::from(height * UNIT) * 1.24;
    ("sans-serif", size).into_font().color(&BLACK)
}
