//! The list of measures of `ir help eval`.

use std::fmt::Write;

use ir_eval::assess::preferences::PreferenceMeasure;
use ir_eval::{Formula, Measure};

/// Help text that `ir help eval` prints after the help of `ir eval`: all measures with their
/// names, descriptions, parameters and trec_eval's names. clap wraps the lines.
pub(crate) fn list_measures() -> String {
    let mut list = "All measures:\n".to_owned();
    let mut known = Vec::new();
    for formula in Formula::all() {
        let cutoff = if formula.takes_cutoff() { "[@K]" } else { "" };
        let names = formula.names().map(|name| {
            // Another measure of this name has other parameters.
            if known.contains(&name) {
                return format!("{}{cutoff}", Measure::new(formula));
            }
            known.push(name);
            format!("{name}{cutoff}")
        });
        let names: Vec<String> = names.collect();
        let _ = write!(
            list,
            "\n  {}\n      {}",
            names.join(", "),
            formula.description()
        );
        for (names, description) in formula.parameters() {
            let _ = write!(list, "\n      {names}: {description}");
        }
        let trec_eval: Vec<&str> = formula.trec_eval_names().collect();
        if !trec_eval.is_empty() {
            let _ = write!(list, "\n      trec_eval: {}", trec_eval.join(", "));
        }
        list.push('\n');
    }
    let preferences = PreferenceMeasure::ALL.map(PreferenceMeasure::name);
    format!(
        "{list}\n{LEGEND}\n\nPreferences (-R prefs, -R qrels_prefs):\n  {}",
        preferences.join(" ")
    )
}

const LEGEND: &str = "\
Parameters follow the name, as in RBP(p=0.95) or nDCG(dcg='exp-log2')@10. Those
of many measures:
  @K                  cutoff, as in nDCG@10; in trec_eval's syntax ndcg_cut.10,
                      P.5,10
  (rel=N)             minimum grade of a relevant document, as in AP(rel=2)
  (judged_only=True)  unjudged documents are removed first

Sets of measures: official (the default), all_trec, set; qrels_jg with -R
qrels_jg (map_avgjg, P_avgjg, Rprec_mult_avgjg); prefs and all_prefs with -R
prefs. Texts: runid, relstring.";
