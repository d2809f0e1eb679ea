//! `ir knn-accuracy`.

use crate::common::{Folder, data, words};

/// Rows of two numbers each, as NumPy would save them.
fn npy(rows: &[[f64; 2]]) -> Vec<u8> {
    let rows = ndarray::arr2(rows).mapv(|value| value as f32);
    let mut file = Vec::new();
    ir_knn::npy::write(rows.view(), &mut file).unwrap();
    file
}

/// Two classes of three items each, far apart, and one item without a label.
fn write_two_clusters(here: &Folder) {
    let rows = [
        [0., 0.],
        [0., 1.],
        [50., 50.],
        [9., 9.],
        [9., 8.],
        [1., 0.],
        [8., 9.],
    ];
    here.write("x.npy", npy(&rows));
    here.write("labels.txt", "low\nlow\nunlabeled\nhigh\nhigh\nlow\nhigh\n");
}

const VECTORS: [&str; 9] = [
    "knn-accuracy",
    "--vectors",
    "x.npy",
    "--labels",
    "labels.txt",
    "--k",
    "1",
    "--folds",
    "3",
];

#[test]
fn vectors_and_labels() {
    let here = Folder::new();
    write_two_clusters(&here);
    let ran = here.ir(&VECTORS).ok();
    assert_eq!(
        ran.out,
        "1\t2\t1.0000\n2\t2\t1.0000\n3\t2\t1.0000\nmean\t6\t1.0000\n"
    );
    assert_eq!(ran.err, "");
    let json = here.ir(&[&VECTORS[..], &["--json"]].concat()).ok().out;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["accuracy"], 1.0);
    assert_eq!(json["sizes"], serde_json::json!([2, 2, 2]));
    assert_eq!((&json["items"], &json["unlabeled"]), (&6.into(), &1.into()));
    assert_eq!(
        (&json["classes"], &json["dimensions"]),
        (&2.into(), &2.into())
    );
    assert_eq!(json["metric"], "euclidean");
}

#[test]
fn small_classes_warning() {
    let here = Folder::new();
    write_two_clusters(&here);
    let mut args = VECTORS.to_vec();
    args[8] = "2";
    args.extend(["--unlabeled", "nothing"]);
    let ran = here.ir(&args).ok();
    assert_eq!(
        ran.err,
        "warning: 1 class has fewer items than the 2 folds: unlabeled (1)\n"
    );
    // The one item of its class is in the second fold, with three items.
    assert!(
        ran.out.ends_with("2\t3\t0.6667\nmean\t7\t0.8333\n"),
        "{}",
        ran.out
    );
}

const TEXTS: &str = "{\"abstract\": \"ships at sea\", \"label\": \"sea\"}\n\
{\"abstract\": \"a ship, the sea\", \"label\": \"sea\"}\n\
{\"abstract\": \"boats and ships\", \"label\": \"sea\"}\n\
{\"abstract\": \"milk\", \"label\": null}\n\
{\"abstract\": \"green tea\", \"label\": \"tea\"}\n\
{\"abstract\": \"black tea\", \"label\": \"tea\"}\n\
{\"abstract\": \"tea with milk\", \"label\": \"tea\"}\n";

#[test]
fn texts_as_json_and_plain_lines() {
    let here = Folder::new();
    here.write("papers.jsonl", TEXTS);
    let common = ["--k", "1", "--folds", "3"];
    let json = words("knn-accuracy --texts papers.jsonl --text-field abstract");
    let ran = here.ir(&[&json[..], &common].concat()).ok();
    assert!(ran.out.ends_with("mean\t6\t1.0000\n"), "{}", ran.out);
    // The same as plain lines, one of the files on standard input.
    here.write("labels.txt", "sea\nsea\nsea\nunlabeled\ntea\ntea\ntea\n");
    let lines = "ships at sea\na ship, the sea\nboats and ships\nmilk\ngreen tea\nblack tea\ntea with milk\n";
    let plain = ["knn-accuracy", "--texts", "-", "--labels", "labels.txt"];
    let same = here.ir_with(&[&plain[..], &common].concat(), lines).ok();
    assert_eq!(same.out, ran.out);
    let lsi = words("--model lsi --components 2 --normalize --sublinear");
    let ran = here.ir(&[&json[..], &common, &lsi].concat()).ok();
    assert!(ran.out.ends_with("mean\t6\t1.0000\n"), "{}", ran.out);
}

