//! `--shard` and `ir merge`: shards merge to the bytes of the whole.

use std::fs;
use std::hash::{BuildHasher, RandomState};

#[cfg(feature = "dense")]
use crate::common::BERT_PYTORCH as MODEL;
use crate::common::{Folder, Ran, words};
use ir_core::SplitMix64;
use serde_json::json;

const WORDS: [&str; 12] = [
    "tea", "leaf", "river", "winter", "boat", "night", "cell", "gene", "map", "road", "stone",
    "größe",
];

/// Seed of random collections: `PROPTEST_RNG_SEED`, or a random one. Printed if the test fails.
struct Seed(u64);

impl Seed {
    fn new() -> Self {
        let given = std::env::var("PROPTEST_RNG_SEED").ok();
        let given = given.and_then(|seed| seed.parse().ok());
        Self(given.unwrap_or_else(|| RandomState::new().hash_one("shards")))
    }
}

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("random collections of PROPTEST_RNG_SEED={}", self.0);
        }
    }
}

/// Writes a random collection in BEIR's layout: documents in random order, with blank ones, years
/// and repeated texts; queries in random order; judgments of a split `train`.
fn random_collection(here: &Folder, mut random: SplitMix64) {
    let word = |random: &mut SplitMix64| match random.below(8) {
        0 => {
            let letters = (0..=random.below(5)).map(|_| (b'a' + random.below(26) as u8) as char);
            letters.collect()
        }
        _ => WORDS[random.below(WORDS.len())].to_owned(),
    };
    let text = |random: &mut SplitMix64, len: usize| {
        let words: Vec<String> = (0..len).map(|_| word(random)).collect();
        words.join(" ")
    };
    let mut docs: Vec<String> = (0..3 + random.below(60)).map(|n| format!("d{n}")).collect();
    let mut asked: Vec<String> = (0..=random.below(25)).map(|n| format!("q{n}")).collect();
    for ids in [&mut docs, &mut asked] {
        let len = ids.len();
        random.partial_shuffle(ids, len);
    }
    let (mut corpus, mut queries) = (String::new(), String::new());
    let mut qrels = "query-id\tcorpus-id\tscore\n".to_owned();
    for (row, id) in docs.iter().enumerate() {
        // Not all of them are blank.
        let len = if row == 0 { 3 } else { random.below(9) };
        let (title, text) = (text(&mut random, len / 4), text(&mut random, len));
        let year = 1990 + random.below(30);
        let doc = json!({"_id": id, "title": title, "text": text, "metadata": {"year": year}});
        corpus += &format!("{doc}\n");
    }
    for id in &asked {
        let query = json!({"_id": id, "text": text(&mut random, 2)});
        queries += &format!("{query}\n");
        qrels += &format!("{id}\t{}\t1\n", docs[0]);
    }
    here.write("c/corpus.jsonl", corpus);
    here.write("c/queries.jsonl", queries);
    here.write("c/qrels/train.tsv", qrels);
}

/// Folder with a random collection `c`. Streams of one seed have independent collections.
fn folder_of(seed: u64, stream: u64) -> Folder {
    let here = Folder::new();
    random_collection(&here, SplitMix64::new(seed, stream));
    here
}

