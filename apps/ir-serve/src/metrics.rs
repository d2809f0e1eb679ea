//! Metrics of requests and of the published state, for Prometheus.

use std::fmt;
use std::sync::atomic::Ordering;
use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::service::Service;

/// Counters of the server. Names and labels are in the README.
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    seconds: Family<PathLabels, Histogram, fn() -> Histogram>,
    documents: Gauge,
    answers: Gauge,
    answers_without_vectors: Gauge,
    jobs: Gauge,
    unlogged: Gauge,
    encoded: Counter,
    long_reranked: Counter,
    reranking_timeouts: Counter,
    ready: Gauge,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    /// Route, such as `/v1/search/query`; never a path that a client chose.
    path: String,
    status: StatusClass,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct StatusClass(u16);

impl EncodeLabelValue for StatusClass {
    fn encode(
        &self,
        encoder: &mut prometheus_client::encoding::LabelValueEncoder<'_>,
    ) -> Result<(), fmt::Error> {
        EncodeLabelValue::encode(&u64::from(self.0), encoder)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PathLabels {
    path: String,
}

/// Upper bounds of the histogram of times, in seconds.
const BOUNDS: [f64; 12] = [
    0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0, 30.0,
];

impl Metrics {
    pub(crate) fn new() -> Self {
        let seconds: fn() -> Histogram = || Histogram::new(BOUNDS);
        let mut metrics = Self {
            registry: Registry::with_prefix("ir"),
            requests: Family::default(),
            seconds: Family::new_with_constructor(seconds),
            documents: Gauge::default(),
            answers: Gauge::default(),
            answers_without_vectors: Gauge::default(),
            jobs: Gauge::default(),
            unlogged: Gauge::default(),
            encoded: Counter::default(),
            long_reranked: Counter::default(),
            reranking_timeouts: Counter::default(),
            ready: Gauge::default(),
        };
        let registry = &mut metrics.registry;
        registry.register(
            "http_requests",
            "Requests by route and status",
            metrics.requests.clone(),
        );
        registry.register(
            "http_request_seconds",
            "Time of requests by route",
            metrics.seconds.clone(),
        );
        let gauges = [
            ("documents", "Published documents", &metrics.documents),
            ("answers", "Published answers", &metrics.answers),
            (
                "answers_without_vectors",
                "Published answers that wait for their vectors",
                &metrics.answers_without_vectors,
            ),
            ("jobs", "Publications that wait or run", &metrics.jobs),
            (
                "unlogged_queries",
                "Queries that could not be logged",
                &metrics.unlogged,
            ),
            ("ready", "1 if queries are answered", &metrics.ready),
        ];
        let counters = [
            (
                "encoded_texts",
                "Answers and their questions that were encoded, because their vectors were not \
                 stored",
                &metrics.encoded,
            ),
            (
                "long_reranked_texts",
                "Texts that exceeded the sequence length of the reranker",
                &metrics.long_reranked,
            ),
            (
                "reranking_timeouts",
                "Rerankings that exceeded their time limit",
                &metrics.reranking_timeouts,
            ),
        ];
        for (name, help, counter) in counters {
            registry.register(name, help, counter.clone());
        }
        for (name, help, gauge) in gauges {
            registry.register(name, help, gauge.clone());
        }
        metrics
    }

    /// Counts a request by route and status, and its time by route.
    pub(crate) fn request(&self, path: &str, status: u16, time: Duration) {
        let path = path.to_owned();
        let labels = RequestLabels {
            path: path.clone(),
            status: StatusClass(status),
        };
        self.requests.get_or_create(&labels).inc();
        let seconds = self.seconds.get_or_create(&PathLabels { path });
        seconds.observe(time.as_secs_f64());
    }

    /// All metrics in the text format of OpenMetrics.
    pub(crate) fn text(&self, service: &Service) -> String {
        let state = service.published().ok();
        self.ready.set(i64::from(state.is_some()));
        if let Some(state) = state {
            set(&self.documents, state.documents().len());
            set(&self.answers, state.index().frames().len());
            set(&self.answers_without_vectors, state.waiting_for_vectors());
        }
        set(&self.jobs, service.unfinished_jobs());
        set(&self.unlogged, service.unlogged_queries());
        for (counter, count) in [
            (&self.encoded, service.encoded_texts()),
            (&self.long_reranked, service.long_reranked_texts()),
            (&self.reranking_timeouts, service.reranking_timeouts()),
        ] {
            counter.inner().store(count, Ordering::Relaxed);
        }
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

fn set(gauge: &Gauge, count: impl TryInto<i64>) {
    gauge.set(count.try_into().unwrap_or(i64::MAX));
}
