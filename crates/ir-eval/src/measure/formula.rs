//! The table of all measures.

use std::num::NonZeroU32;

use ir_core::Grade;

use super::definition::{Definition, MeasureInput, MeasureOptions, Properties, Summary};
use super::parameters::{CUTOFF, MeasureText, Parameters, ParseMeasureError};
use super::trec_names;
use super::{counts, custom, diversity, err, gain, ranked, rbp, sampled, set};
use crate::decimal::Decimal;
use crate::judged::Gain;

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
            pub(super) const fn properties(&self) -> &'static Properties {
                match self {
                    $(Self::$name(_) => &<$family::$name as Definition>::PROPERTIES,)*
                }
            }

            fn name(&self, options: &MeasureOptions) -> &str {
                match self {
                    $(Self::$name(formula) => formula.name(options),)*
                }
            }

            fn write(&self, text: &mut MeasureText) {
                match self {
                    $(Self::$name(formula) => formula.write(text),)*
                }
            }

            fn write_trec(&self, cutoff: Option<NonZeroU32>) -> Option<String> {
                match self {
                    $(Self::$name(formula) => trec_names::write(formula, cutoff),)*
                }
            }

            pub(crate) fn gain(&self) -> Option<Gain> {
                match self {
                    $(Self::$name(formula) => formula.gain(),)*
                }
            }

            pub(crate) fn alpha(&self) -> Option<Decimal> {
                match self {
                    $(Self::$name(formula) => formula.alpha(),)*
                }
            }

            pub(crate) fn highest_grade(&self) -> Option<Grade> {
                match self {
                    $(Self::$name(formula) => formula.highest_grade(),)*
                }
            }

            pub(super) fn summary(&self) -> Summary {
                match self {
                    $(Self::$name(formula) => formula.summary(),)*
                }
            }

            pub(crate) fn value(&self, input: &MeasureInput<'_>) -> f64 {
                match self {
                    $(Self::$name(formula) => formula.value(input),)*
                }
            }

            pub(crate) fn missing_value(&self, input: &MeasureInput<'_>) -> f64 {
                match self {
                    $(Self::$name(formula) => formula.missing_value(input),)*
                }
            }

            pub(crate) fn is_undefined(&self, input: &MeasureInput<'_>) -> bool {
                match self {
                    $(Self::$name(formula) => formula.is_undefined(input),)*
                }
            }

            /// Reads the formula that claims a text in ir_measures' syntax.
            fn read(parameters: &mut Parameters<'_>) -> Result<Self, ParseMeasureError> {
                $(
                    if <$family::$name>::claims(parameters) {
                        return <$family::$name>::read(parameters).map(Self::$name);
                    }
                )*
                Err(parameters.unknown())
            }

            /// Reads a value in trec_eval's syntax, given by a measure's name and the parameters.
            fn read_trec(
                name: &str,
                parameters: Option<&str>,
                text: &str,
            ) -> Result<(Self, Option<NonZeroU32>), ParseMeasureError> {
                $(
                    if let Some(read) = trec_names::read(name, parameters, text) {
                        return read.map(|(formula, cutoff)| (Self::$name(formula), cutoff));
                    }
                )*
                Err(ParseMeasureError::Unknown { text: text.to_owned() })
            }

            /// Returns the values that a measure on trec_eval's command line stands for, with their
            /// names in trec_eval's output.
            pub(crate) fn expand_trec(
                name: &str,
                parameters: Option<&str>,
                text: &str,
            ) -> Result<Vec<trec_names::TrecValue<Self>>, ParseMeasureError> {
                $(
                    for (known, syntax) in <$family::$name>::TREC_NAMES {
                        if *known == name {
                            let values = trec_names::expand(name, *syntax, parameters, text)?;
                            let formula = |(name, formula, cutoff)| {
                                (name, Self::$name(formula), cutoff)
                            };
                            return Ok(values.into_iter().map(formula).collect());
                        }
                    }
                )*
                Err(ParseMeasureError::Unknown { text: text.to_owned() })
            }

            /// All of trec_eval's names.
            pub(crate) fn trec_names() -> impl Iterator<Item = &'static str> {
                let names = std::iter::empty();
                $(
                    let names = names.chain(
                        <$family::$name>::TREC_NAMES.iter().map(|(name, _)| *name),
                    );
                )*
                names
            }

            /// Names of the formulas that claim a text.
            #[cfg(test)]
            fn claimants(parameters: &Parameters<'_>) -> Vec<&'static str> {
                let mut claimants = Vec::new();
                $(
                    if <$family::$name>::claims(parameters) {
                        claimants.push(stringify!($name));
                    }
                )*
                claimants
            }

            /// All names in ir_measures' syntax.
            #[cfg(test)]
            fn native_names() -> Vec<&'static str> {
                let mut names = Vec::new();
                $(names.extend(<$family::$name>::PROPERTIES.names());)*
                names
            }

            /// Whether a name with an underscore is in ir_measures' syntax.
            fn is_native_name(name: &str) -> bool {
                name.contains('_')
                    && ($(<$family::$name>::PROPERTIES.is_name(name))||*)
            }
        }
    };
}

