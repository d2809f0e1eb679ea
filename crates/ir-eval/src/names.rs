//! Reading measures: ir_measures' spelling here, with ndeval's, gdeval's and sample_eval's names
//! beside it; trec_eval's in [`crate::trec_names`].

use std::num::NonZeroU32;

use ir_core::Grade;

use crate::custom::Name;
use crate::kind::{Kind, RbpGain};
use crate::{Decimal, Gain, GainTable, Measure, Points, Summary, trec_names};

pub(crate) use crate::text::text;

pub(crate) use crate::trec_names::trec_name;

/// Why a text names no measure.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseMeasureError {
    /// No measure is called that.
    #[error("{text:?}: no such measure (examples: nDCG@10, AP, RR@10, P_5, recall_100)")]
    Unknown {
        /// What was to be read.
        text: String,
    },
    /// Brackets or commas that do not fit.
    #[error("{text:?}: expected NAME, NAME@CUTOFF or NAME(PARAMETER=VALUE,...)@CUTOFF")]
    Syntax {
        /// What was to be read.
        text: String,
    },
    /// A measure that is defined at a cut-off only.
    #[error("{text:?}: expected a cut-off, as in {example}")]
    MissingCutoff {
        /// What was to be read.
        text: String,
        /// How it could look.
        example: &'static str,
    },
    /// A cut-off on a measure that has none.
    #[error("{text:?}: this measure takes no cut-off, found {found:?}")]
    NoCutoff {
        /// What was to be read.
        text: String,
        /// The cut-off.
        found: String,
    },
    /// A parameter that the measure does not have.
    #[error("{text:?}: this measure has no parameter {found:?}")]
    NoParameter {
        /// What was to be read.
        text: String,
        /// The parameter.
        found: String,
    },
    /// A parameter or cut-off that is not what it should be.
    #[error("{text:?}: expected {expected}, found {found:?}")]
    Value {
        /// What was to be read.
        text: String,
        /// What should be there.
        expected: &'static str,
        /// What is there.
        found: String,
    },
    /// A cut-off or parameter that is given twice.
    #[error("{text:?}: {found} is given twice")]
    Twice {
        /// What was to be read.
        text: String,
        /// What is given twice.
        found: String,
    },
    /// A measure that is computed from other judgments than those at hand.
    #[error("{text:?}: expected a measure for the judgments at hand, found one for {needs}")]
    OtherJudgments {
        /// What was to be read.
        text: String,
        /// The judgments it is for, and trec_eval's option.
        needs: &'static str,
    },
    /// A name that stands for many measures where one is wanted.
    #[error("{text:?}: expected one measure, found {count}")]
    Several {
        /// What was to be read.
        text: String,
        /// How many.
        count: usize,
    },
}

const CUTOFF: &str = "a cut-off, which is a whole number from 1";
const NUMBER: &str = "a decimal number";

/// The measure a text names.
pub(crate) fn parse(text: &str) -> Result<Measure, ParseMeasureError> {
    // P_IA is no precision at a cut-off of IA.
    if !text.contains(['@', '('])
        && text != "P_IA"
        && let Some(measure) = trec_names::parse(text)?
    {
        return Ok(measure);
    }
    let (mut name, parameters, mut at) = split(text)?;
    if let Some(rank) = name.strip_prefix("iP")
        && at.is_none()
        && !rank.is_empty()
        && rank.bytes().all(|b| b.is_ascii_digit())
    {
        // sample_eval's.
        (name, at) = ("iP", Some(rank));
    }
    let mut given = Given { text, parameters };
    let measure = read(name, &mut given, at)?;
    match given.parameters.first() {
        None => Ok(measure),
        Some((key, _)) => Err(ParseMeasureError::NoParameter {
            text: text.to_owned(),
            found: (*key).to_owned(),
        }),
    }
}