/// Accuracy equals that of the library.
#[test]
fn random_indexing() {
    let here = Folder::new();
    here.write("papers.jsonl", TEXTS);
    let args = "knn-accuracy --texts papers.jsonl --text-field abstract --model random-indexing \
                --k 1 --folds 3 --json";
    let json = |more: &[&str]| -> serde_json::Value {
        let args: Vec<&str> = args
            .split_whitespace()
            .chain(more.iter().copied())
            .collect();
        serde_json::from_str(&here.ir(&args).ok().out).unwrap()
    };
    let expected = |dim: usize, nonzero: usize| {
        let texts: Vec<String> = TEXTS
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
            .map(|object| object["abstract"].as_str().unwrap().to_owned())
            .collect();
        let mut config = ir_knn::RandomIndexingConfig::default().with_dim(dim);
        config.nonzero = nonzero;
        let (_, rows) = ir_knn::RandomIndexing::fit_transform(&texts, &config).unwrap();
        let classes = ir_knn::Classes::new(["sea", "sea", "sea", "tea", "tea", "tea"]);
        let knn = ir_knn::KnnClassifier::new(1);
        let accuracy = knn.cross_validate(
            &rows.select(ndarray::Axis(0), &[0, 1, 2, 4, 5, 6]),
            &classes,
            3,
        );
        accuracy.unwrap().mean()
    };
    let found = json(&[]);
    assert_eq!(
        (&found["dimensions"], &found["items"]),
        (&200.into(), &6.into())
    );
    assert_eq!(found["accuracy"], expected(200, 10));
    assert!(found["accuracy"].as_f64().unwrap() > 0.8);
    let found = json(&["--components", "7"]);
    assert_eq!(found["dimensions"], 7);
    assert_eq!(found["accuracy"], expected(7, 6));
}

/// Line numbers count unlabeled items and blank lines.
#[test]
fn zero_vectors_are_reported_with_line() {
    let here = Folder::new();
    here.write(
        "x.npy",
        npy(&[[1., 0.], [2., 1.], [3., 1.], [1., 1.], [0., 0.], [1., 2.]]),
    );
    here.write("labels.txt", "a\nunlabeled\nunlabeled\nunlabeled\nb\na\n");
    let common = words("--labels labels.txt --metric cosine -k 1 --folds 2");
    let vectors = ["knn-accuracy", "--vectors", "x.npy"];
    here.ir(&[&vectors[..], &common].concat())
        .fails(1, &["x.npy: row 4: expected a non-zero vector"]);
    here.write("lines.txt", "a ship\nmilk\nmilk\nmilk\n?\na boat\n");
    let texts = ["knn-accuracy", "--texts", "lines.txt"];
    here.ir(&[&texts[..], &common].concat()).fails(
        1,
        &["lines.txt:5: expected a text with a term of the vocabulary"],
    );
    // Blank lines between objects are lines of the file too.
    let lines = ["a ship", "milk", "milk", "milk", "?", "a boat"];
    let lines = lines.map(|text| format!("\n{{\"text\": \"{text}\"}}\n"));
    here.write("objects.jsonl", lines.concat());
    let texts = ["knn-accuracy", "--texts", "objects.jsonl"];
    here.ir(&[&texts[..], &common].concat()).fails(
        1,
        &["objects.jsonl:10: expected a text with a term of the vocabulary"],
    );
}

/// The first non-blank line determines the format.
#[test]
fn leading_blank_lines_of_texts() {
    let here = Folder::new();
    here.write("papers.jsonl", TEXTS);
    here.write("blank.jsonl", format!("\n \r\n{TEXTS}"));
    here.write("labels.txt", "sea\nsea\nsea\nunlabeled\ntea\ntea\ntea\n");
    let run = |texts: &str, labels: &[&str]| {
        let args = words("knn-accuracy --text-field abstract -k 1 --folds 3");
        here.ir(&[&args[..], &["--texts", texts], labels].concat())
    };
    for labels in [&[][..], &["--labels", "labels.txt"]] {
        let expected = run("papers.jsonl", labels).ok().out;
        assert_eq!(run("blank.jsonl", labels).ok().out, expected);
    }
    // A blank line among plain ones is a text, with a label of its own.
    here.write("lines.txt", "\na ship\nships\na ship\ntea\ntea\ntea\n");
    here.write("more.txt", "unlabeled\nsea\nsea\nsea\ntea\ntea\ntea\n");
    let ran = run("lines.txt", &["--labels", "more.txt"]).ok();
    assert!(ran.out.contains("mean\t6\t"), "{}", ran.out);
    run("lines.txt", &[]).fails(
        1,
        &["lines.txt: expected --labels for texts that are plain"],
    );
}

