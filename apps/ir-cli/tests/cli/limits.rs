//! Options and inputs that would need too much memory or time.

use std::io::{BufRead, BufReader, Read, Write};
#[cfg(target_os = "linux")]
use std::process::Output;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Folder, QRELS, RUN, tiny, words};

#[test]
fn threads_are_limited() {
    let here = Folder::new();
    tiny(&here);
    here.write("qrels", QRELS);
    here.write("run", RUN);
    let start = Instant::now();
    for args in [
        &["search", "tiny", "tea"][..],
        &["index", "tiny", "-o", "x.ir"],
        &["mine", "tiny", "--split", "test"],
        &["eval", "qrels", "run"],
    ] {
        let args = [args, &["--threads", "30000"]].concat();
        here.ir(&args)
            .fails(2, &["--threads: expected at most 1024, found 30000"]);
    }
    assert!(start.elapsed() < Duration::from_secs(10));
}

/// A file of white space, as large when decompressed as `megabytes`.
fn blanks(here: &Folder, name: &str, megabytes: usize, blank: u8) {
    let mut file = ir_data::create(here.at(name)).unwrap();
    let block = vec![blank; 1 << 20];
    for _ in 0..megabytes {
        file.write_all(&block).unwrap();
    }
    file.commit().unwrap();
}

#[test]
fn white_space_before_the_first_text_is_limited() {
    let here = Folder::new();
    tiny(&here);
    blanks(&here, "blank.jsonl.gz", 80, b' ');
    for args in [
        &["search", "blank.jsonl.gz", "tea"][..],
        &["search", "tiny", "--queries", "blank.jsonl.gz"],
        &["index", "blank.jsonl.gz", "-o", "x.ir"],
    ] {
        let expected =
            "blank.jsonl.gz: expected text in the first 67108864 bytes, found white space";
        here.ir(args).fails(1, &[expected]);
    }
    let long = "expected at most 67108864 bytes in a line";
    let mine = ["mine", "tiny", "--examples", "blank.jsonl.gz"];
    here.ir(&mine).fails(1, &["blank.jsonl.gz:1:", long]);
    here.ir("agree --table blank.jsonl.gz")
        .fails(1, &["blank.jsonl.gz", long]);
    let accuracy = ["knn-accuracy", "--texts", "blank.jsonl.gz"];
    here.ir(&accuracy).fails(1, &["blank.jsonl.gz:1:", long]);
}

#[cfg(feature = "dense")]
#[test]
fn white_space_before_texts_to_encode_is_limited() {
    let here = Folder::new();
    blanks(&here, "blank.jsonl.gz", 80, b' ');
    let model = crate::common::BERT;
    here.ir(&["encode", model, "blank.jsonl.gz", "-o", "x.npy"])
        .fails(
            1,
            &["blank.jsonl.gz: expected text in the first 67108864 bytes"],
        );
    here.ir(&["train", model, "blank.jsonl.gz", "-o", "trained"])
        .fails(1, &["blank.jsonl.gz:1: expected at most 67108864 bytes"]);
}

/// Runs a command with at most `megabytes` of address space.
#[cfg(target_os = "linux")]
fn limited(here: &Folder, megabytes: u64, args: &[&str]) -> Output {
    Command::new("sh")
        .args(["-c", &format!("ulimit -v {}; exec \"$@\"", megabytes << 10)])
        .args(["sh", env!("CARGO_BIN_EXE_ir")])
        .args(args)
        .current_dir(here.path())
        // By default, the allocator reserves address space for each thread.
        .env("MALLOC_ARENA_MAX", "1")
        .env("RAYON_NUM_THREADS", "1")
        .env("TMPDIR", here.path())
        .output()
        .unwrap()
}

#[cfg(target_os = "linux")]
#[track_caller]
fn fails(output: Output, expected: &str) {
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{error}");
    let last = error.lines().last().unwrap_or_default();
    assert!(last.starts_with("error: "), "{error}");
    assert!(last.contains(expected), "{error}");
}

/// A gzip file of 256 MiB: `line`, extended to 1 MiB, 256 times, then `last`.
#[cfg(target_os = "linux")]
fn long_lines(here: &Folder, name: &str, (start, end): (&str, &str), last: &str) {
    let member = |text: &[u8]| {
        let mut file = ir_data::create(here.at("member.gz")).unwrap();
        file.write_all(text).unwrap();
        file.commit().unwrap();
        std::fs::read(here.at("member.gz")).unwrap()
    };
    let line = format!("{start}{}{end}\n", "a".repeat(1 << 20));
    let lines = member(line.as_bytes()).repeat(256);
    here.write(name, [lines, member(last.as_bytes())].concat());
    std::fs::remove_file(here.at("member.gz")).unwrap();
}

