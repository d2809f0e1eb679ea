//! Files of queries in any format, detected by their content.

use std::io::{BufRead, Cursor, Read};
use std::path::Path;

use ir_core::Query;

use crate::csv::Header;
use crate::documents::ReadOptions;
use crate::error::{DataError, Location, name_of};
use crate::head::{ColumnarFormat, FileHead};
use crate::json::{FieldNames, RecordKind, RecordReader};
use crate::lines::LineReader;
#[cfg(feature = "html")]
use crate::sgml;
use crate::tsv::{self, Column};
use crate::{columnar, csv, datafinder, indri, jsonl, open, smart};

/// Format of a file of queries.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum QueryFormat {
    /// JSON lines, or one JSON array.
    Json {
        /// Names of the fields.
        fields: FieldNames,
        /// If `true`, the file is one array.
        is_array: bool,
    },
    /// JSON of DataFinder: `query` and `documents`.
    DataFinder,
    /// CSV or TSV with a header line.
    Csv {
        /// Names of the columns for id and text.
        fields: FieldNames,
        /// Separator of cells: `tab`, `comma` or `semicolon`.
        separator: &'static str,
        /// All columns in the order of the file.
        columns: Vec<String>,
    },
    /// Tab-separated id and text.
    Tsv,
    /// Topics in SGML or XML.
    Topics,
    /// Topics of Indri, `<parameters>`.
    Indri,
    /// SMART format: `.I` and a number.
    Smart {
        /// If `true`, ids are positions, as in the judgments of Cranfield.
        is_cranfield: bool,
    },
    /// Parquet or Arrow, with the names of JSON lines.
    Columnar(ColumnarFormat),
}

impl QueryFormat {
    /// Name of the format in messages.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Json { is_array: true, .. } => "JSON array",
            Self::Json { .. } => "JSON lines",
            Self::DataFinder => "queries of DataFinder",
            Self::Csv {
                separator: "tab", ..
            } => "TSV with a header line",
            Self::Csv { .. } => "CSV with a header line",
            Self::Tsv => "TSV",
            Self::Topics => "topics",
            Self::Indri => "Indri topics",
            Self::Smart { .. } => "SMART",
            Self::Columnar(format) => format.name(),
        }
    }
}

impl QueryFormat {
    /// What of the content shows the format.
    #[must_use]
    pub fn reason(&self) -> String {
        match self {
            Self::Json { is_array: true, .. } => "the first character is [".to_owned(),
            Self::Json { .. } => "the first character is {, or the name ends in .json".to_owned(),
            Self::DataFinder => "JSON with a query and no id, or with documents".to_owned(),
            Self::Csv { fields, .. } => format!(
                "the first line has the names {:?} and {:?}",
                fields.id, fields.text
            ),
            Self::Tsv => "the first line has no names of columns".to_owned(),
            Self::Topics => "the first character is <".to_owned(),
            Self::Indri => "the first element is <parameters>".to_owned(),
            Self::Smart { .. } => "the first line is .I and a number".to_owned(),
            Self::Columnar(format) => {
                format!("the first bytes are those of {}", format.name())
            }
        }
    }
}

/// Reads a file of queries in any format of [`read_queries_from`], or in Parquet.
///
/// ```
/// use ir_data::ReadOptions;
/// let path = std::env::temp_dir().join(format!("ir-data-queries-{}.csv", std::process::id()));
/// std::fs::write(&path, "qid,query\n1,\"tea, green\"\n")?;
/// let (queries, format) = ir_data::read_queries(&path, &ReadOptions::default())?;
/// assert_eq!((queries[0].text.as_str(), format.name()), ("tea, green", "CSV with a header line"));
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The file cannot be read, has no queries, or does not follow its format.
pub fn read_queries(
    path: impl AsRef<Path>,
    options: &ReadOptions,
) -> Result<(Vec<Query>, QueryFormat), DataError> {
    let path = path.as_ref();
    if let Some(format) = ColumnarFormat::detect(path)? {
        let queries = columnar::read_queries(path, &options.names)?;
        return Ok((queries, QueryFormat::Columnar(format)));
    }
    read_queries_from(open(path)?, &name_of(path), options)
}

