//! Ablations of the DataFinder paper (ACL 2023): dataset representation, training, query fields,
//! and a weighted sum of retrievers.
//!
//! `IR_DATA=path/to/data IR_MODEL=$(.ci/model) cargo run --release -p datafinder-ablations`. Models
//! and vectors are stored in `target/datafinder-ablations` or the folder `IR_WORK`; an interrupted
//! run resumes. With the argument `popularity`, nothing is trained, and only popularity known at
//! the time is compared: as a prior of BM25 and, with `IR_MODEL`, with the encoder. `popularity
//! trained` trains the encoder whose text has popularity, too.

#![allow(clippy::print_stdout, reason = "a program for a terminal")]
#![allow(clippy::print_stderr, reason = "a program for a terminal")]

mod experiment;
mod models;
mod popularity;
mod sources;

use std::path::Path;

use models::Representation;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let trained: &[Representation] = match arguments[..] {
        [] => &Representation::ALL,
        ["popularity"] => &[],
        ["popularity", "trained"] => &[Representation::Uses],
        _ => anyhow::bail!(
            "expected no argument, popularity, or popularity trained, found {}",
            arguments.join(" ")
        ),
    };
    let popularity_only = trained.is_empty();
    let model = std::env::var_os("IR_MODEL");
    if (model.is_some() || popularity_only)
        && ir_data::catalog::Catalog::from_env().has("datafinder")?
    {
        return experiment::run(model.as_deref().map(Path::new), trained);
    }
    println!(
        "This example trains an encoder on DataFinder's queries. Set\n\
         \x20 IR_DATA     to a folder with the collection (`ir datasets where datafinder`)\n\
         \x20 IR_MODEL    to a folder with all-MiniLM-L6-v2 (.ci/model downloads it); not needed with\n\
         \x20             the argument `popularity`"
    );
    Ok(())
}
