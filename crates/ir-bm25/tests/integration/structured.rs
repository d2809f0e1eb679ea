//! Structured queries: equal to a slow scan of the texts, to bags of words, and over any history of
//! segments.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::f64::consts::{E, PI};
use std::sync::Arc;

use crate::common::built;
use ir_bm25::models::{Dirichlet, InL2, IndriDirichlet, Pl2};
use ir_bm25::{
    Bm25, BooleanClause, Index, IndexConfig, IndexWriter, IndexedFields, Model, Occur, QuerySyntax,
    Searcher, SegmentedIndex, StructuredQuery, StructuredSearcher,
};
use ir_core::{
    Analyzer, DocNum, DocSet, Document, NoProgress, Ranking, Retriever, Search, SearchError, Token,
};
use proptest::prelude::*;

const WORDS: [&str; 5] = ["tea", "milk", "leaf", "water", "the"];

fn config() -> IndexConfig {
    IndexConfig::default()
        .with_fields(IndexedFields::TextOnly)
        .with_positions(true)
}

fn structured(searcher: Searcher) -> StructuredSearcher {
    StructuredSearcher::new(searcher, QuerySyntax::Lucene)
}

/// Positions of the terms of a text.
fn positions(analyzer: &dyn Analyzer, text: &str) -> Vec<(String, u32)> {
    let mut terms = Vec::new();
    analyzer.analyze(text, &mut |token| {
        terms.push((token.term.to_owned(), token.position))
    });
    terms
}

/// Number of windows in a document, by trying every choice of positions for ordered windows and
/// every start for unordered ones.
fn windows(
    document: &[(String, u32)],
    words: &[(String, u32)],
    ordered: bool,
    width: u32,
) -> usize {
    let of = |word: &str| -> Vec<u32> {
        let same = document.iter().filter(|(term, _)| term == word);
        same.map(|&(_, position)| position).collect()
    };
    if words.len() == 1 {
        return of(&words[0].0).len();
    }
    if ordered {
        // Whether the words from `at` on follow the position of the word before.
        fn follows(
            of: &dyn Fn(&str) -> Vec<u32>,
            words: &[(String, u32)],
            at: usize,
            before: u32,
            width: u32,
        ) -> bool {
            let Some((word, place)) = words.get(at) else {
                return true;
            };
            let gap = place - words[at - 1].1;
            of(word).into_iter().any(|position| {
                let is_near = match width {
                    1 => position == before + gap,
                    width => position > before && position - before <= width - 1 + gap,
                };
                is_near && follows(of, words, at + 1, position, width)
            })
        }
        let starts = of(&words[0].0).into_iter();
        return starts
            .filter(|&start| follows(&of, words, 1, start, width))
            .count();
    }
    let starts: BTreeSet<u32> = words.iter().flat_map(|(word, _)| of(word)).collect();
    let contains_all = |start: &u32| {
        words.iter().all(|(word, _)| {
            let wanted = words.iter().filter(|(other, _)| other == word).count();
            let inside = of(word).into_iter();
            let inside = inside.filter(|&position| position >= *start && position - start < width);
            inside.count() >= wanted
        })
    };
    starts.iter().filter(|start| contains_all(start)).count()
}

fn text(words: &[usize]) -> String {
    let words: Vec<&str> = words.iter().map(|&word| WORDS[word]).collect();
    words.join(" ")
}

fn texts() -> impl Strategy<Value = Vec<String>> {
    let words = prop::collection::vec(0..WORDS.len(), 0..30);
    prop::collection::vec(words.prop_map(|words| text(&words)), 1..40)
}

fn documents(texts: &[String]) -> Vec<Document> {
    let numbered = texts.iter().enumerate();
    numbered
        .map(|(n, text)| Document::new(format!("d{n:03}")).with_text(text))
        .collect()
}

fn leaf() -> impl Strategy<Value = StructuredQuery> {
    let words = prop::collection::vec(0..WORDS.len(), 1..4).prop_map(|words| text(&words));
    (words, 0..4_u8, 1..6_u32).prop_map(|(text, kind, width)| match kind {
        0 => StructuredQuery::text(text),
        1 => StructuredQuery::phrase(text),
        2 => StructuredQuery::ordered(text, width),
        _ => StructuredQuery::unordered(text, width),
    })
}

