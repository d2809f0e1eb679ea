//! Peak memory of opening encoders and encoding a text, each in a process of its own.
//!
//! ```text
//! cargo run --release -p ir-dense --example peak_memory -- [--precision NAME] FOLDER ...
//! ```
//!
//! Prints a table and fails if a peak exceeds 1.3 × the weights in f32 + 64 MB + the tokenizer.
//! Linux only: the peak is `VmHWM` of `/proc/self/status`. `.ci/encoder-memory` writes larger
//! folders of all architectures and measures them.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::process::Command;
use std::{env, fs};

use ir_core::{Encoder, Side};
use ir_dense::{BiEncoder, EncoderConfig, ModelTokenizer, describe};

const MB: f64 = 1e6;
/// Maximum peak in relation to the weights, and in MB beside them.
const FACTOR: f64 = 1.3;
const CONSTANT: f64 = 64.0;
const TEXT: &str = "Ships seen by radar at sea are counted by night and by day.";

/// Peak of the resident memory of this process in MB.
fn peak() -> Result<f64, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.ok_or("no VmHWM")?.trim().trim_end_matches(" kB");
    Ok(kilobytes.parse::<f64>()? * 1024.0 / MB)
}

/// Runs a step in a process of its own and returns its peak in MB.
fn peak_of(step: &str, folder: &str, precision: &str) -> Result<f64, Box<dyn Error>> {
    let mut command = Command::new(env::current_exe()?);
    let output = command.args(["--step", step, folder, precision]).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}

fn run_step(step: &str, folder: &str, precision: &str) -> Result<(), Box<dyn Error>> {
    match step {
        "tokenizer" => drop(ModelTokenizer::open(folder)?.encode(TEXT, 64)?),
        "encoder" => {
            let config = EncoderConfig::default().with_precision(precision.parse()?);
            let encoder = BiEncoder::open_with(folder, &config)?;
            encoder.encode(Side::Document, &[TEXT])?;
        }
        _ => {}
    }
    println!("{}", peak()?);
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (precision, folders) = match arguments[..] {
        ["--step", step, folder, precision] => return run_step(step, folder, precision),
        ["--precision", name, ref folders @ ..] => (name, folders),
        ref folders => ("f32", folders),
    };
    println!("| folder | weights MB | tokenizer MB | peak MB | limit MB | peak / weights |");
    println!("|---|---|---|---|---|---|");
    let mut exceeded = Vec::new();
    let empty = peak_of("none", "", precision)?;
    for folder in folders {
        let description = describe(folder, &EncoderConfig::default())?;
        let parameters = description.towers.iter().map(|it| it.weights.parameters);
        let weights = parameters.sum::<u64>() as f64 * 4.0 / MB;
        let tokenizer = peak_of("tokenizer", folder, precision)? - empty;
        let peak = peak_of("encoder", folder, precision)?;
        let limit = FACTOR * weights + CONSTANT + tokenizer;
        let name = folder.rsplit('/').next().unwrap_or_default();
        let ratio = peak / weights;
        println!(
            "| {name} | {weights:.1} | {tokenizer:.1} | {peak:.1} | {limit:.1} | {ratio:.2} |"
        );
        if peak > limit {
            exceeded.push(name);
        }
    }
    if !exceeded.is_empty() {
        return Err(format!("the peak exceeds the limit: {}", exceeded.join(", ")).into());
    }
    Ok(())
}
