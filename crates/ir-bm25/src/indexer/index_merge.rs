//! Merging indexes into one, without their deleted documents.

use std::path::Path;

use ir_core::store::{AtomicFile, Verify};
use ir_core::{DocFilter, DocNum, DocSet, Flow, Progress};

use super::index_writer::write_index;
use super::sorted_run::RunWriter;
use super::{IndexedDocs, new_file};
use crate::postings::{END, Posting};
use crate::{BuildError, DuplicateIds, Index, IndexConfig, StoredFields};

/// Size in bytes from which a run is handed to the merge.
pub(super) const RUN_BYTES: usize = 4 << 20;

/// Merges indexes with equal configurations, in their order, into the file `path`. The file has the
/// bytes of an index that is built from the documents that are not in the set beside their index.
/// `memory` limits the postings and stored fields held in memory; the rest is spilled to temporary
/// files.
pub(crate) fn merge_indexes(
    sources: &[(&Index, &DocSet)],
    config: &IndexConfig,
    memory: usize,
    path: &Path,
    progress: &mut dyn Progress,
) -> Result<Index, BuildError> {
    let indexed = gather(sources, config, memory, progress)?;
    write(indexed, config, None, path, progress)
}

impl Index {
    /// Merges indexes of parts of a collection, in their order, into a file and opens it. The file
    /// has the bytes of an index built from the documents of the parts in this order, whatever
    /// their number. The write is atomic.
    ///
    /// `memory` is the budget for postings and stored fields in bytes
    /// ([`DEFAULT_MEMORY`](crate::DEFAULT_MEMORY)); the rest is spilled to temporary files.
    ///
    /// ```
    /// use ir_bm25::{DEFAULT_MEMORY, Index, IndexConfig};
    /// use ir_core::{Document, NoProgress};
    ///
    /// # let folder = std::env::temp_dir().join(format!("ir-bm25-merge-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder)?;
    /// let docs = ["Green tea", "Black tea", "Milk"];
    /// let docs = docs.map(|text| Document::new(text.to_lowercase()).with_text(text));
    /// let config = IndexConfig::default();
    /// let build = |docs: &[Document]| Index::build(docs, &config, &mut NoProgress);
    /// let (first, second) = (build(&docs[..1])?, build(&docs[1..])?);
    /// let (merged, whole) = (folder.join("merged.ir"), folder.join("whole.ir"));
    /// Index::merge_to(&merged, &[&first, &second], DEFAULT_MEMORY, &mut NoProgress)?;
    /// Index::build_to(&whole, &docs[..], &config, &mut NoProgress)?;
    /// assert_eq!(std::fs::read(&merged)?, std::fs::read(&whole)?);
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`BuildError::MergeConfig`] if the indexes have different configurations or custom
    /// analyzers, or there is none; [`BuildError::Ids`] if an id occurs twice and the configuration
    /// rejects that; when an index is damaged or the file cannot be written.
    pub fn merge_to(
        path: impl AsRef<Path>,
        indexes: &[&Index],
        memory: usize,
        progress: &mut dyn Progress,
    ) -> Result<Self, BuildError> {
        let Some(first) = indexes.first() else {
            return Err(BuildError::MergeConfig { position: 0 });
        };
        let (config, analyzer) = (first.config(), first.analyzer_name());
        let differs =
            |index: &&Index| index.config() != config || index.analyzer_name() != analyzer;
        if let Some(position) = indexes.iter().position(differs) {
            return Err(BuildError::MergeConfig { position });
        }
        let none = DocSet::new();
        let sources: Vec<_> = indexes.iter().map(|index| (*index, &none)).collect();
        let mut indexed = gather(&sources, config, memory, progress)?;
        indexed.blank_dropped = indexes
            .iter()
            .map(|index| index.stats().blank_dropped)
            .fold(0, u64::saturating_add);
        write(indexed, config, analyzer, path.as_ref(), progress)
    }
}

/// Reads the documents that are not deleted.
fn gather(
    sources: &[(&Index, &DocSet)],
    config: &IndexConfig,
    memory: usize,
    progress: &mut dyn Progress,
) -> Result<IndexedDocs, BuildError> {
    let mut indexed = IndexedDocs {
        lengths: vec![Vec::new(); config.fields.names().len()],
        ..IndexedDocs::default()
    };
    for (index, deleted) in sources {
        add_index(&mut indexed, index, deleted, config, memory, progress)?;
    }
    if config.duplicates == DuplicateIds::Reject {
        indexed.ids.check_unique()?;
    }
    Ok(indexed)
}

