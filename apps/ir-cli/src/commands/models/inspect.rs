//! `ir models inspect`: how a model folder is understood.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use indicatif::HumanBytes;
use ir_core::VectorSimilarity;
use ir_dense::{
    Architecture, ComputationDescription, CrossEncoderDescription, LateInteractionDescription,
    ModelDescription, Precision, TokenizerDescription, TowerDescription, TransformerConfig,
    WeightDescription, describe, describe_cross_encoder,
};
use serde_json::{Value, json};

use super::check::{self, Comparison};
use crate::shared::console::Console;
use crate::shared::encoder::{find_model, open_encoder};
use crate::shared::format::{counted, grouped, table_with_text};
use crate::shared::options::non_negative;
use crate::shared::output::OutputSink;

/// Number of settings of layers on a line.
const LAYER_SETTINGS: usize = 4;
/// Maximum number of problems of tensors that are listed.
const LISTED_PROBLEMS: usize = 10;
/// Bytes of a parameter in memory, in f32.
const F32_BYTES: u64 = 4;
/// Commands that read a cross-encoder with one label.
const RERANKING: [&str; 4] = [
    "ir search --rerank",
    "ir ask --rerank",
    "ir serve --rerank",
    "ir train-reranker",
];

#[derive(Debug, clap::Args)]
pub(super) struct InspectArgs {
    /// Model folder, or the name of a cached model
    model: PathBuf,

    /// Compare with the vectors of another tool: JSON lines {"text": "...", "vector": [...]}. With
    /// "side": "query", a text is encoded as a query [default: document]
    #[arg(long, value_name = "REFERENCE")]
    check: Option<String>,

    /// Maximum difference of a component, as a fraction of the largest one of its vector; beyond
    /// it, the exit status is 1
    #[arg(long, value_name = "X", default_value_t = 1e-4, value_parser = non_negative::<f64>, requires = "check")]
    tolerance: f64,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &InspectArgs, console: &Console) -> Result<()> {
    let model = find_model(&args.model)?;
    if args.check.is_none()
        && let Some(found) = describe_cross_encoder(&model.folder, &Default::default())?
    {
        return cross_encoder(&found, &model.folder, args.json);
    }
    let config = model.with_catalog_defaults(Default::default());
    let description = describe(&model.folder, &config)?;
    let problems = description.towers.iter().map(|it| it.problems.len());
    let problems: usize = problems.sum();
    let comparison = match &args.check {
        // The model does not open.
        _ if problems > 0 => None,
        None => None,
        Some(reference) => {
            let encoder = open_encoder(&model.folder, &config)?;
            Some(check::compare(&encoder, reference, console)?)
        }
    };
    let mut out = OutputSink::open(None)?;
    if args.json {
        let mut value = json!(description);
        value["folder"] = json!(model.folder);
        value["check"] = json!(comparison);
        writeln!(out, "{value}")?;
    } else {
        let mut rows = vec![row("folder", model.folder.display())];
        rows.extend(model_rows(&description));
        rows.extend(comparison.iter().flat_map(check_rows));
        writeln!(out, "{}", table_with_text(rows, 1))?;
    }
    out.commit()?;
    check_problems(problems, &model.folder)?;
    match (comparison, &args.check) {
        (Some(found), Some(name)) if found.largest_fraction > args.tolerance => bail!(
            "{name}:{}: expected differences of at most {:e} of the largest component, found {:.1e}",
            found.worst_line,
            args.tolerance,
            found.largest_fraction
        ),
        _ => Ok(()),
    }
}

/// An error if a model does not open because of problems of its tensors.
fn check_problems(problems: usize, folder: &Path) -> Result<()> {
    if problems > 0 {
        let problems = counted(problems as u64, "problem");
        bail!(
            "{}: expected the tensors that the configuration describes, found {problems}",
            folder.display()
        );
    }
    Ok(())
}

