//! Output of single-query results: a list, or JSON lines.

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
    color: bool,
}

impl ListStyle {
    /// Style for standard output: colors and terminal width on a terminal, otherwise plain.
    pub(crate) fn for_stdout() -> Self {
        let terminal = io::stdout().is_terminal();
        let width = terminal_size::terminal_size().filter(|_| terminal);
        Self {
            width: width
                .map_or(100, |(width, _)| usize::from(width.0))
                .clamp(40, 160),
            color: terminal
                && std::env::var_os("NO_COLOR").is_none_or(|no| no.is_empty())
                && std::env::var_os("TERM").is_none_or(|term| term != "dumb"),
        }
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
const INDENT: usize = 14;

/// Writes one hit: rank, score, id, title, year, and the best matching snippet.
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
    let room = style
        .width
        .saturating_sub(INDENT + 2 + id.chars().count() + year.chars().count());
    let title = shortened(&title, room.max(20));
    writeln!(
        out,
        "{:>3}  {:>7.4}  {}{}{}{}",
        hit.rank,
        hit.score,
        style.paint(BOLD, &id),
        if title.is_empty() { "" } else { "  " },
        marked(&title, words, style),
        style.paint(DIM, &year)
    )?;
    if let Some(document) = &hit.document {
        let text = clean(&document.text);
        let text = text.trim();
        if !text.is_empty() {
            let snippet = words.snippet(text, style.width.saturating_sub(INDENT + 4));
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
            writeln!(out, "{:INDENT$}{before}{shown}{after}", "")?;
        }
    }
    if let Some(explanation) = &hit.explanation {
        for line in explanation.to_string().lines() {
            let line = style.paint(DIM, &without_controls(line));
            writeln!(out, "{:INDENT$}{line}", "")?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_steers_a_terminal() {
        assert_eq!(clean("a\x1b[31mred\r\n\u{202e}b"), "a [31mred b");
    }

    #[test]
    fn long_titles_end_in_an_ellipsis() {
        assert_eq!(shortened("straße und bahn", 7), "straße…");
        assert_eq!(shortened("kurz", 4), "kurz");
    }
}
