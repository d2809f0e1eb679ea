//! `ir search`: feedback with `--sdm`, `--synonyms` and `--nearest-words`, and rejected
//! combinations.

use ir_bm25::models::NAMED_MODELS;

use crate::common::{Folder, Ran};

fn here() -> Folder {
    let here = Folder::new();
    let mut corpus = String::new();
    for (id, text) in [
        (
            "a",
            "black leaves, and tea in leaves of black cups with sugar",
        ),
        (
            "b",
            "black tea with lemon, a tea of the morning, warm and fresh",
        ),
        ("c", "myasthenia gravis, with ptosis"),
        ("d", "ptosis and lemon"),
    ] {
        corpus += &format!("{{\"_id\": \"{id}\", \"text\": \"{text}\"}}\n");
    }
    for n in 0..60 {
        let text = "something else entirely";
        corpus += &format!("{{\"_id\": \"z{n:02}\", \"text\": \"{text}\"}}\n");
    }
    here.write("corpus.jsonl", corpus);
    here.write("synonyms.txt", "MG => myasthenia gravis\n");
    here
}

fn search(here: &Folder, query: &str, options: &[&str]) -> Ran {
    here.ir(&[&["search", "corpus.jsonl", query][..], options].concat())
}

/// The run of a query.
fn run(here: &Folder, query: &str, options: &[&str]) -> String {
    let options = [options, &["-o", "-", "--tag", "t", "--scores", "exact"]].concat();
    search(here, query, &options).ok().out
}

const SDM: [&str; 2] = ["--sdm", "0.1,1,0"];
const SYNONYMS: [&str; 2] = ["--synonyms", "synonyms.txt"];
const WORDS: [&str; 6] = [
    "--nearest-words",
    "2",
    "--nearest-weight",
    "0.5",
    "--nearest-dim",
    "50",
];

#[test]
fn feedback_after_another_expansion() {
    let here = here();
    let rm3 = ["--feedback", "rm3(docs=1,terms=8)"];
    let explained = |query: &str, options: &[&str]| {
        let options = [options, &["--explain"]].concat();
        search(&here, query, &options).ok().out
    };
    // The first document of the sequential dependence model has the phrase.
    assert!(explained("black tea", &rm3).contains("contents:sugar"));
    let after = explained("black tea", &[&rm3[..], &SDM].concat());
    assert!(after.contains("contents:lemon") && !after.contains("contents:sugar"));
    // The document of a synonym brings a word of another one.
    assert_eq!(run(&here, "MG", &rm3), "");
    let after = run(&here, "MG", &[&rm3[..], &SYNONYMS].concat());
    assert!(after.contains(" c ") && after.contains(" d "), "{after}");
    // Nearest words are part of the expanded query.
    let words = run(&here, "gravis", &[&rm3[..], &WORDS].concat());
    assert_ne!(words, run(&here, "gravis", &WORDS));
    assert_ne!(words, run(&here, "gravis", &rm3));
    // Disabled feedback is the search without it, byte for byte.
    for query in ["black tea", "MG", "gravis ptosis"] {
        for other in [&SDM[..], &SYNONYMS, &WORDS] {
            for disabled in ["rm3(weight=1)", "rocchio(beta=0)"] {
                let both = [&["--feedback", disabled], other].concat();
                assert_eq!(run(&here, query, &both), run(&here, query, other));
            }
        }
    }
}

#[test]
fn nearest_words() {
    let here = here();
    let base = run(&here, "gravis", &[]);
    let found = run(&here, "gravis", &WORDS);
    assert!(found.lines().count() > base.lines().count(), "{found}");
    for disabled in ["--nearest-words=0", "--nearest-words=2 --nearest-weight=0"] {
        let disabled: Vec<&str> = disabled.split(' ').collect();
        assert_eq!(run(&here, "gravis", &disabled), base);
    }
    // The same bytes whatever the number of threads; another seed is another run.
    let threads = [&WORDS[..], &["--threads", "1"]].concat();
    assert_eq!(run(&here, "gravis", &threads), found);
    here.ir(&["index", "corpus.jsonl", "-o", "saved.ir"]).ok();
    let saved = ["search", "saved.ir", "gravis", "-o", "-", "--tag", "t"];
    let saved = [&saved[..], &["--scores", "exact"], &WORDS].concat();
    assert_eq!(here.ir(&saved).ok().out, found);
    let bare = [
        "index",
        "corpus.jsonl",
        "-o",
        "bare.ir",
        "--store",
        "nothing",
    ];
    here.ir(&bare).ok();
    here.ir(&[&["search", "bare.ir", "gravis"][..], &WORDS].concat())
        .fails(
            1,
            &["--nearest-words: expected an index with stored texts, found none"],
        );
    for (wrong, expected) in [
        (
            ["--nearest-dim", "9"],
            "--nearest-dim: expected a number from 10 to 65536, found 9",
        ),
        (
            ["--nearest-reflections", "101"],
            "--nearest-reflections: expected at most 100, found 101",
        ),
        (["--nearest-weight", "-1"], "--nearest-weight"),
    ] {
        let wrong = format!("{}={}", wrong[0], wrong[1]);
        search(&here, "tea", &["--nearest-words", "2", &wrong]).fails(2, &[expected]);
    }
    // As in a system file, the other keys of the expansion need no number of words.
    let dim = ["--nearest-dim", "50"];
    let ten = [&dim[..], &["--nearest-words", "10"]].concat();
    assert_eq!(run(&here, "tea", &dim), run(&here, "tea", &ten));
    assert_ne!(run(&here, "tea", &dim), run(&here, "tea", &[]));
}

