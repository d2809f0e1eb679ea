//! Scores of a teacher for the texts of training examples.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use ir_core::training::{TrainingExample, TrainingText};
use ir_core::{Candidate, Reranker};
use ir_system::OpenReranker;

use crate::shared::console::Console;
use crate::shared::encoder::find_model;
use crate::shared::search_data::note_long_documents;
use crate::shared::system_options::open_reranker;

/// Model with the scores that another model learns.
pub(super) struct Teacher {
    model: OpenReranker,
    scores: Arc<dyn Reranker<Query = str>>,
}

impl Teacher {
    pub(super) fn open(model: &Path) -> Result<Self> {
        let model = open_reranker(&find_model(model)?.folder)?;
        Ok(Self {
            scores: model.teacher(),
            model,
        })
    }

    /// Sets the scores of all texts. Scores of the texts before are replaced.
    pub(super) fn score(&self, examples: &mut [TrainingExample]) -> Result<()> {
        let candidates: Vec<Vec<Candidate<'_>>> = examples
            .iter()
            .map(|example| {
                let texts = example.positives.iter().chain(&example.negatives);
                texts.map(candidate).collect()
            })
            .collect();
        let queries = examples.iter().zip(&candidates);
        let queries: Vec<(&str, &[Candidate<'_>])> = queries
            .map(|(example, candidates)| (&*example.query, &**candidates))
            .collect();
        let scores = self.scores.scores_batch(&queries)?;
        for (example, scores) in examples.iter_mut().zip(scores) {
            let texts = example.positives.iter_mut().chain(&mut example.negatives);
            for (text, score) in texts.zip(scores) {
                text.score = score;
            }
        }
        Ok(())
    }

    /// Prints the number of texts that are longer than the model, if there are any.
    pub(super) fn note_long_texts(&self, console: &Console) {
        note_long_documents(std::slice::from_ref(&self.model), console);
    }
}

fn candidate(text: &TrainingText) -> Candidate<'_> {
    Candidate::new(text.id.as_deref().unwrap_or_default(), &text.text)
}
