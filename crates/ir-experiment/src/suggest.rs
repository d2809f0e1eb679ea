//! Suggestions for names that are not known.

use ir_eval::{Formula, Measure};

pub use ir_system::suggest::{closest, did_you_mean, list_or_none};

/// Returns the end of an error message with the measure that is closest to an unknown name.
/// `others` are names that the caller accepts in addition to the names of [`Formula::all`].
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
        // The spelling of trec_eval for its own names.
        let ends = if name.contains('_') {
            ["_", "@"]
        } else {
            ["@", "_"]
        };
        let spellings = ends.map(|at| format!("{name}{at}{}", &text[cutoff.len()..]));
        let mut valid = spellings
            .iter()
            .filter(|text| text.parse::<Measure>().is_ok());
        if let Some(measure) = valid.next() {
            return format!(" (did you mean {measure}?)");
        }
    }
    let (name, parameters) = text.split_at(end);
    let Some(name) = closest(name, known) else {
        return String::new();
    };
    // A suggestion is a name that is accepted.
    let spellings = [parameters, "", "@10", "_10"].map(|end| format!("{name}{end}"));
    let is_accepted =
        |text: &&String| others.contains(&&***text) || text.parse::<Measure>().is_ok();
    let found = spellings.iter().find(is_accepted);
    found.map_or_else(String::new, |measure| format!(" (did you mean {measure}?)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names with changes, inside and at the end, and parameters of all kinds.
    #[test]
    fn suggestions_are_accepted() {
        let names = Formula::all().flat_map(|formula| {
            let names = formula.names().chain(formula.trec_eval_names());
            names.collect::<Vec<_>>()
        });
        let mut found = 0;
        for name in names {
            let wrong = [
                format!("{name}x"),
                name.chars().skip(1).collect(),
                name.replacen('_', "", 1),
            ];
            for wrong in wrong {
                for parameters in ["", "@10", "@0.5", "_10", "(rel=2)", "(x=1)@3", "5"] {
                    let text = format!("{wrong}{parameters}");
                    let message = suggested_measure(&text, &[]);
                    let Some(measure) = message.strip_prefix(" (did you mean ") else {
                        continue;
                    };
                    let measure = measure.trim_end_matches("?)");
                    assert!(measure.parse::<Measure>().is_ok(), "{text}: {measure}");
                    found += 1;
                }
            }
        }
        assert!(found > 100, "{found}");
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
