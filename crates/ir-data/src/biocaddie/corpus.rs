//! The documents of the collection.

use std::collections::VecDeque;
use std::fs;
use std::io::BufRead;
use std::path::{Path, PathBuf};

use ir_core::{Corpus, CorpusError, DocReader, Document};

use super::{Record, TextRule};
use crate::compression::open;
use crate::duplicates::DuplicateFinder;
use crate::error::{DataError, Location, name_of, read_error};
use crate::lines::{LineReader, read_all};

/// Documents of bioCADDIE records: a folder with one `.xml` or `.json` file per record, as in
/// `update_xml_folder` and `update_json_folder`, or a file with one JSON record per line.
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
}

impl BioCaddieCorpus {
    /// Creates a corpus of the records in a folder or a file.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            rule: TextRule::default(),
        }
    }

    /// Names of the records in a folder with topics and judgments, the first of which exists is read.
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
        match self.path.is_dir() {
            true => Ok(records_of(&self.path)?.1.into()),
            false => Ok(vec![self.path.clone()]),
        }
    }

    /// Sets the text of the documents. Default: [`TextRule::Paths`].
    #[must_use]
    pub fn with_text(mut self, rule: TextRule) -> Self {
        self.rule = rule;
        self
    }
}

/// Form of the records in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RecordForm {
    Xml,
    Json,
}

impl Corpus for BioCaddieCorpus {
    fn open(&self) -> Result<Box<dyn DocReader + '_>, CorpusError> {
        let source = name_of(&self.path);
        if self.path.is_dir() {
            let (form, files) = records_of(&self.path)?;
            return Ok(Box::new(FolderReader {
                form,
                files,
                rule: self.rule,
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

/// Corpus of a folder without records, whose readers are an error.
pub(crate) struct MissingRecords {
    /// Folder of the topics.
    pub(crate) folder: PathBuf,
    /// Name of the collection.
    pub(crate) collection: String,
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

/// The files of a folder with records, in byte order of their names.
fn records_of(folder: &Path) -> Result<(RecordForm, VecDeque<PathBuf>), DataError> {
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
            RecordForm::Xml => Record::read_xml(reader, &source)?,
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
