//! Points that bound the scores of a set of postings.

use crate::norm;

/// A pair that bounds postings: no greater frequency, no smaller length, each in one byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Point {
    /// The frequency, rounded up, in the code of [`norm`].
    pub(crate) tf: u8,
    /// The length, rounded down, in the code of [`norm`].
    pub(crate) length: u8,
}

impl Point {
    pub(crate) const fn of(tf: u32, length: u32) -> Self {
        Self {
            tf: norm::encode_up(tf),
            length: norm::encode(length),
        }
    }

    const fn covers(self, other: Self) -> bool {
        self.tf >= other.tf && self.length <= other.length
    }
}

/// The points of `all` that no other covers, at most `limit`: where there are more, neighbours
/// are merged into a point that covers both. Ascending by frequency.
pub(crate) fn skyline(all: impl Iterator<Item = Point>, limit: usize) -> Vec<Point> {
    // Per code of frequency, the shortest length.
    let mut shortest = [None::<u8>; 256];
    for point in all {
        let slot = &mut shortest[point.tf as usize];
        *slot = Some(slot.map_or(point.length, |length| length.min(point.length)));
    }
    let mut points: Vec<Point> = Vec::new();
    for (tf, length) in shortest.iter().enumerate() {
        let Some(length) = *length else { continue };
        let point = Point {
            tf: tf as u8,
            length,
        };
        while points.last().is_some_and(|&last| point.covers(last)) {
            points.pop();
        }
        points.push(point);
    }
    while points.len() > limit.max(1) {
        // The codes are about logarithmic, so their distance is about the looseness of a merge.
        let looseness = |at: usize| {
            let (a, b) = (points[at], points[at + 1]);
            u32::from(b.tf - a.tf) + u32::from(b.length - a.length)
        };
        let Some(at) = (0..points.len() - 1).min_by_key(|&at| looseness(at)) else {
            break;
        };
        points[at + 1].length = points[at].length;
        points.remove(at);
    }
    points
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_posting_is_covered(
            postings in prop::collection::vec((1u32..300, 1u32..5000), 1..200),
            limit in 1usize..8,
        ) {
            let points = skyline(postings.iter().map(|&(tf, len)| Point::of(tf, len.max(tf))), limit);
            prop_assert!(points.len() <= limit && !points.is_empty());
            for (tf, len) in postings {
                let len = len.max(tf);
                prop_assert!(points.iter().any(|p| p.covers(Point::of(tf, len))
                    && norm::decode(p.tf) >= tf && norm::decode(p.length) <= len));
            }
            prop_assert!(points.windows(2).all(|w| w[0].tf < w[1].tf && w[0].length < w[1].length));
        }
    }
}
