//! Ids and document numbers of an index of several segments.
//!
//! Documents are numbered anew, not by segment: equal scores are ordered by id or by insertion, so
//! that rankings would depend on the history of writes. The map is computed when a number is first
//! used, by a search for the ids of the smaller segments in the largest segment: opening
//! takes constant time, and the first search a time proportional to the documents outside the
//! largest segment.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use super::{DocIds, DocNum, DocSet};

/// Document numbering of an index of several segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SegmentOrder {
    /// Segment by segment, in the order of insertion.
    Insertion,
    /// By ascending id. The ids of every segment must ascend.
    Id,
}

/// Ids and numbers of the documents of several segments that are not deleted, as in one index built
/// from these documents. Cheap to clone.
///
/// The numbers are computed when the first of them is used. This searches for each id outside the
/// largest segment in the ids of the largest segment, and takes a few bytes of memory per such id.
/// With [`SegmentOrder::Insertion`], it takes a few bytes per deleted document.
///
/// ```
/// use ir_core::{DocIds, DocNum, DocSet, SegmentOrder, SegmentedIds};
/// let old: DocIds = ["a", "c", "d"].into_iter().collect();
/// let new: DocIds = ["b", "d"].into_iter().collect();
/// let deleted: DocSet = [DocNum::new(2)].into_iter().collect();
/// let segments = vec![(old, deleted), (new, DocSet::new())];
/// let ids = SegmentedIds::new(segments, SegmentOrder::Id);
/// assert!(DocIds::from(ids.clone()).iter().eq(["a", "b", "c", "d"]));
/// assert_eq!(ids.numbers(1).number(DocNum::new(0)), DocNum::new(1));
/// assert_eq!(ids.locate(DocNum::new(3)), Some((1, DocNum::new(1))));
/// ```
#[derive(Clone)]
pub struct SegmentedIds {
    inner: Arc<Inner>,
}

struct Inner {
    segments: Vec<(DocIds, DocSet)>,
    order: SegmentOrder,
    len: usize,
    numbers: OnceLock<Vec<SegmentNumbers>>,
}

impl SegmentedIds {
    /// Ids of segments with their deleted documents. An id may have one document that is not
    /// deleted.
    #[must_use]
    pub fn new(segments: Vec<(DocIds, DocSet)>, order: SegmentOrder) -> Self {
        let live = |(ids, deleted): &(DocIds, DocSet)| ids.len() - deleted.size();
        let inner = Inner {
            len: segments.iter().map(live).sum(),
            segments,
            order,
            numbers: OnceLock::new(),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Number of documents that are not deleted.
    #[must_use]
    pub fn len(&self) -> usize {
        self.inner.len
    }

    /// Returns whether all documents are deleted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Numbers of the documents of a segment.
    ///
    /// # Panics
    /// If there are at most `segment` segments.
    #[must_use]
    pub fn numbers(&self, segment: usize) -> &SegmentNumbers {
        &self.all_numbers()[segment]
    }

    fn all_numbers(&self) -> &[SegmentNumbers] {
        let Inner {
            segments, order, ..
        } = &*self.inner;
        self.inner.numbers.get_or_init(|| {
            let mut numbering = Numbering::new(segments);
            match order {
                SegmentOrder::Insertion => numbering.number_segments(),
                SegmentOrder::Id => numbering.number_by_id(),
            }
            numbering.finish()
        })
    }

    /// Segment of a document and its number there; [`None`] if there are at most `doc` documents.
    #[must_use]
    pub fn locate(&self, doc: DocNum) -> Option<(usize, DocNum)> {
        let mut segments = self.inner.segments.iter().zip(self.all_numbers());
        segments
            .by_ref()
            .enumerate()
            .find_map(|(segment, ((ids, deleted), numbers))| {
                let local = numbers.local(doc, deleted)?;
                (local.index() < ids.len()).then_some((segment, local))
            })
    }

    pub(super) fn at(&self, n: usize) -> &str {
        let located = u32::try_from(n)
            .ok()
            .and_then(|n| self.locate(DocNum::new(n)));
        let Some((segment, local)) = located else {
            panic!("expected a document below {}, found {n}", self.len());
        };
        self.inner.segments[segment].0.id(local)
    }

    /// Document with an id.
    pub(super) fn find(&self, id: &str) -> Option<DocNum> {
        let mut segments = self.inner.segments.iter().enumerate();
        segments.find_map(|(segment, (ids, deleted))| {
            let local = ids.all(id).find(|&doc| !deleted.has(doc))?;
            Some(self.numbers(segment).number(local))
        })
    }

    pub(super) fn are_intact(&self) -> bool {
        let mut segments = self.inner.segments.iter();
        segments.all(|(ids, _)| ids.is_intact())
    }

    pub(super) fn is_ascending(&self) -> bool {
        self.inner.order == SegmentOrder::Id
    }
}

impl From<SegmentedIds> for DocIds {
    fn from(ids: SegmentedIds) -> Self {
        Self {
            storage: super::IdStorage::Segmented(ids),
            order: OnceLock::new(),
        }
    }
}

impl fmt::Debug for SegmentedIds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SegmentedIds")
            .field("segments", &self.inner.segments.len())
            .field("documents", &self.len())
            .finish_non_exhaustive()
    }
}