/// Runs a command once and in `n` shards, merges in a scrambled order, and compares the bytes.
#[track_caller]
fn check_merge(here: &Folder, command: &[&str], whole: &str, n: u32) {
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
    names.rotate_left(n as usize / 2);
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

/// Checks a command in 1 to 17 shards, each number of shards with another collection, which
/// `prepare` may add files to.
#[track_caller]
fn check_counts(command: &[&str], whole: &str, prepare: impl Fn(&Folder)) {
    let seed = Seed::new();
    for n in 1..=17 {
        let here = folder_of(seed.0, n.into());
        prepare(&here);
        check_merge(&here, command, whole, n);
    }
}

#[test]
fn runs_merge_to_the_bytes_of_the_whole() {
    let search = ["search", "c", "--split", "train", "-k", "5"];
    check_counts(&search, "run.trec", |_| ());
    let seed = Seed::new();
    let here = folder_of(seed.0, 100);
    let search = words("search c --queries c/queries.jsonl --model qld");
    check_merge(&here, &search, "run.trec.gz", 4);
    check_merge(&here, &search, "run.trec.zst", 3);
}

#[test]
fn mined_examples_merge_to_the_bytes_of_the_whole() {
    let mine = words("mine c --negatives 2 --random 2 --seed 7");
    check_counts(&mine, "train.jsonl", |_| ());
}

#[test]
fn indexes_merge_to_the_bytes_of_the_whole() {
    check_counts(&["index", "c"], "c.ir", |_| ());
    let seed = Seed::new();
    let here = folder_of(seed.0, 200);
    let index = words("index c --positions --fields separate --order row-text");
    check_merge(&here, &index, "c.ir", 3);
    here.ir("search merged-c.ir tea").ok();
}

#[cfg(feature = "dense")]
#[test]
fn vectors_merge_to_the_bytes_of_the_whole() {
    check_counts(&["encode", MODEL, "c"], "docs.vectors", |_| ());
    let seed = Seed::new();
    for n in [1, 5, 17] {
        let here = folder_of(seed.0, n);
        let part = |i: u64| format!("{i}.vectors");
        for i in 1..=n {
            let (output, shard) = (part(i), format!("{i}/{n}"));
            here.ir(&["encode", MODEL, "c", "-o", &output, "--shard", &shard])
                .ok();
        }
        let shards: Vec<String> = (1..=n).map(part).collect();
        let shards = shards.iter().map(String::as_str);
        let merge = ["merge", "-o", "merged.npy", "--ids", "merged.ids"];
        here.ir(&merge.into_iter().chain(shards).collect::<Vec<_>>())
            .ok();
        here.ir(&[
            "encode",
            MODEL,
            "c",
            "-o",
            "whole.npy",
            "--ids",
            "whole.ids",
        ])
        .ok();
        for end in ["npy", "ids"] {
            let read = |name: &str| fs::read(here.at(&format!("{name}.{end}"))).unwrap();
            assert!(read("merged") == read("whole"), "{end} {n}");
        }
        assert!(!here.at("merged.npy.vectors").exists());
    }
    let here = folder_of(seed.0, 80);
    let queries = ["encode", MODEL, "c", "--queries", "--split", "train"];
    check_merge(&here, &queries, "queries.vectors", 3);
    let options = [&queries[..], &["-o", "q.npy", "--shard", "1/2"]].concat();
    here.ir(&options).fails(2, &["--shard 1/2", "vector index"]);
}

#[cfg(feature = "dense")]
fn encode_documents(here: &Folder) {
    here.ir(&["encode", MODEL, "c", "-o", "docs.vectors"]).ok();
}

#[cfg(feature = "dense")]
const DENSE_SEARCH: [&str; 10] = [
    "search",
    "c",
    "--split",
    "train",
    "-k",
    "5",
    "--vectors",
    "docs.vectors",
    "--encoder",
    MODEL,
];

#[cfg(feature = "dense")]
#[test]
fn runs_of_vectors_merge_to_the_bytes_of_the_whole() {
    check_counts(&DENSE_SEARCH, "run.trec", encode_documents);
    let seed = Seed::new();
    let here = folder_of(seed.0, 300);
    encode_documents(&here);
    let hybrid = [&DENSE_SEARCH[..], &["--alpha", "0.1"]].concat();
    check_merge(&here, &hybrid, "hybrid.trec", 4);
    // A graph, which is searched approximately.
    let graph = ["encode", MODEL, "c", "-o", "folder", "--add", "--hnsw"];
    here.ir(&graph).ok();
    let mut approximate = DENSE_SEARCH;
    approximate[7] = "folder";
    check_merge(&here, &approximate, "approximate.trec", 3);
}

#[cfg(feature = "dense")]
#[test]
fn runs_of_query_vectors_merge_to_the_bytes_of_the_whole() {
    let encode = ["encode", MODEL, "c", "--queries", "--split", "train"];
    let encode = [&encode[..], &["-o", "queries.vectors"]].concat();
    let mut search = DENSE_SEARCH;
    search[8..].copy_from_slice(&["--query-vectors", "queries.vectors"]);
    check_counts(&search, "run.trec", |here| {
        encode_documents(here);
        here.ir(&encode).ok();
    });
}

/// Three shards of a search, and the command with further options.
struct Shards {
    here: Folder,
    command: &'static [&'static str],
}

const SEARCH: [&str; 4] = ["search", "c", "--split", "train"];

