//! Warnings and notes of `ir search` about queries, judgments and saved indexes.

use crate::common::{Folder, tiny};

#[test]
fn searches_without_hits_say_why() {
    let here = Folder::new();
    tiny(&here);
    for (query, warning) in [
        ("zebra", "no hits: no document has a term of the query"),
        ("", "no hits: the query is empty"),
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
        ("“green tea”", "query syntax is not supported: “"),
        (
            "title:green tea",
            "query syntax is not supported: title:green is",
        ),
        ("tea te*", "query syntax is not supported: te*"),
        ("tea~2", "query syntax is not supported: tea~2"),
        ("+tea -sea", "query syntax is not supported: +tea"),
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

/// The hint at `ir index` after a build of 2 s is for scripts, too.
#[cfg(target_os = "linux")]
#[test]
fn index_hint_without_terminal() {
    use crate::signals::{bytes_read, send};
    use std::process::Stdio;
    use std::time::Duration;

    let here = Folder::new();
    let document = |n: u64| {
        let words = (0..60).map(|at| format!("w{}", (n * 7919 + at * at * 31 + n * at) % 50_000));
        format!("d{n}\t{}\n", words.collect::<Vec<_>>().join(" "))
    };
    let search = ["search", "big.tsv", "w0", "-k", "1", "--threads", "1"];
    here.write("big.tsv", (0..30_000).map(document).collect::<String>());
    // Stops the command for the time of a long build while it reads the documents. Another attempt
    // follows if it had read them before it was seen.
    let hint = "s; `ir index big.tsv -o FILE` saves it for later searches";
    let has_hint = |_: u32| {
        let mut child = here
            .command(&search)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        while bytes_read(&child, "big.tsv") < 1 << 20 {
            if child.try_wait().unwrap().is_some() {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        send(&child, "-STOP");
        std::thread::sleep(Duration::from_secs(2));
        send(&child, "-CONT");
        let ran = child.wait_with_output().unwrap();
        assert!(ran.status.success());
        String::from_utf8(ran.stderr).unwrap().contains(hint)
    };
    assert!((0..5).any(has_hint));
    here.write("big.tsv", document(0));
    assert_eq!(here.ir(&search).ok().err, "");
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

/// A line of column names is a header, which a note says.
#[test]
fn column_names_of_tsv_files() {
    let here = Folder::new();
    here.write("psgs.tsv", "id\ttext\ttitle\n1\tgreen tea\tTea\n");
    here.write("queries.tsv", "qid\tquery\n7\ttea\n");
    let index = here.ir(&["index", "psgs.tsv", "-o", "psgs.ir"]).ok();
    let expected = "note: psgs.tsv: read as TSV with a header line (id \"id\", text \"text\")\n1 document (TSV";
    assert!(index.err.starts_with(expected), "{}", index.err);
    let search = here
        .ir(&["search", "psgs.ir", "--queries", "queries.tsv"])
        .ok();
    let expected = "note: queries.tsv: read as TSV with a header line\n";
    assert!(search.err.starts_with(expected), "{}", search.err);
    assert!(search.out.starts_with("7 Q0 1 1 "), "{}", search.out);
    here.write("plain.tsv", "1\ttext\ttitle\n");
    let plain = here.ir(&["index", "plain.tsv", "-o", "plain.ir"]).ok();
    assert!(!plain.err.contains("header"), "{}", plain.err);
}

#[test]
fn queries_with_a_field_query() {
    let here = Folder::new();
    tiny(&here);
    here.write("q.jsonl", "{\"id\": \"7\", \"query\": \"river\"}\n");
    let run = here
        .ir(&["search", "tiny", "--queries", "q.jsonl"])
        .ok()
        .out;
    assert!(run.starts_with("7 Q0 "), "{run}");
}

/// A file name as query words is searched as text, with a warning.
#[test]
fn query_files_as_words() {
    let here = Folder::new();
    tiny(&here);
    here.write("q.tsv", "7\triver\n");
    let err = here.ir(&["search", "tiny", "q.tsv"]).ok().err;
    let expected = "warning: q.tsv: searched as text; --queries q.tsv reads the queries";
    assert!(err.starts_with(expected), "{err}");
}

/// A saved index has no judgments: those of the collection whose queries are searched count.
#[test]
fn judged_documents_that_a_saved_index_lacks() {
    let here = Folder::new();
    tiny(&here);
    here.write("some.tsv", "d1\tgreen tea\n");
    here.ir(&["index", "some.tsv", "-o", "some.ir"]).ok();
    let search = ["search", "some.ir", "--queries", "tiny", "-o", "run"];
    let err = here.ir(&search).ok().err;
    let expected =
        "warning: 1 of 2 judgments are of documents that the index lacks, such as \"d3\"";
    assert!(err.starts_with(expected), "{err}");
}

/// Feedback that cannot be computed, and its explanations.
#[test]
fn feedback() {
    let here = Folder::new();
    for (model, expected) in [
        (
            "rm4",
            "expected a feedback model (rm3, rocchio), found \"rm4\"",
        ),
        ("rm3(docs=0)", "docs: expected an integer >= 1, found 0"),
        (
            "rm3(mu=5)",
            "expected a parameter of rm3 (docs, terms, weight, estimate), found \"mu\"",
        ),
    ] {
        here.ir(&["search", "bundled", "tea", "--feedback", model])
            .fails(2, &["--feedback", expected]);
    }
    here.ir(&["index", "bundled", "-o", "small.ir", "--store", "nothing"])
        .ok();
    here.ir(&["search", "small.ir", "night", "--feedback", "rm3"])
        .fails(
            1,
            &[
                "--feedback: expected an index with stored texts",
                "--store all",
            ],
        );
    // The published time filter is a walk of any ranking of BM25's index.
    let published = ["search", "bundled", "--not-later-than-query=published"];
    let with = |options: &[&str]| here.ir(&[&published[..], options].concat());
    let rm3 = with(&["--feedback", "rm3"]).ok().out;
    assert_ne!(rm3, with(&[]).ok().out);
    for (options, kind) in [
        (&["--model", "random-indexing"][..], "random-indexing"),
        (&["--prior", "feedback", "--feedback", "rm3"], "prior"),
    ] {
        let filter = "--not-later-than-query: published-year: expected a system of type bm25";
        with(options).fails(2, &[&format!("{filter}, found {kind}")]);
    }
    let list = here.ir(&[
        "search",
        "bundled",
        "boats at night",
        "--feedback",
        "rm3",
        "--explain",
    ]);
    assert!(list.ok().out.contains("weight in the query"));
}

/// Searches by a system file print the warnings of searches by options.
#[test]
fn warnings_of_system_files() {
    let here = Folder::new();
    tiny(&here);
    here.ir("index tiny -o tiny.ir --store all").ok();
    here.write("q.tsv", "a\tgreen tea\nb\tzebra\nc\tthe\n");
    for file in ["corpus.jsonl", "queries.jsonl"] {
        here.write(
            &format!("judged/{file}"),
            here.read(&format!("tiny/{file}")),
        );
    }
    let qrels = "query-id\tcorpus-id\tscore\nq1\td1\t1.0\nq1\td9\t1\nq2\td3\t1\n";
    here.write("judged/qrels/test.tsv", qrels);
    let system = |file: &str, keys: &str| {
        let head = "[[systems]]\nname = \"s\"\ntype = \"bm25\"\n";
        here.write(file, format!("{head}{keys}\n"));
    };
    system("plain.toml", "");
    system("where.toml", "where = { known = { name = \"yaer\" } }");
    system("date.toml", "where = \"year=2018-06-32\"");
    system("rm3.toml", "feedback = \"rm3\"");
    system(
        "clean.toml",
        "analyzer = \"whitespace\"\ncleaning = { stop_words = \"nltk\" }",
    );
    let by_file = |search: &[&str], file: &str| {
        let search = [search, &["--system", file]].concat();
        here.ir(&search).ok().err
    };
    for collection in ["tiny", "tiny.ir"] {
        for options in [
            &["zebra"][..],
            &["the and of"],
            &[""],
            &["green AND tea"],
            &["q.tsv"],
            &["--queries", "q.tsv", "-o", "run"],
            &["--queries", "judged", "-o", "run"],
        ] {
            let search = [&["search", collection][..], options].concat();
            let direct = here.ir(&search).ok().err;
            assert!(direct.starts_with("warning: "), "{options:?}: {direct}");
            let expected = direct.replace("--syntax parses", "the key syntax parses");
            let found = by_file(&search, "plain.toml");
            assert_eq!(found, expected, "{collection} {options:?}");
        }
        let search = ["search", collection, "green tea"];
        assert_eq!(by_file(&search, "plain.toml"), "");
        assert_eq!(
            by_file(&search, "rm3.toml"),
            "warning: feedback of rm3.toml: 1 of the queries have fewer hits than the 10 feedback documents; all hits are used\n"
        );
        let warnings = by_file(&search, "where.toml");
        let name = if collection == "tiny" { "tiny: " } else { "" };
        let unknown = format!(
            "warning: where.toml:4: systems[0].where: {name}no document has an attribute \"yaer\""
        );
        assert!(warnings.starts_with(&unknown), "{warnings}");
        let none = "no hits: no document that passes where of where.toml has a term of the query\n";
        assert!(warnings.ends_with(none), "{warnings}");
        let warnings = by_file(&search, "date.toml");
        let malformed = format!(
            "warning: date.toml:4: systems[0].where: {name}\"2018-06-32\" is not a date and is \
             compared as text (dates are YYYY-MM-DD)"
        );
        assert!(warnings.contains(&malformed), "{warnings}");
    }
    assert_eq!(
        by_file(&["search", "tiny", "the and of"], "clean.toml"),
        "warning: no hits: the query has no words after cleaning of clean.toml\n"
    );
}
