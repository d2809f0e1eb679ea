//! Measures of the retrieved set, in which the order of the documents does not matter.

use super::definition::{Definition, MeasureInput, Properties, measures, ratio};
use super::parameters::{Parameters, ParseMeasureError};
use super::trec_syntax::{CUTOFFS, TrecSyntax};
use crate::decimal::Decimal;
use crate::judged::UNPOOLED;

measures! {
    /// Precision: hits(k) / k, or hits(n) / n without a cutoff. Range: 0 to 1.
    ///
    /// `P@5`, `SetP`, `P(relative=True)@5`; trec_eval's `P_5`, `set_P`, `relative_P_5`,
    /// `set_relative_P`. BEIR's capped recall `R_cap@5` is `P(relative=True)@5`.
    Precision {
        /// Divide by min(k, R), the number of relevant documents that could have been found,
        /// instead of k. Default: false.
        relative: bool = false => relative(),
    } = Properties::new(&["P", "Precision", "precision", "R_cap", "r_cap"])
        .with_set_names(&["SetP", "SetRelP"])
        .require_cutoff("P@5 (or SetP for whole lists)")
        .with_trec_names(&[
            ("P", "P@{}", CUTOFFS),
            ("set_P", "SetP", TrecSyntax::Plain),
            ("relative_P", "P(relative=True)@{}", CUTOFFS),
            ("set_relative_P", "SetP(relative=True)", TrecSyntax::Plain),
        ]);
    value |formula, input| {
        let depth = input.depth() as f64;
        let best = if formula.relative {
            depth.min(input.relevant() as f64)
        } else {
            depth
        };
        ratio(input.found() as f64, best)
    };

    /// Recall: hits(k) / R. Range: 0 to 1.
    ///
    /// `R@100`, `SetR`; trec_eval's `recall_100`, `set_recall`.
    Recall = Properties::new(&["R", "Recall", "recall"])
        .with_set_names(&["SetR"])
        .require_cutoff("R@100 (or SetR for whole lists)")
        .with_trec_names(&[
            ("recall", "R@{}", CUTOFFS),
            ("set_recall", "SetR", TrecSyntax::Plain),
        ]);
    value |_, input| ratio(input.found() as f64, input.relevant() as f64);

    /// Success: 1 if a relevant document is retrieved, 0 otherwise. ranx's hit rate.
    ///
    /// `Success@1`; trec_eval's `success_1`.
    Success = Properties::new(&["Success", "hit_rate"])
        .with_trec_names(&[("success", "Success@{}", TrecSyntax::Cutoffs(&[1, 5, 10]))]);
    value |_, input| f64::from(u8::from(input.found() > 0));

    /// Number of relevant documents retrieved: hits(k), averaged over queries. Range: ≥ 0.
    ///
    /// `Hits@10`; ranx's `hits@10`. [`RelevantRetrievedCount`](super::RelevantRetrievedCount) is
    /// summed.
    HitCount = Properties::new(&["Hits", "hits"]);
    value |_, input| input.found() as f64;

    /// Set average precision: hits(n)² / (n · R), the product of set precision and recall. Range:
    /// 0 to 1.
    ///
    /// `SetAP`; trec_eval's `set_map`.
    SetAveragePrecision = Properties::new(&["SetAP"])
        .without_cutoff()
        .with_trec_names(&[("set_map", "SetAP", TrecSyntax::Plain)]);
    value |_, input| {
        let (found, relevant) = (input.found() as f64, input.relevant() as f64);
        ratio(found * found, input.retrieved as f64 * relevant)
    };

    /// F measure of the retrieved set, or of the first k documents: (x + 1) · P · R / (R + x · P).
    /// Range: 0 to 1.
    ///
    /// `SetF`, `F@5`, `SetF(beta=0.5)`; trec_eval's `set_F`, ranx's `f1@5`.
    ///
    /// After van Rijsbergen, *Information Retrieval*, 1979; x is β².
    SetF {
        /// Weight x of recall. trec_eval and ir_measures call it β. Range: ≥ 0. Default: 1.
        beta: Decimal = Decimal::ONE => non_negative("beta", Decimal::ONE),
    } = Properties::new(&["F", "F1", "f1"])
        .with_set_names(&["SetF"])
        .with_trec_names(&[("set_F", "SetF(beta={})", TrecSyntax::Numbers("one number >= 0"))]);
    value |formula, input| {
        let x = formula.beta.to_f64();
        let found = input.found() as f64;
        let p = ratio(found, input.depth() as f64);
        let r = ratio(found, input.relevant() as f64);
        ratio((x + 1.0) * p * r, x * p + r)
    };

    /// Linear utility: a · hits + b · (n − hits) + c · (R − hits) + d · (documents of the
    /// collection that are neither retrieved nor relevant).
    ///
    /// The size of the collection is part of the [`Rules`](crate::Rules).
    /// `Utility(a=1,b=-1,c=0,d=0)`; trec_eval's `utility`.
    Utility {
        /// Weights a, b, c and d. Default: 1, −1, 0, 0.
        weights: [Decimal; 4] =
            [Decimal::ONE, Decimal::new(-1, 0), Decimal::ZERO, Decimal::ZERO] => weights(),
    } = Properties::new(&["Utility"])
        .with_trec_names(&[(
            "utility",
            "Utility(a={},b={},c={},d={})",
            TrecSyntax::Numbers("four numbers"),
        )]);
    value |formula, input| {
        let [a, b, c, d] = formula.weights.map(Decimal::to_f64);
        let (found, relevant) = (input.found() as f64, input.relevant() as f64);
        let n = input.retrieved as f64;
        let rest = input.rules.collection_size as f64 + found - n - relevant;
        a * found + b * (n - found) + c * (relevant - found) + d * rest
    };

    /// Fraction of the first min(k, n) documents that are in the qrels. Range: 0 to 1.
    ///
    /// `Judged@10`.
    JudgedFraction = Properties::new(&["Judged"]).without_level().without_judged_only();
    value |_, input| {
        let judged = input.states().iter().filter(|&&state| state != UNPOOLED).count();
        ratio(judged as f64, input.retrieved as f64)
    };

    /// Number of documents in the first k that have no judgment or a negative grade, over k. Range:
    /// 0 to 1.
    ///
    /// `Unjudged@10`; trec_eval's `unj_10`.
    UnjudgedFraction = Properties::new(&["Unjudged"])
        .without_level()
        .without_judged_only()
        .with_trec_names(&[("unj", "Unjudged@{}", TrecSyntax::Cutoffs(&[5, 10, 20]))]);
    value |_, input| {
        let unjudged = input.states().iter().filter(|&&state| state < 0).count();
        ratio(unjudged as f64, input.depth() as f64)
    };
}

impl Parameters<'_> {
    /// [`Precision::relative`], which the names `SetRelP` and `R_cap` imply.
    fn relative(&mut self, relative: &mut bool) -> Result<(), ParseMeasureError> {
        *relative |= ["SetRelP", "R_cap", "r_cap"].contains(&self.text.name);
        self.flag(relative, "relative")
    }

    /// [`Utility::weights`].
    fn weights(&mut self, weights: &mut [Decimal; 4]) -> Result<(), ParseMeasureError> {
        let mut weights = ["a", "b", "c", "d"].into_iter().zip(weights);
        weights.try_for_each(|(key, weight)| self.decimal(weight, key))
    }
}
