use std::path::Path;

use ir_core::{Flow, Progress};

use ir_data::DataError;
use ir_data::resume::{ResumeFile, answer_key};
use ir_data::s2orc::Paper;

use super::answer::QueryAnswer;
use super::writer::{QueryWriter, QueryWriterError};

/// Number of consecutive papers without a usable answer after which
/// [`AnswerFile::write_queries`] fails.
pub const MAX_CONSECUTIVE_FAILURES: usize = 5;

/// Answers of query writers, one JSON line per paper: `paper_id`, `key` (hash of writer, title and
/// abstract) and `answer`.
///
/// Every answer is appended when it arrives, so that an interrupted job resumes: answers in the
/// file are not written again. An incomplete last line, which a killed process leaves, is removed;
/// a file of another format is left as it is. The file is locked while it is open.
#[derive(Debug)]
pub struct AnswerFile {
    answers: ResumeFile<QueryAnswer>,
}

/// Answers for papers, in their order.
#[derive(Debug, Default)]
#[must_use]
pub struct WrittenQueries {
    /// Answer for each paper; `None` if there is no usable one.
    pub answers: Vec<Option<QueryAnswer>>,
    /// Number of papers for which the writer was called; the others were in the file.
    pub written: usize,
    /// Errors of the papers without an answer, in order. The writer is called for these papers
    /// again when the job is started again.
    pub unusable: Vec<QueryWriterError>,
}

impl AnswerFile {
    /// Creates a list of answers without a file.
    #[must_use]
    pub fn in_memory() -> Self {
        Self {
            answers: ResumeFile::in_memory(),
        }
    }

