//! Judgments in the formats of BEIR folders.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::BufRead;
use std::path::Path;

use ir_core::trec::{DOCUMENT_ID_NAMES, QUERY_ID_NAMES, is_column_name, parse_whole};
use ir_core::{AttributeValue, Grade, Qrels};
use serde::de::IgnoredAny;

use crate::compression::create;
use crate::duplicates::DuplicateFinder;
use crate::error::{DataError, Location};
use crate::head::is_separator_line;
use crate::json::{RecordKind, for_each_record, id_of, parse_object, type_name};
use crate::lines::LineReader;

/// Field of a judgment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JudgmentField {
    /// Name in BEIR's format, for errors.
    name: &'static str,
    /// Groups of names, for [`is_column_name`]. Fields with a name of the last group may be texts.
    names: &'static [&'static [&'static str]],
    /// Content of the field, for errors.
    content: &'static str,
}

pub(crate) const QUERY: JudgmentField = JudgmentField {
    name: "query-id",
    names: &QUERY_ID_NAMES,
    content: "field with a query id",
};
pub(crate) const DOCUMENT: JudgmentField = JudgmentField {
    name: "corpus-id",
    names: &DOCUMENT_ID_NAMES,
    content: "field with a document id",
};
pub(crate) const GRADE: JudgmentField = JudgmentField {
    name: "score",
    names: &[&["score", "relevance", "label", "grade", "rel"], &[]],
    content: "field with a grade",
};

impl JudgmentField {
    /// Returns `true` if `name` is a name of the field. A comment is none.
    pub(crate) fn is(self, name: &str) -> bool {
        !name.starts_with('#') && is_column_name(self.names, name)
    }

    /// Positions of the field among `names`. Names of the last group count without other ones, and
    /// without `id`, `_id` and the text of a document: beside these they are texts.
    fn positions(self, names: &[&str]) -> Vec<usize> {
        let certain = &self.names[..self.names.len() - 1];
        let is_text = |name: &str| {
            let mut texts = ["_id", "id"]
                .into_iter()
                .chain(RecordKind::Document.text_names());
            texts.any(|text| name.eq_ignore_ascii_case(text))
        };
        let mut groups = self.names;
        if (names.iter()).any(|name| is_column_name(certain, name) || is_text(name)) {
            groups = certain;
        }
        let numbered = (0..).zip(names);
        let found =
            numbered.filter(|(_, name)| !name.starts_with('#') && is_column_name(groups, name));
        found.map(|(position, _)| position).collect()
    }

    /// Returns `true` if `names` have the field.
    pub(crate) fn is_among(self, names: &[&str]) -> bool {
        !self.positions(names).is_empty()
    }

    /// Error of names without the field.
    pub(crate) fn missing(self, names: &[&str], at: Location<'_>) -> DataError {
        DataError::FieldNames {
            path: at.path.to_owned(),
            line: at.line,
            expected: format!("a {}, such as {:?}", self.content, self.name),
            found: names.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    /// Position of the field among `names`; `None` without one. Two are an error.
    fn find<'a>(
        self,
        names: impl Iterator<Item = &'a str>,
        at: Location<'_>,
    ) -> Result<Option<usize>, DataError> {
        let names: Vec<&str> = names.collect();
        match self.positions(&names).as_slice() {
            [] => Ok(None),
            [position] => Ok(Some(*position)),
            positions => Err(DataError::FieldNames {
                path: at.path.to_owned(),
                line: at.line,
                expected: format!("one {}", self.content),
                found: positions.iter().map(|&at| names[at].to_owned()).collect(),
            }),
        }
    }

    /// Position of the field among `names`.
    pub(crate) fn position<'a>(
        self,
        names: impl Iterator<Item = &'a str>,
        at: Location<'_>,
    ) -> Result<usize, DataError> {
        self.find(names, at)?
            .ok_or_else(|| at.missing_field(self.name))
    }
}

