//! Model folders of encoders: found by name, created with random weights, or trained. The last two
//! are stages of the cache.

use std::path::PathBuf;

use ir_dense::train::{SparseEncoderTrainer, Trainer, TrainingConfig};
use ir_dense::{EncoderConfig, ModelFolder, Precision};

use crate::cache::Stage;
use crate::entries::{EncoderEntry, RandomEntry, TrainingEntry};
use crate::error::SystemError;
use crate::hash::ContentHash;
use crate::observer::{StageReport, StageStatus};
use crate::source::SourceMap;
use crate::system::SystemContext;
use crate::systems::model_folder::{find_model, folder_content};
use crate::systems::model_training::{ExampleSource, ModelStage, SplitQueries, train};

impl EncoderEntry {
    /// Content of the weights, a short description of everything that determines them.
    pub(super) fn weights(&self, context: &SystemContext<'_>) -> Result<String, SystemError> {
        match &self.training {
            Some(training) => Ok(self.trained_stage(context, training)?.key),
            None => self.base_content(context),
        }
    }

    /// Content of the weights before training.
    fn base_content(&self, context: &SystemContext<'_>) -> Result<String, SystemError> {
        if let Some(random) = &self.random {
            return Ok(self.random_stage(context, random)?.key);
        }
        folder_content(context, &self.find(context)?.folder)
    }

    /// Model folder of the key `model`.
    fn find(&self, context: &SystemContext<'_>) -> Result<ModelFolder, SystemError> {
        self.find_model(context.source)
    }

    /// Checks that the model exists.
    ///
    /// # Errors
    /// Returns [`SystemError::Missing`] if it does not.
    pub fn check_model(&self, source: &SourceMap) -> Result<(), SystemError> {
        match self.random {
            Some(_) => Ok(()),
            None => self.find_model(source).map(|_| ()),
        }
    }

    fn find_model(&self, source: &SourceMap) -> Result<ModelFolder, SystemError> {
        find_model(source, self.model.as_deref().unwrap_or_default())
    }

    /// Fills unset fields of `config` from the catalog entry of the model.
    pub(super) fn with_catalog_defaults(
        &self,
        context: &SystemContext<'_>,
        config: EncoderConfig,
    ) -> Result<EncoderConfig, SystemError> {
        match self.random {
            Some(_) => Ok(config),
            None => Ok(self.find(context)?.with_catalog_defaults(config)),
        }
    }

    /// Stages that create the weights, in order.
    pub(super) fn model_stages(
        &self,
        context: &SystemContext<'_>,
    ) -> Result<Vec<StageReport>, SystemError> {
        let mut stages = Vec::new();
        let trained = match &self.training {
            Some(training) => Some(self.trained_stage(context, training)?.planned(context)),
            None => None,
        };
        if let Some(trained) = trained
            .as_ref()
            .filter(|it| it.status == StageStatus::Cached)
        {
            // The initial weights are not needed.
            return Ok(vec![trained.clone()]);
        }
        if let Some(random) = &self.random {
            stages.push(self.random_stage(context, random)?.planned(context));
        }
        if let Some(training) = &self.training {
            let template = self.template()?;
            stages.extend(ExampleSource::from(training).stages(context, &template)?);
        }
        stages.extend(trained);
        Ok(stages)
    }

    /// Folder of the weights, created or trained if the cache does not have it.
    pub(super) fn folder(&self, context: &mut SystemContext<'_>) -> Result<PathBuf, SystemError> {
        match &self.training {
            Some(training) => self.trained(context, training),
            None => self.base(context),
        }
    }

    fn base(&self, context: &mut SystemContext<'_>) -> Result<PathBuf, SystemError> {
        let Some(random) = &self.random else {
            return Ok(self.find(context)?.folder);
        };
        let stage = self.random_stage(context, random)?;
        let queries = random_queries(context, random)?;
        let template = self.template()?;
        stage.open(context, |context, folder| {
            context.check_template(&template)?;
            let mut texts = Vec::new();
            let documents = context.data.corpus().docs();
            for doc in documents.map_err(SystemError::stage("reading documents"))? {
                let doc = doc.map_err(SystemError::stage("reading documents"))?;
                texts.push(template.render(&doc));
            }
            let queries = queries.iter().flat_map(SplitQueries::texts);
            texts.extend(queries.map(str::to_owned));
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let created = random.config().create(folder, &texts);
            created.map_err(|error| match error {
                ir_dense::CreateModelError::Setting { field, .. } => {
                    SystemError::parameter(format!("random.{field}"), error.to_string())
                }
                other => SystemError::stage("creating the model")(other),
            })
        })
    }

