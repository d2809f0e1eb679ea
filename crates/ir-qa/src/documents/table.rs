//! Tables as rows with the names of their columns.

use std::mem;

use super::paper::Paper;
use crate::frame::ChunkKind;

/// Maximum number of rows of a table that are read.
pub(super) const MAX_ROWS: usize = 200;
/// Maximum number of rows with names of columns.
const MAX_HEADER_ROWS: usize = 8;
/// Maximum number of columns.
const MAX_COLUMNS: usize = 64;
/// Maximum length of a cell in bytes. Longer ones are running text.
const MAX_CELL: usize = 500;
/// Maximum length of a label such as `Table 12` in characters.
const MAX_LABEL: usize = 24;

/// Table in progress, row by row.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// Label, such as `Table 2`; may be empty.
    label: String,
    row: Vec<Cell>,
    /// Cells of earlier rows that continue, by column.
    spans: Vec<Span>,
    /// Rows with the names of the columns.
    header: Vec<Vec<String>>,
    rows: Vec<Vec<String>>,
    /// Number of rows beyond [`MAX_ROWS`] and [`MAX_HEADER_ROWS`].
    omitted: u64,
}

/// Cell of a row.
#[derive(Debug, Default)]
pub(super) struct Cell {
    pub(super) text: String,
    /// If `true`, the cell names a column or row.
    pub(super) is_header: bool,
    /// Number of columns. 0 counts as 1.
    pub(super) columns: usize,
    /// Number of rows. 0 counts as 1.
    pub(super) rows: usize,
}

#[derive(Debug, Clone, Default)]
struct Span {
    text: String,
    /// Number of rows that the cell continues in.
    rows: usize,
}

impl Cell {
    /// Creates a cell with the values of `colspan` and `rowspan`.
    pub(super) fn new(is_header: bool, columns: Option<&str>, rows: Option<&str>) -> Self {
        let number = |text: Option<&str>| text.and_then(|it| it.trim().parse().ok()).unwrap_or(1);
        Self {
            text: String::new(),
            is_header,
            columns: number(columns),
            rows: number(rows),
        }
    }
}

impl Table {
    /// Creates a table with a label or a caption that starts with one.
    pub(super) fn new(label: &str) -> Self {
        Self {
            label: label_of(label).unwrap_or_default(),
            ..Self::default()
        }
    }

    /// Appends a cell. Text beyond [`MAX_CELL`] is cut off.
    pub(super) fn push_cell(&mut self, mut cell: Cell) {
        let mut ends = cell.text.char_indices();
        if let Some((end, _)) = ends.find(|(at, _)| *at >= MAX_CELL) {
            cell.text.truncate(end);
        }
        if self.row.len() < MAX_COLUMNS {
            self.row.push(cell);
        }
    }

    /// Appends text with single spaces to the last cell. Returns `false` if the row has none, or
    /// the cell would be longer than [`MAX_CELL`].
    pub(super) fn push_text(&mut self, text: &str) -> bool {
        let Some(cell) = self.row.last_mut() else {
            return false;
        };
        let fits = cell.text.len() + text.len() < MAX_CELL;
        if fits {
            if !cell.text.is_empty() {
                cell.text.push(' ');
            }
            cell.text.push_str(text);
        }
        fits
    }

    /// Ends a row. `is_header`: in the head of the table. A row of cells that are headers is one
    /// with names of columns, too, above the other rows.
    pub(super) fn end_row(&mut self, is_header: bool) {
        let cells = mem::take(&mut self.row);
        if cells.is_empty() {
            return;
        }
        let is_header = self.rows.is_empty()
            && (is_header || cells.iter().all(|it| it.is_header || it.text.is_empty()));
        let (rows, maximum) = if is_header {
            (self.header.len(), MAX_HEADER_ROWS)
        } else {
            (self.rows.len(), MAX_ROWS)
        };
        if rows >= maximum {
            self.omitted += 1;
            return;
        }
        let values = self.values(cells, is_header);
        if is_header {
            self.header.push(values);
        } else {
            self.rows.push(values);
        }
    }

    /// Text of each column of a row: cells repeat in the rows that they span and, in rows with
    /// names of columns, in the columns. Other cells are in the first column of several.
    fn values(&mut self, cells: Vec<Cell>, is_header: bool) -> Vec<String> {
        let mut values: Vec<String> = Vec::new();
        let mut cells = cells.into_iter();
        while values.len() < MAX_COLUMNS {
            let column = values.len();
            let span = self.spans.get_mut(column);
            if let Some(span) = span.filter(|span| span.rows > 0) {
                span.rows -= 1;
                values.push(span.text.clone());
                continue;
            }
            let Some(cell) = cells.next() else { break };
            let end = (column + cell.columns.clamp(1, MAX_COLUMNS)).min(MAX_COLUMNS);
            let repeated = if is_header {
                cell.text.clone()
            } else {
                String::new()
            };
            values.push(cell.text);
            values.resize(end, repeated);
            if cell.rows > 1 {
                let length = self.spans.len().max(end);
                self.spans.resize(length, Span::default());
                for (span, text) in self.spans[column..end].iter_mut().zip(&values[column..]) {
                    span.text.clone_from(text);
                    span.rows = cell.rows - 1;
                }
            }
        }
        values
    }

