//! Superscripts and subscripts as terms of an index.

use std::borrow::Cow;

use ir_core::{Analyzer, Token};

/// Maximum length of a power in TeX or HTML, in bytes.
const MAX_POWER: usize = 40;
/// Notations of a power, with their ends.
const NOTATIONS: [(&str, &str); 5] = [
    ("^{", "}"),
    ("^(", ")"),
    ("\\textsuperscript{", "}"),
    ("<sup>", "</sup>"),
    ("^", ""),
];

/// Text as it is indexed and searched. Subscripts are plain characters (`CO₂` is `CO2`). A power of
/// a number is one term: `10⁴`, `10^4`, `10^{4}` and `10<sup>4</sup>` are `10_4`, and `10⁻⁴` is
/// `10__4`.
pub(super) fn indexed_text(text: &str) -> Cow<'_, str> {
    match indexed(text) {
        None => Cow::Borrowed(text),
        Some(indexed) => Cow::Owned(indexed.text),
    }
}

/// Text as it is indexed.
struct Indexed {
    text: String,
    /// Offset in the original text of each byte, and of the end.
    offsets: Vec<usize>,
}

impl Indexed {
    fn push(&mut self, c: char, at: usize) {
        self.text.push(c);
        self.offsets.resize(self.text.len(), at);
    }
}

/// The text with the offsets of the original; `None` if it is the same.
fn indexed(text: &str) -> Option<Indexed> {
    let is_mark = |c| matches!(c, '^' | '<' | '\\');
    let is_script = |c| is_mark(c) || subscript(c).is_some() || superscript(c).is_some();
    if !text.contains(is_script) {
        return None;
    }
    let mut indexed = Indexed {
        text: String::with_capacity(text.len()),
        offsets: Vec::with_capacity(text.len() + 1),
    };
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        // Not after a subscript: SO₄²⁻ has a charge.
        let follows_digit = text[..at].ends_with(|c: char| c.is_ascii_digit());
        let power = if follows_digit { power(rest) } else { None };
        if let Some((exponent, length)) = power {
            indexed.push('_', at);
            exponent.chars().for_each(|c| indexed.push(c, at));
            at += length;
            continue;
        }
        indexed.push(subscript(c).unwrap_or(c), at);
        at += c.len_utf8();
    }
    indexed.offsets.push(text.len());
    Some(indexed)
}

/// Integer power at the start of a text, with `_` for minus, and the length of its notation.
fn power(text: &str) -> Option<(String, usize)> {
    let raised: String = text.chars().map_while(superscript).collect();
    if raised.contains(|c: char| c.is_ascii_digit()) {
        let length = text.chars().take(raised.len()).map(char::len_utf8).sum();
        return Some((raised, length));
    }
    let (start, end) = NOTATIONS
        .iter()
        .find(|(start, _)| text.starts_with(start))?;
    let body = &text[start.len()..];
    let length = match *end {
        "" => {
            let signed = body.strip_prefix(['-', '−']).unwrap_or(body);
            let digits = signed.bytes().take_while(u8::is_ascii_digit).count();
            body.len() - signed.len() + digits
        }
        end => {
            let start = &body.as_bytes()[..body.len().min(MAX_POWER + end.len())];
            let mut windows = start.windows(end.len());
            windows.position(|it| it == end.as_bytes())?
        }
    };
    let number = body.get(..length).filter(|_| length <= MAX_POWER)?.trim();
    let digits = number.strip_prefix(['-', '−', '–']).unwrap_or(number);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let sign = if digits.len() < number.len() { "_" } else { "" };
    Some((format!("{sign}{digits}"), start.len() + length + end.len()))
}

fn subscript(c: char) -> Option<char> {
    matches!(c, '₀'..='₉')
        .then(|| char::from_digit(u32::from(c) - 0x2080, 10))
        .flatten()
}

