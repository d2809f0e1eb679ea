//! trec_eval's measures: their names, their parameters, the order of its output.

use std::num::NonZeroU32;

use ir_core::Grade;

use crate::kind::{Kind, RbpGain};
use crate::names::{ParseMeasureError, UTILITY};
use crate::{Decimal, Gain, GainTable, Measure, Points};

/// What follows the name on trec_eval's command line.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Form {
    /// Nothing.
    Plain(Kind),
    /// Cut-offs, one value each; these unless told.
    Cuts(Kind, &'static [u32]),
    /// Multiples of a tenth by default, one value each; from, to, step in tenths.
    Fractions(fn(Decimal) -> Kind, (i64, i64, usize)),
    /// A few numbers for one value.
    Numbers(fn(&[Decimal]) -> Option<Kind>, Kind),
    /// Gains by grade for one value.
    Gains(fn(Gain) -> Kind),
    /// A persistence.
    Persistence(fn(Decimal) -> Kind),
}

const CUTS: &[u32] = &[5, 10, 15, 20, 30, 100, 200, 500, 1000];
const LINEAR: Gain = Gain::Linear;

fn set_f(numbers: &[Decimal]) -> Option<Kind> {
    match *numbers {
        [weight] if weight >= Decimal::ZERO => Some(Kind::SetF { weight }),
        _ => None,
    }
}

fn utility(numbers: &[Decimal]) -> Option<Kind> {
    let worth = numbers.try_into().ok()?;
    Some(Kind::Utility { worth })
}

fn points(numbers: &[Decimal]) -> Option<Kind> {
    Points::new(numbers).map(|points| Kind::IPrecMean { points })
}

/// All measures that have a number, in the order in which trec_eval prints them.
pub(crate) const MEASURES: [(&str, Form); 38] = [
    ("num_q", Form::Plain(Kind::NumQ)),
    ("num_ret", Form::Plain(Kind::NumRet)),
    ("num_rel", Form::Plain(Kind::NumRel)),
    ("num_rel_ret", Form::Plain(Kind::NumRelRet)),
    ("map", Form::Plain(Kind::AP)),
    ("gm_map", Form::Plain(Kind::GeometricAP)),
    (
        "Rprec",
        Form::Plain(Kind::Rprec {
            multiple: Decimal::ONE,
        }),
    ),
    ("bpref", Form::Plain(Kind::Bpref)),
    ("recip_rank", Form::Plain(Kind::RR)),
    (
        "iprec_at_recall",
        Form::Fractions(|recall| Kind::IPrec { recall }, (0, 10, 1)),
    ),
    ("P", Form::Cuts(Kind::P, CUTS)),
    ("recall", Form::Cuts(Kind::R, CUTS)),
    ("infAP", Form::Plain(Kind::InfAP)),
    ("gm_bpref", Form::Plain(Kind::GeometricBpref)),
    (
        "Rprec_mult",
        Form::Fractions(|multiple| Kind::Rprec { multiple }, (2, 20, 2)),
    ),
    (
        "utility",
        Form::Numbers(utility, Kind::Utility { worth: UTILITY }),
    ),
    (
        "11pt_avg",
        Form::Numbers(
            points,
            Kind::IPrecMean {
                points: Points::ELEVEN,
            },
        ),
    ),
    ("binG", Form::Plain(Kind::BinG)),
    ("G", Form::Gains(|gain| Kind::G { gain })),
    ("dcg", Form::Gains(|gain| Kind::DCG { gain })),
    ("ideal_dcg", Form::Gains(|gain| Kind::IDCG { gain })),
    ("ndcg", Form::Gains(|gain| Kind::NDCG { gain })),
    ("ndcg_rel", Form::Gains(|gain| Kind::NDCGRel { gain })),
    ("Rndcg", Form::Gains(|gain| Kind::RNDCG { gain })),
    ("ndcg_cut", Form::Cuts(Kind::NDCG { gain: LINEAR }, CUTS)),
    ("map_cut", Form::Cuts(Kind::AP, CUTS)),
    ("relative_P", Form::Cuts(Kind::RelativeP, CUTS)),
    ("success", Form::Cuts(Kind::Success, &[1, 5, 10])),
    ("set_P", Form::Plain(Kind::P)),
    ("set_relative_P", Form::Plain(Kind::RelativeP)),
    ("set_recall", Form::Plain(Kind::R)),
    ("set_map", Form::Plain(Kind::SetAP)),
    (
        "set_F",
        Form::Numbers(
            set_f,
            Kind::SetF {
                weight: Decimal::ONE,
            },
        ),
    ),
    (
        "num_nonrel_judged_ret",
        Form::Plain(Kind::NumNonRelJudgedRet),
    ),
    ("yaap", Form::Plain(Kind::Yaap)),
    ("rbp", Form::Persistence(rbp)),
    (
        "rbp_resid",
        Form::Persistence(|persistence| Kind::RBPResidual {
            persistence,
            full: false,
        }),
    ),
    ("unj", Form::Cuts(Kind::Unjudged, &[5, 10, 20])),
];

