//! trec_eval's syntax of measures: `map`, `P.5,10`, `ndcg.1=3.5,2=9`, and `P_5` in its output.

use std::num::NonZeroU32;

use super::Measure;
use super::formula::{self, Formula, parse_native, parse_split};
use super::parameters::{CUTOFF, MeasureText, ParseMeasureError, braced, gain_table};
use super::trec_syntax::{TrecName, TrecSyntax};
use crate::decimal::Decimal;

/// trec_eval's default persistence of `rbp` and `rbp_resid`.
const PERSISTENCE: &str = "0.9";

/// trec_eval's names of all measures.
pub(crate) fn all() -> impl Iterator<Item = &'static TrecName> {
    let formulas = Formula::DEFAULTS.iter();
    formulas.flat_map(|formula| formula.properties().trec_names)
}

/// Parses a measure in ir_measures' syntax, in trec_eval's, or by a name that ndeval, gdeval,
/// sample_eval or ranx use. Names of trec_eval are also read in ir_measures' syntax: `bpref@10`.
pub(super) fn parse(text: &str) -> Result<Measure, ParseMeasureError> {
    if let Some((rewritten, level)) = with_level(text) {
        return parse(&rewritten).map_err(|error| match error.with_text(text) {
            ParseMeasureError::NoParameter { text, found } if found == LEVEL => {
                let found = format!("-l{level}");
                ParseMeasureError::NoParameter { text, found }
            }
            error => error,
        });
    }
    if let Some(rewritten) = with_persistence(text) {
        return parse(&rewritten).map_err(|error| error.with_text(text));
    }
    // Without the last condition `P_IA` would be precision at cutoff "IA".
    match split(text) {
        Some((known, parameters))
            if !text.contains(['@', '('])
                && (!text.contains('_') || !Formula::is_native_name(text)) =>
        {
            read(known, parameters, text)
        }
        _ => parse_split(with_native_name(MeasureText::split(text)?)?),
    }
}

/// Returns `true` for a persistence in the syntax of ranx, `rbp.95` or `rbp.95-l2@10`. Other
/// numbers after a point are parameters of trec_eval.
pub(crate) fn is_ranx_persistence(text: &str) -> bool {
    let rewritten = with_level(text).map(|(rewritten, _)| rewritten);
    with_persistence(rewritten.as_deref().unwrap_or(text)).is_some()
}

/// Parameter that is the relevance level of ranx.
const LEVEL: &str = "rel";

/// Rewrites a relevance level of ranx, `map@10-l2` or `map-l2@10`, as `map(rel=2)@10`; returns the
/// text and the level.
fn with_level(text: &str) -> Option<(String, &str)> {
    let (start, rest) = text.rsplit_once("-l")?;
    let digits = rest.find(|c: char| !c.is_ascii_digit());
    let (level, end) = rest.split_at(digits.unwrap_or(rest.len()));
    if level.is_empty() || !(end.is_empty() || end.starts_with('@')) {
        return None;
    }
    let (name, at) = start.split_at(start.find('@').unwrap_or(start.len()));
    Some((format!("{name}({LEVEL}={level}){at}{end}"), level))
}

/// Rewrites a persistence of ranx, `rbp.95` or `rbp.95(rel=2)`, as `RBP(p=0.95,rel=2)`.
fn with_persistence(text: &str) -> Option<String> {
    let rest = text.strip_prefix("rbp.")?;
    let end = rest.find(|c: char| !c.is_ascii_digit());
    let (digits, rest) = rest.split_at(end.unwrap_or(rest.len()));
    let rest = match rest.chars().next() {
        _ if digits.is_empty() => return None,
        None | Some('@') => format!("){rest}"),
        Some('(') => format!(",{}", &rest[1..]),
        Some(_) => return None,
    };
    Some(format!("RBP(p=0.{digits}{rest}"))
}

