//! `ir encode`: encodes texts as vectors.

mod output;
mod sparse;
mod tokens;
mod update;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Result, bail};
use clap::ValueHint;
use ir_core::{CorpusError, Document, Encoder, Flow, Progress, Shard, Side};
use ir_data::DocTemplate;
use ir_dense::{BiEncoder, EncoderConfig, MultiVectorEncoder, SparseEncoder, encode_stream};
use ir_knn::{HnswConfig, QuantizedFormat, TokenEncoding};
use ir_system::saved_vectors::{TextHashes, VectorOrigin};
use output::{EncodingJob, VectorOutput};

use crate::shared::console::{Console, bail_usage};
use crate::shared::encoder::{
    EncoderOptions, find_model, hashes_of, is_model, open_encoder, outlier_note, print_notes,
    similarity,
};
use crate::shared::format::{counted, grouped};
use crate::shared::indexing::warn_of_skipped;
use crate::shared::input::{QueryFields, open_documents, read_queries, with_field};
use crate::shared::options::{
    QueryForm, ReadingOptions, check_query_encoding, choice, positive, use_threads,
};
use crate::shared::output::{OutputPath, WorkPath};
use crate::shared::shards::{InputHash, OutputKind, ShardOption, ShardPart};
use crate::shared::signals::{Interrupted, stop_on_interrupt};
use crate::shared::updates::WaitOption;
use crate::shared::vector_files::{Quantization, is_npy};

const EXAMPLES: &str = "\
Examples:
  ir encode all-MiniLM-L6-v2 beir/nfcorpus -o docs.npy --ids docs.ids
  ir encode all-MiniLM-L6-v2 beir/nfcorpus --queries -o queries.npy
  ir encode all-MiniLM-L6-v2 beir/nfcorpus -o docs.npy --quantize ubinary
  ir encode all-MiniLM-L6-v2 beir/nfcorpus -o small.ir --truncate-dim 128
  ir encode all-MiniLM-L6-v2 makg --queries --split train -o train-queries.npy
  ir encode all-MiniLM-L6-v2 ~/notes -o notes-vectors.ir
  ir encode all-MiniLM-L6-v2 ~/notes -o notes.vectors --add
  ir encode -o notes.vectors --delete gone.txt
  ir encode all-MiniLM-L6-v2 packages -o packages.vectors --add --hnsw
  ir encode colbertv2.0 beir/nfcorpus -o nfcorpus.tokens --token-encoding int8
  ir encode splade-tiny beir/nfcorpus -o docs.jsonl --kind sparse
  ir encode scibert datafinder --template '{text} [SEP] {title}' \\
      --pooling cls --max-tokens 128 -o docs.npy

MODEL is a folder in Hugging Face layout: config.json, weights
(model.safetensors or pytorch_model.bin), tokenizer.json or vocab.txt, and
sentence-transformers' files if present. Vectors agree with
sentence-transformers; their bytes do not depend on --threads, --batch-size or
--batch-tokens.

Output: a .npy file for numpy.load, one row per text in collection order; with
any other extension, a vector index (ir_knn::FlatIndex). Written atomically.

A late-interaction model (ColBERT) encodes one vector per token: the
output is a token store (ir_knn::TokenStore) with the range of each token in
the text, for `ir search --rerank MODEL --rerank-tokens FILE`. Residual
encodings train centroids on a sample of the documents, which is encoded first.

A sparse encoder (SPLADE) writes JSON lines, with `id` and `vector`, the
weights by token, for `ir search --type sparse`. They are not resumed.

A vector index records model, precision, pooling, normalization, prefix, length
limit, template and a hash of each text. `ir search` compares them with its encoder
and documents, except for the length limit, which queries have on their own;
to resume, all of them must be the same.

Collections are read twice, streamed, and may exceed memory. After an
interruption or crash, the same command resumes and produces the same bytes.
Unfinished work is kept in FILE.partial, FILE.partial-ids and FILE.partial-job
(for .npy in FILE.vectors.partial, ...); --restart discards it.

