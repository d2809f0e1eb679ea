//! The definition of a measure: its names, parameters and computation.

use std::num::NonZeroU32;

use ir_core::Grade;

use super::parameters::{MeasureText, Parameters, ParseMeasureError};
use super::trec_syntax::TrecName;
use crate::decimal::Decimal;
use crate::judged::{
    CumulativeGain, DocOrdinal, Gain, IdealRanking, JudgedRanking, PreparedQuery,
    PreparedSubtopics, RelevantRanks, Subtopics,
};
use crate::rules::Rules;

/// Defines measures. An entry states, in this order:
///
/// - documentation: formula, range, names and paper;
/// - the type and, in braces, its parameters: documentation, type, default, and the function of
///   [`Parameters`] that reads and prints it, with further arguments;
/// - [`Properties`]: names, options and aggregation;
/// - `needs`: the [`Requirement`], if any;
/// - `impl`: other functions of [`Definition`] that the measure overrides;
/// - `value`: the value for one query.
///
/// The measure exists once its type is listed in [`Formula`](super::Formula).
macro_rules! measures {
    ($(
        $(#[doc = $doc:literal])*
        $name:ident $({ $(
            $(#[doc = $parameter_doc:literal])*
            $parameter:ident: $type:ty = $default:expr $(=> $read:ident($($argument:expr),*))?,
        )+ })? = $properties:expr;
        $(needs $requirement:expr;)?
        $(impl { $($function:item)+ })?
        value $value:expr;
    )+) => { $(
        measures!(@type [$(#[doc = $doc])*] $name $({
            $([$(#[doc = $parameter_doc])*] $parameter: $type = $default,)+
        })?);

        impl $name {
            pub(crate) const PROPERTIES: Properties = $properties;
            /// Lines of the documentation.
            pub(crate) const DOCUMENTATION: &[&str] = &[$($doc),*];
        }

        impl Definition for $name {
            fn properties(&self) -> &'static Properties {
                &Self::PROPERTIES
            }

            $(fn parameters(&mut self, list: &mut Parameters<'_>) -> Result<(), ParseMeasureError> {
                $(
                    list.documentation = &[$($parameter_doc),*];
                    $(list.$read(&mut self.$parameter $(, $argument)*)?;)?
                )+
                Ok(())
            })?

            $(fn requirement(&self) -> Requirement {
                let requirement: fn(&Self) -> Requirement = $requirement;
                requirement(self)
            })?

            $($($function)+)?

            fn value(&self, input: &MeasureInput<'_>) -> f64 {
                let value: fn(&Self, &MeasureInput<'_>) -> f64 = $value;
                value(self, input)
            }
        }
    )+ };
    (@type [$($doc:tt)*] $name:ident) => {
        $($doc)*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name;

        impl $name {
            pub(crate) const DEFAULT: Self = Self;
        }
    };
    (@type [$($doc:tt)*] $name:ident {
        $([$($parameter_doc:tt)*] $parameter:ident: $type:ty = $default:expr,)+
    }) => {
        $($doc)*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name {
            $($($parameter_doc)* pub $parameter: $type,)+
        }

        impl $name {
            pub(crate) const DEFAULT: Self = Self { $($parameter: $default),+ };
        }
    };
}

pub(super) use measures;

/// Names, parameters and computation of a measure, as [`measures!`] implements them.
pub(crate) trait Definition {
    /// Names, options and aggregation of the measure.
    fn properties(&self) -> &'static Properties;

    /// Returns `true` if a text refers to this measure. Exactly one measure claims each name.
    fn claims(&self, text: &MeasureText<'_>) -> bool {
        self.properties().is_name(text.name)
    }

    /// Reads the parameters of the measure, which has its defaults, or prints them.
    #[allow(unused_variables)]
    fn parameters(&mut self, list: &mut Parameters<'_>) -> Result<(), ParseMeasureError> {
        Ok(())
    }

    /// Name that is printed.
    fn name(&self, options: &MeasureOptions) -> &str {
        self.properties().name(options.cutoff.is_some())
    }

    /// Data that the evaluator prepares for the measure.
    fn requirement(&self) -> Requirement {
        Requirement::None
    }

    /// Highest grade for which the measure is defined.
    fn highest_grade(&self) -> Option<Grade> {
        match self.requirement() {
            Requirement::Gain(Gain::Exponential) => Some(Gain::MAX_EXPONENTIAL_GRADE),
            _ => None,
        }
    }

    /// Aggregation of the per-query values.
    fn summary(&self) -> Summary {
        self.properties().summary
    }

    /// Value for one query.
    fn value(&self, input: &MeasureInput<'_>) -> f64;

    /// Returns `true` if trec_eval divides 0 by 0 for an empty list.
    #[allow(unused_variables)]
    fn is_undefined(&self, input: &MeasureInput<'_>) -> bool {
        false
    }
}

/// Data that the evaluator prepares for a measure, besides the ranks of the relevant documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Requirement {
    None,
    /// [`MeasureInput::gains`] and [`MeasureInput::ideal`], by this gain.
    Gain(Gain),
    /// [`MeasureInput::subtopics`], by this α; 0 for measures that do not use novelty.
    Subtopics(Decimal),
}

/// Names of a measure and the options it takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Properties {
    /// Names in the syntax of ir_measures and other tools; the first is printed.
    names: &'static [&'static str],
    /// Names of the measure without a cutoff, if it has a name of its own there.
    set_names: &'static [&'static str],
    /// Names in trec_eval's syntax; empty if trec_eval does not have the measure.
    pub(crate) trec_names: &'static [TrecName],
    /// Example for the error message if a name of `names` lacks a required cutoff.
    pub(crate) cutoff_example: Option<&'static str>,
    pub(crate) takes_cutoff: bool,
    pub(crate) takes_level: bool,
    pub(crate) takes_judged_only: bool,
    /// If `true`, the measure needs the sampling strata of the query.
    pub(crate) needs_strata: bool,
    /// If `true`, the value depends on the judgments alone. For a query without results, trec_eval
    /// 9 counts all other measures as 0, whatever the formula yields for an empty list.
    pub(crate) ignores_ranking: bool,
    pub(crate) is_count: bool,
    summary: Summary,
}

impl Properties {
    /// A measure that takes all options and is averaged over queries.
    pub(crate) const fn new(names: &'static [&'static str]) -> Self {
        Self {
            names,
            set_names: &[],
            trec_names: &[],
            cutoff_example: None,
            takes_cutoff: true,
            takes_level: true,
            takes_judged_only: true,
            needs_strata: false,
            ignores_ranking: false,
            is_count: false,
            summary: Summary::Mean,
        }
    }

    /// Sets the names of the measure over whole lists.
    pub(crate) const fn with_set_names(mut self, names: &'static [&'static str]) -> Self {
        self.set_names = names;
        self
    }

    pub(crate) const fn with_trec_names(mut self, names: &'static [TrecName]) -> Self {
        self.trec_names = names;
        self
    }

    pub(crate) const fn require_cutoff(mut self, example: &'static str) -> Self {
        self.cutoff_example = Some(example);
        self
    }

    pub(crate) const fn without_cutoff(mut self) -> Self {
        self.takes_cutoff = false;
        self
    }

    pub(crate) const fn without_level(mut self) -> Self {
        self.takes_level = false;
        self
    }

    pub(crate) const fn without_judged_only(mut self) -> Self {
        self.takes_judged_only = false;
        self
    }

    pub(crate) const fn without_ranking(mut self) -> Self {
        self.ignores_ranking = true;
        self.without_cutoff().without_judged_only()
    }

    pub(crate) const fn with_strata(mut self) -> Self {
        self.needs_strata = true;
        self.without_judged_only()
    }

    pub(crate) const fn with_summary(mut self, summary: Summary) -> Self {
        self.summary = summary;
        self
    }

    /// An integer, summed over queries.
    pub(crate) const fn count(mut self) -> Self {
        self.is_count = true;
        self.with_summary(Summary::Sum)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.names.iter().chain(self.set_names).copied()
    }

    pub(crate) fn is_name(&self, name: &str) -> bool {
        self.names().any(|known| known == name)
    }

    /// Returns `true` if a name refers to the measure over whole lists.
    pub(crate) fn is_set_name(&self, name: &str) -> bool {
        self.set_names.contains(&name)
    }

    fn name(&self, has_cutoff: bool) -> &'static str {
        match self.set_names {
            [name, ..] if !has_cutoff => name,
            _ => self.names[0],
        }
    }
}

