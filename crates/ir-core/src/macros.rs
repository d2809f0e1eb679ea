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