/// Writes and opens the merged index.
pub(super) fn write(
    indexed: IndexedDocs,
    config: &IndexConfig,
    analyzer: Option<&str>,
    path: &Path,
    progress: &mut dyn Progress,
) -> Result<Index, BuildError> {
    let file = AtomicFile::create(path).map_err(BuildError::write(path))?;
    let analyzer = analyzer.map(str::to_owned);
    let file = write_index(indexed, config, analyzer, file, path, progress)?;
    file.commit().map_err(BuildError::write(path))?;
    Ok(Index::open_with(path, Verify::SmallSections)?)
}

/// Appends the documents of an index that are not deleted.
fn add_index(
    indexed: &mut IndexedDocs,
    index: &Index,
    deleted: &DocSet,
    config: &IndexConfig,
    memory: usize,
    progress: &mut dyn Progress,
) -> Result<(), BuildError> {
    let first = indexed.ids.len() as u32;
    let live = || (0..index.len() as u32).filter(|&doc| !deleted.contains(DocNum::new(doc)));
    let mut numbers = vec![None; index.len()];
    for (doc, number) in live().zip(first..) {
        let doc = DocNum::new(doc);
        numbers[doc.index()] = Some(number);
        indexed.ids.push(index.ids().id(doc))?;
        let year = index.years().get(doc);
        if year.is_some() && indexed.years.is_empty() {
            indexed.years = vec![None; number as usize];
        }
        if year.is_some() || !indexed.years.is_empty() {
            indexed.years.push(year);
        }
        if config.store != StoredFields::Nothing {
            let record = index.stored_record(doc)?;
            indexed.stored.extend(record, &[record.len() as u64]);
            spill(indexed, memory)?;
        }
    }
    for (field, lengths) in indexed.lengths.iter_mut().enumerate() {
        let source = index.lengths(field)?;
        lengths.extend(live().map(|doc| source.get(doc as usize).copied().unwrap_or(0)));
    }

    let total = index.field_stats().iter().map(|stats| stats.postings).sum();
    let mut done = 0;
    let mut run = RunWriter::default();
    let mut postings: Vec<Posting> = Vec::new();
    let mut positions: Vec<u32> = Vec::new();
    let mut lists = index.lists();
    let number_of = |doc: u32| numbers.get(doc as usize).copied().flatten();
    while let Some((key, mut cursor)) = lists.next()? {
        postings.clear();
        positions.clear();
        if config.positions {
            let mut doc = cursor.seek(0);
            while doc != END {
                done += 1;
                if let Some(number) = number_of(doc) {
                    let tf = cursor.tf();
                    postings.push(Posting { doc: number, tf });
                    cursor.positions(&mut positions)?;
                }
                doc = cursor.seek(doc + 1);
            }
            cursor.take_damage().map_or(Ok(()), Err)?;
        } else {
            cursor.read_all(&mut postings)?;
            done += postings.len() as u64;
            postings.retain_mut(|posting| {
                let number = number_of(posting.doc);
                posting.doc = number.unwrap_or(0);
                number.is_some()
            });
        }
        run.push(key, &postings, &positions);
        if run.len() >= RUN_BYTES {
            indexed.runs.push(std::mem::take(&mut run).into_bytes());
            spill(indexed, memory)?;
            if progress.report("merging", done, Some(total)) == Flow::Stop {
                return Err(BuildError::Canceled);
            }
        }
    }
    indexed.runs.push(run.into_bytes());
    Ok(())
}

/// Spills what exceeds the memory budget.
pub(super) fn spill(indexed: &mut IndexedDocs, memory: usize) -> Result<(), BuildError> {
    if indexed.runs.in_memory() + indexed.stored.in_memory() > memory {
        let new_file = || new_file(None);
        indexed.runs.spill(&new_file).map_err(BuildError::Spill)?;
        indexed.stored.spill(&new_file).map_err(BuildError::Spill)?;
    }
    Ok(())
}
