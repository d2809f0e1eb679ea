//! Training of a multi-vector encoder, for late interaction.

use std::path::Path;
use std::sync::Arc;

use ir_core::training::TrainingSet;
use ir_core::{Progress, Side, VectorSimilarity};
use serde_json::{Value, json};

use super::checkpoint::TrainingState;
use super::config::check_precision;
use super::headed::{HeadedGradients, HeadedTransformer};
use super::multi_vector_step::MultiVectorModel;
use super::run::{
    self, Checkpoints, FinishedRun, Observers, TrainingTask, checkpoint_functions, train_functions,
    training_result,
};
use super::sampler::BatchSampler;
use super::trainer::check_candidates;
use super::{EvaluateFn, HistoryCallback, TrainError, TrainingConfig, TrainingHistory};
use crate::encode::late_interaction_format::LateInteractionFormat;
use crate::encode::modules::VectorModules;
use crate::error::ModelError;
use crate::late_interaction::{
    LateInteractionFolder, MultiVectorConfig, MultiVectorEncoder, rules,
};
use crate::similarity;

/// Trainer of a multi-vector encoder, for late interaction as in ColBERT.
///
/// Scores are MaxSim, or the similarity function of the folder: the sum over the query's tokens of
/// the maximum dot product with a token of the document. The gradient of a maximum goes to the
/// token that has it, the first of several. Transformer and projection are trained. All documents
/// of the other queries of a step are in-batch negatives.
///
/// Late-interaction models take a [`TrainingConfig`], with a temperature for sums over tokens:
/// [`TrainingConfig::late_interaction`]. It must not have pooling, normalization or another
/// similarity function. [`EncoderConfig::query`](crate::EncoderConfig::query) and
/// [`EncoderConfig::document`](crate::EncoderConfig::document) have maximum lengths and prefixes.
///
/// The same model, data and configuration give the same weights, byte for byte, on any number of
/// threads, and also if training was interrupted and resumed.
///
/// ```no_run
/// use ir_core::NoProgress;
/// use ir_core::training::{TrainingExample, TrainingText};
/// use ir_dense::train::{MultiVectorTrainer, TrainingConfig};
///
/// let data = vec![
///     TrainingExample::new("how is tea brewed")
///         .positive(TrainingText::new("Pour hot water over the leaves."))
///         .negative(TrainingText::new("Tea is grown on hills.")),
///     // and some thousands more
/// ];
/// let config = TrainingConfig::late_interaction();
/// let trainer = MultiVectorTrainer::open("all-MiniLM-L6-v2", &config)?
///     .with_checkpoints("checkpoints");
/// let trained = trainer.train(&data, &mut NoProgress)?;
/// trained.encoder.save("my-colbert")?;
/// # Ok::<(), ir_dense::train::TrainError>(())
/// ```
///
/// # Source
/// Khattab and Zaharia, "ColBERT: Efficient and Effective Passage Search via Contextualized Late
/// Interaction over BERT", SIGIR 2020; with hard negatives and distillation Santhanam et al.,
/// "ColBERTv2: Effective and Efficient Retrieval via Lightweight Late Interaction", NAACL 2022.
#[derive(Debug)]
pub struct MultiVectorTrainer {
    model: MultiVectorModel,
    trained: HeadedTransformer<VectorModules>,
    config: TrainingConfig,
    checkpoints: Checkpoints,
}

training_result! {
    /// Result of the training of a multi-vector encoder.
    MultiVectorTrainingResult {
        /// Encoder with the weights of the best evaluation, or of the last step without evaluation.
        encoder: MultiVectorEncoder
    }
}

impl MultiVectorTrainer {
    /// Default dimension of the vectors of a new model, as in ColBERT.
    pub const DIM: usize = 128;

    /// Opens a folder of a late-interaction model, or of an encoder, such as a sentence encoder.
    ///
    /// An encoder becomes a new late-interaction model, with the defaults of PyLate: a projection
    /// to 128 dimensions with random weights, vectors of length 1, queries that are expanded to 32
    /// tokens by mask tokens, documents of at most 180 tokens, and no vectors for the punctuation
    /// in documents. Maximum lengths of the configuration override these. Pooling and the modules
    /// after it are left out. If the tokenizer pads at the beginning, queries are not expanded.
    ///
    /// # Errors
    /// Returns [`TrainError`] if the model cannot be read, a configuration value is out of range or
    /// without effect, or the layers of the model have no kernels for the precision of training.
    pub fn open(folder: impl AsRef<Path>, config: &TrainingConfig) -> Result<Self, TrainError> {
        Self::open_folder(folder.as_ref(), None, config)
    }

    /// Opens a folder as [`MultiVectorTrainer::open`], with vectors of `dim` dimensions if the
    /// model is new.
    ///
    /// # Errors
    /// Returns the errors of [`MultiVectorTrainer::open`], and [`TrainError`] if `dim` is 0 or not
    /// the dimension of a late-interaction model.
    pub fn open_with_dim(
        folder: impl AsRef<Path>,
        dim: usize,
        config: &TrainingConfig,
    ) -> Result<Self, TrainError> {
        Self::open_folder(folder.as_ref(), Some(dim), config)
    }

