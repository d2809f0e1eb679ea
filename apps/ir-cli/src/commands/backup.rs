//! `ir backup`: copies a data folder of `ir serve`.

use std::path::PathBuf;

use anyhow::Result;
use clap::ValueHint;
use ir_serve::store::{StoreError, back_up};

use crate::shared::console::Console;
use crate::shared::format::grouped;
use crate::shared::output::OutputPath;
use crate::shared::signals::{Interrupted, stop_on_interrupt};

const EXAMPLES: &str = "\
Examples:
  ir backup library.ir-serve -o backups/monday
  ir backup backups/monday -o library.ir-serve    restore
  ir serve --data backups/monday                  serve the copy itself

Copies a data folder of `ir serve`, which may run: the copy has the state of
one moment, with documents, vectors, annotations, tags, hashes of keys and the
query log. Writes of the server are not delayed; those after the start of the
copy are left out. Checksums of documents and vectors are verified before the
folder appears. An interrupted copy leaves nothing.

Files of the folder of papers are not copied: documents are stored as text.
Keys of the server are valid for the copy, too: protect it in the same way.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Data folder, or a copy of one
    #[arg(value_name = "DATA")]
    data: PathBuf,

    /// Output folder: new or empty
    #[arg(short = 'o', long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    output: OutputPath,
}

pub(crate) fn run(args: &Args, console: &Console) -> Result<()> {
    stop_on_interrupt();
    let mut bar = console.bar();
    let copied = back_up(&args.data, &args.output, &mut bar);
    bar.finish();
    let checked = match copied {
        Err(StoreError::Canceled) => return Err(Interrupted.into()),
        copied => copied?,
    };
    console.log(format_args!(
        "{}: {} records of documents, {} vectors, verified",
        args.output.display(),
        grouped(checked.records),
        grouped(checked.vectors)
    ));
    Ok(())
}
