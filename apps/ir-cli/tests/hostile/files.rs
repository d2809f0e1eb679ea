//! Valid input files, and damage to them.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use ir_core::SplitMix64;

use crate::ir;

/// Folder of valid inputs. The name of each starts with the name of the option or argument that
/// reads it.
pub(crate) struct Fixtures {
    folder: tempfile::TempDir,
    pub(crate) names: Vec<String>,
}

const TEXTS: [(&str, &str); 34] = [
    (
        "collection.tsv",
        "d1\tgreen tea leaves\tTea\nd2\tblack coffee and tea\td3\nd3\ta river in winter\n",
    ),
    (
        "collection.csv",
        "docid,title,contents,year\nd1,Tea,\"green tea, \"\"leaves\"\"\",2012\nd2,Coffee,\"black coffee\nand tea\",2019.0\nd3,,a river in winter,\n",
    ),
    (
        "collection-header.tsv",
        "pid\tpassage\ttitle\nd1\tgreen tea leaves\tTea\nd2\t\"black\tcoffee\"\tCoffee\n",
    ),
    (
        "collection.json",
        "[{\"id\": \"d1\", \"text\": \"Green tea leaves\"}, {\"id\": 2, \"text\": \"black coffee\", \"year\": 2019}]\n",
    ),
    (
        "collection-cjk.jsonl",
        "{\"id\": \"d1\", \"text\": \"\u{7da0}\u{8336}\u{306e}\u{8449} \u{fb01}ne \u{ff34}ea Stra\u{df}e\", \"date\": \"2012-02-29\"}\n{\"id\": \"d2\", \"text\": \"\u{5496}\u{5561} e\u{301}\", \"date\": \"2019-01-01T00:00:00+09:00\"}\n",
    ),
    (
        "collection.trec",
        "<DOC>\n<DOCNO> d1 </DOCNO>\n<TITLE>Tea</TITLE>\n<TEXT>\nGreen tea leaves\n</TEXT>\n</DOC>\n<DOC>\n<DOCNO>d2</DOCNO>\n<TEXT>black coffee</TEXT>\n</DOC>\n",
    ),
    (
        "collection.smart",
        ".I 1\n.T\nTea\n.W\ngreen tea leaves\n.I 2\n.T\nRivers\n.W\na river in winter\n",
    ),
    ("collection-notes/a.md", "# Tea\n\nGreen tea leaves\n"),
    ("collection-notes/b.txt", "Black coffee and tea\n"),
    ("queries.tsv", "q1\ttea leaves\nq2\trivers\n"),
    (
        "queries.trec",
        "<top>\n<num> Number: 1\n<title> tea leaves\n<desc> Description:\nGreen tea\n</top>\n",
    ),
    ("queries.csv", "qid,query\nq1,\"tea, leaves\"\nq2,rivers\n"),
    (
        "queries.xml",
        "<?xml version=\"1.0\"?>\n<topics>\n<topic number=\"q1\"><title>tea &amp; leaves</title><!-- a > b --></topic>\n<topic><id>q2</id><query>rivers</query></topic>\n</topics>\n",
    ),
    (
        "queries.json",
        "[{\"query_id\": \"q1\", \"query\": \"tea leaves\", \"year\": \"2015-01-01\"},\n{\"query_id\": \"q2\", \"query\": \"rivers\"}]\n",
    ),
    ("qrels-pairs.txt", "q1 d1\nq2 d3\n"),
    (
        "qrels.json",
        "{\"q1\": {\"d1\": 1, \"d2\": 0}, \"q2\": {\"d3\": 2}}\n",
    ),
    (
        "qrels.jsonl",
        "{\"query-id\": \"q1\", \"corpus-id\": \"d1\", \"score\": 1}\n{\"query-id\": \"q2\", \"corpus-id\": \"d3\", \"score\": 1}\n",
    ),
    (
        "run.json",
        "{\"q1\": {\"d1\": 2.5, \"d2\": 1}, \"q2\": {\"d3\": 1e-3}}\n",
    ),
    ("run-msmarco.tsv", "q1\td1\t1\nq1\td2\t2\nq2\td3\t1\n"),
    ("qrels-subtopics.txt", "q1 1 d1 1\nq1 2 d2 1\nq2 1 d3 1\n"),
    (
        "qrels-strata.txt",
        "q1 0 d1 1 1\nq1 0 d2 1 -1\nq2 0 d3 2 1\n",
    ),
    ("zscores.txt", "q1 map 0.5 0.1\nq2 map 0.4 0.2\n"),
    ("counts.tsv", "d1\t3\nd2\t17\nd3\t120\n"),
    ("clicks.txt", "q1 d1\nq2 d3\n"),
    ("results.tsv", "q1\tTea\nq1\td2\nrivers\td3\n"),
    (
        "results.json",
        "{\"query\": \"q1\", \"search\": \"s\", \"results\": [\"Tea\", {\"url\": \"http://d2\", \"name\": \"d2\"}]}\n",
    ),
    ("map.tsv", "leaves\td1\nhttp://d2\td2\n"),
    ("table.csv", "item,first,second\n1,a,a\n2,a,b\n3,b,b\n"),
    ("labels.txt", "a\na\nb\nb\n"),
    (
        "texts.jsonl",
        "{\"_id\": \"green tea\", \"text\": \"green tea\", \"label\": \"a\"}\n{\"_id\": \"black tea\", \"text\": \"black tea\", \"label\": \"a\"}\n{\"_id\": \"a ship\", \"text\": \"a ship\", \"label\": \"b\"}\n{\"_id\": \"a boat\", \"text\": \"a boat\", \"label\": \"b\"}\n",
    ),
    (
        "examples.jsonl",
        "{\"query\": \"tea\", \"positives\": [\"green tea\"], \"negatives\": [\"a ship\"]}\n{\"query\": \"ship\", \"positives\": [\"a ship at sea\"], \"negatives\": [\"tea\"]}\n",
    ),
    (
        "config.json",
        "{\"epochs\": 1, \"batch_size\": 2, \"loss\": {\"kind\": \"symmetric\", \"temperature\": 0.05}}\n",
    ),
    (
        "analysis.json",
        "{\"tokenizer\":\"whitespace\",\"max_len\":255,\"possessive\":false,\"lower_case\":false,\"stop_words\":{\"custom\":[\"a\",\"b\"]},\"stemmer\":\"porter1980\"}\n",
    ),
    (
        "collection-tiny/queries.jsonl",
        "{\"_id\": \"q1\", \"text\": \"tea leaves\"}\n{\"_id\": \"q2\", \"text\": \"rivers\"}\n",
    ),
];