With --add, --delete or --compact the vector index is a folder with one writer
at a time (ir_knn::SegmentedVectorIndex). --add encodes the documents that are
new or whose text has changed, with the encoder and template of the index. It
keeps the vectors of documents that the collection no longer has; list their
ids for --delete. Ids are deleted before documents are added. `ir search
--vectors FOLDER` opens the last commit, with the ranking of an index encoded
once. New vectors are committed once a minute, so that the same command
resumes after an interruption or crash.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Model folder, or the name of a downloaded model (see `ir models`)
    #[arg(required_unless_present_any = ["delete", "compact"])]
    model: Option<PathBuf>,

    /// Collection: a name (see `ir datasets`), BEIR or SMART folder, .jsonl or .tsv file, folder of
    /// notes
    #[arg(required_unless_present_any = ["delete", "compact"])]
    collection: Option<String>,

    #[command(flatten)]
    pub(crate) text: ReadingOptions,

    /// Encode queries: the judged queries of a collection, or a query file
    #[arg(long)]
    queries: bool,

    /// Split of the collection with the judged queries to encode [default: test]
    #[arg(long, value_name = "SPLIT", value_hint = ValueHint::Other, requires = "queries")]
    split: Option<String>,

    /// Text of the queries to encode: text, keyphrases, or another text attribute
    #[arg(long, default_value_t, value_name = "FORM", value_hint = ValueHint::Other, requires = "queries", conflicts_with = "query_field")]
    query_form: QueryForm,

    #[command(flatten)]
    query_fields: QueryFields,

    /// Output file: .npy, or a vector index for any other extension; with --add, --delete or
    /// --compact, the folder of a vector index
    #[arg(short = 'o', long, value_name = "FILE")]
    output: OutputPath,

    /// Output file of the ids, one per line (a vector index includes them)
    #[arg(long, value_name = "FILE")]
    ids: Option<OutputPath>,

    /// Template of a document's text: {title}, {text}, {id} and attributes in braces
    /// [default: "{title} {text}"; "{text}" for datafinder]
    #[arg(long, value_name = "TEXT", conflicts_with_all = OPTIONS_OF_QUERIES)]
    template: Option<DocTemplate>,

    /// Kind of the vectors [default: as the files of the model say]
    #[arg(long, value_parser = choice(VECTOR_KINDS), value_name = "KIND")]
    kind: Option<VectorKind>,

    /// Quantize the vectors of a .npy file, with the codes of sentence-transformers'
    /// quantize_embeddings
    #[arg(long, value_parser = choice(QUANTIZED_FORMATS), value_name = "FORMAT")]
    quantize: Option<QuantizedFormat>,

    /// Vectors from which int8 and uint8 take the minimum and maximum of every dimension, a .npy
    /// file: for queries, the vectors of the documents [default: the encoded vectors]
    #[arg(long, value_name = "FILE", requires = "quantize")]
    calibration: Option<PathBuf>,

    /// Encoding of the vectors of tokens, for a late-interaction model [default: f16]
    #[arg(long, value_parser = choice(TOKEN_ENCODINGS), value_name = "ENCODING", conflicts_with_all = OPTIONS_OF_QUERIES)]
    token_encoding: Option<TokenEncoding>,

    /// Add the vectors of the documents to the index in the folder FILE, and replace vectors with
    /// the same ids. Only texts that are not in the index are encoded. Creates the index if there
    /// is none. Ids must be unique in the collection
    #[arg(long, requires = "collection", conflicts_with_all = file_options(), help_heading = "Update")]
    add: bool,

    /// Create the index with an HNSW graph per segment, for approximate search, which `ir search`
    /// then uses
    #[arg(long, requires = "add", conflicts_with_all = file_options(), help_heading = "Update")]
    hnsw: bool,

    /// Number of links of a new node (M of HNSW); the lowest layer allows twice as many. Larger
    /// values improve recall and need more memory [default: 16]
    #[arg(long, value_name = "N", requires = "hnsw", conflicts_with_all = file_options(), help_heading = "Update")]
    m: Option<usize>,

    /// Beam width of graph construction. Larger values improve recall and take longer
    /// [default: 200]
    #[arg(long, value_parser = positive, value_name = "N", requires = "hnsw", conflicts_with_all = file_options(), help_heading = "Update")]
    ef_construction: Option<usize>,

    /// Delete the vectors of the documents with these ids, one per line
    #[arg(long, value_name = "FILE", conflicts_with_all = file_options(), help_heading = "Update")]
    delete: Option<String>,

    /// Merge all segments into one, without deleted vectors
    #[arg(long, conflicts_with_all = file_options(), help_heading = "Update")]
    compact: bool,

    #[command(flatten)]
    wait: WaitOption,

    #[command(flatten, next_help_heading = "Model")]
    encoder: EncoderOptions,

    #[command(flatten)]
    shard: ShardOption,

    /// Batch size in texts, as in sentence-transformers, instead of tokens
    #[arg(long, value_parser = positive, value_name = "N", help_heading = "Execution", conflicts_with = "batch_tokens")]
    batch_size: Option<usize>,

    /// Batch size in tokens: larger batches are faster and need more memory [default: 2048]
    #[arg(long, value_parser = positive, value_name = "N", help_heading = "Execution")]
    batch_tokens: Option<usize>,

    /// Discard the unfinished work of an earlier command
    #[arg(long, help_heading = "Execution")]
    restart: bool,

    /// Number of threads [default: one per core]
    #[arg(long, value_parser = positive, value_name = "N", help_heading = "Execution")]
    threads: Option<usize>,
}

