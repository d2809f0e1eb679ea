use std::path::Path;

use ir_core::{Flow, Progress};
use ir_data::DataError;
use ir_data::resume::{ResumeFile, answer_key};

use super::{QuestionError, QuestionGenerator};
use crate::frame::{Frame, FrameQuestion};

/// Number of consecutive rejected calls after which generation fails.
pub const MAX_CONSECUTIVE_FAILURES: usize = 5;

/// Generated questions, one JSON line per frame: `frame_id`, `key` (hash of generator, answer and
/// context) and `answer` (the questions).
///
/// Questions are appended when they arrive, so that an interrupted job resumes: those in the file
/// are not generated again. An incomplete last line, which a killed process leaves, is removed; a
/// file of another format is left as it is. The file is locked while it is open.
#[derive(Debug)]
pub struct QuestionFile {
    questions: ResumeFile<Vec<String>>,
}

/// Result of adding questions to frames.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct AddedQuestions {
    /// Number of questions added.
    pub questions: u64,
    /// Number of frames that were passed to the generator; the others were in the file.
    pub generated: u64,
    /// Errors of rejected frames. They are generated again when the job is started again.
    pub rejected: Vec<QuestionError>,
}

impl QuestionFile {
    /// Opens a file, or creates it.
    ///
    /// # Errors
    /// The file cannot be read or written, another process uses it, or it has another format.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, DataError> {
        let questions = ResumeFile::open(path, "frame_id")?;
        Ok(Self { questions })
    }

    /// Adds the questions of the file to frames, and generates those that are missing; see
    /// [`add_questions`](super::add_questions).
    ///
    /// # Errors
    /// The generator fails, rejects [`MAX_CONSECUTIVE_FAILURES`] calls in a row, the file cannot be
    /// written, or `progress` cancels. Questions so far are in the file.
    pub fn add_questions(
        &mut self,
        frames: &mut [Frame],
        generator: &dyn QuestionGenerator,
        progress: &mut dyn Progress,
    ) -> Result<AddedQuestions, QuestionError> {
        add(frames, generator, Some(&mut self.questions), progress)
    }
}

impl QuestionFile {
    /// Adds the questions that the file has of a generator to frames, and generates none. Returns
    /// the number of questions.
    pub fn add_known_questions(
        &self,
        frames: &mut [Frame],
        generator: &dyn QuestionGenerator,
    ) -> u64 {
        let name = generator.name();
        let mut added = 0;
        for frame in frames {
            let key = answer_key(&[&name, &frame.answer, &frame.context]);
            if let Some(questions) = self.questions.get(&frame.id, &key) {
                added += push(frame, questions);
            }
        }
        added
    }
}

/// Adds questions of a file, if there is one, and generated ones.
pub(super) fn add(
    frames: &mut [Frame],
    generator: &dyn QuestionGenerator,
    mut file: Option<&mut ResumeFile<Vec<String>>>,
    progress: &mut dyn Progress,
) -> Result<AddedQuestions, QuestionError> {
    let name = generator.name();
    let total = Some(frames.len() as u64);
    let size = generator.batch_size().max(1);
    let mut added = AddedQuestions::default();
    let mut consecutive = 0;
    for (done, batch) in (0..).step_by(size).zip(frames.chunks_mut(size)) {
        if progress.report("generating questions", done, total) == Flow::Stop {
            return Err(QuestionError::Canceled);
        }
        let mut missing: Vec<(&mut Frame, String)> = Vec::new();
        for frame in batch {
            let key = answer_key(&[&name, &frame.answer, &frame.context]);
            let known = file.as_ref().and_then(|file| file.get(&frame.id, &key));
            match known {
                Some(questions) => added.questions += push(frame, questions),
                None => missing.push((frame, key)),
            }
        }
        if missing.is_empty() {
            continue;
        }
        added.generated += missing.len() as u64;
        let frames: Vec<&Frame> = missing.iter().map(|(frame, _)| &**frame).collect();
        let generated = match generator.generate(&frames) {
            Ok(generated) => generated,
            Err(error @ QuestionError::Rejected { .. }) => {
                consecutive += 1;
                if consecutive >= MAX_CONSECUTIVE_FAILURES {
                    return Err(error);
                }
                added.rejected.push(error);
                continue;
            }
            Err(error) => return Err(error),
        };
        consecutive = 0;
        if generated.len() != missing.len() {
            return Err(QuestionError::Count {
                name,
                expected: missing.len(),
                found: generated.len(),
            });
        }
        for ((frame, key), questions) in missing.into_iter().zip(generated) {
            added.questions += push(frame, &questions);
            if let Some(file) = &mut file {
                file.append(&frame.id, &key, questions)?;
            }
        }
    }
    Ok(added)
}

/// Adds the questions that a frame does not have, and returns their number.
fn push(frame: &mut Frame, questions: &[String]) -> u64 {
    let mut count = 0;
    for text in questions {
        let lower = text.to_lowercase();
        let mut known = frame.questions.iter();
        if known.all(|question| question.text.to_lowercase() != lower) {
            frame
                .questions
                .push(FrameQuestion::generated(text.as_str()));
            count += 1;
        }
    }
    count
}
