//! Generator of command lines.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use ir_core::SplitMix64;

use crate::definition::{Argument, Subcommand};
use crate::files::{Fixtures, NUMBERS, copy, damaged_copy};

/// A command line. Its files are created by [`Case::create`].
pub(crate) struct Case<'a> {
    pub(crate) seed: u64,
    pub(crate) number: u64,
    pub(crate) command: &'a Subcommand,
    parts: Vec<(Option<&'a Argument>, Value)>,
    pub(crate) stdin: Option<String>,
    random: SplitMix64,
}

#[derive(Debug)]
enum Value {
    Flag,
    Text(Vec<u8>),
    /// An unchanged fixture, or the same in another form (`FOLDER:SPLIT`).
    Valid(String),
    Damaged(String),
    Output(OutputKind),
}

#[derive(Debug)]
enum OutputKind {
    /// A new file with this name.
    New(String),
    Existing,
    /// An input of the command.
    Input,
    LinkToInput,
    HardLinkToInput,
    LinkToNew,
    /// A path that cannot be written.
    Unwritable(String),
    Stream(&'static str),
}

/// Options that many others of the same command require.
const COMPANIONS: [&str; 5] = ["--vectors", "--encoder", "--dev", "--clicks", "--labels"];

/// Command line in a folder.
pub(crate) struct CommandLine {
    pub(crate) arguments: Vec<OsString>,
    /// Files and folders that the command may create or replace.
    pub(crate) outputs: Vec<PathBuf>,
    /// Folders that it may fill, also if it fails.
    pub(crate) caches: Vec<PathBuf>,
}

/// Where a case is hostile.
#[derive(Clone, Copy, PartialEq)]
enum Focus {
    Files,
    Values,
    Outputs,
    Everything,
}

impl<'a> Case<'a> {
    pub(crate) fn generate(
        seed: u64,
        number: u64,
        commands: &'a [Subcommand],
        fixtures: &Fixtures,
    ) -> Self {
        let mut random = SplitMix64::new(seed, number);
        let command = &commands[number as usize % commands.len()];
        let round = number as usize / commands.len();
        let focus = [
            Focus::Files,
            Focus::Files,
            Focus::Values,
            Focus::Outputs,
            Focus::Everything,
        ];
        let focus = focus[random.below(5)];
        let mut case = Self {
            seed,
            number,
            command,
            parts: Vec::new(),
            stdin: None,
            random,
        };
        for option in case.options(round) {
            let value = case.value(option, focus, fixtures);
            case.parts.push((Some(option), value));
        }
        for argument in &command.arguments {
            let count = match (argument.is_required, argument.is_repeated) {
                (true, false) => 1,
                (true, true) => 1 + case.random.below(3),
                (false, _) => case.random.below(3),
            };
            for _ in 0..count {
                let value = case.value(argument, focus, fixtures);
                case.parts.push((Some(argument), value));
            }
        }
        if focus == Focus::Everything {
            match case.random.below(8) {
                0 => drop(case.parts.pop()),
                1 => case
                    .parts
                    .push((None, Value::Text(hostile_text(&mut case.random)))),
                _ => {}
            }
        }
        let files = fixtures.of("run").len();
        case.stdin = match case.random.below(3) {
            0 => None,
            _ => Some(fixtures.of("run")[case.random.below(files)].to_owned()),
        };
        case
    }

    /// Required options, one that depends on the round, and up to two others.
    fn options(&mut self, round: usize) -> Vec<&'a Argument> {
        let options = &self.command.options;
        let mut chosen: BTreeSet<usize> = BTreeSet::from([round % options.len()]);
        for _ in 0..self.random.below(3) {
            let other = self.random.below(options.len());
            if !["--help", "--version"].contains(&&*options[other].name) {
                chosen.insert(other);
            }
        }
        chosen.extend((0..options.len()).filter(|&at| options[at].is_required));
        let position = |name: &str| options.iter().position(|option| option.name == name);
        if self.random.below(2) == 0 {
            chosen.extend(COMPANIONS.iter().filter_map(|name| position(name)));
        }
        for group in &self.command.groups {
            let members: Vec<usize> = group.iter().filter_map(|name| position(name)).collect();
            if !members.iter().any(|member| chosen.contains(member)) {
                chosen.insert(members[self.random.below(members.len())]);
            }
        }
        chosen.into_iter().map(|at| &options[at]).collect()
    }

