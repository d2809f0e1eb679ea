//! `ir models`: lists known and cached encoders, downloads them, prints how they are understood.

mod check;
mod inspect;

use std::io::Write;
use std::path::Path;

use anyhow::{Result, bail};
use inspect::InspectArgs;
use ir_dense::{
    CrossEncoderDescription, KnownModel, ModelCache, ModelDescription, describe,
    describe_cross_encoder,
};
use serde_json::json;

use crate::shared::console::Console;
use crate::shared::encoder::{FETCH_FEATURE, suggested_model};
use crate::shared::format::table_with_text;
use crate::shared::output::OutputSink;

const EXAMPLES: &str = "\
Examples:
  ir models                         list known and cached models
  ir models fetch e5-small-v2       download and verify a model
  ir models fetch org/name@v1.0     any encoder and revision of the hub
  ir models where e5-small-v2       its folder and recommended settings
  ir models inspect my-model        architecture, tokenizer, pooling, modules, ...
  ir models inspect my-reranker     head, labels, activation, ... of a cross-encoder
  ir models inspect my-model --check vectors.jsonl    compare vectors with another tool
  ir encode e5-small-v2 beir/nfcorpus -o docs.ir      adds 'passage: '

Known models are loaded with their recommended pooling, normalization and
prefixes, which their own files do not always contain.

The cache is that of Hugging Face's tools: HF_HUB_CACHE, HF_HOME/hub or
~/.cache/huggingface/hub. Python's downloads are found here and vice versa.
Files are verified by hash; an interrupted download resumes.

Only fetch uses the network. HF_ENDPOINT sets another hub than
https://huggingface.co, HF_TOKEN gives access to private models, and
HF_HUB_OFFLINE=1 disables downloads.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Option<Action>,

    /// Print one JSON object per model
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Download a model from the hub into the cache and verify it
    Fetch {
        /// Model: `organization/name@revision`; listed models need no organization
        name: String,
    },
    /// Show the cache folder and the recommended settings of a model
    Where {
        /// Model name, as for fetch
        name: String,
    },
    /// Print how a model folder is understood, without reading its weights
    Inspect(InspectArgs),
}

pub(crate) fn run(args: &Args, console: &Console) -> Result<()> {
    if let Some(Action::Inspect(args)) = &args.action {
        return inspect::run(args, console);
    }
    let Some(cache) = ModelCache::from_env() else {
        bail!("expected HF_HOME or a home directory for the model cache, found neither");
    };
    let mut out = OutputSink::open(None)?;
    match &args.action {
        None if args.json => list_json(&cache, &mut out)?,
        None => list(&cache, &mut out, console)?,
        Some(Action::Fetch { name }) => fetch(&cache, name, &mut out, console)?,
        Some(Action::Where { name }) => locate(&cache, name, &mut out)?,
        Some(Action::Inspect(_)) => {}
    }
    out.commit()
}

/// Cached models that are not in the catalog.
fn others(cache: &ModelCache) -> Vec<String> {
    let known = |name: &String| KnownModel::all().iter().any(|model| model.name == name);
    let mut names = cache.names();
    names.retain(|name| !known(name));
    names
}

/// Description of a cached cross-encoder; `None` for other models.
fn described_cross_encoder(cache: &ModelCache, name: &str) -> Option<CrossEncoderDescription> {
    let found = describe_cross_encoder(cache.find(name)?, &Default::default());
    found.ok().flatten()
}

/// Description of a cached encoder; `None` if it is not supported.
fn described(cache: &ModelCache, name: &str) -> Option<ModelDescription> {
    describe(cache.find(name)?, &Default::default()).ok()
}

fn list(cache: &ModelCache, out: &mut OutputSink, console: &Console) -> Result<()> {
    let mut rows = vec![["name", "dim", "tokens", "cached", "description"].map(str::to_owned)];
    for known in KnownModel::all() {
        let cached = cache.find(known.name).map_or("no", |_| "yes");
        let (dim, tokens) = (known.dim.to_string(), known.max_tokens.to_string());
        rows.push([known.name, &dim, &tokens, cached, known.about].map(str::to_owned));
    }
    for name in others(cache) {
        let cross_encoder = described_cross_encoder(cache, &name);
        let encoder = if cross_encoder.is_none() {
            described(cache, &name)
        } else {
            None
        };
        let (dim, tokens, what) = match (cross_encoder, encoder) {
            (Some(model), _) => (
                "-".to_owned(),
                model.max_tokens.to_string(),
                "cross-encoder".to_owned(),
            ),
            (None, Some(model)) => {
                let sides = model.towers.iter().flat_map(|tower| &tower.sides);
                let tokens = sides.map(|side| side.max_tokens).max().unwrap_or(0);
                let what = model.late_interaction.map_or("", |_| "late interaction");
                (model.dim.to_string(), tokens.to_string(), what.to_owned())
            }
            (None, None) => (
                "-".to_owned(),
                "-".to_owned(),
                format!("not supported; `ir models inspect {name}` says why"),
            ),
        };
        rows.push([name, dim, tokens, "yes".to_owned(), what]);
    }
    writeln!(out, "{}", table_with_text(rows, 3))?;
    console.note(format_args!("\nmodel cache: {}", cache.folder().display()));
    Ok(())
}

