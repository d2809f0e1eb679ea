//! Training of a learned sparse encoder.

use std::path::Path;

use ir_core::training::TrainingSet;
use ir_core::{Progress, Side, VectorSimilarity};
use serde_json::{Value, json};

use super::checkpoint::TrainingState;
use super::config::check_precision;
use super::gradcache::{SideTexts, accumulate_gradients};
use super::gradients::ModelGradients;
use super::headed::{HeadedGradients, HeadedTransformer};
use super::masked_lm::SpladePass;
use super::run::{
    self, Checkpoints, FinishedRun, Observers, TrainingTask, checkpoint_functions, train_functions,
    training_result,
};
use super::sampler::{BatchSampler, TrainingBatch};
use super::sparsity::SparsityPenalty;
use super::trainer::check_candidates;
use super::{EvaluateFn, HistoryCallback, TrainError, TrainingConfig, TrainingHistory};
use crate::learned_sparse::{MaskedLmLayers, SparseEncoder, SpladeFolder};
use crate::similarity;

/// Name of the token embeddings among the parameters of a transformer.
const TOKEN_EMBEDDINGS: &str = "token_embeddings";

/// Trainer of a learned sparse encoder, as SPLADE.
///
/// Scores are inner products of the weights of query and document. Transformer and head are
/// trained, with the token embeddings as weights of the decoder if the model ties them. All
/// documents of the other queries of a step are in-batch negatives. The penalties of
/// [`SparsityConfig`](super::SparsityConfig) are added to the loss.
///
/// A learned sparse encoder takes a [`TrainingConfig`] with inner products:
/// [`TrainingConfig::sparse_encoder`]. It must not have pooling, normalization or truncation.
///
/// The same model, data and configuration give the same weights, byte for byte, on any number of
/// threads, and also if training was interrupted and resumed.
///
/// ```no_run
/// use ir_core::NoProgress;
/// use ir_core::training::{TrainingExample, TrainingText};
/// use ir_dense::train::{SparseEncoderTrainer, TrainingConfig};
///
/// let data = vec![
///     TrainingExample::new("how is tea brewed")
///         .positive(TrainingText::new("Pour hot water over the leaves."))
///         .negative(TrainingText::new("Tea is grown on hills.")),
///     // and some thousands more
/// ];
/// let config = TrainingConfig::sparse_encoder();
/// let trainer = SparseEncoderTrainer::open("splade-tiny", &config)?
///     .with_checkpoints("checkpoints");
/// let trained = trainer.train(&data, &mut NoProgress)?;
/// trained.encoder.save("my-splade")?;
/// # Ok::<(), ir_dense::train::TrainError>(())
/// ```
///
/// # Source
/// Formal et al., "SPLADE: Sparse Lexical and Expansion Model for First Stage Ranking", SIGIR 2021;
/// with hard negatives and distillation Formal et al., "From Distillation to Hard Negative
/// Sampling: Making Sparse Neural IR Models More Effective", SIGIR 2022.
#[derive(Debug)]
pub struct SparseEncoderTrainer {
    folder: SpladeFolder,
    trained: HeadedTransformer<MaskedLmLayers>,
    config: TrainingConfig,
    checkpoints: Checkpoints,
}

training_result! {
    /// Result of the training of a learned sparse encoder.
    SparseEncoderTrainingResult {
        /// Encoder with the weights of the best evaluation, or of the last step without evaluation.
        encoder: SparseEncoder
    }
}

impl SparseEncoderTrainer {
    /// Opens a folder of sentence-transformers' `SparseEncoder`, or a masked language model, which
    /// is pooled by the maximum. Both sides have the same model.
    ///
    /// # Errors
    /// Returns [`TrainError`] if the model cannot be read, it has another model for queries than
    /// for documents, a configuration value is out of range or without effect, or the layers of the
    /// model have no kernels for the precision of training.
    pub fn open(folder: impl AsRef<Path>, config: &TrainingConfig) -> Result<Self, TrainError> {
        config.validate_sparse_encoder()?;
        let (folder, layers) = SpladeFolder::open(folder.as_ref(), &config.encoder)?;
        let model = folder.tower.transformer()?;
        check_precision(config.precision, model.config())?;
        Ok(Self {
            folder,
            trained: HeadedTransformer::new(model, layers),
            config: config.clone(),
            checkpoints: Checkpoints::default(),
        })
    }

    checkpoint_functions!();

    fn initial_state(&self, data: &dyn TrainingSet) -> TrainingState {
        let models = std::slice::from_ref(&self.trained);
        let identity = identity(&self.folder, &self.config);
        TrainingState::new(&self.config, data.fingerprint(), identity, models)
    }

