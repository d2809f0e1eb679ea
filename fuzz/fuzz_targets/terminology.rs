//! UMLS and MeSH: concepts have distinct terms without surrounding white space.
#![no_main]

use ir_data::terminology::{read_mesh_n_triples, read_mesh_xml, read_mrconso};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let found = [
        read_mrconso(bytes, "fuzz"),
        read_mesh_xml(bytes, "fuzz"),
        read_mesh_n_triples(bytes, "fuzz"),
    ];
    for concept in found.into_iter().flatten().flatten() {
        assert!(concept.line > 0 && concept.terms.len() > 1);
        for (n, term) in concept.terms.iter().enumerate() {
            assert!(!term.is_empty() && term.trim() == term);
            assert!(!concept.terms[..n].contains(term));
        }
    }
});
