//! The table of all measures, and their syntax in ir_measures.

use ir_core::Grade;

use super::Measure;
use super::definition::{Definition, Properties};
use super::parameters::{CUTOFF, MeasureText, Parameters, ParseMeasureError, PrintedParameter};
use super::{counts, custom, diversity, err, gain, ranked, rbp, sampled, set};

macro_rules! formulas {
    ($($family:ident::$name:ident,)*) => {
        /// Formula of a [`Measure`](crate::Measure), with the parameters that belong to it alone.
        ///
        /// The types of the variants document the formulas. Their symbols: n documents were
        /// retrieved and R are relevant; g(i) is the gain of the document at rank i = 1, 2, …;
        /// rel(i) is 1 if it is relevant and 0 otherwise; hits(k) = Σ rel(i) over the first k
        /// ranks. A quotient with divisor 0 is 0.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        #[allow(missing_docs)]
        pub enum Formula {
            $($name($family::$name),)*
        }

        $(
            impl From<$family::$name> for Formula {
                fn from(formula: $family::$name) -> Self {
                    Self::$name(formula)
                }
            }
        )*

        impl Formula {
            /// All formulas with their default parameters.
            pub(crate) const DEFAULTS: &[Self] = &[$(Self::$name($family::$name::DEFAULT),)*];

            pub(crate) const fn properties(&self) -> &'static Properties {
                match self {
                    $(Self::$name(_) => &$family::$name::PROPERTIES,)*
                }
            }

            const fn documentation(&self) -> &'static [&'static str] {
                match self {
                    $(Self::$name(_) => $family::$name::DOCUMENTATION,)*
                }
            }

            pub(crate) fn definition(&self) -> &dyn Definition {
                match self {
                    $(Self::$name(formula) => formula,)*
                }
            }

            fn definition_mut(&mut self) -> &mut dyn Definition {
                match self {
                    $(Self::$name(formula) => formula,)*
                }
            }
        }
    };
}

formulas! {
    set::Precision,
    set::Recall,
    set::Success,
    set::HitCount,
    set::SetAveragePrecision,
    set::SetF,
    set::Utility,
    set::JudgedFraction,
    set::UnjudgedFraction,
    ranked::ReciprocalRank,
    ranked::AveragePrecision,
    ranked::GeometricAveragePrecision,
    ranked::RPrecision,
    ranked::Bpref,
    ranked::GeometricBpref,
    ranked::InterpolatedPrecision,
    ranked::MeanInterpolatedPrecision,
    ranked::Yaap,
    gain::Ndcg,
    gain::Dcg,
    gain::IdealDcg,
    gain::NdcgAtRelevant,
    gain::NdcgAtGainSteps,
    gain::NormalizedGain,
    gain::BinaryNormalizedGain,
    rbp::RankBiasedPrecision,
    rbp::GradedRankBiasedPrecision,
    rbp::RbpResidual,
    err::ExpectedReciprocalRank,
    sampled::InferredAveragePrecision,
    sampled::StratifiedAveragePrecision,
    sampled::StratifiedNdcg,
    sampled::StratifiedPrecision,
    sampled::StratifiedInterpolatedPrecision,
    sampled::StratifiedRelevantCount,
    sampled::StratifiedRelevantRetrievedCount,
    diversity::IntentAwareErr,
    diversity::NormalizedIntentAwareErr,
    diversity::AlphaDcg,
    diversity::AlphaNdcg,
    diversity::NoveltyRbp,
    diversity::NormalizedNoveltyRbp,
    diversity::IntentAwareAveragePrecision,
    diversity::IntentAwarePrecision,
    diversity::SubtopicRecall,
    counts::QueryCount,
    counts::RetrievedCount,
    counts::RelevantCount,
    counts::RelevantRetrievedCount,
    counts::NonrelevantRetrievedCount,
    custom::CustomFormula,
}

