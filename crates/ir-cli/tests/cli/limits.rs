//! Options and inputs that would need too much memory or time.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Folder, QRELS, RUN, tiny};

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
    here.ir(&["agree", "--table", "blank.jsonl.gz"])
        .fails(1, &["blank.jsonl.gz", long]);
    let accuracy = ["knn-accuracy", "--texts", "blank.jsonl.gz"];
    here.ir(&accuracy).fails(1, &["blank.jsonl.gz:1:", long]);
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
    let common = [
        "knn-accuracy",
        "--texts",
        "texts",
        "--labels",
        "labels",
        "--folds",
        "2",
        "--k",
        "1",
        "--components",
    ];
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
    for test in ["randomization", "bootstrap", "datafinder"] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_ir"))
            .args([
                "compare",
                "-m",
                "P@1",
                "--samples",
                "4000000000",
                "--test",
                test,
            ])
            .args(["qrels", "a", "b"])
            .current_dir(here.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(500));
        assert!(
            child.try_wait().unwrap().is_none(),
            "{test} runs for minutes"
        );
        let kill = Command::new("kill")
            .args(["-INT", &child.id().to_string()])
            .status();
        assert!(kill.unwrap().success());
        let start = Instant::now();
        let output = child.wait_with_output().unwrap();
        assert!(start.elapsed() < Duration::from_secs(5), "{test}");
        assert_eq!(output.status.code(), Some(130), "{test}");
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(error, "error: interrupted; nothing was written\n", "{test}");
        assert_eq!(output.stdout, b"");
    }
    let interval = [
        "compare",
        "--interval",
        "bootstrap",
        "--samples",
        "4000000000",
        "qrels",
        "a",
        "b",
    ];
    here.ir(&interval)
        .fails(2, &["--samples: expected at most 100000000"]);
}

/// With billions of random negatives, all eligible documents are drawn.
#[test]
fn random_negatives_of_the_whole_collection() {
    let here = Folder::new();
    tiny(&here);
    let args = [
        "mine",
        "tiny",
        "--split",
        "test",
        "--negatives",
        "0",
        "--random",
    ];
    let mined = |n: &str| here.ir(&[&args[..], &[n]].concat()).ok().out;
    assert_eq!(mined("4000000000"), mined("2"));
}