/// The measures over judgment groups, likewise.
pub(crate) const OF_GROUPS: [(&str, Form); 3] = [
    ("map_avgjg", Form::Plain(Kind::AP)),
    ("P_avgjg", Form::Cuts(Kind::P, CUTS)),
    (
        "Rprec_mult_avgjg",
        Form::Fractions(|multiple| Kind::Rprec { multiple }, (2, 20, 2)),
    ),
];

fn rbp(persistence: Decimal) -> Kind {
    Kind::RBP {
        persistence,
        gain: RbpGain::Graded,
    }
}

/// The values of a measure on trec_eval's command line, with their names in its output.
/// `text` is what to show in errors.
pub(crate) fn expand(
    name: &str,
    form: Form,
    parameters: Option<&str>,
    text: &str,
) -> Result<Vec<(String, Measure)>, ParseMeasureError> {
    let bad = |expected, found: &str| ParseMeasureError::Value {
        text: text.to_owned(),
        expected,
        found: found.to_owned(),
    };
    let decimals = |list: &str| -> Result<Vec<Decimal>, ParseMeasureError> {
        let parsed = list
            .split(',')
            .map(|n| n.trim().parse().map_err(|_| bad("a decimal number", n)));
        parsed.collect()
    };
    let one = |kind| Ok(vec![(name.to_owned(), Measure::of(kind))]);
    let with = |kind, list: &str| Ok(vec![(format!("{name}_{list}"), Measure::of(kind))]);
    match (form, parameters) {
        (Form::Plain(kind), None) => one(kind),
        (Form::Plain(_), Some(found)) => Err(ParseMeasureError::NoParameter {
            text: text.to_owned(),
            found: found.to_owned(),
        }),
        (Form::Cuts(kind, default), given) => {
            let cuts = match given {
                None => default.to_vec(),
                Some(list) => cutoffs(list, text)?,
            };
            let value = |k: u32| (format!("{name}_{k}"), Measure::of(kind).at(k));
            Ok(cuts.into_iter().map(value).collect())
        }
        (Form::Fractions(kind, (from, to, step)), given) => {
            let mut fractions = match given {
                None => (from..=to)
                    .step_by(step)
                    .map(|n| Decimal::new(n, 1))
                    .collect(),
                Some(list) => decimals(list)?,
            };
            fractions.sort_unstable();
            let most = if name.starts_with("Rprec_mult") {
                Decimal::new(1_000_000, 0)
            } else {
                Decimal::ONE
            };
            for (at, fraction) in fractions.iter().enumerate() {
                if *fraction < Decimal::ZERO || *fraction > most {
                    return Err(bad(
                        "a recall between 0 and 1, or a multiple from 0",
                        &fraction.to_string(),
                    ));
                }
                if at > 0 && fractions[at - 1] == *fraction {
                    return Err(ParseMeasureError::Twice {
                        text: text.to_owned(),
                        found: fraction.to_string(),
                    });
                }
            }
            let value = |fraction: Decimal| {
                let label = format!("{name}_{:.2}", fraction.to_f64());
                (label, Measure::of(kind(fraction)))
            };
            Ok(fractions.into_iter().map(value).collect())
        }
        (Form::Numbers(_, kind), None) => one(kind),
        (Form::Numbers(kind, _), Some(list)) => {
            let expected = match name {
                "utility" => "four numbers",
                "11pt_avg" => "up to eleven recalls between 0 and 1",
                _ => "one number from 0",
            };
            with(
                kind(&decimals(list)?).ok_or_else(|| bad(expected, list))?,
                list,
            )
        }
        (Form::Gains(kind), None) => one(kind(Gain::Linear)),
        (Form::Gains(kind), Some(list)) => {
            const EXPECTED: &str = "up to eight grades and gains, as in 1=3.5,2=9";
            let mut table = GainTable::new();
            for pair in list.split(',') {
                let wrong = || bad(EXPECTED, pair);
                let (grade, gain) = pair.split_once('=').ok_or_else(wrong)?;
                let grade: Grade = grade.trim().parse().map_err(|_| wrong())?;
                let gain = gain.trim().parse().map_err(|_| wrong())?;
                table = table.with(grade, gain).ok_or_else(wrong)?;
            }
            with(kind(Gain::Table(table)), list)
        }
        (Form::Persistence(kind), None) => one(kind(Decimal::new(9, 1))),
        (Form::Persistence(kind), Some(list)) => {
            let wrong = || bad("a persistence between 0 and 1, as in p=0.95", list);
            let number = list.strip_prefix("p=").ok_or_else(wrong)?;
            let p: Decimal = number.parse().map_err(|_| wrong())?;
            if !(Decimal::ZERO..=Decimal::ONE).contains(&p) {
                return Err(wrong());
            }
            with(kind(p), list)
        }
    }
}

