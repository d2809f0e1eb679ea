//! `ir ask`.

use crate::common::Folder;

const TEA: &str = "---\ntitle: On tea\nyear: 2019\n---\n\n# On tea\n\n## Origin\n\nTea is a drink. It comes from Asia.\n";
const CUPS: &str = "# On cups\n\nCups hold tea. They are made of clay.\n";

fn papers() -> Folder {
    let here = Folder::new();
    here.write("papers/tea.md", TEA);
    here.write("papers/cups.md", CUPS);
    here
}

#[test]
fn answers_in_their_contexts() {
    let here = papers();
    let ran = here.ir("ask papers Where 'does tea come from?' -k 1").ok();
    let answer = "«It comes from Asia.»";
    assert!(ran.out.contains(answer), "{}", ran.out);
    assert!(ran.out.starts_with("  1   "), "{}", ran.out);
    assert!(ran.out.contains("tea.md"), "{}", ran.out);
}

/// A pipe gets a text in one line, and words with hyphens whole.
#[test]
fn long_contexts_in_a_pipe() {
    let here = Folder::new();
    let long = "We train the well-known encoder for ten epochs on all of the many recordings of this \
                collection and use a learning rate of 2e-5 with linear warm-up.";
    here.write("papers/a.md", format!("# Training\n\n{long}\n"));
    let ran = here
        .ir("ask papers What is the learning rate? -k 1 --explain")
        .ok();
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(
        lines[1].trim_start(),
        format!("Training «{long}»"),
        "{}",
        ran.out
    );
}

