//! Helpers that run the command in a temporary folder.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ir_core::store::{IndexFile, IndexFormat, Verify};
use serde_json::Value;

/// Exit code and output of a command.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, 0, "{}", self.err);
        self
    }

    /// Asserts the exit code and a one-line error that contains all of `parts`.
    #[track_caller]
    pub(crate) fn fails(self, code: i32, parts: &[&str]) -> Self {
        assert_eq!(self.code, code, "{}{}", self.out, self.err);
        let errors: Vec<&str> = self
            .err
            .lines()
            .filter(|line| !line.starts_with("warning: "))
            .collect();
        assert_eq!(errors.len(), 1, "{}", self.err);
        assert!(errors[0].starts_with("error: "), "{}", self.err);
        for part in parts {
            assert!(
                errors[0].contains(part),
                "expected {part:?} in: {}",
                errors[0]
            );
        }
        self
    }
}

/// Arguments of a command: a list, or a line as a shell reads it.
pub(crate) trait Arguments {
    fn arguments(&self) -> Vec<&str>;
}

impl Arguments for str {
    fn arguments(&self) -> Vec<&str> {
        words(self)
    }
}

impl Arguments for String {
    fn arguments(&self) -> Vec<&str> {
        words(self)
    }
}

impl<T: Arguments + ?Sized> Arguments for &T {
    fn arguments(&self) -> Vec<&str> {
        (**self).arguments()
    }
}

impl Arguments for [&str] {
    fn arguments(&self) -> Vec<&str> {
        self.to_vec()
    }
}

impl<const N: usize> Arguments for [&str; N] {
    fn arguments(&self) -> Vec<&str> {
        self.to_vec()
    }
}

impl Arguments for Vec<&str> {
    fn arguments(&self) -> Vec<&str> {
        self.clone()
    }
}

/// Words of a line. Those in single quotes may have spaces.
pub(crate) fn words(line: &str) -> Vec<&str> {
    let parts = line.split('\'').enumerate();
    let words = parts.flat_map(|(n, part)| match n % 2 {
        0 => part.split_whitespace().collect(),
        _ => vec![part],
    });
    words.collect()
}