impl Formula {
    /// Returns `true` if the measure takes a cutoff. Measures of whole lists, interpolated
    /// precision (its `@` is a recall) and measures that do not depend on the ranking take none.
    #[must_use]
    pub const fn takes_cutoff(&self) -> bool {
        self.properties().takes_cutoff
    }

    /// Returns `true` if the measure distinguishes relevant documents by a relevance level.
    /// Measures that use graded gains do not.
    #[must_use]
    pub const fn takes_level(&self) -> bool {
        self.properties().takes_level
    }

    /// Returns `true` if the measure can be computed over the judged documents of a list alone.
    /// Measures about unjudged documents and measures that do not depend on the ranking cannot.
    #[must_use]
    pub const fn takes_judged_only(&self) -> bool {
        self.properties().takes_judged_only
    }

    /// Iterates over all formulas with their default parameters, by family; custom measures are not
    /// included.
    ///
    /// ```
    /// use ir_eval::measure::Formula;
    /// let mut formulas = Formula::all();
    /// let ndcg = formulas.find(|formula| formula.names().any(|name| name == "nDCG")).unwrap();
    /// assert_eq!(ndcg.trec_eval_names().collect::<Vec<_>>(), ["ndcg", "ndcg_cut"]);
    /// assert_eq!(
    ///     ndcg.description(),
    ///     "Normalized discounted cumulative gain: DCG / IDCG"
    /// );
    /// ```
    pub fn all() -> impl Iterator<Item = Self> {
        let formulas = Self::DEFAULTS.iter().copied();
        formulas.filter(|formula| formula.names().next().is_some())
    }

    /// Names in the syntax of ir_measures and other tools; the first is printed.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.properties().names()
    }

    /// Names in trec_eval's syntax; empty if trec_eval does not have the measure.
    pub fn trec_eval_names(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.properties().trec_names.iter().map(|known| known.0)
    }

    /// First sentence of the documentation, without the period. Links to other formulas become the
    /// names of their measures.
    #[must_use]
    pub fn description(&self) -> String {
        let text = Self::without_markup(self.documentation());
        let end = text.find(". ").unwrap_or(text.len());
        text[..end].trim_end_matches('.').to_owned()
    }

    /// Parameters that belong to the formula alone: their names in ir_measures' syntax, separated
    /// by commas, and what they are, with range and default. `@` is the text after it.
    ///
    /// ```
    /// use ir_eval::measure::Formula;
    /// let mut formulas = Formula::all();
    /// let err = formulas.find(|formula| formula.names().any(|name| name == "ERR")).unwrap();
    /// let parameters = err.parameters();
    /// let (names, description) = &parameters[0];
    /// assert_eq!(names, "max_rel");
    /// assert!(description.ends_with("Range: 1 to 62. Default: 4, as in gdeval"));
    /// ```
    #[must_use]
    pub fn parameters(&self) -> Vec<(String, String)> {
        let (mut formula, mut list) = (*self, Parameters::default());
        let visited = formula.definition_mut().parameters(&mut list);
        debug_assert!(visited.is_ok(), "an empty text has no invalid parameter");
        let chunks = (list.printed).chunk_by(|a, b| a.documentation == b.documentation);
        let parameters = chunks.map(|chunk| {
            let names: Vec<&str> = chunk.iter().map(|parameter| parameter.key).collect();
            let description = Self::without_markup(chunk[0].documentation);
            (
                names.join(", "),
                description.trim_end_matches('.').to_owned(),
            )
        });
        parameters.collect()
    }

    /// First paragraph of a documentation as plain text. Links to other formulas become the names
    /// of their measures.
    fn without_markup(documentation: &[&str]) -> String {
        let lines = documentation.iter().map(|line| line.trim());
        let paragraph = lines.take_while(|line| !line.is_empty());
        let mut text = paragraph.collect::<Vec<_>>().join(" ");
        for formula in Self::all() {
            let variant = format!("{formula:?}");
            let end = variant.find(|c: char| !c.is_alphanumeric());
            let link = format!("[`{}`]", &variant[..end.unwrap_or(variant.len())]);
            text = text.replace(&link, formula.names().next().unwrap_or_default());
        }
        text.replace("[`", "").replace("`]", "").replace('`', "")
    }

    /// Returns `true` if a name is in ir_measures' syntax.
    pub(super) fn is_native_name(name: &str) -> bool {
        let mut formulas = Self::DEFAULTS.iter();
        formulas.any(|formula| formula.properties().is_name(name))
    }
}

