//! ir_measures' syntax of measures: `NAME(PARAMETER=VALUE,...)@CUTOFF`.

use std::fmt;

use crate::decimal::Decimal;
use crate::judged::{Gain, GainTable};

/// Error parsing a measure.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum ParseMeasureError {
    /// No measure has this name.
    #[error("{text:?}: no such measure (examples: nDCG@10, AP, RR@10, P_5, recall_100)")]
    Unknown { text: String },
    /// Unbalanced brackets, or a parameter without a value.
    #[error("{text:?}: expected NAME, NAME@CUTOFF or NAME(PARAMETER=VALUE,...)@CUTOFF")]
    Syntax { text: String },
    /// A measure that is only defined at a cutoff.
    #[error("{text:?}: expected a cutoff, as in {example}")]
    MissingCutoff { text: String, example: &'static str },
    /// A cutoff on a measure that takes none.
    #[error("{text:?}: this measure takes no cutoff, found {found:?}")]
    NoCutoff { text: String, found: String },
    /// A parameter that the measure does not have.
    #[error("{text:?}: this measure has no parameter {found:?}")]
    NoParameter { text: String, found: String },
    /// A parameter or cutoff with an invalid value.
    #[error("{text:?}: expected {expected}, found {found:?}")]
    Value {
        text: String,
        expected: &'static str,
        found: String,
    },
    /// A cutoff or parameter that is given twice.
    #[error("{text:?}: {found} is given twice")]
    Twice { text: String, found: String },
    /// A measure that is computed from another format of judgments; `needs` names it and
    /// trec_eval's option for it.
    #[error("{text:?}: expected a measure for the type of the judgments, found one for {needs}")]
    OtherJudgments { text: String, needs: &'static str },
    /// A name that stands for several measures where one is expected.
    #[error("{text:?}: expected one measure, found {count}")]
    Several { text: String, count: usize },
}

impl ParseMeasureError {
    pub(crate) fn invalid(text: &str, expected: &'static str, found: &str) -> Self {
        Self::Value {
            text: text.to_owned(),
            expected,
            found: found.to_owned(),
        }
    }

    pub(crate) fn twice(text: &str, found: impl fmt::Display) -> Self {
        Self::Twice {
            text: text.to_owned(),
            found: found.to_string(),
        }
    }
}

pub(crate) const CUTOFF: &str = "an integer >= 1 as cutoff";

/// Parsed text of a measure. Parameters are removed when they are read; those that remain at the
/// end are unknown to the measure.
pub(crate) struct Parameters<'a> {
    text: &'a str,
    pub(crate) name: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
    /// Text after `@`.
    pub(crate) at: Option<&'a str>,
}

impl<'a> Parameters<'a> {
    pub(crate) fn split(text: &'a str) -> Result<Self, ParseMeasureError> {
        let syntax = || ParseMeasureError::Syntax {
            text: text.to_owned(),
        };
        let (name, inside, after) = match text.split_once('(') {
            Some((name, rest)) => {
                let (inside, after) = rest.rsplit_once(')').ok_or_else(syntax)?;
                (name, inside, after)
            }
            None => {
                let end = text.find('@').unwrap_or(text.len());
                (&text[..end], "", &text[end..])
            }
        };
        let at = match after {
            "" => None,
            after => Some(after.strip_prefix('@').ok_or_else(syntax)?),
        };
        let mut parameters = Vec::new();
        let (mut depth, mut start) = (0_i32, 0);
        let ends = inside
            .char_indices()
            .filter(|&(_, c)| {
                depth += i32::from(c == '{') - i32::from(c == '}');
                c == ',' && depth == 0
            })
            .map(|(at, _)| at)
            .collect::<Vec<_>>();
        if depth != 0 {
            return Err(syntax());
        }
        for end in ends.into_iter().chain([inside.len()]) {
            let parameter = inside[start..end].trim();
            start = end + 1;
            if parameter.is_empty() && inside.trim().is_empty() {
                break;
            }
            let (key, value) = parameter.split_once('=').ok_or_else(syntax)?;
            let (key, value) = (key.trim(), value.trim());
            if parameters.iter().any(|&(other, _)| other == key) {
                return Err(ParseMeasureError::twice(text, key));
            }
            parameters.push((key, value));
        }
        Ok(Self {
            text,
            name: name.trim(),
            parameters,
            at,
        })
    }

