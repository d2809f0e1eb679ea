//! Lower bounds of the k-th highest score of a posting list, for an initial threshold.
//!
//! # Source
//! Kane and Tompa, "Split-Lists and Initial Thresholds for WAND-based Search", SIGIR 2018, store
//! the k-th highest score of every term. Frequencies and lengths in its place serve all BM25
//! parameters.

use super::Posting;
use crate::small_float;

/// Numbers of postings that have a bound.
const DEPTHS: [usize; 3] = [10, 100, 1000];
/// Minimum frequencies of the bounds of a depth.
const FREQUENCIES: [u32; 3] = [1, 2, 4];
/// In place of a length code: too few postings have the frequency.
const NONE: u8 = u8::MAX;

/// Maximum size in bytes.
pub(super) const MAX_SIZE: usize = DEPTHS.len() * FREQUENCIES.len();

/// Size in bytes for a list with this document frequency.
pub(super) fn size(df: u32) -> usize {
    let depths = DEPTHS.iter().filter(|&&depth| depth <= df as usize);
    FREQUENCIES.len() * depths.count()
}

/// Appends, for every depth up to the number of postings and every minimum frequency, the length
/// code that as many postings with this frequency do not exceed.
pub(super) fn write(postings: &[Posting], length: impl Fn(u32) -> u32, to: &mut Vec<u8>) {
    if postings.len() < DEPTHS[0] {
        return;
    }
    // Number of postings by minimum frequency and length code.
    let mut counts = [[0_usize; 256]; FREQUENCIES.len()];
    for posting in postings {
        let code = usize::from(small_float::encode(length(posting.doc)));
        let rows = counts.iter_mut().zip(FREQUENCIES);
        rows.filter(|&(_, tf)| tf <= posting.tf)
            .for_each(|(row, _)| row[code] += 1);
    }
    for depth in DEPTHS.into_iter().filter(|&depth| depth <= postings.len()) {
        for row in &counts {
            let mut total = 0;
            let code = row.iter().position(|n| {
                total += n;
                total >= depth
            });
            to.push(code.map_or(NONE, |code| code as u8));
        }
    }
}

/// Reads frequencies and length codes from the bytes of a list. For each pair, at least `k`
/// postings have no lower frequency and no higher code.
pub(super) fn read(bytes: &[u8], k: usize) -> impl Iterator<Item = (u32, u8)> + use<'_> {
    let bounds = bytes.chunks_exact(FREQUENCIES.len()).zip(DEPTHS);
    let bound = bounds.filter(move |&(_, depth)| depth >= k).take(1);
    bound.flat_map(|(codes, _)| {
        let pairs = FREQUENCIES.into_iter().zip(codes.iter().copied());
        pairs.filter(|&(_, code)| code != NONE)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn as_many_postings_are_as_good(
            pairs in prop::collection::vec((1_u32..7, 1_u32..90), 1..1500),
            k in 1_usize..1200,
        ) {
            let postings: Vec<Posting> = (0..).zip(&pairs).map(|(doc, &(tf, _))| Posting { doc, tf }).collect();
            let mut bytes = Vec::new();
            write(&postings, |doc| pairs[doc as usize].1, &mut bytes);
            prop_assert_eq!(bytes.len(), size(pairs.len() as u32));
            let bounds: Vec<_> = read(&bytes, k).collect();
            // The next depth has a bound if the list is as long.
            let depth = DEPTHS.into_iter().find(|&depth| depth >= k);
            let depth = depth.filter(|&depth| depth <= pairs.len());
            prop_assert_eq!(bounds.first().map(|&(tf, _)| tf), depth.map(|_| 1));
            for (tf, code) in bounds {
                let count = |code: u8| {
                    let good = pairs.iter().filter(|pair| pair.0 >= tf && small_float::encode(pair.1) <= code);
                    good.count()
                };
                let depth = depth.unwrap_or(usize::MAX);
                prop_assert!(count(code) >= depth && count(code - 1) < depth);
            }
        }
    }
}
