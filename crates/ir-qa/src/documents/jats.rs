//! JATS: articles of publishers and PubMed Central.

use super::paper::{Paper, year_in};
use super::running_text::Script;
use super::table::{Cell, Table};
use super::xml::{Element, Node, Role, common_role};
use super::{mathml, tex};
use crate::word_class::WordClass;

/// Blocks inside of a paragraph that are no part of its text.
static NOT_INLINE: WordClass = WordClass::new(
    "boxed-text def-list disp-quote fig fig-group fn-group graphic list media p ref-list speech
    statement supplementary-material table-wrap table-wrap-group",
);
/// Blocks inside of a paragraph that are part of its text.
static INLINE_BLOCKS: WordClass = WordClass::new(
    "array attrib chem-struct-wrap code disp-formula-group label preformat td th title tr
    verse-group verse-line",
);
/// Elements without running text.
static SKIPPED: WordClass = WordClass::new(
    "alternatives fn fn-group graphic label media object-id ref-list supplementary-material table
    tex-math title",
);
/// Abstracts for other purposes than reading.
const OTHER_ABSTRACTS: [&str; 4] = ["graphical", "precis", "teaser", "toc"];

/// Reads the root `article`.
pub(super) fn read(root: &Element, id: &str) -> Paper {
    let mut paper = Paper::new(id);
    if let Some(meta) = root.find(&["front", "article-meta"]) {
        read_metadata(meta, &mut paper);
    }
    let journal = root.find(&["front", "journal-meta"]);
    let names = [
        &["journal-title-group", "journal-title"][..],
        &["journal-title"],
    ];
    paper.venue = journal
        .and_then(|journal| names.iter().find_map(|path| journal.find(path)))
        .map(Element::text)
        .filter(|venue| !venue.is_empty());
    for part in ["body", "back"] {
        if let Some(part) = root.find(&[part]) {
            // For text before the first section.
            paper.push_section(1, "");
            read_blocks(part, 1, &mut paper);
        }
    }
    paper.remove_empty_sections();
    paper
}

fn read_metadata(meta: &Element, paper: &mut Paper) {
    if let Some(title) = meta.find(&["title-group", "article-title"]) {
        let mut text = inline_text(title);
        if let Some(subtitle) = meta.find(&["title-group", "subtitle"]) {
            text = format!("{text}: {}", inline_text(subtitle));
        }
        paper.title = text;
    }
    for contributor in meta.descendants("contrib") {
        if contributor.attribute("contrib-type").unwrap_or("author") == "author" {
            paper.authors.extend(author_name(contributor));
        }
    }
    let dates = meta.elements().filter(|e| e.name == "pub-date");
    let years = dates.filter_map(|date| date.find(&["year"]));
    paper.year = years.filter_map(|year| year_in(&year.text())).min();
    for id in meta.all("article-id") {
        if let Some(kind @ ("doi" | "pmid" | "pmc" | "pmcid" | "arxiv")) =
            id.attribute("pub-id-type")
        {
            paper.metadata.set(kind, id.text());
        }
    }
    let keywords: Vec<String> = meta
        .descendants("kwd")
        .iter()
        .map(|word| word.text())
        .collect();
    if !keywords.is_empty() {
        paper.metadata.set("keywords", keywords);
    }
    for summary in meta.all("abstract") {
        let kind = summary.attribute("abstract-type").unwrap_or_default();
        if !OTHER_ABSTRACTS.contains(&kind) {
            let heading = summary.find(&["title"]).map(inline_text);
            paper.push_section(1, &heading.unwrap_or_else(|| "Abstract".to_owned()));
            read_blocks(summary, 2, paper);
        }
    }
}

fn author_name(contributor: &Element) -> Option<String> {
    let person = contributor
        .find(&["name"])
        .or_else(|| contributor.find(&["name-alternatives", "name"]));
    let name = match person {
        Some(person) => {
            let part = |name| person.find(&[name]).map(Element::text);
            let parts = [part("given-names"), part("surname"), part("suffix")];
            parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
        }
        None => {
            let other = ["string-name", "collab"];
            other
                .iter()
                .find_map(|name| contributor.find(&[name]))?
                .text()
        }
    };
    (!name.is_empty()).then_some(name)
}

/// Sections and paragraphs of an element. The depth of elements is limited by the parser.
fn read_blocks(parent: &Element, level: u8, paper: &mut Paper) {
    for element in parent.elements() {
        read_block(element, level, paper);
    }
}

fn read_block(element: &Element, level: u8, paper: &mut Paper) {
    match element.name.as_str() {
        "sec" | "app" | "ack" => {
            let heading = element.find(&["title"]).map(inline_text);
            let heading = heading.filter(|heading| !heading.is_empty());
            let default = match element.name.as_str() {
                "ack" => "Acknowledgments",
                _ => "",
            };
            paper.push_section(level, heading.as_deref().unwrap_or(default));
            read_blocks(element, level.saturating_add(1), paper);
        }
        "p" => {
            let text = inline_text(element);
            if !is_doi(&text) {
                paper.push_paragraph(&text, None);
            }
            read_blocks_in_paragraph(element, level, paper);
        }
        "def-item" => read_definition(element, level, paper),
        "disp-formula" => {
            paper.push_formula(&formula_text(element), markup_of(element), None);
        }
        "table-wrap" => {
            read_blocks(element, level, paper);
            let label = element.find(&["label"]).map(inline_text);
            for table in element.descendants("table") {
                read_table(table, label.as_deref().unwrap_or_default(), paper);
            }
        }
        "caption" => {
            let parts = element.elements().filter(|it| it.name != "object-id");
            let parts: Vec<String> = parts.map(inline_text).filter(|it| !is_doi(it)).collect();
            paper.push_paragraph(&parts.join(" "), None);
        }
        name if SKIPPED.contains(name) => {}
        _ => read_blocks(element, level, paper),
    }
}

