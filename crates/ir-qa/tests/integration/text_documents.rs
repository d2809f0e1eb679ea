//! Markdown and plain text: what is text of the paper, its metadata, and its sentences.

use ir_qa::documents::{DocumentFormat, DocumentReader, Paper};
use ir_qa::frames::FrameConfig;
use ir_qa::retrieval::{AnswerConfig, AnswerIndex};

fn read(text: &str, format: DocumentFormat) -> Paper {
    let reader = DocumentReader::default();
    let mut file = reader
        .read_bytes(text.as_bytes(), format, "f", "f")
        .unwrap();
    file.papers.remove(0)
}

/// Title, headings with their level, and paragraphs.
fn shown(text: &str, format: DocumentFormat) -> Vec<String> {
    let paper = read(text, format);
    let mut lines = vec![paper.title];
    for section in paper.sections {
        lines.push(format!(
            "{} {}",
            "#".repeat(section.level.into()),
            section.heading
        ));
        lines.extend(section.paragraphs.into_iter().map(|it| it.text));
    }
    lines
}

fn markdown(text: &str) -> Vec<String> {
    shown(text, DocumentFormat::Markdown)
}

fn plain(text: &str) -> Vec<String> {
    shown(text, DocumentFormat::Text)
}

#[test]
fn references_of_markdown_end_at_a_heading_of_their_level() {
    let text = "# Kettles\n\n## Method\n\nWe boil.\n\n## 5. Literature Cited\n\n- Cup, E. Who boils? 2001.\n\n\
        ### Further ones\n\nPot, B. Who pours? 2002.\n\n## Proofs\n\nIt boils.\n\n## Bibliographie\n\nTee, C. Qui boit ? 2003.";
    let expected = ["Kettles", "# Method", "We boil.", "# Proofs", "It boils."];
    assert_eq!(markdown(text), expected);
    let text = "# Kettles\n\nWe boil.\n\n**References**\n\nCup, E. Who boils? 2001.\n\n**Appendix**\n\nIt boils.";
    let expected = ["Kettles", "# ", "We boil.", "# Appendix", "It boils."];
    assert_eq!(markdown(text), expected);
    // An entry of a table of contents, and a title.
    let text = "# References\n\n- Method\n- References\n- Results\n\nWe boil.";
    let expected = [
        "References",
        "# ",
        "Method",
        "References",
        "Results",
        "We boil.",
    ];
    assert_eq!(markdown(text), expected);
}

#[test]
fn references_of_text_end_at_a_later_part() {
    let text = "Kettles\n\n1 Method\n\nWe boil.\n\n2 References\n\n[1] E. Cup. Who boils? 2001.\n\n\
        [2] B. Pot. Who pours? 2002.\n\nTEA QUARTERLY\n\n3 Proofs\n\nIt boils.\n\nBibliografía\nTé, C. 2003.\n\n\
        Appendix A: Tables\nThey boil.";
    let expected = [
        "Kettles",
        "# 1 Method",
        "We boil.",
        "# 3 Proofs",
        "It boils.",
        "# Appendix A: Tables",
        "They boil.",
    ];
    assert_eq!(plain(text), expected);
    let text = "Kettles\n\nWe boil tea,\nas the list of\nreferences\nsays. It is hot.\nReferences\n[1] E. Cup. Who boils? 2001.";
    let expected = [
        "Kettles",
        "# ",
        "We boil tea, as the list of references says. It is hot.",
    ];
    assert_eq!(plain(text), expected);
    // A table of contents.
    let text = "Kettles\n\nReferences\n\n1 Introduction\n\nWe boil.";
    assert_eq!(plain(text), ["Kettles", "# 1 Introduction", "We boil."]);
}

#[test]
fn hyphenated_words_are_joined() {
    let lines =
        "The kettle was pre-\nheated by a ther-\nmostat of 40-\nwatt lamps, an up-to-\ndate one.";
    let expected = "The kettle was preheated by a thermostat of 40-watt lamps, an up-to-date one.";
    assert_eq!(
        plain(&format!("Kettles\n\n{lines}")),
        ["Kettles", "# ", expected]
    );
    assert_eq!(
        markdown(&format!("# Kettles\n\n{lines}")),
        ["Kettles", "# ", expected]
    );
}