#[test]
fn json_of_frames_equals_json_of_papers() {
    let here = papers();
    here.ir("frames papers --scientific -o frames.jsonl").ok();
    here.write(
        "questions.txt",
        "What are cups made of?\n\n  What is tea?\n",
    );
    let ask = |papers| {
        let args = format!("ask {papers} --questions questions.txt --json --explain -k 2");
        here.ir(&args).ok().out
    };
    let answers = ask("papers");
    assert_eq!(ask("frames.jsonl"), answers);
    here.ir("ask frames.jsonl tea --language english").fails(
        2,
        &["--language: without effect on the frames of frames.jsonl"],
    );
    here.write("tee.txt", "茶是一种饮料。茶来自亚洲。");
    let found = here.ir("ask tee.txt 茶来自 -k 1 --json --language chinese");
    assert!(found.ok().out.contains(r#""answer":"茶来自亚洲。""#));
    let answers: Vec<serde_json::Value> = answers
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let questions: Vec<&str> = answers
        .iter()
        .map(|it| it["question"].as_str().unwrap())
        .collect();
    let [cups, tea] = ["What are cups made of?", "What is tea?"];
    assert_eq!(questions, [cups, cups, tea, tea]);
    assert_eq!(answers[0]["frame"]["answer"], "They are made of clay.");
    assert_eq!(answers[0]["rank"], 1);
    let [score, explained] = [&answers[0]["score"], &answers[0]["explanation"]["value"]];
    let difference = score.as_f64().unwrap() - explained.as_f64().unwrap();
    assert!(difference.abs() < 1e-5, "{}", answers[0]);
}

#[test]
fn filters_and_weights() {
    let here = papers();
    let ask = |more: &[&str]| {
        here.ir(&[&["ask", "papers", "tea", "--json"][..], more].concat())
            .ok()
    };
    assert!(ask(&[]).out.contains("cups.md"));
    let filtered = ask(&["--filter", "year>=2000", "--filter", "year"]).out;
    assert!(
        !filtered.is_empty() && !filtered.contains("cups.md"),
        "{filtered}"
    );
    let none = ask(&["--filter", "venue"]);
    assert!(none.out.is_empty());
    assert!(
        none.err.contains("no paper passes --filter"),
        "{}",
        none.err
    );
    let misspelled = ask(&["--filter", "yaer>=2000"]);
    assert!(misspelled.out.contains("cups.md"));
    let warning = "no document has an attribute \"yaer\"; all pass (did you mean year?)";
    assert!(misspelled.err.contains(warning), "{}", misspelled.err);
    assert_ne!(ask(&["--context-weight", "2"]).out, ask(&[]).out);
    let heading = r#""answer":"On tea""#;
    assert!(!ask(&[]).out.contains(heading));
    assert!(ask(&["--headings"]).out.contains(heading));
}

/// The phrase of the lexical reader, within the answer sentence; answers and order are the same.
#[test]
fn readers_mark_phrases() {
    let here = papers();
    here.write(
        "papers/b.md",
        "# Bridge\n\nWe saw it in 2001. The bridge was built in 1890.\n",
    );
    let question = "When was the bridge built?";
    let ask = |more: &[&str]| {
        here.ir(&[&["ask", "papers", question, "-k", "1"][..], more].concat())
            .ok()
            .out
    };
    let shown = ask(&["--reader", "lexical"]);
    assert!(shown.contains("phrase: 1890 ("), "{shown}");
    assert!(!ask(&[]).contains("phrase"));
    let answer: serde_json::Value =
        serde_json::from_str(ask(&["--reader", "lexical", "--json"]).trim_end()).unwrap();
    let phrase = &answer["phrase"];
    assert_eq!(phrase["text"], "1890");
    let start = phrase["start"].as_u64().unwrap() as usize;
    assert!(answer["frame"]["context"].as_str().unwrap()[start..].starts_with("1890."));
    // A sentence of the question's words alone has no phrase.
    here.write("one/b.md", "# Bridge\n\nThe bridge was built when.\n");
    let ran = here.ir(&["ask", "one", question, "--reader", "lexical", "--json"]);
    assert!(ran.ok().out.contains(r#""phrase":null"#));
    here.ir(&["ask", "papers", question, "--reader", "nowhere"])
        .fails(1, &["nowhere"]);
}

/// Questions and frames with a byte order mark, in UTF-16 and compressed, as other text files.
#[test]
fn encodings_and_compression() {
    let here = papers();
    let ask = |args: &str| here.ir(args).ok().out;
    let expected = ask("ask papers 'What is tea?' --json");
    assert!(
        expected.contains(r#""question":"What is tea?""#),
        "{expected}"
    );
    let marked = "\u{feff}What is tea?\r\n";
    here.write("marked.txt", marked);
    let wide: Vec<u8> = marked.encode_utf16().flat_map(u16::to_le_bytes).collect();
    here.write("wide.txt", wide);
    let mut packed = ir_data::create(here.at("packed.txt.gz")).unwrap();
    std::io::Write::write_all(&mut packed, b"What is tea?\n").unwrap();
    packed.commit().unwrap();
    for questions in ["marked.txt", "wide.txt", "packed.txt.gz"] {
        let found = ask(&format!("ask papers --questions {questions} --json"));
        assert_eq!(found, expected, "{questions}");
    }
    here.ir("frames papers --scientific -o frames.jsonl").ok();
    let frames = here.read("frames.jsonl");
    here.write("marked.jsonl", format!("\u{feff}{frames}"));
    assert_eq!(ask("ask marked.jsonl 'What is tea?' --json"), expected);
    here.write("zeros.jsonl", [0_u8; 64]);
    here.ir("ask zeros.jsonl tea").fails(1, &["zeros.jsonl:1:"]);
    if cfg!(unix) {
        here.ir("ask papers --questions /dev/zero")
            .fails(1, &["/dev/zero:1: "]);
    }
}

/// One entry per paper of all answers, in the order of the answers.
#[test]
fn answers_as_bibtex() {
    let here = papers();
    here.write("questions.txt", "Where does tea come from?\nWhat is tea?\n");
    let ran = here
        .ir("ask papers --questions questions.txt -k 1 --bibtex")
        .ok();
    let expected = "@misc{2019tea,\n  title = {On tea},\n  year = {2019},\n  \
                    annote = {“It comes from Asia.” “Tea is a drink.”}\n}\n";
    assert_eq!(ran.out, expected);
    here.ir("ask papers tea --bibtex --json")
        .fails(2, &["--bibtex", "--json"]);
}

#[test]
fn bad_input() {
    let here = papers();
    here.write("empty/x.csv", "a,b");
    here.write("broken.jsonl", "{\"id\": 1}\n");
    here.write("blank.txt", "\n");
    here.errors(
        "
        ask empty tea
          1: empty: expected papers, found none
        ask broken.jsonl tea
          1: broken.jsonl:1: expected a frame
        ask papers --questions blank.txt
          1: expected questions, found none
        ask papers --questions nowhere.txt
          1: nowhere.txt:
        ask papers tea --context-weight=-1
          2: --context-weight: expected 0 or 1e-9..=1e9, found -1
        ask papers tea --near-questions=1.5
          2: --near-questions: expected 0..=1, found 1.5
        ask papers tea --function-words klingon
          2: --function-words
        ask papers
          2: QUESTION
    ",
    );
}

/// A power is a term, a row of a table an answer, and a paper with the DOI of another one is left
/// out.
#[test]
fn powers_rows_and_duplicates() {
    let here = Folder::new();
    let tea = "---\ntitle: On tea\ndoi: 10.9/TEA\n---\n\n## Growth\n\nWe grew 10<sup>4</sup> leaves. We saw 104 cups.\n\n\
        Table 1: Yields.\n\n| Tea | Grams |\n|--|--|\n| Assam | 30 |\n";
    here.write("papers/a.md", tea);
    here.write(
        "papers/b.md",
        tea.replace("10.9/TEA", "https://doi.org/10.9/tea"),
    );
    let ask = |question: &str| {
        let args = ["ask", "papers", question, "-k", "1", "--json"];
        let ran = here.ir(&args[..]).ok();
        let warning = "b.md: left out, because a.md has its DOI or arXiv id";
        assert!(ran.err.contains(warning), "{}", ran.err);
        ran.out
    };
    for question in ["10^4", "10⁴", "10<sup>4</sup>", "$10^{4}$"] {
        let answer = ask(question);
        assert!(
            answer.contains("We grew 10⁴ leaves."),
            "{question}: {answer}"
        );
    }
    assert!(ask("104").contains(r#""answer":"We saw 104 cups.""#));
    assert!(ask("grams of Assam").contains(r#""answer":"Table 1: Tea: Assam; Grams: 30""#));
    here.ir("frames papers -o frames.jsonl --report files.tsv")
        .ok();
    let report = here.read("files.tsv");
    assert!(report.contains("b.md\tread\tMarkdown\t1\t0\t"), "{report}");
    let rows = here.read("frames.jsonl");
    assert_eq!(rows.matches(r#""kind":"row""#).count(), 1);
}

#[test]
fn rows_of_long_tables_are_bounded() {
    let here = Folder::new();
    let rows: String = (0..1000).map(|n| format!("| cup{n} | {n} |\n")).collect();
    here.write(
        "papers/a.md",
        format!("# Cups\n\nText.\n\n| Cup | Size |\n|--|--|\n{rows}"),
    );
    let ran = here.ir("ask papers cup7 -k 1").ok();
    assert!(ran.out.contains("Cup: cup7; Size: 7"), "{}", ran.out);
    let warning = "1 file with rows of a table beyond the first 200, such as \"a.md\": left out";
    assert!(ran.err.contains(warning), "{}", ran.err);
}
