//! Lines of pages to title, headings and paragraphs.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{PdfInformation, PdfLine, PdfPage, PdfText};
use crate::documents::drop_caps::{DropCap, with_drop_cap};
use crate::documents::hyphens::Hyphens;
use crate::documents::paper::{Paper, single_spaced};
use crate::documents::references::is_reference_heading;
use crate::documents::text::{ends_references, heading_level};

/// Minimum font size of headings, relative to the font size of the text.
const HEADING_SIZE: f32 = 1.12;

/// Minimum difference of font sizes, relative to the font size of the text, that puts a line into
/// another paragraph, such as a footnote.
const OTHER_SIZE: f32 = 0.12;

/// Distance of lines, relative to the usual one, from which they are in different paragraphs.
const PARAGRAPH_GAP: f32 = 1.35;

/// Indentation of the first line of a paragraph, relative to the font size. Range of what is one.
const INDENTATION: std::ops::Range<f32> = 0.6..4.0;

/// Longest title and heading in characters.
const MAX_TITLE: usize = 250;
const MAX_HEADING: usize = 120;

/// Fraction of the height of a page at its top and bottom that may have running heads.
const MARGIN: f32 = 0.1;

/// Pages from which on a repeated line is a running head.
const RUNNING_HEAD_PAGES: usize = 3;

const SENTENCE_ENDS: [char; 6] = ['.', '?', '!', '。', '？', '！'];

/// Line with its page from 1.
struct PlacedLine {
    page: u32,
    line: PdfLine,
}

/// Minimum font size of an initial over several lines, relative to the font size of the text.
const DROP_CAP_SIZE: f32 = 1.6;

/// Builds the paper of a PDF. Running heads, page numbers and lists of references are left out,
/// hyphenated words and initials over several lines are joined, and paragraphs continue over
/// columns and pages.
///
/// A list of references ends at the heading of an appendix or of another part that follows it, or
/// with the next number.
///
/// The title is the title of the information dictionary if the first page with text contains it,
/// or else the text of that page in the largest font. Authors are the authors of the dictionary
/// that the page contains.
pub(super) fn paper(text: PdfText, id: &str) -> Paper {
    let PdfText {
        information, pages, ..
    } = text;
    let first_page: String = pages
        .iter()
        .find(|page| !page.lines.is_empty())
        .map(|page| page.lines.iter().map(|line| letters(&line.text)).collect())
        .unwrap_or_default();
    let lines = body_lines(pages);
    let body = body_size(&lines);
    let pitch = usual_pitch(&lines, body);
    let hyphens = Hyphens::new(lines.iter().map(|placed| &*placed.line.text));
    let mut paper = Paper::new(id);
    let title = title_lines(&lines, body);
    paper.title = title_of(&information, &first_page).unwrap_or_else(|| {
        let lines = lines[title.clone()].iter();
        let text: Vec<&str> = lines.map(|placed| &*placed.line.text).collect();
        single_spaced(&text.join(" "))
    });
    paper.authors = authors_of(&information, &first_page);
    let mut builder = Builder {
        paper,
        body,
        pitch,
        hyphens,
        block: None,
        first_page: lines.first().map_or(0, |placed| placed.page),
        has_heading: false,
        drop_cap: None,
        references: None,
    };
    let mut previous: Option<&PlacedLine> = None;
    for (number, placed) in lines.iter().enumerate() {
        if title.contains(&number) {
            continue;
        }
        builder.push(placed, previous, lines.get(number + 1));
        previous = Some(placed);
    }
    builder.finish()
}

/// Letters and digits in lower case, for comparisons.
fn letters(text: &str) -> String {
    let characters = text.chars().filter(|c| c.is_alphanumeric());
    characters.flat_map(char::to_lowercase).collect()
}

fn title_of(information: &PdfInformation, first_page: &str) -> Option<String> {
    let title = single_spaced(&information.title);
    let known = letters(&title);
    (known.len() >= 8 && title.contains(' ') && first_page.contains(&known)).then_some(title)
}

fn authors_of(information: &PdfInformation, first_page: &str) -> Vec<String> {
    let names = information.author.replace(" and ", ";");
    let separator = if names.contains(';') { ';' } else { ',' };
    let names = names.split(separator).map(single_spaced);
    names
        .filter(|name| name.contains(' ') && first_page.contains(&letters(name)))
        .collect()
}

