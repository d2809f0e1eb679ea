//! Numbered parts of a file: `corpus-00000-of-00002.parquet`.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

use crate::error::{DataError, name_of};

/// Number of digits of the number of a part, and of the number of parts.
const DIGITS: usize = 5;

/// File name of a numbered part, as the Hugging Face hub has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NumberedPart<'a> {
    /// Name before the numbers.
    pub(crate) name: &'a str,
    number: usize,
    count: usize,
    /// First extension; empty without one.
    extension: &'a str,
}

impl<'a> NumberedPart<'a> {
    /// Parses a file name, also without extensions; `None` for other names. A hash may follow the
    /// number of parts: `test-00000-of-00002-9f1c.parquet`.
    pub(crate) fn parse(file_name: &'a str) -> Option<Self> {
        let (start, end) = file_name.rsplit_once("-of-")?;
        let (name, number) = start.rsplit_once('-')?;
        let (count, rest) = end.split_at_checked(DIGITS)?;
        if !rest.is_empty() && !rest.starts_with(['.', '-']) {
            return None;
        }
        Some(Self {
            name,
            number: digits(number)?,
            count: digits(count)?,
            extension: rest.split('.').nth(1).unwrap_or_default(),
        })
    }
}

fn digits(text: &str) -> Option<usize> {
    let are_digits = text.len() == DIGITS && text.bytes().all(|byte| byte.is_ascii_digit());
    are_digits.then(|| text.parse().ok()).flatten()
}

/// Checks that numbered parts among the files of folders (`corpus-00000-of-00002.parquet`) are
/// complete. Parts have the same folder, name and extension. Other files are ignored.
///
/// ```
/// let files = ["docs/a-00000-of-00002.parquet", "docs/README.md"];
/// let error = ir_data::check_parts(&files).unwrap_err().to_string();
/// assert_eq!(
///     error,
///     "docs/a-00001-of-00002.parquet: expected one of 2 parts, as \
///      docs/a-00000-of-00002.parquet is, found none"
/// );
/// ```
///
/// # Errors
/// Returns [`DataError::NumberedPart`] for the first part that is missing, has another number of
/// parts than the first one or a number beyond it, or is there twice.
pub fn check_parts(files: &[impl AsRef<Path>]) -> Result<(), DataError> {
    let mut groups = BTreeMap::<_, Vec<(NumberedPart<'_>, &Path)>>::new();
    for file in files {
        let path = file.as_ref();
        let name = path.file_name().and_then(OsStr::to_str);
        if let Some(part) = name.and_then(NumberedPart::parse) {
            let group = (path.parent(), part.name, part.extension);
            groups.entry(group).or_default().push((part, path));
        }
    }
    for mut parts in groups.into_values() {
        parts.sort_by_key(|(part, _)| part.number);
        check_group(&parts)?;
    }
    Ok(())
}

/// Checks parts of one name, in the order of their numbers.
fn check_group(parts: &[(NumberedPart<'_>, &Path)]) -> Result<(), DataError> {
    let Some(&(first, first_path)) = parts.first() else {
        return Ok(());
    };
    let count = first.count;
    let error = |path: &Path, found: String| {
        Err(DataError::NumberedPart {
            path: name_of(path),
            count,
            first: name_of(first_path),
            found,
        })
    };
    let missing = |number: usize| {
        let start = |number: usize| format!("{}-{number:0DIGITS$}-of-", first.name);
        let name = first_path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.replacen(&start(first.number), &start(number), 1);
        error(&first_path.with_file_name(name), "none".to_owned())
    };
    for (expected, (part, path)) in (0..).zip(parts) {
        if part.count != count {
            return error(path, format!("one of {}", part.count));
        }
        if part.number >= count {
            return error(path, format!("the number {}", part.number));
        }
        if part.number < expected {
            return error(path, format!("the number {} again", part.number));
        }
        if part.number > expected {
            return missing(expected);
        }
    }
    match parts.len() {
        found if found < count => missing(found),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_parts() {
        for (name, expected) in [
            ("test-00000-of-00002.parquet", Some(("test", 0, 2))),
            ("a-b-00001-of-00002.jsonl.gz", Some(("a-b", 1, 2))),
            ("test-00001-of-00002", Some(("test", 1, 2))),
            ("test-00000-of-00001-9f1c.parquet", Some(("test", 0, 1))),
            ("test-2020-of-all.parquet", None),
            ("test-00000-of-0002.parquet", None),
            ("test-00000-of-000020.parquet", None),
            ("test-0000é-of-0000é.parquet", None),
            ("00000-of-00002.parquet", None),
            ("test.parquet", None),
        ] {
            let found = NumberedPart::parse(name);
            let found = found.map(|part| (part.name, part.number, part.count));
            assert_eq!(found, expected, "{name}");
        }
    }

    #[test]
    fn complete_parts() {
        for files in [
            &["a/x.parquet", "a/README.md"][..],
            &["a/x-00000-of-00001.parquet"],
            &["a/x-00001-of-00002.parquet", "a/x-00000-of-00002.parquet"],
            // Other folders, names and extensions.
            &["a/x-00000-of-00001.parquet", "b/x-00000-of-00001.parquet"],
            &["a/x-00000-of-00001.parquet", "a/y-00000-of-00001.parquet"],
            &["a/x-00000-of-00001.parquet", "a/x-00000-of-00001.jsonl"],
            &["a/x-00000-of-00002.jsonl.gz", "a/x-00001-of-00002.jsonl"],
            &["x-00000-of-00002-9f1c.arrow", "x-00001-of-00002-0b2d.arrow"],
        ] {
            check_parts(files).unwrap_or_else(|error| panic!("{files:?}: {error}"));
        }
    }

    #[test]
    fn incomplete_parts() {
        for (files, expected) in [
            (
                &["a/x-00001-of-00003.parquet", "a/x-00002-of-00003.parquet"][..],
                "a/x-00000-of-00003.parquet: expected one of 3 parts, as \
                 a/x-00001-of-00003.parquet is, found none",
            ),
            (
                &["x-00000-of-00003.jsonl", "x-00002-of-00003.jsonl"],
                "x-00001-of-00003.jsonl: expected one of 3 parts, as x-00000-of-00003.jsonl is, \
                 found none",
            ),
            (
                &["x-00000-of-00002.arrow", "y-00000-of-00001.arrow"],
                "x-00001-of-00002.arrow: expected one of 2 parts, as x-00000-of-00002.arrow is, \
                 found none",
            ),
            (
                &["x-00000-of-00001.parquet", "x-00001-of-00002.parquet"],
                "x-00001-of-00002.parquet: expected one of 1 parts, as x-00000-of-00001.parquet \
                 is, found one of 2",
            ),
            (
                &["x-00000-of-00001.parquet", "x-00001-of-00001.parquet"],
                "x-00001-of-00001.parquet: expected one of 1 parts, as x-00000-of-00001.parquet \
                 is, found the number 1",
            ),
            (
                &["x-00000-of-00001.jsonl", "x-00000-of-00001.jsonl.gz"],
                "x-00000-of-00001.jsonl.gz: expected one of 1 parts, as x-00000-of-00001.jsonl \
                 is, found the number 0 again",
            ),
        ] {
            let error = check_parts(files).unwrap_err().to_string();
            assert_eq!(error, expected);
        }
    }
}
