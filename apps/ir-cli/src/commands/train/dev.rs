//! Validation set of `ir train` and `ir train-reranker`.

use std::collections::HashSet;
use std::sync::Arc;

use anyhow::Result;
use ir_core::training::TrainingSet;
use ir_core::{
    DocFilter, DocIds, DocNum, Encoded, Encoder, Qrels, Query, Retriever, Run, Search, Side,
    YearCheck, Years,
};
use ir_data::training::DocumentTexts;
use ir_data::{Collection, TextEncoding};
use ir_dense::{BiEncoder, SparseEncoder};
use ir_eval::{Evaluator, Measure};
use ir_knn::{EncodedSparse, FlatIndex, VectorSimilarity};
use serde_json::json;

use super::options::{CommonOptions, EvaluationOptions};
use crate::shared::console::{Console, bail_usage};
use crate::shared::encoder::similarity;
use crate::shared::filter::warn_of_years;
use crate::shared::input::{fingerprint, open_documents};
use crate::shared::training_runs::values::Evaluation;

const DEPTH: usize = 1000;

pub(super) struct DevSet {
    pub(super) texts: Arc<DocumentTexts>,
    template: String,
    queries: Vec<Query>,
    qrels: Qrels,
    measure: Measure,
    remove_self: bool,
    /// Years of the documents, with `--not-later-than-query`.
    years: Option<Years>,
}

impl DevSet {
    pub(super) fn read(args: &CommonOptions, dev: &str, console: &Console) -> Result<Self> {
        let options = &args.evaluation;
        let documents = open_documents(dev, TextEncoding::Utf8, console)?;
        let collection = &documents.collection;
        if collection.splits().is_empty() {
            bail_usage!("--dev: expected a collection with judged queries, found {dev}");
        }
        let queries = options
            .query_form
            .apply(collection.queries(&options.dev_split)?)?;
        let template = args.examples.template.as_ref();
        let texts = documents.texts(template)?;
        let years = if options.not_later_than_query {
            warn_of_years(&queries, console);
            Some(years(collection, &texts, console)?)
        } else {
            None
        };
        Ok(Self {
            queries,
            qrels: collection.qrels(&options.dev_split)?,
            texts: Arc::new(texts),
            template: documents.template(template)?.to_string(),
            measure: options.measure,
            remove_self: options.remove_self,
            years,
        })
    }

    /// Everything that determines the evaluation, recorded beside the checkpoints.
    pub(super) fn evaluation(&self, args: &EvaluationOptions, every: Option<u64>) -> Evaluation {
        let ids = self.texts.ids();
        let documents = (0..ids.len() as u32)
            .map(DocNum::new)
            .flat_map(|doc| [ids.id(doc), self.texts.text(doc)]);
        let queries = self.queries.iter().flat_map(|query| {
            let judged = self.qrels.get(&query.id).into_iter().flatten();
            let grades = judged.flat_map(|(doc, grade)| [doc.to_owned(), grade.to_string()]);
            [query.id.clone(), query.text.clone()]
                .into_iter()
                .chain(grades)
        });
        vec![
            ("collection", json!(args.dev)),
            ("split", json!(args.dev_split)),
            ("measure", json!(self.measure.to_string())),
            ("template", json!(self.template)),
            ("query_form", json!(args.query_form.to_string())),
            ("remove_self", json!(self.remove_self)),
            ("not_later_than_query", json!(self.years.is_some())),
            // Number of steps between evaluations; null is one epoch.
            ("every", json!(every)),
            (
                "contents",
                json!(fingerprint([fingerprint(documents), fingerprint(queries)])),
            ),
        ]
    }

    /// Number of validation queries that are also training queries.
    pub(super) fn overlap(&self, data: &dyn TrainingSet) -> Result<usize> {
        let texts: HashSet<&str> = self.queries.iter().map(|query| query.text.trim()).collect();
        let mut seen = HashSet::new();
        for index in 0..data.len() {
            let example = data.get(index)?;
            seen.extend(texts.get(example.query.trim()).copied());
        }
        Ok(seen.len())
    }

