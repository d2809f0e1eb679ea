//! Options of answer generation, of `ir serve`.

use std::sync::Arc;

use anyhow::Result;
use ir_qa::generation::AnswerGenerator;

use super::console::bail_usage;

/// Address of the language model that writes answers on demand.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Generated answers")]
pub(crate) struct GenerationOptions {
    /// URL of an OpenAI-compatible language model that writes answers from the best sentences when
    /// a user requests it (feature `fetch`). The model receives the question and the quoted
    /// sentences [default: none]
    #[arg(long, value_name = "URL")]
    generate: Option<String>,

    /// Name of the model of --generate
    #[arg(long, value_name = "NAME")]
    generate_model: Option<String>,

    /// Environment variable with the key of --generate [default: no key]
    #[arg(long, value_name = "VARIABLE")]
    generate_key: Option<String>,

    /// Time limit of an answer of --generate, 1 to 30 s; then the quoted sentences are shown alone
    /// [default: 20]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=30))]
    generate_timeout: Option<u64>,
}

impl GenerationOptions {
    /// The generator, if one is given.
    pub(crate) fn generator(&self) -> Result<Option<Arc<dyn AnswerGenerator>>> {
        let of_generate = [
            ("--generate-model", self.generate_model.is_some()),
            ("--generate-key", self.generate_key.is_some()),
            ("--generate-timeout", self.generate_timeout.is_some()),
        ];
        match (&self.generate, &self.generate_model) {
            (None, _) => {
                if let Some((name, _)) = of_generate.iter().find(|(_, is_given)| *is_given) {
                    bail_usage!("{name}: without effect, expected --generate URL");
                }
                Ok(None)
            }
            (Some(_), None) => {
                bail_usage!("--generate: expected --generate-model NAME, found none")
            }
            (Some(url), Some(model)) => self.endpoint(url, model).map(Some),
        }
    }

    #[cfg(feature = "fetch")]
    fn endpoint(&self, url: &str, model: &str) -> Result<Arc<dyn AnswerGenerator>> {
        use std::time::Duration;

        use ir_fetch::chat::EndpointConfig;
        use ir_qa::generation::EndpointAnswers;

        let mut config = EndpointConfig::new(url, model);
        config.timeout = Duration::from_secs(self.generate_timeout.unwrap_or(20));
        // Users wait: they ask again.
        config.attempts = 1;
        Ok(match &self.generate_key {
            Some(variable) => Arc::new(EndpointAnswers::from_env(config, variable)?),
            None => Arc::new(EndpointAnswers::new(config, None)?),
        })
    }

    #[cfg(not(feature = "fetch"))]
    fn endpoint(&self, _: &str, _: &str) -> Result<Arc<dyn AnswerGenerator>> {
        anyhow::bail!(
            "--generate: needs the feature `fetch` (cargo install --path apps/ir-cli --features fetch)"
        )
    }
}