/// --queries, and the options that need it.
const OPTIONS_OF_QUERIES: [&str; 5] = [
    "queries",
    "split",
    "query_form",
    "query_field",
    "query_id_field",
];

/// Options of vectors that are written to a file.
fn file_options() -> Vec<&'static str> {
    let others = [
        "kind",
        "ids",
        "restart",
        "shard",
        "token_encoding",
        "quantize",
        "calibration",
    ];
    [&OPTIONS_OF_QUERIES[..], &others].concat()
}

/// Formats of quantized vectors: name, help and value of `--quantize`.
const QUANTIZED_FORMATS: [(&str, &str, QuantizedFormat); 4] = [
    (
        "int8",
        "8 bits per dimension, from -128 to 127",
        QuantizedFormat::Int8,
    ),
    (
        "uint8",
        "8 bits per dimension, from 0 to 255",
        QuantizedFormat::Uint8,
    ),
    (
        "binary",
        "1 bit per dimension, in bytes from -128 to 127",
        QuantizedFormat::Binary,
    ),
    (
        "ubinary",
        "1 bit per dimension, in bytes from 0 to 255",
        QuantizedFormat::Ubinary,
    ),
];

/// Vectors of all dimensions, or weights of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum VectorKind {
    Dense,
    Sparse,
}

/// Kinds of vectors: name, help and value of `--kind`.
const VECTOR_KINDS: [(&str, &str, VectorKind); 2] = [
    (
        "dense",
        "One vector per text, or per token of a late-interaction model",
        VectorKind::Dense,
    ),
    (
        "sparse",
        "Weights of the tokens of the vocabulary, from a SparseEncoder of sentence-transformers or \
         another masked language model (SPLADE)",
        VectorKind::Sparse,
    ),
];

/// Encodings of token vectors: name, help and value of `--token-encoding`.
const TOKEN_ENCODINGS: [(&str, &str, TokenEncoding); 5] = [
    ("f32", "Single precision", TokenEncoding::F32),
    ("f16", "Half precision", TokenEncoding::F16),
    (
        "int8",
        "8-bit codes with a scale per vector",
        TokenEncoding::Int8,
    ),
    (
        "residual4",
        "Nearest centroid and 4-bit codes of the residual, as in PLAID",
        TokenEncoding::Residual4,
    ),
    (
        "residual2",
        "Nearest centroid and 2-bit codes of the residual, as in PLAID",
        TokenEncoding::Residual2,
    ),
];

