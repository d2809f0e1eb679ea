//! Options of answer retrieval, of `ir ask` and `ir serve`.

#[cfg(feature = "dense")]
use std::path::PathBuf;

use anyhow::Result;
use ir_qa::retrieval::{AnswerConfig, AnswerReranking};
use ir_system::OpenReranker;
#[cfg(feature = "dense")]
use ir_system::systems::RerankSystem;

use super::console::bail_usage;
use super::language::LanguageName;

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

    /// Cross-encoder or late-interaction model (ColBERT) that ranks the first --candidates answers:
    /// a folder in Hugging Face layout, or a downloaded model
    #[cfg(feature = "dense")]
    #[arg(long, value_name = "MODEL")]
    rerank: Option<PathBuf>,

    /// Number of answers that --rerank ranks. `ir ask` ranks as many as it prints if that is more;
    /// `ir serve` keeps later answers in the order of the search [default: 20]
    #[cfg(feature = "dense")]
    #[arg(long, value_name = "N", value_parser = super::options::positive, requires = "rerank")]
    candidates: Option<usize>,

    /// Number format of the linear layers of --rerank [default: f32]
    #[cfg(feature = "dense")]
    #[arg(long, value_parser = super::options::choice(super::encoder::PRECISIONS), value_name = "FORMAT", requires = "rerank")]
    rerank_precision: Option<ir_dense::Precision>,

    /// Number of tokens of the pairs of question and answer that --rerank scores together. Does not
    /// change scores [default: 2048]
    #[cfg(feature = "dense")]
    #[arg(long, value_name = "TOKENS", value_parser = super::options::positive, requires = "rerank")]
    rerank_batch: Option<usize>,

    /// Rank answers by --rerank with their contexts, as `answer [SEP] context`, for a model that
    /// was trained so
    #[cfg(feature = "dense")]
    #[arg(long, requires = "rerank")]
    rerank_context: bool,

    /// Weight of BM25 of the context beside BM25 of the answer
    #[arg(long, value_name = "WEIGHT", default_value_t = AnswerConfig::default().context_weight)]
    context_weight: f32,

    /// Titles and headings are answers too
    #[arg(long)]
    pub(crate) headings: bool,
}

impl AnswerOptions {
    /// The weights of these options.
    pub(crate) fn config(&self) -> Result<AnswerConfig> {
        let mut config = AnswerConfig::default();
        let weight = self.context_weight;
        if weight != 0.0 && !(1e-9..=1e9).contains(&weight) {
            bail_usage!("--context-weight: expected 0 or 1e-9..=1e9, found {weight}");
        }
        config.context_weight = weight;
        #[cfg(feature = "dense")]
        {
            config.encodes_context = self.encode_context;
            if let Some(alpha) = self.alpha {
                if !(alpha >= 0.0 && alpha.is_finite()) {
                    bail_usage!("--alpha: expected a finite number >= 0, found {alpha}");
                }
                config.alpha = alpha;
            }
        }
        Ok(config)
    }

    /// Opens the reranker, if one is given.
    #[cfg(feature = "dense")]
    pub(crate) fn reranker(&self) -> Result<Option<(OpenReranker, AnswerReranking)>> {
        let Some(model) = &self.rerank else {
            return Ok(None);
        };
        let folder = super::encoder::find_model(model)?.folder;
        let precision = self.rerank_precision.unwrap_or_default();
        let mut keys = toml::Table::new();
        keys.insert("first".to_owned(), "answers".into());
        keys.insert("precision".to_owned(), precision.name().into());
        if let Some(batch) = self.rerank_batch {
            keys.insert("batch".to_owned(), i64::try_from(batch)?.into());
        }
        let system: RerankSystem = toml::Value::Table(keys).try_into()?;
        let open = system.open_folder(&folder)?;
        let mut reranking = AnswerReranking::default();
        reranking.depth = self.candidates.unwrap_or(reranking.depth);
        reranking.with_context = self.rerank_context;
        Ok(Some((open, reranking)))
    }

    /// Opens the reranker, which no option names in a build without the feature `dense`.
    #[cfg(not(feature = "dense"))]
    pub(crate) fn reranker(&self) -> Result<Option<(OpenReranker, AnswerReranking)>> {
        Ok(None)
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
