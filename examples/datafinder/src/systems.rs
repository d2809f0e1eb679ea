//! The systems that take part. A new retriever joins the table by being pushed to [`all`].

use anyhow::Result;
use ir_bm25::{Blank, Bm25, DocOrder, Duplicates, Fields, Index, IndexConfig, Store};
use ir_core::{Distinct, DocIds, NLTK_STOP_WORDS, NoProgress, Retriever, Years};
use ir_data::Collection;
use ir_data::datafinder::in_order_of_row_text;
use ir_knn::{DocFrequency, LabelledQueries, LabelledQueriesConfig, LabelledQuery, TfIdfConfig};

/// One competitor.
pub struct System<'i> {
    /// Its name in the table.
    pub name: &'static str,
    /// Returns every dataset once.
    pub distinct: Box<dyn Retriever<Query = str> + 'i>,
    /// The hits before repeated ids are dropped, for the published procedure; `None` for systems
    /// that the paper's lexical script did not run.
    pub raw: Option<Box<dyn Retriever<Query = str> + 'i>>,
    /// The years of its records; datasets with two have one.
    pub years: Years,
}

/// The index that the paper's BM25 searches: descriptions alone (titles were stored but not
/// searched), records without one left out, the few repeated ids kept, equal scores in the order
/// of an index whose ids are the rows.
pub fn bm25_index(collection: &Collection) -> Result<Index> {
    let config = IndexConfig::default()
        .with_fields(Fields::TextOnly)
        .with_blank(Blank::Drop)
        .with_duplicates(Duplicates::Keep)
        .with_order(DocOrder::Insertion)
        .with_store(Store::Everything);
    let records = in_order_of_row_text(collection.corpus())?;
    Ok(Index::build(&records, &config, &mut NoProgress)?)
}

/// The training queries and the datasets that their papers used, by TF-IDF as the paper has it:
/// without stop words, and without words of one query only. A label outside of the collection is
/// passed over.
pub fn knn(
    training: &[LabelledQuery],
    ids: DocIds,
    config: LabelledQueriesConfig,
) -> Result<LabelledQueries> {
    let tfidf = TfIdfConfig::default()
        .with_stop_words(NLTK_STOP_WORDS)
        .with_min_df(DocFrequency::Count(2));
    let config = config.skip_unknown();
    Ok(LabelledQueries::tfidf(
        ids,
        training.to_vec(),
        &tfidf,
        &config,
    )?)
}

/// Every system that needs no model. `training` is in the form of the queries that will be asked.
pub fn all<'i>(index: &'i Index, training: &[LabelledQuery]) -> Result<Vec<System<'i>>> {
    let bm25 = || index.searcher(Bm25::DATAFINDER);
    let years = index.years().of_first_record(index.ids());
    let ids = index.ids().iter().collect();
    let knn = knn(training, ids, LabelledQueriesConfig::default())?;
    Ok(vec![
        System {
            name: "BM25",
            distinct: Box::new(Distinct(bm25()?)),
            raw: Some(Box::new(bm25()?)),
            years: years.clone(),
        },
        System {
            name: "kNN (TF-IDF)",
            distinct: Box::new(knn),
            raw: None,
            years,
        },
    ])
}
