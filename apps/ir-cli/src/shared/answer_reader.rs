//! Readers by name, of `ir ask`.

use std::path::Path;

use anyhow::Result;
use ir_qa::reader::{LexicalReader, Reader};

/// Opens a reader: `lexical`, or a folder or downloaded model with a span head.
#[cfg(feature = "dense")]
pub(crate) fn open_reader(argument: &Path) -> Result<Box<dyn Reader>> {
    if argument == Path::new("lexical") {
        return Ok(Box::new(LexicalReader::default()));
    }
    let folder = super::encoder::find_model(argument)?.folder;
    Ok(Box::new(ir_dense::ExtractiveReader::open(folder)?))
}

/// Opens the reader `lexical`.
#[cfg(not(feature = "dense"))]
pub(crate) fn open_reader(argument: &Path) -> Result<Box<dyn Reader>> {
    if argument == Path::new("lexical") {
        return Ok(Box::new(LexicalReader::default()));
    }
    super::console::bail_usage!(
        "--reader: expected lexical, the reader of a build without the feature \"dense\", found {}",
        argument.display()
    );
}
