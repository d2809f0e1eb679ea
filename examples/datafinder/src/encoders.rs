//! Which encoders take part: those of folders that variables name, or a tiny one.

use std::env::var_os;
use std::path::PathBuf;

use anyhow::Result;
use ir_data::Collection;
use ir_knn::LabelledQuery;

use crate::encoder::OffTheShelf;
use crate::systems::System;
use crate::tiny;

/// An encoder before it was trained for the task, and after.
pub struct Encoders {
    before: Option<OffTheShelf>,
    before_is: &'static str,
    after: Option<OffTheShelf>,
    /// What is to be said below the table.
    pub note: &'static str,
}

impl Encoders {
    /// Those of the folders that `IR_MODEL` and `IR_TRAINED` name. Without either, the bundled
    /// collection has a tiny encoder that is trained here and now.
    pub fn open(collection: &Collection, real: bool) -> Result<Self> {
        let text = "{text} [SEP] {title}".parse()?;
        let [before, after] =
            ["IR_MODEL", "IR_TRAINED"].map(|name| var_os(name).map(PathBuf::from));
        let open = |folder| OffTheShelf::open(folder, collection, &text);
        if before.is_none() && after.is_none() && !real {
            let folder = tempfile::tempdir()?;
            tiny::train(collection, &text, folder.path())?;
            return Ok(Self {
                before: Some(open(folder.path().join("untrained"))?),
                before_is: "untrained encoder",
                after: Some(open(folder.path().join("trained"))?),
                note: NOTE_TINY,
            });
        }
        Ok(Self {
            note: match (&before, &after) {
                (None, None) => NOTE_NONE,
                (Some(_), None) => NOTE_UNTRAINED,
                (_, Some(_)) => "",
            },
            before: before.map(open).transpose()?,
            before_is: "off-the-shelf encoder",
            after: after.map(open).transpose()?,
        })
    }

    /// `training` is in the form of the queries that will be asked.
    pub fn systems(&self, training: &[LabelledQuery]) -> Result<Vec<System<'_>>> {
        let mut systems = Vec::new();
        if let Some(encoder) = &self.before {
            systems.push(encoder.knn(training)?);
            systems.push(encoder.by_text(self.before_is));
        }
        if let Some(encoder) = &self.after {
            systems.push(encoder.by_text("bi-encoder"));
        }
        Ok(systems)
    }
}

const NOTE_TINY: &str = "
The encoder has one layer of 64 dimensions and began with random weights; the bi-encoder is what
training made of it, on the training queries in both forms and the titles of the datasets' papers.
IR_MODEL names the folder of another encoder, IR_TRAINED that of one that was trained.";

const NOTE_UNTRAINED: &str = "
There is no bi-encoder here: IR_TRAINED names the folder of one that `ir train` or the example
datafinder-ablations has trained.";

const NOTE_NONE: &str = "
There is no encoder here: IR_MODEL names the folder of one, IR_TRAINED that of one that `ir train`
or the example datafinder-ablations has trained.";
