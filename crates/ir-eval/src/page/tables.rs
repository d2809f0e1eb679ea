//! Tables in HTML.

use maud::{Markup, html};

use crate::Comparison;
use crate::compare::table::{Cell, Mark, Sheet};
use crate::plots::printable;

/// Longer tables than this are folded, but for the first.
const LONG: usize = 20;

impl Comparison {
    /// The tables, one below the other, long ones folded. The highest figure of a measure is bold.
    pub(crate) fn html(&self) -> Markup {
        html! {
            @for (at, sheet) in self.sheets().iter().enumerate() {
                @if at == 0 || sheet.rows.len() <= LONG {
                    (table(sheet))
                } @else {
                    details {
                        summary { (sheet.title) ", " (sheet.rows.len()) " rows" }
                        (table(sheet))
                    }
                }
            }
        }
    }
}

fn table(sheet: &Sheet) -> Markup {
    let class = |at: usize| (at >= sheet.words).then_some("n");
    html! {
        div.wide {
            table {
                caption { (printable(&sheet.title)) }
                thead {
                    tr {
                        @for (at, name) in sheet.header.iter().enumerate() {
                            th scope="col" class=[class(at)] { (printable(name)) }
                        }
                    }
                }
                tbody {
                    @for row in &sheet.rows {
                        tr {
                            @for (at, cell) in row.iter().enumerate() {
                                @if at == 0 {
                                    th scope="row" { (printable(&cell.text)) }
                                } @else {
                                    td class=[class(at)] { (set(cell)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn set(cell: &Cell) -> Markup {
    html! {
        @if cell.best { b { (printable(&cell.text)) } } @else { (printable(&cell.text)) }
        // Marks hang to the right of the numbers, which stay below each other.
        @match &cell.mark {
            Mark::None => {}
            Mark::Better => sup.mark { "†" }
            Mark::Worse => sup.mark { "‡" }
            Mark::Beats(letters) => sup { (letters) }
        }
    }
}
