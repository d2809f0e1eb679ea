//! Vectors of other encoders: NumPy arrays and fvecs files beside a file of ids, JSON, Parquet and
//! Arrow.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use ir_core::DocIds;
use ir_data::{ColumnarFormat, DataError, LineReader, columnar};
use ir_knn::{FlatIndex, VectorSimilarity, npy};

use super::json_records::{read_json_array, read_json_lines};
use super::vector_ids::{check_unique, from_one, full_message, push_id};
use crate::error::SystemError;
use crate::system::SystemContext;

/// Number of bytes by which the format is detected.
const HEAD: u64 = 1 << 12;

/// Extension of the file with the ids of an array, one per line.
const IDS: &str = "ids";

/// Reads a file of vectors that is not an index, detected by its first bytes; `.fvecs` by its name.
/// `None` for other files. The similarity is the inner product, which has the rankings of the
/// cosine if the vectors are normalized.
pub(super) fn read_vectors(path: &Path) -> Result<Option<FlatIndex>, String> {
    let mut reader = match ir_data::open(path) {
        Ok(reader) => reader,
        Err(error @ DataError::UnsupportedCompression { .. }) => return Err(error.to_string()),
        // Opening the index returns the error.
        Err(_) => return Ok(None),
    };
    let name = path.display().to_string();
    let mut head = Vec::new();
    let read = reader.by_ref().take(HEAD).read_to_end(&mut head);
    read.map_err(|error| error.to_string())?;
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&head);
    let text = text.trim_ascii_start();
    let is_object = |text: &[u8]| text.starts_with(b"{");
    let items = text.strip_prefix(b"[").map(<[u8]>::trim_ascii_start);
    let (is_record, is_array) = (is_object(text), items.is_some_and(is_object));
    let is_npy = head.starts_with(b"\x93NUMPY");
    if is_npy && has_codes(&head) {
        return Err(format!(
            "{name}: expected vectors of floating-point numbers, found 8-bit integers, such as the \
             codes of `ir encode --quantize`; as numbers, save them with numpy's astype(\"float32\")"
        ));
    }
    let reader = io::Cursor::new(head).chain(reader);
    let is_columnar = matches!(ColumnarFormat::detect(path), Ok(Some(_)));
    let (ids, dim, values) = if is_columnar {
        let read = columnar::read_vectors(path).map_err(|error| full_message(&error))?;
        let ids: DocIds = read.ids.into_iter().collect();
        check_unique(&ids, "row", from_one, |row| format!("{name}:{row}"))?;
        (ids, read.dimension, read.values)
    } else if is_npy {
        let array = npy::read(reader, &name).map_err(|error| full_message(&error))?;
        let ids = read_ids(path, array.nrows())?;
        (
            ids,
            array.ncols(),
            array.iter().map(|&x| x as f32).collect(),
        )
    } else if is_record || is_array {
        let read = if is_array {
            read_json_array(reader, &name)?
        } else {
            read_json_lines(reader, &name)?
        };
        match read {
            Some(rows) => rows,
            None => return Ok(None),
        }
    } else if has_extension(path, "fvecs") {
        let (dim, values) = read_fvecs(reader, &name)?;
        let ids = read_ids(path, values.len().checked_div(dim).unwrap_or(0))?;
        (ids, dim, values)
    } else {
        return Ok(None);
    };
    let similarity = VectorSimilarity::InnerProduct;
    let index = FlatIndex::from_row_major(ids, dim, values, similarity);
    let index = index.map_err(|error| format!("{name}: {}", full_message(&error)))?;
    Ok(Some(index))
}

/// Returns `true` if a .npy file has 8-bit integers, given its start: its header is a line after 8
/// bytes and the length.
fn has_codes(head: &[u8]) -> bool {
    let header = head.get(12..).unwrap_or_default();
    let header = header.split(|&byte| byte == b'\n').next();
    let mut parts = header.unwrap_or_default().windows(3);
    parts.any(|part| part == b"|i1" || part == b"|u1")
}

/// Path of a file of vectors without the extension of compression.
fn without_compression(path: &Path) -> PathBuf {
    match path.extension() {
        Some(end) if end.eq_ignore_ascii_case("gz") || end.eq_ignore_ascii_case("zst") => {
            path.with_extension("")
        }
        _ => path.to_owned(),
    }
}

fn has_extension(path: &Path, extension: &str) -> bool {
    let plain = without_compression(path);
    let found = plain.extension();
    found.is_some_and(|end| end.eq_ignore_ascii_case(extension))
}

