//! `ir pdf-text`: the child process that reads a PDF for other commands.

use std::io;
use std::time::Duration;

use anyhow::{Context, Result};
use ir_qa::documents::{PdfConfig, extract_pdf};

use crate::shared::output::OutputSink;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Maximum CPU time in seconds
    #[arg(long, value_name = "N")]
    max_time: u64,

    /// Maximum address space in bytes
    #[arg(long, value_name = "N")]
    max_memory: u64,

    /// Maximum number of pages
    #[arg(long, value_name = "N")]
    max_pages: usize,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    // Panics of the parser are reported as errors of their pages.
    std::panic::set_hook(Box::new(|_| {}));
    let config = PdfConfig {
        max_time: Duration::from_secs(args.max_time),
        max_memory: args.max_memory,
        max_pages: args.max_pages,
        ..PdfConfig::default()
    };
    let mut out = OutputSink::open(None)?;
    extract_pdf(&config, &mut io::stdin().lock(), &mut out).context("PDF: cannot be passed on")?;
    out.commit()
}