    fn open_folder(
        path: &Path,
        dim: Option<usize>,
        config: &TrainingConfig,
    ) -> Result<Self, TrainError> {
        config.validate_late_interaction()?;
        let encoder = MultiVectorConfig::from_encoder(&config.encoder);
        let wrong_dim = |expected: String, found: usize| {
            ModelError::setting(path, "the dimension of the vectors", expected, found)
        };
        let folder = if LateInteractionFormat::read(path)?.is_some() {
            let folder = LateInteractionFolder::open(path, &encoder)?;
            let own = folder.tower.dim();
            if let Some(found) = dim.filter(|&dim| dim != own) {
                let expected = format!("{own}, as in the late-interaction model");
                return Err(wrong_dim(expected, found).into());
            }
            folder
        } else {
            let dim = dim.unwrap_or(Self::DIM);
            if dim == 0 {
                return Err(wrong_dim("1 or more".to_owned(), dim).into());
            }
            LateInteractionFolder::create(path, &encoder, dim, config.seed)?
        };
        let model = folder.tower.transformer()?;
        check_precision(config.precision, model.config())?;
        let head = (*folder.tower.modules).clone();
        Ok(Self {
            trained: HeadedTransformer::new(model, head),
            model: MultiVectorModel {
                rules: rules(&folder, &encoder)?,
                folder,
            },
            config: config.clone(),
            checkpoints: Checkpoints::default(),
        })
    }

    checkpoint_functions!();

    fn initial_state(&self, data: &dyn TrainingSet) -> TrainingState {
        let models = std::slice::from_ref(&self.trained);
        let identity = identity(&self.model, &self.config);
        TrainingState::new(&self.config, data.fingerprint(), identity, models)
    }

    train_functions!(MultiVectorEncoder, MultiVectorTrainingResult);

    fn check_examples(&self, data: &dyn TrainingSet) -> Result<(), TrainError> {
        check_candidates(data, &self.config)
    }

    fn into_task<'a>(
        self,
        data: &'a dyn TrainingSet,
        config: &'a TrainingConfig,
    ) -> MultiVectorTask<'a> {
        MultiVectorTask {
            model: self.model,
            trained: vec![self.trained],
            sampler: BatchSampler::new(data, config),
            config,
        }
    }
}

impl TrainingConfig {
    /// Checks that every value is in its range, and valid for late interaction
    /// ([`MultiVectorTrainer`]).
    ///
    /// # Errors
    /// Returns [`TrainError::Setting`] for the first invalid value.
    pub fn validate_late_interaction(&self) -> Result<(), TrainError> {
        self.validate()?;
        self.check_dense()?;
        self.check_unpooled([
            "none: a model of late interaction has late_interaction.truncate_dim",
            "none, as late interaction has a vector per token",
            "none, as the late-interaction model determines it",
            "above 0, as MaxSim is not a cosine",
        ])?;
        if self.similarity == VectorSimilarity::Cosine {
            return Ok(());
        }
        Err(TrainError::Setting {
            field: "similarity",
            expected: "cosine, the default, as the late-interaction model has MaxSim",
            found: similarity::name(self.similarity).to_owned(),
        })
    }
}

/// Returns what determines the scores besides weights, for checkpoints.
fn identity(model: &MultiVectorModel, config: &TrainingConfig) -> Value {
    let tower = &model.folder.tower;
    let of_side = |side| tower.identity(side, config.encoder.side(side));
    json!({
        "query": of_side(Side::Query),
        "document": of_side(Side::Document),
        "tokens": model.rules.identity(),
        "similarity": model.folder.similarity,
    })
}

/// Model with the examples of a run.
struct MultiVectorTask<'a> {
    model: MultiVectorModel,
    trained: Vec<HeadedTransformer<VectorModules>>,
    sampler: BatchSampler<'a>,
    config: &'a TrainingConfig,
}

impl TrainingTask for MultiVectorTask<'_> {
    type Part = HeadedTransformer<VectorModules>;
    type Model = MultiVectorEncoder;

    fn parts(&self) -> &[Self::Part] {
        &self.trained
    }

    fn parts_mut(&mut self) -> &mut Vec<Self::Part> {
        &mut self.trained
    }

    fn gradients(&mut self, step: u64) -> Result<(f64, Vec<HeadedGradients>), TrainError> {
        let batch = self.sampler.batch(step)?;
        let trained = &self.trained[0];
        let gradients = self.model.gradients(trained, &batch, self.config, step)?;
        Ok((gradients.0, vec![gradients.1]))
    }

    fn model(&self) -> Result<MultiVectorEncoder, TrainError> {
        let (mut folder, trained) = (self.model.folder.clone(), &self.trained[0]);
        folder.tower = folder.tower.with_model(trained.model.clone());
        folder.tower.modules = Arc::new(trained.head.clone());
        let config = MultiVectorConfig::from_encoder(&self.config.encoder);
        Ok(MultiVectorEncoder::from_folder(folder, &config)?)
    }
}
