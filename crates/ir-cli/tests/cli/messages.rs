//! Warnings about surprising results, suggestions for unknown names, escaped control characters.

use std::process::{Command, Stdio};

use crate::common::{Folder, QRELS, RUN, tiny};

#[test]
fn searches_without_hits_say_why() {
    let here = Folder::new();
    tiny(&here);
    for (query, warning) in [
        ("zebra", "no hits: no document has a term of the query"),
        (
            "the and of",
            "no hits: the query has stop words and punctuation only",
        ),
        (
            "?!",
            "no hits: the query has stop words and punctuation only",
        ),
        ("\"green tea\" leaves", "query syntax is not supported: \""),
        ("green AND tea", "query syntax is not supported: AND"),
    ] {
        let ran = here.ir(&["search", "tiny", query]).ok();
        let expected = format!("warning: {warning}");
        assert!(ran.err.starts_with(&expected), "{query}: {}", ran.err);
        assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
        assert_eq!(ran.out.is_empty(), warning.starts_with("no hits"));
        assert_eq!(here.ir(&["--quiet", "search", "tiny", query]).ok().err, "");
    }
    let filtered = here.ir(&["search", "tiny", "river", "--filter", "kind"]);
    let expected = "no document that passes --filter has a term of the query";
    assert!(filtered.ok().err.contains(expected));
    assert_eq!(here.ir(&["search", "tiny", "green tea"]).ok().err, "");

    here.write("q.tsv", "a\tgreen tea\nb\tzebra\nc\tthe\n");
    let ran = here.ir(&["search", "tiny", "--queries", "q.tsv", "-o", "run"]);
    assert_eq!(
        ran.ok().err,
        "warning: 2 of 3 queries have no hits, such as \"b\"; 1 have stop words only\n"
    );
}

#[test]
fn judged_documents_that_the_collection_lacks() {
    let here = Folder::new();
    tiny(&here);
    let search = ["search", "tiny", "-o", "run"];
    assert_eq!(here.ir(&search).ok().err, "");
    here.write(
        "tiny/qrels/test.tsv",
        "query-id\tcorpus-id\tscore\nq1\td1\t1.0\nq1\td9\t1\nq2\td3\t1\n",
    );
    assert_eq!(
        here.ir(&search).ok().err,
        "warning: 1 of 3 judgments are of documents that the index lacks, such as \"d9\"; these cannot be retrieved\n"
    );
}

#[test]
fn unknown_names_have_suggestions() {
    let here = Folder::new();
    tiny(&here);
    here.write("qrels", QRELS);
    here.write("run", RUN);
    here.write("other", RUN.replace("me", "mine"));
    for (args, code, suggestion) in [
        (&["search", "nfcorpsu", "tea"][..], 1, "beir/nfcorpus"),
        (&["eval", "beir/nfcorpsu", "run"], 1, "beir/nfcorpus"),
        (&["datasets", "where", "beir/arguna"], 1, "beir/arguana"),
        (&["search", "tiny", "--split", "tst"], 1, "test"),
        (&["eval", "-m", "nDGC@10", "qrels", "run"], 2, "nDCG@10"),
        (
            &["eval", "-m", "map,recal.5", "qrels", "run"],
            2,
            "recall.5",
        ),
        (
            &["compare", "--baseline", "mien", "qrels", "run", "other"],
            2,
            "mine",
        ),
        (&["search", "tiny", "--analysis", "anserni"], 2, "anserini"),
    ] {
        let suggestion = format!("(did you mean {suggestion}?)");
        here.ir(args).fails(code, &[&suggestion]);
    }
    // clap's own suggestions.
    here.ir(&["help", "comparee"])
        .fails(2, &["tip: a similar subcommand exists: 'compare'"]);
    here.ir(&["fuse", "--method", "combsm", "run"])
        .fails(2, &["tip: a similar value exists: 'combsum'"]);
    let nothing = here.ir(&["search", "nowhere", "tea"]);
    assert!(!nothing.err.contains("did you mean"), "{}", nothing.err);
}

