//! Papers: title, metadata, sections, paragraphs.

use std::{iter, mem};

use ir_core::Attributes;

use crate::chunk::Chunk;
use crate::frame::ChunkKind;
use crate::soco::FaqEntry;

/// Paper with the structure that its file has.
///
/// ```
/// use ir_qa::ChunkKind;
/// use ir_qa::documents::Paper;
/// let mut paper = Paper::new("p1");
/// paper.title = "On tea".to_owned();
/// paper.push_section(1, "Origin");
/// paper.push_paragraph("Tea comes from Asia.", Some(2));
/// let kinds: Vec<ChunkKind> = paper.chunks().iter().map(|chunk| chunk.kind).collect();
/// assert_eq!(kinds, [ChunkKind::Title, ChunkKind::Section, ChunkKind::Content]);
/// assert_eq!(paper.chunks()[2].page, Some(2));
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Paper {
    /// Id of the paper; unique in a folder.
    pub id: String,
    /// Title; empty if the file has none.
    pub title: String,
    /// Names of the authors, given names first.
    pub authors: Vec<String>,
    /// Year of publication, if known.
    pub year: Option<i64>,
    /// Journal or conference, if known.
    pub venue: Option<String>,
    /// Sections in the order of the text. Text before the first heading is a section without
    /// heading.
    pub sections: Vec<Section>,
    /// Questions with answers, of a FAQ instead of a paper. It has no sections.
    pub faq: Vec<FaqEntry>,
    /// Further fields, such as `doi`.
    pub metadata: Attributes,
    /// Number of rows of long tables that were left out.
    pub omitted_rows: u64,
    /// Length of the rows of tables.
    row_bytes: usize,
    /// Displayed formula after the last paragraph.
    formula: Option<OpenFormula>,
}

/// Displayed formula that the next paragraph may continue.
#[derive(Debug, Clone, PartialEq, Eq)]
enum OpenFormula {
    /// The formula ends the last running text.
    Appended,
    /// The formula follows an ended sentence.
    Separate(String),
}

/// Section of a paper: a heading with the paragraphs up to the next heading.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Section {
    /// Heading; may be empty.
    pub heading: String,
    /// Depth from 1; sections of greater depth are subsections.
    pub level: u8,
    /// Page of the heading from 1, if known.
    pub page: Option<u32>,
    /// Paragraphs, rows of tables and formulas in the order of the text.
    pub paragraphs: Vec<Paragraph>,
}

/// Paragraph, row of a table or displayed formula of a paper.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Paragraph {
    /// Text with single spaces.
    pub text: String,
    /// Page from 1 on which the paragraph starts, if known.
    pub page: Option<u32>,
    /// Running text, row of a table, or displayed formula.
    pub kind: ChunkKind,
    /// MathML of a formula, as [`safe_mathml`](super::safe_mathml) returns it.
    pub markup: Option<String>,
}

/// Maximum number of displayed formulas in a row that a sentence continues after.
const MAX_FORMULAS: usize = 50;
/// Maximum length of the rows of all tables of a paper in bytes: a cell can span many of them.
const MAX_ROW_BYTES: usize = 8 << 20;

const SENTENCE_ENDS: [char; 6] = ['.', '?', '!', '。', '？', '！'];

