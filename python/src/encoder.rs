//! Classes of encoders and of cross-encoders.

use std::path::PathBuf;
use std::sync::OnceLock;

use ir_core::{Encoder as _, Flow, Progress, Side};
use ir_dense::{
    BiEncoder, CrossEncoder as CoreCrossEncoder, CrossEncoderConfig, EncoderConfig, ModelFolder,
};
use numpy::{IntoPyArray, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::{invalid, raise};
use crate::evaluation::from_json;
use crate::work::{detached, interruptible};

/// Texts that are encoded between two looks for Ctrl-C.
const TEXTS: usize = 512;

/// Texts that are encoded without looking for Ctrl-C, which costs the start of a thread.
const FEW_TEXTS: usize = 8;

// Python aligns objects to 16 bytes. Models have buffers that are aligned to cache lines.
const _: () = assert!(align_of::<Encoder>() <= 16 && align_of::<CrossEncoder>() <= 16);

/// Encoder of texts as vectors. `irrs.Encoder` describes it.
#[pyclass(frozen, module = "irrs._irrs")]
#[derive(Debug)]
pub(crate) struct Encoder {
    encoder: Box<BiEncoder>,
    config: EncoderConfig,
    folder: PathBuf,
    /// Prompts of queries and of documents.
    prompts: [String; 2],
    /// Encoder without prompts, opened when it is first used.
    plain: OnceLock<Box<BiEncoder>>,
}

/// Overrides fields of a configuration by members of a JSON object, also within tables.
pub(crate) fn with_overrides<T: Serialize + DeserializeOwned>(
    name: &str,
    base: &T,
    overrides: &str,
) -> PyResult<T> {
    fn merge(base: &mut Value, overrides: Value) {
        match (base, overrides) {
            (Value::Object(base), Value::Object(overrides)) => {
                for (key, value) in overrides {
                    merge(base.entry(key).or_insert(Value::Null), value);
                }
            }
            (base, value) => *base = value,
        }
    }
    let mut merged = serde_json::to_value(base).map_err(raise)?;
    merge(&mut merged, from_json(name, overrides)?);
    serde_json::from_value(merged).map_err(|error| invalid(format!("{name}: {error}")))
}

#[pymethods]
impl Encoder {
    /// Opens a model: a folder, or a name in the cache of the Hugging Face hub. `config` is JSON of
    /// an encoder configuration.
    #[new]
    fn new(py: Python<'_>, model: PathBuf, config: String) -> PyResult<Self> {
        interruptible(py, None, None, move |_| {
            let found = ModelFolder::find(&model).map_err(raise)?;
            let base = found.known.map(|known| known.config()).unwrap_or_default();
            let config: EncoderConfig = with_overrides("encoder", &base, &config)?;
            let encoder = BiEncoder::open_with(&found.folder, &config).map_err(raise)?;
            let prompts =
                [Side::Query, Side::Document].map(|side| encoder.fingerprint(side).prefix);
            Ok(Self {
                encoder: Box::new(encoder),
                config,
                folder: found.folder,
                prompts,
                plain: OnceLock::new(),
            })
        })
    }

    /// Encodes texts of a side: "query", "document", or "" for texts without a prompt.
    #[pyo3(signature = (texts, side, threads = None, progress = None))]
    fn encode<'py>(
        &self,
        py: Python<'py>,
        texts: Vec<String>,
        side: &str,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let (rows, dim) = (texts.len(), self.encoder.dim());
        let (encoder, side) = match side {
            "query" => (&*self.encoder, Side::Query),
            "document" => (&*self.encoder, Side::Document),
            "" => (self.without_prompt()?, Side::Document),
            other => {
                return Err(invalid(format!(
                    "side: expected query or document, found {other:?}"
                )));
            }
        };
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let values = if rows <= FEW_TEXTS && threads.is_none() {
            detached(py, || encoder.encode(side, &texts))?.map_err(raise)?
        } else {
            interruptible(py, threads, progress, |task| {
                let mut values = vec![0.0; rows * dim];
                let mut done = 0;
                for (texts, out) in texts.chunks(TEXTS).zip(values.chunks_mut(TEXTS * dim)) {
                    encoder.encode_into(side, texts, out).map_err(raise)?;
                    done += texts.len() as u64;
                    if task.report("encoding", done, Some(rows as u64)) == Flow::Stop {
                        break;
                    }
                }
                Ok(values)
            })?
        };
        values.into_pyarray(py).reshape([rows, dim])
    }

    /// Dimension of the vectors.
    #[getter]
    fn dim(&self) -> usize {
        self.encoder.dim()
    }

    /// Prompts of queries and of documents.
    #[getter]
    fn prompts(&self) -> (&str, &str) {
        (&self.prompts[0], &self.prompts[1])
    }

    /// Maximum sequence lengths in tokens, of queries and of documents.
    #[getter]
    fn max_tokens(&self) -> (usize, usize) {
        (
            self.encoder.max_tokens(Side::Query),
            self.encoder.max_tokens(Side::Document),
        )
    }

    /// Numbers of queries and of documents that were truncated.
    #[getter]
    fn truncated(&self) -> (u64, u64) {
        (
            self.encoder.truncated_texts(Side::Query),
            self.encoder.truncated_texts(Side::Document),
        )
    }

    /// Similarity function of the folder, "cosine" or "dot"; None if it names none.
    #[getter]
    fn similarity(&self) -> Option<&'static str> {
        self.encoder
            .similarity()
            .map(|similarity| match similarity {
                ir_core::VectorSimilarity::Cosine => "cosine",
                ir_core::VectorSimilarity::InnerProduct => "dot",
                ir_core::VectorSimilarity::Euclidean => "euclidean",
            })
    }

    /// Defaults that the folder does not state.
    #[getter]
    fn notes(&self) -> Vec<&str> {
        self.encoder.notes()
    }

    /// Writes the model as a folder that sentence-transformers reads.
    fn save(&self, py: Python<'_>, folder: PathBuf) -> PyResult<()> {
        interruptible(py, None, None, |_| {
            self.encoder.save(&folder).map_err(raise)
        })
    }
}

