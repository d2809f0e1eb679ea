//! Output of single-query results: a list, or JSON lines.

use std::io::{self, Write};

use ir_bm25::analysis::{Highlighter, mark};
use ir_core::{Document, Explanation};
use serde_json::json;

use crate::shared::list_style::{BOLD, DIM, ListStyle, MATCH, clean, without_controls, wrapped};

pub(crate) struct ShownHit<'a> {
    pub(crate) rank: usize,
    pub(crate) id: &'a str,
    pub(crate) score: f32,
    pub(crate) document: Option<Document>,
    pub(crate) explanation: Option<Explanation>,
}

/// Minimum width of a title beside the id.
const MIN_TITLE: usize = 20;
/// Width of the rank and the score before the id.
const BEFORE_ID: usize = 14;

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
        let room = if is_below {
            style.width.saturating_sub(indent + year.chars().count())
        } else {
            room.max(MIN_TITLE)
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
            for line in wrapped(&without_controls(line), style.width_below()) {
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
    fn long_titles_end_in_an_ellipsis() {
        assert_eq!(shortened("straße und bahn", 7), "straße…");
        assert_eq!(shortened("kurz", 4), "kurz");
    }
}
