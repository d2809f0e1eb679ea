//! t-SNE by the crate bhtsne.

use anyhow::{Context, Result};
use bhtsne::{Neighbor, tSNE};
use ir_knn::{CsrMatrix, KnnClassifier, TruncatedSvd, TruncatedSvdConfig};
use ndarray::Array2;

/// t-SNE map in two dimensions with openTSNE's settings, as in the benchmark: perplexity 30, PCA
/// initialization, 250 iterations with early exaggeration and 500 without, interpolated forces.
///
/// Deterministic: exact nearest neighbors, PCA initialization, forces summed by one thread.
pub(crate) fn tsne(rows: &Array2<f64>) -> Result<Array2<f64>> {
    let perplexity = 30.0_f64.min((rows.nrows() - 1) as f64 / 3.0);
    // Three times the perplexity, and the row itself.
    let nearest = KnnClassifier::new((3.0 * perplexity) as usize + 1).neighbors(rows, rows)?;
    let nearest = nearest.iter().enumerate().map(|(row, near)| {
        let others = near.iter().filter(|near| near.row as usize != row);
        let other = others.map(|near| Neighbor {
            index: near.row as usize,
            distance: near.distance,
        });
        other.take(near.len() - 1).collect()
    });
    let nearest: Vec<Vec<Neighbor<f64>>> = nearest.collect();
    let start = principal_axes(rows)?;
    let points: Vec<&[f64]> = rows
        .rows()
        .into_iter()
        .filter_map(|row| row.to_slice())
        .collect();
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let map = one_thread.install(|| {
        tSNE::<f64, &[f64], 2>::new(&points)
            .perplexity(perplexity)
            .epochs(750)
            .stop_lying_epoch(250)
            .initial_embedding(start)
            .fit_sne_with_neighbors(&nearest)
            .embedding()
    });
    Array2::from_shape_vec((rows.nrows(), 2), map).context("embedding shape")
}

/// Projection on the first two principal components, scaled to small values.
fn principal_axes(rows: &Array2<f64>) -> Result<Vec<f64>> {
    let (len, dim) = rows.dim();
    let mut mean = vec![0.0; dim];
    for row in rows.rows() {
        mean.iter_mut()
            .zip(row)
            .for_each(|(mean, value)| *mean += value / len as f64);
    }
    let centered = rows.rows().into_iter().flat_map(|row| {
        let centered = row.into_iter().zip(&mean).map(|(value, mean)| value - mean);
        centered.collect::<Vec<_>>()
    });
    let starts = (0..=len).map(|row| row * dim).collect();
    let columns = (0..len).flat_map(|_| 0..dim as u32).collect();
    let centered = CsrMatrix::new(dim, starts, columns, centered.collect())?;
    let svd = TruncatedSvd::fit(&centered, &TruncatedSvdConfig::new(2))?;
    // Standard deviation 0.0001 along the first component.
    let deviation = svd.singular_values()[0] / (len as f64).sqrt();
    let axes = svd.transform(&centered)?;
    Ok(axes.iter().map(|value| value / deviation * 1e-4).collect())
}
