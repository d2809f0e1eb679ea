//! UpSet plot: sizes of the intersections of several runs.

use plotters::prelude::{Circle, Color, FontTransform, PathElement, Rectangle};
use plotters::style::text_anchor::HPos;

use super::canvas::{
    BLUE, INK, PALE, SMALL_TEXT_HEIGHT, TEXT_HEIGHT, UNIT, WIDTH, label_style, svg,
};
use super::labels::{elide, elided_labels, text_width};
use super::{Plot, csv};
use crate::runs::{OverlapCounts, RunOverlap};

/// UpSet plot of the overlap of runs: a bar for each set of runs, as high as the number of
/// documents that exactly these runs retrieve. Dots below a bar mark its runs.
///
/// A Venn diagram of four runs with counts that can be read and compared.
///
/// ```
/// use ir_core::Run;
/// use ir_eval::plots::{OverlapPlot, Plot};
/// use ir_eval::runs::{OverlapRules, RunOverlap};
/// let (mut a, mut b) = (Run::new("a"), Run::new("b"));
/// for doc in ["x", "y"] { a.push("q1", doc, 1.0); }
/// for doc in ["y", "z"] { b.push("q1", doc, 1.0); }
/// let overlap = RunOverlap::new(&[a, b], None, OverlapRules::default())?;
/// let plot = OverlapPlot::documents(&overlap);
/// assert_eq!(plot.to_csv(), "a,b,documents\n1,1,1\n1,0,1\n0,1,1\n");
/// # Ok::<(), ir_eval::runs::OverlapError>(())
/// ```
///
/// # Source
/// Lex et al., "UpSet: visualization of intersecting sets", IEEE TVCG 20(12), 2014.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverlapPlot {
    /// Title of the plot.
    pub title: String,
    /// What is counted, for example "relevant documents".
    pub counted: String,
    /// Names of the runs, from top to bottom.
    pub runs: Vec<String>,
    /// Indices of the runs of each set, and its number of documents.
    pub sets: Vec<(Vec<usize>, u64)>,
}

/// Maximum number of drawn sets; four runs have 15.
const MAX_SETS: usize = 15;
/// Maximum width of a name, in pixels.
const MAX_NAME_WIDTH: i32 = 120;
/// Height of the bars, in pixels.
const BARS_HEIGHT: i32 = 130;
/// Space for the counts above the bars, in pixels.
const ABOVE: i32 = 44;
/// Maximum width of the number of documents of a run, in pixels.
const MAX_TOTAL_WIDTH: i32 = 60;
/// Height of a row of dots, in pixels.
const ROW_HEIGHT: i32 = 18;
/// Height of the line below the dots, in pixels.
const CAPTION_HEIGHT: i32 = 20;

impl OverlapPlot {
    /// Plot of the retrieved documents.
    #[must_use]
    pub fn documents(overlap: &RunOverlap) -> Self {
        Self::new(overlap, "documents", |count| Some(count.documents))
    }

    /// Plot of the relevant documents; `None` if the overlap was counted without judgments.
    #[must_use]
    pub fn relevant(overlap: &RunOverlap) -> Option<Self> {
        let has_judgments = overlap.union().relevant.is_some();
        has_judgments.then(|| Self::new(overlap, "relevant documents", |count| count.relevant))
    }

    fn new(
        overlap: &RunOverlap,
        counted: &str,
        count: impl Fn(OverlapCounts) -> Option<u64>,
    ) -> Self {
        let regions = overlap.regions.iter();
        let mut sets: Vec<(Vec<usize>, u64)> = regions
            .filter_map(|region| Some((region.runs.clone(), count(region.count)?)))
            .filter(|set| set.1 > 0)
            .collect();
        // Stable: sets of equal size keep the order of the regions, larger sets of runs first.
        sets.sort_by_key(|set| std::cmp::Reverse(set.1));
        Self {
            title: format!("Overlap of {counted}"),
            counted: counted.to_owned(),
            runs: overlap.runs.clone(),
            sets,
        }
    }