/// Lines without running heads and page numbers.
fn body_lines(pages: Vec<PdfPage>) -> Vec<PlacedLine> {
    // Lines on the margins, with `#` for digits, and their numbers of pages.
    let mut repeated: HashMap<String, usize> = HashMap::new();
    let pattern = |text: &str| -> String {
        text.chars()
            .map(|c| if c.is_ascii_digit() { '#' } else { c })
            .collect()
    };
    let is_on_margin = |page: &PdfPage, line: &PdfLine| {
        let relative = line.y / page.height.max(1.0);
        !(MARGIN..1.0 - MARGIN).contains(&relative)
    };
    for page in &pages {
        let on_margin = page.lines.iter().filter(|line| is_on_margin(page, line));
        let patterns: HashSet<String> = on_margin.map(|line| pattern(&line.text)).collect();
        for pattern in patterns {
            *repeated.entry(pattern).or_default() += 1;
        }
    }
    let mut lines = Vec::new();
    for (number, page) in (1..).zip(pages) {
        let kept: Vec<PdfLine> = page
            .lines
            .iter()
            .filter(|line| {
                let count = repeated.get(&pattern(&line.text)).copied().unwrap_or(0);
                let is_head = count >= RUNNING_HEAD_PAGES || is_page_number(&line.text);
                !(is_on_margin(&page, line) && is_head)
            })
            .cloned()
            .collect();
        lines.extend(
            kept.into_iter()
                .map(|line| PlacedLine { page: number, line }),
        );
    }
    lines
}

/// Returns `true` if a text is a number, possibly with `Page` or dashes.
fn is_page_number(text: &str) -> bool {
    let text = text.to_lowercase();
    let text = text
        .trim_start_matches("page")
        .trim_matches(|c: char| !c.is_alphanumeric());
    let is_roman = !text.is_empty() && text.len() <= 6 && text.chars().all(|c| "ivxlc".contains(c));
    is_roman || (!text.is_empty() && text.len() <= 4 && text.bytes().all(|c| c.is_ascii_digit()))
}

/// Font size of most characters.
fn body_size(lines: &[PlacedLine]) -> f32 {
    let mut sizes: BTreeMap<i32, usize> = BTreeMap::new();
    for PlacedLine { line, .. } in lines {
        *sizes.entry((line.size * 2.0).round() as i32).or_default() += line.text.len();
    }
    let most = sizes.iter().max_by_key(|(_, count)| **count);
    most.map_or(10.0, |(size, _)| *size as f32 / 2.0).max(1.0)
}

/// Median distance of consecutive lines of the text.
fn usual_pitch(lines: &[PlacedLine], body: f32) -> f32 {
    let pairs = lines.windows(2).filter(|pair| pair[0].page == pair[1].page);
    let distances = pairs.map(|pair| pair[0].line.y - pair[1].line.y);
    let mut distances: Vec<f32> = distances
        .filter(|d| (0.5 * body..3.0 * body).contains(d))
        .collect();
    distances.sort_by(f32::total_cmp);
    distances
        .get(distances.len() / 2)
        .copied()
        .unwrap_or(1.2 * body)
}

/// Consecutive lines of the first page in its largest font, if that is larger than the text.
fn title_lines(lines: &[PlacedLine], body: f32) -> std::ops::Range<usize> {
    let Some(first) = lines.first() else {
        return 0..0;
    };
    let page = lines.iter().take_while(|placed| placed.page == first.page);
    let page: Vec<&PdfLine> = page.map(|placed| &placed.line).collect();
    // Not an initial or a logo.
    let candidates = page.iter().filter(|line| letters(&line.text).len() >= 4);
    let largest = candidates.map(|line| line.size).fold(0.0, f32::max);
    if largest < HEADING_SIZE * body {
        return 0..0;
    }
    let is_title = |line: &&PdfLine| (line.size - largest).abs() < 0.6;
    let start = page
        .iter()
        .position(|line| is_title(line) && letters(&line.text).len() >= 4);
    let Some(start) = start else { return 0..0 };
    let length = page[start..]
        .iter()
        .take_while(|line| is_title(line))
        .count();
    let characters: usize = page[start..start + length]
        .iter()
        .map(|l| l.text.chars().count())
        .sum();
    if characters <= MAX_TITLE {
        start..start + length
    } else {
        0..0
    }
}