impl Shards {
    fn new(here: Folder, command: &'static [&'static str]) -> Self {
        let shards = Self { here, command };
        for i in 1..=3 {
            shards
                .search(&format!("{i}.trec"), &format!("{i}/3"), &[])
                .ok();
        }
        shards
    }

    fn search(&self, output: &str, shard: &str, more: &[&str]) -> Ran {
        let options = ["--output", output, "--shard", shard];
        self.here.ir(&[self.command, &options, more].concat())
    }

    fn merge(&self, shards: &[&str]) -> Ran {
        self.here
            .ir(&[&["merge", "-o", "run.trec"], shards].concat())
    }

    /// Missing and repeated shards, and shards of other options, are errors; then merges.
    #[track_caller]
    fn check_rejected(&self) {
        self.merge(&["1.trec", "3.trec"])
            .fails(1, &["all 3 shards, found 2", "missing 2"]);
        let twice = ["shard 1/3 twice", "1.trec and 1.trec"];
        self.merge(&["1.trec", "1.trec", "2.trec", "3.trec"])
            .fails(1, &twice);
        self.search("2.trec", "2/4", &[]).ok();
        let all = ["1.trec", "2.trec", "3.trec"];
        self.merge(&all).fails(1, &["2.trec", "3 shards, found 4"]);
        self.search("2.trec", "2/3", &["--filter", "year<=2100"])
            .ok();
        let filter = ["2.trec", "no --filter, found --filter year<=2100"];
        self.merge(&all).fails(1, &filter);
        self.search("2.trec", "2/3", &["--tag", "other"]).ok();
        self.merge(&all).fails(1, &["2.trec", "other"]);
        assert!(!self.here.at("run.trec").exists());
        // The failed shard is repeated alone.
        self.search("2.trec", "2/3", &["--threads", "1"]).ok();
        self.merge(&all).ok();
        fs::remove_file(self.here.at("run.trec")).unwrap();
    }
}

#[test]
fn wrong_sets_of_shards_are_rejected() {
    let shards = Shards::new(folder_of(300, 0), &SEARCH);
    shards.check_rejected();
    shards.search("2.trec", "2/3", &["-k", "7"]).ok();
    let all = ["1.trec", "2.trec", "3.trec"];
    shards
        .merge(&all)
        .fails(1, &["2.trec", "no --hits, found --hits 7"]);
}

#[cfg(feature = "dense")]
#[test]
fn wrong_sets_of_shards_of_vectors_are_rejected() {
    let here = folder_of(300, 1);
    encode_documents(&here);
    let shards = Shards::new(here, &DENSE_SEARCH);
    shards.check_rejected();
    let all = ["1.trec", "2.trec", "3.trec"];
    let repeated = |more: &[&str]| shards.search("2.trec", "2/3", more).ok();
    repeated(&["--alpha", "0.5"]);
    let alpha = ["2.trec", "output ir-vectors, found ir-hybrid"];
    shards.merge(&all).fails(1, &alpha);
    repeated(&["--precision", "int8", "--any-encoder"]);
    shards
        .merge(&all)
        .fails(1, &["2.trec", "no --any-encoder, found --any-encoder"]);
    // Vectors of the same name, of another model.
    let other = crate::common::DISTILBERT;
    let here = &shards.here;
    let vectors = fs::read(here.at("docs.vectors")).unwrap();
    here.ir(&["encode", other, "c", "-o", "docs.vectors"]).ok();
    let mut command = DENSE_SEARCH.to_vec();
    command[9] = other;
    command.extend(["-o", "2.trec", "--shard", "2/3"]);
    here.ir(&command).ok();
    let model = ["2.trec", "--encoder", "bert-pytorch, found", "distilbert"];
    shards.merge(&all).fails(1, &model);
    // The same command with other vectors of the same name.
    here.ir(&[
        "encode",
        MODEL,
        "c",
        "-o",
        "docs.vectors",
        "--template",
        "{text}",
    ])
    .ok();
    repeated(&[]);
    let content = ["2.trec", "--vectors docs.vectors (", "checksum"];
    shards.merge(&all).fails(1, &content);
    here.write("docs.vectors", &vectors);
    repeated(&[]);
    shards.merge(&all).ok();
    // A record of another CPU or model: a warning.
    let record = here.read("2.trec.shard");
    let at = record.find("\"cpu\": \"").unwrap() + 8;
    let changed = format!("{}{}{}", &record[..at], "0".repeat(16), &record[at + 16..]);
    here.write("2.trec.shard", changed);
    let warning = "warning: shards 2/3 were encoded on another CPU or backend, or with another model, than shard 1/3";
    let ran = shards.merge(&all).ok();
    assert!(ran.err.contains(warning), "{}", ran.err);
}

