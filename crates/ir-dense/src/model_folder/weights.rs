//! Reader of weight files.

use std::borrow::Cow;
use std::collections::HashMap;
use std::error::Error;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use half::{bf16, f16};
use pytorch_reader::PytorchReader;
use safetensors::SafeTensors;
use safetensors::tensor::Metadata;

use super::{check_link, is_lfs_pointer};
use crate::ModelError;

/// Source of the tensors of a model.
pub(crate) trait TensorSource {
    /// Names of all tensors; empty if the source has every name.
    fn names(&self) -> Vec<String>;

    /// Returns the elements of a tensor, row-major.
    fn take(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, ModelError>;
}

/// Weight file; tensors are converted to f32 when they are read.
pub(crate) struct WeightFile {
    path: PathBuf,
    format: WeightFormat,
}

enum WeightFormat {
    SafeTensors {
        bytes: Vec<u8>,
        /// Offset of the tensors.
        start: usize,
        header: Metadata,
    },
    Pytorch(PytorchReader),
}

impl WeightFile {
    /// Opens `model.safetensors`, or else `pytorch_model.bin`.
    pub(crate) fn open(folder: &Path) -> Result<Self, ModelError> {
        let path = folder.join("model.safetensors");
        if path.exists() {
            return Self::open_safetensors(path);
        }
        let path = folder.join("pytorch_model.bin");
        if path.exists() {
            return Self::open_pytorch(path);
        }
        for name in ["model.safetensors", "pytorch_model.bin"] {
            check_link(&folder.join(name))?;
            let path = folder.join(format!("{name}.index.json"));
            if path.exists() {
                return Err(ModelError::Sharded { path });
            }
        }
        Err(ModelError::MissingFile {
            folder: folder.into(),
            expected: "model.safetensors or pytorch_model.bin",
        })
    }

    /// Opens a safetensors file.
    pub(crate) fn open_safetensors(path: PathBuf) -> Result<Self, ModelError> {
        let bytes = fs::read(&path).map_err(|source| ModelError::Read {
            path: path.clone(),
            source,
        })?;
        if is_lfs_pointer(&bytes) {
            return Err(ModelError::Pointer { path });
        }
        if let Some(expected) = length_in_header(&bytes)
            && expected != bytes.len() as u64
        {
            let (expected, found) = (format!("{expected} as in its header"), bytes.len());
            return Err(ModelError::setting(
                &path,
                "number of bytes",
                expected,
                found,
            ));
        }
        let metadata = SafeTensors::read_metadata(&bytes);
        let (length, header) = metadata.map_err(|error| invalid(&path, error))?;
        let format = WeightFormat::SafeTensors {
            bytes,
            start: 8 + length,
            header,
        };
        Ok(Self { path, format })
    }

    fn open_pytorch(path: PathBuf) -> Result<Self, ModelError> {
        let mut first = [0; 23];
        let read = File::open(&path).and_then(|mut file| file.read_exact(&mut first));
        match read {
            Err(source) if source.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(invalid(&path, source));
            }
            Err(source) => return Err(ModelError::Read { path, source }),
            Ok(()) if is_lfs_pointer(&first) => return Err(ModelError::Pointer { path }),
            Ok(()) => {}
        }
        let reader = PytorchReader::new(&path).map_err(|error| invalid(&path, error))?;
        let format = WeightFormat::Pytorch(reader);
        Ok(Self { path, format })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns a metadata value of a safetensors file.
    pub(crate) fn metadata(&self, name: &str) -> Option<&str> {
        match &self.format {
            WeightFormat::SafeTensors { header, .. } => {
                header.metadata().as_ref()?.get(name).map(String::as_str)
            }
            WeightFormat::Pytorch(_) => None,
        }
    }

