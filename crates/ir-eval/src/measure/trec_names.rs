//! trec_eval's syntax of measures: `map`, `P.5,10`, `ndcg.1=3.5,2=9`, and `P_5` in its output.

use std::num::NonZeroU32;

use ir_core::Grade;

use super::definition::{Definition, TrecSyntax};
use super::parameters::{CUTOFF, ParseMeasureError};
use crate::decimal::Decimal;
use crate::judged::{Gain, GainTable};

/// trec_eval's default persistence of `rbp` and `rbp_resid`.
const PERSISTENCE: Decimal = Decimal::new(9, 1);

/// A value on trec_eval's command line: its name in the output, the formula and the cutoff.
pub(crate) type TrecValue<M> = (String, M, Option<NonZeroU32>);

/// Returns the values that a measure with the given parameters stands for. `text` is what errors
/// show.
pub(crate) fn expand<M: Definition>(
    name: &str,
    syntax: TrecSyntax<M>,
    parameters: Option<&str>,
    text: &str,
) -> Result<Vec<TrecValue<M>>, ParseMeasureError> {
    let invalid = |expected, found: &str| ParseMeasureError::invalid(text, expected, found);
    let plain = |formula| Ok(vec![(name.to_owned(), formula, None)]);
    let with = |formula, list: &str| Ok(vec![(format!("{name}_{list}"), formula, None)]);
    match (syntax, parameters) {
        (TrecSyntax::Plain(formula), None) => plain(formula),
        (TrecSyntax::Plain(_), Some(found)) => Err(ParseMeasureError::NoParameter {
            text: text.to_owned(),
            found: found.to_owned(),
        }),
        (TrecSyntax::Cutoffs(formula, default), parameters) => {
            let cutoffs = match parameters {
                None => default
                    .iter()
                    .copied()
                    .filter_map(NonZeroU32::new)
                    .collect(),
                Some(list) => read_cutoffs(list, text)?,
            };
            let value = |k: NonZeroU32| (format!("{name}_{k}"), formula, Some(k));
            Ok(cutoffs.into_iter().map(value).collect())
        }
        (TrecSyntax::Fractions(formula, (from, to, step)), parameters) => {
            const EXPECTED: &str = "a recall between 0 and 1, or a multiple >= 0";
            let mut fractions: Vec<Decimal> = match parameters {
                None => (from..=to)
                    .step_by(step)
                    .map(|n| Decimal::new(n, 1))
                    .collect(),
                Some(list) => read_decimals(list, text)?,
            };
            fractions.sort_unstable();
            let mut values: Vec<TrecValue<M>> = Vec::with_capacity(fractions.len());
            for (n, fraction) in fractions.iter().enumerate() {
                let formula =
                    formula(*fraction).ok_or_else(|| invalid(EXPECTED, &fraction.to_string()))?;
                if n > 0 && fractions[n - 1] == *fraction {
                    return Err(ParseMeasureError::twice(text, fraction));
                }
                values.push((format!("{name}_{:.2}", fraction.to_f64()), formula, None));
            }
            Ok(values)
        }
        (TrecSyntax::Numbers(..), None) => plain(M::DEFAULT),
        (TrecSyntax::Numbers(formula, expected), Some(list)) => {
            let formula = formula(&read_decimals(list, text)?);
            with(formula.ok_or_else(|| invalid(expected, list))?, list)
        }
        (TrecSyntax::Gains(formula), None) => plain(formula(Gain::Linear)),
        (TrecSyntax::Gains(formula), Some(list)) => {
            let table = read_gains(list, text)?;
            with(formula(Gain::Table(table)), list)
        }
        (TrecSyntax::Persistence(formula), None) => plain(formula(PERSISTENCE)),
        (TrecSyntax::Persistence(formula), Some(list)) => {
            let wrong = || invalid("a persistence between 0 and 1, as in p=0.95", list);
            let number = list.strip_prefix("p=").ok_or_else(wrong)?;
            let p: Decimal = number.parse().map_err(|_| wrong())?;
            if !p.is_fraction() {
                return Err(wrong());
            }
            with(formula(p), list)
        }
    }
}