/// The examples of a compressed file are not kept in memory.
#[cfg(target_os = "linux")]
#[test]
fn compressed_examples_need_little_memory() {
    let here = Folder::new();
    tiny(&here);
    let example = ("{\"query\": \"", "\", \"positives\": [\"d1\"]}");
    long_lines(&here, "examples.gz", example, "{}\n");
    let before = here.files();
    let args = ["mine", "tiny", "--examples", "examples.gz", "-n", "1"];
    fails(limited(&here, 256, &args), "examples.gz:257: expected");
    assert_eq!(here.files(), before, "temporary files");
}

/// Steps of the SVD are reported while it runs.
#[test]
fn fitting_reports_progress() {
    let here = Folder::new();
    let text = |n: usize| {
        let words = (0..40).map(|at| format!("w{}", (n * 7919 + at * at * 31 + n * at) % 20_000));
        format!("{}\n", words.collect::<Vec<_>>().join(" "))
    };
    here.write("texts", (0..60_000).map(text).collect::<String>());
    here.write("labels", "a\nb\n".repeat(30_000));
    let args = ["knn-accuracy", "--texts", "texts", "--labels", "labels"];
    let lsi = ["--model", "lsi", "--components", "1000"];
    let mut child = start(&here, &[&args[..], &lsi].concat());
    let line = first_message(&mut child);
    child.kill().unwrap();
    child.wait().unwrap();
    let steps = line.strip_prefix("decomposing: ").unwrap_or_default();
    assert!(
        steps.trim_end().parse::<u64>().is_ok_and(|steps| steps > 0),
        "{line}"
    );
}

/// The total of `ir encode` is the number of texts.
#[cfg(feature = "dense")]
#[test]
fn encoding_reports_its_total() {
    let here = Folder::new();
    here.write("many.tsv", crate::many_texts::many_texts(400_000));
    let model = crate::common::BERT;
    let args = ["encode", model, "many.tsv", "-o", "v.ir", "--threads", "1"];
    let mut child = start(&here, &args);
    let line = first_message(&mut child);
    child.kill().unwrap();
    child.wait().unwrap();
    let rest = line.strip_prefix("encoding: ").unwrap_or_default();
    let (done, rest) = rest.split_once(" of ").unwrap_or_default();
    assert!(done.parse::<u64>().is_ok(), "{line}");
    let total = rest.trim_end().split(',').next();
    assert_eq!(total, Some("400000"), "{line}");
}

#[cfg(target_os = "linux")]
#[test]
fn long_ids_and_queries_need_little_memory() {
    let here = Folder::new();
    tiny(&here);
    let document = ("{\"_id\": \"", "\", \"text\": \"tea\"}");
    long_lines(&here, "ids.jsonl.gz", document, "{}\n");
    let expected = "expected ids of at most 65536 bytes, found";
    fails(
        limited(&here, 256, &["index", "ids.jsonl.gz", "-o", "x.ir"]),
        expected,
    );
    let query = ("{\"query\": \"", "\", \"documents\": [\"d1\"]}");
    long_lines(&here, "queries.jsonl.gz", query, "");
    let half = std::fs::read(here.at("queries.jsonl.gz")).unwrap();
    here.write("queries.jsonl.gz", half.repeat(2));
    let args = ["search", "tiny", "--queries", "queries.jsonl.gz"];
    let expected = "expected at most 500000000 bytes of queries, found more";
    fails(limited(&here, 1536, &args), expected);
}

#[test]
fn the_maximum_length_of_ids() {
    let here = Folder::new();
    for (name, length) in [("most", 65_536), ("more", 65_537)] {
        let id = "x".repeat(length);
        let row = format!("{{\"_id\": \"{id}\", \"text\": \"tea\"}}\n");
        here.write(&format!("{name}.jsonl"), row);
    }
    for update in [&[][..], &["--add"]] {
        let index = |documents, path| {
            let args = ["index", documents, "-o", path];
            here.ir(&[&args, update].concat())
        };
        let expected = "expected ids of at most 65536 bytes, found 65537 bytes";
        index("more.jsonl", "x.ir").fails(1, &[expected]);
        assert!(!here.at("x.ir").exists());
        index("most.jsonl", "x.ir").ok();
        let found = here.ir("search x.ir tea").ok().out;
        assert!(found.contains(&"x".repeat(65_536)));
        match update {
            [] => std::fs::remove_file(here.at("x.ir")).unwrap(),
            _ => {
                let before = here.files();
                index("more.jsonl", "x.ir").fails(1, &[expected]);
                assert_eq!(here.files(), before);
            }
        }
    }
}

