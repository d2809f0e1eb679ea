//! What is learned from.

use std::io::BufRead;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, bail};
use ir_data::training::{Texts, TrainingFile, TrainingForm, Unusable};
use serde_json::Value;

use super::Args;
use super::dev::{DevSet, documents};
use crate::shared::console::{Bar, Console};

/// Reads the examples, and the texts of the documents that they name.
pub(super) fn read(
    args: &Args,
    dev_set: Option<&DevSet>,
    bar: &mut Bar,
    console: &Console,
) -> Result<TrainingFile> {
    let mut form = TrainingForm::default().with_query(&args.query_field);
    if args.leave_out {
        form = form.with_unusable(Unusable::LeaveOut);
    }
    if let Some(texts) = &args.texts {
        let texts = match dev_set {
            Some(dev_set) if args.dev.as_ref() == Some(texts) => Arc::clone(&dev_set.texts),
            _ => {
                let (collection, template) = documents(texts, args.template.as_ref())?;
                Arc::new(Texts::read(collection.corpus(), &template)?)
            }
        };
        form = form.with_texts(texts);
    }
    let data = TrainingFile::open_watched(&args.examples, form, bar)?;
    if let [first, rest @ ..] = data.left_out() {
        console.warn(format_args!("left out: {first}, and {} more", rest.len()));
    }
    if args.texts.is_none()
        && args.examples.is_file()
        && let Some(id) = id_for_text(&args.examples)?
    {
        bail!(
            "{}: expected texts as positives, found what looks like ids, {id:?} for one (--texts COLLECTION names the collection that has their texts; words that are meant are written {{\"text\": {id:?}}})",
            args.examples.display(),
        );
    }
    Ok(data)
}

/// Lines that are looked at.
const LINES: usize = 1000;
/// Characters of an id at most.
const LONGEST: usize = 100;
/// Fields of the files of DataFinder and MAKG, whose positives are ids.
const OF_PAPERS: [&str; 2] = ["keyphrase_query", "paper_id"];

/// The first positive of a file whose positives look like ids: all of them short, and without a
/// blank, or, in files about papers, mostly without.
fn id_for_text(path: &Path) -> Result<Option<String>> {
    let mut positives: Vec<String> = Vec::new();
    let mut of_papers = true;
    for line in ir_data::open(path)?.lines().take(LINES) {
        // What is wrong with a line was told already.
        let Ok(Value::Object(members)) = serde_json::from_str(line?.trim_start_matches('\u{feff}'))
        else {
            continue;
        };
        of_papers &= OF_PAPERS.iter().any(|field| members.contains_key(*field));
        let lists = ["positives", "positive_passages"].map(|field| members.get(field));
        let values = lists.into_iter().flatten().filter_map(Value::as_array);
        positives.extend(
            values
                .flatten()
                .filter_map(Value::as_str)
                .map(str::to_owned),
        );
    }
    let short = |text: &String| text.chars().count() <= LONGEST;
    let words = positives.iter().filter(|text| text.contains(' ')).count();
    let few = words == 0 || of_papers && 2 * words < positives.len();
    let ids = few && positives.iter().all(short);
    Ok(positives.into_iter().next().filter(|_| ids))
}
