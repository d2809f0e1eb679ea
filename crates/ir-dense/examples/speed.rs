//! Tokens a second. `tests/dense/peer.py speed` measures sentence-transformers the same way:
//!
//! ```sh
//! cargo run --release -p ir-dense --example speed -- MODEL TEXTS.json THREADS [BACKEND]
//! python tests/dense/peer.py speed MODEL TEXTS.json THREADS
//! ```
//!
//! TEXTS.json is one list of texts. Processor time is Linux's; it says more than the clock on a
//! machine that does other things too, and nothing about a graphics card. libtorch has threads of
//! its own: their number is the variable OMP_NUM_THREADS.

#![allow(clippy::print_stdout, reason = "a program speaks to people")]

mod measured;

use std::error::Error;
use std::time::Instant;

use ir_core::{Encoder, Side};
use ir_dense::{Backend, BiEncoder, EncoderConfig};
use measured::processor_time;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (model, texts, threads, backend) = match &arguments[..] {
        [model, texts, threads] => (model, texts, threads, Backend::default()),
        [model, texts, threads, backend] => (model, texts, threads, backend.parse()?),
        _ => return Err("expected MODEL TEXTS.json THREADS [BACKEND]".into()),
    };
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads.parse()?)
        .build_global()?;
    let texts: Vec<String> = serde_json::from_slice(&std::fs::read(texts)?)?;
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let encoder = BiEncoder::open_with(model, &EncoderConfig::default().with_backend(backend))?;
    // What is built at first use is not counted.
    encoder.encode(Side::Document, &texts[..texts.len().min(32)])?;
    let mut tokens = 0;
    for text in &texts {
        tokens += encoder.tokens(Side::Document, text)?.len();
    }
    for _ in 0..3 {
        let (clock, processor) = (Instant::now(), processor_time());
        encoder.encode(Side::Document, &texts)?;
        let clock = tokens as f64 / clock.elapsed().as_secs_f64();
        let processor = tokens as f64 / (processor_time() - processor);
        println!("{processor:.0} tokens/s of processor time, {clock:.0} by the clock");
    }
    Ok(())
}
