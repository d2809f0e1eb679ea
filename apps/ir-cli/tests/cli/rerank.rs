//! Reranking by a cross-encoder or a late-interaction model: `ir search --rerank`, system files,
//! `ir ask --rerank`.

use std::collections::BTreeMap;

use ir_dense::{CrossEncoder, CrossEncoderConfig, Precision};

use crate::common::{BERT, Folder, tiny};
use crate::saved_systems::{VECTORS, assert_same_run};

/// Folder of a tiny cross-encoder with random weights.
pub(crate) const MODEL: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../crates/ir-dense/testdata/cross-encoders/bert"
);

/// Texts of the documents of `tiny` by the template `{title} {text}`.
pub(crate) const TEXTS: [(&str, &str); 3] = [
    ("d1", "Tea Green tea leaves"),
    ("d2", "Coffee Black coffee and tea"),
    ("d3", "A river in winter"),
];

fn model(precision: Precision) -> CrossEncoder {
    let config = CrossEncoderConfig::default().with_precision(precision);
    CrossEncoder::open_with(MODEL, &config).unwrap()
}

/// Scores by document of pairs of a query and texts.
fn scores(model: &CrossEncoder, query: &str, texts: &[(&str, &str)]) -> Vec<(String, f32)> {
    let pairs: Vec<(&str, &str)> = texts.iter().map(|(_, text)| (query, *text)).collect();
    let scores = model.predict(&pairs).unwrap();
    let scored = texts.iter().zip(scores);
    ranked(scored.map(|((id, _), labels)| ((*id).to_owned(), labels[0])))
}

/// Documents by score, then id.
pub(crate) fn ranked(scored: impl Iterator<Item = (String, f32)>) -> Vec<(String, f32)> {
    let mut scored: Vec<(String, f32)> = scored.collect();
    scored.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    scored
}

/// Documents and scores of a run, by query.
pub(crate) fn lists(run: &str) -> BTreeMap<String, Vec<(String, f32)>> {
    let mut lists: BTreeMap<String, Vec<(String, f32)>> = BTreeMap::new();
    for line in run.lines() {
        let columns: Vec<&str> = line.split(' ').collect();
        let list = lists.entry(columns[0].to_owned()).or_default();
        list.push((columns[2].to_owned(), columns[4].parse().unwrap()));
    }
    lists
}

pub(crate) fn folder() -> Folder {
    let here = Folder::new();
    tiny(&here);
    here.write(
        "files/vectors.jsonl",
        "{\"id\": \"d1\", \"vector\": [1.0, 0.0]}\n{\"id\": \"d2\", \"vector\": [0.6, 0.8]}\n\
         {\"id\": \"d3\", \"vector\": [0.0, 0.6]}\n",
    );
    here.write(
        "files/queries.jsonl",
        "{\"id\": \"q1\", \"vector\": [0.9, 0.1]}\n{\"id\": \"q2\", \"vector\": [0.1, 0.2]}\n",
    );
    here
}

#[test]
fn candidates_have_the_scores_of_the_model() {
    let here = folder();
    // Of q1, BM25 finds d1 and d2; of q2, d3.
    for (precision, name) in [(Precision::F32, "f32"), (Precision::Int8, "int8")] {
        let model = model(precision);
        let options = ["--rerank", MODEL, "--rerank-precision", name];
        let run = here.ir(&[&["search", "tiny"][..], &options].concat()).ok();
        let found = lists(&run.out);
        assert_eq!(found["q1"], scores(&model, "tea leaves", &TEXTS[..2]));
        assert_eq!(found["q2"], scores(&model, "rivers", &TEXTS[2..]));
        assert!(run.out.contains(" ir-bm25-reranked\n"), "{}", run.out);
    }
    // The batch does not change scores.
    let search = ["search", "tiny", "--rerank", MODEL];
    let expected = here.ir(&search).ok().out;
    let single = here.ir(&[&search[..], &["--rerank-batch", "1"]].concat());
    assert_eq!(single.ok().out, expected);
    // One candidate: the first of BM25.
    let one = ["--rerank", MODEL, "--candidates", "1"];
    let run = here.ir(&[&["search", "tiny"][..], &one].concat()).ok();
    assert_eq!(
        lists(&run.out)["q1"],
        scores(&model(Precision::F32), "tea leaves", &TEXTS[..1])
    );
    // Texts by a template, from an index that stores texts.
    here.ir("index tiny -o all.ir --store all").ok();
    let titles = ["--rerank", MODEL, "--rerank-template", "{title}"];
    let search = ["search", "all.ir", "--queries", "tiny"];
    let run = here.ir(&[&search[..], &titles].concat()).ok();
    let titles = [("d1", "Tea"), ("d2", "Coffee")];
    assert_eq!(
        lists(&run.out)["q1"],
        scores(&model(Precision::F32), "tea leaves", &titles)
    );
    // The filter holds in the first stage.
    let filtered = [
        "--rerank",
        MODEL,
        "--candidates",
        "1",
        "--filter",
        "year>=2015",
    ];
    let run = here.ir(&[&search[..], &filtered].concat()).ok();
    assert_eq!(
        lists(&run.out)["q1"],
        scores(&model(Precision::F32), "tea leaves", &TEXTS[1..2])
    );
}

