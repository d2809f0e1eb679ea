//! The reader of papers in files.

use anyhow::Result;
use ir_qa::documents::DocumentReader;

/// Reader of all formats. PDF is read by a child process with the executable of this one, if the
/// feature `pdf` is on.
pub(crate) fn document_reader() -> Result<DocumentReader> {
    let reader = DocumentReader::default();
    #[cfg(feature = "pdf")]
    let reader = reader.with_pdf(pdf_config()?);
    Ok(reader)
}

#[cfg(feature = "pdf")]
fn pdf_config() -> Result<ir_qa::documents::PdfConfig> {
    use anyhow::Context;
    use ir_qa::documents::PdfConfig;

    let program = std::env::current_exe().context("the path of this program is unknown")?;
    let mut config = PdfConfig::default();
    let limits = [
        ("--max-time", config.max_time.as_secs()),
        ("--max-memory", config.max_memory),
        ("--max-pages", config.max_pages as u64),
    ];
    let limits = limits.into_iter();
    let limits = limits.flat_map(|(name, value)| [name.to_owned(), value.to_string()]);
    let command = "pdf-text".to_owned();
    let arguments = [command].into_iter().chain(limits).map(Into::into);
    config.program = Some((program, arguments.collect()));
    Ok(config)
}