impl Args {
    /// Files of unfinished work, or the folder of an index that is updated.
    pub(crate) fn work_paths(&self) -> Vec<WorkPath> {
        if self.is_update() {
            return vec![WorkPath::output_folder(self.output.folder())];
        }
        output::work_paths(&self.output)
    }

    /// Returns `true` if the output is a segmented index.
    fn is_update(&self) -> bool {
        self.add || self.delete.is_some() || self.compact
    }

    /// Construction parameters of the graphs; [`None`] without --hnsw.
    fn hnsw(&self) -> Option<HnswConfig> {
        let mut config = HnswConfig::default();
        config.m = self.m.unwrap_or(config.m);
        config.ef_construction = self.ef_construction.unwrap_or(config.ef_construction);
        self.hnsw.then_some(config)
    }

    /// Quantization of vectors of `dim` dimensions.
    fn quantization(&self, dim: usize) -> Result<Option<Quantization>> {
        let calibration = self.calibration.as_deref();
        let quantization = self
            .quantize
            .map(|format| Quantization::new(format, calibration, dim));
        quantization.transpose()
    }

    fn side(&self) -> Side {
        if self.queries {
            Side::Query
        } else {
            Side::Document
        }
    }

    fn config(&self) -> EncoderConfig {
        let mut config = self.encoder.config(self.side());
        config.batch_tokens = self.batch_tokens.unwrap_or(config.batch_tokens);
        if let Some(texts) = self.batch_size {
            config = config.with_batch_tokens(usize::MAX).with_batch_texts(texts);
        }
        config
    }
}

/// Ids and texts, in order.
type Texts<'a> = Box<dyn Iterator<Item = Result<(String, String)>> + 'a>;

/// Texts to encode, and their hashes.
struct EncodingInput<'a> {
    /// Reads all texts from the start, also the texts of other shards.
    open: Box<dyn Fn() -> Result<Texts<'a>> + 'a>,
    template: Option<String>,
    hashes: TextHashes,
    part: Option<ShardPart>,
}

impl<'a> EncodingInput<'a> {
    /// Reads the texts from the start.
    fn texts(&self) -> Result<Texts<'a>> {
        let texts = (self.open)()?;
        let Some(part) = &self.part else {
            return Ok(texts);
        };
        let range = part.range();
        Ok(Box::new(texts.skip(range.start).take(range.len())))
    }

    /// The texts of `--shard`.
    fn shard(mut self, shard: Option<Shard>) -> Self {
        let Some(shard) = shard else {
            return self;
        };
        let mut input = InputHash::default();
        for hash in self.hashes.as_slice() {
            input.push_hash(*hash);
        }
        let part = ShardPart::new(shard, &input);
        let range = part.range();
        self.hashes = self.hashes.as_slice()[range].iter().copied().collect();
        self.part = Some(part);
        self
    }
}