    /// Whether a parameter is given.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.parameters.iter().any(|&(k, _)| k == key)
    }

    /// Value of a parameter, without quotes.
    pub(crate) fn get(&self, key: &str) -> Option<&'a str> {
        let (_, value) = self.parameters.iter().find(|&&(k, _)| k == key)?;
        let unquoted = |quote| value.strip_prefix(quote)?.strip_suffix(quote);
        Some(unquoted('\'').or_else(|| unquoted('"')).unwrap_or(value))
    }

    pub(crate) fn take(&mut self, key: &str) -> Option<&'a str> {
        let value = self.get(key);
        self.parameters.retain(|&(k, _)| k != key);
        value
    }

    /// Returns an error if a parameter is left.
    pub(crate) fn finish(self) -> Result<(), ParseMeasureError> {
        match self.parameters.first() {
            None => Ok(()),
            Some((key, _)) => Err(ParseMeasureError::NoParameter {
                text: self.text.to_owned(),
                found: (*key).to_owned(),
            }),
        }
    }

    pub(crate) fn unknown(&self) -> ParseMeasureError {
        ParseMeasureError::Unknown {
            text: self.text.to_owned(),
        }
    }

    pub(crate) fn invalid(&self, expected: &'static str, found: &str) -> ParseMeasureError {
        ParseMeasureError::invalid(self.text, expected, found)
    }

    pub(crate) fn missing_cutoff(&self, example: &'static str) -> ParseMeasureError {
        ParseMeasureError::MissingCutoff {
            text: self.text.to_owned(),
            example,
        }
    }

    pub(crate) fn no_cutoff(&self, found: &str) -> ParseMeasureError {
        ParseMeasureError::NoCutoff {
            text: self.text.to_owned(),
            found: found.to_owned(),
        }
    }

    /// A decimal that satisfies `is_valid`.
    fn decimal_in(
        &mut self,
        key: &str,
        default: Decimal,
        expected: &'static str,
        is_valid: impl Fn(Decimal) -> bool,
    ) -> Result<Decimal, ParseMeasureError> {
        let number = self.decimal(key, default)?;
        if !is_valid(number) {
            return Err(self.invalid(expected, &number.to_string()));
        }
        Ok(number)
    }

    pub(crate) fn decimal(
        &mut self,
        key: &str,
        default: Decimal,
    ) -> Result<Decimal, ParseMeasureError> {
        self.take(key).map_or(Ok(default), |value| {
            let invalid = |_| self.invalid("a decimal number", value);
            value.parse().map_err(invalid)
        })
    }

    /// A decimal ≥ 0.
    pub(crate) fn non_negative(
        &mut self,
        key: &str,
        default: Decimal,
    ) -> Result<Decimal, ParseMeasureError> {
        self.decimal_in(key, default, "a number from 0", |x| x >= Decimal::ZERO)
    }

    /// The persistence `p` of rank-biased precision, 0 to 1.
    pub(crate) fn persistence(&mut self, default: Decimal) -> Result<Decimal, ParseMeasureError> {
        const EXPECTED: &str = "a persistence between 0 and 1";
        self.decimal_in("p", default, EXPECTED, |p| p.is_fraction())
    }

    /// A decimal between 0 and 1.
    pub(crate) fn fraction(
        &mut self,
        key: &str,
        default: Decimal,
    ) -> Result<Decimal, ParseMeasureError> {
        self.decimal_in(key, default, "a number between 0 and 1", |x| {
            x.is_fraction()
        })
    }

    pub(crate) fn flag(&mut self, key: &str, default: bool) -> Result<bool, ParseMeasureError> {
        match self.take(key) {
            None => Ok(default),
            Some("False" | "false") => Ok(false),
            Some("True" | "true") => Ok(true),
            Some(value) => Err(self.invalid("True or False", value)),
        }
    }

    /// The gain: `dcg=exp-log2` or `gains={1:3.5,2:9}`.
    pub(crate) fn gain(&mut self) -> Result<Gain, ParseMeasureError> {
        let dcg = self.take("dcg");
        let table = self.take("gains");
        match (dcg, table) {
            (None | Some("log2"), None) => Ok(Gain::Linear),
            (Some("exp-log2"), None) => Ok(Gain::Exponential),
            (None | Some("log2"), Some(table)) => self.gain_table(table).map(Gain::Table),
            (Some("exp-log2"), Some(table)) => {
                Err(self.invalid("either dcg=exp-log2 or gains, not both", table))
            }
            (Some(other), _) => Err(self.invalid("log2 or exp-log2", other)),
        }
    }

    fn gain_table(&self, list: &str) -> Result<GainTable, ParseMeasureError> {
        const EXPECTED: &str = "up to eight grades and gains, as in {1:3.5,2:9}";
        let read = || {
            let mut table = GainTable::new();
            for pair in braced(list)?.split(',') {
                let (grade, gain) = pair.split_once(':')?;
                table = table.with(grade.trim().parse().ok()?, gain.trim().parse().ok()?)?;
            }
            Some(table)
        };
        read().ok_or_else(|| self.invalid(EXPECTED, list))
    }
}

/// Returns the text between braces.
pub(crate) fn braced(text: &str) -> Option<&str> {
    text.strip_prefix('{')?.strip_suffix('}')
}

/// Text of a measure under construction.
#[derive(Debug, Default)]
pub(crate) struct MeasureText {
    parameters: Vec<String>,
    at: Option<String>,
}

impl MeasureText {
    pub(crate) fn parameter(&mut self, key: &str, value: impl fmt::Display) {
        self.parameters.push(format!("{key}={value}"));
    }

    /// Writes a parameter unless it has its default value.
    pub(crate) fn unless_default<T: PartialEq + fmt::Display>(
        &mut self,
        key: &str,
        value: T,
        default: T,
    ) {
        if value != default {
            self.parameter(key, value);
        }
    }

    /// Writes a flag unless it is false.
    pub(crate) fn flag(&mut self, key: &str, value: bool) {
        if value {
            self.parameter(key, "True");
        }
    }

    pub(crate) fn gain(&mut self, gain: Gain) {
        match gain {
            Gain::Linear => {}
            Gain::Exponential => self.parameter("dcg", "'exp-log2'"),
            Gain::Table(table) => {
                let pairs: Vec<String> = table
                    .iter()
                    .map(|(grade, gain)| format!("{grade}:{gain}"))
                    .collect();
                self.parameter("gains", format_args!("{{{}}}", pairs.join(",")));
            }
        }
    }

    /// Writes the text after `@`.
    pub(crate) fn at(&mut self, at: impl fmt::Display) {
        self.at = Some(at.to_string());
    }

    pub(crate) fn finish(self, name: &str) -> String {
        let mut text = name.to_owned();
        if !self.parameters.is_empty() {
            text.push_str(&format!("({})", self.parameters.join(",")));
        }
        if let Some(at) = self.at {
            text.push_str(&format!("@{at}"));
        }
        text
    }
}
