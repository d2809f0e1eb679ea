//! The tables of a comparison in text, Markdown, LaTeX and CSV.

mod csv;
mod latex;
mod markdown;
pub(crate) mod table;
mod text;

pub use latex::escape as escape_latex;
pub use markdown::escape as escape_markdown;
