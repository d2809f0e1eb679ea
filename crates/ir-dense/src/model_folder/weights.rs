//! Reader of weight files.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::error::Error;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use half::{bf16, f16};
use ir_core::store::{IndexBytes, SectionBytes};
use pytorch_reader::PytorchReader;
use safetensors::tensor::Metadata;
use safetensors::{SafeTensorError, SafeTensors};

use super::{TensorValues, check_link, inner_path, is_lfs_pointer, read_json};
use crate::error::ModelError;

/// Maximum length of the header of a safetensors file, as in the library.
const MAX_HEADER_BYTES: u64 = 100_000_000;

/// Index of sharded safetensors files.
pub(crate) const SAFETENSORS_INDEX: &str = "model.safetensors.index.json";

/// Source of the tensors of a model.
pub(crate) trait TensorSource {
    /// Names of all tensors; empty if the source has every name.
    fn names(&self) -> Vec<String>;

    /// Returns the elements of a tensor, row-major.
    fn tensor(&self, name: &str, shape: &[usize]) -> Result<TensorValues, ModelError>;

    /// Returns a copy of the elements of a tensor, row-major.
    fn take(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, ModelError> {
        Ok(self.tensor(name, shape)?.into_vec())
    }
}

/// Adapter of a [`WeightFile`]: changes its tensors when they are read, or has tensors of its own.
pub(crate) trait WeightAdapter: Send + Sync {
    /// File of the adapter.
    fn path(&self) -> &Path;

    /// Checks shapes and element types of the change of a tensor.
    fn check(&self, _name: &str, _shape: &[usize]) -> Result<(), ModelError> {
        Ok(())
    }

    /// Returns the changed elements of a tensor.
    fn apply(
        &self,
        _name: &str,
        _shape: &[usize],
        values: TensorValues,
    ) -> Result<TensorValues, ModelError> {
        Ok(values)
    }

    /// Returns the file of a tensor of the adapter, and the name of the tensor in it; `None` for
    /// the tensors of the base model.
    fn own<'a>(&'a self, _name: &'a str) -> Option<(&'a WeightFile, &'a str)> {
        None
    }

    /// Returns an error if the adapter has tensors of layers that were not read.
    fn check_unread(&self) -> Result<(), ModelError> {
        Ok(())
    }
}

/// Weight file, or sharded safetensors files with their index. A safetensors file is memory-mapped:
/// its f32 tensors are used in place. Tensors of other element types and of PyTorch files are read
/// and converted one by one.
///
/// As with an index file, the bytes of a mapped file must not change while it is open. Writers of
/// this crate and downloads replace files atomically.
pub(crate) struct WeightFile {
    path: PathBuf,
    format: WeightFormat,
    /// Names of the tensors that were read.
    read: Mutex<BTreeSet<String>>,
    pub(super) adapter: Option<Box<dyn WeightAdapter>>,
}

enum WeightFormat {
    SafeTensors {
        bytes: IndexBytes,
        /// Offset of the tensors.
        start: usize,
        header: Metadata,
    },
    Pytorch(PytorchReader),
    /// Index of sharded safetensors files.
    Shards {
        files: Vec<WeightFile>,
        /// Index in `files` of every tensor.
        tensors: BTreeMap<String, usize>,
    },
}

/// `model.safetensors.index.json`.
#[derive(serde::Deserialize)]
struct ShardIndex {
    /// File name of every tensor.
    weight_map: BTreeMap<String, String>,
}

/// Returns `true` if a folder has weights, or a link to them.
pub(super) fn has_weights(folder: &Path) -> bool {
    let names = ["model.safetensors", SAFETENSORS_INDEX, "pytorch_model.bin"];
    names
        .iter()
        .any(|name| folder.join(name).symlink_metadata().is_ok())
}

/// Returns the file names of the shards in an index, sorted; `None` if there is no such file.
pub(crate) fn shard_names(index: &Path) -> Result<Option<Vec<String>>, ModelError> {
    let index = read_json::<ShardIndex>(index)?;
    Ok(index.map(|index| {
        let mut names: Vec<String> = index.weight_map.into_values().collect();
        names.sort_unstable();
        names.dedup();
        names
    }))
}

impl fmt::Debug for WeightFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WeightFile").field(&self.path).finish()
    }
}

/// Endings of the names of tensors in layers that are not weights.
const BUFFERS: [&str; 3] = ["inv_freq", "position_ids", "masked_bias"];

impl WeightFile {
    fn new(path: PathBuf, format: WeightFormat) -> Self {
        Self {
            path,
            format,
            read: Mutex::default(),
            adapter: None,
        }
    }

