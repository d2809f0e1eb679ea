//! Latency of auto-complete over a million suggestions: the summaries of `packages`.
//!
//! ```sh
//! cargo bench -p bench-suggest [-- --limit K]      (needs IR_DATA)
//! ```
//! Popularities are random, with a few high ones (a power of a uniform number). Texts are typed
//! character by character, and every prefix is completed once:
//!
//! - `prefix`: a suggestion from its start,
//! - `words`: words of a suggestion (the keyword queries of the collection),
//! - `misspelled`: the same, with two adjacent characters in the middle of each word exchanged.

#![allow(clippy::print_stdout, reason = "a program for a terminal")]

use std::hint::black_box;
use std::time::Instant;

use anyhow::Result;
use bench_common::{Options, Random};
use ir_qa::suggest::Suggester;

fn main() -> Result<()> {
    let options = Options::parse("--limit")?;
    let limit: usize = options.number("--limit", 10)?;

    let collection = ir_data::catalog::open("packages")?;
    let mut texts = Vec::new();
    for document in collection.corpus().docs()? {
        texts.push(document?.text);
    }
    let mut random = Random(7);
    // Pareto-distributed: half of the popularities are 1, a thousandth are at least 1,000.
    let popularities = std::iter::repeat_with(|| (1.0 / (1.0 - random.uniform())) as u64);
    let started = Instant::now();
    let suggester = Suggester::new(texts.iter().map(String::as_str).zip(popularities));
    let seconds = started.elapsed().as_secs_f64();
    println!("{} suggestions, built in {seconds:.1} s", suggester.len());

    let queries = collection.all_queries()?;
    let keywords: Vec<String> = queries
        .into_iter()
        .filter(|query| query.id.starts_with('k'))
        .map(|query| query.text)
        .collect();
    let starts = texts.iter().step_by(texts.len() / keywords.len());
    let starts: Vec<String> = starts.cloned().collect();
    let misspelled: Vec<String> = keywords.iter().map(|text| misspelled(text)).collect();
    println!(
        "{:<12}{:>9}{:>11}{:>9}{:>9}",
        "", "prefixes", "median µs", "p99 µs", "max µs"
    );
    let workloads = [
        ("prefix", starts),
        ("words", keywords),
        ("misspelled", misspelled),
    ];
    for (name, typed) in workloads {
        let mut times = Vec::new();
        for text in &typed {
            for (start, c) in text.char_indices() {
                let prefix = &text[..start + c.len_utf8()];
                let started = Instant::now();
                black_box(suggester.complete(black_box(prefix), limit));
                times.push(started.elapsed().as_secs_f64() * 1e6);
            }
        }
        times.sort_unstable_by(f64::total_cmp);
        let quantile = |q: f64| times[((times.len() - 1) as f64 * q) as usize];
        let [median, p99, max] = [0.5, 0.99, 1.0].map(quantile);
        let prefixes = times.len();
        println!("{name:<12}{prefixes:>9}{median:>11.1}{p99:>9.1}{max:>9.1}");
    }
    Ok(())
}

/// Exchanges the two characters in the middle of each word of more than four characters.
fn misspelled(text: &str) -> String {
    let words = text.split(' ').map(|word| {
        let mut chars: Vec<char> = word.chars().collect();
        let middle = chars.len() / 2;
        if chars.len() > 4 {
            chars.swap(middle - 1, middle);
        }
        chars.into_iter().collect()
    });
    words.collect::<Vec<String>>().join(" ")
}
