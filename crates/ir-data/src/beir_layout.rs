//! Files of a folder in BEIR's layout.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use ir_core::Qrels;

use crate::columnar;
use crate::error::{DataError, name_of, read_error};
use crate::parts::{NumberedPart, check_parts};

/// Folders with judgments; the first that exists is read. Datasets of the Hugging Face hub have
/// `default` or `data`.
const QRELS: [&str; 3] = ["qrels", "default", "data"];

/// Endings of the names of files that are read.
const ENDINGS: [&str; 8] = [
    "tsv", "csv", "jsonl", "ndjson", "json", "parquet", "arrow", "feather",
];

/// Endings of compressed files, in the order in which copies of a file are preferred after an
/// uncompressed one. The first [`READ_COMPRESSIONS`] are read. The reader of the others returns an
/// error that names them, so that no file is ignored.
const COMPRESSIONS: [&str; 10] = [
    "zst", "gz", "bz2", "xz", "lz4", "lzma", "lz", "z", "zip", "7z",
];

const READ_COMPRESSIONS: usize = 2;

/// Endings of files with documents or queries, by precedence.
const RECORDS: [&str; 2] = ["jsonl", "parquet"];

/// Files with documents or queries: `NAME.jsonl` or `NAME.parquet`, otherwise those in the folder
/// `NAME`, by their names. A missing part is an error.
pub(crate) fn files(root: &Path, name: &str) -> Result<Vec<PathBuf>, DataError> {
    if let Some(file) = file_of_records(root, name)? {
        return Ok(vec![file]);
    }
    let folder = root.join(name);
    let mut files = Vec::new();
    for path in entries(&folder)? {
        if stem_of(&path).is_some_and(|(_, end)| RECORDS.contains(&end)) {
            files.push(path);
        }
    }
    files.sort();
    check_parts(&files)?;
    Ok(files)
}

/// Returns `true` if the name of a file says that it has JSON lines.
pub(crate) fn is_lines(path: &Path) -> bool {
    matches!(stem_of(path), Some((_, "jsonl")))
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, DataError> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(folder).map_err(read_error(folder))?;
    let paths = entries.map(|entry| Ok(entry.map_err(read_error(folder))?.path()));
    paths.collect()
}

/// Files with the judgments of a split.
#[derive(Debug, Clone, Default)]
pub(crate) struct SplitFiles {
    /// Files that have all judgments each.
    complete: Vec<PathBuf>,
    /// Parquet and Arrow files that have the judgments together.
    parts: Vec<PathBuf>,
}

impl SplitFiles {
    /// Files in the order in which they are read.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        self.complete.iter().chain(&self.parts).cloned().collect()
    }

    /// Files in the order in which they are read. A missing part is an error.
    pub(crate) fn complete_paths(&self) -> Result<Vec<PathBuf>, DataError> {
        let paths = self.paths();
        check_parts(&paths)?;
        Ok(paths)
    }

    /// Reads the first file of a split by `read`, and returns an error if another one differs.
    /// Parquet files are read as one. `None` if there are no files.
    pub(crate) fn read<T: Default>(
        &self,
        read: impl Fn(&Path) -> Result<(Qrels, T), DataError>,
    ) -> Result<Option<(Qrels, T)>, DataError> {
        check_parts(&self.paths())?;
        let mut first: Option<(&Path, (Qrels, T))> = None;
        let mut check = |path, found: (Qrels, T)| match &first {
            None => {
                first = Some((path, found));
                Ok(())
            }
            Some((name, first)) => check_equal(&first.0, &found.0, name, path),
        };
        for path in &self.complete {
            check(path, read(path)?)?;
        }
        if let [path, ..] = &self.parts[..] {
            let qrels = columnar::read_qrels(&self.parts)?;
            check(path, (qrels, T::default()))?;
        }
        Ok(first.map(|(_, read)| read))
    }
}

fn check_equal(first: &Qrels, found: &Qrels, name: &Path, path: &Path) -> Result<(), DataError> {
    let mut queries = first.iter().chain(found.iter()).map(|(query, _)| query);
    match queries.find(|query| first.get(query) != found.get(query)) {
        None => Ok(()),
        Some(query) => Err(DataError::DifferentJudgments {
            path: name_of(path),
            first: name_of(name),
            query: query.to_owned(),
        }),
    }
}

/// Files of the judgments of a collection by split, in the first of the folders `qrels`, `default`
/// and `data`. An uncompressed copy takes precedence.
pub(crate) fn files_of_splits(root: &Path) -> Result<BTreeMap<String, SplitFiles>, DataError> {
    let folder = QRELS
        .iter()
        .map(|name| root.join(name))
        .find(|it| it.is_dir());
    let mut paths = match &folder {
        Some(folder) => entries(folder)?,
        None => Vec::new(),
    };
    // `data` may have other files than judgments.
    if !folder.is_some_and(|folder| folder.ends_with(QRELS[0])) {
        let is_of_hub = |end: &str| ["tsv", "jsonl", "parquet"].contains(&end);
        paths.retain(|path| stem_of(path).is_some_and(|(_, end)| is_of_hub(end)));
    }
    let mut preferred = BTreeMap::<PathBuf, PathBuf>::new();
    for path in paths.into_iter().filter(|it| it.exists() && !it.is_dir()) {
        let (plain, rank) = without_compression(&path);
        let is_first = |other: &PathBuf| rank < without_compression(other).1;
        if preferred.get(&plain).is_none_or(is_first) {
            preferred.insert(plain, path);
        }
    }
    Ok(splits_of(preferred.into_values()))
}

