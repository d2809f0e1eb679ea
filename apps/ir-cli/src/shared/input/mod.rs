//! Command-line arguments that name input: indexes, collections, files, judgments, runs.

pub(crate) mod arguments;
mod document_options;
mod document_source;
mod documents;
mod folder;
mod notes;
mod progress;
mod queries;
mod query_fields;

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use anyhow::{Result, anyhow, bail};
use ir_bm25::SegmentedIndex;
use ir_core::trec;
use ir_core::trec::{HeaderLine, Parsed, TrecReadError};
use ir_core::{Fnv1a, Qrels, Run};
use ir_data::beir::{self, BeirFolder};
use ir_data::biocaddie::BioCaddieTopics;
use ir_data::catalog::{Catalog, entries, known_names};
use ir_data::smart::SmartFolder;
use ir_data::squad::{SquadFile, SquadSentences};
use ir_data::{ColumnarFormat, DataError, JudgedQueries as _, TextEncoding};
use ir_eval::{Evaluator, Report, RunFileError, RunFileOptions};

use crate::shared::console::Console;
use crate::shared::stream::is_stream;
use crate::shared::suggest::did_you_mean;
use progress::ReadingProgress;

pub(crate) use document_options::{DocumentOptions, TextRuleOption};
pub(crate) use document_source::{DocumentOrder, DocumentSource};
pub(crate) use documents::{
    CollectionSource, check_not_segment, for_each_document, open_collection, open_documents,
};
#[cfg(feature = "dense")]
pub(crate) use queries::read as read_queries;
pub(crate) use queries::{
    LimitedReader, MAX_QUERY_BYTES, TestQueries, of_collection as collection_queries,
    read_any as read_queries_of,
};
pub(crate) use query_fields::QueryFields;
#[cfg(feature = "dense")]
pub(crate) use query_fields::with_field;

/// FNV-1a fingerprint of texts, equal on every platform and in every release.
pub(crate) fn fingerprint(texts: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let mut hash = Fnv1a::new();
    for text in texts {
        hash.write(text.as_ref().as_bytes());
        // Separator: 0xFF does not occur in UTF-8.
        hash.write(&[0xFF]);
    }
    format!("{:016x}", hash.finish())
}

/// Prints the warnings of a parser and returns the parsed data.
pub(crate) fn with_warnings<T>(parsed: Parsed<T>, console: &Console) -> T {
    for warning in &parsed.warnings {
        console.warn(warning);
    }
    parsed.data
}

const STDIN: &str = "standard input";

/// Opens a file, or standard input for `-`, with decompression and progress. Returns the reader and
/// the name for error messages.
pub(crate) fn open(
    argument: impl AsRef<Path>,
    console: &Console,
) -> Result<(Box<dyn io::BufRead + Send>, String)> {
    let argument = argument.as_ref();
    let bar = console.reading_bar();
    if argument == Path::new("-") {
        let input = BufReader::with_capacity(1 << 16, io::stdin());
        let reader = ir_data::decompress(input, STDIN)?;
        let reader = ReadingProgress::new(reader, STDIN, None, bar);
        return Ok((Box::new(reader), STDIN.to_owned()));
    }
    let name = argument.display().to_string();
    let reader = ir_data::open(argument)?;
    let total = if ir_data::is_plain(argument)? {
        argument.metadata().ok().map(|data| data.len())
    } else {
        None
    };
    let reader = ReadingProgress::new(reader, &name, total, bar);
    Ok((Box::new(reader), name))
}

/// Prints that the byte order mark of a file decides in place of `--encoding`.
fn note_byte_order_mark(path: &Path, encoding: TextEncoding, console: &Console) -> Result<()> {
    if encoding != TextEncoding::Utf8
        && path.is_file()
        && let Some(found) = ir_data::byte_order_mark(path)?
    {
        let path = path.display();
        console.log(format_args!(
            "note: {path}: read as {found}, by its byte order mark"
        ));
    }
    Ok(())
}

/// Returns `true` if the catalog lists a collection of this name, or a variant such as
/// `biocaddie/fields`.
pub(crate) fn is_collection(name: &str) -> bool {
    Catalog::from_env().entry(name).is_ok()
}

/// Collection and split of `NAME:SPLIT` or `FOLDER:SPLIT`.
pub(crate) fn split_of_collection(argument: &str) -> Option<(&str, &str)> {
    let (collection, split) = argument.rsplit_once(':')?;
    let exists = is_collection(collection) || Path::new(collection).is_dir();
    (exists && !split.is_empty()).then_some((collection, split))
}

/// Opens judgments in a format that no collection has: a file or `-`.
pub(crate) fn open_judgment_file(
    argument: &str,
    console: &Console,
) -> Result<(Box<dyn io::BufRead + Send>, String)> {
    let name = argument.split_once(':').map_or(argument, |(name, _)| name);
    if is_collection(name) && !Path::new(argument).is_file() {
        bail!(
            "{argument}: expected a file with judgments in the format of -R, found a collection (no collection has such judgments)"
        );
    }
    open(argument, console)
}