#[test]
fn vectors_are_reranked() {
    let here = folder();
    let model = model(Precision::F32);
    let vectors = [
        "search",
        "tiny",
        "--vectors",
        "files/vectors.jsonl",
        "--query-vectors",
        "files/queries.jsonl",
        "--rerank",
        MODEL,
    ];
    let run = here.ir(&vectors).ok();
    let found = lists(&run.out);
    assert_eq!(found["q1"], scores(&model, "tea leaves", &TEXTS));
    assert!(run.out.contains(" ir-vectors-reranked\n"), "{}", run.out);
    let two = ["--candidates", "2", "--alpha", "0.1"];
    let run = here.ir(&[&vectors[..], &two].concat()).ok();
    assert_eq!(
        lists(&run.out)["q1"],
        scores(&model, "tea leaves", &TEXTS[..2])
    );
}

/// Vectors of a document that the collection lacks: no candidate, with a warning.
#[test]
fn candidates_are_documents_of_the_collection() {
    let here = folder();
    let vectors = "{\"id\": \"d9\", \"vector\": [1.0, 0.1]}\n";
    here.write(
        "files/more.jsonl",
        format!("{vectors}{}", here.read("files/vectors.jsonl")),
    );
    let vectors = [
        "search",
        "tiny",
        "--vectors",
        "files/more.jsonl",
        "--query-vectors",
        "files/queries.jsonl",
        "--rerank",
        MODEL,
    ];
    let one = ["--candidates", "1"];
    let run = here.ir(&[&vectors[..], &one].concat()).ok();
    let expected = scores(&model(Precision::F32), "tea leaves", &TEXTS[..1]);
    assert_eq!(lists(&run.out)["q1"], expected);
    let left_out = "vectors are left out, of documents that the collection lacks, such as \"d9\"";
    assert!(run.err.contains(left_out), "{}", run.err);
    here.write(
        "system.toml",
        format!(
            "[[systems]]\nname = \"v\"\ntype = \"dense\"\nvectors = \"files/more.jsonl\"\n\
             queries = \"files/queries.jsonl\"\nhidden = true\n\
             [[systems]]\nname = \"r\"\ntype = \"rerank\"\nfirst = \"v\"\nmodel = {MODEL:?}\n"
        ),
    );
    let ran = here.ir("search tiny --system system.toml").ok();
    assert!(ran.err.contains(left_out), "{}", ran.err);
    assert!(!ran.out.contains("d9"), "{}", ran.out);
}

#[test]
fn saved_rerankings_give_the_same_run() {
    let here = folder();
    for options in [
        &[][..],
        &["--candidates", "1"],
        &["--candidates", "2", "--rerank-precision", "bf16"],
        &["--rerank-template", "{text}", "--tag", "candidates"],
        &["--fields", "text", "--k1", "1.2"],
        &[
            "--rerank-windows",
            "maximum",
            "--rerank-max-tokens",
            "8",
            "--rerank-stride",
            "1",
        ],
        &VECTORS,
    ] {
        assert_same_run(&here, &[&["--rerank", MODEL][..], options].concat());
    }
}

