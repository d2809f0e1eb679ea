//! An analysis from the fields that differ from a preset.

use serde_json::{Map, Value, json};

use super::{Analysis, AnalysisError};

/// Name of the preset among the fields.
const PRESET: &str = "preset";

impl Analysis {
    /// Returns the analysis with other values of fields, by their names in saved indexes, and
    /// validates it. The field `preset`, the name of an analysis, replaces all others; a list of
    /// stop words is a custom one.
    ///
    /// ```
    /// use ir_bm25::analysis::{Analysis, CjkBigrams, Normalization};
    /// use serde_json::json;
    ///
    /// # fn main() -> Result<(), ir_bm25::analysis::AnalysisError> {
    /// let fields = json!({"preset": "lucene-cjk", "normalization": "fold", "stop_words": ["の"]});
    /// let analysis = Analysis::default().with_overrides(fields.as_object().expect("an object"))?;
    /// assert_eq!(analysis.cjk_bigrams, CjkBigrams::Bigrams);
    /// assert_eq!(analysis.normalization, Normalization::Fold);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`AnalysisError::Field`] for an unknown field or value, and the errors of
    /// [`Analysis::build`].
    pub fn with_overrides(&self, fields: &Map<String, Value>) -> Result<Self, AnalysisError> {
        let invalid = |field: &str, message: String| AnalysisError::Field {
            field: field.to_owned(),
            message,
        };
        let mut analysis = match fields.get(PRESET) {
            None => self.clone(),
            Some(Value::String(name)) => name.parse()?,
            Some(other) => {
                return Err(invalid(PRESET, format!("expected a name, found {other}")));
            }
        };
        let mut all = json!(analysis);
        for (name, value) in fields.iter().filter(|(name, _)| *name != PRESET) {
            all[name] = match value {
                Value::Array(_) if name == "stop_words" => json!({ "custom": value }),
                _ => value.clone(),
            };
            analysis = serde_json::from_value(all.clone())
                .map_err(|error| invalid(name, error.to_string()))?;
        }
        analysis.build()?;
        Ok(analysis)
    }
}
