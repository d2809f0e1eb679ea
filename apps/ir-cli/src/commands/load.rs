//! `ir load`: loads a collection into an engine on a server.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::ValueHint;
use ir_core::store::Verify;
use ir_core::{Corpus, DocIds, DocNum, Retriever};
use ir_data::DocTemplate;
use ir_engines::{
    AttributeType, CollectionSchema, EngineAddress, EngineCollection, LoadOptions, LoadSource,
    MilvusApi, RemoteVectorIndex, TextAnalysis, TextIndexing, VectorRows,
};
use ir_knn::{SegmentedVectorIndex, VectorSimilarity};
use ir_system::saved_vectors::{TextHashes, VectorOrigin, open_vectors};

use crate::shared::console::{Console, bail_usage};
use crate::shared::encoder::hashes_of;
use crate::shared::format::grouped;
use crate::shared::input::open_documents;
use crate::shared::options::{ReadingOptions, choice, positive};
use crate::shared::output::print;
use crate::shared::remote::ClientOptions;

const EXAMPLES: &str = "\
Examples:
  ir encode e5-small-v2 corpus.jsonl -o corpus.ir
  ir load milvus://localhost/papers corpus.jsonl --vectors corpus.ir \\
      --attribute year:integer --attribute venue:text
  ir load milvus://localhost/papers_hnsw --vectors corpus.ir --hnsw
  ir load elasticsearch+tls://search.example.org/papers corpus.jsonl --texts \\
      --attribute year:integer
  ir load opensearch://localhost/papers corpus.jsonl --texts --template
  ir load milvus+grpc://localhost/papers corpus.jsonl --vectors corpus.ir --texts

Addresses: milvus, milvus+v2, milvus+grpc, elasticsearch or opensearch, with
+tls for a server with TLS. Ports by default: 9091 (milvus: REST API /api/v1 of
Milvus 2.3 and later), 19530 (milvus+v2: /v2/vectordb of Milvus 2.4 and later;
milvus+grpc: gRPC of all releases and of milvus-lite, in builds with the feature
`milvus-grpc`), 9200.
Credentials are in the environment: IR_REMOTE_TOKEN (Milvus: USER:PASSWORD),
IR_REMOTE_API_KEY (Elasticsearch), or IR_REMOTE_USER and IR_REMOTE_PASSWORD;
IR_REMOTE_CA names a PEM file of certificates to trust.

After an interruption or a failure of the server, the same command resumes: it
neither loses nor doubles documents. A collection of this name with another
schema or other documents is an error.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Collection on a server: `ENGINE://HOST[:PORT]/NAME`
    #[arg(value_name = "ADDRESS", value_hint = ValueHint::Other)]
    address: EngineAddress,

    /// Documents, for their texts and attributes: a collection as in `ir index`
    #[arg(required_unless_present = "vectors")]
    collection: Option<String>,

    #[command(flatten)]
    text: ReadingOptions,

    /// Vectors of the documents, in the same order, written by `ir encode COLLECTION -o FILE`
    #[arg(long, value_name = "FILE")]
    vectors: Option<PathBuf>,

    /// Attribute to load, for filters; types: integer, number, boolean, text, texts (a list; not
    /// for Milvus); repeatable
    #[arg(long, value_name = "NAME:TYPE", value_hint = ValueHint::Other, value_parser = attribute, requires = "collection")]
    attribute: Vec<(String, AttributeType)>,

    /// Attribute that is the partition key of the collection in Milvus
    #[arg(long, value_name = "NAME", value_hint = ValueHint::Other, requires = "attribute")]
    partition_key: Option<String>,

    /// Number of shards of a new collection, which the engine distributes over its machines; scores
    /// do not depend on it. Range: 1 to 1024 [default: 1]
    #[arg(long, value_name = "N", value_parser = shard_count)]
    shards: Option<u32>,

    /// Build graphs for approximate search (HNSW); without, vectors are searched exactly
    #[arg(long, requires = "vectors")]
    hnsw: bool,

    /// Maximum number of neighbors of a node [default: 16]
    #[arg(long, value_name = "M", requires = "hnsw")]
    hnsw_m: Option<u32>,

    /// Number of candidates while the graph is built [default: 200]
    #[arg(long, value_name = "N", requires = "hnsw")]
    ef_construction: Option<u32>,

    /// Index titles and texts for BM25 (Elasticsearch, OpenSearch, and milvus+grpc: Milvus 2.5 and
    /// later, milvus-lite)
    #[arg(long, requires = "collection")]
    texts: bool,

    /// BM25 parameters: anserini (k1 0.9, b 0.4) or lucene (k1 1.2, b 0.75) [default: anserini]
    #[arg(long, value_parser = choice(PRESETS), value_name = "PRESET", requires = "texts")]
    preset: Option<TextIndexing>,

    /// Text analysis, as in `ir index`; Milvus has english, lucene-standard and whitespace
    /// [default: anserini; of Milvus lucene-standard]
    #[arg(long, value_parser = choice(ANALYZERS), value_name = "NAME", requires = "texts")]
    analysis: Option<TextAnalysis>,

    #[arg(long, value_parser = positive, value_name = "N", help = batch_help())]
    batch: Option<usize>,

    /// Print the body of `PUT _index_template/NAME` of Elasticsearch or OpenSearch, for an
    /// administrator, and load nothing
    #[arg(long)]
    template: bool,

    /// Load vectors with a warning if they were encoded from other texts than the documents have
    #[arg(long, requires = "vectors", requires = "collection")]
    any_encoder: bool,

    #[command(flatten)]
    client: ClientOptions,
}

