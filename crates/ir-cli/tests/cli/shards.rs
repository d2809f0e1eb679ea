//! `--shard` and `ir merge`: shards merge to the bytes of the whole.

use std::fmt::Write as _;
use std::fs;

use crate::common::{Folder, Ran};
use ir_core::SplitMix64;

const WORDS: [&str; 12] = [
    "tea", "leaf", "river", "winter", "boat", "night", "cell", "gene", "map", "road", "stone",
    "light",
];

/// Writes a random collection in BEIR's layout: documents with blank ones, years and repeated
/// texts; queries; judgments of a split `train`.
fn random_collection(here: &Folder, seed: u64) {
    let mut random = SplitMix64::new(seed, 0);
    let mut below = |limit: usize| (random.next_u64() % limit as u64) as usize;
    let (mut corpus, mut queries) = (String::new(), String::new());
    let mut qrels = "query-id\tcorpus-id\tscore\n".to_owned();
    let docs = 3 + below(60);
    for doc in 0..docs {
        let len = if doc == 0 { 3 } else { below(9) };
        let text: Vec<&str> = (0..len).map(|_| WORDS[below(WORDS.len())]).collect();
        let text = text.join(" ");
        let year = 1990 + below(30);
        writeln!(
            corpus,
            "{{\"_id\": \"d{doc}\", \"title\": \"\", \"text\": \"{text}\", \"metadata\": {{\"year\": {year}}}}}"
        )
        .unwrap();
    }
    for query in 0..1 + below(25) {
        let text = [WORDS[below(WORDS.len())], WORDS[below(WORDS.len())]].join(" ");
        writeln!(queries, "{{\"_id\": \"q{query}\", \"text\": \"{text}\"}}").unwrap();
        writeln!(qrels, "q{query}\td0\t1").unwrap();
    }
    here.write("c/corpus.jsonl", corpus);
    here.write("c/queries.jsonl", queries);
    here.write("c/qrels/train.tsv", qrels);
}

/// Runs a command once and in `n` shards, merges in a scrambled order, and compares the bytes.
#[track_caller]
fn check_merge(here: &Folder, command: &[&str], whole: &str, n: usize) {
    let output = |name: &str, shard: Option<String>| {
        let mut args = [command, &["--output", name]].concat();
        let shard = shard.unwrap_or_default();
        if !shard.is_empty() {
            args.extend(["--shard", &shard]);
        }
        here.ir(&args).ok();
    };
    output(whole, None);
    let mut names: Vec<String> = (1..=n).map(|i| format!("{i}-of-{n}-{whole}")).collect();
    for (i, name) in (1..).zip(&names) {
        output(name, Some(format!("{i}/{n}")));
    }
    names.rotate_left(n / 2);
    let merged = format!("merged-{whole}");
    let parts = names.iter().map(String::as_str);
    let args: Vec<&str> = ["merge", "-o", &merged].into_iter().chain(parts).collect();
    here.ir(&args).ok();
    let read = |name: &str| fs::read(here.at(name)).unwrap();
    let (merged, whole) = (read(&merged), read(whole));
    let text = |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(2000)]).into_owned();
    assert!(
        merged == whole,
        "{command:?} {n}:\n{}\n---\n{}",
        text(&merged),
        text(&whole)
    );
}

const COUNTS: [usize; 7] = [1, 2, 3, 5, 8, 13, 17];

#[test]
fn runs_merge_to_the_bytes_of_the_whole() {
    for n in COUNTS {
        let here = Folder::new();
        random_collection(&here, n as u64);
        let search = ["search", "c", "--split", "train", "-k", "5"];
        check_merge(&here, &search, "run.trec", n);
    }
    let here = Folder::new();
    random_collection(&here, 100);
    let search = [
        "search",
        "c",
        "--queries",
        "c/queries.jsonl",
        "--model",
        "qld",
    ];
    check_merge(&here, &search, "run.trec.gz", 4);
    check_merge(&here, &search, "run.trec.zst", 3);
}

#[test]
fn mined_examples_merge_to_the_bytes_of_the_whole() {
    for n in COUNTS {
        let here = Folder::new();
        random_collection(&here, 20 + n as u64);
        let mine = [
            "mine",
            "c",
            "--negatives",
            "2",
            "--random",
            "2",
            "--seed",
            "7",
        ];
        check_merge(&here, &mine, "train.jsonl", n);
    }
}

