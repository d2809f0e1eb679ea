//! RIS, the format of reference managers.

use super::names::PersonName;
use super::{Citation, VenueKind};

/// Entries of papers in RIS, as Zotero, EndNote and Mendeley import them. Lines end with carriage
/// return and line feed.
///
/// ```
/// use ir_core::Attributes;
/// use ir_qa::citation::{Citation, ris};
/// let mut paper = Attributes::new();
/// paper.set("title", "On Birds");
/// paper.set("authors", vec!["Rosa van der Berg"]);
/// let citation = Citation::from_attributes("p", &paper).with_quote("Birds sing.", Some(3));
/// let expected = "TY  - GEN\r\nAU  - van der Berg, Rosa\r\nTI  - On Birds\r\n\
///                 N1  - “Birds sing.” (page 3)\r\nER  - \r\n";
/// assert_eq!(ris(&[citation]), expected);
/// ```
#[must_use]
pub fn ris(citations: &[Citation]) -> String {
    citations.iter().map(entry).collect()
}

fn entry(citation: &Citation) -> String {
    let (kind, venue) = match citation.venue_kind() {
        VenueKind::Journal => ("JOUR", "JO"),
        VenueKind::Conference => ("CONF", "T2"),
        VenueKind::Unknown => ("GEN", ""),
    };
    let mut fields = vec![("TY", kind.to_owned())];
    let authors = citation.authors.iter();
    fields.extend(authors.map(|name| ("AU", author(name))));
    fields.push(("TI", citation.title.clone()));
    if let Some(name) = &citation.venue {
        fields.push((venue, name.clone()));
    }
    if let Some(year) = citation.year {
        fields.push(("PY", year.to_string()));
    }
    if let Some(doi) = &citation.doi {
        fields.push(("DO", doi.clone()));
    }
    if let Some(id) = &citation.arxiv {
        fields.push(("M1", format!("arXiv:{id}")));
    }
    fields.extend(citation.url().map(|url| ("UR", url)));
    let quotes = citation.quotes.iter();
    fields.extend(quotes.map(|quote| ("N1", quote.marked())));
    fields.push(("ER", String::new()));
    let lines = fields.iter();
    lines
        .map(|(tag, value)| format!("{tag}  - {value}\r\n"))
        .collect()
}

/// Author in the form `family,given,suffix` of the format.
fn author(name: &str) -> String {
    let PersonName {
        family,
        given,
        suffix,
    } = PersonName::parse(name);
    let parts = [family, given, suffix];
    let parts = parts.iter().filter(|part| !part.is_empty());
    parts.cloned().collect::<Vec<_>>().join(", ")
}
