//! Dataset recommendation: which datasets fit a research idea, given as a sentence or as
//! keyphrases? BM25, kNN over training queries and bi-encoders, evaluated as in the DataFinder
//! paper (ACL 2023), beside the paper's scores.
//!
//! Runs on the bundled collection, or on the real one if it is in `IR_DATA`.

use std::io::Write;

use anyhow::Result;
use datafinder::encoders::Encoders;
use datafinder::systems;
use datafinder::table::{self, Table};
use datafinder::task::{MEASURES, TimeFilter, in_keyphrases, recommend, training};
use ir_core::{Query, Run};
use ir_data::catalog::Catalog;
use ir_eval::{Evaluator, Measure, Report, Rules, TieBreak};

fn main() -> Result<()> {
    let catalog = Catalog::from_env();
    let real = catalog.has("datafinder")?;
    let collection = catalog.open(if real { "datafinder" } else { "bundled" })?;
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

    // Ties keep the order of the run.
    let rules = Rules {
        ties: TieBreak::RunOrder,
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
