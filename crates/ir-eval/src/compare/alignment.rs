//! Alignment of reports: unique names, equal rules and measures, common queries.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::CompareError;
use crate::evaluate::Report;
use crate::measure::{Measure, Summary};
use crate::statistics::{are_equal, magnitude};

/// Run tags, numbered where they repeat: `bm25`, `bm25 (2)`.
pub(super) fn unique_names(reports: &[Report]) -> Vec<String> {
    let mut names: Vec<String> = Vec::with_capacity(reports.len());
    for report in reports {
        let tag = match report.run() {
            "" => "(no name)",
            tag => tag,
        };
        let mut name = tag.to_owned();
        let mut number = 2;
        while names.contains(&name) {
            name = format!("{tag} ({number})");
            number += 1;
        }
        names.push(name);
    }
    names
}

/// Requires at least two reports that one evaluator made, and returns their unique names.
pub(super) fn check_comparable(reports: &[Report]) -> Result<Vec<String>, CompareError> {
    let found = reports.len();
    if found < 2 {
        return Err(CompareError::TooFewSystems { found });
    }
    let names = unique_names(reports);
    for (other, name) in reports.iter().zip(&names).skip(1) {
        check_pair(&reports[0], &names[0], other, name)?;
    }
    Ok(names)
}

fn check_pair(
    one: &Report,
    one_name: &str,
    other: &Report,
    other_name: &str,
) -> Result<(), CompareError> {
    let (first, second) = (one_name.to_owned(), other_name.to_owned());
    if one.rules() != other.rules() {
        return Err(CompareError::Rules { first, second });
    }
    if one.measures() != other.measures() {
        return Err(CompareError::Measures { first, second });
    }
    // A query without relevant documents may be missing in one report and not count in the other.
    check_queries(
        one,
        evaluated_queries(other).chain(other.missing()),
        [&first, &second],
    )?;
    check_queries(
        other,
        evaluated_queries(one).chain(one.missing()),
        [&second, &first],
    )
}

/// Requires that another report has all evaluated queries of a report.
pub(super) fn check_queries<'a>(
    report: &Report,
    others: impl Iterator<Item = &'a str>,
    [first, second]: [&str; 2],
) -> Result<(), CompareError> {
    let others: BTreeSet<&str> = others.collect();
    match evaluated_queries(report).find(|query| !others.contains(query)) {
        None => Ok(()),
        Some(query) => Err(CompareError::Queries {
            first: first.to_owned(),
            second: second.to_owned(),
            query: query.to_owned(),
        }),
    }
}

/// Values of a measure per query.
pub(super) fn values(
    report: &Report,
    measure: Measure,
) -> Result<impl Iterator<Item = f64>, CompareError> {
    let measure_error = || CompareError::Measure {
        measure: Box::new(measure),
    };
    report.values(measure).ok_or_else(measure_error)
}

pub(super) fn evaluated_queries(report: &Report) -> impl Iterator<Item = &str> {
    report.queries().iter().map(|query| query.query())
}

/// The reports, restricted to the queries that all of them have: at least two.
pub(super) fn on_common_queries(reports: &[Report]) -> Result<Vec<Cow<'_, Report>>, CompareError> {
    let mut common: BTreeSet<&str> = evaluated_queries(&reports[0]).collect();
    for report in &reports[1..] {
        let here: BTreeSet<&str> = evaluated_queries(report).collect();
        common.retain(|query| here.contains(query));
    }
    if common.len() < 2 {
        let found = common.len();
        return Err(CompareError::TooFewQueries { found });
    }
    let on_common = |report| -> Cow<'_, Report> {
        let report: &Report = report;
        if report.queries.len() == common.len() {
            return Cow::Borrowed(report);
        }
        let mut report = report.clone();
        report
            .queries
            .retain(|query| common.contains(query.query.as_str()));
        Cow::Owned(report)
    };
    Ok(reports.iter().map(on_common).collect())
}

/// Differences per query between two systems, on the scale on which the measure averages.
/// Differences that are all equal up to the rounding of the values are made equal, so that the
/// rounding errors are not tested.
pub(super) fn differences_on_averaging_scale(
    measure: Measure,
    values: &[f64],
    against: &[f64],
) -> Vec<f64> {
    let values = on_averaging_scale(measure, values);
    let against = on_averaging_scale(measure, against);
    let pairs = values.iter().zip(&against);
    let mut differences: Vec<f64> = pairs.map(|(value, against)| value - against).collect();
    let largest = magnitude(&values).max(magnitude(&against));
    if let Some(&first) = differences.first()
        && are_equal(&differences, largest)
    {
        let is_zero = are_equal(&[0.0, first], largest);
        differences.fill(if is_zero { 0.0 } else { first });
    }
    differences
}

/// Values on the scale on which the measure averages: logarithms for geometric means.
pub(super) fn on_averaging_scale(measure: Measure, values: &[f64]) -> Vec<f64> {
    match measure.summary() {
        Summary::Mean | Summary::Sum => values.to_vec(),
        Summary::GeometricMean => values.iter().map(|v| v.max(Summary::FLOOR).ln()).collect(),
    }
}
