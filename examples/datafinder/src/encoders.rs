//! Selection of the encoders: from environment variables, or a tiny one.

use std::env::{VarError, var, var_os};
use std::fs;
use std::path::PathBuf;

use anyhow::{Result, bail};
use ir_bm25::Index;
use ir_core::Progress;
use ir_data::Collection;
use ir_knn::TrainingQuery;
use tempfile::TempDir;

use crate::encoder::EncoderSystems;
use crate::systems::System;
use crate::training::{Recipe, tiny_model};

/// Models, training recipe and working folder.
pub struct Settings {
    /// Model folder to evaluate without training, and to fine-tune.
    pub model: Option<PathBuf>,
    /// Folder of a trained model, instead of fine-tuning.
    pub trained: Option<PathBuf>,
    pub recipe: Recipe,
    /// Folder of checkpoints, trained models and vectors.
    pub work: PathBuf,
}

impl Settings {
    /// Reads `IR_MODEL`, `IR_TRAINED`, `IR_RECIPE` and `IR_WORK`.
    pub fn from_env() -> Result<Self> {
        let path = |name| var_os(name).map(PathBuf::from);
        Ok(Self {
            model: path("IR_MODEL"),
            trained: path("IR_TRAINED"),
            recipe: match var("IR_RECIPE").as_deref() {
                Ok("paper") => Recipe::paper(),
                Ok("small") | Err(VarError::NotPresent) => Recipe::small(),
                other => bail!("IR_RECIPE: expected small or paper, found {other:?}"),
            },
            work: path("IR_WORK").unwrap_or_else(|| "target/datafinder".into()),
        })
    }
}

/// An encoder without training for the task, and a trained one.
pub struct Encoders {
    untrained: Option<EncoderSystems>,
    untrained_name: &'static str,
    trained: Option<EncoderSystems>,
    /// Note below the table.
    pub note: String,
    /// Folder of the tiny encoder.
    _scratch: TempDir,
}

impl Encoders {
    /// Opens the encoders, fine-tunes the model and encodes datasets and queries, as far as no
    /// earlier run did. Without models, the bundled collection has a tiny encoder.
    pub fn open(
        collection: &Collection,
        index: &Index,
        settings: Settings,
        progress: &mut dyn Progress,
    ) -> Result<Self> {
        let text = "{text} [SEP] {title}".parse()?;
        let scratch = tempfile::tempdir()?;
        let no_model = settings.model.is_none() && settings.trained.is_none();
        let tiny = no_model && collection.name() == "bundled";
        let mut settings = settings;
        if tiny {
            let folder = scratch.path().join("untrained");
            tiny_model(collection, &text, &folder)?;
            settings.model = Some(folder);
            settings.recipe = Recipe::tiny();
            settings.work = scratch.path().to_owned();
        } else if !no_model {
            fs::create_dir_all(&settings.work)?;
        }
        let mut note = if no_model {
            NOTE_NONE.to_owned()
        } else {
            String::new()
        };
        if let (Some(model), None) = (&settings.model, &settings.trained) {
            let Settings { recipe, work, .. } = &settings;
            let examples = recipe.examples(collection, index, &text)?;
            let trained = recipe.train(model, &examples, work, progress)?;
            let (before, after) = match tiny {
                true => (
                    NOTE_TINY.to_owned(),
                    "Set IR_MODEL to a model folder to fine-tune another encoder.",
                ),
                false => (
                    format!("The bi-encoder is {},", model.display()),
                    NOTE_PAPER,
                ),
            };
            note = format!("\n{before}\n{}\n{after}", recipe.describe(&examples));
            settings.trained = Some(trained);
        }
        let mut open = |folder: &PathBuf| {
            EncoderSystems::open(folder, collection, &text, &settings.work, progress)
        };
        Ok(Self {
            untrained: settings.model.as_ref().map(&mut open).transpose()?,
            untrained_name: match tiny {
                true => "untrained encoder",
                false => "off-the-shelf encoder",
            },
            trained: settings.trained.as_ref().map(&mut open).transpose()?,
            note,
            _scratch: scratch,
        })
    }

    /// Systems of the encoders, and the hybrid of BM25 and the trained encoder. `training` has the
    /// same form as the test queries.
    pub fn systems<'a>(
        &'a self,
        index: &'a Index,
        training: &[TrainingQuery],
    ) -> Result<Vec<System<'a>>> {
        let mut systems = Vec::new();
        if let Some(encoder) = &self.untrained {
            systems.push(encoder.knn(training)?);
            systems.push(encoder.dense(self.untrained_name));
        }
        if let Some(encoder) = &self.trained {
            systems.push(encoder.dense("bi-encoder"));
            systems.push(encoder.hybrid(index)?);
        }
        Ok(systems)
    }
}

const NOTE_TINY: &str = "\
The untrained encoder has one layer of 64 dimensions and random weights. The bi-encoder is the same,";

const NOTE_PAPER: &str = "\
The paper fine-tunes SciBERT on 17,495 labeled queries; 597 could be reconstructed. IR_RECIPE=paper
selects its hyperparameters.";

const NOTE_NONE: &str = "
No encoder: set IR_MODEL to a model folder, which adds its rows, a fine-tuned bi-encoder and the hybrid.";
