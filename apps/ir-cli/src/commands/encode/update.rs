//! `ir encode --add`, `--delete` and `--compact`: updates of the vectors in a folder.

use std::cell::RefCell;
use std::collections::{HashSet, VecDeque};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use ir_core::segments::SegmentsError;
use ir_core::{DocIds, Encoder, Flow, IdError, Progress, Side};
use ir_data::{DocTemplate, TextEncoding};
use ir_dense::{BiEncoder, encode_stream};
use ir_knn::{
    HnswConfig, SegmentedVectorIndex, VectorIndexConfig, VectorIndexWriter, VectorIndexWriterError,
};
use ir_system::saved_vectors::{TextHashes, VectorOrigin, text_hash};

use super::Args;
use crate::shared::console::{Console, Resumable, bail_usage};
use crate::shared::encoder::{find_model, open_encoder, print_notes, similarity};
use crate::shared::format::{counted, grouped};
use crate::shared::indexing::warn_of_skipped;
use crate::shared::input::{DocumentSource, for_each_document, open_documents};
use crate::shared::options::first_set;
use crate::shared::signals::Interrupted;
use crate::shared::updates::{UpdatedIndex, delete_ids, describe_segments, read_ids};
use crate::shared::vector_files::is_npy;

const INDEX: UpdatedIndex = UpdatedIndex {
    name: "a vector index",
    verb: "encode",
    command: "ir encode MODEL COLLECTION",
};

/// Time between two commits of new vectors.
const COMMIT_INTERVAL: Duration = Duration::from_secs(60);

pub(super) fn run(args: &Args, console: &Console) -> Result<()> {
    let began = Instant::now();
    let folder = args.output.binary_file("--output")?;
    check_options(args, folder)?;
    // Read before the index is locked.
    let deleted = read_ids(args.delete.as_ref(), console)?;
    let source = match (&args.model, &args.collection) {
        (Some(model), Some(collection)) => Some(Source::open(args, model, collection, console)?),
        _ => None,
    };
    let mut writer = open(source.as_ref(), args, folder, console)?;
    let removed = delete_ids(&deleted, console, |id| writer.delete(id))?;
    let deleted: HashSet<String> = deleted.into_iter().collect();
    let mut bar = console.bar();
    let added = match &source {
        Some(source) => source.add(&mut writer, &deleted, &mut bar)?,
        None => Added::default(),
    };
    if args.compact {
        writer.compact_with(&mut bar)?;
    } else {
        writer.commit_with(&mut bar)?;
    }
    bar.finish();
    if writer.is_empty() {
        console.warn(format_args!("{}: the index is empty", folder.display()));
    }
    console.log(format_args!(
        "{}: {} texts encoded, {} unchanged, {} deleted; now {} of {} dimensions, {}, {:.1} s",
        args.output.display(),
        grouped(added.encoded),
        grouped(added.unchanged),
        grouped(removed),
        counted(writer.len() as u64, "vector"),
        writer.config().dim,
        describe_segments(writer.segments()),
        began.elapsed().as_secs_f64()
    ));
    if let Some(Source { encoder, .. }) = &source {
        let counts = (encoder.truncated_texts(Side::Document), added.encoded);
        super::note_differences(&args.output, encoder, Side::Document, counts, console);
    }
    Ok(())
}

/// Rejects options without effect, and outputs that are not folders of vectors.
fn check_options(args: &Args, folder: &Path) -> Result<()> {
    if let Some(collection) = args.collection.as_ref().filter(|_| !args.add) {
        bail_usage!(
            "{collection}: expected --add to add vectors, or no documents to only delete or compact"
        );
    }
    if let Some(model) = args.model.as_ref().filter(|_| !args.add) {
        let model = model.display();
        bail_usage!(
            "{model}: expected --add and a collection to add vectors, or no model to only delete or compact"
        );
    }
    let is_set = [
        ("--template", args.template.is_some()),
        ("--batch-size", args.batch_size.is_some()),
        ("--batch-tokens", args.batch_tokens.is_some()),
        ("--encoding", args.text.encoding != TextEncoding::Utf8),
    ];
    let set = first_set(is_set).or_else(|| args.encoder.first_set());
    if let Some(option) = set.filter(|_| !args.add) {
        bail_usage!("{option}: expected --add with documents");
    }
    if is_npy(folder) {
        let path = folder.display();
        bail_usage!(
            "--output: expected the folder of a vector index, found the .npy file {path}, which is \
             not updated"
        );
    }
    INDEX.check_folder(folder)
}

/// Documents to add and their encoder.
struct Source {
    documents: DocumentSource,
    template: DocTemplate,
    encoder: BiEncoder,
    /// How the vectors are encoded, without hashes of the texts.
    origin: VectorOrigin,
    ids: DocIds,
    hashes: TextHashes,
}

/// Numbers of documents of a collection that was added.
#[derive(Default)]
struct Added {
    encoded: u64,
    unchanged: u64,
}