/// Returns `true` if a name equals a known one, up to case and with underscores for hyphens.
fn is_name(name: &str, known: &str) -> bool {
    let bytes = name.trim_ascii().bytes();
    let bytes = bytes.map(|byte| match byte {
        b'_' => b'-',
        byte => byte.to_ascii_lowercase(),
    });
    bytes.eq(known.bytes())
}

/// Returns `true` if a line may precede the header line of judgments: it is blank, a comment, or
/// names the separator of the columns.
pub(crate) fn is_before_header(line: &str) -> bool {
    line.trim_ascii().is_empty() || line.starts_with('#') || is_separator_line(line.as_bytes())
}

/// Reads qrels in BEIR format; `source` names the reader in errors.
///
/// # Errors
/// The source is empty or cannot be read, the header line is missing or names two queries,
/// documents or grades, a line does not have the columns of the header or the third is not an
/// integer, or a pair is judged twice.
pub fn read_qrels(reader: impl BufRead, source: &str) -> Result<Qrels, DataError> {
    let mut lines = LineReader::new(reader, source);
    let mut qrels = Qrels::new();
    let mut seen = DuplicateFinder::default();
    // Number of columns of the header.
    let mut width = 0;
    const HEADER: &str = "the tab-separated header line `query-id corpus-id score`";
    while let Some(line) = lines.read()? {
        let text = line.text.strip_suffix('\r').unwrap_or(line.text);
        if text.trim_ascii().is_empty() {
            continue;
        }
        let at = Location::new(source, line.number);
        if width == 0 {
            if is_before_header(text) {
                continue;
            }
            if !is_header(text.split('\t')) {
                return Err(at.syntax(HEADER, text));
            }
            for role in [QUERY, DOCUMENT, GRADE] {
                role.find(text.split('\t'), at)?;
            }
            width = text.split('\t').count();
            continue;
        }
        let found = text.split('\t').count();
        if found != width {
            return Err(at.columns(width..=width, found));
        }
        let mut columns = text.split('\t');
        let mut next = || columns.next().unwrap_or_default();
        let (query, doc) = (next(), next());
        let grade = if width == 2 { "1" } else { next().trim_ascii() };
        let grade = parse_whole(grade).ok_or_else(|| at.syntax("an integer as grade", grade))?;
        if query.is_empty() || doc.is_empty() {
            return Err(at.syntax("a query id and a document id", text));
        }
        if let Some(first) = seen.add(&[query, doc], at.line) {
            return Err(at.repeated_judgment(query, doc, first));
        }
        qrels.insert(query, doc, grade);
    }
    if width == 0 {
        return Err(DataError::Empty {
            path: source.to_owned(),
            expected: HEADER,
        });
    }
    Ok(qrels)
}

/// Returns `true` if the first columns are the names of the header; others may follow. The score
/// may be missing.
pub(crate) fn is_header<'a>(columns: impl Iterator<Item = &'a str>) -> bool {
    let names: Vec<&str> = columns.take(3).collect();
    let known = ["query-id", "corpus-id", "score"];
    let mut pairs = names.iter().zip(known);
    names.len() >= 2 && pairs.all(|(name, known)| is_name(name, known))
}

/// Returns `true` if a line is a judgment in JSON.
pub(crate) fn is_jsonl_judgment(line: &str) -> bool {
    let members = parse_object(line, Location::new("", 1)).unwrap_or_default();
    let is_id = |value: &AttributeValue| !matches!(value, AttributeValue::Map(_));
    let ids = members.iter().filter(|(_, value)| is_id(value));
    are_record_names(&ids.map(|(name, _)| name.as_str()).collect::<Vec<_>>())
}

/// Returns `true` if fields of a record with these names are a judgment.
pub(crate) fn are_record_names(names: &[&str]) -> bool {
    names.iter().any(|name| is_name(name, "query-id")) || are_names(names.iter().copied())
}

