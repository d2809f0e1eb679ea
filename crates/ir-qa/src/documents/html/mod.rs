//! HTML pages, with the metadata that publishers and arXiv give.
//!
//! The text of a page needs the order of tags, not a DOM with the repairs of browsers. html5gum
//! implements the tokenizer of the standard without dependencies, in linear time on any input.

mod byline;
mod formula;
mod purpose;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::iter;

use byline::Byline;
use formula::Formulas;
use html5gum::{StartTag, Token, Tokenizer, naive_next_state};
use purpose::{Purpose, attribute, is_citation_address, purpose, tracked_name};
use table::{OpenTable, is_part};

use super::paper::{Paper, single_spaced, year_in};
use super::references::is_reference_heading;
use super::running_text::{RunningText, Script};
use crate::word_class::WordClass;

/// Skipped elements inside of paragraphs that separate words.
static SEPARATING: WordClass =
    WordClass::new("button canvas datalist iframe object select textarea");
/// Skipped elements with raw text as content.
const RAW: [&str; 5] = ["iframe", "noscript", "script", "style", "textarea"];
/// Elements that start and end a paragraph: the block elements of the HTML Standard's style sheet,
/// and the title of the page. Other elements, such as MathML elements, are inside a paragraph.
static BLOCKS: WordClass = WordClass::new(
    "address article aside blockquote body caption center dd details dialog dir div dl dt
    fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 head header hgroup hr html legend
    li main menu nav ol optgroup p pre search section summary table title ul",
);

/// Reads a page. Every text is a page to a parser of HTML.
pub(super) fn read(text: &str, id: &str) -> Paper {
    let mut page = PageReader {
        unclosed: unclosed_elements(text),
        tracked: 0,
        paper: Paper::new(id),
        text: RunningText::default(),
        formulas: Formulas::default(),
        table: None,
        collecting: Collecting::Paragraph,
        references: None,
        skipped: None,
        byline: None,
        page_title: String::new(),
        authors: BTreeSet::new(),
    };
    for token in tokens(text) {
        match token {
            Token::StartTag(tag) => page.start(&tag),
            Token::EndTag(tag) => page.end(&String::from_utf8_lossy(&tag.name)),
            Token::String(text) => page.push_text(&String::from_utf8_lossy(&text.value)),
            _ => {}
        }
    }
    page.flush();
    page.finish()
}

/// Tokens of a page. XHTML has empty scripts and titles.
fn tokens(text: &str) -> impl Iterator<Item = Token> {
    let mut tokens = Tokenizer::new(text);
    iter::from_fn(move || {
        let Ok(token) = tokens.next()?;
        if let Token::StartTag(tag) = &token
            && let Some(state) = naive_next_state(&tag.name).filter(|_| !tag.self_closing)
        {
            tokens.set_state(state);
        }
        Some(token)
    })
}

/// Element to which text belongs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Collecting {
    Paragraph,
    Heading(u8),
    PageTitle,
}

/// Numbers of the start tags of tracked elements that no end tag closes, in the order of the text.
/// [`RAW`] elements are not among them: they end with the page.
fn unclosed_elements(text: &str) -> Vec<u64> {
    let mut open: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    let mut number = 0;
    for token in tokens(text) {
        match token {
            Token::StartTag(tag) => {
                if let Some(name) = tracked_name(&tag.name) {
                    if !tag.self_closing && !RAW.contains(&name) {
                        open.entry(name).or_default().push(number);
                    }
                    number += 1;
                }
            }
            Token::EndTag(tag) => {
                if let Some(numbers) = tracked_name(&tag.name).and_then(|it| open.get_mut(it)) {
                    numbers.pop();
                }
            }
            _ => {}
        }
    }
    let mut unclosed: Vec<u64> = open.into_values().flatten().collect();
    unclosed.sort_unstable();
    unclosed
}

