//! Scoring models beside those of Lucene: rounds of both engines alternate, in CPU time on one
//! thread.
//!
//! Both engines have one-byte lengths and the same parameters. The top 10 are compared before the
//! first round: the scores of models with the same formula must be equal to the last bit. BM25F
//! runs beside Lucene's `CombinedFieldQuery` over an index of titles and texts.

use anyhow::{Context, Result, bail, ensure};
use bench_common::Page;
use ir_bm25::{Index, IndexedFields, Searcher};
use ir_core::{Retriever, Search};

use crate::lucene::{Lucene, Queries, positioned};
use crate::ours;
use crate::workload::{TopHits, Workload, thread_seconds};

/// Model that both engines have.
struct Model {
    name: &'static str,
    /// Name and parameters of the model in ir-bm25.
    ours: &'static str,
    /// Minimum overlap of the top 10; [`None`] if the formulas are the same, so that the scores
    /// must be equal. Lucene adds 1 to the frequencies of InExpB2's after-effect and estimates the
    /// expected document frequency otherwise. `CombinedFieldQuery` normalizes by the weighted sum
    /// of the lengths, and has the highest document frequency of a field instead of that of all
    /// fields.
    min_overlap: Option<f64>,
    /// Whether titles and texts are two fields.
    has_fields: bool,
}

const fn model(name: &'static str, ours: &'static str) -> Model {
    Model {
        name,
        ours,
        min_overlap: None,
        has_fields: false,
    }
}

const MODELS: [Model; 7] = [
    model("bm25", "bm25(k1=0.9,b=0.4)"),
    model("qld", "qld(mu=1000)"),
    model("qljm", "qljm(lambda=0.1)"),
    model("tfidf", "tfidf"),
    model("inl2", "inl2(c=1,lengths=one-byte)"),
    Model {
        min_overlap: Some(0.9),
        ..model("in_expb2", "in_expb2(c=1,lengths=one-byte)")
    },
    Model {
        min_overlap: Some(0.8),
        has_fields: true,
        ..model(
            "bm25f",
            "bm25f(k1=0.9,b=0.4,weight.title=2,b.title=0.4,lengths=one-byte)",
        )
    },
];

/// Number of timed rounds of each engine.
const ROUNDS: usize = 5;
/// CPU time of the queries in Lucene before the first round, in milliseconds.
const WARM_UP: f64 = 2000.0;

/// Compares the models of `--model`, or all.
pub(crate) fn run(
    work: &Workload,
    collection: &str,
    names: Option<&str>,
    threads: usize,
    page: &Page,
) -> Result<()> {
    let (with_fields, without): (Vec<_>, Vec<_>) = chosen(names)?
        .into_iter()
        .partition(|model| model.has_fields);
    let kinds = work.kinds();
    let mut table = format!(
        "| mean, ms: ir-bm25; Lucene; ratio{} | overlap of the top 10; queries with other scores |\n|{}\n",
        columns(kinds),
        "---|".repeat(2 + 2 * kinds.len())
    );
    if !without.is_empty() {
        let form = (IndexedFields::One, Queries::Words);
        table.push_str(&run_models(work, &without, form, threads)?);
    }
    if !with_fields.is_empty() {
        let form = (IndexedFields::Separate, Queries::CombinedFields);
        table.push_str(&run_models(work, &with_fields, form, threads)?);
    }
    page.write(&format!("models {collection}"), &table)
}

