//! Markdown (CommonMark) with metadata between lines of `---` (YAML) or `+++` (TOML).

use std::mem;

use ir_core::Attributes;
use pulldown_cmark::{Event, MetadataBlockKind, Options, Parser, Tag, TagEnd};

use super::front_matter;
use super::hyphens::Hyphens;
use super::pandoc::{without_attributes, without_citations, without_spans};
use super::paper::{Paper, single_spaced};
use super::references::is_reference_heading;
use super::running_text::{RunningText, Script};
use super::table::{Cell, Table};
use super::tex;
use super::text::follows_references;

/// Level of a list of references without a heading of Markdown. Every heading ends it.
const ANY_HEADING: u8 = u8::MAX;

const METADATA_BLOCKS: Options = Options::ENABLE_YAML_STYLE_METADATA_BLOCKS
    .union(Options::ENABLE_PLUSES_DELIMITED_METADATA_BLOCKS);

/// Fields of the metadata block at the start of a Markdown file, and the text after it.
///
/// ```
/// use ir_qa::documents::FrontMatter;
/// let note = "---\ntitle: Green tea\nyear: 2019\ntags: [tea, Asia]\n---\n\nTea is a drink.\n";
/// let Some(matter) = FrontMatter::parse(note) else { panic!("a metadata block") };
/// assert_eq!(matter.title.as_deref(), Some("Green tea"));
/// assert_eq!(matter.attributes.year(), Some(2019));
/// assert_eq!(matter.text, "Tea is a drink.\n");
/// assert!(FrontMatter::parse("Tea\n---\n").is_none());
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct FrontMatter<'a> {
    /// Field `title`, if it is not blank.
    pub title: Option<String>,
    /// Other fields with a value.
    pub attributes: Attributes,
    /// Text after the block.
    pub text: &'a str,
}

impl<'a> FrontMatter<'a> {
    /// Reads the block between lines of `---` (YAML) or `+++` (TOML) in the first lines, as
    /// [`DocumentReader`](super::DocumentReader) does. `None` if there is no block, or if it has no
    /// fields and is text. The text has no byte order mark.
    #[must_use]
    pub fn parse(markdown: &'a str) -> Option<Self> {
        if !markdown.starts_with("---") && !markdown.starts_with("+++") {
            return None;
        }
        let mut events = Parser::new_ext(markdown, METADATA_BLOCKS).into_offset_iter();
        let (Event::Start(Tag::MetadataBlock(kind)), range) = events.next()? else {
            return None;
        };
        let mut block = String::new();
        for (event, _) in events {
            match event {
                Event::Text(part) => block.push_str(&part),
                _ => break,
            }
        }
        let (title, attributes) = match kind {
            MetadataBlockKind::YamlStyle => front_matter::yaml_attributes(&block)?,
            MetadataBlockKind::PlusesStyle => front_matter::toml_attributes(&block)?,
        };
        Some(Self {
            title,
            attributes,
            text: markdown[range.end..].trim_start(),
        })
    }
}

/// Reads a Markdown file. The title is in the metadata, or the first heading of level 1, or the
/// heading above all others. Code, HTML, footnotes, citations of Pandoc and lists of
/// references are left out. A list of references ends at the next heading of the same or a higher
/// level.
pub(super) fn read(text: &str, id: &str) -> Paper {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_MATH
        | METADATA_BLOCKS;
    let mut reader = MarkdownReader {
        paper: Paper::new(id),
        hyphens: Hyphens::new(text.lines()),
        lines: Vec::new(),
        line: RunningText::default(),
        metadata: None,
        skipped: 0,
        lists: 0,
        table: None,
        references: None,
    };
    for event in Parser::new_ext(text, options) {
        reader.read(event);
    }
    reader.flush(None);
    raise_title(&mut reader.paper);
    reader.paper
}

struct MarkdownReader {
    paper: Paper,
    hyphens: Hyphens,
    /// Finished lines of the block.
    lines: Vec<String>,
    line: RunningText,
    /// Text of the open metadata block.
    metadata: Option<String>,
    /// Number of open elements without text for readers.
    skipped: u64,
    /// Number of open lists.
    lists: u64,
    table: Option<Table>,
    /// Level of the heading of the list of references, inside of one.
    references: Option<u8>,
}

