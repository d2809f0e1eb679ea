//! Spans of a context by the logits of its windows.

use std::cmp::Ordering;
use std::ops::Range;

use super::windows::Window;

/// Span in bytes, with its score.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ScoredSpan {
    pub(super) bytes: Range<usize>,
    pub(super) score: f32,
}

/// Returns the `n_best` spans of a context with the highest sum of start and end logit, by
/// descending score, equal ones in the order of the text.
///
/// Impossible spans are left out: tokens of the question and special tokens, an end before the
/// start, more than `max_answer_tokens` tokens, a span outside `range`, which is in bytes. A span
/// of several windows has the highest of its scores.
pub(super) fn best_spans(
    windows: &[Window],
    logits: &[Vec<[f32; 2]>],
    range: &Range<usize>,
    max_answer_tokens: usize,
    n_best: usize,
) -> Vec<ScoredSpan> {
    let mut spans: Vec<ScoredSpan> = Vec::new();
    for (window, logits) in windows.iter().zip(logits) {
        let tokens = logits.get(window.first..).unwrap_or_default();
        let tokens = window.offsets.iter().zip(tokens).enumerate();
        // Without empty tokens, such as a space of RoBERTa, which count in the length of a span.
        let tokens: Vec<(usize, (_, _))> = tokens
            .filter(|(_, (at, _))| !at.is_empty() && at.start >= range.start && at.end <= range.end)
            .collect();
        for (from, &(first, (start, [start_logit, _]))) in tokens.iter().enumerate() {
            let ends = tokens[from..].iter();
            let ends = ends.take_while(|(last, _)| last - first < max_answer_tokens);
            spans.extend(ends.map(|(_, (end, [_, end_logit]))| ScoredSpan {
                bytes: start.start..end.end,
                score: start_logit + end_logit,
            }));
        }
        // Bounds memory: only the best of each window can be among the best.
        keep_best(&mut spans, n_best);
    }
    spans
}

fn keep_best(spans: &mut Vec<ScoredSpan>, n_best: usize) {
    let text_order = |a: &ScoredSpan, b: &ScoredSpan| {
        (a.bytes.start, a.bytes.end).cmp(&(b.bytes.start, b.bytes.end))
    };
    let by_score = |a: &ScoredSpan, b: &ScoredSpan| b.score.total_cmp(&a.score);
    spans.sort_unstable_by(|a, b| text_order(a, b).then_with(|| by_score(a, b)));
    spans.dedup_by(|a, b| text_order(a, b) == Ordering::Equal);
    spans.sort_by(by_score);
    spans.truncate(n_best);
}

/// Null score of a context: the lowest sum of the logits of the first token, `[CLS]`, over its
/// windows.
pub(super) fn null_score(logits: &[Vec<[f32; 2]>]) -> f32 {
    let first = logits.iter().filter_map(|logits| logits.first());
    first
        .map(|[start, end]| start + end)
        .fold(f32::INFINITY, f32::min)
}
