//! Several files that are written together.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Result;
use ir_core::store::AtomicFile;

use super::output::{OutputPath, create};
use super::signals::check_stopped;

/// Writes all files, or none: after an error, new files are removed, and replaced ones have their
/// former content.
pub(crate) fn write_files(files: Vec<(PathBuf, String)>) -> Result<()> {
    write_all(files, |path, text| {
        check_stopped()?;
        OutputPath::from(path.to_owned()).write(text)
    })
}

/// Writes all files with `write`, or none, as [`write_files`].
fn write_all(
    files: Vec<(PathBuf, String)>,
    mut write: impl FnMut(&Path, &str) -> Result<()>,
) -> Result<()> {
    for (path, _) in &files {
        // Most errors are found before the first file is written.
        drop(create(path)?);
    }
    let mut former: Vec<(PathBuf, Option<Vec<u8>>)> = Vec::new();
    let written = files.into_iter().try_for_each(|(path, text)| {
        let content = fs::read(&path).ok();
        write(&path, &text)?;
        former.push((path, content));
        Ok(())
    });
    if written.is_err() {
        for (path, content) in former {
            let _ = match content {
                None => fs::remove_file(path),
                Some(content) => restore(&path, &content),
            };
        }
    }
    written
}

/// Replaces a file, also after an interrupt.
fn restore(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = AtomicFile::create(path)?;
    file.write_all(content)?;
    file.commit()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    #[test]
    fn all_files_or_none() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        // Writing the file `full` fails.
        let write = |names: &[&str]| {
            let files = names.iter().map(|name| (at(name), format!("new {name}")));
            write_all(files.collect(), |path, text| {
                if path.ends_with("full") {
                    anyhow::bail!("no space left");
                }
                OutputPath::from(path.to_owned()).write(text)
            })
        };
        write(&["a", "b"]).unwrap();
        assert_eq!(fs::read_to_string(at("b")).unwrap(), "new b");
        fs::write(at("b"), "old").unwrap();
        fs::create_dir(at("d")).unwrap();
        for (last, expected) in [("d", "found a directory"), ("full", "no space left")] {
            let error = format!("{:#}", write(&["c", "b", last]).unwrap_err());
            assert!(error.contains(expected), "{error}");
            assert_eq!(names(folder.path()), ["a", "b", "d"]);
            assert_eq!(fs::read_to_string(at("b")).unwrap(), "old");
        }
    }
}
