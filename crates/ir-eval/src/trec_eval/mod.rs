//! trec_eval's `-m` options and its output, byte for byte.
//!
//! A [`MeasureSelection`] is what trec_eval's `-m` options select. [`MeasureSelection::write`]
//! prints a report in trec_eval's format: the measure's name padded to 22 columns, a tab, the query
//! or `all`, a tab, the value with four decimals. A [`TrecEvalOutput`] holds the same lines as
//! values.
//!
//! ```
//! use ir_core::trec;
//! use ir_core::trec::HeaderLine;
//! use ir_eval::Rules;
//! use ir_eval::trec_eval::{MeasureSelection, OutputDetail};
//!
//! let qrels = trec::read_qrels("q1 0 d1 1\nq1 0 d2 0\n".as_bytes(), "qrels", HeaderLine::AsData)?;
//! let run = "q1 Q0 d2 1 2.5 me\nq1 Q0 d1 2 1.5 me\n";
//! let run = trec::read_run(run.as_bytes(), "run", HeaderLine::AsData)?;
//! let selection = MeasureSelection::parse(&["P.1,5", "map"])?;
//! let report = selection.evaluator(&qrels.data, Rules::default())?.evaluate(&run.data)?;
//! let mut out = Vec::new();
//! selection.write(&report, OutputDetail::Summary, &mut out)?;
//! assert_eq!(
//!     String::from_utf8(out)?,
//!     "map                   \tall\t0.5000\n\
//!      P_1                   \tall\t0.0000\n\
//!      P_5                   \tall\t0.2000\n"
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Other judgments
//! trec_eval reads several kinds of judgments ([`JudgmentKind`]), each with its own measures.
//!
//! ```
//! use ir_core::Run;
//! use ir_eval::assess::preferences;
//! use ir_eval::trec_eval::{JudgmentKind, MeasureSelection, OutputDetail};
//! use ir_eval::{Rules, TrecEvalVersion};
//!
//! let preferences = preferences::read("q1 ann 0 a 2\nq1 ann 0 b 1\n".as_bytes(), "prefs")?;
//! let mut run = Run::new("mine");
//! run.push("q1", "a", 1.0);
//! let kind = JudgmentKind::Preferences;
//! let selection = MeasureSelection::parse_for(kind, &["prefs_simp"], TrecEvalVersion::V10)?;
//! let measures = selection.preference_measures();
//! let report = preferences.data.evaluate(&run, &measures, Rules::default())?;
//! let mut out = Vec::new();
//! selection.preference_output(&report).write(OutputDetail::Summary, &mut out)?;
//! assert_eq!(String::from_utf8(out)?, "prefs_simp            \tall\t1.0000\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod output;
mod selection;
mod zscores;

pub use output::{OutputDetail, OutputLine, OutputValue, TrecEvalOutput};
pub use selection::{JudgmentKind, MeasureSelection};
pub use zscores::ZScores;
