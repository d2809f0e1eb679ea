//! Vectors side by side, one per SIMD lane.

use crate::simd::{Cpu, PRODUCT_LANES};

/// Number of rows in one call of [`Cpu::products`].
const ROWS_AT_ONCE: usize = 64;

/// Lane block of up to 16 row-major vectors, padded with zeros: component d of vector n is
/// `block[d][n]`.
pub(super) fn lane_block(dim: usize, rows: &[f32]) -> Vec<[f32; PRODUCT_LANES]> {
    let mut block = vec![[0.0; PRODUCT_LANES]; dim];
    for (lane, row) in rows.chunks_exact(dim).take(PRODUCT_LANES).enumerate() {
        for (values, &value) in block.iter_mut().zip(row) {
            values[lane] = value;
        }
    }
    block
}

/// Calls `take` with each row number, in order, and the products of the row with a lane block.
pub(super) fn for_each_row(
    cpu: Cpu,
    block: &[[f32; PRODUCT_LANES]],
    rows: &[f32],
    mut take: impl FnMut(usize, &[f32; PRODUCT_LANES]),
) {
    let mut products = [[0.0; PRODUCT_LANES]; ROWS_AT_ONCE];
    let dim = block.len();
    for (first, rows) in (0..)
        .step_by(ROWS_AT_ONCE)
        .zip(rows.chunks(ROWS_AT_ONCE * dim))
    {
        let products = &mut products[..rows.len() / dim];
        cpu.products(block, rows, products);
        cpu.vectorized(|| {
            for (row, products) in (first..).zip(&*products) {
                take(row, products);
            }
        });
    }
}
