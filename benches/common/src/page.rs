//! Tables of a benchmark in a page in Markdown.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, thread};

use anyhow::{Context, Result, ensure};

/// Prints tables, and writes them into a page below a line about the machine: between the lines
/// `<!-- table NAME -->` and `<!-- end of table -->`.
#[derive(Debug)]
pub struct Page {
    path: Option<PathBuf>,
    machine: String,
}

impl Page {
    /// Tables for a page; they are only printed if there is none. The load of the machine is that
    /// of the last minute before this call.
    #[must_use]
    pub fn new(path: Option<&Path>) -> Self {
        Self {
            path: path.map(Path::to_owned),
            machine: machine(),
        }
    }

    /// Prints a table and replaces the one of this name in the page.
    ///
    /// # Errors
    /// If the page cannot be read or written, or has no such table.
    #[allow(clippy::print_stdout, reason = "for a terminal")]
    pub fn write(&self, name: &str, table: &str) -> Result<()> {
        let table = format!("{}\n\n{}", self.machine, table.trim_end());
        println!("{table}\n");
        let Some(path) = &self.path else {
            return Ok(());
        };
        let page = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let page = replace(&page, name, &table)
            .with_context(|| format!("{}: expected <!-- table {name} -->", path.display()))?;
        fs::write(path, page).with_context(|| path.display().to_string())
    }
}

/// The table of this name in a page.
#[must_use]
pub fn table_of<'a>(page: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = page.split_once(&format!("<!-- table {name} -->\n"))?;
    Some(rest.split_once(END)?.0)
}

const END: &str = "<!-- end of table -->";

fn replace(page: &str, name: &str, table: &str) -> Option<String> {
    let before = table_of(page, name)?;
    let start = before.as_ptr().addr() - page.as_ptr().addr();
    let (head, rest) = page.split_at(start);
    Some(format!("{head}\n{table}\n\n{}", &rest[before.len()..]))
}

/// The CPU, the number of cores, the day, the load and the commit.
fn machine() -> String {
    let facts = || -> Result<String> {
        let cpus = fs::read_to_string("/proc/cpuinfo")?;
        let model = cpus
            .lines()
            .find_map(|line| line.strip_prefix("model name"));
        let model = model.map_or("", |rest| rest.trim_start_matches(['\t', ' ', ':']));
        let load = fs::read_to_string("/proc/loadavg")?;
        let load = load.split(' ').next().unwrap_or_default();
        let day = Command::new("date").args(["-u", "+%F"]).output()?;
        ensure!(day.status.success(), "date failed");
        let day = String::from_utf8(day.stdout)?;
        let cores = thread::available_parallelism()?;
        Ok(format!(
            "*{model}, {cores} cores, {}, load {load}{}.*",
            day.trim(),
            commit().unwrap_or_default()
        ))
    };
    facts().unwrap_or_else(|_| "*Unknown machine.*".to_owned())
}

/// The abbreviated hash of the commit of this workspace, and whether tracked files have changed.
/// [`None`] without git.
fn commit() -> Option<String> {
    let git = |arguments: &[&str]| {
        let folder = env!("CARGO_MANIFEST_DIR");
        let output = Command::new("git")
            .args(["-C", folder])
            .args(arguments)
            .output();
        let output = output.ok().filter(|output| output.status.success())?;
        String::from_utf8(output.stdout).ok()
    };
    let hash = git(&["rev-parse", "--short=8", "HEAD"])?;
    let status = git(&["status", "--porcelain", "--untracked-files=no"])?;
    let changes = if has_changes(&status) {
        " + changes"
    } else {
        ""
    };
    Some(format!(", commit {}{changes}", hash.trim()))
}

/// Whether `git status --porcelain` lists a file that benchmarks do not write.
fn has_changes(status: &str) -> bool {
    let mut files = status.lines().filter_map(|line| line.get(3..));
    files.any(|file| file != "docs/performance.md" && !file.starts_with("docs/plots/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_files_are_no_changes() {
        assert!(!has_changes(""));
        assert!(!has_changes(
            " M docs/performance.md\n M docs/plots/growth-search.svg\n"
        ));
        assert!(has_changes(
            " M docs/performance.md\n M benches/common/src/page.rs\n"
        ));
    }

    #[test]
    fn tables_are_replaced() {
        let page = "a\n<!-- table x -->\n\nold\n\n<!-- end of table -->\nb\n";
        let replaced = replace(page, "x", "| new |").unwrap_or_default();
        assert_eq!(
            replaced,
            "a\n<!-- table x -->\n\n| new |\n\n<!-- end of table -->\nb\n"
        );
        assert_eq!(table_of(&replaced, "x"), Some("\n| new |\n\n"));
        assert_eq!(replace(page, "y", ""), None);
    }
}