fn query() -> impl Strategy<Value = StructuredQuery> {
    let synonyms = prop::collection::vec(leaf(), 1..4).prop_map(StructuredQuery::Synonyms);
    prop_oneof![4 => leaf(), 1 => synonyms].prop_recursive(3, 12, 4, |inner| {
        let occur = prop_oneof![
            2 => Just(Occur::Should),
            2 => Just(Occur::Must),
            1 => Just(Occur::MustNot)
        ];
        let clause = (occur, inner.clone());
        let clause = clause.prop_map(|(occur, query)| BooleanClause { occur, query });
        prop_oneof![
            3 => prop::collection::vec(clause, 1..4).prop_map(StructuredQuery::Boolean),
            1 => (inner, 1..4_u8).prop_map(|(query, weight)| query.with_weight(f32::from(weight) / 2.0)),
        ]
    })
}

/// Terms with their positions, whether they are ordered, and the width of their window.
type Member = (Vec<(String, u32)>, bool, u32);

/// Models of the slow evaluation.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Formula {
    Bm25,
    Qld,
    InL2,
    /// Contributions can be negative.
    Pl2,
    IndriDirichlet,
}

/// μ of both query likelihoods.
const MU: f64 = 20.0;

impl Formula {
    const ALL: [Self; 5] = [
        Self::Bm25,
        Self::Qld,
        Self::InL2,
        Self::Pl2,
        Self::IndriDirichlet,
    ];

    fn model(self) -> Model {
        match self {
            Self::Bm25 => Bm25::ANSERINI.into(),
            Self::Qld => Dirichlet::new(MU as f32).into(),
            Self::InL2 => InL2::new(1.5).into(),
            Self::Pl2 => Pl2::new(1.5).into(),
            Self::IndriDirichlet => IndriDirichlet::new(MU as f32).into(),
        }
    }
}

/// Slow evaluation: whether each text matches, and its score by a model with exact statistics.
struct Oracle<'a> {
    analyzer: &'a dyn Analyzer,
    texts: Vec<Vec<(String, u32)>>,
    formula: Formula,
}

