//! Sample mean, standard deviation and quantiles.

/// Arithmetic mean; NaN for no values.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Sample standard deviation, with n − 1 in the denominator.
pub(crate) fn standard_deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    (squares / (values.len() - 1) as f64).sqrt()
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
