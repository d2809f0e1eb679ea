//! Writing measures, in ir_measures' spelling.

use crate::kind::{Kind, RbpGain};
use crate::{Decimal, Gain, Measure, Points, Summary};

const HALF: Decimal = Decimal::new(5, 1);

/// The canonical text of a measure.
pub(crate) fn text(measure: &Measure) -> String {
    let whole = measure.cutoff.is_none();
    let mut parameters: Vec<String> = Vec::new();
    let mut unless = |key: &str, value: Decimal, default: Decimal| {
        if value != default {
            parameters.push(format!("{key}={value}"));
        }
    };
    let mut name = match measure.kind {
        Kind::P if whole => "SetP",
        Kind::P => "P",
        Kind::R if whole => "SetR",
        Kind::R => "R",
        Kind::RelativeP => {
            parameters.push("relative=True".to_owned());
            if whole { "SetP" } else { "P" }
        }
        Kind::Success => "Success",
        Kind::RR => "RR",
        Kind::AP => "AP",
        Kind::GeometricAP => "GMAP",
        Kind::SetAP => "SetAP",
        Kind::SetF { weight } => {
            unless("beta", weight, Decimal::ONE);
            "SetF"
        }
        Kind::Rprec { multiple } => {
            unless("mult", multiple, Decimal::ONE);
            "Rprec"
        }
        Kind::Bpref => "Bpref",
        Kind::GeometricBpref => "GMBpref",
        Kind::InfAP => "infAP",
        Kind::IPrec { .. } => "IPrec",
        Kind::IPrecMean { points } => {
            if points != Points::ELEVEN {
                let list: Vec<String> = points.as_slice().iter().map(Decimal::to_string).collect();
                parameters.push(format!("points={{{}}}", list.join(",")));
            }
            "IPrecAvg"
        }
        Kind::NDCG { .. } => "nDCG",
        Kind::DCG { .. } => "DCG",
        Kind::IDCG { .. } => "IDCG",
        Kind::NDCGRel { .. } => "nDCGrel",
        Kind::RNDCG { .. } => "Rndcg",
        Kind::G { .. } => "G",
        Kind::BinG => "binG",
        Kind::Yaap => "YAAP",
        Kind::RBP { persistence, gain } => {
            unless("p", persistence, Decimal::new(8, 1));
            if gain == RbpGain::Graded {
                parameters.push("gain=graded".to_owned());
            }
            "RBP"
        }
        Kind::RBPResidual { persistence, full } => {
            parameters.push(format!("p={persistence}"));
            if full {
                parameters.push("full=True".to_owned());
            }
            "RBPResidual"
        }
        Kind::ERR { highest } => {
            if highest != 4 {
                parameters.push(format!("max_rel={highest}"));
            }
            "ERR"
        }
        Kind::XinfAP => "xinfAP",
        Kind::InfNDCG => "infNDCG",
        Kind::InfP => "infP",
        Kind::InfIPrec { .. } => "infIPrec",
        Kind::InfNumRel => "infNumRel",
        Kind::InfNumRelRet => "infNumRelRet",
        Kind::ErrIA { alpha } => {
            unless("alpha", alpha, HALF);
            "ERR_IA"
        }
        Kind::NErrIA { alpha } => {
            unless("alpha", alpha, HALF);
            "nERR_IA"
        }
        Kind::AlphaDCG { alpha } => {
            unless("alpha", alpha, HALF);
            "alpha_DCG"
        }
        Kind::AlphaNDCG { alpha } => {
            unless("alpha", alpha, HALF);
            "alpha_nDCG"
        }
        Kind::NRBP { alpha, beta } => {
            unless("alpha", alpha, HALF);
            unless("beta", beta, HALF);
            "NRBP"
        }
        Kind::NNRBP { alpha, beta } => {
            unless("alpha", alpha, HALF);
            unless("beta", beta, HALF);
            "nNRBP"
        }
        Kind::ApIA => "AP_IA",
        Kind::PIA => "P_IA",
        Kind::StRecall => "StRecall",
        Kind::Custom { name, summary } => {
            return match summary {
                Summary::Mean => name.to_string(),
                Summary::Sum => format!("{name}(summary=sum)"),
                Summary::GeometricMean => format!("{name}(summary=geometric)"),
            };
        }
        Kind::Utility { worth } => {
            for (key, value) in ["a", "b", "c", "d"].iter().zip(worth) {
                parameters.push(format!("{key}={value}"));
            }
            "Utility"
        }
        Kind::Judged => "Judged",
        Kind::Unjudged => "Unjudged",
        Kind::NumQ => "NumQ",
        Kind::NumRet => "NumRet",
        Kind::NumRel => "NumRel",
        Kind::NumRelRet => "NumRelRet",
        Kind::NumNonRelJudgedRet => "NumNonRelJudgedRet",
    };
    match measure.kind.gain() {
        None | Some(Gain::Linear) => {}
        Some(Gain::Exponential) => parameters.push("dcg='exp-log2'".to_owned()),
        Some(Gain::Table(table)) => {
            let pairs: Vec<String> = table.iter().map(|(g, x)| format!("{g}:{x}")).collect();
            parameters.push(format!("gains={{{}}}", pairs.join(",")));
        }
    }
    if measure.judged_only {
        parameters.push("judged_only=True".to_owned());
    }
    if let Some(level) = measure.rel {
        if measure.kind == Kind::NumRelRet {
            name = "NumRet";
        }
        parameters.insert(0, format!("rel={level}"));
    }
    let mut text = name.to_owned();
    if !parameters.is_empty() {
        text.push_str(&format!("({})", parameters.join(",")));
    }
    match (measure.kind, measure.cutoff) {
        (Kind::IPrec { recall }, _) => text.push_str(&format!("@{recall}")),
        (Kind::InfIPrec { tenths }, _) => {
            text.push_str(&format!("@{}", Decimal::new(i64::from(tenths), 1)));
        }
        (_, Some(k)) => text.push_str(&format!("@{k}")),
        (_, None) => {}
    }
    text
}