/// Returns `true` if fields of these names are a query, a document and a grade, or
/// [pairs](are_pairs). A rank is of a run.
pub(crate) fn are_names<'a>(names: impl Iterator<Item = &'a str>) -> bool {
    let names: Vec<&str> = names.collect();
    let has = |field: JudgmentField| field.is_among(&names);
    let is_run = names.iter().any(|name| is_name(name, "rank"));
    let is_graded = has(QUERY) && has(DOCUMENT) && has(GRADE) && !is_run;
    is_graded || are_pairs(&names)
}

/// Returns `true` if fields of these names are a query and a document alone, beside the index of
/// pandas: every grade is 1.
pub(crate) fn are_pairs(names: &[impl AsRef<str>]) -> bool {
    let is_index = |name: &str| {
        name.trim().is_empty() || name == "__index_level_0__" || name.starts_with("Unnamed: ")
    };
    let names = names.iter().map(AsRef::as_ref);
    let names: Vec<&str> = names.filter(|name: &&str| !is_index(name)).collect();
    match names[..] {
        [one, two] => (QUERY.is(one) && DOCUMENT.is(two)) || (DOCUMENT.is(one) && QUERY.is(two)),
        _ => false,
    }
}

/// Reads qrels in JSON lines, as on the Hugging Face hub, or in a JSON array of such records:
/// `query-id` and `corpus-id`, strings or integers, and `score`, an integer, also written as `1.0`;
/// or with the names of data frames: [`QUERY_ID_NAMES`], [`DOCUMENT_ID_NAMES`], and `relevance`,
/// `label`, `grade` or `rel`. A grade may be a string. Other fields are ignored. Without a grade
/// and other fields, every grade is 1. `source` names the reader in errors.
///
/// ```
/// let text = "{\"query-id\": \"PLAIN-2\", \"corpus-id\": \"MED-2427\", \"score\": 2.0}\n";
/// let qrels = ir_data::beir::read_jsonl_qrels(text.as_bytes(), "test.jsonl")?;
/// assert_eq!(qrels.grade("PLAIN-2", "MED-2427"), Some(2));
/// # Ok::<(), ir_data::DataError>(())
/// ```
///
/// # Errors
/// The source is empty or cannot be read, a record is not a JSON object, a field is missing, there
/// twice (`label` and `grade`) or of another type, or a pair is judged twice.
pub fn read_jsonl_qrels(reader: impl BufRead, source: &str) -> Result<Qrels, DataError> {
    let mut qrels = QrelsOfRecords::default();
    let mut is_first = true;
    for_each_record(reader, source, |text, line| {
        let at = Location::new(source, line);
        if std::mem::take(&mut is_first) {
            // With members that are null.
            let members = serde_json::from_str::<BTreeMap<String, IgnoredAny>>(text);
            let names: Vec<String> = members.unwrap_or_default().into_keys().collect();
            qrels.are_pairs = are_pairs(&names);
        }
        qrels.add(&parse_object(text, at)?.into_iter().collect::<Vec<_>>(), at)
    })?;
    qrels.finish(source)
}

/// Judgments from records with a field of each of [`QUERY`], [`DOCUMENT`] and [`GRADE`].
#[derive(Debug, Default)]
pub(crate) struct QrelsOfRecords {
    /// If `true`, records have no grade, and every grade is 1.
    pub(crate) are_pairs: bool,
    qrels: Qrels,
    seen: DuplicateFinder,
    /// Names of the last record.
    names: Vec<String>,
    /// Positions of query, document and grade among the names.
    positions: (usize, usize, Option<usize>),
}

