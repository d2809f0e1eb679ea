//! Curves: interpolated precision over recall, and measures over the cutoff.

use crate::decimal::Decimal;
use crate::evaluate::Report;
use crate::measure::{Formula, InterpolatedPrecision, Measure, RecallPoints};

/// Curve of one system: interpolated precision over recall, or a measure over its cutoff. Points
/// are in ascending order of x.
///
/// The report must contain the measures of all points; [`eleven_point_precision`] and
/// [`at_cutoffs`] list them.
///
/// ```
/// use ir_core::{Qrels, Run};
/// use ir_eval::runs::{MeasureCurve, at_cutoffs, eleven_point_precision};
/// use ir_eval::{Evaluator, Measure};
/// let (mut qrels, mut run) = (Qrels::new(), Run::new("mine"));
/// qrels.insert("q1", "d1", 1);
/// qrels.insert("q1", "d4", 1);
/// for (rank, doc) in ["d1", "d2", "d3", "d4"].iter().enumerate() {
///     run.push("q1", *doc, -(rank as f64));
/// }
/// let mut measures = eleven_point_precision();
/// measures.extend(at_cutoffs(Measure::R, &[1, 2, 3, 4]));
/// let report = Evaluator::new(&qrels, &measures)?.evaluate(&run)?;
///
/// let curve = MeasureCurve::precision_recall(&report);
/// assert_eq!(curve.points.first(), Some(&(0.0, 1.0)));
/// assert_eq!(curve.points.last(), Some(&(1.0, 0.5)));
///
/// let curve = MeasureCurve::over_cutoffs(&report, Measure::R);
/// assert_eq!(curve.points, [(1.0, 0.5), (2.0, 0.5), (3.0, 0.5), (4.0, 1.0)]);
/// # Ok::<(), ir_eval::EvalError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MeasureCurve {
    /// Name of the system.
    pub system: String,
    /// x, and the score over all queries.
    pub points: Vec<(f64, f64)>,
}

impl MeasureCurve {
    /// Interpolated precision over recall, from the [`InterpolatedPrecision`] measures of a report.
    #[must_use]
    pub fn precision_recall(report: &Report) -> Self {
        Self::from_measures(report, |measure| match measure.formula() {
            Formula::InterpolatedPrecision(InterpolatedPrecision { recall }) => {
                Some(recall.to_f64())
            }
            _ => None,
        })
    }

    /// A measure over the cutoff, from all cutoffs of the measure in a report. The cutoff of
    /// `measure` itself is ignored.
    #[must_use]
    pub fn over_cutoffs(report: &Report, measure: Measure) -> Self {
        Self::from_measures(report, |other| {
            let cutoff = other.cutoff()?;
            let same = other.formula() == measure.formula() && other.level() == measure.level();
            same.then_some(f64::from(cutoff))
        })
    }

    fn from_measures(report: &Report, x: impl Fn(&Measure) -> Option<f64>) -> Self {
        let point = |measure: &Measure| Some((x(measure)?, report.summary(*measure)?));
        let mut points: Vec<(f64, f64)> = report.measures().iter().filter_map(point).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Self {
            system: report.run().to_owned(),
            points,
        }
    }
}

/// Interpolated precision at the recall levels 0, 0.1, …, 1.
#[must_use]
pub fn eleven_point_precision() -> Vec<Measure> {
    let at = |&recall: &Decimal| Measure::from(InterpolatedPrecision { recall });
    RecallPoints::ELEVEN.as_slice().iter().map(at).collect()
}

/// A measure at several cutoffs; zeros are skipped. Empty for a measure without cutoff.
#[must_use]
pub fn at_cutoffs(measure: Measure, cutoffs: &[u32]) -> Vec<Measure> {
    if !measure.formula().takes_cutoff() {
        return Vec::new();
    }
    let cutoffs = cutoffs.iter().filter(|&&k| k > 0);
    cutoffs.map(|&k| measure.at(k)).collect()
}

/// Cutoffs up to a depth for a smooth curve on a logarithmic axis: all up to 20, then 35 per
/// decade, round numbers included, and the depth itself.
///
/// ```
/// let cutoffs = ir_eval::runs::log_spaced_cutoffs(1000);
/// assert_eq!(cutoffs[..20], (1..=20).collect::<Vec<u32>>());
/// assert_eq!(cutoffs.last(), Some(&1000));
/// assert!([50, 100, 200, 500].iter().all(|k| cutoffs.contains(k)));
/// assert_eq!(cutoffs.len(), 80);
/// ```
#[must_use]
pub fn log_spaced_cutoffs(depth: u32) -> Vec<u32> {
    let mut cutoffs: Vec<u32> = (1..=depth.min(20)).collect();
    let (mut at, depth) = (20, u64::from(depth));
    // From 20 to 50 in steps of 2, to 100 in steps of 5, to 200 in steps of 10, and so on.
    let mut steps = [2_u64, 5, 10];
    while at < depth {
        for (step, end) in [(0, 25), (1, 20), (2, 20)] {
            let end = steps[step] * end;
            while at < end.min(depth) {
                at = (at + steps[step]).min(depth);
                cutoffs.push(at as u32);
            }
        }
        steps = steps.map(|step| step * 10);
    }
    cutoffs
}
