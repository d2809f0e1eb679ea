//! Counts, summed over queries.

use ir_core::Grade;

use super::definition::{
    Definition, MeasureInput, MeasureOptions, Properties, TrecNames, TrecSyntax,
};
use super::parameters::Parameters;

/// Number of queries.
///
/// `NumQ`; trec_eval's `num_q`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueryCount;

impl Definition for QueryCount {
    const PROPERTIES: Properties = Properties::new(&["NumQ"])
        .count()
        .without_cutoff()
        .without_level()
        .without_judged_only();
    const DEFAULT: Self = Self;
    const TREC_NAMES: TrecNames<Self> = &[("num_q", TrecSyntax::Plain(Self))];

    fn value(&self, _: &MeasureInput<'_>) -> f64 {
        1.0
    }

    fn missing_value(&self, _: &MeasureInput<'_>) -> f64 {
        1.0
    }
}

/// Number of documents retrieved.
///
/// `NumRet`; trec_eval's `num_ret`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RetrievedCount;

impl Definition for RetrievedCount {
    const PROPERTIES: Properties = Properties::new(&["NumRet"]).count().without_level();
    const DEFAULT: Self = Self;
    const TREC_NAMES: TrecNames<Self> = &[("num_ret", TrecSyntax::Plain(Self))];

    fn claims(parameters: &Parameters<'_>) -> bool {
        parameters.name == "NumRet" && !parameters.has("rel")
    }

    fn value(&self, input: &MeasureInput<'_>) -> f64 {
        input.retrieved() as f64
    }
}

/// Number of relevant documents in the qrels.
///
/// `NumRel`; trec_eval's `num_rel`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelevantCount;

impl Definition for RelevantCount {
    const PROPERTIES: Properties = Properties::new(&["NumRel"])
        .count()
        .without_cutoff()
        .without_judged_only();
    const DEFAULT: Self = Self;
    const TREC_NAMES: TrecNames<Self> = &[("num_rel", TrecSyntax::Plain(Self))];

    fn value(&self, input: &MeasureInput<'_>) -> f64 {
        input.relevant() as f64
    }

    fn missing_value(&self, input: &MeasureInput<'_>) -> f64 {
        self.value(input)
    }
}

/// Number of relevant documents retrieved.
///
/// `NumRelRet`, and `NumRet(rel=2)` with a level, as in ir_measures; trec_eval's `num_rel_ret`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelevantRetrievedCount;

impl Definition for RelevantRetrievedCount {
    const PROPERTIES: Properties = Properties::new(&["NumRelRet"]).count();
    const DEFAULT: Self = Self;
    const TREC_NAMES: TrecNames<Self> = &[("num_rel_ret", TrecSyntax::Plain(Self))];

    fn claims(parameters: &Parameters<'_>) -> bool {
        parameters.name == "NumRelRet" || parameters.name == "NumRet" && parameters.has("rel")
    }

    fn name(&self, options: &MeasureOptions) -> &str {
        match options.level {
            None => "NumRelRet",
            Some(_) => "NumRet",
        }
    }

    fn value(&self, input: &MeasureInput<'_>) -> f64 {
        input.found() as f64
    }
}

/// Number of documents retrieved that are judged and not relevant.
///
/// `NumNonRelJudgedRet`; trec_eval's `num_nonrel_judged_ret`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NonrelevantRetrievedCount;

impl Definition for NonrelevantRetrievedCount {
    const PROPERTIES: Properties = Properties::new(&["NumNonRelJudgedRet"]).count();
    const DEFAULT: Self = Self;
    const TREC_NAMES: TrecNames<Self> = &[("num_nonrel_judged_ret", TrecSyntax::Plain(Self))];

    fn value(&self, input: &MeasureInput<'_>) -> f64 {
        let nonrelevant = |state: &&Grade| (0..input.level).contains(*state);
        input.states().iter().filter(nonrelevant).count() as f64
    }
}
