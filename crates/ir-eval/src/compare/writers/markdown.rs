//! Tables in Markdown.

use super::table::{Cell, Mark, Sheet};
use crate::Comparison;

impl Comparison {
    /// The tables in Markdown, with all notes. The highest figure of a measure is bold.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        let mut text = String::new();
        for sheet in self.sheets() {
            text += &format!("{}:\n\n{}\n", escaped(&sheet.title), table(&sheet));
        }
        for note in self.notes() {
            text += &format!("- {}\n", escaped(&note));
        }
        text
    }
}

fn table(sheet: &Sheet) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let rules = (0..sheet.header.len()).map(|at| if at < sheet.words { "---" } else { "---:" });
    let mut text = line(sheet.header.iter().map(|name| escaped(name)).collect());
    text += &line(rules.map(str::to_owned).collect());
    for row in &sheet.rows {
        text += &line(row.iter().map(set).collect());
    }
    text
}

fn set(cell: &Cell) -> String {
    let mut text = escaped(&cell.text);
    if cell.best {
        text = format!("**{text}**");
    }
    match &cell.mark {
        Mark::None => {}
        Mark::Better => text.push('†'),
        Mark::Worse => text.push('‡'),
        Mark::Beats(letters) => text += &format!("<sup>{letters}</sup>"),
    }
    text
}

/// Text in which nothing means anything to Markdown.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' | '$' => {
                out.push('\\');
                out.push(c);
            }
            '\n' | '\r' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
