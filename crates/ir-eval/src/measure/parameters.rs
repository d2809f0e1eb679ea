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

    /// The same error of a text that was rewritten: messages have what the user wrote.
    pub(super) fn with_text(mut self, written: &str) -> Self {
        let (Self::Unknown { text }
        | Self::Syntax { text }
        | Self::MissingCutoff { text, .. }
        | Self::NoCutoff { text, .. }
        | Self::NoParameter { text, .. }
        | Self::Value { text, .. }
        | Self::Twice { text, .. }
        | Self::OtherJudgments { text, .. }
        | Self::Several { text, .. }) = &mut self;
        written.clone_into(text);
        self
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
#[derive(Default)]
pub(crate) struct MeasureText<'a> {
    text: &'a str,
    pub(crate) name: &'a str,
    /// Keys and values in brackets.
    pub(super) given: Vec<(&'a str, &'a str)>,
    /// Text after `@`.
    pub(crate) at: Option<&'a str>,
}

impl<'a> MeasureText<'a> {
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
        let mut given = Vec::new();
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
            if given.iter().any(|&(other, _)| other == key) {
                return Err(ParseMeasureError::twice(text, key));
            }
            given.push((key, value));
        }
        Ok(Self {
            text,
            name: name.trim(),
            given,
            at,
        })
    }

    /// Returns `true` if a parameter is given.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.given.iter().any(|&(k, _)| k == key)
    }

    /// Value of a parameter, without quotes.
    pub(crate) fn get(&self, key: &str) -> Option<&'a str> {
        let (_, value) = self.given.iter().find(|&&(k, _)| k == key)?;
        let unquoted = |quote| value.strip_prefix(quote)?.strip_suffix(quote);
        Some(unquoted('\'').or_else(|| unquoted('"')).unwrap_or(value))
    }

    /// Keys of the parameters with values that contain a text; `@` for the text after it.
    pub(crate) fn keys_of(&self, value: &str) -> Vec<&'a str> {
        let at = self.at.map(|at| ("@", at));
        let all = self.given.iter().copied().chain(at);
        all.filter(|(_, v)| v.contains(value))
            .map(|(key, _)| key)
            .collect()
    }

    /// Removes a parameter; `@` is the text after it.
    pub(crate) fn take(&mut self, key: &str) -> Option<&'a str> {
        if key == "@" {
            return self.at.take();
        }
        let value = self.get(key);
        self.given.retain(|&(k, _)| k != key);
        value
    }

    /// Returns an error if a cutoff or parameter is left.
    pub(crate) fn finish(self) -> Result<(), ParseMeasureError> {
        let text = self.text.to_owned();
        if let Some(found) = self.at {
            let found = found.to_owned();
            return Err(ParseMeasureError::NoCutoff { text, found });
        }
        if let Some(&(key, _)) = self.given.first() {
            let found = key.to_owned();
            return Err(ParseMeasureError::NoParameter { text, found });
        }
        Ok(())
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
}

/// Visitor of a measure's parameters. Each is printed, and then read if the text gives it; an empty
/// text changes nothing.
#[derive(Default)]
pub(crate) struct Parameters<'a> {
    pub(crate) text: MeasureText<'a>,
    pub(crate) printed: Vec<PrintedParameter>,
    /// Lines of the documentation of the parameters that are visited next.
    pub(crate) documentation: &'static [&'static str],
}

/// Parameter in ir_measures' syntax. The key of the text after `@` is `@`.
pub(crate) struct PrintedParameter {
    pub(crate) key: &'static str,
    pub(crate) documentation: &'static [&'static str],
    pub(crate) value: String,
    /// If `true`, the parameter is part of the measure's text. Most are hidden if they have their
    /// default value.
    pub(crate) is_shown: bool,
}

