//! `ir serve`: answers to questions on web pages and over REST.

mod collections;

use std::io::{IsTerminal, Write};
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use ir_core::{Flow, Progress};
use ir_qa::documents::DocumentError;
use ir_qa::retrieval::AnswerConfig;
#[cfg(feature = "dense")]
use ir_serve::ServiceReranker;
use ir_serve::store::{Job, JobStatus, KeyRole, QUESTION_FILE, Store, StoreError};
use ir_serve::{
    BasePath, FolderRead, Limits, Server, Service, ServiceConfig, ServiceError, ServiceGenerator,
    ServiceQuestions, record_of,
};

use crate::shared::answer_options::AnswerOptions;
use crate::shared::console::{self, Console, bail_usage};
use crate::shared::document_reader::document_reader;
use crate::shared::format::grouped;
use crate::shared::generation_options::GenerationOptions;
use crate::shared::options::positive;
use crate::shared::output::{OutputSink, failed, print};
use crate::shared::paper_folder::{is_bundled, warn};
use crate::shared::question_options::QuestionOptions;
use crate::shared::signals::{Interrupted, check_stopped, stop_on_interrupt};

const EXAMPLES: &str = "\
Examples:
  ir serve bundled                        invented papers of the library
  ir serve papers/                        a folder and its subfolders
  ir serve papers/ --model all-MiniLM-L6-v2
  ir serve papers/ --rerank models/cross-encoder --candidates 20
  ir serve --data library.ir-serve        documents are added over REST
  ir serve papers/ --listen 0.0.0.0:8080  pages need a sign-in with a key
  ir serve papers/ --behind-tls --host papers.example.org
  ir serve papers/ --base-path /papers    below a path of a proxy

Then open the address that is printed. Papers are read as by `ir frames
--scientific` at every start, if the size or time of their files is another:
changed files are published again, and papers whose files were deleted are
deleted. Papers of files that can no longer be read or are skipped are kept,
all papers of a folder without a readable file, which may be unmounted, and
documents that were added over REST. The page /files lists the files that could
not be read, were skipped, or lack parts such as authors, with the reasons, and
has a button that reads the folder again while the service runs.

The data folder has documents, annotations and the query log: one SQLite file.
Its pages are checked in the background after the start; damage ends the server
with an error. --check reads everything, with the checksums of documents and
vectors, and serves nothing. `ir backup` copies the folder while it is served.
With --model, papers are found by BM25 first; their vectors follow while they
are served, and the page Review says how many answers wait for them.
The first start prints an admin key and a query key for REST, of which only
hashes are stored; --new-keys replaces lost keys:
  curl -H \"Authorization: $KEY\" -d '{\"query\": {\"query\": \"What is ...?\"}}' \\
    http://127.0.0.1:7860/v1/search/query
/openapi.json describes the interface; /health, /ready and /metrics are for
monitoring. Beyond the loopback, /metrics needs a key, too.";

/// What is served after a failed reading or publication.
const SERVED: &str = "what was published before is served";

/// What to do about a publication that did not finish.
const PUBLISH_AGAIN: &str = "publish on the page Review or over REST to try again";