const PRESETS: [(&str, &str, TextIndexing); 2] = [
    ("anserini", "", TextIndexing::ANSERINI),
    ("lucene", "", TextIndexing::LUCENE),
];

const ANALYZERS: [(&str, &str, TextAnalysis); 5] = [
    ("anserini", "", TextAnalysis::Anserini),
    ("anserini-unstemmed", "", TextAnalysis::AnseriniUnstemmed),
    ("english", "", TextAnalysis::English),
    ("lucene-standard", "", TextAnalysis::LuceneStandard),
    ("whitespace", "", TextAnalysis::Whitespace),
];

fn batch_help() -> String {
    let (most, default) = (LoadOptions::MAX_BATCH, LoadOptions::default().batch);
    format!("Number of documents per request. Range: 1 to {most} [default: {default}]")
}

/// Parses a number of shards.
fn shard_count(text: &str) -> Result<u32, String> {
    let count = text.parse().ok();
    count
        .filter(|count| (1..=1024).contains(count))
        .ok_or_else(|| {
            if text.contains('/') {
                "expected a number of shards from 1 to 1024; `ir load` is not divided, as \
                     other commands are by --shard I/N"
                    .to_owned()
            } else {
                "expected a number of shards from 1 to 1024".to_owned()
            }
        })
}

/// Parses `NAME:TYPE`.
fn attribute(text: &str) -> Result<(String, AttributeType), String> {
    let expected = "expected NAME:TYPE with the type integer, number, boolean, text or texts";
    let (name, kind) = text.rsplit_once(':').ok_or(expected)?;
    let kind = kind.parse().map_err(|_| expected)?;
    Ok((name.to_owned(), kind))
}

impl Args {
    fn schema(&self, similarity: VectorSimilarity) -> CollectionSchema {
        let index = if self.hnsw {
            RemoteVectorIndex::Hnsw {
                m: self.hnsw_m.unwrap_or(16),
                ef_construction: self.ef_construction.unwrap_or(200),
            }
        } else {
            RemoteVectorIndex::Exact
        };
        let mut schema = CollectionSchema::default()
            .with_similarity(similarity)
            .with_vector_index(index)
            .with_shards(self.shards.unwrap_or(1));
        for (name, kind) in &self.attribute {
            schema = schema.with_attribute(name, *kind);
        }
        match &self.partition_key {
            Some(name) => schema.with_partition_key(name),
            None => schema,
        }
    }

    fn text_indexing(&self, default: TextAnalysis) -> Option<TextIndexing> {
        let analysis = self.analysis.unwrap_or(default);
        self.texts.then_some(TextIndexing {
            analysis,
            ..self.preset.unwrap_or_default()
        })
    }

    /// Checks that the vectors were encoded from the texts of the documents.
    fn check_texts(
        &self,
        origin: &VectorOrigin,
        vectors: usize,
        corpus: &dyn Corpus,
        console: &Console,
    ) -> Result<()> {
        let template = origin.template.as_deref().unwrap_or_default();
        let template: DocTemplate = template.parse()?;
        let texts = hashes_of(corpus, &template, &mut console.bar())?;
        match origin.texts.difference(&texts) {
            None => Ok(()),
            Some(_) if self.any_encoder && texts.len() != vectors => bail!(
                "--vectors: expected as many vectors as documents ({}), found {}",
                grouped(texts.len() as u64),
                grouped(vectors as u64)
            ),
            Some(difference) if self.any_encoder => {
                console.warn(format_args!("--vectors: {difference}"));
                Ok(())
            }
            Some(difference) => bail!(
                "--vectors: expected the texts that were encoded, {difference} (encode the documents \
                 again; --any-encoder loads all the same)"
            ),
        }
    }
}

/// Vectors of a file of `ir encode`.
struct VectorFile(SegmentedVectorIndex);

impl VectorRows for VectorFile {
    fn ids(&self) -> &DocIds {
        self.0.ids()
    }

    fn dim(&self) -> usize {
        self.0.dim()
    }

