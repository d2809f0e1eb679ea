//! Reader of weight files.

use std::collections::HashMap;
use std::error::Error;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use half::{bf16, f16};
use pytorch_reader::PytorchReader;
use safetensors::tensor::Metadata;
use safetensors::{SafeTensorError, SafeTensors};

use super::{check_link, is_lfs_pointer};
use crate::ModelError;

/// Bytes that are read of a tensor at once: a multiple of the size of every element type.
const CHUNK_BYTES: u64 = 1 << 18;
/// Maximum length of the header of a safetensors file, that of the library.
const MAX_HEADER_BYTES: u64 = 100_000_000;

/// Source of the tensors of a model.
pub(crate) trait TensorSource {
    /// Names of all tensors; empty if the source has every name.
    fn names(&self) -> Vec<String>;

    /// Returns the elements of a tensor, row-major.
    fn take(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, ModelError>;
}

/// Weight file. Tensors are read from the open file and converted to f32 one by one; nothing but
/// the header is kept in memory.
pub(crate) struct WeightFile {
    path: PathBuf,
    format: WeightFormat,
}

enum WeightFormat {
    SafeTensors {
        file: Mutex<File>,
        /// Offset of the tensors.
        start: u64,
        header: Metadata,
    },
    Pytorch(PytorchReader),
}

impl fmt::Debug for WeightFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WeightFile").field(&self.path).finish()
    }
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

    /// Opens a safetensors file and reads its header.
    pub(crate) fn open_safetensors(path: PathBuf) -> Result<Self, ModelError> {
        let (file, length, head) = read_head(&path).map_err(|source| ModelError::Read {
            path: path.clone(),
            source,
        })?;
        if is_lfs_pointer(&head) {
            return Err(ModelError::Pointer { path });
        }
        if let Some(expected) = length_in_header(&head)
            && expected != length
        {
            let expected = format!("{expected} as in its header");
            return Err(ModelError::setting(
                &path,
                "number of bytes",
                expected,
                length,
            ));
        }
        match SafeTensors::read_metadata(&head) {
            // The buffer ends with the header; the length of the file was compared above.
            Ok(_) | Err(SafeTensorError::MetadataIncompleteBuffer) => {}
            Err(error) => return Err(invalid(&path, error)),
        }
        let header: Metadata =
            serde_json::from_slice(&head[8..]).map_err(|error| invalid(&path, error))?;
        let start = head.len() as u64;
        if length != start + header.data_len() as u64 {
            return Err(invalid(&path, SafeTensorError::MetadataIncompleteBuffer));
        }
        let format = WeightFormat::SafeTensors {
            file: Mutex::new(file),
            start,
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
    pub(crate) fn raw(&self, name: &str) -> Result<Vec<u8>, ModelError> {
        let mut bytes = Vec::new();
        self.read(name, |chunk| bytes.extend_from_slice(chunk))?;
        Ok(bytes)
    }

    /// Calls `each` with the bytes of a tensor as stored in the file, in chunks of whole elements.
    fn read(&self, name: &str, mut each: impl FnMut(&[u8])) -> Result<(), ModelError> {
        match &self.format {
            WeightFormat::SafeTensors {
                file,
                start,
                header,
            } => {
                let info = header.info(name).ok_or_else(|| self.missing(name))?;
                let (from, to) = info.data_offsets;
                let (from, to) = (from as u64, to as u64);
                let mut read = || -> io::Result<()> {
                    let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                    file.seek(SeekFrom::Start(start + from))?;
                    let mut buffer = vec![0; CHUNK_BYTES.min(to - from) as usize];
                    let mut at = from;
                    while at < to {
                        let chunk = &mut buffer[..CHUNK_BYTES.min(to - at) as usize];
                        file.read_exact(chunk)?;
                        each(chunk);
                        at += chunk.len() as u64;
                    }
                    Ok(())
                };
                read().map_err(|source| ModelError::Read {
                    path: self.path.clone(),
                    source,
                })
            }
            WeightFormat::Pytorch(reader) => {
                let tensor = reader.get(name).ok_or_else(|| self.missing(name))?;
                each(&tensor.read().map_err(|error| invalid(&self.path, error))?);
                Ok(())
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
        let convert: fn(&[u8], &mut Vec<f32>) = match &*element {
            "f64" => |bytes, out| floats(bytes, out, |b| f64::from_le_bytes(b) as f32),
            "f32" => |bytes, out| floats(bytes, out, f32::from_le_bytes),
            "f16" => |bytes, out| floats(bytes, out, |b| f16::from_le_bytes(b).to_f32()),
            "bf16" => |bytes, out| floats(bytes, out, |b| bf16::from_le_bytes(b).to_f32()),
            _ => {
                let (field, expected) =
                    (format!("element type of {name}"), "f32, f16, bf16 or f64");
                return Err(ModelError::setting(&self.path, field, expected, element));
            }
        };
        let mut values = match &self.format {
            // The shape was compared with the length of the file.
            WeightFormat::SafeTensors { .. } => Vec::with_capacity(shape.iter().product()),
            WeightFormat::Pytorch(_) => Vec::new(),
        };
        self.read(name, |bytes| convert(bytes, &mut values))?;
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

/// Converts elements of `N` bytes and appends them.
fn floats<const N: usize>(bytes: &[u8], out: &mut Vec<f32>, convert: impl Fn([u8; N]) -> f32) {
    let (elements, _) = bytes.as_chunks::<N>();
    out.extend(elements.iter().map(|&element| convert(element)));
}

/// Opens a safetensors file. Returns the file, its length, and the bytes up to the end of the
/// header: of a file without a valid header, the first bytes.
fn read_head(path: &Path) -> io::Result<(File, u64, Vec<u8>)> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut head = Vec::new();
    (&mut file).take(8).read_to_end(&mut head)?;
    if let Ok(header) = <[u8; 8]>::try_from(&head[..]) {
        let header = u64::from_le_bytes(header);
        // A pointer of Git LFS is text: a header of an impossible length.
        let header = match header {
            ..=MAX_HEADER_BYTES => header,
            _ => 64,
        };
        (&mut file).take(header).read_to_end(&mut head)?;
    }
    Ok((file, length, head))
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
