//! The analyzer built from an analysis configuration.

use super::Analysis;
use super::lowercase::push_lower;
use super::stemmer::Stem;
use super::stop_words::StopSet;
use ir_core::{Analyzer, Token};

/// Analyzer created by [`Analysis::build`].
#[derive(Debug, Clone)]
pub struct AnalysisPipeline {
    analysis: Analysis,
    stops: StopSet,
}

impl AnalysisPipeline {
    pub(super) fn new(analysis: Analysis) -> Self {
        let stops = StopSet::new(&analysis.stop_words);
        Self { analysis, stops }
    }

    /// The configuration of the analyzer.
    pub fn analysis(&self) -> &Analysis {
        &self.analysis
    }
}

impl Analyzer for AnalysisPipeline {
    fn analyze(&self, text: &str, emit: &mut dyn FnMut(Token<'_>)) {
        let Analysis {
            tokenizer,
            max_len,
            normalization,
            possessive,
            lower_case,
            stemmer,
            ..
        } = self.analysis;
        let mut stem = Stem::new(stemmer);
        let mut term = String::with_capacity(64);
        let mut position = 0_u32;
        tokenizer.split(text, max_len, &mut |start, end| {
            let normalized = normalization.apply(&text[start..end]);
            let word = if possessive {
                without_possessive(&normalized)
            } else {
                &normalized
            };
            term.clear();
            if lower_case {
                push_lower(&mut term, word);
            } else {
                term.push_str(word);
            }
            if !self.stops.contains(&term) {
                stem.apply(&mut term);
                if !term.is_empty() {
                    emit(Token {
                        term: &term,
                        start,
                        end,
                        position,
                    });
                }
            }
            position = position.saturating_add(1);
        });
    }
}

/// Removes a trailing `'s` with any of three apostrophes, in either case.
fn without_possessive(word: &str) -> &str {
    match word.strip_suffix(['s', 'S']) {
        Some(rest) => rest
            .strip_suffix(['\'', '\u{2019}', '\u{ff07}'])
            .unwrap_or(word),
        None => word,
    }
}
