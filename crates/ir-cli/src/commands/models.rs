//! `ir models`: encoders known by name, those in the cache, and downloading them.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use ir_dense::{EncoderConfig, KnownModel, ModelCache, Pooling, TransformerConfig};
use serde_json::json;

use crate::shared::console::Console;
use crate::shared::output::Sink;

const EXAMPLES: &str = "\
Examples:
  ir models                         well-known models, and what is here
  ir models fetch e5-small-v2       downloaded, verified
  ir models fetch org/name@v1.0     any encoder of the hub, any version
  ir models where e5-small-v2       its folder, and how it wants to be used
  ir encode e5-small-v2 beir/nfcorpus -o docs.ir      'passage: ' before each

A model that is listed here, given to `ir encode` or `ir search` by its name,
is loaded as the list says: pooling, normalisation, and what its training put
before queries and documents, which its own files do not always say.

Models are kept where Hugging Face's tools keep them: in HF_HUB_CACHE, in hub
below HF_HOME, or in ~/.cache/huggingface/hub. What Python has downloaded is
found here, and what is fetched here Python finds. Every file is verified by
its hash; a fetch that was interrupted, given again, goes on where it was.

Only fetch uses the network: HF_ENDPOINT names another hub than
https://huggingface.co, HF_TOKEN opens models that are not public, and
HF_HUB_OFFLINE=1 forbids it.";

/// The arguments of `ir models`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Option<Action>,

    /// One JSON object per model and line
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// A model downloaded from the hub into the cache, and verified
    Fetch {
        /// Name of the model, and a branch, tag or commit: `organisation/name@revision`;
        /// without the organisation if `ir models` lists it
        name: String,
    },
    /// The folder of a model in the cache, and how it wants to be used
    Where {
        /// Name of the model, as for fetch
        name: String,
    },
}

/// Runs `ir models`.
pub(crate) fn run(args: Args, console: &Console) -> Result<()> {
    let Some(cache) = ModelCache::from_env() else {
        bail!(
            "expected a folder for models in HF_HOME, found neither that variable nor a home directory"
        );
    };
    let mut out = Sink::open(None)?;
    match args.action {
        None if args.json => list_json(&cache, &mut out)?,
        None => list(&cache, &mut out, console)?,
        Some(Action::Fetch { name }) => fetch(&cache, &name, &mut out, console)?,
        Some(Action::Where { name }) => locate(&cache, &name, &mut out)?,
    }
    out.commit()
}

/// Models of the cache that the catalogue does not know.
fn others(cache: &ModelCache) -> Vec<String> {
    let known = |name: &String| KnownModel::all().iter().any(|model| model.name == name);
    let mut names = cache.names();
    names.retain(|name| !known(name));
    names
}

fn list(cache: &ModelCache, out: &mut Sink, console: &Console) -> Result<()> {
    let others = others(cache);
    let names = KnownModel::all().iter().map(|known| known.name);
    let names = names.chain(others.iter().map(String::as_str));
    let width = names.map(str::len).max().unwrap_or(0);
    writeln!(
        out,
        "{:width$}  {:>4}  {:>6}  {:4}  what",
        "name", "dim", "tokens", "here"
    )?;
    for known in KnownModel::all() {
        let here = if cache.find(known.name).is_some() {
            "yes"
        } else {
            "no"
        };
        writeln!(
            out,
            "{:width$}  {:>4}  {:>6}  {here:4}  {}",
            known.name, known.dim, known.max_tokens, known.about
        )?;
    }
    for name in &others {
        let shape = cache.find(name).map(TransformerConfig::read);
        let (dim, tokens, what) = match shape {
            Some(Ok(shape)) => (shape.hidden.to_string(), shape.max_tokens().to_string(), ""),
            _ => ("-".into(), "-".into(), "no encoder that ir can load"),
        };
        let line = format!("{name:width$}  {dim:>4}  {tokens:>6}  {:4}  {what}", "yes");
        writeln!(out, "{}", line.trim_end())?;
    }
    console.note(format_args!("\nlooked for in {}", cache.folder().display()));
    Ok(())
}

