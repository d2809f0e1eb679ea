//! XML as a tree of elements.
//!
//! JATS and TEI have metadata that are found by path. quick-xml never expands entities of a
//! document type, so a tree of its events, limited in depth, is safe. roxmltree rejects the
//! document type of every JATS file, or expands it.

use ir_data::sgml::character_reference;
use quick_xml::Reader;
use quick_xml::XmlVersion;
// Its table of HTML's entities has wrong values: `;` for `alpha`.
use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::{BytesStart, Event};

use super::DocumentError;
use super::decoding::line_at;

/// Maximum number of nested elements.
pub(super) const MAX_DEPTH: usize = 256;

/// Maximum number of elements of a file. An element takes about 100 bytes, so that a file of empty
/// elements takes many times its size.
pub(super) const MAX_ELEMENTS: usize = 2_000_000;

/// XML element. Names have no namespace prefix.
#[derive(Debug, Default)]
pub(super) struct Element {
    pub(super) name: String,
    attributes: Vec<(String, String)>,
    pub(super) children: Vec<Node>,
}

#[derive(Debug)]
pub(super) enum Node {
    Element(Element),
    Text(String),
}

/// Parses a document and returns its root. Entities of the document type are not expanded: a
/// reference to one is an error.
pub(super) fn parse(text: &str, path: &str) -> Result<Element, DocumentError> {
    let mut reader = Reader::from_str(text);
    let mut open: Vec<Element> = Vec::new();
    let mut root = None;
    let mut elements = 0;
    loop {
        let at = reader.buffer_position();
        let here = || (path.to_owned(), line_at(text, at as usize));
        let fail = |found: String| {
            let (path, line) = here();
            DocumentError::Xml { path, line, found }
        };
        let event = reader.read_event().map_err(|error| DocumentError::Xml {
            path: path.to_owned(),
            line: line_at(text, error_offset(text, reader.error_position())),
            found: error.to_string(),
        })?;
        if matches!(event, Event::Start(_) | Event::Empty(_)) {
            elements += 1;
            if elements > MAX_ELEMENTS {
                let ((path, line), limit) = (here(), MAX_ELEMENTS);
                return Err(DocumentError::Elements { path, line, limit });
            }
        }
        let closed = match event {
            Event::Start(tag) => {
                if open.len() == MAX_DEPTH {
                    let ((path, line), limit) = (here(), MAX_DEPTH);
                    return Err(DocumentError::Depth { path, line, limit });
                }
                open.push(element(&tag).map_err(fail)?);
                continue;
            }
            Event::Empty(tag) => Some(element(&tag).map_err(fail)?),
            Event::End(_) => open.pop(),
            Event::Text(found) => {
                push_text(&mut open, &found.xml10_content());
                None
            }
            Event::CData(found) => {
                push_text(&mut open, &found.xml10_content());
                None
            }
            Event::GeneralRef(reference) => {
                let name = reference.xml10_content();
                let character = reference
                    .resolve_char_ref()
                    .map_err(|e| fail(e.to_string()))?;
                let predefined = character.map(String::from);
                let predefined =
                    predefined.or_else(|| resolve_xml_entity(&name).map(str::to_owned));
                match predefined.or_else(|| character_reference(&name)) {
                    Some(value) => push_text(&mut open, &value),
                    None => {
                        let ((path, line), entity) = (here(), name.into_owned());
                        return Err(DocumentError::Entity { path, line, entity });
                    }
                }
                None
            }
            Event::Eof => break,
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => None,
        };
        let Some(closed) = closed else { continue };
        match open.last_mut() {
            Some(parent) => parent.children.push(Node::Element(closed)),
            None if root.is_none() => root = Some(closed),
            None => return Err(fail("a second root element".to_owned())),
        }
    }
    let end = |found: String| DocumentError::Xml {
        path: path.to_owned(),
        line: line_at(text, text.len()),
        found,
    };
    match (open.last(), root) {
        (Some(element), _) => Err(end(format!("the end of the file in <{}>", element.name))),
        (None, None) => Err(end("no element".to_owned())),
        (None, Some(root)) => Ok(root),
    }
}

/// Offset of an error, within the text.
fn error_offset(text: &str, position: u64) -> usize {
    usize::try_from(position).map_or(text.len(), |at| at.min(text.len()))
}

fn element(tag: &BytesStart<'_>) -> Result<Element, String> {
    let mut attributes = Vec::new();
    for attribute in tag.attributes() {
        let attribute = attribute.map_err(|error| error.to_string())?;
        // References of the document type are kept verbatim.
        let value = match attribute.normalized_value(XmlVersion::Implicit1_0) {
            Ok(value) => value.into_owned(),
            Err(_) => attribute.value.into_owned(),
        };
        attributes.push((attribute.key.local_name().as_ref().to_owned(), value));
    }
    Ok(Element {
        name: tag.local_name().as_ref().to_owned(),
        attributes,
        children: Vec::new(),
    })
}

fn push_text(open: &mut [Element], text: &str) {
    let Some(parent) = open.last_mut() else {
        return;
    };
    if let Some(Node::Text(last)) = parent.children.last_mut() {
        last.push_str(text);
    } else {
        parent.children.push(Node::Text(text.to_owned()));
    }
}

impl Element {
    /// Value of an attribute.
    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        let mut all = self.attributes.iter();
        all.find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    /// Iterates over the child elements.
    pub(super) fn elements(&self) -> impl Iterator<Item = &Self> {
        self.children.iter().filter_map(|node| match node {
            Node::Element(element) => Some(element),
            Node::Text(_) => None,
        })
    }

    /// Child elements of a name.
    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Self> {
        self.elements().filter(move |element| element.name == name)
    }

    /// The first element on a path of names.
    pub(super) fn find(&self, path: &[&str]) -> Option<&Self> {
        let Some((name, rest)) = path.split_first() else {
            return Some(self);
        };
        self.elements()
            .filter(|element| element.name == *name)
            .find_map(|element| element.find(rest))
    }

    /// Descendants of a name, without those inside of one, in the order of the text.
    pub(super) fn descendants<'a>(&'a self, name: &str) -> Vec<&'a Self> {
        let mut found = Vec::new();
        self.collect(name, &mut found);
        found
    }

    fn collect<'a>(&'a self, name: &str, found: &mut Vec<&'a Self>) {
        for element in self.elements() {
            if element.name == name {
                found.push(element);
            } else {
                element.collect(name, found);
            }
        }
    }

    /// Appends the text of the element without the elements for which `skip` is true.
    pub(super) fn push_text_without(&self, skip: &dyn Fn(&Self) -> bool, text: &mut String) {
        for node in &self.children {
            match node {
                Node::Text(part) => text.push_str(part),
                Node::Element(element) if skip(element) => {}
                Node::Element(element) => {
                    element.push_text_without(skip, text);
                    // Line breaks, and sentences of TEI, may have no white space between them.
                    if matches!(element.name.as_str(), "break" | "lb" | "s") {
                        text.push(' ');
                    }
                }
            }
        }
    }

    /// Returns `true` if the text of the element contains such a character.
    pub(super) fn has_text(&self, of: fn(char) -> bool) -> bool {
        self.children.iter().any(|node| match node {
            Node::Text(text) => text.contains(of),
            Node::Element(element) => element.has_text(of),
        })
    }

    /// Text of the element with single spaces.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        self.push_text_without(&|_| false, &mut text);
        super::paper::single_spaced(&text)
    }
}