#[test]
fn scores_are_explained() {
    let here = folder();
    let search = ["search", "tiny", "--query", "tea leaves"];
    let rerank = ["--rerank", MODEL, "--json", "--explain"];
    let ran = here.ir(&[&search[..], &rerank].concat()).ok();
    assert_eq!(ran.out.lines().count(), 2);
    for line in ran.out.lines() {
        let hit: serde_json::Value = serde_json::from_str(line).unwrap();
        let tree = &hit["explanation"];
        assert_eq!(tree["what"], "score of the reranker", "{hit}");
        assert_eq!(tree["value"], hit["score"], "{hit}");
        let candidate = tree["parts"][1]["what"].as_str().unwrap();
        assert!(candidate.contains(" of 2 by the first retriever"), "{hit}");
    }
}

#[test]
fn other_commands_rerank() {
    let here = folder();
    let grid = [
        "sweep",
        "tiny",
        "tiny",
        "--grid",
        "rerank.depth=1,3",
        "--rerank",
        MODEL,
    ];
    let ran = here.ir(&grid).ok();
    assert!(
        ran.out.contains("rerank.depth=1"),
        "{} {}",
        ran.out,
        ran.err
    );
    here.write("tiny/qrels/train.tsv", here.read("tiny/qrels/test.tsv"));
    let mine = ["mine", "tiny", "-o", "mined.jsonl", "--rerank", MODEL];
    here.ir(&mine).ok();
    assert!(here.read("mined.jsonl").contains("d2"));
}

#[test]
fn wrong_rerankings_are_rejected() {
    let here = folder();
    here.ir("index tiny -o bare.ir --store nothing").ok();
    let fails = |args: &[&str], code: i32, parts: &[&str]| {
        here.ir(args).fails(code, parts);
    };
    let tea = ["--query", "tea"];
    fails(
        &[&["search", "bare.ir", "--rerank", MODEL][..], &tea].concat(),
        1,
        &["--rerank: expected an index with stored texts, found none"],
    );
    fails(
        &[&["search", "tiny", "--rerank", "no/such/model"][..], &tea].concat(),
        1,
        &["--rerank: no/such/model: expected a model folder"],
    );
    let search = [
        "search",
        "tiny",
        "--query",
        "tea",
        "--rerank",
        "all-MiniLM-L6",
    ];
    let no_models = [("HF_HOME", "."), ("HF_HUB_CACHE", "")];
    here.ir_env(&search, &no_models).fails(
        1,
        &["all-MiniLM-L6: expected a model folder", "did you mean"],
    );
    let labels = MODEL.to_owned() + "-3-labels";
    for command in [
        &["search", "tiny", "--query", "tea", "--rerank", &labels][..],
        &["ask", "bundled", "tea", "--rerank", &labels],
    ] {
        fails(command, 1, &["3", "label"]);
    }
    // A bi-encoder.
    fails(
        &[&["search", "tiny", "--rerank", BERT][..], &tea].concat(),
        1,
        &["config", "BiEncoder (`ir encode`)"],
    );
    let search = ["search", "tiny", "--query", "tea", "--rerank", MODEL];
    for (options, parts) in [
        (
            &["--candidates", "0"][..],
            &["--candidates: expected", "found 0"][..],
        ),
        (
            &["--rerank-stride", "2"],
            &["--rerank-stride: expected windows = \"maximum\" or \"mean\""],
        ),
        (&["--rerank-template", "{titel}"], &["--rerank-template: "]),
        (
            &["--clean", "punctuation"],
            &["--clean: expected none below a reranking by a model"],
        ),
        (
            &["--pos-tags", "tags.conllu"],
            &["--pos-tags: expected none below a reranking by a model"],
        ),
    ] {
        let ran = here.ir(&[&search[..], options].concat());
        assert_ne!(ran.code, 0, "{options:?}");
        for part in parts {
            assert!(ran.err.contains(part), "{options:?}: {}", ran.err);
        }
    }
    fails(
        &[&["search", "tiny", "--candidates", "5"][..], &tea].concat(),
        2,
        &["--candidates: expected --rerank, found none"],
    );
    let published = ["--not-later-than-query=published", "--rerank", MODEL];
    fails(
        &[&["search", "tiny"][..], &published].concat(),
        2,
        &["--not-later-than-query: published-year: expected a system of type bm25, found rerank"],
    );
}

