//! Document templates and query cleaning of `ir index` and `ir search`.

use crate::common::{Folder, data, tiny, value};

#[test]
fn templates_choose_the_indexed_fields() {
    let here = Folder::new();
    tiny(&here);
    let hits = |args: &[&str]| here.ir(&[&["search"], args].concat()).ok().out;
    // "kind" is an attribute.
    assert!(!hits(&["tiny", "--query", "drink", "--json"]).contains("\"d1\""));
    let by_kind = ["tiny", "--template", "{text} {kind}", "--json"];
    assert!(hits(&[&by_kind[..], &["--query", "drink"]].concat()).contains("\"d1\""));
    // The title is not part of this template.
    let coffee = [&by_kind[..], &["--query", "Tea"]].concat();
    assert!(hits(&coffee).contains("\"d2\""));
    let titles = [
        "tiny",
        "--template",
        "{title}",
        "--query",
        "black",
        "--json",
    ];
    assert_eq!(hits(&titles), "");

    let args = [
        "index",
        "tiny",
        "-o",
        "t.ir",
        "--template",
        "{kind} {title}",
    ];
    here.ir(&args).ok();
    assert!(hits(&["t.ir", "drink", "--json"]).contains("\"d1\""));
    assert_eq!(hits(&["t.ir", "leaves", "--json"]), "");

    here.ir(&["search", "tiny", "tea", "--template", "{kidn}"])
        .fails(1, &["\"kidn\"", "kind", "did you mean kind?"]);
    here.ir(&["search", "tiny", "tea", "--template", "{text"])
        .fails(2, &["--template"]);
    here.ir(&["search", "t.ir", "tea", "--template", "{text}"])
        .fails(2, &["--template applies only when an index is built"]);
    let both = ["search", "tiny", "tea", "--template", "{text}"];
    here.ir(&[&both[..], &["--fields", "text"]].concat())
        .fails(2, &["--fields"]);
}

/// A cached index of another template is not searched.
#[test]
fn templates_have_cached_indexes_of_their_own() {
    let here = Folder::new();
    tiny(&here);
    let search = |template| {
        let args = ["search", "tiny", "drink", "--json", "--cache", "cache"];
        let template = ["--template", template];
        here.ir(&[&args[..], &template].concat()).ok().out
    };
    for _ in 0..2 {
        assert_eq!(search("{text}"), "");
        assert!(search("{text} {kind}").contains("\"d1\""));
    }
}

#[test]
fn query_cleaning() {
    let here = Folder::new();
    tiny(&here);
    let words = ["search", "tiny", "--json", "--analysis", "whitespace"];
    let hits = |query: &str, steps: &str| {
        let mut args = [&words[..], &["--query", query]].concat();
        if !steps.is_empty() {
            args.extend(["--clean", steps]);
        }
        here.ir(&args).ok().out.lines().count()
    };
    assert_eq!(hits("leaves,", ""), 0);
    assert_eq!(hits("leaves,", "punctuation"), 1);
    assert_eq!(hits("LEAVES", "punctuation"), 0);
    assert_eq!(hits("LEAVES", "lower-case"), 1);
    // "and" and "in" are words of two documents.
    assert_eq!(hits("and in leaves", ""), 3);
    assert_eq!(hits("and in leaves", "stop-words"), 1);
    assert_eq!(
        hits("And, in: LEAVES.", "punctuation,lower-case,stop-words"),
        1
    );
    here.ir(&["search", "tiny", "tea", "--clean", "stopwords"])
        .fails(2, &["stopwords", "stop-words"]);
}

/// Words by their part of speech in a file.
#[test]
fn parts_of_speech() {
    let here = Folder::new();
    tiny(&here);
    let word =
        |n: u32, word: &str, tag: &str| format!("{n}\t{word}\t_\t{tag}{}\n", "\t_".repeat(6));
    let words = [
        word(1, "Leaves", "NOUN"),
        word(2, "in", "ADP"),
        word(3, ".", "PUNCT"),
    ];
    here.write("tags.conllu", words.concat());
    let search = ["search", "tiny", "--json", "--analysis", "whitespace"];
    let run = |args: &[&str]| here.ir(&[&search[..], args].concat());
    let hits = |args: &[&str]| run(args).ok().out.lines().count();
    let query = ["--query", "Leaves in."];
    assert_eq!(hits(&query), 0);
    let tagged = [&query[..], &["--pos-tags", "tags.conllu"]].concat();
    assert_eq!(hits(&[&tagged[..], &["--clean", "lower-case"]].concat()), 1);
    let keep = [&tagged[..], &["--keep-pos", "ADP,PUNCT"]].concat();
    assert_eq!(hits(&keep), 1);
    // A query without words of these parts of speech.
    let none = run(&[&tagged[..], &["--keep-pos", "ADV"]].concat()).ok();
    assert_eq!(none.out, "");
    let warning = "warning: no hits: the query has no words after --pos-tags\n";
    assert!(none.err.contains(warning), "{}", none.err);
    let clean = ["--keep-pos", "ADP", "--clean", "stop-words"];
    let none = run(&[&tagged[..], &clean].concat()).ok();
    let warning = "warning: no hits: the query has no words after --pos-tags and --clean\n";
    assert!(none.err.contains(warning), "{}", none.err);
    here.write("queries.tsv", "1\tLeaves in.\n2\tLeaves in.\n");
    let file = [
        "search",
        "tiny",
        "--queries",
        "queries.tsv",
        "--output",
        "run.trec",
    ];
    let tags = ["--pos-tags", "tags.conllu", "--keep-pos", "ADV"];
    let none = here.ir(&[&file[..], &tags].concat()).ok();
    let warning = "2 of 2 queries have no hits, such as \"1\"; 2 have no words after --pos-tags\n";
    assert!(none.err.contains(warning), "{}", none.err);
    run(&[&tagged[..], &["--keep-pos", "noun"]].concat()).fails(2, &["--keep-pos", "\"noun\""]);
    run(&[&query[..], &["--keep-pos", "NOUN"]].concat())
        .fails(2, &["--keep-pos: expected --pos-tags, found none"]);
    let other = ["--query", "leaves", "--pos-tags", "tags.conllu"];
    run(&other).fails(
        1,
        &["tags.conllu: expected the tagged words of \"leaves\", found none"],
    );
    here.write("tags.conllu", "1 Leaves NOUN\n");
    run(&tagged).fails(1, &["tags.conllu:1: expected 10 columns, found 1"]);
}

/// The row "+ title" of the representations of DataFinder.
#[test]
fn datafinder_with_names_and_titles() {
    if data("datafinder with names and titles").is_none() {
        return;
    }
    let here = Folder::new();
    let args = [
        "search",
        "datafinder",
        "--preset",
        "datafinder",
        "--template",
        "{name} {text} {title}",
        "--hits",
        "5",
        "--not-later-than-query",
        "--scores",
        "strict",
        "-o",
        "run.trec",
    ];
    here.ir_data(&args).ok();
    let args = [
        "eval",
        "-c",
        "-m",
        "P.5",
        "-m",
        "recall.5",
        "-m",
        "map",
        "-m",
        "recip_rank",
    ];
    let out = here
        .ir_data(&[&args[..], &["datafinder", "run.trec"]].concat())
        .ok()
        .out;
    for (measure, expected) in [
        ("P_5", 0.0622),
        ("recall_5", 0.1465),
        ("map", 0.0983),
        ("recip_rank", 0.1727),
    ] {
        let found = value(&out, measure);
        assert!((found - expected).abs() < 0.00011, "{measure}: {found}");
    }
}
