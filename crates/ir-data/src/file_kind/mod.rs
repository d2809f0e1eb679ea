//! Kind of a file: documents, queries, judgments, runs or vectors.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::io::Read;
use std::path::Path;

use ir_core::trec::{parse_whole, run_fields};
use serde_json::{Map, Value};

use crate::columnar;
use crate::compression::open;
use crate::error::{DataError, read_error};
use crate::head::{ColumnarFormat, FirstElements, has_extension, vector_format};
use crate::json::RecordKind;
use crate::judgments;
use crate::qrels::{self, table};
use crate::sparse_vectors::SPARSE_VECTORS;

/// Number of bytes by which the kind of a file is detected.
const HEAD: u64 = 1 << 16;

/// What a file has, by its start. Formats that documents and queries share count as documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// Documents with id, title and text.
    Documents,
    /// Queries with id and text, or topics.
    Queries,
    /// Judgments: grades of documents by query.
    Judgments,
    /// Run: ranked documents by query.
    Run,
    /// Vectors, and their format.
    Vectors(&'static str),
    /// Columns that fit several kinds: what they may be.
    Unclear(&'static [&'static str]),
}

/// Kinds of three columns between tabs, the third an integer.
const THREE_COLUMNS: &[&str] = &[MS_MARCO, UNNAMED, "documents: id, text, title"];
/// The same between spaces, where the integers are no ranks.
const THREE_WORDS: &[&str] = &[UNNAMED, MS_MARCO];
/// The same between commas or semicolons.
const THREE_CELLS: &[&str] = &[UNNAMED, "documents without a header line"];
const MS_MARCO: &str = "a run of MS MARCO: query, document, rank";
const UNNAMED: &str = "judgments without the header line query-id, corpus-id, score (between tabs or \
                       commas): query, document, grade";
/// Kinds of JSON of ranx with integers that descend.
const DESCENDING: &[&str] = &[
    "judgments of ranx or pytrec_eval: grades by document",
    "a run of ranx or pytrec_eval: scores by document",
];
/// Kinds of two words between tabs.
const TWO_COLUMNS: &[&str] = &[
    "judgments without grades: query, document",
    "documents or queries: id, text",
];

impl FileKind {
    /// Detects the kind of a file, possibly compressed:
    ///
    /// | start | kind |
    /// |---|---|
    /// | six columns, of which rank and score are numbers | run |
    /// | names of a query, a document and a rank, or a score with decimals, also in JSON | run |
    /// | header of BEIR, JSON with `query-id`, or four columns that end in an integer | judgments |
    /// | such six or four columns after a header line | run; judgments |
    /// | three integers between spaces, some of them -1; two columns between spaces | judgments |
    /// | two integers and two zeros | judgments |
    /// | three columns between spaces, the third counts from 1 for each query | run |
    /// | three other columns, the third an integer, or two words between tabs | unclear |
    /// | JSON object of objects of integers; of other numbers | judgments; run |
    /// | the same integers, descending for each query | unclear |
    /// | `<top>`, `<topic>`, `<inex_topic>`, `<parameters>` or `<queries>` | queries |
    /// | JSON or columns with the names of queries only | queries |
    /// | vector index, NumPy array, `.fvecs` | vectors |
    /// | JSON, Parquet or Arrow with vectors and without texts | vectors |
    /// | JSON with `vector`, an object of weights, and without texts | vectors |
    /// | otherwise | documents |
    ///
    /// ```
    /// use ir_data::FileKind;
    /// let path = std::env::temp_dir().join(format!("ir-data-kind-{}", std::process::id()));
    /// std::fs::write(&path, "q1 Q0 d1 1 2.5 bm25\n")?;
    /// assert_eq!(FileKind::detect(&path)?, FileKind::Run);
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn detect(path: impl AsRef<Path>) -> Result<Self, DataError> {
        let path = path.as_ref();
        if let Some(format) = ColumnarFormat::detect(path)? {
            return of_columnar(path, format);
        }
        if has_extension(path, ".fvecs") {
            return Ok(Self::Vectors("fvecs"));
        }
        let head = read_head(path)?;
        if let Some(format) = vector_format(head.split(|&byte| byte == b'\n').next().unwrap_or(&[]))
        {
            return Ok(Self::Vectors(format));
        }
        let head = text_of(&head);
        Ok(match head.chars().next() {
            Some('{' | '[') => of_json(&head),
            Some('<') => of_markup(&head),
            _ => of_columns(&head),
        })
    }