/// Like [`parse`], with every other possible name as that of a measure of the user's own.
pub(crate) fn parse_any(text: &str) -> Result<Measure, ParseMeasureError> {
    let unknown = match parse(text) {
        Err(error @ ParseMeasureError::Unknown { .. }) => error,
        other => return other,
    };
    let (name, summary) = match text.strip_suffix(')').and_then(|t| t.rsplit_once('(')) {
        None => (text, Summary::Mean),
        Some((name, "summary=sum")) => (name, Summary::Sum),
        Some((name, "summary=geometric")) => (name, Summary::GeometricMean),
        Some(_) => return Err(unknown),
    };
    match Name::new(name) {
        Some(name) => Ok(Measure::of(Kind::Custom { name, summary })),
        None => Err(unknown),
    }
}

/// Whether a name is that of a measure here.
pub(crate) fn taken(name: &str) -> bool {
    !matches!(parse(name), Err(ParseMeasureError::Unknown { .. }))
}

type Parts<'a> = (&'a str, Vec<(&'a str, &'a str)>, Option<&'a str>);

/// Cuts `NAME(key=value,...)@cutoff` into its parts.
fn split(text: &str) -> Result<Parts<'_>, ParseMeasureError> {
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
        let part = inside[start..end].trim();
        start = end + 1;
        if part.is_empty() && inside.trim().is_empty() {
            break;
        }
        let (key, value) = part.split_once('=').ok_or_else(syntax)?;
        let (key, value) = (key.trim(), value.trim());
        if parameters.iter().any(|&(other, _)| other == key) {
            return Err(ParseMeasureError::Twice {
                text: text.to_owned(),
                found: key.to_owned(),
            });
        }
        parameters.push((key, value));
    }
    Ok((name.trim(), parameters, at))
}

struct Given<'a> {
    text: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
}

