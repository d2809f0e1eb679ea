//! Pages over a service of the bundled papers and of hostile ones.

mod search;
mod security;
mod support;