const CORPUS: &str = "{\"_id\": \"d1\", \"title\": \"Tea\", \"text\": \"Green tea leaves\", \"metadata\": {\"year\": 2012}}\n{\"_id\": \"d2\", \"title\": \"Coffee\", \"text\": \"Black coffee and tea\", \"metadata\": {\"year\": 2019}}\n{\"_id\": \"d3\", \"title\": \"\", \"text\": \"A river in winter\"}\n";
const QRELS: &str = "q1 0 d1 1\nq1 0 d2 0\nq2 0 d3 2\n";
const BEIR_QRELS: &str = "query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td3\t1\n";

impl Fixtures {
    pub(crate) fn create() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path();
        for (name, text) in TEXTS {
            write(here, name, text.as_bytes());
        }
        for name in ["collection.jsonl", "collection-tiny/corpus.jsonl"] {
            write(here, name, CORPUS.as_bytes());
        }
        for split in ["test", "train", "dev"] {
            write(
                here,
                &format!("collection-tiny/qrels/{split}.tsv"),
                BEIR_QRELS.as_bytes(),
            );
        }
        write(here, "qrels.txt", QRELS.as_bytes());
        write(
            here,
            "qrels-2.txt",
            QRELS.replace("d2 0", "d2 1").as_bytes(),
        );
        for (number, order) in [["d2", "d1", "d3"], ["d1", "d3", "d2"], ["d3", "d2", "d1"]]
            .iter()
            .enumerate()
        {
            let mut run = String::new();
            for query in ["q1", "q2"] {
                for (rank, document) in order.iter().enumerate() {
                    run += &format!(
                        "{query} Q0 {document} {} {}.5 run{number}\n",
                        rank + 1,
                        9 - rank
                    );
                }
            }
            write(here, &format!("run-{number}.trec"), run.as_bytes());
        }
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates");
        copy(
            &crates.join("ir-dense/testdata/tiny/bert"),
            &here.join("model"),
        );
        let parquet = crates.join("ir-data/testdata/parquet");
        for codec in ["none", "gzip", "lz4", "brotli"] {
            let name = format!("corpus-{codec}.parquet");
            let to = here.join(format!("collection-{codec}.parquet"));
            copy(&parquet.join(name), &to);
        }
        copy(&parquet.join("hub"), &here.join("collection-hub"));
        #[cfg(feature = "arrow")]
        for (name, to) in [
            ("corpus-lz4.arrow", "collection-file.arrow"),
            ("corpus-stream.arrow", "collection-stream.arrow"),
            ("saved", "collection-saved"),
        ] {
            let arrow = crates.join("ir-data/testdata/arrow");
            copy(&arrow.join(name), &here.join(to));
        }
        let rows = [[1.0_f32, 0.0], [0.6, 0.8], [0.0, 1.0]];
        let row = |row: &[f32; 2]| {
            [
                2_u32.to_le_bytes(),
                row[0].to_le_bytes(),
                row[1].to_le_bytes(),
            ]
            .concat()
        };
        let bytes: Vec<u8> = rows.iter().flat_map(row).collect();
        write(here, "vectors.fvecs", &bytes);
        write(here, "vectors.fvecs.ids", b"d1\nd2\nd3\n");
        let lines = rows.iter().zip(["d1", "d2", "d3"]);
        let lines =
            lines.map(|([x, y], id)| format!("{{\"id\": \"{id}\", \"vector\": [{x}, {y}]}}\n"));
        write(here, "vectors.jsonl", lines.collect::<String>().as_bytes());
        for line in [
            "index collection-tiny -o collection-index.ir",
            "index collection-tiny --fields separate -o collection-separate.ir",
            "pool run-0.trec run-1.trec -o run-judged.txt --pool pool.txt",
            #[cfg(feature = "dense")]
            "encode model collection-tiny -o vectors.ir",
            #[cfg(feature = "dense")]
            "encode model texts.jsonl -o vectors.npy",
        ] {
            let status = ir(here).args(line.split(' ')).status();
            assert!(status.unwrap().success(), "{line}");
        }
        let mut names: Vec<String> = fs::read_dir(here)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        Self { folder, names }
    }

    /// Names of the files that an option or argument reads.
    pub(crate) fn of(&self, argument: &str) -> Vec<&str> {
        let argument = argument.to_lowercase();
        let names = self.names.iter().map(String::as_str);
        // `ir inspect FILE` takes them all.
        if argument == "file" {
            return names.collect();
        }
        names
            .filter(|name| argument.ends_with(name.split(['-', '.']).next().unwrap_or_default()))
            .collect()
    }

    pub(crate) fn copy_to(&self, to: &Path) {
        copy(self.folder.path(), to);
    }
}

