//! Changes of the analyzer: folding, stemmers of languages, files of stop words and protected
//! words, and bigrams of Chinese, Japanese and Korean.

use crate::common::{Folder, tiny};

const CORPUS: &str = r#"{"_id": "resume", "text": "Son Résumé à la Straße, ＩＲ ｶﾀｶﾅ"}
{"_id": "cats", "text": "les traditions généralisées et nationales"}
{"_id": "tokyo", "text": "東京都の天気"}
{"_id": "kyoto", "text": "京都の天気と AIDS"}
"#;

fn folder() -> Folder {
    let here = Folder::new();
    here.write("corpus.jsonl", CORPUS);
    here.write("stop.txt", "\u{feff}# Articles\nles\nla\t| feminine\n\n");
    here.write("protected.txt", "traditions\naids # a disease\n");
    here.write("cased.txt", "traditions\n\nAIDS\n");
    here.write("phrases.txt", "public health\n");
    here.write(
        "cjk.json",
        r#"{"preset": "lucene-cjk", "stop_words": ["の天"]}"#,
    );
    here
}

/// Ids of the hits in their order.
fn hits(here: &Folder, args: &[&str]) -> Vec<String> {
    let out = here.ir(&[&["search"], args, &["--json"]].concat()).ok().out;
    let ids = out.lines().map(|line| {
        let hit: serde_json::Value = serde_json::from_str(line).unwrap();
        hit["id"].as_str().unwrap().to_owned()
    });
    ids.collect()
}

#[test]
fn folded_words_are_found_and_shown_as_written() {
    let here = folder();
    for query in ["resume", "RÉSUMÉ", "strasse", "ir", "カタカナ"] {
        assert_eq!(
            hits(&here, &["corpus.jsonl", query, "--fold"]),
            ["resume"],
            "{query}"
        );
    }
    assert!(hits(&here, &["corpus.jsonl", "resume"]).is_empty());
    // The index records the folding.
    here.ir("index corpus.jsonl -o folded.ir --fold").ok();
    assert_eq!(hits(&here, &["folded.ir", "strasse"]), ["resume"]);
    let shown = here.ir("search folded.ir resume --explain").ok().out;
    assert!(shown.contains("Résumé"), "{shown}");
    let json = here.ir("search folded.ir resume --json").ok().out;
    assert!(json.contains("Son Résumé à la Straße"), "{json}");
}

#[test]
fn stemmers_and_words_of_a_language() {
    let here = folder();
    let french = ["--stemmer", "french", "--stop-words", "stop.txt"];
    let search = |query: &str, more: &[&str]| {
        let args = ["corpus.jsonl", "--query", query];
        hits(&here, &[&args, &french[..], more].concat())
    };
    assert_eq!(search("national généralisation", &[]), ["cats"]);
    assert_eq!(search("tradition", &[]), ["cats"]);
    assert!(search("les la", &[]).is_empty());
    // Lists in another form than the texts, also with folding.
    here.write("nfd.txt", "ge\u{301}ne\u{301}ralise\u{301}es\nles\n");
    let word = ["corpus.jsonl", "--query", "généralisées"];
    for fold in [&[][..], &["--fold"]] {
        let stopped = ["--stop-words", "nfd.txt", "--stemmer", "french"];
        assert!(hits(&here, &[&word, &stopped[..], fold].concat()).is_empty());
        let protected = ["--protected-words", "nfd.txt", "--stemmer", "french"];
        assert_eq!(
            hits(&here, &[&word, &protected[..], fold].concat()),
            ["cats"]
        );
    }
    let protected = ["--protected-words", "protected.txt"];
    assert!(search("tradition", &protected).is_empty());
    assert_eq!(search("Traditions", &protected), ["cats"]);
}

