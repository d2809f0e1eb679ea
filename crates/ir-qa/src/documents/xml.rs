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
use super::running_text::{RunningText, Script, has_scripts, math_script};

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

/// Effect of an element on the running text around it.
pub(super) enum Role {
    /// The content is part of the text.
    Inline,
    /// The content is part of the text and separated from the words around it.
    Block,
    /// The element has no effect; a word continues after it.
    Omitted,
    /// The content is no part of the text. Words before and after it are separate.
    OmittedBlock,
    /// The content is a superscript or subscript.
    Script(Script),
    /// The content is a link inside of the document. `is_citation`: to an entry of the list of
    /// references, or a footnote.
    ReferenceMark { is_citation: bool },
    /// Another text replaces the content.
    Replaced(String),
    /// Another text, separated from the words around it, replaces the content.
    ReplacedBlock(String),
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

    /// Names and values of the attributes.
    pub(super) fn attributes(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = self.attributes.iter();
        all.map(|(key, value)| (key.as_str(), value.as_str()))
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
        self.descendants_of(&[name])
    }

    /// Descendants of any of the names, without those inside of one, in the order of the text.
    pub(super) fn descendants_of<'a>(&'a self, names: &[&str]) -> Vec<&'a Self> {
        let mut found = Vec::new();
        self.collect(names, &mut found);
        found
    }

    fn collect<'a>(&'a self, names: &[&str], found: &mut Vec<&'a Self>) {
        for element in self.elements() {
            if names.contains(&element.name.as_str()) {
                found.push(element);
            } else {
                element.collect(names, found);
            }
        }
    }

    /// Appends the text of the element. `role` determines the effect of each element in it.
    pub(super) fn push_text(&self, role: &dyn Fn(&Self) -> Role, text: &mut RunningText) {
        let mut children = 0;
        for node in &self.children {
            let element = match node {
                Node::Text(part) => {
                    if !has_scripts(&self.name) || !part.trim().is_empty() {
                        text.push(part);
                    }
                    continue;
                }
                Node::Element(element) => element,
            };
            children += 1;
            let script = math_script(&self.name, children);
            if let Some(script) = script {
                text.open(script);
            }
            element.push_as(role(element), role, text);
            if let Some(script) = script {
                text.close(script);
            }
        }
    }

    fn push_as(&self, own: Role, role: &dyn Fn(&Self) -> Role, text: &mut RunningText) {
        match own {
            Role::Inline => self.push_text(role, text),
            Role::Block => {
                text.separate();
                self.push_text(role, text);
                text.separate();
            }
            Role::Omitted => {}
            Role::OmittedBlock => text.separate(),
            Role::Script(script) => {
                text.open(script);
                self.push_text(role, text);
                text.close(script);
            }
            Role::ReferenceMark { is_citation } => {
                text.start_mark(is_citation);
                self.push_text(role, text);
                text.end_mark();
            }
            Role::Replaced(replacement) => text.push(&replacement),
            Role::ReplacedBlock(replacement) => {
                text.separate();
                text.push(&replacement);
                text.separate();
            }
        }
    }

    /// Text of the element with single spaces, as [`Element::push_text`] appends it.
    pub(super) fn running_text(&self, role: &dyn Fn(&Self) -> Role) -> String {
        let mut text = RunningText::default();
        self.push_text(role, &mut text);
        text.take()
    }

    /// Text of the element with single spaces.
    pub(super) fn text(&self) -> String {
        self.running_text(&common_role)
    }
}

/// Role of elements that JATS, TEI and MathML share.
pub(super) fn common_role(element: &Element) -> Role {
    match element.name.as_str() {
        // Other notations of a formula in MathML.
        "annotation" | "annotation-xml" => Role::Omitted,
        "math" if element.attribute("display") == Some("block") => Role::Block,
        // A line break inside of a word.
        "lb" if element.attribute("break") == Some("no") => Role::Inline,
        // Line breaks, and sentences of TEI, may have no white space between them.
        "break" | "lb" | "s" => Role::Block,
        _ => Role::Inline,
    }
}
