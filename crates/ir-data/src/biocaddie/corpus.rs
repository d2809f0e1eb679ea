//! The documents of the collection.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};

use ir_core::{Corpus, CorpusError, DocReader, Document};
use serde::de::IgnoredAny;

use super::xml::{after_prolog, after_start_tag};
use super::{Record, TextRule};
use crate::compression::open;
use crate::duplicates::DuplicateFinder;
use crate::error::{DataError, Location, name_of, read_error};
use crate::lines::{LineReader, read_all};
use crate::text_encoding::TextEncoding;

/// Documents of bioCADDIE records: a folder with one `.xml` or `.json` file per record, as in
/// `update_xml_folder` and `update_json_folder`, a file with one JSON record per line, or a file
/// with one record.
///
/// Files may be compressed (`.gz`, `.zst`). Records of a folder are in byte order of the file
/// names. A folder with both forms, or without records, is an error.
///
/// ```no_run
/// use ir_core::Corpus;
/// use ir_data::biocaddie::{BioCaddieCorpus, TextRule};
/// let corpus = BioCaddieCorpus::new("update_json_folder").with_text(TextRule::WholeRecord);
/// for document in corpus.docs()? {
///     println!("{}", document?.id);
/// }
/// # Ok::<(), ir_core::CorpusError>(())
/// ```
#[derive(Debug, Clone)]
pub struct BioCaddieCorpus {
    path: PathBuf,
    rule: TextRule,
    encoding: Option<TextEncoding>,
}

impl BioCaddieCorpus {
    /// Creates a corpus of the records in a folder or a file.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            rule: TextRule::default(),
            encoding: None,
        }
    }

    /// Names of the records in a folder with topics and judgments. The first that exists is read.
    pub const NAMES: [&str; 5] = [
        "records.jsonl",
        "records.jsonl.gz",
        "records.jsonl.zst",
        "update_json_folder",
        "update_xml_folder",
    ];

    /// Corpus of the records in a folder with topics and judgments, by [`BioCaddieCorpus::NAMES`];
    /// [`None`] if there are none.
    #[must_use]
    pub fn find(folder: &Path) -> Option<Self> {
        let mut paths = Self::NAMES.iter().map(|name| folder.join(name));
        paths.find(|path| path.exists()).map(Self::new)
    }

    /// Corpus of the records at a path, recognized by content. [`None`] for other files and
    /// folders. Records are in
    ///
    /// - a file,
    /// - a folder: its first `.xml` or `.json` file is a record,
    /// - a file or folder of [`BioCaddieCorpus::NAMES`] in a folder.
    ///
    /// A record in the XML form is a DOC with REPOSITORY and METADATA, after declaration, comments
    /// and DOCTYPE. TEXT makes it a TREC document instead. A record in the JSON form contains two
    /// of DOCNO, METADATA and REPOSITORY.
    ///
    /// # Errors
    /// The file or folder cannot be read.
    pub fn detect(path: &Path) -> Result<Option<Self>, DataError> {
        if !path.is_dir() {
            return Ok(record_form(path)?.map(|_| Self::new(path)));
        }
        if let Some((name, _)) = named_records(path)?.first() {
            // Another file, which cannot be read, does not keep a folder of notes from being read.
            let form = record_form(&path.join(name)).unwrap_or_default();
            return Ok(form.map(|_| Self::new(path)));
        }
        // By the content: `records.jsonl` is a usual name.
        match Self::find(path) {
            Some(found) if found.path.is_dir() || record_form(&found.path)?.is_some() => {
                Ok(Some(found))
            }
            _ => Ok(None),
        }
    }

    /// Form of the records; [`None`] if the file has none.
    ///
    /// # Errors
    /// The folder or the file cannot be read, or a folder has no records, or both forms.
    pub fn form(&self) -> Result<Option<RecordForm>, DataError> {
        if self.path.is_dir() {
            return Ok(Some(records_of(&self.path)?.0));
        }
        record_form(&self.path)
    }

    /// File or folder of the records.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Files of the records, in the order in which they are read.
    ///
    /// # Errors
    /// A folder cannot be read, has no records, or has both forms.
    pub fn files(&self) -> Result<Vec<PathBuf>, DataError> {
        if self.path.is_dir() {
            return Ok(records_of(&self.path)?.1.into());
        }
        Ok(vec![self.path.clone()])
    }

    /// Sets the character encoding of records in the XML form, whatever they declare. Default: that
    /// of the XML declaration, or UTF-8. Records in the JSON form are UTF-8.
    #[must_use]
    pub fn with_encoding(mut self, encoding: TextEncoding) -> Self {
        self.encoding = Some(encoding);
        self
    }

    /// Sets the text of the documents. Default: [`TextRule::Paths`].
    #[must_use]
    pub fn with_text(mut self, rule: TextRule) -> Self {
        self.rule = rule;
        self
    }
}

