//! Values of conditions as engines compare them: numbers, and ranges of integers.

use std::cmp::Ordering;

use ir_core::Comparable;

use crate::error::RemoteError;

/// Number that an attribute is compared with, as the engine has it.
pub(crate) fn number(name: &str, value: &Comparable<'_>) -> Result<f64, RemoteError> {
    match *value {
        Comparable::Number(number) => Ok(number),
        Comparable::Integer(integer) => exact(name, integer),
        _ => Err(found_date(name)),
    }
}

/// Some numbers are years, some are dates as YYYYMMDD, and fractions of these are neither.
pub(crate) fn found_date(name: &str) -> RemoteError {
    RemoteError::filter(format!(
        "attribute {name:?}: expected a number such as a year, found a date, which the engine \
         cannot compare with numbers"
    ))
}

pub(crate) fn exact(name: &str, integer: i64) -> Result<f64, RemoteError> {
    let rounded = integer as f64;
    if rounded as i128 == i128::from(integer) {
        return Ok(rounded);
    }
    Err(RemoteError::filter(format!(
        "attribute {name:?}: expected a number of double precision, found {integer}"
    )))
}

/// Ranges of the integers of an attribute that pass a comparison with a value, ascending.
pub(crate) fn integers(
    name: &str,
    value: &Comparable<'_>,
    passes: fn(Ordering) -> bool,
) -> Vec<(i64, i64)> {
    let (years, dates) = (Comparable::YEARS, Comparable::BASIC_DATES);
    // Integers of a segment are all years, all dates or all other numbers: either none of them has
    // an order with the value, or the order ascends.
    let segments = [
        (i64::MIN, *years.start() - 1),
        (*years.start(), *years.end()),
        (*years.end() + 1, *dates.start() - 1),
        (*dates.start(), *dates.end()),
        (*dates.end() + 1, i64::MAX),
    ];
    let order = |n: i64| Comparable::Integer(n).in_attribute(name).compare(value);
    let mut ranges: Vec<(i64, i64)> = Vec::new();
    for (start, end) in segments {
        if order(start).is_none() {
            continue;
        }
        // First integer of the segment that is not less, and first one that is greater.
        let first = |is_reached: fn(Ordering) -> bool| {
            let (mut low, mut high) = (i128::from(start), i128::from(end) + 1);
            while low < high {
                let middle = low + (high - low) / 2;
                if order(middle as i64).is_some_and(is_reached) {
                    high = middle;
                } else {
                    low = middle + 1;
                }
            }
            low
        };
        let (equal, greater) = (first(Ordering::is_ge), first(Ordering::is_gt));
        let parts = [
            (i128::from(start), equal, Ordering::Less),
            (equal, greater, Ordering::Equal),
            (greater, i128::from(end) + 1, Ordering::Greater),
        ];
        for (from, to, found) in parts {
            if from >= to || !passes(found) {
                continue;
            }
            let (from, to) = (from as i64, (to - 1) as i64);
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == from => *last = to,
                _ => ranges.push((from, to)),
            }
        }
    }
    ranges
}
