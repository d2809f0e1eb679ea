//! `ir export`: an index in the Common Index File Format.

use std::io::BufWriter;
use std::path::PathBuf;

use anyhow::Result;
use clap::ValueHint;
use ir_bm25::{CiffError, Index};
use ir_core::store::Verify;

use crate::shared::console::{Console, bail_usage};
use crate::shared::format::counted;
use crate::shared::output::{OutputPath, OutputSink, failed};
use crate::shared::signals::stop_on_interrupt;

const EXAMPLES: &str = "\
Examples:
  ir export corpus.ir -o corpus.ciff
  ir export corpus.ir -o corpus.ciff.gz           compressed by gzip
  ir export corpus.ir -o titles.ciff --field title
  ir index --from-ciff corpus.ciff -o copy.ir     the same rankings

The Common Index File Format (CIFF, Lin et al. 2020) has the terms, postings
and document lengths of one field. PISA, Terrier, JASS and others read it.
Positions, stored fields and years are left out. The description in the header
names the analyzer. An index in a folder is exported after
`ir index COLLECTION -o FILE` has built it as a file.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Index file of `ir index`
    #[arg(value_name = "INDEX")]
    index: PathBuf,

    /// Output file; .gz and .zst are compressed
    #[arg(long, short = 'o', value_name = "FILE")]
    output: OutputPath,

    /// Indexed field [default: the only field of the index]
    #[arg(long, value_name = "NAME", value_hint = ValueHint::Other)]
    field: Option<String>,
}

pub(crate) fn run(args: &Args, console: &Console) -> Result<()> {
    stop_on_interrupt();
    if args.output.is_stdout() {
        bail_usage!("--output: expected a file, found standard output");
    }
    let index = Index::open_with(&args.index, Verify::SmallSections)?;
    let names = index.config().fields.names();
    let field = match (&args.field, names) {
        (Some(field), _) => field.as_str(),
        (None, &[field]) => field,
        (None, names) => bail_usage!(
            "--field: expected one of the fields of {} ({}), found none",
            args.index.display(),
            names.join(", ")
        ),
    };
    let mut out = OutputSink::open(Some(&args.output))?;
    let mut bar = console.bar();
    let buffered = BufWriter::with_capacity(1 << 16, &mut out);
    let written = index.write_ciff(field, buffered, &mut bar);
    let header = written.map_err(|error| match error {
        CiffError::Write(source) => {
            anyhow::Error::new(source).context(failed(args.output.display()))
        }
        CiffError::UnknownField { .. } => anyhow::Error::new(error).context("--field"),
        error => error.into(),
    })?;
    bar.finish();
    out.commit()?;
    console.log(format_args!(
        "{} of {} in {}",
        counted(u64::from(header.documents), "document"),
        counted(u64::from(header.posting_lists), "term"),
        args.output.display()
    ));
    Ok(())
}