impl QrelsOfRecords {
    /// Adds the judgment of a record.
    pub(crate) fn add(
        &mut self,
        members: &[(impl AsRef<str>, AttributeValue)],
        at: Location<'_>,
    ) -> Result<(), DataError> {
        let names = || members.iter().map(|(name, _)| name.as_ref());
        let is_known = self.are_pairs == self.positions.2.is_none()
            && names().eq(self.names.iter().map(String::as_str));
        if members.is_empty() || !is_known {
            let (query, doc) = (
                QUERY.position(names(), at)?,
                DOCUMENT.position(names(), at)?,
            );
            let grade = match GRADE.find(names(), at)? {
                Some(grade) if self.are_pairs => {
                    let name = members[grade].0.as_ref();
                    return Err(at.syntax("no grade, as in the first record", name));
                }
                None if !self.are_pairs => return Err(at.missing_field(GRADE.name)),
                grade => grade,
            };
            self.positions = (query, doc, grade);
            self.names = names().map(str::to_owned).collect();
        }
        let (query, doc, grade) = self.positions;
        let [query, doc] = [query, doc].map(|position| {
            let (name, value) = &members[position];
            judged_id(name.as_ref(), value, at)
        });
        let (query, doc) = (query?, doc?);
        let grade = match grade {
            Some(position) => {
                let (name, value) = &members[position];
                judged_grade(name.as_ref(), value, at)?
            }
            None => 1,
        };
        self.insert(&query, &doc, grade, at)
    }

    /// Adds a judgment. A second one of the same pair is an error.
    pub(crate) fn insert(
        &mut self,
        query: &str,
        doc: &str,
        grade: Grade,
        at: Location<'_>,
    ) -> Result<(), DataError> {
        if let Some(first) = self.seen.add(&[query, doc], at.line) {
            return Err(at.repeated_judgment(query, doc, first));
        }
        self.qrels.insert(query, doc, grade);
        Ok(())
    }

    /// Judgments of all records. None are an error.
    pub(crate) fn finish(self, source: &str) -> Result<Qrels, DataError> {
        if self.qrels.is_empty() {
            return Err(DataError::Empty {
                path: source.to_owned(),
                expected: "records with `query-id`, `corpus-id` and `score`",
            });
        }
        Ok(self.qrels)
    }
}

/// Id of a judgment in the field `name`.
fn judged_id<'v>(
    name: &str,
    value: &'v AttributeValue,
    at: Location<'_>,
) -> Result<Cow<'v, str>, DataError> {
    match value {
        AttributeValue::Text(id) if id.is_empty() => {
            Err(at.wrong_type(name, "an id", "an empty string"))
        }
        AttributeValue::Text(id) => Ok(Cow::Borrowed(id)),
        other => {
            let id = id_of(other.clone()).map(Cow::Owned);
            id.map_err(|found| at.wrong_type(name, "an id", found))
        }
    }
}

/// Grade of a judgment in the field `name`.
fn judged_grade(name: &str, value: &AttributeValue, at: Location<'_>) -> Result<Grade, DataError> {
    let found = match value {
        AttributeValue::Int(grade) => return Ok(*grade),
        AttributeValue::Float(grade) => Cow::Owned(grade.to_string()),
        AttributeValue::Text(grade) => Cow::Borrowed(grade.trim()),
        other => return Err(at.wrong_type(name, "an integer as grade", type_name(other))),
    };
    parse_whole(&found).ok_or_else(|| at.syntax("an integer as grade", &found))
}

/// Writes qrels in BEIR format atomically.
///
/// # Errors
/// The file cannot be written, or an id is empty or contains a tab or line end.
pub fn write_qrels(path: impl AsRef<Path>, qrels: &Qrels) -> Result<(), DataError> {
    let mut file = create(path)?;
    let mut line = 1;
    // One write per query.
    let mut text = String::from("query-id\tcorpus-id\tscore\n");
    for (query, judged) in qrels.iter() {
        for (doc, grade) in judged {
            line += 1;
            for id in [query, doc] {
                if id.is_empty() || id.contains(['\t', '\n', '\r', '\0']) {
                    return Err(file.unwritable(line, "an id without tabs and line ends", id));
                }
            }
            for part in [query, "\t", doc, "\t", &grade.to_string(), "\n"] {
                text.push_str(part);
            }
        }
        file.append(text.as_bytes())?;
        text.clear();
    }
    file.append(text.as_bytes())?;
    file.commit()
}
