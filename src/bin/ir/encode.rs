//! `ir encode`: texts to vectors by a transformer.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};
use clap::ValueEnum;
use ir_bm25::Verify;
use ir_core::{AtomicFile, DocIds, Encoder, Flow, Progress, Side};
use ir_dense::{Backend, BiEncoder, EncoderConfig, Pooling, SideConfig};
use ir_knn::{FlatIndex, Similarity, npy};

use crate::args::positive;
use crate::console::{Bar, Console, Interrupted, Usage, stop_on_interrupt};
use crate::datasets::grouped;
use crate::index::use_threads;
use crate::source::{Layout, Source, find, read_queries};

const EXAMPLES: &str = "\
Examples:
  ir encode all-MiniLM-L6-v2 beir/nfcorpus -o docs.npy --ids docs.ids
  ir encode all-MiniLM-L6-v2 beir/nfcorpus --queries -o queries.npy
  ir encode all-MiniLM-L6-v2 ~/notes -o notes-vectors.ir
  ir encode e5-small-v2 corpus.jsonl -o docs.npy --prefix 'passage: '
  ir encode scibert datafinder --fields text --pooling cls \\
      --max-tokens 128 -o docs.npy

The model is a folder in the Hugging Face layout: config.json, weights
(model.safetensors or pytorch_model.bin), tokenizer.json or vocab.txt, and
sentence-transformers' files where there are any. The vectors are those of
sentence-transformers, and the same bytes whatever --threads and
--batch-tokens are.

Output: a .npy file, one vector a row in the order of the collection, which
numpy.load reads; under any other name an index of vectors, which
ir_knn::FlatIndex::open reads. It appears when it is complete.";

/// The arguments of `ir encode`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Folder of the model
    model: PathBuf,

    /// What to encode: a BEIR folder, a collection by name (see `ir datasets`), a .jsonl or .tsv
    /// file of documents, or a folder of notes (*.md, *.txt)
    collection: String,

    /// Encode queries: those of a collection that are judged, or of a file
    #[arg(long)]
    queries: bool,

    /// File for the vectors: .npy, or else an index
    #[arg(short = 'o', long, value_name = "FILE")]
    output: PathBuf,

    /// File for the ids, one a line; an index of vectors has them anyway
    #[arg(long, value_name = "FILE")]
    ids: Option<PathBuf>,

    /// What of a document is encoded: title and text with a blank between, or text [default: one;
    /// text for datafinder]
    #[arg(long, value_enum, value_name = "FIELDS", conflicts_with = "queries")]
    fields: Option<Parts>,

    /// Put before every text, after what the model's folder says [default: the folder's prompt]
    #[arg(long, value_name = "TEXT", help_heading = "Model")]
    prefix: Option<String>,

    /// Tokens of a text that are kept, special ones included [default: as the folder says]
    #[arg(long, value_parser = positive, allow_negative_numbers = true, value_name = "N", help_heading = "Model")]
    max_tokens: Option<usize>,

    /// How tokens' vectors become a text's [default: as the folder says]
    #[arg(long, value_enum, value_name = "HOW", help_heading = "Model")]
    pooling: Option<Pool>,

    /// Whether vectors have length 1 [default: as the folder says]
    #[arg(long, value_name = "true|false", help_heading = "Model")]
    normalize: Option<bool>,

    /// What computes: cpu, tch, tch-cuda:N, wgpu, vulkan, cuda:N, as far as compiled in
    #[arg(
        long,
        default_value = "cpu",
        value_name = "NAME",
        help_heading = "Work"
    )]
    backend: Backend,

    /// Tokens that are computed at once: memory for speed
    #[arg(long, value_parser = positive, allow_negative_numbers = true, value_name = "N", help_heading = "Work")]
    batch_tokens: Option<usize>,

    /// Threads [default: one per core]
    #[arg(long, value_parser = positive, allow_negative_numbers = true, value_name = "N", help_heading = "Work")]
    threads: Option<usize>,
}

/// Which parts of a document are encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Parts {
    /// Title, blank, text
    One,
    /// The text alone
    Text,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Pool {
    /// The first token's vector
    Cls,
    /// The mean of all
    Mean,
    /// The greatest, element by element
    Max,
    /// The sum divided by the root of the number of tokens
    MeanSqrt,
}

impl From<Pool> for Pooling {
    fn from(pool: Pool) -> Self {
        match pool {
            Pool::Cls => Self::Cls,
            Pool::Mean => Self::Mean,
            Pool::Max => Self::Max,
            Pool::MeanSqrt => Self::MeanSqrt,
        }
    }
}

impl Args {
    fn side(&self) -> Side {
        if self.queries {
            Side::Query
        } else {
            Side::Document
        }
    }

    fn config(&self) -> EncoderConfig {
        let mut side = SideConfig::default();
        side.prefix.clone_from(&self.prefix);
        side.max_tokens = self.max_tokens;
        let mut config = EncoderConfig::default().with_backend(self.backend);
        config.pooling = self.pooling.map(Pooling::from);
        config.normalize = self.normalize;
        config.batch_tokens = self.batch_tokens.unwrap_or(config.batch_tokens);
        match self.side() {
            Side::Query => config.with_query(side),
            Side::Document => config.with_document(side),
        }
    }
}