impl Oracle<'_> {
    fn tf_of(&self, (terms, ordered, width): &Member, doc: usize) -> usize {
        windows(&self.texts[doc], terms, *ordered, *width)
    }

    /// Document frequency and collection frequency.
    fn counts(&self, member: &Member) -> (f64, f64) {
        let tfs = (0..self.texts.len()).map(|doc| self.tf_of(member, doc));
        tfs.fold((0.0, 0.0), |(df, cf), tf| {
            (df + f64::from(u8::from(tf > 0)), cf + tf as f64)
        })
    }

    /// The largest document frequency, and the sum of the collection frequencies.
    fn counts_of_synonyms(&self, members: &[Member]) -> (f64, f64) {
        let counts = members.iter().map(|member| self.counts(member));
        counts.fold((0.0, 0.0), |(df, cf), (other_df, other_cf)| {
            (f64::max(df, other_df), cf + other_cf)
        })
    }

    /// The contribution of a term with these frequencies.
    fn contribution(&self, doc: usize, tf: usize, (df, cf): (f64, f64)) -> f64 {
        let tokens = self.texts.iter().map(Vec::len).sum::<usize>() as f64;
        let n = self.texts.iter().filter(|text| !text.is_empty()).count() as f64;
        let (tf, length, average) = (tf as f64, self.texts[doc].len() as f64, tokens / n);
        let tfn = tf * (1.0 + 1.5 * average / length).log2();
        match self.formula {
            Formula::Bm25 => {
                let idf = (1.0 + (n - df + 0.5) / (df + 0.5)).ln();
                idf * tf / (tf + 0.9 * (0.6 + 0.4 * length / average))
            }
            Formula::Qld => {
                let p = (cf + 1.0) / (tokens + 1.0);
                let seen = (tf + MU * p) / (length + MU);
                (seen / p).ln().max(0.0)
            }
            Formula::InL2 => tfn / (tfn + 1.0) * ((n + 1.0) / (df + 0.5)).log2(),
            Formula::Pl2 => {
                let mean = cf / n;
                let information = tfn * (tfn / mean).log2()
                    + (mean - tfn) * E.log2()
                    + 0.5 * (2.0 * PI * tfn).log2();
                information / (tfn + 1.0)
            }
            // Its scores are those of `likelihood`.
            Formula::IndriDirichlet => 0.0,
        }
    }

    /// Indri's log-likelihood of a query. A part that the document does not `reach`, as another
    /// part of its clause does not match, has frequency 0.
    fn likelihood(&self, query: &StructuredQuery, doc: usize, reach: bool) -> f64 {
        let tokens = self.texts.iter().map(Vec::len).sum::<usize>() as f64;
        let length = self.texts[doc].len() as f64;
        let log = |members: &[Member]| {
            let tfs = members.iter().map(|member| self.tf_of(member, doc));
            let tf = if reach {
                tfs.sum::<usize>() as f64
            } else {
                0.0
            };
            let cf = match self.counts_of_synonyms(members).1 {
                0.0 => 0.5,
                cf => cf,
            };
            ((tf + MU * cf / tokens) / (length + MU)).ln()
        };
        match query {
            StructuredQuery::Weighted { weight, query } => {
                f64::from(*weight) * self.likelihood(query, doc, reach)
            }
            StructuredQuery::Text { text, .. } => {
                let terms = positions(self.analyzer, text).into_iter();
                terms
                    .map(|(term, _)| log(&[(vec![(term, 0)], true, 1)]))
                    .sum()
            }
            StructuredQuery::Boolean(clauses) => {
                let counted = clauses
                    .iter()
                    .filter(|clause| clause.occur != Occur::MustNot);
                counted
                    .map(|BooleanClause { query, .. }| {
                        let matches = self.score(query, doc).flatten().is_some();
                        self.likelihood(query, doc, reach && matches)
                    })
                    .sum()
            }
            leaf => match &*self.members(leaf) {
                [] => 0.0,
                members => log(members),
            },
        }
    }

    /// The score of a text if it matches.
    fn expected(&self, query: &StructuredQuery, doc: usize) -> Option<f64> {
        let score = self.score(query, doc).flatten()?;
        Some(match self.formula {
            Formula::IndriDirichlet => self.likelihood(query, doc, true),
            _ => score,
        })
    }

    /// Frequency in a text and document frequency of a synonym, after analysis.
    fn members(&self, query: &StructuredQuery) -> Vec<Member> {
        match query {
            StructuredQuery::Text { text, .. } => {
                let terms = positions(self.analyzer, text).into_iter();
                let mut members = Vec::new();
                for (term, _) in terms {
                    let member = (vec![(term, 0)], true, 1);
                    if !members.contains(&member) {
                        members.push(member);
                    }
                }
                members
            }
            StructuredQuery::Window {
                text,
                ordered,
                width,
                ..
            } => {
                let terms = positions(self.analyzer, text);
                match &*terms {
                    [] => Vec::new(),
                    [(only, _)] => vec![(vec![(only.clone(), 0)], true, 1)],
                    _ => vec![(terms, *ordered, *width)],
                }
            }
            StructuredQuery::Synonyms(parts) => {
                let mut all = Vec::new();
                for part in parts {
                    for member in self.members(part) {
                        if !all.contains(&member) {
                            all.push(member);
                        }
                    }
                }
                all
            }
            _ => unreachable!("not a leaf"),
        }
    }

    /// The sum of the contributions of the terms of a window at its frequency.
    fn score_of_window(&self, member: &Member, doc: usize) -> Option<f64> {
        let tf = self.tf_of(member, doc);
        let terms = member.0.iter().map(|(term, _)| {
            let term = (vec![(term.clone(), 0)], true, 1);
            self.contribution(doc, tf, self.counts(&term))
        });
        (tf > 0).then(|| terms.sum())
    }

    /// [`None`] if no word is left after analysis; else the score of the text if it matches.
    fn score(&self, query: &StructuredQuery, doc: usize) -> Option<Option<f64>> {
        match query {
            StructuredQuery::Weighted { weight, query } => {
                let score = self.score(query, doc)?;
                Some(score.map(|score| score * f64::from(*weight)))
            }
            StructuredQuery::Text { text, .. } => {
                let terms = positions(self.analyzer, text);
                if terms.is_empty() {
                    return None;
                }
                let mut sum = None;
                for (term, _) in terms {
                    let member = (vec![(term, 0)], true, 1);
                    let tf = self.tf_of(&member, doc);
                    if tf > 0 {
                        let score = self.contribution(doc, tf, self.counts(&member));
                        *sum.get_or_insert(0.0) += score;
                    }
                }
                Some(sum)
            }
            StructuredQuery::Window { .. } => {
                let member = self.members(query).pop()?;
                Some(self.score_of_window(&member, doc))
            }
            StructuredQuery::Synonyms(_) => {
                let members = self.members(query);
                if let [only] = &*members
                    && only.0.len() > 1
                {
                    return Some(self.score_of_window(only, doc));
                }
                if members.is_empty() {
                    return None;
                }
                let counts = self.counts_of_synonyms(&members);
                let tf = members.iter().map(|member| self.tf_of(member, doc)).sum();
                Some((tf > 0).then(|| self.contribution(doc, tf, counts)))
            }
            StructuredQuery::Boolean(clauses) => {
                let scored = clauses
                    .iter()
                    .filter_map(|clause| Some((clause.occur, self.score(&clause.query, doc)?)));
                let scored: Vec<(Occur, Option<f64>)> = scored.collect();
                if scored.is_empty() {
                    return None;
                }
                let of = |occur: Occur| scored.iter().filter(move |(other, _)| *other == occur);
                let has_must = of(Occur::Must).next().is_some();
                let matches = of(Occur::Must).all(|(_, score)| score.is_some())
                    && of(Occur::MustNot).all(|(_, score)| score.is_none())
                    && (has_must || of(Occur::Should).any(|(_, score)| score.is_some()));
                let sum = of(Occur::Must)
                    .chain(of(Occur::Should))
                    .filter_map(|(_, score)| *score);
                Some(matches.then(|| sum.sum()))
            }
            _ => unreachable!("another query"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn scores_are_those_of_a_slow_scan(texts in texts(), query in query()) {
        let index = built(&documents(&texts), config());
        let analyzer = index.analyzer().unwrap();
        let texts: Vec<_> = texts.iter().map(|text| positions(analyzer, text)).collect();
        for formula in Formula::ALL {
            let oracle = Oracle { analyzer, texts: texts.clone(), formula };
            let searcher = structured(index.searcher(formula.model()).unwrap());
            let search = Search::top(100);
            let ranking = searcher.search_query(&query, &search).unwrap();
            let found: BTreeSet<usize> = ranking.iter().map(|hit| hit.doc.index()).collect();
            for doc in 0..oracle.texts.len() {
                let expected = oracle.expected(&query, doc);
                prop_assert_eq!(found.contains(&doc), expected.is_some(), "{} in {}", query, doc);
            }
            for hit in &ranking {
                let expected = oracle.expected(&query, hit.doc.index()).unwrap();
                let difference = (f64::from(hit.score) - expected).abs();
                let is_near = difference <= 1e-5 * (1.0 + expected.abs());
                prop_assert!(is_near, "{formula:?}, {query}: {hit:?} {expected}");
                let explained = searcher.explain_query(&query, hit.doc, &search).unwrap().unwrap();
                prop_assert_eq!(explained.score(), hit.score);
            }
            // The first hits are pruned.
            for k in [1, 3] {
                let first = searcher.search_query(&query, &Search::top(k)).unwrap();
                let expected = ranking.iter().take(k).collect::<Vec<_>>();
                prop_assert_eq!(first.iter().collect::<Vec<_>>(), expected, "{:?}", formula);
            }
            // A filter restricts the same ranking.
            let even: DocSet = (0..100).step_by(2).map(DocNum::new).collect();
            let filtered = searcher.search_query(&query, &search.within(&even)).unwrap();
            let kept: Vec<_> = ranking.iter().filter(|hit| hit.doc.get() % 2 == 0).collect();
            prop_assert_eq!(filtered.iter().collect::<Vec<_>>(), kept);
        }
    }

}

// Every commit is synchronized with the disk; .ci/full has more cases.
proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 40 } else { 300 }))]

    #[test]
    fn segments_give_the_ranking_of_one_index(
        texts in texts(),
        commit_every in 1..12_usize,
        delete in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
        query in query(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index");
        let mut writer = IndexWriter::create(&path, config()).unwrap().with_merge_factor(3);
        let mut documents = documents(&texts);
        for (n, document) in documents.iter().enumerate() {
            writer.put(document).unwrap();
            if n % commit_every == 0 {
                writer.commit().unwrap();
            }
        }
        writer.commit().unwrap();
        for at in delete {
            let id = at.get(&documents).id.clone();
            writer.delete(&id).unwrap();
            documents.retain(|document| document.id != id);
            if documents.is_empty() {
                return Ok(());
            }
        }
        writer.commit().unwrap();
        let once = built(&documents, config());
        let check = |index: &SegmentedIndex| -> Result<(), TestCaseError> {
            for model in [Formula::Bm25, Formula::Qld, Formula::IndriDirichlet].map(Formula::model) {
                let several = structured(index.searcher(model.clone()).unwrap());
                let one = structured(once.searcher(model).unwrap());
                let search = Search::top(100);
                let expected = one.search_query(&query, &search).unwrap();
                let found = several.search_query(&query, &search).unwrap();
                prop_assert_eq!(&found, &expected, "{}", &query);
            }
            Ok(())
        };
        check(&SegmentedIndex::open(&path).unwrap())?;
        writer.compact().unwrap();
        let compact = SegmentedIndex::open(&path).unwrap();
        check(&compact)?;
        prop_assert_eq!(compact.single().unwrap().as_bytes(), once.as_bytes());
    }

    #[test]
    fn words_and_weights_are_a_bag_of_words(
        texts in texts(),
        words in prop::collection::vec((0..WORDS.len(), 1..5_u8), 1..6),
    ) {
        let index = built(&documents(&texts), config());
        let distinct: BTreeMap<usize, u8> = words.iter().copied().collect();
        let clauses = distinct.iter().map(|(&word, &weight)| {
            StructuredQuery::text(WORDS[word]).with_weight(f32::from(weight)).should()
        });
        let bag = StructuredQuery::boolean(clauses);
        // The same, evaluated clause by clause.
        let nowhere = StructuredQuery::text("nowhere").must_not();
        let clause_by_clause = StructuredQuery::boolean([bag.clone().should(), nowhere]);
        let line: Vec<&str> = words.iter().map(|&(word, _)| WORDS[word]).collect();
        let line = line.join(" ");
        for model in [Formula::Bm25, Formula::IndriDirichlet].map(Formula::model) {
            let searcher = structured(index.searcher(model).unwrap());
            let ranking = |query: &StructuredQuery, k| {
                searcher.search_query(query, &Search::top(k)).unwrap()
            };
            for k in [1, 3, 100] {
                prop_assert_eq!(ranking(&bag, k), ranking(&clause_by_clause, k));
            }
            let plain = searcher.searcher().search(&line, &Search::top(100)).unwrap();
            prop_assert_eq!(searcher.search(&line, &Search::top(100)).unwrap(), plain);
        }
    }

    /// Positions change neither rankings nor the other parts of an index.
    #[test]
    fn positions_are_an_addition(texts in texts(), memory in 1..2000_usize, threads in 1..4_usize) {
        let documents = documents(&texts);
        let with = built(&documents, config());
        let mut builder = ir_bm25::IndexBuilder::new(config()).unwrap()
            .with_memory(memory)
            .with_threads(threads);
        documents.iter().for_each(|document| builder.push(document).unwrap());
        let spilled = builder.finish(&mut NoProgress).unwrap();
        prop_assert_eq!(spilled.as_bytes(), with.as_bytes());
        let without = built(&documents, config().with_positions(false));
        let search = |index: &Index| {
            let searcher = index.searcher(Bm25::ANSERINI).unwrap();
            searcher.search("tea milk milk leaf", &Search::top(100)).unwrap()
        };
        prop_assert_eq!(search(&with), search(&without));
    }
}

