//! Scoring models and their parameters as keys, with the names, ranges and descriptions of
//! [`NAMED_MODELS`].

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use ir_bm25::DocLengths;
use ir_bm25::models::{NAMED_MODELS, NamedModel, Parameter, ParameterRange};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::range::INFINITE;
use crate::suggest::did_you_mean;

/// Parameters of the scoring model, by name: `k1`, `b`, `mu` and all others of [`NAMED_MODELS`].
///
/// A parameter that is added to a model of `ir-bm25` is a key of experiment files, an entry of the
/// JSON Schema and an option of the command without further code.
///
/// ```
/// use ir_system::systems::ModelParameters;
/// let parameters = ModelParameters::default().with("k1", 1.2);
/// assert_eq!(parameters.get("k1"), Some(1.2));
/// assert!(ModelParameters::names().any(|name| name == "mu"));
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelParameters(BTreeMap<String, f32>);

impl ModelParameters {
    /// Returns the names of the parameters of all models, in alphabetical order.
    pub fn names() -> impl Iterator<Item = &'static str> {
        by_name().into_keys()
    }

    /// Returns the parameters with a value for one of them.
    #[must_use]
    pub fn with(mut self, name: &str, value: f32) -> Self {
        self.0.insert(name.to_owned(), value);
        self
    }

    /// Returns the value of a parameter that is set.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<f32> {
        self.0.get(name).copied()
    }

    /// Returns the parameters that are set, in alphabetical order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, f32)> {
        self.0.iter().map(|(name, value)| (name.as_str(), *value))
    }
}

/// Models that have a parameter, by the name of the parameter.
fn by_name() -> BTreeMap<&'static str, Vec<(&'static NamedModel, &'static Parameter)>> {
    let mut names = BTreeMap::<_, Vec<_>>::new();
    for model in NAMED_MODELS {
        for parameter in model.parameters {
            names
                .entry(parameter.name)
                .or_default()
                .push((model, parameter));
        }
    }
    names
}

/// All names are serialized, so that a value that is not set has the same cache key as its absence
/// in a file.
impl Serialize for ModelParameters {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for name in Self::names() {
            map.serialize_entry(name, &self.get(name))?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for ModelParameters {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Parameters;

        impl<'de> Visitor<'de> for Parameters {
            type Value = ModelParameters;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table of parameters")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let known = by_name();
                let mut parameters = BTreeMap::new();
                while let Some(name) = map.next_key::<String>()? {
                    if !known.contains_key(name.as_str()) {
                        let hint = did_you_mean(&name, known.keys().copied());
                        return Err(A::Error::custom(format!("unknown key {name:?}{hint}")));
                    }
                    if let Some(value) = map.next_value::<Option<f32>>()? {
                        parameters.insert(name, value);
                    }
                }
                Ok(ModelParameters(parameters))
            }
        }

        input.deserialize_map(Parameters)
    }
}

impl JsonSchema for ModelParameters {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "ModelParameters".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let properties = by_name().into_iter().map(|(name, models)| {
            let mut property = json_schema!({
                "description": description(&models),
                "type": ["number", "null"],
                "format": "float",
            });
            for (key, value) in bounds(&models) {
                property.insert(key.to_owned(), value);
            }
            (name.to_owned(), property.to_value())
        });
        let properties: Map<String, Value> = properties.collect();
        json_schema!({ "type": "object", "properties": properties })
    }
}

/// Description of the key `model`: every model with its name.
pub(super) fn describe_models() -> String {
    let models = NAMED_MODELS.iter();
    let models = models.map(|model| format!("`{}` ({})", model.name, model.description));
    let models: Vec<String> = models.collect();
    format!("Scoring model: {}. Default: `bm25`.", models.join(", "))
}