impl MarkdownReader {
    fn read(&mut self, event: Event<'_>) {
        match event {
            Event::Start(Tag::MetadataBlock(_)) => {
                self.flush(None);
                self.metadata = Some(String::new());
            }
            Event::End(TagEnd::MetadataBlock(kind)) => {
                let text = self.metadata.take().unwrap_or_default();
                let is_metadata = match kind {
                    MetadataBlockKind::YamlStyle => front_matter::read_yaml(&text, &mut self.paper),
                    MetadataBlockKind::PlusesStyle => {
                        front_matter::read_toml(&text, &mut self.paper)
                    }
                };
                if !is_metadata {
                    self.lines.extend(text.lines().map(str::to_owned));
                    self.flush(None);
                }
            }
            Event::Start(Tag::Table(_)) if self.skipped == 0 => {
                self.flush(None);
                self.table = Some(Table::new(""));
            }
            Event::End(TagEnd::Table) => {
                if let Some(table) = self.table.take()
                    && self.references.is_none()
                {
                    table.push_to(&mut self.paper, None);
                }
            }
            Event::End(TagEnd::TableCell) => {
                let text = without_citations(&without_spans(&self.line.take()));
                if let Some(table) = &mut self.table {
                    table.push_cell(Cell {
                        text,
                        ..Cell::default()
                    });
                }
            }
            Event::End(end @ (TagEnd::TableHead | TagEnd::TableRow)) => {
                if let Some(table) = &mut self.table {
                    table.end_row(end == TagEnd::TableHead);
                }
            }
            Event::Start(tag) if is_skipped(&tag) => {
                if !matches!(tag, Tag::Image { .. }) {
                    self.flush(None);
                }
                self.skipped += 1;
            }
            Event::End(end) if is_skipped_end(end) => self.skipped = self.skipped.saturating_sub(1),
            Event::Start(Tag::Heading { .. }) => self.flush(None),
            Event::End(TagEnd::Heading(level)) => self.flush(Some(level as u8)),
            Event::Start(Tag::List(_)) => {
                self.flush(None);
                self.lists += 1;
            }
            Event::End(TagEnd::List(_)) => {
                self.flush(None);
                self.lists = self.lists.saturating_sub(1);
            }
            Event::Start(Tag::Paragraph | Tag::Item | Tag::BlockQuote(_))
            | Event::End(TagEnd::Paragraph | TagEnd::Item) => self.flush(None),
            Event::Text(part) => match &mut self.metadata {
                Some(text) => text.push_str(&part),
                None => self.push(&part),
            },
            Event::Code(part) => self.push(&part),
            Event::InlineMath(formula) => {
                self.push(&tex::number(&formula).unwrap_or_else(|| format!("${formula}$")));
            }
            Event::DisplayMath(formula) => self.push(&format!("$${formula}$$")),
            Event::InlineHtml(tag) if self.skipped == 0 => self.read_tag(&tag),
            Event::SoftBreak if self.skipped == 0 => self.lines.push(self.line.take()),
            Event::HardBreak => self.push(" "),
            _ => {}
        }
    }

    fn push(&mut self, text: &str) {
        if self.skipped == 0 {
            self.line.push(text);
        }
    }

    fn read_tag(&mut self, tag: &str) {
        match tag.to_ascii_lowercase().as_str() {
            "<sup>" => self.line.open(Script::Superscript),
            "</sup>" => self.line.close(Script::Superscript),
            "<sub>" => self.line.open(Script::Subscript),
            "</sub>" => self.line.close(Script::Subscript),
            tag if tag.starts_with("<br") => self.line.push(" "),
            _ => {}
        }
    }

    /// Appends the block, a heading of `level` or a paragraph, and starts an empty one.
    fn flush(&mut self, level: Option<u8>) {
        self.lines.push(self.line.take());
        let lines = mem::take(&mut self.lines);
        // Lines of colons are the start and end of a block in Pandoc.
        let lines = lines.iter().filter(|line| !line.starts_with(":::"));
        let text = self.hyphens.join(lines.map(String::as_str));
        let text = without_citations(&without_spans(&text));
        let Some(level) = level else {
            self.push_paragraph(&text);
            return;
        };
        let text = single_spaced(without_attributes(&text));
        let paper = &mut self.paper;
        let is_first = paper.title.is_empty() && paper.sections.is_empty();
        match self.references {
            Some(open) if level > open => {}
            _ if is_reference_heading(&text) && !(is_first && level == 1) => {
                self.references = Some(level);
            }
            _ => {
                self.references = None;
                match level {
                    1 if paper.title.is_empty() => paper.title = text,
                    1 if paper.title == text => {}
                    level => paper.push_section(level.saturating_sub(1).max(1), &text),
                }
            }
        }
    }

    fn push_paragraph(&mut self, text: &str) {
        let is_line = self.lists == 0;
        match self.references {
            Some(ANY_HEADING) if is_line && follows_references(text) => {
                self.references = None;
                self.paper.push_section(1, text);
            }
            Some(_) => {}
            None if is_line && is_reference_heading(text) => self.references = Some(ANY_HEADING),
            None if is_formula(text) => self.paper.push_formula(text.trim(), None, None),
            None => self.paper.push_paragraph(text, None),
        }
    }
}

/// Returns `true` for a displayed formula without other text.
fn is_formula(text: &str) -> bool {
    let inner = text.trim().strip_prefix("$$");
    let inner = inner.and_then(|inner| inner.strip_suffix("$$"));
    inner.is_some_and(|inner| !inner.contains('$'))
}

fn is_skipped(tag: &Tag<'_>) -> bool {
    matches!(
        tag,
        Tag::CodeBlock(_) | Tag::HtmlBlock | Tag::Image { .. } | Tag::FootnoteDefinition(_)
    )
}

fn is_skipped_end(tag: TagEnd) -> bool {
    matches!(
        tag,
        TagEnd::CodeBlock | TagEnd::HtmlBlock | TagEnd::Image | TagEnd::FootnoteDefinition
    )
}

/// Makes the first heading the title if the paper has none and the heading is above all others.
fn raise_title(paper: &mut Paper) {
    let Some((first, rest)) = paper.sections.split_first_mut() else {
        return;
    };
    let is_title = paper.title.is_empty() && !first.heading.is_empty();
    if !is_title || rest.iter().any(|section| section.level <= first.level) {
        return;
    }
    for section in rest {
        section.level -= first.level;
    }
    paper.title = mem::take(&mut first.heading);
    first.level = 1;
    paper.remove_empty_sections();
}