impl<'a> Given<'a> {
    fn take(&mut self, key: &str) -> Option<&'a str> {
        let at = self.parameters.iter().position(|&(k, _)| k == key)?;
        let value = self.parameters.remove(at).1;
        let unquoted = |quote| value.strip_prefix(quote)?.strip_suffix(quote);
        Some(unquoted('\'').or_else(|| unquoted('"')).unwrap_or(value))
    }

    fn bad(&self, expected: &'static str, found: &str) -> ParseMeasureError {
        ParseMeasureError::Value {
            text: self.text.to_owned(),
            expected,
            found: found.to_owned(),
        }
    }

    fn decimal(&mut self, key: &str, otherwise: Decimal) -> Result<Decimal, ParseMeasureError> {
        self.take(key).map_or(Ok(otherwise), |value| {
            value.parse().map_err(|_| self.bad(NUMBER, value))
        })
    }

    fn multiple(&mut self, key: &str) -> Result<Decimal, ParseMeasureError> {
        let multiple = self.decimal(key, Decimal::ONE)?;
        if multiple < Decimal::ZERO {
            return Err(self.bad("a number from 0", &multiple.to_string()));
        }
        Ok(multiple)
    }

    fn persistence(&mut self, otherwise: Decimal) -> Result<Decimal, ParseMeasureError> {
        let p = self.decimal("p", otherwise)?;
        if !(Decimal::ZERO..=Decimal::ONE).contains(&p) {
            return Err(self.bad("a persistence between 0 and 1", &p.to_string()));
        }
        Ok(p)
    }

    /// A decimal between 0 and 1.
    fn share(&mut self, key: &str) -> Result<Decimal, ParseMeasureError> {
        let share = self.decimal(key, Decimal::new(5, 1))?;
        if !(Decimal::ZERO..=Decimal::ONE).contains(&share) {
            return Err(self.bad("a number between 0 and 1", &share.to_string()));
        }
        Ok(share)
    }

    fn highest(&mut self) -> Result<u8, ParseMeasureError> {
        const EXPECTED: &str = "a highest grade, which is a whole number from 1 to 62";
        self.take("max_rel").map_or(Ok(4), |value| {
            let read = value.parse().ok().filter(|m| (1..=62).contains(m));
            read.ok_or_else(|| self.bad(EXPECTED, value))
        })
    }

    fn flag(&mut self, key: &str) -> Result<bool, ParseMeasureError> {
        match self.take(key) {
            None | Some("False" | "false") => Ok(false),
            Some("True" | "true") => Ok(true),
            Some(value) => Err(self.bad("True or False", value)),
        }
    }

    fn gain(&mut self) -> Result<Gain, ParseMeasureError> {
        let discount = self.take("dcg");
        let table = self.take("gains");
        match (discount, table) {
            (None | Some("log2"), None) => Ok(Gain::Linear),
            (Some("exp-log2"), None) => Ok(Gain::Exponential),
            (None | Some("log2"), Some(table)) => self.table(table).map(Gain::Table),
            (Some("exp-log2"), Some(table)) => {
                Err(self.bad("either dcg=exp-log2 or gains, not both", table))
            }
            (Some(other), _) => Err(self.bad("log2 or exp-log2", other)),
        }
    }

    fn table(&self, text: &str) -> Result<GainTable, ParseMeasureError> {
        const EXPECTED: &str = "up to eight grades and gains, as in {1:3.5,2:9}";
        let wrong = || self.bad(EXPECTED, text);
        let inside = text
            .strip_prefix('{')
            .and_then(|t| t.strip_suffix('}'))
            .ok_or_else(wrong)?;
        let mut table = GainTable::new();
        for pair in inside.split(',') {
            let (grade, gain) = pair.split_once(':').ok_or_else(wrong)?;
            let grade = grade.trim().parse().map_err(|_| wrong())?;
            let gain = gain.trim().parse().map_err(|_| wrong())?;
            table = table.with(grade, gain).ok_or_else(wrong)?;
        }
        Ok(table)
    }

    fn points(&mut self) -> Result<Points, ParseMeasureError> {
        const EXPECTED: &str = "up to eleven recalls between 0 and 1, as in {0.25,0.5,0.75}";
        let Some(text) = self.take("points") else {
            return Ok(Points::ELEVEN);
        };
        let wrong = || self.bad(EXPECTED, text);
        let inside = text
            .strip_prefix('{')
            .and_then(|t| t.strip_suffix('}'))
            .ok_or_else(wrong)?;
        let numbers: Result<Vec<Decimal>, _> =
            inside.split(',').map(|n| n.trim().parse()).collect();
        Points::new(&numbers.map_err(|_| wrong())?).ok_or_else(wrong)
    }

    fn worth(&mut self) -> Result<[Decimal; 4], ParseMeasureError> {
        let [a, b, c, d] = UTILITY;
        Ok([
            self.decimal("a", a)?,
            self.decimal("b", b)?,
            self.decimal("c", c)?,
            self.decimal("d", d)?,
        ])
    }

    fn rbp(&mut self) -> Result<Kind, ParseMeasureError> {
        let persistence = self.persistence(Decimal::new(8, 1))?;
        let gain = match self.take("gain") {
            None | Some("binary") => RbpGain::Binary,
            Some("graded") => RbpGain::Graded,
            Some(other) => return Err(self.bad("binary or graded", other)),
        };
        Ok(Kind::RBP { persistence, gain })
    }
}

/// trec_eval's default weights of utility.
pub(crate) const UTILITY: [Decimal; 4] = [
    Decimal::ONE,
    Decimal::new(-1, 0),
    Decimal::ZERO,
    Decimal::ZERO,
];