const NETWORK: &str = "Network";
const LIMITS: &str = "Limits";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Folder of papers, a file, or `bundled` [default: none, the documents of --data]
    #[arg(required_unless_present = "data")]
    papers: Option<PathBuf>,

    /// Data folder, created if absent [default: .ir-serve in the folder of papers, for `bundled`
    /// bundled.ir-serve]
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,

    /// IP address and port to listen on; port 0 chooses a free port
    #[arg(long, default_value = "127.0.0.1:7860", value_name = "ADDRESS", value_parser = ip_and_port, help_heading = NETWORK)]
    listen: SocketAddr,

    /// Host name of the server besides localhost and IP addresses, for pages; may be repeated
    #[arg(long, value_name = "NAME", help_heading = NETWORK)]
    host: Vec<String>,

    /// A proxy speaks TLS: pages need a sign-in on the loopback too, and cookies are sent over
    /// HTTPS only
    #[arg(long, help_heading = NETWORK)]
    behind_tls: bool,

    /// Path below which a proxy serves the pages and REST, such as /ir: requests have it, and
    /// links, redirects and cookies get it. Other paths have status 404 [default: none]
    #[arg(long, value_name = "PATH", help_heading = NETWORK, conflicts_with = "check")]
    base_path: Option<BasePath>,

    /// Trust the header X-Forwarded-Prefix of a proxy that removes a path from requests: links,
    /// redirects and cookies get the path
    #[arg(long, help_heading = NETWORK, conflicts_with_all = ["base_path", "check"])]
    forwarded_prefix: bool,

    /// Beyond the loopback, serve /metrics without a key
    #[arg(long, help_heading = NETWORK)]
    public_metrics: bool,

    #[command(flatten)]
    answers: AnswerOptions,

    /// Time limit of --rerank per question, in ms. Questions that exceed it are answered in the
    /// order before reranking, with a warning [default: 1000]
    #[cfg(feature = "dense")]
    #[arg(long, value_name = "MS", value_parser = positive, requires = "rerank", help_heading = LIMITS)]
    rerank_timeout: Option<usize>,

    #[command(flatten)]
    questions: QuestionOptions,

    #[command(flatten)]
    generation: GenerationOptions,

    /// Retriever at /v1/collections/NAME/search; may be repeated. An index of `ir index` is
    /// searched with BM25, or with a system file of `ir search --save` as INDEX#FILE.toml; its
    /// postings are verified when they are first read: searches of a damaged index get status 500.
    /// FILE.toml#SYSTEM is a system of an experiment file, such as vectors, a hybrid or a
    /// reranking, on the documents of its first task
    #[arg(long, value_name = "NAME=INDEX", value_parser = named_index)]
    collection: Vec<(String, String)>,

    /// Check the data folder for damage, and end: exit status 1 if there is some or it is in use
    #[arg(long, conflicts_with_all = ["new_keys", "listen"])]
    #[cfg_attr(feature = "dense", arg(conflicts_with_all = ["model", "precision", "encode_context", "alpha", "length_exponent"]))]
    check: bool,

    /// Replace all keys and print the new keys
    #[arg(long)]
    new_keys: bool,

    /// Rate limit per key in requests/s, for REST and signed-in pages. Excess requests get status
    /// 429. --max-requests limits all requests together [default: unlimited]
    #[arg(long, value_name = "N", help_heading = LIMITS)]
    rate_limit: Option<NonZeroU32>,

    /// Maximum number of concurrent requests, running or queued. Excess requests get status 429
    #[arg(long, default_value_t = 256, value_parser = positive, value_name = "N", help_heading = LIMITS)]
    max_requests: usize,

    /// Maximum size of an upload or a deletion in MiB. Other requests have at most 1 MiB, forms 256
    /// or 512 KiB
    #[arg(long, default_value_t = 64, value_parser = positive, value_name = "MIB", help_heading = LIMITS)]
    max_size: usize,

    /// Maximum number of queries in the query log. The oldest queries are deleted first, with their
    /// opened answers
    #[arg(long, default_value_t = 1_000_000, value_parser = positive, value_name = "N", help_heading = LIMITS)]
    log_queries: usize,

    /// Format of the log on standard error. Requests have method, route, status and time in ms
    #[arg(long, default_value = "text", value_name = "FORMAT")]
    log: LogFormat,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum LogFormat {
    /// Lines for people
    Text,
    /// JSON objects, one per line: timestamp, level, fields with message; warnings and errors of
    /// the command, too
    Json,
}

fn ip_and_port(text: &str) -> Result<SocketAddr, String> {
    text.parse()
        .map_err(|_| "expected IP:PORT such as 127.0.0.1:7860".to_owned())
}

fn named_index(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, index)) if !name.is_empty() && !index.is_empty() => {
            Ok((name.to_owned(), index.to_owned()))
        }
        _ => Err(format!("expected NAME=INDEX, found {text:?}")),
    }
}

