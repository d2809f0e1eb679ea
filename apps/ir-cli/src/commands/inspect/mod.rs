//! `ir inspect`: what a file is taken for, why, and what of it is read.

mod judged;
mod records;
mod tables;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use ir_bm25::CiffReader;
use ir_core::store::{OpenIndexError, Verify};
use ir_core::{Corpus, Skipped};
use ir_data::biocaddie::BioCaddieCorpus;
use ir_data::squad::SquadFile;
use ir_data::{
    ColumnarFormat, DataError, DocumentFile, DocumentFormat, FieldNames, FileKind, QueryFormat,
    RecordKind, SPARSE_VECTORS, SparseVectorReader,
};
use ir_system::saved_vectors::{open_tokens, open_vectors};
use serde_json::{Map, Value, json};

use judged::{of_columnar_run, of_judgments, of_run};
use records::{AttributeTypes, document_json, query_json};

use crate::shared::console::{Console, error_chain};
use crate::shared::format::{counted, grouped, table};
use crate::shared::indexing::skipped_parts;
use crate::shared::input::{
    DocumentOptions, DocumentSource, for_each_document, is_index, open_documents,
};
use crate::shared::options::{ReadingOptions, with_encoding_hint};
use crate::shared::output::print;
use crate::shared::signals::{stop_on_interrupt, stopped};

const EXAMPLES: &str = "\
Examples:
  ir inspect docs.csv                 format, fields, first documents
  ir inspect corpus.jsonl --id-field docno
  ir inspect qrels/test.tsv run.trec  judgments and runs
  ir inspect ~/beir/scifact           a folder
  ir inspect docs.parquet --json | jq .fields

Files are read to the end, so that the count of documents, what is skipped and
the first error are those of `ir index`. An error of one file does not keep the
others from being read; the exit status is then 1. `ir help formats` lists all
formats.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Files or folders of documents, queries, judgments, runs, vectors or indexes
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Number of first records that are printed
    #[arg(short = 'n', long, value_name = "N", default_value_t = 3)]
    records: usize,

    #[command(flatten)]
    pub(crate) text: ReadingOptions,

    /// Print one JSON object per file
    #[arg(long)]
    json: bool,
}

