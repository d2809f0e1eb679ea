//! Scoring everything: the obvious ways, which pruning must equal.

use ir_core::{DocNum, Search, TopK};

use super::plan::Slot;
use super::window::{WIDTH, Window};
use crate::postings::END;

/// Scores every document that has a term of the query.
pub(super) fn all(slots: &mut [Slot<'_>], documents: u32, how: &Search<'_>, best: &mut TopK) {
    let mut window = Window::new();
    let mut start = 0;
    while start < documents {
        let end = start.saturating_add(WIDTH).min(documents);
        window.place(start, end);
        let mut next = END;
        for slot in &mut *slots {
            let after = window.add(&mut slot.cursor, &slot.scorer, |_| false);
            next = next.min(after);
        }
        window.drain(|doc, sum| {
            let doc = DocNum::new(doc);
            if how.allows(doc) {
                best.push(doc, sum as f32);
            }
        });
        start = next;
    }
}

/// Scores every document that the search allows: good when these are few.
pub(super) fn members(slots: &mut [Slot<'_>], documents: u32, how: &Search<'_>, best: &mut TopK) {
    for doc in (0..documents)
        .map(DocNum::new)
        .filter(|&doc| how.allows(doc))
    {
        if let Some(score) = one(slots, doc) {
            best.push(doc, score);
        }
    }
}

/// The score of one document; `None` when it has no term of the query. Documents must come in ascending order.
pub(super) fn one(slots: &mut [Slot<'_>], doc: DocNum) -> Option<f32> {
    let mut sum = None;
    for slot in slots {
        let found = slot.cursor.seek(doc.get());
        if found == doc.get() && found != END {
            let part = slot.scorer.part(found, slot.cursor.tf());
            *sum.get_or_insert(0.0) += f64::from(part);
        }
    }
    sum.map(|sum| sum as f32)
}