#[cfg(feature = "dense")]
#[test]
fn unknown_models_have_suggestions() {
    let here = Folder::new();
    here.write("x.jsonl", crate::common::CORPUS);
    let cache = here.path().join("hub").display().to_string();
    for args in [
        &["models", "where", "all-MiniLM-L6-v3"][..],
        &["encode", "all-MiniLM-L6-v3", "x.jsonl", "-o", "x.ir"],
    ] {
        let ran = here.ir_env(args, &[("HF_HUB_CACHE", &cache)]);
        ran.fails(1, &["all-MiniLM-L6-v2?)"]);
    }
}

/// Errors and warnings are escaped everywhere, standard output on a terminal.
#[test]
fn control_characters_are_escaped() {
    let here = Folder::new();
    let tag = "\u{1b}[2J\u{9b}31m";
    here.write("qrels", QRELS);
    here.write("a", RUN.replace("me", tag));
    here.write("b", RUN);
    let error = here.ir(&["eval", "\u{1b}]0;x\u{7}", "a"]);
    error.fails(1, &["\\u001b]0;x\\u0007: expected"]);
    let warned = here.ir(&["search", "bundled", "tea AND \u{1b}[2J"]).ok();
    assert!(!warned.err.contains('\u{1b}'), "{}", warned.err);
    let compare = ["compare", "-m", "AP", "qrels", "a", "b"];
    let piped = here.ir(&compare).ok().out;
    assert!(piped.contains(tag), "a pipe gets the tag unchanged");

    let Some(shown) = on_terminal(&here, &compare) else {
        eprintln!("control_characters_are_escaped: no script(1) for a terminal");
        return;
    };
    assert!(shown.contains("\\u001b[2J\\u009b31m"), "{shown}");
    assert!(!shown.contains(tag), "{shown}");
    // Colors of the list are the command's own.
    let search = ["search", "bundled", "boats"];
    let colored = on_terminal(&here, &search).unwrap_or_default();
    assert!(colored.contains("\u{1b}["), "{colored}");
}

/// Output of the command on a pseudoterminal; `None` without script(1) of util-linux.
fn on_terminal(here: &Folder, args: &[&str]) -> Option<String> {
    let line = format!("{} {}", env!("CARGO_BIN_EXE_ir"), args.join(" "));
    let ran = Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .current_dir(here.path())
        .env("TERM", "xterm")
        .env_remove("NO_COLOR")
        .stdin(Stdio::null())
        .output()
        .ok()?;
    ran.status.success().then_some(())?;
    Some(String::from_utf8_lossy(&ran.stdout).into_owned())
}

#[test]
fn fused_scores_are_finite() {
    let here = Folder::new();
    here.write("a", RUN.replace("2.5", "inf"));
    here.write("large", RUN.replace("2.5", "1.7e308"));
    let raw = ["fuse", "--method", "combsum", "--normalize", "none"];
    for runs in [&["a", "a"][..], &["large", "large"]] {
        let ran = here.ir(&[&raw[..], runs].concat());
        ran.fails(1, &["q1", "d2", "expected a finite fused score"]);
    }
    let ranks = here.ir(&["fuse", "a", "large"]).ok();
    assert!(!ranks.out.contains("inf") && !ranks.out.contains("NaN"));
}

#[test]
fn collections_without_judgments() {
    let here = Folder::new();
    here.write("notes/a.md", "green tea\n");
    let args = ["encode", "model", "notes", "--queries", "-o", "v.ir"];
    if cfg!(feature = "dense") {
        let expected = "expected a split of \"notes\" (none), found \"test\"";
        here.ir(&args).fails(1, &[expected]);
    }
}

/// Options and fields of files may have any length.
#[test]
fn long_messages_are_shortened() {
    let here = Folder::new();
    let long = "a".repeat(100_000);
    let failed = here.ir(&["diff", &long, "run"]).fails(2, &["aaa...aaa"]);
    assert!(failed.err.len() < 2100);
    let failed = here
        .ir(&["fuse", "--hits", &long, "run"])
        .fails(2, &["--hits"]);
    assert!(failed.err.len() < 2200);
}