    /// Name of the format of judgments for messages, by the start of the file: `TREC qrels`,
    /// `pairs`, `JSON`.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn judgment_format(path: impl AsRef<Path>) -> Result<&'static str, DataError> {
        let path = path.as_ref();
        if let Some(format) = ColumnarFormat::detect(path)? {
            return Ok(format.name());
        }
        let head = read_head(path)?;
        if text_of(&head).starts_with(['{', '[']) {
            return Ok("JSON");
        }
        Ok(qrels::format_name(&head))
    }
}

/// First bytes of a file.
fn read_head(path: &Path) -> Result<Vec<u8>, DataError> {
    let mut head = Vec::new();
    let read = open(path)?.take(HEAD).read_to_end(&mut head);
    read.map_err(read_error(path))?;
    if head.len() as u64 == HEAD
        && let Some(end) = head.iter().rposition(|&byte| byte == b'\n')
    {
        // The last line may be incomplete.
        head.truncate(end);
    }
    Ok(head)
}

fn text_of(head: &[u8]) -> Cow<'_, str> {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    String::from_utf8_lossy(head.trim_ascii_start())
}

fn of_markup(head: &str) -> FileKind {
    let elements = FirstElements::parse(head);
    let is_queries = [
        "top",
        "topic",
        "topics",
        "inex_topic",
        "parameters",
        "queries",
    ]
    .iter()
    .any(|name| elements.has(name));
    if is_queries && !elements.is_trec() {
        FileKind::Queries
    } else {
        FileKind::Documents
    }
}

/// Lines with columns between white space, without blank lines and comments.
struct Rows<'a> {
    /// First line, without what precedes a header line.
    first: &'a str,
    lines: Vec<&'a str>,
}

impl<'a> Rows<'a> {
    fn new(head: &'a str) -> Self {
        let is_first =
            |line: &&str| !judgments::is_before_header(line) || table::separator(line).is_some();
        let lines = head.lines().filter(|line| !line.starts_with('#'));
        Self {
            first: head.lines().find(is_first).unwrap_or_default(),
            lines: lines.filter(|line| !line.trim().is_empty()).collect(),
        }
    }

    fn all(&self, is_kind: impl Fn(Vec<&str>) -> bool) -> bool {
        let mut lines = self.lines.iter();
        lines.all(|line| is_kind(line.split_whitespace().collect()))
    }

    /// Number of columns, if it is the same in all rows.
    fn widths(&self) -> Option<usize> {
        let width = self.lines.first()?.split_whitespace().count();
        self.all(|row| row.len() == width).then_some(width)
    }

    /// Returns `true` if tabs separate this number of columns in all rows.
    fn are_between_tabs(&self, width: usize) -> bool {
        let mut lines = self.lines.iter();
        lines.all(|line| line.trim().split('\t').count() == width)
    }

    /// Returns `true` if the first line names the columns of a run, and no text of documents. A
    /// table with scores without decimals is one of judgments.
    fn are_run_table(&self) -> bool {
        [',', ';', '\t', ' '].into_iter().any(|separator| {
            let names = cells(self.first, separator);
            let score = |line: &&str, position: usize| {
                let cells = cells(line, separator);
                cells.get(position).is_some_and(|cell| is_fraction(cell))
            };
            let mut lines = self.lines.iter();
            are_run_names(&names, |position| lines.any(|line| score(line, position)))
        })
    }

    /// Returns `true` if the third of three columns counts from 1 for each query.
    fn are_ranked(&self) -> bool {
        let (mut query, mut rank) = ("", 0_i64);
        self.lines.iter().all(|line| {
            let [id, _, number] = line.split_whitespace().collect::<Vec<_>>()[..] else {
                return false;
            };
            if id != query {
                (query, rank) = (id, 0);
            }
            rank += 1;
            number.parse::<i64>() == Ok(rank)
        })
    }

    /// Returns `true` if all rows have two words and an integer between commas or semicolons.
    fn are_graded_cells(&self) -> bool {
        let is_graded = |line: &str, separator: char| match cells(line, separator)[..] {
            [query, doc, grade] => {
                let is_word = |text: &str| !text.is_empty() && !text.contains(char::is_whitespace);
                is_word(query) && is_word(doc) && is_integer(grade)
            }
            _ => false,
        };
        let mut separators = [',', ';'].into_iter();
        let are_all = |separator| self.lines.iter().all(|line| is_graded(line, separator));
        !self.lines.is_empty() && separators.any(are_all)
    }

    /// Kind of the rows after a header line.
    fn after_header(&self) -> Option<FileKind> {
        let width = self.widths()?;
        if self.have_cells() && !self.are_between_tabs(width) {
            return None;
        }
        let mut kinds = self.lines.iter().skip(1).map(|row| of_row(row));
        let first = kinds.next()??;
        kinds.all(|kind| kind == Some(first)).then_some(first)
    }