/// Form of the files with records, XML or JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordForm {
    /// DOC with the JSON text of METADATA, as in `update_xml_folder`.
    Xml,
    /// JSON object, as in `update_json_folder`.
    Json,
}

/// Number of bytes by which a record is recognized.
const HEAD: u64 = 1 << 20;

/// Form of the record at the start of a file; [`None`] for other content. Files without a size,
/// such as `/proc/kmsg`, are not read: reading may not end. Damaged data are an error of the reader
/// that follows.
fn record_form(path: &Path) -> Result<Option<RecordForm>, DataError> {
    let size = fs::metadata(path).map_err(read_error(path))?.len();
    let mut head = Vec::new();
    if size > 0 {
        let _ = open(path)?.take(HEAD).read_to_end(&mut head);
    }
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&head);
    // Names and markup are ASCII in every encoding that records have.
    let head = String::from_utf8_lossy(head.trim_ascii_start());
    if head.starts_with('{') {
        let line = head.lines().next().unwrap_or_default();
        let members: Option<BTreeMap<String, IgnoredAny>> = serde_json::from_str(line)
            .or_else(|_| serde_json::from_str(&head))
            .ok();
        let has = |name: &str| match &members {
            Some(members) => members.contains_key(name),
            // A longer record.
            None => head.contains(&format!("\"{name}\"")),
        };
        // Without DOCNO, the error of the reader names it.
        let fields = ["DOCNO", "METADATA", "REPOSITORY"].map(has);
        let is_record = fields.into_iter().filter(|has| *has).count() >= 2 && !has("_id");
        return Ok(is_record.then_some(RecordForm::Json));
    }
    let has = |text: &str| head.contains(text);
    let is_doc = after_prolog(&head).is_ok_and(|rest| after_start_tag(rest).is_some());
    let is_record = is_doc && has("<REPOSITORY>") && has("<METADATA") && !has("<TEXT>");
    Ok(is_record.then_some(RecordForm::Xml))
}

impl BioCaddieCorpus {
    /// Form of the only record of a file: XML, or JSON in a file without `.jsonl` in its name and
    /// with a first line that is not a complete object. `None` for other files.
    fn single_record(&self) -> Result<Option<RecordForm>, DataError> {
        let form = record_form(&self.path)?;
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        if form != Some(RecordForm::Json) || name.contains(".jsonl") {
            return Ok(form.filter(|form| *form == RecordForm::Xml));
        }
        let source = name_of(&self.path);
        let mut lines = LineReader::new(open(&self.path)?, &source);
        while let Some(line) = lines.read()? {
            if !line.text.trim().is_empty() {
                let starts = line.text.trim().starts_with('{') && !line.text.trim().ends_with('}');
                return Ok(starts.then_some(RecordForm::Json));
            }
        }
        Ok(None)
    }
}

impl Corpus for BioCaddieCorpus {
    fn open(&self) -> Result<Box<dyn DocReader + '_>, CorpusError> {
        let source = name_of(&self.path);
        let records = if self.path.is_dir() {
            Some(records_of(&self.path)?)
        } else {
            let form = self.single_record()?;
            form.map(|form| (form, [self.path.clone()].into()))
        };
        if let Some((form, files)) = records {
            return Ok(Box::new(FolderReader {
                form,
                files,
                rule: self.rule,
                encoding: self.encoding,
                ids: DuplicateFinder::default(),
            }));
        }
        let lines = LineReader::new(open(&self.path)?, &source);
        Ok(Box::new(JsonLinesReader {
            lines,
            source,
            rule: self.rule,
            ids: DuplicateFinder::default(),
        }))
    }
}

