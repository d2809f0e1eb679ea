//! The tables of a comparison in text, Markdown, LaTeX and CSV.

mod csv;
mod latex;
mod markdown;
pub(crate) mod table;
mod text;
