//! Macros for repetitive implementations.

/// Implements a trait for references, boxes and `Arc`s of its implementors, method by method.
macro_rules! forward {
    ($trait:ident $methods:tt) => {
        forward!(&T, $trait $methods);
        forward!(Box<T>, $trait $methods);
        forward!(std::sync::Arc<T>, $trait $methods);
    };
    ($pointer:ty, $trait:ident {
        $(type $associated:ident;)?
        $(fn $name:ident(&self $(, $argument:ident: $type:ty)*) -> $result:ty;)*
    }) => {
        impl<T: $trait + ?Sized> $trait for $pointer {
            $(type $associated = T::$associated;)?

            $(fn $name(&self $(, $argument: $type)*) -> $result {
                (**self).$name($($argument),*)
            })*
        }
    };
}
pub(crate) use forward;

/// Implements the functions of a writer of a segmented index that do not depend on the type of the
/// index. The writer has the fields `folder`, `pending`, `merge_factor` and `failed`, and the
/// functions `commit_changes` and `merge`. Arguments: type of the error, error of a writer that is
/// used after an error, and the function that wraps an error of a merge after a commit.
///
/// For the crates of this workspace; not part of the public interface.
#[doc(hidden)]
#[macro_export]
macro_rules! segment_writer {
    ($error:ty, $abandoned:expr, $of_merge:expr) => {
        /// Sets the number of segments of similar size that are merged into one. Fewer make
        /// searches faster and commits slower. Values below 2 count as 2. Default: 8.
        #[must_use]
        pub fn with_merge_factor(mut self, segments: usize) -> Self {
            self.merge_factor = segments.max(2);
            self
        }

        /// Deletes the document with an id. Returns `true` if there was one.
        ///
        /// # Errors
        /// Returns an error after an error of another call.
        pub fn delete(&mut self, id: &str) -> Result<bool, $error> {
            self.guard(|writer| {
                let folder = &writer.folder;
                Ok(writer.pending.delete(id, || folder.contains(id)))
            })
        }

        /// Returns the number of documents, with the changes since the last commit.
        #[must_use]
        pub fn len(&self) -> usize {
            self.folder.len_with(&self.pending)
        }

        /// Returns `true` if there are no documents, with the changes since the last commit.
        #[must_use]
        pub fn is_empty(&self) -> bool {
            self.len() == 0
        }

        /// Returns the segments of the last commit, from the oldest to the newest.
        pub fn segments(
            &self,
        ) -> impl ExactSizeIterator<Item = $crate::segments::SegmentStats> + '_ {
            let segments = self.folder.segments().iter();
            segments.map($crate::segments::Segment::stats)
        }

        /// Makes the changes since the last commit visible to readers that are opened from now on,
        /// and durable. Then merges segments if there are many. Without changes, does nothing, but
        /// for the first commit of a new index.
        ///
        /// # Errors
        /// Returns an error if a document cannot be indexed, a file cannot be written, or a segment
        /// that is merged is damaged. The index is then at its last commit, which is this one if
        /// merging failed or if the folder could not be synced: a power failure may then undo the
        /// commit, but no file is lost.
        pub fn commit(&mut self) -> Result<(), $error> {
            self.commit_with(&mut $crate::NoProgress)
        }

        /// [`Self::commit`] with progress reports. If `progress` stops a merge, the changes are
        /// committed.
        ///
        /// # Errors
        /// Returns the errors of [`Self::commit`], and an error if `progress` stops.
        pub fn commit_with(&mut self, progress: &mut dyn $crate::Progress) -> Result<(), $error> {
            self.guard(|writer| {
                writer.commit_changes(progress)?;
                while let Some(range) = writer.folder.segments_to_merge(writer.merge_factor) {
                    writer.merge(range, progress).map_err($of_merge)?;
                }
                Ok(())
            })
        }

        /// Commits, and merges all segments into one without deleted documents. Its file has the
        /// bytes of an index that is written once.
        ///
        /// # Errors
        /// Returns the errors of [`Self::commit`].
        pub fn compact(&mut self) -> Result<(), $error> {
            self.compact_with(&mut $crate::NoProgress)
        }

        /// [`Self::compact`] with progress reports.
        ///
        /// # Errors
        /// Returns the errors of [`Self::commit_with`].
        pub fn compact_with(&mut self, progress: &mut dyn $crate::Progress) -> Result<(), $error> {
            self.guard(|writer| {
                writer.commit_changes(progress)?;
                if !writer.folder.is_compact() {
                    writer.merge(0..writer.folder.segments().len(), progress)?;
                }
                Ok(())
            })
        }

        /// After an error of `work`, every call returns an error.
        fn guard<T>(
            &mut self,
            work: impl FnOnce(&mut Self) -> Result<T, $error>,
        ) -> Result<T, $error> {
            if self.failed {
                return Err($abandoned);
            }
            let result = work(self);
            self.failed = result.is_err();
            result
        }
    };
}

/// Implements [`Retriever::search`](crate::Retriever::search) as a batch of one query.
///
/// For the crates of this workspace; not part of the public interface.
#[doc(hidden)]
#[macro_export]
macro_rules! search_as_batch {
    () => {
        fn search(
            &self,
            query: &Self::Query,
            search: &$crate::Search<'_>,
        ) -> Result<$crate::Ranking, $crate::SearchError> {
            let mut rankings = self.search_batch(&[(query, *search)])?;
            Ok(rankings.pop().unwrap_or_default())
        }
    };
}

/// Defines `len` and `is_empty` of a collection with a map `queries` by query id.
/// `query_count!("judged queries")` counts what the documentation calls judged queries.
///
/// For the crates of this workspace; not part of the public interface.
#[doc(hidden)]
#[macro_export]
macro_rules! query_count {
    ($queries:literal) => {
        #[doc = concat!("Returns the number of ", $queries, ".")]
        #[must_use]
        pub fn len(&self) -> usize {
            self.queries.len()
        }

        #[doc = concat!("Returns whether there are no ", $queries, ".")]
        #[must_use]
        pub fn is_empty(&self) -> bool {
            self.queries.is_empty()
        }
    };
}

/// Defines methods that replace one field: `with_order: order, DocOrder;` sets the field `order`,
/// `with_limit: Some(limit), usize;` sets the field `limit` to `Some`, by [`Into`].
///
/// For the crates of this workspace; not part of the public interface.
#[doc(hidden)]
#[macro_export]
macro_rules! setters {
    () => {};
    ($name:ident: $field:ident, $type:ty $(; $($rest:tt)*)?) => {
        $crate::setters! { @setter $name, $field, $type, $field }
        $($crate::setters! { $($rest)* })?
    };
    ($name:ident: Some($field:ident), $type:ty $(; $($rest:tt)*)?) => {
        $crate::setters! { @setter $name, $field, $type, Some($field.into()) }
        $($crate::setters! { $($rest)* })?
    };
    (@setter $name:ident, $field:ident, $type:ty, $value:expr) => {
        #[doc = concat!("Sets [`", stringify!($field), "`](Self::", stringify!($field), ").")]
        #[must_use]
        pub fn $name(self, $field: $type) -> Self {
            Self { $field: $value, ..self }
        }
    };
}