/// Temporary folder in which commands run; removed on drop.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.at(name)).unwrap()
    }

    /// All files below the folder, sorted by path.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        let mut folders = vec![self.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path.clone());
                }
                files.push(path);
            }
        }
        files.sort();
        files
    }

    /// Command with these arguments in this folder, with empty standard input.
    pub(crate) fn command(&self, args: &(impl Arguments + ?Sized)) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ir"));
        command
            .args(args.arguments())
            .current_dir(self.path())
            .stdin(Stdio::null());
        command
    }

    /// Runs `ir` without `IR_DATA`.
    pub(crate) fn ir(&self, args: &(impl Arguments + ?Sized)) -> Ran {
        finish(self.command(args).env_remove("IR_DATA"), None)
    }

    /// Runs the commands of a table. Each is followed by its exit code and parts of its error:
    ///
    /// ```text
    /// search tiny --k1 NaN
    ///   2: --k1 | NaN
    /// ```
    ///
    /// Asserts that they print nothing else and leave no file.
    #[track_caller]
    pub(crate) fn errors(&self, table: &str) {
        let contents = || {
            let files = self.files().into_iter();
            files
                .map(|path| (std::fs::read(&path).ok(), path))
                .collect::<Vec<_>>()
        };
        let before = contents();
        let lines: Vec<&str> = table.trim().lines().map(str::trim).collect();
        for row in lines.chunks(2) {
            eprintln!("ir {}", row[0]);
            let (code, parts) = row[1].split_once(": ").unwrap();
            let parts: Vec<&str> = parts.split(" | ").collect();
            let ran = self.ir(row[0]).fails(code.parse().unwrap(), &parts);
            assert_eq!(ran.out, "", "no partial output");
            assert!(contents() == before, "a file was left or changed");
        }
    }

    /// Runs `ir` with `IR_DATA` set to this folder.
    pub(crate) fn ir_inside(&self, args: &(impl Arguments + ?Sized)) -> Ran {
        finish(self.command(args).env("IR_DATA", self.path()), None)
    }

    /// Runs `ir` with environment variables; an empty value unsets one.
    pub(crate) fn ir_env(
        &self,
        args: &(impl Arguments + ?Sized),
        variables: &[(&str, &str)],
    ) -> Ran {
        let mut command = self.command(args);
        command.env_remove("IR_DATA");
        for (name, value) in variables {
            if value.is_empty() {
                command.env_remove(name);
            } else {
                command.env(name, value);
            }
        }
        finish(&mut command, None)
    }

    /// Runs `ir` with `input` on standard input.
    pub(crate) fn ir_with(&self, args: &(impl Arguments + ?Sized), input: &str) -> Ran {
        finish(self.command(args).env_remove("IR_DATA"), Some(input))
    }

    /// Runs `ir` with a maximum file size in blocks of `ulimit -f`, so that writing beyond it fails
    /// as on a full disk.
    #[cfg(unix)]
    pub(crate) fn ir_with_file_size(&self, blocks: u64, args: &(impl Arguments + ?Sized)) -> Ran {
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
        let mut command = Command::new("sh");
        command
            .args(["-c", &script, "sh", env!("CARGO_BIN_EXE_ir")])
            .args(args.arguments())
            .current_dir(self.path())
            .env_remove("IR_DATA")
            .stdin(Stdio::null());
        finish(&mut command, None)
    }

    /// Runs an update of the index in a folder with growing file sizes until it succeeds. Asserts
    /// that every failure is an error that names the folder, and that the index is then at its last
    /// commit, with no files but those that its manifest names.
    #[cfg(unix)]
    pub(crate) fn update_without_space(
        &self,
        index: &str,
        args: &(impl Arguments + ?Sized),
    ) -> UpdateFailures {
        let folder = self.at(index);
        let mut failures = UpdateFailures::default();
        for blocks in (0..).map(|n: u32| if n < 4 { n.into() } else { 1 << (n - 2) }) {
            let before = contents(&folder);
            let ran = self.ir_with_file_size(blocks, args);
            if ran.code == 0 {
                break;
            }
            failures.count(ran, index, &before, &contents(&folder));
        }
        failures
    }

    /// Runs `ir` in a mount namespace, after a shell script that may mount a small file system, and
    /// before another one. [`None`] if this machine permits no mounts.
    #[cfg(target_os = "linux")]
    pub(crate) fn ir_with_mount(
        &self,
        script: &str,
        args: &(impl Arguments + ?Sized),
        after: &str,
    ) -> Option<Ran> {
        let unshare = |flags: &[&str], script: &str| {
            let mut command = Command::new("unshare");
            command
                .args(flags)
                .args(["sh", "-c", script, "sh", env!("CARGO_BIN_EXE_ir")])
                .args(args.arguments())
                .current_dir(self.path())
                .env_remove("IR_DATA")
                .stdin(Stdio::null());
            command
        };
        let flags = [
            &["--mount"][..],
            &["--user", "--map-root-user", "--mount"][..],
        ];
        let permitted = flags.into_iter().find(|flags| {
            let mut tried = unshare(flags, "mount -t tmpfs tmpfs .");
            let tried = tried.stderr(Stdio::null()).status();
            tried.is_ok_and(|status| status.success())
        })?;
        let script =
            format!("{script} || exit 99; \"$@\"; code=$?; {after} || exit 98; exit $code");
        Some(finish(&mut unshare(permitted, &script), None))
    }

    /// Runs `ir` with the caller's `IR_DATA`.
    pub(crate) fn ir_data(&self, args: &(impl Arguments + ?Sized)) -> Ran {
        finish(&mut self.command(args), None)
    }
}

/// Names and contents of the files in a folder.
pub(crate) type Contents = BTreeMap<String, Vec<u8>>;

pub(crate) fn contents(folder: &Path) -> Contents {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let file = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().unwrap();
        (name, fs::read(entry.path()).unwrap())
    };
    entries.map(file).collect()
}

/// Numbers of failed updates of a segmented index.
#[derive(Debug, Default)]
pub(crate) struct UpdateFailures {
    /// Failures that left the index at the commit before.
    pub(crate) without_commit: usize,
    /// Failed merges after a successful commit of the same update.
    pub(crate) after_commit: usize,
}

impl UpdateFailures {
    /// Counts a failure. Asserts that the error names the index, that the folder of the index is
    /// unchanged or its manifest is new and names all files, and that an error after a commit says
    /// that the changes are committed.
    #[track_caller]
    pub(crate) fn count(&mut self, ran: Ran, index: &str, before: &Contents, after: &Contents) {
        let of_merge = "error: the changes are committed, but segments cannot be merged: ";
        let is_merge = ran.err.contains(of_merge);
        let start = if is_merge { of_merge } else { "error: " };
        ran.fails(1, &[&format!("{start}{index}")]);
        if after["manifest.ir"] == before["manifest.ir"] {
            assert!(after == before, "{:?}, {:?}", before.keys(), after.keys());
            self.without_commit += 1;
        } else {
            let found: Vec<&String> = after.keys().collect();
            let expected = named_files(&after["manifest.ir"]);
            assert_eq!(found, expected.iter().collect::<Vec<_>>());
            assert!(is_merge);
            self.after_commit += 1;
        }
    }
}