    fn value(&mut self, argument: &Argument, focus: Focus, fixtures: &Fixtures) -> Value {
        let Some(value_name) = &argument.value else {
            return Value::Flag;
        };
        let random = &mut self.random;
        let everything = focus == Focus::Everything;
        if argument.is_output() {
            return Value::Output(output(
                argument,
                everything || focus == Focus::Outputs,
                random,
            ));
        }
        let likely = |focused: bool| if everything || focused { 2 } else { 12 };
        let mut files = fixtures.of(&argument.name);
        files.extend(fixtures.of(value_name));
        // Lists of judgments are runs for `ir pool` alone, and these judgments have a common form.
        files.retain(|file| *file != "run-judged.txt" || self.command.path == ["pool"]);
        if value_name == "QRELS" {
            files.extend(["qrels.txt"; 4]);
        }
        if !files.is_empty() && argument.possible_values.is_empty() {
            let file = files[random.below(files.len())].to_owned();
            if random.below(likely(focus == Focus::Files)) == 0 {
                return match random.below(10) {
                    0 => Value::Text(random_path(random)),
                    1 => Value::Text(hostile_text(random)),
                    _ => Value::Damaged(file),
                };
            }
            return match random.below(12) {
                0 => Value::Valid("-".to_owned()),
                1 if value_name == "COLLECTION" => Value::Valid("bundled".to_owned()),
                2 if value_name == "QRELS" => Value::Valid("collection-tiny:dev".to_owned()),
                3 if value_name == "QRELS" => Value::Valid("collection-tiny".to_owned()),
                _ => Value::Valid(file),
            };
        }
        if random.below(likely(focus == Focus::Values)) == 0 {
            return Value::Text(hostile_text(random));
        }
        let values = typical_values(value_name);
        let possible = &argument.possible_values;
        Value::Text(match possible.len() {
            0 => values[random.below(values.len())].into(),
            count => possible[random.below(count)].clone().into_bytes(),
        })
    }

    pub(crate) fn option_names(&self) -> impl Iterator<Item = &str> {
        self.parts
            .iter()
            .filter_map(|(argument, _)| Some(&*argument.as_ref()?.name))
    }

    /// Creates the files of the case in `folder`, which has the fixtures, and returns the
    /// arguments.
    pub(crate) fn create(&self, folder: &Path) -> CommandLine {
        let mut random = self.random.clone();
        let damaged = folder.join("damaged");
        fs::create_dir(&damaged).unwrap();
        let values: Vec<Option<OsString>> = self
            .parts
            .iter()
            .enumerate()
            .map(|(number, (_, value))| {
                Some(match value {
                    Value::Flag | Value::Output(_) => return None,
                    Value::Text(bytes) => OsString::from_vec(bytes.clone()),
                    Value::Valid(name) => name.into(),
                    Value::Damaged(name) => {
                        let copy = damaged.join(format!("{number}-{name}"));
                        damaged_copy(&folder.join(name), &copy, &mut random);
                        format!("damaged/{number}-{name}").into()
                    }
                })
            })
            .collect();
        // A file that the command reads, also in a folder.
        let inputs = values
            .iter()
            .flatten()
            .map(PathBuf::from)
            .filter(|path| path.is_relative());
        let mut inputs = inputs.flat_map(|path| {
            let names = ["", "corpus.jsonl", "config.json", "a.md"];
            names.map(|name| {
                if name.is_empty() {
                    path.clone()
                } else {
                    path.join(name)
                }
            })
        });
        let input = inputs.rfind(|path| folder.join(path).is_file());
        let mut line = CommandLine {
            arguments: self.command.path.iter().map(OsString::from).collect(),
            outputs: Vec::new(),
            caches: Vec::new(),
        };
        for (number, ((argument, value), text)) in self.parts.iter().zip(values).enumerate() {
            let known = line.outputs.len();
            let text = text.or_else(|| match value {
                Value::Output(output) => Some(
                    line.create_output(output, number, folder, input.as_deref())
                        .into_os_string(),
                ),
                _ => None,
            });
            if argument.is_some_and(Argument::is_cache) {
                line.caches.extend(line.outputs.split_off(known));
            }
            let option = argument.filter(|argument| argument.name.starts_with('-'));
            match (option, text) {
                (Some(option), Some(text))
                    if option.is_value_optional
                        || (option.name.starts_with("--") && random.below(2) == 0) =>
                {
                    let mut joined = OsString::from(format!("{}=", option.name));
                    joined.push(text);
                    line.arguments.push(joined);
                }
                (option, text) => {
                    line.arguments
                        .extend(option.map(|option| option.name.clone().into()));
                    line.arguments.extend(text);
                }
            }
        }
        line
    }
}

