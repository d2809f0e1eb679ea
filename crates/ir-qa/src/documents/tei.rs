//! TEI, as GROBID writes it.

use std::iter;

use super::hyphens::Hyphens;
use super::mathml;
use super::paper::{Paper, year_in};
use super::running_text::Script;
use super::table::{Cell, Table};
use super::xml::{Element, Role, common_role};
use crate::word_class::WordClass;

/// Elements without running text.
static SKIPPED: WordClass = WordClass::new("biblStruct figure graphic listBibl note table");

/// Blocks inside of a paragraph that are no part of its text.
static NOT_INLINE: WordClass =
    WordClass::new("biblStruct figure floatingText graphic list listBibl table");
/// Blocks inside of a paragraph that are part of its text.
static INLINE_BLOCKS: WordClass = WordClass::new("ab cit eg head item l label lg p quote said sp");

/// Reads the root `TEI`.
pub(super) fn read(root: &Element, id: &str) -> Paper {
    let mut paper = Paper::new(id);
    if let Some(header) = root.find(&["teiHeader"]) {
        read_header(header, &mut paper);
    }
    let has_lines = !root.descendants("lb").is_empty();
    let mut reader = BodyReader {
        paper: &mut paper,
        page: None,
        hyphens: has_lines.then(|| Hyphens::new(iter::once(root.text().as_str()))),
    };
    if let Some(summary) = root.find(&["teiHeader", "profileDesc", "abstract"])
        && !summary.text().is_empty()
    {
        reader.paper.push_section(1, "Abstract");
        reader.read_blocks(summary, 2);
    }
    for part in ["body", "back"] {
        if let Some(part) = root.find(&["text", part]) {
            // For text before the first section.
            reader.paper.push_section(1, "");
            reader.read_blocks(part, 1);
        }
    }
    paper.remove_empty_sections();
    paper
}

fn read_header(header: &Element, paper: &mut Paper) {
    let title = header.find(&["fileDesc", "titleStmt", "title"]);
    paper.title = title.map(inline_text).unwrap_or_default();
    let source = header.find(&["fileDesc", "sourceDesc", "biblStruct"]);
    let Some(source) = source else { return };
    for author in source.descendants("author") {
        let parts: Vec<String> = match author.find(&["persName"]) {
            Some(name) => {
                let names = name
                    .elements()
                    .filter(|e| matches!(e.name.as_str(), "forename" | "surname"));
                names.map(Element::text).collect()
            }
            None => Vec::new(),
        };
        if !parts.is_empty() {
            paper.authors.push(parts.join(" "));
        }
    }
    paper.venue = source
        .find(&["monogr", "title"])
        .map(Element::text)
        .filter(|v| !v.is_empty());
    let dates = source.descendants("date").into_iter();
    let years = dates.filter_map(|date| year_in(date.attribute("when").unwrap_or(&date.text())));
    let published = header.find(&["fileDesc", "publicationStmt", "date"]);
    let published =
        published.and_then(|date| year_in(date.attribute("when").unwrap_or(&date.text())));
    paper.year = published.or_else(|| years.min());
    for id in source.descendants("idno") {
        if let Some(kind @ ("DOI" | "arXiv" | "PMID" | "PMCID")) = id.attribute("type") {
            paper.metadata.set(kind.to_lowercase(), id.text());
        }
    }
    let keywords = header.descendants("keywords").into_iter();
    let terms: Vec<String> = keywords
        .flat_map(|k| k.descendants("term"))
        .map(Element::text)
        .collect();
    if !terms.is_empty() {
        paper.metadata.set("keywords", terms);
    }
}

struct BodyReader<'a> {
    paper: &'a mut Paper,
    /// Page of the last page break.
    page: Option<u32>,
    /// Words of a document with line breaks.
    hyphens: Option<Hyphens>,
}