/// Paragraph or heading in progress.
struct Block {
    text: String,
    page: u32,
    size: f32,
    is_bold: bool,
    /// Left end of the lines but the first.
    x: f32,
    is_heading: bool,
}

struct Builder {
    paper: Paper,
    body: f32,
    pitch: f32,
    hyphens: Hyphens,
    block: Option<Block>,
    /// First page with text.
    first_page: u32,
    /// If `true`, a heading was found.
    has_heading: bool,
    /// Initial of the next paragraph.
    drop_cap: Option<DropCap>,
    /// Heading of the list of references, inside of one.
    references: Option<String>,
}

impl Builder {
    fn push(
        &mut self,
        placed: &PlacedLine,
        previous: Option<&PlacedLine>,
        next: Option<&PlacedLine>,
    ) {
        let line = &placed.line;
        let is_large = line.size >= DROP_CAP_SIZE * self.body;
        if let Some(cap) = DropCap::new(&line.text).filter(|_| is_large && next.is_some()) {
            self.end_block();
            self.drop_cap = Some(cap);
            return;
        }
        let is_heading = self.is_heading(placed, previous, next);
        self.has_heading |= is_heading;
        let continues = self.block.as_ref().is_some_and(|block| {
            block.is_heading == is_heading
                && (block.size - line.size).abs() < OTHER_SIZE * self.body
                && if is_heading {
                    self.continues_heading(block, placed, previous)
                } else {
                    self.continues_paragraph(block, placed, previous)
                }
        });
        match &mut self.block {
            Some(block) if continues => {
                let is_same_column = line.y < previous.map_or(f32::MAX, |p| p.line.y);
                self.hyphens.append(&mut block.text, &line.text);
                block.x = if is_same_column {
                    block.x.min(line.x)
                } else {
                    line.x
                };
            }
            _ => {
                self.end_block();
                let cap = self.drop_cap.take();
                self.block = Some(Block {
                    text: with_drop_cap(cap, &line.text, &self.hyphens),
                    page: placed.page,
                    size: line.size,
                    is_bold: line.is_bold,
                    x: line.x,
                    is_heading,
                });
            }
        }
    }

    /// Distance to the line above, relative to the usual one; `None` for the first line of a column
    /// or page.
    fn gap(&self, above: &PlacedLine, below: &PlacedLine) -> Option<f32> {
        let distance = above.line.y - below.line.y;
        let is_below = above.page == below.page && distance > -0.5 * self.body;
        is_below.then_some(distance / self.pitch)
    }

    fn is_heading(
        &self,
        placed: &PlacedLine,
        previous: Option<&PlacedLine>,
        next: Option<&PlacedLine>,
    ) -> bool {
        let line = &placed.line;
        let has_letters = line.text.chars().filter(|c| c.is_alphabetic()).count() >= 3;
        if !has_letters || line.text.chars().count() > MAX_HEADING {
            return false;
        }
        let is_reference = is_reference_heading(&line.text);
        let is_ended = |above: &PlacedLine| above.line.text.trim_end().ends_with(SENTENCE_ENDS);
        if is_reference && previous.is_some_and(is_ended) {
            return true;
        }
        if line.size >= HEADING_SIZE * self.body {
            // Above the first heading are the names of the authors.
            let is_after_authors = self.has_heading || placed.page > self.first_page;
            return is_after_authors || heading_level(&line.text).is_some();
        }
        let is_named = is_reference || heading_level(&line.text).is_some();
        if !is_named || line.size < 0.95 * self.body {
            return false;
        }
        // The size of the text: bold or alone.
        let is_apart = |gap: Option<f32>| gap.is_none_or(|gap| gap >= PARAGRAPH_GAP);
        let above = previous.and_then(|above| self.gap(above, placed));
        let below = next.and_then(|below| self.gap(placed, below));
        line.is_bold || (is_apart(above) && below.is_some_and(|gap| gap >= PARAGRAPH_GAP))
    }

