//! Hard negatives by BM25 on MAKG, and an encoder that learns fifty of its training queries by
//! heart.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::collections::HashSet;

use ir_bm25::{Bm25, DuplicateIds, Index, IndexConfig, IndexedFields};
use ir_core::training::mining::{MiningConfig, MiningQuery};
use ir_core::training::{TrainingExample, TrainingText};
use ir_core::{DocNum, Document, Encoder, NoProgress, Retriever, Search, Side};
use ir_data::catalog::Catalog;
use ir_data::{DocTemplate, TemplatedCorpus};
use ir_dense::train::{Trainer, TrainingConfig};
use ir_dense::{BiEncoder, RandomModel};

/// Titles of MAKG's datasets by document number of the index, and judged training queries.
struct Makg {
    index: Index,
    titles: Vec<String>,
    queries: Vec<(String, Vec<String>)>,
}

fn makg() -> Option<Makg> {
    let catalog = Catalog::from_env();
    if !catalog.has("makg").unwrap() {
        eprintln!("skipped: IR_DATA does not contain makg");
        return None;
    }
    let collection = catalog.open("makg").unwrap();
    let template: DocTemplate = "{title}".parse().unwrap();
    let corpus = TemplatedCorpus::new(collection.corpus(), &template);
    let documents: Vec<Document> = ir_core::Corpus::docs(&corpus)
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    let config = IndexConfig::default()
        .with_fields(IndexedFields::TextOnly)
        .with_duplicates(DuplicateIds::Reject);
    let index = Index::build(&documents, &config, &mut NoProgress).unwrap();
    let mut titles = vec![String::new(); documents.len()];
    for document in documents {
        titles[index.ids().get(&document.id).unwrap().index()] = document.text;
    }
    let qrels = collection.qrels("train").unwrap();
    let queries = collection.queries("train").unwrap().into_iter();
    let queries = queries.map(|query| {
        let judged = qrels.get(&query.id).unwrap();
        let positives = judged.iter().map(|(id, _)| id.to_owned()).collect();
        (query.text, positives)
    });
    let queries: Vec<(String, Vec<String>)> = queries.collect();
    Some(Makg {
        index,
        titles,
        queries,
    })
}

/// Mined negatives are the first seven hits of BM25 that are no positives and no copies of one.
#[test]
fn hard_negatives_of_bm25() {
    let Some(makg) = makg() else { return };
    let bm25 = makg.index.searcher(Bm25::ANSERINI).unwrap();
    let positives: Vec<Vec<&str>> = (makg.queries.iter())
        .map(|(_, ids)| ids.iter().map(String::as_str).collect())
        .collect();
    let queries: Vec<MiningQuery<'_>> = (makg.queries.iter().zip(&positives))
        .map(|((text, _), positives)| MiningQuery {
            text,
            positives,
            within: None,
        })
        .collect();
    assert_eq!(queries.len(), 1132);
    let title = |doc: DocNum| Some(makg.titles[doc.index()].as_str());
    let mined = MiningConfig::DATAFINDER.mine(&bm25, &queries, &title);
    let mined = mined.unwrap();
    let (mut full, mut total) = (0, 0);
    for (query, mined) in queries.iter().zip(&mined) {
        let ranking = bm25.search(query.text, &Search::top(500)).unwrap();
        let numbers: HashSet<DocNum> = (query.positives.iter())
            .map(|id| makg.index.ids().get(id).unwrap())
            .collect();
        let copies: HashSet<_> = numbers.iter().map(|doc| title(*doc)).collect();
        let expected = ranking
            .iter()
            .filter(|hit| !copies.contains(&title(hit.doc)));
        let expected: Vec<_> = expected.take(7).copied().collect();
        assert_eq!(mined.hard, expected, "{}", query.text);
        total += expected.len();
        full += usize::from(expected.len() == 7);
    }
    // Other queries have fewer hits.
    assert_eq!((total, full), (6886, 865));
}

/// A small encoder with random weights ranks the dataset of each of fifty queries first, among all
/// datasets, after training on them with hard negatives.
#[test]
fn fifty_queries_are_learned_by_heart() {
    let Some(makg) = makg() else { return };
    let bm25 = makg.index.searcher(Bm25::ANSERINI).unwrap();
    let ids = makg.index.ids();
    let title = |doc: DocNum| Some(makg.titles[doc.index()].as_str());
    let mut seen = HashSet::new();
    let mut examples = Vec::new();
    let mut targets = Vec::new();
    let mining = MiningConfig {
        hard: 2,
        ..MiningConfig::DATAFINDER
    };
    for (text, positives) in &makg.queries {
        // One dataset per query, and one query per dataset.
        let [positive] = positives.as_slice() else {
            continue;
        };
        let doc = ids.get(positive).unwrap();
        if !seen.insert(title(doc)) {
            continue;
        }
        let query = MiningQuery {
            text,
            positives: &[positive],
            within: None,
        };
        let negatives = mining.mine(&bm25, &[query], &title).unwrap().remove(0);
        let text_of =
            |doc: DocNum| TrainingText::new(&*makg.titles[doc.index()]).with_id(ids.id(doc));
        let example = TrainingExample::new(text).positive(text_of(doc));
        let negatives = negatives.docs().map(text_of);
        examples.push(negatives.fold(example, TrainingExample::negative));
        targets.push(doc);
        if targets.len() == 50 {
            break;
        }
    }
    assert_eq!(targets.len(), 50);

    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("random");
    let texts = examples.iter().map(|example| &*example.query);
    let texts: Vec<&str> = texts
        .chain(makg.titles.iter().map(String::as_str))
        .collect();
    let model = RandomModel::default().with_shape(64, 1, 2);
    model.with_vocab_size(2000).create(&folder, &texts).unwrap();
    let first = |encoder: &BiEncoder| {
        let queries = examples.iter().map(|example| &*example.query);
        let queries: Vec<&str> = queries.collect();
        let titles: Vec<&str> = makg.titles.iter().map(String::as_str).collect();
        let queries = encoder.encode(Side::Query, &queries).unwrap();
        let titles = encoder.encode(Side::Document, &titles).unwrap();
        let targets = targets.iter().map(|target| &makg.titles[target.index()]);
        let found = queries.chunks(encoder.dim()).zip(targets);
        let found = found.filter(|(query, target)| {
            let scores = titles
                .chunks(encoder.dim())
                .map(|title| -> f32 { query.iter().zip(title).map(|(a, b)| a * b).sum() });
            let scored = scores.zip(&makg.titles);
            let best = scored.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
            best.1 == *target
        });
        found.count()
    };
    let untrained = first(&BiEncoder::open(&folder).unwrap());
    assert!(untrained < 10, "{untrained}");

    let mut config = TrainingConfig::small_data();
    config.epochs = 40;
    config.batch_size = 25;
    config.hard_negatives = 2;
    config.learning_rate = 2e-3;
    config.dropout = 0.0;
    config.encoder.query.max_tokens = Some(64);
    config.encoder.document.max_tokens = Some(32);
    let trained = Trainer::open(&folder, &config).unwrap();
    let trained = trained.train(&examples, &mut NoProgress).unwrap();
    let losses = &trained.history.steps;
    let (start, end) = (losses[0].loss, losses[losses.len() - 1].loss);
    let trained = first(&trained.encoder);
    eprintln!("loss {start:.3} to {end:.4}; first: {untrained} to {trained} of 50");
    // Equal scores of the 25 · 3 passages of a batch have the loss ln 75.
    assert!((start - 75_f64.ln()).abs() < 0.5, "{start}");
    assert!(end < 0.05, "{end}");
    assert_eq!(trained, 50);
}
