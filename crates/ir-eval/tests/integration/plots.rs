//! Plots: positions of the marks, no overlapping or clipped text, escaped names.
#![cfg(feature = "plots")]
#![allow(clippy::unwrap_used)]

use ir_eval::compare::QueryDifference;
use ir_eval::plots::{
    CurvePlot, OverlapPlot, Plot, PlotAxis, PlottedScore, QueryDifferencePlot, ScoresByRankPlot,
    SystemScorePlot,
};
use ir_eval::runs::{MeasureCurve, RankStatistics, ScoresByRank};
use proptest::prelude::*;
use roxmltree::{Document, Node};

/// Absolute values from which numbers are not drawn.
const MAX_DRAWN: f64 = 1e100;

/// Names that look like markup, contain characters that XML does not allow, or are too long.
const HOSTILE: [&str; 5] = [
    "<script>alert('x')</script>",
    "a&amp;\"b' onload=\"c",
    "]]><!--\u{1}\u{0}\u{1b}",
    "検索システム検索システム検索システム検索システム",
    "run-with-a-name-that-goes-on-and-on-and-on-and-on-and-on-and-ends-in-17",
];

fn means(count: usize, name: impl Fn(usize) -> String) -> SystemScorePlot {
    let mean = |at: usize| {
        let value = 0.25 + (at * 7 % 30) as f64 / 64.0;
        PlottedScore {
            system: name(at),
            value,
            interval: (at % 5 != 4).then_some((value - 0.0625, value + 0.125)),
        }
    };
    SystemScorePlot {
        measure: "nDCG@10".to_owned(),
        interval: "95 % interval".to_owned(),
        queries: 323,
        reference: (count > 1).then_some(0.3),
        systems: (0..count).map(mean).collect(),
    }
}

fn recall(count: usize, name: impl Fn(usize) -> String) -> CurvePlot {
    let curve = |at: usize| MeasureCurve {
        system: name(at),
        points: (0..=10)
            .map(|i| {
                (
                    f64::from(i) / 10.0,
                    0.7 / (1.0 + f64::from(i)) + 0.004 * at as f64,
                )
            })
            .collect(),
    };
    CurvePlot {
        title: "Precision and recall".to_owned(),
        x: PlotAxis {
            title: "recall".to_owned(),
            logarithmic: false,
        },
        y: "interpolated precision".to_owned(),
        curves: (0..count).map(curve).collect(),
        highlighted: None,
    }
}

fn cutoffs(count: usize, depth: u32) -> CurvePlot {
    let curve = |at: usize| MeasureCurve {
        system: format!("s{at}"),
        points: ir_eval::runs::log_spaced_cutoffs(depth)
            .into_iter()
            .map(|k| (f64::from(k), 1.0 - 1.0 / (f64::from(k) + at as f64)))
            .collect(),
    };
    CurvePlot {
        x: PlotAxis {
            title: "cut-off k (documents)".to_owned(),
            logarithmic: depth > 20,
        },
        y: "R@k".to_owned(),
        curves: (0..count).map(curve).collect(),
        ..recall(0, |_| String::new())
    }
}

fn differences(count: usize, query: impl Fn(usize) -> String) -> QueryDifferencePlot {
    let values = |at: usize| {
        let value = (at * 7919 % 10007) as f64 / 10007.0;
        QueryDifference {
            query: query(at),
            value,
            against: 0.5,
            difference: value - 0.5,
        }
    };
    let queries: Vec<QueryDifference> = (0..count).map(values).collect();
    let count = |sign: fn(f64) -> bool| queries.iter().filter(|q| sign(q.difference)).count();
    QueryDifferencePlot {
        measure: "nDCG@10".to_owned(),
        system: "new".to_owned(),
        against: "old".to_owned(),
        wins: count(|d| d > 0.0),
        losses: count(|d| d < 0.0),
        ties: count(|d| d == 0.0),
        queries,
    }
}

/// Every set of `runs` runs, with counts up to `highest`.
fn overlap(runs: usize, highest: u64, name: impl Fn(usize) -> String) -> OverlapPlot {
    let set = |set: u64| {
        let members = (0..runs).filter(|run| set & (1 << run) != 0);
        (members.collect(), highest / set)
    };
    OverlapPlot {
        title: "Overlap of documents".to_owned(),
        counted: "documents".to_owned(),
        runs: (0..runs).map(name).collect(),
        sets: (1..1 << runs).map(set).collect(),
    }
}

