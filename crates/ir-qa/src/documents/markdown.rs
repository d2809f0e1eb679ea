//! Markdown (CommonMark) with metadata between lines of `---` or `+++`.

use pulldown_cmark::{Event, MetadataBlockKind, Options, Parser, Tag, TagEnd};

use super::paper::{Paper, single_spaced, year_in};

/// Reads a Markdown file. The first heading of level 1 is the title unless the metadata have one.
/// Code, HTML and tables are left out.
pub(super) fn read(text: &str, id: &str) -> Paper {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS
        | Options::ENABLE_PLUSES_DELIMITED_METADATA_BLOCKS;
    let mut paper = Paper::new(id);
    let mut text_of_block = String::new();
    let mut heading = None;
    // Number of open elements without text for readers.
    let mut skipped = 0_u64;
    let mut in_metadata = false;
    for event in Parser::new_ext(text, options) {
        match event {
            Event::Start(Tag::MetadataBlock(_)) => in_metadata = true,
            Event::End(TagEnd::MetadataBlock(kind)) => {
                in_metadata = false;
                read_metadata(&text_of_block, kind, &mut paper);
                text_of_block.clear();
            }
            Event::Start(tag) if is_skipped(&tag) => {
                flush(&mut text_of_block, None, &mut paper);
                skipped += 1;
            }
            Event::End(end) if is_skipped_end(end) => skipped = skipped.saturating_sub(1),
            Event::Start(Tag::Heading { level, .. }) => {
                flush(&mut text_of_block, None, &mut paper);
                heading = Some(level as u8);
            }
            Event::End(TagEnd::Heading(_)) => {
                flush(&mut text_of_block, heading.take(), &mut paper);
            }
            Event::Start(Tag::Paragraph | Tag::Item | Tag::BlockQuote(_) | Tag::List(_))
            | Event::End(TagEnd::Paragraph | TagEnd::Item) => {
                flush(&mut text_of_block, None, &mut paper);
            }
            Event::Text(part) if in_metadata => text_of_block.push_str(&part),
            Event::Text(part) | Event::Code(part) if skipped == 0 => text_of_block.push_str(&part),
            Event::SoftBreak | Event::HardBreak => text_of_block.push(' '),
            _ => {}
        }
    }
    flush(&mut text_of_block, None, &mut paper);
    paper
}

fn is_skipped(tag: &Tag<'_>) -> bool {
    matches!(
        tag,
        Tag::CodeBlock(_)
            | Tag::HtmlBlock
            | Tag::Table(_)
            | Tag::Image { .. }
            | Tag::FootnoteDefinition(_)
    )
}

fn is_skipped_end(tag: TagEnd) -> bool {
    matches!(
        tag,
        TagEnd::CodeBlock
            | TagEnd::HtmlBlock
            | TagEnd::Table
            | TagEnd::Image
            | TagEnd::FootnoteDefinition
    )
}

/// Appends a block, a heading of `level` or a paragraph, and clears its text.
fn flush(text: &mut String, level: Option<u8>, paper: &mut Paper) {
    match level {
        Some(1) if paper.title.is_empty() => paper.title = single_spaced(text),
        Some(1) if paper.title == single_spaced(text) => {}
        Some(level) => paper.push_section(level.saturating_sub(1).max(1), text),
        None => paper.push_paragraph(text, None),
    }
    text.clear();
}

/// Reads lines `key: value` or `key = value`; a list is in brackets, or in lines that start with
/// `-`. Other lines are ignored.
fn read_metadata(text: &str, kind: MetadataBlockKind, paper: &mut Paper) {
    let separator = match kind {
        MetadataBlockKind::YamlStyle => ':',
        MetadataBlockKind::PlusesStyle => '=',
    };
    let mut key = String::new();
    for line in text.lines() {
        if let Some(item) = line.trim_start().strip_prefix("- ") {
            set_field(&key, item, paper);
        } else if let Some((name, value)) = line.split_once(separator) {
            key = name.trim().to_lowercase();
            let value = value.trim();
            match value
                .strip_prefix('[')
                .and_then(|list| list.strip_suffix(']'))
            {
                Some(list) => list
                    .split(',')
                    .for_each(|item| set_field(&key, item, paper)),
                None => set_field(&key, value, paper),
            }
        }
    }
}

fn set_field(key: &str, value: &str, paper: &mut Paper) {
    let value = single_spaced(value.trim().trim_matches(['"', '\'']));
    if value.is_empty() {
        return;
    }
    match key {
        "title" => paper.title = value,
        "author" | "authors" => paper.authors.push(value),
        "year" | "date" => paper.year = paper.year.or_else(|| year_in(&value)),
        "venue" | "journal" | "conference" => paper.venue = Some(value),
        "doi" => paper.metadata.set("doi", value),
        _ => {}
    }
}