pub(crate) fn run(args: &Args, console: &Console) -> Result<()> {
    stop_on_interrupt();
    let answers = args.answers.config()?;
    start_log(args.log, console);
    if args.public_metrics && args.listen.ip().is_loopback() && !args.behind_tls {
        bail_usage!("--public-metrics: without effect on {}", args.listen);
    }
    let data = data_folder(args)?;
    if args.check {
        return check(&data, console);
    }
    let service = Arc::new(Service::open(config(args, answers, &data, console)?)?);
    let server = Server::bind(Arc::clone(&service), args.listen)?
        .with_hosts(args.host.clone())
        .with_tls_proxy(args.behind_tls)
        .with_base_path(args.base_path.clone())
        .with_forwarded_prefix(args.forwarded_prefix)
        .with_public_metrics(args.public_metrics);
    let keys = keys(args, &service)?;
    let address = server.address();
    let base = args.base_path.as_ref().map_or("", BasePath::as_str);
    // The server answers while papers are read.
    let failed_to_read = Arc::new(AtomicBool::new(false));
    let is_ended = Arc::clone(&failed_to_read);
    let stopping = Arc::clone(&service);
    let is_stopped = move || {
        let is_stopped = is_ended.load(Ordering::Relaxed) || check_stopped().is_err();
        if is_stopped {
            stopping.cancel_reading();
        }
        is_stopped
    };
    let serving = std::thread::spawn(move || server.run(is_stopped));
    let mut out = OutputSink::open(None)?;
    let mut print = || -> std::io::Result<()> {
        writeln!(out, "http://{address}{base}/")?;
        for (role, key) in &keys {
            writeln!(out, "{} key: {key}", role.name())?;
        }
        out.flush()
    };
    print().with_context(|| failed("standard output"))?;
    let read = match &args.papers {
        Some(papers) => read_papers(papers, &service, console),
        None => Ok(()),
    };
    match &read {
        Ok(()) => console.log(format_args!("serving {} until Ctrl-C", data.display())),
        Err(_) => failed_to_read.store(true, Ordering::Relaxed),
    }
    let served = serving.join();
    // A signal ends the command in order at any time.
    if let Err(error) = read
        && !error.is::<Interrupted>()
    {
        return Err(error);
    }
    match served {
        Ok(result) => Ok(result?),
        Err(_) => bail!("the server ended"),
    }
}

/// Checks the store of a data folder.
fn check(data: &Path, console: &Console) -> Result<()> {
    if !data.join("store.sqlite").is_file() {
        let path = data.display().to_string();
        return Err(StoreError::NoStore { path }.into());
    }
    let store = match Store::open(data) {
        Err(StoreError::InUse { .. }) => bail!(
            "{}: not checked: in use by another server; stop the server first",
            data.display()
        ),
        store => store?,
    };
    let checked = match store.check(&mut console.bar()) {
        Err(StoreError::Canceled) => return Err(Interrupted.into()),
        checked => checked?,
    };
    let without_checksum = match checked.vectors_without_checksum {
        0 => String::new(),
        count => format!(" ({} without a checksum)", grouped(count)),
    };
    print(format_args!(
        "{}: intact; {} records of documents, {} vectors{without_checksum}",
        data.display(),
        grouped(checked.records),
        grouped(checked.vectors)
    ))
}

/// Log of the server on standard error; errors only with `--quiet`.
fn start_log(format: LogFormat, console: &Console) {
    let level = if console.is_quiet() {
        tracing::Level::ERROR
    } else {
        tracing::Level::INFO
    };
    let log = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false);
    match format {
        LogFormat::Text => log.init(),
        LogFormat::Json => {
            log.json().init();
            console::print_to_log();
        }
    }
}

fn data_folder(args: &Args) -> Result<PathBuf> {
    match (&args.data, &args.papers) {
        (Some(data), _) => Ok(data.clone()),
        (None, Some(papers)) if is_bundled(papers) => Ok("bundled.ir-serve".into()),
        (None, Some(papers)) if papers.is_dir() => Ok(papers.join(".ir-serve")),
        (None, Some(papers)) if papers.exists() => {
            bail_usage!(
                "--data: required for papers of one file, such as {}",
                papers.display()
            )
        }
        (None, Some(papers)) => bail!("{}: not found", papers.display()),
        (None, None) => bail_usage!("expected papers or --data"),
    }
}