    fn drawn(&self) -> &[(Vec<usize>, u64)] {
        &self.sets[..self.sets.len().min(MAX_SETS)]
    }

    /// Number of documents of a run, in all sets.
    fn total(&self, run: usize) -> u64 {
        let sets = self.sets.iter().filter(|set| set.0.contains(&run));
        sets.map(|set| set.1).sum()
    }

    fn caption(&self) -> String {
        let all: u64 = self.sets.iter().map(|set| set.1).sum();
        let mut caption = format!("{all} {}", self.counted);
        if self.sets.len() > MAX_SETS {
            let (drawn, sets) = (MAX_SETS, self.sets.len());
            caption += &format!(", the largest {drawn} of {sets} sets of runs");
        }
        caption
    }
}

impl Plot for OverlapPlot {
    fn title(&self) -> String {
        self.title.clone()
    }

    fn alt(&self) -> String {
        let mut alt = format!("UpSet plot of {}.", self.caption());
        for (runs, count) in self.drawn() {
            let names = runs.iter().filter_map(|&run| self.runs.get(run));
            let names: Vec<&str> = names.map(String::as_str).collect();
            alt += &format!(" {}: {count}.", names.join(" and "));
        }
        alt
    }

    fn to_svg(&self) -> String {
        let rows = self.runs.len() as i32 * ROW_HEIGHT;
        let height = ABOVE + BARS_HEIGHT + 8 + rows + CAPTION_HEIGHT;
        svg(height, &self.title(), &self.alt(), |area| {
            let names: Vec<&str> = self.runs.iter().map(String::as_str).collect();
            let names = elided_labels(&names, MAX_NAME_WIDTH, TEXT_HEIGHT);
            let totals: Vec<String> = (0..names.len())
                .map(|run| elide(&self.total(run).to_string(), MAX_TOTAL_WIDTH, TEXT_HEIGHT))
                .collect();
            let widest = |texts: &[String]| {
                let widths = texts.iter().map(|text| text_width(text, TEXT_HEIGHT));
                widths.max().unwrap_or(0)
            };
            let name_end = 6 + widest(&names);
            let total_end = name_end + 8 + widest(&totals);
            let left = (total_end + 10) * UNIT;
            let sets = self.drawn();
            let column = ((WIDTH - 6) * UNIT - left) / sets.len().max(8) as i32;
            let base = (ABOVE + BARS_HEIGHT) * UNIT;
            let row = |run: usize| base + (8 + run as i32 * ROW_HEIGHT + ROW_HEIGHT / 2) * UNIT;
            let right = label_style(TEXT_HEIGHT, HPos::Right);
            for (run, (name, total)) in names.iter().zip(&totals).enumerate() {
                area.draw_text(name, &right, (name_end * UNIT, row(run)))?;
                area.draw_text(total, &right, (total_end * UNIT, row(run)))?;
            }
            let highest = sets.iter().map(|set| set.1).max().unwrap_or(1).max(1) as f64;
            // Upright, the counts of neighboring bars would overlap.
            let count_style = label_style(SMALL_TEXT_HEIGHT, HPos::Left);
            let count_style = count_style.transform(FontTransform::Rotate270);
            for (number, (runs, count)) in sets.iter().enumerate() {
                let x = left + number as i32 * column + column / 2;
                let length = (*count as f64 / highest * f64::from(BARS_HEIGHT * UNIT)).round();
                let top = base - length as i32;
                let half = column * 3 / 10;
                let corners = [(x - half, top), (x + half, base)];
                area.draw(&Rectangle::new(corners, BLUE.filled()))?;
                let label = elide(&count.to_string(), ABOVE - 6, SMALL_TEXT_HEIGHT);
                area.draw_text(&label, &count_style, (x, top - 3 * UNIT))?;
                for run in (0..names.len()).filter(|run| !runs.contains(run)) {
                    area.draw(&Circle::new((x, row(run)), 34, PALE.filled()))?;
                }
                if let (Some(&first), Some(&last)) = (runs.first(), runs.last()) {
                    let line = [(x, row(first)), (x, row(last))];
                    area.draw(&PathElement::new(line, INK.stroke_width(15)))?;
                }
                for &run in runs {
                    area.draw(&Circle::new((x, row(run)), 40, INK.filled()))?;
                }
            }
            let axis = [(left, base), ((WIDTH - 6) * UNIT, base)];
            area.draw(&PathElement::new(axis, INK.stroke_width(8)))?;
            let caption = elide(&self.caption(), WIDTH - 8, TEXT_HEIGHT);
            let center = label_style(TEXT_HEIGHT, HPos::Center);
            let at = (WIDTH / 2 * UNIT, (height - CAPTION_HEIGHT / 2) * UNIT);
            area.draw_text(&caption, &center, at)
        })
    }

