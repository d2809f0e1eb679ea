//! Rankings and scores against Lucene's own, as kept in `testdata/lucene`.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use ir_bm25::{Bm25, Index, IndexConfig, Pruning};
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
    let expected = top10(&format!("{collection}.top10.tsv.gz"));
    assert_eq!(expected.len(), queries_with_hits);
    let documents = crate::common::corpus(&folder);
    let index = Index::build(&documents, &IndexConfig::default(), &mut NoProgress).unwrap();
    let searcher = index.searcher(Bm25::ANSERINI).unwrap();
    let slow = searcher.clone().with_pruning(Pruning::Exhaustive);
    let judged = std::fs::read_to_string(folder.join("qrels/test.tsv")).unwrap();
    let judged: std::collections::BTreeSet<&str> = judged
        .lines()
        .skip(1)
        .filter_map(|line| line.split('\t').next())
        .collect();
    let mut compared = 0;
    for query in crate::common::records(&folder, "queries") {
        if !judged.contains(query.id.as_str()) {
            continue;
        }
        let ranking = searcher.search(&query.text, &Search::top(11)).unwrap();
        assert_eq!(
            ranking,
            slow.search(&query.text, &Search::top(11)).unwrap(),
            "{}",
            query.id
        );
        let mut found: Vec<(String, f32)> = ranking
            .iter()
            .map(|hit| (index.ids().id(hit.doc).to_owned(), hit.score))
            .filter(|(id, _)| !(remove_self && *id == query.id))
            .collect();
        found.truncate(10);
        // Not "within 1e-5": to the last bit.
        assert_eq!(
            found,
            expected.get(&query.id).cloned().unwrap_or_default(),
            "{}",
            query.id
        );
        compared += found.len();
        for hit in ranking.iter().take(2) {
            let why = searcher
                .explain(&query.text, hit.doc, &Search::top(2))
                .unwrap()
                .unwrap();
            let sum: f64 = why.details.iter().map(|part| part.value).sum();
            assert_eq!((why.score(), sum as f32), (hit.score, hit.score));
        }
    }
    assert_eq!(compared, expected.values().map(Vec::len).sum::<usize>());
}

#[test]
fn nfcorpus_is_as_in_lucene() {
    check("nfcorpus", false, 308);
}

#[test]
fn arguana_is_as_in_lucene() {
    check("arguana", true, 1406);
}
