//! trec_eval's choice of measures and its output, byte for byte.
//!
//! A [`Selection`] is what trec_eval's `-m` options choose; [`Selection::write`] prints a report as
//! trec_eval prints it: the measure's name in 22 columns, a tab, the query or `all`, a tab, the
//! value with four decimals. A [`Sheet`] holds the same lines before they are printed.
//!
//! ```
//! use ir_core::trec::{self, Header};
//! use ir_eval::Rules;
//! use ir_eval::trec_eval::{Detail, Selection};
//!
//! let qrels = trec::read_qrels("q1 0 d1 1\nq1 0 d2 0\n".as_bytes(), "qrels", Header::AsData)?;
//! let run = trec::read_run("q1 Q0 d2 1 2.5 me\nq1 Q0 d1 2 1.5 me\n".as_bytes(), "run", Header::AsData)?;
//! let selection = Selection::parse(&["P.1,5", "map"])?;
//! let report = selection.evaluator(&qrels.data, Rules::default())?.evaluate(&run.data)?;
//! let mut out = Vec::new();
//! selection.write(&report, Detail::Summary, &mut out)?;
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
//! trec_eval reads judgments in several forms ([`Judgments`]), and each has measures of its own.
//!
//! ```
//! use ir_core::Run;
//! use ir_eval::preferences;
//! use ir_eval::trec_eval::{Detail, Judgments, Selection};
//! use ir_eval::{Generation, Rules};
//!
//! let preferences = preferences::read("q1 ann 0 a 2\nq1 ann 0 b 1\n".as_bytes(), "prefs")?;
//! let mut run = Run::new("mine");
//! run.push("q1", "a", 1.0);
//! let selection = Selection::parse_for(Judgments::Preferences, &["prefs_simp"], Generation::V10)?;
//! let report = preferences.data.evaluate(&run, &selection.preferences(), Rules::default())?;
//! let mut out = Vec::new();
//! selection.sheet_of_preferences(&report).write(Detail::Summary, &mut out)?;
//! assert_eq!(String::from_utf8(out)?, "prefs_simp            \tall\t1.0000\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod selection;
mod sheet;

pub use selection::{Judgments, Selection};
pub use sheet::{Cell, Line, Sheet};

/// How much is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Detail {
    /// The values over all queries.
    #[default]
    Summary,
    /// The values of each query: trec_eval's `-q -n`.
    Queries,
    /// Both: `-q`.
    QueriesAndSummary,
}
