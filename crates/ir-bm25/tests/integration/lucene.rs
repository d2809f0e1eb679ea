//! Rankings and scores against Lucene's own, as kept in `testdata/lucene`.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::Path;

use ir_bm25::models::{ClassicTfIdf, Dirichlet, JelinekMercer};
use ir_bm25::{Bm25, Index, IndexConfig, Model, Pruning};
use ir_core::{NoProgress, Retriever, Search};

fn top10(name: &str) -> BTreeMap<String, Vec<(String, f32)>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../testdata/lucene")
        .join(name);
    let mut text = String::new();
    flate2::read::GzDecoder::new(File::open(path).unwrap())
        .read_to_string(&mut text)
        .unwrap();
    let mut lists: BTreeMap<String, Vec<(String, f32)>> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let [query, rank, doc, score] = line.split('\t').collect::<Vec<_>>().try_into().unwrap();
        let list = lists.entry(query.to_owned()).or_default();
        list.push((doc.to_owned(), score.parse().unwrap()));
        assert_eq!(list.len(), rank.parse::<usize>().unwrap());
    }
    lists
}

fn check(collection: &str, remove_self: bool, queries_with_hits: usize) {
    let Some(folder) = crate::common::data() else {
        return;
    };
    let folder = folder.join("beir").join(collection);
    let documents = crate::common::corpus(&folder);
    let index = Index::build(&documents, &IndexConfig::default(), &mut NoProgress).unwrap();
    let judged = std::fs::read_to_string(folder.join("qrels/test.tsv")).unwrap();
    let judged = judged.lines().skip(1);
    let judged: BTreeSet<&str> = judged.filter_map(|line| line.split('\t').next()).collect();
    let mut queries = crate::common::records(&folder, "queries");
    queries.retain(|query| judged.contains(query.id.as_str()));
    let models: [(&str, Model); 4] = [
        ("", Bm25::ANSERINI.into()),
        (".qld", Dirichlet::new(1000.0).into()),
        (".qljm", JelinekMercer::new(0.1).into()),
        (".classic", ClassicTfIdf::default().into()),
    ];
    for (name, model) in models {
        let expected = top10(&format!("{collection}{name}.top10.tsv.gz"));
        assert_eq!(expected.len(), queries_with_hits);
        let searcher = index.searcher(model).unwrap();
        let slow = searcher.clone().with_pruning(Pruning::Exhaustive);
        let mut compared = 0;
        for query in &queries {
            let ranking = searcher.search(&query.text, &Search::top(11)).unwrap();
            let all = slow.search(&query.text, &Search::top(11)).unwrap();
            assert_eq!(ranking, all, "{name}, {}", query.id);
            let found = ranking.iter();
            let found = found.map(|hit| (index.ids().id(hit.doc).to_owned(), hit.score));
            let found: Vec<_> = found
                .filter(|(id, _)| !(remove_self && *id == query.id))
                .take(10)
                .collect();
            // To the last bit.
            let expected = expected.get(&query.id).cloned().unwrap_or_default();
            assert_eq!(found, expected, "{name}, {}", query.id);
            compared += found.len();
            for hit in ranking.iter().take(2) {
                let search = Search::top(2);
                let tree = searcher.explain(&query.text, hit.doc, &search).unwrap();
                let tree = tree.unwrap();
                let sum: f64 = tree.details.iter().map(|term| term.value).sum();
                assert_eq!((tree.score(), sum as f32), (hit.score, hit.score));
            }
        }
        assert_eq!(compared, expected.values().map(Vec::len).sum::<usize>());
    }
}

#[test]
fn nfcorpus_is_as_in_lucene() {
    check("nfcorpus", false, 308);
}

#[test]
#[cfg_attr(
    debug_assertions,
    ignore = "slow without optimization: .ci/full runs it"
)]
fn arguana_is_as_in_lucene() {
    check("arguana", true, 1406);
}
