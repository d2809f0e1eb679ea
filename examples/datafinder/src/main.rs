//! Dataset recommendation: which datasets fit a research idea, given as a sentence or as
//! keyphrases? BM25, kNN over training queries, bi-encoders and a hybrid, evaluated as in the
//! DataFinder paper (ACL 2023), beside the paper's scores.
//!
//! Runs on the bundled collection, or on the real one if it is in `IR_DATA`.

use std::io::Write;

use anyhow::Result;
use datafinder::encoders::Encoders;
use datafinder::systems;
use datafinder::table::{self, SystemRow, Table};
use datafinder::task::{MEASURES, TimeFilter, in_keyphrases, recommend, training};
use ir_core::Query;
use ir_data::catalog::Catalog;
use ir_eval::{Evaluator, Measure, Rules, TieBreak};

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
    let mut best: Option<SystemRow> = None;
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
        let systems = systems
            .into_iter()
            .chain(encoders.systems(&index, &training)?);
        let mut rows = Vec::new();
        for system in systems {
            for filter in [TimeFilter::None, TimeFilter::Published, TimeFilter::Exact] {
                if filter == TimeFilter::Published && system.raw.is_none() {
                    continue;
                }
                let run = recommend(&system, queries, filter)?;
                let report = evaluator.evaluate(&run)?;
                rows.push(SystemRow {
                    filter,
                    run,
                    report,
                });
            }
        }
        table.systems(form, &rows)?;
        table.paper(paper, real);
        if form == "full sentences" {
            let mean = |row: &SystemRow| row.report.summary(Measure::AP).unwrap_or(0.0);
            let exact = rows
                .into_iter()
                .filter(|row| row.filter == TimeFilter::Exact);
            best = exact.max_by(|a, b| mean(a).total_cmp(&mean(b)));
        }
    }
    table.line(table::NOTE_SIGNIFICANCE);
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
