//! Windows: token ids of a question with a part of its context.

use std::ops::Range;
use std::path::Path;

use super::ReaderConfig;
use crate::encode::ModelTokenizer;
use crate::encode::tokenizer::PairTemplate;
use crate::error::{ModelError, TokenizerError};
use crate::model_folder::{Architecture, TransformerConfig};
use crate::transformer::batch::TokenSequence;

/// Maximum sequence length of SQuAD readers.
const MAX_TOKENS: usize = 384;
/// Overlap of windows of SQuAD readers.
const STRIDE: usize = 128;
/// Maximum question length of SQuAD readers.
const MAX_QUESTION_TOKENS: usize = 64;

/// Splits contexts into windows.
#[derive(Debug, Clone)]
pub(crate) struct WindowBuilder {
    template: PairTemplate,
    pub(crate) max_tokens: usize,
    pub(crate) stride: usize,
    pub(crate) max_question_tokens: usize,
}

/// Question with a window of the context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) ids: Vec<u32>,
    pub(crate) types: Vec<u32>,
    /// Number of tokens before the context.
    pub(crate) first: usize,
    /// Ranges of the tokens of the context, in bytes.
    pub(crate) offsets: Vec<Range<usize>>,
}

impl Window {
    pub(crate) fn tokens(&self) -> TokenSequence<'_> {
        (&self.ids, &self.types)
    }
}

impl WindowBuilder {
    /// Resolves the lengths of a configuration for a model.
    pub(crate) fn new(
        folder: &Path,
        shape: &TransformerConfig,
        tokenizer: &ModelTokenizer,
        config: &ReaderConfig,
    ) -> Result<Self, ModelError> {
        let path = folder.join("config.json");
        let invalid = |field: &str, expected: String, found: usize| {
            Err(ModelError::setting(&path, field, expected, found))
        };
        let mut template = tokenizer.pair_template()?;
        if shape.architecture != Architecture::BERT {
            template.clear_types();
        }
        let last = template.last_type();
        if let Some(found) = last.filter(|&it| it > 0 && it as usize >= shape.token_types) {
            let expected = format!("{} or more, for pairs of texts", found + 1);
            return invalid("type_vocab_size", expected, shape.token_types);
        }
        let limit = tokenizer.model_max_length.unwrap_or(usize::MAX);
        let limit = limit.min(shape.max_tokens());
        let max_tokens = config.max_tokens.unwrap_or(limit.min(MAX_TOKENS));
        if max_tokens > shape.max_tokens() {
            let expected = format!("at most {}, the positions of the model", shape.max_tokens());
            return invalid("max_tokens", expected, max_tokens);
        }
        let third = max_tokens / 3;
        let stride = config.stride.unwrap_or(STRIDE.min(third));
        let max_question_tokens = config.max_question_tokens;
        let max_question_tokens = max_question_tokens.unwrap_or(MAX_QUESTION_TOKENS.min(third));
        let least = (template.len() + 1)
            .saturating_add(max_question_tokens)
            .saturating_add(stride);
        if max_question_tokens == 0 {
            return invalid("max_question_tokens", "1 or more".into(), 0);
        }
        if config.max_answer_tokens == 0 {
            return invalid("max_answer_tokens", "1 or more".into(), 0);
        }
        if max_tokens < least {
            let expected = format!(
                "{least} or more: {} special tokens, {max_question_tokens} of the question, \
                 {stride} that windows share, and one more",
                template.len()
            );
            return invalid("max_tokens", expected, max_tokens);
        }
        Ok(Self {
            template,
            max_tokens,
            stride,
            max_question_tokens,
        })
    }

    /// Returns the windows of a context, one at least.
    pub(crate) fn windows(
        &self,
        tokenizer: &ModelTokenizer,
        question: &str,
        context: &str,
    ) -> Result<Vec<Window>, TokenizerError> {
        let (mut question, _) = tokenizer.encode_with_offsets(question.trim())?;
        question.truncate(self.max_question_tokens);
        let (context, offsets) = tokenizer.encode_with_offsets(context)?;
        let room = self.max_tokens - self.template.len() - question.len();
        let step = room - self.stride;
        let mut windows = Vec::new();
        let mut start = 0;
        loop {
            let end = context.len().min(start + room);
            windows.push(self.window(&question, &context[start..end], &offsets[start..end]));
            if end == context.len() {
                return Ok(windows);
            }
            start += step;
        }
    }

    fn window(&self, question: &[u32], context: &[u32], offsets: &[Range<usize>]) -> Window {
        let PairTemplate {
            before,
            between,
            after,
            types: [first, second],
        } = &self.template;
        let question = question.iter().map(|&id| (id, *first));
        let context = context.iter().map(|&id| (id, *second));
        let start = before.iter().copied().chain(question);
        let start: Vec<(u32, u32)> = start.chain(between.iter().copied()).collect();
        let first = start.len();
        let tokens = start.into_iter().chain(context);
        let (ids, types) = tokens.chain(after.iter().copied()).unzip();
        Window {
            ids,
            types,
            first,
            offsets: offsets.to_vec(),
        }
    }
}

impl PairTemplate {
    /// Number of special tokens.
    fn len(&self) -> usize {
        self.before.len() + self.between.len() + self.after.len()
    }

    fn special(&mut self) -> impl Iterator<Item = &mut (u32, u32)> {
        let tokens = self.before.iter_mut().chain(&mut self.between);
        tokens.chain(&mut self.after)
    }

    /// Gives every token type 0: other models than BERT have no types, or one.
    fn clear_types(&mut self) {
        self.types = [0; 2];
        self.special().for_each(|(_, of)| *of = 0);
    }

    fn last_type(&mut self) -> Option<u32> {
        let of_texts = self.types;
        self.special().map(|(_, of)| *of).chain(of_texts).max()
    }
}
