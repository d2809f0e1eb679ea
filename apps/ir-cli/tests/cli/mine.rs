//! `ir mine`: hard-negative mining.

use std::collections::{BTreeMap, HashSet};

use crate::common::Folder;
use ir_core::training::{TrainingExample, TrainingSet};
use ir_data::training::TrainingFile;

fn examples(here: &Folder, name: &str) -> Vec<TrainingExample> {
    let set = TrainingFile::open(here.path().join(name)).unwrap();
    (0..set.len()).map(|n| set.get(n).unwrap()).collect()
}

fn ids(texts: &[ir_core::training::TrainingText]) -> Vec<&str> {
    texts
        .iter()
        .map(|text| text.id.as_deref().unwrap())
        .collect()
}

/// The lists of a run file, by query.
fn lists(run: &str) -> BTreeMap<String, Vec<(String, f64)>> {
    let mut lists: BTreeMap<String, Vec<(String, f64)>> = BTreeMap::new();
    for line in run.lines() {
        let columns: Vec<&str> = line.split(' ').collect();
        let list = lists.entry(columns[0].to_owned()).or_default();
        list.push((columns[2].to_owned(), columns[4].parse().unwrap()));
    }
    lists
}

/// The bundled collection: BM25 run, relevant documents, years of documents and queries.
struct Bundled {
    run: BTreeMap<String, Vec<(String, f64)>>,
    positives: BTreeMap<String, HashSet<String>>,
    years: BTreeMap<String, i64>,
    query_years: BTreeMap<String, i64>,
}

fn bundled(here: &Folder) -> Bundled {
    let search = [
        "search", "bundled", "--split", "train", "-k", "500", "--scores", "exact",
    ];
    let collection = ir_data::catalog::open("bundled").unwrap();
    let qrels = collection.qrels("train").unwrap();
    let docs = collection.corpus().docs().unwrap().map(Result::unwrap);
    let queries = collection.queries("train").unwrap().into_iter();
    Bundled {
        run: lists(&here.ir(&search).ok().out),
        positives: qrels
            .iter()
            .map(|(query, judged)| {
                let docs = judged.iter().filter(|(_, grade)| *grade > 0);
                (
                    query.to_owned(),
                    docs.map(|(doc, _)| doc.to_owned()).collect(),
                )
            })
            .collect(),
        years: docs
            .filter_map(|doc| Some((doc.id.clone(), doc.attributes.year()?)))
            .collect(),
        query_years: queries
            .filter_map(|q| Some((q.id.clone(), q.attributes.year()?)))
            .collect(),
    }
}

impl Bundled {
    /// The first seven negatives of a query that `keep` accepts.
    fn negatives(&self, query: &str, keep: impl Fn(usize, &str, f64) -> bool) -> Vec<&str> {
        let list = self.run[query].iter().enumerate();
        list.filter(|(n, (doc, score))| {
            !self.positives[query].contains(doc) && keep(n + 1, doc, *score)
        })
        .map(|(_, (doc, _))| doc.as_str())
        .take(7)
        .collect()
    }
}

#[test]
fn top_seven_non_positives() {
    let here = Folder::new();
    let mined = here.ir(&["mine", "bundled", "-o", "train.jsonl"]).ok();
    assert_eq!(mined.out, "");
    let known = bundled(&here);
    let found = examples(&here, "train.jsonl");
    assert_eq!(found.len(), 88);
    for example in &found {
        let query = example.query_id.as_deref().unwrap();
        assert_eq!(
            ids(&example.negatives),
            known.negatives(query, |_, _, _| true),
            "{query}"
        );
        let positives: HashSet<String> = ids(&example.positives)
            .into_iter()
            .map(str::to_owned)
            .collect();
        assert_eq!(positives, known.positives[query]);
    }
    // To standard output, by one thread: the same.
    let again = here.ir(&["mine", "bundled", "--threads", "1"]).ok();
    assert_eq!(again.out, here.read("train.jsonl"));
}