/// Path of the ids of an array: `docs.ids` for `docs.npy` and `docs.npy.gz`. `None` for files with
/// ids of their own.
fn ids_path(path: &Path) -> Option<PathBuf> {
    let has_no_ids = ["npy", "fvecs"].iter().any(|end| has_extension(path, end));
    has_no_ids.then(|| without_compression(path).with_extension(IDS))
}

/// Hash of a file of vectors, and of its ids if they are in another file.
pub(crate) fn vectors_hash(
    context: &SystemContext<'_>,
    path: &Path,
) -> Result<String, SystemError> {
    let mut hash = context.file_hash(path)?;
    if let Some(ids) = ids_path(path).filter(|ids| ids.is_file()) {
        hash.push_str(&context.file_hash(&ids)?);
    }
    Ok(hash)
}

/// Reads the ids of the `rows` of an array.
fn read_ids(path: &Path, rows: usize) -> Result<DocIds, String> {
    let file = without_compression(path).with_extension(IDS);
    let (name, vectors) = (file.display().to_string(), path.display());
    let reader = match ir_data::open(&file) {
        Ok(reader) => reader,
        Err(DataError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            return Err(format!(
                "{vectors}: expected the ids of its rows in {name}, one per line, found no such \
                 file (`ir encode --ids` writes it)"
            ));
        }
        Err(error) => return Err(full_message(&error)),
    };
    let mut lines = LineReader::new(reader, &name);
    let mut ids = DocIds::new();
    while let Some(line) = lines.read().map_err(|error| full_message(&error))? {
        let id = line.text.strip_suffix('\r').unwrap_or(line.text);
        push_id(&mut ids, id, &format_args!("{name}:{}", line.number))?;
    }
    if ids.len() != rows {
        return Err(format!(
            "{name}: expected {rows} ids, one per row of {vectors}, found {}",
            ids.len()
        ));
    }
    check_unique(&ids, "line", from_one, |line| format!("{name}:{line}"))?;
    Ok(ids)
}

