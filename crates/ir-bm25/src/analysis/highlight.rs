//! Highlighting of query terms, and snippets.

use ir_core::Analyzer;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;

/// Highlighter of query terms in texts, under the analysis of the search.
///
/// ```
/// use ir_bm25::analysis::{Analysis, Highlighter, mark};
///
/// # fn main() -> Result<(), ir_bm25::analysis::AnalysisError> {
/// let pipeline = Analysis::anserini().build()?;
/// let highlighter = Highlighter::new(&pipeline, "runs of dogs");
/// let text = "The dog's owner was running late.";
/// let spans = highlighter.spans(text);
/// assert_eq!(spans, [4..9, 20..27]);
/// assert_eq!(mark(text, &spans, "[", "]"), "The [dog's] owner was [running] late.");
///
/// let snippet = highlighter.snippet(text, 16);
/// assert_eq!(&text[snippet.range], "The dog's owner");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Highlighter<'a> {
    analyzer: &'a dyn Analyzer,
    terms: BTreeSet<String>,
}

impl fmt::Debug for Highlighter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Highlighter")
            .field("terms", &self.terms)
            .finish_non_exhaustive()
    }
}

/// Excerpt of a text with the matches in it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snippet {
    /// Byte range of the excerpt.
    pub range: Range<usize>,
    /// Byte ranges of the matches, relative to the whole text.
    pub spans: Vec<Range<usize>>,
}

impl<'a> Highlighter<'a> {
    /// Creates a highlighter for the terms of `query`.
    pub fn new(analyzer: &'a dyn Analyzer, query: &str) -> Self {
        Self {
            analyzer,
            terms: analyzer.terms(query).into_iter().collect(),
        }
    }

    /// Byte ranges of the matching words of `text`, in order. A range covers the word with its
    /// possessive suffix. Bigrams that overlap are one range.
    pub fn spans(&self, text: &str) -> Vec<Range<usize>> {
        joined(self.matches(text).into_iter().map(|(span, _)| span))
    }

    /// The matches, each with the number of its term.
    fn matches(&self, text: &str) -> Vec<(Range<usize>, usize)> {
        let numbers: BTreeMap<&str, usize> = self
            .terms
            .iter()
            .enumerate()
            .map(|(number, term)| (term.as_str(), number))
            .collect();
        let mut found = Vec::new();
        self.analyzer.analyze(text, &mut |token| {
            if let Some(&number) = numbers.get(token.term) {
                found.push((token.start..token.end, number));
            }
        });
        found
    }

    /// Selects the excerpt of at most `width` characters with the most distinct terms, then the
    /// most matches, then the smallest offset. It starts and ends at white space if possible, with
    /// the matches in the middle. Without a match it is the start of the text.
    pub fn snippet(&self, text: &str, width: usize) -> Snippet {
        Snippet::from_matches(text, self.matches(text), width)
    }
}

impl Snippet {
    /// Selects the excerpt of at most `width` characters with the most of the matches at `spans`,
    /// byte ranges of the text in ascending order, as [`Highlighter::snippet`] does. Ranges that
    /// are empty, overlap with the one before, or are not of the text, are skipped.
    ///
    /// ```
    /// use ir_bm25::analysis::Snippet;
    /// let text = "Tea. Its leaves are steeped in hot water.";
    /// let snippet = Snippet::from_spans(text, &[9..15, 31..34], 26);
    /// assert_eq!(&text[snippet.range], "leaves are steeped in hot");
    /// ```
    #[must_use]
    pub fn from_spans(text: &str, spans: &[Range<usize>], width: usize) -> Self {
        let mut end = 0;
        let valid = spans.iter().filter(|span| {
            let word = text.get((*span).clone()).unwrap_or_default();
            let is_valid = span.start >= end && !word.is_empty();
            if is_valid {
                end = span.end;
            }
            is_valid
        });
        Self::from_matches(text, valid.cloned().zip(0..).collect(), width)
    }

