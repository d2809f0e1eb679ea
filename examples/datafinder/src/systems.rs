//! The systems of the experiment. Push a retriever in [`all`] to add it to the table.

use anyhow::Result;
use ir_bm25::analysis::QueryCleaning;
use ir_bm25::{
    BlankDocs, Bm25, DocOrder, DuplicateIds, Index, IndexConfig, IndexedFields, StoredFields,
};
use ir_core::{Distinct, DocIds, NoProgress, Retriever, Rewritten, SearchError, Years};
use ir_data::Collection;
use ir_knn::{DocFrequency, TfidfConfig, TrainingQuery, TrainingQueryKnn, TrainingQueryKnnConfig};
use ir_studies::datafinder::lexicographic_row_order;

/// A named retriever and its document years.
pub struct System<'i> {
    /// Name in the table.
    pub name: &'static str,
    /// Retriever that returns every dataset once.
    pub distinct: Box<dyn Retriever<Query = str> + 'i>,
    /// Retriever with duplicate ids, for the published procedure; `None` for systems to which the
    /// paper does not apply it.
    pub raw: Option<Box<dyn Retriever<Query = str> + 'i>>,
    /// Year of each document number.
    pub years: Years,
}

/// Builds the index of the paper's BM25: descriptions only (titles are stored, not indexed),
/// records without a description skipped, duplicate ids kept, ties in lexicographic order of the
/// row number.
pub fn bm25_index(collection: &Collection) -> Result<Index> {
    let config = IndexConfig::default()
        .with_fields(IndexedFields::TextOnly)
        .with_blank(BlankDocs::Drop)
        .with_duplicates(DuplicateIds::Keep)
        .with_order(DocOrder::Insertion)
        .with_store(StoredFields::Everything);
    let records = lexicographic_row_order(collection.corpus())?;
    Ok(Index::build(&records, &config, &mut NoProgress)?)
}

/// kNN over training queries whose texts, and those of test queries, are cleaned.
pub type CleanedKnn = Rewritten<TrainingQueryKnn, fn(&str) -> Result<String, SearchError>>;

/// Cleaning of queries for kNN, as in the paper: no punctuation, no stop words.
fn cleaned(text: &str) -> String {
    QueryCleaning::datafinder().clean(text)
}

/// kNN over training queries with the paper's cleaning of queries (no punctuation, no stop words)
/// and TF-IDF (document frequency of at least 2). Datasets outside of the collection are ignored.
pub fn knn(
    training: &[TrainingQuery],
    ids: DocIds,
    config: TrainingQueryKnnConfig,
) -> Result<CleanedKnn> {
    let mut training = training.to_vec();
    for query in &mut training {
        query.text = cleaned(&query.text);
    }
    let tfidf = TfidfConfig::default().with_min_df(DocFrequency::Count(2));
    let config = config.skip_unknown_documents();
    let knn = TrainingQueryKnn::tfidf(ids, training, &tfidf, &config)?;
    Ok(Rewritten::new(knn, |text| Ok(cleaned(text))))
}

/// All systems that need no encoder. `training` has the same form as the test queries.
pub fn all<'i>(index: &'i Index, training: &[TrainingQuery]) -> Result<Vec<System<'i>>> {
    let bm25 = || index.searcher(Bm25::DATAFINDER);
    let years = index.years().of_first_record(index.ids());
    let ids = index.ids().iter().collect();
    let knn = knn(training, ids, TrainingQueryKnnConfig::default())?;
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