/// Names of the files that belong to a segmented index of texts or vectors, by its manifest.
fn named_files(manifest: &[u8]) -> BTreeSet<String> {
    let format = IndexFormat {
        magic: *manifest.first_chunk().unwrap(),
        version: 1,
        name: "the manifest of a segmented index",
        large_sections: &[],
    };
    let file = IndexFile::from_bytes(&format, manifest.to_vec(), Verify::AllSections).unwrap();
    let commit = file.section("commit").unwrap();
    let commit: Value = serde_json::from_slice(commit.as_ref()).unwrap();
    let mut names: BTreeSet<String> = ["manifest.ir", "writer.lock"].map(String::from).into();
    for segment in commit["segments"].as_array().unwrap() {
        names.insert(format!("segment-{}.ir", segment["index"]["number"]));
        if let Some(number) = segment["deleted"].get("number") {
            names.insert(format!("deleted-{number}.ir"));
        }
    }
    names
}

fn finish(command: &mut Command, input: Option<&str>) -> Ran {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    if input.is_some() {
        command.stdin(Stdio::piped());
    }
    let mut child = command.spawn().unwrap();
    if let Some(input) = input {
        child
            .stdin
            .take()
            .unwrap()
            .write_all(input.as_bytes())
            .unwrap();
    }
    let output = child.wait_with_output().unwrap();
    Ran {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The folder of the real collections; prints a notice if the test is skipped.
pub(crate) fn data(test: &str) -> Option<PathBuf> {
    let data = std::env::var_os("IR_DATA").filter(|data| !data.is_empty());
    if data.is_none() {
        eprintln!("{test}: skipped, IR_DATA is not set");
    }
    data.map(PathBuf::from)
}

/// Value of a measure in trec_eval's output.
#[track_caller]
pub(crate) fn value(output: &str, measure: &str) -> f64 {
    let line = output
        .lines()
        .find(|line| {
            line.split('\t')
                .next()
                .is_some_and(|name| name.trim_end() == measure)
        })
        .unwrap_or_else(|| panic!("{measure} in {output}"));
    line.rsplit('\t').next().unwrap().parse().unwrap()
}

/// Folders of tiny encoders with random weights.
#[cfg_attr(not(feature = "dense"), allow(dead_code))]
pub(crate) const BERT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../crates/ir-dense/testdata/tiny/bert"
);
#[cfg_attr(not(feature = "dense"), allow(dead_code))]
pub(crate) const BERT_PYTORCH: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../crates/ir-dense/testdata/tiny/bert-pytorch"
);
#[cfg_attr(not(feature = "dense"), allow(dead_code))]
pub(crate) const DISTILBERT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../crates/ir-dense/testdata/tiny/distilbert"
);

pub(crate) const QRELS: &str = "q1 0 d1 1\nq1 0 d2 0\nq2 0 d3 1\n";
pub(crate) const RUN: &str = "q1 Q0 d2 1 2.5 me\nq1 Q0 d1 2 1.5 me\nq2 Q0 d3 1 1.0 me\n";
pub(crate) const CORPUS: &str = "{\"_id\": \"d1\", \"title\": \"Tea\", \"text\": \"Green tea leaves\", \"metadata\": {\"year\": 2012, \"kind\": \"drink\"}}\n\
{\"_id\": \"d2\", \"title\": \"Coffee\", \"text\": \"Black coffee and tea\", \"metadata\": {\"year\": 2019}}\n\
{\"_id\": \"d3\", \"title\": \"\", \"text\": \"A river in winter\"}\n";
pub(crate) const QUERIES: &str = "{\"_id\": \"q1\", \"text\": \"tea leaves\"}\n{\"_id\": \"q2\", \"text\": \"rivers\"}\n{\"_id\": \"q3\", \"text\": \"not judged\"}\n";
pub(crate) const BEIR_QRELS: &str = "query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td3\t1\n";

/// Writes a folder `tiny` in BEIR layout.
pub(crate) fn tiny(folder: &Folder) {
    folder.write("tiny/corpus.jsonl", CORPUS);
    folder.write("tiny/queries.jsonl", QUERIES);
    folder.write("tiny/qrels/test.tsv", BEIR_QRELS);
}
