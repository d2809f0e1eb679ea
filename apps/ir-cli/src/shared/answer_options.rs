//! Options of answer retrieval, of `ir ask` and `ir serve`.

#[cfg(feature = "dense")]
use std::path::PathBuf;

use anyhow::Result;
use clap::{Args as _, Command, Id};
use ir_qa::retrieval::{AnswerConfig, AnswerReranking, FunctionWords};
use ir_system::OpenReranker;

use super::console::bail_usage;
use super::language::LanguageName;
#[cfg(feature = "dense")]
use super::system_options::RERANKING;
use super::system_options::RerankOptions;

/// Ids of the options of the frames. The others are of their ranking.
const OF_THE_FRAMES: [&str; 2] = ["language", "headings"];

/// Encoder, weights and reranker of answer retrieval.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Answers")]
pub(crate) struct AnswerOptions {
    /// Encoder: a folder in Hugging Face layout, or a downloaded model
    #[cfg(feature = "dense")]
    #[arg(long, value_name = "MODEL")]
    model: Option<PathBuf>,

    /// Number format of the linear layers of the encoder [default: f32]
    #[cfg(feature = "dense")]
    #[arg(long, value_parser = super::options::choice(super::encoder::PRECISIONS), value_name = "FORMAT", requires = "model")]
    precision: Option<ir_dense::Precision>,

    /// Encode answers with their contexts, as `answer [SEP] context`, for an encoder that was
    /// trained so
    #[cfg(feature = "dense")]
    #[arg(long, requires = "model")]
    encode_context: bool,

    /// Language of the papers [default: english]
    #[arg(long, value_name = "NAME")]
    pub(crate) language: Option<LanguageName>,

    /// Weight of BM25 beside the cosine [default: 0.05]
    #[cfg(feature = "dense")]
    #[arg(long, value_name = "WEIGHT", requires = "model")]
    alpha: Option<f32>,

    /// Weight of BM25 of the context beside BM25 of the answer
    #[arg(long, value_name = "WEIGHT", default_value_t = AnswerConfig::default().context_weight)]
    context_weight: f32,

    /// Function words of the question that BM25 leaves out, except between quotation marks
    #[arg(long, value_name = "LANGUAGE", default_value = "english")]
    function_words: FunctionWordsName,

    /// Minimum similarity (Jaccard index of content words) of a question of an annotator to the
    /// question for which its answer comes first; 0: only the question itself
    #[arg(long, value_name = "SIMILARITY", default_value_t = AnswerConfig::default().near_questions.unwrap_or(0.0))]
    near_questions: f32,

    /// Exponent p of the length of the question: beside the cosine, BM25 of n terms is multiplied
    /// by (6 / n)^p [default: 0]
    #[cfg(feature = "dense")]
    #[arg(long, value_name = "P", requires = "model")]
    length_exponent: Option<f32>,

    /// Titles and headings are answers too
    #[arg(long)]
    pub(crate) headings: bool,

    #[command(flatten)]
    rerank: RerankOptions,

    #[cfg(feature = "dense")]
    #[arg(long, value_name = "N", help = candidates_help(), help_heading = RERANKING, value_parser = super::options::positive, requires = "rerank")]
    candidates: Option<usize>,

    /// Rank answers by --rerank with their contexts, as `answer [SEP] context`, for a model that
    /// was trained so
    #[cfg(feature = "dense")]
    #[arg(long, help_heading = RERANKING, requires = "rerank")]
    rerank_context: bool,
}

/// Names of [`FunctionWords`].
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum FunctionWordsName {
    English,
    None,
}

#[cfg(feature = "dense")]
fn candidates_help() -> String {
    format!(
        "Number of answers that --rerank ranks. `ir ask` ranks as many as it prints if that is \
         more; `ir serve` keeps later answers in the order of the search [default: {}]",
        AnswerReranking::default().depth
    )
}

impl AnswerOptions {
    /// Ids of the options that a system file replaces.
    pub(crate) fn of_the_ranking() -> Vec<Id> {
        let command = Self::augment_args(Command::new(""));
        let ids = command.get_arguments().map(|option| option.get_id());
        ids.filter(|id| !OF_THE_FRAMES.contains(&id.as_str()))
            .cloned()
            .collect()
    }

    /// The weights of these options.
    pub(crate) fn config(&self) -> Result<AnswerConfig> {
        let mut config = AnswerConfig::default();
        let weight = self.context_weight;
        if weight != 0.0 && !(1e-9..=1e9).contains(&weight) {
            bail_usage!("--context-weight: expected 0 or 1e-9..=1e9, found {weight}");
        }
        config.context_weight = weight;
        config.function_words = match self.function_words {
            FunctionWordsName::English => FunctionWords::English,
            FunctionWordsName::None => FunctionWords::None,
        };
        let similarity = self.near_questions;
        if !(0.0..=1.0).contains(&similarity) {
            bail_usage!("--near-questions: expected 0..=1, found {similarity}");
        }
        config.near_questions = (similarity > 0.0).then_some(similarity);
        #[cfg(feature = "dense")]
        {
            config.encodes_context = self.encode_context;
            if let Some(alpha) = self.alpha {
                if !(alpha >= 0.0 && alpha.is_finite()) {
                    bail_usage!("--alpha: expected a finite number >= 0, found {alpha}");
                }
                config.alpha = alpha;
            }
            if let Some(exponent) = self.length_exponent {
                if !(0.0..=2.0).contains(&exponent) {
                    bail_usage!("--length-exponent: expected 0..=2, found {exponent}");
                }
                config.length_exponent = exponent;
            }
        }
        Ok(config)
    }

    /// Opens the reranker, if one is given. `tokens` is a token store of the answers.
    pub(crate) fn reranker(
        &self,
        tokens: Option<&str>,
    ) -> Result<Option<(OpenReranker, AnswerReranking)>> {
        let Some(open) = self.rerank.open(tokens)? else {
            return Ok(None);
        };
        #[cfg_attr(not(feature = "dense"), allow(unused_mut))]
        let mut reranking = AnswerReranking::default();
        #[cfg(feature = "dense")]
        {
            reranking.depth = self.candidates.unwrap_or(reranking.depth);
            reranking.with_context = self.rerank_context;
        }
        Ok(Some((open, reranking)))
    }

    /// Opens the encoder, if one is given.
    #[cfg(feature = "dense")]
    pub(crate) fn encoder(&self) -> Result<Option<ir_dense::BiEncoder>> {
        use super::encoder::{find_model, open_encoder};

        let Some(model) = &self.model else {
            return Ok(None);
        };
        let folder = find_model(model)?.folder;
        let config = ir_dense::EncoderConfig::default();
        let config = config.with_precision(self.precision.unwrap_or_default());
        open_encoder(&folder, &config).map(Some)
    }
}