/// Rejects the name of a collection in place of a run. `advice` ends the error.
pub(crate) fn check_is_run(argument: &str, advice: &str) -> Result<()> {
    let path = Path::new(argument);
    let name = argument.split_once(':').map_or(argument, |(name, _)| name);
    if !path.is_file() && (is_collection(name) || path.join("qrels").is_dir() || is_smart(path)) {
        bail!("{argument}: expected a run, found a collection{advice}");
    }
    if is_index(path) {
        bail!(
            "{argument}: expected a run, found an index (`ir search` writes runs: --queries FILE -o run.trec)"
        );
    }
    Ok(())
}

/// Returns `true` if a path is a folder in SMART format.
fn is_smart(path: &Path) -> bool {
    path.is_dir() && matches!(SmartFolder::find(path), Ok(Some(_)))
}

/// Returns `true` if a path is a BM25 or vector index: the folder of a segmented index, or a file
/// that starts with magic bytes, which are `ir-`, four letters and a newline.
pub(crate) fn is_index(path: &Path) -> bool {
    if !path.is_file() {
        return SegmentedIndex::exists(path);
    }
    let mut magic = [0; 8];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut magic));
    read.is_ok() && magic.starts_with(b"ir-") && magic.ends_with(b"\n")
}

/// Names the columns of a run if the first line has fewer.
fn with_columns_hint(error: anyhow::Error) -> anyhow::Error {
    let read = match error.downcast_ref() {
        Some(RunFileError::Read(read)) => Some(read),
        _ => error.downcast_ref(),
    };
    match read {
        Some(TrecReadError::Columns {
            line: 1,
            found: 3..=5,
            ..
        }) => anyhow!("{error} (a TREC run has query, Q0, document, rank, score, tag)"),
        _ => error,
    }
}

/// Reads a run from a file or `-` and prints warnings.
pub(crate) fn run(argument: &str, header: HeaderLine, console: &Console) -> Result<Run> {
    check_is_run(argument, "")?;
    let (reader, name) = open(argument, console)?;
    let read = trec::read_run(reader, &name, header);
    let read = read.map_err(|error| with_columns_hint(error.into()))?;
    Ok(with_warnings(read, console))
}

/// Evaluates a run from a file or `-` and prints its warnings. Uncompressed files are streamed.
pub(crate) fn evaluate(
    evaluator: &Evaluator<'_>,
    argument: &str,
    qrels: &str,
    options: RunFileOptions,
    console: &Console,
) -> Result<Report> {
    let read = read_and_evaluate(evaluator, argument, options, console);
    let read = read.map_err(|error| match error.downcast() {
        // Other errors already name the run.
        Ok(error @ RunFileError::Read(_)) => with_columns_hint(error.into()),
        Ok(RunFileError::Eval { error, warnings }) => {
            warnings.iter().for_each(|warning| console.warn(warning));
            anyhow::Error::new(error).context(format!("{argument} with {qrels}"))
        }
        Ok(error) => error.into(),
        Err(error) => error,
    })?;
    Ok(with_warnings(read, console))
}

fn read_and_evaluate(
    evaluator: &Evaluator<'_>,
    argument: &str,
    options: RunFileOptions,
    console: &Console,
) -> Result<Parsed<Report>> {
    check_is_run(argument, "")?;
    let path = Path::new(argument);
    let (reader, name) = open(argument, console)?;
    if argument == "-" || is_stream(path) {
        return Ok(evaluator.evaluate_reader(reader, &name, options.header)?);
    }
    if ir_data::is_plain(path)? {
        return Ok(evaluator.evaluate_file(path, options)?);
    }
    evaluator.evaluate_stream(argument, options.header, || Ok(open(path, console)?.0))
}

/// Argument that names judgments, for hints in errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QrelsArgument {
    /// First argument, with `-R` for the format of the judgments.
    FirstWithFormat,
    First,
    /// Assessor of `ir agree`. Runs are arguments of `--run`.
    Assessor,
    /// Value of an option.
    Option,
}

/// Reads judgments from a file, `-`, or a collection: `NAME`, `NAME:SPLIT`, `FOLDER` or
/// `FOLDER:SPLIT`, and prints warnings. The default split is `test`.
pub(crate) fn qrels(
    file: &str,
    argument: QrelsArgument,
    header: HeaderLine,
    console: &Console,
) -> Result<Qrels> {
    let read = any_qrels(file, header, console);
    let read = read.map_err(|error| match format_hint(&error, file, argument) {
        Some(hint) => anyhow!("{error} ({hint})"),
        None => error,
    });
    Ok(with_warnings(read?, console))
}

