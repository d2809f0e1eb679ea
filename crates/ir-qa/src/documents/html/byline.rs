//! Authors and dates in the text of pages that LaTeXML wrote, such as the ones of arXiv.

use html5gum::StartTag;

use super::purpose::{BylineKind, attribute};
use crate::documents::paper::{Paper, single_spaced, year_in};

/// Maximum number of words of a name.
const MAX_WORDS: usize = 5;

/// Byline in progress, from its start tag to its end tag.
pub(super) struct Byline {
    kind: BylineKind,
    /// Element with the names of authors, and the number of open elements of its name.
    names: Option<(Vec<u8>, u64)>,
    /// Number of open superscripts and notes, which have affiliations.
    marks: u64,
    text: String,
    authors: Vec<String>,
}

impl Byline {
    pub(super) fn new(kind: BylineKind) -> Self {
        Self {
            kind,
            names: None,
            marks: 0,
            text: String::new(),
            authors: Vec::new(),
        }
    }

    pub(super) fn start(&mut self, tag: &StartTag<()>) {
        if tag.name.as_slice() == b"br" {
            self.text.push('\n');
        }
        if tag.self_closing {
            return;
        }
        match &mut self.names {
            Some((name, open)) => {
                *open += u64::from(*name == tag.name.as_slice());
                self.marks += u64::from(tag.name.as_slice() == b"sup");
            }
            None if has_class(tag, "ltx_personname") => {
                self.text.clear();
                self.names = Some((tag.name.to_vec(), 1));
            }
            None => {}
        }
    }

    pub(super) fn end(&mut self, name: &str) {
        let Some((element, open)) = &mut self.names else {
            return;
        };
        if name == "sup" {
            self.marks = self.marks.saturating_sub(1);
        }
        if element.as_slice() == name.as_bytes() {
            *open -= 1;
            if *open == 0 {
                self.names = None;
                self.marks = 0;
                let text = std::mem::take(&mut self.text);
                self.authors.extend(names(&text));
            }
        }
    }

    pub(super) fn push(&mut self, text: &str) {
        if self.kind != BylineKind::Authors || (self.names.is_some() && self.marks == 0) {
            self.text.push_str(text);
        }
    }

    /// Sets what the paper has no metadata of.
    pub(super) fn finish(self, paper: &mut Paper) {
        match self.kind {
            BylineKind::Authors if paper.authors.is_empty() => paper.authors = self.authors,
            BylineKind::Authors => {}
            BylineKind::Date => paper.year = paper.year.or_else(|| year_in(&self.text)),
            BylineKind::Stamp => {
                let text = single_spaced(&self.text);
                if let Some((_, id)) = text.split_once("arXiv:") {
                    let id = id.split_whitespace().next().unwrap_or_default();
                    if paper.metadata.text("arxiv").is_none() && !id.is_empty() {
                        paper.metadata.set("arxiv", id);
                    }
                    // The id has four digits, too.
                    let date = text.rsplit_once(']').map_or("", |(_, date)| date);
                    paper.year = paper.year.or_else(|| year_in(date));
                }
            }
        }
    }
}

fn has_class(tag: &StartTag<()>, class: &str) -> bool {
    attribute(tag, "class").is_some_and(|value| value.split_whitespace().any(|it| it == class))
}

/// Names in a text, before its affiliations: in the first line with one, between commas, `&` and
/// `and`.
fn names(text: &str) -> Vec<String> {
    let of_line = |line: &str| -> Vec<String> {
        let spaced = single_spaced(line);
        let parts = spaced.split([',', '&', ';']);
        let parts = parts.flat_map(|part| part.split(" and "));
        let parts = parts.map(|part| part.trim().trim_start_matches("and ").trim());
        parts
            .filter(|part| is_name(part))
            .map(str::to_owned)
            .collect()
    };
    let mut lines = text.split('\n').map(of_line);
    lines.find(|names| !names.is_empty()).unwrap_or_default()
}

/// Returns `true` for up to [`MAX_WORDS`] words without digits, the first of which has upper case
/// or is in a script without case.
fn is_name(text: &str) -> bool {
    let words = text.split_whitespace().count();
    (1..=MAX_WORDS).contains(&words)
        && text.starts_with(|c: char| c.is_alphabetic() && !c.is_lowercase())
        && !text.contains(|c: char| c.is_ascii_digit() || "@:/{}".contains(c))
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn names_end_before_affiliations() {
        for (text, expected) in [
            ("Eve Cup\nInstitute of Tea\n", &["Eve Cup"][..]),
            (
                "\n  Eve Cup, Bo Pot and Ann de la Roe",
                &["Eve Cup", "Bo Pot", "Ann de la Roe"],
            ),
            ("Eve Cup & Bo Pot\ncup@tea.example", &["Eve Cup", "Bo Pot"]),
            ("Eve Cup, and Bo Pot", &["Eve Cup", "Bo Pot"]),
            ("李雷", &["李雷"]),
            ("12 Tea Lane", &[]),
            ("", &[]),
        ] {
            assert_eq!(names(text), expected, "{text}");
        }
    }
}