/// The rankings of long lists, whose positions are in many blocks.
#[test]
fn phrases_in_many_documents() {
    let text = |n: u32| match n % 4 {
        0 => "hot green tea".to_owned(),
        1 => format!("tea {}green tea", "green ".repeat(n as usize % 7)),
        2 => "tea green".to_owned(),
        _ => "water".to_owned(),
    };
    let documents: Vec<Document> = (0..5000)
        .map(|n| Document::new(format!("d{n:04}")).with_text(text(n)))
        .collect();
    let index = built(&documents, config());
    let searcher = structured(index.searcher(Bm25::ANSERINI).unwrap());
    let hits = |query: &str| {
        let ranking = searcher.search(query, &Search::top(5000)).unwrap();
        let mut docs: Vec<u32> = ranking.iter().map(|hit| hit.doc.get()).collect();
        docs.sort_unstable();
        docs
    };
    let expected: Vec<u32> = (0..5000).filter(|n| n % 4 < 2).collect();
    assert_eq!(hits("\"green tea\""), expected);
    let expected: Vec<u32> = (0..5000).filter(|n| n % 4 == 0).collect();
    assert_eq!(hits("\"hot green tea\""), expected);
    assert_eq!(hits("+\"green tea\" -\"tea green\"").len(), expected.len());
    let filtered = |doc: DocNum| doc.get() == 4096;
    let ranking = searcher
        .search("\"hot green tea\"", &Search::top(9).within(&filtered))
        .unwrap();
    assert_eq!(ranking.len(), 1);
}

