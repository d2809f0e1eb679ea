//! Dataset recommendation: given a research idea in a sentence or in keyphrases, which datasets
//! would it use? Every system of this project, judged as the DataFinder paper (ACL 2023) judges,
//! beside the paper's own figures.
//!
//! Runs on the bundled collection, or on the real one when `IR_DATA` holds it.

use std::io::Write;

use anyhow::Result;
use datafinder::encoders::Encoders;
use datafinder::table::{self, Table};
use datafinder::task::{MEASURES, TimeFilter, in_keyphrases, recommend, training};
use datafinder::systems;
use ir_core::{Query, Run};
use ir_data::catalogue::Catalogue;
use ir_eval::{Evaluator, Measure, Report, Rules, Ties};

fn main() -> Result<()> {
    let catalogue = Catalogue::from_env();
    let real = catalogue.has("datafinder")?;
    let collection = catalogue.open(if real { "datafinder" } else { "bundled" })?;
    let sentences = collection.queries("test")?;
    let keyphrases: Vec<Query> = sentences.iter().map(in_keyphrases).collect();
    let qrels = collection.qrels("test")?;
    let index = systems::bm25_index(&collection)?;
    let encoders = Encoders::open(&collection, real)?;
    let documents = index.ids().len();
    let mut table = Table::default();
    table.line(&format!(
        "{}: {documents} datasets, {} judged queries",
        collection.name(),
        sentences.len()
    ));
    table.line("");

    // Equal scores keep the order in which the system listed them.
    let rules = Rules {
        ties: Ties::RunOrder,
        ..Rules::default()
    };
    let evaluator = Evaluator::with_rules(&qrels, &MEASURES, rules)?;
    let [in_sentences, in_phrases] = training(&collection)?;
    let mut best: Option<(Run, Report)> = None;
    for (form, queries, training, paper) in [
        (
            "full sentences",
            &sentences,
            in_sentences,
            &table::PAPER_SENTENCES,
        ),
        (
            "keyphrases",
            &keyphrases,
            in_phrases,
            &table::PAPER_KEYPHRASES,
        ),
    ] {
        let systems = systems::all(&index, &training)?;
            let systems: Vec<_> = systems
            .into_iter()
            .chain(encoders.systems(&training)?)
            .collect();
        table.head(form);
        for system in &systems {
            for filter in [TimeFilter::None, TimeFilter::Published, TimeFilter::Exact] {
                if filter == TimeFilter::Published && system.raw.is_none() {
                    continue;
                }
                let run = recommend(system, queries, filter)?;
                let report = evaluator.evaluate(&run)?;
                table.row(system.name, filter.label(), &report)?;
                let exact_sentences = form == "full sentences" && filter == TimeFilter::Exact;
                let mean = |report: &Report| report.summary(Measure::AP).unwrap_or(0.0);
                if exact_sentences && best.as_ref().is_none_or(|(_, b)| mean(&report) > mean(b)) {
                    best = Some((run, report));
                }
            }
        }
        table.paper(paper, real);
    }
    table.line(if real {
        table::NOTE_REAL
    } else {
        table::NOTE_BUNDLED
    });
    table.line(encoders.note);
    if let Some(best) = best {
        table.worst_and_best(&best, &sentences, &qrels, &index)?;
    }
    std::io::stdout().write_all(table.text.as_bytes())?;
    Ok(())
}