/// Files that may be judgments and are not read: those in `qrels` with other endings, and those
/// beside the corpus, such as `qrels.tsv`. Hidden files, READMEs and licenses are left out.
pub(crate) fn unread_judgments(root: &Path) -> Result<Vec<PathBuf>, DataError> {
    // The name up to the first point: none of a hidden file.
    let start = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let start = name.split('.').next().unwrap_or_default();
        start.to_ascii_lowercase()
    };
    let mut unread = entries(&root.join(QRELS[0]))?;
    unread.retain(|path| {
        stem_of(path).is_none() && !matches!(&*start(path), "" | "readme" | "license")
    });
    let beside = entries(root)?.into_iter();
    unread.extend(beside.filter(|path| start(path) == QRELS[0]));
    unread.retain(|path| path.is_file());
    unread.sort();
    Ok(unread)
}

/// Files of the judgments by split, `.tsv` before `.jsonl` before `.parquet`.
pub(crate) fn splits_of(paths: impl IntoIterator<Item = PathBuf>) -> BTreeMap<String, SplitFiles> {
    let mut splits = BTreeMap::<String, SplitFiles>::new();
    for path in paths {
        let Some((stem, ending)) = stem_of(&path) else {
            continue;
        };
        let files = splits.entry(split_of(stem).to_owned()).or_default();
        if matches!(ending, "parquet" | "arrow" | "feather") {
            files.parts.push(path);
        } else {
            files.complete.push(path);
        }
    }
    for files in splits.values_mut() {
        files.complete.sort_by_key(|path| is_lines(path));
    }
    splits
}

/// Split of a file: `test` for `test` and for `test-00000-of-00002`.
fn split_of(stem: &str) -> &str {
    NumberedPart::parse(stem).map_or(stem, |part| part.name)
}

/// Name without ending, and the ending in lower case: `dev` and `tsv` for `dev.TSV.gz`. `None` for
/// files of other formats.
fn stem_of(path: &Path) -> Option<(&str, &'static str)> {
    let name = path.file_name()?.to_str()?;
    let (stem, ending) = match name.rsplit_once('.')? {
        (plain, ending) if compression_rank(ending).is_some() => plain.rsplit_once('.')?,
        parts => parts,
    };
    let mut known = ENDINGS.into_iter();
    let ending = known.find(|known| ending.eq_ignore_ascii_case(known))?;
    Some((stem, ending))
}

/// Position among [`COMPRESSIONS`].
fn compression_rank(ending: &str) -> Option<usize> {
    let mut known = COMPRESSIONS.iter();
    known.position(|known| ending.eq_ignore_ascii_case(known))
}

/// Path without the ending of a compression, and the precedence among copies of a file: 0 for an
/// uncompressed one.
fn without_compression(path: &Path) -> (PathBuf, usize) {
    let ending = path.extension().and_then(OsStr::to_str);
    match ending.and_then(compression_rank) {
        Some(rank) => (path.with_extension(""), rank + 1),
        None => (path.to_owned(), 0),
    }
}

/// File `NAME.jsonl` or `NAME.parquet`, possibly compressed, with endings in any case, such as
/// `NAME.JSONL.GZ`. Files in compressions that are read take precedence.
fn file_of_records(root: &Path, name: &str) -> Result<Option<PathBuf>, DataError> {
    let files = entries(root)?.into_iter().filter_map(|path| {
        let (_, ending) = stem_of(&path).filter(|(stem, _)| *stem == name)?;
        let order = RECORDS.iter().position(|known| *known == ending)?;
        let rank = without_compression(&path).1;
        let is_file = path.exists() && !path.is_dir();
        is_file.then_some((rank > READ_COMPRESSIONS, order, rank, path))
    });
    Ok(files.min().map(|(.., path)| path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits() {
        for (name, split) in [
            ("test.tsv", Some("test")),
            ("dev.jsonl.gz", Some("dev")),
            ("test-00000-of-00002.parquet", Some("test")),
            ("test-2020-of-all.parquet", Some("test-2020-of-all")),
            ("test.csv", Some("test")),
            ("test.json.zst", Some("test")),
            ("test-00000-of-00001.arrow", Some("test")),
            ("test.TSV", Some("test")),
            ("test.Tsv.GZ", Some("test")),
            ("test.tsv.bz2", Some("test")),
            ("test.txt", None),
            ("test.txt.gz", None),
            ("test.gz", None),
            ("README", None),
        ] {
            let found = stem_of(Path::new(name)).map(|(stem, _)| split_of(stem));
            assert_eq!(found, split, "{name}");
        }
    }
}
