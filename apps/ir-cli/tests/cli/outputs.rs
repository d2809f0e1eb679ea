//! Output destinations: standard output, compression, links, and two outputs of one command.

use std::fs;
use std::io::Read;
use std::path::PathBuf;

use crate::common::{CORPUS, Folder, QRELS, QUERIES, RUN, tiny, words};

pub(crate) const OTHER_RUN: &str = "q1 Q0 d1 1 2.5 other\nq2 Q0 d2 1 1.5 other\n";
pub(crate) const NOT_AN_INPUT: &str = "expected a path that is not an input, found ";

/// Every file with its content.
pub(crate) fn contents(here: &Folder) -> Vec<(PathBuf, Vec<u8>)> {
    let files = here.files().into_iter().filter(|path| path.is_file());
    files
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect()
}

/// Asserts a usage error that names the output option and the input, and that no file changed.
#[track_caller]
pub(crate) fn rejects(here: &Folder, args: &[&str], option: &str, input: &str) {
    let before = contents(here);
    let expected = format!("{option}: {NOT_AN_INPUT}");
    let ran = here.ir_inside(args).fails(2, &[&expected, input]);
    assert_eq!(ran.out, "", "{args:?}");
    assert!(contents(here) == before, "{args:?}: a file changed");
}

/// Files that the commands read.
pub(crate) fn inputs() -> Folder {
    let here = Folder::new();
    tiny(&here);
    here.write("s.jsonl", CORPUS);
    here.write("q.jsonl", QUERIES);
    here.write("notes/a.md", "# Tea\n\ngreen tea\n");
    here.write("qrels", QRELS);
    here.write("a.trec", RUN);
    here.write("b.trec", OTHER_RUN);
    here.write("clicks", "q1 d1\n");
    here.write(
        "t.jsonl",
        "{\"query\": \"tea\", \"positives\": [\"Green tea leaves\"]}\n\
         {\"query\": \"river\", \"positives\": [\"A river in winter\"]}\n",
    );
    here.ir("index tiny -o x.ir").ok();
    here
}

#[test]
fn two_outputs_are_two_files() {
    let here = inputs();
    for (args, second) in [
        ("pool a.trec -o new --pool ./new", "--pool"),
        ("pool a.trec --pool -", "--pool"),
        ("interleave a.trec b.trec -o new --teams new", "--teams"),
        (
            "interleave a.trec b.trec --clicks clicks --teams -",
            "--teams",
        ),
    ] {
        let before = contents(&here);
        let message = format!("{second}: expected a destination other than --output, found ");
        here.ir(args).fails(2, &[&message, "for both"]);
        assert!(contents(&here) == before, "{args:?}");
    }
}

pub(crate) fn decompressed(path: PathBuf) -> String {
    let bytes = fs::read(&path).unwrap();
    assert!(bytes.starts_with(&[0x1f, 0x8b]), "{}", path.display());
    let mut text = String::new();
    ir_data::open(path)
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    text
}

/// `-o -` is standard output and `-o x.gz` gzip in every command that writes text.
#[test]
fn standard_output_and_compression() {
    let here = inputs();
    for command in [
        "search x.ir tea",
        "search tiny",
        "mine tiny --split test",
        "fuse a.trec b.trec",
        "interleave a.trec b.trec",
        "pool a.trec b.trec",
        "compare qrels a.trec b.trec",
        "compare --format json qrels a.trec b.trec",
    ] {
        let command = words(command);
        let run = |more: &[&str]| here.ir(&[&command[..], more].concat()).ok().out;
        let expected = run(&[]);
        assert!(!expected.is_empty());
        assert_eq!(run(&["-o", "out"]), "");
        for compressed in ["out.gz", "out.GZ"] {
            assert_eq!(run(&["-o", compressed]), "");
            assert_eq!(decompressed(here.at(compressed)), here.read("out"));
        }
        for stdout in ["-", "/dev/stdout"] {
            assert_eq!(run(&["-o", stdout]), here.read("out"));
        }
        // A typed query gives a list, and a run with -o.
        if command != ["search", "x.ir", "tea"] {
            assert_eq!(here.read("out"), expected, "{command:?}");
        }
    }
    let options = [
        ("pool a.trec -o list", "--pool"),
        ("interleave a.trec b.trec -o run", "--teams"),
    ];
    for (command, option) in options {
        let command: Vec<&str> = command.split(' ').chain([option]).collect();
        let run = |to: &str| here.ir(&[&command[..], &[to]].concat()).ok().out;
        let expected = run("-");
        assert!(!expected.is_empty());
        assert_eq!(run("out.gz"), "");
        assert_eq!(decompressed(here.at("out.gz")), expected, "{command:?}");
    }
    assert!(!here.at("-").exists());
}

/// `--save -` is standard output and `--save x.gz` gzip.
#[test]
fn system_files() {
    let here = inputs();
    let save = |path: &str| {
        let args = format!("search tiny -o run --save {path}");
        here.ir(&args).ok().out
    };
    assert_eq!(save("s.toml"), "");
    let expected = here.read("s.toml");
    assert!(
        expected.starts_with("# System of `ir search`;"),
        "{expected}"
    );
    assert_eq!(save("-"), expected);
    assert_eq!(save("s.toml.gz"), "");
    assert_eq!(decompressed(here.at("s.toml.gz")), expected);
    assert!(!here.at("-").exists());
}

/// An index or a folder can be neither standard output nor compressed.
#[test]
fn binary_outputs() {
    let here = inputs();
    here.errors(
        "
        index tiny -o -
          2: --output: expected a file | standard output
        index tiny -o x.ir.gz
          2: --output: expected a file | .gz
        index tiny -o x.zst
          2: --output: expected a file | .zst
        index tiny -o x.ir.GZ
          2: --output: expected a file | .GZ
        search tiny tea --cache -
          2: --cache: expected a folder | standard output
        compare qrels a.trec b.trec --plots -
          2: --plots: expected a folder | standard output
    ",
    );
}

/// The file that a link points to is replaced, not the link; also if it does not exist yet.
#[cfg(unix)]
#[test]
fn links_to_outputs_are_followed() {
    let here = inputs();
    for args in [
        "index tiny",
        "search tiny",
        "mine tiny --split test",
        "fuse a.trec b.trec",
        "interleave a.trec b.trec",
        "pool a.trec",
        "compare qrels a.trec b.trec",
    ] {
        std::os::unix::fs::symlink("target", here.at("link")).unwrap();
        let args: Vec<&str> = args.split(' ').chain(["-o", "link"]).collect();
        for _ in 0..2 {
            here.ir(&args).ok();
            assert!(here.at("link").is_symlink(), "{args:?}");
            assert!(!fs::read(here.at("target")).unwrap().is_empty());
        }
        fs::remove_file(here.at("link")).unwrap();
        fs::remove_file(here.at("target")).unwrap();
    }
}