/// The names of ir_measures, some that people write instead, and (in small letters) those of ranx.
fn read(name: &str, given: &mut Given<'_>, at: Option<&str>) -> Result<Measure, ParseMeasureError> {
    let kind = match name {
        "P" | "Precision" | "precision" => {
            if given.flag("relative")? {
                Kind::RelativeP
            } else {
                Kind::P
            }
        }
        "SetP" if given.flag("relative")? => Kind::RelativeP,
        "SetP" => Kind::P,
        "SetRelP" => {
            let given_it = given.parameters.iter().any(|p| p.0 == "relative");
            if given.flag("relative")? || !given_it {
                Kind::RelativeP
            } else {
                Kind::P
            }
        }
        "R" | "Recall" | "recall" | "SetR" => Kind::R,
        "Success" | "hit_rate" => Kind::Success,
        "RR" | "MRR" | "mrr" => Kind::RR,
        "AP" | "MAP" | "map" => Kind::AP,
        "GMAP" => Kind::GeometricAP,
        "SetAP" => Kind::SetAP,
        "SetF" => Kind::SetF {
            weight: given.multiple("beta")?,
        },
        "Rprec" | "RPrec" | "r-precision" => Kind::Rprec {
            multiple: given.multiple("mult")?,
        },
        "Bpref" | "BPref" => Kind::Bpref,
        "GMBpref" => Kind::GeometricBpref,
        "infAP" => Kind::InfAP,
        "IPrec" => return interpolated(given, at),
        "IPrecAvg" => Kind::IPrecMean {
            points: given.points()?,
        },
        "nDCG" | "NDCG" | "ndcg" => Kind::NDCG {
            gain: given.gain()?,
        },
        "DCG" => Kind::DCG {
            gain: given.gain()?,
        },
        "IDCG" => Kind::IDCG {
            gain: given.gain()?,
        },
        "nDCGrel" => Kind::NDCGRel {
            gain: given.gain()?,
        },
        "Rndcg" => Kind::RNDCG {
            gain: given.gain()?,
        },
        "G" => Kind::G {
            gain: given.gain()?,
        },
        "binG" => Kind::BinG,
        "YAAP" => Kind::Yaap,
        "RBP" => given.rbp()?,
        "RBPResidual" => Kind::RBPResidual {
            persistence: given.persistence(Decimal::new(9, 1))?,
            full: given.flag("full")?,
        },
        "ERR" | "err" => Kind::ERR {
            highest: given.highest()?,
        },
        "xinfAP" => Kind::XinfAP,
        "infNDCG" => Kind::InfNDCG,
        "infP" | "iP" => Kind::InfP,
        "infIPrec" | "iprec" => return inferred(name, given, at),
        "infNumRel" | "inum_rel" => Kind::InfNumRel,
        "infNumRelRet" | "inum_rel_ret" => Kind::InfNumRelRet,
        "ERR_IA" | "ERR-IA" => Kind::ErrIA {
            alpha: given.share("alpha")?,
        },
        "nERR_IA" | "nERR-IA" => Kind::NErrIA {
            alpha: given.share("alpha")?,
        },
        "alpha_DCG" | "alpha-DCG" | "α_DCG" | "α-DCG" => Kind::AlphaDCG {
            alpha: given.share("alpha")?,
        },
        "alpha_nDCG" | "alpha-nDCG" | "α_nDCG" | "α-nDCG" => Kind::AlphaNDCG {
            alpha: given.share("alpha")?,
        },
        "NRBP" => Kind::NRBP {
            alpha: given.share("alpha")?,
            beta: given.share("beta")?,
        },
        "nNRBP" => Kind::NNRBP {
            alpha: given.share("alpha")?,
            beta: given.share("beta")?,
        },
        "AP_IA" | "MAP_IA" | "MAP-IA" => Kind::ApIA,
        "P_IA" | "P-IA" => Kind::PIA,
        "StRecall" | "strec" => Kind::StRecall,
        "Utility" => Kind::Utility {
            worth: given.worth()?,
        },
        "Judged" => Kind::Judged,
        "Unjudged" => Kind::Unjudged,
        "NumQ" => Kind::NumQ,
        // ir_measures counts the relevant ones when a level is given.
        "NumRet" if given.parameters.iter().any(|p| p.0 == "rel") => Kind::NumRelRet,
        "NumRet" => Kind::NumRet,
        "NumRel" => Kind::NumRel,
        "NumRelRet" => Kind::NumRelRet,
        "NumNonRelJudgedRet" => Kind::NumNonRelJudgedRet,
        _ => {
            return Err(ParseMeasureError::Unknown {
                text: given.text.to_owned(),
            });
        }
    };
    let mut measure = Measure::of(kind);
    measured(given, &mut measure)?;
    measure.cutoff = match at {
        None => needed(name, given.text)?,
        Some(found) if !kind.takes_cutoff() || name.starts_with("Set") => {
            return Err(ParseMeasureError::NoCutoff {
                text: given.text.to_owned(),
                found: found.to_owned(),
            });
        }
        Some(found) => match found.parse::<NonZeroU32>() {
            Ok(cutoff) => Some(cutoff),
            Err(_) => return Err(given.bad(CUTOFF, found)),
        },
    };
    Ok(measure)
}