/// Returns the one value that a name of [`Definition::TREC_NAMES`] with parameters stands for;
/// `None` if the measure does not have the name.
pub(crate) fn read<M: Definition>(
    name: &str,
    parameters: Option<&str>,
    text: &str,
) -> Option<Result<(M, Option<NonZeroU32>), ParseMeasureError>> {
    let (_, syntax) = M::TREC_NAMES.iter().find(|known| known.0 == name)?;
    let values = match expand(name, *syntax, parameters, text) {
        Ok(values) => values,
        Err(error) => return Some(Err(error)),
    };
    Some(match values.as_slice() {
        [(_, formula, cutoff)] => Ok((*formula, *cutoff)),
        _ if parameters.is_none() => Err(ParseMeasureError::MissingCutoff {
            text: text.to_owned(),
            example: match syntax {
                TrecSyntax::Fractions(..) => "iprec_at_recall_0.10",
                _ => "P_5 or P@5",
            },
        }),
        values => Err(ParseMeasureError::Several {
            text: text.to_owned(),
            count: values.len(),
        }),
    })
}

/// Returns the name in trec_eval's output; `None` if trec_eval does not have the measure with these
/// parameters.
pub(crate) fn write<M: Definition>(formula: &M, cutoff: Option<NonZeroU32>) -> Option<String> {
    let own = formula.trec_parameters();
    M::TREC_NAMES.iter().find_map(|(name, syntax)| {
        let parameters = match (syntax, cutoff) {
            (TrecSyntax::Cutoffs(..), Some(k)) => Some(k.to_string()),
            _ => own.clone(),
        };
        let candidates = [None, parameters];
        candidates.into_iter().find_map(|parameters| {
            let values = expand(name, *syntax, parameters.as_deref(), "").ok()?;
            match <[_; 1]>::try_from(values) {
                Ok([(name, f, k)]) if f == *formula && k == cutoff => Some(name),
                _ => None,
            }
        })
    })
}

fn read_decimals(list: &str, text: &str) -> Result<Vec<Decimal>, ParseMeasureError> {
    let read = |number: &str| {
        let invalid = |_| ParseMeasureError::invalid(text, "a decimal number", number);
        number.trim().parse().map_err(invalid)
    };
    list.split(',').map(read).collect()
}

/// Reads cutoffs, ascending. Like trec_eval, drops fractional digits: 23.4 is 23.
fn read_cutoffs(list: &str, text: &str) -> Result<Vec<NonZeroU32>, ParseMeasureError> {
    let mut cutoffs: Vec<NonZeroU32> = Vec::new();
    for number in list.split(',') {
        let number = number.trim();
        let whole = match number.split_once('.') {
            Some((whole, rest)) if rest.bytes().all(|b| b.is_ascii_digit()) => whole,
            _ => number,
        };
        let cutoff = whole.parse();
        cutoffs.push(cutoff.map_err(|_| ParseMeasureError::invalid(text, CUTOFF, number))?);
    }
    cutoffs.sort_unstable();
    match cutoffs.windows(2).find(|pair| pair[0] == pair[1]) {
        None => Ok(cutoffs),
        Some(pair) => Err(ParseMeasureError::twice(text, pair[0])),
    }
}

fn read_gains(list: &str, text: &str) -> Result<GainTable, ParseMeasureError> {
    const EXPECTED: &str = "up to eight grades and gains, as in 1=3.5,2=9";
    let mut table = GainTable::new();
    for pair in list.split(',') {
        let entry = || {
            let (grade, gain) = pair.split_once('=')?;
            let grade: Grade = grade.trim().parse().ok()?;
            table.with(grade, gain.trim().parse().ok()?)
        };
        table = entry().ok_or_else(|| ParseMeasureError::invalid(text, EXPECTED, pair))?;
    }
    Ok(table)
}
