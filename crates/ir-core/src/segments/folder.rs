//! The folder of a segmented index, as its writer sees it.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::deleted::write_deleted;
use super::error::{SegmentsError, failed};
use super::files::{MANIFEST_NAME, has_numbered_files, segment_path};
use super::lock::{FolderLock, LOCK_NAME, lock};
use super::manifest::{Manifest, missing_manifest, read_manifest, write_manifest};
use super::merge_policy::segments_to_merge;
use super::pending::PendingIds;
use super::segment::{Segment, SegmentIndex};
use crate::store::{Verify, create_folders, sync_folder};

/// Folder of a segmented index, locked by its one writer: commits segments and deletions.
///
/// A new index exists from its first commit on: if it has none, dropping the folder removes what
/// was created.
#[derive(Debug)]
pub struct SegmentFolder<I: SegmentIndex> {
    path: PathBuf,
    /// Locked while the writer exists.
    lock: FolderLock,
    manifest: Manifest<I::Config>,
    segments: Vec<Segment<I>>,
    /// `true` if the index has a commit.
    exists: bool,
    /// `true` if the folder was created for the index.
    is_new_folder: bool,
    /// `true` if the manifest of a commit was written, but its rename may not be durable.
    is_uncertain: bool,
}

impl<I: SegmentIndex> SegmentFolder<I> {
    /// Creates an index in a folder, which is created if it does not exist.
    ///
    /// # Errors
    /// Returns an error if the folder contains an index, the segments of an index without its
    /// manifest, or other files named like segments, has another writer or cannot be written.
    pub fn create(path: &Path, config: I::Config) -> Result<Self, SegmentsError> {
        let is_new_folder = !path.exists();
        // Left by a writer that was killed before its first commit, as are numbered files then.
        let was_locked = path.join(LOCK_NAME).exists();
        let created = create_folders(path).map_err(failed(path));
        let lock = created.and_then(|()| lock(path)).inspect_err(|_| {
            if is_new_folder {
                let _ = fs::remove_dir(path);
            }
        })?;
        if path.join(MANIFEST_NAME).exists() {
            return Err(SegmentsError::Exists {
                folder: path.to_owned(),
            });
        }
        let has_files = has_numbered_files(path).map_err(failed(path))?;
        if has_files && lock.has_commit() {
            return Err(missing_manifest(path).into());
        }
        if !was_locked && has_files {
            // With a lock file, the next writer would remove the files as left by a killed writer.
            let _ = fs::remove_file(path.join(LOCK_NAME));
            return Err(SegmentsError::ForeignFiles {
                folder: path.to_owned(),
            });
        }
        let manifest = Manifest::new(config);
        manifest.remove_unreferenced(path);
        Ok(Self {
            path: path.to_owned(),
            lock,
            manifest,
            segments: Vec::new(),
            exists: false,
            is_new_folder,
            is_uncertain: false,
        })
    }

    /// Opens the index in a folder at its last commit. Verifies the small sections of its files.
    ///
    /// # Errors
    /// When the index cannot be opened, the folder cannot be written, or the index has another
    /// writer.
    pub fn open(path: &Path) -> Result<Self, SegmentsError> {
        // Before the lock, which would create its file in any folder.
        read_manifest::<I>(path)?;
        let lock = lock(path)?;
        let manifest = read_manifest::<I>(path)?;
        let segments = manifest.open_segments(path, Verify::FirstUse)?;
        lock.record_commit();
        // The files of the commit before are needed until this one is durable.
        sync_folder(path).map_err(failed(path))?;
        manifest.remove_unreferenced(path);
        Ok(Self {
            path: path.to_owned(),
            lock,
            manifest,
            segments,
            exists: true,
            is_new_folder: false,
            is_uncertain: false,
        })
    }

    /// Configuration of the index.
    pub fn config(&self) -> &I::Config {
        &self.manifest.config
    }

    /// Segments of the last commit, from the oldest to the newest.
    pub fn segments(&self) -> &[Segment<I>] {
        &self.segments
    }