    /// Opens `model.safetensors`, or else the files of `model.safetensors.index.json`, or else
    /// `pytorch_model.bin`, without an adapter.
    pub(super) fn open_base(folder: &Path) -> Result<Self, ModelError> {
        let path = folder.join("model.safetensors");
        if path.exists() {
            return Self::open_safetensors(path);
        }
        check_link(&path)?;
        let path = folder.join(SAFETENSORS_INDEX);
        if let Some(index) = read_json::<ShardIndex>(&path)? {
            return Self::open_shards(path, index);
        }
        let path = folder.join("pytorch_model.bin");
        if path.exists() {
            return Self::open_pytorch(path);
        }
        check_link(&path)?;
        let path = folder.join("pytorch_model.bin.index.json");
        if path.exists() {
            return Err(ModelError::Sharded { path });
        }
        Err(ModelError::MissingFile {
            folder: folder.into(),
            expected: "model.safetensors or pytorch_model.bin",
        })
    }

    /// Maps a safetensors file and reads its header.
    pub(crate) fn open_safetensors(path: PathBuf) -> Result<Self, ModelError> {
        let bytes = map_file(&path).map_err(|source| ModelError::Read {
            path: path.clone(),
            source,
        })?;
        let length = bytes.as_ref().len();
        let head = head(bytes.as_ref());
        if is_lfs_pointer(head) {
            return Err(ModelError::Pointer { path });
        }
        if let Some(expected) = length_in_header(head)
            && expected != length as u64
        {
            let expected = format!("{expected} as in its header");
            return Err(ModelError::setting(
                &path,
                "number of bytes",
                expected,
                length,
            ));
        }
        match SafeTensors::read_metadata(head) {
            // The buffer ends with the header; the length of the file was compared above.
            Ok(_) | Err(SafeTensorError::MetadataIncompleteBuffer) => {}
            Err(error) => return Err(invalid(&path, error)),
        }
        let header: Metadata =
            serde_json::from_slice(&head[8..]).map_err(|error| invalid(&path, error))?;
        let start = head.len();
        if length != start + header.data_len() {
            return Err(invalid(&path, SafeTensorError::MetadataIncompleteBuffer));
        }
        let format = WeightFormat::SafeTensors {
            bytes,
            start,
            header,
        };
        Ok(Self::new(path, format))
    }

    /// Opens the files of an index of sharded safetensors files.
    fn open_shards(path: PathBuf, index: ShardIndex) -> Result<Self, ModelError> {
        let folder = path.parent().unwrap_or(&path);
        let mut files: Vec<Self> = Vec::new();
        let mut tensors = BTreeMap::new();
        let mut opened: HashMap<String, usize> = HashMap::new();
        for (tensor, name) in index.weight_map {
            let number = match opened.get(&name) {
                Some(&number) => number,
                None => {
                    let field = || format!("file of tensor {tensor}");
                    let file = inner_path(&path, folder, &name, field)?;
                    check_link(&file)?;
                    files.push(Self::open_safetensors(file)?);
                    opened.insert(name, files.len() - 1);
                    files.len() - 1
                }
            };
            files[number].info(&tensor)?;
            tensors.insert(tensor, number);
        }
        Ok(Self::new(path, WeightFormat::Shards { files, tensors }))
    }

    pub(super) fn open_pytorch(path: PathBuf) -> Result<Self, ModelError> {
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
        Ok(Self::new(path, WeightFormat::Pytorch(reader)))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Format, and paths of the files with tensors; the adapter is last.
    pub(crate) fn files(&self) -> (&'static str, Vec<&Path>) {
        let (format, mut paths) = match &self.format {
            WeightFormat::SafeTensors { .. } => ("safetensors", vec![self.path()]),
            WeightFormat::Pytorch(_) => ("PyTorch", vec![self.path()]),
            WeightFormat::Shards { files, .. } => {
                let files = files.iter().map(Self::path).collect();
                ("sharded safetensors", files)
            }
        };
        paths.extend(self.adapter_path());
        (format, paths)
    }

    /// Path of the weights of the adapter.
    pub(crate) fn adapter_path(&self) -> Option<&Path> {
        self.adapter.as_deref().map(WeightAdapter::path)
    }

    /// File of a tensor of the adapter, and the name of the tensor in it.
    fn own_of_adapter<'a>(&'a self, name: &'a str) -> Option<(&'a Self, &'a str)> {
        self.adapter.as_deref().and_then(|it| it.own(name))
    }

    /// Number of elements of all tensors by element type.
    pub(crate) fn element_counts(&self) -> Result<BTreeMap<String, u64>, ModelError> {
        let mut counts = BTreeMap::new();
        for name in self.names() {
            let (element, shape) = self.info(&name)?;
            *counts.entry(element).or_default() +=
                shape.iter().map(|&it| it as u64).product::<u64>();
        }
        Ok(counts)
    }

