//! Options of `ir train` and `ir train-reranker`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::ValueHint;
use ir_data::DocTemplate;
use ir_dense::train::TrainError;
use ir_eval::Measure;
use ir_system::read_text;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::shared::console::{Usage, bail_usage};
use crate::shared::encoder::is_model;
use crate::shared::input::{is_collection, split_of_collection};
use crate::shared::options::QueryForm;
use crate::shared::output::{OutputPath, WorkPath};
use crate::shared::rules::measure;
use crate::shared::training_runs::{self, ExecutionOptions};

/// Options of bi-encoders, which other models do not have.
pub(super) const OPTIONS_OF_BI_ENCODERS: [&str; 3] = ["document_model", "preset", "pooling"];

/// Options of learned sparse encoders.
pub(super) const OPTIONS_OF_SPARSE_ENCODERS: [&str; 3] =
    ["sparse", "query_penalty", "document_penalty"];

#[derive(Debug, clap::Args)]
pub(crate) struct CommonOptions {
    /// Model to fine-tune: a folder, or the name of a downloaded model (see `ir models`)
    pub(super) model: PathBuf,

    #[command(flatten)]
    pub(super) examples: ExampleOptions,

    /// Output folder of the trained model
    #[arg(short = 'o', long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub(super) output: OutputPath,

    #[command(flatten, next_help_heading = "Evaluation")]
    pub(super) evaluation: EvaluationOptions,

    /// Output file of the training history, per step (CSV). Grows by a row per step while training
    /// runs; standard output, pipes and compressed files (.gz, .zst) are written at the end
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) history: Option<OutputPath>,

    /// Output file of the training curves (SVG): loss and measure
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) curves: Option<OutputPath>,

    #[command(flatten)]
    pub(super) execution: ExecutionOptions,
}

pub(super) const EXECUTION: &str = "Execution";
const EXAMPLES: &str = "Examples";

#[derive(Debug, clap::Args)]
pub(super) struct ExampleOptions {
    /// File of training examples, in the format of `ir mine`
    #[arg(value_name = "EXAMPLES")]
    pub(super) file: PathBuf,

    /// Collection that resolves document ids in the examples
    #[arg(long, value_name = "COLLECTION", help_heading = EXAMPLES)]
    pub(super) texts: Option<String>,

    /// JSON field of the query, for example keyphrase_query
    #[arg(long, default_value = "query", value_name = "FIELD", value_hint = ValueHint::Other, help_heading = EXAMPLES)]
    pub(super) query_field: String,

    /// Template of a document's text for --texts and --dev, as in `ir encode`
    #[arg(long, value_name = "TEXT", help_heading = EXAMPLES)]
    pub(super) template: Option<DocTemplate>,

    /// Skip invalid examples and unknown ids
    #[arg(long, help_heading = EXAMPLES)]
    pub(super) leave_out: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct EvaluationOptions {
    /// Collection of the validation set
    #[arg(long, value_name = "COLLECTION")]
    pub(super) dev: Option<String>,

    /// Split of the validation set
    #[arg(long, default_value = "dev", value_name = "SPLIT", value_hint = ValueHint::Other, requires = "dev")]
    pub(super) dev_split: String,

    /// Validation measure, as in `ir eval`
    #[arg(
        short = 'm',
        long,
        default_value = "nDCG@10",
        value_name = "MEASURE",
        value_parser = measure,
        requires = "dev"
    )]
    pub(super) measure: Measure,

    /// Number of steps between evaluations [default: one epoch]
    #[arg(long, value_name = "N", requires = "dev")]
    pub(super) evaluate_every: Option<u64>,

    /// Early stopping: number of evaluations without improvement; 0 disables it
    /// [default: 2 for ir train with small-data or --late-interaction, otherwise 0]
    #[arg(long, value_name = "N", requires = "dev")]
    pub(super) patience: Option<u64>,

    /// Text of the validation queries: text, keyphrases, or another text attribute
    #[arg(long, default_value_t, value_name = "FORM", value_hint = ValueHint::Other, requires = "dev")]
    pub(super) query_form: QueryForm,

    /// Exclude the document with the id of the query, as for ArguAna
    #[arg(long, requires = "dev")]
    pub(super) remove_self: bool,

    /// Exclude documents newer than the query (attribute `year`); those without a year pass
    #[arg(long, requires = "dev")]
    pub(super) not_later_than_query: bool,
}