    train_functions!(SparseEncoder, SparseEncoderTrainingResult);

    fn check_examples(&self, data: &dyn TrainingSet) -> Result<(), TrainError> {
        check_candidates(data, &self.config)
    }

    fn into_task<'a>(
        self,
        data: &'a dyn TrainingSet,
        config: &'a TrainingConfig,
    ) -> SparseEncoderTask<'a> {
        SparseEncoderTask {
            folder: self.folder,
            trained: vec![self.trained],
            sampler: BatchSampler::new(data, config),
            config,
            steps: config.steps(data.len()),
        }
    }
}

impl TrainingConfig {
    /// Checks that every value is in its range, and valid for a learned sparse encoder
    /// ([`SparseEncoderTrainer`]).
    ///
    /// # Errors
    /// Returns [`TrainError::Setting`] for the first invalid value.
    pub fn validate_sparse_encoder(&self) -> Result<(), TrainError> {
        self.validate()?;
        self.check_unpooled([
            "none, as the weights of a sparse encoder are not truncated",
            "none, as the sparse encoder determines it",
            "none, as weights of a sparse encoder are not normalized",
            "above 0, as inner products are not cosines",
        ])?;
        if self.similarity == VectorSimilarity::InnerProduct {
            return Ok(());
        }
        Err(TrainError::Setting {
            field: "similarity",
            expected: "dot, for a sparse encoder",
            found: similarity::name(self.similarity).to_owned(),
        })
    }
}

/// Returns what determines the scores besides weights, for checkpoints.
fn identity(folder: &SpladeFolder, config: &TrainingConfig) -> Value {
    let of_side = |side| folder.tower.identity(side, config.encoder.side(side));
    json!({
        "query": of_side(Side::Query),
        "document": of_side(Side::Document),
        "splade_pooling": folder.pooling.identity(),
    })
}

/// Model with the examples of a run.
struct SparseEncoderTask<'a> {
    folder: SpladeFolder,
    trained: Vec<HeadedTransformer<MaskedLmLayers>>,
    sampler: BatchSampler<'a>,
    config: &'a TrainingConfig,
    /// Number of steps of the run.
    steps: u64,
}

impl TrainingTask for SparseEncoderTask<'_> {
    type Part = HeadedTransformer<MaskedLmLayers>;
    type Model = SparseEncoder;

    fn parts(&self) -> &[Self::Part] {
        &self.trained
    }

    fn parts_mut(&mut self) -> &mut Vec<Self::Part> {
        &mut self.trained
    }

    fn gradients(&mut self, step: u64) -> Result<(f64, Vec<HeadedGradients>), TrainError> {
        let batch = self.sampler.batch(step)?;
        let penalty = self.config.sparsity.map(|config| SparsityPenalty {
            config,
            factor: config.factor(step, self.steps),
        });
        let trained = &self.trained[0];
        let gradients = gradients(&self.folder, trained, &batch, self.config, (step, penalty))?;
        Ok((gradients.0, vec![gradients.1]))
    }

    fn model(&self) -> Result<SparseEncoder, TrainError> {
        let trained = &self.trained[0];
        let folder = SpladeFolder {
            tower: self.folder.tower.with_model(trained.model.clone()),
            pooling: self.folder.pooling,
        };
        let head = trained.head.clone();
        Ok(SparseEncoder::trained(folder, head, &self.config.encoder)?)
    }
}

/// Returns the loss of a step, with the penalty, and its gradients.
pub(super) fn gradients(
    folder: &SpladeFolder,
    trained: &HeadedTransformer<MaskedLmLayers>,
    batch: &TrainingBatch,
    config: &TrainingConfig,
    (step, penalty): (u64, Option<SparsityPenalty>),
) -> Result<(f64, HeadedGradients), TrainError> {
    let HeadedTransformer { model, head, cpu } = trained;
    let packed = cpu.load(model, config.precision);
    let table = model.token_table();
    let pass = SpladePass::new(head, &table, folder.pooling);
    let texts = |side, texts| {
        let model = (model, packed.as_ref());
        SideTexts::new(&folder.tower, &pass, model, (side, 0), texts, config, step)
    };
    let sides = [
        texts(Side::Query, &batch.queries)?,
        texts(Side::Document, &batch.documents)?,
    ];
    let mut gradients = [(ModelGradients::default(), pass.gradients())];
    let value = accumulate_gradients(&sides, batch, config, penalty, &mut gradients);
    drop(sides);
    cpu.keep(packed);
    let [(of_model, of_head)] = gradients;
    Ok((value, of_head.with_model(head, of_model, TOKEN_EMBEDDINGS)))
}