struct PageReader {
    /// Numbers of the start tags of tracked elements without end tag, ascending. They are not
    /// skipped.
    unclosed: Vec<u64>,
    /// Number of start tags of tracked elements so far.
    tracked: u64,
    paper: Paper,
    text: RunningText,
    formulas: Formulas,
    /// Open table with rows.
    table: Option<OpenTable>,
    collecting: Collecting,
    /// Level of the heading of the list of references, which the next heading of this or a higher
    /// level ends.
    references: Option<u8>,
    /// Name of the outermost skipped element, and the number of open elements of this name.
    skipped: Option<(String, u64)>,
    /// Metadata in the skipped element.
    byline: Option<Byline>,
    page_title: String,
    /// Authors, which both kinds of metadata may name.
    authors: BTreeSet<String>,
}

impl PageReader {
    fn start(&mut self, tag: &StartTag<()>) {
        let name = String::from_utf8_lossy(&tag.name);
        let is_closed = tracked_name(&tag.name).is_some() && {
            self.tracked += 1;
            let number = self.tracked - 1;
            self.unclosed.binary_search(&number).is_err()
        };
        if let Some((skipped, open)) = &mut self.skipped {
            if *skipped == name && is_closed && !tag.self_closing {
                *open += 1;
            }
            if let Some(byline) = &mut self.byline {
                byline.start(tag);
            }
            return;
        }
        let purpose = if is_closed {
            purpose(&name, tag)
        } else {
            Purpose::Text
        };
        let is_table = name == "table" && is_closed && !tag.self_closing;
        if is_table && matches!(purpose, Purpose::Text | Purpose::Table) {
            let has_rows = purpose == Purpose::Table;
            if self.table.is_some() || has_rows {
                self.flush();
            }
            match &mut self.table {
                Some(open) => open.start_inner(has_rows),
                None if has_rows => self.table = Some(OpenTable::default()),
                None => {}
            }
        } else if purpose != Purpose::Text {
            if BLOCKS.contains(&name) {
                self.flush();
            } else if SEPARATING.contains(&name) {
                self.text.separate();
            }
            if !tag.self_closing {
                self.skipped = Some((name.into_owned(), 1));
                self.byline = match purpose {
                    Purpose::Byline(kind) => Some(Byline::new(kind)),
                    Purpose::Text | Purpose::Table | Purpose::Omitted => None,
                };
            }
            return;
        }
        match &*name {
            "meta" => self.read_meta(tag),
            "br" => self.text.separate(),
            "sup" if !tag.self_closing => self.text.open(Script::Superscript),
            "sub" if !tag.self_closing => self.text.open(Script::Subscript),
            "a" => {
                self.text.end_mark();
                let address = attribute(tag, "href");
                if let Some(address) = address.filter(|address| address.contains('#')) {
                    let is_citation = is_citation_address(&address) || self.text.is_raised();
                    self.text.start_mark(is_citation);
                }
            }
            part if self.table.is_some() && is_part(part) => {
                self.flush();
                if let Some(table) = &mut self.table {
                    table.start(part, tag);
                }
            }
            block if BLOCKS.contains(block) => {
                self.flush();
                self.collecting = match (block, heading_level(block)) {
                    ("title", _) => Collecting::PageTitle,
                    (_, Some(level)) => Collecting::Heading(level),
                    _ => Collecting::Paragraph,
                };
            }
            name if name == "math" || self.formulas.is_open() => {
                self.formulas.start(name, tag, &mut self.text);
            }
            _ => {}
        }
    }

    fn push_text(&mut self, text: &str) {
        if self.skipped.is_some() {
            if let Some(byline) = &mut self.byline {
                byline.push(text);
            }
            return;
        }
        self.formulas.push_text(text, &mut self.text);
    }