impl BodyReader<'_> {
    fn read_blocks(&mut self, parent: &Element, level: u8) {
        for element in parent.elements() {
            match element.name.as_str() {
                "div" => {
                    // GROBID nests no divisions; a number such as `2.1` has the depth.
                    let depth = element.find(&["head"]).and_then(|head| head.attribute("n"));
                    let depth = depth.map_or(0, |n| n.trim_end_matches('.').matches('.').count());
                    let depth = u8::try_from(depth).unwrap_or(u8::MAX);
                    if let Some(heading) = default_heading(element) {
                        self.paper.push_section(level, heading);
                    }
                    self.read_blocks(element, level.saturating_add(depth));
                }
                // A heading of a list is none of a section.
                "head" | "label" if parent.name == "list" => self.read_paragraph(element, level),
                "head" => {
                    let heading = self.inline_text(element);
                    self.paper.push_section(level, &heading);
                    let page = self.page_of(element);
                    if let Some(section) = self.paper.sections.last_mut() {
                        section.page = page;
                    }
                }
                "p" | "ab" | "item" => self.read_paragraph(element, level),
                "figDesc" => {
                    let (text, page) = (self.inline_text(element), self.page_of(element));
                    self.paper.push_paragraph(&text, page);
                }
                "figure" => self.read_figure(element),
                "formula" => {
                    let (text, page) = (formula_text(element), self.page_of(element));
                    self.paper.push_formula(&text, markup_of(element), page);
                }
                "table" => self.read_table(element, ""),
                "pb" => self.read_page_break(element),
                name if SKIPPED.contains(name) => {}
                _ => self.read_blocks(element, level),
            }
        }
    }

    /// Page of the coordinates (`page,x,y,width,height;...`) of an element or of its first child
    /// that has some, or of the last page break.
    fn page_of(&self, element: &Element) -> Option<u32> {
        let own = element.attribute("coords");
        let coordinates = own.or_else(|| element.elements().find_map(|e| e.attribute("coords")));
        let page = coordinates.and_then(|text| text.split(',').next()?.trim().parse().ok());
        page.or(self.page)
    }

    fn read_page_break(&mut self, element: &Element) {
        let number = element.attribute("n").and_then(|n| n.trim().parse().ok());
        self.page = number.or(self.page.map(|page| page + 1));
    }

    fn read_paragraph(&mut self, paragraph: &Element, level: u8) {
        let (text, page) = (self.inline_text(paragraph), self.page_of(paragraph));
        self.paper.push_paragraph(&text, page);
        self.read_blocks_in_paragraph(paragraph, level);
    }

    fn read_figure(&mut self, figure: &Element) {
        if let Some(caption) = figure.find(&["figDesc"]) {
            let (text, page) = (self.inline_text(caption), self.page_of(figure));
            self.paper.push_paragraph(&text, page);
        }
        let head = figure.find(&["head"]).map(inline_text);
        for table in figure.all("table") {
            self.read_table(table, head.as_deref().unwrap_or_default());
        }
    }

    /// Reads the rows of a table. GROBID marks no row as the one with names of columns.
    fn read_table(&mut self, table: &Element, label: &str) {
        let mut rows = Table::new(label);
        for row in table.descendants("row") {
            for cell in row.all("cell") {
                let is_header = cell.attribute("role") == Some("label");
                let [columns, lines] = ["cols", "rows"].map(|name| cell.attribute(name));
                rows.push_cell(Cell {
                    text: self.inline_text(cell),
                    ..Cell::new(is_header, columns, lines)
                });
            }
            rows.end_row(row.attribute("role") == Some("label"));
        }
        let page = self.page_of(table);
        rows.with_first_row_as_header().push_to(self.paper, page);
    }

    /// Lists, figures, formulas and page breaks inside of a paragraph.
    fn read_blocks_in_paragraph(&mut self, paragraph: &Element, level: u8) {
        for element in paragraph.elements() {
            match element.name.as_str() {
                "pb" => self.read_page_break(element),
                "list" => self.read_blocks(element, level),
                "figure" => self.read_figure(element),
                "formula" => {
                    if let Some(markup) = markup_of(element) {
                        let (text, page) = (formula_text(element), self.page);
                        self.paper.keep_formula(&text, Some(markup), page);
                    }
                }
                name if SKIPPED.contains(name) => self.read_page_breaks(element),
                _ => self.read_blocks_in_paragraph(element, level),
            }
        }
    }

    /// Text of an element. Words that are hyphenated at the end of a line are joined.
    fn inline_text(&self, element: &Element) -> String {
        let Some(hyphens) = &self.hyphens else {
            return inline_text(element);
        };
        let text = element.running_text(&|element| match role_of_line_break(element) {
            Some(role) => role,
            None => role(element),
        });
        hyphens.join(text.split(LINE_BREAK))
    }

    fn read_page_breaks(&mut self, parent: &Element) {
        for page_break in parent.descendants("pb") {
            self.read_page_break(page_break);
        }
    }
}

fn inline_text(element: &Element) -> String {
    element.running_text(&role)
}

/// Stands for a line break until lines are joined. XML has no such character.
const LINE_BREAK: char = '\u{1f}';

fn role_of_line_break(element: &Element) -> Option<Role> {
    let is_within_word = element.attribute("break") == Some("no");
    (element.name == "lb" && !is_within_word).then(|| Role::Replaced(LINE_BREAK.to_string()))
}

/// Heading of a division without one that GROBID names by its type.
fn default_heading(division: &Element) -> Option<&'static str> {
    let heading = match division.attribute("type")? {
        "acknowledgement" | "acknowledgements" | "acknowledgment" => "Acknowledgments",
        "annex" => "Appendix",
        "availability" => "Availability",
        "funding" => "Funding",
        _ => return None,
    };
    division.descendants("head").is_empty().then_some(heading)
}

fn role(element: &Element) -> Role {
    match element.name.as_str() {
        "note" => Role::Omitted,
        "ref" => Role::ReferenceMark {
            is_citation: matches!(element.attribute("type"), Some("bibr" | "foot" | "fn")),
        },
        "formula" => Role::ReplacedBlock(formula_text(element)),
        "hi" => script_of(element).map_or(Role::Inline, Role::Script),
        name if NOT_INLINE.contains(name) => Role::OmittedBlock,
        name if INLINE_BLOCKS.contains(name) => Role::Block,
        _ => common_role(element),
    }
}

/// Text of a formula without its number.
fn formula_text(formula: &Element) -> String {
    formula.running_text(&|element| match element.name.as_str() {
        "label" => Role::Omitted,
        _ => role(element),
    })
}

fn markup_of(formula: &Element) -> Option<String> {
    let math = formula.descendants("math");
    math.first().map(|math| mathml::markup(math))
}

/// Script that `rend` names, such as `superscript` or `italic sub`.
fn script_of(element: &Element) -> Option<Script> {
    let mut words = element.attribute("rend")?.split_whitespace();
    words.find_map(|word| match word {
        "sup" | "super" | "superscript" => Some(Script::Superscript),
        "sub" | "subscript" => Some(Script::Subscript),
        _ => None,
    })
}
