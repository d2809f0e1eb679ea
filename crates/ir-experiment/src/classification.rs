//! kNN classification accuracy of vectors and texts.

use std::path::Path;

use ir_core::Flow;
use ir_core::store::{ByteReader, IndexFormat, write_varint};
use ir_data::{ColumnarFormat, DataError, LineReader, iclr, parser_message};
use ir_knn::{
    Classes, KnnClassifier, Matrix, TfWeighting, TfidfConfig, TfidfVectorizer, TruncatedSvd,
    TruncatedSvdConfig, VectorSimilarity, npy,
};
use ir_system::systems::MetricName;
use ir_system::{
    CACHE_VERSION, Cache, ContentHash, FileHashes, Lookup, Observer, Record, SpecError, Stage,
    StageReport, StageStatus, SystemError, find_or_lock,
};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::file::{ClassificationEntry, Experiment};

/// kNN classification accuracy of an entry of the file.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ClassificationResults {
    /// Name of the classification.
    pub name: String,
    /// Number of classified items.
    pub items: usize,
    /// Number of classes of the classified items.
    pub classes: usize,
    /// Mean accuracy over the folds. Range: 0..=1.
    pub accuracy: f64,
    /// Accuracy of each fold. Range: 0..=1.
    pub folds: Vec<f64>,
}

impl ClassificationResults {
    /// Returns a value by its name in experiment files: `accuracy`, or `fold 1` and so on.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<f64> {
        if name == "accuracy" {
            return Some(self.accuracy);
        }
        let fold: usize = name.strip_prefix("fold ")?.parse().ok()?;
        self.folds.get(fold.checked_sub(1)?).copied()
    }
}

const RECORD: Record = Record {
    stage: Stage::Classification,
    format: IndexFormat {
        magic: *b"IREXPCLS",
        version: 1,
        name: "cached classification",
        large_sections: &[],
    },
};

/// Classifications of an experiment, which are stages of its cache.
pub(crate) struct Classifications<'a> {
    pub(crate) experiment: &'a Experiment,
    pub(crate) cache: &'a Cache,
    pub(crate) hashes: &'a FileHashes,
}

impl Classifications<'_> {
    /// Lists the stage of an entry without computing it.
    pub(crate) fn planned(&self, n: usize) -> Result<StageReport, SpecError> {
        let key = self.key(n)?;
        let status = if self.cache.path(RECORD.stage, &key).exists() {
            StageStatus::Cached
        } else {
            StageStatus::ToDo
        };
        Ok(self.report(n, key, status))
    }

    /// Returns the accuracy of an entry, from the cache if it is there.
    pub(crate) fn classify(
        &self,
        n: usize,
        observer: &mut dyn Observer,
    ) -> Result<ClassificationResults, SpecError> {
        let (entry, key) = (&self.experiment.classifications[n], self.key(n)?);
        let decode = |bytes: &[u8]| decode(bytes, &entry.name);
        let path = self.cache.writable_path(RECORD.stage, &key)?;
        let looked_up = find_or_lock(&path, &entry.name, observer, || {
            self.cache.entry(&RECORD, &key, decode)
        })?;
        let (status, found) = match looked_up {
            Lookup::Found(found) => (StageStatus::Cached, found),
            Lookup::ToCompute { status, lock } => {
                let computed = classify(self.experiment, n, observer)?;
                self.cache.save_entry(&RECORD, &key, &encode(&computed))?;
                drop(lock);
                (status, computed)
            }
        };
        observer.stage(&self.report(n, key, status));
        Ok(found)
    }

    fn report(&self, n: usize, key: String, status: StageStatus) -> StageReport {
        let entry = &self.experiment.classifications[n];
        StageReport {
            task: entry.name.clone(),
            stage: RECORD.stage,
            description: format!("kNN accuracy, k {}, {} folds", entry.k, entry.folds),
            key,
            status,
        }
    }

    /// Cache key: the content of the files and all parameters but the name.
    fn key(&self, n: usize) -> Result<String, SpecError> {
        let (source, entry) = (&self.experiment.source, &self.experiment.classifications[n]);
        let at = format!("classifications[{n}]");
        let key = || -> Result<String, SystemError> {
            let mut parameters = entry.clone();
            parameters.name.clear();
            let mut hash = ContentHash::default();
            hash.number(i64::from(CACHE_VERSION))
                .text(env!("CARGO_PKG_VERSION"))
                .text(RECORD.stage.name());
            for (key, path) in entry.files() {
                let path = source.existing_file(key, path)?;
                let content = self.hashes.get(&path).map_err(|error| {
                    let message = format!("{}: cannot be read: {error}", path.display());
                    SystemError::parameter(key, message)
                })?;
                hash.text(key).text(&content);
            }
            // The content of the files counts, not their paths.
            (parameters.vectors, parameters.texts, parameters.labels) = (None, None, None);
            let parameters = serde_json::to_string(&parameters);
            hash.text(&parameters.map_err(SystemError::stage("serialization"))?);
            Ok(hash.finish())
        };
        key().map_err(|error| source.system_error(&at, error))
    }
}