/// Replaces a name that only trec_eval uses by ir_measures' name and parameters. A cutoff or
/// fraction of trec_eval is the text after `@`.
fn with_native_name(mut text: MeasureText<'_>) -> Result<MeasureText<'_>, ParseMeasureError> {
    let known = all().find(|known| known.0 == text.name && !Formula::is_native_name(known.0));
    let Some((_, native, syntax)) = known else {
        return Ok(text);
    };
    let native = MeasureText::split(native)?;
    text.name = native.name;
    for (key, value) in native.given {
        if text.has(key) {
            continue;
        }
        let value = match syntax {
            _ if !value.contains("{}") => value,
            TrecSyntax::Persistence => PERSISTENCE,
            TrecSyntax::Fractions(..) => {
                let value = text.take("@");
                value.ok_or_else(|| text.missing_cutoff("Rprec_mult@0.2"))?
            }
            _ => continue,
        };
        text.given.push((key, value));
    }
    Ok(text)
}

/// Splits a text into the longest of trec_eval's names that it starts with, and the parameters.
pub(super) fn split(text: &str) -> Option<(&'static TrecName, Option<&str>)> {
    all()
        .filter_map(|known| match text.strip_prefix(known.0)? {
            "" => Some((known, None)),
            rest => Some((known, Some(rest.strip_prefix(['.', '_'])?))),
        })
        .max_by_key(|(known, _)| known.0.len())
}

/// Returns the values that a measure with the given parameters stands for, with their names in
/// trec_eval's output. `text` is what errors show.
pub(super) fn expand(
    &(name, native, syntax): &TrecName,
    parameters: Option<&str>,
    text: &str,
) -> Result<Vec<(String, Measure)>, ParseMeasureError> {
    let invalid = |expected, found: &str| ParseMeasureError::invalid(text, expected, found);
    let default = || native.split(['(', '@']).next().unwrap_or(native).to_owned();
    let filled = |parameter: &dyn ToString| native.replace("{}", &parameter.to_string());
    let (native, expected) = match (syntax, parameters) {
        (TrecSyntax::Plain, None) => (native.to_owned(), ""),
        (TrecSyntax::Plain, Some(found)) => {
            return Err(ParseMeasureError::NoParameter {
                text: text.to_owned(),
                found: found.to_owned(),
            });
        }
        (TrecSyntax::Cutoffs(default), parameters) => {
            let cutoffs = match parameters {
                None => default
                    .iter()
                    .copied()
                    .filter_map(NonZeroU32::new)
                    .collect(),
                Some(list) => read_cutoffs(list, text)?,
            };
            let value = |k| Ok((format!("{name}_{k}"), parse_native(&filled(&k))?));
            return cutoffs.into_iter().map(value).collect();
        }
        (TrecSyntax::Fractions(from, to, step), parameters) => {
            let fractions = match parameters {
                None => (from..=to)
                    .step_by(step)
                    .map(|n| Decimal::new(n, 1))
                    .collect(),
                Some(list) => read_decimals(list, text)?,
            };
            return expand_fractions(name, fractions, text, |fraction| filled(fraction));
        }
        (TrecSyntax::Numbers(_) | TrecSyntax::Gains, None) => (default(), ""),
        (TrecSyntax::Numbers(expected), Some(list)) => {
            let numbers = read_decimals(list, text)?;
            let numbers: Vec<String> = numbers.iter().map(Decimal::to_string).collect();
            // A list fills one place; otherwise there is a place for each number.
            let places = match native.matches("{}").count() {
                1 => vec![numbers.join(",")],
                count if count == numbers.len() => numbers,
                _ => return Err(invalid(expected, list)),
            };
            let fill = |native: String, number: &String| native.replacen("{}", number, 1);
            (places.iter().fold(native.to_owned(), fill), expected)
        }
        (TrecSyntax::Gains, Some(list)) => {
            const EXPECTED: &str = "up to eight grades and gains, as in 1=3.5,2=9";
            let table = gain_table(list, '=').map_err(|pair| invalid(EXPECTED, pair))?;
            (filled(&table), EXPECTED)
        }
        (TrecSyntax::Persistence, None) => (filled(&PERSISTENCE), ""),
        (TrecSyntax::Persistence, Some(list)) => {
            const EXPECTED: &str = "a persistence between 0 and 1, as in p=0.95";
            let number = list.strip_prefix("p=").map(str::parse::<Decimal>);
            let Some(Ok(p)) = number else {
                return Err(invalid(EXPECTED, list));
            };
            (filled(&p), EXPECTED)
        }
    };
    Ok(vec![match parameters {
        None => (name.to_owned(), parse_native(&native)?),
        Some(list) => {
            let measure = parse_native(&native).map_err(|_| invalid(expected, list))?;
            (format!("{name}_{list}"), measure)
        }
    }])
}

fn expand_fractions(
    name: &str,
    mut fractions: Vec<Decimal>,
    text: &str,
    native: impl Fn(&Decimal) -> String,
) -> Result<Vec<(String, Measure)>, ParseMeasureError> {
    const EXPECTED: &str = "a recall between 0 and 1, or a multiple >= 0";
    let range = Decimal::ZERO..=Decimal::new(1_000_000, 0);
    fractions.sort_unstable();
    let mut values: Vec<(String, Measure)> = Vec::with_capacity(fractions.len());
    for (n, fraction) in fractions.iter().enumerate() {
        let is_valid = range.contains(fraction);
        let Some(Ok(measure)) = is_valid.then(|| parse_native(&native(fraction))) else {
            let found = fraction.to_string();
            return Err(ParseMeasureError::invalid(text, EXPECTED, &found));
        };
        if n > 0 && fractions[n - 1] == *fraction {
            return Err(ParseMeasureError::twice(text, fraction));
        }
        values.push((format!("{name}_{:.2}", fraction.to_f64()), measure));
    }
    Ok(values)
}

/// Returns the one measure that a name with parameters stands for.
pub(super) fn read(
    known: &TrecName,
    parameters: Option<&str>,
    text: &str,
) -> Result<Measure, ParseMeasureError> {
    let values = expand(known, parameters, text)?;
    match values.as_slice() {
        [(_, measure)] => Ok(*measure),
        _ if parameters.is_none() => Err(ParseMeasureError::MissingCutoff {
            text: text.to_owned(),
            example: match known.2 {
                TrecSyntax::Fractions(..) => "iprec_at_recall_0.10",
                _ => "P_5 or P@5",
            },
        }),
        values => Err(ParseMeasureError::Several {
            text: text.to_owned(),
            count: values.len(),
        }),
    }
}

/// Returns the name in trec_eval's output; `None` if trec_eval does not have the measure with these
/// parameters and options.
pub(super) fn write(measure: &Measure) -> Option<String> {
    let mut names = measure.formula.properties().trec_names.iter();
    names.find_map(|known| {
        let mut candidates = [None, parameters(known, measure)].into_iter();
        candidates.find_map(|parameters| {
            let values = expand(known, parameters.as_deref(), "").ok()?;
            match <[_; 1]>::try_from(values) {
                Ok([(name, value)]) if value == *measure => Some(name),
                _ => None,
            }
        })
    })
}

/// Parameters of a measure in the syntax of one of its names.
fn parameters((_, native, syntax): &TrecName, measure: &Measure) -> Option<String> {
    let printed = formula::print(measure);
    let value = |key: &str| {
        let found = printed.iter().find(|parameter| parameter.key == key)?;
        Some(found.value.clone())
    };
    let keys = MeasureText::split(native).ok()?.keys_of("{}");
    let values: Option<Vec<String>> = keys.into_iter().map(value).collect();
    let values = values?.join(",");
    let list = braced(&values).unwrap_or(&values);
    Some(match syntax {
        TrecSyntax::Plain => return None,
        TrecSyntax::Cutoffs(_) | TrecSyntax::Numbers(_) => list.to_owned(),
        TrecSyntax::Fractions(..) => format!("{:.2}", list.parse::<Decimal>().ok()?.to_f64()),
        TrecSyntax::Gains => list.replace(':', "="),
        TrecSyntax::Persistence => format!("p={list}"),
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
