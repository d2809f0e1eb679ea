//! Numbers and tables as text.

use comfy_table::{CellAlignment, Table, TableStyle};
use indicatif::HumanCount;

/// Formats rows as columns without borders: the first column left-aligned, the others
/// right-aligned.
pub(crate) fn table<R>(rows: impl IntoIterator<Item = R>) -> String
where
    R: IntoIterator<Item = String>,
{
    table_with_text(rows, usize::MAX)
}

/// [`table`] with the columns from number `text` on left-aligned, too.
pub(crate) fn table_with_text<R>(rows: impl IntoIterator<Item = R>, text: usize) -> String
where
    R: IntoIterator<Item = String>,
{
    let mut table = Table::new();
    table.load_style(TableStyle::new());
    for row in rows {
        table.add_row(row.into_iter().collect::<Vec<String>>());
    }
    for (number, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if number > 0 && number < text {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.trim_fmt()
}

/// A value with four decimals, or a dash for `None`.
pub(crate) fn four_decimals(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.4}"))
}

/// A number with thousands separators.
pub(crate) fn grouped(number: u64) -> String {
    HumanCount(number).to_string()
}

/// A number with the singular or plural of its unit.
pub(crate) fn counted(number: u64, unit: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {unit}{plural}", grouped(number))
}

#[cfg(test)]
mod tests {
    use super::{counted, grouped};

    #[test]
    fn thousands_separators() {
        assert_eq!(
            [0, 12, 123, 1234, 1_113_016].map(grouped),
            ["0", "12", "123", "1,234", "1,113,016"]
        );
    }

    #[test]
    fn numbers_with_units() {
        let files = [0, 1, 2, 1000].map(|number| counted(number, "file"));
        assert_eq!(files, ["0 files", "1 file", "2 files", "1,000 files"]);
    }
}
