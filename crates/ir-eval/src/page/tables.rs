//! Tables of a comparison in HTML.

use maud::{Markup, html};

use crate::compare::Comparison;
use crate::compare::table::{ComparisonTable, SignificanceMark, TableCell};
use crate::plots::printable;

/// Number of rows from which tables other than the first are collapsed.
const MAX_OPEN_ROWS: usize = 20;

/// The tables of a comparison; long ones are collapsed.
pub(super) fn tables(comparison: &Comparison) -> Markup {
    html! {
        @for (at, table) in comparison.tables().iter().enumerate() {
            @if at == 0 || table.rows.len() <= MAX_OPEN_ROWS {
                (html_table(table))
            } @else {
                details {
                    summary { (table.title) ", " (table.rows.len()) " rows" }
                    (html_table(table))
                }
            }
        }
    }
}

fn html_table(table: &ComparisonTable) -> Markup {
    let class = |at: usize| (at >= table.text_columns).then_some("n");
    html! {
        div.wide {
            table {
                caption { (printable(&table.title)) }
                thead {
                    tr {
                        @for (at, name) in table.header.iter().enumerate() {
                            th scope="col" class=[class(at)] { (printable(name)) }
                        }
                    }
                }
                tbody {
                    @for row in &table.rows {
                        tr {
                            @for (at, cell) in row.iter().enumerate() {
                                @if at == 0 {
                                    th scope="row" { (printable(&cell.text)) }
                                } @else {
                                    td class=[class(at)] { (format_cell(cell)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn format_cell(cell: &TableCell) -> Markup {
    html! {
        @if cell.best { b { (printable(&cell.text)) } } @else { (printable(&cell.text)) }
        // Style table: marks have no width, so that numbers stay aligned.
        @match &cell.mark {
            SignificanceMark::None => {}
            SignificanceMark::Higher => sup.mark { "†" }
            SignificanceMark::Lower => sup.mark { "‡" }
            SignificanceMark::HigherThan(letters) => sup { (letters) }
        }
    }
}
