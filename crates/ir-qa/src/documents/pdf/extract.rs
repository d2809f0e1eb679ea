//! Lines of the pages of a PDF, in the process that may fail.

use std::any::Any;
use std::io::{self, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use pdf_oxide::document::{PdfDocument, ReadingOrder};
use pdf_oxide::error::Error;
use pdf_oxide::layout::TextSpan;

use super::{PdfConfig, PdfInformation, PdfLine, PdfPage, PdfRecord};
use crate::documents::error::PdfError;
use crate::documents::running_text::{Script, script_text};

/// Distance of baselines, as a fraction of the font size, up to which spans are in one line:
/// superscripts are.
const LINE_TOLERANCE: f32 = 0.5;

/// Gap between spans, as a fraction of the font size, from which a space separates them.
const WORD_GAP: f32 = 0.15;

/// Maximum font size of a superscript or subscript, as a fraction of the font size of the line.
const SCRIPT_SIZE: f32 = 0.85;

/// Distances from the baseline, as fractions of the font size, from which a small text is a
/// superscript above and a subscript below.
const RAISED: f32 = 0.2;
const LOWERED: f32 = 0.08;

/// Extracts the text of a PDF from `input` and writes it to `out` as JSON lines: the work of the
/// child process of [`PdfConfig::program`]. Errors of the PDF are written, too. A panic of the
/// parser is an error of its page; install a silent panic hook before the call.
///
/// On Unix, the process limits its own address space and CPU time to the values of `config` first.
///
/// # Errors
/// `input` cannot be read or `out` cannot be written.
pub fn extract_pdf(
    config: &PdfConfig,
    input: &mut dyn Read,
    out: &mut dyn Write,
) -> io::Result<()> {
    limit_process(config);
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes)?;
    let mut write = |record: PdfRecord| -> Result<(), ChildError> {
        serde_json::to_writer(&mut *out, &record).map_err(io::Error::from)?;
        Ok(out.write_all(b"\n")?)
    };
    let last = match extract(&bytes, config, &mut write) {
        Ok(()) => PdfRecord::End,
        Err(ChildError::Pdf(error)) => PdfRecord::Error(error),
        Err(ChildError::Write(error)) => return Err(error),
    };
    serde_json::to_writer(&mut *out, &last)?;
    out.write_all(b"\n")?;
    out.flush()
}

enum ChildError {
    Pdf(PdfError),
    Write(io::Error),
}

impl From<PdfError> for ChildError {
    fn from(error: PdfError) -> Self {
        Self::Pdf(error)
    }
}

impl From<io::Error> for ChildError {
    fn from(error: io::Error) -> Self {
        Self::Write(error)
    }
}

#[cfg(unix)]
fn limit_process(config: &PdfConfig) {
    use rustix::process::{Resource, Rlimit, setrlimit};

    // A limit that cannot be set, such as of the address space on macOS, is left out: the parent
    // still limits the wall time.
    let limit = |resource, maximum: u64| {
        let limit = Rlimit {
            current: Some(maximum),
            maximum: Some(maximum),
        };
        let _ = setrlimit(resource, limit);
    };
    limit(Resource::As, config.max_memory);
    // Ends a child after its parent was killed.
    limit(
        Resource::Cpu,
        config.max_time.as_secs().max(1).saturating_add(1),
    );
    limit(Resource::Core, 0);
}

#[cfg(not(unix))]
fn limit_process(_: &PdfConfig) {}

/// Passes the information and the pages of a PDF to `take`.
pub(super) fn extract<E: From<PdfError>>(
    bytes: &[u8],
    config: &PdfConfig,
    take: &mut dyn FnMut(PdfRecord) -> Result<(), E>,
) -> Result<(), E> {
    let start = Instant::now();
    let damaged = |found| PdfError::Damaged { found };
    let opened = caught(|| {
        let document = PdfDocument::from_bytes(bytes.to_vec())?;
        // Files without a user password are decrypted.
        if !document.is_authenticated() && !document.authenticate(b"")? {
            return Err(Error::EncryptedPdf);
        }
        let pages = document.page_count()?;
        Ok((document, pages))
    });
    let (document, pages) = match opened {
        Err(panic) => return Err(damaged(panic).into()),
        Ok(Err(Error::EncryptedPdf)) => return Err(PdfError::Encrypted.into()),
        Ok(Err(error)) => return Err(damaged(error.to_string()).into()),
        Ok(Ok(opened)) => opened,
    };
    if pages == 0 {
        return Err(damaged("no pages".to_owned()).into());
    }
    if pages > config.max_pages {
        let limit = config.max_pages;
        return Err(PdfError::Pages {
            limit,
            found: pages,
        }
        .into());
    }
    let information = caught(|| information(&document)).unwrap_or_default();
    take(PdfRecord::Information(information))?;
    for number in 0..pages {
        if start.elapsed() > config.max_time {
            return Err(config.out_of_time().into());
        }
        take(match caught(|| page(&document, number)) {
            Ok(Ok(page)) => PdfRecord::Page(page),
            Ok(Err(Error::EncryptedPdf)) => return Err(PdfError::Encrypted.into()),
            Ok(Err(error)) => PdfRecord::DamagedPage(error.to_string()),
            Err(panic) => PdfRecord::DamagedPage(panic),
        })?;
    }
    Ok(())
}

