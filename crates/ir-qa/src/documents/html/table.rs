//! Tables of pages: parts by their tags.

use html5gum::StartTag;

use super::purpose::attribute;
use crate::documents::paper::Paper;
use crate::documents::table::{Cell, Table};

/// Table in progress, with its caption.
#[derive(Default)]
pub(super) struct OpenTable {
    table: Table,
    caption: String,
    /// Number of open tables inside of this one.
    inner: u64,
    /// If `true`, the table places other tables, and has no rows to read.
    is_layout: bool,
    is_head: bool,
    is_caption: bool,
}

impl OpenTable {
    /// Start of a table inside of this one.
    pub(super) fn start_inner(&mut self, has_rows: bool) {
        self.inner += 1;
        self.is_layout |= has_rows;
    }

    /// Start tag of a part of the table.
    pub(super) fn start(&mut self, name: &str, tag: &StartTag<()>) {
        if self.inner > 0 {
            return;
        }
        match name {
            "caption" => self.is_caption = true,
            "td" | "th" => {
                let [columns, rows] = ["colspan", "rowspan"].map(|name| attribute(tag, name));
                self.table
                    .push_cell(Cell::new(name == "th", columns.as_deref(), rows.as_deref()));
            }
            "thead" | "tbody" | "tfoot" | "tr" => {
                self.end_row();
                self.is_head = name == "thead" || (self.is_head && name == "tr");
            }
            _ => {}
        }
    }

    /// End tag of a part of the table, or of a table inside of it. Returns `true` at the end of
    /// this one.
    pub(super) fn end(&mut self, name: &str) -> bool {
        if self.inner > 0 {
            self.inner -= u64::from(name == "table");
            return false;
        }
        match name {
            "caption" => self.is_caption = false,
            "tr" => self.end_row(),
            "thead" => {
                self.end_row();
                self.is_head = false;
            }
            "table" => return true,
            _ => {}
        }
        false
    }

    fn end_row(&mut self) {
        self.is_caption = false;
        self.table.end_row(self.is_head);
    }

    /// Appends text to the caption or cell. Returns `false` outside of both: the text is a
    /// paragraph.
    pub(super) fn push_text(&mut self, text: &str) -> bool {
        if self.is_caption {
            self.caption.push(' ');
            self.caption.push_str(text);
            return true;
        }
        self.table.push_text(text) || self.inner > 0
    }

    /// Appends the caption and the rows to a paper.
    pub(super) fn push_to(self, paper: &mut Paper) {
        paper.push_paragraph(&self.caption, None);
        if !self.is_layout {
            self.table.push_to(paper, None);
        }
    }
}

/// Returns `true` for the parts of a table.
pub(super) fn is_part(name: &str) -> bool {
    matches!(
        name,
        "caption" | "table" | "tbody" | "td" | "tfoot" | "th" | "thead" | "tr"
    )
}
