//! Plain text: paragraphs between blank lines, pages between form feeds.

use super::paper::{Paper, single_spaced};

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

/// Reads a text. The title is the first paragraph, if it is short and no sentence. Headings are
/// paragraphs of one line with a number (`2.1 Data`), in capitals, or with a common name
/// (`Introduction`). Form feeds, as pdftotext writes them, separate pages.
pub(super) fn read(text: &str, id: &str) -> Paper {
    let mut paper = Paper::new(id);
    let has_pages = text.contains('\u{c}');
    let mut is_first = true;
    for (page, text) in (1..).zip(text.split('\u{c}')) {
        let page = has_pages.then_some(page);
        let mut lines: Vec<&str> = Vec::new();
        for line in text.lines().chain([""]) {
            if !line.trim().is_empty() {
                lines.push(line);
                continue;
            }
            if lines.is_empty() {
                continue;
            }
            let paragraph = single_spaced(&lines.join(" "));
            let is_line = lines.len() == 1;
            if is_first && is_title(&paragraph) && heading_level(&paragraph).is_none() {
                paper.title = paragraph;
            } else if let Some(level) = heading_level(&paragraph).filter(|_| is_line) {
                paper.push_section(level, &paragraph);
                if let Some(section) = paper.sections.last_mut() {
                    section.page = page;
                }
            } else {
                paper.push_paragraph(&paragraph, page);
            }
            is_first = false;
            lines.clear();
        }
    }
    paper
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