fn write(folder: &Path, name: &str, bytes: &[u8]) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

/// Copies a file or folder.
pub(crate) fn copy(from: &Path, to: &Path) {
    if !from.is_dir() {
        fs::copy(from, to).unwrap();
        return;
    }
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        copy(&entry.path(), &to.join(entry.file_name()));
    }
}

/// Copies a file or folder and damages the copy, or one of its files.
pub(crate) fn damaged_copy(from: &Path, to: &Path, random: &mut SplitMix64) {
    copy(from, to);
    let mut files = Vec::new();
    let mut paths: Vec<PathBuf> = vec![to.to_owned()];
    while let Some(path) = paths.pop() {
        if path.is_dir() {
            paths.extend(
                fs::read_dir(path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
        } else {
            files.push(path);
        }
    }
    files.sort();
    let file = &files[random.below(files.len())];
    match random.below(20) {
        0 => replace(file, |file| fs::create_dir(file).unwrap()),
        1 => replace(file, |_| {}),
        2 => replace(file, |file| {
            std::os::unix::fs::symlink("nowhere", file).unwrap()
        }),
        3 => replace(file, |file| std::os::unix::fs::symlink(file, file).unwrap()),
        _ => fs::write(file, damage(fs::read(file).unwrap(), random)).unwrap(),
    }
}

fn replace(file: &Path, with: impl Fn(&Path)) {
    fs::remove_file(file).unwrap();
    with(file);
}

/// Damages content; one call in four damages it twice.
fn damage(bytes: Vec<u8>, random: &mut SplitMix64) -> Vec<u8> {
    let bytes = damage_once(bytes, random);
    match random.below(4) {
        0 => damage_once(bytes, random),
        _ => bytes,
    }
}

fn damage_once(mut bytes: Vec<u8>, random: &mut SplitMix64) -> Vec<u8> {
    let at = random.below(bytes.len());
    let end = bytes.len().min(at + 1 + random.below(40));
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let insert = |part: &[u8]| [&bytes[..at], part, &bytes[at..]].concat();
    match random.below(30) {
        0 => Vec::new(),
        1 => bytes[..at].to_vec(),
        2 => {
            for _ in 0..=random.below(8) {
                let at = random.below(bytes.len());
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << random.below(8);
                }
            }
            bytes
        }
        3 => insert(&[0]),
        4 => insert(b"\xe9t\xe9"),
        5 => insert("\u{1b}[2J\u{202e}\u{7f}\r".as_bytes()),
        6 => [b"\xef\xbb\xbf", &bytes[..]].concat(),
        7 => text.replace('\n', "\r\n").into_bytes(),
        8 => compressed(&bytes),
        9 => {
            let bytes = compressed(&bytes);
            bytes[..bytes.len() - 1 - random.below(bytes.len() - 1)].to_vec()
        }
        10 => {
            let blocks = [
                &b" "[..],
                b"\n",
                b"a",
                b"a b\tc\n",
                b"q1 0 d1 1\n",
                b"{}\n",
                b"[",
            ];
            match random.below(8) {
                7 => long_examples(),
                block => bomb(blocks[block]),
            }
        }
        11 => {
            let open = ["[", "{\"a\":", "<DOC>", "(", "\""][random.below(5)];
            open.repeat(100_000).into_bytes()
        }
        12 => with_number(&text, random).into_bytes(),
        13 => with_number(&text, random).into_bytes(),
        14 => with_number(&text, random).into_bytes(),
        // Repeated, missing and joined lines and columns.
        15 => text
            .lines()
            .flat_map(|line| [line, "\n", line, "\n"])
            .collect::<String>()
            .into_bytes(),
        16 => text.repeat(3).into_bytes(),
        17 => [&bytes[..at], &bytes[end..]].concat(),
        18 => text
            .replacen(['\t', ' ', ','], "", 1 + random.below(3))
            .into_bytes(),
        19 => text.replace(['\t', ' '], "  \t").into_bytes(),
        20 => text.replace('\n', " ").into_bytes(),
        21 => insert(b"\n\n\n"),
        22 => insert("a".repeat(3_000_000).as_bytes()),
        23 => insert("x ".repeat(500_000).as_bytes()),
        24 => (0..random.below(5000))
            .map(|_| random.next_u64() as u8)
            .collect(),
        25 => {
            let magic: [&[u8]; 9] = [
                b"PAR1",
                b"\xfd7zXZ\0",
                b"\x04\x22\x4d\x18",
                b"\x1f\x8b\x08",
                b"\x28\xb5\x2f\xfd",
                b"\x93NUMPY\x01\0",
                b"PK\x03\x04",
                b"\x80\x02",
                b"BZh9",
            ];
            [magic[random.below(9)], &bytes[..]].concat()
        }
        26 => utf16(&text, u16::to_le_bytes),
        27 => {
            let mut bytes = utf16(&text, u16::to_be_bytes);
            bytes.remove(at);
            bytes
        }
        28 => text
            .lines()
            .rev()
            .flat_map(|line| [line, "\n"])
            .collect::<String>()
            .into_bytes(),
        _ => {
            bytes[at.min(end)..end].reverse();
            bytes
        }
    }
}

/// Text in UTF-16 with a byte order mark.
fn utf16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    let units = ["\u{feff}", text].into_iter().flat_map(str::encode_utf16);
    units.flat_map(bytes).collect()
}