/// Prints how the folder of a cross-encoder is understood.
fn cross_encoder(model: &CrossEncoderDescription, folder: &Path, json: bool) -> Result<()> {
    let commands: &[&str] = match model.labels {
        1 => &RERANKING,
        _ => &[],
    };
    let mut out = OutputSink::open(None)?;
    if json {
        let value = json!({"folder": folder, "cross_encoder": model, "read_by": commands});
        writeln!(out, "{value}")?;
    } else {
        let mut rows = vec![
            row("folder", folder.display()),
            row("cross-encoder", "score of a query with a document"),
        ];
        rows.extend(transformer_rows(
            &model.transformer,
            &model.weights,
            &model.tokenizer,
        ));
        rows.extend(computation_rows(&model.computation, &model.unread_fields));
        rows.push(row("head", &model.head));
        rows.push(row("labels", grouped(model.labels as u64)));
        let activation = json!(model.activation);
        rows.push(row("activation", activation.as_str().unwrap_or_default()));
        let limits = [model.max_tokens, model.positions];
        rows.push(row("pair", prompt_and_limit(&model.prompt, limits)));
        let chat = model.chat.iter();
        rows.extend(chat.map(|chat| row("chat", format!("{chat:?}"))));
        rows.push(match commands {
            [] => row("note", "commands read cross-encoders with one label"),
            commands => row("read by", commands.join(", ")),
        });
        rows.extend(problem_rows(&model.problems));
        writeln!(out, "{}", table_with_text(rows, 1))?;
    }
    out.commit()?;
    check_problems(model.problems.len(), folder)
}

/// Prompt, and maximum length of the positions of a model.
fn prompt_and_limit(prompt: &str, [tokens, positions]: [usize; 2]) -> String {
    let prompt = match prompt {
        "" => "no prompt".to_owned(),
        prompt => format!("prompt {prompt:?}"),
    };
    if tokens == ir_dense::UNLIMITED_TOKENS {
        return format!("{prompt}, texts of any length");
    }
    let [tokens, positions] = [tokens, positions].map(|count| grouped(count as u64));
    format!("{prompt}, at most {tokens} of {positions} tokens")
}

fn row(name: impl ToString, value: impl ToString) -> [String; 2] {
    [name.to_string(), value.to_string()]
}

fn model_rows(model: &ModelDescription) -> Vec<[String; 2]> {
    let late = model.late_interaction.as_ref();
    let similarity = match (late, model.similarity) {
        (Some(late), _) => late.similarity.name(),
        (None, Some(VectorSimilarity::Cosine)) => "cosine",
        (None, Some(VectorSimilarity::Euclidean)) => "euclidean",
        (None, Some(VectorSimilarity::InnerProduct)) => "inner product",
        (None, None) => "inner product, by default",
    };
    let mut rows = vec![
        row("dimension", grouped(model.dim as u64)),
        row("similarity", similarity),
    ];
    rows.extend(late.into_iter().flat_map(late_interaction_rows));
    for tower in &model.towers {
        if let [side] = &tower.sides[..] {
            rows.push(row("", ""));
            rows.push(row(format!("{} tower", side.side), tower.folder.display()));
        }
        rows.extend(tower_rows(tower));
    }
    rows
}

fn late_interaction_rows(model: &LateInteractionDescription) -> [[String; 2]; 3] {
    let expansion = match &model.query_expansion {
        None => "none".to_owned(),
        Some(expansion) => format!(
            "{} length of {}, token {}, {}",
            expansion.strategy,
            counted(expansion.length as u64, "token"),
            expansion.token,
            if expansion.attend {
                "attended to"
            } else {
                "not attended to"
            },
        ),
    };
    let skipped = [model.query_skip_list, model.document_skip_list];
    let [query, document] = skipped.map(|count| counted(count as u64, "token"));
    [
        row(
            "late interaction",
            format!("one vector per token, {} folder", model.format),
        ),
        row("query expansion", expansion),
        row(
            "skip list",
            format!("{query} of queries, {document} of documents"),
        ),
    ]
}

fn architecture_rows(transformer: &TransformerConfig) -> Vec<[String; 2]> {
    let (name, dim) = (
        transformer.architecture,
        grouped(transformer.hidden_size as u64),
    );
    if name == Architecture::STATIC {
        let shape = format!("{name}: one vector of dimension {dim} per token, no layers");
        return vec![row("architecture", shape)];
    }
    let shape = format!(
        "{name}: {} of dimension {dim}, {}, feed-forward dimension {}",
        counted(transformer.layers as u64, "layer"),
        counted(transformer.heads as u64, "head"),
        grouped(transformer.intermediate_size as u64),
    );
    let mut rows = vec![row("architecture", shape)];
    // What differs from BERT's layers.
    let layers = json!(transformer)["layer"].take();
    let set = layers.as_object().into_iter().flatten();
    let set = set.filter(|(_, value)| !matches!(value, Value::Null | Value::Bool(false)));
    let set: Vec<String> = set.map(|(name, value)| format!("{name} {value}")).collect();
    let lines = set.chunks(LAYER_SETTINGS);
    rows.extend(lines.map(|line| row("layers", line.join(", "))));
    rows
}