fn config(
    args: &Args,
    answers: AnswerConfig,
    data: &Path,
    console: &Console,
) -> Result<ServiceConfig> {
    let mut config = ServiceConfig {
        limits: Limits {
            concurrency: args.max_requests,
            rate: args.rate_limit,
            body_bytes: args.max_size.saturating_mul(1 << 20),
            ..Limits::default()
        },
        log_queries: args.log_queries,
        answers,
        headings: args.answers.headings,
        ..ServiceConfig::new(data)
    };
    let language = args.answers.language.unwrap_or_default();
    language.check_questions(&args.questions)?;
    config.frames = language.scientific_frames();
    config.collections = collections::open_all(&args.collection, console)?;
    if let Some(generator) = args.questions.generator()? {
        let file = args
            .questions
            .is_endpoint()
            .then(|| data.join(QUESTION_FILE));
        config.questions = Some(ServiceQuestions { generator, file });
    }
    if let Some(papers) = &args.papers
        && !is_bundled(papers)
    {
        config = config.with_papers(papers, document_reader()?);
    }
    if let Some(generator) = args.generation.generator()? {
        config.generator = Some(ServiceGenerator::new(generator));
    }
    #[cfg(feature = "dense")]
    if let Some((open, answers)) = args.answers.reranker(None)? {
        let mut reranker = ServiceReranker::new(Arc::clone(&open.reranker));
        reranker.long_texts = Arc::new(move || open.long_documents());
        reranker.answers = answers;
        if let Some(time) = args.rerank_timeout {
            reranker.time = Duration::from_millis(u64::try_from(time)?);
        }
        config.reranker = Some(reranker);
    }
    #[cfg(feature = "dense")]
    if let Some(encoder) = args.answers.encoder()? {
        use ir_core::Side;

        let fingerprints = [Side::Document, Side::Query].map(|side| encoder.fingerprint(side));
        let name = serde_json::to_string(&fingerprints)?;
        config = config.with_encoder(name, Arc::new(encoder));
    }
    Ok(config)
}

/// Creates keys for a new data folder, or replaces all keys if `--new-keys` is given.
fn keys(args: &Args, service: &Service) -> Result<Vec<(KeyRole, String)>> {
    if args.new_keys {
        service.delete_keys()?;
    }
    if service.has_keys() {
        return Ok(Vec::new());
    }
    [KeyRole::Admin, KeyRole::Query]
        .into_iter()
        .map(|role| Ok((role, service.create_key(role)?)))
        .collect()
}

/// Adds the papers, publishes them if that changes what queries see, and waits for the published
/// state. Errors of the store and publications that do not finish are warnings.
fn read_papers(papers: &Path, service: &Service, console: &Console) -> Result<()> {
    let added = add_papers(papers, service, console);
    let advice = "read the folder on the page /files or over REST to try again";
    if warn_of_store("papers not read", added, advice, console)? == Some(true) {
        let published = publish_changes(service, console);
        warn_of_store("not published", published, PUBLISH_AGAIN, console)?;
    }
    let state = wait_for(service, || {
        // A job that waits or runs may replace a state that cannot be loaded.
        let is_idle = service.unfinished_jobs() == 0;
        match service.published() {
            Err(ServiceError::Loading { error: Some(error) }) if is_idle => Some(Err(error)),
            state => state.ok().map(Ok),
        }
    })?;
    let state = match state {
        Ok(state) => state,
        Err(error) => bail!("the published documents cannot be loaded: {error}"),
    };
    console.log(format_args!(
        "{} answers of {} documents",
        grouped(state.index().frames().len() as u64),
        grouped(state.documents().len() as u64)
    ));
    match state.waiting_for_vectors() {
        0 => {}
        waiting => console.log(format_args!(
            "{} answers wait for their vectors, which are encoded while they are served",
            grouped(waiting as u64)
        )),
    }
    Ok(())
}