#[test]
fn bigrams_of_a_preset() {
    let here = folder();
    let cjk = |query: &str, analysis: &str| {
        hits(
            &here,
            &["corpus.jsonl", "--query", query, "--analysis", analysis],
        )
    };
    assert_eq!(cjk("東京", "lucene-cjk"), ["tokyo"]);
    // Both documents have the character.
    assert_eq!(cjk("東京", "porter").len(), 2);
    assert_eq!(cjk("の天", "lucene-cjk").len(), 2);
    assert!(cjk("の天", "cjk.json").is_empty());
    let phrase = ["--syntax", "lucene", "--query", "\"京都の天気\""];
    let args = [&["corpus.jsonl", "--analysis", "lucene-cjk"], &phrase[..]].concat();
    assert_eq!(hits(&here, &args).len(), 2);
}

#[test]
fn a_saved_system_has_the_fields_of_the_analyzer() {
    let here = folder();
    tiny(&here);
    let changes = "--fold --stemmer french --stop-words stop.txt --protected-words protected.txt";
    here.ir(&format!(
        "search tiny -o first.run --save system.toml {changes}"
    ))
    .ok();
    let saved = here.read("system.toml");
    assert!(saved.contains("normalization = \"fold\""), "{saved}");
    assert!(saved.contains("[\"aids\", \"traditions\"]"), "{saved}");
    here.ir("search tiny -o second.run --system system.toml")
        .ok();
    assert_eq!(here.read("first.run"), here.read("second.run"));
    assert!(here.read("first.run").lines().count() > 1);
}

#[test]
fn an_index_that_is_updated_keeps_its_analysis() {
    let here = folder();
    here.ir("index corpus.jsonl -o notes --add --analysis english --fold")
        .ok();
    here.ir("index corpus.jsonl -o notes --add --fold").ok();
    here.ir("index corpus.jsonl -o notes --add").ok();
    here.ir("index corpus.jsonl -o notes --add --stemmer french")
        .fails(2, &["--stemmer", "english", "french", "keeps its settings"]);
    here.ir("index corpus.jsonl -o notes --add --analysis english")
        .fails(2, &["--analysis", "fold"]);
}

#[test]
fn invalid_words_are_named_with_file_and_line() {
    let here = folder();
    here.errors(
        "
        index corpus.jsonl -o x.ir --protected-words cased.txt
          2: cased.txt:3: protected word \"AIDS\" can never match | found \"aids\"
        index corpus.jsonl -o x.ir --stop-words cased.txt
          2: cased.txt:3: stop word \"AIDS\" can never match
        index corpus.jsonl -o x.ir --protected-words phrases.txt
          2: phrases.txt:1: expected one word, found \"public health\"
        index corpus.jsonl -o x.ir --protected-words protected.txt --analysis whitespace
          2: --protected-words | a stemmer, found whitespace
        index corpus.jsonl -o x.ir --protected-words missing.txt
          2: missing.txt
        index corpus.jsonl -o x.ir --stop-words lucene
          2: --stop-words | expected none, lucene33, nltk179 or a file, found \"lucene\"
        index corpus.jsonl -o x.ir --stemmer frensh
          2: --stemmer | expected one of | french
        search corpus.jsonl tea --analysis whitespace --fold --stop-words cased.txt
          2: cased.txt:3: stop word
        ",
    );
    assert!(!here.at("x.ir").exists());
    here.ir("index corpus.jsonl -o x.ir").ok();
    here.ir("search x.ir tea --fold")
        .fails(2, &["--fold", "saved index"]);
}

/// The index has another analyzer, or other fields, than the system.
#[test]
fn systems_of_another_index_are_rejected() {
    let here = folder();
    tiny(&here);
    here.ir(&["index", "tiny", "-o", "tiny.ir", "--store", "all"])
        .ok();
    for (options, key) in [
        (
            &["--stemmer", "none"][..],
            "systems[0].analyzer: expected the analyzer of the index, porter, found ",
        ),
        (
            &["--fields", "text"],
            "systems[0].fields: expected the fields of the index, one, found text",
        ),
    ] {
        let save = ["search", "tiny", "-o", "run.trec", "--save", "system.toml"];
        here.ir(&[&save[..], options].concat()).ok();
        let search = ["search", "tiny.ir", "--queries", "tiny/queries.jsonl"];
        here.ir(&[&search[..], &["--system", "system.toml"]].concat())
            .fails(1, &["system.toml:", key]);
    }
}