pub(crate) fn run(args: &Args, console: &Console) -> Result<()> {
    stop_on_interrupt();
    use_threads(args.threads)?;
    if args.wait.wait.is_some() && !args.is_update() {
        bail_usage!("--wait: expected --add, --delete or --compact, which lock an index");
    }
    let (model, collection) = match (&args.model, &args.collection) {
        (Some(model), Some(collection)) if !args.is_update() => (model, collection),
        _ => return update::run(args, console),
    };
    let output = args.output.binary_file("--output")?;
    if output.is_dir() {
        bail!(
            "{}: cannot be written: expected a file, found a directory; --add updates the vectors in a folder",
            output.display()
        );
    }
    if let Some(shard) = args.shard.shard
        && (is_npy(output) || args.ids.is_some())
    {
        bail_usage!(
            "--shard {shard}: expected a vector index, found .npy or --ids, which `ir merge` writes"
        );
    }
    if args.quantize.is_some() && !is_npy(output) {
        bail_usage!(
            "--quantize: expected a .npy file, found {}, which has vectors in f32",
            output.display()
        );
    }
    let is_binary = matches!(
        args.quantize,
        Some(QuantizedFormat::Binary | QuantizedFormat::Ubinary)
    );
    if args.calibration.is_some() && is_binary {
        bail_usage!("--calibration: expected --quantize int8 or uint8, found a format of bits");
    }
    output::check(output, args.ids.as_ref())?;
    check_order(model, collection)?;
    let mut hashes = TextHashes::default();
    if args.queries {
        let queries = queries(args, collection, console)?;
        for query in &queries {
            hashes.push(&query.id, &query.text);
        }
        let open = || -> Result<Texts<'_>> {
            let texts = queries.iter();
            Ok(Box::new(
                texts.map(|it| Ok((it.id.clone(), it.text.clone()))),
            ))
        };
        let texts = EncodingInput {
            open: Box::new(open),
            template: None,
            hashes,
            part: None,
        };
        return encode(args, (model, collection), texts, console);
    }
    let documents = open_documents(collection, args.text.read_options(), console)?;
    documents.check_encoding(args.text.encoding)?;
    let template = documents.template(args.template.as_ref())?;
    let corpus = documents.collection.corpus();
    // Invalid documents are reported before the first is encoded.
    let hashes = hashes_of(corpus, &template, &mut console.bar())?;
    warn_of_skipped(&documents.collection, console);
    let of_document = |document: Result<Document, CorpusError>| -> Result<(String, String)> {
        let document = document?;
        let text = template.render(&document);
        Ok((document.id, text))
    };
    let open = || -> Result<Texts<'_>> { Ok(Box::new(corpus.docs()?.map(&of_document))) };
    let texts = EncodingInput {
        template: Some(template.to_string()),
        open: Box::new(open),
        hashes,
        part: None,
    };
    encode(args, (model, collection), texts, console)
}

/// Rejects a collection in place of the model, and the model in place of the collection.
fn check_order(model: &Path, collection: &str) -> Result<()> {
    if is_model(Path::new(collection)) && !is_model(model) {
        let model = model.display();
        bail_usage!("{collection}: expected the model first: ir encode {collection} {model}");
    }
    Ok(())
}

