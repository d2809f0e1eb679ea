//! MeSH in N-Triples: concepts, their terms and labels.

use std::collections::HashMap;
use std::io::BufRead;

use super::{Concept, with_synonyms};
use crate::error::{DataError, Location};
use crate::lines::LineReader;

/// Namespace of the predicates.
const VOCABULARY: &str = "http://id.nlm.nih.gov/mesh/vocab#";
/// Predicates from a concept to its terms.
const TERMS: [&str; 2] = ["preferredTerm", "term"];
/// Predicates from a term to its labels.
const LABELS: [&str; 2] = ["prefLabel", "altLabel"];

/// Subject, predicate and object of a line.
struct Triple<'a> {
    subject: &'a str,
    predicate: &'a str,
    object: Object<'a>,
}

enum Object<'a> {
    Resource(&'a str),
    Literal(String),
}

/// Reads MeSH in N-Triples: the terms of a concept are the objects of `preferredTerm` and `term` of
/// the MeSH vocabulary, with their `prefLabel` and `altLabel`. Other triples are checked and
/// ignored. Concepts with one term are left out. `source` names the reader in errors.
///
/// ```
/// use ir_data::terminology::read_mesh_n_triples;
/// let mesh = "http://id.nlm.nih.gov/mesh/";
/// let text = format!(
///     "<{mesh}M1> <{mesh}vocab#preferredTerm> <{mesh}T1> .\n\
///      <{mesh}T1> <{mesh}vocab#prefLabel> \"Myasthenia Gravis\"@en .\n\
///      <{mesh}T1> <{mesh}vocab#altLabel> \"MG\"@en .\n"
/// );
/// let concepts = read_mesh_n_triples(text.as_bytes(), "mesh.nt")?;
/// assert_eq!(concepts[0].terms, ["Myasthenia Gravis", "MG"]);
/// # Ok::<(), ir_data::DataError>(())
/// ```
///
/// # Errors
/// The source cannot be read, or a line is no triple.
pub fn read_mesh_n_triples(reader: impl BufRead, source: &str) -> Result<Vec<Concept>, DataError> {
    let mut lines = LineReader::new(reader, source);
    // Terms by concept, labels by term, in file order.
    let mut concepts: Vec<(Concept, Vec<String>)> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    let mut labels: HashMap<String, Vec<String>> = HashMap::new();
    while let Some(line) = lines.read()? {
        let text = line.text.trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let Some(triple) = Triple::parse(text) else {
            let at = Location::new(source, line.number);
            return Err(at.syntax("a triple: subject, predicate, object, period", text));
        };
        let Some(predicate) = triple.predicate.strip_prefix(VOCABULARY) else {
            continue;
        };
        match triple.object {
            Object::Resource(term) if TERMS.contains(&predicate) => {
                let at = *known.entry(triple.subject.to_owned()).or_insert_with(|| {
                    concepts.push((Concept::new(line.number), Vec::new()));
                    concepts.len() - 1
                });
                concepts[at].1.push(term.to_owned());
            }
            Object::Literal(label) if LABELS.contains(&predicate) => {
                let of_term = labels.entry(triple.subject.to_owned()).or_default();
                of_term.push(label);
            }
            _ => {}
        }
    }
    let concepts = concepts.into_iter().map(|(mut concept, terms)| {
        for label in terms.iter().filter_map(|term| labels.get(term)).flatten() {
            concept.add(label);
        }
        concept
    });
    Ok(with_synonyms(concepts))
}

impl<'a> Triple<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        // A comment may follow the period.
        let text = match text.rsplit_once(". #") {
            Some((triple, _)) if !text.ends_with('.') => triple,
            _ => text.strip_suffix('.')?,
        };
        let text = text.trim_end();
        let (subject, rest) = resource(text)?;
        let (predicate, rest) = resource(rest.trim_start())?;
        let rest = rest.trim_start();
        let object = match rest.strip_prefix('"') {
            Some(quoted) => {
                let (literal, rest) = literal(quoted)?;
                let is_end = rest.is_empty() || rest.starts_with('@') || rest.starts_with("^^<");
                is_end.then_some(Object::Literal(literal))?
            }
            None => {
                let (object, rest) = resource(rest)?;
                rest.is_empty().then_some(Object::Resource(object))?
            }
        };
        Some(Self {
            subject,
            predicate,
            object,
        })
    }
}

/// IRI between angle brackets, or the name of a blank node, and the rest.
fn resource(text: &str) -> Option<(&str, &str)> {
    match text.strip_prefix('<') {
        Some(iri) => iri.split_once('>'),
        None if text.starts_with("_:") => {
            let end = text.find(char::is_whitespace).unwrap_or(text.len());
            Some(text.split_at(end))
        }
        None => None,
    }
}

/// Unescaped text up to the closing quotation mark, and the rest.
fn literal(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => {
                let (_, escaped) = chars.next()?;
                value.push(match escaped {
                    't' => '\t',
                    'b' => '\u{8}',
                    'n' => '\n',
                    'r' => '\r',
                    'f' => '\u{c}',
                    '"' | '\'' | '\\' => escaped,
                    'u' => code_point(&mut chars, 4)?,
                    'U' => code_point(&mut chars, 8)?,
                    _ => return None,
                });
            }
            _ => value.push(c),
        }
    }
    None
}

/// Character of an escape with this number of hexadecimal digits.
fn code_point(chars: &mut std::str::CharIndices<'_>, digits: usize) -> Option<char> {
    let digits: String = chars.take(digits).map(|(_, c)| c).collect();
    char::from_u32(u32::from_str_radix(&digits, 16).ok()?)
}
