//! Dense retrieval and hybrid search with the vectors of `ir encode`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use ir_core::store::Verify;
use ir_dense::Backend;
use ir_system::SystemEntry;
use ir_system::saved_vectors::open_vectors;
use toml::Value;

use crate::shared::console::bail_usage;
use crate::shared::encoder::{EncoderOptions, find_model};
use crate::shared::options::{first_set, resolved};
use crate::shared::system_options::{DENSE, HYBRID, SYSTEM, key_help, shortest};

/// Options of dense retrieval.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Vectors")]
pub(crate) struct DenseOptions {
    #[arg(long, value_name = "FILE", help = key_help(DENSE, "vectors") + ". Replaces BM25")]
    vectors: Option<PathBuf>,

    /// Encoder of the vectors: model folder or name
    #[arg(long, value_name = "MODEL", requires = "vectors")]
    encoder: Option<PathBuf>,

    #[arg(long, value_name = "FILE", help = key_help(DENSE, "queries"), requires = "vectors", conflicts_with_all = ["encoder", "words", "query"])]
    query_vectors: Option<PathBuf>,

    #[arg(long, help = key_help(DENSE, "any_encoder"), requires = "vectors")]
    any_encoder: bool,

    #[arg(long, help = key_help(DENSE, "ef_search"), value_parser = crate::shared::options::positive, value_name = "N", requires = "vectors")]
    ef_search: Option<usize>,

    #[arg(long, help = key_help(DENSE, "exact"), requires = "vectors", conflicts_with = "ef_search")]
    exact: bool,

    /// Weight of the BM25 score in the hybrid score similarity + ALPHA * BM25. Tune it on held-out
    /// queries: 0.05 suits cosines and short queries, longer queries need less, inner products of
    /// vectors that are not normalized need more. Several weights, separated by commas, give a run
    /// each: {alpha} in --output is replaced by the weight, which is appended to the tag
    #[arg(long, value_delimiter = ',', value_parser = crate::shared::options::non_negative::<f32>, value_name = "ALPHA", requires = "vectors")]
    alpha: Vec<f32>,

    // Query encoder options; they must match the options of `ir encode`.
    #[command(flatten)]
    encoder_options: EncoderOptions,
}

impl DenseOptions {
    /// Default run tag; `None` without vectors.
    pub(crate) fn system(&self) -> Option<&'static str> {
        self.vectors.as_ref()?;
        Some(if self.alpha.is_empty() {
            "ir-vectors"
        } else {
            "ir-hybrid"
        })
    }

    /// First option that is given.
    pub(crate) fn first_set(&self) -> Option<&'static str> {
        first_set([
            ("--vectors", self.vectors.is_some()),
            ("--encoder", self.encoder.is_some()),
            ("--query-vectors", self.query_vectors.is_some()),
            ("--any-encoder", self.any_encoder),
            ("--ef-search", self.ef_search.is_some()),
            ("--exact", self.exact),
            ("--alpha", !self.alpha.is_empty()),
        ])
        .or(self.encoder_options.first_set())
    }

    /// Weights of BM25; empty without hybrid search.
    pub(crate) fn alphas(&self) -> &[f32] {
        &self.alpha
    }

    /// Compute backend of the encoder.
    pub(crate) fn backend(&self) -> Option<Backend> {
        self.encoder_options.backend()
    }

    /// Systems of the options: dense retrieval in place of the lexical systems, or a weighted sum
    /// of both with this weight of BM25.
    pub(crate) fn systems(
        &self,
        mut lexical: Vec<SystemEntry>,
        alpha: Option<f32>,
    ) -> Result<Vec<SystemEntry>> {
        let Some(vectors) = &self.vectors else {
            return Ok(lexical);
        };
        let mut dense = SystemEntry::new("vectors", DENSE);
        let mut set = |key: &str, value: Value| dense.parameters.insert(key.to_owned(), value);
        let text = |path: &Path| Value::from(path.display().to_string());
        set("vectors", text(vectors));
        if let Some(queries) = &self.query_vectors {
            set("queries", text(queries));
        }
        if let Some(model) = &self.encoder {
            let mut encoder = self.encoder_options.keys()?;
            encoder.insert("model".to_owned(), text(model));
            set("encoder", encoder.into());
        }
        if self.any_encoder {
            set("any_encoder", true.into());
        }
        if let Some(width) = self.ef_search {
            set("ef_search", i64::try_from(width)?.into());
        }
        if self.exact {
            set("exact", true.into());
        }
        // Below a prior, the first system has the keys of the index.
        let first = lexical.first().context("expected a lexical system")?;
        for key in ["blank", "cleaning", "order"] {
            if let Some(value) = first.parameters.get(key) {
                set(key, value.clone());
            }
        }
        // Fields say which documents are blank; without `blank`, the index has dropped them.
        let fields = first.parameters.get("fields");
        let fields = fields.filter(|_| first.parameters.contains_key("blank"));
        if let Some(fields) = fields.filter(|fields| fields.as_str() != Some("one")) {
            set("fields", fields.clone());
        }
        let mut base = lexical.pop().context("expected a lexical system")?;
        let Some(alpha) = alpha else {
            SYSTEM.clone_into(&mut dense.name);
            return Ok(vec![dense]);
        };
        "BM25".clone_into(&mut base.name);
        (base.hidden, dense.hidden) = (true, true);
        let weights = [shortest(alpha), 1.0].map(Value::Float).to_vec();
        let hybrid = SystemEntry::new(SYSTEM, HYBRID)
            .with("of", vec![Value::from("BM25"), Value::from("vectors")])
            .with("weights", weights);
        lexical.extend([base, dense, hybrid]);
        Ok(lexical)
    }

    /// Rejects options without effect, a file without vectors and an unknown model. `lexical` is
    /// the first option that affects only scores of BM25.
    pub(crate) fn check(&self, lexical: Option<String>) -> Result<()> {
        let Some(path) = &self.vectors else {
            if let Some(option) = self.encoder_options.first_set() {
                bail_usage!("{option}: expected --vectors");
            }
            return Ok(());
        };
        if self.encoder.is_none() && self.query_vectors.is_none() {
            bail_usage!("--vectors: expected --encoder or --query-vectors");
        }
        if let Some(option) = self.encoder_options.first_set()
            && self.encoder.is_none()
        {
            bail_usage!("{option}: expected --encoder, found --query-vectors");
        }
        for (at, alpha) in self.alpha.iter().enumerate() {
            if self.alpha[..at].contains(alpha) {
                bail_usage!("--alpha: expected distinct weights, found {alpha} twice");
            }
        }
        if let Some(option) = lexical.filter(|_| self.alpha.is_empty()) {
            bail_usage!(
                "{option}: expected --alpha (hybrid search), found --vectors without scores of BM25"
            );
        }
        if let Some(queries) = &self.query_vectors {
            let queries = resolved("--query-vectors", queries)?;
            open_vectors("--query-vectors", &queries, Verify::SmallSections)?;
        }
        let resolved_path = resolved("--vectors", path)?;
        let vectors = open_vectors("--vectors", &resolved_path, Verify::SmallSections)?;
        // A system file may have the key; as an option it is a mistake.
        if self.exact && vectors.config().hnsw.is_none() {
            bail!(
                "--exact: {}: expected vectors with graphs (`ir encode --add --hnsw`), found none, \
                 which are searched exactly",
                path.display()
            );
        }
        if let Some(model) = &self.encoder {
            find_model(&resolved("--encoder", model)?)?;
        }
        Ok(())
    }
}
