//! Dense retrieval and hybrid search with the vectors of `ir encode`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use ir_bm25::StoredFields;
use ir_core::fusion::WeightedSum;
use ir_core::store::Verify;
use ir_core::{CachedEncoder, Encoded, Encoder, Query, Renumbered, Retriever, Side};
use ir_data::{Collection, DocTemplate};
use ir_knn::{EfSearch, SegmentedHnswSearcher, SegmentedVectorIndex};
use ir_system::saved_vectors::{QueryVectors, VectorOrigin, open_vectors};
use ir_system::{SharedRetriever, SystemEntry};
use toml::Value;

use super::search_index::SearchIndex;
use super::vector_texts::TextComparison;
use crate::shared::console::{Console, bail_usage};
use crate::shared::encoder::{
    EncoderOptions, QueryEncoder, find_model, open_encoder, origin_of, print_notes, probe,
};
use crate::shared::format::grouped;
use crate::shared::options::{first_set, resolved};
use crate::shared::system_options::{SYSTEM, key_help, shortest};

/// Options of dense retrieval.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Vectors")]
pub(crate) struct DenseOptions {
    #[arg(long, value_name = "FILE", help = key_help("dense", "vectors") + ". Replaces BM25")]
    vectors: Option<PathBuf>,

    /// Encoder of the vectors: model folder or name
    #[arg(long, value_name = "MODEL", requires = "vectors")]
    encoder: Option<PathBuf>,

    #[arg(long, value_name = "FILE", help = key_help("dense", "queries"), requires = "vectors", conflicts_with_all = ["encoder", "words", "query"])]
    query_vectors: Option<PathBuf>,

    #[arg(long, help = key_help("dense", "any_encoder"), requires = "vectors")]
    any_encoder: bool,

    #[arg(long, help = key_help("dense", "ef_search"), value_parser = crate::shared::options::positive, value_name = "N", requires = "vectors")]
    ef_search: Option<usize>,

    #[arg(long, help = key_help("dense", "exact"), requires = "vectors", conflicts_with = "ef_search")]
    exact: bool,

    /// Weight of the BM25 score in the hybrid score similarity + ALPHA * BM25. Tune it on held-out
    /// queries: 0.05 suits cosines and short queries, longer queries need less, inner products of
    /// vectors that are not normalized need more. Several weights, separated by commas, give a run
    /// each: {alpha} in --output is replaced by the weight, which is appended to the tag
    #[arg(long, value_delimiter = ',', value_parser = crate::shared::options::non_negative::<f32>, value_name = "ALPHA", requires = "vectors")]
    alpha: Vec<f32>,

    // Query encoder options; they must match those of `ir encode`.
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

    /// Systems of the options, for a system file: dense retrieval in place of the lexical systems,
    /// or a weighted sum of both.
    pub(crate) fn systems(&self, mut lexical: Vec<SystemEntry>) -> Result<Vec<SystemEntry>> {
        let Some(vectors) = &self.vectors else {
            return Ok(lexical);
        };
        let mut dense = SystemEntry::new("vectors", "dense");
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
        let fields = first.parameters.get("fields");
        if let Some(fields) = fields.filter(|fields| fields.as_str() != Some("one")) {
            set("fields", fields.clone());
        }
        let mut base = lexical.pop().context("expected a lexical system")?;
        let alpha = match self.alpha[..] {
            [] => {
                SYSTEM.clone_into(&mut dense.name);
                return Ok(vec![dense]);
            }
            [alpha] => alpha,
            _ => bail_usage!("--alpha: expected one weight with --save"),
        };
        "BM25".clone_into(&mut base.name);
        (base.hidden, dense.hidden) = (true, true);
        let weights = [shortest(alpha), 1.0].map(Value::Float).to_vec();
        let hybrid = SystemEntry::new(SYSTEM, "hybrid")
            .with("of", vec![Value::from("BM25"), Value::from("vectors")])
            .with("weights", weights);
        lexical.extend([base, dense, hybrid]);
        Ok(lexical)
    }

