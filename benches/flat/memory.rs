//! Memory use and file reads of an opened index, in a child process.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

use anyhow::{Context, Result, ensure};
use bench_common::load;
use ir_core::store::Verify;
use ir_core::{Retriever, Search};
use ir_knn::FlatIndex;

/// Numbers of searches after which memory is measured.
const SEARCHES: [usize; 4] = [0, 1, 30, 1000];

/// Saves the index with and without codes; a child process opens and searches each.
pub(crate) fn measure(index: &FlatIndex, folder: &Path) -> Result<()> {
    println!(
        "\nsaved index, MB: anonymous memory + bytes read from storage, after n single queries\n"
    );
    let heads = SEARCHES.map(|n| format!("{n:>16}")).concat();
    println!("{:<28} {:>8} {heads}", "", "file");
    for contents in ["vectors", "vectors and codes"] {
        let path = folder.join("memory.ir");
        match contents {
            "vectors" => index.save(&path)?,
            _ => index.clone().with_codes().save(&path)?,
        }
        // Evict the file from the page cache.
        let dropped = Command::new("dd")
            .arg(format!("of={}", path.display()))
            .args([
                "oflag=nocache",
                "conv=notrunc,fdatasync",
                "count=0",
                "status=none",
            ])
            .status()?;
        ensure!(dropped.success(), "dd failed");
        let status = Command::new(env::current_exe()?)
            .args(["--memory-of", contents, "--folder"])
            .arg(folder)
            .status()?;
        ensure!(status.success(), "{contents} failed");
    }
    Ok(())
}

/// Child process: opens the index and searches.
pub(crate) fn child(contents: &str, folder: &Path) -> Result<()> {
    let queries = load(&folder.join("queries.npy"))?;
    let queries: Vec<Vec<f32>> = queries
        .outer_iter()
        .map(|query| query.iter().map(|&value| value as f32).collect())
        .collect();
    let path = folder.join("memory.ir");
    let before = MemoryUsage::current()?;
    let index = FlatIndex::open_with(&path, Verify::SmallSections)?;
    print!(
        "{contents:<28} {:>8.0} ",
        fs::metadata(&path)?.len() as f64 / 1e6
    );
    let mut queries = queries.iter().cycle();
    let mut done = 0;
    for searches in SEARCHES {
        for query in queries.by_ref().take(searches - done) {
            let _ = std::hint::black_box(index.search(query, &Search::top(10))?);
        }
        done = searches;
        let now = MemoryUsage::current()?;
        let parts = format!(
            "{:.0} + {:.0}",
            now.anonymous - before.anonymous,
            now.read - before.read
        );
        print!("{parts:>16}");
    }
    println!();
    Ok(())
}

/// Memory statistics of this process in MB.
struct MemoryUsage {
    anonymous: f64,
    /// Bytes read from storage, not from the page cache.
    read: f64,
}

impl MemoryUsage {
    fn current() -> Result<Self> {
        let field = |file: &str, name: &str| -> Result<f64> {
            let text = fs::read_to_string(file)?;
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            let number = line.and_then(|rest| rest.split_whitespace().next());
            Ok(number.context(name.to_owned())?.parse()?)
        };
        Ok(Self {
            anonymous: field("/proc/self/status", "RssAnon:")? * 1024.0 / 1e6,
            read: field("/proc/self/io", "read_bytes:")? / 1e6,
        })
    }
}