    /// A row for each set: 1 or 0 for each run, and the count.
    fn to_csv(&self) -> String {
        let mut header: Vec<&str> = self.runs.iter().map(String::as_str).collect();
        header.push(&self.counted);
        let rows = self.sets.iter().map(|(runs, count)| {
            let marks = (0..self.runs.len()).map(|run| u8::from(runs.contains(&run)).to_string());
            marks.chain([count.to_string()]).collect()
        });
        csv(&header, rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::OverlapRules;
    use ir_core::{Qrels, Run};

    fn runs() -> Vec<Run> {
        // Documents by the runs that retrieve them: a 3, ab 2, abc 1, c 1.
        let retrieved = [
            ("a", &["1", "2", "3", "4", "5", "6"][..]),
            ("b", &["4", "5", "6"]),
            ("c", &["6", "7"]),
        ];
        let run = |(name, docs): (&str, &[&str])| {
            let mut run = Run::new(name);
            docs.iter().for_each(|doc| run.push("q", *doc, 1.0));
            run
        };
        retrieved.into_iter().map(run).collect()
    }

    #[test]
    fn sets_are_sorted_by_size() {
        let overlap = RunOverlap::new(&runs(), None, OverlapRules::default()).unwrap();
        let plot = OverlapPlot::documents(&overlap);
        let csv = "a,b,c,documents\n1,0,0,3\n1,1,0,2\n1,1,1,1\n0,0,1,1\n";
        assert_eq!(plot.to_csv(), csv);
        assert_eq!(
            (0..3).map(|run| plot.total(run)).collect::<Vec<_>>(),
            [6, 3, 2]
        );
        assert_eq!(OverlapPlot::relevant(&overlap), None);
        let svg = plot.to_svg();
        // The background and four bars; a dot for each run of each set.
        assert_eq!(svg.matches("<rect ").count(), 5);
        assert_eq!(svg.matches("<circle ").count(), 12);
        assert!(svg.contains("a: 3. a and b: 2. a and b and c: 1. c: 1."));
        assert!(svg.contains("\n7 documents\n"), "{svg}");
    }

    #[test]
    fn relevant_documents_only() {
        let mut qrels = Qrels::new();
        for (doc, grade) in [("1", 0), ("4", 1), ("7", 2)] {
            qrels.insert("q", doc, grade);
        }
        let overlap = RunOverlap::new(&runs(), Some(&qrels), OverlapRules::default()).unwrap();
        let plot = OverlapPlot::relevant(&overlap).unwrap();
        let csv = "a,b,c,relevant documents\n1,1,0,1\n0,0,1,1\n";
        assert_eq!(plot.to_csv(), csv);
    }

    #[test]
    fn without_sets() {
        let plot = OverlapPlot {
            title: "Overlap".into(),
            counted: "documents".into(),
            runs: Vec::new(),
            sets: Vec::new(),
        };
        assert!(plot.to_svg().contains("0 documents"));
        assert_eq!(plot.to_csv(), "documents\n");
    }
}
