//! Stages of the cache with a model folder as their result.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ir_core::Progress;
use ir_core::store::{
    AtomicFile, ByteReader, IndexFile, IndexFileWriter, IndexFormat, OpenIndexError, Verify,
    write_sized,
};
use ir_data::DocTemplate;
use ir_dense::train::TrainError;
use serde::Serialize;

use super::examples::ExampleSource;
use crate::cache::Stage;
use crate::entries::bm25::expansion::encoder::training::training_error;
use crate::error::{SpecError, SystemError};
use crate::hash::ContentHash;
use crate::hash::file_hash;
use crate::observer::StageReport;
use crate::system::SystemContext;
use crate::systems::model_folder::files_of;

/// Record of a cached model folder `KEY`, in the file `KEY.ir`: names and hashes of its files.
const MODEL_FORMAT: IndexFormat = IndexFormat {
    magic: *b"IREXPMOD",
    version: 1,
    name: "record of a cached model",
    large_sections: &[],
};

const FILES_SECTION: &str = "files";

/// Extension of the folder of the checkpoints, beside the model folder.
const CHECKPOINTS: &str = "checkpoints";

/// Stage with a model folder as its result.
pub(in crate::systems) struct ModelStage {
    /// Cache key, a hash of everything that the model depends on.
    pub(in crate::systems) key: String,
    /// Description for plans and progress.
    pub(in crate::systems) description: String,
}

impl ModelStage {
    /// Stage of a training. `base` is the content of the model before training, `template` renders
    /// the documents, and `parameters` determine the weights together with the examples.
    pub(in crate::systems) fn trained(
        context: &SystemContext<'_>,
        source: ExampleSource<'_>,
        base: &str,
        template: &DocTemplate,
        parameters: &impl Serialize,
        description: String,
    ) -> Result<Self, SystemError> {
        let parameters = serde_json::to_string(parameters);
        let parameters = parameters.map_err(SystemError::stage("serialization"))?;
        let mut hash = ContentHash::default();
        hash.text(&parameters)
            .text(base)
            .text(&template.to_string());
        source.labeled(context)?.hash(&mut hash);
        Ok(Self {
            key: context.key(Stage::Model, &format!("trained {}", hash.finish())),
            description,
        })
    }

    /// Report of the stage, without computing it.
    pub(in crate::systems) fn planned(&self, context: &SystemContext<'_>) -> StageReport {
        context.planned(Stage::Model, &self.key, &self.description)
    }

    /// Opens the model folder of the stage, which `create` creates.
    pub(in crate::systems) fn open(
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
                let removed = if folder.exists() {
                    // Of a start that was killed before it wrote the record, or damaged.
                    fs::remove_dir_all(&folder)
                } else {
                    Ok(())
                };
                let failed = |source| SpecError::Write {
                    path: folder.clone(),
                    source,
                };
                removed.map_err(failed)?;
                create(context, &folder)?;
                write_record(record, &folder).map_err(failed)?;
                let _ = fs::remove_dir_all(folder.with_extension(CHECKPOINTS));
                Ok(())
            },
        )
    }
}

/// Trains a model with checkpoints beside its folder, which an interrupted training resumes from.
/// `train` receives the folder of the checkpoints and the receiver of progress. Training starts
/// again if a checkpoint is damaged.
pub(in crate::systems) fn train<T>(
    context: &mut SystemContext<'_>,
    folder: &Path,
    train: impl Fn(&Path, &mut dyn Progress) -> Result<T, TrainError>,
) -> Result<T, SystemError> {
    let checkpoints = folder.with_extension(CHECKPOINTS);
    let mut progress =
        |stage: &str, done: u64, total: Option<u64>| context.observer.report(stage, done, total);
    let mut trained = train(&checkpoints, &mut progress);
    if let Err(error) = &trained
        && is_damaged(error)
    {
        let note = format!("{error}; training starts again");
        let _ = fs::remove_dir_all(&checkpoints);
        trained = train(&checkpoints, &mut progress);
        context.observer.note(&note);
    }
    trained.map_err(training_error)
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
