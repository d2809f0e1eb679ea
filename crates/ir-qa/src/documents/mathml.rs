//! MathML of displayed formulas, kept with the document.

use super::xml::{self, Element, Node};
use crate::word_class::WordClass;

/// Elements of MathML Core, and the ones of MathML 3 that browsers without them show as rows.
static ELEMENTS: WordClass = WordClass::new(
    "maction math menclose merror mfenced mfrac mi mlabeledtr mmultiscripts mn mo mover mpadded
    mphantom mprescripts mroot mrow ms mspace msqrt mstyle msub msubsup msup mtable mtd mtext mtr
    munder munderover none",
);
/// Attributes without addresses and scripts.
static ATTRIBUTES: WordClass = WordClass::new(
    "accent accentunder align alttext close columnalign columnspan depth dir display displaystyle
    fence form height largeop linethickness lspace mathsize mathvariant maxsize minsize
    movablelimits notation open rowalign rowspan rspace scriptlevel separator separators stretchy
    symmetric voffset width",
);

/// Start tag of an element of MathML with its harmless attributes. `None` for other elements, of
/// which the text is kept.
pub(super) fn start_tag<'a>(
    name: &str,
    attributes: impl Iterator<Item = (&'a str, &'a str)>,
) -> Option<String> {
    let name = ELEMENTS.get(name)?;
    let mut tag = format!("<{name}");
    for (key, value) in attributes {
        if let Some(key) = ATTRIBUTES.get(key) {
            tag.push_str(&format!(" {key}=\"{}\"", escaped(value)));
        }
    }
    tag.push('>');
    Some(tag)
}

pub(super) fn end_tag(name: &str) -> Option<String> {
    ELEMENTS.get(name).map(|name| format!("</{name}>"))
}

/// Text in content and attributes.
pub(super) fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

/// MathML with harmless elements and attributes alone, and without other notations of the formula;
/// safe in element content of HTML. `None` if the text is no element `math`.
///
/// ```
/// use ir_qa::documents::safe_mathml;
/// let markup = "<math onclick='x()'><mi href='y'>a</mi><script>b</script></math>";
/// assert_eq!(safe_mathml(markup).as_deref(), Some("<math><mi>a</mi>b</math>"));
/// assert_eq!(safe_mathml("<p>a</p>"), None);
/// ```
#[must_use]
pub fn safe_mathml(text: &str) -> Option<String> {
    let root = xml::parse(text, "").ok()?;
    (root.name == "math").then(|| markup(&root))
}

/// MathML of an element `math`, without other notations of the formula.
pub(super) fn markup(math: &Element) -> String {
    let mut text = String::new();
    push(math, &mut text);
    text
}

fn push(element: &Element, text: &mut String) {
    if matches!(element.name.as_str(), "annotation" | "annotation-xml") {
        return;
    }
    let tag = start_tag(&element.name, element.attributes());
    text.push_str(tag.as_deref().unwrap_or_default());
    for node in &element.children {
        match node {
            Node::Text(part) => text.push_str(&escaped(part)),
            Node::Element(element) => push(element, text),
        }
    }
    text.push_str(&end_tag(&element.name).unwrap_or_default());
}
