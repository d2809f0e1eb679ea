//! Attributes that an experiment names and that its data do not have.

use std::collections::BTreeSet;

use ir_core::{Attributes, Predicate};

use crate::suggest::did_you_mean;

/// Returns a warning for every attribute of a condition that no document has. `known` are the
/// attributes of the documents.
pub(crate) fn unknown_condition_attributes(
    condition: &Predicate,
    known: &BTreeSet<String>,
) -> Vec<String> {
    let tests = condition.conditions().into_iter();
    let named = tests.filter_map(|test| Some((test, test.name()?)));
    let mut warnings = Vec::new();
    for (test, name) in named.filter(|(_, name)| !known.contains(*name)) {
        let passing = if test.matches(&Attributes::new()) {
            "all documents pass"
        } else {
            "no document passes"
        };
        let hint = did_you_mean(name, known.iter().map(String::as_str));
        let warning = format!("no document has an attribute {name:?}; {passing}{hint}");
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_on_unknown_attributes() {
        let year = |name: &str| Predicate::AtMost {
            name: name.to_owned(),
            limit: 2015.into(),
            strict: false,
        };
        let known = BTreeSet::from(["year".to_owned()]);
        let found = |condition: &Predicate| unknown_condition_attributes(condition, &known);
        assert!(found(&year("year")).is_empty());
        let absent = Predicate::Known {
            name: "x".to_owned(),
        };
        let nested = Predicate::All(vec![
            year("year"),
            Predicate::Any(vec![year("yaer"), year("yaer")]),
            Predicate::Not(Box::new(absent)),
        ]);
        assert_eq!(
            found(&nested),
            [
                "no document has an attribute \"yaer\"; all documents pass (did you mean year?)",
                "no document has an attribute \"x\"; no document passes",
            ]
        );
    }
}