    /// Returns `true` if all rows are judgments of CISI or CACM.
    fn are_cisi(&self) -> bool {
        self.all(|row| {
            matches!(row[..], [query, doc, "0", "0" | "0.000000"]
                if is_integer(query) && is_integer(doc) && doc != "0")
        })
    }

    /// Returns `true` if a line has a tab, or the first line another separator of cells.
    fn have_cells(&self) -> bool {
        let mut lines = self.lines.iter();
        self.first.contains([',', ';']) || lines.any(|line| line.contains('\t'))
    }
}

fn is_integer(text: &str) -> bool {
    text.parse::<i64>().is_ok()
}

/// Returns `true` for a number with decimals, such as a score.
fn is_fraction(text: &str) -> bool {
    text.parse::<f64>().is_ok() && parse_whole(text).is_none()
}

/// Cells of a line; a space is any white space.
fn cells(line: &str, separator: char) -> Vec<&str> {
    if separator == ' ' {
        return line.split_whitespace().collect();
    }
    let cells = line.split(separator);
    cells.map(|cell| cell.trim().trim_matches('"')).collect()
}

/// Returns `true` if a run has these names, and a rank or a score with decimals. `has_decimals` is
/// asked for the position of the score.
fn are_run_names(names: &[&str], has_decimals: impl FnOnce(usize) -> bool) -> bool {
    let Some(fields) = run_fields(names) else {
        return false;
    };
    let mut texts = RecordKind::Document.text_names();
    let is_text = |text: &str| names.iter().any(|name| name.eq_ignore_ascii_case(text));
    if texts.any(is_text) {
        return false;
    }
    let has_rank = names.iter().any(|name| name.eq_ignore_ascii_case("rank"));
    let score = fields.iter().position(|field| *field == "score");
    has_rank || score.is_some_and(has_decimals)
}

/// Kind of a row of TREC's six or four columns.
fn of_row(line: &str) -> Option<FileKind> {
    match line.split_whitespace().collect::<Vec<_>>()[..] {
        [_, _, _, rank, score, _] if is_integer(rank) && score.parse::<f64>().is_ok() => {
            Some(FileKind::Run)
        }
        [_, iteration, _, grade] if is_integer(grade) && iteration.len() <= 2 => {
            Some(FileKind::Judgments)
        }
        _ => None,
    }
}

fn of_columns(head: &str) -> FileKind {
    let rows = Rows::new(head);
    let first = rows.first;
    if rows.are_run_table() {
        return FileKind::Run;
    }
    if judgments::is_header(first.split_whitespace()) || table::separator(first).is_some() {
        return FileKind::Judgments;
    }
    if let Some(kind) = of_row(first) {
        return kind;
    }
    let cells = first
        .split(['\t', ',', ';'])
        .map(|cell| cell.trim().trim_matches('"'));
    let has = |name: &str| cells.clone().any(|cell| cell.eq_ignore_ascii_case(name));
    if let Some(kind) = of_names(has).or_else(|| rows.after_header()) {
        return kind;
    }
    if rows.are_graded_cells() {
        return FileKind::Unclear(THREE_CELLS);
    }
    let ends_in_integer = |row: Vec<&str>| row.last().is_some_and(|last| is_integer(last));
    match rows.widths() {
        Some(2) if !rows.have_cells() => FileKind::Judgments,
        Some(2) if rows.are_between_tabs(2) => FileKind::Unclear(TWO_COLUMNS),
        Some(3) if rows.all(ends_in_integer) => {
            let is_cranfield = rows.all(|row| row.iter().all(|cell| is_integer(cell)))
                && !rows.all(|row| row[2] != "-1");
            if rows.are_between_tabs(3) {
                FileKind::Unclear(THREE_COLUMNS)
            } else if rows.have_cells() {
                FileKind::Documents
            } else if is_cranfield {
                FileKind::Judgments
            } else if rows.are_ranked() {
                FileKind::Run
            } else {
                FileKind::Unclear(THREE_WORDS)
            }
        }
        Some(4) if rows.are_cisi() => FileKind::Judgments,
        _ => FileKind::Documents,
    }
}

/// Kind of records with fields of these names; `None` without an id and a text.
fn of_names(has: impl Fn(&str) -> bool) -> Option<FileKind> {
    let document = RecordKind::Document;
    let is_document = document.id_names().any(&has) && document.text_names().any(&has);
    let query = RecordKind::Query;
    let is_query = query.id_names().any(&has) && query.text_names().any(&has);
    if is_document {
        return Some(FileKind::Documents);
    }
    is_query.then_some(FileKind::Queries)
}

