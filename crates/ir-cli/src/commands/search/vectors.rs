//! Dense retrieval and hybrid search with the vectors of `ir encode`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use ir_bm25::{Searcher, StoredFields};
use ir_core::fusion::WeightedSum;
use ir_core::store::{OpenIndexError, Verify};
use ir_core::{
    Distinct, DocIds, DocNum, Encoded, Encoder, Hit, Ranking, Retriever, Search, SearchError, Side,
};
use ir_data::{Collection, DocTemplate};
use ir_dense::BiEncoder;
use ir_knn::{FlatIndex, SegmentedVectorIndex};

use super::engine::SearchIndex;
use super::vector_texts::TextComparison;
use crate::shared::console::{Console, bail_usage};
use crate::shared::encoder::{EncoderOptions, VectorOrigin, find_model, open_encoder};
use crate::shared::format::grouped;
use crate::shared::text_hashes::TextHashes;

/// Options of dense retrieval.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Vectors")]
pub(crate) struct DenseOptions {
    /// Vector index of the documents, written by `ir encode COLLECTION -o FILE`, or its folder
    /// (`ir encode --add`); replaces BM25
    #[arg(
        long,
        value_name = "FILE",
        requires = "encoder",
        conflicts_with = "explain"
    )]
    vectors: Option<PathBuf>,

    /// Encoder of the vectors: model folder or name
    #[arg(long, value_name = "MODEL", requires = "vectors")]
    encoder: Option<PathBuf>,

    /// Search vectors that record another encoder or other texts, with a warning: for a query
    /// encoder in a model folder of its own
    #[arg(long, requires = "vectors")]
    any_encoder: bool,

    /// Weight of the BM25 score in the hybrid score similarity + ALPHA * BM25. Tune it on held-out
    /// queries: 0.05 suits cosines and short queries, longer queries need less, inner products of
    /// vectors that are not normalized need more
    #[arg(long, value_parser = crate::shared::options::non_negative::<f32>, value_name = "ALPHA", requires = "vectors")]
    alpha: Option<f32>,

    // Query encoder options; they must match those of `ir encode`.
    #[command(flatten)]
    encoder_options: EncoderOptions,
}

