//! `ir map`.

use std::fs;

use ir_knn::npy;
use ndarray::Array2;

use crate::common::Folder;

/// Two groups of texts, with titles, classes and years.
fn papers(here: &Folder) {
    let line = |n: usize| {
        let (text, class) = match n % 2 {
            0 => ("graph nodes edges", "graphs"),
            _ => ("agent reward policy", "RL"),
        };
        let label = if n == 5 { "unlabeled" } else { class };
        format!(
            "{{\"text\": \"{text} word{n}\", \"title\": \"Paper <{n}>\", \"label\": \"{label}\", \"year\": {}}}\n",
            2017 + n % 3
        )
    };
    here.write("papers.jsonl", (0..20).map(line).collect::<String>());
}

#[test]
fn maps_of_texts() {
    let here = Folder::new();
    papers(&here);
    let map = "map --texts papers.jsonl --components 5";
    here.ir(&format!("{map} -o map.svg")).ok();
    let svg = here.read("map.svg");
    assert!(
        svg.starts_with("<svg") && svg.ends_with("</svg>\n"),
        "{svg}"
    );
    assert!(svg.contains("<title>Paper &lt;3&gt; (RL)</title>"), "{svg}");
    assert!(
        svg.contains(">graphs (10)</text>") && svg.contains(">RL (9)</text>"),
        "{svg}"
    );
    // The paper without a class is gray.
    assert_eq!(svg.matches("#bbb").count(), 1);
    here.ir(&format!("{map} -o again.svg")).ok();
    assert_eq!(here.read("again.svg"), svg);
    here.ir(&format!(
        "{map} --label-field year --title Years -o map.html"
    ))
    .ok();
    let html = here.read("map.html");
    assert!(
        html.contains("<title>Years</title>") && html.contains(">2017 (7)</text>"),
        "{html}"
    );
    here.ir(&format!("{map} -o map.csv")).ok();
    assert_eq!(here.read("map.csv").lines().count(), 21);
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../crates/ir-data/testdata/iclr/papers.parquet"
    );
    here.ir(&[
        "map",
        "--texts",
        file,
        "--label-field",
        "year",
        "-o",
        "iclr.svg",
    ])
    .ok();
    assert!(here.read("iclr.svg").contains(">2017 (10)</text>"));
    let score = |label: &str| {
        here.ir(&[
            "map",
            "--texts",
            file,
            "--label-field",
            label,
            "-o",
            "s.csv",
        ])
    };
    score("score").ok();
    score("keywords").fails(
        2,
        &["--label-field: expected labels, year, decision or score"],
    );
    // Two components of texts are no map.
    here.write(
        "two.jsonl",
        "{\"text\": \"tea leaves\"}\n{\"text\": \"milk\"}\n",
    );
    here.ir("map --texts two.jsonl -o two.svg").fails(
        1,
        &["two.jsonl", "t-SNE: expected at least 4 rows, found 2"],
    );
    here.ir("map --texts papers.jsonl --components 2 --perplexity 3 -o m.svg")
        .ok();
}

/// Vectors of two dimensions are drawn without t-SNE.
#[test]
fn a_map_as_it_is() {
    let here = Folder::new();
    let write = |name: &str, shape: (usize, usize)| {
        let rows = Array2::from_shape_fn(shape, |(row, column)| (row * 3 + column) as f64);
        let file = fs::File::create(here.at(name)).unwrap();
        npy::write(rows.view(), file).unwrap();
    };
    write("map.npy", (3, 2));
    here.write("labels", "a\nb\na\n");
    here.write("titles", "one\ntwo\nthree\n");
    here.ir("map --vectors map.npy --labels labels --titles titles -o map.csv")
        .ok();
    assert_eq!(
        here.read("map.csv"),
        "x,y,label,text\n0,1,a,one\n3,4,b,two\n6,7,a,three\n"
    );
    // An item may have no title.
    here.write("titles", "one\n\nthree\n");
    here.ir("map --vectors map.npy --titles titles -o map.csv")
        .ok();
    assert!(here.read("map.csv").contains("\n3,4,,\n"));
    here.write("empty", "a\n\nb\n");
    here.ir("map --vectors map.npy --labels empty -o map.csv")
        .fails(1, &["empty:2: expected a label, found an empty line"]);

    write("two.npy", (2, 3));
    here.ir("map --vectors two.npy -o map.svg")
        .fails(1, &["two.npy", "t-SNE: expected at least 4 rows, found 2"]);
    write("ten.npy", (10, 3));
    here.ir("map --vectors ten.npy --perplexity 4 -o map.svg")
        .fails(
            1,
            &[
                "ten.npy",
                "perplexity: expected 1 to 3 for 10 rows, found 4",
            ],
        );
    here.ir("map --vectors ten.npy --labels labels -o map.svg")
        .fails(
            1,
            &["labels: expected 10 labels as ten.npy has items, found 3"],
        );
    here.ir("map --vectors map.npy --perplexity 4 -o map.svg")
        .fails(2, &["--perplexity"]);
    here.ir("map --vectors map.npy -o map.png")
        .fails(2, &["--output: expected a name"]);
    here.ir("map -o map.svg").fails(2, &["--vectors"]);
    here.write("bad.jsonl", "{\"text\": \"a\"}\n{\"title\": \"b\"}\n");
    here.ir("map --texts bad.jsonl -o map.svg")
        .fails(1, &["bad.jsonl:2: expected text in the field \"text\""]);
}