impl CommonOptions {
    /// Output folder and checkpoint folder.
    pub(crate) fn work_paths(&self) -> Vec<WorkPath> {
        training_runs::work_paths(&self.output.folder())
    }

    /// Checks arguments and output paths, and returns the checkpoint folder.
    pub(super) fn check(&self, command: &str) -> Result<PathBuf> {
        if self.examples.template.is_some()
            && self.examples.texts.is_none()
            && self.evaluation.dev.is_none()
        {
            bail_usage!("--template: expected --texts or --dev");
        }
        let checkpoints = check_outputs(self, &self.output.folder())?;
        check_arguments(self, command)?;
        Ok(checkpoints)
    }
}

impl EvaluationOptions {
    /// Sets the fields of a training configuration that are given as options.
    pub(super) fn apply(&self, evaluate_every: &mut Option<u64>, patience: &mut Option<u64>) {
        *evaluate_every = self.evaluate_every.or(*evaluate_every);
        *patience = match self.patience {
            Some(0) => None,
            other => other.or(*patience),
        };
    }
}

/// Reads a training configuration from a JSON file.
pub(super) fn read_config<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text = read_text(path)?;
    serde_json::from_str(&text).with_context(|| path.display().to_string())
}

/// [`read_config`] with the fields of `default` that the file lacks.
pub(super) fn read_config_over<T: Serialize + DeserializeOwned>(
    path: &Path,
    default: &T,
) -> Result<T> {
    // A pipe can be read once.
    let text = read_text(path)?;
    let name = || path.display().to_string();
    // Errors of the file have their lines.
    serde_json::from_str::<T>(&text).with_context(name)?;
    let given: Map<String, Value> = serde_json::from_str(&text).with_context(name)?;
    let mut fields = serde_json::to_value(default)?;
    for (name, value) in given {
        fields[name] = value;
    }
    Ok(serde_json::from_value(fields)?)
}

/// Sets a field of a training configuration to the value of its option, if given.
pub(super) fn set<T: Clone>(field: &mut T, option: &Option<T>) {
    if let Some(value) = option {
        field.clone_from(value);
    }
}

/// Error of a configuration value out of range, with its option, if given, or the file.
///
/// `options`: fields with their options, and `true` if the option is given.
pub(super) fn out_of_range(
    error: &TrainError,
    options: &[(&str, &str, bool)],
    file: Option<&Path>,
) -> Usage {
    let option = match error {
        TrainError::Setting { field, .. } => options
            .iter()
            .find(|(name, _, given)| name == field && *given),
        _ => None,
    };
    Usage(match (option, file) {
        (Some((_, option, _)), _) => format!("--{option}: {error}"),
        (None, Some(file)) => format!("{}: {error}", file.display()),
        (None, None) => error.to_string(),
    })
}

/// Names the mistake in arguments that are swapped, or a collection in place of examples.
fn check_arguments(args: &CommonOptions, command: &str) -> Result<()> {
    let (model, examples) = (args.model.display(), args.examples.file.display());
    if is_model(&args.examples.file) && !is_model(&args.model) {
        bail_usage!("{examples}: expected the model first: ir {command} {examples} {model}");
    }
    let name = args.examples.file.to_str().unwrap_or_default();
    let (collection, split) = match split_of_collection(name) {
        Some((collection, split)) => (collection, format!(" --split {split}")),
        None => (name, String::new()),
    };
    if !args.examples.file.is_file() && (is_collection(collection) || args.examples.file.is_dir()) {
        bail!(
            "{examples}: expected a file of training examples, found a collection or folder; write its examples with ir mine {collection}{split} -o train.jsonl"
        );
    }
    Ok(())
}

/// Checks all output paths and returns the checkpoint folder.
fn check_outputs(args: &CommonOptions, output: &Path) -> Result<PathBuf> {
    let checkpoints = training_runs::check_output(output)?;
    for path in [&args.history, &args.curves].into_iter().flatten() {
        path.check_writable()?;
    }
    Ok(checkpoints)
}
