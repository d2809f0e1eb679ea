//! t-SNE, by the crate bhtsne.

use anyhow::{Context, Result};
use bhtsne::{Neighbor, tSNE};
use ir_knn::{DenseRows, Knn, SparseRows, Svd, SvdConfig};

/// A map of vectors in two dimensions, by the settings of the benchmark, which are openTSNE's: 30
/// effective neighbours, the first two principal axes to begin with, 250 steps with exaggerated
/// attraction and 500 without, forces by interpolation.
///
/// Same vectors, same map: nearest neighbours are exact, the beginning is no random one, and one
/// thread adds up the forces.
pub(crate) fn tsne(rows: &DenseRows) -> Result<DenseRows> {
    let perplexity = 30.0_f64.min((rows.len() - 1) as f64 / 3.0);
    // Three times as many neighbours as count, and the row itself.
    let nearest = Knn::new((3.0 * perplexity) as usize + 1).nearest(rows, rows)?;
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
    let points: Vec<&[f64]> = rows.iter().collect();
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
    DenseRows::new(2, map).context("a map of the vectors")
}

/// Where rows lie along the two directions in which they vary most, all close to 0.
fn principal_axes(rows: &DenseRows) -> Result<Vec<f64>> {
    let (len, dim) = (rows.len(), rows.dim());
    let mut mean = vec![0.0; dim];
    for row in rows {
        mean.iter_mut()
            .zip(row)
            .for_each(|(mean, value)| *mean += value / len as f64);
    }
    let centred = rows
        .iter()
        .flat_map(|row| row.iter().zip(&mean).map(|(value, mean)| value - mean));
    let starts = (0..=len).map(|row| row * dim).collect();
    let columns = (0..len).flat_map(|_| 0..dim as u32).collect();
    let centred = SparseRows::new(dim, starts, columns, centred.collect())?;
    let svd = Svd::fit(&centred, &SvdConfig::components(2))?;
    // Along the first, a deviation of 0.0001.
    let deviation = svd.singular_values()[0] / (len as f64).sqrt();
    let axes = svd.transform(&centred)?;
    Ok(axes
        .values()
        .iter()
        .map(|value| value / deviation * 1e-4)
        .collect())
}
