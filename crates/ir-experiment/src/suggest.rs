//! Suggestions for names that are not known.

use ir_eval::{Formula, Measure};

/// Returns the end of an error message with the known name that is closest to `found`, such as
/// ` (did you mean bm25?)`; empty if none is close.
///
/// ```
/// use ir_experiment::suggest::did_you_mean;
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

/// Returns the end of an error message with the measure that is closest to an unknown one. `others`
/// are names besides those of [`Formula::all`] that the caller accepts.
#[must_use]
pub fn suggested_measure(text: &str, others: &[&str]) -> String {
    let names = Formula::all().flat_map(|formula| {
        let names = formula.names().chain(formula.trec_eval_names());
        names.collect::<Vec<_>>()
    });
    let known: Vec<&str> = names.chain(others.iter().copied()).collect();
    let cutoff = text.trim_end_matches(|c: char| c.is_ascii_digit());
    let end = text.find(['@', '(', '.']).unwrap_or(match cutoff {
        name if name.len() < text.len() && name.ends_with('_') => name.len() - 1,
        _ => text.len(),
    });
    // A cutoff right after the name.
    if end == text.len()
        && cutoff.len() < end
        && let Some(name) = closest(cutoff, known.iter().copied())
    {
        let spellings = ["@", "_"].map(|at| format!("{name}{at}{}", &text[cutoff.len()..]));
        let mut valid = spellings
            .iter()
            .filter(|text| text.parse::<Measure>().is_ok());
        if let Some(measure) = valid.next() {
            return format!(" (did you mean {measure}?)");
        }
    }
    let (name, parameters) = text.split_at(end);
    match closest(name, known.iter().copied()) {
        Some(name) if !parameters.is_empty() => format!(" (did you mean {name}{parameters}?)"),
        _ => did_you_mean(name, known),
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

    #[test]
    fn suggested_measures() {
        for (text, expected) in [
            ("nDGC@10", " (did you mean nDCG@10?)"),
            ("ndgc@10", " (did you mean ndcg@10?)"),
            ("nndcg_cut.10", " (did you mean ndcg_cut.10?)"),
            ("recal_100", " (did you mean recall_100?)"),
            ("offical", " (did you mean official?)"),
            ("nDCG10", " (did you mean nDCG@10?)"),
            ("recal100", " (did you mean recall@100?)"),
            ("ndcg_cut10", " (did you mean ndcg_cut_10?)"),
            ("nonsense", ""),
        ] {
            assert_eq!(suggested_measure(text, &["official"]), expected, "{text}");
        }
    }
}
