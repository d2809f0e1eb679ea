//! Client of a language model behind an endpoint with the chat completions of OpenAI's API.

use std::env;
use std::error::Error;
use std::str::FromStr;
use std::time::Duration;

use ir_core::{Fnv1a, NoProgress, excerpt};
use serde::Deserialize;
use serde_json::json;

use crate::client::HttpClient;
use crate::error::RequestError;

/// Language model behind an endpoint with the chat completions of OpenAI's API.
#[derive(Debug, Clone, PartialEq)]
pub struct EndpointConfig {
    /// Base URL, such as `http://127.0.0.1:8080/v1`, or URL with a path that ends in
    /// `/chat/completions`.
    /// A query string is sent with every request: `https://HOST/v1?api-version=2024-10-21`. Errors
    /// contain the URL, so it must have no key.
    pub url: String,
    /// Name of the model.
    pub model: String,
    /// Maximum number of tokens of an answer. Default: 250, as in DataFinder.
    pub max_tokens: u32,
    /// Sampling temperature; 0 selects the most probable token. Range: ≥ 0. Default: 0.
    pub temperature: f64,
    /// Nucleus sampling: cumulative probability of the tokens sampled from. Range: 0..=1. Default:
    /// none, the endpoint's default. DataFinder samples with 0.8.
    pub top_p: Option<f64>,
    /// Random seed of the endpoint. Default: none.
    pub seed: Option<u64>,
    /// Time limit of one request. Default: 2 minutes.
    pub timeout: Duration,
    /// Number of attempts for statuses 408, 429 and 5xx, and without a response. Range: ≥ 1.
    /// Default: 5.
    pub attempts: u32,
    /// Backoff after the first attempt; it doubles after each further one. `Retry-After` precedes
    /// it. Default: 1 second.
    pub backoff: Duration,
    /// Header of the key. Default: [`KeyHeader::Authorization`].
    pub key_header: KeyHeader,
}

/// Header of a request that has the key of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KeyHeader {
    /// `Authorization: Bearer KEY`, as in OpenAI's API.
    #[default]
    Authorization,
    /// `api-key: KEY`, as in Azure. Redirects are not followed, so that no other host gets the key.
    ApiKey,
}

impl KeyHeader {
    const ALL: [(&str, Self); 2] = [
        ("authorization", Self::Authorization),
        ("api-key", Self::ApiKey),
    ];
}

impl FromStr for KeyHeader {
    type Err = EndpointError;

    /// Parses the name of the header, in any case.
    fn from_str(name: &str) -> Result<Self, EndpointError> {
        let mut all = Self::ALL.iter();
        match all.find(|(known, _)| known.eq_ignore_ascii_case(name.trim())) {
            Some((_, header)) => Ok(*header),
            None => Err(EndpointError::KeyHeader {
                found: name.to_owned(),
            }),
        }
    }
}

impl EndpointConfig {
    /// Creates a configuration with the defaults of the other fields.
    pub fn new(url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            model: model.into(),
            max_tokens: 250,
            temperature: 0.0,
            top_p: None,
            seed: None,
            timeout: Duration::from_secs(120),
            attempts: 5,
            backoff: Duration::from_secs(1),
            key_header: KeyHeader::default(),
        }
    }
}

/// Client of an endpoint, which sends one prompt at a time.
#[derive(Debug)]
pub struct ChatClient {
    config: EndpointConfig,
    url: String,
    client: HttpClient,
}

/// Error of a prompt.
#[derive(Debug, thiserror::Error)]
pub enum ChatError {
    /// The endpoint rejects the prompt with status 400, 413 or 422, such as one that is too long.
    /// It may accept others.
    #[error(transparent)]
    Rejected(Box<dyn Error + Send + Sync>),
    /// Another status, no response, or a response without a chat completion.
    #[error(transparent)]
    Endpoint(Box<dyn Error + Send + Sync>),
}

/// Error creating an [`ChatClient`].
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum EndpointError {
    /// The URL is not one of HTTP.
    #[error("URL of the endpoint: expected http:// or https:// and a host, found {url:?}")]
    Url { url: String },
    /// The name of the model is blank.
    #[error("model: expected a name, found none")]
    Model,
    /// A parameter is outside its range.
    #[error("{parameter}: expected {expected}, found {found}")]
    Parameter {
        parameter: &'static str,
        expected: &'static str,
        found: f64,
    },
    /// The environment variable with the key is not set, or not text.
    #[error("expected the key of the endpoint in the environment variable {variable}, found none")]
    Key { variable: String },
    /// The key has characters that a header cannot have.
    #[error("expected a key of visible ASCII characters, found others")]
    InvalidKey,
    /// No such header of the key.
    #[error("header of the key: expected authorization or api-key, found {found:?}")]
    KeyHeader { found: String },
}

