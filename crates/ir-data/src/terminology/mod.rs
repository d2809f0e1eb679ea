//! Terminologies of medicine as sources of synonyms: UMLS and MeSH.
//!
//! | format | file | a concept |
//! |---|---|---|
//! | UMLS | `MRCONSO.RRF` | rows with a CUI |
//! | MeSH in XML | `desc2026.xml`, `supp2026.xml` | `Concept` |
//! | MeSH in N-Triples | `mesh.nt` | subject of `preferredTerm` and `term` |
//!
//! Files may be compressed. None of them is part of this library; UMLS has a license of its own.

mod mesh_n_triples;
#[cfg(feature = "mesh")]
mod mesh_xml;
mod mrconso;

use std::io::Read;
use std::path::Path;

pub use mesh_n_triples::read_mesh_n_triples;
#[cfg(feature = "mesh")]
pub use mesh_xml::read_mesh_xml;
pub use mrconso::read_mrconso;

use crate::compression::open;
use crate::error::{DataError, name_of, read_error};

/// Concept with its terms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Concept {
    /// Line of the file on which the concept starts.
    pub line: u64,
    /// Distinct terms in file order. A concept with one term has no synonyms.
    pub terms: Vec<String>,
}

impl Concept {
    fn new(line: u64) -> Self {
        let terms = Vec::new();
        Self { line, terms }
    }

    /// Adds a term, unless it is blank or known.
    fn add(&mut self, term: &str) {
        let term = term.trim();
        if !term.is_empty() && !self.terms.iter().any(|known| known == term) {
            self.terms.push(term.to_owned());
        }
    }
}

/// Number of bytes by which the format is detected.
const HEAD: u64 = 1 << 16;

/// Reads the concepts of a file of UMLS or MeSH, by its content. [`None`] for other files.
///
/// # Errors
/// The file cannot be read, or does not have the structure of its format.
pub fn read_concepts(path: impl AsRef<Path>) -> Result<Option<Vec<Concept>>, DataError> {
    let path = path.as_ref();
    let mut head = Vec::new();
    let read = open(path)?.take(HEAD).read_to_end(&mut head);
    read.map_err(read_error(path))?;
    let head = String::from_utf8_lossy(&head);
    let name = name_of(path);
    let mut lines = head.lines().map(str::trim);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
    Ok(match first.unwrap_or_default() {
        line if mrconso::is_row(line) => Some(read_mrconso(open(path)?, &name)?),
        line if line.starts_with("<http") && line.trim_end().ends_with('.') => {
            Some(read_mesh_n_triples(open(path)?, &name)?)
        }
        _ if head.contains("RecordSet") && head.trim_start().starts_with('<') => {
            Some(read_xml(path, &name)?)
        }
        _ => None,
    })
}

#[cfg(feature = "mesh")]
fn read_xml(path: &Path, name: &str) -> Result<Vec<Concept>, DataError> {
    read_mesh_xml(open(path)?, name)
}

/// Error of a file of MeSH in XML without the feature that reads it.
#[cfg(not(feature = "mesh"))]
fn read_xml(_: &Path, name: &str) -> Result<Vec<Concept>, DataError> {
    Err(DataError::OtherFormat {
        path: name.to_owned(),
        expected: "synonyms in another format, or the feature \"mesh\"",
        found: "MeSH in XML".to_owned(),
    })
}

/// Concepts with at least two terms.
fn with_synonyms(concepts: impl IntoIterator<Item = Concept>) -> Vec<Concept> {
    let concepts = concepts.into_iter();
    concepts.filter(|concept| concept.terms.len() > 1).collect()
}