/// What is known of a file.
#[derive(Debug, Default)]
struct Inspection {
    /// Documents, queries, judgments, run, ...
    kind: &'static str,
    format: String,
    /// What of the content shows the format.
    reason: String,
    compression: Option<String>,
    /// Names of fields and what they are read as.
    fields: Vec<(String, String)>,
    /// Counts by what is counted.
    counts: Vec<(&'static str, u64)>,
    /// What is skipped or suspicious.
    notes: Vec<String>,
    /// First records, of at most the requested number.
    first: Vec<Value>,
}

pub(crate) fn run(args: &Args, console: &Console) -> Result<()> {
    stop_on_interrupt();
    let (mut printed, mut failed) = (0, 0);
    for file in &args.files {
        let name = file.display().to_string();
        let found = match inspect(file, &name, args, console) {
            Ok(found) => found,
            Err(error) if args.files.len() == 1 || stopped() => return Err(error),
            Err(error) => {
                let error = with_encoding_hint(error, Some(args.text.encoding));
                console.warn(error_chain(&error));
                failed += 1;
                continue;
            }
        };
        if args.json {
            print(found.json(&name))?;
        } else {
            if printed > 0 {
                print("")?;
            }
            print(found.text(&name))?;
        }
        printed += 1;
    }
    if failed > 0 {
        bail!("{failed} of {} files cannot be read", args.files.len());
    }
    Ok(())
}

fn inspect(file: &Path, name: &str, args: &Args, console: &Console) -> Result<Inspection> {
    if name == "-" {
        bail!("-: expected a file, which is read several times, found standard input");
    }
    let compression = match file.is_file().then(|| ir_data::detect_compression(file)) {
        Some(compression) => compression?.map(|compression| compression.to_string()),
        None => None,
    };
    Ok(Inspection {
        compression,
        ..inspect_content(file, name, args, console)?
    })
}

fn inspect_content(file: &Path, name: &str, args: &Args, console: &Console) -> Result<Inspection> {
    if is_index(file) {
        tables::check_encoding(args.text.encoding, name, "an index")?;
        if let Some(found) = of_tokens(file)? {
            return Ok(found);
        }
        return Ok(Inspection {
            kind: "index",
            format: "index of `ir index` or `ir encode`".to_owned(),
            reason: "the first bytes, or the files of a folder".to_owned(),
            notes: vec![format!(
                "`ir stats {name}` prints its settings and statistics"
            )],
            ..Inspection::default()
        });
    }
    if !file.is_file() {
        let documents = open_documents(name, args.text.read_options(), console)?;
        documents.check_encoding(args.text.encoding)?;
        return of_collection(&documents, args, console);
    }
    if is_ciff(file) {
        tables::check_encoding(args.text.encoding, name, "CIFF")?;
        return of_ciff(file, name);
    }
    let options = DocumentOptions::from(args.text.read_options());
    if options.given_name().is_none()
        && let Some(questions) = SquadFile::detect(file)?
    {
        return of_questions(&questions, name, args, console);
    }
    let kind = FileKind::detect(file)?;
    if let Some(found) = tables::utf8_format(kind, file) {
        tables::check_encoding(args.text.encoding, name, found)?;
    }
    let columns = match kind {
        FileKind::Vectors(_) => Vec::new(),
        _ => tables::columns(file)?,
    };
    let run = tables::fields_of_run(&columns).unwrap_or_default();
    let is_columnar = ColumnarFormat::detect(file)?.is_some();
    let has_rank = columns.iter().any(|it| it.eq_ignore_ascii_case("rank"));
    if is_columnar && has_rank && !run.is_empty() {
        return Ok(of_columnar_run(run));
    }
    match kind {
        FileKind::Documents if matches!(BioCaddieCorpus::detect(file), Ok(Some(_))) => {
            let records = open_documents(name, args.text.read_options(), console)?;
            Ok(Inspection {
                kind: "documents",
                reason: "DOCNO and METADATA in JSON or XML".to_owned(),
                ..of_collection(&records, args, console)?
            })
        }
        FileKind::Documents => match of_documents(file, args, console) {
            Err(error) => of_toml(file, name).ok_or(error),
            found => found,
        },
        FileKind::Queries => of_queries(file, args),
        FileKind::Judgments => match of_judgments(name, args, console) {
            Err(error) if tables::is_fraction(&error) && is_columnar && !run.is_empty() => {
                Ok(of_columnar_run(run))
            }
            Err(error) if tables::is_fraction(&error) && !is_columnar => {
                of_run(name, run, args, console).or(Err(error))
            }
            found => found,
        },
        FileKind::Run => of_run(name, run, args, console),
        FileKind::Vectors(SPARSE_VECTORS) => of_sparse_vectors(file, name),
        FileKind::Vectors(format) => of_vectors(file, format),
        FileKind::Unclear(kinds) => Ok(Inspection {
            kind: "unclear",
            format: "without names of columns".to_owned(),
            reason: "the content fits several formats".to_owned(),
            notes: kinds.iter().map(|kind| format!("may be {kind}")).collect(),
            ..Inspection::default()
        }),
    }
}

/// Returns `true` for names of files in the Common Index File Format, which has no magic number.
fn is_ciff(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let name = name.to_ascii_lowercase();
    let compressed = [".gz", ".zst"].into_iter();
    let plain = compressed.filter_map(|end| name.strip_suffix(end)).next();
    plain.unwrap_or(&name).ends_with(".ciff")
}

fn of_ciff(file: &Path, name: &str) -> Result<Inspection> {
    let reader = CiffReader::new(ir_data::open_bytes(file)?, name)?;
    let header = reader.header();
    let analysis = match header.analysis() {
        Some(analysis) => format!("analyzer {analysis}"),
        None => "no analyzer of `ir export`".to_owned(),
    };
    Ok(Inspection {
        kind: "index",
        format: "CIFF".to_owned(),
        reason: "the name and the header".to_owned(),
        counts: vec![
            ("documents", u64::from(header.documents)),
            ("terms", u64::from(header.posting_lists)),
            ("tokens", header.tokens),
        ],
        notes: vec![
            format!("description {:?}: {analysis}", header.description),
            "option --from-ciff of `ir index` reads and checks the posting lists".to_owned(),
        ],
        ..Inspection::default()
    })
}

fn of_vectors(file: &Path, format: &str) -> Result<Inspection> {
    let vectors = open_vectors("--vectors", file, Verify::AllSections)?;
    Ok(Inspection {
        kind: "vectors",
        format: format.to_owned(),
        reason: "the first bytes, the name, or the types of the columns".to_owned(),
        counts: vec![
            ("vectors", vectors.len() as u64),
            ("dimensions", vectors.dim() as u64),
        ],
        notes: vec!["option --vectors of `ir search` reads vectors".to_owned()],
        ..Inspection::default()
    })
}

fn of_sparse_vectors(file: &Path, name: &str) -> Result<Inspection> {
    let mut reader = SparseVectorReader::new(ir_data::open(file)?, name);
    let (mut vectors, mut weights) = (0, 0);
    while let Some(record) = reader.read()? {
        vectors += 1;
        weights += record.weights.len() as u64;
    }
    Ok(Inspection {
        kind: "vectors",
        format: SPARSE_VECTORS.to_owned(),
        reason: "an id, and the object vector".to_owned(),
        counts: vec![("vectors", vectors), ("weights", weights)],
        notes: vec!["systems of type sparse read sparse vectors".to_owned()],
        ..Inspection::default()
    })
}

/// Token vectors; `None` for another index.
fn of_tokens(file: &Path) -> Result<Option<Inspection>> {
    let store = match open_tokens(file) {
        // `ir stats` reports a lost manifest.
        Err(OpenIndexError::NotAnIndex { .. } | OpenIndexError::MissingManifest { .. }) => {
            return Ok(None);
        }
        store => store?,
    };
    let config = store.config();
    Ok(Some(Inspection {
        kind: "token store",
        format: format!("token vectors of `ir encode`, {}", config.encoding),
        reason: "the first bytes, or the files of a folder".to_owned(),
        counts: vec![
            ("documents", store.len() as u64),
            ("vectors", store.tokens()),
            ("dimensions", config.dim as u64),
        ],
        notes: vec!["option --rerank-tokens of `ir search` reads token vectors".to_owned()],
        ..Inspection::default()
    }))
}

fn of_collection(documents: &DocumentSource, args: &Args, console: &Console) -> Result<Inspection> {
    let collection = &documents.collection;
    let mut found = Inspection {
        kind: "collection",
        format: documents.format.to_owned(),
        reason: "the names and the content of the files in the folder".to_owned(),
        notes: collection.notes().to_vec(),
        ..Inspection::default()
    };
    let has_titles = found.read_documents(collection.corpus(), args.records, console)?;
    found.note_skipped(collection.corpus().skipped());
    if let Some(sample) = &documents.sample {
        let file = DocumentFile::open(sample, &args.text.read_options())?;
        found.name_document_fields(file.format(), has_titles);
    }
    let splits = collection.splits();
    match collection.all_queries() {
        Ok(queries) if queries.is_empty() => {}
        Ok(queries) => found.counts.push(("queries", queries.len() as u64)),
        Err(DataError::Read { path, source }) if source.kind() == ErrorKind::NotFound => {
            // Judgments need queries; documents do not.
            let note = (!splits.is_empty()).then(|| format!("no queries: expected {path}"));
            found.notes.extend(note);
        }
        Err(error) => return Err(error.into()),
    }
    if !splits.is_empty() {
        let splits = splits.join(", ");
        found
            .fields
            .push(("qrels".to_owned(), format!("splits {splits}")));
    }
    Ok(found)
}

/// A file of questions: its sentences, and the paragraphs that they are from.
fn of_questions(
    questions: &SquadFile,
    name: &str,
    args: &Args,
    console: &Console,
) -> Result<Inspection> {
    let documents = open_documents(name, args.text.read_options(), console)?;
    documents.check_encoding(args.text.encoding)?;
    let converted = questions.read_converted()?;
    let mut found = Inspection {
        reason: "names of fields in the first megabyte".to_owned(),
        ..of_collection(&documents, args, console)?
    };
    let paragraphs = converted.squad.documents().len();
    found.counts.push(("paragraphs", paragraphs as u64));
    if converted.unanswered > 0 {
        let count = counted(converted.unanswered, "question");
        found
            .notes
            .push(format!("{count} without an answer in the texts left out"));
    }
    found
        .notes
        .push("documents are the sentences of the paragraphs".to_owned());
    Ok(found)
}

fn of_documents(file: &Path, args: &Args, console: &Console) -> Result<Inspection> {
    let documents = match DocumentFile::open(file, &args.text.read_options()) {
        Ok(documents) => documents,
        Err(error) => {
            let options = DocumentOptions::from(args.text.read_options());
            let error = options.with_advice(error, DocumentOptions::NAMES);
            // Queries have other names of fields.
            return of_queries(file, args).or(Err(error));
        }
    };
    let format = documents.format();
    let mut found = Inspection {
        kind: "documents",
        format: format.name().to_owned(),
        reason: format.reason(),
        ..Inspection::default()
    };
    let has_titles = found.read_documents(&documents, args.records, console)?;
    found.name_document_fields(format, has_titles);
    match format {
        DocumentFormat::Columnar { skipped, .. } => {
            for column in skipped {
                let column = (
                    column.clone(),
                    "not read: binary data, vectors or times of day".to_owned(),
                );
                found.fields.push(column);
            }
        }
        DocumentFormat::Csv { columns, .. } if columns.iter().any(String::is_empty) => {
            found
                .notes
                .push("a column without a name is not read".to_owned());
        }
        DocumentFormat::Trec => {
            let note = tables::skipped_elements(file, args.text.encoding, RecordKind::Document)?;
            found.notes.extend(note);
        }
        _ => {}
    }
    if format.name() == "TSV" && !has_titles {
        let note = "option --queries reads the file as queries, too: id, text";
        found.notes.push(note.to_owned());
    }
    found.note_skipped(documents.skipped());
    Ok(found)
}

fn of_queries(file: &Path, args: &Args) -> Result<Inspection> {
    let (queries, format) = ir_data::read_queries(file, &args.text.read_options())?;
    let mut found = Inspection {
        kind: "queries",
        format: format.name().to_owned(),
        reason: format.reason(),
        counts: vec![("queries", queries.len() as u64)],
        ..Inspection::default()
    };
    let blank = queries.iter().filter(|query| query.text.trim().is_empty());
    found
        .counts
        .extend(Some(("queries without text", blank.count() as u64)).filter(|it| it.1 > 0));
    let mut types = AttributeTypes::default();
    for query in &queries {
        types.add(&query.attributes);
    }
    found.fields.extend(types.rows());
    if format == QueryFormat::Topics {
        let note = tables::skipped_elements(file, args.text.encoding, RecordKind::Query)?;
        found.notes.extend(note);
    }
    let fields = match format {
        QueryFormat::Json { fields, .. } | QueryFormat::Csv { fields, .. } => Some(fields),
        QueryFormat::Columnar(_) => {
            let names = args.text.read_options().names;
            Some(tables::query_fields(file, &names)?)
        }
        _ => None,
    };
    if let Some(fields) = fields {
        // A title is an attribute.
        found.name_fields(&FieldNames {
            title: None,
            ..fields
        });
    }
    found.first = queries.iter().take(args.records).map(query_json).collect();
    Ok(found)
}

/// An experiment or the systems of one; `None` for other files.
fn of_toml(file: &Path, name: &str) -> Option<Inspection> {
    let kind = tables::kind_of_toml(file)?;
    let command = match kind {
        tables::EXPERIMENT => format!("`ir run {name}` runs the experiment"),
        _ => format!("`ir search COLLECTION --system {name}` searches with the system"),
    };
    Some(Inspection {
        kind,
        format: "TOML".to_owned(),
        reason: "tables of [[tasks]] or [[systems]]".to_owned(),
        notes: vec![command],
        ..Inspection::default()
    })
}

impl Inspection {
    /// Counts documents, blank ones and the types of attributes. Returns `true` if a document has
    /// a title.
    fn read_documents(
        &mut self,
        corpus: &dyn Corpus,
        records: usize,
        console: &Console,
    ) -> Result<bool> {
        let mut has_titles = false;
        let mut bar = console.bar();
        let (mut count, mut blank, mut invalid_years) = (0, 0, 0);
        let mut types = AttributeTypes::default();
        for_each_document(corpus, "reading documents", &mut bar, |doc| {
            count += 1;
            has_titles |= !doc.title.is_empty();
            blank += u64::from(doc.title.trim().is_empty() && doc.text.trim().is_empty());
            invalid_years += u64::from(doc.attributes.has_invalid_year());
            types.add(&doc.attributes);
            if self.first.len() < records {
                self.first.push(document_json(doc));
            }
        })?;
        bar.finish();
        self.counts.push(("documents", count));
        if blank > 0 {
            let blank = counted(blank, "document");
            self.notes.push(format!(
                "{blank} without title and text, which `ir index` skips"
            ));
        }
        if invalid_years > 0 {
            let count = counted(invalid_years, "document");
            self.notes.push(format!(
                "{count} with an attribute \"year\" that is neither a year nor a date"
            ));
        }
        self.fields.extend(types.rows());
        Ok(has_titles)
    }