/// Parses a measure in the syntax of ir_measures, or of another tool than trec_eval.
pub(super) fn parse_native(text: &str) -> Result<Measure, ParseMeasureError> {
    parse_split(MeasureText::split(text)?)
}

/// [`parse_native`] of a text that is split.
pub(super) fn parse_split(text: MeasureText<'_>) -> Result<Measure, ParseMeasureError> {
    let mut formulas = Formula::DEFAULTS.iter();
    let claimed = formulas.find(|formula| formula.definition().claims(&text));
    let mut measure = Measure::new(*claimed.ok_or_else(|| text.unknown())?);
    let properties = measure.formula.properties();
    let (has_at, is_set) = (text.at.is_some(), properties.is_set_name(text.name));
    let mut list = Parameters {
        text,
        ..Parameters::default()
    };
    visit(&mut measure, is_set, &mut list)?;
    match properties.cutoff_example {
        Some(example) if !is_set && !has_at && measure.cutoff().is_none() => {
            Err(list.text.missing_cutoff(example))
        }
        _ => list.text.finish().map(|()| measure),
    }
}

/// Parameters and options of a measure in ir_measures' syntax.
pub(super) fn print(measure: &Measure) -> Vec<PrintedParameter> {
    let (mut measure, mut list) = (*measure, Parameters::default());
    let visited = visit(&mut measure, false, &mut list);
    debug_assert!(visited.is_ok(), "an empty text has no invalid parameter");
    list.printed
}

/// Reads and prints the parameters and options of a measure.
fn visit(
    Measure { formula, options }: &mut Measure,
    is_set: bool,
    list: &mut Parameters<'_>,
) -> Result<(), ParseMeasureError> {
    const LEVEL: &str = "an integer >= 0 as relevance level";
    let properties = formula.properties();
    if properties.takes_level {
        let read = |found: &str| found.parse().ok().filter(|&level: &Grade| level >= 0);
        list.option(&mut options.level, "rel", LEVEL, read)?;
    }
    formula.definition_mut().parameters(list)?;
    if properties.takes_judged_only {
        list.flag(&mut options.judged_only, "judged_only")?;
    }
    if properties.takes_cutoff && !is_set {
        list.option(&mut options.cutoff, "@", CUTOFF, |found| found.parse().ok())?;
    }
    Ok(())
}

/// Text of a measure in ir_measures' syntax.
pub(super) fn text(measure: &Measure) -> String {
    let mut text = measure
        .formula
        .definition()
        .name(&measure.options)
        .to_owned();
    let mut shown = print(measure);
    shown.retain(|parameter| parameter.is_shown);
    let (at, list): (Vec<_>, Vec<_>) = shown.iter().partition(|parameter| parameter.key == "@");
    if !list.is_empty() {
        let list: Vec<String> = list
            .iter()
            .map(|p| format!("{}={}", p.key, p.value))
            .collect();
        text.push_str(&format!("({})", list.join(",")));
    }
    if let [at] = at.as_slice() {
        text.push_str(&format!("@{}", at.value));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_belongs_to_one_measure() {
        for name in Formula::DEFAULTS
            .iter()
            .flat_map(|formula| formula.properties().names())
        {
            for parameters in ["", "(gain=graded)", "(rel=2)"] {
                let text = format!("{name}{parameters}");
                let split = MeasureText::split(&text).unwrap();
                let mut claimants = Formula::DEFAULTS.to_vec();
                claimants.retain(|formula| formula.definition().claims(&split));
                assert_eq!(claimants.len(), 1, "{text}: {claimants:?}");
            }
        }
    }
}
