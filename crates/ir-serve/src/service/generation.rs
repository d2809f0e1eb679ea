//! Answers that are generated from quoted sentences.

use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};

use ir_qa::generation::Quote;

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
    /// Text, and the positions of the sentences that it cites, ascending.
    Text {
        /// Text of the model.
        text: String,
        /// Positions of cited sentences, ascending.
        cited: Vec<usize>,
    },
    /// The sentences do not answer the question, or there are none.
    NoAnswer,
    /// The model did not answer, or not in time.
    Failed,
    /// As many answers as permitted are being generated.
    Busy,
}

impl GenerationOutcome {
    /// Message for users, if there is no text.
    #[must_use]
    pub fn message(&self) -> Option<&'static str> {
        match self {
            Self::Text { .. } => None,
            Self::NoAnswer => Some("the sentences do not answer the question"),
            Self::Failed => Some("the language model did not answer in time, or failed"),
            Self::Busy => Some("too many answers are being generated; try again later"),
        }
    }
}

/// Generator with the number of its running requests.
#[derive(Debug)]
pub(super) struct Generation {
    config: ServiceGenerator,
    running: AtomicUsize,
}

/// Counts a running request until it is dropped.
struct Permit<'a>(&'a AtomicUsize);

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Largest number of requests at the same time: each of them occupies a thread.
const MAX_CONCURRENCY: usize = 32;

impl Generation {
    pub(super) fn new(config: ServiceGenerator) -> Self {
        let running = AtomicUsize::new(0);
        Self { config, running }
    }

    pub(super) fn model(&self) -> &str {
        self.config.generator.name()
    }

    pub(super) fn sentences(&self) -> usize {
        self.config.sentences.max(1)
    }

    /// Generates an answer from the best of `answers`; `title` returns the title of a paper.
    pub(super) fn generate(
        &self,
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
        GeneratedAnswer {
            model: self.model().to_owned(),
            sentences: quotes.len(),
            outcome: self.outcome(question, &quotes),
        }
    }

    fn outcome(&self, question: &str, quotes: &[Quote<'_>]) -> GenerationOutcome {
        if quotes.is_empty() {
            return GenerationOutcome::NoAnswer;
        }
        let permitted = self.config.concurrency.clamp(1, MAX_CONCURRENCY);
        let permit = Permit(&self.running);
        if self.running.fetch_add(1, Ordering::Relaxed) >= permitted {
            return GenerationOutcome::Busy;
        }
        let generated = self.config.generator.generate(question, quotes);
        drop(permit);
        match generated {
            Ok(Some(generated)) => GenerationOutcome::Text {
                text: generated.text,
                cited: generated.cited,
            },
            Ok(None) => GenerationOutcome::NoAnswer,
            Err(error) => {
                let cause = error.source().map(ToString::to_string).unwrap_or_default();
                tracing::warn!(%error, cause, "generation failed");
                GenerationOutcome::Failed
            }
        }
    }
}
