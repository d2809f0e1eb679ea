//! Windows of the context of a question.

use std::ops::Range;
use std::path::Path;

use super::ReaderConfig;
use crate::encode::ModelTokenizer;
pub(crate) use crate::encode::pair_template::Window;
use crate::encode::pair_template::{PairTemplate, window_ranges};
use crate::error::{ModelError, TokenizerError};
use crate::model_folder::{Architecture, TransformerConfig};

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
        let mut template = PairTemplate::new(tokenizer)?;
        if shape.architecture != Architecture::BERT {
            template.clear_types();
        }
        template.check_types(&path, shape)?;
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
        let ranges = window_ranges(context.len(), room, self.stride);
        let window = |range: Range<usize>| Window {
            offsets: offsets[range.clone()].to_vec(),
            ..self.template.window(&question, &context[range])
        };
        Ok(ranges.map(window).collect())
    }
}