#[test]
fn indexes_merge_to_the_bytes_of_the_whole() {
    for n in COUNTS {
        let here = Folder::new();
        random_collection(&here, 40 + n as u64);
        check_merge(&here, &["index", "c"], "c.ir", n);
    }
    let here = Folder::new();
    random_collection(&here, 200);
    let index = [
        "index",
        "c",
        "--positions",
        "--fields",
        "separate",
        "--order",
        "row-text",
    ];
    check_merge(&here, &index, "c.ir", 3);
    here.ir(&["search", "merged-c.ir", "tea"]).ok();
}

#[cfg(feature = "dense")]
#[test]
fn vectors_merge_to_the_bytes_of_the_whole() {
    let tiny = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../ir-dense/testdata/tiny/bert-pytorch"
    );
    for n in [1, 2, 5, 17] {
        let here = Folder::new();
        random_collection(&here, 60 + n as u64);
        check_merge(&here, &["encode", tiny, "c"], "docs.vectors", n);
        let shards: Vec<String> = (1..=n)
            .map(|i| format!("{i}-of-{n}-docs.vectors"))
            .collect();
        let shards = shards.iter().map(String::as_str);
        let merge = ["merge", "-o", "merged.npy", "--ids", "merged.ids"];
        here.ir(&merge.into_iter().chain(shards).collect::<Vec<_>>())
            .ok();
        here.ir(&["encode", tiny, "c", "-o", "whole.npy", "--ids", "whole.ids"])
            .ok();
        for end in ["npy", "ids"] {
            let read = |name: &str| fs::read(here.at(&format!("{name}.{end}"))).unwrap();
            assert!(read("merged") == read("whole"), "{end} {n}");
        }
        assert!(!here.at("merged.npy.vectors").exists());
    }
    let here = Folder::new();
    random_collection(&here, 80);
    let queries = ["encode", tiny, "c", "--queries", "--split", "train"];
    check_merge(&here, &queries, "queries.vectors", 3);
    let options = [&queries[..], &["-o", "q.npy", "--shard", "1/2"]].concat();
    here.ir(&options).fails(2, &["--shard 1/2", "vector index"]);
}

/// Three shards of a search, and the command with further options.
struct Shards {
    here: Folder,
}

impl Shards {
    fn new() -> Self {
        let here = Folder::new();
        random_collection(&here, 300);
        let shards = Self { here };
        for i in 1..=3 {
            shards
                .search(&format!("{i}.trec"), &format!("{i}/3"), &[])
                .ok();
        }
        shards
    }

    fn search(&self, output: &str, shard: &str, more: &[&str]) -> Ran {
        let search = [
            "search", "c", "--split", "train", "--output", output, "--shard", shard,
        ];
        self.here.ir(&[&search[..], more].concat())
    }

    fn merge(&self, shards: &[&str]) -> Ran {
        self.here
            .ir(&[&["merge", "-o", "run.trec"], shards].concat())
    }
}

#[test]
fn wrong_sets_of_shards_are_rejected() {
    let shards = Shards::new();
    shards
        .merge(&["1.trec", "3.trec"])
        .fails(1, &["all 3 shards, found 2", "missing 2"]);
    let twice = ["shard 1/3 twice", "1.trec and 1.trec"];
    shards
        .merge(&["1.trec", "1.trec", "2.trec", "3.trec"])
        .fails(1, &twice);
    shards.search("2.trec", "2/4", &[]).ok();
    let all = ["1.trec", "2.trec", "3.trec"];
    shards
        .merge(&all)
        .fails(1, &["2.trec", "3 shards, found 4"]);
    shards.search("2.trec", "2/3", &["-k", "7"]).ok();
    shards
        .merge(&all)
        .fails(1, &["2.trec", "no --hits, found --hits 7"]);
    shards.search("2.trec", "2/3", &["--tag", "other"]).ok();
    shards.merge(&all).fails(1, &["2.trec", "other"]);
    assert!(!shards.here.at("run.trec").exists());
    // The failed shard is repeated alone.
    shards.search("2.trec", "2/3", &["--threads", "1"]).ok();
    shards.merge(&all).ok();
}

