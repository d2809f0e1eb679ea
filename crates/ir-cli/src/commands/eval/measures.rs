//! The list of measures of `ir help eval`.

use ir_eval::Formula;
use ir_eval::preferences::PreferenceMeasure;

use crate::shared::format::table_with_text;

/// All measures: names, trec_eval's names, and what they are.
pub(crate) fn list_measures() -> String {
    let mut rows = vec![["measure", "trec_eval", "description"].map(str::to_owned)];
    for formula in Formula::all() {
        let cutoff = if formula.takes_cutoff() { "[@K]" } else { "" };
        let names = formula.names().map(|name| format!("{name}{cutoff}"));
        let trec_eval: Vec<&str> = formula.trec_eval_names().collect();
        rows.push([
            names.collect::<Vec<_>>().join(", "),
            trec_eval.join(", "),
            formula.description(),
        ]);
    }
    let preferences = PreferenceMeasure::ALL.map(PreferenceMeasure::name);
    format!(
        "All measures:\n\n{}\n\n{LEGEND}\n\nPreferences (-R prefs, -R qrels_prefs):\n  {}",
        table_with_text(rows, 1),
        preferences.join(" ")
    )
}

const LEGEND: &str = "\
@K           cutoff, as in nDCG@10; in trec_eval's syntax ndcg_cut.10, P.5,10
(rel=N)      minimum grade of a relevant document, as in AP(rel=2)
(judged_only=True)  unjudged documents are removed first

Sets of measures: official (the default), all_trec, set; qrels_jg with -R
qrels_jg (map_avgjg, P_avgjg, Rprec_mult_avgjg); prefs and all_prefs with -R
prefs. Texts: runid, relstring.";
