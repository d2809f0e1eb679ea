//! The beginning of a file, from which its form is told.

use std::io::{BufRead, Read};
use std::path::Path;

use anyhow::{Error, Result, bail};
use ir_data::MAX_LINE;

/// What was read of a file to tell its form.
pub(super) struct Head {
    /// As it stands in the file, to be read again.
    pub(super) bytes: Vec<u8>,
    /// The first line with something in it, without a byte order mark and white space around it;
    /// empty where there is none.
    pub(super) line: String,
}

impl Head {
    /// Reads up to the end of the first line that is not blank. A line that is longer than any
    /// reader takes is cut.
    pub(super) fn read(reader: &mut dyn BufRead, name: &str) -> Result<Self> {
        let mut bytes = Vec::new();
        loop {
            let start = bytes.len();
            let read = reader
                .take(MAX_LINE + 1)
                .read_until(b'\n', &mut bytes)
                .map_err(|error| match error.get_ref() {
                    // What decompression says names the file.
                    Some(_) => Error::new(error),
                    None => Error::new(error).context(format!("{name}: could not be read")),
                })?;
            let line = bytes[start..].strip_prefix(b"\xef\xbb\xbf");
            let line = line.unwrap_or(&bytes[start..]).trim_ascii();
            if let Some(found) = of_vectors(line) {
                bail!("{name}: expected texts, found {found}");
            }
            if read == 0 || !line.is_empty() {
                let line = String::from_utf8_lossy(line).into_owned();
                return Ok(Self { bytes, line });
            }
        }
    }

    /// Whether nothing but blank lines was found.
    pub(super) fn is_empty(&self) -> bool {
        self.line.is_empty()
    }

    /// Whether the file is JSON: by its first character, or else by its name.
    pub(super) fn is_json(&self, path: &Path) -> bool {
        self.line.starts_with(['{', '[']) || has_json_name(path)
    }

    /// Whether the first line is a JSON object with this field.
    pub(super) fn has(&self, field: &str) -> bool {
        serde_json::from_str::<serde_json::Value>(&self.line)
            .is_ok_and(|object| object.get(field).is_some())
    }
}

/// What a file of vectors is, by its first line.
fn of_vectors(line: &[u8]) -> Option<&'static str> {
    Some(match line {
        b"ir-flat" | b"ir-half" | b"ir-hnsw" | b"ir-sprs" => {
            "an index of vectors: --vectors of a build with the feature `dense` takes it"
        }
        [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => "vectors as NumPy saves them",
        _ => return None,
    })
}

/// `x.jsonl`, `x.json`, and these with `.gz` or `.zst`.
fn has_json_name(path: &Path) -> bool {
    let name = path.to_string_lossy().to_ascii_lowercase();
    let name = [".gz", ".zst"]
        .iter()
        .find_map(|end| name.strip_suffix(end))
        .unwrap_or(&name);
    [".jsonl", ".json", ".ndjson"]
        .iter()
        .any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_is_not_blank() {
        let mut reader = "\u{feff}\n \r\n  {\"a\": 1}\nnext".as_bytes();
        let head = Head::read(&mut reader, "x").unwrap();
        assert_eq!(head.line, "{\"a\": 1}");
        assert!(head.has("a") && !head.has("b"));
        assert_eq!(reader, b"next");
        assert!(Head::read(&mut "\n\n".as_bytes(), "x").unwrap().is_empty());
        for vectors in [&b"ir-flat\n\0\x01"[..], b"\x93NUMPY\x01\0"] {
            let error = Head::read(&mut &*vectors, "x").err().unwrap().to_string();
            assert!(error.starts_with("x: expected texts, found "), "{error}");
        }
    }

    #[test]
    fn names_of_json() {
        for name in ["a.jsonl", "A.JSON", "a.jsonl.gz", "a.json.zst"] {
            assert!(has_json_name(Path::new(name)), "{name}");
        }
        for name in ["a.tsv", "json", "a.json.tsv", "a.gz"] {
            assert!(!has_json_name(Path::new(name)), "{name}");
        }
    }
}
