//! The type `hnsw`: dense retrieval by a graph (HNSW).

use ir_knn::{EfSearch, HnswConfig};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::entries::{CleaningEntry, EncoderReference, cleaning, template};
use crate::error::SystemError;
use crate::observer::StageReport;
use crate::system::{OpenSystem, System, SystemContext};

/// Dense retrieval with a bi-encoder, by approximate search of a graph (HNSW).
///
/// Source: Malkov and Yashunin, "Efficient and robust approximate nearest neighbor search using
/// Hierarchical Navigable Small World graphs", TPAMI 42(4), 2020.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HnswSystem {
    /// Encoder of documents and queries.
    pub encoder: EncoderReference,
    /// Template of the document texts. Default: the encoder's.
    #[serde(default)]
    pub template: Option<String>,
    /// Number of neighbors that a new node is linked to. Range: 2 to 1024. Default: 16.
    #[serde(default)]
    #[schemars(range(min = 2, max = 1024))]
    #[schemars(extend("default" = HnswConfig::default().m))]
    pub m: Option<usize>,
    /// Beam width with which neighbors of a new node are searched. Range: ≥ 1. Default: 200.
    #[serde(default)]
    #[schemars(range(min = 1))]
    #[schemars(extend("default" = HnswConfig::default().ef_construction))]
    pub ef_construction: Option<usize>,
    /// Beam width of a search. Range: ≥ 1. Default: 64.
    #[serde(default)]
    #[schemars(range(min = 1))]
    #[schemars(extend("default" = EfSearch::default().0))]
    pub ef_search: Option<usize>,
    /// Seed of the order in which nodes are linked. Default: 0.
    #[serde(default)]
    #[schemars(extend("default" = HnswConfig::default().seed))]
    pub seed: Option<u64>,
    /// Cleaning of the queries before they are encoded. Default: none.
    #[serde(
        default,
        deserialize_with = "cleaning::table",
        skip_serializing_if = "Option::is_none"
    )]
    pub cleaning: Option<CleaningEntry>,
}

#[cfg(feature = "dense")]
impl HnswSystem {
    fn config(&self) -> HnswConfig {
        let mut config = HnswConfig::default();
        config.m = self.m.unwrap_or(config.m);
        config.ef_construction = self.ef_construction.unwrap_or(config.ef_construction);
        config.seed = self.seed.unwrap_or(config.seed);
        config
    }
}

impl System for HnswSystem {
    fn check(&self) -> Result<(), SystemError> {
        self.cleaning
            .as_ref()
            .map_or(Ok(()), CleaningEntry::check)?;
        self.template.as_deref().map(template).transpose()?;
        self.encoder.check()
    }

    fn files(&self) -> Vec<(String, String)> {
        let tags = self.cleaning.as_ref().and_then(CleaningEntry::file);
        self.encoder.file().into_iter().chain(tags).collect()
    }

    fn encoders(&self) -> Vec<(String, String)> {
        self.encoder.named().into_iter().collect()
    }

    fn content(&self, context: &SystemContext<'_>) -> Result<String, SystemError> {
        let tags = CleaningEntry::content(self.cleaning.as_ref(), context)?;
        Ok(self.encoder.content(context)? + &tags)
    }

    fn stages(&self, context: &SystemContext<'_>) -> Result<Vec<StageReport>, SystemError> {
        let template = self.template.as_deref().map(template).transpose()?;
        self.encoder.stages(context, template.as_ref(), None)
    }

    fn open(&self, context: &mut SystemContext<'_>) -> Result<OpenSystem, SystemError> {
        let template = self.template.as_deref().map(template).transpose()?;
        let (encoder, vectors) = self.encoder.vectors(context, template.as_ref())?;
        #[cfg(not(feature = "dense"))]
        match (encoder, vectors) {}
        #[cfg(feature = "dense")]
        {
            use std::sync::Arc;

            use ir_core::store::Verify;
            use ir_core::{Distinct, Encoded};
            use ir_knn::HnswIndex;

            use crate::cache::Stage;

            let config = self.config();
            let parameters = serde_json::to_string(&config);
            let parameters = parameters.map_err(SystemError::stage("serialization"))?;
            let content = self.encoder.content(context)?;
            let rendered = self.template.as_deref().unwrap_or_default();
            let key = format!("hnsw {parameters} {rendered} {content}");
            let key = context.key(Stage::Vectors, &key);
            let index = context.cached(
                Stage::Vectors,
                &key,
                "graph of the document vectors",
                |path| HnswIndex::open_with(path, Verify::AllSections),
                |context, path| {
                    let flat = (*vectors).clone();
                    let index = HnswIndex::build(flat, &config, &mut *context.observer);
                    let index = index.map_err(SystemError::stage("building the graph"))?;
                    index
                        .save(path)
                        .map_err(SystemError::stage("building the graph"))
                },
            )?;
            let width = self.ef_search.map_or(EfSearch::default(), EfSearch);
            let retriever = Encoded::new(encoder, index.searcher(width));
            let open = OpenSystem::new(Arc::new(Distinct(retriever)));
            CleaningEntry::applied(self.cleaning.as_ref(), context, open)
        }
    }
}
