use ir_fetch::chat::{ChatClient, ChatError, EndpointConfig, EndpointError};

use super::{QuestionError, QuestionGenerator};
use crate::frame::{ChunkKind, Frame};

/// Prompt for the questions of a frame: an instruction, the context and the answer sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct QuestionPrompt {
    /// Instruction; `{n}` stands for the maximum number of questions.
    pub instruction: String,
    /// Maximum number of questions of a frame; further lines are left out. Range: ≥ 1. Default: 3.
    pub max_questions: usize,
}

impl Default for QuestionPrompt {
    fn default() -> Self {
        Self {
            instruction: INSTRUCTION.to_owned(),
            max_questions: 3,
        }
    }
}

const INSTRUCTION: &str = "\
Write at most {n} questions that a reader could ask and that the sentence answers. Use the passage \
only to understand the sentence. A question must be understandable without the passage, and must \
not contain its answer. Write one question per line, and nothing else. If the sentence answers no \
question, write NONE.";

/// Maximum length of a question in characters.
const MAX_LENGTH: usize = 300;

impl QuestionPrompt {
    /// Renders the prompt for a frame.
    #[must_use]
    pub fn render(&self, answer: &str, context: &str) -> String {
        let count = self.max_questions.to_string();
        let instruction = self.instruction.replace("{n}", &count);
        format!("{instruction}\n\nPassage: {context}\n\nSentence: {answer}\n\nQuestions:")
    }

    /// Questions of a completion: lines that end with a question mark, without bullets, numbers and
    /// quotes.
    #[must_use]
    pub fn parse(&self, completion: &str) -> Vec<String> {
        let mut questions: Vec<String> = Vec::new();
        for line in completion.lines() {
            let line = line.trim().trim_start_matches(['-', '*', '•']).trim_start();
            let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
            let rest = number.strip_prefix(['.', ')']);
            let line = rest.filter(|_| number.len() < line.len()).unwrap_or(line);
            let line = line.trim().trim_matches(['"', '“', '”', '*']).trim();
            let is_question = line.ends_with('?')
                && line.chars().count() <= MAX_LENGTH
                && line.chars().any(char::is_alphanumeric);
            if is_question && !questions.iter().any(|known| known == line) {
                questions.push(line.to_owned());
            }
        }
        questions.truncate(self.max_questions);
        questions
    }
}

/// Question generator that asks a language model, one request per frame. Titles and headings have
/// no questions.
///
/// Statuses 400, 413 and 422 are [`QuestionError::Rejected`]; other statuses, no response, and a
/// response without a chat completion are [`QuestionError::Generator`]. Use a
/// [`QuestionFile`](super::QuestionFile) to ask only once.
#[derive(Debug)]
pub struct EndpointQuestions {
    client: ChatClient,
    prompt: QuestionPrompt,
}

impl EndpointQuestions {
    /// Creates a generator with a key, which is sent as a bearer token to the host of the URL only.
    ///
    /// # Errors
    /// A parameter is invalid.
    pub fn new(config: EndpointConfig, key: Option<&str>) -> Result<Self, EndpointError> {
        Ok(Self {
            client: ChatClient::new(config, key)?,
            prompt: QuestionPrompt::default(),
        })
    }

    /// Creates a generator with the key in an environment variable.
    ///
    /// # Errors
    /// The variable is not set, or a parameter is invalid.
    pub fn from_env(config: EndpointConfig, variable: &str) -> Result<Self, EndpointError> {
        Ok(Self {
            client: ChatClient::from_env(config, variable)?,
            prompt: QuestionPrompt::default(),
        })
    }

    /// Sets the prompt. Default: [`QuestionPrompt::default`].
    #[must_use]
    pub fn with_prompt(mut self, prompt: QuestionPrompt) -> Self {
        self.prompt = prompt;
        self
    }

    fn questions(&self, frame: &Frame) -> Result<Vec<String>, QuestionError> {
        if frame.kind != ChunkKind::Content {
            return Ok(Vec::new());
        }
        let prompt = self.prompt.render(&frame.answer, &frame.context);
        let id = || frame.id.clone();
        let completion = self.client.complete(&prompt).map_err(|error| match error {
            ChatError::Rejected(source) => QuestionError::Rejected {
                frame: id(),
                source,
            },
            error => QuestionError::Generator {
                frame: id(),
                source: error.into(),
            },
        })?;
        Ok(self.prompt.parse(&completion))
    }
}

impl QuestionGenerator for EndpointQuestions {
    fn generate(&self, frames: &[&Frame]) -> Result<Vec<Vec<String>>, QuestionError> {
        frames.iter().map(|frame| self.questions(frame)).collect()
    }

    fn name(&self) -> String {
        let fingerprint = self.client.fingerprint(&self.prompt.render("", ""));
        let max = self.prompt.max_questions;
        format!("endpoint {fingerprint:016x} max {max}")
    }

    /// One, so that every answer is kept when it arrives.
    fn batch_size(&self) -> usize {
        1
    }
}
