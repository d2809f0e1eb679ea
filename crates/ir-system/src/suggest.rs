//! Suggestions for names that are not known.

/// Returns the end of an error message with the known name that is closest to `found`, such as
/// ` (did you mean bm25?)`; empty if none is close.
///
/// ```
/// use ir_system::suggest::did_you_mean;
/// assert_eq!(did_you_mean("bn25", ["bm25", "knn"]), " (did you mean bm25?)");
/// assert_eq!(did_you_mean("lucene", ["bm25", "knn"]), "");
/// ```
#[must_use]
pub fn did_you_mean<'a>(found: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    closest(found, known).map_or_else(String::new, |name| format!(" (did you mean {name}?)"))
}

/// Returns the known name with the smallest edit distance, which is at most a third of the length
/// of `found`. Case counts among equal distances only. The part after the last `/` counts as a
/// name, too.
#[must_use]
pub fn closest<'a>(found: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const LONGEST: usize = 100;
    if found.len() > LONGEST {
        return None;
    }
    let lower = found.to_lowercase();
    let distance = |name: &str| {
        let without_case = strsim::damerau_levenshtein(&lower, &name.to_lowercase());
        (without_case, strsim::damerau_levenshtein(found, name))
    };
    let near = known.into_iter().map(|name| {
        let part = name.rsplit('/').next().unwrap_or(name);
        (distance(name).min(distance(part)), name)
    });
    let ((distance, _), name) = near.min_by_key(|near| near.0)?;
    (3 * distance <= lower.chars().count()).then_some(name)
}

/// Returns known names for an error message, separated by commas; `none` if there are none.
///
/// ```
/// use ir_system::suggest::list_or_none;
/// assert_eq!(list_or_none(["bm25", "knn"]), "bm25, knn");
/// assert_eq!(list_or_none([]), "none");
/// ```
#[must_use]
pub fn list_or_none<'a>(known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match known[..] {
        [] => "none".to_owned(),
        _ => known.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_names() {
        let known = ["beir/nfcorpus", "beir/scifact", "bundled", "nDCG", "ndcg"];
        for (found, expected) in [
            ("beir/nfcorpsu", Some("beir/nfcorpus")),
            ("nfcorpus", Some("beir/nfcorpus")),
            ("Bundeld", Some("bundled")),
            ("nDGC", Some("nDCG")),
            ("ndgc", Some("ndcg")),
            ("nowhere", None),
            ("", None),
        ] {
            assert_eq!(closest(found, known), expected, "{found}");
        }
        assert_eq!(
            did_you_mean("scifatc", known),
            " (did you mean beir/scifact?)"
        );
        assert_eq!(did_you_mean(&"x".repeat(1 << 20), known), "");
    }
}
