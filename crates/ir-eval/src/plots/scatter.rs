//! Points in two dimensions, in the color of their label.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::canvas::escape;
use super::csv;

/// Map of items, such as papers, in two dimensions. Items have the color of their label. If all
/// labels are integers, such as years, colors and legend have the order of the values.
///
/// The text of an item appears while the pointer is on its point, in browsers. On the page, the
/// items of a label stand out while the pointer is on it in the legend; there are no scripts.
///
/// ```
/// use ir_eval::plots::{ScatterPlot, ScatterPoint};
/// let point = |x: f64, text: &str, label: &str| ScatterPoint {
///     x,
///     y: 0.5,
///     text: text.to_owned(),
///     label: Some(label.to_owned()),
/// };
/// let plot = ScatterPlot {
///     title: "papers".to_owned(),
///     points: vec![point(0.0, "Green tea", "drinks"), point(1.0, "Bread", "food")],
/// };
/// let svg = plot.to_svg();
/// assert!(svg.starts_with("<svg") && svg.contains("<title>Green tea (drinks)</title>"));
/// assert!(plot.to_csv().starts_with("x,y,label,text\n0,0.5,drinks,Green tea\n"));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ScatterPlot {
    /// Title of the plot.
    pub title: String,
    /// Points in the order in which they are drawn.
    pub points: Vec<ScatterPoint>,
}

/// Item of a [`ScatterPlot`].
#[derive(Debug, Clone, PartialEq)]
pub struct ScatterPoint {
    /// Horizontal coordinate. Points with a coordinate that is not finite are not drawn.
    pub x: f64,
    /// Vertical coordinate; the axis points up.
    pub y: f64,
    /// Text of the item, such as its title.
    pub text: String,
    /// Label that determines the color. [`None`]: gray, and drawn first.
    pub label: Option<String>,
}

/// Side length of the map in pixels, and its margin.
const SIDE: f64 = 640.0;
const MARGIN: f64 = 12.0;
/// Height of the title, width of a column of the legend and height of a line of it in pixels.
const TOP: f64 = 34.0;
const COLUMN: f64 = 196.0;
const LINE: f64 = 17.0;

impl ScatterPlot {
    /// Labels with their numbers of points: integers by value, other labels by descending number,
    /// equal numbers in byte order.
    fn labels(&self) -> Vec<(&str, usize)> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for label in self
            .points
            .iter()
            .filter_map(|point| point.label.as_deref())
        {
            *counts.entry(label).or_default() += 1;
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        if is_ordinal(&counts) {
            counts.sort_by_key(|(label, _)| label.parse::<i64>().ok());
        } else {
            counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        }
        counts
    }

    /// Renders an SVG document with a legend. Both axes have the same scale.
    #[must_use]
    pub fn to_svg(&self) -> String {
        let labels = self.labels();
        let ranks: BTreeMap<&str, usize> = labels
            .iter()
            .enumerate()
            .map(|(rank, (label, _))| (*label, rank))
            .collect();
        let is_ordinal = is_ordinal(&labels);
        let color = |rank: usize| {
            if is_ordinal {
                ordinal_color(rank, labels.len())
            } else {
                color(rank)
            }
        };
        let lines = (SIDE / LINE) as usize;
        let width = SIDE + COLUMN * labels.len().div_ceil(lines) as f64;
        let height = TOP + SIDE;
        let title = escape(&self.title);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"{width}\" \
             height=\"{height}\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" \
             font-size=\"11\">\n<title>{title}</title>\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n\
             <text x=\"{MARGIN}\" y=\"22\" font-size=\"14\">{title}</text>\n"
        );
        let finite = self
            .points
            .iter()
            .filter(|point| point.x.is_finite() && point.y.is_finite());
        let range = |value: fn(&ScatterPoint) -> f64| {
            let values = finite.clone().map(value);
            let low = values.clone().fold(f64::INFINITY, f64::min);
            (low, values.fold(f64::NEG_INFINITY, f64::max))
        };
        let ((left, right), (low, high)) = (range(|point| point.x), range(|point| point.y));
        let extent = (right - left).max(high - low);
        let scale = if extent > 0.0 {
            (SIDE - 2.0 * MARGIN) / extent
        } else {
            0.0
        };
        let pixel = |value: f64, low: f64, high: f64| {
            SIDE / 2.0 + (value - (low / 2.0 + high / 2.0)) * scale
        };
        let radius = match self.points.len() {
            0..500 => 3.6,
            500..5_000 => 2.0,
            _ => 1.1,
        };
        // Items without a label are below the others.
        let (with, without): (Vec<_>, Vec<_>) =
            finite.clone().partition(|point| point.label.is_some());
        for point in without.into_iter().chain(with) {
            let rank = point.label.as_deref().and_then(|label| ranks.get(label));
            let color = rank.map_or_else(|| "#bbb".to_owned(), |rank| color(*rank));
            let class = rank.map_or_else(|| "none".to_owned(), usize::to_string);
            let text = match &point.label {
                Some(label) => format!("{} ({label})", point.text),
                None => point.text.clone(),
            };
            let text = if point.text.is_empty() {
                point.label.clone().unwrap_or_default()
            } else {
                text
            };
            // Writing to a string does not fail.
            let _ = writeln!(
                svg,
                "<circle class=\"p c{class}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"{radius}\" \
                 fill=\"{color}\"><title>{}</title></circle>",
                pixel(point.x, left, right),
                TOP + SIDE - pixel(point.y, low, high),
                escape(&text)
            );
        }
        for (rank, (label, count)) in labels.iter().enumerate() {
            let x = SIDE + MARGIN + (rank / lines) as f64 * COLUMN;
            let y = TOP + (rank % lines) as f64 * LINE + LINE / 2.0;
            let _ = writeln!(
                svg,
                "<g id=\"l{rank}\"><circle cx=\"{x}\" cy=\"{y}\" r=\"4.5\" fill=\"{}\"/>\
                 <text x=\"{}\" y=\"{}\">{} ({count})</text></g>",
                color(rank),
                x + 10.0,
                y + 4.0,
                escape(label)
            );
        }
        svg.push_str("</svg>\n");
        svg
    }

    /// Renders a self-contained HTML page with the SVG.
    #[must_use]
    pub fn to_html(&self) -> String {
        let title = escape(&self.title);
        let highlights = (0..self.labels().len())
            .map(|rank| format!("svg:has(#l{rank}:hover) .p:not(.c{rank}){{opacity:.06}}\n"));
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <title>{title}</title>\n<style>\nbody{{margin:1em}}\n.p:hover{{stroke:#000}}\n{}\
             </style>\n</head>\n<body>\n{}</body>\n</html>\n",
            highlights.collect::<String>(),
            self.to_svg()
        )
    }

    /// Returns coordinates, labels and texts as CSV with a header line, in full precision.
    #[must_use]
    pub fn to_csv(&self) -> String {
        let rows = self.points.iter().map(|point| {
            let label = point.label.clone().unwrap_or_default();
            vec![
                point.x.to_string(),
                point.y.to_string(),
                label,
                point.text.clone(),
            ]
        });
        csv(&["x", "y", "label", "text"], rows)
    }
}