#[test]
#[cfg(feature = "dense")]
fn nearest_words_of_an_encoder() {
    let here = here();
    let model = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../crates/ir-dense/testdata/tiny/bert"
    );
    let words = [
        "--nearest-words",
        "3",
        "--nearest-weight",
        "0.5",
        "--nearest-encoder",
        model,
    ];
    let query = "gravis ptosis";
    let found = run(&here, query, &words);
    assert_ne!(found, run(&here, query, &[]));
    assert_ne!(found, run(&here, query, &WORDS));
    // The same bytes with one thread, with new and with cached vectors, from a saved index.
    let with = |more: &[&str]| run(&here, query, &[&words[..], more].concat());
    assert_eq!(with(&["--threads", "1"]), found);
    let cached = ["--cache", "cache"];
    assert_eq!(with(&cached), found);
    let files = || {
        let files = here.files().into_iter().filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.ends_with(".ir") && path.components().any(|part| part.as_os_str() == "vectors")
        });
        files.collect::<Vec<_>>()
    };
    let all = files();
    let [vectors] = &all[..] else {
        panic!("expected the vectors of words");
    };
    let options = [&words[..], &cached, &["--json"]].concat();
    let again = search(&here, query, &options).ok();
    assert!(!again.err.contains("words encoded"), "{}", again.err);
    assert_eq!(with(&cached), found);
    here.ir(&["index", "corpus.jsonl", "-o", "saved.ir"]).ok();
    let saved = ["search", "saved.ir", query, "-o", "-", "--tag", "t"];
    let saved = [&saved[..], &["--scores", "exact"], &words, &cached].concat();
    let ran = here.ir(&saved).ok();
    assert_eq!(ran.out, found);
    assert!(!ran.err.contains("words encoded"), "{}", ran.err);
    assert_eq!(files().len(), 1);
    // Every precision has vectors of its own.
    let int8 = [&cached[..], &["--nearest-precision", "int8"]].concat();
    assert_eq!(with(&int8), with(&int8[2..]));
    assert_eq!(files().len(), 2);
    let f32 = [&cached[..], &["--nearest-precision", "f32"]].concat();
    assert_eq!(with(&f32), found);
    assert_eq!(files().len(), 2);
    // Damaged vectors are computed again.
    let mut bytes = std::fs::read(vectors).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(vectors, bytes).unwrap();
    let ran = here.ir(&saved).ok();
    assert_eq!(ran.out, found);
    assert!(ran.err.contains("computed again"), "{}", ran.err);
    // Disabled, the search without them.
    let disabled = ["--nearest-words=0", "--nearest-encoder", model];
    assert_eq!(run(&here, query, &disabled), run(&here, query, &[]));
    // After feedback too.
    let rm3 = ["--feedback", "rm3(docs=1,terms=8)"];
    assert_ne!(with(&rm3), run(&here, query, &rm3));
    for (wrong, code, expected) in [
        (
            &["--nearest-words", "1", "--nearest-precision", "int8"][..],
            2,
            "--nearest-encoder",
        ),
        (
            &[&words[..], &["--nearest-precision", "int4"]].concat()[..],
            2,
            "bf16",
        ),
        (
            &[&words[..], &["--nearest-dim", "50"]].concat()[..],
            2,
            "--nearest-dim",
        ),
        (
            &["--nearest-words", "1", "--nearest-encoder", "nowhere"][..],
            1,
            "--nearest-encoder: nowhere: ",
        ),
    ] {
        search(&here, query, wrong).fails(code, &[expected]);
    }
    // --cache has no effect on a saved index without vectors of words.
    here.ir(&[&["search", "saved.ir", query], &cached[..]].concat())
        .fails(2, &["--cache applies only when an index is built"]);
}

