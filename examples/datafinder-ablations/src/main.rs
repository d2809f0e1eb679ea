//! What makes a bi-encoder recommend the right dataset? The ablations of the DataFinder paper (ACL
//! 2023): what stands for a dataset, training, the fields of a query; and what the best mixture
//! gives.
//!
//! `IR_DATA=path/to/data IR_MODEL=$(.ci/model) cargo run --release -p
//! datafinder-ablations`. Models and vectors are kept in `target/datafinder-ablations`, or in the
//! folder that `IR_WORK` names; a run that was stopped goes on where it was.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for a terminal"
)]

mod experiment;
mod models;
mod sources;

fn main() -> anyhow::Result<()> {
    if let Some(model) = std::env::var_os("IR_MODEL")
        && ir_data::catalogue::Catalogue::from_env().has("datafinder")?
    {
        return experiment::run(model.as_ref());
    }
    println!(
        "This trains a transformer on DataFinder's queries, so it needs two things:\n\
         \x20 the collection      IR_DATA, a folder that holds it (`ir datasets where datafinder`)\n\
         \x20 a model             IR_MODEL, a folder with all-MiniLM-L6-v2 (.ci/model fetches it)"
    );
    Ok(())
}
