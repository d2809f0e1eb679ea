//! Documents of every format, and malformed ones.

use std::io::Write;
use std::path::{Path, PathBuf};

use ir_core::{Flow, NoProgress};
use ir_qa::documents::{
    DocumentError, DocumentFormat, DocumentReader, FileOutcome, FolderReport, MissingPart, Paper,
};
use ir_qa::frames::FrameConfig;
use proptest::prelude::*;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("testdata")
        .join(name)
}

/// Text of a paper: title, headings with their level, paragraphs; pages in parentheses.
fn shown(paper: &Paper) -> Vec<String> {
    let page = |page: Option<u32>| page.map(|page| format!(" ({page})")).unwrap_or_default();
    let mut lines = vec![paper.title.clone()];
    for section in &paper.sections {
        let marks = "#".repeat(section.level.into());
        lines.push(format!("{marks} {}{}", section.heading, page(section.page)));
        let paragraphs = section.paragraphs.iter();
        lines.extend(paragraphs.map(|p| format!("{}{}", p.text, page(p.page))));
    }
    lines
}

fn read(name: &str) -> Paper {
    let path = folder("documents").join(name);
    let mut file = DocumentReader::default().read_file(&path, name).unwrap();
    assert_eq!(file.papers.len(), 1);
    file.papers.remove(0)
}

#[test]
fn jats() {
    let paper = read("citations.nxml");
    assert_eq!(paper.authors, ["Jo Müller Jr.", "Tea Consortium"]);
    assert_eq!(paper.year, Some(2020));
    assert_eq!(paper.venue.as_deref(), Some("Letters on Tea"));
    assert_eq!(paper.metadata.text("doi"), Some("10.9999/tea.1"));
    assert_eq!(
        shown(&paper),
        [
            "Steeping & Stirring: A study",
            "# Summary",
            "## Aims",
            "To drink.",
            "# ",
            "Before any section.",
            "# Steeping",
            "Tea steeps. Water at 95 °C is best [3]. The mass is m ². These are needed:",
            "leaves;",
            "water.",
            "## Cups",
            "Cups < pots.",
            "$x$",
            "Steam. It rises.",
            "Temperatures.",
            "# Thanks",
            "We thank the kettle.",
        ]
    );
}

#[test]
fn tei_with_pages() {
    let paper = read("pages.tei.xml");
    assert_eq!(paper.authors, ["Ada B Leaf"]);
    assert_eq!(paper.year, Some(2019));
    assert_eq!(paper.venue.as_deref(), Some("Tea Journal"));
    assert_eq!(paper.metadata.text("doi"), Some("10.9999/tea.2"));
    assert_eq!(
        shown(&paper),
        [
            "Pages of Tea",
            "# Abstract",
            "One sentence. Another one.",
            "# Start",
            "On page two. [1] (2)",
            "After a break. Still the same paragraph. (7)",
            "On page eight. (8)",
            "## Deeper (8)",
            "First child counts. (9)",
            "x = 1 (8)",
            "A cup. (9)",
            "# Thanks (8)",
            "To all. (8)",
        ]
    );
}

#[test]
fn html_without_scripts_and_navigation() {
    let paper = read("article.html");
    assert_eq!(paper.authors, ["Ada B. Leaf"]);
    assert_eq!(paper.year, Some(2018));
    assert_eq!(paper.venue.as_deref(), Some("Kettle Days"));
    assert_eq!(
        shown(&paper),
        [
            "Boiling & Cooling",
            "##### Abstract",
            "We boil water — twice.",
            "# 1 Boiling",
            "The time t grows. A new line.",
            "An unclosed paragraph with 1 < 2 and &unknown; text.",
            "First item.",
            "Second item.",
            "## 1.1 Steam",
            "Steam rises.",
            "After the table.",
        ]
    );
}

/// Lines of [`shown`] without the title.
fn body(text: &str, format: DocumentFormat) -> Vec<String> {
    let reader = DocumentReader::default();
    let file = reader
        .read_bytes(text.as_bytes(), format, "f", "f")
        .unwrap();
    shown(&file.papers[0]).split_off(1)
}