impl Paper {
    /// Creates an empty paper.
    #[must_use]
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            ..Self::default()
        }
    }

    /// Appends a section. Consecutive white space becomes a space.
    pub fn push_section(&mut self, level: u8, heading: &str) {
        self.formula = None;
        self.sections.push(Section {
            heading: single_spaced(heading),
            level,
            ..Section::default()
        });
    }

    /// Appends a paragraph to the last section. Consecutive white space becomes a space; blank
    /// paragraphs are left out. A paragraph that starts in lower case after a displayed formula
    /// continues its sentence.
    pub fn push_paragraph(&mut self, text: &str, page: Option<u32>) {
        let mut text = single_spaced(text);
        if text.is_empty() {
            return;
        }
        let formula = self.formula.take();
        let formula = formula.filter(|_| text.starts_with(char::is_lowercase));
        match (formula, self.last_text()) {
            (Some(OpenFormula::Appended), Some(last)) => {
                last.text.push(' ');
                last.text.push_str(&text);
                return;
            }
            (Some(OpenFormula::Separate(formula)), _) => text = format!("{formula} {text}"),
            _ => {}
        }
        self.push(Paragraph {
            text,
            page,
            ..Paragraph::default()
        });
    }

    /// Appends a row of a table. Rows are left out, and counted, if the rows of the paper exceed
    /// 8 MiB.
    pub fn push_row(&mut self, text: &str, page: Option<u32>) {
        let text = single_spaced(text);
        self.row_bytes = self.row_bytes.saturating_add(text.len());
        if self.row_bytes > MAX_ROW_BYTES {
            self.omitted_rows += 1;
            return;
        }
        self.push(Paragraph {
            text,
            page,
            kind: ChunkKind::Row,
            markup: None,
        });
    }

    /// Appends a displayed formula: to the last running text unless a sentence ends there, and as a
    /// paragraph of its own. A formula with nothing but its text is one of them.
    pub(super) fn push_formula(&mut self, text: &str, markup: Option<String>, page: Option<u32>) {
        let text = single_spaced(text);
        let is_open = |last: &&mut Paragraph| !last.text.ends_with(SENTENCE_ENDS);
        if text.is_empty() {
            // An image of a formula.
            let is_within = self.last_text().filter(is_open).is_some();
            self.formula = is_within.then_some(OpenFormula::Appended);
            return;
        }
        let formula = match self.last_text().filter(is_open) {
            Some(last) => {
                last.text.push(' ');
                last.text.push_str(&text);
                OpenFormula::Appended
            }
            None => OpenFormula::Separate(text.clone()),
        };
        if markup.is_some() || formula != OpenFormula::Appended {
            self.keep_formula(&text, markup, page);
        }
        self.formula = Some(formula);
    }

    /// Appends a displayed formula that is in a paragraph as text, too. If it is the end of the
    /// paragraph, the next one may continue the sentence.
    pub(super) fn keep_formula(&mut self, text: &str, markup: Option<String>, page: Option<u32>) {
        let text = single_spaced(text);
        let is_end = self
            .last_text()
            .is_some_and(|last| !text.is_empty() && last.text.ends_with(&text));
        self.push(Paragraph {
            text,
            page,
            kind: ChunkKind::Formula,
            markup,
        });
        self.formula = is_end.then_some(OpenFormula::Appended);
    }

    /// The last running text of the last section, before formulas.
    fn last_text(&mut self) -> Option<&mut Paragraph> {
        let paragraphs = self.sections.last_mut()?.paragraphs.iter_mut().rev();
        let mut paragraphs = paragraphs.take(MAX_FORMULAS);
        let last = paragraphs.find(|paragraph| paragraph.kind != ChunkKind::Formula)?;
        (last.kind == ChunkKind::Content).then_some(last)
    }

    fn push(&mut self, paragraph: Paragraph) {
        if self.sections.is_empty() {
            self.push_section(1, "");
        }
        self.formula = None;
        if let Some(section) = self.sections.last_mut()
            && !paragraph.text.is_empty()
        {
            section.paragraphs.push(paragraph);
        }
    }

    /// Removes sections without heading and paragraphs.
    pub(super) fn remove_empty_sections(&mut self) {
        self.sections
            .retain(|section| !section.heading.is_empty() || !section.paragraphs.is_empty());
    }

    /// Removes invisible characters inside of words from all texts, and paragraphs without other
    /// characters. Ligatures become letters.
    pub(super) fn remove_invisible_characters(&mut self) {
        let sections = self.sections.iter_mut();
        let texts = sections.flat_map(|section| {
            let paragraphs = section
                .paragraphs
                .iter_mut()
                .map(|paragraph| &mut paragraph.text);
            iter::once(&mut section.heading).chain(paragraphs)
        });
        let names = self.authors.iter_mut().chain(&mut self.venue);
        for text in texts.chain(names).chain([&mut self.title]) {
            if let Some(visible) = without_invisible_characters(text) {
                *text = single_spaced(&visible);
            }
        }
        for section in &mut self.sections {
            section
                .paragraphs
                .retain(|paragraph| !paragraph.text.is_empty());
        }
    }

    /// Puts acknowledgments under a heading of their own: paragraphs that are their name, or start
    /// with it.
    pub(super) fn split_acknowledgments(&mut self) {
        for mut section in mem::take(&mut self.sections) {
            let mut named = section.paragraphs.iter().enumerate();
            let found = named.find_map(|(at, it)| Some((at, acknowledgments_name(&it.text)?)));
            let Some((at, length)) = found else {
                self.sections.push(section);
                continue;
            };
            let mut paragraphs = section.paragraphs.split_off(at);
            let first = &mut paragraphs[0];
            let text = first.text.split_off(length);
            let own = Section {
                heading: mem::take(&mut first.text),
                level: section.level.max(1),
                page: first.page,
                paragraphs: Vec::new(),
            };
            let separators = [' ', '.', ':', '：', '—', '–'];
            first.text = text.trim_start_matches(separators).to_owned();
            paragraphs.retain(|paragraph| !paragraph.text.is_empty());
            let is_empty = section.heading.is_empty() && section.paragraphs.is_empty();
            self.sections.extend(Some(section).filter(|_| !is_empty));
            self.sections.push(Section { paragraphs, ..own });
        }
    }

    /// Iterates over the paragraphs of all sections.
    pub fn paragraphs(&self) -> impl Iterator<Item = &Paragraph> {
        self.sections.iter().flat_map(|section| &section.paragraphs)
    }

    /// Title, headings and paragraphs as chunks, in the order of the text.
    #[must_use]
    pub fn chunks(&self) -> Vec<Chunk> {
        let mut chunks = Vec::new();
        if !self.title.is_empty() {
            chunks.push(Chunk::new(ChunkKind::Title, self.title.as_str()));
        }
        for section in &self.sections {
            if !section.heading.is_empty() {
                let heading = Chunk::new(ChunkKind::Section, section.heading.as_str());
                chunks.push(heading.with_page(section.page));
            }
            chunks.extend(section.paragraphs.iter().map(|paragraph| {
                let chunk = Chunk::new(paragraph.kind, paragraph.text.as_str());
                Chunk {
                    markup: paragraph.markup.clone(),
                    ..chunk.with_page(paragraph.page)
                }
            }));
        }
        chunks
    }

    /// Fields of the paper as attributes for filters: [`Paper::metadata`] with `title`, `authors`,
    /// `year` and `venue`, which are absent if unknown.
    #[must_use]
    pub fn attributes(&self) -> Attributes {
        let mut attributes = self.metadata.clone();
        if !self.title.is_empty() {
            attributes.set("title", self.title.as_str());
        }
        if !self.authors.is_empty() {
            attributes.set("authors", self.authors.clone());
        }
        if let Some(year) = self.year {
            attributes.set(Attributes::YEAR, year);
        }
        if let Some(venue) = &self.venue {
            attributes.set("venue", venue.as_str());
        }
        attributes
    }
}

