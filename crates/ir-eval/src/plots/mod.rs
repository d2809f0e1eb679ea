//! Pictures of reports and comparisons, as SVG: for a paper, a page, a screen. The feature `pictures` has them.
//!
//! Each picture is a value: fill it from reports or by hand, then take its SVG, its data as CSV,
//! or its description. They are drawn by the library plotters. Nothing depends on colour alone:
//! systems differ in dashes and markers too, and are named beside the plot. All have the width of a
//! paper's column, name generic fonts only, and are the same bytes for the same figures.
//!
//! ```
//! use ir_core::{Qrels, Run};
//! use ir_eval::plots::{CurvePlot, Plot};
//! use ir_eval::{Evaluator, eleven_point_precision};
//! let (mut qrels, mut run) = (Qrels::new(), Run::new("mine"));
//! qrels.insert("q1", "d1", 1);
//! run.push("q1", "d1", 0.5);
//! let report = Evaluator::new(&qrels, &eleven_point_precision())?.evaluate(&run)?;
//! let picture = CurvePlot::precision_recall(&[report]);
//! assert!(picture.to_svg().starts_with("<svg"));
//! assert!(picture.to_csv().starts_with("system,recall,interpolated precision\nmine,0,1\n"));
//! # Ok::<(), ir_eval::EvalError>(())
//! ```

mod canvas;
mod curves;
mod differences;
mod labels;
mod means;
mod scores;

pub use curves::{CurvePlot, PlotAxis};
pub use differences::QueryDifferencePlot;

pub(crate) use labels::printable;
pub use means::{PlottedScore, SystemScorePlot};
pub use scores::ScoresByRankPlot;

/// Something that can be drawn.
pub trait Plot {
    /// A short name, to be put above it.
    fn title(&self) -> String;

    /// What it shows, in words, for those who cannot see it. It stands in the SVG too.
    fn alt(&self) -> String;

    /// The picture: one SVG document of a fixed width of 400 pixels, on white.
    fn to_svg(&self) -> String;

    /// The numbers behind it: CSV with a header line, in full precision.
    fn to_csv(&self) -> String;
}

/// CSV out of rows of equal length.
fn csv(header: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Writing rows of one length to memory cannot fail.
    let written: Result<(), csv::Error> =
        std::iter::once(header.iter().map(|h| (*h).to_owned()).collect())
            .chain(rows)
            .try_for_each(|row: Vec<String>| writer.write_record(row));
    #[allow(clippy::expect_used, reason = "memory can always be written")]
    {
        written.expect("rows of one length");
        let bytes = writer.into_inner().expect("a vector");
        String::from_utf8(bytes).expect("text in, text out")
    }
}
