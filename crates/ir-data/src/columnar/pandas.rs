//! Metadata of files that pandas writes.

use std::collections::HashMap;

use serde::Deserialize;

/// Index of the rows of a data frame that is no column with a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PandasIndex {
    /// Range of integers in the metadata, with a name or another start than 0.
    Range,
    /// Column `__index_level_0__`.
    UnnamedColumn,
}

/// Entry of `index_columns`.
#[derive(Deserialize)]
#[serde(untagged)]
enum IndexColumn {
    Column(String),
    Range { name: Option<String>, start: i64 },
    Other(serde::de::IgnoredAny),
}

#[derive(Deserialize)]
struct Metadata {
    index_columns: Vec<IndexColumn>,
}

#[derive(Deserialize)]
struct ColumnTypes {
    columns: Vec<ColumnType>,
}

#[derive(Deserialize)]
struct ColumnType {
    field_name: String,
    numpy_type: String,
}

/// Columns of durations, which are integers in Parquet: nanoseconds of their units, by name. None
/// in other texts than the metadata of pandas.
#[cfg_attr(not(feature = "parquet"), allow(dead_code))]
pub(super) fn durations(metadata: &str) -> HashMap<String, i128> {
    let Ok(ColumnTypes { columns }) = serde_json::from_str(metadata) else {
        return HashMap::new();
    };
    let units = columns.into_iter().filter_map(|column| {
        let nanoseconds = match column.numpy_type.as_str() {
            "timedelta64[s]" => 1_000_000_000,
            "timedelta64[ms]" => 1_000_000,
            "timedelta64[us]" => 1_000,
            "timedelta64[ns]" => 1,
            _ => return None,
        };
        Some((column.field_name, nanoseconds))
    });
    units.collect()
}

impl PandasIndex {
    /// Says how the index becomes a column with a name.
    pub(super) fn advice(self) -> &'static str {
        match self {
            Self::Range => {
                "the index of pandas is no column: `reset_index(names=\"id\")` makes it one"
            }
            Self::UnnamedColumn => {
                "the column \"__index_level_0__\" is the index of pandas: `reset_index(names=\"id\")` names it"
            }
        }
    }

    /// Parses the metadata. Returns `None` for the default range from 0, for columns with names and
    /// for other texts.
    pub(super) fn parse(metadata: &str) -> Option<Self> {
        let metadata: Metadata = serde_json::from_str(metadata).ok()?;
        metadata
            .index_columns
            .iter()
            .find_map(|column| match column {
                IndexColumn::Column(name) if name.starts_with("__index_level_") => {
                    Some(Self::UnnamedColumn)
                }
                IndexColumn::Range { name, start } if name.is_some() || *start != 0 => {
                    Some(Self::Range)
                }
                _ => None,
            })
    }
}

#[cfg(test)]
mod tests {
    use super::PandasIndex;

    /// Metadata of pandas 2 and 3, and other texts.
    #[test]
    fn index_of_metadata() {
        let range = r#"{"kind": "range", "name": "doc_id", "start": 0, "stop": 2, "step": 1}"#;
        let unnamed = range.replace("\"doc_id\"", "null");
        let shifted = unnamed.replace("\"start\": 0", "\"start\": 1000");
        for (columns, expected) in [
            (range, Some(PandasIndex::Range)),
            (&shifted, Some(PandasIndex::Range)),
            (&unnamed, None),
            ("\"__index_level_0__\"", Some(PandasIndex::UnnamedColumn)),
            ("\"doc_id\"", None),
            ("{\"kind\": 7}", None),
            ("", None),
        ] {
            let metadata = format!("{{\"index_columns\": [{columns}], \"columns\": []}}");
            assert_eq!(PandasIndex::parse(&metadata), expected, "{columns}");
        }
        assert_eq!(PandasIndex::parse("{\"index_columns\": 1}"), None);
        assert_eq!(PandasIndex::parse("tea"), None);
    }
}
