use ir_fetch::chat::{ChatClient, EndpointConfig, EndpointError};

use super::{AnswerGenerator, AnswerPrompt, GeneratedText, GenerationError, Quote};

/// Answer generator that asks a language model behind an endpoint, one request per answer.
///
/// [`EndpointConfig`] sets time limit and attempts. For users who wait, set a short time limit and
/// one attempt.
///
/// ```no_run
/// use ir_fetch::chat::EndpointConfig;
/// use ir_qa::generation::{AnswerGenerator, EndpointAnswers, Quote};
/// let config = EndpointConfig::new("http://localhost:11434/v1/chat/completions", "llama3.2");
/// let model = EndpointAnswers::new(config, None)?;
/// let quotes = [Quote { title: "On tea", answer: "Tea grows in Asia." }];
/// let answer = model.generate("Where does tea grow?", &quotes)?;
/// println!("{}", answer.map_or("no answer".to_owned(), |answer| answer.text));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct EndpointAnswers {
    client: ChatClient,
    model: String,
    prompt: AnswerPrompt,
}

impl EndpointAnswers {
    /// Creates a generator with a key, which is sent as a bearer token to the host of the URL only.
    ///
    /// # Errors
    /// A parameter is invalid.
    pub fn new(config: EndpointConfig, key: Option<&str>) -> Result<Self, EndpointError> {
        Ok(Self {
            model: config.model.clone(),
            client: ChatClient::new(config, key)?,
            prompt: AnswerPrompt::default(),
        })
    }

    /// Creates a generator with the key in an environment variable.
    ///
    /// # Errors
    /// The variable is not set, or a parameter is invalid.
    pub fn from_env(config: EndpointConfig, variable: &str) -> Result<Self, EndpointError> {
        Ok(Self {
            model: config.model.clone(),
            client: ChatClient::from_env(config, variable)?,
            prompt: AnswerPrompt::default(),
        })
    }

    /// Sets the prompt. Default: [`AnswerPrompt::default`].
    #[must_use]
    pub fn with_prompt(mut self, prompt: AnswerPrompt) -> Self {
        self.prompt = prompt;
        self
    }
}

impl AnswerGenerator for EndpointAnswers {
    fn generate(
        &self,
        question: &str,
        quotes: &[Quote<'_>],
    ) -> Result<Option<GeneratedText>, GenerationError> {
        let prompt = self.prompt.render(question, quotes);
        let completion = self.client.complete(&prompt);
        let completion = completion.map_err(|source| GenerationError {
            model: self.model.clone(),
            source: source.into(),
        })?;
        Ok(self.prompt.parse(&completion, quotes.len()))
    }

    fn name(&self) -> &str {
        &self.model
    }
}
