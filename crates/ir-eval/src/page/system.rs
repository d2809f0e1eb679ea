//! HTML page of one system.

use ir_core::{Judgments, Run};
use maud::{Markup, html};

use super::from_runs::{MAX_DEPTH, PageError, curves};
use super::layout::{document, gallery, printable_lines};
use crate::evaluate::Report;
use crate::measure::Measure;
use crate::plots::{HistogramPlot, Plot, ScoresByRankPlot};
use crate::runs::ScoresByRank;

/// Number of intervals of the histogram of values per query.
const INTERVALS: usize = 10;

/// HTML page of one system: scores, plots with their data, the queries with the lowest scores, and
/// the judged queries without hits. Self-contained, as a [`ComparisonPage`](super::ComparisonPage).
///
/// ```
/// # use ir_core::{Qrels, Run};
/// # use ir_eval::{Evaluator, Measure, SystemPage};
/// # let mut qrels = Qrels::new();
/// # let mut run = Run::new("bm25");
/// # for query in ["q1", "q2", "q3"] { qrels.insert(query, "d", 1); }
/// # run.push("q1", "d", 1.0);
/// let report = Evaluator::new(&qrels, &[Measure::RR])?.evaluate(&run)?;
/// let page = SystemPage::from_run("BM25", &report, &qrels, &run, 10)?;
/// let html = page.to_html();
/// assert!(html.contains("<svg") && html.contains("2 of 3 judged queries have no hits"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SystemPage<'a> {
    /// Title of the page.
    pub title: String,
    /// Scores of the system.
    pub report: &'a Report,
    /// Plots, in page order.
    pub plots: Vec<Box<dyn Plot + 'a>>,
    /// Maximum number of queries of the table of the lowest scores.
    pub queries: usize,
    /// Additional notes, for example on omitted plots.
    pub remarks: Vec<String>,
}

impl<'a> SystemPage<'a> {
    /// Creates a page with all plots: the values per query of the first measure, precision-recall
    /// and measures over their cutoff, and the scores by rank. `run` is the evaluated run.
    ///
    /// # Errors
    /// Returns [`PageError::Evaluation`] if the run cannot be evaluated.
    pub fn from_run(
        title: &str,
        report: &'a Report,
        qrels: &dyn Judgments,
        run: &Run,
        queries: usize,
    ) -> Result<Self, PageError> {
        let mut plots: Vec<Box<dyn Plot + 'a>> = Vec::new();
        if let Some(&measure) = report.measures().first() {
            plots.extend(values_per_query(report, measure).map(|it| Box::new(it) as _));
        }
        let rules = *report.rules();
        let (of_run, remark) = curves(qrels, rules, &[run], report.measures())?;
        for mut plot in of_run {
            for curve in &mut plot.curves {
                report.run().clone_into(&mut curve.system);
            }
            plots.push(Box::new(plot));
        }
        let mut scores = ScoresByRank::new(run, qrels, rules, MAX_DEPTH);
        report.run().clone_into(&mut scores.system);
        plots.push(Box::new(ScoresByRankPlot(scores)));
        Ok(Self {
            title: title.to_owned(),
            report,
            plots,
            queries,
            remarks: remark.into_iter().collect(),
        })
    }

    /// Renders the page as one HTML document.
    #[must_use]
    pub fn to_html(&self) -> String {
        document(
            &self.title,
            &html! {
                nav aria-label="contents" {
                    ul {
                        li { a href="#scores" { "Scores" } }
                        li { a href="#plots" { "Plots" } }
                        li { a href="#queries" { "Queries" } }
                    }
                }
                (self.scores())
                (gallery(&self.plots))
                section id="queries" {
                    h2 { "Queries" }
                    (self.without_hits())
                    (self.lowest())
                }
            },
        )
    }

    fn scores(&self) -> Markup {
        let (report, queries) = (self.report, self.report.queries().len());
        html! {
            section id="scores" {
                h2 { "Scores" }
                div.wide {
                    table {
                        caption { (printable_lines(report.run())) ", " (queries) " queries" }
                        thead {
                            tr {
                                th scope="col" { "measure" }
                                th.n scope="col" { "score" }
                            }
                        }
                        tbody {
                            @for measure in report.measures() {
                                tr {
                                    th scope="row" { (measure) }
                                    td.n { (format!("{:.4}", report.summary(*measure).unwrap_or_default())) }
                                }
                            }
                        }
                    }
                }
                ul { @for remark in &self.remarks { li { (printable_lines(remark)) } } }
            }
        }
    }

