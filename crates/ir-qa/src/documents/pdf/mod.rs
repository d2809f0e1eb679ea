//! PDF: text, pages and headings, extracted by the crate pdf_oxide in a process of its own.
//!
//! Damaged and hostile files make parsers of PDF panic, exhaust memory or never end. A
//! child process with limits ends alone.
//!
//! `catch_unwind` stops neither aborts nor endless loops, and a thread cannot be killed. The child
//! is the same executable with a hidden subcommand; it limits its own address space and CPU time,
//! and writes lines of text with positions. The parent computes the layout (title, headings,
//! paragraphs). A panic is an error of its page. WebAssembly would add a runtime as large as the
//! parser.

mod extract;
mod layout;
mod process;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use extract::extract_pdf;

use super::error::PdfError;
use super::paper::Paper;

/// Reading of PDF files: the program that extracts their text, and its limits.
///
/// The program reads the PDF from standard input and calls [`extract_pdf`]; `ir` has a hidden
/// subcommand for it. Without a program, PDF is extracted in the process of the caller, where
/// [`PdfConfig::max_memory`] has no effect, [`PdfConfig::max_time`] is checked between pages, and a
/// hostile file may end the process.
///
/// ```
/// use std::time::Duration;
/// use ir_qa::documents::{DocumentFormat, DocumentReader, PdfConfig};
/// let pdf = PdfConfig { max_time: Duration::from_secs(10), ..PdfConfig::default() };
/// let reader = DocumentReader::default().with_pdf(pdf);
/// let read = reader.read_bytes(b"This is no PDF.", DocumentFormat::Pdf, "a.pdf", "a.pdf");
/// let error = read.unwrap_err().to_string();
/// assert!(error.starts_with("a.pdf: expected a PDF, found a damaged one"), "{error}");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PdfConfig {
    /// Program and arguments of the child process. Default: none.
    pub program: Option<(PathBuf, Vec<OsString>)>,
    /// Maximum wall time of a file. Default: 60 s.
    pub max_time: Duration,
    /// Maximum address space of the child process in bytes, where the operating system limits it
    /// (Unix except macOS). Default: 1 GiB.
    pub max_memory: u64,
    /// Maximum number of pages. Default: 5,000.
    pub max_pages: usize,
}

impl Default for PdfConfig {
    fn default() -> Self {
        Self {
            program: None,
            max_time: Duration::from_secs(60),
            max_memory: 1 << 30,
            max_pages: 5_000,
        }
    }
}

impl PdfConfig {
    fn out_of_time(&self) -> PdfError {
        // Rounded up.
        let seconds = self.max_time.as_secs_f64().ceil() as u64;
        PdfError::Time { seconds }
    }
}

/// Line of text on a page, in the order of reading. Lengths are points, `y` grows upward.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct PdfLine {
    text: String,
    x: f32,
    y: f32,
    width: f32,
    size: f32,
    is_bold: bool,
}

/// Page of a PDF.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct PdfPage {
    height: f32,
    lines: Vec<PdfLine>,
}

/// Fields of the information dictionary; empty if absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct PdfInformation {
    title: String,
    author: String,
}

/// Record of the child process, one JSON line each: the information, the pages, and the end or an
/// error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum PdfRecord {
    Information(PdfInformation),
    Page(PdfPage),
    /// A page that makes the parser fail, with its message.
    DamagedPage(String),
    End,
    Error(PdfError),
}

/// Pages and information of a PDF.
#[derive(Debug, Default)]
struct PdfText {
    information: PdfInformation,
    pages: Vec<PdfPage>,
    /// Number of pages that could not be read.
    damaged: usize,
    /// Message of the first of them.
    first_damage: Option<String>,
}

/// Reads a PDF. Returns the paper, and `true` if pages of it are damaged.
pub(super) fn read(
    bytes: &[u8],
    config: &PdfConfig,
    max_text: u64,
    id: &str,
) -> Result<(Paper, bool), PdfError> {
    let mut text = PdfText::default();
    let mut text_bytes = 0_u64;
    let mut take = |record: PdfRecord| -> Result<(), PdfError> {
        match record {
            PdfRecord::Information(information) => text.information = information,
            PdfRecord::Page(page) => {
                let lines = page.lines.iter().map(|line| line.text.len() as u64);
                text_bytes += lines.sum::<u64>();
                if text_bytes > max_text {
                    return Err(PdfError::Text { limit: max_text });
                }
                text.pages.push(page);
            }
            PdfRecord::DamagedPage(message) => {
                text.pages.push(PdfPage::default());
                text.damaged += 1;
                text.first_damage.get_or_insert(message);
            }
            PdfRecord::End => {}
            PdfRecord::Error(error) => return Err(error),
        }
        Ok(())
    };
    match &config.program {
        Some((program, arguments)) => {
            process::run(program, arguments, bytes, config, max_text, &mut take)?;
        }
        None => extract::extract(bytes, config, &mut take)?,
    }
    let pages = text.pages.len();
    if let (true, Some(found)) = (text.damaged == pages, text.first_damage.take()) {
        return Err(PdfError::Damaged { found });
    }
    if text.pages.iter().all(|page| page.lines.is_empty()) {
        return Err(PdfError::NoText { pages });
    }
    let is_damaged = text.damaged > 0;
    Ok((layout::paper(text, id), is_damaged))
}
