//! z-scores: values relative to the values of a reference set of runs.

use std::collections::BTreeMap;
use std::io::BufRead;

use ir_core::trec::{ColumnReader, Parsed, TrecReadError, TrecWarnings, parse_number};

/// Mean and standard deviation of each query and measure over a reference set of runs.
///
/// The z-score of a value, (value − mean) / standard deviation, shows how a system compares with
/// the reference on a query, whether the query is easy or hard. trec_eval's `-Z`.
///
/// Webber, Moffat and Zobel, "Score standardization for inter-collection comparison of retrieval
/// systems", SIGIR 2008.
///
/// ```
/// use ir_eval::ZScores;
/// // Query, measure (trec_eval's name), mean, standard deviation.
/// let reference = ZScores::read("q1 map 0.25 0.1\n".as_bytes(), "zscores")?.data;
/// assert_eq!(reference.zscore("q1", "map", 0.5), Some(2.5));
/// assert_eq!(reference.zscore("q1", "P_5", 0.5), None);
/// # Ok::<(), ir_core::trec::TrecReadError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ZScores {
    queries: BTreeMap<String, BTreeMap<String, (f64, f64)>>,
}

impl ZScores {
    /// Value that trec_eval prints if there is no z-score.
    pub const MISSING: f64 = -1_000_000.0;

    /// Sets the mean and standard deviation of a query and measure. Returns the previous ones.
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

    /// Reads trec_eval's format: four columns with query, measure, mean and standard deviation.
    /// Blank lines and lines that start with `#` are skipped.
    ///
    /// # Errors
    /// If a line has another number of columns, or reading fails.
    pub fn read(input: impl BufRead, source: &str) -> Result<Parsed<Self>, TrecReadError> {
        let mut rows = ColumnReader::new(input, source);
        let mut warnings = TrecWarnings::new(source);
        let mut data = Self::default();
        while let Some((line, [query, measure, mean, deviation])) = rows.next_row("4")? {
            let mut read = |name: &str, text: &str| {
                let number = parse_number(text).unwrap_or(0.0);
                if !text.parse::<f64>().is_ok_and(f64::is_finite) {
                    warnings.push(line, format!("the {name} {text:?} was read as {number}"));
                }
                number
            };
            let mean = read("mean", mean);
            let deviation = read("standard deviation", deviation);
            if data.insert(query, measure, mean, deviation).is_some() {
                let message =
                    format!("{measure} of query {query:?} is repeated; the last line counts");
                warnings.push(line, message);
            }
        }
        Ok(Parsed {
            data,
            warnings: warnings.finish(),
        })
    }

    /// z-score of a value. `None` if the reference does not contain the query and measure, or if
    /// the standard deviation is 0 and the value differs from the mean.
    #[must_use]
    pub fn zscore(&self, query: &str, measure: &str, value: f64) -> Option<f64> {
        let &(mean, deviation) = self.queries.get(query)?.get(measure)?;
        if deviation != 0.0 {
            Some((value - mean) / deviation)
        } else {
            (value == mean).then_some(0.0)
        }
    }
}