impl Source {
    /// Opens the collection and the encoder, and reads all documents. Invalid documents are
    /// reported before the first document is encoded.
    fn open(args: &Args, model: &Path, collection: &str, console: &Console) -> Result<Self> {
        super::check_order(model, collection)?;
        let documents = open_documents(collection, args.text.read_options(), console)?;
        documents.check_encoding(args.text.encoding)?;
        let template = documents.template(args.template.as_ref())?;
        let (mut ids, mut hashes) = (DocIds::new(), TextHashes::default());
        let mut pushed: Result<_, IdError> = Ok(());
        let corpus = documents.collection.corpus();
        for_each_document(corpus, "reading", &mut console.bar(), |doc| {
            hashes.push(&doc.id, &template.render(doc));
            if let Err(error) = ids.push(&doc.id) {
                pushed = Err(error);
            }
        })?;
        warn_of_skipped(&documents.collection, console);
        pushed
            .and_then(|()| ids.check_unique())
            .with_context(|| format!("{collection}: cannot be added"))?;
        let found = find_model(model)?;
        let config = found.with_catalog_defaults(args.config());
        let encoder = open_encoder(&found.folder, &config)?;
        print_notes(&encoder, model, console);
        let text = Some(template.to_string());
        let fingerprint = encoder.fingerprint(Side::Document);
        Ok(Self {
            origin: VectorOrigin::new(model, &fingerprint, text)?,
            documents,
            template,
            encoder,
            ids,
            hashes,
        })
    }

    /// Encodes the texts that the index does not have.
    fn add(
        &self,
        writer: &mut VectorIndexWriter,
        deleted: &HashSet<String>,
        progress: &mut dyn Progress,
    ) -> Result<Added> {
        let is_new = |(id, hash): (&str, &u64)| {
            deleted.contains(id) || writer.committed_fingerprint(id) != Some(*hash)
        };
        let pairs = self.ids.iter().zip(self.hashes.as_slice());
        let is_new: Vec<bool> = pairs.map(is_new).collect();
        let total = is_new.iter().filter(|new| **new).count() as u64;
        // Hashes of the texts that are being encoded, in their order.
        let hashes = RefCell::new(VecDeque::new());
        let docs = self.documents.collection.corpus().docs()?;
        let texts = docs.zip(is_new.iter().chain(std::iter::repeat(&true)));
        let texts = texts.filter_map(|(document, is_new)| match document {
            Ok(_) if !is_new => None,
            Ok(document) => {
                let text = self.template.render(&document);
                let hash = text_hash(&document.id, &text);
                hashes.borrow_mut().push_back(hash);
                Some(Ok((document.id, text)))
            }
            Err(error) => Some(Err(error.into())),
        });
        let (mut encoded, mut committed) = (0, Instant::now());
        let push = |id: &str, vector: &[f32]| -> Result<()> {
            let hash = hashes.borrow_mut().pop_front().unwrap_or_default();
            writer.put_with_fingerprint(id, vector, hash)?;
            encoded += 1;
            if committed.elapsed() > COMMIT_INTERVAL {
                writer.commit()?;
                committed = Instant::now();
            }
            Ok(())
        };
        let ended = encode_stream(
            &self.encoder,
            Side::Document,
            texts,
            Some(total),
            push,
            progress,
        )?;
        if ended == Flow::Continue {
            return Ok(Added {
                encoded,
                unchanged: is_new.len() as u64 - total,
            });
        }
        if encoded == 0 {
            return Err(Interrupted.into());
        }
        writer.commit()?;
        let there = grouped(encoded);
        let what = format!("interrupted after {there} vectors; run the same command to resume");
        Err(Resumable(what).into())
    }
}

/// Opens the index in the folder, or creates it for the documents to add.
fn open(
    source: Option<&Source>,
    args: &Args,
    folder: &Path,
    console: &Console,
) -> Result<VectorIndexWriter> {
    let is_locked = |error: &VectorIndexWriterError| {
        matches!(
            error,
            VectorIndexWriterError::Segments(SegmentsError::Locked { .. })
        )
    };
    let hnsw = args.hnsw();
    let writer = if SegmentedVectorIndex::exists(folder) {
        (args.wait).open(console, || VectorIndexWriter::open(folder), is_locked)?
    } else {
        let source = INDEX.check_new(folder, source)?;
        let similarity = similarity(source.encoder.similarity());
        let mut config = VectorIndexConfig::new(source.encoder.dim(), similarity)
            .with_fingerprints(true)
            .with_user_metadata(serde_json::to_string(&source.origin)?);
        config.hnsw = hnsw;
        // Another writer may have created the index meanwhile.
        let open = || {
            if SegmentedVectorIndex::exists(folder) {
                VectorIndexWriter::open(folder)
            } else {
                VectorIndexWriter::create(folder, &config)
            }
        };
        (args.wait).open(console, open, is_locked)?
    };
    if let Some(source) = source {
        check_origin(&writer, source, folder)?;
    }
    let graphs = writer.config().hnsw;
    if hnsw.is_some() && graphs != hnsw {
        let describe = |config: Option<HnswConfig>| match config {
            None => "no graphs".to_owned(),
            Some(config) => format!("M {}, beam {}", config.m, config.ef_construction),
        };
        let (path, expected, found) = (folder.display(), describe(graphs), describe(hnsw));
        bail!(
            "{path}: expected graphs of the index's parameters ({expected}), found --hnsw with \
             {found} (an index keeps its graphs; encode into another folder)"
        );
    }
    Ok(writer)
}

/// Rejects an encoder or template that differs from the record of the index.
fn check_origin(writer: &VectorIndexWriter, source: &Source, folder: &Path) -> Result<()> {
    let (path, config) = (folder.display(), writer.config());
    let found = config.user_metadata.as_deref();
    let origin = found.and_then(|text| serde_json::from_str::<VectorOrigin>(text).ok());
    let Some(origin) = origin.filter(|_| config.fingerprints) else {
        bail!(
            "{path}: expected vectors written by `ir encode --add`, found no record of their encoder"
        );
    };
    if let Some(differences) = origin.differences(&source.origin, |field| field != "texts") {
        bail!(
            "{path}: {differences} (an index keeps its encoder and template; encode into another \
             folder)"
        );
    }
    Ok(())
}
