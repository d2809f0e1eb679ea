//! Documents, queries, and timing of queries.

use std::collections::HashSet;

use anyhow::{Context, Result, ensure};
use bench_common::Random;
use ir_core::{Document, Query};
use ir_data::{Collection, InMemoryJudgedQueries};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// The collection whose queries are of several kinds.
pub(crate) const PACKAGES: &str = "packages";

pub(crate) struct Workload {
    collection: Collection,
    queries: Vec<Query>,
    /// Whether the queries are of several kinds.
    has_kinds: bool,
    limit: u64,
    /// Memory budget of indexing in bytes.
    pub(crate) budget: usize,
}

/// The values of `k`.
pub(crate) const KS: [usize; 2] = [10, 1000];

/// Cost of building an index.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct IndexCost {
    /// The engine and its version.
    pub(crate) name: String,
    /// CPU time of all threads.
    pub(crate) seconds: f64,
    pub(crate) bytes: u64,
    /// Peak resident memory in bytes.
    pub(crate) peak: u64,
    #[serde(default)]
    pub(crate) formula: Formula,
}

/// The formula of the scores of an engine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Formula {
    /// Lucene's, with one-byte lengths.
    #[default]
    Lucene,
    /// Lucene's, with exact lengths.
    ExactLengths,
    /// Another idf than Lucene's.
    Other,
}

/// The hits of all queries for each of [`KS`].
#[derive(Serialize, Deserialize)]
pub(crate) struct Rankings(pub(crate) Vec<TopHits>);

/// Times of an engine whose index is open.
#[derive(Serialize, Deserialize)]
pub(crate) struct SearchTimes {
    pub(crate) latencies: Vec<Latency>,
    /// Queries per CPU second in batches of all queries on one thread, for each of [`KS`]; empty if
    /// the engine has no batches.
    #[serde(default)]
    pub(crate) batch_rates: Vec<f64>,
    /// Peak resident memory in bytes, after the single calls and the batches.
    pub(crate) peak: u64,
    /// First searches of the queries, each with a new searcher; empty if not measured.
    #[serde(default)]
    pub(crate) first_searches: Vec<Latency>,
    /// As `batch_rates`, of texts with their analysis; empty if not measured.
    #[serde(default)]
    pub(crate) text_batch_rates: Vec<f64>,
}

/// CPU time of the queries of a kind: the best of three passes per query.
#[derive(Serialize, Deserialize)]
pub(crate) struct Latency {
    pub(crate) kind: String,
    pub(crate) k: usize,
    /// The mean is of this number of queries.
    pub(crate) queries: usize,
    pub(crate) mean_ms: f64,
    pub(crate) p99_ms: f64,
}

/// Hits of every query: document number in file order, and score.
#[derive(Serialize, Deserialize)]
pub(crate) struct TopHits(Vec<Vec<(u64, f32)>>);

impl TopHits {
    pub(crate) fn new(hits: Vec<Vec<(u64, f32)>>) -> Self {
        Self(hits)
    }

    /// The scores of every query.
    pub(crate) fn into_scores(self) -> Vec<Vec<f32>> {
        let hits = self.0.into_iter();
        hits.map(|hits| hits.into_iter().map(|hit| hit.1).collect())
            .collect()
    }

    /// Number of queries with another score at any rank, to the last bit.
    pub(crate) fn differing(&self, other: &Self) -> usize {
        let scores = |hits: &[(u64, f32)]| -> Vec<f32> { hits.iter().map(|hit| hit.1).collect() };
        let pairs = self.0.iter().zip(&other.0);
        pairs.filter(|(a, b)| scores(a) != scores(b)).count()
    }

    /// Number of queries with another document, or a score with other bits, at any rank.
    pub(crate) fn differing_hits(&self, other: &Self) -> usize {
        let bits = |hits: &[(u64, f32)]| -> Vec<(u64, u32)> {
            let hits = hits.iter();
            hits.map(|&(doc, score)| (doc, score.to_bits())).collect()
        };
        let pairs = self.0.iter().zip(&other.0);
        pairs.filter(|(a, b)| bits(a) != bits(b)).count()
    }

    /// Number of queries that were ranked.
    pub(crate) fn queries(&self) -> usize {
        self.0.len()
    }

