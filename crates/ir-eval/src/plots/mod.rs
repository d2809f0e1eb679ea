//! SVG plots of reports and comparisons, for papers, HTML pages and screens. Requires the feature
//! `plots`.
//!
//! A plot is a value, filled from reports or by hand. It renders to SVG, to CSV and to a text
//! description. Systems differ in dashes and markers as well as in color. All plots have the width
//! of a paper column, use generic fonts only, and render to the same bytes for the same data.
//!
//! ```
//! use ir_core::{Qrels, Run};
//! use ir_eval::plots::{CurvePlot, Plot};
//! use ir_eval::runs::eleven_point_precision;
//! use ir_eval::Evaluator;
//! let (mut qrels, mut run) = (Qrels::new(), Run::new("mine"));
//! qrels.insert("q1", "d1", 1);
//! run.push("q1", "d1", 0.5);
//! let report = Evaluator::new(&qrels, &eleven_point_precision())?.evaluate(&run)?;
//! let plot = CurvePlot::precision_recall(&[report]);
//! assert!(plot.to_svg().starts_with("<svg"));
//! assert!(plot.to_csv().starts_with("system,recall,interpolated precision\nmine,0,1\n"));
//! # Ok::<(), ir_eval::EvalError>(())
//! ```

use std::fmt;

mod canvas;
mod curves;
mod histogram;
mod labels;
mod overlap;
mod query_differences;
mod scatter;
mod scores_by_rank;
mod system_scores;

pub use curves::{CurvePlot, PlotAxis};
pub use histogram::HistogramPlot;
pub use overlap::OverlapPlot;
pub use query_differences::QueryDifferencePlot;
pub use scatter::{ScatterPlot, ScatterPoint};

pub(crate) use labels::printable;
pub use scores_by_rank::ScoresByRankPlot;
pub use system_scores::{PlottedScore, SystemScorePlot};

/// Plot that renders to SVG and CSV.
pub trait Plot: fmt::Debug {
    /// Returns a short title.
    fn title(&self) -> String;

    /// Returns a text description for accessibility. The SVG contains it too.
    fn alt(&self) -> String;

    /// Renders the plot as an SVG document, 400 pixels wide, on white.
    fn to_svg(&self) -> String;

    /// Returns the plotted data as CSV with a header line, in full precision.
    fn to_csv(&self) -> String;
}

/// Formats rows of equal length as CSV.
#[allow(clippy::expect_used, reason = "memory can always be written")]
fn csv(header: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(header).expect("memory is writable");
    for row in rows {
        writer.write_record(row).expect("rows have equal length");
    }
    let bytes = writer.into_inner().expect("memory is writable");
    String::from_utf8(bytes).expect("CSV of UTF-8 text is UTF-8")
}
