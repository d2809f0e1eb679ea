//! Reader of weight files.

use std::borrow::Cow;
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

/// Tensor as stored in a file.
struct StoredTensor<'a> {
    element: FloatType,
    shape: Vec<usize>,
    bytes: Cow<'a, [u8]>,
}

#[derive(Clone, Copy)]
enum FloatType {
    F64,
    F32,
    F16,
    Bf16,
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
            let found = bytes.len() as u64;
            return Err(ModelError::Truncated {
                path,
                expected,
                found,
            });
        }
        match SafeTensors::read_metadata(&bytes) {
            Ok((length, header)) => Ok(Self {
                path,
                format: WeightFormat::SafeTensors {
                    bytes,
                    start: 8 + length,
                    header,
                },
            }),
            Err(source) => Err(ModelError::Weights {
                path,
                source: source.into(),
            }),
        }
    }

    fn open_pytorch(path: PathBuf) -> Result<Self, ModelError> {
        let mut first = [0; 23];
        let read = File::open(&path).and_then(|mut file| file.read_exact(&mut first));
        match read {
            Err(source) if source.kind() == io::ErrorKind::UnexpectedEof => {
                let expected = first.len() as u64;
                return Err(ModelError::Truncated {
                    path,
                    expected,
                    found: 0,
                });
            }
            Err(source) => return Err(ModelError::Read { path, source }),
            Ok(()) if is_lfs_pointer(&first) => return Err(ModelError::Pointer { path }),
            Ok(()) => {}
        }
        match PytorchReader::new(&path) {
            Ok(reader) => Ok(Self {
                path,
                format: WeightFormat::Pytorch(reader),
            }),
            Err(source) => Err(ModelError::Weights {
                path,
                source: source.into(),
            }),
        }
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
        Ok(self.find(name)?.bytes)
    }

    fn find(&self, name: &str) -> Result<StoredTensor<'_>, ModelError> {
        let missing = || ModelError::Tensor {
            path: self.path.clone(),
            tensor: name.into(),
        };
        let unsupported = |found: String| ModelError::Type {
            path: self.path.clone(),
            tensor: name.into(),
            found,
        };
        match &self.format {
            WeightFormat::SafeTensors {
                bytes,
                start,
                header,
            } => {
                let info = header.info(name).ok_or_else(missing)?;
                let element = match info.dtype {
                    safetensors::Dtype::F64 => FloatType::F64,
                    safetensors::Dtype::F32 => FloatType::F32,
                    safetensors::Dtype::F16 => FloatType::F16,
                    safetensors::Dtype::BF16 => FloatType::Bf16,
                    other => return Err(unsupported(format!("{other:?}").to_lowercase())),
                };
                let (from, to) = info.data_offsets;
                let range = start + from..start + to;
                let data = bytes.get(range).ok_or_else(missing)?;
                Ok(StoredTensor {
                    element,
                    shape: info.shape.clone(),
                    bytes: data.into(),
                })
            }
            WeightFormat::Pytorch(reader) => {
                let tensor = reader.get(name).ok_or_else(missing)?;
                let element = match tensor.dtype() {
                    pytorch_reader::DType::F64 => FloatType::F64,
                    pytorch_reader::DType::F32 => FloatType::F32,
                    pytorch_reader::DType::F16 => FloatType::F16,
                    pytorch_reader::DType::BF16 => FloatType::Bf16,
                    other => return Err(unsupported(format!("{other:?}").to_lowercase())),
                };
                let data = tensor.read().map_err(|source| ModelError::Weights {
                    path: self.path.clone(),
                    source: source.into(),
                })?;
                Ok(StoredTensor {
                    element,
                    shape: tensor.shape().into(),
                    bytes: data.into(),
                })
            }
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
        let StoredTensor {
            element,
            shape: found,
            bytes,
        } = self.find(name)?;
        if found != shape {
            return Err(ModelError::Shape {
                path: self.path.clone(),
                tensor: name.into(),
                expected: shape.into(),
                found,
            });
        }
        let values = element.convert(&bytes);
        match values.iter().position(|value| !value.is_finite()) {
            None => Ok(values),
            Some(index) => Err(ModelError::NotFinite {
                path: self.path.clone(),
                tensor: name.into(),
                index,
                value: values[index],
            }),
        }
    }
}

impl FloatType {
    fn convert(self, bytes: &[u8]) -> Vec<f32> {
        fn map<const N: usize>(bytes: &[u8], convert: impl Fn([u8; N]) -> f32) -> Vec<f32> {
            let (elements, _) = bytes.as_chunks::<N>();
            elements.iter().map(|&element| convert(element)).collect()
        }
        match self {
            Self::F64 => map(bytes, |b| f64::from_le_bytes(b) as f32),
            Self::F32 => map(bytes, f32::from_le_bytes),
            Self::F16 => map(bytes, |b| f16::from_le_bytes(b).to_f32()),
            Self::Bf16 => map(bytes, |b| bf16::from_le_bytes(b).to_f32()),
        }
    }
}

/// Length of a safetensors file according to its header; `None` without a header. The error of the
/// library does not have it.
fn length_in_header(bytes: &[u8]) -> Option<u64> {
    #[derive(serde::Deserialize)]
    struct HeaderEntry {
        data_offsets: (u64, u64),
    }
    let (length, rest) = bytes.split_first_chunk::<8>()?;
    let length = u64::from_le_bytes(*length);
    let header = rest.get(..usize::try_from(length).ok()?)?;
    let header: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(header).ok()?;
    let ends = header
        .iter()
        .filter(|(name, _)| *name != "__metadata__")
        .map(|(_, entry)| {
            let entry: Result<HeaderEntry, _> = serde_json::from_value(entry.clone());
            entry.map(|entry| entry.data_offsets.1)
        });
    let last = ends
        .collect::<Result<Vec<u64>, _>>()
        .ok()?
        .into_iter()
        .max()?;
    last.checked_add(8)?.checked_add(length)
}