#[test]
fn paragraphs_of_html_end_at_blocks_only() {
    for (page, expected) in [
        (
            "<p>Half is <math><mfrac><mn>1</mn><mn>2</mn></mfrac><mspace/><msubsup><mi>x</mi></msubsup></math> here.",
            "Half is 1/2x here.",
        ),
        (
            "<p>A <x-ref>custom</x-ref> <article-id>element</article-id>.",
            "A custom element.",
        ),
        (
            "<form><p>The page is a form.<textarea>typed</textarea></form>",
            "The page is a form.",
        ),
        ("<template><p>Copy.</p></template><p>Once.", "Once."),
    ] {
        assert_eq!(body(page, DocumentFormat::Html), ["# ", expected]);
    }
}

#[test]
fn entities_of_html_in_xml() {
    let text = "<article><body><p>&alpha;&beta;&Omega;&deg;&mdash;&amp;&#x3b3;&NotEqualTilde;</p></body></article>";
    assert_eq!(body(text, DocumentFormat::Xml), ["# ", "αβΩ°—&γ≂\u{338}"]);
    for unknown in ["unknown", "notit", "Alphaa", "x"] {
        let text = format!("<article><body><p>&{unknown};</p></body></article>");
        let reader = DocumentReader::default();
        let read = reader.read_bytes(text.as_bytes(), DocumentFormat::Xml, "f", "f");
        let expected = format!("f:1: expected an entity of XML or HTML, found &{unknown};");
        assert_eq!(read.unwrap_err().to_string(), expected);
    }
}

#[test]
fn chinese_sentences_are_no_titles() {
    assert_eq!(
        body("茶很好。\n\n水也好。", DocumentFormat::Text),
        ["# ", "茶很好。", "水也好。"]
    );
    let text = "关于茶\n\n1 引言\n\n水也好。\n\n2 杯茶很好！";
    assert_eq!(
        body(text, DocumentFormat::Text),
        ["# 1 引言", "水也好。", "2 杯茶很好！"]
    );
}

/// Names that are not Unicode have ids of their own; links to folders are not followed.
#[cfg(unix)]
#[test]
fn names_and_links() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &[u8]| folder.path().join(OsStr::from_bytes(name));
    for name in [&b"\xfe.txt"[..], b"\xff.txt", "茶.txt".as_bytes()] {
        std::fs::write(at(name), "Tea.").unwrap();
    }
    std::os::unix::fs::symlink(folder.path(), at(b"loop")).unwrap();
    std::os::unix::fs::symlink(at(b"self.txt"), at(b"self.txt")).unwrap();
    let (report, ids) = read_folder(folder.path());
    assert_eq!(ids, ["\\xfe.txt", "\\xff.txt", "茶.txt"]);
    assert_eq!(
        (report.read(), report.skipped(), report.failed()),
        (3, 1, 0)
    );
}

#[test]
fn declared_encodings() {
    assert_eq!(
        shown(&read("latin1.htm")),
        ["Café", "# ", "Naïve café text."]
    );
    assert_eq!(shown(&read("latin1.xml")), ["Thé", "# ", "Un thé."]);
}

#[test]
fn markdown_with_metadata() {
    let paper = read("notes.md");
    assert_eq!(paper.authors, ["Ada Leaf", "Ben Cup"]);
    assert_eq!(paper.year, Some(2022));
    assert_eq!(
        shown(&paper),
        [
            "Notes on Tea",
            "# ",
            "Text before the first heading with code and bold text in two lines.",
            "Intro.",
            "# Brewing",
            "Boil water.",
            "Add leaves.",
            "Quoted wisdom.",
            "a: 1; b: 2",
            "A caption.",
            "## Details",
            "Last paragraph & end.",
        ]
    );
    assert_eq!(
        shown(&read("plain.md")),
        ["Only a Title", "# ", "Some text."]
    );
}