    /// Returns whether the index has a commit.
    pub fn has_commit(&self) -> bool {
        self.exists
    }

    /// Number of documents in the segments, deleted ones included.
    pub fn documents(&self) -> usize {
        let segments = self.segments.iter();
        segments.map(|segment| segment.index.ids().len()).sum()
    }

    /// Number of documents after a commit of these ids.
    pub fn len_with(&self, pending: &PendingIds) -> usize {
        pending.len_after(&self.segments)
    }

    /// Returns whether the last commit has a document with an id.
    pub fn contains(&self, id: &str) -> bool {
        let mut segments = self.segments.iter();
        segments.any(|segment| segment.find(id).is_some())
    }

    /// Number and path of the next segment. The file is removed by the next commit that does not
    /// contain it.
    ///
    /// # Errors
    /// [`SegmentsError::LostLock`].
    pub fn next_file(&mut self) -> Result<(u64, PathBuf), SegmentsError> {
        self.check_lock()?;
        let number = self.take_number();
        Ok((number, segment_path(&self.path, number)))
    }

    /// Returns an error if another writer may own the files at the path.
    fn check_lock(&self) -> Result<(), SegmentsError> {
        let path = self.path.join(LOCK_NAME);
        if self.lock.is_at(&path) {
            Ok(())
        } else {
            Err(SegmentsError::LostLock { path })
        }
    }

    fn take_number(&mut self) -> u64 {
        let number = self.manifest.next_file;
        self.manifest.next_file += 1;
        number
    }

    /// Deletes the documents of the ids from all segments, appends new segments, and makes both
    /// visible to readers and durable.
    ///
    /// # Errors
    /// When a file cannot be written. The index is then at its last commit, or, if only its folder
    /// cannot be synced, at this one, which a power failure may undo. Neither loses files.
    /// [`SegmentsError::LostLock`].
    pub fn commit(
        &mut self,
        pending: &PendingIds,
        mut new: Vec<Segment<I>>,
    ) -> Result<(), SegmentsError> {
        self.check_lock()?;
        let mut segments = self.segments.clone();
        let before: Vec<usize> = segments.iter().map(Segment::live).collect();
        for segment in &mut segments {
            pending.delete_from(segment);
        }
        pending.delete_replaced(&mut new);
        let before = before
            .into_iter()
            .chain(new.iter().map(|segment| segment.index.ids().len()));
        let before: Vec<usize> = before.collect();
        segments.append(&mut new);
        for (segment, before) in segments.iter_mut().zip(before) {
            if (1..before).contains(&segment.live()) {
                let number = self.take_number();
                let written = write_deleted(&self.path, number, &segment.deleted);
                segment.entry.deleted = Some(written.map_err(failed(&self.path))?);
            }
        }
        self.install(segments)
    }

    /// Replaces a range of segments by the one into which they were merged, and commits.
    ///
    /// # Errors
    /// Returns the errors of [`SegmentFolder::commit`].
    pub fn replace(
        &mut self,
        range: Range<usize>,
        merged: Segment<I>,
    ) -> Result<(), SegmentsError> {
        let mut segments = self.segments.clone();
        segments.splice(range, [merged]);
        self.install(segments)
    }

    /// Commits these segments, except segments in which all documents are deleted.
    fn install(&mut self, mut segments: Vec<Segment<I>>) -> Result<(), SegmentsError> {
        segments.retain(|segment| segment.live() > 0);
        let mut manifest = self.manifest.clone();
        let entries = segments.iter().map(|segment| segment.entry.clone());
        manifest.segments = entries.collect();
        manifest.commit += 1;
        self.check_lock()?;
        let written = write_manifest::<I>(&manifest, &self.path);
        if let Err(error) = written {
            match read_manifest::<I>(&self.path) {
                // Renamed, but its folder was not synced.
                Ok(found) if found.commit == manifest.commit => {
                    self.is_uncertain = true;
                    self.exists = true;
                    self.manifest = manifest;
                    self.segments = segments;
                }
                Ok(_) => {}
                Err(_) => self.is_uncertain |= self.path.join(MANIFEST_NAME).exists(),
            }
            return Err(failed(&self.path)(error));
        }
        self.is_uncertain = false;
        self.exists = true;
        self.lock.record_commit();
        manifest.remove_unreferenced(&self.path);
        self.manifest = manifest;
        self.segments = segments;
        Ok(())
    }

