//! `ir index --from-ciff`: an index of another program.

use std::path::Path;
use std::time::Instant;

use anyhow::{Error, Result};
use indicatif::HumanBytes;
use ir_bm25::{Analysis, BuildError, CiffError, CiffReader};

use super::Args;
use crate::shared::console::Console;
use crate::shared::format::{counted, grouped};
use crate::shared::indexing::DEFAULT_MEMORY;
use crate::shared::output::create;

pub(super) fn run(file: &str, args: &Args, console: &Console) -> Result<()> {
    let output = args.output()?;
    let path = output.binary_file("--output")?;
    let reader = CiffReader::new(ir_data::open_bytes(Path::new(file))?, file)?;
    drop(create(path)?);
    let header = reader.header().clone();
    let analysis = match (args.setup.given_analysis()?, header.analysis()) {
        (Some(given), recorded) => {
            if let Some(recorded) = recorded.filter(|recorded| *recorded != given) {
                console.warn(format_args!(
                    "{file}: the index was made with the analyzer {recorded}, not with {given} of --analysis"
                ));
            }
            given
        }
        (None, Some(recorded)) => recorded,
        (None, None) => {
            let analysis = Analysis::default();
            console.warn(format_args!(
                "{file}: the description does not say how texts were analyzed ({:?}); queries are \
                 analyzed by {analysis}, or as --analysis says",
                header.description
            ));
            analysis
        }
    };
    if header.posting_lists < header.total_posting_lists {
        console.warn(format_args!(
            "{file}: {} of {} terms; other terms of queries match nothing",
            grouped(u64::from(header.posting_lists)),
            grouped(u64::from(header.total_posting_lists))
        ));
    }
    let began = Instant::now();
    let memory = args.setup.memory.unwrap_or(DEFAULT_MEMORY);
    let built = reader.build_to(path, analysis, memory, &mut console.bar());
    let index = built.map_err(|error| match error {
        // Of a document id, which does not name the file.
        error @ CiffError::Build(BuildError::Ids(_)) => Error::new(error).context(file.to_owned()),
        error => error.into(),
    })?;
    let stats = index.stats();
    console.log(format_args!(
        "{} of {} in {}: {}, {:.1} s",
        counted(stats.documents as u64, "document"),
        counted(u64::from(header.posting_lists), "term"),
        output.display(),
        HumanBytes(stats.bytes),
        began.elapsed().as_secs_f64()
    ));
    Ok(())
}