/// Description of the key `exact_lengths`: the models with exact lengths by default.
pub(super) fn describe_exact_lengths() -> String {
    let models = NAMED_MODELS.iter();
    let exact = models.filter(|model| model.lengths == DocLengths::Exact);
    let exact: Vec<&str> = exact.map(|model| model.name).collect();
    format!(
        "Exact document lengths instead of Lucene's one byte. Default: `false`; `true` for {}.",
        exact.join(", ")
    )
}

/// Bounds of a parameter in a schema. Models agree on the range of a name, but for 0, which the
/// schema excludes if all do.
fn bounds(models: &[(&NamedModel, &Parameter)]) -> Vec<(&'static str, Value)> {
    use ParameterRange::{Fraction, NonNegativeOrInfinite, PositiveFraction, Weight};
    let range = widest_range(models);
    if range == Weight {
        return Vec::new();
    }
    let minimum = if range.contains(0.0) {
        "minimum"
    } else {
        "exclusiveMinimum"
    };
    let mut bounds = vec![(minimum, 0.into())];
    match range {
        Fraction | PositiveFraction => bounds.push(("maximum", 1.into())),
        NonNegativeOrInfinite => bounds.push((INFINITE, true.into())),
        _ => {}
    }
    bounds
}

/// Range of a parameter in all models: only some of them accept 0.
fn widest_range(models: &[(&NamedModel, &Parameter)]) -> ParameterRange {
    let mut ranges = models.iter().map(|(_, it)| it.range);
    ranges
        .find(|it| it.contains(0.0))
        .unwrap_or(models[0].1.range)
}

/// Effect, range and defaults of a parameter. Names the models of each effect if there are several.
fn description(models: &[(&'static NamedModel, &'static Parameter)]) -> String {
    let mut effects = of_models(models, |it| it.description.to_owned());
    let effects = if effects.len() == 1 {
        effects.remove(0).0
    } else {
        with_names(&effects).join(". ")
    };
    format!(
        "{effects}. Range: {}. Default: {}.",
        widest_range(models).expected(),
        with_names(&of_models(models, |it| it.default.to_string())).join(", ")
    )
}

/// Distinct texts of a parameter, each with the names of its models.
fn of_models(
    models: &[(&'static NamedModel, &'static Parameter)],
    text: impl Fn(&Parameter) -> String,
) -> Vec<(String, Vec<&'static str>)> {
    let mut texts: Vec<(String, Vec<&str>)> = Vec::new();
    for (model, parameter) in models {
        let text = text(parameter);
        match texts.iter_mut().find(|(known, _)| *known == text) {
            Some((_, names)) => names.push(model.name),
            None => texts.push((text, vec![model.name])),
        }
    }
    texts
}

/// Texts with the names of their models: `0.4 (bm25, atire)`.
fn with_names(texts: &[(String, Vec<&str>)]) -> Vec<String> {
    let named = texts.iter();
    named
        .map(|(text, names)| format!("{text} ({})", names.join(", ")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_effects_name_their_models() {
        let models = by_name();
        let of = |name: &str| description(&models[name]);
        assert_eq!(
            of("k1"),
            "Term-frequency saturation; 0 ignores repeated occurrences (bm25, atire, robertson, \
             bm25+, bm25l, bm25f). Term-frequency saturation; 0 makes all scores 0 \
             (terrier-tfidf, indri-tfidf). Range: a finite number >= 0. Default: 0.9 (bm25, atire, \
             bm25+, bm25l, bm25f), 1.2 (robertson, terrier-tfidf, indri-tfidf)."
        );
        assert_eq!(
            of("delta"),
            "Lower bound of the saturated frequency of an occurrence (bm25+). Shift of the \
             normalized frequency (bm25l). Range: a finite number >= 0. Default: 1 (bm25+), 0.5 \
             (bm25l)."
        );
        assert_eq!(
            of("s"),
            "Slope of the length normalization; 0 disables it, 1 normalizes fully. Range: a number \
             from 0 to 1. Default: 0.2 (pivoted)."
        );
    }
}
