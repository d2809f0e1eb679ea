//! What a step of training costs: time, and the most memory.
//!
//! ```sh
//! cargo run --release -p ir-dense --example training_cost -- MODEL TEXTS BLOCK THREADS [BACKEND]
//! python tests/dense/peer.py train MODEL TEXTS THREADS
//! ```
//!
//! TEXTS of 64 tokens a step, half of them queries and half of them their answers, BLOCK of them
//! encoded at once. Processor time and memory are Linux's. libtorch has threads of its own: their
//! number is the variable OMP_NUM_THREADS.

#![allow(clippy::print_stdout, reason = "a program speaks to people")]

mod measured;

use std::error::Error;
use std::time::Instant;

use ir_core::{Flow, SplitMix, TrainingExample, TrainingText};
use ir_dense::train::{Trainer, TrainingConfig};
use ir_dense::{Backend, EncoderConfig};
use measured::{peak, processor_time};

const WORDS: [&str; 12] = [
    "ship", "sea", "tea", "radar", "green", "black", "seen", "data", "query", "model", "house",
    "river",
];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (arguments, backend) = match &arguments[..] {
        [all @ .., backend] if all.len() == 4 => (all, backend.parse()?),
        all => (all, Backend::default()),
    };
    let [model, texts, block, threads] = arguments else {
        return Err("expected MODEL TEXTS BLOCK THREADS [BACKEND]".into());
    };
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads.parse()?)
        .build_global()?;
    let half = texts.parse::<usize>()? / 2;
    let mut random = SplitMix::new(1, 1);
    let mut text = || -> String {
        let words: Vec<&str> = (0..80).map(|_| WORDS[random.below(WORDS.len())]).collect();
        words.join(" ")
    };
    let data: Vec<TrainingExample> = (0..half)
        .map(|_| TrainingExample::new(text()).positive(TrainingText::new(text())))
        .collect();
    let mut config = TrainingConfig::small_data();
    config.encoder = EncoderConfig::default()
        .with_backend(backend)
        .with_max_tokens(64);
    (config.batch, config.negatives, config.dropout) = (half, 0, 0.0);
    config.block = Some(block.parse()?);
    config.epochs = if half > 64 { 1 } else { 8 };

    let trainer = Trainer::open(model, &config)?;
    println!("{} MiB with the model open", peak());
    let mut before: Option<(Instant, f64)> = None;
    let mut watch = |_: &str, _: u64, _: Option<u64>| {
        if let Some((clock, processor)) = before {
            let clock = clock.elapsed().as_secs_f64();
            let processor = processor_time() - processor;
            println!("{processor:.2} s of processor time a step, {clock:.2} by the clock");
        }
        before = Some((Instant::now(), processor_time()));
        Flow::Continue
    };
    trainer.train(&data, &mut watch)?;
    println!("{} MiB at most", peak());
    Ok(())
}