fn scores(depth: usize) -> ScoresByRankPlot {
    let at = |rank: usize| RankStatistics {
        lists: 100,
        relevant: 60 / (rank + 1),
        mean: 20.0 / (rank as f64 + 2.0),
        low: 15.0 / (rank as f64 + 2.0),
        high: 25.0 / (rank as f64 + 2.0),
    };
    ScoresByRankPlot(ScoresByRank {
        system: "mine".to_owned(),
        lists: 100,
        ranks: (0..depth).map(at).collect(),
    })
}

/// Every plot in every layout.
fn all() -> Vec<(String, Box<dyn Plot>)> {
    let mut all: Vec<(String, Box<dyn Plot>)> = Vec::new();
    for count in [0, 1, 2, 8, 9, 30, 100] {
        all.push((
            format!("{count} means"),
            Box::new(means(count, |at| format!("bm25-{at}"))),
        ));
        all.push((
            format!("{count} curves"),
            Box::new(recall(count, |at| format!("bm25-{at}"))),
        ));
        let long = |at: usize| format!("{}{at}", HOSTILE[at % HOSTILE.len()]);
        all.push((
            format!("{count} hostile means"),
            Box::new(means(count, long)),
        ));
        all.push((
            format!("{count} hostile curves"),
            Box::new(recall(count, long)),
        ));
    }
    for depth in [1, 2, 5, 20, 21, 100, 1000, 100_000] {
        all.push((format!("cut-offs to {depth}"), Box::new(cutoffs(3, depth))));
        all.push((
            format!("scores to {depth}"),
            Box::new(scores(depth as usize)),
        ));
    }
    for count in [0, 1, 2, 30, 31, 323, 10_000] {
        let plain = differences(count, |at| format!("PLAIN-{at}"));
        all.push((format!("{count} differences"), Box::new(plain)));
        let mut hostile = differences(count, |at| format!("{}{at}", HOSTILE[at % HOSTILE.len()]));
        (hostile.system, hostile.against) = (HOSTILE[1].to_owned(), HOSTILE[4].to_owned());
        hostile.measure = "nDCG(dcg=exp-log2,gains={0:1,1:2,2:3,3:4,4:5,5:6})@1000".to_owned();
        all.push((format!("{count} hostile differences"), Box::new(hostile)));
    }
    for (runs, highest) in [(0, 1), (1, 0), (2, 9), (4, 98_765), (7, u64::MAX / 8)] {
        let plain = overlap(runs, highest, |at| format!("PLAIN-{at}"));
        all.push((format!("overlap of {runs} runs"), Box::new(plain)));
        let hostile = overlap(runs, highest, |at| HOSTILE[at % HOSTILE.len()].to_owned());
        all.push((format!("overlap of {runs} hostile runs"), Box::new(hostile)));
    }
    all
}

fn number(node: Node<'_, '_>, name: &str) -> f64 {
    node.attribute(name).unwrap().parse().unwrap()
}

fn points(node: Node<'_, '_>) -> Vec<(f64, f64)> {
    let pairs = node.attribute("points").unwrap().split_whitespace();
    pairs
        .map(|pair| {
            let (x, y) = pair.split_once(',').unwrap();
            (x.parse().unwrap(), y.parse().unwrap())
        })
        .collect()
}

fn elements<'a>(
    document: &'a Document<'a>,
    name: &'a str,
) -> impl Iterator<Item = Node<'a, 'a>> + 'a {
    document
        .descendants()
        .filter(move |node| node.has_tag_name(name))
}

/// Text element with its estimated bounding box: left, top, right, bottom.
#[derive(Debug)]
struct TextBox {
    text: String,
    at: (f64, f64),
    frame: [f64; 4],
}

fn text_boxes(document: &Document<'_>) -> Vec<TextBox> {
    let texts = document
        .descendants()
        .filter(|node| node.has_tag_name(("http://www.w3.org/2000/svg", "text")));
    texts
        .map(|node| {
            let text = node.text().unwrap().trim().to_owned();
            let (x, y, size) = (
                number(node, "x"),
                number(node, "y"),
                number(node, "font-size"),
            );
            let wide = |c: char| if c >= '\u{1100}' { 1.0 } else { 0.5 };
            let width = text.chars().map(wide).sum::<f64>() * size;
            let before = match node.attribute("text-anchor").unwrap() {
                "start" => 0.0,
                "middle" => width / 2.0,
                "end" => width,
                other => panic!("{other}"),
            };
            let above = match node.attribute("dy").unwrap() {
                "0.76em" => 0.0,
                "0.5ex" => size * 0.4,
                "-0.5ex" => size,
                other => panic!("{other}"),
            };
            let tall = size * 0.8;
            let frame = match node.attribute("transform") {
                None => [x - before, y - above, x - before + width, y - above + tall],
                Some(turn) => {
                    assert!(turn.starts_with("rotate(270"), "{turn}");
                    [x - above, y + before - width, x - above + tall, y + before]
                }
            };
            TextBox {
                text,
                at: (x, y),
                frame,
            }
        })
        .collect()
}

