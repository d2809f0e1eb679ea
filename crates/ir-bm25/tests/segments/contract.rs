//! The contract of retrievers on segmented indexes: configurations, models, pruning algorithms.

use std::sync::Mutex;

use ir_bm25::feedback::{Feedback, FeedbackDocuments};
use ir_bm25::models::Bm25F;
use ir_bm25::{
    Analysis, Bm25, DocLengths, DocOrder, Index, IndexConfig, IndexWriter, IndexedFields, Pruning,
    QuerySyntax, Searcher, SegmentedIndex, SequentialDependence, StoredFields, StructuredSearcher,
};
use ir_core::{DocNum, DocSet, Document, NoProgress, Retriever, Search};
use ir_testkit::{Contract, check_text, toy};
use tempfile::TempDir;

use crate::{QUERIES, many, with_id};

const PRUNING: [Pruning; 5] = [
    Pruning::Auto,
    Pruning::Columns,
    Pruning::BlockMax,
    Pruning::MaxScore,
    Pruning::Exhaustive,
];

/// Number of segments of [`write`].
const SEGMENTS: usize = 4;

/// Writes documents in four segments, if there are many. A sixth of each segment is deleted:
/// documents that are not left, and earlier versions of documents of the next segment.
fn write(documents: &[Document], config: &IndexConfig) -> (TempDir, SegmentedIndex) {
    let folder = TempDir::new().unwrap();
    let writer = IndexWriter::create(folder.path(), config.clone()).unwrap();
    let mut writer = writer.with_merge_factor(100).with_threads(1);
    let earlier = |id: &str| Document::new(id).with_title("milk").with_text("green tea");
    let size = documents.len().div_ceil(SEGMENTS).max(1);
    let mut batches = documents.chunks(size).peekable();
    let mut gone = Vec::new();
    while let Some(batch) = batches.next() {
        for document in batch {
            writer.put(document).unwrap();
        }
        for replaced in batches
            .peek()
            .into_iter()
            .flat_map(|next| next.iter().take(size / 12))
        {
            writer.put(&earlier(&replaced.id)).unwrap();
        }
        for deleted in batch.iter().take(size / 12) {
            gone.push(format!("{} deleted", deleted.id));
            writer.put(&earlier(gone.last().unwrap())).unwrap();
        }
        writer.commit().unwrap();
    }
    for id in &gone {
        assert!(writer.delete(id).unwrap());
    }
    writer.commit().unwrap();
    let index = SegmentedIndex::open(folder.path()).unwrap();
    if documents.len() >= 12 * SEGMENTS {
        assert_eq!(index.segments().len(), SEGMENTS);
        assert!(index.segments().all(|segment| segment.deleted > 0));
    }
    (folder, index)
}

/// Verifies the contract of retrievers over segmented indexes, and that their rankings are those of
/// an index built once.
fn check<R: Retriever<Query = str>>(config: &IndexConfig, retriever: impl Fn(SegmentedIndex) -> R) {
    let folders = Mutex::new(Vec::new());
    let living = |documents: &[Document]| {
        let (folder, index) = write(documents, config);
        folders.lock().unwrap().push(folder);
        retriever(index)
    };
    check_text(living);
    let contract = Contract {
        valid_queries: toy::text_queries(),
        invalid_queries: Vec::new(),
    };
    let documents = toy::documents();
    let built = Index::build(&documents, config, &mut NoProgress).unwrap();
    contract.check_equal(&living(&documents), &retriever(built.into()));
}

fn separate() -> IndexConfig {
    IndexConfig::default().with_fields(IndexedFields::Separate)
}

#[test]
fn one_field() {
    for pruning in PRUNING {
        check(&IndexConfig::default(), |index| {
            index
                .searcher(Bm25::ANSERINI)
                .unwrap()
                .with_pruning(pruning)
        });
    }
}

#[test]
fn exact_lengths() {
    let config = IndexConfig::default()
        .with_order(DocOrder::Insertion)
        .with_store(StoredFields::Everything);
    for pruning in PRUNING {
        check(&config, |index| {
            let bm25 = Bm25::new(1.5, 1.0).with_lengths(DocLengths::Exact);
            index.searcher(bm25).unwrap().with_pruning(pruning)
        });
    }
}