    /// Returns the bytes of a tensor as stored in the file.
    pub(crate) fn raw(&self, name: &str) -> Result<Cow<'_, [u8]>, ModelError> {
        match &self.format {
            WeightFormat::SafeTensors {
                bytes,
                start,
                header,
            } => {
                let info = header.info(name).ok_or_else(|| self.missing(name))?;
                let (from, to) = info.data_offsets;
                let data = bytes.get(start + from..start + to);
                Ok(data.ok_or_else(|| self.missing(name))?.into())
            }
            WeightFormat::Pytorch(reader) => {
                let tensor = reader.get(name).ok_or_else(|| self.missing(name))?;
                let data = tensor.read().map_err(|error| invalid(&self.path, error))?;
                Ok(data.into())
            }
        }
    }

    /// Returns the element type of a tensor in lower case, such as `bf16`, and its shape.
    fn info(&self, name: &str) -> Result<(String, &[usize]), ModelError> {
        let info = match &self.format {
            WeightFormat::SafeTensors { header, .. } => header
                .info(name)
                .map(|info| (format!("{:?}", info.dtype), &info.shape[..])),
            WeightFormat::Pytorch(reader) => reader
                .get(name)
                .map(|tensor| (format!("{:?}", tensor.dtype()), tensor.shape())),
        };
        let (element, shape) = info.ok_or_else(|| self.missing(name))?;
        Ok((element.to_lowercase(), shape))
    }

    fn missing(&self, name: &str) -> ModelError {
        ModelError::Tensor {
            path: self.path.clone(),
            tensor: name.into(),
        }
    }
}

impl TensorSource for WeightFile {
    fn names(&self) -> Vec<String> {
        match &self.format {
            WeightFormat::SafeTensors { header, .. } => header.offset_keys(),
            WeightFormat::Pytorch(reader) => reader.keys(),
        }
    }

    fn take(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, ModelError> {
        // Invalid tensors are rejected before their elements are read.
        let (element, found) = self.info(name)?;
        if found != shape {
            let (field, found) = (format!("shape of {name}"), format!("{found:?}"));
            let expected = format!("{shape:?} as in the configuration");
            return Err(ModelError::setting(&self.path, field, expected, found));
        }
        let convert: fn(&[u8]) -> Vec<f32> = match &*element {
            "f64" => |bytes| floats(bytes, |b| f64::from_le_bytes(b) as f32),
            "f32" => |bytes| floats(bytes, f32::from_le_bytes),
            "f16" => |bytes| floats(bytes, |b| f16::from_le_bytes(b).to_f32()),
            "bf16" => |bytes| floats(bytes, |b| bf16::from_le_bytes(b).to_f32()),
            _ => {
                let (field, expected) =
                    (format!("element type of {name}"), "f32, f16, bf16 or f64");
                return Err(ModelError::setting(&self.path, field, expected, element));
            }
        };
        let values = convert(&self.raw(name)?);
        match values.iter().position(|value| !value.is_finite()) {
            None => Ok(values),
            Some(index) => {
                let (field, value) = (format!("element {index} of {name}"), values[index]);
                Err(ModelError::setting(
                    &self.path,
                    field,
                    "a finite number",
                    value,
                ))
            }
        }
    }
}

fn invalid(path: &Path, source: impl Into<Box<dyn Error + Send + Sync>>) -> ModelError {
    ModelError::Weights {
        path: path.into(),
        source: source.into(),
    }
}

/// Converts elements of `N` bytes.
fn floats<const N: usize>(bytes: &[u8], convert: impl Fn([u8; N]) -> f32) -> Vec<f32> {
    let (elements, _) = bytes.as_chunks::<N>();
    elements.iter().map(|&element| convert(element)).collect()
}

/// Length of a safetensors file according to its header; `None` without a header. The error of the
/// library does not have it.
fn length_in_header(bytes: &[u8]) -> Option<u64> {
    /// Tensor, or `__metadata__`, which has no offsets.
    #[derive(serde::Deserialize)]
    struct HeaderEntry {
        #[serde(default)]
        data_offsets: (u64, u64),
    }
    let (length, rest) = bytes.split_first_chunk::<8>()?;
    let length = u64::from_le_bytes(*length);
    let header = rest.get(..usize::try_from(length).ok()?)?;
    let header: HashMap<String, HeaderEntry> = serde_json::from_slice(header).ok()?;
    let last = header.values().map(|entry| entry.data_offsets.1).max()?;
    last.checked_add(8)?.checked_add(length)
}