#[test]
fn fields_have_positions_of_their_own() {
    let documents = [
        Document::new("a")
            .with_title("green tea")
            .with_text("black"),
        Document::new("b")
            .with_title("green")
            .with_text("tea green tea"),
        Document::new("c").with_text("tea"),
    ];
    let config = IndexConfig::default()
        .with_fields(IndexedFields::Separate)
        .with_positions(true);
    let index = built(&documents, config);
    let searcher = structured(index.searcher(Bm25::ANSERINI).unwrap());
    let hits = |query: &str| -> Vec<String> {
        let ranking = searcher.search(query, &Search::top(10)).unwrap();
        let mut ids: Vec<String> = ranking
            .iter()
            .map(|hit| index.ids().id(hit.doc).to_owned())
            .collect();
        ids.sort();
        ids
    };
    assert_eq!(hits("\"green tea\""), ["a", "b"]);
    assert_eq!(hits("title:\"green tea\""), ["a"]);
    assert_eq!(hits("title:(green -tea)"), ["b"]);
    assert_eq!(hits("+title:green +text:tea"), ["b"]);
    let unweighted = searcher
        .searcher()
        .clone()
        .with_weights(&[("title", 0.0)])
        .unwrap();
    let unweighted = structured(unweighted);
    let ranking = unweighted
        .search("\"green tea\"", &Search::top(10))
        .unwrap();
    assert_eq!(ranking.len(), 1);
    // A named field of weight 0 selects documents, and adds nothing to their scores.
    let found = |query: &str| {
        let ranking = unweighted.search(query, &Search::top(10)).unwrap();
        for hit in &ranking {
            let why = unweighted
                .explain(query, hit.doc, &Search::top(10))
                .unwrap();
            assert_eq!(why.unwrap().score(), hit.score, "{query}");
        }
        ranking
    };
    let score = |ranking: &Ranking, id: &str| {
        let mut hits = ranking.iter();
        let hit = hits.find(|hit| index.ids().id(hit.doc) == id);
        hit.map(|hit| hit.score)
    };
    let all = found("text:tea");
    let selected = found("+title:green text:tea");
    assert_eq!(selected.len(), 2);
    assert_eq!(score(&selected, "b"), score(&all, "b"));
    assert_eq!((score(&selected, "a"), score(&all, "a")), (Some(0.0), None));
    assert_eq!(score(&selected, "c"), None);
    assert!(found("title:green").iter().all(|hit| hit.score == 0.0));
    assert_eq!(found("title:green").len(), 2);
}