/// Compares models over an index with these fields. Returns the rows.
fn run_models(
    work: &Workload,
    models: &[&'static Model],
    (fields, form): (IndexedFields, Queries),
    threads: usize,
) -> Result<String> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("index.ir");
    ours::build_fields(work, &path, fields, threads)?;
    let index = Index::open(&path)?;
    let analysis = ir_bm25::analysis::Analysis::anserini().build()?;
    let queries = work.queries().iter();
    let queries: Vec<_> = queries
        .map(|query| (work.kind(query), positioned(&analysis, &query.text)))
        .collect();
    let lucene = Lucene::start(work, &queries, form)?;
    let mut lucene =
        lucene.context("IR_BM25_PEERS: expected the folder of benches/bm25/peers.sh")?;
    let kinds = work.kinds();
    eprintln!("{}", lucene.facts.name);
    let mut rows = String::new();
    for model in models {
        let searcher = index.searcher(model.ours.parse::<ir_bm25::Model>()?)?;
        let found = top(&searcher, work)?;
        let expected = lucene.top(model.name)?;
        let (overlap, _) = found.compare(&expected)?;
        let differing = found.differing(&expected);
        ensure!(
            match model.min_overlap {
                None => differing == 0,
                Some(least) => overlap > least,
            },
            "{}: expected the results of Lucene",
            model.name
        );
        rows.push_str(&format!("| `{}`", model.name));
        for kind in kinds {
            for k in [10, 1000] {
                let cell = compare(&searcher, &mut lucene, model, (work, kind, k))?;
                rows.push_str(&cell);
            }
        }
        rows.push_str(&format!(" | {:.1} %; {differing} |\n", 100.0 * overlap));
    }
    Ok(rows)
}

fn chosen(names: Option<&str>) -> Result<Vec<&'static Model>> {
    let Some(names) = names else {
        return Ok(MODELS.iter().collect());
    };
    let named = names.split(',').map(|name| {
        let known = MODELS.iter().find(|model| model.name == name);
        match known {
            Some(model) => Ok(model),
            None => {
                let known = MODELS.map(|model| model.name).join(", ");
                bail!("--model: expected some of {known}, found {name:?}")
            }
        }
    });
    named.collect()
}

fn columns(kinds: &[&str]) -> String {
    let cell = |kind: &&str| format!(" | {kind}, k = 10 | {kind}, k = 1000");
    kinds.iter().map(cell).collect()
}

fn top(searcher: &Searcher, work: &Workload) -> Result<TopHits> {
    let queries = work.queries().iter();
    let hits = queries.map(|query| {
        let ranking = searcher.search(&query.text, &Search::top(10))?;
        let hits = ranking.iter();
        Ok(hits
            .map(|hit| (u64::from(hit.doc.get()), hit.score))
            .collect())
    });
    Ok(TopHits::new(hits.collect::<Result<_>>()?))
}

/// The cell of a kind of queries: the means of both engines, each query at its best of the rounds,
/// and the median of the ratios of the rounds.
fn compare(
    searcher: &Searcher,
    lucene: &mut Lucene,
    model: &Model,
    (work, kind, k): (&Workload, &str, usize),
) -> Result<String> {
    let texts = work.texts(kind);
    let search_all = || -> Result<Vec<f64>> {
        let times = texts.iter().map(|text| {
            let start = thread_seconds();
            let _ = std::hint::black_box(searcher.search(text, &Search::top(k))?);
            Ok((thread_seconds() - start) * 1e3)
        });
        times.collect()
    };
    let mut search_peer = || lucene.time(model.name, kind, k);
    search_all()?;
    let mut warm = 0.0;
    while warm < WARM_UP {
        warm += search_peer()?.iter().sum::<f64>();
    }
    let mut best = vec![f64::INFINITY; texts.len()];
    let mut best_of_peer = best.clone();
    let mut ratios = Vec::new();
    for _ in 0..ROUNDS {
        let (ours, peer) = (search_all()?, search_peer()?);
        ensure!(peer.len() == best.len(), "Lucene: expected all {kind}");
        ratios.push(peer.iter().sum::<f64>() / ours.iter().sum::<f64>());
        let lower = |best: &mut Vec<f64>, times: &[f64]| {
            let pairs = best.iter_mut().zip(times);
            pairs.for_each(|(best, time)| *best = best.min(*time));
        };
        lower(&mut best, &ours);
        lower(&mut best_of_peer, &peer);
    }
    ratios.sort_by(f64::total_cmp);
    let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len() as f64;
    Ok(format!(
        " | {:.3}; {:.3}; {:.2}",
        mean(&best),
        mean(&best_of_peer),
        ratios[ROUNDS / 2]
    ))
}
