//! Filters inside the search, and why post-filtering returns too few documents.

#![allow(clippy::print_stdout, reason = "a program for a terminal")]

use anyhow::Result;
use ir_bm25::{Bm25, Index, IndexConfig, StoredFields};
use ir_core::{AllOf, DocFilter, NoProgress, Predicate, Ranking, Retriever, Search};

fn main() -> Result<()> {
    let collection = ir_data::catalog::open("bundled")?;
    let config = IndexConfig::default().with_store(StoredFields::Attributes);
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
    show("top 5", &searcher.search(query, &Search::top(5))?)?;

    // A filter selects the documents a search may return. Documents without a year pass.
    let years = index.years();
    let by_2018 = years.not_later_than(Some(2018));
    let exact = searcher.search(query, &Search::top(5).within(&by_2018))?;
    show(
        "\ntop 5 of 2018 or before; documents without a year (----) pass",
        &exact,
    )?;

    // Post-filtering the truncated ranking returns too few documents.
    let post_filtered = searcher
        .search(query, &Search::top(5))?
        .retain(|hit| by_2018.contains(hit.doc));
    show("\ntop 5, post-filtered", &post_filtered)?;

    // Filters can be combined, closures are filters, and attribute predicates are serializable
    // values.
    let known_year = index.select(&Predicate::Known {
        name: "year".into(),
    })?;
    let short_name = |doc| index.ids().id(doc).len() <= 10;
    let all = AllOf(vec![&by_2018, &known_year, &short_name]);
    show(
        "\n... with a known year and a name of at most 10 letters",
        &searcher.search(query, &Search::top(5).within(&all))?,
    )?;
    println!(
        "\n{} of {} datasets have a year",
        known_year.count().unwrap_or(0),
        index.ids().len()
    );
    assert_eq!(
        exact.len(),
        5,
        "a filtered search returns k documents if that many pass"
    );
    Ok(())
}