#[test]
fn weighted_fields() {
    let config = separate().with_store(StoredFields::Attributes);
    for pruning in PRUNING {
        for weights in [[2.5, 0.5], [0.0, 1.0]] {
            check(&config, |index| {
                let searcher = index.searcher(Bm25::new(1.2, 0.75)).unwrap();
                let weights = [("title", weights[0]), ("text", weights[1])];
                searcher
                    .with_weights(&weights)
                    .unwrap()
                    .with_pruning(pruning)
            });
        }
    }
    // So far apart that the order of summation shows, and nothing is pruned.
    check(&config, |index| {
        let searcher = index.searcher(Bm25::DATAFINDER).unwrap();
        let weights = [("title", 1e9), ("text", 1e-9)];
        searcher.with_weights(&weights).unwrap()
    });
}

#[test]
fn combined_fields() {
    for pruning in PRUNING {
        check(&separate(), |index| {
            let bm25f = Bm25F::new(1.2, 0.75).with_field("title", 2.5, 0.3);
            index.searcher(bm25f).unwrap().with_pruning(pruning)
        });
    }
}

#[test]
fn text_only() {
    let config = IndexConfig::default()
        .with_fields(IndexedFields::TextOnly)
        .with_analysis(Analysis::lucene_standard());
    check(&config, |index| index.searcher(Bm25::LUCENE).unwrap());
}

#[test]
fn positions() {
    for config in [
        IndexConfig::default().with_positions(true),
        separate()
            .with_positions(true)
            .with_order(DocOrder::Insertion),
    ] {
        for pruning in [Pruning::Auto, Pruning::Exhaustive] {
            let searcher = |index: SegmentedIndex| {
                index
                    .searcher(Bm25::ANSERINI)
                    .unwrap()
                    .with_pruning(pruning)
            };
            check(&config, searcher);
            check(&config, |index| {
                StructuredSearcher::new(searcher(index), QuerySyntax::Indri)
            });
            check(&config, |index| {
                let weights = SequentialDependence::WEIGHTS;
                SequentialDependence::new(searcher(index), weights).unwrap()
            });
        }
    }
}

#[test]
fn feedback() {
    let config = IndexConfig::default().with_store(StoredFields::Everything);
    for model in ["rm3(docs=2)", "rocchio(docs=2,terms=5)"] {
        check(&config, |index| {
            let searcher = index.searcher(Bm25::ANSERINI).unwrap();
            let documents = FeedbackDocuments::stored(searcher.clone()).unwrap();
            Feedback::new(searcher, documents, model.parse().unwrap()).unwrap()
        });
    }
}

/// Posting lists of many blocks, of which pruning skips some.
#[test]
fn pruning_of_long_lists() {
    let documents: Vec<Document> = many(6000, 0).map(|(id, one)| with_id(&id, &one)).collect();
    let lists = ["a", "e", "salt", "tea"];
    let rare = documents.iter().enumerate().map(|(n, document)| {
        let more = lists.iter().zip([3, 41, 11, 499]);
        let more = more.filter(|(_, every)| n % every == 0);
        let more: String = more
            .map(|(word, every)| format!(" {word}").repeat(n / every % 9))
            .collect();
        document.clone().with_text(document.text.clone() + &more)
    });
    let documents: Vec<Document> = rare.collect();
    for order in [DocOrder::Id, DocOrder::Insertion] {
        let config = IndexConfig::default()
            .with_order(order)
            .with_analysis(Analysis::lucene_standard());
        let (_folder, living) = write(&documents, &config);
        let built = Index::build(&documents, &config, &mut NoProgress).unwrap();
        assert_eq!(living.ids(), built.ids());
        let third = |doc: DocNum| doc.get().is_multiple_of(3);
        let few: DocSet = (0..6000).step_by(701).map(DocNum::new).collect();
        for bm25 in [
            Bm25::ANSERINI,
            Bm25::new(1.5, 0.8).with_lengths(DocLengths::Exact),
        ] {
            let exhaustive: Searcher = built.searcher(bm25).unwrap();
            let exhaustive = exhaustive.with_pruning(Pruning::Exhaustive);
            for pruning in PRUNING {
                let searcher = living.searcher(bm25).unwrap().with_pruning(pruning);
                for query in QUERIES {
                    for k in [1, 10, 100, 7000] {
                        let top = Search::top(k);
                        for search in [top, top.within(&third), top.within(&few)] {
                            assert_eq!(
                                searcher.search(query, &search).unwrap(),
                                exhaustive.search(query, &search).unwrap(),
                                "{query}, {k}, {pruning:?}"
                            );
                        }
                    }
                }
            }
        }
    }
}