/// Asserts that all points of lines, areas and markers are on the page.
fn assert_inside(document: &Document<'_>, name: &str) {
    let root = document.root_element();
    let (width, height) = (number(root, "width") * 10.0, number(root, "height") * 10.0);
    let lines = elements(document, "polyline").chain(elements(document, "polygon"));
    let markers = elements(document, "circle");
    let markers = markers.map(|node| (number(node, "cx"), number(node, "cy")));
    for (x, y) in lines.flat_map(points).chain(markers) {
        assert!(
            (0.0..=width).contains(&x) && (0.0..=height).contains(&y),
            "{name}: {x} {y}"
        );
    }
}

/// Asserts that the document has the title and the description of the plot.
fn assert_described(document: &Document<'_>, plot: &dyn Plot, name: &str) {
    let text = |tag: &str| {
        let mut found = elements(document, tag);
        found.next().unwrap().text().unwrap_or_default().to_owned()
    };
    let shown = |text: String| {
        text.replace(
            |c: char| c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}'),
            "\u{fffd}",
        )
    };
    assert_eq!(text("title"), shown(plot.title()), "{name}");
    assert_eq!(text("desc"), shown(plot.alt()), "{name}");
}

#[test]
fn text_is_neither_clipped_nor_overlapping() {
    for (name, plot) in all() {
        let svg = plot.to_svg();
        let document = Document::parse(&svg).unwrap_or_else(|e| panic!("{name}: {e}\n{svg}"));
        let root = document.root_element();
        let (width, height) = (number(root, "width") * 10.0, number(root, "height") * 10.0);
        assert_eq!(
            root.attribute("viewBox").unwrap(),
            format!("0 0 {width} {height}")
        );
        let all = text_boxes(&document);
        for (i, one) in all.iter().enumerate() {
            let [left, top, right, bottom] = one.frame;
            assert!(
                left >= 0.0 && top >= -20.0 && right <= width && bottom <= height,
                "{name}: {one:?} is cut off"
            );
            for other in &all[i + 1..] {
                let apart = right <= other.frame[0]
                    || other.frame[2] <= left
                    || bottom <= other.frame[1]
                    || other.frame[3] <= top;
                assert!(apart, "{name}: {one:?} and {other:?} overlap");
            }
        }
        assert_inside(&document, &name);
        assert!(svg.len() < 300_000, "{name}: {} bytes", svg.len());
        assert_eq!(svg, plot.to_svg());
    }
}

#[test]
fn svg_is_described_and_self_contained() {
    for (name, plot) in all() {
        let svg = plot.to_svg();
        let document = Document::parse(&svg).unwrap();
        assert_described(&document, &*plot, &name);
        assert_eq!(document.root_element().attribute("role"), Some("img"));
        for node in document.descendants().filter(Node::is_element) {
            let tag = node.tag_name().name();
            let known = [
                "svg", "title", "desc", "rect", "line", "polyline", "polygon", "circle", "text",
            ];
            assert!(known.contains(&tag), "{name}: <{tag}>");
            for attribute in node.attributes() {
                assert!(!attribute.name().contains("href") && !attribute.name().starts_with("on"));
                assert!(!attribute.value().contains("url("), "{name}");
            }
            if let Some(family) = node.attribute("font-family") {
                assert_eq!(family, "sans-serif");
            }
        }
    }
}

/// Position as a function of the value, from the tick labels of an axis.
fn scale(marks: &[(f64, f64)]) -> impl Fn(f64) -> f64 + use<> {
    let (first, last) = (marks[0], *marks.last().unwrap());
    move |value| last.1 + (value - last.0) * (last.1 - first.1) / (last.0 - first.0)
}

