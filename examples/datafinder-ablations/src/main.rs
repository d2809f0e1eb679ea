//! Ablations of the DataFinder paper (ACL 2023): dataset representation, training, query fields,
//! and a weighted sum of retrievers.
//!
//! `IR_DATA=path/to/data IR_MODEL=$(.ci/model) cargo run --release -p datafinder-ablations`. Models
//! and vectors are stored in `target/datafinder-ablations` or the folder `IR_WORK`; an interrupted
//! run resumes. With the argument `popularity`, nothing is trained, and only the priors are
//! compared.

#![allow(clippy::print_stdout, reason = "a program for a terminal")]
#![allow(clippy::print_stderr, reason = "a program for a terminal")]

mod experiment;
mod models;
mod popularity;
mod sources;

fn main() -> anyhow::Result<()> {
    if let Some(model) = std::env::var_os("IR_MODEL")
        && ir_data::catalog::Catalog::from_env().has("datafinder")?
    {
        let trains = !std::env::args().any(|arg| arg == "popularity");
        return experiment::run(model.as_ref(), trains);
    }
    println!(
        "This example trains an encoder on DataFinder's queries. Set\n\
         \x20 IR_DATA     to a folder with the collection (`ir datasets where datafinder`)\n\
         \x20 IR_MODEL    to a folder with all-MiniLM-L6-v2 (.ci/model downloads it)"
    );
    Ok(())
}
