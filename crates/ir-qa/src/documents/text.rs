//! Plain text: paragraphs between blank lines, pages between form feeds.

use super::drop_caps::{DropCap, with_drop_cap, with_first_word};
use super::hyphens::Hyphens;
use super::paper::{Paper, single_spaced};
use super::references::is_reference_heading;

/// Longest title and heading in characters.
const MAX_TITLE: usize = 200;
const MAX_HEADING: usize = 80;
/// Characters that end no title.
const TITLE_ENDS: [char; 8] = ['.', ':', ';', ',', '。', '：', '；', '，'];
/// Headings without a number.
const HEADINGS: [&str; 16] = [
    "abstract",
    "acknowledgements",
    "acknowledgments",
    "appendix",
    "background",
    "conclusion",
    "conclusions",
    "data",
    "discussion",
    "evaluation",
    "experiments",
    "introduction",
    "limitations",
    "methods",
    "related work",
    "results",
];

/// Starts of headings after a list of references, in lower case.
const LATER_HEADINGS: [&str; 19] = [
    "acknowledg",
    "anexo",
    "anhang",
    "annexe",
    "apéndice",
    "apêndice",
    "appendice",
    "appendices",
    "appendix",
    "author contributions",
    "bijlage",
    "supplementary",
    "supporting information",
    "приложение",
    "परिशिष्ट",
    "부록",
    "付録",
    "附录",
    "附錄",
];

/// Reads a text. The title is the first paragraph, if it is short and no sentence. Headings are
/// paragraphs of one line with a number (`2.1 Data`), in capitals, or with a common name
/// (`Introduction`). Form feeds, as pdftotext writes them, separate pages. Words that are
/// hyphenated at the end of a line are joined, and initials over several lines with their words.
///
/// Lists of references are left out: from a line such as `References`, which starts a paragraph or
/// follows the end of a sentence, to a common heading, an appendix, or the heading with the next
/// number.
pub(super) fn read(text: &str, id: &str) -> Paper {
    let mut reader = TextReader {
        paper: Paper::new(id),
        hyphens: Hyphens::new(text.lines()),
        is_first: true,
        drop_cap: None,
        references: None,
    };
    let has_pages = text.contains('\u{c}');
    for (page, text) in (1..).zip(text.split('\u{c}')) {
        let page = has_pages.then_some(page);
        let mut lines: Vec<&str> = Vec::new();
        for line in text.lines().chain([""]) {
            if !line.trim().is_empty() {
                lines.push(line.trim());
            } else if !lines.is_empty() {
                reader.push(&lines, page);
                lines.clear();
            }
        }
    }
    reader.paper
}

struct TextReader {
    paper: Paper,
    hyphens: Hyphens,
    /// If `true`, no paragraph was read.
    is_first: bool,
    /// Initial of the next paragraph.
    drop_cap: Option<DropCap>,
    /// Heading of the list of references, inside of one.
    references: Option<String>,
}

impl TextReader {
    /// Reads the lines between blank lines, at least one.
    fn push(&mut self, lines: &[&str], page: Option<u32>) {
        let lines = match &self.references {
            Some(references) if !ends_references(references, lines[0]) => return,
            Some(_) => {
                self.references = None;
                self.push_heading(heading_level(lines[0]).unwrap_or(1), lines[0], page);
                &lines[1..]
            }
            None => lines,
        };
        let start = (0..lines.len()).find(|&at| !self.is_first && starts_references(lines, at));
        let (lines, references) = lines.split_at(start.unwrap_or(lines.len()));
        self.references = references.first().map(|&heading| heading.to_owned());
        let [first, rest @ ..] = lines else { return };
        if !self.is_first
            && rest.is_empty()
            && let Some(cap) = DropCap::new(first)
        {
            self.drop_cap = Some(cap);
            return;
        }
        let paragraph = single_spaced(&self.joined(lines));
        let level = heading_level(first).filter(|_| rest.is_empty());
        if let Some(level) = level {
            self.push_heading(level, first, page);
        } else if self.is_first && is_title(&paragraph) && heading_level(&paragraph).is_none() {
            self.paper.title = paragraph;
        } else {
            self.paper.push_paragraph(&paragraph, page);
        }
        self.is_first = false;
    }