/// Encodes everything but the name: numbers of items and classes, accuracy, folds.
fn encode(found: &ClassificationResults) -> Vec<u8> {
    let mut bytes = Vec::new();
    for count in [found.items, found.classes, found.folds.len()] {
        write_varint(&mut bytes, count as u64);
    }
    for value in [found.accuracy].iter().chain(&found.folds) {
        bytes.extend(value.to_bits().to_le_bytes());
    }
    bytes
}

fn decode(bytes: &[u8], name: &str) -> Option<ClassificationResults> {
    let mut reader = ByteReader::new(bytes);
    let mut count = || usize::try_from(reader.varint()?).ok();
    let (items, classes, folds) = (count()?, count()?, count()?);
    let mut value = || Some(f64::from_bits(reader.u64()?));
    let accuracy = value()?;
    let mut values = Vec::new();
    for _ in 0..folds {
        values.push(value()?);
    }
    reader.is_empty().then(|| ClassificationResults {
        name: name.to_owned(),
        items,
        classes,
        accuracy,
        folds: values,
    })
}

/// Computes the accuracy of an entry.
fn classify(
    experiment: &Experiment,
    n: usize,
    observer: &mut dyn Observer,
) -> Result<ClassificationResults, SpecError> {
    let entry = &experiment.classifications[n];
    let at = format!("classifications[{n}]");
    let located = |error| experiment.source.system_error(&at, error);
    if observer.report(&format!("classifying {}", entry.name), 0, None) == Flow::Stop {
        return Err(SpecError::Canceled);
    }
    let (mut vectors, labels) = read(experiment, entry).map_err(located)?;
    let (found, expected) = (labels.len(), vectors.view().nrows());
    if found != expected {
        let message = format!("expected {expected} labels, one for each item, found {found}");
        return Err(located(SystemError::parameter("labels", message)));
    }
    let is_labeled = |row: &usize| labels[*row] != entry.unlabeled;
    let rows: Vec<usize> = (0..labels.len()).filter(is_labeled).collect();
    vectors = vectors.select_rows(&rows);
    if entry.normalize {
        vectors.normalize_rows();
    }
    let classes = Classes::new(rows.iter().map(|&row| &labels[row]));
    let metric = match entry.metric {
        MetricName::Cosine => VectorSimilarity::Cosine,
        MetricName::Euclidean => VectorSimilarity::Euclidean,
    };
    let knn = KnnClassifier::new(entry.k).with_metric(metric);
    let accuracy = knn.cross_validate(vectors.view(), &classes, entry.folds);
    let accuracy =
        accuracy.map_err(|error| located(SystemError::stage("classification")(error)))?;
    Ok(ClassificationResults {
        name: entry.name.clone(),
        items: rows.len(),
        classes: classes.names().len(),
        accuracy: accuracy.mean(),
        folds: accuracy.folds,
    })
}

