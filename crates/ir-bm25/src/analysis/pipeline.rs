//! The analyzer built from an analysis configuration.

use std::collections::BTreeSet;

use super::cjk_bigrams::{BigramFilter, Gram};
use super::error::AnalysisError;
use super::stemmer::{Stem, Stemmer};
use super::stop_words::StopWords;
use super::tokenizer::Tokenizer;
use super::word_set::WordSet;
use super::{Analysis, LONGEST_TOKEN, SHORTEST_TOKEN};
use ir_core::{Analyzer, Token};

/// Analyzer created by [`Analysis::build`].
#[derive(Debug, Clone)]
pub struct AnalysisPipeline {
    analysis: Analysis,
    stop_words: WordSet,
    /// `None` if no word is protected.
    protected_words: Option<WordSet>,
}

impl Analysis {
    /// Validates the configuration and creates the analyzer.
    ///
    /// # Errors
    ///
    /// Returns [`AnalysisError`] if the maximum token length is out of range, if a stop word or a
    /// protected word is empty or can never match, or if bigrams have no Unicode tokenizer.
    pub fn build(&self) -> Result<AnalysisPipeline, AnalysisError> {
        if !(SHORTEST_TOKEN..=LONGEST_TOKEN).contains(&self.max_len) {
            return Err(AnalysisError::TokenLength {
                found: self.max_len,
            });
        }
        if !self.cjk_bigrams.is_none() && self.tokenizer != Tokenizer::Unicode {
            return Err(AnalysisError::BigramTokenizer);
        }
        self.stop_words.check(self.normalization, self.lower_case)?;
        self.check_protected_words()?;
        Ok(AnalysisPipeline::new(self.clone()))
    }

    /// Checks that each protected word is one term before stop words are removed.
    fn check_protected_words(&self) -> Result<(), AnalysisError> {
        let words = AnalysisPipeline::new(Self {
            stop_words: StopWords::None,
            protected_words: BTreeSet::new(),
            stemmer: Stemmer::None,
            ..self.clone()
        });
        for word in &self.protected_words {
            let terms = words.terms(word);
            let has_case = self.normalization.has_case_of_terms(word, self.lower_case);
            if !has_case || terms != [self.normalization.listed_term(word)] {
                return Err(AnalysisError::UnmatchableProtectedWord {
                    word: word.clone(),
                    terms: terms.join(" "),
                });
            }
        }
        Ok(())
    }
}

impl AnalysisPipeline {
    fn new(analysis: Analysis) -> Self {
        let term = |word: &str| analysis.normalization.listed_term(word);
        let protected_words = &analysis.protected_words;
        let protected_words = (!protected_words.is_empty())
            .then(|| WordSet::new(protected_words.iter().map(|word| term(word))));
        Self {
            stop_words: WordSet::new(analysis.stop_words.iter().map(term)),
            protected_words,
            analysis,
        }
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
            cjk_bigrams,
            stemmer,
            ..
        } = self.analysis;
        let mut words = WordFilter {
            pipeline: self,
            stem: Stem::new(stemmer),
            position: 0,
            gram: String::new(),
            emit,
        };
        let mut bigrams = BigramFilter::new(cjk_bigrams);
        let mut term = String::with_capacity(64);
        tokenizer.split(text, max_len, &mut |start, end| {
            let token = &text[start..end];
            term.clear();
            normalization.push_term(&mut term, token, possessive, lower_case);
            let is_in_run = match &mut bigrams {
                Some(bigrams) => bigrams.add(token, start, &term, &mut |gram| words.add_gram(gram)),
                None => false,
            };
            if !is_in_run {
                words.add(&mut term, start, end);
            }
        });
        if let Some(bigrams) = &mut bigrams {
            bigrams.finish(&mut |gram| words.add_gram(gram));
        }
    }
}

/// Removal of stop words and stemming, with the position in the text.
struct WordFilter<'a> {
    pipeline: &'a AnalysisPipeline,
    stem: Stem,
    /// Position of the next word.
    position: u32,
    /// Buffer of a gram.
    gram: String,
    emit: &'a mut dyn FnMut(Token<'_>),
}

impl WordFilter<'_> {
    /// Emits the term of a word, unless it is a stop word or has an empty stem.
    fn add(&mut self, term: &mut String, start: usize, end: usize) {
        if !self.pipeline.stop_words.contains(term) {
            let protected_words = &self.pipeline.protected_words;
            if !protected_words.as_ref().is_some_and(|it| it.contains(term)) {
                self.stem.apply(term);
            }
            if !term.is_empty() {
                (self.emit)(Token {
                    term,
                    start,
                    end,
                    position: self.position,
                });
            }
        }
        self.position = self.position.saturating_add(1);
    }

    fn add_gram(&mut self, gram: Gram<'_>) {
        if gram.is_overlaid {
            self.position = self.position.saturating_sub(1);
        }
        let mut term = std::mem::take(&mut self.gram);
        term.clear();
        term.push_str(gram.term);
        self.add(&mut term, gram.start, gram.end);
        self.gram = term;
    }
}
