//! The experiment: every system, in both query forms and with every time filter.

use anyhow::Result;
use ir_core::Query;
use ir_data::Collection;
use ir_eval::{Evaluator, Measure, Rules, TieBreak};

use crate::encoders::Encoders;
use crate::systems;
use crate::table::{self, SystemRow, Table};
use crate::task::{MEASURES, TimeFilter, in_keyphrases, recommend, training};

/// Runs the experiment and returns the table with its notes, and the worst and the best query.
pub fn run(collection: &Collection) -> Result<String> {
    let real = collection.name() != "bundled";
    let sentences = collection.queries("test")?;
    let keyphrases: Vec<Query> = sentences.iter().map(in_keyphrases).collect();
    let qrels = collection.qrels("test")?;
    let index = systems::bm25_index(collection)?;
    let encoders = if real {
        None
    } else {
        Some(Encoders::train(collection, &index)?)
    };
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
    let [in_sentences, in_phrases] = training(collection)?;
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
        let mut systems = systems::all(&index, &training)?;
        if let Some(encoders) = &encoders {
            systems.extend(encoders.systems(&index, &training)?);
        }
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
    table.line(encoders.as_ref().map_or(NOTE_NO_ENCODERS, |it| &it.note));
    if let Some(best) = best {
        table.worst_and_best(&best, &sentences, &qrels, &index)?;
    }
    Ok(table.text)
}

const NOTE_NO_ENCODERS: &str = "
The rows of encoders, off the shelf and fine-tuned: `ir run experiments/datafinder-encoders.toml`.";
