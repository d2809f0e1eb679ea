use ir_data::s2orc::Paper;
use ir_fetch::chat::{ChatClient, ChatError, EndpointConfig, EndpointError};

use super::answer::QueryAnswer;
use super::prompt::QueryPrompt;
use super::writer::{QueryWriter, QueryWriterError};

/// Query writer that asks a language model, one request at a time.
///
/// | result | error |
/// |---|---|
/// | no labeled lines | [`QueryWriterError::Answer`] |
/// | statuses 400, 413 and 422 | [`QueryWriterError::Rejected`] |
/// | other statuses, no response, no chat completion | [`QueryWriterError::Writer`] |
///
/// Use an [`AnswerFile`](super::AnswerFile) to ask only once.
#[derive(Debug)]
pub struct EndpointWriter {
    client: ChatClient,
    prompt: QueryPrompt,
}

impl EndpointWriter {
    /// Creates a writer with the default prompt and a key, which is sent to the host of the URL
    /// only, in the header [`EndpointConfig::key_header`].
    ///
    /// # Errors
    /// A parameter is invalid.
    pub fn new(config: EndpointConfig, key: Option<&str>) -> Result<Self, EndpointError> {
        Ok(Self {
            client: ChatClient::new(config, key)?,
            prompt: QueryPrompt::default(),
        })
    }

    /// Creates a writer with the key in an environment variable.
    ///
    /// # Errors
    /// The variable is not set, or a parameter is invalid.
    pub fn from_env(config: EndpointConfig, variable: &str) -> Result<Self, EndpointError> {
        Ok(Self {
            client: ChatClient::from_env(config, variable)?,
            prompt: QueryPrompt::default(),
        })
    }

    /// Sets the few-shot prompt.
    #[must_use]
    pub fn with_prompt(mut self, prompt: QueryPrompt) -> Self {
        self.prompt = prompt;
        self
    }
}

impl QueryWriter for EndpointWriter {
    fn write(&mut self, paper: &Paper) -> Result<QueryAnswer, QueryWriterError> {
        let id = || paper.id.clone();
        if paper.abstract_text.trim().is_empty() {
            return Err(QueryWriterError::NoAbstract { paper: id() });
        }
        let prompt = self.prompt.render(&paper.abstract_text);
        let completion = self.client.complete(&prompt).map_err(|error| match error {
            ChatError::Rejected(source) => QueryWriterError::Rejected {
                paper: id(),
                source,
            },
            ChatError::Endpoint(source) => QueryWriterError::Writer {
                paper: id(),
                source,
            },
        })?;
        QueryAnswer::parse_completion(&completion).map_err(|source| QueryWriterError::Answer {
            paper: id(),
            source,
        })
    }

    fn name(&self) -> String {
        let fingerprint = self.client.fingerprint(&self.prompt.render(""));
        format!("endpoint {fingerprint:016x}")
    }
}
