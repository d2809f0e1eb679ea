//! Names and parameter syntax of measures in trec_eval.

/// Name of a measure in trec_eval, the measure in ir_measures' syntax with `{}` in place of
/// parameters, and the syntax of the parameters in trec_eval.
pub(crate) type TrecName = (&'static str, &'static str, TrecSyntax);

/// Syntax of the parameters that follow a name on trec_eval's command line.
#[derive(Debug, Clone, Copy)]
pub(crate) enum TrecSyntax {
    /// A measure without parameters.
    Plain,
    /// Cutoffs, one value each; these by default.
    Cutoffs(&'static [u32]),
    /// Fractions, one value each; by default from, to and step in tenths.
    Fractions(i64, i64, usize),
    /// Numbers for one value, as the text says.
    Numbers(&'static str),
    /// Gains by grade for one value.
    Gains,
    /// Persistence for one value.
    Persistence,
}

/// Cutoffs that trec_eval evaluates by default.
pub(crate) const CUTOFFS: TrecSyntax =
    TrecSyntax::Cutoffs(&[5, 10, 15, 20, 30, 100, 200, 500, 1000]);
