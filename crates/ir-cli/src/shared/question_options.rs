//! Options of question generation, of `ir frames` and `ir serve`.

use std::sync::Arc;

use anyhow::Result;
use clap::ValueEnum;
use ir_qa::questions::{QuestionGenerator, RuleQuestions};

use super::console::bail_usage;

/// Question generator with the address of its language model.
#[derive(Debug, clap::Args)]
pub(crate) struct QuestionOptions {
    /// Generate questions that the answers answer. They are never displayed, and become vectors of
    /// their answers with --model
    #[arg(long, value_name = "GENERATOR")]
    pub(crate) questions: Option<GeneratorName>,

    /// URL of an OpenAI-compatible language model for `--questions endpoint`, such as
    /// http://127.0.0.1:8080/v1
    #[arg(long, value_name = "URL")]
    endpoint: Option<String>,

    /// Name of the model of --endpoint
    #[arg(long, value_name = "NAME")]
    endpoint_model: Option<String>,

    /// Environment variable with the key of --endpoint [default: no key]
    #[arg(long, value_name = "VARIABLE")]
    endpoint_key: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GeneratorName {
    /// Templates on the structure of English sentences
    Rules,
    /// A language model, one request per answer (feature `fetch`)
    Endpoint,
}

impl QuestionOptions {
    /// The generator, if one is given.
    pub(crate) fn generator(&self) -> Result<Option<Arc<dyn QuestionGenerator>>> {
        let of_endpoint = [
            ("--endpoint", &self.endpoint),
            ("--endpoint-model", &self.endpoint_model),
            ("--endpoint-key", &self.endpoint_key),
        ];
        if self.questions != Some(GeneratorName::Endpoint)
            && let Some((name, _)) = of_endpoint.iter().find(|(_, value)| value.is_some())
        {
            bail_usage!("{name}: without effect, expected --questions endpoint");
        }
        match self.questions {
            None => Ok(None),
            Some(GeneratorName::Rules) => Ok(Some(Arc::new(RuleQuestions::default()))),
            Some(GeneratorName::Endpoint) => match (&self.endpoint, &self.endpoint_model) {
                (Some(url), Some(model)) => self.endpoint_generator(url, model).map(Some),
                (None, _) => {
                    bail_usage!("--questions endpoint: expected --endpoint URL, found none")
                }
                (_, None) => {
                    bail_usage!("--questions endpoint: expected --endpoint-model NAME, found none")
                }
            },
        }
    }

    /// Whether questions are those of a language model.
    #[cfg(feature = "serve")]
    pub(crate) fn is_endpoint(&self) -> bool {
        self.questions == Some(GeneratorName::Endpoint)
    }

    #[cfg(feature = "fetch")]
    fn endpoint_generator(&self, url: &str, model: &str) -> Result<Arc<dyn QuestionGenerator>> {
        use ir_data::chat::EndpointConfig;
        use ir_qa::questions::EndpointQuestions;

        let config = EndpointConfig::new(url, model);
        Ok(match &self.endpoint_key {
            Some(variable) => Arc::new(EndpointQuestions::from_env(config, variable)?),
            None => Arc::new(EndpointQuestions::new(config, None)?),
        })
    }

    #[cfg(not(feature = "fetch"))]
    fn endpoint_generator(&self, _: &str, _: &str) -> Result<Arc<dyn QuestionGenerator>> {
        anyhow::bail!(
            "--questions endpoint: needs the feature `fetch` (cargo install --path crates/ir-cli --features fetch)"
        )
    }
}
