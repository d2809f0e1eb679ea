//! Selection of the encoders: from environment variables, or a tiny one trained on the spot.

use std::env::var_os;
use std::path::PathBuf;

use anyhow::Result;
use ir_bm25::Index;
use ir_data::Collection;
use ir_knn::TrainingQuery;

use crate::encoder::EncoderSystems;
use crate::progress::ProgressLine;
use crate::systems::System;
use crate::tiny;

/// An encoder without training for the task, and a trained one.
pub struct Encoders {
    untrained: Option<EncoderSystems>,
    untrained_name: &'static str,
    trained: Option<EncoderSystems>,
    /// Note below the table.
    pub note: &'static str,
}

impl Encoders {
    /// Opens the model folders `IR_MODEL` and `IR_TRAINED`. Without either, trains a tiny encoder
    /// on the bundled collection.
    pub fn open(collection: &Collection, real: bool) -> Result<Self> {
        let text = "{text} [SEP] {title}".parse()?;
        let [untrained, trained] =
            ["IR_MODEL", "IR_TRAINED"].map(|name| var_os(name).map(PathBuf::from));
        let open = |folder| EncoderSystems::open(folder, collection, &text);
        if untrained.is_none() && trained.is_none() && !real {
            let folder = tempfile::tempdir()?;
            tiny::train(collection, &text, folder.path(), &mut ProgressLine::new())?;
            return Ok(Self {
                untrained: Some(open(folder.path().join("untrained"))?),
                untrained_name: "untrained encoder",
                trained: Some(open(folder.path().join("trained"))?),
                note: NOTE_TINY,
            });
        }
        Ok(Self {
            note: match (&untrained, &trained) {
                (None, None) => NOTE_NONE,
                (Some(_), None) => NOTE_UNTRAINED,
                (_, Some(_)) => "",
            },
            untrained: untrained.map(open).transpose()?,
            untrained_name: "off-the-shelf encoder",
            trained: trained.map(open).transpose()?,
        })
    }

    /// Systems of the encoders, and the hybrid of BM25 and the trained encoder (without one, the
    /// untrained). `training` has the same form as the test queries.
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
        }
        if let Some(encoder) = self.trained.as_ref().or(self.untrained.as_ref()) {
            systems.push(encoder.hybrid(index)?);
        }
        Ok(systems)
    }
}

const NOTE_TINY: &str = "
The untrained encoder has one layer of 64 dimensions and random weights. The bi-encoder is the same
model, trained on the training queries in both forms and on the titles of the datasets' papers.
Set IR_MODEL and IR_TRAINED to model folders to use other encoders.";

const NOTE_UNTRAINED: &str = "
No trained bi-encoder: set IR_TRAINED to a model folder written by `ir train` or by the example
datafinder-ablations.";

const NOTE_NONE: &str = "
No encoder: set IR_MODEL to a model folder, and IR_TRAINED to one written by `ir train` or by the
example datafinder-ablations.";