#[test]
fn rank_windows_margins_years_and_runs() {
    let here = Folder::new();
    let known = bundled(&here);
    let check = |options: &[&str], keep: &dyn Fn(&str, usize, &str, f64) -> bool| {
        let command = ["mine", "bundled", "-o", "a.jsonl"];
        here.ir(&[&command[..], options].concat()).ok();
        for example in examples(&here, "a.jsonl") {
            let query = example.query_id.as_deref().unwrap();
            let expected = known.negatives(query, |n, doc, score| keep(query, n, doc, score));
            assert_eq!(ids(&example.negatives), expected, "{query} {options:?}");
        }
    };
    check(&["--first-rank", "5", "--last-rank", "9"], &|_, n, _, _| {
        (5..=9).contains(&n)
    });
    let year = |query: &str, doc: &str| match (known.query_years.get(query), known.years.get(doc)) {
        (Some(query_year), Some(year)) => year <= query_year,
        _ => true,
    };
    assert!(
        known
            .run
            .iter()
            .any(|(q, list)| list.iter().any(|(doc, _)| !year(q, doc)))
    );
    check(&["--not-later-than-query"], &|query, _, doc, _| {
        year(query, doc)
    });
    check(&["--filter", "year<=2017"], &|_, _, doc, _| {
        known.years.get(doc).is_none_or(|&year| year <= 2017)
    });
    let least = |query: &str| {
        let positives = &known.positives[query];
        let list = known.run[query]
            .iter()
            .filter(|(doc, _)| positives.contains(doc));
        list.map(|(_, score)| *score)
            .reduce(f64::min)
            .unwrap_or(f64::NEG_INFINITY)
    };
    // No score is so close to the limit that f32 rounding decides.
    check(&["--margin", "1.25"], &|query, _, _, score| {
        score <= least(query) - 1.25
    });
    check(&["--relative-margin", "0.1"], &|query, _, _, score| {
        score <= least(query) * 0.9
    });

    // The same from a run file.
    let search = [
        "search", "bundled", "--split", "train", "-k", "500", "--scores", "exact",
    ];
    here.ir(&[&search[..], &["-o", "run.trec.gz"]].concat())
        .ok();
    check(&["--run", "run.trec.gz"], &|_, _, _, _| true);
    check(
        &["--run", "run.trec.gz", "--relative-margin", "0.1"],
        &|query, _, _, score| score <= least(query) * 0.9,
    );
    here.write("short.trec", "train-0 Q0 Seaward-22 1 1 x\n");
    // Queries without results have no hard negatives.
    let command = ["mine", "bundled", "-n", "1", "-o", "a.jsonl", "--run"];
    let short = here.ir(&[&command[..], &["short.trec"]].concat()).ok().err;
    let warning = "warning: short.trec: 87 of 88 queries have no results and therefore no hard \
                   negatives, such as \"train-1\"\n";
    assert!(short.starts_with(warning), "{short}");
    assert!(short.contains("87 of 88 queries have fewer than 1 mined negatives, 87 of them none"));
    let found = examples(&here, "a.jsonl");
    assert_eq!(
        (found.len(), ids(&found[0].negatives)),
        (88, vec!["Seaward-22"])
    );
    assert!(found[1].negatives.is_empty());
    here.write("other.trec", "x Q0 Seaward-22 1 1 x\n");
    here.ir(&[&command[..], &["other.trec"]].concat()).fails(
        1,
        &["other.trec: expected results for the 88 queries, such as \"train-0\", found none"],
    );
}

#[test]
fn random_selection_depends_on_seed_only() {
    let here = Folder::new();
    let mine = |options: &[&str]| {
        let command = ["mine", "bundled", "--last-rank", "30"];
        here.ir(&[&command[..], options].concat()).ok().out
    };
    let drawn = mine(&["--draw", "random", "--random", "3"]);
    assert_eq!(
        drawn,
        mine(&["--draw", "random", "--random", "3", "--threads", "1"])
    );
    let other = mine(&["--draw", "random", "--random", "3", "--seed", "1"]);
    assert_ne!(drawn, other);
    here.write("a.jsonl", &drawn);
    let known = bundled(&here);
    for example in examples(&here, "a.jsonl") {
        let query = example.query_id.as_deref().unwrap();
        let negatives = ids(&example.negatives);
        let different: HashSet<&str> = negatives.iter().copied().collect();
        assert_eq!(different.len(), negatives.len());
        assert!(
            negatives
                .iter()
                .all(|id| !known.positives[query].contains(*id))
        );
        let hits = known.run[query].iter().take(30);
        let window = hits
            .filter(|(doc, _)| !known.positives[query].contains(doc))
            .count();
        assert_eq!(negatives.len(), window.min(7) + 3, "{query}");
    }
}