/// More texts than labels are counted, not kept.
#[cfg(target_os = "linux")]
#[test]
fn texts_without_labels_need_little_memory() {
    let here = Folder::new();
    long_lines(&here, "texts.gz", ("", ""), "tea\n");
    here.write("labels", "a\nb\n");
    let args = ["knn-accuracy", "--texts", "texts.gz", "--labels", "labels"];
    let expected = "labels: expected 257 labels as texts.gz has, found 2";
    fails(limited(&here, 256, &args), expected);
}

#[cfg(target_os = "linux")]
#[test]
fn agreement_of_large_tables_needs_little_memory() {
    let here = Folder::new();
    let mut table = "item,Ann,Ben\n".to_owned();
    for item in 0..1_000_000 {
        table += &format!("{item},{},{}\n", item % 2, item % 3);
    }
    here.write("table.csv", table);
    let args = ["agree", "--table", "table.csv"];
    let output = limited(&here, 192, &args);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("1000000"), "{text}");
    let expected = "expected a table that fits into memory, found a larger one";
    fails(limited(&here, 130, &args), expected);
}

#[test]
fn labels_of_a_table_are_limited() {
    let here = Folder::new();
    let table = |labels: usize| {
        let rows = (0..labels).map(|label| format!("i{label}\t{label}\t0\n"));
        let rows: String = rows.collect();
        here.write("table", format!("item\ta\tb\n{rows}"));
    };
    table(1000);
    here.ir("agree --table table --json").ok();
    table(1001);
    let expected = "table:1002: expected at most 1000 different labels, found more";
    here.ir("agree --table table").fails(1, &[expected]);
}

/// First line of standard error of a command that runs longer than 5 s.
fn first_message(child: &mut Child) -> String {
    let mut line = String::new();
    let mut messages = BufReader::new(child.stderr.take().unwrap());
    messages.read_line(&mut line).unwrap();
    // The rest of the messages must not block the command.
    std::thread::spawn(move || std::io::copy(&mut messages, &mut std::io::sink()));
    line
}