/// Options that measures have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) struct MeasureOptions {
    /// Relevance level; `None` for the level of the rules.
    pub(crate) level: Option<Grade>,
    pub(crate) cutoff: Option<NonZeroU32>,
    pub(crate) judged_only: bool,
}

/// Aggregation of per-query values.
///
/// In text: `mean`, `sum`, `geometric`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Summary {
    /// Arithmetic mean of the values.
    Mean,
    /// Sum of the values, for counts.
    Sum,
    /// Geometric mean: exp of the mean of ln(max(value, [`Summary::FLOOR`])).
    GeometricMean,
}

impl Summary {
    /// Lower bound of the values in a geometric mean.
    pub const FLOOR: f64 = 1e-5;

    /// Aggregates values; NaN if there are none.
    #[must_use]
    pub fn aggregate(self, values: impl Iterator<Item = f64>) -> f64 {
        let (mut sum, mut count) = (0.0, 0_u64);
        for value in values {
            sum += match self {
                Self::Mean | Self::Sum => value,
                Self::GeometricMean => value.max(Self::FLOOR).ln(),
            };
            count += 1;
        }
        match self {
            Self::Sum => sum,
            Self::Mean => sum / count as f64,
            Self::GeometricMean => (sum / count as f64).exp(),
        }
    }
}