impl DenseOptions {
    /// Default run tag; `None` without vectors.
    pub(crate) fn system(&self) -> Option<&'static str> {
        self.vectors.as_ref()?;
        Some(if self.alpha.is_some() {
            "ir-hybrid"
        } else {
            "ir-vectors"
        })
    }

    /// Rejects options without effect, and a file without vectors. `lexical` is the first option
    /// that affects only scores of BM25.
    pub(crate) fn check(&self, lexical: Option<&'static str>) -> Result<()> {
        let Some(path) = &self.vectors else {
            if let Some(option) = self.encoder_options.first_set() {
                bail_usage!("{option}: expected --vectors");
            }
            return Ok(());
        };
        if let Some(option) = lexical.filter(|_| self.alpha.is_none()) {
            bail_usage!(
                "{option}: expected --alpha (hybrid search), found --vectors without scores of BM25"
            );
        }
        open_vectors(path, Verify::SmallSections).map(drop)
    }

    /// Dense or hybrid retriever over the document numbers of the index; `None` without vectors.
    /// `collection` has the documents, unless the index is a saved or cached one.
    pub(crate) fn retriever(
        &self,
        searcher: &Searcher,
        engine: &SearchIndex,
        collection: Option<&Collection>,
        console: &Console,
    ) -> Result<Option<Box<dyn Retriever<Query = str>>>> {
        let (Some(path), Some(folder)) = (&self.vectors, &self.encoder) else {
            return Ok(None);
        };
        let vectors = open_vectors(path, Verify::AllSections)?;
        let model = find_model(folder)?;
        let config = model.with_catalog_defaults(self.encoder_options.config(Side::Query));
        let encoder = open_encoder(&model.folder, &config)?;
        if !vectors.is_empty() && vectors.dim() != encoder.dim() {
            bail!(
                "{}: expected vectors of {} dimensions (encoder {}), found {}",
                path.display(),
                encoder.dim(),
                folder.display(),
                vectors.dim()
            );
        }
        let origin = vector_origin(path, &vectors, console);
        if let Some(origin) = &origin {
            if origin.template.is_none() {
                bail!(
                    "{}: expected vectors of documents, found vectors of queries (`ir encode --queries`)",
                    path.display()
                );
            }
            self.check_encoder(path, origin, &encoder, console)?;
        }
        let known = vectors.ids();
        let missing = searcher.ids().iter().filter(|id| known.get(id).is_none());
        let missing = missing.count();
        if missing == searcher.ids().len() && missing > 0 {
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
                grouped(searcher.ids().len() as u64)
            ));
        }
        if let Some(origin) = &origin {
            self.check_texts((path, &vectors), origin, engine, collection, console)?;
        }
        let dense: Box<dyn Retriever<Query = str>> =
            Box::new(Distinct(Encoded::new(encoder, vectors)));
        let inner: Box<dyn Retriever<Query = str>> = match self.alpha {
            None => dense,
            Some(alpha) => {
                // BM25 first: ties are broken in the order of its index.
                let words: Box<dyn Retriever<Query = str>> = Box::new(searcher.clone());
                let blend = WeightedSum::new([(words, alpha), (dense, 1.0)]);
                Box::new(blend.context("--alpha")?)
            }
        };
        let ids = searcher.ids();
        let numbers = inner.ids().iter().map(|id| ids.get(id)).collect();
        Ok(Some(Box::new(Renumbered {
            inner,
            searcher: searcher.clone(),
            numbers,
        })))
    }

    /// Checks that the document side of the encoder made the vectors. Length limits and templates
    /// of documents do not apply to queries. A prefix of the documents that is not the encoder's
    /// was an option of `ir encode`: then queries need --prefix too.
    fn check_encoder(
        &self,
        path: &Path,
        origin: &VectorOrigin,
        encoder: &BiEncoder,
        console: &Console,
    ) -> Result<()> {
        let model = self.encoder.as_deref().unwrap_or(Path::new(""));
        let expected =
            VectorOrigin::new(model, encoder, Side::Document, None, TextHashes::default());
        let applies = |field: &str| match field {
            "prefix" => self.encoder_options.prefix().is_none(),
            field => ["model", "pooling", "normalize"].contains(&field),
        };
        // Unless the model has this prefix for documents.
        if self.encoder_options.prefix() == Some(origin.prefix())
            && expected.prefix() != origin.prefix()
        {
            console.warn(
                "--prefix: the prefix of the documents (`ir encode`); here it is that of queries",
            );
        }
        match expected.differences(origin, applies) {
            None => Ok(()),
            Some(differences) if self.any_encoder => {
                console.warn(format_args!("{}: {differences}", path.display()));
                Ok(())
            }
            Some(differences) => bail!(
                "{}: {differences} (give the model, --pooling and --normalize of `ir encode`, and \
                 the --prefix of queries; --any-encoder searches all the same)",
                path.display()
            ),
        }
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

/// Opens the vector index in a file or folder. The error of another file says what it is.
fn open_vectors(path: &Path, verify: Verify) -> Result<SegmentedVectorIndex> {
    let opened = if SegmentedVectorIndex::exists(path) {
        SegmentedVectorIndex::open_with(path, verify)
    } else {
        FlatIndex::open_with(path, verify).map(SegmentedVectorIndex::from)
    };
    let found = match opened {
        Ok(vectors) => return Ok(vectors),
        Err(OpenIndexError::Directory { .. }) => "a folder",
        Err(OpenIndexError::NotAnIndex { found, .. }) => match found.as_str() {
            "" => "an empty file",
            found if found.starts_with("ir-bm25") || found.starts_with("ir-segs") => {
                "a BM25 index (written by `ir index`)"
            }
            found if found.contains("NUMPY") => "a .npy file, which has no document ids",
            found if found.starts_with("ir-") => "another index",
            _ => "another file",
        },
        Err(error) => return Err(error.into()),
    };
    bail!(
        "--vectors: {}: expected vectors written by `ir encode MODEL COLLECTION -o FILE.ir`, found {found}",
        path.display()
    )
}

/// How `ir encode` made the vectors; a warning if the file does not tell.
fn vector_origin(
    path: &Path,
    vectors: &SegmentedVectorIndex,
    console: &Console,
) -> Option<VectorOrigin> {
    let found = vectors.config().user_metadata.as_deref();
    let origin = found.and_then(|text| serde_json::from_str::<VectorOrigin>(text).ok());
    let origin = origin.map(|mut origin| {
        let docs = (0..vectors.len() as u32).map(DocNum::new);
        let hashes = docs.map(|doc| vectors.fingerprint(doc));
        if let Some(texts) = hashes.collect::<Option<TextHashes>>()
            && vectors.config().fingerprints
        {
            origin.texts = texts;
        }
        origin
    });
    let origin = origin.filter(|origin| origin.texts.len() == vectors.len());
    if origin.is_some() {
        return origin;
    }
    console.warn(format_args!(
        "{}: has no record of its encoder and texts; --encoder must be the model that encoded it, and the documents must not have changed",
        path.display()
    ));
    None
}

/// Maps a retriever to the document numbers of an index. Documents missing from the index are
/// dropped; duplicate ids map to the first record.
struct Renumbered {
    inner: Box<dyn Retriever<Query = str>>,
    searcher: Searcher,
    numbers: Vec<Option<DocNum>>,
}

impl Renumbered {
    /// Number in the index of a document of the inner retriever.
    fn number(&self, doc: DocNum) -> Option<DocNum> {
        self.numbers.get(doc.index()).copied().flatten()
    }
}

impl Retriever for Renumbered {
    type Query = str;

    fn ids(&self) -> &DocIds {
        self.searcher.ids()
    }

    ir_core::search_as_batch!();

    fn search_batch(&self, queries: &[(&str, Search<'_>)]) -> Result<Vec<Ranking>, SearchError> {
        let filters = queries.iter().map(|&(_, how)| {
            move |doc: DocNum| self.number(doc).is_some_and(|doc| how.allows(doc))
        });
        let filters: Vec<_> = filters.collect();
        let batch: Vec<(&str, Search<'_>)> = queries
            .iter()
            .zip(&filters)
            .map(|((query, how), filter)| (*query, Search::top(how.k()).within(filter)))
            .collect();
        let rankings = self.inner.search_batch(&batch)?;
        let renumbered = rankings.into_iter().map(|ranking| {
            let hits = ranking
                .iter()
                .filter_map(|hit| Some(Hit::new(self.number(hit.doc)?, hit.score)));
            Ranking::from_hits(hits.collect())
        });
        renumbered.collect()
    }
}