fn transformer_rows(
    transformer: &TransformerConfig,
    weights: &WeightDescription,
    tokenizer: &TokenizerDescription,
) -> Vec<[String; 2]> {
    let mut rows = architecture_rows(transformer);
    let precisions = weights.precisions.iter();
    let precisions: Vec<String> = match precisions.len() {
        1 => precisions.map(|(name, _)| name.clone()).collect(),
        _ => precisions
            .map(|(name, count)| format!("{} {name}", grouped(*count)))
            .collect(),
    };
    let parameters = counted(weights.parameters, "parameter");
    let files = match &weights.files[..] {
        [file] => file.clone(),
        files => counted(files.len() as u64, "file"),
    };
    rows.push(row(
        "weights",
        format!(
            "{parameters} in {} ({}, {files}), {}; f32 in memory {}",
            precisions.join(", "),
            weights.format,
            HumanBytes(weights.bytes),
            HumanBytes(F32_BYTES * weights.parameters),
        ),
    ));
    rows.push(row(
        "tokenizer",
        format!(
            "{} ({}), {} for {} embeddings, truncation side {}",
            tokenizer.model,
            tokenizer.file,
            counted(tokenizer.vocabulary as u64, "token"),
            grouped(transformer.vocab_size as u64),
            tokenizer.truncation_side,
        ),
    ));
    rows
}

/// What runs where, and the fields of `config.json` that are not read.
fn computation_rows(computation: &ComputationDescription, unread: &[String]) -> Vec<[String; 2]> {
    let names = |precisions: &[Precision]| {
        let names: Vec<&str> = precisions.iter().map(|it| it.name()).collect();
        names.join(", ")
    };
    let inference = format!(
        "cpu: linear layers in {}; attention in {}",
        names(&computation.inference),
        names(&computation.attention),
    );
    let training = match &computation.training[..] {
        [] => "burn's automatic differentiation in f32".to_owned(),
        precisions => format!("cpu: kernels in {}", names(precisions)),
    };
    let others = computation.backends.iter().filter(|it| **it != "cpu");
    let others: Vec<&str> = others.copied().collect();
    let backends = match &others[..] {
        [] => "cpu; built without others".to_owned(),
        others => format!("cpu; in f32, {}", others.join(", ")),
    };
    let mut rows = vec![
        row("inference", inference),
        row("training", training),
        row("backends", backends),
    ];
    if !unread.is_empty() {
        rows.push(row(
            "not read",
            format!("config.json: {}", unread.join(", ")),
        ));
    }
    rows
}

fn tower_rows(tower: &TowerDescription) -> Vec<[String; 2]> {
    let mut rows = transformer_rows(&tower.transformer, &tower.weights, &tower.tokenizer);
    // Static embeddings have neither linear layers nor training.
    if tower.transformer.architecture != Architecture::STATIC {
        rows.extend(computation_rows(&tower.computation, &tower.unread_fields));
    }
    for side in &tower.sides {
        let limits = [side.max_tokens, tower.positions];
        rows.push(row(side.side, prompt_and_limit(&side.prompt, limits)));
    }
    let excluded = if tower.include_prompt {
        ""
    } else {
        " of the tokens after the prompt"
    };
    let pooling = tower.pooling.as_ref();
    rows.extend(pooling.map(|pooling| row("pooling", format!("{pooling}{excluded}"))));
    for module in &tower.modules {
        let shape = match (module.class, module.activation) {
            ("Dense", activation) => format!(
                "Dense {} to {}, {}",
                module.inputs,
                module.outputs,
                activation.unwrap_or_default()
            ),
            (class, _) => class.to_owned(),
        };
        rows.push(row("module", shape));
    }
    if let Some(dim) = tower.truncate_dim {
        rows.push(row("truncate_dim", dim));
    }
    rows.push(row("normalize", tower.normalize));
    rows.extend(tower.notes.iter().map(|note| row("note", note)));
    rows.extend(problem_rows(&tower.problems));
    rows
}

fn problem_rows(problems: &[String]) -> Vec<[String; 2]> {
    let listed = problems.iter().take(LISTED_PROBLEMS);
    let mut rows: Vec<_> = listed.map(|problem| row("problem", problem)).collect();
    if problems.len() > LISTED_PROBLEMS {
        let others = (problems.len() - LISTED_PROBLEMS) as u64;
        rows.push(row("", format!("and {}", counted(others, "other problem"))));
    }
    rows
}

fn check_rows(found: &Comparison) -> [[String; 2]; 3] {
    [
        row("compared texts", grouped(found.texts)),
        row(
            "largest difference",
            format!(
                "{:.1e}, {:.1e} of the largest component",
                found.largest_difference, found.largest_fraction
            ),
        ),
        row("least cosine", format!("{:.7}", found.least_cosine)),
    ]
}
