//! Query ids of consecutive lines, which are mostly equal.

use std::collections::HashMap;

/// Returns `true` if a line belongs to another query than the last one.
pub(super) fn starts(last: &mut Option<String>, query: &str) -> bool {
    let starts_query = !last
        .as_ref()
        .is_some_and(|last| same(last.as_bytes(), query.as_bytes()));
    if starts_query {
        last.get_or_insert_default().replace_range(.., query);
    }
    starts_query
}

/// Compares two short texts that are mostly equal, without a call to `memcmp`.
#[inline(always)]
pub(super) fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len()
        && match a.len() {
            0..4 => a.iter().zip(b).all(|(a, b)| a == b),
            4..=8 => ends::<4>(a) == ends(b),
            9..=16 => ends::<8>(a) == ends(b),
            _ => a == b,
        }
}

/// The first and the last `N` bytes.
#[inline(always)]
fn ends<const N: usize>(text: &[u8]) -> Option<(&[u8; N], &[u8; N])> {
    Some((text.first_chunk()?, text.last_chunk()?))
}

/// Query ids, numbered in the order of their first lines.
#[derive(Default)]
pub(super) struct QueryNumbers {
    numbers: HashMap<String, usize>,
    pub(super) ids: Vec<String>,
    /// Number of the query of the previous line, usually also of the next line.
    last: usize,
}

impl QueryNumbers {
    pub(super) fn number(&mut self, query: &str) -> usize {
        let last = self.ids.get(self.last);
        if !last.is_some_and(|last| same(last.as_bytes(), query.as_bytes())) {
            self.last = self.numbers.get(query).copied().unwrap_or_else(|| {
                self.numbers.insert(query.to_owned(), self.ids.len());
                self.ids.push(query.to_owned());
                self.ids.len() - 1
            });
        }
        self.last
    }
}
