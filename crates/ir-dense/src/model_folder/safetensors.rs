//! Writer of safetensors files.

use std::collections::BTreeMap;
use std::io::{self, Write};

use burn::tensor::{Device, Tensor, TensorData};
use serde_json::{Map, Value, json};

/// Tensor with its name and shape in a file.
pub(crate) struct NamedTensor {
    pub(crate) name: String,
    pub(crate) shape: Vec<usize>,
    pub(crate) values: Tensor<1>,
}

impl NamedTensor {
    pub(crate) fn new<const D: usize>(name: String, tensor: Tensor<D>) -> Self {
        Self {
            name,
            shape: tensor.dims().into(),
            values: tensor.reshape([-1]),
        }
    }

    /// Tensor in CPU memory.
    pub(crate) fn of_values(name: String, shape: Vec<usize>, values: Vec<f32>) -> Self {
        let length = values.len();
        let values = Tensor::from_data(TensorData::new(values, [length]), &Device::flex());
        Self {
            name,
            shape,
            values,
        }
    }

    /// Calls `each` with successive chunks of the little-endian f32 elements.
    pub(crate) fn bytes(&self, each: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let data = self.values.clone().into_data().convert::<f32>();
        little_endian(data.as_slice::<f32>().unwrap_or_default(), each)
    }
}

/// Calls `each` with successive chunks of little-endian elements.
fn little_endian(values: &[f32], mut each: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    if cfg!(target_endian = "little") {
        return each(pulp::bytemuck::cast_slice(values));
    }
    let mut buffer = Vec::with_capacity(1 << 16);
    for values in values.chunks(1 << 14) {
        buffer.clear();
        buffer.extend(values.iter().flat_map(|x| x.to_le_bytes()));
        each(&buffer)?;
    }
    Ok(())
}

/// CRC-32 of the names and f32 elements of tensors.
#[derive(Debug, Clone, Default)]
pub(crate) struct TensorChecksum(crc32fast::Hasher);

impl TensorChecksum {
    /// Hashes the name and the elements of the next tensor.
    pub(crate) fn add(&mut self, name: &str, values: &[f32]) {
        self.0.update(name.as_bytes());
        let hasher = &mut self.0;
        // Hashing cannot fail.
        let _ = little_endian(values, |bytes| {
            hasher.update(bytes);
            Ok(())
        });
    }

    /// Returns the CRC-32 of a text and of the tensors, equal to [`checksum`] of them.
    pub(crate) fn with_text(&self, text: &str) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(text.as_bytes());
        hasher.combine(&self.0);
        hasher.finalize()
    }
}

/// CRC-32 of a text and of the names and f32 elements of the tensors.
pub(crate) fn checksum(text: &str, tensors: &[NamedTensor]) -> io::Result<u32> {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(text.as_bytes());
    for tensor in tensors {
        hasher.update(tensor.name.as_bytes());
        tensor.bytes(|bytes| {
            hasher.update(bytes);
            Ok(())
        })?;
    }
    Ok(hasher.finalize())
}

/// Writes a safetensors file: header length, JSON header, elements.
pub(crate) fn write(
    out: &mut impl Write,
    metadata: &BTreeMap<&str, String>,
    tensors: &[NamedTensor],
) -> io::Result<()> {
    let mut header = Map::new();
    header.insert("__metadata__".into(), json!(metadata));
    let mut end = 0;
    for tensor in tensors {
        let start = end;
        end += 4 * tensor.shape.iter().product::<usize>();
        let entry = json!({"dtype": "F32", "shape": tensor.shape, "data_offsets": [start, end]});
        header.insert(tensor.name.clone(), entry);
    }
    let mut header = Value::Object(header).to_string().into_bytes();
    // Elements are aligned to 8 bytes.
    header.resize(header.len().next_multiple_of(8), b' ');
    out.write_all(&(header.len() as u64).to_le_bytes())?;
    out.write_all(&header)?;
    tensors
        .iter()
        .try_for_each(|tensor| tensor.bytes(|bytes| out.write_all(bytes)))
}
