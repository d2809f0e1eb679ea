//! Answers of long jobs, kept in a file so that an interrupted job resumes.

use std::collections::HashMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufReader, Read as _, Seek, SeekFrom, Write};
use std::path::Path;

use ir_core::Fnv1a;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{DataError, Location, name_of, read_error, write_error};
use crate::json::json_error;
use crate::lines::LineReader;

/// Answers by id, one JSON line per answer: the id, `key` (hash of what the answer depends on) and
/// `answer`.
///
/// Every answer is appended when it arrives. An incomplete last line, which a killed process
/// leaves, is removed; a file of another format is left as it is. The file is locked while it is
/// open.
///
/// ```
/// use ir_data::resume::{ResumeFile, answer_key};
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("answers.jsonl");
/// let key = answer_key(&["model 1", "What is tea?"]);
/// let mut file = ResumeFile::<String>::open(&path, "question_id")?;
/// file.append("q1", &key, "A drink.".to_owned())?;
/// drop(file);
/// let file = ResumeFile::<String>::open(&path, "question_id")?;
/// assert_eq!(file.get("q1", &key).map(String::as_str), Some("A drink."));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ResumeFile<A> {
    path: String,
    /// `None`: answers are kept in memory only.
    file: Option<File>,
    id_field: &'static str,
    answers: HashMap<(String, String), A>,
}

#[derive(Deserialize)]
struct Line<A> {
    id: String,
    key: String,
    answer: A,
}

impl<A: Serialize + DeserializeOwned> ResumeFile<A> {
    /// Creates a list of answers without a file.
    #[must_use]
    pub fn in_memory() -> Self {
        Self {
            path: String::new(),
            file: None,
            id_field: "id",
            answers: HashMap::new(),
        }
    }

    /// Opens a file, or creates it. `id_field` is the name of the field with the id.
    ///
    /// # Errors
    /// The file cannot be read or written, another process uses it, or a complete line is not an
    /// answer, or an incomplete one is not the start of an answer.
    pub fn open(path: impl AsRef<Path>, id_field: &'static str) -> Result<Self, DataError> {
        let line_start = line_start(id_field);
        let path = path.as_ref();
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(path).map_err(write_error(path))?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => {
                let used = io::Error::other("the file is in use by another process");
                return Err(write_error(path)(used));
            }
            Err(TryLockError::Error(error)) => return Err(write_error(path)(error)),
            Ok(()) => {}
        }
        let name = name_of(path);
        let end = complete_length(&file).map_err(read_error(path))?;
        file.rewind().map_err(read_error(path))?;
        let mut answers = HashMap::new();
        let mut lines = LineReader::new(BufReader::new((&file).take(end)), &name);
        let mut last = 0;
        while let Some(line) = lines.read()? {
            if line.text.trim_ascii().is_empty() {
                continue;
            }
            let at = Location::new(&name, line.number);
            last = line.number;
            let line = parse_line(line.text, id_field).map_err(|error| json_error(&error, at))?;
            answers.insert((line.id, line.key), line.answer);
        }
        let mut incomplete = Vec::new();
        file.seek(SeekFrom::Start(end))
            .and_then(|_| {
                (&file)
                    .take(line_start.len() as u64)
                    .read_to_end(&mut incomplete)
            })
            .map_err(read_error(path))?;
        if !line_start.starts_with(&incomplete) {
            let found = String::from_utf8_lossy(&incomplete);
            return Err(Location::new(&name, last + 1).syntax("an answer", &found));
        }
        file.set_len(end)
            .and_then(|()| file.seek(SeekFrom::End(0)))
            .map_err(write_error(path))?;
        Ok(Self {
            path: name,
            file: Some(file),
            id_field,
            answers,
        })
    }

    /// The answer of an id with a key.
    #[must_use]
    pub fn get(&self, id: &str, key: &str) -> Option<&A> {
        self.answers.get(&(id.to_owned(), key.to_owned()))
    }

    /// Appends an answer to the file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn append(&mut self, id: &str, key: &str, answer: A) -> Result<(), DataError> {
        if let Some(file) = &mut self.file {
            let failed = write_error(Path::new(&self.path));
            let line = || -> serde_json::Result<String> {
                let (id, key) = (serde_json::to_string(id)?, serde_json::to_string(key)?);
                let answer = serde_json::to_string(&answer)?;
                let field = self.id_field;
                Ok(format!(
                    "{{\"{field}\":{id},\"key\":{key},\"answer\":{answer}}}\n"
                ))
            };
            let line = line().map_err(|error| failed(error.into()))?;
            file.write_all(line.as_bytes()).map_err(failed)?;
        }
        self.answers.insert((id.to_owned(), key.to_owned()), answer);
        Ok(())
    }
}

/// Hash of the texts that an answer depends on.
#[must_use]
pub fn answer_key(texts: &[&str]) -> String {
    let mut hash = Fnv1a::new();
    for text in texts {
        hash.write(text.as_bytes());
        // Separator: 0xFF does not occur in UTF-8.
        hash.write(&[0xFF]);
    }
    format!("{:016x}", hash.finish())
}

/// Reads a line with the id in the field `id_field`.
fn parse_line<A: DeserializeOwned>(text: &str, id_field: &str) -> serde_json::Result<Line<A>> {
    let mut line: Value = serde_json::from_str(text)?;
    if let Some(fields) = line.as_object_mut()
        && let Some(id) = fields.remove(id_field)
    {
        fields.insert("id".to_owned(), id);
    }
    serde_json::from_value(line)
}

/// Start of every line that is written.
fn line_start(id_field: &str) -> Vec<u8> {
    format!("{{\"{id_field}\":\"").into_bytes()
}

/// Length of a file up to its last line end.
fn complete_length(file: &File) -> io::Result<u64> {
    const BLOCK: u64 = 1 << 16;
    let mut end = file.metadata()?.len();
    let mut file = file;
    while end > 0 {
        let start = end.saturating_sub(BLOCK);
        file.seek(SeekFrom::Start(start))?;
        let mut block = vec![0; (end - start) as usize];
        file.read_exact(&mut block)?;
        if let Some(at) = block.iter().rposition(|&byte| byte == b'\n') {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}
