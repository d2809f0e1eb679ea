//! Writing tensors as safetensors files do: a header in JSON, then the elements.

use std::collections::BTreeMap;
use std::io::{self, Write};

use burn::tensor::Tensor;
use serde_json::{Map, Value, json};

/// A tensor to be written.
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) shape: Vec<usize>,
    /// The elements, row by row.
    pub(crate) values: Tensor<1>,
}

impl Entry {
    /// Gives the bytes of the elements, some at a time.
    pub(crate) fn bytes(&self, mut each: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let data = crate::memory::data(self.values.clone());
        let mut buffer = Vec::with_capacity(1 << 16);
        for values in crate::memory::values(&data).chunks(1 << 14) {
            buffer.clear();
            buffer.extend(values.iter().flat_map(|x| x.to_le_bytes()));
            each(&buffer)?;
        }
        Ok(())
    }
}

/// Writes a whole file.
pub(crate) fn write(
    out: &mut impl Write,
    metadata: &BTreeMap<&str, String>,
    entries: &[Entry],
) -> io::Result<()> {
    let mut header = Map::new();
    header.insert("__metadata__".into(), json!(metadata));
    let mut end = 0;
    for entry in entries {
        let start = end;
        end += 4 * entry.shape.iter().product::<usize>();
        let place = json!({"dtype": "F32", "shape": entry.shape, "data_offsets": [start, end]});
        header.insert(entry.name.clone(), place);
    }
    let mut header = Value::Object(header).to_string().into_bytes();
    // The elements begin where a 64-bit number may.
    header.resize(header.len().next_multiple_of(8), b' ');
    out.write_all(&(header.len() as u64).to_le_bytes())?;
    out.write_all(&header)?;
    entries
        .iter()
        .try_for_each(|entry| entry.bytes(|bytes| out.write_all(bytes)))
}
