//! Tables as aligned plain text.

use std::fmt;

use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};

use super::table::{ComparisonTable, SignificanceMark, TableCell};
use crate::compare::Comparison;

impl Comparison {
    /// Returns the tables and notes as aligned plain text, without colors or borders.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for table in self.tables() {
            text += &format!("{}\n\n{}\n\n", table.title, align(&table));
        }
        for note in self.notes() {
            text += &note;
            text.push('\n');
        }
        text
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.to_text().trim_end())
    }
}

/// Aligns a table, without trailing spaces.
fn align(source: &ComparisonTable) -> String {
    let mut table = Table::new();
    let rule = LineStyle::none().fill('-').junction('-');
    table.load_style(TableStyle::new().header_separator(rule));
    table.set_header(&source.header);
    // Marks are padded to equal width, so that numbers stay aligned.
    let widths: Vec<usize> = (0..source.header.len())
        .map(|at| {
            let marks = source.rows.iter().map(|row| mark(&row[at]).chars().count());
            marks.max().unwrap_or(0)
        })
        .collect();
    for row in &source.rows {
        let cells = row.iter().zip(&widths);
        table.add_row(cells.map(|(cell, &width)| format!("{}{:width$}", cell.text, mark(cell))));
    }
    for (at, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if at >= source.text_columns {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let lines: Vec<String> = table
        .lines()
        .map(|line| line.trim_end().to_owned())
        .collect();
    lines.join("\n")
}

fn mark(cell: &TableCell) -> String {
    match &cell.mark {
        SignificanceMark::None => String::new(),
        SignificanceMark::Higher => "†".to_owned(),
        SignificanceMark::Lower => "‡".to_owned(),
        SignificanceMark::HigherThan(letters) => format!(" {letters}"),
    }
}
