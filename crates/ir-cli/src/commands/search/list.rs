//! Output of single-query results: a list, or JSON lines.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};

use ir_bm25::analysis::{Highlighter, mark};
use ir_core::{Document, Explanation};
use serde_json::json;

use crate::shared::terminal::is_bidirectional_mark;

pub(crate) struct ShownHit<'a> {
    pub(crate) rank: usize,
    pub(crate) id: &'a str,
    pub(crate) score: f32,
    pub(crate) document: Option<Document>,
    pub(crate) explanation: Option<Explanation>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct ListStyle {
    width: usize,
    /// Whether no line may exceed the width.
    wraps: bool,
    color: bool,
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
    fn indent(self) -> usize {
        if self.width < NARROW { 5 } else { 14 }
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.color && !text.is_empty() {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}

const BOLD: &str = "1";
const DIM: &str = "2";
const MATCH: (&str, &str) = ("\x1b[1;33m", "\x1b[0m");
/// Width without a terminal.
const PLAIN_WIDTH: usize = 100;
/// Width below which lines are indented less.
const NARROW: usize = 60;
/// Minimum width of a title beside the id.
const MIN_TITLE: usize = 20;
/// Width of the rank and the score before the id.
const BEFORE_ID: usize = 14;

/// Width of the terminal in characters.
fn terminal_width() -> Option<usize> {
    let columns = std::env::var("COLUMNS").ok();
    let columns = columns.and_then(|columns| columns.parse().ok());
    columns.filter(|&columns| columns > 0).or_else(|| {
        let (width, _) = terminal_size::terminal_size()?;
        Some(usize::from(width.0))
    })
}

/// Writes one hit: rank, score, id, title, year, and the best matching snippet. A title that does
/// not fit beside the id has a line of its own.
pub(crate) fn write(
    hit: &ShownHit<'_>,
    words: &Highlighter<'_>,
    style: ListStyle,
    out: &mut dyn Write,
) -> io::Result<()> {
    let document = hit.document.as_ref();
    let title = document.map_or(String::new(), |doc| clean(&doc.title));
    let year = document.and_then(|doc| doc.attributes.year());
    let year = year.map_or(String::new(), |year| format!(" ({year})"));
    let id = clean(hit.id);
    let indent = style.indent();
    let head = format!(
        "{:>3}  {:>7.4}  {}",
        hit.rank,
        hit.score,
        style.paint(BOLD, &id)
    );
    let room = style
        .width
        .saturating_sub(BEFORE_ID + 2 + id.chars().count() + year.chars().count());
    if title.is_empty() {
        writeln!(out, "{head}{}", style.paint(DIM, &year))?;
    } else {
        let is_below = style.wraps && room < MIN_TITLE.min(title.chars().count());
        let room = match is_below {
            true => style.width.saturating_sub(indent + year.chars().count()),
            false => room.max(MIN_TITLE),
        };
        let before = if is_below {
            format!("\n{:indent$}", "")
        } else {
            "  ".to_owned()
        };
        let title = marked(&shortened(&title, room), words, style);
        writeln!(out, "{head}{before}{title}{}", style.paint(DIM, &year))?;
    }
    if let Some(document) = &hit.document {
        let text = clean(&document.text);
        let text = text.trim();
        if !text.is_empty() {
            let snippet = words.snippet(text, style.width.saturating_sub(indent + 4));
            let before = if snippet.range.start > 0 { "… " } else { "" };
            let cut = snippet.range.end < text.len();
            let after = if cut { " …" } else { "" };
            let mut spans = if style.color {
                snippet.spans
            } else {
                Vec::new()
            };
            for span in &mut spans {
                *span = span.start - snippet.range.start..span.end - snippet.range.start;
            }
            let shown = mark(&text[snippet.range], &spans, MATCH.0, MATCH.1);
            writeln!(out, "{:indent$}{before}{shown}{after}", "")?;
        }
    }
    if let Some(explanation) = &hit.explanation {
        for line in explanation.to_string().lines() {
            let width = match style.wraps {
                true => style.width.saturating_sub(indent),
                false => usize::MAX,
            };
            for line in wrapped(&without_controls(line), width) {
                writeln!(out, "{:indent$}{}", "", style.paint(DIM, &line))?;
            }
        }
    }
    Ok(())
}

pub(crate) fn write_json(query: &str, hit: &ShownHit<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut object = json!({"query": query, "rank": hit.rank, "id": hit.id, "score": hit.score});
    if let Some(document) = &hit.document {
        object["title"] = json!(document.title);
        object["text"] = json!(document.text);
        object["attributes"] = json!(document.attributes);
    }
    if let Some(explanation) = &hit.explanation {
        object["explanation"] = json!(explanation);
    }
    writeln!(out, "{object}")
}

fn marked(text: &str, words: &Highlighter<'_>, style: ListStyle) -> String {
    if style.color {
        mark(text, &words.spans(text), MATCH.0, MATCH.1)
    } else {
        text.to_owned()
    }
}

/// Joins text into one line and removes control characters.
fn clean(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for c in without_controls(text).chars() {
        if c != ' ' || !clean.ends_with(' ') {
            clean.push(c);
        }
    }
    clean
}

/// Replaces control characters and bidirectional marks by blanks.
fn without_controls(text: &str) -> String {
    text.replace(|c: char| c.is_control() || is_bidirectional_mark(c), " ")
}

fn shortened(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let start: String = text.chars().take(room.saturating_sub(1)).collect();
    format!("{}…", start.trim_end())
}

/// Breaks a line at blanks into lines of at most `width` columns, where its words allow it. The
/// lines after the first are indented by 4 more than the line.
fn wrapped(line: &str, width: usize) -> Vec<String> {
    let words = line.trim_start();
    let indent = " ".repeat(line.len() - words.len());
    let below = format!("{indent}    ");
    let options = textwrap::Options::new(width)
        .initial_indent(&indent)
        .subsequent_indent(&below)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
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
    fn long_titles_end_in_an_ellipsis() {
        assert_eq!(shortened("straße und bahn", 7), "straße…");
        assert_eq!(shortened("kurz", 4), "kurz");
    }
}
