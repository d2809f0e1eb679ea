//! Values in units of how much systems differ.

use std::collections::BTreeMap;
use std::io::BufRead;

use ir_core::trec::{Oddities, Parsed, Rows, TrecError, number};

/// What a reference set of runs achieved: for every query and measure, the mean and the standard
/// deviation. A value in their terms, (value − mean) / deviation, is a z-score: it says how a system
/// compares with the others on a query, easy or hard. trec_eval's `-Z`.
///
/// Webber, Moffat and Zobel, "Score standardization for inter-collection comparison of retrieval
/// systems", SIGIR 2008.
///
/// ```
/// use ir_eval::ZScores;
/// // Query, measure by trec_eval's name, mean, standard deviation.
/// let scores = ZScores::read("q1 map 0.25 0.1\n".as_bytes(), "zscores")?.data;
/// assert_eq!(scores.of("q1", "map", 0.5), Some(2.5));
/// assert_eq!(scores.of("q1", "P_5", 0.5), None);
/// # Ok::<(), ir_core::trec::TrecError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ZScores {
    queries: BTreeMap<String, BTreeMap<String, (f64, f64)>>,
}

impl ZScores {
    /// What trec_eval prints where there is no z-score.
    pub const MISSING: f64 = -1_000_000.0;

    /// No reference yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Records what the reference runs achieved for a query by a measure, and gives what stood
    /// there before.
    pub fn insert(
        &mut self,
        query: &str,
        measure: &str,
        mean: f64,
        deviation: f64,
    ) -> Option<(f64, f64)> {
        let measures = self.queries.entry(query.to_owned()).or_default();
        measures.insert(measure.to_owned(), (mean, deviation))
    }

    /// Reads trec_eval's format: query, measure, mean, standard deviation, in four columns. Blank
    /// lines and lines that begin with `#` are skipped.
    ///
    /// # Errors
    /// When a line has other columns or the file cannot be read.
    pub fn read(input: impl BufRead, source: &str) -> Result<Parsed<Self>, TrecError> {
        let mut rows = Rows::new(input, source);
        let mut odd = Oddities::new(source);
        let mut data = Self::new();
        while let Some((line, [query, measure, mean, deviation])) = rows.next_row("4")? {
            let mut figure = |name: &str, text: &str| {
                let figure = number(text).unwrap_or(0.0);
                if !text.parse::<f64>().is_ok_and(f64::is_finite) {
                    odd.push(line, format!("the {name} {text:?} was read as {figure}"));
                }
                figure
            };
            let mean = figure("mean", mean);
            let deviation = figure("standard deviation", deviation);
            if data.insert(query, measure, mean, deviation).is_some() {
                let what = format!("{measure} of query {query:?} stands there twice; this counts");
                odd.push(line, what);
            }
        }
        Ok(Parsed {
            data,
            oddities: odd.finish(),
        })
    }

    /// The z-score of a value. `None` where the reference says nothing, or where all its runs
    /// achieved the same and this value is another.
    #[must_use]
    pub fn of(&self, query: &str, measure: &str, value: f64) -> Option<f64> {
        let &(mean, deviation) = self.queries.get(query)?.get(measure)?;
        if deviation != 0.0 {
            Some((value - mean) / deviation)
        } else {
            (value == mean).then_some(0.0)
        }
    }
}