/// Vectors and class of each item.
fn read(
    experiment: &Experiment,
    entry: &ClassificationEntry,
) -> Result<(Matrix, Vec<String>), SystemError> {
    let path = |key: &str, path: &str| experiment.source.existing_file(key, path);
    let failed = |error: DataError| SystemError::stage("reading")(error);
    let labels = match &entry.labels {
        None => None,
        Some(file) => {
            let path = path("labels", file)?;
            let name = path.display().to_string();
            let mut lines = LineReader::new(ir_data::open(&path).map_err(failed)?, &name);
            let mut labels = Vec::new();
            while let Some(line) = lines.read().map_err(failed)? {
                labels.push(line.text.trim_end_matches('\r').to_owned());
            }
            Some(labels)
        }
    };
    if let Some(file) = &entry.vectors {
        let path = path("vectors", file)?;
        let reader = ir_data::open(&path).map_err(failed)?;
        let rows = npy::read(reader, &path.display().to_string());
        let rows = rows.map_err(SystemError::stage("reading"))?;
        return Ok((Matrix::Dense(rows), labels.unwrap_or_default()));
    }
    let path = path("texts", entry.texts.as_deref().unwrap_or_default())?;
    if ColumnarFormat::detect(&path).map_err(failed)?.is_some() {
        let (texts, own) = papers(entry, &path)?;
        return Ok((vectorize(entry, &texts)?, labels.unwrap_or(own)));
    }
    let name = path.display().to_string();
    let mut lines = LineReader::new(ir_data::open(&path).map_err(failed)?, &name);
    let (mut texts, mut own) = (Vec::new(), Vec::new());
    while let Some(line) = lines.read().map_err(failed)? {
        if line.text.trim().is_empty() {
            continue;
        }
        let at = format!("{name}:{}", line.number);
        let object: Result<Map<String, Value>, _> = serde_json::from_str(line.text);
        let object = object.map_err(|error| {
            let error = parser_message(&error.to_string(), "an object");
            let message = format!("{at}: expected a JSON object: {error}");
            SystemError::parameter("texts", message)
        })?;
        let field = |key: &str, field: &str| match object.get(field).and_then(Value::as_str) {
            Some(value) => Ok(value.to_owned()),
            None => {
                let message = format!("{at}: expected text in the field {field:?}, found none");
                Err(SystemError::parameter(key, message))
            }
        };
        texts.push(field("text_field", &entry.text_field)?);
        if labels.is_none() {
            own.push(field("label_field", &entry.label_field)?);
        }
    }
    Ok((vectorize(entry, &texts)?, labels.unwrap_or(own)))
}

/// Texts and classes of the papers in a file of the ICLR dataset.
fn papers(
    entry: &ClassificationEntry,
    path: &Path,
) -> Result<(Vec<String>, Vec<String>), SystemError> {
    let is_title = match entry.text_field.as_str() {
        "text" | "abstract" => false,
        "title" => true,
        other => {
            let message = format!("expected abstract or title, found {other:?}");
            return Err(SystemError::parameter("text_field", message));
        }
    };
    let papers = iclr::read(path).map_err(SystemError::stage("reading"))?;
    let papers = papers.into_iter().map(|paper| {
        let text = if is_title { paper.title } else { paper.text };
        (text, paper.class)
    });
    Ok(papers.unzip())
}

fn vectorize(entry: &ClassificationEntry, texts: &[String]) -> Result<Matrix, SystemError> {
    let mut config = TfidfConfig::default();
    if entry.sublinear {
        config = config.with_tf(TfWeighting::Sublinear);
    }
    let fitted = TfidfVectorizer::fit_transform(texts, &config);
    let (_, rows) = fitted.map_err(SystemError::stage("TF-IDF"))?;
    let Some(components) = entry.components else {
        return Ok(Matrix::Sparse(rows));
    };
    let failed = "latent semantic indexing";
    let svd = TruncatedSvd::fit(&rows, &TruncatedSvdConfig::new(components));
    let svd = svd.map_err(SystemError::stage(failed))?;
    let rows = svd.transform(&rows).map_err(SystemError::stage(failed))?;
    Ok(Matrix::Dense(rows))
}