/// Numbers, in the whole index, of the documents of one segment.
#[derive(Debug, Clone)]
pub struct SegmentNumbers {
    /// Runs of documents that are consecutive here and in the whole index, ascending.
    runs: Vec<Run>,
    /// The number of every document, if there are many runs. A deleted document has the number of
    /// the next document.
    table: Vec<u32>,
}

#[derive(Debug, Clone, Copy)]
struct Run {
    /// Number of the first document in the segment.
    local: u32,
    /// Number of the first document in the whole index.
    number: u32,
}

/// Runs of fewer documents on average are a table.
const MIN_RUN: usize = 16;

impl SegmentNumbers {
    /// Number in the whole index of a document that is not deleted; any number for a deleted one.
    #[inline]
    #[must_use]
    pub fn number(&self, local: DocNum) -> DocNum {
        if let Some(&number) = self.table.get(local.index()) {
            return DocNum::new(number);
        }
        let after = self.runs.partition_point(|run| run.local <= local.get());
        let Some(run) = after.checked_sub(1).map(|at| self.runs[at]) else {
            return DocNum::new(0);
        };
        DocNum::new(run.number.saturating_add(local.get() - run.local))
    }

    /// Number in the segment of a document of the whole index; [`None`] or a number beyond the
    /// segment for one of another segment.
    fn local(&self, doc: DocNum, deleted: &DocSet) -> Option<DocNum> {
        let is_live = |local: u32| !deleted.has(DocNum::new(local));
        if !self.table.is_empty() {
            let start = self.table.partition_point(|&number| number < doc.get());
            let same = self.table[start..]
                .iter()
                .take_while(|&&number| number == doc.get());
            let mut locals = (start..start + same.count()).map(|local| local as u32);
            return locals.find(|&local| is_live(local)).map(DocNum::new);
        }
        let after = self.runs.partition_point(|run| run.number <= doc.get());
        let run = self.runs[after.checked_sub(1)?];
        let local = run.local.checked_add(doc.get() - run.number)?;
        let next = self.runs.get(after).map_or(u32::MAX, |next| next.local);
        (local < next && is_live(local)).then_some(DocNum::new(local))
    }
}

/// Numbers of the documents of all segments, assigned in their order.
struct Numbering<'a> {
    segments: &'a [(DocIds, DocSet)],
    runs: Vec<Vec<Run>>,
    /// Number of the next document.
    next: u32,
}

impl<'a> Numbering<'a> {
    fn new(segments: &'a [(DocIds, DocSet)]) -> Self {
        Self {
            segments,
            runs: vec![Vec::new(); segments.len()],
            next: 0,
        }
    }

