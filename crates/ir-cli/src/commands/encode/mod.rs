//! `ir encode`: texts to vectors by a transformer.

mod output;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Result, bail};
use ir_bm25::Verify;
use ir_core::{Corpus, DocReader, Document, Encoder, Flow, Progress, Side};
use ir_data::DocTemplate;
use ir_dense::{BiEncoder, EncoderConfig, encode_stream};
use output::{Job, Output};

use crate::shared::options::positive;
use crate::shared::console::{Console, Usage, stop_on_interrupt};
use crate::shared::format::grouped;
use crate::shared::options::use_threads;
use crate::shared::encoder::{EncoderOptions, find_model, similarity};
use crate::shared::options::{QueryForm, take_keyphrases};
use crate::shared::input::{Layout, Source, find, fingerprint, read_queries};

const EXAMPLES: &str = "\
Examples:
  ir encode all-MiniLM-L6-v2 beir/nfcorpus -o docs.npy --ids docs.ids
  ir encode all-MiniLM-L6-v2 beir/nfcorpus --queries -o queries.npy
  ir encode all-MiniLM-L6-v2 makg --queries --split train -o past.npy
  ir encode all-MiniLM-L6-v2 ~/notes -o notes-vectors.ir
  ir encode my-e5 corpus.jsonl -o docs.npy --prefix 'passage: '
  ir encode scibert datafinder --template '{text} [SEP] {title}' \\
      --pooling cls --max-tokens 128 -o docs.npy

The model is a folder in the Hugging Face layout: config.json, weights
(model.safetensors or pytorch_model.bin), tokenizer.json or vocab.txt, and
sentence-transformers' files where there are any. Or it is the name of a model
that was downloaded, by `ir models fetch` or Hugging Face's tools; one that
`ir models` lists is loaded as its training was. The vectors are those of
sentence-transformers, and the same bytes whatever --threads and
--batch-tokens are.

Output: a .npy file, one vector a row in the order of the collection, which
numpy.load reads; under any other name an index of vectors, which
ir_knn::FlatIndex::open reads. It appears when it is complete.

The collection may be larger than the memory. Whatever ends the command early,
Ctrl-C, kill -9 or a power cut: given again, it goes on where it was, and ends
in the same bytes. Until then three files stand beside it, NAME.partial,
NAME.partial-ids and NAME.partial-job; --restart throws them away.";

/// The arguments of `ir encode`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Folder of the model, or its name if it was downloaded (see `ir models`)
    model: PathBuf,

    /// What to encode: a BEIR folder, a collection by name (see `ir datasets`), a .jsonl or .tsv
    /// file of documents, or a folder of notes (*.md, *.txt)
    collection: String,

    /// Encode queries: those of a collection that are judged, or of a file
    #[arg(long)]
    queries: bool,

    /// Split of the collection whose judged queries are encoded [default: test]
    #[arg(long, value_name = "SPLIT", requires = "queries")]
    split: Option<String>,

    /// What of the queries is encoded
    #[arg(long, value_enum, default_value_t = QueryForm::Text, value_name = "FORM", requires = "queries")]
    query_form: QueryForm,

    /// File for the vectors: .npy, or else an index
    #[arg(short = 'o', long, value_name = "FILE")]
    output: PathBuf,

    /// File for the ids, one a line; an index of vectors has them anyway
    #[arg(long, value_name = "FILE")]
    ids: Option<PathBuf>,

    /// What of a document is encoded: a text with {title}, {text}, {id} or attributes in braces
    /// [default: "{title} {text}"; "{text}" for datafinder]
    #[arg(long, value_name = "TEXT", conflicts_with = "queries")]
    template: Option<DocTemplate>,

    #[command(flatten, next_help_heading = "Model")]
    reading: EncoderOptions,

    /// Tokens that are computed at once: memory for speed
    #[arg(long, value_parser = positive, allow_negative_numbers = true, value_name = "N", help_heading = "Work")]
    batch_tokens: Option<usize>,

    /// Throw away what an earlier command left unfinished under the same name
    #[arg(long, help_heading = "Work")]
    restart: bool,

    /// Threads [default: one per core]
    #[arg(long, value_parser = positive, allow_negative_numbers = true, value_name = "N", help_heading = "Work")]
    threads: Option<usize>,
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
        let mut config = self.reading.config(self.side());
        config.batch_tokens = self.batch_tokens.unwrap_or(config.batch_tokens);
        config
    }
}

/// What is encoded: texts in order, how many if that is known, and what tells them from others.
struct Texts<'a> {
    texts: Box<dyn Iterator<Item = Result<(String, String)>> + 'a>,
    total: Option<u64>,
    fingerprint: String,
}

