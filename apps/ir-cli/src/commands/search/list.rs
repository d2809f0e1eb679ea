//! Output of single-query results: a list, or JSON lines.

use std::io::{self, Write};
use std::ops::Range;

use ir_bm25::analysis::{Highlighter, Snippet, mark};
use ir_core::{Document, Explanation, MatchedText};
use serde_json::json;

use crate::shared::list_style::{BOLD, DIM, ListStyle, MATCH, clean, without_controls, wrapped};

pub(crate) struct ShownHit<'a> {
    pub(crate) rank: usize,
    pub(crate) id: &'a str,
    pub(crate) score: f32,
    pub(crate) document: Option<Document>,
    /// Words to mark in place of the words of the query.
    pub(crate) matched: Option<MatchedText>,
    pub(crate) explanation: Option<Explanation>,
}

impl ShownHit<'_> {
    /// Ranges of the matched words of a field of the document in its [`shown_text`]. `None` if the
    /// model has not read the field.
    fn matched_words(&self, field: &str) -> Option<Vec<Range<usize>>> {
        // Rendered templates are trimmed.
        let field = field.trim();
        let words = self.matched.as_ref()?.words_in(field)?;
        let cleaned = clean(field);
        let blank = cleaned.len() - cleaned.trim_start().len();
        // The cleaned start of a text is the start of the cleaned text.
        let shown = |end: usize| clean(&field[..end]).len().saturating_sub(blank);
        let words = words.iter();
        Some(
            words
                .map(|word| shown(word.start)..shown(word.end))
                .collect(),
        )
    }
}

/// Field of a document as lists show it.
fn shown_text(field: &str) -> String {
    clean(field).trim().to_owned()
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
    let title = document.map_or(String::new(), |doc| shown_text(&doc.title));
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
        let title = shortened(&title, room);
        let title = if style.color {
            let matched = document.and_then(|document| hit.matched_words(&document.title));
            let spans = matched.unwrap_or_else(|| words.spans(&title));
            mark(&title, &spans, MATCH.0, MATCH.1)
        } else {
            title
        };
        writeln!(out, "{head}{before}{title}{}", style.paint(DIM, &year))?;
    }
    if let Some(document) = &hit.document {
        let text = shown_text(&document.text);
        if !text.is_empty() {
            let width = style.width.saturating_sub(indent + 4);
            let snippet = match hit.matched_words(&document.text) {
                None => words.snippet(&text, width),
                Some(spans) => Snippet::from_spans(&text, &spans, width),
            };
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

fn shortened(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let start: String = text.chars().take(room.saturating_sub(1)).collect();
    format!("{}…", start.trim_end())
}

#[cfg(test)]
mod tests {
    use ir_bm25::analysis::Analysis;

    use super::*;

    /// Lines of a hit of the query "green tea", with marks in brackets.
    fn written(matched: Option<MatchedText>, color: bool) -> String {
        let document = Document::new("d1")
            .with_title("\u{1} Tea\ttime")
            .with_text(" \n Hot  leaves, green tea.\n");
        let hit = ShownHit {
            rank: 1,
            id: "d1",
            score: 0.5,
            document: Some(document),
            matched,
            explanation: None,
        };
        let style = ListStyle {
            width: 80,
            wraps: true,
            color,
        };
        let analysis = Analysis::default().build().unwrap();
        let words = Highlighter::new(&analysis, "green tea");
        let mut out = Vec::new();
        write(&hit, &words, style, &mut out).unwrap();
        let out = String::from_utf8(out).unwrap();
        out.replace(MATCH.0, "[").replace(MATCH.1, "]")
    }

    #[test]
    fn words_that_a_model_matched_are_marked() {
        let all = "\u{1} Tea\ttime  \n Hot  leaves, green tea.";
        let words = |words: [&str; 2]| -> Vec<Range<usize>> {
            let starts = words.map(|word| (all.find(word).unwrap(), word.len()));
            starts.map(|(start, length)| start..start + length).to_vec()
        };
        let of_query = written(None, true);
        assert!(of_query.contains("[Tea] time"), "{of_query}");
        assert!(
            of_query.contains("Hot leaves, [green] [tea]."),
            "{of_query}"
        );
        let matched = MatchedText::new(all, words(["time", "leaves"]));
        let of_model = written(Some(matched.clone()), true);
        assert!(of_model.contains("Tea [time]"), "{of_model}");
        assert!(of_model.contains("Hot [leaves], green tea."), "{of_model}");
        let plain = written(Some(matched), false);
        assert!(plain.contains("Hot leaves, green tea."), "{plain}");
        assert!(!plain.contains('['), "{plain}");
        // The model has read the title alone.
        let title = MatchedText::new("\u{1} Tea\ttime", Vec::new());
        let of_title = written(Some(title), true);
        assert!(of_title.contains("Tea time"), "{of_title}");
        assert!(
            of_title.contains("Hot leaves, [green] [tea]."),
            "{of_title}"
        );
    }

    #[test]
    fn long_titles_end_in_an_ellipsis() {
        assert_eq!(shortened("straße und bahn", 7), "straße…");
        assert_eq!(shortened("kurz", 4), "kurz");
    }
}
