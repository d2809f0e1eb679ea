//! Abbreviations of scientific text in other languages than English.

/// Abbreviations by the English name of the language, without their period. With ` #`, only before
/// a number or a single letter.
const ABBREVIATIONS: [(&str, &[&str]); 5] = [
    (
        "French",
        &[
            "Éq", "Fig", "Tabl", "chap", "éd", "env", "p. ex", "c.-à-d", "réf", "t #", "vol", "M",
            "Mme",
        ],
    ),
    (
        "German",
        &[
            "Abb", "Abs", "Anm", "Aufl", "Bd", "Gl", "Hrsg", "Kap", "Nr", "S #", "Tab", "bzgl",
            "bzw", "ca", "d. h", "d.h", "evtl", "ggf", "i. d. R", "inkl", "max #", "min #", "sog",
            "u. a", "u.a", "usw #", "vgl", "z. B", "z.B", "z. T", "zzgl",
        ],
    ),
    (
        "Italian",
        &[
            "Eq", "Fig", "Tab", "cap", "ecc #", "es", "p. es", "pag", "sig", "Sig", "vol",
        ],
    ),
    (
        "Portuguese",
        &[
            "Eq", "Fig", "Tab", "cap", "p. ex", "pág", "Sr", "Sra", "vol", "séc",
        ],
    ),
    (
        "Spanish",
        &[
            "Ec", "Fig", "Tab", "cap", "p. ej", "pág", "págs", "Sr", "Sra", "vol", "EE. UU",
        ],
    ),
];

/// Abbreviations of a language by its English name.
pub(super) fn abbreviations(language: &str) -> &'static [&'static str] {
    let own = ABBREVIATIONS.iter().find(|(name, _)| *name == language);
    own.map_or(&[], |(_, words)| *words)
}