impl Encoder {
    /// Encoder of texts without a side: documents without their prompt.
    fn without_prompt(&self) -> PyResult<&BiEncoder> {
        if self.prompts[Side::Document as usize].is_empty() {
            return Ok(&self.encoder);
        }
        if let Some(plain) = self.plain.get() {
            return Ok(plain);
        }
        let document = self.config.document.clone().with_prefix("");
        let config = self.config.clone().with_document(document);
        let opened = BiEncoder::open_with(&self.folder, &config).map_err(raise)?;
        Ok(self.plain.get_or_init(|| Box::new(opened)))
    }
}

/// Cross-encoder. `irrs.CrossEncoder` describes it.
#[pyclass(frozen, module = "irrs._irrs")]
#[derive(Debug)]
pub(crate) struct CrossEncoder(Box<CoreCrossEncoder>);

#[pymethods]
impl CrossEncoder {
    /// Opens a model: a folder, or a name in the cache of the Hugging Face hub. `config` is JSON of
    /// its configuration.
    #[new]
    fn new(py: Python<'_>, model: PathBuf, config: String) -> PyResult<Self> {
        interruptible(py, None, None, move |_| {
            let found = ModelFolder::find(&model).map_err(raise)?;
            let config = with_overrides("cross_encoder", &CrossEncoderConfig::default(), &config)?;
            let model = CoreCrossEncoder::open_with(&found.folder, &config).map_err(raise)?;
            Ok(Self(Box::new(model)))
        })
    }

    /// Returns the scores of pairs, float32 of shape [pairs, labels].
    #[pyo3(signature = (pairs, threads = None, progress = None))]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        pairs: Vec<(String, String)>,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let (rows, labels) = (pairs.len(), self.0.labels());
        let scores = interruptible(py, threads, progress, |task| {
            let mut scores = Vec::with_capacity(rows * labels);
            for (n, chunk) in pairs.chunks(TEXTS).enumerate() {
                let chunk: Vec<(&str, &str)> = chunk
                    .iter()
                    .map(|(a, b)| (a.as_str(), b.as_str()))
                    .collect();
                scores.extend(self.0.predict(&chunk).map_err(raise)?.into_iter().flatten());
                let done = (n * TEXTS + chunk.len()) as u64;
                if task.report("scoring", done, Some(rows as u64)) == Flow::Stop {
                    scores.resize(rows * labels, f32::NAN);
                    break;
                }
            }
            Ok(scores)
        })?;
        scores.into_pyarray(py).reshape([rows, labels])
    }

    /// Number of labels: scores per pair.
    #[getter]
    fn labels(&self) -> usize {
        self.0.labels()
    }

    /// Maximum sequence length in tokens.
    #[getter]
    fn max_tokens(&self) -> usize {
        self.0.max_tokens()
    }
}