/// Runs a function of the parser; a panic of it is its message.
fn caught<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    // After a panic, the document is used for its other pages only: a cache that is wrong gives
    // wrong text, which a damaged file may have in any case.
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic: Box<dyn Any + Send>| {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        format!("the parser panicked: {}", text.unwrap_or("no message"))
    })
}

fn information(document: &PdfDocument) -> PdfInformation {
    let trailer = document.trailer().as_dict();
    let information = trailer.and_then(|trailer| trailer.get("Info"));
    let information = information.and_then(|object| document.resolve_object(object).ok());
    let text = |name: &str| {
        let value = information.as_ref()?.as_dict()?.get(name)?;
        let value = document.resolve_object(value).ok()?;
        value.as_string().map(text_string)
    };
    PdfInformation {
        title: text("Title").unwrap_or_default(),
        author: text("Author").unwrap_or_default(),
    }
}

/// Text string of PDF: UTF-16 or UTF-8 with a byte order mark, or else, in most of its characters,
/// Latin-1.
fn text_string(bytes: &[u8]) -> String {
    match encoding_rs::Encoding::for_bom(bytes) {
        Some((encoding, length)) => encoding
            .decode_without_bom_handling(&bytes[length..])
            .0
            .into_owned(),
        None => bytes.iter().map(|&byte| char::from(byte)).collect(),
    }
}

fn page(document: &PdfDocument, number: usize) -> Result<PdfPage, Error> {
    let page = document.extract_page_text_with_options(number, ReadingOrder::ColumnAware)?;
    let spans = page.spans.iter().filter(|span| {
        // Running heads, page numbers, watermarks; and stamps on the margin.
        let is_upright = span.rotation_degrees.abs() < 1.0;
        // JSON has no infinite numbers.
        let lengths = [span.bbox.x, span.bbox.y, span.bbox.width, span.font_size];
        let is_placed = lengths.iter().all(|length| length.abs() < 1e6);
        span.artifact_type.is_none() && is_upright && is_placed && !span.text.trim().is_empty()
    });
    Ok(PdfPage {
        height: if page.page_height.is_finite() {
            page.page_height
        } else {
            0.0
        },
        lines: lines(spans),
    })
}

/// Joins consecutive spans on a baseline.
fn lines<'a>(spans: impl Iterator<Item = &'a TextSpan>) -> Vec<PdfLine> {
    let mut lines: Vec<LineInProgress> = Vec::new();
    for span in spans {
        match lines.last_mut() {
            Some(line) if line.continues(span) => line.push(span),
            _ => lines.push(LineInProgress::new(span)),
        }
    }
    lines.into_iter().map(LineInProgress::finish).collect()
}

struct LineInProgress {
    line: PdfLine,
    /// Characters by font size in tenths of a point and weight.
    fonts: Vec<(i32, bool, usize)>,
}

impl LineInProgress {
    fn new(span: &TextSpan) -> Self {
        let line = PdfLine {
            text: String::new(),
            x: span.bbox.x,
            y: span.bbox.y,
            width: 0.0,
            size: span.font_size,
            is_bold: false,
        };
        let mut line = Self {
            line,
            fonts: Vec::new(),
        };
        line.push(span);
        line
    }

    fn continues(&self, span: &TextSpan) -> bool {
        let size = self.line.size.max(span.font_size);
        let end = self.line.x + self.line.width;
        (span.bbox.y - self.line.y).abs() < LINE_TOLERANCE * size
            && span.bbox.x > end - LINE_TOLERANCE * size
    }

    /// A superscript or subscript of numbers and signs in Unicode. `None` for other spans.
    fn script(&self, span: &TextSpan) -> Option<String> {
        let line = &self.line;
        if line.text.ends_with(char::is_whitespace)
            || line.text.is_empty()
            || span.font_size > SCRIPT_SIZE * line.size
        {
            return None;
        }
        let distance = (span.bbox.y - line.y) / line.size.max(1.0);
        let script = if distance > RAISED {
            Script::Superscript
        } else if distance < -LOWERED {
            Script::Subscript
        } else {
            return None;
        };
        let (text, after) = match span.text.trim_end() {
            text if text.len() < span.text.len() => (text, " "),
            text => (text, ""),
        };
        Some(script_text(script, text)? + after)
    }

    fn push(&mut self, span: &TextSpan) {
        let script = self.script(span);
        let line = &mut self.line;
        let end = line.x + line.width;
        let gap = span.bbox.x - end;
        let has_space = script.is_some()
            || line.text.ends_with(char::is_whitespace)
            || span.text.starts_with(char::is_whitespace);
        if !line.text.is_empty() && !has_space && gap > WORD_GAP * line.size.min(span.font_size) {
            line.text.push(' ');
        }
        line.text.push_str(script.as_deref().unwrap_or(&span.text));
        line.width = (span.bbox.x + span.bbox.width - line.x).max(line.width);
        let font = (
            (span.font_size * 10.0).round() as i32,
            span.font_weight.is_bold(),
        );
        let characters = span.text.trim().chars().count();
        match self
            .fonts
            .iter_mut()
            .find(|known| (known.0, known.1) == font)
        {
            Some(known) => known.2 += characters,
            None => self.fonts.push((font.0, font.1, characters)),
        }
        let most = self.fonts.iter().max_by_key(|(_, _, count)| *count);
        if let Some((size, is_bold, _)) = most {
            self.line.size = *size as f32 / 10.0;
            self.line.is_bold = *is_bold;
        }
    }

    fn finish(self) -> PdfLine {
        let mut line = self.line;
        line.text = super::super::paper::single_spaced(&line.text);
        line
    }
}