    /// Next range of segments to merge: a segment with more than a quarter of its documents
    /// deleted, or at least `factor` adjacent ones of similar size. [`None`] if there is none.
    pub fn segments_to_merge(&self, factor: usize) -> Option<Range<usize>> {
        segments_to_merge(&self.segments, factor)
    }

    /// Returns whether there is at most one segment, without deleted documents.
    pub fn is_compact(&self) -> bool {
        match &*self.segments {
            [] => true,
            [only] => only.entry.deleted.is_none(),
            _ => false,
        }
    }
}

impl<I: SegmentIndex> Drop for SegmentFolder<I> {
    fn drop(&mut self) {
        if self.check_lock().is_err() || self.is_uncertain {
            return;
        }
        // Files of a commit that failed.
        self.manifest.remove_unreferenced(&self.path);
        if !self.exists {
            let _ = fs::remove_file(self.path.join(LOCK_NAME));
            if self.is_new_folder {
                let _ = fs::remove_dir(&self.path);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{DocIds, DocSet};
    use crate::segments::Commit;
    use crate::store::{
        AtomicFile, IndexFile, IndexFileWriter, IndexFormat, OpenIndexError, SYNC_FAILS,
    };

    /// Smallest index: its documents have ids only.
    #[derive(Clone)]
    struct Ids {
        ids: DocIds,
        checksum: u32,
    }

    const FORMAT: IndexFormat = IndexFormat {
        magic: *b"ir-ids1\n",
        version: 1,
        name: "ids",
        large_sections: &[],
    };

    const SECTION: &str = "ids";

    impl SegmentIndex for Ids {
        type Config = ();

        const MANIFEST: IndexFormat = IndexFormat {
            magic: *b"ir-idsm\n",
            version: 1,
            name: "the manifest of ids",
            large_sections: &[],
        };

        fn open(path: &Path, (): &(), verify: Verify) -> Result<Self, OpenIndexError> {
            let file = IndexFile::open(&FORMAT, path, verify)?;
            let ids = file.section(SECTION).unwrap();
            Ok(Self {
                ids: serde_json::from_slice::<Vec<String>>(ids.as_ref())
                    .unwrap()
                    .into_iter()
                    .collect(),
                checksum: file.checksum(),
            })
        }

        fn ids(&self) -> &DocIds {
            &self.ids
        }

        fn checksum(&self) -> u32 {
            self.checksum
        }

        fn file_size(&self) -> u64 {
            0
        }
    }

    /// Writes a segment of these ids, and returns it with the ids as pending ones.
    fn segment(folder: &mut SegmentFolder<Ids>, ids: &[&str]) -> (PendingIds, Segment<Ids>) {
        let (number, path) = folder.next_file().unwrap();
        let file = AtomicFile::create(&path).unwrap();
        let mut writer = IndexFileWriter::new(&FORMAT, file).unwrap();
        let content = serde_json::to_vec(ids).unwrap();
        writer.section(SECTION, &content).unwrap();
        writer.finish().unwrap().commit().unwrap();
        let mut pending = PendingIds::default();
        for id in ids {
            pending.put(id);
        }
        let index = Ids::open(&path, &(), Verify::AllSections).unwrap();
        (pending, Segment::new(number, index))
    }

    fn files(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    /// The manifest is renamed, but the rename may be undone: the files of both commits remain.
    #[test]
    fn a_commit_that_may_not_be_durable_loses_no_file() {
        let path = std::env::temp_dir().join(format!("ir-core-uncertain-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        let mut folder = SegmentFolder::<Ids>::create(&path, ()).unwrap();
        let (pending, new) = segment(&mut folder, &["a", "b"]);
        folder.commit(&pending, vec![new]).unwrap();
        // Replaces all documents of the first segment. A durable commit removes its file.
        let (pending, new) = segment(&mut folder, &["a", "b", "c"]);
        SYNC_FAILS.set(true);
        let error = folder.commit(&pending, vec![new]).unwrap_err();
        let source = std::error::Error::source(&error).unwrap().to_string();
        assert!(source.contains("power failure"), "{source}");
        assert!(folder.contains("c"), "the commit is visible");
        drop(folder);
        // A writer that cannot make the commit durable removes nothing, either.
        assert!(SegmentFolder::<Ids>::open(&path).is_err());
        SYNC_FAILS.set(false);
        assert_eq!(files(&path), 4, "manifest, lock, two segments");
        let commit = Commit::<Ids>::open(&path, Verify::AllSections).unwrap();
        let live: usize = commit.segments.iter().map(Segment::live).sum();
        assert_eq!(live, 3);
        let folder = SegmentFolder::<Ids>::open(&path).unwrap();
        assert_eq!(files(&path), 3);
        assert!(folder.contains("c"));
        assert_eq!(folder.segments()[0].deleted, DocSet::new());
        fs::remove_dir_all(&path).unwrap();
    }

    /// If the manifest cannot be written, the index stays at the commit before, without more files.
    #[test]
    fn a_failed_commit_leaves_the_one_before() {
        let path = std::env::temp_dir().join(format!("ir-core-failed-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        let mut folder = SegmentFolder::<Ids>::create(&path, ()).unwrap();
        let (pending, new) = segment(&mut folder, &["a"]);
        folder.commit(&pending, vec![new]).unwrap();
        let (pending, new) = segment(&mut folder, &["b"]);
        // Not replaced: a directory in its place.
        let manifest = path.join(MANIFEST_NAME);
        let away = path.join("away");
        fs::rename(&manifest, &away).unwrap();
        fs::create_dir(&manifest).unwrap();
        folder.commit(&pending, vec![new]).unwrap_err();
        fs::remove_dir(&manifest).unwrap();
        fs::rename(&away, &manifest).unwrap();
        drop(folder);
        let folder = SegmentFolder::<Ids>::open(&path).unwrap();
        assert!(folder.contains("a") && !folder.contains("b"));
        assert_eq!(files(&path), 3, "manifest, lock, one segment");
        fs::remove_dir_all(&path).unwrap();
    }

    /// Without its lock file, a writer commits nothing: the index may have another writer.
    #[cfg(unix)]
    #[test]
    fn a_writer_without_its_lock_commits_nothing() {
        let path = std::env::temp_dir().join(format!("ir-core-lost-lock-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        let mut first = SegmentFolder::<Ids>::create(&path, ()).unwrap();
        let (pending, new) = segment(&mut first, &["a"]);
        first.commit(&pending, vec![new]).unwrap();
        let (of_first, new_of_first) = segment(&mut first, &["b"]);
        fs::remove_file(path.join(LOCK_NAME)).unwrap();
        let mut second = SegmentFolder::<Ids>::open(&path).unwrap();
        let (pending, new) = segment(&mut second, &["c"]);
        second.commit(&pending, vec![new]).unwrap();
        for error in [
            first.commit(&of_first, vec![new_of_first]).unwrap_err(),
            first.next_file().unwrap_err(),
        ] {
            assert!(matches!(error, SegmentsError::LostLock { .. }), "{error}");
        }
        drop(first);
        drop(second);
        let folder = SegmentFolder::<Ids>::open(&path).unwrap();
        let has = ["a", "b", "c"].map(|id| folder.contains(id));
        assert_eq!(has, [true, false, true]);
        fs::remove_dir_all(&path).unwrap();
    }
}
