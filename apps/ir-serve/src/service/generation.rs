//! Answers that are generated from quoted sentences.

use std::error::Error;
use std::sync::Arc;

use ir_qa::generation::{GeneratedText, Quote};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::config::ServiceGenerator;
use crate::service::ScoredAnswer;

/// Answer that a language model wrote from quoted sentences.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GeneratedAnswer {
    /// Name of the model.
    pub model: String,
    /// What the model got: the number of answers, the best ones.
    pub sentences: usize,
    /// What the model returned.
    pub outcome: GenerationOutcome,
}

/// End of a generation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GenerationOutcome {
    /// Text of the model, and the positions of the sentences that it cites.
    Text(GeneratedText),
    /// The sentences do not answer the question, or there are none.
    NoAnswer,
    /// The model did not answer, or not in time.
    Failed,
    /// As many answers as permitted are being generated.
    Busy,
}

impl GenerationOutcome {
    /// The text, if there is one.
    pub(crate) fn text(&self) -> Option<&GeneratedText> {
        match self {
            Self::Text(generated) => Some(generated),
            _ => None,
        }
    }

    /// Message for users, if there is no text.
    #[must_use]
    pub fn message(&self) -> Option<&'static str> {
        match self {
            Self::Text(_) => None,
            Self::NoAnswer => Some("the sentences do not answer the question"),
            Self::Failed => Some("the language model did not answer in time, or failed"),
            Self::Busy => Some("too many answers are being generated; try again later"),
        }
    }
}

/// Generator that bounds the number of its running requests.
#[derive(Debug)]
pub(crate) struct Generation {
    config: ServiceGenerator,
    permits: Arc<Semaphore>,
}

/// Maximum number of requests at the same time: each of them occupies a thread.
const MAX_CONCURRENCY: usize = 32;

impl Generation {
    pub(super) fn new(config: ServiceGenerator) -> Self {
        let permits = Semaphore::new(config.concurrency.clamp(1, MAX_CONCURRENCY));
        Self {
            config,
            permits: Arc::new(permits),
        }
    }

    /// Permit of a request; `None` if as many as permitted are running.
    pub(crate) fn permit(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.permits).try_acquire_owned().ok()
    }

    pub(crate) fn model(&self) -> &str {
        self.config.generator.name()
    }

    /// Number of sentences that the model gets.
    pub(crate) fn sentences(&self) -> usize {
        self.config.sentences.max(1)
    }

    /// The answer of a generation from a number of sentences that ended with an outcome.
    pub(crate) fn answer(&self, sentences: usize, outcome: GenerationOutcome) -> GeneratedAnswer {
        GeneratedAnswer {
            model: self.model().to_owned(),
            sentences,
            outcome,
        }
    }

    /// Generates an answer from the best of `answers`, with a permit; `title` returns the title of
    /// a paper.
    pub(super) fn generate(
        &self,
        _permit: &OwnedSemaphorePermit,
        question: &str,
        answers: &[ScoredAnswer],
        title: impl Fn(&str) -> String,
    ) -> GeneratedAnswer {
        let answers = &answers[..answers.len().min(self.sentences())];
        let titles: Vec<String> = answers
            .iter()
            .map(|answer| title(&answer.frame.paper))
            .collect();
        let quotes = answers.iter().zip(&titles).map(|(answer, title)| Quote {
            title,
            answer: &answer.frame.answer,
        });
        let quotes: Vec<Quote<'_>> = quotes.collect();
        self.answer(quotes.len(), self.outcome(question, &quotes))
    }

    fn outcome(&self, question: &str, quotes: &[Quote<'_>]) -> GenerationOutcome {
        if quotes.is_empty() {
            return GenerationOutcome::NoAnswer;
        }
        match self.config.generator.generate(question, quotes) {
            Ok(Some(generated)) => GenerationOutcome::Text(generated),
            Ok(None) => GenerationOutcome::NoAnswer,
            Err(error) => {
                let cause = error.source().map(ToString::to_string).unwrap_or_default();
                tracing::warn!(%error, cause, "generation failed");
                GenerationOutcome::Failed
            }
        }
    }
}