/// Texts encoded between two looks at progress and interrupts.
const CHUNK: usize = 256;

/// Vectors as they come in, and whose they are.
struct Vectors<'a> {
    encoder: &'a BiEncoder,
    side: Side,
    bar: Bar,
    total: Option<u64>,
    ids: Vec<String>,
    values: Vec<f32>,
    waiting: Vec<String>,
}

impl Vectors<'_> {
    fn push(&mut self, id: String, text: String) -> Result<()> {
        self.ids.push(id);
        self.waiting.push(text);
        if self.waiting.len() == CHUNK {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let texts: Vec<&str> = self.waiting.iter().map(String::as_str).collect();
        self.values.extend(self.encoder.encode(self.side, &texts)?);
        self.waiting.clear();
        match self
            .bar
            .report("encoding", self.ids.len() as u64, self.total)
        {
            Flow::Continue => Ok(()),
            Flow::Stop => Err(Interrupted.into()),
        }
    }
}

/// Runs `ir encode`.
pub(crate) fn run(args: &Args, console: &Console) -> Result<()> {
    stop_on_interrupt();
    use_threads(args.threads)?;
    let encoder = BiEncoder::open_with(&args.model, &args.config())?;
    // Destinations that cannot be are told before the work begins.
    let output = create(&args.output)?;
    let ids = args.ids.as_deref().map(create).transpose()?;

    let began = Instant::now();
    let mut vectors = Vectors {
        encoder: &encoder,
        side: args.side(),
        bar: console.bar(),
        total: None,
        ids: Vec::new(),
        values: Vec::new(),
        waiting: Vec::new(),
    };
    encode(args, &mut vectors)?;
    let Vectors {
        bar,
        ids: names,
        values,
        ..
    } = vectors;
    bar.finish();
    if names.is_empty() {
        bail!("{}: expected texts, found none", args.collection);
    }
    let dim = encoder.dim();
    if let (Some(mut file), Some(path)) = (ids, &args.ids) {
        let written = names.iter().try_for_each(|id| writeln!(file, "{id}"));
        written
            .and_then(|()| file.commit())
            .with_context(|| format!("{}: could not be written", path.display()))?;
    }
    let count = names.len();
    let path = &args.output;
    let failed = || format!("{}: could not be written", path.display());
    if path.extension().is_some_and(|end| end == "npy") {
        let mut out = BufWriter::new(output);
        npy::write_flat(&values, dim, &mut out).with_context(failed)?;
        let file = out
            .into_inner()
            .map_err(|error| anyhow!(error.into_error()));
        file.with_context(failed)?.commit().with_context(failed)?;
    } else {
        drop(output);
        let ids: DocIds = names.iter().map(String::as_str).collect();
        let index = FlatIndex::new(ids, dim, values, Similarity::InnerProduct)?;
        index.with_codes().save(path).with_context(failed)?;
    }
    console.note(format_args!(
        "{}: {} vectors of {dim} values, {:.1} s",
        path.display(),
        grouped(count as u64),
        began.elapsed().as_secs_f64()
    ));
    Ok(())
}

fn create(path: &Path) -> Result<AtomicFile> {
    AtomicFile::create(path).with_context(|| format!("{}: could not be written", path.display()))
}

fn encode(args: &Args, vectors: &mut Vectors<'_>) -> Result<()> {
    if args.queries {
        let queries = queries(&args.collection)?;
        vectors.total = Some(queries.len() as u64);
        for query in queries {
            vectors.push(query.id, query.text)?;
        }
        return vectors.flush();
    }
    let documents = match find(&args.collection, Verify::Tables)? {
        Source::Documents(documents) => documents,
        Source::Index(_) => {
            bail!("{}: expected documents, found an index", args.collection)
        }
    };
    let parts = args.fields.unwrap_or(match documents.layout {
        Layout::Text => Parts::Text,
        Layout::One | Layout::Separate => Parts::One,
    });
    let corpus = documents.collection.corpus();
    vectors.total = corpus.len_hint();
    let mut reader = corpus.open()?;
    let mut document = ir_core::Document::default();
    while reader.read(&mut document)? {
        let text = match parts {
            Parts::Text => document.text.clone(),
            Parts::One => format!("{} {}", document.title, document.text),
        };
        vectors.push(document.id.clone(), text)?;
    }
    vectors.flush()
}

/// The judged queries of a collection, or those of a file.
fn queries(argument: &str) -> Result<Vec<ir_core::Query>> {
    let path = Path::new(argument);
    if argument == "-" || path.is_file() {
        return read_queries(path);
    }
    match find(argument, Verify::Tables)? {
        Source::Documents(documents) => Ok(documents.collection.queries("test")?),
        Source::Index(_) => Err(Usage(format!("{argument}: an index has no queries")).into()),
    }
}