#[test]
fn errors() {
    let documents = [Document::new("a").with_text("green tea")];
    let source = |error: SearchError| std::error::Error::source(&error).unwrap().to_string();
    let without = built(&documents, IndexConfig::default());
    let searcher = structured(without.searcher(Bm25::ANSERINI).unwrap());
    let search = |query: &str| searcher.search(query, &Search::top(1));
    assert_eq!(
        source(search("\"green tea\"").unwrap_err()),
        "query \"\\\"green tea\\\"\": expected an index with positions for a phrase or window, found \
         one without (IndexConfig::with_positions, `ir index --positions`)"
    );
    // A phrase of one word is a word.
    assert_eq!(search("\"the tea\"").unwrap().len(), 1);
    assert_eq!(
        source(search("titel:tea").unwrap_err()),
        "query \"titel:tea\": expected one of the fields contents, found \"titel\" \
         (IndexConfig::with_fields, `--fields title,text` index several)"
    );
    assert_eq!(
        source(search("(tea").unwrap_err()),
        "query \"(tea\", character 5: expected a closing parenthesis, found the end"
    );
    let weight = StructuredQuery::text("tea").with_weight(f32::NAN);
    let error = searcher.search_query(&weight, &Search::top(1)).unwrap_err();
    assert_eq!(
        source(error),
        "query \"tea^NaN\": expected a weight above 0, at most 1e9, found NaN"
    );
    let synonyms = StructuredQuery::Synonyms(vec![weight]);
    let error = searcher
        .search_query(&synonyms, &Search::top(1))
        .unwrap_err();
    assert!(source(error).starts_with(
        "query \"#syn(tea^NaN)\": expected words, phrases or windows as synonyms, found"
    ));
    // Nested weights are multiplied.
    for weight in [1e5, 1e-30] {
        let nested = StructuredQuery::text("tea")
            .with_weight(weight)
            .with_weight(weight);
        let error = searcher.search_query(&nested, &Search::top(1)).unwrap_err();
        let error = source(error);
        let (query, reason) = error.split_once(": ").unwrap();
        assert!(query.starts_with("query \"(tea^"), "{error}");
        assert!(reason.starts_with("expected a weight above 0, at most 1e9, found "));
    }
    let StructuredQuery::Boolean(clauses) = QuerySyntax::Lucene.parse("contents:tea milk").unwrap()
    else {
        panic!("expected clauses");
    };
    let synonyms = clauses.into_iter().map(|clause| clause.query).collect();
    let synonyms = StructuredQuery::Synonyms(synonyms);
    let error = searcher
        .search_query(&synonyms, &Search::top(1))
        .unwrap_err();
    assert_eq!(
        source(error),
        "query \"#syn(contents:tea milk)\": expected synonyms of one field, found \
         #syn(contents:tea milk)"
    );
    // Stop words are left out, as in Lucene.
    assert_eq!(search("+the +tea").unwrap().len(), 1);
    assert_eq!(search("the").unwrap().len(), 0);
    assert_eq!(search("").unwrap().len(), 0);
    assert_eq!(search("-tea").unwrap().len(), 0);
}