    pub(super) fn queries(&self) -> &[Query] {
        &self.queries
    }

    /// First record of every document, which is the one that is searched.
    pub(super) fn documents(&self) -> impl Iterator<Item = (&str, &str)> {
        let firsts = first_records(self.texts.ids()).into_iter();
        firsts.map(|doc| (self.texts.ids().id(doc), self.texts.text(doc)))
    }

    /// Measure of an encoder, by exact search of its vectors.
    pub(super) fn evaluate(&self, encoder: &BiEncoder) -> Result<f64> {
        let (ids, texts): (Vec<&str>, Vec<&str>) = self.documents().unzip();
        let vectors = encoder.encode(Side::Document, &texts)?;
        let similarity: VectorSimilarity = similarity(encoder.similarity());
        let ids: DocIds = ids.into_iter().collect();
        let index = FlatIndex::from_row_major(ids, encoder.dim(), vectors, similarity)?;
        let run = self.search(&Encoded::new(encoder, index), DEPTH)?;
        self.score(&run)
    }

    /// Measure of a learned sparse encoder, by exact search of its vectors.
    pub(super) fn evaluate_sparse(&self, encoder: &SparseEncoder) -> Result<f64> {
        let (ids, texts): (Vec<&str>, Vec<&str>) = self.documents().unzip();
        let ids: DocIds = ids.into_iter().collect();
        let similarity = VectorSimilarity::InnerProduct;
        let index = EncodedSparse::build(encoder, ids, &texts, similarity)?;
        self.score(&self.search(&index, DEPTH)?)
    }

    /// Searches all queries. The retriever has the numbers of [`DevSet::documents`].
    pub(super) fn search<R>(&self, retriever: &R, depth: usize) -> Result<Run>
    where
        R: Retriever<Query = str>,
    {
        let ids = retriever.ids();
        let filter = |query: &Query| {
            let years = self.years.as_ref();
            let time = years.map(|years| years.not_later_than(query.attributes.year()));
            let own = ids.get(&query.id).filter(|_| self.remove_self);
            (time.is_some() || own.is_some()).then_some(move |doc: DocNum| {
                own != Some(doc) && time.is_none_or(|time| time.contains(doc))
            })
        };
        let filters: Vec<_> = self.queries.iter().map(filter).collect();
        let run = Run::from_retriever_with("dev", retriever, &self.queries[..], |n, _| {
            let search = Search::top(depth);
            let filter = filters[n].as_ref();
            filter.map_or(search, |filter| search.within(filter))
        });
        Ok(run?)
    }

    /// Mean of the measure of a run.
    pub(super) fn score(&self, run: &Run) -> Result<f64> {
        let report = Evaluator::new(&self.qrels, &[self.measure])?.evaluate(run)?;
        let values = report.values(self.measure).into_iter().flatten();
        let (sum, count) =
            values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
        Ok(sum / f64::max(count, 1.0))
    }
}

fn first_records(ids: &DocIds) -> Vec<DocNum> {
    (0..ids.len() as u32)
        .map(DocNum::new)
        .filter(|&doc| ids.get(ids.id(doc)) == Some(doc))
        .collect()
}

/// Years of the documents with these texts. Warns about invalid years, and if no document has one.
fn years(collection: &Collection, texts: &DocumentTexts, console: &Console) -> Result<Years> {
    let mut check = YearCheck::default();
    let documents = collection.corpus().docs()?;
    let years = documents.map(|doc| {
        let attributes = doc?.attributes;
        check.add(&attributes);
        Ok(attributes.year())
    });
    let years = years.collect::<Result<Years>>()?;
    for warning in check.warnings(["document", "documents"]) {
        console.warn(warning);
    }
    let firsts = first_records(texts.ids()).into_iter();
    Ok(firsts.map(|doc| years.get(doc)).collect())
}