/// Runs `ir encode`.
pub(crate) fn run(args: &Args, console: &Console) -> Result<()> {
    stop_on_interrupt();
    use_threads(args.threads)?;
    if args.queries {
        let queries = queries(args)?;
        let both = queries.iter().flat_map(|query| [&query.id, &query.text]);
        let hash = fingerprint(both);
        let texts = Texts {
            total: Some(queries.len() as u64),
            fingerprint: format!("{} queries {hash}", args.collection),
            texts: Box::new(queries.into_iter().map(|query| Ok((query.id, query.text)))),
        };
        return encode(args, texts, console);
    }
    let documents = match find(&args.collection, Verify::Tables)? {
        Source::Documents(documents) => documents,
        Source::Index(_) => {
            bail!("{}: expected documents, found an index", args.collection)
        }
    };
    let template = match (&args.template, documents.layout) {
        (Some(template), _) => template.clone(),
        (None, Layout::Text) => DocTemplate::text(),
        (None, Layout::One | Layout::Separate) => DocTemplate::default(),
    };
    let corpus = documents.collection.corpus();
    let texts = Texts {
        total: corpus.len_hint(),
        fingerprint: format!("{} {template}", documents.fingerprint),
        texts: Box::new(Documents::new(corpus, template)?),
    };
    encode(args, texts, console)
}

/// The texts of a corpus; ends after an error.
struct Documents<'a> {
    reader: Option<Box<dyn DocReader + 'a>>,
    template: DocTemplate,
    document: Document,
}

impl<'a> Documents<'a> {
    fn new(corpus: &'a dyn Corpus, template: DocTemplate) -> Result<Self> {
        Ok(Self {
            reader: Some(corpus.open()?),
            template,
            document: Document::default(),
        })
    }
}

impl Iterator for Documents<'_> {
    type Item = Result<(String, String)>;

    fn next(&mut self) -> Option<Self::Item> {
        let reader = self.reader.as_mut()?;
        match reader.read(&mut self.document) {
            Ok(true) => {
                let text = self.template.of(&self.document);
                Some(Ok((self.document.id.clone(), text)))
            }
            Ok(false) => None,
            Err(error) => {
                self.reader = None;
                Some(Err(error.into()))
            }
        }
    }
}

fn encode(args: &Args, texts: Texts<'_>, console: &Console) -> Result<()> {
    let model = find_model(&args.model)?;
    let encoder = BiEncoder::open_with(&model.folder, &model.complete(args.config()))?;
    let side = args.side();
    let job = Job::new(&encoder, side, texts.fingerprint)?;
    let began = Instant::now();
    let similarity = similarity(encoder.similarity());
    let ids = args.ids.as_deref();
    let mut output = Output::open(&args.output, ids, &job, similarity, args.restart)?;
    let done = output.len();
    if done > 0 {
        console.warn(format_args!(
            "{}: going on after {} vectors that are there",
            args.output.display(),
            grouped(done as u64)
        ));
    }
    let mut bar = console.bar();
    let mut source = texts.texts;
    for row in 0..done {
        let found = source.next().transpose()?;
        output.check(row, found.map(|(id, _)| id))?;
    }
    let mut progress =
        |stage: &str, new: u64, total: Option<u64>| bar.report(stage, new + done as u64, total);
    let ended = encode_stream(
        &encoder,
        side,
        source,
        texts.total,
        |id: &str, vector: &[f32]| output.push(id, vector),
        &mut progress,
    );
    bar.finish();
    if ended? == Flow::Stop {
        return Err(output.interrupted());
    }
    if output.len() == 0 {
        output.discard()?;
        bail!("{}: expected texts, found none", args.collection);
    }
    let count = output.len() as u64;
    output.finish()?;
    console.note(format_args!(
        "{}: {} vectors of {} values, {:.1} s",
        args.output.display(),
        grouped(count),
        encoder.dim(),
        began.elapsed().as_secs_f64()
    ));
    Ok(())
}

/// The judged queries of a collection, or those of a file.
fn queries(args: &Args) -> Result<Vec<ir_core::Query>> {
    let argument = &args.collection;
    let path = Path::new(argument);
    let mut queries = if argument == "-" || path.is_file() {
        if args.split.is_some() {
            let what = "--split: expected a collection, found a file of queries";
            return Err(Usage(what.into()).into());
        }
        read_queries(path)?
    } else {
        match find(argument, Verify::Tables)? {
            Source::Documents(documents) => {
                let split = args.split.as_deref().unwrap_or("test");
                documents.collection.queries(split)?
            }
            Source::Index(_) => {
                return Err(Usage(format!("{argument}: an index has no queries")).into());
            }
        }
    };
    if args.query_form == QueryForm::Keyphrases {
        take_keyphrases(&mut queries)?;
    }
    Ok(queries)
}