fn list_json(cache: &ModelCache, out: &mut OutputSink) -> Result<()> {
    for known in KnownModel::all() {
        let mut line = json!(known);
        line["folder"] = json!(cache.find(known.name));
        writeln!(out, "{line}")?;
    }
    for name in others(cache) {
        let folder = cache.find(&name);
        let is_cross_encoder = described_cross_encoder(cache, &name).is_some();
        let model = if is_cross_encoder {
            None
        } else {
            described(cache, &name)
        };
        let dim = model.as_ref().map(|model| model.dim);
        let is_late = model.is_some_and(|model| model.late_interaction.is_some());
        let line = json!({
            "name": name, "dim": dim, "late_interaction": is_late,
            "cross_encoder": is_cross_encoder, "folder": folder
        });
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn locate(cache: &ModelCache, name: &str, out: &mut OutputSink) -> Result<()> {
    let known = KnownModel::find(name);
    let folder = cache.find(name);
    if known.is_none() && folder.is_none() {
        if Path::new(name).is_absolute() || Path::new(name).exists() {
            bail!(
                "{name}: expected the name of a model, found a path (commands accept a model folder \
                 in place of a name)"
            );
        }
        bail!(
            "{name}: expected a model in {} or one that `ir models` lists, found neither; \
             `ir models fetch {name}` downloads it if the hub has it{FETCH_FEATURE}{}",
            cache.folder().display(),
            suggested_model(name, cache)
        );
    }
    let Some(known) = known else {
        return show(folder.as_deref(), name, out);
    };
    writeln!(out, "{}: {}", known.name, known.about)?;
    show(folder.as_deref(), name, out)?;
    let (dim, tokens) = (known.dim, known.max_tokens);
    writeln!(out, "  {dim} dimensions, maximum length {tokens} tokens")?;
    let compared = if known.normalize {
        "normalized, cosine similarity"
    } else {
        "inner product"
    };
    writeln!(out, "  {} pooling; {compared}", known.pooling)?;
    for (side, prefix) in [
        ("query", known.query_prefix),
        ("document", known.document_prefix),
    ] {
        if !prefix.is_empty() {
            writeln!(out, "  {side} prefix: {prefix:?}")?;
        }
    }
    writeln!(out, "  license: {}", known.license)?;
    writeln!(out, "  page: https://huggingface.co/{}", known.name)?;
    Ok(())
}

fn show(folder: Option<&Path>, name: &str, out: &mut OutputSink) -> Result<()> {
    match folder {
        Some(folder) => writeln!(out, "  {}", folder.display())?,
        None => writeln!(
            out,
            "  not cached (`ir models fetch {name}` downloads it{FETCH_FEATURE})"
        )?,
    }
    Ok(())
}

#[cfg(feature = "fetch")]
fn fetch(cache: &ModelCache, name: &str, out: &mut OutputSink, console: &Console) -> Result<()> {
    use ir_dense::HubError;

    use crate::shared::console::{Resumable, Usage};
    use crate::shared::signals::stop_on_interrupt;

    stop_on_interrupt();
    let fetched = cache.fetch(name, &mut console.bar());
    let folder = fetched.map_err(|error| match error {
        // A usage error.
        HubError::Name { .. } => Usage(error.to_string()).into(),
        HubError::Canceled => Resumable(format!(
            "interrupted; run `ir models fetch {name}` again to resume"
        ))
        .into(),
        other => anyhow::Error::from(other),
    })?;
    writeln!(out, "{name}: downloaded and verified: {}", folder.display())?;
    Ok(())
}

#[cfg(not(feature = "fetch"))]
fn fetch(_: &ModelCache, name: &str, _: &mut OutputSink, _: &Console) -> Result<()> {
    let page = KnownModel::find(name).map_or(name, |known| known.name);
    bail!(
        "cannot download {name:?}: built without the feature \"fetch\" \
         (cargo install --path apps/ir-cli --features fetch); its page is https://huggingface.co/{page}"
    )
}
