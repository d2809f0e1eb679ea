//! Papers in PDF: text with pages, and files that cannot be read.
#![allow(clippy::unwrap_used, reason = "tests")]

mod builder;
#[cfg(feature = "serve")]
#[allow(dead_code, reason = "the other tests of `ir serve` use the rest")]
#[path = "../serve/server.rs"]
mod server;

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use builder::{PdfBuilder, bold, deflated, line};
use serde_json::Value;
use tempfile::TempDir;

fn ir(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ir"));
    command.args(args).current_dir(folder);
    command.output().unwrap()
}

fn folder(files: &[(&str, Vec<u8>)]) -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::create_dir(folder.path().join("papers")).unwrap();
    for (name, bytes) in files {
        fs::write(folder.path().join("papers").join(name), bytes).unwrap();
    }
    folder
}

/// Frames of the papers, after a run without an error.
fn frames(folder: &Path) -> Vec<Value> {
    let ran = ir(folder, &["frames", "papers"]);
    let message = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{message}");
    let text = String::from_utf8(ran.stdout).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn answers(frames: &[Value]) -> Vec<(&str, u64)> {
    let content = frames.iter().filter(|frame| frame["kind"] == "content");
    content
        .map(|frame| {
            (
                frame["answer"].as_str().unwrap(),
                frame["page"].as_u64().unwrap(),
            )
        })
        .collect()
}

/// A paper of three pages in two columns, with a running head, page numbers, a hyphenated word, and
/// a sentence that continues on the next page.
fn paper() -> Vec<u8> {
    let mut pdf = PdfBuilder::new();
    let head = || line(250, 760, 8, "Journal of Tea 12");
    pdf.page(&[
        head(),
        bold(120, 720, 18, "The Temperature of Green Tea"),
        line(240, 695, 11, "Ada Cup and Ben Pot"),
        bold(60, 660, 12, "1 Introduction"),
        line(60, 640, 10, "Green tea is brewed with water of"),
        line(60, 628, 10, "seventy degrees. Hotter water makes"),
        line(60, 616, 10, "the drink bitter, as every tempera-"),
        line(60, 604, 10, "ture above eighty degrees does."),
        line(72, 592, 10, "Cold water needs six hours."),
        bold(320, 660, 12, "2 Methods"),
        line(320, 640, 10, "We asked forty people to taste the"),
        line(320, 628, 10, "temperature of nine cups each, and"),
        line(300, 30, 8, "1"),
    ]);
    pdf.page(&[
        head(),
        line(60, 640, 10, "wrote down what they preferred."),
        line(60, 628, 10, "No cup was tasted twice."),
        line(300, 30, 8, "2"),
    ]);
    pdf.page(&[
        head(),
        bold(60, 660, 12, "3 Results"),
        line(60, 640, 10, "Most people preferred seventy degrees."),
        line(300, 30, 8, "3"),
    ]);
    let information =
        pdf.object("<< /Title (The Temperature of Green Tea) /Author (Ada Cup and Ben Pot) >>");
    pdf.trailer(&format!("/Info {information} 0 R")).build()
}

#[test]
fn text_has_pages_headings_and_whole_words() {
    let folder = folder(&[("tea.pdf", paper())]);
    let frames = frames(folder.path());
    let headings: Vec<&str> = frames
        .iter()
        .filter(|frame| frame["kind"] != "content")
        .map(|frame| frame["answer"].as_str().unwrap())
        .collect();
    assert_eq!(
        headings,
        [
            "The Temperature of Green Tea",
            "1 Introduction",
            "2 Methods",
            "3 Results"
        ]
    );
    let text = answers(&frames);
    for expected in [
        ("Green tea is brewed with water of seventy degrees.", 1),
        (
            "Hotter water makes the drink bitter, as every temperature above eighty degrees does.",
            1,
        ),
        ("Cold water needs six hours.", 1),
        (
            "We asked forty people to taste the temperature of nine cups each, and wrote down what \
             they preferred.",
            1,
        ),
        ("Most people preferred seventy degrees.", 3),
    ] {
        assert!(text.contains(&expected), "{expected:?}\n{text:#?}");
    }
    assert!(
        text.iter().all(|(answer, _)| !answer.contains("Journal")),
        "{text:#?}"
    );
    assert_eq!(
        frames[0]["metadata"]["authors"],
        serde_json::json!(["Ada Cup", "Ben Pot"])
    );

    let ran = ir(
        folder.path(),
        &["ask", "papers", "which temperature do people prefer"],
    );
    let out = String::from_utf8(ran.stdout).unwrap();
    assert!(
        out.contains("tea.pdf  The Temperature of Green Tea, page 3"),
        "{out}"
    );
}

/// `10` ends at 125.4 points: widths of Helvetica.
#[test]
fn powers_are_superscripts_and_references_no_answers() {
    let mut pdf = PdfBuilder::new();
    pdf.page(&[
        bold(120, 720, 18, "The Growth of Green Tea"),
        bold(72, 660, 12, "1 Methods"),
        line(72, 640, 10, "We grew 10"),
        line(126, 644, 6, "4"),
        line(131, 640, 10, "leaves of tea in a pot, and we counted them."),
        line(72, 628, 10, "They were green."),
        bold(72, 600, 12, "References"),
        line(72, 580, 10, "[1] A. Roe. What is the growth of tea? 2001."),
    ]);
    let folder = folder(&[("tea.pdf", pdf.build())]);
    let frames = frames(folder.path());
    let expected = [
        (
            "We grew 10\u{2074} leaves of tea in a pot, and we counted them.",
            1,
        ),
        ("They were green.", 1),
    ];
    assert_eq!(answers(&frames), expected);
}

/// A page that is an image.
fn scanned() -> Vec<u8> {
    let mut pdf = PdfBuilder::new();
    let image = pdf.stream(
        "/Type /XObject /Subtype /Image /Width 2 /Height 2 /ColorSpace /DeviceGray \
         /BitsPerComponent 8",
        &[0, 255, 255, 0],
    );
    let contents = pdf.stream("", b"q 612 0 0 792 0 0 cm /I1 Do Q");
    pdf.page_of(contents, &format!("/XObject << /I1 {image} 0 R >>"));
    pdf.build()
}

fn encrypted() -> Vec<u8> {
    let mut pdf = PdfBuilder::new();
    pdf.page(&[line(60, 700, 10, "Nobody reads this sentence.")]);
    let secret = "5e".repeat(32);
    let handler = pdf.object(format!(
        "<< /Filter /Standard /V 2 /R 3 /Length 128 /P -44 /O <{secret}> /U <{secret}> >>"
    ));
    let trailer = format!("/Encrypt {handler} 0 R /ID [<{secret}> <{secret}>]");
    pdf.trailer(&trailer).build()
}

/// Contents of a page that are a gibibyte of text, compressed twice to a few kilobytes.
fn bomb() -> Vec<u8> {
    let block = b"BT /F1 10 Tf 60 700 Td (Tea and tea and tea.) Tj ET\n".repeat(20_000);
    let mut once = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    for _ in 0..1_000 {
        std::io::Write::write_all(&mut once, &block).unwrap();
    }
    let twice = deflated(&once.finish().unwrap());
    let mut pdf = PdfBuilder::new();
    let contents = pdf.stream("/Filter [/FlateDecode /FlateDecode]", &twice);
    pdf.page_of(contents, "").build()
}

#[test]
fn files_that_cannot_be_read_stop_nothing() {
    let good = paper();
    let mut cut = good.clone();
    cut.truncate(40);
    let files = [
        ("bomb.pdf", bomb()),
        ("broken.pdf", b"%PDF-1.7\nnothing else".to_vec()),
        ("cut.pdf", cut),
        ("empty.pdf", Vec::new()),
        ("encrypted.pdf", encrypted()),
        ("scanned.pdf", scanned()),
        ("tea.pdf", good),
        ("text.pdf", b"This is no PDF at all.".to_vec()),
    ];
    let folder = folder(&files);
    let start = Instant::now();
    let args = [
        "frames",
        "papers",
        "-o",
        "frames.jsonl",
        "--report",
        "files.tsv",
    ];
    let ran = ir(folder.path(), &args);
    let message = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{message}");
    assert!(
        start.elapsed() < Duration::from_secs(150),
        "{:?}",
        start.elapsed()
    );
    let report = fs::read_to_string(folder.path().join("files.tsv")).unwrap();
    let lines: Vec<Vec<&str>> = report
        .lines()
        .map(|line| line.split('\t').collect())
        .collect();
    let of = |name: &str| lines.iter().find(|line| line[0] == name).unwrap();
    for (name, part) in [
        (
            "broken.pdf",
            "papers/broken.pdf: expected a PDF, found a damaged one (",
        ),
        (
            "cut.pdf",
            "papers/cut.pdf: expected a PDF, found a damaged one (",
        ),
        (
            "empty.pdf",
            "papers/empty.pdf: expected a PDF, found a damaged one (",
        ),
        (
            "encrypted.pdf",
            "papers/encrypted.pdf: expected a PDF without password, found an encrypted one",
        ),
        (
            "scanned.pdf",
            "papers/scanned.pdf: expected text, found none on 1 pages: recognize it first, such as \
             with ocrmypdf",
        ),
        (
            "text.pdf",
            "papers/text.pdf: expected a PDF, found a damaged one (",
        ),
        ("bomb.pdf", "papers/bomb.pdf: expected"),
    ] {
        let line = of(name);
        assert_eq!(line[1], "failed", "{line:?}");
        assert!(line[5].contains(part), "{line:?}");
    }
    assert_eq!(of("tea.pdf")[1..3], ["read", "PDF"]);
    assert_eq!(of("tea.pdf")[5], "no year");
}

#[test]
fn two_thousand_pages_are_read_and_more_than_the_limit_are_not() {
    let pages = |count: u32| {
        let mut pdf = PdfBuilder::new();
        for page in 1..=count {
            let text = format!("Sentence of page {page} about cups.");
            pdf.page(&[line(60, 400, 10, &text)]);
        }
        pdf.build()
    };
    let folder = folder(&[("long.pdf", pages(2_000)), ("longer.pdf", pages(5_001))]);
    let ran = ir(folder.path(), &["frames", "papers"]);
    let message = String::from_utf8_lossy(&ran.stderr);
    assert!(
        message.contains("papers/longer.pdf: expected at most 5000 pages, found 5001"),
        "{message}"
    );
    let out = String::from_utf8(ran.stdout).unwrap();
    let frames: Vec<Value> = out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let text = answers(&frames);
    assert_eq!(text.len(), 2_000, "{message}");
    for (page, found) in (1..).zip(text) {
        assert_eq!(
            found,
            (&*format!("Sentence of page {page} about cups."), page)
        );
    }
}

/// The limit of memory is one of the operating system: whatever the parser does, the process ends.
#[test]
#[cfg(target_os = "linux")]
fn memory_is_limited() {
    let folder = folder(&[("tea.pdf", paper())]);
    let run = |memory: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ir"));
        let limits = [
            "--max-time",
            "60",
            "--max-pages",
            "10",
            "--max-memory",
            memory,
        ];
        command.arg("pdf-text").args(limits);
        let file = fs::File::open(folder.path().join("papers/tea.pdf")).unwrap();
        command.stdin(file).stderr(Stdio::piped()).output().unwrap()
    };
    let enough = run("1073741824");
    assert!(enough.status.success());
    assert!(enough.stdout.ends_with(b"\"End\"\n"));
    // Less than the program itself has.
    let little = run("1048576");
    assert!(!little.status.success());
    let message = String::from_utf8_lossy(&little.stderr);
    assert!(message.contains("memory allocation of"), "{message}");
}

#[test]
fn the_command_of_the_child_process_is_hidden() {
    let folder = folder(&[]);
    let help = ir(folder.path(), &["--help"]);
    let help = String::from_utf8(help.stdout).unwrap();
    assert!(
        help.contains("frames") && !help.contains("pdf-text"),
        "{help}"
    );
}

#[cfg(feature = "serve")]
#[test]
fn pages_reach_rest_and_the_page_of_the_paper() {
    let folder = folder(&[("tea.pdf", paper()), ("scanned.pdf", scanned())]);
    let server = server::RunningServer::start(folder.path(), &["papers"]);
    let query = serde_json::json!({"query": {"query": "Which temperature do most people prefer?"}});
    let (status, found) = server.client.post("/v1/search/query", &query);
    assert_eq!(status, 200);
    let best = &found["results"][0];
    assert_eq!(best["a"]["value"], "Most people preferred seventy degrees.");
    assert_eq!(best["meta"]["page"], 3);
    let page = server.client.request("GET", "/document/tea.pdf", "");
    let (_, page) = page.unwrap();
    assert!(page.contains("Page 3"), "{page}");
}