    /// Selects the excerpt of matches, each with the number of its term.
    fn from_matches(text: &str, found: Vec<(Range<usize>, usize)>, width: usize) -> Self {
        // Byte offsets of the characters, and the end of the text.
        let offsets: Vec<usize> = text
            .char_indices()
            .map(|(at, _)| at)
            .chain([text.len()])
            .collect();
        let nth = |byte: usize| offsets.partition_point(|&offset| offset < byte);
        let best = best_window(
            &found,
            |match_: &Range<usize>| nth(match_.start)..nth(match_.end),
            width,
        );
        let (first, last) = match best {
            Some(matches) => (
                nth(found[matches.start].0.start),
                nth(found[matches.end - 1].0.end),
            ),
            None => (0, 0),
        };
        let range = extend_to_width(text, &offsets, first..last, width);
        let spans = joined(found.into_iter().map(|(span, _)| span))
            .into_iter()
            .filter(|span| range.start <= span.start && span.end <= range.end)
            .collect();
        Self { range, spans }
    }
}

/// Joins ranges that overlap.
fn joined(spans: impl Iterator<Item = Range<usize>>) -> Vec<Range<usize>> {
    let mut joined: Vec<Range<usize>> = Vec::new();
    for span in spans {
        match joined.last_mut() {
            Some(last) if span.start < last.end => last.end = last.end.max(span.end),
            _ => joined.push(span),
        }
    }
    joined
}

/// The run of matches that fits into `width` characters with the most distinct terms, then the most
/// matches, then the smallest offset.
fn best_window(
    found: &[(Range<usize>, usize)],
    characters: impl Fn(&Range<usize>) -> Range<usize>,
    width: usize,
) -> Option<Range<usize>> {
    let at: Vec<Range<usize>> = found.iter().map(|(span, _)| characters(span)).collect();
    let mut inside: BTreeMap<usize, usize> = BTreeMap::new();
    let (mut best, mut best_value) = (None, (0, 0));
    let mut end = 0;
    for start in 0..found.len() {
        while end < found.len() && at[end].end - at[start].start <= width {
            *inside.entry(found[end].1).or_default() += 1;
            end += 1;
        }
        let value = (inside.len(), end.saturating_sub(start));
        if end > start && value > best_value {
            (best, best_value) = (Some(start..end), value);
        }
        if end > start {
            if let Some(count) = inside.get_mut(&found[start].1) {
                *count -= 1;
                if *count == 0 {
                    inside.remove(&found[start].1);
                }
            }
        } else {
            // The match is wider than the window.
            end = start + 1;
        }
    }
    best
}

/// Extends `core` (in characters) to at most `width`, then shrinks it to white space. Returns
/// bytes.
fn extend_to_width(
    text: &str,
    offsets: &[usize],
    core: Range<usize>,
    width: usize,
) -> Range<usize> {
    let count = offsets.len() - 1;
    let spare = width.saturating_sub(core.len());
    let after = (count - core.end).min(spare - (spare / 2).min(core.start));
    let before = core.start.min(spare - after);
    let bytes = |n: usize| offsets[n.min(count)];
    let (mut start, mut end) = (bytes(core.start - before), bytes(core.end + after));
    let (first, last) = (bytes(core.start), bytes(core.end));
    let cuts = |at: usize| {
        text[..at]
            .chars()
            .next_back()
            .is_some_and(|c| !c.is_whitespace())
            && text[at..]
                .chars()
                .next()
                .is_some_and(|c| !c.is_whitespace())
    };
    if cuts(start)
        && let Some(blank) = text[start..first].find(char::is_whitespace)
    {
        start += blank;
    }
    if cuts(end)
        && let Some(blank) = text[last..end].rfind(char::is_whitespace)
    {
        end = last + blank;
    }
    let part = &text[start..end];
    start += part.len() - part.trim_start().len();
    end = start + text[start..end].trim_end().len();
    start..end
}