/// Returns the value of a result, or `None` after a warning about an error of the store, such as a
/// full disk: what was published before is served. [`Service::damage`] ends the server.
fn warn_of_store<T>(
    what: &str,
    result: Result<T>,
    advice: &str,
    console: &Console,
) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error)
            if error.is::<StoreError>()
                || matches!(error.downcast_ref(), Some(ServiceError::Store(_))) =>
        {
            console.warn(format_args!("{what}: {error:#}; {SERVED}; {advice}"));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Adds the papers. Returns `true` if a publication would change what queries see.
fn add_papers(papers: &Path, service: &Service, console: &Console) -> Result<bool> {
    if is_bundled(papers) {
        let records = ir_qa::bundled_papers()?.iter().map(record_of).collect();
        service.add(records)?;
        Ok(service.store().has_changes()?)
    } else {
        let reader = document_reader()?;
        let mut bar = console.bar();
        let mut progress = |stage: &str, done: u64, total: Option<u64>| {
            let flow = bar.report(stage, done, total);
            match service.damage() {
                None => flow,
                // The server ends with the error.
                Some(_) => Flow::Stop,
            }
        };
        // An admin may have started a reading since the server answers.
        let read = wait_for(service, || {
            match service.read_folder(papers, &reader, &mut progress) {
                Err(ServiceError::ReadingFolder) => None,
                read => Some(read),
            }
        })?;
        bar.finish();
        match read {
            Ok(FolderRead {
                report,
                has_changes,
                ..
            }) => {
                warn(&report, " (the page /files lists them)", console);
                if report.read() + report.unchanged() == 0 {
                    console.warn(format_args!(
                        "{}: expected papers, found none",
                        papers.display()
                    ));
                }
                Ok(has_changes)
            }
            // The published documents are served.
            Err(error @ ServiceError::NoReadableFiles { .. }) => {
                console.warn(error);
                Ok(false)
            }
            Err(ServiceError::Document(DocumentError::Canceled)) => Err(Interrupted.into()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Waits for the end of a publication, with a progress bar.
fn wait_for_job(service: &Service, id: &str, console: &Console) -> Result<Job> {
    let mut bar = console.bar();
    let ended = wait_for(service, || match service.job(id) {
        Ok(Some(job)) if !job.status.is_end() => {
            bar.report(&job.stage, job.done, Some(job.total));
            None
        }
        job => Some(job),
    });
    bar.finish();
    ended??.context("the publication is unknown")
}

/// Publishes, and waits for the end. A publication that was aborted or failed is a warning.
fn publish_changes(service: &Service, console: &Console) -> Result<()> {
    // Publications that a crash interrupted run again. Another one would hide from
    // `Service::is_given_up` that they end the process.
    if service.unfinished_jobs() > 0 {
        for job in service.store().jobs(1)? {
            wait_for_job(service, &job.id, console)?;
        }
        if !service.store().has_changes()? {
            return Ok(());
        }
    }
    if service.is_given_up()? {
        console.warn(format_args!(
            "not published: the last publication of these papers ended the process several times, \
             such as for lack of memory; {PUBLISH_AGAIN}"
        ));
        return Ok(());
    }
    let start = Instant::now();
    let id = service.publish()?.id;
    let job = wait_for_job(service, &id, console)?;
    if job.status != JobStatus::Finished {
        let status = job.status.name();
        let error = job
            .error
            .map_or(String::new(), |error| format!(": {error}"));
        console.warn(format_args!(
            "publication {status}{error}; {SERVED}; {PUBLISH_AGAIN}"
        ));
        return Ok(());
    }
    console.log(format_args!(
        "published in {:.1} s",
        start.elapsed().as_secs_f64()
    ));
    Ok(())
}

/// Waits until `ready` returns a value. Damage of the store, which ends the server, is an
/// interrupt.
fn wait_for<T>(service: &Service, mut ready: impl FnMut() -> Option<T>) -> Result<T> {
    loop {
        check_stopped()?;
        if service.damage().is_some() {
            return Err(Interrupted.into());
        }
        match ready() {
            Some(value) => return Ok(value),
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}
