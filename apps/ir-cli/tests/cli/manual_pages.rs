//! Pages of `ir man`.

use std::collections::BTreeSet;
use std::process::Command;

use crate::common::Folder;

/// Names below a heading of a help text: the words after two spaces.
fn listed<'a>(help: &'a str, heading: &str) -> Vec<&'a str> {
    let (_, rest) = help.split_once(&format!("\n{heading}:\n")).unwrap();
    let lines = rest.lines().take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.strip_prefix("  "));
    let names = names.filter(|line| !line.starts_with(' '));
    names.filter_map(|line| line.split(' ').next()).collect()
}

/// Long options that a help text defines. Lines of descriptions are indented further.
fn options(help: &str) -> BTreeSet<&str> {
    let help = help.split("\nExamples:\n").next().unwrap();
    let lines = help.lines().filter_map(|line| {
        let text = line.trim_start();
        (line.len() - text.len() <= 6 && text.starts_with('-')).then_some(text)
    });
    let words = lines.filter_map(|line| line.split([' ', '[']).find(|it| it.starts_with("--")));
    words.collect()
}

/// Every command of the help has a page, and every option of a command is in the page.
#[test]
fn pages_are_complete() {
    let here = Folder::new();
    assert_eq!(here.ir("man -o pages").ok().out, "");
    let mut expected = vec!["ir.1".to_owned()];
    for name in listed(&here.ir("--help").ok().out, "Commands") {
        expected.push(format!("ir-{name}.1"));
        let help = here.ir(&[name, "--help"]).ok().out;
        if help.contains("\nCommands:\n") {
            let below = listed(&help, "Commands").into_iter();
            expected.extend(below.map(|below| format!("ir-{name}-{below}.1")));
        }
        let page = here.read(&format!("pages/ir-{name}.1")).replace("\\-", "-");
        let found = options(&help);
        assert!(found.contains("--quiet"), "{name}");
        for option in found {
            assert!(
                page.contains(&format!("\\fB{option}\\fR")),
                "{name} {option}"
            );
        }
    }
    expected.sort();
    let found = here.files().into_iter().filter(|path| path.is_file());
    let names = found.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned());
    let mut names: Vec<String> = names.collect();
    names.sort();
    assert_eq!(names, expected);
}

#[test]
fn a_page_is_printed() {
    let here = Folder::new();
    here.ir("man -o pages").ok();
    for (args, name) in [
        ("man", "ir"),
        ("man search", "ir-search"),
        ("man datasets where", "ir-datasets-where"),
    ] {
        let page = here.ir(args).ok().out;
        assert_eq!(page, here.read(&format!("pages/{name}.1")), "{args}");
        assert!(page.contains(&format!("\n.TH {name} 1 ")), "{page}");
    }
    let page = here.ir("man index").ok().out;
    // The usage line of `--help`, one line per example, and the page above.
    assert!(
        page.contains(".SH SYNOPSIS\n\\fBir index\\fR [OPTIONS]"),
        "{page}"
    );
    assert!(page.contains("\n.SH EXAMPLES\n.nf\n  ir index "), "{page}");
    assert!(
        page.ends_with("\n.SH \"SEE ALSO\"\n\\fBir\\fR(1)\n"),
        "{page}"
    );
    let page = here.ir("man eval").ok().out;
    assert!(page.contains("nDCG"), "{page}");
}

#[test]
fn errors() {
    let here = Folder::new();
    here.ir("man serach").fails(
        2,
        &["COMMAND: expected a command of `ir`, found \"serach\" (did you mean search?)"],
    );
    here.ir("man datasets fish")
        .fails(2, &["expected a command of `ir datasets`, found \"fish\""]);
    here.ir("man search -o pages").fails(2, &["--output"]);
    here.ir("man -o -")
        .fails(2, &["--output: expected a folder"]);
    here.write("file", "");
    here.ir("man -o file").fails(1, &["file"]);
    // One page that cannot be written leaves no other.
    std::fs::create_dir_all(here.at("pages/ir-search.1")).unwrap();
    here.ir("man -o pages").fails(1, &["ir-search.1"]);
    assert_eq!(std::fs::read_dir(here.at("pages")).unwrap().count(), 1);
}

/// groff reports unknown macros and unbalanced quotes as warnings.
#[test]
fn pages_are_valid() {
    if Command::new("groff").arg("--version").output().is_err() {
        eprintln!("skipped: groff is not installed");
        return;
    }
    let here = Folder::new();
    here.ir("man -o pages").ok();
    let pages = here.files().into_iter().filter(|path| path.is_file());
    let mut groff = Command::new("groff");
    groff
        .args(["-Kutf8", "-man", "-Tutf8", "-ww", "-z"])
        .args(pages);
    let ran = groff.output().unwrap();
    let warnings = String::from_utf8(ran.stderr).unwrap();
    assert!(ran.status.success() && warnings.is_empty(), "{warnings}");
}