    /// Joins lines, after an initial. The first of them may be one, too. A letter is an initial at
    /// the start of a section, and if it starts a word of the document: others are of formulas.
    fn joined(&mut self, lines: &[&str]) -> String {
        let section = self.paper.sections.last();
        let is_start = section.is_none_or(|section| section.paragraphs.is_empty());
        let is_cap =
            |cap: &DropCap, line: &str| is_start || cap.starts_known_word(line, &self.hyphens);
        let join = |lines: &[&str]| self.hyphens.join(lines.iter().copied());
        let before = self.drop_cap.take();
        if let [first, rest @ ..] = lines
            && let Some(cap) = DropCap::new(first)
            && rest.first().is_some_and(|line| is_cap(&cap, line))
        {
            return with_drop_cap(Some(cap), &join(rest), &self.hyphens);
        }
        let text = join(lines);
        let cap = before.filter(|cap| is_cap(cap, &text));
        match with_first_word(&text, &self.hyphens) {
            Some(text) if cap.is_none() => text,
            _ => with_drop_cap(cap, &text, &self.hyphens),
        }
    }

    fn push_heading(&mut self, level: u8, heading: &str, page: Option<u32>) {
        self.paper.push_section(level, heading);
        if let Some(section) = self.paper.sections.last_mut() {
            section.page = page;
        }
    }
}

/// Returns `true` if a line is the heading of a list of references.
fn starts_references(lines: &[&str], at: usize) -> bool {
    let line = lines[at];
    let follows_text = at == 0 || lines[at - 1].ends_with(['.', '!', '?', '。']);
    follows_text && !line.starts_with(char::is_lowercase) && is_reference_heading(line)
}

/// Returns `true` if a line is the heading of a section after the list of references.
pub(super) fn ends_references(heading: &str, line: &str) -> bool {
    let number = |text: &str| {
        let digits = text.split(|c: char| !c.is_ascii_digit()).next();
        digits.and_then(|digits| digits.parse::<u32>().ok())
    };
    let is_next = number(heading).is_some_and(|own| number(line) == own.checked_add(1));
    follows_references(line)
        || HEADINGS.contains(&without_number(line).to_lowercase().as_str())
        || (is_next && heading_level(line).is_some())
}

/// Returns `true` if a line is the heading of a part that follows the list of references, such as
/// an appendix.
pub(super) fn follows_references(line: &str) -> bool {
    if line.chars().count() > MAX_HEADING || line.starts_with(char::is_lowercase) {
        return false;
    }
    let name = without_number(line).to_lowercase();
    LATER_HEADINGS.iter().any(|start| name.starts_with(start))
}

/// A heading without a number or letter before it: `7`, `A.1`.
fn without_number(heading: &str) -> &str {
    let Some((number, rest)) = heading.split_once(' ') else {
        return heading;
    };
    let is_label = |part: &str| {
        part.len() == 1 && part.starts_with(|c: char| c.is_ascii_uppercase())
            || !part.is_empty() && is_digits_or_end(part)
    };
    if number.trim_end_matches('.').split('.').all(is_label) {
        rest.trim_start()
    } else {
        heading
    }
}

fn is_title(text: &str) -> bool {
    text.chars().count() <= MAX_TITLE && !text.ends_with(TITLE_ENDS)
}

/// Depth of a heading; `None` for other text.
pub(super) fn heading_level(text: &str) -> Option<u8> {
    if text.chars().count() > MAX_HEADING
        || text.ends_with(TITLE_ENDS)
        || text.ends_with(['?', '!', '？', '！'])
    {
        return None;
    }
    let (number, rest) = text.split_once(' ').unwrap_or(("", text));
    let is_number = !number.is_empty()
        && number
            .split('.')
            .all(|part| part.len() <= 2 && is_digits_or_end(part));
    if is_number
        && number.starts_with(|c: char| c.is_ascii_digit())
        && rest.starts_with(|c: char| c.is_alphabetic() && !c.is_lowercase())
    {
        let depth = number.trim_end_matches('.').split('.').count();
        return u8::try_from(depth).ok();
    }
    let has_letters = text.chars().filter(|c| c.is_alphabetic()).count() >= 3;
    let is_capitals =
        has_letters && !text.contains(char::is_lowercase) && text.contains(char::is_uppercase);
    (is_capitals || HEADINGS.contains(&text.to_lowercase().as_str())).then_some(1)
}

fn is_digits_or_end(part: &str) -> bool {
    part.bytes().all(|byte| byte.is_ascii_digit())
}