impl CommandLine {
    /// Creates what an output replaces, and returns the path of the output.
    fn create_output(
        &mut self,
        output: &OutputKind,
        number: usize,
        folder: &Path,
        input: Option<&Path>,
    ) -> PathBuf {
        let link = PathBuf::from(format!("link-{number}"));
        match (output, input) {
            (OutputKind::New(name), _) => {
                self.outputs.push(folder.join(name));
                name.into()
            }
            (OutputKind::Input, Some(input)) => input.into(),
            (OutputKind::LinkToInput, Some(input)) => {
                symlink(input, folder.join(&link)).unwrap();
                link
            }
            (OutputKind::HardLinkToInput, Some(input)) => {
                fs::hard_link(folder.join(input), folder.join(&link)).unwrap();
                link
            }
            (OutputKind::LinkToNew, _) => {
                symlink("target", folder.join(&link)).unwrap();
                self.outputs.push(folder.join("target"));
                link
            }
            (OutputKind::Unwritable(path), _) => {
                // Writable for an option that names a folder.
                if !path.starts_with('.') && !path.is_empty() {
                    self.outputs.push(folder.join(path));
                }
                path.into()
            }
            (OutputKind::Stream(path), _) => path.into(),
            (OutputKind::Existing, _) | (_, None) => {
                let old = PathBuf::from(format!("old-{number}"));
                copy(&folder.join("qrels.txt"), &folder.join(&old));
                self.outputs.push(folder.join(&old));
                old
            }
        }
    }
}

fn output(argument: &Argument, hostile: bool, random: &mut SplitMix64) -> OutputKind {
    let endings = ["", ".trec", ".ir", ".npy", ".gz", ".zst", ".svg", ".json"];
    let name = argument.name.trim_start_matches('-');
    let is_folder = argument.value.as_deref() == Some("DIR");
    let new = OutputKind::New(format!(
        "new-{name}{}",
        endings[random.below(endings.len())]
    ));
    if !hostile {
        return new;
    }
    match random.below(14) {
        0 => OutputKind::Existing,
        1 => OutputKind::Input,
        2 => OutputKind::LinkToInput,
        3 => OutputKind::HardLinkToInput,
        4 => OutputKind::LinkToNew,
        5 => OutputKind::Unwritable("collection-tiny".to_owned()),
        6 => OutputKind::Unwritable("missing/folder/new".to_owned()),
        7 => OutputKind::Unwritable("qrels.txt/new".to_owned()),
        8 => OutputKind::Unwritable("n".repeat(300)),
        9 => OutputKind::Unwritable(
            ["", "collection-tiny/", ".", ".."][random.below(if is_folder { 2 } else { 4 })]
                .to_owned(),
        ),
        10 => OutputKind::Stream("/dev/full"),
        11 => OutputKind::Stream(["-", "/dev/null", "/dev/stdout"][random.below(3)]),
        // The same for two options.
        12 => OutputKind::New("same".to_owned()),
        _ => new,
    }
}