    /// Mean overlap of the hits, as a fraction of the hits of `self`, and number of queries with
    /// a score difference of more than 0.1 % at any rank.
    pub(crate) fn compare(&self, other: &Self) -> Result<(f64, usize)> {
        ensure!(
            self.0.len() == other.0.len(),
            "expected {} queries, found {}",
            self.0.len(),
            other.0.len()
        );
        let close = |(a, b): (&(u64, f32), &(u64, f32))| (a.1 - b.1).abs() <= 1e-3 * a.1.abs();
        let (mut overlap, mut differing) = (0.0, 0);
        for (a, b) in self.0.iter().zip(&other.0) {
            let docs: HashSet<u64> = b.iter().map(|hit| hit.0).collect();
            let common = a.iter().filter(|(doc, _)| docs.contains(doc));
            overlap += match a.len() {
                0 => 1.0,
                n => common.count() as f64 / n as f64,
            };
            differing += usize::from(a.len() != b.len() || !a.iter().zip(b).all(close));
        }
        Ok((overlap / self.0.len() as f64, differing))
    }
}

/// CPU time of the calling thread in seconds.
pub(crate) fn thread_seconds() -> f64 {
    seconds(ClockId::ThreadCPUTime)
}

/// CPU time of all threads of the process in seconds, those that have ended included.
pub(crate) fn process_seconds() -> f64 {
    seconds(ClockId::ProcessCPUTime)
}

fn seconds(clock: ClockId) -> f64 {
    let now = clock_gettime(clock);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

impl Workload {
    pub(crate) fn for_each_document(
        &self,
        visit: &mut dyn FnMut(u64, &Document) -> Result<()>,
    ) -> Result<u64> {
        let mut reader = self.collection.corpus().open()?;
        let mut document = Document::default();
        let mut n = 0;
        while n < self.limit && reader.read(&mut document)? {
            visit(n, &document)?;
            n += 1;
        }
        Ok(n)
    }

    pub(crate) fn queries(&self) -> &[Query] {
        &self.queries
    }

    /// Kind of a query, for `packages` by the initial of its id.
    pub(crate) fn kind(&self, query: &Query) -> &'static str {
        if !self.has_kinds {
            return "queries";
        }
        match query.id.chars().next() {
            Some('k') => "keywords",
            Some('n') => "questions",
            _ => "arguments",
        }
    }

    /// The kinds of the queries.
    pub(crate) fn kinds(&self) -> &'static [&'static str] {
        if self.has_kinds {
            &["keywords", "questions", "arguments"]
        } else {
            &["queries"]
        }
    }

    /// The texts of the queries of a kind.
    pub(crate) fn texts(&self, kind: &str) -> Vec<&str> {
        let queries = self.queries.iter();
        let queries = queries.filter(|query| self.kind(query) == kind);
        queries.map(|query| query.text.as_str()).collect()
    }

    /// The hits of all queries.
    pub(crate) fn rank<Q>(
        &self,
        prepare: impl Fn(&str) -> Q,
        top: impl Fn(&Q, usize) -> Result<Vec<(u64, f32)>>,
    ) -> Result<Rankings> {
        let rank = |k| {
            let hits = self.queries.iter();
            let hits = hits.map(|query| top(&prepare(&query.text), k));
            Ok(TopHits(hits.collect::<Result<_>>()?))
        };
        Ok(Rankings(KS.map(rank).into_iter().collect::<Result<_>>()?))
    }

    /// Times the queries of every kind on one thread. An engine with batches measures the peak of
    /// memory again after these.
    pub(crate) fn time<Q>(
        &self,
        prepare: impl Fn(&str) -> Q,
        top: impl Fn(&Q, usize) -> Result<Vec<(u64, f32)>>,
    ) -> Result<SearchTimes> {
        let mut latencies = Vec::new();
        for kind in self.kinds() {
            let queries: Vec<Q> = self.texts(kind).into_iter().map(&prepare).collect();
            for k in KS {
                latencies.push(Latency::measure(kind, k, &queries, &top)?);
            }
        }
        Ok(SearchTimes {
            latencies,
            batch_rates: Vec::new(),
            peak: crate::resident_peak(),
            first_searches: Vec::new(),
            text_batch_rates: Vec::new(),
        })
    }
}