#[test]
fn changed_outputs_and_inputs_are_rejected() {
    let shards = Shards::new();
    let all = ["1.trec", "2.trec", "3.trec"];
    let run = shards.here.read("2.trec");
    shards.here.write("2.trec", &run[..run.len() - 1]);
    shards
        .merge(&all)
        .fails(1, &["2.trec", "bytes", "repeat shard 2/3"]);
    shards
        .here
        .write("2.trec", run.replace("ir-bm25", "ir-bm26"));
    shards
        .merge(&all)
        .fails(1, &["2.trec", "checksum", "repeat shard 2/3"]);
    fs::remove_file(shards.here.at("2.trec.shard")).unwrap();
    shards.merge(&all).fails(1, &["2.trec.shard", "no record"]);
    shards.here.write("2.trec.shard", "{}");
    shards
        .merge(&all)
        .fails(1, &["2.trec.shard", "record of a shard"]);
    fs::remove_file(shards.here.at("2.trec")).unwrap();
    let queries = shards.here.read("c/queries.jsonl");
    shards.here.write(
        "c/queries.jsonl",
        queries.replace("\"text\": \"", "\"text\": \"more "),
    );
    shards.search("2.trec", "2/3", &[]).ok();
    shards.merge(&all).fails(1, &["2.trec", "hash"]);
    shards.here.write("other.jsonl", "{}");
    shards
        .merge(&["1.trec", "other.jsonl", "3.trec"])
        .fails(1, &["other.jsonl.shard"]);
}

/// An index of the same name, with the same ids and other texts.
#[test]
fn files_of_the_same_name_with_other_content_are_rejected() {
    let here = Folder::new();
    let index = |text: &str| {
        let line = |id: &str| format!("{{\"id\": \"{id}\", \"text\": \"{text}\"}}\n");
        here.write("docs.jsonl", line("a") + &line("b"));
        here.ir(&["index", "docs.jsonl", "-o", "i.ir"]).ok();
    };
    here.write("q.tsv", "1\tblack tea\n2\tgreen tea\n");
    let search = |output: &str, shard: &str| {
        let search = [
            "search",
            "i.ir",
            "--queries",
            "q.tsv",
            "-o",
            output,
            "--shard",
            shard,
        ];
        here.ir(&search)
    };
    index("black tea");
    search("1.trec", "1/2").ok();
    index("green tea");
    search("2.trec", "2/2").ok();
    let merge = ["merge", "1.trec", "2.trec", "-o", "run.trec"];
    here.ir(&merge)
        .fails(1, &["2.trec", "COLLECTION i.ir (", "checksum"]);
    index("black tea");
    search("2.trec", "2/2").ok();
    here.ir(&merge).ok();
    // The record would replace the queries.
    here.write("run.shard", "1\tblack tea\n");
    let search = [
        "search",
        "i.ir",
        "--queries",
        "run.shard",
        "-o",
        "run",
        "--shard",
        "1/2",
    ];
    here.ir(&search).fails(2, &["--shard", "run.shard"]);
    assert_eq!(here.read("run.shard"), "1\tblack tea\n");
    // Billions of shards are missing.
    search_many(&here);
}

fn search_many(here: &Folder) {
    let search = [
        "search",
        "i.ir",
        "--queries",
        "q.tsv",
        "-o",
        "many.trec",
        "--shard",
        "7/4000000000",
    ];
    here.ir(&search).ok();
    let missing = [
        "all 4000000000 shards, found 1",
        "missing 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, ...",
    ];
    here.ir(&["merge", "many.trec", "-o", "m.trec"])
        .fails(1, &missing);
}

#[test]
fn outputs_that_cannot_be_merged_are_rejected() {
    let here = Folder::new();
    random_collection(&here, 400);
    let search = ["search", "c", "--split", "train"];
    let options = |more: &[&'static str]| here.ir(&[&search[..], more].concat());
    options(&["--shard", "1/2"]).fails(2, &["--output"]);
    options(&["--shard", "1/2", "-o", "-"]).fails(2, &["--output FILE", "standard output"]);
    options(&["--shard", "3/2", "-o", "x"]).fails(2, &["1 <= i <= n", "3/2"]);
    let words = ["search", "c", "tea", "--shard", "1/2", "-o", "x"];
    here.ir(&words).fails(2, &["--shard 1/2", "query words"]);
    let folder = ["index", "c", "-o", "x", "--add", "--shard", "1/2"];
    here.ir(&folder).fails(2, &["--shard 1/2", "one file"]);
}
