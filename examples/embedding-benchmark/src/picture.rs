//! A map with a colour for every class, as SVG.

use std::cmp::Reverse;
use std::io;

use ir_knn::{DenseRows, Labels};
use plotters::coord::Shift;
use plotters::prelude::{
    BLACK, Circle, Color, DrawingArea, DrawingAreaErrorKind, HSLColor, IntoDrawingArea, IntoFont,
    Rectangle, SVGBackend, TextStyle, WHITE,
};
use plotters::style::RGBAColor;
use plotters::style::text_anchor::{HPos, Pos, VPos};

type Fault = DrawingAreaErrorKind<io::Error>;
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// plotters counts in whole pixels; ours are tenths of the picture's.
const UNIT: i32 = 10;
/// The map is a square, in pixels; the legend stands beside it.
const SIDE: i32 = 640;
/// The room around the map.
const MARGIN: i32 = 12;
/// Where the map and the legend begin, below the title.
const TOP: i32 = 34;
/// A column of the legend, and a line.
const COLUMN: i32 = 196;
const LINE: i32 = 17;
/// The height of letters.
const LETTERS: i32 = 11;

/// Every row of a map as a dot in the colour of its class. The name of a class stands in the middle
/// of its dots where no larger class has its name; the legend has all, the largest first.
pub(crate) fn scatter(title: &str, map: &DenseRows, labels: &Labels) -> Result<String, Fault> {
    let picture = Picture::new(map, labels);
    let lines = ((SIDE - TOP) / LINE) as usize;
    let columns = picture.classes.len().div_ceil(lines);
    let (width, height) = (SIDE + COLUMN * columns as i32, TOP + SIDE);
    let size = ((width * UNIT) as u32, (height * UNIT) as u32);
    let mut drawn = String::new();
    {
        let area = SVGBackend::with_string(&mut drawn, size).into_drawing_area();
        area.fill(&WHITE)?;
        let head = letters(LETTERS + 3);
        area.draw_text(title, &head, (MARGIN * UNIT, MARGIN * UNIT))?;
        picture.dots(&area)?;
        picture.names(&area)?;
        picture.legend(&area, lines)?;
        area.present()?;
    }
    // The first tag of plotters says the size in tenths of a pixel.
    let body = drawn.split_once('>').map_or("", |(_, body)| body);
    Ok(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"{width}\" \
         height=\"{height}\" viewBox=\"0 0 {} {}\">\n<title>{title}</title>{body}",
        size.0, size.1
    ))
}

struct Picture<'a> {
    labels: &'a Labels,
    members: Vec<usize>,
    /// The largest first.
    classes: Vec<usize>,
    colors: Vec<RGBAColor>,
    /// The place of every row, in tenths of a pixel.
    places: Vec<(i32, i32)>,
}

impl<'a> Picture<'a> {
    fn new(map: &DenseRows, labels: &'a Labels) -> Self {
        let members = labels.members();
        let mut classes: Vec<usize> = (0..members.len()).collect();
        classes.sort_by_key(|&class| Reverse(members[class]));
        let mut colors = vec![BLACK.to_rgba(); classes.len()];
        for (place, &class) in classes.iter().enumerate() {
            colors[class] = color(place);
        }
        // Both axes have one scale: a map has distances, and no directions.
        let ends = |axis: usize| {
            let values = || map.iter().map(move |row| row[axis]);
            let low = values().fold(f64::INFINITY, f64::min);
            (low, values().fold(f64::NEG_INFINITY, f64::max))
        };
        let ((left, right), (low, high)) = (ends(0), ends(1));
        let extent = (right - left).max(high - low).max(f64::MIN_POSITIVE);
        let scale = f64::from((SIDE - 2 * MARGIN) * UNIT) / extent;
        let middle = f64::from(SIDE / 2 * UNIT);
        let place = |value: f64, (low, high): (f64, f64)| {
            (middle + (value - (low + high) / 2.0) * scale).round() as i32
        };
        let places = map.iter().map(|row| {
            let across = place(row[0], (left, right));
            // Upwards, as in a plot.
            (
                across,
                TOP * UNIT + SIDE * UNIT - place(row[1], (low, high)),
            )
        });
        let places = places.collect();
        Self {
            labels,
            members,
            classes,
            colors,
            places,
        }
    }

    fn dots(&self, area: &Area<'_>) -> Result<(), Fault> {
        let radius = match self.places.len() {
            0..500 => 36,
            500..5_000 => 20,
            _ => 11,
        };
        for (&place, &class) in self.places.iter().zip(self.labels.codes()) {
            let style = self.colors[class as usize].filled();
            area.draw(&Circle::new(place, radius, style))?;
        }
        Ok(())
    }

    fn names(&self, area: &Area<'_>) -> Result<(), Fault> {
        let style = letters(LETTERS).pos(Pos::new(HPos::Center, VPos::Center));
        let mut taken: Vec<[i32; 4]> = Vec::new();
        for &class in &self.classes {
            let name = &self.labels.classes()[class];
            let (x, y) = self.middle(class);
            let (across, down) = area.estimate_text_size(name, &style)?;
            let (across, down) = (across as i32 / 2 + 10, down as i32 / 2 + 10);
            // All of it on the map.
            let x = x.clamp(across, (SIDE * UNIT - across).max(across));
            let room = [x - across, y - down, x + across, y + down];
            let apart = |other: &[i32; 4]| {
                room[2] < other[0] || other[2] < room[0] || room[3] < other[1] || other[3] < room[1]
            };
            if !taken.iter().all(apart) {
                continue;
            }
            let corners = [(room[0], room[1]), (room[2], room[3])];
            area.draw(&Rectangle::new(corners, WHITE.mix(0.75).filled()))?;
            area.draw_text(name, &style, (x, y))?;
            taken.push(room);
        }
        Ok(())
    }

    /// The median of a class in both directions.
    fn middle(&self, class: usize) -> (i32, i32) {
        let codes = self.labels.codes();
        let mine = || {
            self.places
                .iter()
                .zip(codes)
                .filter(|&(_, &code)| code as usize == class)
        };
        let median = |mut values: Vec<i32>| {
            values.sort_unstable();
            values[values.len() / 2]
        };
        let across = median(mine().map(|(place, _)| place.0).collect());
        (across, median(mine().map(|(place, _)| place.1).collect()))
    }

    fn legend(&self, area: &Area<'_>, lines: usize) -> Result<(), Fault> {
        let style = letters(LETTERS).pos(Pos::new(HPos::Left, VPos::Center));
        for (at, &class) in self.classes.iter().enumerate() {
            let left = SIDE + MARGIN + (at / lines) as i32 * COLUMN;
            let y = (TOP + (at % lines) as i32 * LINE + LINE / 2) * UNIT;
            let dot = Circle::new((left * UNIT, y), 45, self.colors[class].filled());
            area.draw(&dot)?;
            let name = format!("{} ({})", self.labels.classes()[class], self.members[class]);
            area.draw_text(&name, &style, ((left + 10) * UNIT, y))?;
        }
        Ok(())
    }
}

/// Hues far apart for classes that follow one another, in three depths.
fn color(place: usize) -> RGBAColor {
    let hue = (place as f64 * 0.381_966).fract();
    let depth = [0.45, 0.62, 0.32][place / 5 % 3];
    HSLColor(hue, 0.75, depth).to_rgba()
}

/// Letters of a height in pixels, placed by their upper left corner.
fn letters(height: i32) -> TextStyle<'static> {
    // plotters divides by 1.24 again.
    let size = f64::from(height * UNIT) * 1.24;
    ("sans-serif", size).into_font().color(&BLACK)
}
