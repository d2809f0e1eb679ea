//! Tables of a comparison in Markdown.

use super::table::{ComparisonTable, SignificanceMark, TableCell};
use crate::compare::Comparison;

impl Comparison {
    /// Returns the tables and notes in Markdown. The highest score of each measure is bold.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        let mut text = String::new();
        for table in self.tables() {
            text += &format!("{}:\n\n{}\n", escape(&table.title), format_table(&table));
        }
        for note in self.notes() {
            text += &format!("- {}\n", escape(&note));
        }
        text
    }
}

fn format_table(table: &ComparisonTable) -> String {
    let row_line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let rules = (0..table.header.len()).map(|at| {
        if at < table.text_columns {
            "---"
        } else {
            "---:"
        }
    });
    let mut text = row_line(table.header.iter().map(|name| escape(name)).collect());
    text += &row_line(rules.map(str::to_owned).collect());
    for row in &table.rows {
        text += &row_line(row.iter().map(format_cell).collect());
    }
    text
}

fn format_cell(cell: &TableCell) -> String {
    let mut text = escape(&cell.text);
    if cell.best {
        text = format!("**{text}**");
    }
    match &cell.mark {
        SignificanceMark::None => {}
        SignificanceMark::Higher => text.push('†'),
        SignificanceMark::Lower => text.push('‡'),
        SignificanceMark::HigherThan(letters) => text += &format!("<sup>{letters}</sup>"),
    }
    text
}

/// Escapes characters that are special in Markdown, also in tables. Line breaks become spaces.
///
/// ```
/// assert_eq!(ir_eval::compare::escape_markdown("a|b_c"), r"a\|b\_c");
/// ```
#[must_use]
pub fn escape(text: &str) -> String {
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
