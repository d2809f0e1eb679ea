//! `ir worker`: encodes, searches or tokenizes records of standard input.

#[cfg(feature = "arrow")]
mod arrow;
#[cfg(feature = "dense")]
mod encode;
mod record_types;
mod records;

use anyhow::{Result, bail};
use clap::ValueHint;
use ir_bm25::Analysis;
use ir_core::store::Verify;
use ir_core::{Ranking, Retriever, Search};
use ir_data::{DocTemplate, GivenNames, RecordKind, TextEncoding};

use crate::shared::console::{Console, bail_usage};
use crate::shared::indexing::{IndexOptions, analysis};
use crate::shared::input::{CollectionSource, open_collection};
use crate::shared::options::{positive, use_threads};
use crate::shared::output::OutputSink;
use crate::shared::search_data::{OtherCollections, SystemOpener};
use crate::shared::signals::{describe_outcome, stop_on_interrupt, stopped};
use crate::shared::system_options::SystemSource;
use record_types::{HitRecord, InputRecord, OutputKind, OutputValue, RecordFormat, RecordInput};
use records::{InputRecords, RecordWriter, has_written, written_records};

const EXAMPLES: &str = "\
Examples:
  ir worker tokenize < docs.jsonl
  ir worker encode all-MiniLM-L6-v2 < docs.jsonl > vectors.jsonl
  ir worker search corpus.ir -k 100 < queries.jsonl > hits.jsonl
  ir worker search --vectors docs.vectors < vectors.jsonl
  ir worker search --vectors docs.vectors --encoder all-MiniLM-L6-v2 \\
      < queries.jsonl
  ir worker tokenize --format arrow < docs.arrows > tokens.arrows
  parallel --pipe --block 10M ir worker tokenize < docs.jsonl

Reads records, one JSON object per line, and writes one for each, in the same
order. Batch systems start it for every partition: `rdd.pipe` of Spark, GNU
parallel, Hadoop streaming.

