//! Sample mean, standard deviation and quantiles.

/// Arithmetic mean; NaN for no values.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Rounding error of a value, relative to the magnitude of the numbers that it is computed from.
const ROUNDING: f64 = 1e-12;

/// Largest absolute value; 0 for no values.
pub(crate) fn magnitude(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most, value| most.max(value.abs()))
}

/// Returns `true` if all values are equal up to the rounding of numbers of this magnitude.
pub(crate) fn are_equal(values: &[f64], magnitude: f64) -> bool {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    high - low <= ROUNDING * magnitude
}

/// Sample standard deviation, with n − 1 in the denominator; `None` if all values are equal up to
/// rounding, so that the deviation computed from them would be a rounding error.
pub(crate) fn standard_deviation(values: &[f64]) -> Option<f64> {
    if are_equal(values, magnitude(values)) {
        return None;
    }
    let mean = mean(values);
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

/// Quantile of values in ascending order, linearly interpolated (type 7 of Hyndman and Fan, 1996,
/// the default of NumPy); NaN for no values.
pub(crate) fn quantile(sorted: &[f64], fraction: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else {
        return f64::NAN;
    };
    let position = fraction * last as f64;
    let (below, weight) = (position.floor() as usize, position.fract());
    sorted[below] + weight * (sorted[(below + 1).min(last)] - sorted[below])
}