/// P and R without a cut-off are a slip: whole lists are SetP and SetR.
fn needed(name: &str, text: &str) -> Result<Option<NonZeroU32>, ParseMeasureError> {
    let example = match name {
        "P" | "Precision" | "precision" => "P@5 (or SetP for whole lists)",
        "R" | "Recall" | "recall" => "R@100 (or SetR for whole lists)",
        "infP" | "iP" => "infP@10",
        _ => return Ok(None),
    };
    Err(ParseMeasureError::MissingCutoff {
        text: text.to_owned(),
        example,
    })
}

/// The parameters that most measures have.
fn measured(given: &mut Given<'_>, measure: &mut Measure) -> Result<(), ParseMeasureError> {
    if measure.kind.takes_level() {
        measure.rel = level(given)?;
    }
    if measure.kind.takes_judged_only() {
        measure.judged_only = given.flag("judged_only")?;
    }
    Ok(())
}

fn level(given: &mut Given<'_>) -> Result<Option<Grade>, ParseMeasureError> {
    match given.take("rel") {
        None => Ok(None),
        Some(value) => match value.parse::<Grade>() {
            Ok(level) if level >= 0 => Ok(Some(level)),
            _ => Err(given.bad("a relevance level, which is a whole number from 0", value)),
        },
    }
}

fn interpolated(given: &mut Given<'_>, at: Option<&str>) -> Result<Measure, ParseMeasureError> {
    let Some(at) = at else {
        return Err(ParseMeasureError::MissingCutoff {
            text: given.text.to_owned(),
            example: "IPrec@0.1",
        });
    };
    let inside = |recall: &Decimal| (Decimal::ZERO..=Decimal::ONE).contains(recall);
    let recall = at
        .parse()
        .ok()
        .filter(inside)
        .ok_or_else(|| given.bad("a recall between 0 and 1", at))?;
    let mut measure = Measure::of(Kind::IPrec { recall });
    measured(given, &mut measure)?;
    Ok(measure)
}

/// Interpolated precision inferred from a sample: `infIPrec@0.1`, `iprec@rec0.10`.
fn inferred(
    name: &str,
    given: &mut Given<'_>,
    at: Option<&str>,
) -> Result<Measure, ParseMeasureError> {
    const EXPECTED: &str = "a recall of 0, 0.1, 0.2 and so on up to 1";
    let Some(at) = at else {
        return Err(ParseMeasureError::MissingCutoff {
            text: given.text.to_owned(),
            example: "infIPrec@0.1",
        });
    };
    let recall = match name {
        "iprec" => at.strip_prefix("rec"),
        _ => Some(at),
    };
    let recall: Option<Decimal> = recall.and_then(|recall| recall.parse().ok());
    let tenths = (0..=10_u8).find(|&n| recall == Some(Decimal::new(i64::from(n), 1)));
    let tenths = tenths.ok_or_else(|| given.bad(EXPECTED, at))?;
    let mut measure = Measure::of(Kind::InfIPrec { tenths });
    measured(given, &mut measure)?;
    Ok(measure)
}