#[test]
fn examples_from_file() {
    let here = Folder::new();
    let docs = "{\"_id\": \"a\", \"text\": \"green tea\"}\n{\"_id\": \"b\", \"text\": \"black tea\"}\n\
                {\"_id\": \"c\", \"text\": \"green tea\"}\n{\"_id\": \"d\", \"text\": \"tea tea\"}\n";
    here.write("docs.jsonl", docs);
    let lines =
        "{\"id\": \"q\", \"query\": \"tea\", \"positives\": [\"a\"], \"negatives\": [\"b\"]}\n";
    here.write("train.jsonl", lines);
    let mine = |options: &[&str]| {
        let command = [
            "mine",
            "docs.jsonl",
            "--examples",
            "train.jsonl",
            "--template",
            "{id}: {text}",
        ];
        here.ir(&[&command[..], options].concat())
    };
    // BM25 ranks d before b; with this template, the text of c differs from that of a.
    let found = mine(&["-n", "2"]).ok().out;
    let expected = concat!(
        r#"{"query_id":"q","query":"tea","positive_passages":[{"docid":"a","text":"a: green tea"}],"#,
        r#""negative_passages":[{"docid":"d","text":"d: tea tea"},{"docid":"b","text":"b: black tea"}]}"#,
        "\n"
    );
    assert_eq!(found, expected);
    let kept = mine(&["-n", "2", "--keep"]).ok().out;
    let negatives = &kept[kept.find("negative").unwrap()..];
    assert!(negatives.find("\"b\"") < negatives.find("\"d\""), "{kept}");
    // With the default template, c has the text of the positive and is excluded.
    let command = ["mine", "docs.jsonl", "--examples", "train.jsonl"];
    let usual = here.ir(&command).ok();
    assert!(!usual.out.contains("\"docid\":\"c\""), "{}", usual.out);
    assert!(
        usual
            .err
            .contains("1 of 1 queries have fewer than 7 mined negatives"),
        "{}",
        usual.err
    );
}

/// A positive with an id that the collection does not have is identified by its text.
#[test]
fn positives_with_an_unknown_id() {
    let here = Folder::new();
    here.write(
        "docs.jsonl",
        "{\"id\":\"d1\",\"title\":\"Tea\",\"text\":\"Steep the leaves.\"}\n\
         {\"id\":\"d2\",\"title\":\"Trees\",\"text\":\"The leaves are green.\"}\n",
    );
    here.write(
        "t.jsonl",
        "{\"query_id\":\"q1\",\"query\":\"steep leaves\",\
         \"positive_passages\":[{\"docid\":\"p0\",\"text\":\"Steep the leaves.\"}]}\n",
    );
    here.ir("mine docs.jsonl --examples t.jsonl -o out.jsonl")
        .ok();
    let [example] = &examples(&here, "out.jsonl")[..] else {
        panic!("expected one example");
    };
    assert_eq!(ids(&example.positives), ["p0"]);
    assert_eq!(ids(&example.negatives), ["d2"]);
}

/// A positive given by its text is never a negative, also in other white space or normalization.
#[test]
fn positives_that_read_the_same() {
    let here = Folder::new();
    here.write(
        "docs.jsonl",
        "{\"id\":\"d1\",\"title\":\"Caf\\u00e9\",\"text\":\"Steep  the leaves. \"}\n\
         {\"id\":\"d2\",\"title\":\"Trees\",\"text\":\"The leaves are green.\"}\n",
    );
    for positive in [
        "Steep the leaves.",
        "Caf\\u00e9\\nSteep the leaves.",
        "Cafe\\u0301 Steep the\\u00a0leaves.",
    ] {
        let line =
            format!("{{\"query\": \"leaves\", \"positives\": [{{\"text\": \"{positive}\"}}]}}\n");
        here.write("t.jsonl", line);
        here.ir("mine docs.jsonl --examples t.jsonl -o out.jsonl")
            .ok();
        let example = examples(&here, "out.jsonl").remove(0);
        assert_eq!(ids(&example.negatives), ["d2"], "{positive}");
    }
}