    /// Returns an error if layers have a tensor that was not read: the model computes something
    /// that the configuration does not describe.
    pub(crate) fn check_unread(&self) -> Result<(), ModelError> {
        let unread = self.unread_of_layers();
        match unread.first() {
            None => self
                .adapter
                .as_deref()
                .map_or(Ok(()), |it| it.check_unread()),
            Some(tensor) => Err(ModelError::UnreadTensor {
                path: self.path.clone(),
                tensor: tensor.clone(),
                others: unread.len() - 1,
            }),
        }
    }

    /// Names of the tensors of layers that were not read, sorted.
    pub(crate) fn unread_of_layers(&self) -> Vec<String> {
        let mut unread = self.unread();
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        // "encoder.layer." of "encoder.layer.0.output.dense.weight".
        let stack = |name: &str| {
            let mut parts = name.split_inclusive('.');
            let end = parts.try_fold(0, |end, part| match part.strip_suffix('.') {
                Some(part) if is_number(part) => Err(Some(end)),
                Some(_) => Ok(end + part.len()),
                None => Err(None),
            });
            end.err().flatten().map(|end: usize| name[..end].to_owned())
        };
        let stacks: BTreeSet<String> = read.iter().filter_map(|name| stack(name)).collect();
        unread.retain(|name| stack(name).is_some_and(|stack| stacks.contains(&stack)));
        unread
    }

    /// Checks shape and element type of a tensor, which counts as read, and of its adapter. Returns
    /// the element type of the tensor.
    pub(crate) fn check_header(&self, name: &str, shape: &[usize]) -> Result<String, ModelError> {
        if let Some((file, name)) = self.own_of_adapter(name) {
            return file.check_header(name, shape);
        }
        let read = self.read.lock();
        read.unwrap_or_else(PoisonError::into_inner)
            .insert(name.into());
        let (element, found) = self.info(name)?;
        if found != shape {
            let (field, found) = (format!("shape of {name}"), format!("{found:?}"));
            let expected = format!("{shape:?} as in the configuration");
            return Err(ModelError::setting(&self.path, field, expected, found));
        }
        if !["f64", "f32", "f16", "bf16"].contains(&&element[..]) {
            let (field, expected) = (format!("element type of {name}"), "f32, f16, bf16 or f64");
            return Err(ModelError::setting(&self.path, field, expected, element));
        }
        if let Some(adapter) = &self.adapter {
            adapter.check(name, shape)?;
        }
        Ok(element)
    }

    /// Returns the names of tensors that were not read and are not buffers, sorted.
    pub(crate) fn unread(&self) -> Vec<String> {
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let mut unread = self.names();
        unread
            .retain(|name| !read.contains(name) && !BUFFERS.iter().any(|end| name.ends_with(end)));
        unread.sort_unstable();
        unread
    }

    /// Returns a metadata value of a safetensors file.
    pub(crate) fn metadata(&self, name: &str) -> Option<&str> {
        match &self.format {
            WeightFormat::SafeTensors { header, .. } => {
                header.metadata().as_ref()?.get(name).map(String::as_str)
            }
            WeightFormat::Pytorch(_) | WeightFormat::Shards { .. } => None,
        }
    }

    /// Returns the bytes of a tensor as stored in the file.
    pub(crate) fn raw(&self, name: &str) -> Result<SectionBytes, ModelError> {
        match &self.format {
            WeightFormat::SafeTensors {
                bytes,
                start,
                header,
            } => {
                let info = header.info(name).ok_or_else(|| self.missing(name))?;
                let (from, to) = info.data_offsets;
                let bytes = bytes.range(start + from..start + to);
                bytes.advise_needed();
                Ok(bytes)
            }
            WeightFormat::Pytorch(reader) => {
                let tensor = reader.get(name).ok_or_else(|| self.missing(name))?;
                let bytes = tensor.read().map_err(|error| invalid(&self.path, error))?;
                Ok(IndexBytes::from(bytes).into())
            }
            WeightFormat::Shards { files, tensors } => {
                let number = tensors.get(name).ok_or_else(|| self.missing(name))?;
                files[*number].raw(name)
            }
        }
    }

    /// Returns the shape of a tensor.
    pub(crate) fn shape(&self, name: &str) -> Result<&[usize], ModelError> {
        Ok(self.info(name)?.1)
    }

    /// Returns the element type of a tensor in lower case, such as `bf16`, and its shape.
    pub(crate) fn info(&self, name: &str) -> Result<(String, &[usize]), ModelError> {
        let info = match &self.format {
            WeightFormat::SafeTensors { header, .. } => header
                .info(name)
                .map(|info| (format!("{:?}", info.dtype), &info.shape[..])),
            WeightFormat::Pytorch(reader) => reader
                .get(name)
                .map(|tensor| (format!("{:?}", tensor.dtype()), tensor.shape())),
            WeightFormat::Shards { files, tensors } => {
                let number = tensors.get(name).ok_or_else(|| self.missing(name))?;
                return files[*number].info(name);
            }
        };
        let (element, shape) = info.ok_or_else(|| self.missing(name))?;
        Ok((element.to_lowercase(), shape))
    }