Input:   {\"id\": ID, \"title\": TEXT, \"text\": TEXT}, title optional, or
         {\"id\": ID, \"vector\": [NUMBER, ...]}; an id is a text or an integer.
         Ids and texts may have the other names that `ir index` and `--queries`
         read, such as docid, contents and query; other fields are ignored
encode:  {\"id\": ID, \"vector\": [NUMBER, ...]}
search:  {\"id\": ID, \"hits\": [{\"id\": ID, \"score\": NUMBER}, ...]}
tokenize: {\"id\": ID, \"tokens\": [TOKEN, ...]}

Documents have the text of --template, title and text by default, as in
`ir encode`; searches and `encode --queries` have the text alone.

Numbers have as many digits as f32 needs: they are read back unchanged. The
output does not depend on partitions, batches or threads. An invalid record is
an error that names the line; the exit code is then 1 and the output
incomplete. The number of records written is printed on standard error, also
after an error or a signal.

With --format arrow (a build with the feature `arrow`), records are rows of an
Arrow IPC stream with columns of these names, as in `mapInArrow` of Spark:
texts, lists of 32-bit or 64-bit floats, lists of texts, and lists of structs.
Errors name batch, row and column.";

/// Text of a document.
#[derive(Debug, clap::Args)]
struct TemplateOption {
    /// Template of a document's text: {title}, {text} and {id} in braces
    /// [default: "{title} {text}"]
    #[arg(long, value_name = "TEXT")]
    template: Option<DocTemplate>,
}

impl TemplateOption {
    fn template(&self) -> Result<DocTemplate> {
        let template = self.template.clone().unwrap_or_default();
        if let Some(name) = template.attributes().next() {
            bail_usage!("--template: expected the fields title, text and id, found {{{name}}}");
        }
        Ok(template)
    }
}

/// Format of the records.
#[derive(Debug, clap::Args)]
struct FormatOption {
    /// Format of the records that are read and written: json (one object per line) or arrow (an
    /// Arrow IPC stream)
    #[cfg(feature = "arrow")]
    #[arg(long, value_enum, default_value = "json", value_name = "FORMAT")]
    format: RecordFormat,

    /// Field or column with the ids [default: by its name]
    #[arg(long, value_name = "NAME", value_hint = ValueHint::Other)]
    id_field: Option<String>,

    /// Field or column with the texts [default: by its name]
    #[arg(long, value_name = "NAME", value_hint = ValueHint::Other)]
    text_field: Option<String>,
}

impl FormatOption {
    fn input(&self, kind: RecordKind) -> RecordInput {
        #[cfg(feature = "arrow")]
        let format = self.format;
        #[cfg(not(feature = "arrow"))]
        let format = RecordFormat::Json;
        RecordInput {
            format,
            kind,
            given: GivenNames {
                id: self.id_field.clone(),
                text: self.text_field.clone(),
                ..GivenNames::default()
            },
        }
    }
}

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, clap::Subcommand)]
enum Task {
    /// Encode texts as vectors
    #[cfg(feature = "dense")]
    Encode(Box<encode::Args>),
    /// Search an index of BM25, or vectors
    Search(Box<SearchArgs>),
    /// Tokenize texts with an analyzer
    Tokenize(TokenizeArgs),
}

#[derive(Debug, clap::Args)]
struct SearchArgs {
    /// BM25 index, written by `ir index`
    #[arg(required_unless_present = "vectors", conflicts_with = "vectors")]
    index: Option<String>,

    #[command(flatten)]
    model: SystemSource,

    #[cfg(feature = "dense")]
    #[command(flatten)]
    vectors: encode::VectorOptions,

    /// Number of hits per record
    #[arg(long, short = 'k', value_parser = positive, default_value_t = 10, value_name = "K")]
    hits: usize,

    /// Number of threads [default: one per core]
    #[arg(long, value_parser = positive, value_name = "N")]
    threads: Option<usize>,

    #[command(flatten)]
    format: FormatOption,
}

#[derive(Debug, clap::Args)]
struct TokenizeArgs {
    /// Analyzer, as in `ir index` [default: porter]
    #[arg(long, value_parser = analysis, value_name = "NAME")]
    analysis: Option<Analysis>,

    #[command(flatten)]
    template: TemplateOption,

    #[command(flatten)]
    format: FormatOption,
}

pub(crate) fn run(args: &Args, console: &Console) -> Result<()> {
    stop_on_interrupt();
    describe_outcome(written_records);
    let mut out = OutputSink::open(None)?;
    let done = match &args.task {
        #[cfg(feature = "dense")]
        Task::Encode(args) => encode::run(args, &mut out),
        Task::Search(args) => search(args, &mut out, console),
        Task::Tokenize(args) => tokenize(args, &mut out),
    };
    match &done {
        // The error of an interrupted worker has the number of records.
        _ if stopped() => {}
        Ok(()) => console.log(written_records()),
        Err(_) if has_written() => console.warn(format_args!(
            "the output is incomplete: {}",
            written_records()
        )),
        Err(_) => {}
    }
    done.and_then(|()| out.commit())
}

/// Maximum number of records in memory.
const BATCH: usize = 128;

fn tokenize(args: &TokenizeArgs, out: &mut OutputSink) -> Result<()> {
    let analysis = args.analysis.clone().unwrap_or_default();
    let analyzer = analysis.build()?;
    let template = args.template.template()?;
    let input = args.format.input(RecordKind::Document);
    let mut records = InputRecords::stdin(&input)?;
    let mut out = RecordWriter::new(input.format, OutputKind::Tokens, out)?;
    loop {
        let batch = records.batch(BATCH)?;
        if batch.is_empty() {
            return out.finish();
        }
        for record in batch {
            let (id, text) = record.into_document_text(&template)?;
            let tokens = ir_core::Analyzer::terms(&analyzer, &text);
            out.write(&id, OutputValue::Tokens(&tokens))?;
        }
        out.flush()?;
    }
}

fn search(args: &SearchArgs, out: &mut OutputSink, console: &Console) -> Result<()> {
    use_threads(args.threads)?;
    let input = args.format.input(RecordKind::Query);
    #[cfg(feature = "dense")]
    if args.vectors.is_set() {
        return args.vectors.search(args.hits, &input, out, console);
    }
    let Some(name) = &args.index else {
        bail_usage!("expected an index, found none");
    };
    let opened = open_collection(name, TextEncoding::Utf8, Verify::SmallSections, console)?;
    let CollectionSource::Index(index) = opened else {
        bail!("{name}: expected an index (`ir index {name} -o FILE`), found documents");
    };
    let spec = args.model.spec_for_any_query()?;
    let setup = IndexOptions::default();
    let others = OtherCollections {
        encoding: TextEncoding::Utf8,
        verify: Verify::SmallSections,
        setup: &setup,
        threads: args.threads,
    };
    let mut opener = SystemOpener::new(name, &index, &[], None, others, console)?;
    let opened = opener.open(&spec)?;
    search_records(
        args.hits,
        &input,
        &*opened.retriever,
        |record| record.into_text(),
        |text| text.as_str(),
        out,
    )
}

/// Searches the records of standard input, a batch at a time. `query` extracts id and query of a
/// record.
fn search_records<T, R: Retriever + ?Sized>(
    k: usize,
    input: &RecordInput,
    retriever: &R,
    query: impl Fn(InputRecord) -> Result<(String, T)>,
    borrowed: impl Fn(&T) -> &R::Query,
    out: &mut OutputSink,
) -> Result<()> {
    let mut records = InputRecords::stdin(input)?;
    let mut out = RecordWriter::new(input.format, OutputKind::Hits, out)?;
    loop {
        let batch = records.batch(BATCH)?;
        if batch.is_empty() {
            return out.finish();
        }
        let queries: Vec<(String, T)> = batch.into_iter().map(&query).collect::<Result<_>>()?;
        let searches: Vec<_> = queries
            .iter()
            .map(|(_, query)| (borrowed(query), Search::top(k)))
            .collect();
        let rankings: Vec<Ranking> = retriever.search_batch(&searches)?;
        for ((id, _), ranking) in queries.iter().zip(&rankings) {
            let hits = ranking.iter().map(|hit| HitRecord {
                id: retriever.ids().id(hit.doc),
                score: hit.score,
            });
            let hits: Vec<HitRecord<'_>> = hits.collect();
            out.write(id, OutputValue::Hits(&hits))?;
        }
        out.flush()?;
    }
}