#[test]
fn wrong_system_files_are_rejected() {
    let here = folder();
    for (keys, expected) in [
        (
            "",
            "systems[1]: expected the key second or model, found neither",
        ),
        (
            "second = \"a\"\nmodel = \"m\"\n",
            "systems[1].model: expected either second or model, found both",
        ),
        (
            "second = \"a\"\nprecision = \"int8\"\n",
            "systems[1].precision: expected the key model, found second",
        ),
        ("model = \"m\"\ndepth = 0\n", "systems[1].depth: expected"),
        ("model = \"no/such/model\"\n", "systems[1].model: "),
    ] {
        here.write(
            "system.toml",
            format!(
                "[[systems]]\nname = \"a\"\ntype = \"bm25\"\nhidden = true\n\
                 [[systems]]\nname = \"b\"\ntype = \"rerank\"\nfirst = \"a\"\n{keys}"
            ),
        );
        let ran = here.ir("search tiny --system system.toml");
        assert_ne!(ran.code, 0, "{keys}");
        assert!(ran.err.contains(expected), "{keys}: {}", ran.err);
    }
    // A second system, and a model: the key of the file is relative to it.
    here.write(
        "files/system.toml",
        format!(
            "[[systems]]\nname = \"a\"\ntype = \"bm25\"\nhidden = true\n\
             [[systems]]\nname = \"l\"\ntype = \"lsi\"\ndim = 2\nhidden = true\n\
             [[systems]]\nname = \"s\"\ntype = \"rerank\"\nfirst = \"a\"\nsecond = \"l\"\nhidden = true\n\
             [[systems]]\nname = \"b\"\ntype = \"rerank\"\nfirst = \"s\"\nmodel = {MODEL:?}\n"
        ),
    );
    let ran = here.ir("search tiny --system files/system.toml").ok();
    let expected = scores(&model(Precision::F32), "tea leaves", &TEXTS[..2]);
    assert_eq!(lists(&ran.out)["q1"], expected);
}

/// Documents that exceed the model are counted for rerankings that are parts of a system, too.
#[test]
fn long_documents_are_counted() {
    let here = folder();
    let config = CrossEncoderConfig::default().with_max_tokens(8_usize);
    let model = CrossEncoder::open_with(MODEL, &config).unwrap();
    scores(&model, "tea leaves", &TEXTS[..2]);
    scores(&model, "rivers", &TEXTS[2..]);
    let long = model.long_documents();
    assert!(long > 1, "{long}");
    let note = |count: u64| format!("note: {count} candidates longer than the model: ");
    let options = ["--rerank", MODEL, "--rerank-max-tokens", "8"];
    let ran = here.ir(&[&["search", "tiny"][..], &options].concat()).ok();
    assert!(ran.err.contains(&note(long)), "{}", ran.err);
    let reranking = |name: &str, depth: usize| {
        format!(
            "[[systems]]\nname = \"{name}\"\ntype = \"rerank\"\nfirst = \"a\"\nhidden = true\n\
             model = {MODEL:?}\nmax_tokens = 8\ndepth = {depth}\n"
        )
    };
    let bm25 = "[[systems]]\nname = \"a\"\ntype = \"bm25\"\nhidden = true\n";
    let two = reranking("r", 10) + &reranking("s", 20);
    for (root, count) in [
        // The rerankings share the model: each of them scores the candidates.
        ("type = \"hybrid\"\nof = [\"r\", \"s\"]", 2 * long),
        (
            "type = \"hybrid\"\nof = [\"a\", \"r\"]\nfusion = \"comb-sum\"",
            long,
        ),
        ("type = \"rerank\"\nfirst = \"a\"\nsecond = \"r\"", long),
    ] {
        here.write(
            "system.toml",
            format!("{bm25}{two}[[systems]]\nname = \"h\"\n{root}\n"),
        );
        let ran = here.ir("search tiny --system system.toml").ok();
        assert!(ran.err.contains(&note(count)), "{root}: {}", ran.err);
    }
}