/// Returns `true` if all labels are integers.
fn is_ordinal(labels: &[(&str, usize)]) -> bool {
    labels.iter().all(|(label, _)| label.parse::<i64>().is_ok())
}

/// Color of an ordered label: from dark blue to yellow.
fn ordinal_color(rank: usize, labels: usize) -> String {
    let position = rank as f64 / labels.saturating_sub(1).max(1) as f64;
    let (hue, lightness) = (260.0 - 210.0 * position, 30.0 + 28.0 * position);
    format!("hsl({hue:.0} 75% {lightness:.0}%)")
}

/// Colors of the most frequent labels, which differ for people who are color-blind, too (Okabe and
/// Ito 2008, "Color Universal Design"). Without black, and without yellow, which is faint on white.
const PALETTE: [&str; 6] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9",
];

/// Color by rank: the palette, then golden-ratio hues in three lightness levels.
fn color(rank: usize) -> String {
    if let Some(color) = PALETTE.get(rank) {
        return (*color).to_owned();
    }
    let hue = (rank as f64 * 0.381_966).fract() * 360.0;
    let lightness = [45, 62, 32][rank / 5 % 3];
    format!("hsl({hue:.0} 75% {lightness}%)")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(x: f64, y: f64, text: &str, label: Option<&str>) -> ScatterPoint {
        let (text, label) = (text.to_owned(), label.map(str::to_owned));
        ScatterPoint { x, y, text, label }
    }

    #[test]
    fn points_fill_the_map_and_text_is_escaped() {
        let plot = ScatterPlot {
            title: "a < b".to_owned(),
            points: vec![
                point(0.0, 0.0, "low & left", Some("x")),
                point(10.0, 10.0, "<b>", None),
                point(f64::NAN, 0.0, "nowhere", Some("x")),
            ],
        };
        let svg = plot.to_svg();
        assert!(svg.contains("<title>a &lt; b</title>"), "{svg}");
        // The vertical axis points up.
        assert!(
            svg.contains("cx=\"12.0\" cy=\"662.0\"") && svg.contains("cx=\"628.0\" cy=\"46.0\""),
            "{svg}"
        );
        assert!(svg.contains("<title>low &amp; left (x)</title>"), "{svg}");
        assert!(!svg.contains("<b>") && !svg.contains("nowhere"), "{svg}");
        assert!(svg.contains(">x (2)</text>"), "{svg}");
        assert!(svg.contains("fill=\"#0072b2\"><title>low"), "{svg}");
        // Items without a label are drawn first.
        assert!(svg.find("#bbb").unwrap() < svg.find("low &amp;").unwrap());
        let html = plot.to_html();
        assert!(
            html.starts_with("<!DOCTYPE html>") && html.contains("#l0:hover"),
            "{html}"
        );
    }

    /// By number of points, 2018 would be first.
    #[test]
    fn integers_are_ordered_by_value() {
        let years = ["2018", "2018", "2017", "-3", "2019"];
        let plot = ScatterPlot {
            title: String::new(),
            points: years.map(|year| point(0.0, 0.0, "", Some(year))).into(),
        };
        let labels: Vec<&str> = plot.labels().into_iter().map(|(label, _)| label).collect();
        assert_eq!(labels, ["-3", "2017", "2018", "2019"]);
        let svg = plot.to_svg();
        assert!(
            svg.contains("<circle class=\"p c0\" cx=\"320.0\" cy=\"354.0\" r=\"3.6\" fill=\"hsl(260 75% 30%)\">"),
            "{svg}"
        );
        assert!(svg.contains("fill=\"hsl(50 75% 58%)\""), "{svg}");
    }

    #[test]
    fn nothing_and_one_point() {
        let mut plot = ScatterPlot {
            title: String::new(),
            points: Vec::new(),
        };
        assert!(plot.to_svg().ends_with("</svg>\n"));
        plot.points.push(point(5.0, 5.0, "", Some("only")));
        let svg = plot.to_svg();
        assert!(
            svg.contains("cx=\"320.0\" cy=\"354.0\"") && svg.contains("<title>only</title>"),
            "{svg}"
        );
    }
}
