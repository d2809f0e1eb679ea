//! Rows of a file as named values.

#![cfg_attr(not(any(feature = "arrow", feature = "parquet")), allow(dead_code))]

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use ir_core::AttributeValue;

#[cfg(feature = "arrow")]
use super::arrow::ArrowRows;
use super::cells::{Cell, Cells, Column, OpenFile};
use super::pandas::PandasIndex;
#[cfg(feature = "parquet")]
use super::parquet::ParquetRows;
use crate::error::{DataError, Location, name_of, read_error};
use crate::head::ColumnarFormat;
use crate::lines::MAX_LINE;
use crate::panics::catch_panic;

/// Rows of a file as named values.
pub(crate) struct Rows {
    cells: Box<dyn Cells>,
    format: ColumnarFormat,
    pub(crate) source: Arc<str>,
    columns: Vec<Column>,
    skipped: Vec<String>,
    len: Option<u64>,
    index: Option<PandasIndex>,
    /// Number of rows that were read.
    pub(crate) row: u64,
}

impl std::fmt::Debug for Rows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("Rows");
        debug.field("source", &self.source).field("row", &self.row);
        debug.finish_non_exhaustive()
    }
}

impl Rows {
    /// Opens a file to read the values of all columns that have some.
    pub(crate) fn open(path: &Path) -> Result<Self, DataError> {
        Self::open_columns(path, Column::has_values)
    }

    /// Opens a file to read the values of columns with names that `is_wanted` accepts, binary ones
    /// as texts. Without such a column, rows cannot be read.
    pub(crate) fn open_named(
        path: &Path,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Result<Self, DataError> {
        Self::open_columns(path, |column| {
            (column.has_values() || column.is_binary()) && is_wanted(&column.name)
        })
    }

    /// Opens a file. `is_wanted` selects columns.
    pub(super) fn open_columns(
        path: &Path,
        is_wanted: impl Fn(&Column) -> bool,
    ) -> Result<Self, DataError> {
        let source: Arc<str> = name_of(path).into();
        let Some(format) = ColumnarFormat::detect(path)? else {
            File::open(path).map_err(read_error(path))?;
            return Err(DataError::OtherFormat {
                path: name_of(path),
                expected: "a Parquet or Arrow file",
                found: "another file".to_owned(),
            });
        };
        let Some(open) = opener(format) else {
            return Err(DataError::OtherFormat {
                path: name_of(path),
                expected: match format {
                    ColumnarFormat::Parquet => "another format, or the feature \"parquet\"",
                    ColumnarFormat::Arrow => "another format, or the feature \"arrow\"",
                },
                found: format!("{} data", format.name()),
            });
        };
        caught(&source, format, || {
            let file = open(path)?;
            let len = file.len();
            let index = file.pandas().and_then(PandasIndex::parse);
            let (mut selected, mut columns, mut skipped) = (Vec::new(), Vec::new(), Vec::new());
            for (position, column) in file.columns().into_iter().enumerate() {
                if is_wanted(&column) {
                    selected.push(position);
                    columns.push(column);
                } else {
                    skipped.push(column.name);
                }
            }
            Ok(Self {
                cells: file.select(&selected)?,
                format,
                source: Arc::clone(&source),
                columns,
                skipped,
                len,
                index,
                row: 0,
            })
        })
    }

    /// Columns that are read.
    pub(super) fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Names of the columns that are read.
    pub(crate) fn names(&self) -> Vec<&str> {
        let names = self.columns.iter().map(|column| column.name.as_str());
        names.collect()
    }

    /// Names of the columns that are not read.
    pub(crate) fn skipped(&self) -> &[String] {
        &self.skipped
    }

    /// Number of rows, if the file says it.
    pub(super) fn len(&self) -> Option<u64> {
        self.len
    }

    /// Index of the rows that is no column with a name.
    pub(super) fn index(&self) -> Option<PandasIndex> {
        self.index
    }

    /// Reads the next row; calls `set` with column and value of every cell that is not null.
    pub(crate) fn read(
        &mut self,
        mut set: impl FnMut(&str, AttributeValue, Location<'_>) -> Result<(), DataError>,
    ) -> Result<bool, DataError> {
        let cells = &mut self.cells;
        let Some(row) = caught(&self.source, self.format, || cells.read())? else {
            return Ok(false);
        };
        self.row += 1;
        let at = Location::new(&self.source, self.row);
        for (column, cell) in self.columns.iter().zip(row) {
            let value = match cell {
                Cell::Null => continue,
                Cell::Value(value) => value,
                Cell::NoText => {
                    let name = format!("{:?}", column.name);
                    let found = format!("other bytes ({name} is a binary column)");
                    return Err(at.wrong_type(name, "UTF-8 text", found));
                }
            };
            if matches!(&value, AttributeValue::Text(text) if text.len() as u64 > MAX_LINE) {
                let name = format!("{:?}", column.name);
                return Err(at.wrong_type(name, "at most 64 MiB", "more"));
            }
            set(&column.name, value, at)?;
        }
        Ok(true)
    }
}

/// Function that opens a file of one format.
type Open = fn(&Path) -> Result<Box<dyn OpenFile>, String>;

/// How files of a format are opened; `None` without the feature that reads it.
fn opener(format: ColumnarFormat) -> Option<Open> {
    match format {
        #[cfg(feature = "parquet")]
        ColumnarFormat::Parquet => Some(ParquetRows::open),
        #[cfg(feature = "arrow")]
        ColumnarFormat::Arrow => Some(ArrowRows::open),
        #[allow(unreachable_patterns)]
        _ => None,
    }
}

/// Calls functions of the libraries, which panic on some damaged files.
fn caught<T>(
    source: &str,
    format: ColumnarFormat,
    call: impl FnOnce() -> Result<T, String>,
) -> Result<T, DataError> {
    let error = match catch_panic(call) {
        Ok(Ok(read)) => return Ok(read),
        Ok(Err(error)) | Err(error) => error,
    };
    // The message may contain a long value.
    let mut found: String = error.chars().take(200).collect();
    if ["compile time: zstd", "requires the zstd feature"]
        .iter()
        .any(|text| found.contains(text))
    {
        found.push_str("; the feature \"columnar-zstd\" reads zstd");
    }
    Err(DataError::Columnar {
        path: source.to_owned(),
        format: format.name(),
        found,
    })
}

#[cfg(all(test, feature = "parquet"))]
mod tests {
    use super::*;

    #[test]
    fn only_named_columns_are_decoded() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/testdata/parquet/corpus-none.parquet"
        );
        let mut rows = Rows::open_named(Path::new(path), |name| name == "year").unwrap();
        assert_eq!(rows.names(), ["year"]);
        assert!(rows.skipped().iter().any(|name| name == "text"));
        let mut found = Vec::new();
        let mut set = |name: &str, value, _: Location<'_>| {
            found.push((name.to_owned(), value));
            Ok(())
        };
        assert!(rows.read(&mut set).unwrap());
        assert_eq!(found, [("year".to_owned(), AttributeValue::Int(2017))]);
    }
}