    /// Opens a file, or creates it.
    ///
    /// # Errors
    /// The file cannot be read or written, another process uses it, or a line is not an answer.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, DataError> {
        let answers = ResumeFile::open(path, "paper_id")?;
        Ok(Self { answers })
    }

    /// Returns the answers for papers and calls the writer for those that are missing. Reports the
    /// stage "writing queries" in papers.
    ///
    /// # Errors
    /// The writer fails, has no usable answer for [`MAX_CONSECUTIVE_FAILURES`] papers in a row, the
    /// file cannot be written, or `progress` cancels. Answers so far are in the file.
    pub fn write_queries(
        &mut self,
        papers: &[&Paper],
        writer: &mut dyn QueryWriter,
        progress: &mut dyn Progress,
    ) -> Result<WrittenQueries, QueryWriterError> {
        let name = writer.name();
        let total = Some(papers.len() as u64);
        let mut queries = WrittenQueries::default();
        let mut consecutive = 0;
        for (done, paper) in (0..).zip(papers) {
            if progress.report("writing queries", done, total) == Flow::Stop {
                return Err(DataError::Canceled.into());
            }
            let key = answer_key(&[&name, &paper.keys.title, &paper.abstract_text]);
            if let Some(answer) = self.answers.get(&paper.id, &key) {
                queries.answers.push(Some(answer.clone()));
                continue;
            }
            queries.written += 1;
            match writer.write(paper) {
                Ok(answer) => {
                    consecutive = 0;
                    self.answers.append(&paper.id, &key, answer.clone())?;
                    queries.answers.push(Some(answer));
                }
                Err(error) if error.is_of_paper() => {
                    consecutive += 1;
                    if consecutive >= MAX_CONSECUTIVE_FAILURES {
                        return Err(error);
                    }
                    queries.answers.push(None);
                    queries.unusable.push(error);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(queries)
    }
}

#[cfg(test)]
mod tests {
    use ir_core::NoProgress;

    use super::super::answer::AnswerError;
    use super::*;

    /// Start of every line that is written.
    const LINE_START: &[u8] = b"{\"paper_id\":\"";

    /// Writes the abstract as the summary. Rejects the abstract "bad", and fails for "stop".
    struct Echo {
        name: &'static str,
        asked: Vec<String>,
    }

    impl QueryWriter for Echo {
        fn write(&mut self, paper: &Paper) -> Result<QueryAnswer, QueryWriterError> {
            self.asked.push(paper.id.clone());
            let paper_id = paper.id.clone();
            match paper.abstract_text.as_str() {
                "bad" => Err(QueryWriterError::Answer {
                    paper: paper_id,
                    source: AnswerError::Empty,
                }),
                "stop" => Err(QueryWriterError::Writer {
                    paper: paper_id,
                    source: "down".into(),
                }),
                text => Ok(QueryAnswer {
                    summary: text.to_owned(),
                    ..QueryAnswer::default()
                }),
            }
        }

        fn name(&self) -> String {
            self.name.to_owned()
        }
    }

    fn echo(name: &'static str) -> Echo {
        let asked = Vec::new();
        Echo { name, asked }
    }

    fn papers(texts: &[&str]) -> Vec<Paper> {
        let paper = |(n, text): (usize, &&str)| Paper {
            id: format!("p{n}"),
            abstract_text: (*text).to_owned(),
            ..Paper::default()
        };
        texts.iter().enumerate().map(paper).collect()
    }

    fn summaries(queries: &WrittenQueries) -> Vec<Option<&str>> {
        let answers = queries.answers.iter().map(Option::as_ref);
        answers.map(|it| it.map(|it| it.summary.as_str())).collect()
    }

    #[test]
    fn resumes_and_asks_again_for_changed_papers() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("answers.jsonl");
        let all = papers(&["a", "bad", "b", "stop", "c"]);
        let all: Vec<&Paper> = all.iter().collect();
        let mut writer = echo("one");
        let mut file = AnswerFile::open(&path).unwrap();
        // Another process cannot use the file.
        let error = AnswerFile::open(&path).unwrap_err();
        assert!(matches!(error, DataError::Write { .. }));
        let error = file.write_queries(&all, &mut writer, &mut NoProgress);
        assert!(matches!(error, Err(QueryWriterError::Writer { paper, .. }) if paper == "p3"));
        drop(file);
        assert_eq!(writer.asked, ["p0", "p1", "p2", "p3"]);

        // A killed process: an incomplete last line.
        let mut bytes = std::fs::read(&path).unwrap();
        assert_eq!(bytes.iter().filter(|&&it| it == b'\n').count(), 2);
        let complete = bytes.len();
        bytes.extend_from_slice(b"{\"paper_id\":\"p4\",\"key");
        std::fs::write(&path, &bytes).unwrap();
        let changed = papers(&["a", "bad", "B", "d"]);
        let changed: Vec<&Paper> = changed.iter().collect();
        let mut writer = echo("one");
        let mut file = AnswerFile::open(&path).unwrap();
        let queries = file
            .write_queries(&changed, &mut writer, &mut NoProgress)
            .unwrap();
        assert_eq!(writer.asked, ["p1", "p2", "p3"]);
        assert_eq!(summaries(&queries), [Some("a"), None, Some("B"), Some("d")]);
        assert_eq!((queries.written, queries.unusable.len()), (3, 1));
        drop(file);
        let after = std::fs::read(&path).unwrap();
        assert_eq!(after[..complete], bytes[..complete]);
        assert_eq!(after.iter().filter(|&&it| it == b'\n').count(), 4);

        // Answers of another writer are not used.
        let mut writer = echo("two");
        let mut file = AnswerFile::open(&path).unwrap();
        let queries = file
            .write_queries(&changed[..1], &mut writer, &mut NoProgress)
            .unwrap();
        assert_eq!(queries.written, 1);
    }

    #[test]
    fn many_unusable_answers_are_an_error() {
        let all = papers(&[
            "bad", "bad", "bad", "bad", "a", "bad", "bad", "bad", "bad", "bad", "b",
        ]);
        let all: Vec<&Paper> = all.iter().collect();
        let mut writer = echo("one");
        let mut file = AnswerFile::in_memory();
        let error = file
            .write_queries(&all, &mut writer, &mut NoProgress)
            .unwrap_err();
        assert!(error.to_string().contains("\"p9\""), "{error}");
        assert_eq!(writer.asked.len(), 10);
        let queries = file
            .write_queries(&all[..5], &mut writer, &mut NoProgress)
            .unwrap();
        assert_eq!((queries.written, queries.unusable.len()), (4, 4));
    }

    #[test]
    fn canceled_and_damaged() {
        let mut stop = |_: &str, _: u64, _: Option<u64>| Flow::Stop;
        let all = papers(&["a"]);
        let error = AnswerFile::in_memory().write_queries(&[&all[0]], &mut echo("x"), &mut stop);
        assert!(matches!(
            error,
            Err(QueryWriterError::File(DataError::Canceled))
        ));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("answers.jsonl");
        std::fs::write(&path, "\n{\"paper_id\": 3}\n").unwrap();
        let error = AnswerFile::open(&path).unwrap_err().to_string();
        assert!(error.contains("answers.jsonl:2: expected JSON"), "{error}");
        // An incomplete line longer than a block, and starts of one.
        let long = [LINE_START, &vec![b'x'; 200_000]].concat();
        for incomplete in [&long[..], b"", b"{", LINE_START] {
            std::fs::write(&path, incomplete).unwrap();
            AnswerFile::open(&path).unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), b"");
        }
        // Another file is not truncated.
        for other in [vec![b'x'; 200_000], b"{\"a\": 1}".to_vec(), b"\n3".to_vec()] {
            std::fs::write(&path, &other).unwrap();
            let error = AnswerFile::open(&path).unwrap_err().to_string();
            assert!(error.contains("expected an answer, found"), "{error}");
            assert_eq!(std::fs::read(&path).unwrap(), other);
        }
        let mixed = b"{\"a\": 1}\n{\"paper_id\":\"x";
        std::fs::write(&path, mixed).unwrap();
        AnswerFile::open(&path).unwrap_err();
        assert_eq!(std::fs::read(&path).unwrap(), mixed);
    }
}