/// Corpus of a folder without records. Opening a reader is an error.
pub(super) struct MissingRecords {
    /// Folder of the topics.
    pub(super) folder: PathBuf,
    /// Name of the collection.
    pub(super) collection: String,
}

impl Corpus for MissingRecords {
    fn open(&self) -> Result<Box<dyn DocReader + '_>, CorpusError> {
        Err(DataError::MissingDocuments {
            path: name_of(&self.folder),
            collection: self.collection.clone(),
            expected: &BioCaddieCorpus::NAMES,
        }
        .into())
    }
}

/// Names and forms of the `.xml` and `.json` files of a folder, in byte order.
fn named_records(folder: &Path) -> Result<Vec<(String, RecordForm)>, DataError> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(read_error(folder))? {
        let path = entry.map_err(read_error(folder))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let plain = name
            .strip_suffix(".gz")
            .or_else(|| name.strip_suffix(".zst"));
        let plain = plain.unwrap_or(&name);
        let form = match plain.rsplit_once('.') {
            Some((_, "xml")) => RecordForm::Xml,
            Some((_, "json")) => RecordForm::Json,
            _ => continue,
        };
        files.push((name.into_owned(), form));
    }
    files.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    Ok(files)
}

/// The files of a folder with records, in byte order of their names.
fn records_of(folder: &Path) -> Result<(RecordForm, VecDeque<PathBuf>), DataError> {
    let files = named_records(folder)?;
    let Some((_, form)) = files.first().cloned() else {
        return Err(DataError::Empty {
            path: name_of(folder),
            expected: "records (.xml or .json files)",
        });
    };
    if let Some((other, _)) = files.iter().find(|(_, other)| *other != form) {
        let path = name_of(folder);
        let expected = match form {
            RecordForm::Xml => "XML records only",
            RecordForm::Json => "JSON records only",
        };
        return Err(Location::new(&path, 1).syntax(expected, other));
    }
    let files = files.into_iter().map(|(name, _)| folder.join(name));
    Ok((form, files.collect()))
}

struct FolderReader {
    form: RecordForm,
    files: VecDeque<PathBuf>,
    rule: TextRule,
    encoding: Option<TextEncoding>,
    ids: DuplicateFinder,
}

impl DocReader for FolderReader {
    fn read(&mut self, doc: &mut Document) -> Result<bool, CorpusError> {
        let Some(path) = self.files.pop_front() else {
            return Ok(false);
        };
        let source = name_of(&path);
        let reader = open(&path)?;
        let record = match self.form {
            RecordForm::Xml => Record::read_encoded_xml(reader, &source, self.encoding)?,
            RecordForm::Json => Record::from_json(&read_all(reader, &source)?, &source, 1)?,
        };
        if self.ids.add(&[&record.id], 1).is_some() {
            let at = Location::new(&source, 1);
            return Err(at
                .syntax("a DOCNO that no other file has", &record.id)
                .into());
        }
        *doc = record.into_document(self.rule);
        Ok(true)
    }
}

struct JsonLinesReader<R> {
    lines: LineReader<R>,
    source: String,
    rule: TextRule,
    ids: DuplicateFinder,
}

impl<R: BufRead + Send> DocReader for JsonLinesReader<R> {
    fn read(&mut self, doc: &mut Document) -> Result<bool, CorpusError> {
        while let Some(line) = self.lines.read()? {
            if line.text.trim().is_empty() {
                continue;
            }
            let record = Record::from_json(line.text, &self.source, line.number)?;
            self.ids
                .add_id(&record.id, Location::new(&self.source, line.number))?;
            *doc = record.into_document(self.rule);
            return Ok(true);
        }
        Ok(false)
    }
}
