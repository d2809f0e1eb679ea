//! Query ids of consecutive lines, which are mostly equal.

use std::collections::HashMap;

/// Returns `true` if a line belongs to another query than the last one.
#[inline]
pub(super) fn starts(last: &mut Option<String>, query: &str) -> bool {
    let starts_query = !last.as_ref().is_some_and(|last| same(last, query));
    if starts_query {
        last.get_or_insert_default().replace_range(.., query);
    }
    starts_query
}

/// Compares two short strings that are mostly equal, without a call to `memcmp`.
#[inline]
pub(super) fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    match (
        a.first_chunk(),
        b.first_chunk(),
        a.last_chunk(),
        b.last_chunk(),
    ) {
        (Some(x), Some(y), Some(z), Some(w)) if a.len() <= 16 => {
            let word = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
            word(x) == word(y) && word(z) == word(w)
        }
        (None, ..) => a.iter().zip(b).all(|(a, b)| a == b),
        _ => a == b,
    }
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
        if !last.is_some_and(|last| same(last, query)) {
            self.last = self.numbers.get(query).copied().unwrap_or_else(|| {
                self.numbers.insert(query.to_owned(), self.ids.len());
                self.ids.push(query.to_owned());
                self.ids.len() - 1
            });
        }
        self.last
    }
}