/// An analyzer whose positions go back.
#[test]
fn positions_that_descend() {
    #[derive(Debug)]
    struct Backwards;
    impl Analyzer for Backwards {
        fn analyze(&self, text: &str, emit: &mut dyn FnMut(Token<'_>)) {
            for (n, term) in text.split_whitespace().enumerate() {
                let position = 1000 - n as u32;
                let (start, end) = (0, 0);
                emit(Token {
                    term,
                    start,
                    end,
                    position,
                });
            }
        }
    }
    let mut builder = ir_bm25::IndexBuilder::new(config())
        .unwrap()
        .with_analyzer("backwards", Arc::new(Backwards));
    builder
        .push(&Document::new("a").with_text("green tea tea milk"))
        .unwrap();
    let index = builder
        .finish(&mut NoProgress)
        .unwrap()
        .with_analyzer(Arc::new(Backwards));
    let searcher = structured(index.searcher(Bm25::ANSERINI).unwrap());
    // All terms have the position of the first one, in the index and in queries.
    for (query, expected) in [
        (StructuredQuery::phrase("tea milk"), 1),
        (StructuredQuery::phrase("milk green"), 1),
        (StructuredQuery::phrase("tea sugar"), 0),
        (StructuredQuery::ordered("green tea milk", 3), 0),
        (StructuredQuery::unordered("milk tea tea", 4), 1),
        (StructuredQuery::unordered("milk milk", 4), 0),
    ] {
        let found = searcher.search_query(&query, &Search::top(1)).unwrap();
        assert_eq!(found.len(), expected, "{query}");
    }
}

#[test]
fn contract() {
    ir_testkit::check_text(|documents| {
        let config = IndexConfig::default().with_positions(true);
        // Words are queries in this syntax, whatever characters they have but parentheses.
        let searcher = built(documents, config).searcher(Bm25::ANSERINI).unwrap();
        StructuredSearcher::new(searcher, QuerySyntax::Indri)
    });
}