    /// Adds notes about what the reader has skipped.
    fn note_skipped(&mut self, skipped: Skipped) {
        if skipped.joined_rows > 0 {
            let rows = counted(skipped.joined_rows, "row");
            self.notes.push(format!(
                "{rows} with the text of other rows, as after an unpaired `\"`"
            ));
        }
        let parts = skipped_parts(skipped);
        self.notes
            .extend(parts.map(|part| format!("{part} skipped")));
    }

    /// Puts the names of id, text and an existing title before the attributes.
    fn name_document_fields(&mut self, format: &DocumentFormat, has_titles: bool) {
        let Some(fields) = format.fields() else {
            return;
        };
        let has_column = |title: &String| match format {
            DocumentFormat::Csv { columns, .. } | DocumentFormat::Columnar { columns, .. } => {
                columns.contains(title)
            }
            _ => false,
        };
        let title = fields.title.clone();
        self.name_fields(&FieldNames {
            title: title.filter(|title| has_titles || has_column(title)),
            ..fields.clone()
        });
    }

    /// Puts the names of id, title and text before the attributes.
    fn name_fields(&mut self, names: &FieldNames) {
        let mut named = vec![(names.id.clone(), "id".to_owned())];
        if let Some(title) = &names.title {
            named.push((title.clone(), "title".to_owned()));
        }
        named.push((names.text.clone(), "text".to_owned()));
        self.fields.splice(0..0, named);
    }