    /// Takes the first row as the names of the columns if no row is, such as in tables of GROBID.
    pub(super) fn with_first_row_as_header(mut self) -> Self {
        if self.header.is_empty() && self.rows.len() > 1 {
            self.header.push(self.rows.remove(0));
        }
        self
    }

    /// Appends the rows to a paper, each with the label and the names of its columns: `Table 2:
    /// Model: BM25; MRR: 71.74`. Rows with a single value are names of the rows below them.
    pub(super) fn push_to(mut self, paper: &mut Paper, page: Option<u32>) {
        self.end_row(false);
        if self.label.is_empty() {
            let last = paper.sections.last();
            let last = last.and_then(|section| section.paragraphs.last());
            let caption = last.filter(|last| last.kind == ChunkKind::Content);
            self.label = caption
                .and_then(|it| label_of(&it.text))
                .unwrap_or_default();
        }
        let names = self.names();
        let mut group = "";
        for row in &self.rows {
            let mut distinct = row.iter().filter(|value| !value.is_empty());
            let first = distinct.next().map_or("", String::as_str);
            if distinct.all(|value| value == first) {
                group = first;
                continue;
            }
            let heads = [&*self.label, group].into_iter();
            let heads: Vec<&str> = heads.filter(|head| !head.is_empty()).collect();
            let separator = if heads.is_empty() { "" } else { ": " };
            let cells: Vec<String> = cells(row, &names);
            let text = format!("{}{separator}{}", heads.join(", "), cells.join("; "));
            paper.push_row(&text, page);
        }
        paper.omitted_rows += self.omitted;
    }

    /// Names of the columns. Several rows of them are joined, from the top.
    fn names(&self) -> Vec<String> {
        let columns = self.header.iter().map(Vec::len).max().unwrap_or(0);
        let name = |column| {
            let mut parts: Vec<&str> = Vec::new();
            for row in &self.header {
                let part = row.get(column).map_or("", String::as_str);
                if !part.is_empty() && parts.last() != Some(&part) {
                    parts.push(part);
                }
            }
            parts.join(" ")
        };
        (0..columns).map(name).collect()
    }
}

/// Values of a row with the names of their columns.
fn cells(row: &[String], names: &[String]) -> Vec<String> {
    let values = row.iter().enumerate();
    let values = values.filter(|(_, value)| !value.is_empty());
    let cell = |(column, value): (usize, &String)| {
        let name = names.get(column).map_or("", String::as_str);
        if name.is_empty() || name == value {
            value.clone()
        } else {
            format!("{name}: {value}")
        }
    };
    values.map(cell).collect()
}

/// Label at the start of a caption, such as `Table 2` of `Table 2: Speed`.
fn label_of(caption: &str) -> Option<String> {
    let caption = caption.trim();
    let label = caption
        .split([':', '.', '|', '：', '—', '–'])
        .next()?
        .trim();
    let is_phrase = label.ends_with(|c: char| c.is_alphanumeric()) && label.contains(' ');
    let is_short = label.chars().count() <= MAX_LABEL;
    let number = label.rsplit(' ').next().unwrap_or_default();
    let is_number = number.contains(|c: char| c.is_ascii_digit())
        || (!number.is_empty() && number.chars().all(|c| "IVXLC".contains(c)));
    (is_phrase && is_short && is_number).then(|| label.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(text: &str, columns: usize, rows: usize) -> Cell {
        Cell {
            text: text.to_owned(),
            is_header: false,
            columns,
            rows,
        }
    }

    fn rows(table: Table) -> Vec<String> {
        let mut paper = Paper::default();
        table.push_to(&mut paper, None);
        paper.paragraphs().map(|it| it.text.clone()).collect()
    }

    #[test]
    fn cells_span_rows_and_columns() {
        let mut table = Table::new("Table 2: Cups");
        for (row, is_header) in [
            (&[("Cup", 1, 2), ("Size", 2, 1)][..], true),
            (&[("low", 1, 1), ("high", 1, 1)], true),
            (&[("Green cups", 3, 1)], false),
            (&[("A", 1, 2), ("1", 1, 1), ("2", 1, 1)], false),
            (&[("3", 1, 1), ("", 1, 1)], false),
        ] {
            for &(text, columns, rows) in row {
                table.push_cell(cell(text, columns, rows));
            }
            table.end_row(is_header);
        }
        assert_eq!(
            rows(table),
            [
                "Table 2, Green cups: Cup: A; Size low: 1; Size high: 2",
                "Table 2, Green cups: Cup: A; Size low: 3",
            ]
        );
    }

    #[test]
    fn rows_are_bounded() {
        let mut table = Table::default();
        for n in 0..1000 {
            table.push_cell(cell("a", usize::MAX, 1));
            table.push_cell(cell(&n.to_string(), 1, usize::MAX));
            table.end_row(false);
        }
        let mut paper = Paper::default();
        table.push_to(&mut paper, None);
        assert_eq!(paper.omitted_rows, 1000 - MAX_ROWS as u64);
    }

    #[test]
    fn labels_start_captions() {
        for (caption, label) in [
            ("Table 2: Speed of cups.", Some("Table 2")),
            ("TABLE IV. Speed", Some("TABLE IV")),
            ("Tab. 2 Speed", None),
            ("Speed of cups", None),
            ("表 3：速度", Some("表 3")),
            ("", None),
        ] {
            assert_eq!(label_of(caption).as_deref(), label, "{caption}");
        }
    }
}
