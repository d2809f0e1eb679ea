//! Impacts: (frequency, length) pairs that bound the scores of a set of postings.

use crate::small_float;

/// A pair that bounds a set of postings: none has a higher frequency, none a smaller length. Both
/// are in the one-byte encoding of [`small_float`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Impact {
    /// Term frequency, rounded up.
    pub(crate) tf: u8,
    /// Document length, rounded down.
    pub(crate) length: u8,
}

impl Impact {
    pub(crate) const fn new(tf: u32, length: u32) -> Self {
        Self {
            tf: small_float::encode_up(tf),
            length: small_float::encode(length),
        }
    }

    const fn dominates(self, other: Self) -> bool {
        self.tf >= other.tf && self.length <= other.length
    }
}

/// The impacts of `all` that no other dominates (the skyline), ascending by frequency. Above
/// `limit`, neighbors are merged into an impact that dominates both.
pub(crate) fn competitive_impacts(all: impl Iterator<Item = Impact>, limit: usize) -> Vec<Impact> {
    // The smallest length of every frequency.
    let mut shortest = [None::<u8>; 256];
    for impact in all {
        let slot = &mut shortest[impact.tf as usize];
        *slot = Some(slot.map_or(impact.length, |length| length.min(impact.length)));
    }
    let mut impacts: Vec<Impact> = Vec::new();
    for (tf, length) in shortest.iter().enumerate() {
        let Some(length) = *length else { continue };
        let impact = Impact {
            tf: tf as u8,
            length,
        };
        while impacts.last().is_some_and(|&last| impact.dominates(last)) {
            impacts.pop();
        }
        impacts.push(impact);
    }
    while impacts.len() > limit.max(1) {
        // The encoding is about logarithmic, so the distance of two codes measures how loose the
        // bound of their merger is.
        let looseness = |at: usize| {
            let (a, b) = (impacts[at], impacts[at + 1]);
            u32::from(b.tf - a.tf) + u32::from(b.length - a.length)
        };
        let Some(at) = (0..impacts.len() - 1).min_by_key(|&at| looseness(at)) else {
            break;
        };
        impacts[at + 1].length = impacts[at].length;
        impacts.remove(at);
    }
    impacts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_posting_is_dominated(
            postings in prop::collection::vec((1u32..300, 1u32..5000), 1..200),
            limit in 1usize..8,
        ) {
            let impacts = competitive_impacts(postings.iter().map(|&(tf, len)| Impact::new(tf, len.max(tf))), limit);
            prop_assert!(impacts.len() <= limit && !impacts.is_empty());
            for (tf, len) in postings {
                let len = len.max(tf);
                prop_assert!(impacts.iter().any(|p| p.dominates(Impact::new(tf, len))
                    && small_float::decode(p.tf) >= tf && small_float::decode(p.length) <= len));
            }
            prop_assert!(impacts.windows(2).all(|w| w[0].tf < w[1].tf && w[0].length < w[1].length));
        }
    }
}