/// One query as a measure sees it: the ranking, cut at the measure's cutoff, and the judgments.
pub(crate) struct MeasureInput<'a> {
    pub(crate) query: &'a PreparedQuery<'a>,
    pub(crate) rules: &'a Rules,
    /// Relevance level of the measure, or else of the rules.
    pub(crate) level: Grade,
    pub(crate) cutoff: Option<usize>,
    ranking: &'a JudgedRanking,
    indices: RequirementIndices,
    /// Number of documents up to the cutoff.
    pub(crate) retrieved: usize,
}

/// Indices of a measure's level, gain and novelty in
/// [`Requirements`](crate::judged::Requirements).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RequirementIndices {
    pub(crate) level: usize,
    pub(crate) gain: usize,
    pub(crate) novelty: usize,
}

impl<'a> MeasureInput<'a> {
    pub(crate) fn new(
        query: &'a PreparedQuery<'a>,
        ranking: &'a JudgedRanking,
        rules: &'a Rules,
        level: Grade,
        cutoff: Option<u32>,
        indices: RequirementIndices,
    ) -> Self {
        let cutoff = cutoff.map(|k| k as usize);
        let retrieved = ranking.states.len();
        Self {
            query,
            rules,
            level,
            cutoff,
            ranking,
            indices,
            retrieved: cutoff.map_or(retrieved, |k| k.min(retrieved)),
        }
    }

    /// States of the documents up to the cutoff: grade, [`UNPOOLED`](crate::judged::UNPOOLED) or
    /// [`UNJUDGED`](crate::judged::UNJUDGED).
    pub(crate) fn states(&self) -> &'a [Grade] {
        &self.ranking.states[..self.retrieved]
    }

    /// Ordinals of the documents up to the cutoff.
    pub(crate) fn ordinals(&self) -> &'a [DocOrdinal] {
        &self.ranking.ordinals[..self.retrieved]
    }

    /// The cutoff, or else the length of the list.
    pub(crate) fn depth(&self) -> usize {
        self.cutoff.unwrap_or(self.ranking.states.len())
    }

    /// Ranks of the relevant documents, also beyond the cutoff.
    pub(crate) fn relevant_ranks(&self) -> &'a RelevantRanks {
        &self.ranking.relevant[self.indices.level]
    }

    /// Number of relevant documents up to the cutoff.
    pub(crate) fn found(&self) -> usize {
        self.relevant_ranks().within(self.depth())
    }

    /// Number of relevant documents in the qrels.
    pub(crate) fn relevant(&self) -> u64 {
        self.query.relevant(self.indices.level)
    }

    /// Gains of the ranking, also beyond the cutoff.
    pub(crate) fn gains(&self) -> &'a CumulativeGain {
        &self.ranking.gains[self.indices.gain]
    }

    /// Ideal ranking, not cut.
    pub(crate) fn ideal(&self) -> &'a IdealRanking {
        self.query.ideal(self.indices.gain)
    }

    /// Subtopics of the query, and as prepared for the measure's α and level.
    pub(crate) fn subtopics(&self) -> Option<(&'a Subtopics, &'a PreparedSubtopics)> {
        let subtopics = self.query.subtopics.as_ref()?;
        Some((subtopics, subtopics.prepared(self.indices.novelty)))
    }
}

/// Quotient, or 0 if the divisor is 0.
pub(crate) fn ratio(dividend: f64, divisor: f64) -> f64 {
    if divisor == 0.0 {
        0.0
    } else {
        dividend / divisor
    }
}