/// For every model, also with the default format of scores.
#[test]
fn disabled_expansions_and_priors_are_the_search_without_them() {
    let here = Folder::new();
    let mut corpus = String::new();
    for n in 0..40 {
        let text = ["black tea", "myasthenia gravis", "lemon", "cold milk"];
        let (a, b) = (text[n % 4], text[(n / 4) % 4]);
        corpus += &format!(
            "{{\"_id\": \"d{n:02}\", \"title\": \"{a}\", \"text\": \"{b} {a} {n}\", \
             \"repository\": \"r{}\"}}\n",
            n % 3
        );
    }
    here.write("corpus.jsonl", corpus);
    here.write(
        "queries.tsv",
        "1\tblack tea\n2\tgravis of milk\n3\tMG\n4\tlemon lemon\n",
    );
    here.write("none.txt", "");
    here.write("synonyms.txt", "MG => myasthenia gravis\nlemon, milk\n");
    here.write("train.qrels", "7 0 d01 1\n7 0 d02 1\n");
    here.write("priors.tsv", "r0\t0.5\n*\t0.1\n");
    let index = [
        "index",
        "corpus.jsonl",
        "--fields",
        "title,text",
        "--store",
        "all",
    ];
    here.ir(&[&index[..], &["-o", "corpus.ir"]].concat()).ok();
    let additions = [
        "",
        "--synonyms none.txt",
        "--synonyms synonyms.txt --synonym-weight 0",
        "--nearest-words 0",
        "--nearest-words 5 --nearest-weight 0 --nearest-dim 20",
    ];
    let priors = [
        "--prior priors.tsv --prior-weight 0",
        "--prior feedback --prior-weight 0 --prior-combination log-sum",
        "--prior qrels:train.qrels --prior-weight 0",
    ];
    for (n, model) in NAMED_MODELS.iter().map(|model| model.name).enumerate() {
        let search = |options: &str| {
            let options = options.split_whitespace().collect::<Vec<_>>();
            let base = ["search", "corpus.ir", "--queries", "queries.tsv", "-o", "-"];
            let base = [&base[..], &["--tag", "t", "--model", model], &options];
            here.ir(&base.concat()).ok().out
        };
        let expected = search("");
        assert!(expected.lines().count() > 30, "{model}");
        for (at, addition) in additions.iter().enumerate() {
            let feedback = match at % 2 {
                0 => "--feedback rm3(weight=1)",
                _ => "--feedback rocchio(beta=0)",
            };
            let prior = priors[(n + at) % 3];
            // All together, and the addition alone or with feedback, by turns.
            let part = if (n + at) % 2 == 0 {
                (*addition).to_owned()
            } else {
                format!("{feedback} {addition}")
            };
            for options in [part, format!("{feedback} {addition} {prior}")] {
                assert_eq!(search(&options), expected, "{model} {options}");
            }
        }
    }
}

#[test]
fn combinations_without_a_meaning_say_why() {
    let here = here();
    let lucene = ["--syntax", "lucene"];
    for (options, expected) in [
        (
            [&lucene[..], &["--feedback", "rm3"]].concat(),
            "--feedback: expected no --syntax, found both: it needs queries of words",
        ),
        (
            [&lucene[..], &SDM].concat(),
            "--sdm: expected no --syntax, found both",
        ),
        (
            [&lucene[..], &SYNONYMS].concat(),
            "--synonyms: expected no --syntax, found both: write #syn or OR in the queries",
        ),
        (
            [&lucene[..], &WORDS].concat(),
            "--nearest-words: expected no --syntax, found both",
        ),
        (
            [&SDM[..], &SYNONYMS].concat(),
            "--synonyms: expected no --sdm, found both: phrases and windows are those of the words of a query",
        ),
        (
            [&SDM[..], &WORDS].concat(),
            "--nearest-words: expected no --sdm, found both",
        ),
        (
            [&SYNONYMS[..], &WORDS].concat(),
            "--nearest-words: expected no --synonyms, found both: both add terms to the words of a query",
        ),
    ] {
        search(&here, "tea", &options).fails(2, &[expected]);
    }
}

#[test]
fn repeated_fields_are_errors() {
    let here = here();
    let fields = ["--fields", "title,text", "--model", "bm25f"];
    for option in ["--field-b", "--weights"] {
        let options = [&fields[..], &[option, "text=1,text=0.5"]].concat();
        let expected = "expected each name once, found \"text\" twice";
        search(&here, "tea", &options).fails(2, &[option, expected]);
    }
    // Clauses over combined fields.
    let clauses = [&fields[..], &["--syntax", "lucene"]].concat();
    search(&here, "+black -tea", &clauses).fails(
        1,
        &["expected words and weights, or a model that scores each field, found bm25f"],
    );
    assert!(!run(&here, "black^2 tea", &clauses).is_empty());
}
