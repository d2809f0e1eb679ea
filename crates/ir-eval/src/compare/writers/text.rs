//! Tables for a terminal, or for whatever reads text.

use std::fmt;

use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};

use super::table::{Cell, Mark, Sheet};
use crate::Comparison;

impl Comparison {
    /// The tables as aligned text, with all notes: lines without colours or frames, for a terminal
    /// and for pipes.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for sheet in self.sheets() {
            text += &format!("{}\n\n{}\n\n", sheet.title, table(&sheet));
        }
        for note in self.notes() {
            text += &note;
            text.push('\n');
        }
        text
    }
}

/// As [`Comparison::text`] has it.
impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.to_text().trim_end())
    }
}

/// One table, without the space that pads the last column.
fn table(sheet: &Sheet) -> String {
    let mut table = Table::new();
    let rule = LineStyle::none().fill('-').junction('-');
    table.load_style(TableStyle::new().header_separator(rule));
    table.set_header(&sheet.header);
    // Marks hang to the right of the numbers, which stay below each other.
    let widths: Vec<usize> = (0..sheet.header.len())
        .map(|at| {
            let marks = sheet.rows.iter().map(|row| mark(&row[at]).chars().count());
            marks.max().unwrap_or(0)
        })
        .collect();
    for row in &sheet.rows {
        let cells = row.iter().zip(&widths);
        table.add_row(cells.map(|(cell, &width)| format!("{}{:width$}", cell.text, mark(cell))));
    }
    for (at, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if at >= sheet.words {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let lines: Vec<String> = table
        .lines()
        .map(|line| line.trim_end().to_owned())
        .collect();
    lines.join("\n")
}

fn mark(cell: &Cell) -> String {
    match &cell.mark {
        Mark::None => String::new(),
        Mark::Better => "†".to_owned(),
        Mark::Worse => "‡".to_owned(),
        Mark::Beats(letters) => format!(" {letters}"),
    }
}