fn list_json(cache: &ModelCache, out: &mut Sink) -> Result<()> {
    for known in KnownModel::all() {
        let line = json!({
            "name": known.name,
            "about": known.about,
            "dim": known.dim,
            "max_tokens": known.max_tokens,
            "pooling": known.pooling,
            "normalize": known.normalize,
            "query_prefix": known.query_prefix,
            "document_prefix": known.document_prefix,
            "licence": known.licence,
            "folder": cache.find(known.name),
        });
        writeln!(out, "{line}")?;
    }
    for name in others(cache) {
        let folder = cache.find(&name);
        writeln!(out, "{}", json!({"name": name, "folder": folder}))?;
    }
    Ok(())
}

fn locate(cache: &ModelCache, name: &str, out: &mut Sink) -> Result<()> {
    let known = known(name);
    let folder = cache.find(name);
    if known.is_none() && folder.is_none() {
        bail!(
            "{name}: expected a model in {} or one that `ir models` lists, found neither; \
             `ir models fetch {name}` downloads it if the hub has it",
            cache.folder().display()
        );
    }
    let Some(known) = known else {
        return show(folder.as_deref(), name, out);
    };
    writeln!(out, "{}: {}", known.name, known.about)?;
    show(folder.as_deref(), name, out)?;
    let (dim, tokens) = (known.dim, known.max_tokens);
    writeln!(out, "  {dim} dimensions, {tokens} tokens of a text")?;
    let compared = match known.normalize {
        true => "vectors of length 1, compared by cosine",
        false => "compared by inner product",
    };
    writeln!(out, "  {}; {compared}", pooled(known.pooling))?;
    for (side, prefix) in [
        ("queries", known.query_prefix),
        ("documents", known.document_prefix),
    ] {
        if !prefix.is_empty() {
            writeln!(out, "  before {side}: {prefix:?}")?;
        }
    }
    writeln!(out, "  licence: {}", known.licence)?;
    writeln!(out, "  page: https://huggingface.co/{}", known.name)?;
    Ok(())
}

fn show(folder: Option<&Path>, name: &str, out: &mut Sink) -> Result<()> {
    match folder {
        Some(folder) => writeln!(out, "  {}", folder.display())?,
        None => writeln!(out, "  not here; `ir models fetch {name}` downloads it")?,
    }
    Ok(())
}

fn pooled(pooling: Pooling) -> &'static str {
    match pooling {
        Pooling::Cls => "the first token's vector",
        _ => "the mean of the tokens' vectors",
    }
}

#[cfg(feature = "fetch")]
fn fetch(cache: &ModelCache, name: &str, out: &mut Sink, console: &Console) -> Result<()> {
    use ir_dense::HubError;

    use crate::shared::console::{Unfinished, Usage, stop_on_interrupt};

    stop_on_interrupt();
    let mut bar = console.bar();
    let fetched = cache.fetch(name, &mut bar);
    bar.finish();
    let folder = fetched.map_err(|error| match error {
        // A mistake on the command line.
        HubError::Name { .. } => Usage(error.to_string()).into(),
        HubError::Cancelled => Unfinished(format!(
            "interrupted; `ir models fetch {name}`, given again, goes on from here"
        ))
        .into(),
        other => anyhow::Error::from(other),
    })?;
    writeln!(out, "{name}: fetched and verified, in {}", folder.display())?;
    Ok(())
}

#[cfg(not(feature = "fetch"))]
fn fetch(_: &ModelCache, name: &str, _: &mut Sink, _: &Console) -> Result<()> {
    let page = known(name).map_or(name, |known| known.name);
    bail!(
        "this program was built without the feature \"fetch\", so that it cannot download {name:?} \
         (cargo install --path . --features dense,fetch); it is at https://huggingface.co/{page}"
    )
}
