//! Search only what existed at the time: filters as part of the search, and why it matters.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for a terminal"
)]

use anyhow::Result;
use ir_bm25::{Bm25, Index, IndexConfig, Store};
use ir_core::{AllOf, DocFilter, NoProgress, Predicate, Ranking, Retriever, Search, compat};

fn main() -> Result<()> {
    let collection = ir_data::catalogue::open("bundled")?;
    let config = IndexConfig::default().with_store(Store::Attributes);
    let index = Index::build(collection.corpus(), &config, &mut NoProgress)?;
    let searcher = index.searcher(Bm25::ANSERINI)?;
    let query = "questions answered by combining several paragraphs";

    let show = |title: &str, ranking: &Ranking| -> Result<()> {
        println!("{title}");
        for hit in ranking {
            let year = index
                .attributes(hit.doc)?
                .year()
                .map_or("----".into(), |y| y.to_string());
            println!("  {year}  {:>7.3}  {}", hit.score, index.ids().id(hit.doc));
        }
        Ok(())
    };
    println!("query: {query}\n");
    show("the best five", &searcher.search(query, &Search::top(5))?)?;

    // A filter says which documents a search may return. A document without a year passes.
    let years = index.years();
    let by_2018 = years.not_later_than(Some(2018));
    let exact = searcher.search(query, &Search::top(5).within(&by_2018))?;
    show(
        "\nthe best five of 2018 or before; those of unknown year (----) pass",
        &exact,
    )?;

    // What many programs do instead: cut first, filter afterwards. It returns too few.
    let cut = compat::filter_after_cut(searcher.search(query, &Search::top(5))?, &by_2018);
    show("\nthe best five, filtered afterwards", &cut)?;

    // Filters combine, closures are filters, and conditions on attributes are values that can be
    // stored and sent.
    let known_year = index.select(&Predicate::Known {
        name: "year".into(),
    })?;
    let short_name = |doc| index.ids().id(doc).len() <= 10;
    let all = AllOf(vec![&by_2018, &known_year, &short_name]);
    show(
        "\n... whose year is known and whose name is at most 10 letters long",
        &searcher.search(query, &Search::top(5).within(&all))?,
    )?;
    println!(
        "\n{} of {} datasets state their year",
        known_year.count().unwrap_or(0),
        index.ids().len()
    );
    assert_eq!(exact.len(), 5, "a filtered search is as long as it can be");
    Ok(())
}