/// Tick labels of the horizontal axis (numbers in one row) or of the vertical one (in one column).
fn labels(document: &Document<'_>, lower: bool) -> Vec<(f64, f64)> {
    let all = text_boxes(document);
    let numbers: Vec<(f64, (f64, f64))> = all
        .iter()
        .filter_map(|one| Some((one.text.replace('−', "-").parse().ok()?, one.at)))
        .collect();
    let line = |at: (f64, f64)| if lower { at.1 } else { at.0 };
    let here = |at: (f64, f64)| if lower { at.0 } else { at.1 };
    // The axis is the row or column with the most numbers.
    let count = |at: (f64, f64)| {
        numbers
            .iter()
            .filter(|other| line(other.1) == line(at))
            .count()
    };
    let best = numbers.iter().max_by_key(|mark| count(mark.1)).unwrap().1;
    let marks = numbers.iter().filter(|mark| line(mark.1) == line(best));
    marks.map(|&(value, at)| (value, here(at))).collect()
}

#[test]
fn dots_and_whiskers_are_at_their_values() {
    let plot = means(4, |at| format!("s{at}"));
    let svg = plot.to_svg();
    let document = Document::parse(&svg).unwrap();
    let at = scale(&labels(&document, true));
    let dots: Vec<f64> = elements(&document, "circle")
        .map(|node| number(node, "cx"))
        .collect();
    assert_eq!(dots.len(), 4);
    let lines: Vec<Vec<(f64, f64)>> = elements(&document, "polyline").map(points).collect();
    for (mean, dot) in plot.systems.iter().zip(dots) {
        assert!(
            (at(mean.value) - dot).abs() <= 2.0,
            "{} {dot}",
            at(mean.value)
        );
        let (low, high) = mean.interval.unwrap();
        let near = |x: f64, end: f64| (at(end) - x).abs() <= 2.0;
        assert!(
            lines
                .iter()
                .any(|line| near(line[0].0, low) && near(line[1].0, high)),
            "{mean:?}"
        );
    }
}

#[test]
fn curves_pass_through_their_points() {
    let plot = recall(1, |_| "mine".to_owned());
    let svg = plot.to_svg();
    let document = Document::parse(&svg).unwrap();
    let (x, y) = (
        scale(&labels(&document, true)),
        scale(&labels(&document, false)),
    );
    let line = elements(&document, "polyline")
        .map(points)
        .find(|line| line.len() == 11)
        .unwrap();
    for (drawn, point) in line.iter().zip(&plot.curves[0].points) {
        assert!(
            (drawn.0 - x(point.0)).abs() <= 2.0 && (drawn.1 - y(point.1)).abs() <= 2.0,
            "{point:?}"
        );
    }

    let plot = cutoffs(1, 1000);
    let svg = plot.to_svg();
    let document = Document::parse(&svg).unwrap();
    let marks: Vec<(f64, f64)> = labels(&document, true)
        .iter()
        .map(|mark| (mark.0.log10(), mark.1))
        .collect();
    assert_eq!(marks.len(), 10, "1 2 5 … 1000");
    let (x, y) = (scale(&marks), scale(&labels(&document, false)));
    let line = elements(&document, "polyline")
        .map(points)
        .find(|line| line.len() == 80)
        .unwrap();
    for (drawn, point) in line.iter().zip(&plot.curves[0].points) {
        assert!(
            (drawn.0 - x(point.0.log10())).abs() <= 2.0 && (drawn.1 - y(point.1)).abs() <= 2.0,
            "{point:?}"
        );
    }
}