impl Parameters<'_> {
    /// Visits a parameter. `read` returns the expected value if it is invalid.
    pub(crate) fn parameter<T>(
        &mut self,
        value: &mut T,
        key: &'static str,
        (printed, is_shown): (impl fmt::Display, bool),
        read: impl FnOnce(&str) -> Result<T, &'static str>,
    ) -> Result<(), ParseMeasureError> {
        let printed = printed.to_string();
        self.printed.push(PrintedParameter {
            key,
            documentation: self.documentation,
            value: printed,
            is_shown,
        });
        if let Some(found) = self.text.take(key) {
            *value = read(found).map_err(|expected| self.text.invalid(expected, found))?;
        }
        Ok(())
    }

    /// A decimal number that is valid; hidden if it is `hidden`.
    fn decimal_in(
        &mut self,
        number: &mut Decimal,
        key: &'static str,
        hidden: Option<Decimal>,
        expected: &'static str,
        is_valid: impl Fn(Decimal) -> bool,
    ) -> Result<(), ParseMeasureError> {
        let printed = (*number, hidden != Some(*number));
        self.parameter(number, key, printed, |found| {
            let number = found.parse().map_err(|_| "a decimal number")?;
            is_valid(number).then_some(number).ok_or(expected)
        })
    }

    /// A decimal number, always shown.
    pub(crate) fn decimal(
        &mut self,
        number: &mut Decimal,
        key: &'static str,
    ) -> Result<(), ParseMeasureError> {
        self.decimal_in(number, key, None, "a decimal number", |_| true)
    }

    /// A decimal ≥ 0.
    pub(crate) fn non_negative(
        &mut self,
        number: &mut Decimal,
        key: &'static str,
        default: Decimal,
    ) -> Result<(), ParseMeasureError> {
        let is_valid = |number| number >= Decimal::ZERO;
        self.decimal_in(number, key, Some(default), "a number from 0", is_valid)
    }

    /// A decimal between 0 and 1.
    pub(crate) fn fraction(
        &mut self,
        number: &mut Decimal,
        key: &'static str,
        default: Decimal,
    ) -> Result<(), ParseMeasureError> {
        const EXPECTED: &str = "a number between 0 and 1";
        self.decimal_in(number, key, Some(default), EXPECTED, Decimal::is_fraction)
    }

    /// The persistence `p` of rank-biased precision, 0 to 1.
    pub(crate) fn persistence(
        &mut self,
        p: &mut Decimal,
        hidden: Option<Decimal>,
    ) -> Result<(), ParseMeasureError> {
        const EXPECTED: &str = "a persistence between 0 and 1";
        self.decimal_in(p, "p", hidden, EXPECTED, Decimal::is_fraction)
    }

    /// A flag, shown if it is true.
    pub(crate) fn flag(
        &mut self,
        value: &mut bool,
        key: &'static str,
    ) -> Result<(), ParseMeasureError> {
        let printed = ("True", *value);
        self.parameter(value, key, printed, |found| match found {
            "False" | "false" => Ok(false),
            "True" | "true" => Ok(true),
            _ => Err("True or False"),
        })
    }

    /// A relevance level or cutoff, shown if there is one.
    pub(crate) fn option<T: fmt::Display>(
        &mut self,
        value: &mut Option<T>,
        key: &'static str,
        expected: &'static str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<(), ParseMeasureError> {
        let printed = value.as_ref().map_or_else(String::new, T::to_string);
        let is_shown = value.is_some();
        self.parameter(value, key, (printed, is_shown), |found| {
            read(found).map(Some).ok_or(expected)
        })
    }

    /// The gain: `dcg='exp-log2'`, which ranx's names `dcg_burges` and `ndcg_burges` imply, or
    /// `gains={1:3.5,2:9}`.
    pub(crate) fn gain(&mut self, gain: &mut Gain) -> Result<(), ParseMeasureError> {
        const EXPECTED: &str = "up to eight grades and gains, as in {1:3.5,2:9}";
        if self.text.name.ends_with("_burges") {
            *gain = Gain::Exponential;
        }
        let (table, is_table) = match gain {
            Gain::Table(table) => (format!("{{{table}}}"), true),
            _ => (String::new(), false),
        };
        let exponential = ("'exp-log2'", *gain == Gain::Exponential);
        self.parameter(gain, "dcg", exponential, |dcg| match dcg {
            "log2" => Ok(Gain::Linear),
            "exp-log2" => Ok(Gain::Exponential),
            _ => Err("log2 or exp-log2"),
        })?;
        let is_exponential = *gain == Gain::Exponential;
        self.parameter(gain, "gains", (table, is_table), |list| {
            if is_exponential {
                return Err("either dcg=exp-log2 or gains, not both");
            }
            let table = braced(list).and_then(|list| gain_table(list, ':').ok());
            table.map(Gain::Table).ok_or(EXPECTED)
        })
    }
}

/// Reads grades and gains, separated by commas; returns the first invalid pair as an error.
pub(crate) fn gain_table(list: &str, separator: char) -> Result<GainTable, &str> {
    let mut table = GainTable::new();
    for pair in list.split(',') {
        let entry = || {
            let (grade, gain) = pair.split_once(separator)?;
            table.with(grade.trim().parse().ok()?, gain.trim().parse().ok()?)
        };
        table = entry().ok_or(pair)?;
    }
    Ok(table)
}

/// Returns the text between braces.
pub(crate) fn braced(text: &str) -> Option<&str> {
    text.strip_prefix('{')?.strip_suffix('}')
}
