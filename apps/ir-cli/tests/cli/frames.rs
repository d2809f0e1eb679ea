//! `ir frames`.

use crate::common::Folder;

const TEA: &str = "# On tea\n\n## Origin\n\nTea is a drink. It comes from Asia, see Fig. 2.\n";
const CUPS: &str = "<html><head><meta name=citation_author content='Cup, Ada'><title>On cups</title></head>\
    <body><p>Cups hold tea.</p><script>alert(1)</script></body></html>";

fn papers() -> Folder {
    let here = Folder::new();
    here.write("papers/tea.md", TEA);
    here.write("papers/sub/cups.html", CUPS);
    here.write("papers/broken.xml", "<article>\n<body>");
    here.write("papers/scan.pdf", "%PDF-1.7");
    here.write("papers/table.csv", "a,b");
    here
}

#[test]
fn folder_to_frames_and_report() {
    let here = papers();
    let args = "frames papers -o frames.jsonl --report files.tsv";
    let ran = here.ir(args).ok();
    assert!(ran.out.is_empty(), "{}", ran.out);
    for part in [
        "papers/broken.xml:2: expected well-formed XML, found an error (the end of the file in <body>)",
        "1 file skipped, such as \"scan.pdf\": PDF needs the feature `pdf`",
        "1 file skipped, such as \"table.csv\": unknown extension",
        "6 frames of 2 papers; 1 sentences too short, 0 too long",
    ] {
        assert!(ran.err.contains(part), "{part}: {}", ran.err);
    }
    let frames = here.read("frames.jsonl");
    let lines: Vec<&str> = frames.lines().collect();
    assert_eq!(
        lines[1],
        r#"{"id":"sub/cups.html/1/0","paper":"sub/cups.html","kind":"content","answer":"Cups hold tea.","context":"On cups Cups hold tea.","answer_start":8,"metadata":{"authors":["Ada Cup"],"title":"On cups"}}"#
    );
    assert!(
        lines[5].contains(r#""answer":"It comes from Asia, see Fig.""#),
        "{}",
        lines[5]
    );
    let report = here
        .read("files.tsv")
        .replace(&here.path().display().to_string(), "");
    assert_eq!(
        report,
        "broken.xml\tfailed\t\t0\t0\tpapers/broken.xml:2: expected well-formed XML, found an error (the end of the \
         file in <body>)\n\
         scan.pdf\tskipped\t\t0\t0\tPDF needs the feature `pdf`; or convert it, for example with GROBID or pdftotext\n\
         sub/cups.html\tread\tHTML\t1\t2\tno year, no sections\n\
         table.csv\tskipped\t\t0\t0\tunknown extension\n\
         tea.md\tread\tMarkdown\t1\t4\tno authors, no year\n"
    );
    // The same bytes again, and on standard output.
    assert_eq!(here.ir("frames papers").ok().out, frames);
}

#[test]
fn options_change_the_frames() {
    let here = papers();
    let out = |more: &[&str]| {
        here.ir(&[&["frames", "papers/tea.md"][..], more].concat())
            .ok()
            .out
    };
    assert!(out(&["--scientific"]).contains(r#""answer":"It comes from Asia, see Fig. 2.""#));
    assert!(out(&["--context", "0"]).contains(r#""context":"On tea Origin Tea is a drink.""#));
    assert_eq!(out(&["--min-length", "16"]).lines().count(), 3);
    assert_eq!(out(&["--max-length", "15"]).lines().count(), 3);
    let soco = out(&["--format", "soco"]);
    assert!(
        soco.starts_with(r#"{"answer":{"value":"On tea","context":"On tea Origin"#),
        "{soco}"
    );
    assert!(
        soco.contains(r#""chunk_type":"title","doc_id":"tea.md""#),
        "{soco}"
    );
    here.write("tee.txt", "关于茶\n\n茶很好。水也好喝啊。");
    let chinese = here.ir("frames tee.txt --language chinese").ok().out;
    assert!(chinese.contains(r#""answer":"水也好喝啊。""#), "{chinese}");
    let bundled = here.ir("frames bundled").ok().out;
    assert!(
        bundled.contains("HarvestQA has 6,200 questions about 410 leaflets."),
        "{bundled}"
    );
}

#[test]
fn errors_leave_no_output() {
    let here = papers();
    here.ir("frames nowhere -o out.jsonl")
        .fails(1, &["nowhere: cannot read"]);
    here.ir("frames papers/broken.xml -o out.jsonl --report files.tsv")
        .fails(1, &["papers/broken.xml: expected papers, found none"]);
    assert!(!here.at("out.jsonl").exists());
    assert!(here.read("files.tsv").starts_with("broken.xml\tfailed"));
    here.ir("frames papers -o papers/sub/cups.html")
        .fails(2, &["papers/sub/cups.html"]);
    assert_eq!(here.read("papers/sub/cups.html"), CUPS);
    here.ir("frames papers --min-length 600").fails(
        2,
        &["--min-length: expected at most --max-length (500), found 600"],
    );
    here.ir("frames bundled --report files.tsv")
        .fails(2, &["--report"]);
    here.write("big.txt", "a".repeat((1 << 20) + 1));
    here.ir("frames big.txt --max-size 1")
        .fails(1, &["big.txt: expected papers, found none"]);
}

#[test]
fn questions_are_generated_and_not_displayable() {
    let here = papers();
    let ran = here
        .ir("frames papers --questions rules -o frames.jsonl")
        .ok();
    let part = "6 frames of 2 papers, 1 generated questions; 1 sentences too short, 0 too long";
    assert!(ran.err.contains(part), "{}", ran.err);
    let frames = here.read("frames.jsonl");
    let question = r#""questions":[{"text":"What is tea?","displayable":false,"generated":true}]"#;
    assert!(frames.contains(question), "{frames}");
    let plain = here.ir("frames papers").ok().out;
    assert_eq!(frames.lines().count(), plain.lines().count());
    here.ir("frames papers --questions rules --language chinese")
        .fails(
            2,
            &["--questions rules: expected --language english, found chinese"],
        );
}

#[test]
fn question_options_without_effect_are_usage_errors() {
    let here = papers();
    here.errors(
        "
        frames papers --endpoint http://127.0.0.1:1/v1
          2: --endpoint: without effect, expected --questions endpoint
        frames papers --questions rules --endpoint-key KEY
          2: --endpoint-key: without effect, expected --questions endpoint
        frames papers --questions-file q.jsonl
          2: --questions-file: without effect, expected --questions
        frames papers --questions endpoint
          2: --questions endpoint: expected --endpoint URL, found none
        frames papers --questions endpoint --endpoint http://127.0.0.1:1/v1
          2: --questions endpoint: expected --endpoint-model NAME, found none
    ",
    );
    // Questions that the file has are not generated again.
    let args = "frames papers --questions rules --questions-file q.jsonl";
    let first = here.ir(args).ok().out;
    let file = here.read("q.jsonl");
    assert!(file.contains("\"frame_id\":\"tea.md/2/1\""), "{file}");
    assert_eq!(here.ir(args).ok().out, first);
    assert_eq!(here.read("q.jsonl"), file);
}