#[test]
fn plain_text_with_pages() {
    assert_eq!(
        shown(&read("pages.txt")),
        [
            "Pages of Plain Text",
            "# ",
            "Ada Leaf (1)",
            "# Abstract (1)",
            "This text has two pages. (1)",
            "# 1 Introduction (1)",
            "First page ends here. (1)",
            "## 2.1 Data (2)",
            "Second page. It has data. (2)",
            "# CONCLUSION (2)",
            "3 cups of tea are enough. (2)",
        ]
    );
    let sentences = [
        "bom",
        "# ",
        "This file starts with a sentence.",
        "It has a byte order mark.",
    ];
    assert_eq!(shown(&read("sub/bom.text")), sentences);
}

#[test]
fn squad_articles() {
    let path = folder("documents").join("articles.json");
    let file = DocumentReader::default()
        .read_file(&path, "a.json")
        .unwrap();
    let ids: Vec<&str> = file.papers.iter().map(|paper| paper.id.as_str()).collect();
    assert_eq!(ids, ["a.json#Green_tea", "a.json#Cups"]);
    assert_eq!(
        shown(&file.papers[0]),
        [
            "Green tea",
            "# ",
            "Green tea is grün. It is old.",
            "More of it."
        ]
    );
}

#[test]
fn bundled_papers_are_complete() {
    let papers = ir_qa::bundled_papers().unwrap();
    assert_eq!(papers.len(), 20);
    for paper in &papers {
        let has_text = paper.paragraphs().next().is_some() && !paper.title.is_empty();
        assert!(has_text && paper.sections.len() >= 2, "{}", paper.id);
        let is_text = paper.id.ends_with(".txt");
        assert!(
            is_text || (paper.year.is_some() && !paper.authors.is_empty() && paper.venue.is_some()),
            "{}",
            paper.id
        );
    }
}

fn read_folder(folder: &Path) -> (FolderReport, Vec<String>) {
    let mut ids = Vec::new();
    let report = DocumentReader::default()
        .read_folder::<DocumentError>(folder, &mut NoProgress, &mut |paper| {
            ids.push(paper.id);
            Ok(())
        })
        .unwrap();
    (report, ids)
}

#[test]
fn bad_files_stop_nothing() {
    let (report, ids) = read_folder(&folder("documents"));
    assert_eq!(
        (report.read(), report.skipped(), report.failed()),
        (10, 2, 13)
    );
    assert_eq!(ids.len(), 11);
    let paths: Vec<&str> = report.files.iter().map(|file| file.path.as_str()).collect();
    assert!(paths.is_sorted());
    assert_eq!(paths.last(), Some(&"sub/bom.text"));

    let prefix = format!("{}/broken/", folder("documents").display());
    let mut messages = Vec::new();
    for file in &report.files {
        match &file.outcome {
            FileOutcome::Failed(error) => messages.push(error.to_string().replace(&prefix, "")),
            FileOutcome::Skipped(reason) => messages.push(format!("{}: {reason}", file.path)),
            _ => {}
        }
    }
    assert_eq!(
        messages,
        [
            "ampersand.xml:2: expected well-formed XML, found an error (ill-formed document: entity or character \
             reference not closed: `;` not found before end of input)",
            "binary.txt:2: expected text, found a NUL byte",
            "crossed.xml:2: expected well-formed XML, found an error (ill-formed document: expected `</p>`, but \
             `</sec>` was found)",
            "cut.md.gz: cannot read",
            "document.txt: expected plain text, found PDF",
            "empty.xml:1: expected well-formed XML, found an error (no element)",
            "encoding.html: expected the name of an encoding, found \"klingon\"",
            "entities.xml:8: expected an entity of XML or HTML, found &b;",
            "broken/image.png: unknown extension",
            "invalid.txt:2: expected UTF-8 text, found invalid bytes",
            "root.xml: expected the root <article>, <pmc-articleset> or <OAI-PMH> (JATS), <TEI>, <teiCorpus> or <html>, \
             found <rss>",
            "broken/scan.pdf: PDF needs the feature `pdf`; or convert it, for example with GROBID or pdftotext",
            "squad.json:1: expected each answer at its offset in the context, found \"q: tea\"",
            "two-roots.xml:2: expected well-formed XML, found an error (a second root element)",
            "unclosed.xml:4: expected well-formed XML, found an error (the end of the file in <body>)",
        ]
    );
}