    fn vector(&self, doc: DocNum) -> &[f32] {
        self.0.vector(doc)
    }

    fn release(&self) {
        self.0.release();
    }
}

pub(crate) fn run(args: &Args, console: &Console) -> Result<()> {
    const MAX_BATCH: usize = LoadOptions::MAX_BATCH;
    if let Some(batch) = args.batch.filter(|&batch| batch > MAX_BATCH) {
        bail_usage!("--batch: expected 1 to {MAX_BATCH}, found {batch}");
    }
    let collection = args.client.collection(&args.address)?;
    let is_milvus = matches!(collection, EngineCollection::Milvus(_));
    if is_milvus {
        if args.template {
            bail_usage!("--template: expected Elasticsearch or OpenSearch, found Milvus");
        }
        if args.texts && args.address.api != MilvusApi::Grpc {
            bail_usage!(
                "--texts: expected Elasticsearch, OpenSearch or milvus+grpc, found Milvus over REST"
            );
        }
        if args.vectors.is_none() && !args.texts {
            match args.address.api {
                MilvusApi::Grpc => bail_usage!("expected --vectors or --texts, found neither"),
                _ => bail_usage!("--vectors: expected vectors for Milvus over REST, found none"),
            }
        }
    } else if args.partition_key.is_some() {
        bail_usage!(
            "--partition-key: expected Milvus, found {}",
            args.address.engine.name()
        );
    } else if !args.texts && args.vectors.is_none() {
        bail_usage!("expected --texts or --vectors, found neither");
    }
    let vectors = args.vectors.as_deref();
    let vectors = vectors.map(|path| open_vectors("--vectors", path, Verify::AllSections));
    let vectors = vectors.transpose()?.map(VectorFile);
    let similarity = vectors
        .as_ref()
        .map(|vectors| vectors.0.config().similarity);
    let schema = args.schema(similarity.unwrap_or_default());
    let texts = args.text_indexing(if is_milvus {
        TextAnalysis::LuceneStandard
    } else {
        TextAnalysis::Anserini
    });
    if let (true, EngineCollection::Elastic(index)) = (args.template, &collection) {
        let dim = vectors.as_ref().map(VectorRows::dim);
        let template = index.index_template(&schema, texts.as_ref(), dim)?;
        return print(template);
    }
    let documents = args.collection.as_deref();
    let documents = documents.map(|name| open_documents(name, args.text.read_options(), console));
    let documents = documents.transpose()?;
    if let Some(documents) = &documents {
        documents.check_encoding(args.text.encoding)?;
    }
    let source = match (&vectors, &documents) {
        (Some(vectors), Some(documents)) => {
            LoadSource::from_vectors(vectors).with_documents(documents.collection.corpus())
        }
        (Some(vectors), None) => LoadSource::from_vectors(vectors),
        (None, Some(documents)) => LoadSource::from_documents(documents.collection.corpus()),
        (None, None) => bail_usage!("expected documents or --vectors, found neither"),
    };
    let origin = vectors
        .as_ref()
        .and_then(|file| VectorOrigin::read(&file.0));
    if origin
        .as_ref()
        .is_some_and(|origin| origin.template.is_none())
    {
        bail!("--vectors: expected vectors of documents, found vectors of queries");
    }
    if let (Some(origin), Some(documents)) = (&origin, &documents) {
        let count = vectors.as_ref().map_or(0, |vectors| vectors.0.ids().len());
        args.check_texts(origin, count, documents.collection.corpus(), console)?;
    }
    let encoder =
        origin.map(|origin| serde_json::to_string(&origin.with_texts(TextHashes::default())));
    let encoder = encoder.transpose()?;
    let source = match &encoder {
        Some(encoder) => source.with_encoder(encoder),
        None => source,
    };
    let options = LoadOptions {
        batch: args.batch.unwrap_or(LoadOptions::default().batch),
    };
    let mut bar = console.bar();
    let loaded = match &collection {
        #[cfg(feature = "milvus-grpc")]
        EngineCollection::Milvus(milvus) => {
            milvus.load_with_texts(&schema, texts.as_ref(), &source, &options, &mut bar)
        }
        #[cfg(not(feature = "milvus-grpc"))]
        EngineCollection::Milvus(milvus) => milvus.load(&schema, &source, &options, &mut bar),
        EngineCollection::Elastic(index) => {
            index.load(&schema, texts.as_ref(), &source, &options, &mut bar)
        }
    };
    bar.finish();
    let report = loaded?;
    for name in &report.absent_attributes {
        console.warn(format_args!(
            "--attribute: no document has an attribute {name:?}"
        ));
    }
    console.log(format_args!(
        "{}: {} documents, {} of them inserted now",
        args.address,
        grouped(report.documents as u64),
        grouped(report.inserted as u64),
    ));
    Ok(())
}
