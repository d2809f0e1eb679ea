use ir_core::stop_words::NLTK;

/// Token in place of a dataset name.
pub const DATASET_TOKEN: &str = "[DATASET]";

/// Maximum number of words of a replaced part.
const MAX_WORDS: usize = 5;

/// Details of [`scrub_names`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ScrubbingRule {
    /// All names of a dataset; parts that are stop words stay; every part is compared.
    #[default]
    Corrected,
    /// The published program: canonical names only; no stop words; after a replacement that starts
    /// at word `s` with `n` words, comparison resumes at word `2·s + n` instead of `s + n`.
    Published,
}

/// Replaces names of datasets in a query with [`DATASET_TOKEN`].
///
/// 1. Parts of 5 to 1 words that overlap with a name by at least 0.5: if one string contains the
///    other, the overlap is the length of the shorter string divided by the length of the longer
///    one, in characters. Punctuation after the part stays.
/// 2. Every remaining occurrence of a name, longest name first, also inside of words.
/// 3. Consecutive tokens become one.
///
/// White space becomes single spaces. Case matters.
///
/// ```
/// use ir_studies::papers::{ScrubbingRule, scrub_names};
/// let names = ["Penn Treebank", "OntoNotes"];
/// let query = "Fast and accurate parsing of Penn Treebank; OntoNotes data";
/// let scrubbed = scrub_names(query, &names, ScrubbingRule::default());
/// // "parsing of Penn Treebank" has 24 characters, the name 13.
/// assert_eq!(scrubbed, "Fast and accurate [DATASET]; [DATASET]");
/// ```
///
/// # Source
/// The program published with Viswanathan et al., "DataFinder: Scientific Dataset Recommendation
/// from Natural Language Descriptions", ACL 2023.
#[must_use]
pub fn scrub_names(text: &str, names: &[&str], rule: ScrubbingRule) -> String {
    let mut names: Vec<&str> = names.to_vec();
    names.retain(|name| !name.trim().is_empty());
    let mut words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    for n in (1..=MAX_WORDS).rev() {
        words = replaced_parts(&words, n, &names, rule);
    }
    let mut text = words.join(" ");
    // Equally long names in byte order: the result does not depend on the order of the names.
    names.sort_by_key(|name| (std::cmp::Reverse(name.chars().count()), *name));
    for name in names {
        text = replaced_outside_tokens(&text, name);
    }
    let pair = format!("{DATASET_TOKEN} {DATASET_TOKEN}");
    while text.contains(&pair) {
        text = text.replace(&pair, DATASET_TOKEN);
    }
    text
}

/// Replaces parts of `n` words, from left to right.
fn replaced_parts(words: &[String], n: usize, names: &[&str], rule: ScrubbingRule) -> Vec<String> {
    let mut kept = Vec::with_capacity(words.len());
    let mut start = 0;
    while let Some(part) = words.get(start..start + n) {
        let part = part.join(" ");
        let bare = part.trim_end_matches(|c: char| c.is_ascii_punctuation());
        let is_token = part.contains(DATASET_TOKEN);
        let is_stop_words = || {
            let mut words = bare.split(' ');
            rule == ScrubbingRule::Corrected
                && words.all(|word| NLTK.contains(&word.to_lowercase().as_str()))
        };
        let is_name = !is_token && names.iter().any(|name| 2.0 * overlap(bare, name) >= 1.0);
        if !is_name || is_stop_words() {
            kept.push(words[start].clone());
            start += 1;
            continue;
        }
        kept.push(format!("{DATASET_TOKEN}{}", &part[bare.len()..]));
        let next = match rule {
            ScrubbingRule::Corrected => start + n,
            ScrubbingRule::Published => 2 * start + n,
        };
        let skipped = words.len().min(next);
        kept.extend_from_slice(words.get(start + n..skipped).unwrap_or_default());
        start = skipped;
    }
    kept.extend_from_slice(words.get(start..).unwrap_or_default());
    kept
}

/// Ratio of the lengths in characters if one string contains the other, otherwise 0.
fn overlap(a: &str, b: &str) -> f64 {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    if short.is_empty() || !long.contains(short) {
        return 0.0;
    }
    short.chars().count() as f64 / long.chars().count() as f64
}

/// Replaces a name outside of the tokens, so that a dataset may be named `DATA`.
fn replaced_outside_tokens(text: &str, name: &str) -> String {
    let parts = text.split(DATASET_TOKEN);
    let parts = parts.map(|part| part.replace(name, DATASET_TOKEN));
    parts.collect::<Vec<_>>().join(DATASET_TOKEN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, names: &[&str], expected: &str) {
        assert_eq!(scrub_names(text, names, ScrubbingRule::default()), expected);
    }

    #[test]
    fn overlaps() {
        for (a, b, expected) in [
            ("COCO", "MS COCO", 4.0 / 7.0),
            ("MS COCO", "COCO", 4.0 / 7.0),
            ("COCO", "COCO", 1.0),
            ("Coco", "COCO", 0.0),
            ("", "COCO", 0.0),
            ("Über", "Ü", 0.25),
            ("Image", "ImageNet", 0.625),
        ] {
            assert!((overlap(a, b) - expected).abs() < 1e-12, "{a} {b}");
        }
    }

    #[test]
    fn parts_of_names() {
        check(
            "We label COCO images",
            &["COCO"],
            "We label [DATASET] images",
        );
        // 0.57 of the name, then 0.44.
        check("on COCO, fast", &["MS COCO"], "on [DATASET], fast");
        check("on COCO, fast", &["MicroCOCO"], "on COCO, fast");
        // The longest part first: "the MS COCO" has 11 characters, the name 7.
        check("use the MS COCO.", &["MS COCO"], "use [DATASET].");
        // Exactly one half.
        check("an ABCD set", &["ABCDEFGH"], "an [DATASET] set");
        check("an ABC set", &["ABCDEFGH"], "an ABC set");
        check("nothing  to\tdo", &["COCO"], "nothing to do");
        check("", &["COCO"], "");
        check("text", &["", " "], "text");
    }

    #[test]
    fn remaining_occurrences_and_collapse() {
        // Inside of a word that is too long for the overlap.
        check(
            "a supermegaCOCO-based one",
            &["COCO"],
            "a supermega[DATASET]-based one",
        );
        check("COCO COCO2 COCO.", &["COCO", "COCO2"], "[DATASET].");
        check(
            "PTB, WSJ and PTB WSJ",
            &["PTB", "WSJ"],
            "[DATASET], [DATASET] and [DATASET]",
        );
        // Longest name first.
        check(
            "longwordXXCOCO-Stuffed-things",
            &["COCO", "COCO-Stuff"],
            "longwordXX[DATASET]ed-things",
        );
        check("enormous DATA here", &["DATA"], "enormous [DATASET] here");
    }

    #[test]
    fn stop_words_stay() {
        check("how it is", &["IT", "it2"], "how it is");
        let published = scrub_names("how it is", &["it2"], ScrubbingRule::Published);
        assert_eq!(published, "how [DATASET] is");
    }

    /// After a replacement at word 2 of one word, comparison resumes at word 5.
    #[test]
    fn published_jump() {
        let text = "we use ABCD and ABCD and ABCD";
        let names = ["ABCDEFGH"];
        assert_eq!(
            scrub_names(text, &names, ScrubbingRule::Published),
            "we use [DATASET] and ABCD and [DATASET]"
        );
        check(text, &names, "we use [DATASET] and [DATASET] and [DATASET]");
    }
}
