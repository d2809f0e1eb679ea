//! Tensors from a file of weights.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use half::{bf16, f16};
use pytorch_reader::PytorchReader;
use safetensors::SafeTensors;
use safetensors::tensor::Metadata;

use crate::{ModelError, folder};

/// Where a model's tensors come from.
pub(crate) trait Tensors {
    /// The names of all tensors, as far as they are fixed.
    fn names(&self) -> Vec<String>;

    /// A tensor's elements, row by row.
    fn take(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, ModelError>;
}

/// Named tensors of a file, converted to 32 bits when they are taken.
pub(crate) struct Weights {
    path: PathBuf,
    source: Source,
}

enum Source {
    SafeTensors {
        bytes: Vec<u8>,
        /// Where the tensors begin.
        start: usize,
        header: Metadata,
    },
    Pytorch(PytorchReader),
}

/// A tensor as it lies in a file.
struct Stored<'a> {
    number: Number,
    shape: Vec<usize>,
    bytes: Cow<'a, [u8]>,
}

/// The types that are converted.
#[derive(Clone, Copy)]
enum Number {
    F64,
    F32,
    F16,
    Bf16,
}

impl Weights {
    /// Opens `model.safetensors`, or else `pytorch_model.bin`.
    pub(crate) fn open(folder: &Path) -> Result<Self, ModelError> {
        let path = folder.join("model.safetensors");
        if path.exists() {
            return Self::safetensors(path);
        }
        let path = folder.join("pytorch_model.bin");
        if path.exists() {
            return Self::pytorch(path);
        }
        for name in ["model.safetensors", "pytorch_model.bin"] {
            folder::dangling(&folder.join(name))?;
            let path = folder.join(format!("{name}.index.json"));
            if path.exists() {
                return Err(ModelError::Sharded { path });
            }
        }
        Err(ModelError::Missing {
            folder: folder.into(),
            expected: "model.safetensors or pytorch_model.bin",
        })
    }

    /// Opens a safetensors file.
    pub(crate) fn safetensors(path: PathBuf) -> Result<Self, ModelError> {
        let bytes = fs::read(&path).map_err(|source| ModelError::Read {
            path: path.clone(),
            source,
        })?;
        if folder::is_pointer(&bytes) {
            return Err(ModelError::Pointer { path });
        }
        if let Some(expected) = promised(&bytes)
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
                source: Source::SafeTensors {
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

    fn pytorch(path: PathBuf) -> Result<Self, ModelError> {
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
            Ok(()) if folder::is_pointer(&first) => return Err(ModelError::Pointer { path }),
            Ok(()) => {}
        }
        match PytorchReader::new(&path) {
            Ok(reader) => Ok(Self {
                path,
                source: Source::Pytorch(reader),
            }),
            Err(source) => Err(ModelError::Weights {
                path,
                source: source.into(),
            }),
        }
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What a safetensors file says about itself under a name.
    pub(crate) fn metadata(&self, name: &str) -> Option<&str> {
        match &self.source {
            Source::SafeTensors { header, .. } => {
                header.metadata().as_ref()?.get(name).map(String::as_str)
            }
            Source::Pytorch(_) => None,
        }
    }

    /// A tensor's bytes as they lie in the file.
    pub(crate) fn raw(&self, name: &str) -> Result<Cow<'_, [u8]>, ModelError> {
        Ok(self.find(name)?.bytes)
    }

    fn find(&self, name: &str) -> Result<Stored<'_>, ModelError> {
        let missing = || ModelError::Tensor {
            path: self.path.clone(),
            tensor: name.into(),
        };
        let wrong = |found: String| ModelError::Type {
            path: self.path.clone(),
            tensor: name.into(),
            found,
        };
        match &self.source {
            Source::SafeTensors {
                bytes,
                start,
                header,
            } => {
                let info = header.info(name).ok_or_else(missing)?;
                let number = match info.dtype {
                    safetensors::Dtype::F64 => Number::F64,
                    safetensors::Dtype::F32 => Number::F32,
                    safetensors::Dtype::F16 => Number::F16,
                    safetensors::Dtype::BF16 => Number::Bf16,
                    other => return Err(wrong(format!("{other:?}").to_lowercase())),
                };
                let (from, to) = info.data_offsets;
                let range = start + from..start + to;
                let data = bytes.get(range).ok_or_else(missing)?;
                Ok(Stored {
                    number,
                    shape: info.shape.clone(),
                    bytes: data.into(),
                })
            }
            Source::Pytorch(reader) => {
                let tensor = reader.get(name).ok_or_else(missing)?;
                let number = match tensor.dtype() {
                    pytorch_reader::DType::F64 => Number::F64,
                    pytorch_reader::DType::F32 => Number::F32,
                    pytorch_reader::DType::F16 => Number::F16,
                    pytorch_reader::DType::BF16 => Number::Bf16,
                    other => return Err(wrong(format!("{other:?}").to_lowercase())),
                };
                let data = tensor.read().map_err(|source| ModelError::Weights {
                    path: self.path.clone(),
                    source: source.into(),
                })?;
                Ok(Stored {
                    number,
                    shape: tensor.shape().into(),
                    bytes: data.into(),
                })
            }
        }
    }
}

impl Tensors for Weights {
    fn names(&self) -> Vec<String> {
        match &self.source {
            Source::SafeTensors { header, .. } => header.offset_keys(),
            Source::Pytorch(reader) => reader.keys(),
        }
    }

    fn take(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, ModelError> {
        let Stored {
            number,
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
        let values = number.convert(&bytes);
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

impl Number {
    fn convert(self, bytes: &[u8]) -> Vec<f32> {
        fn map<const N: usize>(bytes: &[u8], one: impl Fn([u8; N]) -> f32) -> Vec<f32> {
            let (elements, _) = bytes.as_chunks::<N>();
            elements.iter().map(|&element| one(element)).collect()
        }
        match self {
            Self::F64 => map(bytes, |b| f64::from_le_bytes(b) as f32),
            Self::F32 => map(bytes, f32::from_le_bytes),
            Self::F16 => map(bytes, |b| f16::from_le_bytes(b).to_f32()),
            Self::Bf16 => map(bytes, |b| bf16::from_le_bytes(b).to_f32()),
        }
    }
}

/// How long the header of a safetensors file says that the file is; `None` when it has no header.
/// The library says only that the length is wrong.
fn promised(bytes: &[u8]) -> Option<u64> {
    #[derive(serde::Deserialize)]
    struct Place {
        data_offsets: (u64, u64),
    }
    let (length, rest) = bytes.split_first_chunk::<8>()?;
    let length = u64::from_le_bytes(*length);
    let header = rest.get(..usize::try_from(length).ok()?)?;
    let header: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(header).ok()?;
    let ends = header
        .iter()
        .filter(|(name, _)| *name != "__metadata__")
        .map(|(_, place)| serde_json::from_value(place.clone()).map(|p: Place| p.data_offsets.1));
    let last = ends
        .collect::<Result<Vec<u64>, _>>()
        .ok()?
        .into_iter()
        .max()?;
    last.checked_add(8)?.checked_add(length)
}