    /// Rejects options without effect, and a file without vectors. `lexical` is the first option
    /// that affects only scores of BM25.
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
        let path = resolved("--vectors", path)?;
        open_vectors("--vectors", &path, Verify::SmallSections)?;
        Ok(())
    }

    /// Dense retriever, or a hybrid one with `words` for every weight, over the document numbers of
    /// `words`; none without vectors. `collection` has the documents, unless the index is a saved
    /// or cached one. The file of the vectors is opened with `verify`. With `probed`, also returns
    /// the probe of the encoder of the queries, if there is one.
    pub(crate) fn retrievers(
        &self,
        words: &SharedRetriever,
        (verify, probed): (Verify, bool),
        engine: &SearchIndex,
        collection: Option<&Collection>,
        queries: &[Query],
        console: &Console,
    ) -> Result<(Vec<SharedRetriever>, Option<Vec<u32>>)> {
        let Some(path) = &self.vectors else {
            return Ok((Vec::new(), None));
        };
        let vectors = open_vectors("--vectors", &resolved("--vectors", path)?, verify)?;
        let origin = origin_of(&vectors, path, DOCUMENTS_UNCHECKED, console);
        if origin
            .as_ref()
            .is_some_and(|origin| origin.template.is_none())
        {
            bail!(
                "{}: expected vectors of documents, found vectors of queries (`ir encode --queries`)",
                path.display()
            );
        }
        let (encoder, name) = self.query_encoder((path, origin.as_ref()), queries, console)?;
        let probed = probed && self.encoder.is_some();
        let probe = probed.then(|| probe(&*encoder, Side::Query)).transpose()?;
        if !vectors.is_empty() && vectors.dim() != encoder.dim() {
            bail!(
                "{}: expected vectors of {} dimensions ({name}), found {}",
                path.display(),
                encoder.dim(),
                vectors.dim()
            );
        }
        let known = vectors.ids();
        let missing = words.ids().iter().filter(|id| known.get(id).is_none());
        let missing = missing.count();
        if missing == words.ids().len() && missing > 0 {
            bail!(
                "{}: expected vectors of the documents of the collection, found none of them",
                path.display()
            );
        }
        if missing > 0 {
            console.warn(format_args!(
                "{}: {} of {} documents have no vector and cannot be retrieved (run `ir encode` again)",
                path.display(),
                grouped(missing as u64),
                grouped(words.ids().len() as u64)
            ));
        }
        if let Some(origin) = &origin {
            self.check_texts((path, &vectors), origin, engine, collection, console)?;
        }
        // A hybrid sends every query at least twice, and for each weight.
        let encoder: Box<dyn Encoder> = if self.alpha.is_empty() {
            encoder
        } else {
            Box::new(CachedEncoder::new(encoder))
        };
        let ids = words.ids();
        let dense: SharedRetriever = match self.graphs(path, &vectors)? {
            Some(graphs) => {
                console.log(format_args!(
                    "note: {}: approximate search of graphs, beam width {} (--ef-search); --exact \
                     compares all vectors",
                    path.display(),
                    graphs.ef_search().0
                ));
                Arc::new(Renumbered::new(Encoded::new(encoder, graphs), ids.clone()))
            }
            None => Arc::new(Renumbered::new(Encoded::new(encoder, vectors), ids.clone())),
        };
        let mut retrievers: Vec<SharedRetriever> = Vec::new();
        for &alpha in &self.alpha {
            // BM25 first: ties are broken in the order of its index.
            let blend = WeightedSum::new([(words.clone(), alpha), (dense.clone(), 1.0)]);
            let blend = blend.context("--alpha")?;
            retrievers.push(Arc::new(blend.with_names(["BM25", "vectors"])));
        }
        if retrievers.is_empty() {
            retrievers.push(dense);
        }
        // The parts of a hybrid share the number of the first record of an id.
        let renumbered = retrievers.into_iter().map(|inner| {
            if inner.ids() == ids {
                inner
            } else {
                Arc::new(Renumbered::new(inner, ids.clone())) as SharedRetriever
            }
        });
        Ok((renumbered.collect(), probe))
    }

    /// Approximate searcher of vectors with graphs; [`None`] for an exact search.
    fn graphs(
        &self,
        path: &Path,
        vectors: &SegmentedVectorIndex,
    ) -> Result<Option<SegmentedHnswSearcher>> {
        let width = self.ef_search.map_or(EfSearch::default(), EfSearch);
        let graphs = vectors.hnsw_searcher(width);
        if graphs.is_none()
            && let Some(option) = first_set([
                ("--ef-search", self.ef_search.is_some()),
                ("--exact", self.exact),
            ])
        {
            bail!(
                "{option}: {}: expected vectors with graphs (`ir encode --add --hnsw`), found \
                 none, which are searched exactly",
                path.display()
            );
        }
        Ok(graphs.filter(|_| !self.exact))
    }

    /// Encoder of the queries, and its name for messages: a model, or the vectors of a file.
    fn query_encoder(
        &self,
        (path, origin): (&Path, Option<&VectorOrigin>),
        queries: &[Query],
        console: &Console,
    ) -> Result<(Box<dyn Encoder>, String)> {
        if let Some(file) = &self.query_vectors {
            let vectors = QueryVectors {
                key: "--query-vectors",
                path: &resolved("--query-vectors", file)?,
                documents: origin,
                any_encoder: self.any_encoder,
                acceptance: "--any-encoder",
                required: None,
            };
            let encoded = vectors.open(queries, &mut |text| console.warn(text))?;
            return Ok((Box::new(encoded), format!("queries {}", file.display())));
        }
        let folder = self.encoder.as_deref().unwrap_or(Path::new(""));
        let model = find_model(folder)?;
        let config = model.with_catalog_defaults(self.encoder_options.config(Side::Query));
        let encoder = open_encoder(&model.folder, &config)?;
        print_notes(&encoder, folder, console);
        if let Some(origin) = origin {
            let queries = QueryEncoder {
                model: folder,
                encoder: &encoder,
                options: &self.encoder_options,
            };
            queries.check(path, origin, self.any_encoder, console)?;
        }
        Ok((Box::new(encoder), format!("encoder {}", folder.display())))
    }

    /// Checks that every document with a vector has the text that was encoded.
    fn check_texts(
        &self,
        (path, vectors): (&Path, &SegmentedVectorIndex),
        origin: &VectorOrigin,
        engine: &SearchIndex,
        collection: Option<&Collection>,
        console: &Console,
    ) -> Result<()> {
        let template = origin.template.as_deref().map(str::parse::<DocTemplate>);
        let Some(template) = template.transpose()? else {
            return Ok(());
        };
        let texts = TextComparison::new(&template, vectors.ids(), &origin.texts);
        let mut bar = console.bar();
        let outdated = match collection {
            Some(collection) => texts.with_corpus(collection.corpus(), &mut bar)?,
            None if engine.index.config().store == StoredFields::Everything => {
                texts.with_index(engine, &mut bar)?
            }
            None => {
                console.log(format_args!(
                    "note: {}: not compared with the texts of {}, which stores none",
                    path.display(),
                    engine.name
                ));
                None
            }
        };
        bar.finish();
        let Some((count, first)) = outdated else {
            return Ok(());
        };
        let difference = format!(
            "{}: expected vectors of the texts of {}, found other texts for {} of its documents, such as {first:?}",
            path.display(),
            engine.name,
            grouped(count as u64)
        );
        if self.any_encoder {
            console.warn(difference);
            return Ok(());
        }
        bail!("{difference} (run `ir encode` again; --any-encoder searches all the same)")
    }
}

/// What is not compared without a record of the encoder and the documents.
const DOCUMENTS_UNCHECKED: &str =
    "--encoder must be the model that encoded it, and the documents must not have changed";