/// Encodes the texts of a collection with a model.
fn encode(
    args: &Args,
    (model, collection): (&Path, &str),
    texts: EncodingInput<'_>,
    console: &Console,
) -> Result<()> {
    if texts.hashes.is_empty() {
        bail!("{collection}: expected texts, found none");
    }
    let found = find_model(model)?;
    let is_sparse = match args.kind {
        Some(kind) => kind == VectorKind::Sparse,
        None => SparseEncoder::is_model_folder(&found.folder)?,
    };
    if is_sparse {
        return sparse::encode(args, (model, &found.folder), &texts, console);
    }
    if MultiVectorEncoder::is_model_folder(&found.folder)? {
        return tokens::encode(args, (model, &found.folder), &texts, console);
    }
    if args.token_encoding.is_some() {
        let model = model.display();
        bail_usage!(
            "--token-encoding: expected a late-interaction model, found {model}, which has one \
             vector per text"
        );
    }
    let texts = texts.shard(args.shard.shard);
    let mut source = texts.texts()?;
    let encoder = open_encoder(&found.folder, &found.with_catalog_defaults(args.config()))?;
    print_notes(&encoder, model, console);
    let quantization = args.quantization(encoder.dim())?;
    let side = args.side();
    let total = Some(texts.hashes.len() as u64);
    let origin = VectorOrigin::new(model, &encoder.fingerprint(side), texts.template)?;
    let origin = origin.with_texts(texts.hashes);
    let settings = origin.settings();
    let job = EncodingJob::new(&encoder, side, origin)?;
    let began = Instant::now();
    let similarity = similarity(encoder.similarity());
    let ids = args.ids.as_ref();
    let mut output = VectorOutput::open(&args.output, ids, &job, similarity, args.restart)?;
    let done = output.len();
    if done > 0 {
        console.log(format_args!(
            "{}: resuming after {}",
            args.output.display(),
            counted(done as u64, "vector")
        ));
    }
    let mut bar = console.bar();
    // The job may have encoded a text before.
    let earlier = encoder.truncated_texts(side);
    let mut truncated = 0;
    for row in 0..done {
        let found = source.next().transpose()?;
        let text = found.as_ref().map_or("", |(_, text)| text);
        truncated += u64::from(encoder.is_truncated(side, text)?);
        output.check(row, found.map(|(id, _)| id))?;
    }
    let mut progress =
        |stage: &str, new: u64, _: Option<u64>| bar.report(stage, new + done as u64, total);
    let ended = encode_stream(
        &encoder,
        side,
        source,
        total,
        |id: &str, vector: &[f32]| output.push(id, vector),
        &mut progress,
    );
    bar.finish();
    let error = match ended {
        Ok(Flow::Continue) => None,
        Ok(Flow::Stop) if output.len() == 0 => Some(Interrupted.into()),
        Ok(Flow::Stop) => Some(output.interrupted()),
        Err(error) => Some(error),
    };
    if let Some(error) = error {
        // Without vectors there is nothing to resume, and another job may follow.
        if output.len() == 0 {
            output.discard()?;
        }
        return Err(error);
    }
    let count = output.len() as u64;
    output.finish(&job, quantization.as_ref())?;
    if let Some(part) = texts.part {
        part.write_record(
            &args.output,
            OutputKind::Vectors,
            "vectors",
            Some(job.probe()),
        )?;
    }
    console.log(format_args!(
        "{}: {} vectors of {} dimensions ({settings}), {:.1} s",
        args.output.display(),
        grouped(count),
        encoder.dim(),
        began.elapsed().as_secs_f64()
    ));
    truncated += encoder.truncated_texts(side) - earlier;
    note_differences(&args.output, &encoder, side, (truncated, count), console);
    Ok(())
}

/// Prints the number of truncated texts, and the channels that are not int8.
fn note_differences(
    output: &Path,
    encoder: &BiEncoder,
    side: Side,
    (truncated, texts): (u64, u64),
    console: &Console,
) {
    note_truncated(
        output,
        (truncated, texts),
        encoder.max_tokens(side),
        console,
    );
    if let Some(note) = outlier_note(encoder, side) {
        console.log(format_args!("note: {}: {note}", output.display()));
    }
}

/// Prints the number of truncated texts, if there are any.
fn note_truncated(
    output: &Path,
    (truncated, texts): (u64, u64),
    max_tokens: usize,
    console: &Console,
) {
    if truncated > 0 {
        console.log(format_args!(
            "note: {}: {} of {} texts truncated to {max_tokens} tokens (--max-tokens)",
            output.display(),
            grouped(truncated),
            grouped(texts),
        ));
    }
}

fn queries(args: &Args, argument: &str, console: &Console) -> Result<Vec<ir_core::Query>> {
    let path = Path::new(argument);
    let options = args.query_fields.read_options(args.text.encoding);
    let queries = if argument == "-" || path.is_file() {
        if args.split.is_some() {
            bail_usage!("--split: expected a collection, found a query file");
        }
        check_query_encoding(path, args.text.encoding)?;
        read_queries(path, options, console)?
    } else {
        let split = args.split.as_deref().unwrap_or("test");
        let documents = open_documents(argument, args.text.read_options(), console)?;
        documents.check_encoding(args.text.encoding)?;
        let queries = documents.collection.queries(split)?;
        with_field(queries, &options.names, argument)?
    };
    args.query_form.apply(queries)
}
