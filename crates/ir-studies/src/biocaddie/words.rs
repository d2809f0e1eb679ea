//! Words of synthetic records.

use ir_core::SplitMix64;

/// Words of biomedical descriptions, the frequent ones first.
const FREQUENT: [&str; 48] = [
    "expression",
    "cells",
    "gene",
    "human",
    "analysis",
    "study",
    "mouse",
    "protein",
    "data",
    "samples",
    "patients",
    "treatment",
    "response",
    "tissue",
    "control",
    "disease",
    "profiling",
    "array",
    "sequencing",
    "cancer",
    "clinical",
    "binding",
    "receptor",
    "regulation",
    "pathway",
    "brain",
    "blood",
    "structure",
    "crystal",
    "genome",
    "bacterial",
    "infection",
    "population",
    "growth",
    "insulin",
    "transcription",
    "kinase",
    "signaling",
    "tumor",
    "strain",
    "muscle",
    "neurons",
    "mutation",
    "trial",
    "metabolism",
    "inflammation",
    "chemotaxis",
    "complex",
];
const STEMS: [&str; 32] = [
    "cardi", "neur", "hepat", "gastr", "derm", "oste", "cyt", "hem", "nephr", "myel", "lip",
    "gluc", "prote", "chrom", "angi", "arthr", "bronch", "enceph", "fibr", "immun", "kerat",
    "lymph", "melan", "onc", "phag", "pneum", "psych", "retin", "scler", "thromb", "toxic", "vas",
];
const SUFFIXES: [&str; 16] = [
    "itis", "osis", "opathy", "ology", "ogenesis", "olysis", "oma", "ectomy", "oblast", "ocyte",
    "ase", "in", "ic", "al", "emia", "ography",
];
pub(super) const ORGANISMS: [&str; 8] = [
    "Homo sapiens",
    "Mus musculus",
    "Rattus norvegicus",
    "Saccharomyces cerevisiae",
    "Drosophila melanogaster",
    "Escherichia coli",
    "Arabidopsis thaliana",
    "Danio rerio",
];

/// Number of identifiers, such as `gene1234`, the rarest words.
const IDENTIFIERS: usize = 50_000;

/// Appends a word; the r-th is about r times as rare as the first.
fn push_word(text: &mut String, random: &mut SplitMix64) {
    let vocabulary = FREQUENT.len() + STEMS.len() * SUFFIXES.len() + IDENTIFIERS;
    // Log-uniform ranks; the logarithm of the size is a number of doublings.
    let doublings = random.below(usize::BITS as usize - vocabulary.leading_zeros() as usize);
    let rank = (1_usize << doublings) + random.below(1 << doublings) - 1;
    if let Some(word) = FREQUENT.get(rank) {
        text.push_str(word);
        return;
    }
    let rank = rank - FREQUENT.len();
    let (stem, suffix) = (rank % STEMS.len(), rank / STEMS.len());
    match SUFFIXES.get(suffix) {
        Some(suffix) => {
            text.push_str(STEMS[stem]);
            text.push_str(suffix);
        }
        None => {
            text.push_str("gene");
            text.push_str(&rank.to_string());
        }
    }
}

/// A text of so many words.
pub(super) fn words(random: &mut SplitMix64, count: usize) -> String {
    let mut text = String::with_capacity(count * 10);
    for n in 0..count {
        if n > 0 {
            text.push(' ');
        }
        push_word(&mut text, random);
    }
    text
}
