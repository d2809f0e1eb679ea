//! Layout and colors of lists of hits.

use std::borrow::Cow;
use std::io::{self, IsTerminal};

use crate::shared::terminal::is_bidirectional_mark;

#[derive(Debug, Clone, Copy)]
pub(crate) struct ListStyle {
    pub(crate) width: usize,
    /// If `true`, no line exceeds the width.
    pub(crate) wraps: bool,
    pub(crate) color: bool,
}

impl ListStyle {
    /// Style for standard output: colors and the terminal's width on a terminal, otherwise plain.
    /// The variable `COLUMNS` overrides the width of the terminal.
    pub(crate) fn for_stdout() -> Self {
        let terminal = io::stdout().is_terminal();
        let width = terminal.then(terminal_width).flatten();
        Self {
            width: width.map_or(PLAIN_WIDTH, |width| width.clamp(20, 160)),
            wraps: terminal,
            color: terminal
                && std::env::var_os("NO_COLOR").is_none_or(|no| no.is_empty())
                && std::env::var_os("TERM").is_none_or(|term| term != "dumb"),
        }
    }

    /// Indentation of the lines below the first of a hit.
    pub(crate) fn indent(self) -> usize {
        if self.width < NARROW { 5 } else { 14 }
    }

    /// Maximum width of the lines below the first of a hit, without their indentation.
    pub(crate) fn width_below(self) -> usize {
        if self.wraps {
            self.width.saturating_sub(self.indent())
        } else {
            usize::MAX
        }
    }

    pub(crate) fn paint(self, code: &str, text: &str) -> String {
        if self.color && !text.is_empty() {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}

pub(crate) const BOLD: &str = "1";
pub(crate) const DIM: &str = "2";
/// Start and end of a matching word.
pub(crate) const MATCH: (&str, &str) = ("\x1b[1;33m", "\x1b[0m");
/// Width without a terminal.
const PLAIN_WIDTH: usize = 100;
/// Width below which lines are indented less.
const NARROW: usize = 60;

/// Width of the terminal in characters.
fn terminal_width() -> Option<usize> {
    let columns = std::env::var("COLUMNS").ok();
    let columns = columns.and_then(|columns| columns.parse().ok());
    columns.filter(|&columns| columns > 0).or_else(|| {
        let (width, _) = terminal_size::terminal_size()?;
        Some(usize::from(width.0))
    })
}

/// Joins text into one line and removes control characters.
pub(crate) fn clean(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for c in without_controls(text).chars() {
        if c != ' ' || !clean.ends_with(' ') {
            clean.push(c);
        }
    }
    clean
}

/// Replaces control characters and bidirectional marks by blanks.
pub(crate) fn without_controls(text: &str) -> String {
    text.replace(|c: char| c.is_control() || is_bidirectional_mark(c), " ")
}

/// Breaks a text at blanks into lines of at most `width` columns. Only words that are longer than a
/// line, as in text without blanks, are broken.
pub(crate) fn wrapped_text(text: &str, width: usize) -> Vec<String> {
    let lines = textwrap::wrap(text, at_blanks(width)).into_iter();
    lines.map(Cow::into_owned).collect()
}

/// Hyphens do not separate words: a number such as `2e-5` stays whole.
fn at_blanks<'a>(width: usize) -> textwrap::Options<'a> {
    textwrap::Options::new(width).word_splitter(textwrap::WordSplitter::NoHyphenation)
}

/// Breaks a line at blanks into lines of at most `width` columns, where its words allow it. The
/// lines after the first are indented by 4 more than the line.
pub(crate) fn wrapped(line: &str, width: usize) -> Vec<String> {
    let words = line.trim_start();
    let indent = " ".repeat(line.len() - words.len());
    let below = format!("{indent}    ");
    let options = at_blanks(width)
        .initial_indent(&indent)
        .subsequent_indent(&below)
        .break_words(false);
    let lines = textwrap::wrap(words, options).into_iter();
    lines.map(Cow::into_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_steers_a_terminal() {
        assert_eq!(clean("a\x1b[31mred\r\n\u{202e}b"), "a [31mred b");
    }

    #[test]
    fn long_lines_are_wrapped_at_blanks() {
        let line = "  2.5  boost: count × weight";
        assert_eq!(wrapped(line, 40), [line]);
        let expected = ["  2.5  boost:", "      count ×", "      weight"];
        assert_eq!(wrapped(line, 13), expected);
        assert_eq!(wrapped("incompressible", 3), ["incompressible"]);
    }

    #[test]
    fn texts_are_not_wrapped_at_hyphens() {
        let text = "The rate is 2e-5 here";
        assert_eq!(wrapped_text(text, 16), ["The rate is 2e-5", "here"]);
        assert_eq!(wrapped_text(text, 15), ["The rate is", "2e-5 here"]);
        assert_eq!(wrapped_text("茶是一种饮料", 8), ["茶是一种", "饮料"]);
        assert_eq!(wrapped_text(text, usize::MAX), [text]);
    }
}
