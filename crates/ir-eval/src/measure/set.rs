//! Measures of the retrieved set, in which the order of the documents does not matter.

use super::definition::{
    CUTOFFS, Definition, MeasureInput, Properties, TrecNames, TrecSyntax, ratio,
};
use super::parameters::{MeasureText, Parameters, ParseMeasureError};
use crate::decimal::Decimal;
use crate::judged::UNPOOLED;

/// Precision: hits(k) / k, or hits(n) / n without a cutoff. Range: 0 to 1.
///
/// `P@5`, `SetP`, `P(relative=True)@5`; trec_eval's `P_5`, `set_P`, `relative_P_5`,
/// `set_relative_P`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Precision {
    /// Divide by min(k, R), the number of relevant documents that could have been found, instead of
    /// k. Default: false.
    pub relative: bool,
}

impl Definition for Precision {
    const PROPERTIES: Properties = Properties::new(&["P", "Precision", "precision"])
        .with_set_names(&["SetP", "SetRelP"])
        .require_cutoff("P@5 (or SetP for whole lists)");
    const DEFAULT: Self = Self { relative: false };
    const TREC_NAMES: TrecNames<Self> = &[
        ("P", TrecSyntax::Cutoffs(Self { relative: false }, CUTOFFS)),
        ("set_P", TrecSyntax::Plain(Self { relative: false })),
        (
            "relative_P",
            TrecSyntax::Cutoffs(Self { relative: true }, CUTOFFS),
        ),
        ("set_relative_P", TrecSyntax::Plain(Self { relative: true })),
    ];

    fn read(parameters: &mut Parameters<'_>) -> Result<Self, ParseMeasureError> {
        let relative = parameters.flag("relative", parameters.name == "SetRelP")?;
        Ok(Self { relative })
    }

    fn write(&self, text: &mut MeasureText) {
        text.flag("relative", self.relative);
    }

    fn value(&self, input: &MeasureInput<'_>) -> f64 {
        let depth = input.depth() as f64;
        let best = if self.relative {
            depth.min(input.relevant() as f64)
        } else {
            depth
        };
        ratio(input.found() as f64, best)
    }
}

/// Recall: hits(k) / R. Range: 0 to 1.
///
/// `R@100`, `SetR`; trec_eval's `recall_100`, `set_recall`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Recall;

impl Definition for Recall {
    const PROPERTIES: Properties = Properties::new(&["R", "Recall", "recall"])
        .with_set_names(&["SetR"])
        .require_cutoff("R@100 (or SetR for whole lists)");
    const DEFAULT: Self = Self;
    const TREC_NAMES: TrecNames<Self> = &[
        ("recall", TrecSyntax::Cutoffs(Self, CUTOFFS)),
        ("set_recall", TrecSyntax::Plain(Self)),
    ];

    fn value(&self, input: &MeasureInput<'_>) -> f64 {
        ratio(input.found() as f64, input.relevant() as f64)
    }
}

/// Success: 1 if a relevant document is retrieved, 0 otherwise. ranx's hit rate.
///
/// `Success@1`; trec_eval's `success_1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Success;

impl Definition for Success {
    const PROPERTIES: Properties = Properties::new(&["Success", "hit_rate"]);
    const DEFAULT: Self = Self;
    const TREC_NAMES: TrecNames<Self> = &[("success", TrecSyntax::Cutoffs(Self, &[1, 5, 10]))];

    fn value(&self, input: &MeasureInput<'_>) -> f64 {
        f64::from(u8::from(input.found() > 0))
    }
}

/// Set average precision: hits(n)² / (n · R), the product of set precision and recall. Range:
/// 0 to 1.
///
/// `SetAP`; trec_eval's `set_map`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SetAveragePrecision;

impl Definition for SetAveragePrecision {
    const PROPERTIES: Properties = Properties::new(&["SetAP"]).without_cutoff();
    const DEFAULT: Self = Self;
    const TREC_NAMES: TrecNames<Self> = &[("set_map", TrecSyntax::Plain(Self))];

    fn value(&self, input: &MeasureInput<'_>) -> f64 {
        let (found, relevant) = (input.found() as f64, input.relevant() as f64);
        ratio(found * found, input.retrieved() as f64 * relevant)
    }
}

/// F measure of the retrieved set: (x + 1) · P · R / (R + x · P). Range: 0 to 1.
///
/// `SetF`, `SetF(beta=0.5)`; trec_eval's `set_F`.
///
/// After van Rijsbergen, *Information Retrieval*, 1979, whose β² is x.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SetF {
    /// Weight x of recall. trec_eval and ir_measures call it β. Range: ≥ 0. Default: 1.
    pub beta: Decimal,
}