    fn without_hits(&self) -> Markup {
        let missing: Vec<&str> = self.report.missing().collect();
        let answered = self.report.queries().iter();
        let answered = answered.filter(|query| query.retrieved()).count();
        let judged = answered + missing.len();
        html! {
            @if missing.is_empty() {
                p { "All " (judged) " judged queries have hits." }
            } @else {
                details open[missing.len() <= self.queries] {
                    summary { (missing.len()) " of " (judged) " judged queries have no hits" }
                    ul { @for query in missing { li { code { (printable_lines(query)) } } } }
                }
            }
        }
    }

    /// Queries with the lowest values of the first measure.
    fn lowest(&self) -> Markup {
        let report = self.report;
        let mut order: Vec<usize> = (0..report.queries().len()).collect();
        let first = |n: usize| report.queries()[n].values().first().copied();
        order.sort_by(|&a, &b| first(a).unwrap_or(0.0).total_cmp(&first(b).unwrap_or(0.0)));
        let left_out = order.len().saturating_sub(self.queries);
        order.truncate(self.queries);
        html! {
            div.wide {
                table {
                    caption {
                        "Lowest scores"
                        @if left_out > 0 { "; " (left_out) " queries left out" }
                    }
                    thead {
                        tr {
                            th scope="col" { "query" }
                            @for measure in report.measures() { th.n scope="col" { (measure) } }
                        }
                    }
                    tbody {
                        @for query in order.into_iter().map(|n| &report.queries()[n]) {
                            tr {
                                th scope="row" { (printable_lines(query.query())) }
                                @for value in query.values() { td.n { (format!("{value:.4}")) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Histogram of the values of a measure per query, for a measure with values from 0 to 1.
fn values_per_query(report: &Report, measure: Measure) -> Option<HistogramPlot> {
    let values: Vec<f64> = report.values(measure)?.collect();
    if values.is_empty() || values.iter().any(|value| !(0.0..=1.0).contains(value)) {
        return None;
    }
    let mut counts = vec![0; INTERVALS + 1];
    for value in values {
        // The first bar is 0 alone: no relevant document was found.
        let bar = (value * INTERVALS as f64).ceil() as usize;
        counts[bar.min(INTERVALS)] += 1;
    }
    let label = |bar: usize| match bar {
        0 => "0".to_owned(),
        _ => format!("≤{:.1}", bar as f64 / INTERVALS as f64),
    };
    let bars = counts.into_iter().enumerate();
    Some(HistogramPlot {
        title: format!("{measure} per query"),
        value: measure.to_string(),
        count: "queries".to_owned(),
        bars: bars.map(|(bar, count)| (label(bar), count)).collect(),
    })
}

#[cfg(test)]
mod tests {
    use ir_core::Qrels;

    use super::*;
    use crate::evaluate::Evaluator;

    #[test]
    fn pages_name_queries_without_hits_and_the_lowest_scores() {
        let (mut qrels, mut run) = (Qrels::new(), Run::new("a<b"));
        for n in 0..12 {
            qrels.insert(&format!("q{n:02}"), "d", 1);
            if n % 4 > 0 {
                run.push(&format!("q{n:02}"), if n == 5 { "x" } else { "d" }, 1.0);
            }
        }
        let evaluator = Evaluator::new(&qrels, &[Measure::RR, Measure::P.at(5)]).unwrap();
        let report = evaluator.evaluate(&run).unwrap();
        let page = SystemPage::from_run("One & only", &report, &qrels, &run, 4).unwrap();
        let bars: Vec<u64> = match values_per_query(&report, Measure::RR) {
            Some(plot) => plot.bars.iter().map(|bar| bar.1).collect(),
            None => Vec::new(),
        };
        assert_eq!(bars, [4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8]);
        let html = page.to_html();
        for part in [
            "One &amp; only",
            "a&lt;b, 12 queries",
            "3 of 12 judged queries have no hits",
            "<code>q04</code>",
            "8 queries left out",
            "<th scope=\"row\">q05</th>",
        ] {
            assert!(html.contains(part), "{part}");
        }
        assert_eq!(html.matches("<svg").count(), page.plots.len());
        // Self-contained: the only addresses are namespaces.
        let without_namespaces = html.replace("http://www.w3.org/", "");
        assert!(!html.contains("<script") && !without_namespaces.contains("://"));
    }
}