#[test]
fn metadata_of_markdown_are_yaml_or_toml() {
    let yaml = "---\ntitle: |\n  Kettles:\n  a trial # 1\nauthors:\n- {given: Eve, family: Cup}\n- \"Pot, Bo\" # second\n\
        date: 2014-02-03\njournal: 'Tea''s own'\ndoi: 10.9/x\n---\nWe boil.";
    let toml = "+++\ntitle = '''Kettles:\na trial # 1'''\nauthors = [\"Eve Cup\", \"Pot, Bo\"]\ndate = 2014-02-03\n\
        journal = \"Tea's own\"\ndoi = \"10.9/x\"\n+++\nWe boil.";
    for text in [yaml, toml] {
        let paper = read(text, DocumentFormat::Markdown);
        assert_eq!(paper.title, "Kettles: a trial # 1");
        assert_eq!(paper.authors, ["Eve Cup", "Pot, Bo"]);
        assert_eq!(
            (paper.year, paper.venue.as_deref()),
            (Some(2014), Some("Tea's own"))
        );
        assert_eq!(paper.metadata.text("doi"), Some("10.9/x"));
        assert_eq!(paper.paragraphs().count(), 1);
    }
    // Text between lines of hyphens is text.
    let text = "---\nWe boil tea.\n---\n\n# Kettles\n";
    assert_eq!(markdown(text), ["Kettles", "# ", "We boil tea."]);
}

#[test]
fn notation_of_pandoc_is_no_text() {
    let text = "## Kettles {#top}\n\n### Method {.unnumbered}\n\nTea boils [see @cup2001, p. 3; -@pot2002]. The list [a, b] \
        of me@tea.example [1] is [text @home; x].\n\n::: {#refs}\n:::\n\n### Set {a, b}\n\nAt 10<sup>4</sup> Pa<br>it boils for $t_1 < t_2$.";
    let expected = [
        "Kettles",
        "# Method",
        "Tea boils. The list [a, b] of me@tea.example [1] is [text @home; x].",
        "# Set {a, b}",
        "At 10⁴ Pa it boils for $t_1 < t_2$.",
    ];
    assert_eq!(markdown(text), expected);
}

/// The first heading is the title only above all others.
#[test]
fn titles_of_markdown_may_have_level_two() {
    let expected = ["f", "# Kettles", "We boil.", "# Cups", "We drink."];
    assert_eq!(
        markdown("## Kettles\n\nWe boil.\n\n## Cups\n\nWe drink."),
        expected
    );
    let expected = ["Kettles", "# ", "We boil.", "# Cups", "We drink."];
    assert_eq!(
        markdown("## Kettles\n\nWe boil.\n\n### Cups\n\nWe drink."),
        expected
    );
}

#[test]
fn chinese_and_japanese_are_split_and_found_without_an_option() {
    let text = "# 水壶\n\n水壶里的水在一百度\n沸腾。“它很热吗？”他问。我们等了三分钟（见图二）。\n\n\
        やかんの水は百度で沸く。「熱いですか？」と彼女は聞いた。";
    let paper = read(text, DocumentFormat::Markdown);
    let frames = FrameConfig::default().convert_paper(&paper).frames;
    let answers: Vec<&str> = frames.iter().map(|frame| &*frame.answer).collect();
    let expected = [
        "水壶",
        "水壶里的水在一百度沸腾。",
        "“它很热吗？”",
        "我们等了三分钟（见图二）。",
        "やかんの水は百度で沸く。",
        "「熱いですか？」と彼女は聞いた。",
    ];
    assert_eq!(answers, expected);
    let index = AnswerIndex::lexical(frames, &AnswerConfig::default()).unwrap();
    for (question, answer) in [
        ("水什么时候沸腾？", expected[1]),
        ("彼女は何を聞いた？", expected[5]),
    ] {
        let answers = index.answers(question, 1, None).unwrap();
        assert_eq!(answers[0].frame.answer, answer);
    }
}
