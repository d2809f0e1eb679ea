//! Purposes of the elements of a page: running text, metadata, or neither.

use std::borrow::Cow;

use html5gum::StartTag;

use crate::word_class::WordClass;

/// Elements without text for readers: scripts, styles, navigation, controls.
static SKIPPED: WordClass = WordClass::new(
    "annotation annotation-xml aside button canvas datalist footer iframe nav noscript object
    pre script select style svg template textarea",
);
/// Other elements that may be hidden, or no part of the text by their class or role.
static CONTAINERS: WordClass = WordClass::new(
    "a abbr article b blockquote cite dd details dialog div dl dt em figcaption figure font form h1
    h2 h3 h4 h5 h6 header hgroup i label li main mjx-math ol p section small span strong sub sup
    table time u ul",
);
/// Classes and roles of lists of references.
static REFERENCE_LISTS: WordClass = WordClass::new(
    "bibliography biblist c-article-references citation-list csl-bib-body doc-bibliography
    ltx_bibliography ltx_biblist ref-list reference-list references references-list reflist
    thebibliography",
);
/// Classes and roles of footnotes, affiliations, tables of contents, links of the site, errors of
/// the converter, texts for screen readers, and references that open at a citation.
static ASIDES: WordClass = WordClass::new(
    "aff affiliation affiliations affs articlebadge-editionmeta-doi-copylink articletimeline
    author-affiliations author-notes contribgroup copylink doc-endnote doc-endnotes
    doc-footnote doc-pagebreak doc-toc endnote endnotes fn-group fn-list footnote footnote-list
    footnote-ref footnoteref footnotes ltx_author_notes ltx_contact ltx_error ltx_note
    ltx_page_footer ltx_page_header ltx_page_navbar ltx_pagination ltx_role_affiliation
    ltx_tag_equation ltx_tag_equationgroup ltx_toc modaltutors
    mw-editsection rearnote rearnotes refctt scielo__contribgroup screen-reader-text sr-only
    table-of-contents toc visually-hidden",
);

/// Classes of superscripts that are citations.
static CITATIONS: WordClass = WordClass::new("citation reference xref");

/// Classes of tables that place formulas.
static FORMULA_TABLES: WordClass = WordClass::new("ltx_equation ltx_equationgroup ltx_eqn_table");

/// What the content of an element is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Text,
    /// No part of the paper, or not for readers.
    Omitted,
    Table,
    /// Metadata in the text.
    Byline(BylineKind),
}

/// Metadata of a byline.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum BylineKind {
    /// Authors: elements of the class `ltx_personname`.
    Authors,
    Date,
    /// arXiv's stamp: `arXiv:1606.05250v3 [cs.CL] 11 Oct 2016`.
    Stamp,
}

/// Name of an element that may be no text. Its end tag is counted.
pub(super) fn tracked_name(name: &[u8]) -> Option<&'static str> {
    let name = std::str::from_utf8(name).ok()?;
    SKIPPED.get(name).or_else(|| CONTAINERS.get(name))
}

/// Purpose of a tracked element.
pub(super) fn purpose(name: &str, tag: &StartTag<()>) -> Purpose {
    if SKIPPED.contains(name) || is_hidden(tag) {
        return Purpose::Omitted;
    }
    if attribute(tag, "id").is_some_and(|id| id == "watermark-tr") {
        return Purpose::Byline(BylineKind::Stamp);
    }
    let is_any = |of: &dyn Fn(&str) -> bool| {
        let names = ["class", "role", "epub:type"].iter();
        let mut values = names.filter_map(|name| attribute(tag, name));
        values.any(|value| value.split_whitespace().any(of))
    };
    if is_any(&|word| word.eq_ignore_ascii_case("ltx_authors")) {
        Purpose::Byline(BylineKind::Authors)
    } else if is_any(&|word| word.eq_ignore_ascii_case("ltx_dates")) {
        Purpose::Byline(BylineKind::Date)
    } else if is_any(&|word| {
        let is_citation = name == "sup" && CITATIONS.has(word);
        is_citation || REFERENCE_LISTS.has(word) || ASIDES.has(word)
    }) {
        Purpose::Omitted
    } else if name == "table" && !is_any(&|word| FORMULA_TABLES.has(word)) {
        // Tables that place other content have no rows to read.
        if is_any(&|word| matches!(word, "presentation" | "none")) {
            Purpose::Omitted
        } else {
            Purpose::Table
        }
    } else {
        Purpose::Text
    }
}

/// Returns `true` if an element is not displayed, or repeats other content for the eye, as KaTeX
/// does with formulas.
fn is_hidden(tag: &StartTag<()>) -> bool {
    let is = |name, hides: fn(&str) -> bool| {
        attribute(tag, name).is_some_and(|value| hides(value.trim()))
    };
    // Browsers show what is hidden until it is found.
    is("hidden", |value| !value.eq_ignore_ascii_case("until-found"))
        || is("aria-hidden", |value| value.eq_ignore_ascii_case("true"))
        || is("style", |style| style.split(';').any(hides))
}

/// Returns `true` for a declaration of CSS such as `display: none`.
fn hides(declaration: &str) -> bool {
    let Some((name, value)) = declaration.split_once(':') else {
        return false;
    };
    let value = value.split('!').next().unwrap_or_default().trim();
    let is = |text: &str, expected: &str| text.trim().eq_ignore_ascii_case(expected);
    (is(name, "display") && is(value, "none"))
        || (is(name, "visibility") && (is(value, "hidden") || is(value, "collapse")))
}

/// Returns `true` for the address of an entry of the list of references, or of a footnote.
pub(super) fn is_citation_address(address: &str) -> bool {
    let Some((_, fragment)) = address.split_once('#') else {
        return false;
    };
    let fragment = fragment.to_lowercase();
    let parts = ["bib", "cit", "fn", "foot", "note", "ref"];
    let letters = fragment.trim_end_matches(|c: char| c.is_ascii_digit());
    parts.iter().any(|part| fragment.contains(part))
        || (letters.len() < fragment.len() && matches!(letters, "b" | "cr" | "r"))
}

pub(super) fn attribute<'t>(tag: &'t StartTag<()>, name: &str) -> Option<Cow<'t, str>> {
    let value = tag.attributes.get(name.as_bytes())?;
    Some(String::from_utf8_lossy(&value.value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_that_hide() {
        for (style, is_hidden) in [
            ("display:none", true),
            ("color: red; DISPLAY : None !important", true),
            ("visibility: hidden;", true),
            ("display: block", false),
            ("content: none", false),
            ("", false),
        ] {
            assert_eq!(style.split(';').any(hides), is_hidden, "{style}");
        }
    }

    #[test]
    fn addresses_of_citations() {
        for (address, is_citation) in [
            ("#b3", true),
            ("p.html#bib.bib12", true),
            ("#cite_note-1", true),
            ("#ref-CR4", true),
            ("#fig2", false),
            ("#S3.T1", false),
            ("#b", false),
            ("notes.html", false),
        ] {
            assert_eq!(is_citation_address(address), is_citation, "{address}");
        }
    }
}