formulas! {
    set::Precision,
    set::Recall,
    set::Success,
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
    /// Whether the measure takes a cutoff. Measures of whole lists, interpolated precision (whose
    /// `@` is a recall) and measures that do not depend on the ranking take none.
    #[must_use]
    pub const fn takes_cutoff(&self) -> bool {
        self.properties().takes_cutoff
    }

    /// Whether the measure distinguishes relevant documents by a relevance level. Measures that use
    /// graded gains do not.
    #[must_use]
    pub const fn takes_level(&self) -> bool {
        self.properties().takes_level
    }

    /// Whether the measure can be computed over the judged documents of a list alone. Measures
    /// about unjudged documents and measures that do not depend on the ranking cannot.
    #[must_use]
    pub const fn takes_judged_only(&self) -> bool {
        self.properties().takes_judged_only
    }
}

/// Parses a measure in ir_measures' syntax, in trec_eval's, or by a name that ndeval, gdeval,
/// sample_eval or ranx use.
pub(super) fn parse(text: &str) -> Result<(Formula, MeasureOptions), ParseMeasureError> {
    // Without the last condition `P_IA` would be precision at cutoff "IA".
    if !text.contains(['@', '('])
        && let Some((name, parameters)) = split_trec(text)
        && !Formula::is_native_name(text)
    {
        let (formula, cutoff) = Formula::read_trec(name, parameters, text)?;
        let options = MeasureOptions {
            cutoff,
            ..MeasureOptions::default()
        };
        return Ok((formula, options));
    }
    let mut parameters = Parameters::split(text)?;
    let formula = Formula::read(&mut parameters)?;
    let options = read_options(formula.properties(), &mut parameters)?;
    parameters.finish()?;
    Ok((formula, options))
}

/// Splits a text into the longest of trec_eval's names that it starts with, and the parameters.
fn split_trec(text: &str) -> Option<(&'static str, Option<&str>)> {
    Formula::trec_names()
        .filter_map(|name| match text.strip_prefix(name)? {
            "" => Some((name, None)),
            rest => Some((name, Some(rest.strip_prefix(['.', '_'])?))),
        })
        .max_by_key(|(name, _)| name.len())
}

fn read_options(
    properties: &Properties,
    parameters: &mut Parameters<'_>,
) -> Result<MeasureOptions, ParseMeasureError> {
    const LEVEL: &str = "an integer >= 0 as relevance level";
    let mut options = MeasureOptions::default();
    if properties.takes_level
        && let Some(value) = parameters.take("rel")
    {
        let level = value.parse().ok().filter(|&level: &Grade| level >= 0);
        options.level = Some(level.ok_or_else(|| parameters.invalid(LEVEL, value))?);
    }
    if properties.takes_judged_only {
        options.judged_only = parameters.flag("judged_only", false)?;
    }
    let is_set = properties.is_set_name(parameters.name);
    match parameters.at {
        Some(found) if is_set || !properties.takes_cutoff => {
            return Err(parameters.no_cutoff(found));
        }
        Some(found) => {
            let cutoff = found
                .parse()
                .map_err(|_| parameters.invalid(CUTOFF, found))?;
            options.cutoff = Some(cutoff);
        }
        None => match properties.cutoff_example {
            Some(example) if !is_set => return Err(parameters.missing_cutoff(example)),
            _ => {}
        },
    }
    Ok(options)
}

/// Text of a measure in ir_measures' syntax.
pub(super) fn text(formula: &Formula, options: &MeasureOptions) -> String {
    let mut text = MeasureText::default();
    if let Some(level) = options.level {
        text.parameter("rel", level);
    }
    formula.write(&mut text);
    text.flag("judged_only", options.judged_only);
    if let Some(k) = options.cutoff {
        text.at(k);
    }
    text.finish(formula.name(options))
}

/// trec_eval's name of a measure; `None` if trec_eval does not have it.
pub(super) fn trec_name(formula: &Formula, options: &MeasureOptions) -> Option<String> {
    match options {
        MeasureOptions {
            level: None,
            judged_only: false,
            cutoff,
        } => formula.write_trec(*cutoff),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_belongs_to_one_measure() {
        for name in Formula::native_names() {
            for parameters in ["", "(gain=graded)", "(rel=2)"] {
                let text = format!("{name}{parameters}");
                let claimants = Formula::claimants(&Parameters::split(&text).unwrap());
                assert_eq!(claimants.len(), 1, "{text}: {claimants:?}");
            }
        }
    }
}
