//! Rust programs of the book, as documentation tests.

#[doc = include_str!("src/tours/search.md")]
#[cfg(doctest)]
mod search {}

#[doc = include_str!("src/tours/retriever.md")]
#[cfg(doctest)]
mod retriever {}

#[doc = include_str!("src/coming-from/tantivy.md")]
#[cfg(doctest)]
mod tantivy {}
