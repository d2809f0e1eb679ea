//! Dataset recommendation: given a research idea in a sentence or in keyphrases, which datasets
//! would it use? Every system of this project, judged as the DataFinder paper (ACL 2023) judges,
//! beside the paper's own figures.
//!
//! Runs on the bundled collection, or on the real one when `IR_DATA` holds it.

mod systems;
mod table;

use anyhow::Result;
use ir::core::{
    DocFilter, NotLaterThan, Query, Ranking, Retriever, Run, Search, Years, compat, name,
};
use ir::data::catalogue::Catalogue;
use ir::eval::{Evaluator, Measure, Report, Rules, Ties};
use systems::System;

/// The paper hands in five datasets per query.
const LIMIT: usize = 5;

/// P@5, R@5, MAP and MRR, over all judged queries.
const MEASURES: [Measure; 4] = [Measure::P.at(5), Measure::R.at(5), Measure::AP, Measure::RR];

/// A dataset that came out after the query's paper cannot have been used by it.
#[derive(Clone, Copy, PartialEq)]
enum TimeFilter {
    /// Left alone.
    None,
    /// As the published code does it: 25 hits, filtered afterwards, with its stop rule.
    Published,
    /// Exactly: the five best among the datasets that are old enough.
    Exact,
}

fn main() -> Result<()> {
    let catalogue = Catalogue::from_env();
    let real = catalogue.has("datafinder");
    let collection = catalogue.open(if real { "datafinder" } else { "bundled" })?;
    let sentences = collection.queries("test")?;
    let keyphrases: Vec<Query> = sentences.iter().map(in_keyphrases).collect();
    let qrels = collection.qrels("test")?;
    let index = systems::bm25_index(&collection)?;
    // Some datasets have two records; they have one year.
    let years = index.years().of_first_record(index.ids());
    let documents = index.ids().len();
    println!(
        "{}: {documents} datasets, {} judged queries\n",
        collection.name(),
        sentences.len()
    );

    // Equal scores keep the order in which the system listed them.
    let rules = Rules {
        ties: Ties::RunOrder,
        ..Rules::default()
    };
    let evaluator = Evaluator::with_rules(&qrels, &MEASURES, rules)?;
    let systems = systems::all(&index)?;
    let mut best: Option<(Run, Report)> = None;
    for (form, queries, paper) in [
        ("full sentences", &sentences, &table::PAPER_SENTENCES),
        ("keyphrases", &keyphrases, &table::PAPER_KEYPHRASES),
    ] {
        table::head(form);
        for system in &systems {
            for filter in [TimeFilter::None, TimeFilter::Published, TimeFilter::Exact] {
                if filter == TimeFilter::Published && system.raw.is_none() {
                    continue;
                }
                let run = recommend(system, queries, &years, filter)?;
                let report = evaluator.evaluate(&run)?;
                table::row(system.name, filter.label(), &report, &MEASURES)?;
                let exact_sentences = form == "full sentences" && filter == TimeFilter::Exact;
                let mean = |report: &Report| report.summary(Measure::AP).unwrap_or(0.0);
                if exact_sentences && best.as_ref().is_none_or(|(_, b)| mean(&report) > mean(b)) {
                    best = Some((run, report));
                }
            }
        }
        table::paper(paper, real);
        println!();
    }
    println!(
        "{}",
        if real {
            table::NOTE_REAL
        } else {
            table::NOTE_BUNDLED
        }
    );
    if let Some((run, report)) = best {
        table::worst_and_best(&run, &report, &sentences, &qrels);
    }
    Ok(())
}

impl TimeFilter {
    fn label(self) -> &'static str {
        match self {
            Self::None => "no time filter",
            Self::Published => "published filter",
            Self::Exact => "exact time filter",
        }
    }
}

/// The same query with its keyphrase form for text.
fn in_keyphrases(query: &Query) -> Query {
    let mut other = query.clone();
    other.text = query
        .attributes
        .text(name::KEYPHRASES)
        .unwrap_or_default()
        .to_owned();
    other
}

/// Five datasets for every query.
fn recommend(
    system: &System<'_>,
    queries: &[Query],
    years: &Years,
    filter: TimeFilter,
) -> Result<Run> {
    let filters: Vec<NotLaterThan<'_>> = queries
        .iter()
        .map(|query| years.not_later_than(query.attributes.year()))
        .collect();
    let plain = |k| {
        queries
            .iter()
            .map(|query| (query.text.as_str(), Search::top(k)))
            .collect()
    };
    let rankings: Vec<Ranking> = match (filter, &system.raw) {
        (TimeFilter::None, _) => {
            let batch: Vec<_> = plain(LIMIT);
            system.distinct.search_batch(&batch)?
        }
        (TimeFilter::Published, Some(raw)) => {
            let batch: Vec<_> = plain(compat::datafinder_depth(LIMIT));
            let hits = raw.search_batch(&batch)?;
            let walk = |(hits, filter)| compat::datafinder_walk(hits, raw.ids(), filter, LIMIT);
            hits.iter()
                .zip(filters.iter().map(|f| f as &dyn DocFilter))
                .map(walk)
                .collect()
        }
        _ => {
            let filtered = queries.iter().zip(&filters);
            let batch: Vec<_> = filtered
                .map(|(q, f)| (q.text.as_str(), Search::top(LIMIT).within(f)))
                .collect();
            system.distinct.search_batch(&batch)?
        }
    };
    let mut run = Run::new(system.name);
    for (query, ranking) in queries.iter().zip(&rankings) {
        run.push_ranking(&query.id, ranking, system.distinct.ids());
    }
    Ok(run)
}
