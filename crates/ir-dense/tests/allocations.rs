//! Heap allocations of encoding a single text: after the first text, only those of the library of
//! the tokenizer.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]
#![allow(unsafe_code, reason = "a global allocator that counts")]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use common::{minilm, on_default_backend, tiny};
use ir_core::{Encoder, Side};
use ir_dense::{BiEncoder, EncoderConfig, Precision};
use tokenizers::Tokenizer;

/// The system's allocator, which counts the allocations of all threads: those of the team that
/// encodes a text, too. The file has one test, so that no other allocates.
struct CountingAllocator;

static ALL_THREADS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static THIS_THREAD: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    ALL_THREADS.fetch_add(1, Ordering::Relaxed);
    let _ = THIS_THREAD.try_with(|all| all.set(all.get() + 1));
}

// SAFETY: all calls are those of the system's allocator.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Allocations of this thread and of all threads during `f`.
fn allocations(f: impl FnOnce()) -> (u64, u64) {
    let now = || (THIS_THREAD.get(), ALL_THREADS.load(Ordering::SeqCst));
    let before = now();
    f();
    let after = now();
    (after.0 - before.0, after.1 - before.1)
}

const QUERIES: [&str; 5] = [
    "the ship seen by radar at the sea in the green black tea",
    "green tea",
    "",
    "a ship at sea",
    "radar",
];

/// Number of calls per query.
const CALLS: usize = 20;

fn check(folder: &Path, precision: Precision, prefix: &str) {
    let mut config = EncoderConfig::default().with_precision(precision);
    config.query.prefix = Some(prefix.into());
    let encoder = BiEncoder::open_with(folder, &config).unwrap();
    let mut library = Tokenizer::from_file(folder.join("tokenizer.json")).unwrap();
    library.with_padding(None).with_truncation(None).unwrap();
    let mut vector = vec![0.0; encoder.dim()];
    let mut encode = |text: &str| {
        let out = &mut vector;
        encoder.encode_into(Side::Query, &[text], out).unwrap();
    };
    // Caches of the library.
    for query in QUERIES {
        encoder.token_ids(Side::Query, query).unwrap();
        let text = format!("{prefix}{query}");
        library.encode_fast(text.trim(), false).unwrap();
    }
    // The longest query first: it allocates the buffers.
    encode(QUERIES[0]);
    let (mut more, mut total) = (0, 0);
    for query in QUERIES {
        let text = format!("{prefix}{query}");
        let tokenize = || drop(library.encode_fast(text.trim(), false).unwrap());
        let of_library = allocations(tokenize).0;
        assert!(of_library > 0 || text.is_empty(), "not counted");
        for _ in 0..CALLS {
            let (found, of_all) = allocations(|| encode(query));
            let name = folder.display();
            assert_eq!(found, of_library, "{name} {precision} {query:?}");
            more += usize::from(of_all > of_library);
            total += 1;
        }
    }
    // A thread of the team allocates its buffers when it has its first share of a text, which may
    // be in any call.
    let name = folder.display();
    assert!(
        more <= 4 * team(),
        "{name} {precision}: more in {more} of {total} calls"
    );
    assert!(total > 20 * team());
}

/// Maximum number of threads of a single text.
fn team() -> usize {
    thread::available_parallelism()
        .map_or(1, usize::from)
        .min(4)
}

#[test]
fn only_the_tokenizer_allocates() {
    if !on_default_backend() {
        return;
    }
    for precision in Precision::ALL {
        for model in ["distilbert", "roberta", "mpnet"] {
            check(&tiny(model), precision, "");
            check(&tiny(model), precision, "query: ");
        }
        if let Some(folder) = minilm() {
            check(&folder, precision, "");
        }
    }
}
