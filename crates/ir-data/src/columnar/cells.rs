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
    /// Byte strings without an encoding, which are texts if they are UTF-8.
    Binary,
    /// Other types, which are not read.
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

    pub(super) fn is_binary(&self) -> bool {
        self.kind == ColumnKind::Binary
    }
}

/// Cell of a row.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    /// Cell without a value, also NaN.
    Null,
    Value(AttributeValue),
    /// Bytes of a binary column that are not UTF-8.
    NoText,
}

impl Cell {
    /// Cell of a binary column.
    pub(super) fn from_bytes(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Value(AttributeValue::Text(text.to_owned())),
            Err(_) => Self::NoText,
        }
    }
}

impl From<Option<AttributeValue>> for Cell {
    fn from(value: Option<AttributeValue>) -> Self {
        value.map_or(Self::Null, Self::Value)
    }
}

/// Reader of the cells of one format.
pub(super) trait Cells: Send {
    /// Reads the next row, the cells of the selected columns in their order; `None` at the end.
    fn read(&mut self) -> Result<Option<Vec<Cell>>, String>;
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
