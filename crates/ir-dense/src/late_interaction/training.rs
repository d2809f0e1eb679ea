//! Token vectors as tensors, for losses.

use burn::tensor::Tensor;
use ir_core::{EncodeError, Side};

use super::MultiVectorEncoder;
use super::tokens::TextTokens;
use crate::error::ModelError;
use crate::transformer::{TokenBatch, Transformer, index_tensor};

/// Tokens of a batch of texts, and which of them have a vector.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TokenVectorBatch {
    /// Token ids of all texts.
    pub tokens: TokenBatch,
    /// Row in the hidden states of every token that has a vector, text by text.
    pub rows: Vec<usize>,
    /// Number of vectors of every text.
    pub lengths: Vec<usize>,
}

impl TokenVectorBatch {
    /// Batch of texts, padded with a token id if `padding` has one. Without padding, tokens that
    /// are not attended to need the kernels of the CPU.
    pub(crate) fn new<'a>(
        texts: impl IntoIterator<Item = &'a TextTokens>,
        padding: Option<u32>,
    ) -> Self {
        let texts: Vec<&TextTokens> = texts.into_iter().collect();
        let ids: Vec<&[u32]> = texts.iter().map(|text| &text.ids[..]).collect();
        let tokens = match padding {
            Some(padding) => TokenBatch::padded(&ids, padding),
            None => TokenBatch::new(&ids),
        };
        let (mut rows, mut first) = (Vec::new(), 0_usize);
        for (text, length) in texts.iter().zip(tokens.lengths()) {
            rows.extend(text.kept.iter().map(|token| first + token));
            first += length;
        }
        let attended = texts.iter().map(|text| text.attended).collect();
        Self {
            tokens: tokens.with_attended(attended),
            rows,
            lengths: texts.iter().map(|text| text.kept.len()).collect(),
        }
    }
}

impl MultiVectorEncoder {
    /// Returns the tokens of texts of a side for [`Transformer::forward`]: with padding if texts
    /// differ in length or have tokens that are not attended to.
    ///
    /// # Errors
    /// If tokenization fails.
    pub fn batch(&self, side: Side, texts: &[&str]) -> Result<TokenVectorBatch, EncodeError> {
        let texts = texts.iter().map(|text| self.tokenize(side, text));
        let texts: Vec<TextTokens> = texts.collect::<Result<_, _>>()?;
        let padding = Some(self.tower().tokenizer.padding());
        Ok(TokenVectorBatch::new(texts.iter(), padding))
    }

    /// Returns the transformer. Reads its weights from the folder.
    ///
    /// # Errors
    /// If the weights cannot be read.
    pub fn transformer(&self) -> Result<Transformer, ModelError> {
        self.tower().transformer()
    }

    /// Returns the vectors of the tokens of a batch, given the hidden states of
    /// [`Transformer::forward`]: projected, truncated and normalized, if configured. Differentiable
    /// with respect to `states` on a device with automatic differentiation; the projections are
    /// constants.
    ///
    /// # Shapes
    /// `states`: `[tokens, hidden_size]`; result: `[rows, dim]`.
    ///
    /// ```no_run
    /// use ir_core::Side;
    /// use ir_dense::MultiVectorEncoder;
    /// use ir_dense::train::loss;
    ///
    /// let encoder = MultiVectorEncoder::open("colbertv2.0")?;
    /// let model = encoder.transformer()?;
    /// let queries = encoder.batch(Side::Query, &["green tea", "radar"])?;
    /// let documents = encoder.batch(Side::Document, &["tea from leaves", "ships seen by radar"])?;
    /// let [q, d] = [&queries, &documents]
    ///     .map(|batch| encoder.project(model.forward(&batch.tokens), batch));
    /// let scores = loss::max_sim(q, &queries.lengths, d, &documents.lengths);
    /// let value: f32 = loss::softmax(scores, &[0, 1]).into_scalar();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn project(&self, states: Tensor<2>, batch: &TokenVectorBatch) -> Tensor<2> {
        let rows = batch.rows.iter().map(|&row| row as i64);
        let rows = index_tensor(rows, &states.device());
        self.tower().vectors(states.select(0, rows))
    }
}