    /// Applies the adapter to the elements of a tensor.
    fn adapted(
        &self,
        name: &str,
        shape: &[usize],
        values: TensorValues,
    ) -> Result<TensorValues, ModelError> {
        match &self.adapter {
            Some(adapter) => adapter.apply(name, shape, values),
            None => Ok(values),
        }
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
            WeightFormat::Shards { tensors, .. } => tensors.keys().cloned().collect(),
        }
    }

    fn tensor(&self, name: &str, shape: &[usize]) -> Result<TensorValues, ModelError> {
        if let Some((file, name)) = self.own_of_adapter(name) {
            return file.tensor(name, shape);
        }
        // Invalid tensors are rejected before their elements are read.
        let element = self.check_header(name, shape)?;
        if let WeightFormat::Shards { files, tensors } = &self.format {
            let number = tensors.get(name).ok_or_else(|| self.missing(name))?;
            let values = files[*number].tensor(name, shape)?;
            return self.adapted(name, shape, values);
        }
        let convert: fn(SectionBytes) -> TensorValues = match &*element {
            "f64" => |bytes| converted(&bytes, |b| f64::from_le_bytes(b) as f32),
            "f32" => TensorValues::from_file,
            "f16" => |bytes| converted(&bytes, |b| f16::from_le_bytes(b).to_f32()),
            _ => |bytes| converted(&bytes, |b| bf16::from_le_bytes(b).to_f32()),
        };
        let values = convert(self.raw(name)?);
        check_finite(&self.path, name, &values)?;
        self.adapted(name, shape, values)
    }
}

fn invalid(path: &Path, source: impl Into<Box<dyn Error + Send + Sync>>) -> ModelError {
    ModelError::Weights {
        path: path.into(),
        source: source.into(),
    }
}

/// Returns `true` for a part of a tensor name that is the number of a layer.
pub(super) fn is_number(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns an error if an element of a tensor is infinite or NaN.
pub(super) fn check_finite(path: &Path, name: &str, values: &[f32]) -> Result<(), ModelError> {
    if values.chunks(1024).all(are_finite) {
        return Ok(());
    }
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(index) => {
            let field = format!("element {index} of {name}");
            let expected = "a finite number";
            Err(ModelError::setting(path, field, expected, values[index]))
        }
    }
}

/// Returns `true` if all numbers are finite. A loop that any vector instructions can run: adding 1
/// to the exponent sets the sign bit for infinity and NaN.
fn are_finite(values: &[f32]) -> bool {
    let sums = values
        .iter()
        .map(|x| (x.to_bits() & 0x7fff_ffff) + 0x0080_0000);
    sums.fold(0, |all, sum| all | sum) >> 31 == 0
}

/// Converts elements of `N` bytes.
fn converted<const N: usize>(
    bytes: &SectionBytes,
    convert: impl Fn([u8; N]) -> f32,
) -> TensorValues {
    let (elements, _) = bytes.as_ref().as_chunks::<N>();
    let values = elements.iter().map(|&element| convert(element)).collect();
    bytes.release();
    TensorValues::InMemory(values)
}

fn map_file(path: &Path) -> io::Result<IndexBytes> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    IndexBytes::from_file(&file)
}

/// Bytes of a safetensors file up to the end of its header: of a file without a valid header, the
/// first bytes.
fn head(bytes: &[u8]) -> &[u8] {
    let header = match bytes.first_chunk::<8>() {
        None => 0,
        Some(length) => match u64::from_le_bytes(*length) {
            length @ ..=MAX_HEADER_BYTES => length as usize,
            // A pointer of Git LFS is text: a header of an impossible length.
            _ => 64,
        },
    };
    &bytes[..bytes.len().min(8 + header)]
}

/// Length of a safetensors file according to its header; `None` without a header.
/// `safetensors` does not report it.
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

#[cfg(test)]
mod tests {
    use super::are_finite;

    #[test]
    fn finite_numbers_are_told_from_others() {
        let finite = [
            0.0,
            -0.0,
            1.0,
            f32::MIN,
            f32::MAX,
            1e-45,
            -f32::MIN_POSITIVE,
        ];
        assert!(are_finite(&finite) && are_finite(&[]));
        let bits = [0x7f80_0001, 0xff80_0001, 0x7fff_ffff, 0xffff_ffff];
        let others = bits.map(f32::from_bits);
        for other in [f32::INFINITY, f32::NEG_INFINITY].into_iter().chain(others) {
            for at in 0..finite.len() {
                let mut all = finite;
                all[at] = other;
                assert!(!are_finite(&all), "{other}");
            }
        }
    }
}
