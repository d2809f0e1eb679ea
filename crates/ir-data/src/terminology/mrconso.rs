//! Names of concepts of UMLS.

use std::collections::HashMap;
use std::io::BufRead;

use super::{Concept, with_synonyms};
use crate::error::{DataError, Location};
use crate::lines::LineReader;

/// Number of fields of a row, each followed by `|`.
const FIELDS: usize = 18;
const CUI: usize = 0;
const LANGUAGE: usize = 1;
const STRING: usize = 14;
const SUPPRESS: usize = 16;

/// Language of the terms that are read.
const ENGLISH: &str = "ENG";

/// Returns `true` if a line has the fields of a row: 18 fields, the first an id such as `C0026896`.
pub(super) fn is_row(line: &str) -> bool {
    let fields = line.trim_end_matches('\r').split('|');
    let id = line.split('|').next().and_then(|id| id.strip_prefix('C'));
    let is_id = |id: &str| id.len() == 7 && id.bytes().all(|byte| byte.is_ascii_digit());
    fields.count() == FIELDS + 1 && id.is_some_and(is_id)
}

/// Reads `MRCONSO.RRF` of UMLS: rows of 18 fields, each followed by `|`. The terms of a concept are
/// the strings of its rows in English (`ENG`) that are not suppressed (`N`). Concepts with one term
/// are left out. `source` names the reader in errors.
///
/// ```
/// use ir_data::terminology::read_mrconso;
/// let row = |language: &str, string: &str| {
///     format!("C0026896|{language}|P|L1|PF|S1|Y|A1||||MSH|MH|D009157|{string}|0|N|256|\n")
/// };
/// let rows = [row("ENG", "Myasthenia Gravis"), row("FRE", "Myasthénie"), row("ENG", "MG")];
/// let concepts = read_mrconso(rows.concat().as_bytes(), "MRCONSO.RRF")?;
/// assert_eq!(concepts[0].terms, ["Myasthenia Gravis", "MG"]);
/// # Ok::<(), ir_data::DataError>(())
/// ```
///
/// # Errors
/// The source cannot be read, a row has another number of fields, or no row is in English.
pub fn read_mrconso(reader: impl BufRead, source: &str) -> Result<Vec<Concept>, DataError> {
    let mut lines = LineReader::new(reader, source);
    let mut concepts: Vec<Concept> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    let mut other_language = None;
    let mut is_english = false;
    while let Some(line) = lines.read()? {
        let text = line.text.trim_end_matches('\r');
        if text.is_empty() {
            continue;
        }
        let fields: Vec<&str> = text.split('|').collect();
        if fields.len() != FIELDS + 1 {
            let found = fields.len() - 1;
            return Err(Location::new(source, line.number).columns(FIELDS..=FIELDS, found));
        }
        if fields[LANGUAGE] != ENGLISH {
            other_language.get_or_insert_with(|| (line.number, fields[LANGUAGE].to_owned()));
            continue;
        }
        is_english = true;
        if fields[SUPPRESS] != "N" {
            continue;
        }
        let concept = *known.entry(fields[CUI].to_owned()).or_insert_with(|| {
            concepts.push(Concept::new(line.number));
            concepts.len() - 1
        });
        concepts[concept].add(fields[STRING]);
    }
    match other_language {
        Some((line, found)) if !is_english => {
            Err(Location::new(source, line)
                .syntax("a row in English (LAT ENG) in the file", &found))
        }
        _ => Ok(with_synonyms(concepts)),
    }
}