fn of_json(head: &str) -> FileKind {
    let record = head.trim_start_matches('[').trim_start();
    let mut records = serde_json::Deserializer::from_str(record).into_iter::<Map<String, Value>>();
    let members = records.next().and_then(Result::ok).unwrap_or_default();
    let scalars = members.iter().filter(|(_, value)| !value.is_object());
    let names: Vec<&str> = scalars.map(|(name, _)| name.as_str()).collect();
    let has_decimals = |position: usize| {
        let value = names.get(position).and_then(|name| members.get(*name));
        value.is_some_and(|value| is_fraction(&value.to_string()))
    };
    if are_run_names(&names, has_decimals) {
        return FileKind::Run;
    }
    if judgments::are_record_names(&names) {
        return FileKind::Judgments;
    }
    let has = |name: &str| members.contains_key(name);
    let is_text = RecordKind::Document.text_names().any(has);
    if let Some(Value::Object(weights)) = members.get("vector")
        && weights.values().all(Value::is_number)
        && ["id", "_id", "docid"].into_iter().any(has)
        && !is_text
    {
        return FileKind::Vectors(SPARSE_VECTORS);
    }
    // An object of objects: {"q1": {"d1": 1.
    let inner = record
        .strip_prefix('{')
        .map(str::trim_start)
        .and_then(after_name)
        .and_then(|rest| rest.strip_prefix('{'));
    if let Some(value) = inner.map(str::trim_start).and_then(after_name) {
        let end = value.find([',', '}', ' ', '\n']).unwrap_or(value.len());
        let mut columns = RecordKind::Document.id_names();
        let name = record.split('"').nth(1).unwrap_or_default();
        return match &value[..end] {
            // Columns of pandas.
            _ if columns.any(|column| column == name) => FileKind::Documents,
            number if number.parse::<i64>().is_ok() => {
                if integers_descend(record) {
                    FileKind::Unclear(DESCENDING)
                } else {
                    FileKind::Judgments
                }
            }
            number if number.parse::<f64>().is_ok() => FileKind::Run,
            _ => FileKind::Documents,
        };
    }
    let is_vector = members.iter().any(|(name, value)| {
        let is_name = |known: &str| name.eq_ignore_ascii_case(known);
        value.is_array() && columnar::VECTOR_NAMES.into_iter().any(is_name)
    });
    if is_vector && !is_text {
        return FileKind::Vectors(if head.starts_with('[') {
            "JSON array of vectors"
        } else {
            "JSON lines of vectors"
        });
    }
    // DataFinder's queries have no id.
    if has("query") && has("documents") {
        return FileKind::Queries;
    }
    of_names(has).unwrap_or(FileKind::Documents)
}

/// Returns `true` if the integers of each query descend, as scores do, and a query has two. The end
/// of the text may be missing.
fn integers_descend(object: &str) -> bool {
    let is_between = |c: char| c.is_whitespace() || matches!(c, '{' | '}' | ',');
    let (mut previous, mut has_pair) = (None::<i64>, false);
    let mut rest = object.trim_start_matches(is_between);
    while let Some(value) = after_name(rest) {
        rest = value;
        if value.starts_with('{') {
            previous = None;
        } else {
            let Some(end) = value.find(is_between) else {
                break;
            };
            let Ok(number) = value[..end].parse::<i64>() else {
                return false;
            };
            if previous.is_some_and(|previous| previous <= number) {
                return false;
            }
            has_pair |= previous.replace(number).is_some();
            rest = &value[end..];
        }
        rest = rest.trim_start_matches(is_between);
    }
    has_pair
}

/// Text after a name of a member and its colon.
fn after_name(text: &str) -> Option<&str> {
    let rest = text.strip_prefix('"')?;
    let mut escaped = false;
    let end = rest.find(|c: char| {
        let is_end = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        is_end
    })?;
    let rest = rest[end + 1..].trim_start();
    Some(rest.strip_prefix(':')?.trim_start())
}

fn of_columnar(path: &Path, format: ColumnarFormat) -> Result<FileKind, DataError> {
    let columns = columnar::columns(path)?;
    let has = |name: &str| {
        columns
            .read
            .iter()
            .any(|column| column.eq_ignore_ascii_case(name))
    };
    let is_text = RecordKind::Document.text_names().any(has);
    if judgments::are_names(columns.read.iter().map(String::as_str)) {
        return Ok(FileKind::Judgments);
    }
    if columns.has_vectors && !is_text {
        return Ok(FileKind::Vectors(format.name()));
    }
    Ok(of_names(has).unwrap_or(FileKind::Documents))
}
