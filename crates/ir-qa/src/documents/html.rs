//! HTML pages, with the metadata that publishers and arXiv give.
//!
//! The text of a page needs the order of tags, not a DOM with the repairs of browsers. html5gum
//! implements the tokenizer of the standard without dependencies, in linear time on any input.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;

use html5gum::{StartTag, Token, Tokenizer, naive_next_state};

use super::paper::{Paper, single_spaced, year_in};
use crate::word_class::WordClass;

/// Elements without text for readers: scripts, styles, navigation, controls, tables of numbers.
static SKIPPED: WordClass = WordClass::new(
    "annotation annotation-xml aside button canvas datalist footer iframe nav noscript object
    pre script select style svg table template textarea",
);
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
        skippable: 0,
        paper: Paper::new(id),
        text: String::new(),
        collecting: Collecting::Paragraph,
        skipped: None,
        page_title: String::new(),
        authors: BTreeSet::new(),
    };
    for token in tokens(text) {
        match token {
            Token::StartTag(tag) => page.start(&tag),
            Token::EndTag(tag) => page.end(&String::from_utf8_lossy(&tag.name)),
            Token::String(text) if page.skipped.is_none() => {
                page.text.push_str(&String::from_utf8_lossy(&text.value));
            }
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

/// Numbers of the start tags of [`SKIPPED`] elements that no end tag closes, in the order of the
/// text. [`RAW`] elements are not among them: they end with the page.
fn unclosed_elements(text: &str) -> BTreeSet<u64> {
    let mut open: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    let mut number = 0;
    for token in tokens(text) {
        match token {
            Token::StartTag(tag) => {
                if let Some(name) = skipped_name(&tag.name) {
                    if !tag.self_closing && !RAW.contains(&name) {
                        open.entry(name).or_default().push(number);
                    }
                    number += 1;
                }
            }
            Token::EndTag(tag) => {
                if let Some(numbers) = skipped_name(&tag.name).and_then(|it| open.get_mut(it)) {
                    numbers.pop();
                }
            }
            _ => {}
        }
    }
    open.into_values().flatten().collect()
}

fn skipped_name(name: &[u8]) -> Option<&'static str> {
    SKIPPED.get(std::str::from_utf8(name).ok()?)
}

struct PageReader {
    /// Numbers of the start tags of elements without end tag, which are not skipped.
    unclosed: BTreeSet<u64>,
    /// Number of start tags of [`SKIPPED`] elements so far.
    skippable: u64,
    paper: Paper,
    text: String,
    collecting: Collecting,
    /// Name of the outermost skipped element, and the number of open elements of this name.
    skipped: Option<(String, u64)>,
    page_title: String,
    /// Authors, which both kinds of metadata may name.
    authors: BTreeSet<String>,
}

impl PageReader {
    fn start(&mut self, tag: &StartTag<()>) {
        let name = String::from_utf8_lossy(&tag.name);
        let is_skipped = SKIPPED.contains(&name) && {
            self.skippable += 1;
            !self.unclosed.contains(&(self.skippable - 1))
        };
        if let Some((skipped, open)) = &mut self.skipped {
            if *skipped == name && is_skipped && !tag.self_closing {
                *open += 1;
            }
            return;
        }
        if is_skipped {
            if BLOCKS.contains(&name) {
                self.flush();
            }
            if !tag.self_closing {
                self.skipped = Some((name.into_owned(), 1));
            }
            return;
        }
        match &*name {
            "meta" => self.read_meta(tag),
            "br" => self.text.push(' '),
            block if BLOCKS.contains(block) => {
                self.flush();
                self.collecting = match (block, heading_level(block)) {
                    ("title", _) => Collecting::PageTitle,
                    (_, Some(level)) => Collecting::Heading(level),
                    _ => Collecting::Paragraph,
                };
            }
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        if let Some((skipped, open)) = &mut self.skipped {
            if skipped == name {
                *open -= 1;
            }
            // The end of the page ends elements without end tag.
            if *open == 0 || name == "body" {
                self.skipped = None;
            }
            return;
        }
        if BLOCKS.contains(name) {
            self.flush();
            self.collecting = Collecting::Paragraph;
        }
    }

    /// Ends the paragraph or heading.
    fn flush(&mut self) {
        let text = single_spaced(&self.text);
        self.text.clear();
        if text.is_empty() {
            return;
        }
        match self.collecting {
            Collecting::Paragraph => self.paper.push_paragraph(&text, None),
            Collecting::PageTitle => self.page_title = text,
            Collecting::Heading(1) if self.paper.title.is_empty() => self.paper.title = text,
            // The heading that repeats the title of the metadata.
            Collecting::Heading(1) if self.paper.title == text => {}
            Collecting::Heading(level) => {
                self.paper
                    .push_section(level.saturating_sub(1).max(1), &text);
            }
        }
    }

    /// Reads metadata in the names of Highwire Press and Dublin Core.
    fn read_meta(&mut self, tag: &StartTag<()>) {
        let attribute = |name: &[u8]| {
            let value = tag.attributes.get(name)?;
            Some(single_spaced(&String::from_utf8_lossy(&value.value)))
        };
        let (Some(name), Some(content)) = (attribute(b"name"), attribute(b"content")) else {
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
            "citation_doi" => paper.metadata.set("doi", content),
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