    fn json(&self, name: &str) -> Value {
        let fields = self
            .fields
            .iter()
            .map(|(name, read)| json!({"name": name, "read_as": read}));
        let counts = self
            .counts
            .iter()
            .map(|(what, count)| ((*what).to_owned(), json!(count)));
        json!({
            "file": name,
            "kind": self.kind,
            "format": self.format,
            "reason": self.reason,
            "compression": self.compression,
            "fields": fields.collect::<Vec<_>>(),
            "counts": counts.collect::<Map<_, _>>(),
            "notes": self.notes,
            "first": self.first,
        })
    }

    fn text(&self, name: &str) -> String {
        let mut rows = vec![
            [
                "taken for".to_owned(),
                format!("{}: {}", self.kind, self.format),
            ],
            ["because".to_owned(), self.reason.clone()],
        ];
        let compression = self.compression.iter();
        rows.extend(compression.map(|it| ["compression".to_owned(), it.clone()]));
        let counts = self.counts.iter();
        rows.extend(counts.map(|(what, count)| [(*what).to_owned(), grouped(*count)]));
        rows.extend(
            self.fields
                .iter()
                .map(|(name, read)| [name.clone(), read.clone()]),
        );
        rows.extend(
            self.notes
                .iter()
                .map(|note| ["note".to_owned(), note.clone()]),
        );
        let mut text = format!("{name}\n{}", table(rows));
        for record in &self.first {
            text.push('\n');
            text.push_str(&record.to_string());
        }
        text
    }
}