/// Response of the endpoint that is not a chat completion.
#[derive(Debug, thiserror::Error)]
#[error("{url}: expected a chat completion, found {found:?}")]
struct InvalidResponse {
    url: String,
    found: String,
}

#[derive(Deserialize)]
struct ChatCompletion {
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    message: Message,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    content: Option<String>,
}

impl ChatClient {
    /// Creates a client with a key, which is sent to the host of the URL only, in the header
    /// [`EndpointConfig::key_header`].
    ///
    /// # Errors
    /// A parameter is invalid.
    pub fn new(config: EndpointConfig, key: Option<&str>) -> Result<Self, EndpointError> {
        let Some(url) = chat_completions_url(&config.url) else {
            return Err(EndpointError::Url { url: config.url });
        };
        if config.model.trim().is_empty() {
            return Err(EndpointError::Model);
        }
        let outside = |parameter, expected, found| EndpointError::Parameter {
            parameter,
            expected,
            found,
        };
        if !(config.temperature >= 0.0 && config.temperature.is_finite()) {
            let expected = "a finite number >= 0";
            return Err(outside("temperature", expected, config.temperature));
        }
        if let Some(found) = config.top_p.filter(|it| !(0.0..=1.0).contains(it)) {
            return Err(outside("top_p", "a number in 0..=1", found));
        }
        let mut client = HttpClient::new()
            .with_attempts(config.attempts, config.backoff)
            .with_timeout(config.timeout);
        if let Some(key) = key {
            if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
                return Err(EndpointError::InvalidKey);
            }
            client = match config.key_header {
                KeyHeader::Authorization => client.with_bearer_token(key),
                KeyHeader::ApiKey => client.with_api_key(key),
            };
        }
        Ok(Self {
            config,
            url,
            client,
        })
    }

    /// Creates a client with the key in an environment variable.
    ///
    /// # Errors
    /// The variable is not set, or a parameter is invalid.
    pub fn from_env(config: EndpointConfig, variable: &str) -> Result<Self, EndpointError> {
        let key = env::var(variable).ok().filter(|key| !key.trim().is_empty());
        let key = key.ok_or_else(|| EndpointError::Key {
            variable: variable.to_owned(),
        })?;
        Self::new(config, Some(key.trim()))
    }

    /// Returns the completion of a prompt; empty if there is none.
    ///
    /// # Errors
    /// Returns [`ChatError::Rejected`] if the endpoint rejects the prompt, and
    /// [`ChatError::Endpoint`] for another status, no response, or no chat completion.
    pub fn complete(&self, prompt: &str) -> Result<String, ChatError> {
        let body = self.body(prompt);
        let response = self.client.post_json(&self.url, &body, &mut NoProgress);
        let response = response.map_err(|error| match error {
            RequestError::Status {
                status: 400 | 413 | 422,
                ..
            } => ChatError::Rejected(error.into()),
            _ => ChatError::Endpoint(error.into()),
        })?;
        let completion: ChatCompletion = serde_json::from_slice(&response).map_err(|_| {
            let found = excerpt(String::from_utf8_lossy(&response).trim());
            let url = self.url.clone();
            ChatError::Endpoint(Box::new(InvalidResponse { url, found }))
        })?;
        let choice = completion.choices.into_iter().next();
        let content = choice.and_then(|choice| choice.message.content);
        Ok(content.unwrap_or_default())
    }

    /// Hash of a prompt with everything else that its completion depends on. The URL is left out:
    /// the server may move.
    #[must_use]
    pub fn fingerprint(&self, prompt: &str) -> u64 {
        Fnv1a::hash(self.body(prompt).as_bytes())
    }

    fn body(&self, prompt: &str) -> String {
        let config = &self.config;
        let mut body = json!({
            "model": config.model,
            "messages": [{"role": "user", "content": prompt}],
            "max_tokens": config.max_tokens,
            "temperature": config.temperature,
        });
        if let Some(top_p) = config.top_p {
            body["top_p"] = json!(top_p);
        }
        if let Some(seed) = config.seed {
            body["seed"] = json!(seed);
        }
        body.to_string()
    }
}

/// URL of the requests; `None` if the URL is not one of HTTP. The query string stays behind the
/// path; a fragment is not sent.
fn chat_completions_url(url: &str) -> Option<String> {
    const PATH: &str = "/chat/completions";
    let url = url.trim();
    let (url, _fragment) = url.split_once('#').unwrap_or((url, ""));
    let (base, query) = match url.find('?') {
        Some(start) => url.split_at(start),
        None => (url, ""),
    };
    let base = base.trim_end_matches('/');
    let rest = (base.strip_prefix("http://")).or_else(|| base.strip_prefix("https://"))?;
    if rest.is_empty() {
        return None;
    }
    let path = if rest.ends_with(PATH) { "" } else { PATH };
    Some(format!("{base}{path}{query}"))
}