impl Definition for SetF {
    const PROPERTIES: Properties = Properties::new(&["SetF"]).without_cutoff();
    const DEFAULT: Self = Self { beta: Decimal::ONE };
    const TREC_NAMES: TrecNames<Self> = &[(
        "set_F",
        TrecSyntax::Numbers(
            |numbers| match *numbers {
                [beta] if beta >= Decimal::ZERO => Some(Self { beta }),
                _ => None,
            },
            "one number >= 0",
        ),
    )];

    fn read(parameters: &mut Parameters<'_>) -> Result<Self, ParseMeasureError> {
        let beta = parameters.non_negative("beta", Self::DEFAULT.beta)?;
        Ok(Self { beta })
    }

    fn write(&self, text: &mut MeasureText) {
        text.unless_default("beta", self.beta, Self::DEFAULT.beta);
    }

    fn trec_parameters(&self) -> Option<String> {
        Some(self.beta.to_string())
    }

    fn value(&self, input: &MeasureInput<'_>) -> f64 {
        let x = self.beta.to_f64();
        let found = input.found() as f64;
        let p = ratio(found, input.retrieved() as f64);
        let r = ratio(found, input.relevant() as f64);
        ratio((x + 1.0) * p * r, x * p + r)
    }
}

/// Linear utility: a · hits + b · (n − hits) + c · (R − hits) + d · (documents of the collection
/// that are neither retrieved nor relevant).
///
/// The size of the collection is part of the [`Rules`](crate::Rules).
/// `Utility(a=1,b=-1,c=0,d=0)`; trec_eval's `utility`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Utility {
    /// Weights a, b, c and d. Default: 1, −1, 0, 0.
    pub weights: [Decimal; 4],
}

impl Definition for Utility {
    const PROPERTIES: Properties = Properties::new(&["Utility"]);
    const DEFAULT: Self = Self {
        weights: [
            Decimal::ONE,
            Decimal::new(-1, 0),
            Decimal::ZERO,
            Decimal::ZERO,
        ],
    };
    const TREC_NAMES: TrecNames<Self> = &[(
        "utility",
        TrecSyntax::Numbers(
            |numbers| {
                Some(Self {
                    weights: numbers.try_into().ok()?,
                })
            },
            "four numbers",
        ),
    )];

    fn read(parameters: &mut Parameters<'_>) -> Result<Self, ParseMeasureError> {
        let [a, b, c, d] = Self::DEFAULT.weights;
        let weights = [
            parameters.decimal("a", a)?,
            parameters.decimal("b", b)?,
            parameters.decimal("c", c)?,
            parameters.decimal("d", d)?,
        ];
        Ok(Self { weights })
    }

    fn write(&self, text: &mut MeasureText) {
        for (key, weight) in ["a", "b", "c", "d"].iter().zip(self.weights) {
            text.parameter(key, weight);
        }
    }

    fn trec_parameters(&self) -> Option<String> {
        Some(self.weights.map(|weight| weight.to_string()).join(","))
    }

    fn value(&self, input: &MeasureInput<'_>) -> f64 {
        let [a, b, c, d] = self.weights.map(Decimal::to_f64);
        let (found, relevant) = (input.found() as f64, input.relevant() as f64);
        let n = input.retrieved() as f64;
        let rest = input.rules.collection_size as f64 + found - n - relevant;
        a * found + b * (n - found) + c * (relevant - found) + d * rest
    }
}

/// Fraction of the first min(k, n) documents that are in the qrels. Range: 0 to 1.
///
/// `Judged@10`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JudgedFraction;

impl Definition for JudgedFraction {
    const PROPERTIES: Properties = Properties::new(&["Judged"])
        .without_level()
        .without_judged_only();
    const DEFAULT: Self = Self;

    fn value(&self, input: &MeasureInput<'_>) -> f64 {
        let judged = input
            .states()
            .iter()
            .filter(|&&state| state != UNPOOLED)
            .count();
        ratio(judged as f64, input.retrieved() as f64)
    }
}

/// Number of documents in the first k that have no judgment or a negative grade, over k. Range:
/// 0 to 1.
///
/// `Unjudged@10`; trec_eval's `unj_10`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnjudgedFraction;

impl Definition for UnjudgedFraction {
    const PROPERTIES: Properties = Properties::new(&["Unjudged"])
        .without_level()
        .without_judged_only();
    const DEFAULT: Self = Self;
    const TREC_NAMES: TrecNames<Self> = &[("unj", TrecSyntax::Cutoffs(Self, &[5, 10, 20]))];

    fn value(&self, input: &MeasureInput<'_>) -> f64 {
        let unjudged = input.states().iter().filter(|&&state| state < 0).count();
        ratio(unjudged as f64, input.depth() as f64)
    }
}
