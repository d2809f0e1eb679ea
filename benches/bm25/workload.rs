//! Documents, queries, and timing of queries.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use bench_common::Random;
use ir_core::{Document, Query};
use ir_data::{Collection, InMemoryJudgedQueries};
use serde::{Deserialize, Serialize};

pub(crate) struct Workload {
    collection: Collection,
    queries: Vec<Query>,
    limit: u64,
    /// Memory budget of indexing in bytes.
    pub(crate) budget: usize,
}

/// Measurements of one engine.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Measurements {
    pub(crate) documents: u64,
    pub(crate) queries: usize,
    pub(crate) index_seconds: f64,
    pub(crate) index_bytes: u64,
    pub(crate) index_peak: u64,
    pub(crate) rates: Vec<Rate>,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Rate {
    pub(crate) kind: String,
    pub(crate) k: usize,
    pub(crate) per_second: f64,
    pub(crate) p95_ms: f64,
}

/// Top 10 of every query: document number in file order, and score.
#[derive(Serialize, Deserialize)]
pub(crate) struct TopHits(Vec<Vec<(u64, f32)>>);

impl TopHits {
    /// Number of queries with a score difference of more than 0.1 % at any rank.
    pub(crate) fn compare(&self, other: &Self) -> Result<usize> {
        ensure!(
            self.0.len() == other.0.len(),
            "expected {} queries, found {}",
            self.0.len(),
            other.0.len()
        );
        let close = |(a, b): (&(u64, f32), &(u64, f32))| (a.1 - b.1).abs() <= 1e-3 * a.1.abs();
        let differ = |a: &Vec<(u64, f32)>, b: &Vec<(u64, f32)>| {
            a.len() != b.len() || !a.iter().zip(b).all(close)
        };
        let differing = self
            .0
            .iter()
            .zip(&other.0)
            .filter(|(a, b)| differ(a, b))
            .count();
        ensure!(
            differing * 50 <= self.0.len(),
            "{differing} of {} queries differ",
            self.0.len()
        );
        Ok(differing)
    }
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

    /// Times the queries of each kind one at a time on one thread, after a warm-up pass.
    pub(crate) fn time_queries(
        &self,
        top: impl Fn(&str, usize) -> Result<Vec<(u64, f32)>>,
    ) -> Result<Measurements> {
        let kinds = [("keywords", 'k'), ("questions", 'n'), ("arguments", 'a')];
        let mut rates = Vec::new();
        for (kind, initial) in kinds {
            let texts: Vec<&str> = self
                .queries
                .iter()
                .filter(|q| q.id.starts_with(initial))
                .map(|q| q.text.as_str())
                .collect();
            for k in [10, 1000] {
                for text in &texts {
                    top(text, k)?;
                }
                let mut seconds = Vec::with_capacity(texts.len());
                for text in &texts {
                    let start = Instant::now();
                    std::hint::black_box(top(text, k)?);
                    seconds.push(start.elapsed().as_secs_f64());
                }
                seconds.sort_by(f64::total_cmp);
                let p95 = seconds
                    .get(seconds.len() * 95 / 100)
                    .context("no queries of a kind")?;
                rates.push(Rate {
                    kind: kind.to_owned(),
                    k,
                    per_second: seconds.len() as f64 / seconds.iter().sum::<f64>(),
                    p95_ms: p95 * 1e3,
                });
            }
        }
        let documents = self.for_each_document(&mut |_, _| Ok(()))?;
        Ok(Measurements {
            documents,
            queries: self.queries.len(),
            rates,
            ..Measurements::default()
        })
    }

    pub(crate) fn answers(
        &self,
        top: impl Fn(&str, usize) -> Result<Vec<(u64, f32)>>,
    ) -> Result<TopHits> {
        Ok(TopHits(
            self.queries
                .iter()
                .map(|query| top(&query.text, 10))
                .collect::<Result<_>>()?,
        ))
    }
}

impl Workload {
    /// Opens the collection `packages`, or generates a synthetic one from a seed.
    pub(crate) fn open(limit: u64) -> Result<Self> {
        let budget = 256 << 20;
        let (collection, queries) = match std::env::var_os("IR_DATA") {
            Some(_) => {
                let collection = ir_data::catalog::open("packages")?;
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