fn superscript(c: char) -> Option<char> {
    match c {
        '¹' => Some('1'),
        '²' => Some('2'),
        '³' => Some('3'),
        '⁻' => Some('_'),
        '⁰' | '⁴'..='⁹' => char::from_digit(u32::from(c) - 0x2070, 10),
        _ => None,
    }
}

/// Analyzer of answers and questions: powers and subscripts are terms as in an
/// [`AnswerIndex`](super::AnswerIndex).
///
/// ```
/// use ir_bm25::analysis::{Analysis, Highlighter};
/// use ir_qa::retrieval::ScriptAnalyzer;
/// # fn main() -> Result<(), ir_bm25::analysis::AnalysisError> {
/// let analyzer = ScriptAnalyzer::new(Analysis::default().build()?);
/// let text = "We grew 10⁴ cells, not 104.";
/// let spans = Highlighter::new(&analyzer, "10^4").spans(text);
/// assert_eq!(spans.iter().map(|span| &text[span.clone()]).collect::<Vec<_>>(), ["10⁴"]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct ScriptAnalyzer<A> {
    analyzer: A,
}

impl<A: Analyzer> ScriptAnalyzer<A> {
    /// Creates an analyzer that gives texts as they are indexed to `analyzer`.
    pub fn new(analyzer: A) -> Self {
        Self { analyzer }
    }
}

impl<A: Analyzer> Analyzer for ScriptAnalyzer<A> {
    fn analyze(&self, text: &str, emit: &mut dyn FnMut(Token<'_>)) {
        let Some(indexed) = indexed(text) else {
            return self.analyzer.analyze(text, emit);
        };
        let offset = |at: usize| indexed.offsets.get(at).copied().unwrap_or(text.len());
        self.analyzer.analyze(&indexed.text, &mut |token| {
            emit(Token {
                start: offset(token.start),
                end: offset(token.end),
                ..token
            });
        });
    }
}

#[cfg(test)]
mod tests {
    use ir_bm25::analysis::{Analysis, Highlighter};

    use super::{ScriptAnalyzer, indexed_text};

    #[test]
    fn powers_are_one_term() {
        for (text, indexed) in [
            ("10⁴ cells", "10_4 cells"),
            ("10^4 cells", "10_4 cells"),
            ("10⁻⁴ and 10^-4", "10__4 and 10__4"),
            ("CO₂ and H₂O", "CO2 and H2O"),
            ("104 cells, x² and a^b", "104 cells, x² and a^b"),
            ("10^", "10^"),
            ("10^{4} and $10^{-4}$", "10_4 and $10__4$"),
            ("10<sup>4</sup>, 10^(−4), 10^(k+1)", "10_4, 10__4, 10^(k+1)"),
            (r"10\textsuperscript{12} of 2^10⁴", "10_12 of 2_10_4"),
            ("a<b and 3<4", "a<b and 3<4"),
            ("SO₄²⁻ and O₂⁻", "SO4²⁻ and O2⁻"),
        ] {
            assert_eq!(indexed_text(text), indexed, "{text}");
        }
    }

    #[test]
    fn highlights_mark_powers() {
        let analyzer = ScriptAnalyzer::new(Analysis::default().build().unwrap());
        for (query, text, marked) in [
            (
                "10^4 cells",
                "Grün: 10⁴ cells, 104 cells, 10⁵",
                &["10⁴", "cells", "cells"][..],
            ),
            (
                "10⁴",
                "10<sup>4</sup> is $10^{4}$",
                &["10<sup>4</sup>", "10^{4}"],
            ),
            ("104", "10⁴ or 104", &["104"]),
            ("CO2", "More CO₂.", &["CO₂"]),
        ] {
            let spans = Highlighter::new(&analyzer, query).spans(text);
            let found: Vec<&str> = spans.into_iter().map(|span| &text[span]).collect();
            assert_eq!(found, marked, "{query}");
        }
    }
}
