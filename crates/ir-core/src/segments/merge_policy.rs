//! Merge policy: which segments of an index are merged after a commit.
//!
//! Source: log-structured merging of adjacent segments: Büttcher, Clarke and Cormack, "Information
//! Retrieval", 2010, section 7.3; Lucene's `LogMergePolicy`.

use std::ops::Range;

use super::segment::{Segment, SegmentIndex};

/// Segments with fewer documents count as having this many.
const MIN_SEGMENT: usize = 1024;
/// A segment with a larger fraction of deleted documents is rewritten.
const MAX_DELETED: f64 = 0.25;

/// The next range of segments to merge: a segment with many deleted documents, or adjacent ones
/// of similar size if there are enough.
pub(super) fn segments_to_merge<I: SegmentIndex>(
    segments: &[Segment<I>],
    factor: usize,
) -> Option<Range<usize>> {
    let is_sparse = |segment: &Segment<I>| {
        let fraction = segment.live() as f64 / segment.index.ids().len() as f64;
        1.0 - fraction > MAX_DELETED
    };
    if let Some(at) = segments.iter().position(is_sparse) {
        return Some(at..at + 1);
    }
    let level = |segment: &Segment<I>| {
        let size = segment.live().max(MIN_SEGMENT) as f64 / MIN_SEGMENT as f64;
        size.log(factor as f64).floor()
    };
    let levels: Vec<f64> = segments.iter().map(level).collect();
    let highest = levels.iter().copied().fold(0.0, f64::max) as u32;
    (0..=highest).find_map(|level| level_to_merge(&levels, f64::from(level), factor))
}

/// The newest range of adjacent segments that has `factor` of a level, starts and ends with one,
/// and has none of a higher level.
fn level_to_merge(levels: &[f64], level: f64, factor: usize) -> Option<Range<usize>> {
    let mut end = levels.len();
    while end > 0 {
        let start = levels[..end].iter().rposition(|&other| other > level);
        let start = start.map_or(0, |higher| higher + 1);
        let of_level = |at: &usize| levels[*at] == level;
        let mut found = (start..end).filter(of_level);
        let (first, last) = (found.next(), found.next_back());
        if let (Some(first), Some(last)) = (first, last)
            && (first..=last).filter(of_level).count() >= factor
        {
            return Some(first..last + 1);
        }
        end = start.saturating_sub(1);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_of_a_level_are_merged() {
        let merged = |levels: &[f64], level| level_to_merge(levels, level, 3);
        assert_eq!(merged(&[], 0.0), None);
        assert_eq!(merged(&[0.0, 0.0], 0.0), None);
        assert_eq!(merged(&[0.0, 0.0, 0.0], 0.0), Some(0..3));
        assert_eq!(merged(&[2.0, 1.0, 0.0, 0.0, 0.0], 0.0), Some(2..5));
        // Small segments in between are merged, those after the range are not.
        assert_eq!(merged(&[1.0, 0.0, 1.0, 1.0, 0.0, 0.0], 1.0), Some(0..4));
        assert_eq!(merged(&[1.0, 1.0, 2.0, 1.0, 0.0], 1.0), None);
        assert_eq!(merged(&[1.0, 1.0, 1.0, 2.0, 1.0, 0.0], 1.0), Some(0..3));
    }
}
