//! Explanations of scores: logits, and the windows of long documents.

use std::ops::Range;

use ir_core::{Candidate, Explanation};

use super::scores::DocumentLogits;
use super::{CrossEncoder, Windows};
use crate::activation::Activation;
use crate::encode::pair_template::Window;
use crate::error::ModelError;

/// Maximum number of characters of an excerpt.
const EXCERPT: usize = 80;

impl CrossEncoder {
    /// Explains the score of a candidate.
    pub(super) fn explained(
        &self,
        query: &str,
        candidate: &Candidate<'_>,
    ) -> Result<Explanation, ModelError> {
        let documents = self.tokenize(&[(query, candidate.text)])?;
        let windows: Vec<&Window> = documents.iter().flat_map(|it| &it.windows).collect();
        let logits = DocumentLogits {
            windows: self.window_logits(&windows),
        };
        let name = || format!("candidate {}", candidate.id);
        let score = self.document_scores(&logits, name)?[0];
        let model = format!("score of the cross-encoder {}", self.folder.display());
        let of_window = |(number, labels): (usize, &Vec<f32>)| {
            let (logit, count) = (labels[0], windows.len());
            let score = self.activation().value(logit);
            let formula = match self.activation() {
                Activation::Identity => "logit".to_owned(),
                activation => format!("{}(logit)", activation.class()),
            };
            let description = match count {
                1 => formula,
                _ => {
                    let bytes = window_bytes(windows[number]);
                    let text = candidate.text.get(bytes).unwrap_or_default();
                    let number = number + 1;
                    format!(
                        "{formula} of window {number} of {count}: {:?}",
                        excerpt(text)
                    )
                }
            };
            let detail = Explanation::new(logit, "logit of the model");
            Explanation::new(score, description).with_detail(detail)
        };
        let mut details = logits.windows.iter().enumerate().map(of_window);
        let (description, details) = match (windows.len(), self.pairs.windows) {
            (1, _) => (model, details.collect()),
            (count, Windows::Mean) => {
                let description = format!("{model}: mean of {count} windows");
                (description, details.collect())
            }
            (count, _) => {
                let best = details.find(|detail| detail.score().to_bits() == score.to_bits());
                let description = format!("{model}: maximum of {count} windows");
                (description, best.into_iter().collect::<Vec<_>>())
            }
        };
        Ok(Explanation {
            details,
            ..Explanation::new(score, description)
        })
    }
}

/// Bytes of the document in a window.
fn window_bytes(window: &Window) -> Range<usize> {
    let first = window.offsets.first().map_or(0, |it| it.start);
    first..window.offsets.last().map_or(first, |it| it.end)
}

/// Start of a text, without line breaks.
fn excerpt(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let words = words.join(" ");
    match words.char_indices().nth(EXCERPT) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words,
    }
}