/// Numbers at which parsers and arithmetic fail.
pub(crate) const NUMBERS: [&str; 26] = [
    "0",
    "-1",
    "-0",
    "NaN",
    "inf",
    "-inf",
    "1e308",
    "-1e308",
    "1e400",
    "1e-320",
    "4294967295",
    "4294967296",
    "2147483648",
    "18446744073709551615",
    "18446744073709551616",
    "9223372036854775807",
    "-9223372036854775808",
    "0.5",
    "1.5",
    "1e9",
    "1_000",
    "0x10",
    "+1",
    "1e",
    "٣",
    "99999999999999999999999999999999999999999",
];

/// Replaces a number of the text.
fn with_number(text: &str, random: &mut SplitMix64) -> String {
    let starts: Vec<usize> = text
        .match_indices(|c: char| c.is_ascii_digit())
        .map(|found| found.0)
        .collect();
    let Some(&start) = starts.get(random.below(starts.len())) else {
        return text.replacen(' ', " 1e999 ", 1);
    };
    let rest = text[start..].trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    format!(
        "{}{}{rest}",
        &text[..start],
        NUMBERS[random.below(NUMBERS.len())]
    )
}

fn compressed(bytes: &[u8]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.gz");
    let mut file = ir_data::create(&path).unwrap();
    file.write_all(bytes).unwrap();
    file.commit().unwrap();
    fs::read(path).unwrap()
}

/// Valid training examples of 512 MiB in a gzip file of some kB: 512 lines of 1 MiB.
fn long_examples() -> Vec<u8> {
    let text = "tea ".repeat(1 << 18);
    let line = format!("{{\"query\": \"{text}\", \"positives\": [\"d1\"]}}\n");
    compressed(line.as_bytes()).repeat(512)
}

/// A repeated text in a gzip file of some kB: 256 members of 1 MiB, or 8 of lines.
fn bomb(text: &[u8]) -> Vec<u8> {
    let count = if text.contains(&b'\n') { 8 } else { 256 };
    compressed(&text.repeat((1 << 20) / text.len())).repeat(count)
}