    fn number_segments(&mut self) {
        for (segment, (ids, _)) in self.segments.iter().enumerate() {
            self.number_range(segment, 0, ids.len());
        }
    }

    /// Merges the ids of all segments but the largest and searches for each in the ids of that one.
    fn number_by_id(&mut self) {
        let lens = self.segments.iter().map(|(ids, _)| ids.len());
        let Some((_, largest)) = lens.zip(0..).max_by_key(|&(len, at)| (len, Reverse(at))) else {
            return;
        };
        let ids = &self.segments[largest].0;
        let others = (0..self.segments.len()).filter(|&segment| segment != largest);
        let mut readers: Vec<_> = others
            .map(|segment| (segment, self.segments[segment].0.iter().zip(0..)))
            .collect();
        let mut heap = BinaryHeap::new();
        for (reader, (_, docs)) in readers.iter_mut().enumerate() {
            heap.extend(docs.next().map(|(id, local)| Reverse((id, reader, local))));
        }
        let mut done = 0;
        while let Some(Reverse((id, reader, local))) = heap.pop() {
            let (segment, docs) = &mut readers[reader];
            let before = first_above(ids, done, id);
            let (segment, next) = (*segment, docs.next());
            self.number_range(largest, done, before);
            self.number_range(segment, local, local + 1);
            done = before;
            heap.extend(next.map(|(id, local)| Reverse((id, reader, local))));
        }
        self.number_range(largest, done, ids.len());
    }

    /// Assigns the next numbers to a range of the documents of a segment.
    fn number_range(&mut self, segment: usize, start: usize, end: usize) {
        let (_, deleted) = &self.segments[segment];
        let runs = &mut self.runs[segment];
        let (mut local, end) = (start as u32, end as u32);
        while local < end {
            let gap = deleted.first_in(local, end).unwrap_or(end);
            if gap > local {
                let number = self.next;
                let continues = |last: &Run| number.wrapping_sub(last.number) == local - last.local;
                if !runs.last().is_some_and(continues) {
                    runs.push(Run { local, number });
                }
                self.next += gap - local;
            }
            local = gap + 1;
        }
    }

    fn finish(self) -> Vec<SegmentNumbers> {
        let segments = self.segments.iter().zip(self.runs);
        let numbers = segments.map(|((ids, _), runs)| {
            if runs.len() * MIN_RUN <= ids.len() {
                let table = Vec::new();
                return SegmentNumbers { runs, table };
            }
            let table = table_of(&runs, ids.len());
            let runs = Vec::new();
            SegmentNumbers { runs, table }
        });
        numbers.collect()
    }
}

/// The numbers of `len` documents. Those of deleted documents keep the order ascending.
fn table_of(runs: &[Run], len: usize) -> Vec<u32> {
    let first = runs.first().map_or(0, |run| run.local as usize);
    let mut table = vec![runs.first().map_or(0, |run| run.number); first];
    for (at, run) in runs.iter().enumerate() {
        let next = runs.get(at + 1);
        let limit = next.map_or(u32::MAX, |next| next.number);
        let end = next.map_or(len, |next| next.local as usize);
        let numbers = (run.number..).take(end - table.len());
        table.extend(numbers.map(|number| number.min(limit)));
    }
    table
}