    fn end(&mut self, name: &str) {
        if let Some((skipped, open)) = &mut self.skipped {
            if skipped == name {
                *open -= 1;
            }
            if let Some(byline) = &mut self.byline {
                byline.end(name);
            }
            // The end of the page ends elements without end tag.
            if *open == 0 || name == "body" {
                self.skipped = None;
                if let Some(byline) = self.byline.take() {
                    byline.finish(&mut self.paper);
                }
            }
            return;
        }
        match name {
            "sup" => self.text.close(Script::Superscript),
            "sub" => self.text.close(Script::Subscript),
            "a" => self.text.end_mark(),
            part if self.table.is_some() && is_part(part) => {
                self.flush();
                let table = self.table.take_if(|table| table.end(part));
                if let Some(table) = table.filter(|_| self.references.is_none()) {
                    table.push_to(&mut self.paper);
                }
            }
            block if BLOCKS.contains(block) => {
                self.flush();
                self.collecting = Collecting::Paragraph;
            }
            _ => self.formulas.end(name, &mut self.text),
        }
    }

    /// Ends the paragraph or heading.
    fn flush(&mut self) {
        let text = self.text.take();
        let formulas = self.formulas.take();
        if text.is_empty() {
            return;
        }
        if let Some(table) = &mut self.table
            && table.push_text(&text)
        {
            return;
        }
        if let Some(list) = self.references {
            match self.collecting {
                Collecting::Heading(level) if level <= list => self.references = None,
                Collecting::PageTitle => {}
                Collecting::Heading(_) | Collecting::Paragraph => return,
            }
        }
        match self.collecting {
            Collecting::Paragraph if formulas.is_alone && formulas.displayed.is_empty() => {
                self.paper.push_formula(&text, None, None);
            }
            Collecting::Paragraph if formulas.is_alone => {
                for (text, markup) in formulas.displayed {
                    self.paper.push_formula(&text, Some(markup), None);
                }
            }
            Collecting::Paragraph => {
                self.paper.push_paragraph(&text, None);
                for (text, markup) in formulas.displayed {
                    self.paper.keep_formula(&text, Some(markup), None);
                }
            }
            Collecting::PageTitle => self.page_title = text,
            Collecting::Heading(1) if self.paper.title.is_empty() => self.paper.title = text,
            // The heading that repeats the title of the metadata.
            Collecting::Heading(1) if self.paper.title == text => {}
            Collecting::Heading(level) if is_reference_heading(&text) => {
                self.references = Some(level);
            }
            Collecting::Heading(level) => {
                self.paper
                    .push_section(level.saturating_sub(1).max(1), &text);
            }
        }
    }

    /// Reads metadata in the names of Highwire Press and Dublin Core.
    fn read_meta(&mut self, tag: &StartTag<()>) {
        let spaced = |name| attribute(tag, name).map(|value| single_spaced(&value));
        let (Some(name), Some(content)) = (spaced("name"), spaced("content")) else {
            return;
        };
        if content.is_empty() {
            return;
        }
        let paper = &mut self.paper;
        match name.to_ascii_lowercase().as_str() {
            "citation_title" => paper.title = content,
            "dc.title" if paper.title.is_empty() => paper.title = content,
            "citation_author" | "dc.creator" => {
                let name = match content.split_once(", ") {
                    Some((surname, given)) => format!("{given} {surname}"),
                    None => content,
                };
                if self.authors.insert(name.clone()) {
                    paper.authors.push(name);
                }
            }
            "citation_publication_date" | "citation_date" | "citation_year" | "dc.date" => {
                paper.year = paper.year.or_else(|| year_in(&content));
            }
            "citation_journal_title" | "citation_conference_title" => paper.venue = Some(content),
            "citation_doi" | "prism.doi" => paper.metadata.set("doi", content),
            "dc.identifier" if content.contains("10.") && content.contains('/') => {
                paper.metadata.set("doi", content);
            }
            "citation_arxiv_id" => paper.metadata.set("arxiv", content),
            _ => {}
        }
    }

    fn finish(mut self) -> Paper {
        if self.paper.title.is_empty() {
            self.paper.title = self.page_title;
        }
        self.paper
    }
}

fn heading_level(name: &str) -> Option<u8> {
    match name.as_bytes() {
        [b'h', digit @ b'1'..=b'6'] => Some(digit - b'0'),
        _ => None,
    }
}