#[test]
fn missing_parts_are_reported() {
    let (report, _) = read_folder(&folder("documents"));
    let of = |path: &str| {
        let file = report.files.iter().find(|file| file.path == path).unwrap();
        match &file.outcome {
            FileOutcome::Read { missing, .. } => missing.clone(),
            other => panic!("{other:?}"),
        }
    };
    use MissingPart::{Authors, Sections, Text, Title, Year};
    assert_eq!(of("pages.tei.xml"), []);
    assert_eq!(of("pages.txt"), [Authors, Year]);
    assert_eq!(of("sub/bom.text"), [Title, Authors, Year, Sections]);
    let empty = DocumentReader::default()
        .read_bytes(b"", DocumentFormat::Text, "a/empty.txt", "e")
        .unwrap();
    assert_eq!(empty.missing, [Text, Title, Authors, Year, Sections]);
    assert_eq!(empty.papers[0].title, "empty");
}

#[test]
fn sizes_are_limited_after_decompression() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bomb.txt.gz");
    let mut file = flate2::write::GzEncoder::new(
        std::fs::File::create(&path).unwrap(),
        flate2::Compression::best(),
    );
    for _ in 0..100 {
        file.write_all(&vec![b'a'; 1 << 20]).unwrap();
    }
    file.finish().unwrap();
    let error = DocumentReader::default().read_file(&path, "b").unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "{}: expected at most 67108864 bytes of text, found more",
            path.display()
        )
    );
    let reader = DocumentReader::default().with_max_bytes(4);
    assert!(
        reader
            .read_bytes(b"tea.", DocumentFormat::Text, "t.txt", "t")
            .is_ok()
    );
    assert!(
        reader
            .read_bytes(b"tea..", DocumentFormat::Text, "t.txt", "t")
            .is_err()
    );
}

#[test]
fn deep_and_long_input() {
    let reader = DocumentReader::default();
    let read = |text: &str, format| reader.read_bytes(text.as_bytes(), format, "f", "f");
    let deep = format!("<article>{}", "<p>".repeat(300));
    let error = read(&deep, DocumentFormat::Xml).unwrap_err();
    assert_eq!(
        error.to_string(),
        "f:1: expected at most 256 nested elements, found more"
    );

    // Inputs whose time would be hours if it were quadratic.
    let start = std::time::Instant::now();
    for unit in [
        "<div>",
        "<nav>",
        "</p>",
        "<p>a",
        "<table>",
        "&amp;",
        "<!--",
        "<a b=",
        "<meta name=citation_author content=a>",
    ] {
        read(&unit.repeat(400_000), DocumentFormat::Html).unwrap();
    }
    for unit in [
        "*a ",
        "[",
        "> ",
        "- ",
        "# a\n",
        "`",
        "<a",
        "word ",
        "\n\n---\n",
    ] {
        read(&unit.repeat(100_000), DocumentFormat::Markdown).unwrap();
    }
    // Below the limit of a million paragraphs.
    for unit in ["a ", "a\n", "a\n\n", "\u{c}", "1 A\n\n"] {
        read(&unit.repeat(900_000), DocumentFormat::Text).unwrap();
    }
    for unit in [
        "<p>a</p>",
        "a&amp;",
        "<sec><title>a</title></sec>",
        "<sup><xref ref-type='bibr'>1</xref></sup>",
    ] {
        let text = format!(
            "<article><body><p>{0}</p>{0}</body></article>",
            unit.repeat(100_000)
        );
        read(&text, DocumentFormat::Xml).unwrap();
    }
    assert!(start.elapsed() < std::time::Duration::from_secs(120));
}