/// Eight of twelve curves are highlighted: the first and the highest, or the given ones.
#[test]
fn highlighted_curves() {
    let mut curves = recall(12, |at| format!("system-{at}"));
    let named = |curves: &CurvePlot| -> Vec<usize> {
        let alt = curves.alt();
        (0..12)
            .filter(|at| alt.contains(&format!(" system-{at}:")))
            .collect()
    };
    assert_eq!(named(&curves), [0, 5, 6, 7, 8, 9, 10, 11]);
    curves.highlighted = Some(vec![0, 3, 1, 99, 2, 5, 4, 6, 7, 11]);
    assert_eq!(named(&curves), [0, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn bars_reach_their_differences() {
    for count in [30, 323, 10_000] {
        let plot = differences(count, |at| format!("q{at}"));
        let svg = plot.to_svg();
        let document = Document::parse(&svg).unwrap();
        let y = scale(&labels(&document, false));
        let gains: Vec<f64> = plot.queries.iter().map(|query| query.difference).collect();
        let (best, worst) = gains
            .iter()
            .fold((0.0_f64, 0.0_f64), |(best, worst), &gain| {
                (best.max(gain), worst.min(gain))
            });
        let corners: Vec<f64> = elements(&document, "polygon")
            .flat_map(points)
            .map(|point| point.1)
            .filter(|&at| at < 2200.0)
            .collect();
        let top = corners.iter().copied().fold(f64::INFINITY, f64::min);
        let bottom = corners.iter().copied().fold(0.0, f64::max);
        assert!(
            (top - y(best)).abs() <= 2.0 && (bottom - y(worst)).abs() <= 2.0,
            "{count}: {top} {bottom}"
        );
        let better = gains.iter().filter(|&&gain| gain > 0.0).count();
        assert!(svg.contains(&format!("better on {better}: new")));
    }
}

#[test]
fn elided_names_stay_different() {
    let plot = means(30, |at| {
        format!("{}{:02}{}", "x".repeat(60), at, "y".repeat(60))
    });
    let svg = plot.to_svg();
    let document = Document::parse(&svg).unwrap();
    let mut names: Vec<String> = text_boxes(&document)
        .into_iter()
        .map(|one| one.text)
        .filter(|text| text.contains('…'))
        .collect();
    assert_eq!(names.len(), 30);
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 30);
}

#[test]
fn csv_data() {
    let plot = means(2, |at| format!("a,\"b\"{at}"));
    assert_eq!(
        plot.to_csv(),
        "system,nDCG@10,low,high\n\"a,\"\"b\"\"0\",0.25,0.1875,0.375\n\"a,\"\"b\"\"1\",0.359375,0.296875,0.484375\n"
    );
    let plot = differences(3, |at| format!("q{at}"));
    let csv = plot.to_csv();
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines[0], "query,nDCG@10 of old,nDCG@10 of new,difference");
    assert!(lines[1].starts_with("q1,0.5,0.79"), "{csv}");
    assert!(lines[3].starts_with("q0,0.5,0,-0.5"), "{csv}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_numbers_and_names_give_a_plot(
        values in prop::collection::vec((any::<f64>(), any::<f64>(), any::<f64>(), ".{0,40}"), 0..40),
        logarithmic: bool,
    ) {
        let curve = |name: &str| MeasureCurve {
            system: name.to_owned(),
            points: values.iter().map(|value| (value.0, value.1)).collect(),
        };
        let plots: [Box<dyn Plot>; 4] = [
            Box::new(SystemScorePlot {
                measure: "m".to_owned(),
                interval: String::new(),
                queries: 1,
                reference: values.first().map(|value| value.2),
                systems: values.iter().map(|value| PlottedScore {
                    system: value.3.clone(),
                    value: value.0,
                    interval: Some((value.1, value.2)),
                }).collect(),
            }),
            Box::new(CurvePlot {
                x: PlotAxis { title: String::new(), logarithmic },
                curves: values.iter().map(|value| curve(&value.3)).collect(),
                ..recall(0, |_| String::new())
            }),
            Box::new(QueryDifferencePlot {
                queries: values.iter().map(|value| QueryDifference {
                    query: value.3.clone(),
                    value: value.0,
                    against: value.1,
                    difference: value.0 - value.1,
                }).collect(),
                ..differences(0, |_| String::new())
            }),
            Box::new(ScoresByRankPlot(ScoresByRank {
                ranks: values.iter().map(|value| RankStatistics {
                    lists: 1,
                    relevant: usize::from(value.0 > 0.0),
                    mean: value.0,
                    low: value.1,
                    high: value.2,
                }).collect(),
                ..ScoresByRank::default()
            })),
        ];
        // Every curve has all points.
        let rows = [values.len(), values.len() * values.len(), values.len(), values.len()];
        for (plot, rows) in plots.iter().zip(rows) {
            let svg = plot.to_svg();
            let document = Document::parse(&svg);
            prop_assert!(document.is_ok(), "{:?}: {svg}", document.err());
            let document = document.unwrap();
            assert_described(&document, &**plot, &svg);
            assert_inside(&document, &svg);
            prop_assert_eq!(plot.to_csv().matches('\n').count(), rows + 1);
        }
        // Scores that are too large or no numbers have no dot.
        let svg = plots[0].to_svg();
        let dots = values.iter().filter(|value| value.0.abs() < MAX_DRAWN).count();
        prop_assert_eq!(svg.matches("<circle ").count(), dots);
    }
}