/// Values that are usually valid, by the name of the value in the help.
fn typical_values(value_name: &str) -> &'static [&'static str] {
    match value_name {
        "N" | "K" | "LEVEL" | "RANK" => &["1", "2", "3", "10", "100"],
        "NUMBER" | "FRACTION" | "K1" | "B" | "ALPHA" | "X" | "P" => {
            &["0.1", "0.5", "0.9", "1", "2"]
        }
        "SIZE" => &["1MB", "64kB", "1GB"],
        "SPLIT" => &["test", "train", "dev"],
        "MEASURE" => &[
            "nDCG@10",
            "map",
            "P.5,10",
            "all_trec",
            "alpha_nDCG@5",
            "official",
            "infAP",
            "RBP",
        ],
        "CONDITION" => &["year>=2000", "year<2015", "year=2012", "kind=drink"],
        "FIELD=WEIGHT" => &["title=2", "title=2,text=1", "text=0"],
        "FIELD=B" => &["title=0.5", "title=0,text=1"],
        "NAME=VALUES" => &["k1=0.5,1", "b=0,0.5,1", "mu=10,100", "feedback.docs=1,2"],
        "W,W,W" => &["0.85,0.1,0.05", "1,0,0", "1,1,1"],
        "PRIOR" => &["feedback", "qrels:qrels.txt", "qrels:bundled"],
        "W,W,..." => &["1", "1,2", "0.5,0.5,0"],
        "TO:SIZE" => &["100:5%", "10:1", "5:50%"],
        "RANGE" => &["0-5", "6-20", "501-", "3-3"],
        "TEXT" => &[
            "{title} {text}",
            "tea leaves",
            "{id}: {text}",
            "query: ",
            "{year}",
        ],
        "NAME" => &[
            "bundled",
            "cranfield",
            "text",
            "english",
            "beir/nfcorpus",
            "cpu",
        ],
        "COMMAND" => &["eval", "datasets", "fetch", "help"],
        "WORDS" => &["tea", "leaves", "\"green", "AND", "the"],
        _ => &[
            "text", "title", "label", "tea", "cpu", "english", "0.1", "run0", "eval",
        ],
    }
}

fn hostile_text(random: &mut SplitMix64) -> Vec<u8> {
    let texts = [
        "",
        " ",
        "-",
        "--",
        "--quiet",
        "-x",
        "{",
        "}",
        "{}",
        "{titel}",
        "{{{",
        "%s%n",
        "a=b=c",
        "=",
        ":",
        ":::",
        "collection-tiny:",
        ":dev",
        "collection-tiny:nosuch",
        "beir/nfcorpus",
        "bundled",
        "all-MiniLM-L6-v2",
        "..",
        "/",
        "/dev/null",
        "\u{1b}]0;title\u{7}",
        "\u{202e}abc",
        "a\nerror: b",
        "\r",
        "\t",
        "😀",
        "é",
        "100%:5",
        "5:101%",
        "9-3",
        "1-2-3",
        "year>=",
        ">=3",
        "title=NaN",
        "title=-1",
        "title=1e400",
        "1,,2",
        ",",
        "1,NaN",
        "-1,2",
        "1e400,1",
        "0,0",
        "nDCG@0",
        "P@-1",
        "P.99999999999999999999",
        "RBP(p=2)",
        "nDCG@",
        "map@10@10",
        "all_trec,",
        "ERR(",
        "1TB",
        "-5MB",
        "1e30GB",
        "99999999999GB",
        "0MB",
        "cuda:99999999999",
        "tch",
        "gpu",
        "NaN%",
        "1:NaN%",
        "1:1e400",
    ];
    match random.below(texts.len() + NUMBERS.len() * 2 + 4) {
        0 => b"\xff\xfe".to_vec(),
        1 => b"caf\xe9.txt".to_vec(),
        2 => "a".repeat(100_000).into_bytes(),
        3 => "{text}".repeat(10_000).into_bytes(),
        at if at < 4 + texts.len() => texts[at - 4].into(),
        at => NUMBERS[(at - 4 - texts.len()) / 2].into(),
    }
}

fn random_path(random: &mut SplitMix64) -> Vec<u8> {
    let paths: [&[u8]; 9] = [
        b"missing.txt",
        b"damaged",
        b".",
        b"/",
        b"/dev/null",
        b"/dev/zero",
        b"qrels.txt/x",
        b"missing/\xff",
        b"/proc/self/environ",
    ];
    paths[random.below(paths.len())].to_vec()
}