    /// Returns `true` if a line continues a heading: same weight, small gap, no number at its
    /// start.
    fn continues_heading(
        &self,
        block: &Block,
        placed: &PlacedLine,
        previous: Option<&PlacedLine>,
    ) -> bool {
        let gap = previous.and_then(|above| self.gap(above, placed));
        let scale = (block.size / self.body).max(1.0);
        let has_number = placed.line.text.starts_with(|c: char| c.is_ascii_digit());
        block.is_bold == placed.line.is_bold
            && gap.is_some_and(|gap| gap < 1.3 * scale)
            && !has_number
            && block.text.chars().count() + placed.line.text.chars().count() <= MAX_HEADING
    }

    fn continues_paragraph(
        &self,
        block: &Block,
        placed: &PlacedLine,
        previous: Option<&PlacedLine>,
    ) -> bool {
        let text = block.text.trim_end_matches(['"', '\'', ')', ']', '”', '’']);
        let is_ended = text.ends_with(':') || text.ends_with(SENTENCE_ENDS);
        let line = &placed.line;
        let is_lowercase = line.text.starts_with(char::is_lowercase);
        let Some(gap) = previous.and_then(|above| self.gap(above, placed)) else {
            // The next column or page.
            return !is_ended;
        };
        if gap >= PARAGRAPH_GAP {
            // Such as after a formula.
            return is_lowercase && !is_ended && gap < 3.0 * PARAGRAPH_GAP;
        }
        let indentation = (line.x - block.x) / self.body;
        !(is_ended && INDENTATION.contains(&indentation))
    }

    fn end_block(&mut self) {
        let Some(Block {
            text,
            page,
            is_heading,
            ..
        }) = self.block.take()
        else {
            return;
        };
        if let Some(references) = &self.references {
            if !(is_heading && ends_references(references, &text)) {
                return;
            }
            self.references = None;
        }
        if !is_heading {
            self.paper.push_paragraph(&text, Some(page));
        } else if is_reference_heading(&text) {
            self.references = Some(text);
        } else {
            self.paper
                .push_section(heading_level(&text).unwrap_or(1), &text);
            if let Some(section) = self.paper.sections.last_mut() {
                section.page = Some(page);
            }
        }
    }