/// Returns `true` for a paragraph that is a DOI, as eLife writes below figures and abstracts.
fn is_doi(text: &str) -> bool {
    let doi = text.strip_prefix("DOI:").map(str::trim);
    doi.is_some_and(|doi| doi.contains("10.") && !doi.contains(char::is_whitespace))
}

/// Lists, figures and other blocks inside of a paragraph.
fn read_blocks_in_paragraph(paragraph: &Element, level: u8, paper: &mut Paper) {
    for element in paragraph.elements() {
        let name = element.name.as_str();
        if name == "disp-formula" {
            if let Some(markup) = markup_of(element) {
                paper.keep_formula(&formula_text(element), Some(markup), None);
            }
        } else if NOT_INLINE.contains(name) || SKIPPED.contains(name) {
            read_block(element, level, paper);
        } else {
            read_blocks_in_paragraph(element, level, paper);
        }
    }
}

fn read_table(table: &Element, label: &str, paper: &mut Paper) {
    let mut rows = Table::new(label);
    for part in table.elements() {
        let of_part = match part.name.as_str() {
            "tr" => vec![part],
            _ => part.descendants("tr"),
        };
        for row in of_part {
            let cells = row.elements();
            for cell in cells.filter(|cell| matches!(cell.name.as_str(), "td" | "th")) {
                let [columns, lines] = ["colspan", "rowspan"].map(|name| cell.attribute(name));
                rows.push_cell(Cell {
                    text: inline_text(cell),
                    ..Cell::new(cell.name == "th", columns, lines)
                });
            }
            rows.end_row(part.name == "thead");
        }
    }
    rows.push_to(paper, None);
}

/// Reads an item of a definition list: the term is the start of its definition.
fn read_definition(item: &Element, level: u8, paper: &mut Paper) {
    let terms: Vec<String> = item.all("term").map(inline_text).collect();
    let term = terms.join(", ");
    let mut definitions = Paper::default();
    for definition in item.all("def") {
        read_blocks(definition, level, &mut definitions);
    }
    let mut definitions = definitions.paragraphs();
    let first = definitions.next().map_or("", |first| &first.text);
    let is_pair = !term.is_empty() && !first.is_empty();
    let separator = if is_pair { ": " } else { "" };
    paper.push_paragraph(&format!("{term}{separator}{first}"), None);
    for other in definitions {
        paper.push_paragraph(&other.text, None);
    }
}

/// Text of an element without the blocks in it.
fn inline_text(element: &Element) -> String {
    element.running_text(&role)
}

fn role(element: &Element) -> Role {
    match element.name.as_str() {
        "fn" | "object-id" | "tex-math" => Role::Omitted,
        "sup" => Role::Script(Script::Superscript),
        "sub" => Role::Script(Script::Subscript),
        "xref" => Role::ReferenceMark {
            is_citation: matches!(
                element.attribute("ref-type"),
                Some("bibr" | "fn" | "table-fn")
            ),
        },
        "inline-formula" => tex_of(element).map_or(Role::Inline, Role::Replaced),
        "disp-formula" => Role::ReplacedBlock(formula_text(element)),
        name if INLINE_BLOCKS.contains(name) => Role::Block,
        name if NOT_INLINE.contains(name) => Role::OmittedBlock,
        _ => common_role(element),
    }
}

/// Text of a displayed formula without its number: of MathML, or else TeX.
fn formula_text(formula: &Element) -> String {
    let math = formula.descendants("math");
    if let Some(math) = math.first() {
        return inline_text(math);
    }
    let tex = formula.descendants("tex-math");
    match tex.first().and_then(|tex| tex_text(tex)) {
        Some(tex) => tex,
        None => formula.running_text(&|element| match element.name.as_str() {
            "label" => Role::Omitted,
            _ => role(element),
        }),
    }
}

fn markup_of(formula: &Element) -> Option<String> {
    formula
        .descendants("math")
        .first()
        .map(|math| mathml::markup(math))
}

/// TeX of an inline formula without other text.
fn tex_of(formula: &Element) -> Option<String> {
    if !is_tex_alone(formula) {
        return None;
    }
    tex_text(formula.descendants("tex-math").first()?)
}

/// TeX of a formula: a number, or between dollar signs as in Markdown.
fn tex_text(tex: &Element) -> Option<String> {
    let tex = tex.text();
    let body = tex
        .split_once("\\begin{document}")
        .map_or(&*tex, |(_, body)| body);
    let body = body
        .split_once("\\end{document}")
        .map_or(body, |(body, _)| body);
    let body = body.trim().trim_matches('$').trim();
    let delimiters = [("\\(", "\\)"), ("\\[", "\\]")];
    let mut bodies = delimiters
        .iter()
        .filter_map(|(start, end)| body.strip_prefix(start)?.strip_suffix(end));
    let body = bodies.next().unwrap_or(body).trim();
    (!body.is_empty()).then(|| tex::number(body).unwrap_or_else(|| format!("${body}$")))
}

fn is_tex_alone(element: &Element) -> bool {
    element.children.iter().all(|node| match node {
        Node::Text(text) => text.trim().is_empty(),
        Node::Element(element) => element.name == "tex-math" || is_tex_alone(element),
    })
}
