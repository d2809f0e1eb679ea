//! Popularity known at the time of a query, beside today's: how much of its gain comes from the
//! future.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use anyhow::Result;
use ir_core::fusion::{DocumentPrior, WeightedSum};
use ir_core::training::HeldOut;
use ir_core::{Distinct, Document, Encoded, Encoder, Query, Retriever, Run, Search, Side};
use ir_eval::Measure;
use ir_knn::{FlatIndex, VectorSimilarity};

use crate::experiment::{System, TestQueries, years};
use crate::models::{Model, Representation};
use crate::sources::Sources;

/// Texts that are counted as uses of a dataset.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum CountedTexts {
    /// All texts, of all years.
    All,
    /// Texts with a year, of all years.
    Dated,
    /// Random texts of all years, about as many as [`CountedTexts::BeforeQuery`] counts.
    Sampled,
    /// Texts with a year up to the year before the query.
    BeforeQuery,
}

impl CountedTexts {
    pub(crate) const ALL: [Self; 4] = [Self::All, Self::Dated, Self::Sampled, Self::BeforeQuery];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::All => "all texts, all years",
            Self::Dated => "dated texts, all years",
            Self::Sampled => "as many random dated texts",
            Self::BeforeQuery => "dated texts, before the query",
        }
    }

    /// Number of counted texts that use a dataset, for a query of a year. Without a year, the count
    /// of all years.
    pub(crate) fn uses(self, sources: &Sources, dataset: &str, year: Option<i64>) -> u64 {
        match (self, year) {
            (Self::All, _) => sources.uses.total(dataset),
            (Self::BeforeQuery, Some(year)) => sources.uses.before(dataset, year),
            (Self::Sampled, Some(year)) => {
                let sampled = HeldOut {
                    fraction: sources.proportion_before(year),
                    seed: 42,
                };
                let texts = (0..sources.uses.dated(dataset)).map(|n| format!("{dataset} {n}"));
                texts.filter(|text| sampled.contains(text)).count() as u64
            }
            (_, _) => sources.uses.dated(dataset),
        }
    }
}

/// System without popularity, and the weights of log(1 + uses) to add to its scores.
pub(crate) struct Base<'a> {
    pub(crate) name: &'static str,
    pub(crate) system: &'a dyn Retriever<Query = str>,
    pub(crate) weights: &'a [f32],
}