    fn finish(mut self) -> Paper {
        self.end_block();
        self.paper
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(lines: &[(f32, f32, f32, &str)]) -> PdfPage {
        let lines = lines.iter().map(|&(x, y, size, text)| PdfLine {
            text: text.to_owned(),
            x,
            y,
            width: 200.0,
            size,
            is_bold: false,
        });
        PdfPage {
            height: 800.0,
            lines: lines.collect(),
        }
    }

    fn read(pages: Vec<PdfPage>) -> Paper {
        let text = PdfText {
            pages,
            ..PdfText::default()
        };
        paper(text, "p")
    }

    fn paragraphs(paper: &Paper) -> Vec<&str> {
        paper
            .paragraphs()
            .map(|paragraph| &*paragraph.text)
            .collect()
    }

    #[test]
    fn hyphens_are_those_of_the_document() {
        let paper = read(vec![page(&[
            (50.0, 700.0, 10.0, "The low well-known cup and the tem-"),
            (50.0, 688.0, 10.0, "perature of a well-"),
            (50.0, 676.0, 10.0, "known tea in the low-"),
            (50.0, 664.0, 10.0, "temperature pot of Smith-"),
            (50.0, 652.0, 10.0, "Jones, hot"),
        ])]);
        assert_eq!(
            paragraphs(&paper),
            [
                "The low well-known cup and the temperature of a well-known tea in the low-temperature pot of \
              Smith-Jones, hot"
            ]
        );
    }

    #[test]
    fn paragraphs_end_at_gaps_indentations_and_other_sizes() {
        let paper = read(vec![page(&[
            (50.0, 700.0, 10.0, "The first paragraph has"),
            (50.0, 688.0, 10.0, "two lines."),
            (62.0, 676.0, 10.0, "The second one is indented."),
            (50.0, 640.0, 10.0, "The third one is below a gap,"),
            (50.0, 600.0, 10.0, "and continues after a formula."),
            (50.0, 588.0, 8.0, "A footnote is smaller."),
        ])]);
        assert_eq!(
            paragraphs(&paper),
            [
                "The first paragraph has two lines.",
                "The second one is indented.",
                "The third one is below a gap, and continues after a formula.",
                "A footnote is smaller.",
            ]
        );
    }

    #[test]
    fn titles_have_the_largest_font_and_headings_a_larger_one() {
        let body = |y| {
            (
                50.0,
                y,
                10.0,
                "This line is as long as lines of text are in papers.",
            )
        };
        let paper = read(vec![page(&[
            (50.0, 740.0, 16.0, "On the Temperature of Cups"),
            (50.0, 722.0, 16.0, "and Their Handles"),
            (50.0, 708.0, 12.0, "Ada Cup, University of Tea"),
            (50.0, 690.0, 12.0, "1 Introduction"),
            body(670.0),
            (50.0, 640.0, 10.0, "CONCLUSIONS"),
            body(610.0),
        ])]);
        assert_eq!(paper.title, "On the Temperature of Cups and Their Handles");
        let headings: Vec<&str> = paper.sections.iter().map(|s| &*s.heading).collect();
        // Authors are a paragraph before the first heading.
        assert_eq!(headings, ["", "1 Introduction", "CONCLUSIONS"]);
        let first = &paper.sections[0].paragraphs;
        assert_eq!(first.len(), 1);
        assert_eq!(first[0].text, "Ada Cup, University of Tea");
    }

    #[test]
    fn references_are_no_text() {
        let paper = read(vec![page(&[
            (50.0, 760.0, 16.0, "Cups and Pots"),
            (50.0, 700.0, 10.0, "The cups are low."),
            // In the font of the text, without a gap.
            (50.0, 688.0, 10.0, "References"),
            (50.0, 676.0, 10.0, "[1] E. Cup. Which cups are low? 2001."),
            (50.0, 652.0, 12.0, "Pot, B. In the font of headings."),
            (50.0, 610.0, 12.0, "Appendix"),
            (50.0, 590.0, 10.0, "The pots are high."),
        ])]);
        let headings: Vec<&str> = paper.sections.iter().map(|s| &*s.heading).collect();
        assert_eq!(headings, ["", "Appendix"]);
        assert_eq!(
            paragraphs(&paper),
            ["The cups are low.", "The pots are high."]
        );
    }

    #[test]
    fn initials_over_several_lines_are_joined() {
        let paper = read(vec![page(&[
            (50.0, 760.0, 16.0, "Cups and Pots"),
            (50.0, 730.0, 10.0, "Ada Cup of Tea"),
            (50.0, 700.0, 32.0, "T"),
            (70.0, 700.0, 10.0, "he cup is low, and this line is long."),
            (70.0, 688.0, 10.0, "The pot is high. It is an analysis."),
            (50.0, 640.0, 32.0, "A"),
            (70.0, 640.0, 10.0, "cup is not a pot, as all of us know."),
        ])]);
        assert_eq!(
            paragraphs(&paper),
            [
                "Ada Cup of Tea",
                "The cup is low, and this line is long. The pot is high. It is an analysis.",
                "A cup is not a pot, as all of us know.",
            ]
        );
    }

    #[test]
    fn running_heads_and_page_numbers_are_left_out() {
        let page = |n: usize| {
            let (head, number) = (format!("Journal of Tea {n}."), format!("- {n} -"));
            page(&[
                (50.0, 780.0, 8.0, &head),
                (50.0, 700.0, 10.0, "A sentence of the page."),
                // As on every page, but not at its edge.
                (50.0, 400.0, 10.0, &head),
                (300.0, 20.0, 8.0, &number),
            ])
        };
        let paper = read((1..=4).map(page).collect());
        let heads = (1..=4).map(|n| format!("Journal of Tea {n}."));
        let expected = heads.flat_map(|head| ["A sentence of the page.".to_owned(), head]);
        assert_eq!(paragraphs(&paper), expected.collect::<Vec<_>>());
        assert!(is_page_number("xii") && is_page_number("Page 7"));
        assert!(!is_page_number("Figure 7") && !is_page_number("12345"));
    }
}
