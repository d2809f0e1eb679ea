//! Formulas in MathML: their scripts in running text, and the markup of the displayed ones.

use std::mem;

use html5gum::StartTag;

use crate::documents::mathml;
use crate::documents::running_text::{RunningText, has_scripts, math_script};

/// Maximum number of nested elements of a formula. Scripts of deeper ones are running text.
const MAX_DEPTH: usize = 64;

/// Formulas of a paragraph.
#[derive(Default)]
pub(super) struct Formulas {
    /// Open elements of a formula, with their numbers of child elements so far.
    open: Vec<(String, usize)>,
    /// Offset in the text and markup of the open formula, if it is displayed.
    displayed: Option<(usize, String)>,
    /// Text and markup of the displayed formulas.
    done: Vec<(String, String)>,
    has_any: bool,
    has_words: bool,
}

/// Formulas of a paragraph that has ended.
pub(super) struct ParagraphFormulas {
    /// Text and markup of the displayed formulas.
    pub(super) displayed: Vec<(String, String)>,
    /// If `true`, the paragraph has formulas and no words beside them.
    pub(super) is_alone: bool,
}

impl Formulas {
    /// Returns `true` inside of a formula.
    pub(super) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Start tag of `math` or of an element inside of it.
    pub(super) fn start(&mut self, name: &str, tag: &StartTag<()>, text: &mut RunningText) {
        if name == "math" && self.open.is_empty() {
            self.has_any = true;
            let display = tag.attributes.get(b"display".as_slice());
            if display.is_some_and(|display| display.value.as_slice() == b"block") {
                text.separate();
                self.displayed = Some((text.len(), String::new()));
            }
        }
        let script = self.open.last_mut().and_then(|(parent, children)| {
            *children += 1;
            math_script(parent, *children)
        });
        if let Some(script) = script {
            text.open(script);
        }
        let is_pushed = !tag.self_closing && self.open.len() < MAX_DEPTH;
        if let Some((_, markup)) = &mut self.displayed
            && (is_pushed || tag.self_closing)
        {
            let attributes = tag.attributes.iter().filter_map(|(key, value)| {
                let value = std::str::from_utf8(&value.value).ok()?;
                Some((std::str::from_utf8(key).ok()?, value))
            });
            let start = mathml::start_tag(name, attributes);
            markup.push_str(start.as_deref().unwrap_or_default());
            if tag.self_closing {
                markup.push_str(&mathml::end_tag(name).unwrap_or_default());
            }
        }
        if is_pushed {
            self.open.push((name.to_owned(), 0));
        } else if let Some(script) = script {
            text.close(script);
        }
    }

    /// End tag of `math` or of an element inside of it.
    pub(super) fn end(&mut self, name: &str, text: &mut RunningText) {
        let mut open = self.open.iter();
        let Some(at) = open.rposition(|(open, _)| open == name) else {
            return;
        };
        while self.open.len() > at {
            let closed = self.open.pop();
            if let (Some((_, markup)), Some((name, _))) = (&mut self.displayed, closed) {
                markup.push_str(&mathml::end_tag(&name).unwrap_or_default());
            }
            let parent = self.open.last();
            if let Some(script) = parent.and_then(|(name, children)| math_script(name, *children)) {
                text.close(script);
            }
        }
        if self.open.is_empty()
            && let Some((start, markup)) = self.displayed.take()
        {
            self.done.push((text.since(start).to_owned(), markup));
            text.separate();
        }
    }

    /// Text of the page. White space between elements with scripts is none.
    pub(super) fn push_text(&mut self, part: &str, text: &mut RunningText) {
        let parent = self.open.last();
        if self.open.is_empty() {
            self.has_words |= part.contains(char::is_alphanumeric);
        }
        if let Some((_, markup)) = &mut self.displayed {
            markup.push_str(&mathml::escaped(part));
        }
        if !parent.is_some_and(|(name, _)| has_scripts(name)) || !part.trim().is_empty() {
            text.push(part);
        }
    }

    /// Ends the paragraph: returns its formulas and removes them.
    pub(super) fn take(&mut self) -> ParagraphFormulas {
        let own = mem::take(self);
        ParagraphFormulas {
            is_alone: own.has_any && !own.has_words,
            displayed: own.done,
        }
    }
}
