//! MS MARCO, question answering.

use std::collections::BTreeMap;
use std::io::BufRead;

use serde::Deserialize;

use super::Question;
use super::builder::{ConvertedQuestions, RecordId, SquadBuilder, find_answers};
use crate::error::{DataError, Location};
use crate::json::json_error;
use crate::lines::LineReader;

#[derive(Deserialize)]
struct Record {
    query_id: RecordId,
    query: String,
    passages: Vec<Passage>,
    #[serde(default)]
    answers: Vec<String>,
}

#[derive(Deserialize)]
struct Passage {
    #[serde(default)]
    is_selected: i64,
    passage_text: String,
    #[serde(default)]
    url: String,
}

/// Columns of version 2.1, by the key of a row.
#[derive(Deserialize)]
struct Columns {
    query_id: BTreeMap<String, RecordId>,
    query: BTreeMap<String, String>,
    passages: BTreeMap<String, Vec<Passage>>,
    #[serde(default)]
    answers: BTreeMap<String, Vec<String>>,
}

/// Answer of questions that the passages do not answer.
const NO_ANSWER: &str = "No Answer Present.";

/// Maximum length of a file, which may be one line: 16 GiB.
const MAX_FILE: u64 = 16 << 30;

/// Reads MS MARCO QA: a JSON object per line (version 1.1), or one JSON object of columns (version
/// 2.1), with `query_id`, `query`, `answers` and `passages`, each with `is_selected`,
/// `passage_text` and `url`. The file is read into memory. `source` names the reader in errors.
///
/// The passages are the paragraphs, with their URL as the title. Answers are written by judges; the
/// answers of a question are those that occur in a selected passage, without regard to case. The
/// question is at the first selected passage with an answer, or else at the first selected one.
/// Questions without a selected passage, or with the answer `No Answer Present.`, are left out;
/// their passages are not.
///
/// ```
/// use ir_data::squad::read_ms_marco_qa;
/// let line = r#"{"query_id": 7, "query": "where is tea from", "answers": ["asia"], "passages": [
///     {"is_selected": 0, "passage_text": "Milk is white.", "url": "http://a.example/milk"},
///     {"is_selected": 1, "passage_text": "Tea is from Asia.", "url": "http://a.example/tea"}]}"#;
/// let found = read_ms_marco_qa(line.replace('\n', "").as_bytes(), "dev_v1.1.json")?.squad;
/// assert_eq!(found.documents().len(), 2);
/// assert_eq!(found.qrels().grade("7", "http://a.example/tea/0"), Some(1));
/// # Ok::<(), ir_data::DataError>(())
/// ```
///
/// # Errors
/// The source cannot be read, does not have this structure, a row is not in all columns, or an id
/// is not unique.
pub fn read_ms_marco_qa(
    reader: impl BufRead,
    source: &str,
) -> Result<ConvertedQuestions, DataError> {
    let mut lines = LineReader::new(reader, source).with_limit(MAX_FILE);
    let mut builder = SquadBuilder::default();
    let mut columns = None;
    while let Some(line) = lines.read()? {
        let at = Location::new(source, line.number);
        let text = line.text.trim();
        match &mut columns {
            Some(whole) => {
                let whole: &mut String = whole;
                whole.push('\n');
                whole.push_str(line.text);
            }
            None if text.is_empty() => {}
            None if is_of_columns(text) => columns = Some(line.text.to_owned()),
            None => {
                let record: Record =
                    serde_json::from_str(text).map_err(|error| json_error(&error, at))?;
                add(&mut builder, &record, at)?;
            }
        }
    }
    if let Some(text) = columns {
        let at = Location::new(source, 1);
        let columns = serde_json::from_str(&text).map_err(|error| json_error(&error, at))?;
        add_columns(&mut builder, columns, at)?;
    }
    Ok(builder.finish())
}

/// Returns `true` if the first line is an object with objects, or the start of an object alone.
fn is_of_columns(line: &str) -> bool {
    let value = line.split_once(':').map(|(_, value)| value.trim_start());
    value.is_none_or(|value| value.is_empty() || value.starts_with('{'))
}

fn add_columns(
    builder: &mut SquadBuilder,
    mut columns: Columns,
    at: Location<'_>,
) -> Result<(), DataError> {
    let mut keys: Vec<String> = columns.query_id.keys().cloned().collect();
    // Keys are row numbers, in lexicographic order here.
    keys.sort_by_key(|key| key.parse().unwrap_or(u64::MAX));
    for key in keys {
        let missing = || {
            at.syntax(
                "a value of each row in the columns query and passages",
                &key,
            )
        };
        let record = Record {
            query_id: columns.query_id.remove(&key).ok_or_else(missing)?,
            query: columns.query.remove(&key).ok_or_else(missing)?,
            passages: columns.passages.remove(&key).ok_or_else(missing)?,
            answers: columns.answers.remove(&key).unwrap_or_default(),
        };
        add(builder, &record, at)?;
    }
    let others = [columns.query.keys().next(), columns.passages.keys().next()];
    match others.into_iter().flatten().next() {
        Some(key) => Err(at.syntax("an id of each row in the column query_id", key)),
        None => Ok(()),
    }
}

fn add(builder: &mut SquadBuilder, record: &Record, at: Location<'_>) -> Result<(), DataError> {
    let id = record.query_id.to_string();
    builder.check_id(&id, at)?;
    let answers = record.answers.iter().map(String::as_str);
    let answers: Vec<&str> = answers.filter(|answer| *answer != NO_ANSWER).collect();
    let is_answered = record.answers.is_empty() || !answers.is_empty();
    let (mut chosen, mut found) = (None, Vec::new());
    for passage in &record.passages {
        let paragraph = builder.add_paragraph(&passage.url, &passage.passage_text);
        if passage.is_selected == 0 || !is_answered || !found.is_empty() {
            continue;
        }
        found = find_answers(builder.context(paragraph), answers.iter().copied());
        if chosen.is_none() || !found.is_empty() {
            chosen = Some(paragraph);
        }
    }
    let question = Question {
        id,
        text: record.query.clone(),
        answers: found,
    };
    builder.add_question(chosen, question);
    Ok(())
}
