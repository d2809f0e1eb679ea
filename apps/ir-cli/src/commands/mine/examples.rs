//! Queries with positives: training examples of a file, or judged queries.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, bail};
use ir_core::training::TrainingSet;
use ir_core::trec::HeaderLine;
use ir_core::{Document, Qrels, Query};
use ir_data::training::{DocumentTexts, JudgedTrainingSet, TrainingFile, TrainingFormat};
use ir_data::{Collection, DataError, JudgedQueries};

use super::Args;
use crate::shared::console::{Console, bail_usage};
use crate::shared::filter::warn_of_years;
use crate::shared::input::{self, DocumentSource, QrelsArgument};

/// Examples, and what is known of their queries.
pub(super) struct MiningInput {
    pub(super) set: Box<dyn TrainingSet>,
    /// Years by query id.
    pub(super) years: HashMap<String, i64>,
    pub(super) left_out: Vec<String>,
}

/// Checks, before documents are read, that the collection has the split.
pub(super) fn check_split(args: &Args, documents: &DocumentSource) -> Result<()> {
    if args.examples.is_some() || args.queries.is_some() {
        return Ok(());
    }
    let splits = documents.collection.splits();
    let Some(other) = splits
        .iter()
        .find(|split| *split == "test")
        .or(splits.first())
    else {
        let name = &args.collection;
        bail_usage!(
            "{name}: expected judged queries, found none (give --queries FILE and --qrels FILE, or --examples FILE)"
        );
    };
    if splits.iter().any(|split| split == args.split()) {
        return Ok(());
    }
    match documents.collection.qrels(args.split()) {
        Err(error @ DataError::UnknownSplit { .. }) if args.split.is_none() => {
            bail!("{error} (for example --split {other})")
        }
        checked => Ok(checked.map(drop)?),
    }
}

/// Reads the examples: a file, judged queries of files, or a split of the collection.
pub(super) fn read_examples(
    args: &Args,
    documents: &DocumentSource,
    texts: &Arc<DocumentTexts>,
    console: &Console,
) -> Result<MiningInput> {
    let form_of_queries = args.query_form.attribute();
    let advice = "(--leave-out skips such queries)";
    let advise = |error: DataError| match error {
        DataError::JudgedExample { .. }
        | DataError::UnknownDocument { .. }
        | DataError::UnknownId { .. }
        | DataError::PositiveIsNegative { .. }
        | DataError::Example { .. }
        | DataError::WrongType { .. }
            if !args.leave_out =>
        {
            anyhow::anyhow!("{error} {advice}")
        }
        error => error.into(),
    };
    let messages = |errors: &[DataError]| errors.iter().map(ToString::to_string).collect();
    if let Some(path) = &args.examples {
        let mut form = TrainingFormat::default()
            .with_texts(Arc::clone(texts))
            .on_invalid_example(args.unusable());
        if let Some(name) = form_of_queries {
            form = form.with_query_field(name);
        }
        let mut bar = console.bar();
        let set = TrainingFile::open_with_progress(path, form, &mut bar).map_err(advise)?;
        return Ok(MiningInput {
            left_out: messages(set.skipped()),
            set: Box::new(set),
            years: HashMap::new(),
        });
    }
    let files = match (&args.queries, &args.qrels) {
        (Some(queries), Some(qrels)) => Some(judged_files(queries, qrels, args, console)?),
        _ => None,
    };
    let collection = files.as_ref().unwrap_or(&documents.collection);
    let split = args.qrels.as_deref().unwrap_or_else(|| args.split());
    let set = JudgedTrainingSet::from_split(collection, split, Arc::clone(texts), args.unusable());
    let set = set.map_err(advise)?;
    let mut left_out: Vec<String> = messages(set.skipped());
    if let Some(note) = collection.left_out_note(split)? {
        console.note(format_args!("note: {note}"));
    }
    let queries = collection.queries(split)?;
    if args.not_later_than_query {
        warn_of_years(&queries, console);
    }
    let years = queries
        .iter()
        .filter_map(|query| Some((query.id.clone(), query.attributes.year()?)))
        .collect();
    let set: Box<dyn TrainingSet> = if let Some(attribute) = form_of_queries {
        let forms = queries.iter().filter_map(|query| {
            let text = query.attributes.text(attribute)?;
            Some((query.id.as_str(), text))
        });
        let forms: HashMap<&str, &str> = forms.collect();
        let mut list = Vec::with_capacity(set.len());
        for n in 0..set.len() {
            let mut example = set.get(n)?;
            let id = example.query_id.as_deref().unwrap_or_default();
            if let Some(text) = forms.get(id) {
                example.query = (*text).to_owned();
                list.push(example);
                continue;
            }
            let name = collection.name();
            let form = &args.query_form;
            let what = format!("{name} {split}, query {id:?}: expected {form}, found none");
            if !args.leave_out {
                bail!("{what} {advice}");
            }
            left_out.push(what);
        }
        Box::new(list)
    } else {
        Box::new(set)
    };
    Ok(MiningInput {
        set,
        years,
        left_out,
    })
}

/// Queries and judgments of --queries and --qrels.
struct JudgedFiles {
    queries: Vec<Query>,
    qrels: Qrels,
    /// Name of the queries.
    name: String,
    /// Name of the judgments, and of the only split.
    split: String,
}

impl JudgedQueries for JudgedFiles {
    fn source(&self) -> String {
        self.name.clone()
    }

    fn splits(&self) -> Vec<String> {
        vec![self.split.clone()]
    }

    fn all_queries(&self) -> Result<Vec<Query>, DataError> {
        Ok(self.queries.clone())
    }

    fn qrels(&self, _: &str) -> Result<Qrels, DataError> {
        Ok(self.qrels.clone())
    }
}

/// Reads --queries and --qrels as a collection without documents.
fn judged_files(queries: &Path, qrels: &str, args: &Args, console: &Console) -> Result<Collection> {
    let name = queries.display().to_string();
    let files = JudgedFiles {
        queries: input::read_queries_of(queries, None, args.text.encoding, console)?.queries,
        qrels: input::qrels(qrels, QrelsArgument::Option, HeaderLine::AsData, console)?,
        name: name.clone(),
        split: qrels.to_owned(),
    };
    Ok(Collection::new(name, Vec::<Document>::new(), files))
}