#[test]
fn canceled_and_missing_folders() {
    let reader = DocumentReader::default();
    let mut stop = |_: &str, _: u64, _: Option<u64>| Flow::Stop;
    let canceled =
        reader.read_folder::<DocumentError>(&folder("documents"), &mut stop, &mut |_| Ok(()));
    assert!(matches!(canceled, Err(DocumentError::Canceled)));
    let missing =
        reader.read_folder::<DocumentError>(&folder("nowhere"), &mut NoProgress, &mut |_| Ok(()));
    assert_eq!(
        missing.unwrap_err().to_string(),
        format!("{}: cannot read", folder("nowhere").display())
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// No input panics, and frames of what is read are valid.
    #[test]
    fn any_input_is_read_or_rejected(text in prop_oneof!["\\PC{0,200}", markup()], format in 0_usize..5) {
        let format = [
            DocumentFormat::Text, DocumentFormat::Markdown, DocumentFormat::Html, DocumentFormat::Xml, DocumentFormat::Json,
        ][format];
        if let Ok(file) = DocumentReader::default().read_bytes(text.as_bytes(), format, "f", "f") {
            for paper in &file.papers {
                for frame in FrameConfig::default().convert_paper(paper).frames {
                    prop_assert!(frame.check().is_ok());
                }
            }
        }
    }
}

/// Sequences of tags, attributes and text.
fn markup() -> impl Strategy<Value = String> {
    let parts = [
        "<article>",
        "</article>",
        "<body>",
        "</body>",
        "<p>",
        "</p>",
        "<sec>",
        "</sec>",
        "<title>A title</title>",
        "<TEI>",
        "</TEI>",
        "<text>",
        "</text>",
        "<div>",
        "</div>",
        "<head n='1.2'>H</head>",
        "<pb n='x'/>",
        "<p coords='99999999999,1'>",
        "<script>",
        "</script>",
        "<h1>",
        "</h1>",
        "<table>",
        "</table>",
        "Some text. ",
        "&amp;",
        "&#x110000;",
        "<![CDATA[x]]>",
        "<!--",
        "-->",
        "\n\n",
        "# Heading\n",
        "---\n",
        "title: x\n",
        "\u{c}",
        "1.1 Data\n",
        "<?xml version='1.0'?>",
        "<!DOCTYPE a [",
        "]>",
    ];
    prop::collection::vec(prop::sample::select(parts.to_vec()), 0..30)
        .prop_map(|parts| parts.concat())
}

#[test]
fn elements_of_xml_are_limited() {
    let reader = DocumentReader::default();
    let read = |count: usize| {
        let text = format!("<article>\n{}</article>", "<a/>".repeat(count));
        reader
            .read_bytes(text.as_bytes(), DocumentFormat::Xml, "a.xml", "a.xml")
            .map(|_| ())
    };
    read(1_999_999).unwrap();
    let error = read(2_000_000).unwrap_err().to_string();
    assert_eq!(
        error,
        "a.xml:2: expected at most 2000000 elements, found more"
    );
}

#[test]
fn files_of_millions_of_paragraphs_are_rejected() {
    let reader = DocumentReader::default();
    for (format, paragraph) in [
        (DocumentFormat::Html, "<p>x"),
        (DocumentFormat::Text, "x\n\n"),
        (DocumentFormat::Markdown, "- x\n"),
    ] {
        let text = paragraph.repeat(3_100_000);
        let error = reader
            .read_bytes(text.as_bytes(), format, "f", "f")
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "f: expected at most 1000000 paragraphs, found more"
        );
    }
    // As many tags as permitted, but too many paragraphs.
    let text = "<p>x".repeat(1_000_001);
    let error = reader.read_bytes(text.as_bytes(), DocumentFormat::Html, "f", "f");
    assert!(matches!(error, Err(DocumentError::Paragraphs { .. })));
}

#[test]
#[cfg(not(feature = "pdf"))]
fn pdf_names_the_feature() {
    let read = DocumentReader::default().read_bytes(b"%PDF-1.7", DocumentFormat::Pdf, "a.pdf", "a");
    let expected =
        "a.pdf: PDF needs the feature `pdf`; or convert it, for example with GROBID or pdftotext";
    assert_eq!(read.unwrap_err().to_string(), expected);
}
