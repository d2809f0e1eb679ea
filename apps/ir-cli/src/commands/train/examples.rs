//! Training examples of `ir train` and `ir train-reranker`.

use std::io::BufRead;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, bail};
use ir_data::TextEncoding;
use ir_data::training::{OnInvalidExample, TrainingFile, TrainingFormat};
use serde_json::Value;

use super::dev::DevSet;
use super::options::CommonOptions;
use crate::shared::console::{Bar, Console};
use crate::shared::input::open_documents;

pub(super) fn read(
    args: &CommonOptions,
    dev_set: Option<&DevSet>,
    bar: &mut Bar,
    console: &Console,
) -> Result<TrainingFile> {
    let options = &args.examples;
    let mut format = TrainingFormat::default().with_query_field(&options.query_field);
    if options.leave_out {
        format = format.on_invalid_example(OnInvalidExample::Skip);
    }
    if let Some(texts) = &options.texts {
        let texts = match dev_set {
            Some(dev_set) if args.evaluation.dev.as_ref() == Some(texts) => {
                Arc::clone(&dev_set.texts)
            }
            _ => Arc::new(
                open_documents(texts, TextEncoding::Utf8, console)?
                    .texts(options.template.as_ref())?,
            ),
        };
        format = format.with_texts(texts);
    }
    let data = TrainingFile::open_with_progress(&options.file, format, bar)?;
    if options.texts.is_some() && options.file.is_file() && !has_ids(&options.file)? {
        console.warn(format_args!(
            "--texts: not needed, because {} has texts and no document ids to resolve",
            options.file.display()
        ));
    }
    if let [first, rest @ ..] = data.skipped() {
        console.warn(format_args!("skipped: {first}, and {} more", rest.len()));
    }
    if options.texts.is_none()
        && options.file.is_file()
        && let Some(id) = id_for_text(&options.file)?
    {
        bail!(
            "{}: expected texts as positives, found document ids such as {id:?} (resolve ids with --texts COLLECTION; write a literal text as {{\"text\": {id:?}}})",
            options.file.display(),
        );
    }
    Ok(data)
}

const INSPECTED_LINES: usize = 1000;
const MAX_ID_CHARS: usize = 100;
/// Fields of DataFinder and MAKG files. Their positives are ids.
const PAPER_FIELDS: [&str; 2] = ["keyphrase_query", "paper_id"];

/// Lists of texts in an example.
const LISTS: [&str; 4] = [
    "positives",
    "positive_passages",
    "negatives",
    "negative_passages",
];

/// Returns `true` if an example lists a document by its id alone: a string or number, or an object
/// without text.
fn has_ids(path: &Path) -> Result<bool> {
    let is_id = |value: &Value| match value {
        Value::Object(members) => !members.contains_key("text"),
        _ => true,
    };
    for line in ir_data::open(path)?.lines() {
        // Invalid lines were already reported.
        let Ok(Value::Object(members)) = parse(&line?) else {
            continue;
        };
        let lists = LISTS
            .iter()
            .filter_map(|field| members.get(*field)?.as_array());
        if lists.flatten().any(is_id) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn parse(line: &str) -> serde_json::Result<Value> {
    serde_json::from_str(line.trim_start_matches('\u{feff}'))
}

/// Returns the first positive if the positives look like ids: all are short and have no blank; in
/// DataFinder and MAKG files, less than half have one.
fn id_for_text(path: &Path) -> Result<Option<String>> {
    let mut positives: Vec<String> = Vec::new();
    let mut paper_fields = true;
    for line in ir_data::open(path)?.lines().take(INSPECTED_LINES) {
        // Invalid lines were already reported.
        let Ok(Value::Object(members)) = parse(&line?) else {
            continue;
        };
        paper_fields &= PAPER_FIELDS
            .iter()
            .any(|field| members.contains_key(*field));
        let lists = LISTS[..2].iter().map(|field| members.get(*field));
        let values = lists.flatten().filter_map(Value::as_array);
        positives.extend(
            values
                .flatten()
                .filter_map(Value::as_str)
                .map(str::to_owned),
        );
    }
    let short = |text: &String| text.chars().count() <= MAX_ID_CHARS;
    let words = positives.iter().filter(|text| text.contains(' ')).count();
    let few = words == 0 || paper_fields && 2 * words < positives.len();
    let ids = few && positives.iter().all(short);
    Ok(positives.into_iter().next().filter(|_| ids))
}