/// A list of cut-offs, ascending. Like trec_eval's, a fraction is dropped: 23.4 is 23.
fn cutoffs(list: &str, text: &str) -> Result<Vec<u32>, ParseMeasureError> {
    const EXPECTED: &str = "a cut-off, which is a whole number from 1";
    let mut cuts = Vec::new();
    for number in list.split(',') {
        let number = number.trim();
        let whole = match number.split_once('.') {
            Some((whole, rest)) if rest.bytes().all(|b| b.is_ascii_digit()) => whole,
            _ => number,
        };
        let cut: NonZeroU32 = whole.parse().map_err(|_| ParseMeasureError::Value {
            text: text.to_owned(),
            expected: EXPECTED,
            found: number.to_owned(),
        })?;
        cuts.push(cut.get());
    }
    cuts.sort_unstable();
    match cuts.windows(2).find(|pair| pair[0] == pair[1]) {
        None => Ok(cuts),
        Some(pair) => Err(ParseMeasureError::Twice {
            text: text.to_owned(),
            found: pair[0].to_string(),
        }),
    }
}

/// A measure in trec_eval's spelling: `map`, `P_5` or `P.5`, `ndcg_1=3,2=9`. `None` when the name
/// is not trec_eval's.
pub(crate) fn parse(text: &str) -> Result<Option<Measure>, ParseMeasureError> {
    if let Some((name, form, parameters)) = find(text) {
        // P and R are ir_measures' too; there they want a cut-off.
        let values = expand(name, form, parameters, text)?;
        return match values.as_slice() {
            [(_, measure)] => Ok(Some(*measure)),
            _ if parameters.is_none() => Err(ParseMeasureError::MissingCutoff {
                text: text.to_owned(),
                example: match form {
                    Form::Fractions(..) => "iprec_at_recall_0.10",
                    _ => "P_5 or P@5",
                },
            }),
            many => Err(ParseMeasureError::Several {
                text: text.to_owned(),
                count: many.len(),
            }),
        };
    }
    Ok(None)
}

/// The entry a text names, and its parameters.
fn find(text: &str) -> Option<(&'static str, Form, Option<&str>)> {
    let mut best: Option<(&'static str, Form, Option<&str>)> = None;
    for (name, form) in MEASURES {
        let Some(rest) = text.strip_prefix(name) else {
            continue;
        };
        let parameters = match rest {
            "" => None,
            _ => match rest.strip_prefix(['.', '_']) {
                Some(parameters) => Some(parameters),
                None => continue,
            },
        };
        if best.is_none_or(|(other, ..)| other.len() < name.len()) {
            best = Some((name, form, parameters));
        }
    }
    best
}

/// trec_eval's name of a measure, if it has one.
pub(crate) fn trec_name(measure: &Measure) -> Option<String> {
    if measure.rel.is_some() || measure.judged_only {
        return None;
    }
    let exact = |label: String| {
        let read = parse(&label).ok().flatten();
        (read.as_ref() == Some(measure)).then_some(label)
    };
    let list = |numbers: &[Decimal]| {
        let texts: Vec<String> = numbers.iter().map(Decimal::to_string).collect();
        texts.join(",")
    };
    for (name, form) in MEASURES {
        let found = match form {
            Form::Plain(kind) => (Measure::of(kind) == *measure).then(|| name.to_owned()),
            Form::Cuts(kind, _) => match measure.cutoff {
                Some(k) if kind == measure.kind => Some(format!("{name}_{k}")),
                _ => None,
            },
            Form::Fractions(..) => match measure.kind {
                Kind::IPrec { recall: x } | Kind::Rprec { multiple: x } => {
                    exact(format!("{name}_{:.2}", x.to_f64()))
                }
                _ => None,
            },
            Form::Numbers(_, kind) if Measure::of(kind) == *measure => Some(name.to_owned()),
            Form::Numbers(..) => match measure.kind {
                Kind::Utility { worth } => exact(format!("{name}_{}", list(&worth))),
                Kind::IPrecMean { points } => exact(format!("{name}_{}", list(points.as_slice()))),
                Kind::SetF { weight } => exact(format!("{name}_{weight}")),
                _ => None,
            },
            Form::Gains(_) => match measure.kind.gain() {
                Some(Gain::Linear) => exact(name.to_owned()),
                Some(Gain::Table(table)) => {
                    let pairs: Vec<String> =
                        table.iter().map(|(g, x)| format!("{g}={x}")).collect();
                    exact(format!("{name}_{}", pairs.join(",")))
                }
                _ => None,
            },
            Form::Persistence(_) => match measure.kind {
                Kind::RBP { persistence: p, .. } | Kind::RBPResidual { persistence: p, .. } => {
                    exact(name.to_owned()).or_else(|| exact(format!("{name}_p={p}")))
                }
                _ => None,
            },
        };
        if found.is_some() {
            return found;
        }
    }
    None
}
