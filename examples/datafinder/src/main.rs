//! Dataset recommendation: which datasets fit a research idea, given as a sentence or as
//! keyphrases? BM25, kNN over training queries, bi-encoders and a hybrid, evaluated as in the
//! DataFinder paper (ACL 2023), beside the paper's scores.
//!
//! Runs on the bundled collection, for which it trains a tiny encoder, or without encoders on the
//! real one if it is in `IR_DATA`.

use std::io::Write;

use anyhow::Result;
use datafinder::experiment;
use ir_data::catalog::Catalog;

fn main() -> Result<()> {
    let catalog = Catalog::from_env();
    let real = catalog.has("datafinder")?;
    if let (Some(root), false) = (catalog.root(), real) {
        let root = root.display();
        writeln!(
            std::io::stderr(),
            "IR_DATA: {root} has no collection datafinder; the bundled one is used"
        )?;
    }
    let collection = catalog.open(if real { "datafinder" } else { "bundled" })?;
    let table = experiment::run(&collection)?;
    std::io::stdout().write_all(table.as_bytes())?;
    Ok(())
}
