//! Readers of vectors, class labels and texts.

use std::path::Path;

use anyhow::{Result, anyhow, bail};
use ir_data::catalog::{Catalog, entries};
use ir_data::{LineReader, parser_message};
use serde_json::{Map, Value};

use super::Args;
use crate::shared::console::{Console, bail_usage};
use crate::shared::input;
use crate::shared::item_files::labels;
use crate::shared::papers::is_columnar;
use crate::shared::suggest::{did_you_mean, list_or_none};

pub(super) struct LabeledTexts {
    pub(super) texts: Vec<String>,
    /// Line number of each text, from 1; empty for a Parquet or Arrow file.
    pub(super) lines: Vec<u64>,
    pub(super) labels: Vec<String>,
}

/// Reads JSON lines, plain lines, or a Parquet or Arrow file of the ICLR dataset. Of more texts
/// than labels, only as many as there are labels are kept in memory, and an error is returned at
/// the end.
pub(super) fn texts(argument: &str, args: &Args, console: &Console) -> Result<LabeledTexts> {
    reject_collection(argument)?;
    if is_columnar(argument) {
        return papers(argument, args, console);
    }
    let given = args
        .labels
        .as_deref()
        .map(|file| labels(file, console))
        .transpose()?;
    let limit = given.as_ref().map_or(usize::MAX, Vec::len);
    let (reader, name) = input::open(argument, console)?;
    let unlabeled =
        || anyhow!("{name}: expected --labels for texts that are plain lines, found none");
    let mut lines = LineReader::new(reader, &name);
    let (mut texts, mut numbers, mut own) = (Vec::new(), Vec::new(), Vec::new());
    let (mut json, mut found) = (None, 0_usize);
    while let Some(line) = lines.read()? {
        let text = line.text.trim_end_matches('\r');
        let blank = text.trim().is_empty();
        if json.is_none() {
            if blank {
                // Leading blank lines are texts only in a file of plain lines.
                found += 1;
                continue;
            }
            let is_json = text.trim_start().starts_with('{');
            json = Some(is_json);
            if is_json {
                found = 0;
            } else if given.is_none() {
                return Err(unlabeled());
            } else {
                texts.resize(found.min(limit), String::new());
                numbers.extend(1..=texts.len() as u64);
            }
        }
        if blank && json == Some(true) {
            continue;
        }
        found += 1;
        let is_kept = found <= limit;
        if is_kept {
            numbers.push(line.number);
        }
        if json != Some(true) {
            if is_kept {
                texts.push(text.to_owned());
            }
            continue;
        }
        let at = format_args!("{name}:{}", line.number);
        let object: Map<String, Value> = match serde_json::from_str(text) {
            Ok(object) => object,
            Err(error) => {
                let error = parser_message(&error.to_string(), "an object");
                bail!("{at}: expected a JSON object: {error}")
            }
        };
        let field = |field: &str| match object.get(field) {
            Some(Value::String(value)) => Ok(Some(value.clone())),
            None | Some(Value::Null) => Ok(None),
            Some(other) => bail!("{at}: expected text in the field {field:?}, found {other}"),
        };
        match field(&args.text_field)? {
            Some(text) if is_kept => texts.push(text),
            Some(_) => {}
            None => {
                let known = object.iter().filter(|(_, value)| value.is_string());
                let hint = did_you_mean(&args.text_field, known.map(|(name, _)| name.as_str()));
                let names: Vec<String> = object.keys().map(|name| format!("{name:?}")).collect();
                bail!(
                    "{at}: expected a field {:?}, found {} (--text-field names the field of the text){hint}",
                    args.text_field,
                    list_or_none(names.iter().map(String::as_str))
                )
            }
        }
        if given.is_none() {
            // An item without a label is unlabeled.
            own.push(field(&args.label_field)?);
        }
    }
    if json.is_none() && found > 0 {
        if given.is_none() {
            return Err(unlabeled());
        }
        texts.resize(found.min(limit), String::new());
        numbers.extend(1..=texts.len() as u64);
    }
    if found > limit {
        let labels = args.labels.as_deref().unwrap_or_default();
        bail!("{labels}: expected {found} labels as {argument} has, found {limit}");
    }
    let labels = match given {
        Some(labels) => labels,
        None if !own.is_empty() && own.iter().all(Option::is_none) => bail!(
            "{name}: expected labels in the field {:?}, found none",
            args.label_field
        ),
        None => own
            .into_iter()
            .map(|label| label.unwrap_or_else(|| args.unlabeled.clone()))
            .collect(),
    };
    Ok(LabeledTexts {
        texts,
        lines: numbers,
        labels,
    })
}

/// Rejects the name of a collection, and names its first file.
fn reject_collection(argument: &str) -> Result<()> {
    let entry = entries().iter().find(|entry| entry.name == argument);
    let Some(entry) = entry.filter(|_| !Path::new(argument).is_file()) else {
        return Ok(());
    };
    let catalog = Catalog::from_env();
    let path = |file: &str| match catalog.root() {
        Some(root) => root.join(file),
        None => Path::new("$IR_DATA").join(file),
    };
    let file = entry.files.first().map(|file| {
        let plain = file.plain_path().map(|(plain, _)| path(plain));
        let plain = plain.filter(|plain| plain.is_file());
        plain.unwrap_or_else(|| path(&file.path))
    });
    let file = file.map(|file| format!("; give its file {}", file.display()));
    bail!(
        "{argument}: expected a file of texts, found a collection{}",
        file.unwrap_or_default()
    )
}

fn papers(argument: &str, args: &Args, console: &Console) -> Result<LabeledTexts> {
    let title = match args.text_field.as_str() {
        "text" | "abstract" => false,
        "title" => true,
        other => {
            bail_usage!("--text-field: expected abstract or title for {argument}, found {other}")
        }
    };
    if !["label", "labels"].contains(&args.label_field.as_str()) {
        let found = &args.label_field;
        bail_usage!("--label-field: expected labels for {argument}, found {found}");
    }
    let papers = ir_data::iclr::read(argument)?;
    let papers = papers.into_iter().map(|paper| {
        let text = if title { paper.title } else { paper.text };
        (text, paper.class)
    });
    let (texts, own): (_, Vec<String>) = papers.unzip();
    let labels = match &args.labels {
        Some(argument) => labels(argument, console)?,
        None => own,
    };
    Ok(LabeledTexts {
        texts,
        lines: Vec::new(),
        labels,
    })
}
