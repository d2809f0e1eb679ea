//! Model folders of encoders: found by name, created with random weights, or trained. The last two
//! are stages of the cache.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ir_core::store::{
    AtomicFile, ByteReader, IndexFile, IndexFileWriter, IndexFormat, OpenIndexError, Verify,
    write_sized,
};
use ir_dense::train::{TrainError, Trainer, TrainingConfig};
use ir_dense::{EncoderConfig, ModelFolder, Precision};

use super::examples::{SplitQueries, examples};
use crate::cache::Stage;
use crate::entries::bm25::expansion::encoder::training::training_error;
use crate::entries::{EncoderEntry, RandomEntry, TrainingEntry};
use crate::error::{SpecError, SystemError};
use crate::hash::ContentHash;
use crate::observer::{StageReport, StageStatus};
use crate::source::SourceMap;
use crate::system::{SystemContext, file_hash};
use crate::systems::model_folder::{files_of, find_model, folder_content};

/// Record of a cached model folder `KEY`, in the file `KEY.ir`: names and hashes of its files.
const MODEL_FORMAT: IndexFormat = IndexFormat {
    magic: *b"IREXPMOD",
    version: 1,
    name: "record of a cached model",
    large_sections: &[],
};

const FILES_SECTION: &str = "files";

/// Stage with a model folder as its result.
pub(super) struct ModelStage {
    key: String,
    description: String,
}

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
        if let Some(training) = self.training.as_ref().filter(|it| it.mining.is_needed()) {
            let bm25 = &training.mining.bm25;
            let template = bm25.template()?;
            let (key, description) =
                context.index_stage(&bm25.index_config()?, template.as_ref())?;
            stages.push(context.planned(Stage::Index, &key, &description));
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
            let labeled = labeled(context, training)?;
            let examples = examples(context, training, &template, &labeled)?;
            let checkpoints = folder.with_extension("checkpoints");
            let every = config.steps(examples.len()) / 20;
            let mut train = || {
                let trainer = Trainer::open(&base, &config)?
                    .with_checkpoints(&checkpoints)
                    .with_checkpoint_every(every);
                let mut progress = |stage: &str, done: u64, total: Option<u64>| {
                    context.observer.report(stage, done, total)
                };
                trainer.train(&examples, &mut progress)
            };
            let mut trained = train();
            if let Err(error) = &trained
                && is_damaged(error)
            {
                let note = format!("{error}; training starts again");
                let _ = fs::remove_dir_all(&checkpoints);
                trained = train();
                context.observer.note(&note);
            }
            let trained = trained.map_err(training_error)?;
            let saved = trained.encoder.save(folder);
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
        let failed = SystemError::stage("serialization");
        let config = self.training_config(context, training)?;
        let parameters = serde_json::to_string(&(&config, &training.mining, training.titles));
        let mut hash = ContentHash::default();
        hash.text(&parameters.map_err(failed)?)
            .text(&self.base_content(context)?)
            .text(&self.template()?.to_string());
        labeled(context, training)?.hash(&mut hash);
        Ok(ModelStage {
            key: context.key(Stage::Model, &format!("trained {}", hash.finish())),
            description: format!(
                "{} on split {}, epochs {}, learning rate {:e}",
                self.label(),
                training.split,
                config.epochs,
                config.learning_rate
            ),
        })
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
        [encoder.query.max_tokens, encoder.document.max_tokens] = lengths;
        config.encoder = self.with_catalog_defaults(context, encoder)?;
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

/// Labeled queries of the training, without validation queries.
fn labeled(
    context: &SystemContext<'_>,
    training: &TrainingEntry,
) -> Result<SplitQueries, SystemError> {
    let (split, forms) = (&training.split, training.queries.as_deref());
    let mut queries = SplitQueries::read(context, "training", split, forms)?;
    queries.remove_validation(context, split);
    context.check_validation(queries.is_empty())?;
    Ok(queries)
}

/// Returns `true` if a checkpoint cannot be read.
const fn is_damaged(error: &TrainError) -> bool {
    matches!(
        error,
        TrainError::NoCheckpoint { .. }
            | TrainError::Version { .. }
            | TrainError::Damaged { .. }
            | TrainError::OtherConfiguration { .. }
    )
}

impl ModelStage {
    fn planned(&self, context: &SystemContext<'_>) -> StageReport {
        context.planned(Stage::Model, &self.key, &self.description)
    }

    /// Opens the model folder of the stage, which `create` creates.
    fn open(
        &self,
        context: &mut SystemContext<'_>,
        create: impl FnOnce(&mut SystemContext<'_>, &Path) -> Result<(), SystemError>,
    ) -> Result<PathBuf, SystemError> {
        context.cached(
            Stage::Model,
            &self.key,
            &self.description,
            |record| {
                let folder = record.with_extension("");
                verify(record, &folder)?;
                Ok(folder)
            },
            |context, record| {
                let folder = record.with_extension("");
                let removed = match folder.exists() {
                    // Of a start that was killed before it wrote the record, or damaged.
                    true => fs::remove_dir_all(&folder),
                    false => Ok(()),
                };
                let failed = |source| SpecError::Write {
                    path: folder.clone(),
                    source,
                };
                removed.map_err(failed)?;
                create(context, &folder)?;
                write_record(record, &folder).map_err(failed)?;
                let _ = fs::remove_dir_all(folder.with_extension("checkpoints"));
                Ok(())
            },
        )
    }
}

/// Names of the files below the folder and their hashes.
fn file_hashes(folder: &Path) -> io::Result<Vec<(String, String)>> {
    let mut hashes = Vec::new();
    for file in files_of(folder) {
        let name = file.strip_prefix(folder).unwrap_or(&file);
        hashes.push((name.to_string_lossy().into_owned(), file_hash(&file)?));
    }
    Ok(hashes)
}

fn write_record(record: &Path, folder: &Path) -> io::Result<()> {
    let mut bytes = Vec::new();
    for (name, hash) in file_hashes(folder)? {
        write_sized(&mut bytes, name.as_bytes());
        write_sized(&mut bytes, hash.as_bytes());
    }
    let mut writer = IndexFileWriter::new(&MODEL_FORMAT, AtomicFile::create(record)?)?;
    writer.section(FILES_SECTION, &bytes)?;
    writer.finish()?.commit()
}

/// Compares the files of a model folder with their record.
fn verify(record: &Path, folder: &Path) -> Result<(), OpenIndexError> {
    let file = IndexFile::open(&MODEL_FORMAT, record, Verify::AllSections)?;
    let malformed = || file.malformed(FILES_SECTION, "the hashes of the files of the model folder");
    let section = file.section(FILES_SECTION).ok_or_else(malformed)?;
    let found = file_hashes(folder).map_err(|_| malformed())?;
    let mut reader = ByteReader::new(section.as_ref());
    for (name, hash) in found {
        let same =
            reader.sized() == Some(name.as_bytes()) && reader.sized() == Some(hash.as_bytes());
        if !same {
            return Err(malformed());
        }
    }
    if reader.is_empty() {
        Ok(())
    } else {
        Err(malformed())
    }
}
