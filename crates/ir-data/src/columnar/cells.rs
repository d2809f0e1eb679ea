//! Columns of a file and readers of their cells, for every format.

#![cfg_attr(not(any(feature = "arrow", feature = "parquet")), allow(dead_code))]

use ir_core::AttributeValue;

/// What the cells of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnKind {
    /// Texts, numbers and other values that attributes have.
    Values,
    /// Lists of floating-point numbers, such as embeddings.
    Vectors,
    /// Binary data and other types that are not read.
    Other,
}

/// Column of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) kind: ColumnKind,
}

impl Column {
    pub(super) fn has_values(&self) -> bool {
        self.kind == ColumnKind::Values
    }

    pub(super) fn has_vectors(&self) -> bool {
        self.kind == ColumnKind::Vectors
    }
}

/// Reader of the cells of one format.
pub(super) trait Cells: Send {
    /// Reads the next row, the cells of the selected columns in their order; `None` at the end.
    fn read(&mut self) -> Result<Option<Vec<Option<AttributeValue>>>, String>;
}

/// Opened file: its columns, and where the rows begin.
pub(super) trait OpenFile {
    fn columns(&self) -> Vec<Column>;

    /// Number of rows, if the file says it.
    fn len(&self) -> Option<u64>;

    /// Metadata that pandas writes, as JSON.
    fn pandas(&self) -> Option<&str>;

    /// Reads the columns of these positions, in ascending order.
    fn select(self: Box<Self>, columns: &[usize]) -> Result<Box<dyn Cells>, String>;
}