/// A positive given by its text is never a negative. `--random` is limited by the collection.
#[test]
fn positives_without_an_id() {
    let here = Folder::new();
    let docs = (1..6).map(|n| format!("d{n}\t{}tea\n", "a ".repeat(n)));
    here.write("docs.tsv", docs.collect::<String>());
    let line = r#"{"query": "tea", "positives": [{"text": "a tea"}]}"#;
    here.write("train.jsonl", line);
    let command = ["mine", "docs.tsv", "--examples", "train.jsonl", "-o", "out"];
    let mined = |options: &[&str]| {
        here.ir(&[&command[..], options].concat()).ok();
        let negatives = examples(&here, "out").remove(0).negatives;
        ids(&negatives)
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(mined(&["-n", "3"]), ["d2", "d3", "d4"]);
    let all = mined(&["-n", "0", "--random", "18446744073709551615"]);
    let all: HashSet<&str> = all.iter().map(String::as_str).collect();
    assert_eq!(all, HashSet::from(["d2", "d3", "d4", "d5"]));
}

/// A byte-order mark is not part of the text.
#[test]
fn notes_with_byte_order_mark() {
    let here = Folder::new();
    here.write("notes/a.md", "\u{FEFF}# Green tea\n\nSteep it.\n");
    let line = r#"{"query": "tea", "positives": [{"text": "black"}]}"#;
    here.write("train.jsonl", line);
    here.ir(&[
        "mine",
        "notes",
        "--examples",
        "train.jsonl",
        "-o",
        "out",
        "--template",
        "{title}|{text}",
    ])
    .ok();
    let negatives = examples(&here, "out").remove(0).negatives;
    assert!(
        negatives[0].text.starts_with("Green tea|# Green tea"),
        "{negatives:?}"
    );
}

#[test]
fn invalid_options() {
    let here = Folder::new();
    let mine = |options: &[&str]| here.ir(&[&["mine"], options].concat());
    mine(&["bundled", "--margin", "-1"]).fails(
        2,
        &["absolute margin: expected a finite number >= 0", "found -1"],
    );
    mine(&["bundled", "--relative-margin", "2"]).fails(
        2,
        &["--relative-margin: relative margin: expected a number in 0..=1"],
    );
    mine(&["bundled", "--first-rank", "9", "--last-rank", "3"]).fails(
        2,
        &["--last-rank: expected a rank >= 9 (--first-rank), found 3"],
    );
    mine(&["bundled", "--first-rank", "600"]).fails(
        2,
        &["--last-rank: expected a rank >= 600 (--first-rank), found 500"],
    );
    mine(&["bundled", "--margin", "-1"]).fails(2, &["--margin: "]);
    mine(&["bundled", "--first-rank", "0"]).fails(2, &["expected an integer of at least 1"]);
    mine(&["bundled", "--split", "dev"]).fails(1, &["\"dev\"", "test, train"]);
    mine(&["nowhere"]).fails(1, &["nowhere"]);
    mine(&["bundled", "--template", "{text"]).fails(2, &["expected a name in braces"]);
    here.ir(&["index", "bundled", "-o", "b.ir"]).ok();
    mine(&["b.ir"]).fails(1, &["expected documents, found an index"]);
    here.write("d.jsonl", "{\"_id\": \"a\", \"text\": \"tea\"}\n");
    mine(&["d.jsonl"]).fails(
        2,
        &[
            "d.jsonl: expected judged queries, found none",
            "--examples FILE",
        ],
    );
    here.write(
        "t.jsonl",
        "{\"query\": \"x\", \"positives\": [\"z\"]}\n{\"query\": \"y\", \"positives\": [\"a\"]}\n",
    );
    let with = ["d.jsonl", "--examples", "t.jsonl", "-o", "out.jsonl"];
    mine(&with).fails(
        1,
        &["t.jsonl:1", "positives[0], found \"z\"", "--leave-out"],
    );
    assert!(!here.path().join("out.jsonl").exists());
    let left = mine(&[&with[..], &["--leave-out"]].concat()).ok();
    assert!(left.err.contains("skipped: t.jsonl:1"), "{}", left.err);
    assert_eq!(examples(&here, "out.jsonl").len(), 1);
}

/// Documents, queries and judgments in three files are a collection of judged queries.
#[test]
fn queries_and_judgments_in_files() {
    let here = Folder::new();
    here.write("docs.tsv", "a\tgreen tea\nb\tblack tea\nc\tcoffee\n");
    here.write("queries.tsv", "1\ttea\n2\tcoffee\n");
    here.write("qrels.txt", "1 0 a 1\n");
    let files = ["mine", "docs.tsv", "--queries", "queries.tsv", "-n", "1"];
    let mine = |more: &[&str]| here.ir(&[&files[..], &["-o", "out.jsonl"], more].concat());
    mine(&["--qrels", "qrels.txt"]).ok();
    let found = examples(&here, "out.jsonl");
    assert_eq!(found.len(), 1, "judged queries only");
    assert_eq!(found[0].query_id.as_deref(), Some("1"));
    assert_eq!(ids(&found[0].positives), ["a"]);
    assert_eq!(ids(&found[0].negatives), ["b"]);

    mine(&[]).fails(2, &["--qrels"]);
    mine(&["--qrels", "qrels.txt", "--split", "test"]).fails(2, &["--split"]);
    here.write("qrels.txt", "1 0 a 1\n1 0 z 1\n");
    mine(&["--qrels", "qrels.txt"]).fails(
        1,
        &[
            "queries.tsv qrels.txt",
            "\"z\"",
            "(--leave-out skips such queries)",
        ],
    );
    let left_out = mine(&["--qrels", "qrels.txt", "--leave-out"]).ok();
    assert!(
        left_out.err.contains("skipped: queries.tsv qrels.txt"),
        "{}",
        left_out.err
    );
    here.write("qrels.txt", "9 0 a 1\n");
    mine(&["--qrels", "qrels.txt"]).fails(1, &["queries.tsv", "\"9\""]);
}

/// Columns of sentence-transformers are examples; missing fields are an error without the advice to
/// skip queries, since every line lacks them.
#[test]
fn columns_of_examples() {
    let here = Folder::new();
    here.write(
        "d.jsonl",
        "{\"_id\": \"a\", \"text\": \"green tea\"}\n{\"_id\": \"b\", \"text\": \"black tea\"}\n",
    );
    let mine = ["mine", "d.jsonl", "--examples", "t.jsonl", "-n", "1"];
    let mine = |more: &[&str]| here.ir(&[&mine[..], &["-o", "out.jsonl"], more].concat());
    here.write(
        "t.jsonl",
        "{\"anchor\": \"tea\", \"positive\": \"green tea\"}\n",
    );
    mine(&[]).ok();
    let found = examples(&here, "out.jsonl");
    assert_eq!(
        (&*found[0].query, &*found[0].positives[0].text),
        ("tea", "green tea")
    );
    assert_eq!(ids(&found[0].negatives), ["b"]);
    here.write(
        "t.jsonl",
        "{\"query\": \"tea\", \"answer\": \"green tea\"}\n",
    );
    let expected = "t.jsonl:1: expected a field \"positives\", \"positive_passages\" or \"positive\", \
                    found \"answer\", \"query\"";
    for more in [&[][..], &["--leave-out"]] {
        let ran = mine(more).fails(1, &[expected]);
        assert!(!ran.err.contains("leave-out"), "{}", ran.err);
    }
}

/// Queries and documents with an invalid year are counted, as in `ir search`.
#[test]
fn invalid_years() {
    let here = Folder::new();
    let documents = [
        ("a", "green tea"),
        ("b", "black tea"),
        ("c", "tea with milk"),
    ];
    let documents = documents
        .map(|(id, text)| format!("{{\"_id\": \"{id}\", \"text\": \"{text}\", \"year\": 2010}}\n"));
    here.write("t/corpus.jsonl", documents.concat());
    here.write(
        "t/queries.jsonl",
        "{\"_id\": \"1\", \"text\": \"tea\", \"year\": \"soon\"}\n\
         {\"_id\": \"2\", \"text\": \"milk\", \"year\": 2015}\n",
    );
    here.write(
        "t/qrels/train.tsv",
        "query-id\tcorpus-id\tscore\n1\ta\t1\n2\tc\t1\n",
    );
    let mine = ["mine", "t", "-n", "1", "-o", "t.jsonl"];
    let warning = "warning: 1 of 2 queries have an attribute \"year\" that is neither a year nor a \
                   date, such as \"soon\": no time filter";
    let ran = here.ir(&[&mine[..], &["--not-later-than-query"]].concat());
    let err = ran.ok().err;
    assert!(err.contains(warning), "{err}");
    assert!(!here.ir(&mine).ok().err.contains("year"));

    let spring = "{\"_id\": \"d\", \"text\": \"white tea\", \"year\": \"spring\"}\n";
    here.write("t/corpus.jsonl", documents.concat() + spring);
    let system = "[[systems]]\nname = \"b\"\ntype = \"bm25\"\n";
    here.write("plain.toml", system);
    here.write("year.toml", format!("{system}filter = \"year\"\n"));
    let by_system = ["--system", "plain.toml", "--not-later-than-query"];
    let invalid = "warning: 1 of 4 documents have an attribute \"year\" that is neither a year nor a \
                   date, such as \"spring\": no time filter";
    for command in [
        [&mine[..], &by_system].concat(),
        [
            "search",
            "t",
            "--queries",
            "t/queries.jsonl",
            "--system",
            "year.toml",
            "-o",
            "t.run",
        ]
        .to_vec(),
    ] {
        let err = here.ir(&command).ok().err;
        assert_eq!(err.matches(invalid).count(), 1, "{command:?}: {err}");
    }
}

/// With `--teacher`, every text has the logit of the cross-encoder, and the file is enough for a
/// distillation.
#[cfg(feature = "dense")]
#[test]
fn scores_of_a_teacher() {
    use ir_dense::{Activation, CrossEncoder, CrossEncoderConfig};

    let here = Folder::new();
    let mine = format!("mine bundled --negatives 3 --random 1 --teacher {TEACHER} -o scored.jsonl");
    here.ir(&mine).ok();
    here.ir("mine bundled --negatives 3 --random 1 -o plain.jsonl")
        .ok();
    let config = CrossEncoderConfig::default().with_activation(Activation::Identity);
    let model = CrossEncoder::open_with(TEACHER, &config).unwrap();
    let (scored, plain) = (
        examples(&here, "scored.jsonl"),
        examples(&here, "plain.jsonl"),
    );
    assert_eq!(scored.len(), 88);
    let mut different = HashSet::new();
    for (mut example, plain) in scored.into_iter().zip(plain) {
        for text in example.positives.iter_mut().chain(&mut example.negatives) {
            let predicted = model.predict(&[(&*example.query, &*text.text)]).unwrap();
            let score = text.score.take().unwrap();
            assert!(
                (score - predicted[0][0]).abs() < 1e-5,
                "{score} {predicted:?}"
            );
            different.insert(score.to_bits());
        }
        assert_eq!(example, plain);
    }
    assert!(different.len() > 100, "{}", different.len());

    // One thread, and the negatives of a file: the same scores.
    let again = mine.replace("-o scored.jsonl", "--threads 1");
    assert_eq!(here.ir(&again).ok().out, here.read("scored.jsonl"));
    let kept = "mine bundled --examples scored.jsonl --keep --negatives 0";
    assert_eq!(here.ir(kept).ok().out, here.read("scored.jsonl"));
    for loss in ["margin-mse", "kl-divergence"] {
        let train = format!(
            "train-reranker {TEACHER} scored.jsonl -o {loss} --loss {loss} --epochs 1 --negatives 2"
        );
        here.ir(&train).ok();
    }
    let errors = r#"
        mine bundled --teacher nowhere -o a.jsonl
          1: nowhere
        mine bundled --teacher BIENCODER -o a.jsonl
          1: opening the model
    "#;
    here.errors(&errors.replace("BIENCODER", crate::common::BERT_PYTORCH));
}

/// Folder of a tiny cross-encoder with random weights.
#[cfg(feature = "dense")]
const TEACHER: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../crates/ir-dense/testdata/cross-encoders/bert"
);
