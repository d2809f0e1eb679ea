//! Tokens that a token attends to.

use std::ops::Range;

/// Which tokens of a text attend to which.
#[derive(Debug, Clone, Copy)]
pub(super) struct AttendedTokens {
    /// Number of tokens of the text.
    pub(super) queries: usize,
    /// Number of tokens that are attended to: the first ones.
    pub(super) keys: usize,
    /// If `true`, a token attends to itself and earlier tokens only.
    pub(super) causal: bool,
    /// Maximum distance of a token that is attended to.
    pub(super) window: Option<usize>,
}

/// Queries of a text, and the keys that one of them attends to.
#[derive(Debug, Clone)]
pub(super) struct Span {
    pub(super) queries: Range<usize>,
    pub(super) keys: Range<usize>,
}

/// Queries of a span, if not all tokens attend to each other.
const SPAN_QUERIES: usize = 64;

impl AttendedTokens {
    /// `queries` tokens attend to the first `keys` of them.
    pub(super) fn all(queries: usize, keys: usize) -> Self {
        Self {
            queries,
            keys,
            causal: false,
            window: None,
        }
    }

    /// Returns `true` if a token may attend to a part of the keys.
    pub(super) fn is_masked(self) -> bool {
        self.causal || self.window.is_some()
    }

    /// Spans of a text: one, unless a token attends to a part of the tokens. The keys of a window
    /// are few, so that time is linear in the length.
    pub(super) fn spans(self) -> impl Iterator<Item = Span> {
        let length = self.queries;
        let queries = if self.causal || self.window.is_some_and(|window| window < length) {
            SPAN_QUERIES
        } else {
            length.max(1)
        };
        (0..length).step_by(queries).map(move |first| {
            let queries = first..length.min(first + queries);
            let start = self.attended(queries.start).start;
            let end = self.attended(queries.end - 1).end;
            Span {
                queries,
                keys: start..end,
            }
        })
    }

    /// Tokens that a token attends to.
    pub(super) fn attended(self, token: usize) -> Range<usize> {
        let window = self.window.unwrap_or(self.queries);
        let end = if self.causal {
            token
        } else {
            token.saturating_add(window)
        };
        let end = self.keys.min(end.saturating_add(1));
        token.saturating_sub(window).min(end)..end
    }
}