/// Reads queries from a reader; `source` names it in errors. The format is detected by the content:
///
/// | content | format |
/// |---|---|
/// | JSON with `query` and `documents`, or with `query` and no id | DataFinder: [`datafinder`] |
/// | `{` or `[`, or a source that ends in `.json`, `.jsonl` or `.ndjson` | JSON: [`jsonl`] |
/// | `.I` and a number | SMART: [`smart`] |
/// | `<parameters>`, also after declarations and comments | Indri: [`indri`] |
/// | another `<` | topics of TREC, CLEF, NTCIR and FIRE: [`sgml`](crate::sgml) |
/// | a line of names of columns, with an id and a text | CSV, TSV: [`csv`] |
/// | otherwise | id and text, separated by a tab: [`tsv`] |
///
/// # Errors
/// The source cannot be read, has no queries, or does not follow its format.
pub fn read_queries_from(
    mut reader: impl BufRead + Send,
    source: &str,
    options: &ReadOptions,
) -> Result<(Vec<Query>, QueryFormat), DataError> {
    let empty = || DataError::Empty {
        path: source.to_owned(),
        expected: "queries",
    };
    let mut head = FileHead::read(&mut reader, source)?;
    if head.is_empty() {
        return Err(empty());
    }
    let encoding = options.encoding;
    let line = head.decoded(encoding);
    let reader = Cursor::new(std::mem::take(&mut head.bytes)).chain(reader);
    let (queries, format) = if head.is_json(Path::new(source)) {
        read_json(reader, source, &head, options)?
    } else if head.is_smart() {
        // Cranfield's numbers have leading zeros and gaps; its judgments have positions.
        let is_cranfield = head.line.trim_start_matches(".I").trim() == "001";
        let reader = encoding.decode(reader);
        let queries = if is_cranfield {
            smart::read_cranfield_queries(reader, source)?
        } else {
            smart::read_queries(reader, source)?
        };
        (queries, QueryFormat::Smart { is_cranfield })
    } else if head.is_indri() {
        let reader = encoding.decode_markup(reader, source)?;
        let queries = indri::read_queries(reader, source)?;
        (queries, QueryFormat::Indri)
    } else if head.line.starts_with('<') {
        #[cfg(feature = "html")]
        let queries = match &options.names.text {
            Some(name) => {
                sgml::read_topics_by_field(encoding.decode_markup(reader, source)?, source, name)?
            }
            None => sgml::read_topics(encoding.decode_markup(reader, source)?, source)?,
        };
        #[cfg(not(feature = "html"))]
        return Err(crate::head::no_html(source));
        #[cfg(feature = "html")]
        (queries, QueryFormat::Topics)
    } else {
        read_table(reader, source, &head, &line, options)?
    };
    if queries.is_empty() {
        return Err(empty());
    }
    Ok((queries, format))
}

fn read_json(
    mut reader: impl BufRead,
    source: &str,
    head: &FileHead,
    options: &ReadOptions,
) -> Result<(Vec<Query>, QueryFormat), DataError> {
    let is_array = head.line.starts_with('[');
    let mut array = Vec::new();
    let mut first = (head.line.clone(), head.number);
    if is_array {
        let read = reader.read_to_end(&mut array);
        read.map_err(|error| crate::lines::at_line(error, source, head.number))?;
        let mut records = RecordReader::new(LineReader::new(&*array, source));
        if let Some((text, line)) = records.read()? {
            first = (text.to_owned(), line);
        }
    }
    let reader = Cursor::new(array).chain(reader);
    let members = serde_json::from_str(&first.0);
    let members: serde_json::Map<String, serde_json::Value> = members.unwrap_or_default();
    let has = |name: &str| members.contains_key(name);
    let has_id = RecordKind::Query.id_names().any(has);
    if has("query") && (has("documents") || !has_id) && options.names.is_empty() {
        let rows = datafinder::read_test_queries(reader, source, "q")?;
        let queries = rows.into_iter().map(|row| row.query);
        return Ok((queries.collect(), QueryFormat::DataFinder));
    }
    let (kind, names) = (RecordKind::Query, &options.names);
    let fields = FieldNames::detect_with(&first.0, kind, names, source, first.1)?;
    let queries = jsonl::read_queries(reader, source, &fields)?;
    Ok((queries, QueryFormat::Json { fields, is_array }))
}

fn read_table(
    reader: impl BufRead + Send,
    source: &str,
    head: &FileHead,
    line: &str,
    options: &ReadOptions,
) -> Result<(Vec<Query>, QueryFormat), DataError> {
    let reader = options.encoding.decode(reader);
    let names = &options.names;
    let at = Location::new(source, head.number);
    match Header::parse(line, RecordKind::Query, names, at) {
        Ok(header) => {
            let queries = csv::read_queries(reader, source, names)?;
            let format = QueryFormat::Csv {
                separator: header.separator(),
                fields: header.fields,
                columns: header.columns,
            };
            return Ok((queries, format));
        }
        Err(error) if !names.is_empty() => return Err(error),
        Err(error @ (DataError::RepeatedField { .. } | DataError::LineEnd { .. })) => {
            return Err(error);
        }
        Err(_) => {}
    }
    let read = tsv::read_queries(reader, source, &[Column::Id, Column::Text]);
    let queries = read.map_err(|error| head.with_format(error))?;
    Ok((queries, QueryFormat::Tsv))
}
