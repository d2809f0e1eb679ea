//! Pages over a service of the bundled papers and of hostile ones.

#![allow(clippy::unwrap_used, clippy::panic)]

mod annotations;
mod datasets;
mod document;
mod escaping;
mod files;
mod generation;
mod insight;
mod loading;
mod papers;
mod review;
mod search;
mod security;
mod support;
mod table;