/// Surrounds every span of the text with `before` and `after`. Spans must be ordered, disjoint and
/// at character boundaries, as [`Highlighter::spans`] returns them; others are skipped. Nothing is
/// escaped.
pub fn mark(text: &str, spans: &[Range<usize>], before: &str, after: &str) -> String {
    let mut marked = String::with_capacity(text.len() + spans.len() * (before.len() + after.len()));
    let mut done = 0;
    for span in spans {
        if let (Some(gap), Some(word)) = (text.get(done..span.start), text.get(span.clone())) {
            marked.extend([gap, before, word, after]);
            done = span.end;
        }
    }
    marked.push_str(text.get(done..).unwrap_or_default());
    marked
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Analysis;

    const TEXT: &str = "Cats sleep. A long tale about nothing in particular follows here. Dogs and cats play, and \
        the dog chases the cat around the house until both are tired.";

    fn shown(query: &str, text: &str, width: usize) -> String {
        let pipeline = Analysis::anserini().build().unwrap();
        let snippet = Highlighter::new(&pipeline, query).snippet(text, width);
        assert!(text[snippet.range.clone()].chars().count() <= width);
        mark(&text[..snippet.range.end], &snippet.spans, "[", "]")[snippet.range.start..].to_owned()
    }

    #[test]
    fn snippets_maximize_distinct_terms() {
        assert_eq!(
            shown("dog cat house", TEXT, 60),
            "[cats] play, and the [dog] chases the [cat] around the [house]"
        );
        assert_eq!(shown("cat", TEXT, 12), "[Cats] sleep.");
        assert_eq!(shown("unknown", TEXT, 14), "Cats sleep. A");
        assert_eq!(shown("", "", 10), "");
        assert_eq!(shown("cat", TEXT, 0), "");
    }

    #[test]
    fn text_without_white_space_is_cut_anywhere() {
        assert_eq!(shown("語", "日本語日本語日本語", 3), "本[語]日");
        assert_eq!(
            shown("internationalization", "xx internationalization yy", 5),
            "xx"
        );
    }

    #[test]
    fn snippets_of_spans_are_snippets_of_their_words() {
        let spans = |words: &[&str]| -> Vec<Range<usize>> {
            let starts = words
                .iter()
                .map(|word| (TEXT.find(word).unwrap(), word.len()));
            starts
                .map(|(start, length)| start..start + length)
                .collect()
        };
        let pipeline = Analysis::anserini().build().unwrap();
        let none: &[&str] = &[];
        for words in [none, &["tale"], &["Dogs", "house"], &["Cats", "tired"]] {
            let highlighter = Highlighter::new(&pipeline, &words.join(" "));
            for width in [0, 5, 20, 60, 1000] {
                let spans = spans(words);
                // Each word has one match.
                let expected = highlighter.matches(TEXT);
                let ones: Vec<(Range<usize>, usize)> = expected
                    .into_iter()
                    .filter(|(span, _)| spans.contains(span))
                    .collect();
                let expected = Snippet::from_matches(TEXT, ones, width);
                assert_eq!(
                    Snippet::from_spans(TEXT, &spans, width),
                    expected,
                    "{words:?}"
                );
            }
        }
    }

    #[test]
    fn invalid_spans_are_skipped() {
        let valid = Snippet::from_spans("añb tea", &[0..1, 5..8], 7);
        let invalid = [0..1, 0..3, 2..3, 4..4, 5..8, 5..8, 3..99, 9..10];
        assert_eq!(Snippet::from_spans("añb tea", &invalid, 7), valid);
        assert_eq!((valid.range, valid.spans), (0..8, vec![0..1, 5..8]));
        assert_eq!(
            mark("añb", &[0..1, 2..3, 0..1, 3..9, 3..4], "<", ">"),
            "<a>ñ<b>"
        );
    }
}