impl SearchTimes {
    /// Keeps the better of the times of another round, value by value.
    pub(crate) fn keep_best(&mut self, other: &Self) {
        let latencies = self.latencies.iter_mut().zip(&other.latencies);
        let first = self.first_searches.iter_mut().zip(&other.first_searches);
        for (best, other) in latencies.chain(first) {
            best.mean_ms = best.mean_ms.min(other.mean_ms);
            best.p99_ms = best.p99_ms.min(other.p99_ms);
        }
        let batches = self.batch_rates.iter_mut().zip(&other.batch_rates);
        let texts = self
            .text_batch_rates
            .iter_mut()
            .zip(&other.text_batch_rates);
        for (best, other) in batches.chain(texts) {
            *best = best.max(*other);
        }
        self.peak = self.peak.max(other.peak);
    }
}

/// Queries per CPU second of a batch, the best of three passes after a warm-up.
pub(crate) fn batch_rate(
    queries: usize,
    mut search_all: impl FnMut() -> Result<()>,
) -> Result<f64> {
    let mut best = f64::INFINITY;
    search_all()?;
    for _ in 0..3 {
        let start = process_seconds();
        search_all()?;
        best = best.min(process_seconds() - start);
    }
    Ok(queries as f64 / best)
}

impl Latency {
    fn measure<Q>(
        kind: &str,
        k: usize,
        queries: &[Q],
        top: impl Fn(&Q, usize) -> Result<Vec<(u64, f32)>>,
    ) -> Result<Self> {
        Self::measure_prepared(
            kind,
            k,
            queries,
            || Ok(()),
            |(), query| {
                std::hint::black_box(top(query, k)?);
                Ok(())
            },
        )
    }

    /// As [`Latency::measure`]; what `prepare` returns before each search is not timed.
    pub(crate) fn measure_prepared<Q, P>(
        kind: &str,
        k: usize,
        queries: &[Q],
        prepare: impl Fn() -> Result<P>,
        search: impl Fn(&P, &Q) -> Result<()>,
    ) -> Result<Self> {
        let mut best = vec![f64::INFINITY; queries.len()];
        // The first pass is a warm-up.
        for pass in 0..4 {
            for (best, query) in best.iter_mut().zip(queries) {
                let prepared = prepare()?;
                let start = thread_seconds();
                search(&prepared, query)?;
                if pass > 0 {
                    *best = best.min((thread_seconds() - start) * 1e3);
                }
            }
        }
        best.sort_by(f64::total_cmp);
        let p99 = best.get(best.len() * 99 / 100);
        Ok(Self {
            kind: kind.to_owned(),
            k,
            queries: best.len(),
            mean_ms: best.iter().sum::<f64>() / best.len() as f64,
            p99_ms: *p99.context("no queries of a kind")?,
        })
    }
}

impl Workload {
    /// Opens a collection of the catalog with all its queries, or without `IR_DATA` generates a
    /// synthetic one from a seed.
    pub(crate) fn open(name: &str, limit: u64) -> Result<Self> {
        let budget = 256 << 20;
        let (collection, queries) = match std::env::var_os("IR_DATA") {
            Some(_) => {
                let collection = ir_data::catalog::open(name)?;
                let queries = collection.all_queries()?;
                (collection, queries)
            }
            None => {
                let (documents, queries) = synthetic(200_000);
                (
                    Collection::new("synthetic", documents, InMemoryJudgedQueries::default()),
                    queries,
                )
            }
        };
        Ok(Self {
            collection,
            queries,
            has_kinds: name == PACKAGES,
            limit,
            budget,
        })
    }
}

/// Generates documents of 3 to 18 Zipf-distributed words; queries are 2 to 6 words of a document.
fn synthetic(documents: u64) -> (Vec<Document>, Vec<Query>) {
    let mut random = Random(7);
    let mut words = |count: u64| -> Vec<String> {
        // The exponential of a uniform number is Zipf-distributed: P(rank r) is about 1/r.
        let word = |unit: f64| format!("w{}", (60_000_f64.powf(unit)) as u64);
        (0..count).map(|_| word(random.uniform())).collect()
    };
    let mut all = Vec::new();
    let mut queries = Vec::new();
    for n in 0..documents {
        let length = 3 + n * 7 % 16;
        let text = words(length).join(" ");
        if n % 500 == 0 {
            let kind = ['k', 'n', 'a'][(n / 500 % 3) as usize];
            let some: Vec<&str> = text.split(' ').take(2 + (n / 500 % 5) as usize).collect();
            queries.push(Query::new(format!("{kind}{n}"), some.join(" ")));
        }
        all.push(Document::new(format!("d{n}")).with_text(text));
    }
    (all, queries)
}