#[test]
fn changed_outputs_and_inputs_are_rejected() {
    let shards = Shards::new(folder_of(300, 2), &SEARCH);
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
        queries.replace("\"text\":\"", "\"text\":\"more "),
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
        here.ir("index docs.jsonl -o i.ir").ok();
    };
    here.write("q.tsv", "1\tblack tea\n2\tgreen tea\n");
    let search = |output: &str, shard: &str| {
        let search = format!("search i.ir --queries q.tsv -o {output} --shard {shard}");
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
    let search = "search i.ir --queries run.shard -o run --shard 1/2";
    here.ir(search).fails(2, &["--shard", "run.shard"]);
    assert_eq!(here.read("run.shard"), "1\tblack tea\n");
    // Billions of shards are missing.
    search_many(&here);
}

fn search_many(here: &Folder) {
    let search = "search i.ir --queries q.tsv -o many.trec --shard 7/4000000000";
    here.ir(search).ok();
    here.errors(
        "
        merge many.trec -o m.trec
          1: all 4000000000 shards, found 1 | missing 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, ...
    ",
    );
}

/// Folders whose arguments have no checksum: documents with the same ids and other texts, and
/// segmented indexes.
#[test]
fn folders_with_other_content_are_rejected() {
    let here = folder_of(500, 0);
    let corpus = here.read("c/corpus.jsonl");
    let changed = corpus.replacen("\"year\":", "\"month\":", 1);
    let add = |corpus: &str| {
        here.write("c/corpus.jsonl", corpus);
        here.ir("index c -o folder --add").ok();
    };
    add(&corpus);
    let queries = ["--queries", "c/queries.jsonl"];
    let commands: [Vec<&str>; 3] = [
        SEARCH.to_vec(),
        vec!["mine", "c", "--negatives", "2", "--random", "2"],
        [&["search", "folder"], &queries[..]].concat(),
    ];
    for command in commands {
        let shard = |output: &str, shard: &str| {
            let options = ["--output", output, "--shard", shard];
            here.ir(&[&command[..], &options].concat()).ok();
        };
        shard("1.part", "1/2");
        add(&changed);
        shard("2.part", "2/2");
        let merge = ["merge", "1.part", "2.part", "-o", "merged"];
        let different = match command[1] {
            "c" => "hash",
            _ => "COLLECTION folder (",
        };
        here.ir(&merge).fails(1, &["2.part", different]);
        add(&corpus);
        shard("1.part", "1/2");
        shard("2.part", "2/2");
        here.ir(&merge).ok();
    }
}

#[test]
fn outputs_that_cannot_be_merged_are_rejected() {
    let here = folder_of(400, 0);
    let options = |more: &[&'static str]| here.ir(&[&SEARCH[..], more].concat());
    options(&["--shard", "1/2"]).fails(2, &["--output"]);
    options(&["--shard", "1/2", "-o", "-"]).fails(2, &["--output FILE", "standard output"]);
    options(&["--shard", "3/2", "-o", "x"]).fails(2, &["1 <= i <= n", "3/2"]);
    let words = ["search", "c", "tea", "--shard", "1/2", "-o", "x"];
    here.ir(&words).fails(2, &["--shard 1/2", "query words"]);
    // Records in place of outputs, no file, unfinished work, and outputs in place of records.
    for shard in ["1/2", "2/2"] {
        let output = format!("{}.trec", &shard[..1]);
        here.ir(&[&SEARCH[..], &["--shard", shard, "-o", &output]].concat())
            .ok();
    }
    let merge = |more: &[&str]| here.ir(&[&["merge"], more].concat());
    let all = ["1.trec", "1.trec.shard", "2.trec", "2.trec.shard"];
    let records = ["1.trec.shard: ", "the record of one: pass outputs only"];
    merge(&all).fails(1, &records);
    merge(&["1.trec", "3.trec"]).fails(1, &["3.trec: no such file"]);
    here.write("3.trec", "");
    merge(&["1.trec", "3.trec"]).fails(1, &["3.trec.shard, found no record"]);
    here.write("4.ir.partial", "");
    let unfinished = ["4.ir: ", "unfinished work, 4.ir.partial: run the command"];
    merge(&["1.trec", "4.ir"]).fails(1, &unfinished);
    for output in ["1.trec.shard", "./2.trec.shard"] {
        let before = here.read(output);
        let taken = ["--output: ", "not an input", "(the record of "];
        merge(&["1.trec", "2.trec", "-o", output]).fails(2, &taken);
        assert_eq!(here.read(output), before);
    }
    merge(&["1.trec", "2.trec", "-o", "all.trec"]).ok();
    let folder = ["index", "c", "-o", "x", "--add", "--shard", "1/2"];
    here.ir(&folder).fails(2, &["--shard 1/2", "one file"]);
}