/// Text without surrounding white space, with one space for consecutive white space.
pub(super) fn single_spaced(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !result.is_empty() {
            result.push(' ');
        }
        result.push_str(word);
    }
    result
}

/// Text without soft hyphens, zero-width spaces, joiners, byte order marks and invisible operators,
/// and with letters for ligatures; `None` if there are none. Joiners and non-joiners are kept after
/// letters of scripts that use them, such as Arabic and Devanagari, and zero-width spaces between
/// words of Thai, Lao, Khmer and Burmese.
fn without_invisible_characters(text: &str) -> Option<String> {
    let is_invisible = |c: char| matches!(c, '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2064}' | '\u{feff}');
    if !text.contains(|c: char| is_invisible(c) || letters_of(c).is_some()) {
        return None;
    }
    let mut visible = String::with_capacity(text.len());
    for c in text.chars() {
        if let Some(letters) = letters_of(c) {
            visible.push_str(letters);
            continue;
        }
        let before = visible.chars().next_back().unwrap_or(' ');
        let is_kept = match c {
            // Latin, Greek and Cyrillic end at U+052F, Latin and Greek with marks at U+1FFF.
            '\u{200c}' | '\u{200d}' => {
                !matches!(before, '\0'..='\u{52f}' | '\u{1e00}'..='\u{1fff}')
            }
            '\u{200b}' => {
                matches!(before, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}')
            }
            _ => !is_invisible(c),
        };
        if is_kept {
            visible.push(c);
        }
    }
    Some(visible)
}

/// Letters of a ligature of Latin type.
fn letters_of(ligature: char) -> Option<&'static str> {
    Some(match ligature {
        '\u{fb00}' => "ff",
        '\u{fb01}' => "fi",
        '\u{fb02}' => "fl",
        '\u{fb03}' => "ffi",
        '\u{fb04}' => "ffl",
        '\u{fb05}' | '\u{fb06}' => "st",
        _ => return None,
    })
}

/// Names of acknowledgments, in lower case.
const ACKNOWLEDGMENTS: [&str; 15] = [
    "acknowledgements",
    "acknowledgement",
    "acknowledgments",
    "acknowledgment",
    "agradecimentos",
    "agradecimientos",
    "danksagung",
    "dankwoord",
    "remerciements",
    "ringraziamenti",
    "благодарности",
    "감사의 글",
    "致谢",
    "致謝",
    "謝辞",
];

/// Length of the name of acknowledgments at the start of a text, if the text ends or a period,
/// colon or dash follows.
fn acknowledgments_name(text: &str) -> Option<usize> {
    let name = ACKNOWLEDGMENTS.iter().find(|&&name| {
        let start = text.get(..name.len()).map(str::to_lowercase);
        start.is_some_and(|start| start == name)
    })?;
    let rest = text[name.len()..].trim_start();
    let is_name = rest.is_empty() || rest.starts_with(['.', ':', '：', '—', '–']);
    is_name.then_some(name.len())
}

/// The first number of four digits from 1000 to 2999 in a date.
pub(super) fn year_in(date: &str) -> Option<i64> {
    let mut runs = date.split(|c: char| !c.is_ascii_digit());
    let year = runs.find(|run| run.len() == 4 && run.starts_with(['1', '2']))?;
    year.parse().ok()
}
