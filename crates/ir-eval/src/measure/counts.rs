//! Counts, summed over queries.

use ir_core::Grade;

use super::definition::{Definition, MeasureInput, MeasureOptions, Properties, measures};
use super::parameters::MeasureText;
use super::trec_syntax::TrecSyntax;

measures! {
    /// Number of queries.
    ///
    /// `NumQ`; trec_eval's `num_q`.
    QueryCount = Properties::new(&["NumQ"])
        .count()
        .without_level()
        .without_ranking()
        .with_trec_names(&[("num_q", "NumQ", TrecSyntax::Plain)]);
    value |_, _| 1.0;

    /// Number of documents retrieved.
    ///
    /// `NumRet`; trec_eval's `num_ret`.
    RetrievedCount = Properties::new(&["NumRet"])
        .count()
        .without_level()
        .with_trec_names(&[("num_ret", "NumRet", TrecSyntax::Plain)]);
    impl {
        fn claims(&self, text: &MeasureText<'_>) -> bool {
            text.name == "NumRet" && !text.has("rel")
        }
    }
    value |_, input| input.retrieved as f64;

    /// Number of relevant documents in the qrels.
    ///
    /// `NumRel`; trec_eval's `num_rel`.
    RelevantCount = Properties::new(&["NumRel"])
        .count()
        .without_ranking()
        .with_trec_names(&[("num_rel", "NumRel", TrecSyntax::Plain)]);
    value |_, input| input.relevant() as f64;

    /// Number of relevant documents retrieved.
    ///
    /// `NumRelRet`, and `NumRet(rel=2)` with a level, as in ir_measures; trec_eval's `num_rel_ret`.
    RelevantRetrievedCount = Properties::new(&["NumRelRet"])
        .count()
        .with_trec_names(&[("num_rel_ret", "NumRelRet", TrecSyntax::Plain)]);
    impl {
        fn claims(&self, text: &MeasureText<'_>) -> bool {
            text.name == "NumRelRet" || text.name == "NumRet" && text.has("rel")
        }

        fn name(&self, options: &MeasureOptions) -> &str {
            match options.level {
                None => "NumRelRet",
                Some(_) => "NumRet",
            }
        }
    }
    value |_, input| input.found() as f64;

    /// Number of documents retrieved that are judged and not relevant.
    ///
    /// `NumNonRelJudgedRet`; trec_eval's `num_nonrel_judged_ret`.
    NonrelevantRetrievedCount = Properties::new(&["NumNonRelJudgedRet"])
        .count()
        .with_trec_names(&[("num_nonrel_judged_ret", "NumNonRelJudgedRet", TrecSyntax::Plain)]);
    value |_, input| {
        let nonrelevant = |state: &&Grade| (0..input.level).contains(*state);
        input.states().iter().filter(nonrelevant).count() as f64
    };
}