    fn trained(
        &self,
        context: &mut SystemContext<'_>,
        training: &TrainingEntry,
    ) -> Result<PathBuf, SystemError> {
        let stage = self.trained_stage(context, training)?;
        let config = self.training_config(context, training)?;
        let template = self.template()?;
        stage.open(context, |context, folder| {
            context.check_template(&template)?;
            let base = self.base(context)?;
            let examples = ExampleSource::from(training).examples(context, &template)?;
            let every = config.steps(examples.len()) / 20;
            let saved = if training.sparse {
                let trained = train(context, folder, |checkpoints, progress| {
                    SparseEncoderTrainer::open(&base, &config)?
                        .with_checkpoints(checkpoints)
                        .with_checkpoint_every(every)
                        .train(&examples, progress)
                })?;
                trained.encoder.save(folder)
            } else {
                let trained = train(context, folder, |checkpoints, progress| {
                    Trainer::open(&base, &config)?
                        .with_checkpoints(checkpoints)
                        .with_checkpoint_every(every)
                        .train(&examples, progress)
                })?;
                trained.encoder.save(folder)
            };
            saved.map_err(SystemError::stage("saving the model"))
        })
    }

    fn random_stage(
        &self,
        context: &SystemContext<'_>,
        random: &RandomEntry,
    ) -> Result<ModelStage, SystemError> {
        let config = serde_json::to_string(&random.config());
        let config = config.map_err(SystemError::stage("serialization"))?;
        let mut hash = ContentHash::default();
        hash.text(&config).text(&self.template()?.to_string());
        if let Some(queries) = random_queries(context, random)? {
            queries.hash(&mut hash);
        }
        Ok(ModelStage {
            key: context.key(Stage::Model, &format!("random {}", hash.finish())),
            description: "random model".to_owned(),
        })
    }

    fn trained_stage(
        &self,
        context: &SystemContext<'_>,
        training: &TrainingEntry,
    ) -> Result<ModelStage, SystemError> {
        let config = self.training_config(context, training)?;
        let kind = if training.sparse {
            " as a sparse encoder"
        } else {
            ""
        };
        let description = format!(
            "{}{kind} on split {}, epochs {}, learning rate {:e}",
            self.label(),
            training.split,
            config.epochs,
            config.learning_rate
        );
        ModelStage::trained(
            context,
            training.into(),
            &self.base_content(context)?,
            &self.template()?,
            &(&config, &training.mining, training.titles),
            description,
        )
    }

    /// Hyperparameters, with the encoder options of the entry.
    fn training_config(
        &self,
        context: &SystemContext<'_>,
        training: &TrainingEntry,
    ) -> Result<TrainingConfig, SystemError> {
        let mut config = training.config();
        let lengths = [&config.encoder.query, &config.encoder.document];
        let lengths = lengths.map(|side| side.max_tokens);
        let mut encoder = self.options().with_precision(Precision::F32);
        encoder.pooling = encoder.pooling.or(config.encoder.pooling);
        encoder.normalize = encoder.normalize.or(config.encoder.normalize);
        encoder.truncate_dim = encoder.truncate_dim.or(config.encoder.truncate_dim);
        [encoder.query.max_tokens, encoder.document.max_tokens] = lengths;
        config.encoder = match (training.sparse, &self.random) {
            (true, None) => self.find(context)?.with_catalog_prefixes(encoder),
            _ => self.with_catalog_defaults(context, encoder)?,
        };
        Ok(config)
    }
}

/// Queries for the training of the vocabulary, without validation queries.
fn random_queries(
    context: &SystemContext<'_>,
    random: &RandomEntry,
) -> Result<Option<SplitQueries>, SystemError> {
    let Some(split) = random.split.as_deref() else {
        return Ok(None);
    };
    let mut queries = SplitQueries::read(context, "random", split, random.queries.as_deref())?;
    queries.remove_validation(context, split);
    Ok(Some(queries))
}