#[test]
fn invalid_input() {
    let here = Folder::new();
    write_two_clusters(&here);
    here.write("papers.jsonl", TEXTS);
    here.write("short.txt", "low\nhigh\n");
    here.write("gap.txt", "low\n\nhigh\n");
    here.errors(r#"
        knn-accuracy --vectors x.npy
          2: --labels
        knn-accuracy --labels labels.txt
          2: --vectors | --texts
        knn-accuracy --vectors - --labels -
          2: expected `-` at most once, found it more than once
        knn-accuracy --vectors x.npy --labels labels.txt --sublinear
          2: --sublinear
        knn-accuracy --texts papers.jsonl --components 3
          2: --components: expected --model lsi or random-indexing
        knn-accuracy --texts papers.jsonl --sublinear --model random-indexing
          2: --sublinear: expected --model tfidf or lsi
        knn-accuracy --texts papers.jsonl --text-field abstract --components 1 --model random-indexing
          2: --components: expected at least 2 for --model random-indexing, found 1
        knn-accuracy --texts papers.jsonl --min-df 1.5
          2: expected a count of at least 1 or a fraction
        knn-accuracy --vectors none.npy --labels labels.txt
          1: none.npy
        knn-accuracy --vectors labels.txt --labels labels.txt
          1: labels.txt: expected a .npy file
        knn-accuracy --vectors x.npy --labels short.txt
          1: short.txt: expected 7 labels as x.npy has, found 2
        knn-accuracy --vectors x.npy --labels gap.txt
          1: gap.txt:2: expected a label, found an empty line
        knn-accuracy --vectors x.npy --labels labels.txt
          1: x.npy: expected at most one fold per item, found 10 folds for 6 items
        knn-accuracy --vectors x.npy --labels labels.txt --folds 3
          1: expected at least k = 10 training rows, found 4
        knn-accuracy --vectors x.npy --labels labels.txt --folds 3 -k 1 --metric cosine
          1: row 0: expected a non-zero vector
        knn-accuracy --texts papers.jsonl
          1: papers.jsonl:1: expected a field "text", found " | (--text-field names the field of the text)
        knn-accuracy --texts papers.jsonl --text-field abstract --label-field class
          1: expected labels in the field "class", found none
        knn-accuracy --vectors x.npy --labels labels.txt --folds 1
          2: --folds | expected an integer of at least 2
        knn-accuracy --texts labels.txt
          1: labels.txt: expected --labels for texts that are plain lines
        knn-accuracy --texts papers.jsonl --text-field abstract --model lsi --folds 3 -k 1
          1: papers.jsonl: expected 1 to 7 components for 7 rows
    "#);
}

/// Expected: scikit-learn on the same files, with the protocol of the ICLR benchmark.
#[test]
fn iclr_benchmark() {
    let Some(data) = data("iclr_benchmark") else {
        return;
    };
    let at = |name: &str| data.join("iclr").join(name).to_str().unwrap().to_owned();
    let (vectors, labels) = (at("tsne_L2_svd.npy"), at("labels_24v2.txt"));
    let here = Folder::new();
    let args = ["knn-accuracy", "--vectors", &vectors, "--labels", &labels];
    let out = here.ir_data(&args).ok().out;
    assert!(out.starts_with("1\t1306\t0.5207\n"), "{out}");
    assert!(out.ends_with("\nmean\t13053\t0.5674\n"), "{out}");
    let texts = at("abstracts_2017_2018_2021.jsonl.zst");
    let args = format!("knn-accuracy --texts {texts} --text-field abstract --sublinear");
    let ran = here.ir_data(&args).ok();
    assert!(ran.out.ends_with("\nmean\t2262\t0.5938\n"), "{}", ran.out);
    assert_eq!(
        ran.err,
        "warning: 1 class has fewer items than the 10 folds: diffusion models (5)\n"
    );
}

/// Papers of the ICLR dataset; the file was written by pyarrow.
#[test]
fn parquet() {
    let here = Folder::new();
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../crates/ir-data/testdata/iclr/papers.parquet"
    );
    let options = ["knn-accuracy", "--texts", file, "--k", "3", "--folds", "3"];
    let with = |more: &[&str]| here.ir(&[&options[..], more].concat());
    // Abstracts and titles of a subject share words; papers on tea have no label.
    for more in [&[][..], &["--text-field", "title"]] {
        let ran = with(more).ok();
        assert!(ran.out.ends_with("mean\t15\t1.0000\n"), "{}", ran.out);
    }
    with(&["--text-field", "authors"]).fails(2, &["expected abstract or title"]);
    with(&["--label-field", "decision"]).fails(2, &["expected labels"]);
}