/// Reads rows of a little-endian 32-bit dimension and as many `f32`. Returns the dimension and the
/// values.
fn read_fvecs(mut reader: impl Read, name: &str) -> Result<(usize, Vec<f32>), String> {
    let (mut dim, mut values, mut row) = (None, Vec::new(), 0_u64);
    let mut bytes = Vec::new();
    loop {
        let mut read = |length: u64, bytes: &mut Vec<u8>| {
            bytes.clear();
            let read = reader.by_ref().take(length).read_to_end(bytes);
            read.map_err(|error| format!("{name}: cannot be read: {error}"))
        };
        if read(4, &mut bytes)? == 0 {
            return Ok((dim.unwrap_or(0), values));
        }
        let truncated =
            || format!("{name}: row {row}: expected a whole row, found the end of the file");
        let head = bytes.first_chunk().ok_or_else(truncated)?;
        let found = i32::from_le_bytes(*head);
        let expected = *dim.get_or_insert(usize::try_from(found).unwrap_or(0));
        if found < 1 || usize::try_from(found) != Ok(expected) {
            let expected = match expected {
                0 => "a dimension of at least 1".to_owned(),
                expected => format!("the dimension {expected} of row 0"),
            };
            return Err(format!(
                "{name}: row {row}: expected {expected}, found {found}"
            ));
        }
        let size = 4 * expected as u64;
        if read(size, &mut bytes)? as u64 != size {
            return Err(truncated());
        }
        let floats = bytes.as_chunks().0.iter();
        values.extend(floats.map(|&bytes| f32::from_le_bytes(bytes)));
        row += 1;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use ir_core::{DocNum, Retriever};

    use super::*;

    fn read(path: &Path) -> Result<Vec<(String, Vec<f32>)>, String> {
        let index = read_vectors(path)?.unwrap();
        let rows = (0..).map(DocNum::new).zip(index.ids().iter());
        let rows = rows.map(|(doc, id)| (id.to_owned(), index.vector(doc).to_vec()));
        Ok(rows.collect())
    }

    fn fvecs(rows: &[&[f32]]) -> Vec<u8> {
        let row = |row: &&[f32]| {
            let head = (row.len() as i32).to_le_bytes().to_vec();
            let values = row.iter().flat_map(|value| value.to_le_bytes());
            head.into_iter().chain(values).collect::<Vec<u8>>()
        };
        rows.iter().flat_map(row).collect()
    }

    /// The same vectors in all formats.
    #[test]
    fn formats() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let expected = vec![
            ("d1".to_owned(), vec![0.5, -1.25]),
            ("7".to_owned(), vec![2.0, 0.1]),
        ];
        let ids: DocIds = ["x", "y"].into_iter().collect();
        let values = vec![0.5, -1.25, 2.0, 0.1];
        let index = FlatIndex::from_row_major(ids, 2, values, VectorSimilarity::default()).unwrap();
        npy::write(index.vectors(), fs::File::create(path("a.npy")).unwrap()).unwrap();
        fs::write(path("b.fvecs"), fvecs(&[&[0.5, -1.25], &[2.0, 0.1]])).unwrap();
        fs::write(path("a.ids"), "d1\r\n7").unwrap();
        fs::write(path("b.ids"), "d1\n7\n").unwrap();
        let json = "\u{feff}{\"id\": \"d1\", \"text\": \"tea\", \"vector\": [0.5, -1.25]}\r\n\n\
                    {\"embedding\": [2, 1e-1], \"_id\": 7}";
        fs::write(path("c.jsonl"), json).unwrap();
        let packed = |from: &str, to: &str| {
            let mut file = ir_data::create(path(to)).unwrap();
            io::Write::write_all(&mut file, &fs::read(path(from)).unwrap()).unwrap();
            file.commit().unwrap();
        };
        packed("a.npy", "a.npy.gz");
        packed("b.fvecs", "b.fvecs.zst");
        packed("c.jsonl", "c.gz");
        for name in [
            "a.npy",
            "b.fvecs",
            "c.jsonl",
            "a.npy.gz",
            "b.fvecs.zst",
            "c.gz",
        ] {
            assert_eq!(read(&path(name)).unwrap(), expected, "{name}");
        }
        for (name, ids) in [
            ("a.npy", Some("a.ids")),
            ("b.FVECS.zst", Some("b.ids")),
            ("c.jsonl", None),
            ("d.ir", None),
        ] {
            assert_eq!(ids_path(Path::new(name)), ids.map(PathBuf::from), "{name}");
        }
        fs::write(path("other"), "tea").unwrap();
        assert!(read_vectors(&path("other")).unwrap().is_none());
        fs::write(path("other"), "{\"_id\": \"q1\", \"text\": \"tea\"}\n").unwrap();
        assert!(read_vectors(&path("other")).unwrap().is_none());
        for other in ["[]", "[1, 2]", "[{\"_id\": \"q1\", \"text\": \"tea\"}]"] {
            fs::write(path("other"), other).unwrap();
            assert!(read_vectors(&path("other")).unwrap().is_none(), "{other}");
        }
        assert!(read_vectors(&path("missing")).unwrap().is_none());
    }

    /// Fields have the names of columns. An array and lines have the same rows.
    #[test]
    fn json_fields_and_arrays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vectors.json");
        let expected = vec![("d1".to_owned(), vec![0.5]), ("7".to_owned(), vec![2.0])];
        for id in columnar::vector_id_names().chain(["ID", "queryId"]) {
            for vector in columnar::VECTOR_NAMES.into_iter().chain(["Embedding"]) {
                let first = format!("{{\"{id}\": \"d1\", \"{vector}\": [0.5], \"text\": [{{}}]}}");
                let second = format!("{{\"{vector}\": [2], \"{id}\": 7}}");
                for text in [
                    format!("{first}\n{second}\n"),
                    format!(" [\n {first},\n{second} ]\n"),
                    format!("\u{feff}[{first},{second}]"),
                ] {
                    fs::write(&path, &text).unwrap();
                    assert_eq!(read(&path).unwrap(), expected, "{text}");
                }
            }
        }
        // The first name of the list is the id, in any order of the fields.
        for text in [
            "{\"qid\": null, \"id\": \"d1\", \"docid\": \"x\", \"vector\": [0.5]}",
            "{\"docid\": \"x\", \"vector\": [0.5], \"id\": \"d1\"}",
        ] {
            fs::write(&path, text).unwrap();
            assert_eq!(read(&path).unwrap(), expected[..1], "{text}");
        }
    }

    #[test]
    fn errors() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let message = |name: &str| {
            let error = read(&path(name)).unwrap_err();
            error.replace(&format!("{}/", folder.path().display()), "")
        };
        for (text, expected) in [
            (
                "{\"id\": \"c\", \"vector\": [1]}\n{\"id\": \"d\"}",
                "x:2: expected JSON with id and vector, an array of numbers, found no vector",
            ),
            (
                "{\"text\": \"tea\", \"emb\": [1]}",
                "x:1: expected JSON with id and vector, an array of numbers, found no id",
            ),
            (
                "{\"id\": null, \"vector\": [1]}",
                "x:1: expected JSON with id and vector, an array of numbers, found an error at column 27 (the id is neither a string nor an integer)",
            ),
            (
                "{\"id\": \"d\", \"emb\": [1], \"values\": [1]}",
                "x:1: expected JSON with id and vector, an array of numbers, found an error at column 32 (expected one field with a vector, found \"emb\" and \"values\")",
            ),
            (
                "{\"id\": \"d\", \"vector\": [\"1\"]}",
                "x:1: expected JSON with id and vector, an array of numbers, found an error at column 26 (expected a number, found \"1\")",
            ),
            (
                "{\"id\": \"d\", \"vector\": null}",
                "x:1: expected JSON with id and vector, an array of numbers, found an error at column 26 (expected a list, found null)",
            ),
            (
                "[{\"id\": \"c\", \"vector\": [1]},\n{\"id\": \"d\"}]",
                "x: record 2: expected JSON with id and vector, an array of numbers, found no vector",
            ),
            (
                "[{\"id\": \"d\", \"vector\": [1, 2]}, {\"id\": \"e\", \"vector\": [1]}]",
                "x: record 2: expected 2 numbers, as in record 1, found 1",
            ),
            (
                "[{\"id\": \"d\", \"vector\": [1, 2]},\nx]",
                "x:2: expected JSON with id and vector, an array of numbers, found an error at column 1 (expected value)",
            ),
            (
                "{\"id\": \"d\", \"vector\": [1, 2]}\n{\"id\": \"e\", \"vector\": [1]}",
                "x:2: expected 2 numbers, as in line 1, found 1",
            ),
            (
                "{\"id\": \"d\", \"vector\": [1]}\n\n{\"id\": \"d\", \"vector\": [2]}",
                "x:3: expected a unique id, found \"d\", which is also in line 1",
            ),
            (
                "[{\"id\": \"d\", \"vector\": [1]}, {\"id\": \"d\", \"vector\": [2]}]",
                "x: record 2: expected a unique id, found \"d\", which is also in record 1",
            ),
            (
                "{\"id\": \"\", \"vector\": [1, 2]}",
                "x:1: expected an id, found none",
            ),
            (
                "{\"id\": \"d\", \"vector\": [1, 2]}\nx",
                "x:2: expected JSON with id and vector, an array of numbers, found an error at column 1 (expected value)",
            ),
        ] {
            fs::write(path("x"), text).unwrap();
            assert_eq!(message("x"), expected);
        }
        let rows = fvecs(&[&[1.0, 2.0], &[3.0, 4.0]]);
        fs::write(path("f.fvecs"), &rows).unwrap();
        assert_eq!(
            message("f.fvecs"),
            "f.fvecs: expected the ids of its rows in f.ids, one per line, found no such file \
             (`ir encode --ids` writes it)"
        );
        fs::write(path("f.ids"), "d\n").unwrap();
        assert_eq!(
            message("f.fvecs"),
            "f.ids: expected 2 ids, one per row of f.fvecs, found 1"
        );
        fs::write(path("f.ids"), "d\n\ne\n").unwrap();
        assert_eq!(message("f.fvecs"), "f.ids:2: expected an id, found none");
        fs::write(path("f.ids"), "d\ne\n").unwrap();
        for cut in [1, 4, 13, 23] {
            fs::write(path("f.fvecs"), &rows[..cut]).unwrap();
            let expected = format!(
                "row {}: expected a whole row, found the end of the file",
                cut / 12
            );
            assert_eq!(message("f.fvecs"), format!("f.fvecs: {expected}"));
        }
        fs::write(path("f.fvecs"), fvecs(&[&[1.0, 2.0], &[3.0]])).unwrap();
        assert_eq!(
            message("f.fvecs"),
            "f.fvecs: row 1: expected the dimension 2 of row 0, found 1"
        );
        fs::write(path("f.fvecs"), (-1_i32).to_le_bytes()).unwrap();
        assert_eq!(
            message("f.fvecs"),
            "f.fvecs: row 0: expected a dimension of at least 1, found -1"
        );
        fs::write(path("f.fvecs"), fvecs(&[&[1.0, f32::NAN], &[3.0, 1.0]])).unwrap();
        assert!(message("f.fvecs").starts_with("f.fvecs: "));
        fs::write(path("z.npy"), b"PK\x03\x04").unwrap();
        assert!(message("z.npy").contains("found a zip archive"));
    }
}