/// Guesses the format of a file without the four columns of qrels.
fn format_hint(error: &anyhow::Error, file: &str, argument: QrelsArgument) -> Option<String> {
    let assessed = || {
        format!(
            "judgments of a pool? convert them with ir pool --merge POOL --form plain {file} -o NAME.qrels"
        )
    };
    let columns = match error.downcast_ref()? {
        DataError::Trec(TrecReadError::Columns { found, .. }) => *found,
        DataError::Syntax {
            expected, found, ..
        } if expected.contains("query-id") && !found.starts_with("query-id") => {
            let pooled = assessed();
            return Some(format!(
                "query, document and grade? add the header line; {pooled}"
            ));
        }
        _ => return None,
    };
    Some(match (columns, argument) {
        (2, _) => assessed(),
        (3, _) => format!(
            "query, document and grade? separate them by tabs below the header line `query-id corpus-id score`; {}; or of Cranfield? they have codes -1 and 1 to 4, in a file named cranqrel",
            assessed()
        ),
        (5, QrelsArgument::FirstWithFormat) => {
            "stratified judgments written by `ir pool`? read them with -R strata".to_owned()
        }
        (5, _) => format!(
            "stratified judgments written by `ir pool`? convert them with ir pool --merge {file} --form plain -o NAME.qrels"
        ),
        (6, QrelsArgument::FirstWithFormat | QrelsArgument::First) => {
            "a run? the judgments are the first argument".to_owned()
        }
        (6, QrelsArgument::Assessor) => "a run? runs are given with --run".to_owned(),
        (6, QrelsArgument::Option) => "a run?".to_owned(),
        _ => return None,
    })
}

fn any_qrels(argument: &str, header: HeaderLine, console: &Console) -> Result<Parsed<Qrels>> {
    let read = |file: &Path| {
        if ColumnarFormat::detect(file)?.is_some() {
            return Ok(ir_data::read_qrels_any(file, header)?);
        }
        let (reader, name) = open(file, console)?;
        Ok(ir_data::parse_qrels_any(reader, &name, header)?)
    };
    if argument == "-" {
        return read(Path::new(argument));
    }
    let path = Path::new(argument);
    if is_index(path) {
        bail!("{argument}: expected judgments, found an index");
    }
    let (name, split) = argument.split_once(':').unwrap_or((argument, "test"));
    if Path::new(name).is_file()
        && let Some(questions) = SquadFile::detect(Path::new(name))?
    {
        let sentences = SquadSentences::from(questions).into_collection(name);
        return Ok(without_warnings(sentences.qrels(split)?));
    }
    let known = is_collection(name);
    if !known && let Some((folder, split)) = folder(argument) {
        return qrels_in_folder(folder, split, header, console);
    }
    if known && !path.is_file() {
        return Ok(without_warnings(
            Catalog::from_env().open(name)?.qrels(split)?,
        ));
    }
    if !path.exists() {
        bail!(
            "{argument}: expected a judgment file or a collection ({}), found neither{}",
            names_with_judgments(),
            suggested_collection(name)
        );
    }
    read(path)
}

fn folder(argument: &str) -> Option<(&Path, &str)> {
    let whole = (Path::new(argument), "test");
    let parts = argument.rsplit_once(':');
    let parts = parts.map(|(folder, split)| (Path::new(folder), split));
    [Some(whole), parts]
        .into_iter()
        .flatten()
        .find(|(folder, _)| folder.is_dir())
}

fn qrels_in_folder(
    folder: &Path,
    split: &str,
    header: HeaderLine,
    console: &Console,
) -> Result<Parsed<Qrels>> {
    if let [file] = &beir::qrels_files(folder, split)?[..]
        && ColumnarFormat::detect(file)?.is_none()
    {
        let (reader, name) = open(file, console)?;
        return Ok(ir_data::parse_qrels_any(reader, &name, header)?);
    }
    if let Some(read) = ir_data::read_split_qrels(folder, split, header)? {
        return Ok(read);
    }
    let judged = folder.join("qrels");
    if !judged.is_dir() {
        if let Some(smart) = SmartFolder::find(folder)? {
            return Ok(without_warnings(smart.qrels(split)?));
        }
        folder::warn_of_unread_qrels(folder, console)?;
        bail!(
            "{}: expected a judgment file, a folder in BEIR layout (qrels/{split}.tsv) or in SMART format (*.ALL, *.REL), found another folder",
            folder.display()
        );
    }
    if let Some(topics) = BioCaddieTopics::find(folder) {
        return Ok(without_warnings(topics.qrels(split)?));
    }
    folder::warn_of_unread_qrels(folder, console)?;
    Ok(without_warnings(BeirFolder::open(folder)?.qrels(split)?))
}

fn without_warnings(data: Qrels) -> Parsed<Qrels> {
    Parsed {
        data,
        warnings: Vec::new(),
    }
}

/// End of an error message with the name of the collection or variant that is closest to an
/// unknown name.
pub(crate) fn suggested_collection(name: &str) -> String {
    let known = known_names();
    did_you_mean(name, known.iter().map(String::as_str))
}

fn names_with_judgments() -> String {
    let judged = entries().iter().filter(|entry| !entry.splits.is_empty());
    let names: Vec<&str> = judged.map(|entry| entry.name.as_str()).collect();
    names.join(", ")
}

/// Names of all collections and their variants, such as `biocaddie/fields`.
pub(crate) fn names() -> String {
    known_names().join(", ")
}