/// Number of the first id from `start` on that is greater than `id`, by exponential search.
fn first_above(ids: &DocIds, start: usize, id: &str) -> usize {
    let is_above = |at: usize| ids.at(at) > id;
    let (mut low, mut step) = (start, 1);
    // All before `low` are not above.
    while low + step <= ids.len() && !is_above(low + step - 1) {
        low += step;
        step *= 2;
    }
    let mut high = ids.len().min(low + step - 1);
    while low < high {
        let middle = low.midpoint(high);
        if is_above(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The documents that are not deleted, as (id, segment, number there), in order.
    fn expected(
        segments: &[(DocIds, DocSet)],
        order: SegmentOrder,
    ) -> Vec<(String, usize, DocNum)> {
        let mut live = Vec::new();
        for (segment, (ids, deleted)) in segments.iter().enumerate() {
            for (id, local) in ids.iter().zip((0..).map(DocNum::new)) {
                if !deleted.has(local) {
                    live.push((id.to_owned(), segment, local));
                }
            }
        }
        if order == SegmentOrder::Id {
            live.sort();
        }
        live
    }

    fn check(segments: Vec<(DocIds, DocSet)>, order: SegmentOrder) {
        let expected = expected(&segments, order);
        let segmented = SegmentedIds::new(segments, order);
        let ids = DocIds::from(segmented.clone());
        assert_eq!(ids.len(), expected.len());
        for ((id, segment, local), doc) in expected.iter().zip((0..).map(DocNum::new)) {
            assert_eq!(segmented.locate(doc), Some((*segment, *local)), "{doc:?}");
            assert_eq!(segmented.numbers(*segment).number(*local), doc);
            assert_eq!(ids.id(doc), id);
            assert_eq!(ids.get(id), Some(doc));
        }
        assert_eq!(segmented.locate(DocNum::new(expected.len() as u32)), None);
        assert_eq!(ids.get("no such id"), None);
        let in_memory: DocIds = expected.iter().map(|(id, ..)| id).collect();
        assert_eq!(ids.order(), in_memory.order());
        assert!(ids.check_unique().is_ok());
        let mut appended = ids.clone();
        appended.push("one more").unwrap();
        assert_eq!(appended.len(), ids.len() + 1);
        assert!(appended.iter().zip(ids.iter()).all(|(a, b)| a == b));
    }

    #[test]
    fn one_document_in_a_large_segment() {
        let large: DocIds = (1000..2000).map(|n| n.to_string()).collect();
        for (id, number) in [("0", 0), ("1499+", 500), ("3", 1000)] {
            let one: DocIds = [id].into_iter().collect();
            let segments = vec![(one, DocSet::new()), (large.clone(), DocSet::new())];
            let ids = SegmentedIds::new(segments.clone(), SegmentOrder::Id);
            assert_eq!(ids.numbers(0).number(DocNum::new(0)).get(), number);
            assert!(ids.numbers(1).table.is_empty(), "two runs");
            check(segments, SegmentOrder::Id);
        }
    }

    #[test]
    fn searches_find_the_first_greater_id() {
        let ids: DocIds = ["a", "c", "c", "e", "g", "i"].into_iter().collect();
        for start in 0..=ids.len() {
            for id in ["", "a", "b", "c", "d", "e", "g", "h", "i", "j"] {
                let expected = (start..ids.len()).find(|&at| ids.at(at) > id);
                let found = first_above(&ids, start, id);
                assert_eq!(found, expected.unwrap_or(ids.len()), "{id} from {start}");
            }
        }
    }

    proptest! {
        #[test]
        fn any_segments(
            owners in prop::collection::vec((0..5_usize, any::<u8>()), 0..400),
            spread in 1..5_usize,
            deleted_below in 0..200_u8,
            by_id in any::<bool>(),
        ) {
            let mut segments = vec![(Vec::new(), DocSet::new()); 5];
            let position = |n: usize| if by_id { n } else { n * 7919 % 1000 };
            for (n, (owner, die)) in owners.into_iter().enumerate() {
                // Most documents in the first segments; a deleted one may be in several.
                let (ids, deleted) = &mut segments[owner / spread];
                if die < deleted_below {
                    deleted.insert(DocNum::new(ids.len() as u32));
                    if die % 2 == 0 {
                        ids.push(format!("{:04}", position(n)));
                        segments[4].0.push(format!("{:04}", position(n)));
                        continue;
                    }
                }
                ids.push(format!("{:04}", position(n)));
            }
            let segments = segments.into_iter();
            let segments = segments.map(|(ids, deleted)| (ids.iter().collect(), deleted));
            let order = if by_id { SegmentOrder::Id } else { SegmentOrder::Insertion };
            check(segments.collect(), order);
        }
    }
}
