//! Files with questions, answer spans and paragraphs as test collections.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use ir_core::{Corpus, CorpusError, DocReader, Document, Qrels, Query};

use super::Squad;
use super::builder::ConvertedQuestions;
use super::ms_marco::read_ms_marco_qa;
use super::natural_questions::read_natural_questions;
use super::trivia_qa::read_trivia_qa;
use crate::collection::{JudgedQueries, check_split};
use crate::compression::open;
use crate::error::{DataError, name_of, read_error};
use crate::lines::read_all;

/// Format of a file with questions, answers and the texts that answer them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum QuestionFormat {
    /// SQuAD 1.1, a JSON file.
    Squad,
    /// Natural Questions, simplified JSON lines.
    NaturalQuestions,
    /// MS MARCO QA, version 1.1 or 2.1.
    MsMarcoQa,
    /// TriviaQA, reading comprehension: the questions; the evidence is in another folder.
    TriviaQa,
}

/// Number of bytes by which the format is detected.
const HEAD: u64 = 1 << 20;

impl QuestionFormat {
    /// Returns the name of the dataset.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Squad => "SQuAD",
            Self::NaturalQuestions => "Natural Questions",
            Self::MsMarcoQa => "MS MARCO QA",
            Self::TriviaQa => "TriviaQA",
        }
    }

    /// Detects the format by the names of fields in the first megabyte. [`None`] for other files.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn detect(path: impl AsRef<Path>) -> Result<Option<Self>, DataError> {
        let path = path.as_ref();
        let mut head = Vec::new();
        let read = open(path)?.take(HEAD).read_to_end(&mut head);
        read.map_err(read_error(path))?;
        let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&head);
        Ok(Self::of_start(&String::from_utf8_lossy(head)))
    }

    fn of_start(head: &str) -> Option<Self> {
        let has = |names: &[&str]| {
            let mut names = names.iter().map(|name| format!("\"{name}\""));
            names.all(|name| head.contains(&name))
        };
        if !head.trim_start().starts_with('{') {
            return None;
        }
        let start = head.chars().filter(|c| !c.is_whitespace()).take(12);
        if has(&["paragraphs", "context", "qas"]) {
            Some(Self::Squad)
        } else if has(&["Data", "QuestionId", "EntityPages"])
            || has(&["Data", "QuestionId", "SearchResults"])
        {
            Some(Self::TriviaQa)
        } else if has(&["document_text", "question_text"]) || has(&["document_html", "annotations"])
        {
            Some(Self::NaturalQuestions)
        } else if has(&["passages", "is_selected", "passage_text"])
            || start.eq("{\"answers\":{".chars())
        {
            Some(Self::MsMarcoQa)
        } else {
            None
        }
    }
}

/// File with questions as a test collection with the split `dev`: paragraphs are the documents.
/// Every call reads the file again.
#[derive(Debug, Clone)]
pub struct SquadFile {
    path: PathBuf,
    format: QuestionFormat,
}

impl SquadFile {
    /// Creates a collection from a SQuAD 1.1 file, possibly compressed.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self::with_format(path, QuestionFormat::Squad)
    }

    /// Creates a collection from a file in a format, possibly compressed. The evidence of TriviaQA
    /// is the folder `evidence` beside the folder of the file, as in its archive
    /// (`qa/wikipedia-dev.json`, `evidence/wikipedia`), or beside the file.
    pub fn with_format(path: impl Into<PathBuf>, format: QuestionFormat) -> Self {
        let path = path.into();
        Self { path, format }
    }

    /// Creates a collection from a file, by its content. [`None`] for other files.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn detect(path: &Path) -> Result<Option<Self>, DataError> {
        let format = QuestionFormat::detect(path)?;
        Ok(format.map(|format| Self::with_format(path, format)))
    }

    /// Format of the file.
    #[must_use]
    pub const fn format(&self) -> QuestionFormat {
        self.format
    }

    /// Reads the file.
    ///
    /// # Errors
    /// The file cannot be read or does not have this structure, a question id is not unique, or an
    /// answer does not occur at its offset.
    pub fn read(&self) -> Result<Squad, DataError> {
        Ok(self.read_converted()?.squad)
    }

    /// Reads the file, and counts the questions that are left out.
    ///
    /// # Errors
    /// Returns the errors of [`SquadFile::read`].
    pub fn read_converted(&self) -> Result<ConvertedQuestions, DataError> {
        let (reader, name) = (open(&self.path)?, name_of(&self.path));
        match self.format {
            QuestionFormat::Squad => Ok(ConvertedQuestions {
                squad: Squad::read(reader, &name)?,
                unanswered: 0,
            }),
            QuestionFormat::NaturalQuestions => read_natural_questions(reader, &name),
            QuestionFormat::MsMarcoQa => read_ms_marco_qa(reader, &name),
            QuestionFormat::TriviaQa => {
                let folder = self.evidence();
                read_trivia_qa(reader, &name, |page| {
                    let path = folder.join(page);
                    read_all(open(&path)?, &name_of(&path))
                })
            }
        }
    }

    /// Folder of the evidence of TriviaQA.
    fn evidence(&self) -> PathBuf {
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let beside = folder.join("evidence");
        if fs::exists(&beside).unwrap_or_default() {
            return beside;
        }
        folder.join("..").join("evidence")
    }
}

impl Corpus for SquadFile {
    fn open(&self) -> Result<Box<dyn DocReader + '_>, CorpusError> {
        Ok(Box::new(InMemoryReader(
            self.read()?.documents().into_iter(),
        )))
    }
}

pub(super) struct InMemoryReader(pub(super) std::vec::IntoIter<Document>);

impl DocReader for InMemoryReader {
    fn read(&mut self, doc: &mut Document) -> Result<bool, CorpusError> {
        let Some(next) = self.0.next() else {
            return Ok(false);
        };
        *doc = next;
        Ok(true)
    }
}

impl JudgedQueries for SquadFile {
    fn source(&self) -> String {
        name_of(&self.path)
    }

    fn splits(&self) -> Vec<String> {
        vec!["dev".to_owned()]
    }

    fn all_queries(&self) -> Result<Vec<Query>, DataError> {
        Ok(self.read()?.queries())
    }

    fn qrels(&self, split: &str) -> Result<Qrels, DataError> {
        check_split(self, split)?;
        Ok(self.read()?.qrels())
    }
}