/// Prints MAP of each base with each prior, for both forms of the test queries.
pub(crate) fn print_priors(
    forms: &[TestQueries<'_>; 2],
    bases: &[Base<'_>],
    sources: &Sources,
    datasets: &[Document],
) -> Result<()> {
    let forms = forms.iter().zip(["full sentences", "keyphrases"]);
    for ((form, name), base) in forms.flat_map(|form| bases.iter().map(move |base| (form, base))) {
        println!("{name}");
        let weights = base.weights.iter().map(|weight| format!("{weight:>7}"));
        let weights: String = weights.collect();
        println!("  {:<34}{weights}", format!("{} + weight ·", base.name));
        for texts in CountedTexts::ALL {
            let mut line = format!("    {:<32}", texts.name());
            for &weight in base.weights {
                let map = map_with_prior(form, base.system, weight, texts, sources, datasets)?;
                line += &format!("{map:>7.2}");
            }
            println!("{line}");
        }
    }
    Ok(())
}

/// MAP × 100 of a system with the prior weight · log(1 + uses), by the texts that count as uses.
fn map_with_prior(
    form: &TestQueries<'_>,
    system: &dyn Retriever<Query = str>,
    weight: f32,
    texts: CountedTexts,
    sources: &Sources,
    datasets: &[Document],
) -> Result<f64> {
    let report = form.evaluate_by_year("prior", |year| {
        let uses = datasets.iter().map(|dataset| {
            let uses = texts.uses(sources, &dataset.id, year) as f32;
            (dataset.id.as_str(), uses.ln_1p())
        });
        let parts: [(System<'_>, f32); 2] = [
            (Box::new(system), 1.0),
            (Box::new(DocumentPrior::new(uses)?), weight),
        ];
        let sum: System<'_> = Box::new(WeightedSum::new(parts)?);
        Ok(sum)
    })?;
    Ok(100.0 * report.summary(Measure::AP).unwrap_or(0.0))
}

/// Prints MAP of an encoder whose representations begin with the sentence about popularity, by the
/// texts that the sentence counts.
pub(crate) fn print_sentences(
    forms: &[TestQueries<'_>; 2],
    model: &Model,
    sources: &Sources,
    datasets: &[Document],
) -> Result<()> {
    let mut vectors: HashMap<String, Vec<f32>> = HashMap::new();
    println!("  MAP × 100 with the sentence, sentences and keyphrases");
    for texts in CountedTexts::ALL {
        let mut line = format!("    {:<32}", texts.name());
        for form in forms {
            let report = form.evaluate_by_year("sentence", |year| {
                let texts: Vec<String> = datasets
                    .iter()
                    .map(|dataset| {
                        let uses = texts.uses(sources, &dataset.id, year);
                        Representation::Uses.text(dataset, uses)
                    })
                    .collect();
                let unknown: BTreeSet<&str> = texts.iter().map(String::as_str).collect();
                let unknown = unknown.into_iter().filter(|it| !vectors.contains_key(*it));
                let unknown: Vec<&str> = unknown.collect();
                for some in unknown.chunks(256) {
                    let rows = model.encoder.encode(Side::Document, some)?;
                    for (text, row) in some.iter().zip(rows.chunks(model.encoder.dim())) {
                        vectors.insert((*text).to_owned(), row.to_vec());
                    }
                }
                let rows: Vec<f32> = texts
                    .iter()
                    .flat_map(|text| vectors[text].clone())
                    .collect();
                let (ids, dim) = (model.index.ids().clone(), model.encoder.dim());
                let index = FlatIndex::from_row_major(ids, dim, rows, VectorSimilarity::Cosine)?;
                let system: System<'_> = Box::new(Distinct(Encoded::new(&*model.encoder, index)));
                Ok(system)
            })?;
            let map = 100.0 * report.summary(Measure::AP).unwrap_or(0.0);
            line += &format!("{map:>7.2}");
        }
        println!("{line}");
    }
    Ok(())
}

impl TestQueries<'_> {
    /// Evaluates a system that depends on the year of the query: five datasets per query, none
    /// newer than the query's paper.
    pub(crate) fn evaluate_by_year<'s>(
        &self,
        tag: &str,
        mut system: impl FnMut(Option<i64>) -> Result<System<'s>>,
    ) -> Result<ir_eval::Report> {
        let mut by_year: BTreeMap<Option<i64>, Vec<&Query>> = BTreeMap::new();
        for query in &self.queries {
            by_year
                .entry(query.attributes.year())
                .or_default()
                .push(query);
        }
        let mut run = Run::new(tag);
        for (year, queries) in by_year {
            let system = system(year)?;
            let years = years(&*system, self.datasets);
            let filter = years.not_later_than(year);
            let search = Search::top(5).within(&filter);
            let batch: Vec<(&str, Search<'_>)> = queries
                .iter()
                .map(|query| (query.text.as_str(), search))
                .collect();
            for (query, ranking) in queries.iter().zip(system.search_batch(&batch)?) {
                run.push_ranking(&query.id, &ranking, system.ids());
            }
        }
        Ok(self.evaluator.evaluate(&run)?)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::print_stderr)]

    use ir_bm25::Bm25;
    use ir_data::catalog::Catalog;

    use super::*;
    use crate::experiment::Inputs;

    /// Judgments that no system can satisfy: datasets newer than the query, and unknown ones.
    #[test]
    fn judgments_out_of_reach() {
        let catalog = Catalog::from_env();
        if !catalog.has("datafinder").unwrap() {
            eprintln!("skipped: IR_DATA does not contain datafinder");
            return;
        }
        let collection = catalog.open("datafinder").unwrap();
        let datasets =
            ir_studies::datafinder::lexicographic_row_order(collection.corpus()).unwrap();
        let mut years: HashMap<&str, Option<i64>> = HashMap::new();
        for dataset in &datasets {
            years
                .entry(&dataset.id)
                .or_insert_with(|| dataset.attributes.year());
        }
        let qrels = collection.qrels("test").unwrap();
        let (mut newer, mut unknown) = (0, 0);
        for query in collection.queries("test").unwrap() {
            for (dataset, _) in qrels.get(&query.id).unwrap().iter() {
                match years.get(dataset) {
                    None => unknown += 1,
                    Some(year) => newer += usize::from(*year > query.attributes.year()),
                }
            }
        }
        assert_eq!((qrels.judgments(), newer, unknown), (1_043, 73, 5));
    }

    /// The table of the README at the best weight of each row: popularity known at the time of a
    /// query gains less than that of all years, and more than as many random texts.
    #[test]
    fn popularity_known_at_the_time() {
        let catalog = Catalog::from_env();
        if !catalog.has("datafinder").unwrap() {
            eprintln!("skipped: IR_DATA does not contain datafinder");
            return;
        }
        let inputs = Inputs::read(&catalog).unwrap();
        let (sources, datasets) = (&inputs.sources, &inputs.datasets);
        assert_eq!((sources.training.len(), sources.held_out.len()), (815, 200));
        let ids: BTreeSet<&str> = datasets.iter().map(|it| it.id.as_str()).collect();
        let mentions = ids.iter().fold((0, 0), |(dated, all), id| {
            (dated + sources.uses.dated(id), all + sources.uses.total(id))
        });
        assert_eq!(mentions, (1_089, 4_359));
        let evaluator = inputs.evaluator().unwrap();
        let index = datafinder::systems::bm25_index(&inputs.collection).unwrap();
        let bm25 = Distinct(index.searcher(Bm25::DATAFINDER).unwrap());
        let without = [8.33, 11.63];
        // Best weight and its MAP, in the order of `CountedTexts::ALL`.
        let best = [
            [(1.5, 18.98), (2.0, 17.79), (3.0, 11.39), (3.0, 13.60)],
            [(1.0, 24.72), (1.0, 22.71), (1.5, 15.68), (1.0, 18.14)],
        ];
        for ((form, without), best) in inputs.forms(&evaluator).iter().zip(without).zip(best) {
            let map = |texts, weight| {
                map_with_prior(form, &bm25, weight, texts, sources, datasets).unwrap()
            };
            let mut maps = Vec::new();
            for (texts, (weight, expected)) in CountedTexts::ALL.into_iter().zip(best) {
                let found = map(texts, weight);
                assert!(
                    (found - expected).abs() <= 0.005 + 1e-9,
                    "{}: found {found}, expected {expected}",
                    texts.name()
                );
                let unweighted = map(texts, 0.0);
                assert!((unweighted - without).abs() <= 0.005 + 1e-9, "{unweighted}");
                maps.push(found);
            }
            assert!(without < maps[2] && maps[2] < maps[3] && maps[3] < maps[1]);
        }
    }
}