/// Starts a command whose standard error is not a terminal.
fn start(here: &Folder, args: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_ir"))
        .args(args)
        .current_dir(here.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn reading_reports_progress() {
    let here = Folder::new();
    here.write("qrels", QRELS);
    let commands = [
        (&["eval", "qrels", "-"][..], ""),
        (&["agree", "--table", "-"], "item\ta\tb\n"),
    ];
    let children = commands.map(|(args, head)| {
        let mut child = start(&here, args);
        let mut input = child.stdin.take().unwrap();
        let writer = std::thread::spawn(move || {
            let _ = input.write_all(head.as_bytes());
            let blank = vec![b'\n'; 1 << 20];
            while input.write_all(&blank).is_ok() {
                std::thread::sleep(Duration::from_millis(200));
            }
        });
        (child, writer)
    });
    for (mut child, writer) in children {
        let line = first_message(&mut child);
        child.kill().unwrap();
        child.wait().unwrap();
        writer.join().unwrap();
        let bytes = line.strip_prefix("reading standard input (bytes): ");
        let bytes = bytes.and_then(|bytes| bytes.trim_end().parse::<u64>().ok());
        assert!(bytes.is_some_and(|bytes| bytes > 1 << 20), "{line}");
    }
}

#[test]
fn classification_reports_progress() {
    let here = Folder::new();
    let rows = ndarray::Array2::from_shape_fn((60_000, 64), |(row, column)| {
        ((row * 31 + column * 17) % 101) as f64
    });
    let mut vectors = Vec::new();
    ir_knn::npy::write(rows.view(), &mut vectors).unwrap();
    here.write("x.npy", vectors);
    here.write("labels", "a\nb\n".repeat(30_000));
    let args = ["knn-accuracy", "--vectors", "x.npy", "--labels", "labels"];
    let mut child = start(&here, &args);
    let line = first_message(&mut child);
    child.kill().unwrap();
    child.wait().unwrap();
    let rest = line.strip_prefix("comparing: ").unwrap_or_default();
    assert!(rest.contains(" of 60000, "), "{line}");
}

/// More texts than labels are counted, not kept.
#[test]
fn texts_without_labels() {
    let here = Folder::new();
    here.write("two", "a\nb\n");
    here.write("texts", "\n\ntea\nmilk\nship\n");
    let args = ["knn-accuracy", "--texts", "texts", "--labels", "two"];
    here.ir(&args)
        .fails(1, &["two: expected 5 labels as texts has, found 2"]);
    here.write("first", format!("tea\n{}", "\u{fffd}".repeat(10)));
    let unlabeled = ["knn-accuracy", "--texts", "first"];
    here.ir(&unlabeled).fails(1, &["first: expected --labels"]);
}

#[test]
fn components_are_limited_by_the_matrix() {
    let here = Folder::new();
    here.write("texts", "green tea\nblack tea\na ship\na boat\n");
    here.write("labels", "a\na\nb\nb\n");
    let common = words("knn-accuracy --texts texts --labels labels --folds 2 --k 1 --components");
    let run = |more: &[&str]| here.ir(&[&common[..], more].concat());
    run(&["4000000000", "--model", "random-indexing"]).fails(
        2,
        &[
            "--components: expected at most 1000 for 4 texts with",
            "found 4000000000",
        ],
    );
    run(&["4000000000", "--model", "lsi"]).fails(1, &["components"]);
    run(&["1000", "--model", "random-indexing"]).ok();
}

/// Billions of random samples: the process reports progress, and stops when it is interrupted.
#[cfg(unix)]
#[test]
fn resampling_can_be_interrupted() {
    let here = Folder::new();
    let (mut qrels, mut a, mut b) = (String::new(), String::new(), String::new());
    for query in 0..60 {
        qrels += &format!("q{query} 0 d1 1\n");
        a += &format!("q{query} Q0 d{} 1 1.0 a\n", query % 3);
        b += &format!("q{query} Q0 d{} 1 1.0 b\n", query % 2);
    }
    here.write("qrels", qrels);
    here.write("a", a);
    here.write("b", b);
    let tests = ["randomization", "bootstrap", "datafinder"];
    let children = tests.map(|test| {
        let args = format!("compare -m P@1 --samples 4000000000 --test {test} qrels a b");
        let mut command = here.command(&args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    });
    for (test, mut child) in tests.into_iter().zip(children) {
        // The first progress line comes after 5 s.
        let mut messages = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        messages.read_line(&mut line).unwrap();
        assert!(line.starts_with("resampling: "), "{test}: {line}");
        crate::signals::send(&child, "-INT");
        let start = Instant::now();
        let output = child.wait_with_output().unwrap();
        assert!(start.elapsed() < Duration::from_secs(5), "{test}");
        assert_eq!(output.status.code(), Some(130), "{test}");
        let mut error = String::new();
        messages.read_to_string(&mut error).unwrap();
        assert_eq!(error, "error: interrupted; nothing was written\n", "{test}");
        assert_eq!(output.stdout, b"");
    }
    let few = "compare --test t --interval bootstrap --samples 19 qrels a b";
    let expected = "--samples, --alpha: expected at least 20 bootstrap samples for an interval";
    here.ir(few).fails(2, &[expected, "level 0.05, found 19"]);
    here.ir(&few.replace("19", "4 --alpha 0.25")).ok();
    // The number of differing queries is not known yet.
    here.ir("compare --test randomization --samples 5 qrels a b")
        .fails(
            2,
            &[
                "expected at least 20 random samples to reach significance at level 0.05, found 5",
                "the test draws samples for more than 20 differing ones",
            ],
        );
    let interval = "compare --interval bootstrap --samples 4000000000 qrels a b";
    here.ir(interval)
        .fails(2, &["--samples: expected at most 100000000"]);
}

/// With billions of random negatives, all eligible documents are drawn.
#[test]
fn random_negatives_of_the_whole_collection() {
    let here = Folder::new();
    tiny(&here);
    let args = words("mine tiny --split test --negatives 0 --random");
    let mined = |n: &str| here.ir(&[&args[..], &[n]].concat()).ok().out;
    assert_eq!(mined("4000000000"), mined("2"));
}