#[test]
fn answers_are_reranked() {
    let here = Folder::new();
    here.write(
        "papers/tea.md",
        "# On tea\n\nTea is a drink. It comes from Asia. Cups hold tea. Tea is green or black.\n",
    );
    let ask = |options: &[&str]| -> Vec<serde_json::Value> {
        let args = ["ask", "papers", "What is tea?", "--json", "--explain"];
        let ran = here.ir(&[&args[..], options].concat()).ok();
        let lines = ran.out.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let text = |answer: &serde_json::Value, key: &str| {
        let text = answer["frame"][key].as_str().unwrap();
        text.to_owned()
    };
    let before = ask(&[]);
    let model = model(Precision::F32);
    for with_context in [false, true] {
        let texts: Vec<(String, String)> = (before.iter())
            .map(|answer| {
                let (sentence, context) = (text(answer, "answer"), text(answer, "context"));
                let full = format!("{sentence} [SEP] {context}");
                let full = if with_context { full } else { sentence.clone() };
                (sentence, full)
            })
            .collect();
        let pairs = texts.iter().map(|(id, text)| (&**id, &**text));
        let expected = scores(&model, "What is tea?", &pairs.collect::<Vec<_>>());
        let context: &[&str] = if with_context {
            &["--rerank-context"]
        } else {
            &[]
        };
        let after = ask(&[&["--rerank", MODEL][..], context].concat());
        let found = after.iter().map(|answer| {
            let score = answer["score"].as_f64().unwrap() as f32;
            assert_eq!(answer["explanation"]["what"], "score of the reranker");
            (text(answer, "answer"), score)
        });
        let mut found: Vec<(String, f32)> = found.collect();
        // Equal scores are in the order of the frames.
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        assert_eq!(found, expected, "{with_context}");
        assert!(after.windows(2).all(|pair| {
            pair[0]["score"].as_f64().unwrap() >= pair[1]["score"].as_f64().unwrap()
        }));
    }
    // The batch does not change scores.
    let reranked = ask(&["--rerank", MODEL]);
    assert_eq!(ask(&["--rerank", MODEL, "--rerank-batch", "1"]), reranked);
    // One candidate, and one answer: the first of BM25.
    let one = ask(&["--rerank", MODEL, "--candidates", "1", "-k", "1"]);
    assert_eq!(text(&one[0], "answer"), text(&before[0], "answer"));
    here.ir(&["ask", "papers", "tea", "--candidates", "3"])
        .fails(2, &["--rerank"]);
    here.ir(&["ask", "papers", "tea", "--rerank", BERT])
        .fails(1, &["BiEncoder (`ir encode`)"]);
    here.ir(&["ask", "papers", "tea", "--rerank", "nowhere"])
        .fails(1, &["--rerank: nowhere: expected a model folder"]);
    here.ir(&[
        "ask",
        "papers",
        "tea",
        "--rerank",
        MODEL,
        "--rerank-batch",
        "0",
    ])
    .fails(2, &["--rerank-batch: expected", "found 0"]);
    // Answers that are longer than the model are reported.
    let long = ", and tea is green or black".repeat(10);
    here.write(
        "long/tea.md",
        format!("# On tea\n\nTea is a drink{long}. Cups hold tea.\n"),
    );
    let args = ["ask", "long", "What is tea?", "--rerank", MODEL];
    let ran = here.ir(&args).ok();
    let note = "note: 1 answer longer than the model of --rerank: scored by the start";
    assert!(ran.err.contains(note), "{}", ran.err);
}

/// The model of `ir ask --rerank` has the options of `ir search --rerank`.
#[test]
fn options_of_the_model_have_one_description() {
    let here = Folder::new();
    let helps = ["search", "ask"].map(|command| here.ir(&[command, "--help"]).ok().out);
    for option in [
        "--rerank <MODEL>",
        "--rerank-precision <NAME>",
        "--rerank-batch <N>",
    ] {
        let [search, ask] = helps.each_ref().map(|help| {
            let (_, rest) = help.split_once(&format!("      {option}\n")).unwrap();
            rest.split("\n\n").next().unwrap()
        });
        assert_eq!(ask, search, "{option}");
    }
}
