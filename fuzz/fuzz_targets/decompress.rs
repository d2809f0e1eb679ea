//! Uncompressed, gzip and zstd data: any bytes are decompressed or rejected, independently of the
//! size of reads. Uncompressed data is unchanged.
#![no_main]

use std::io::Read;

use ir_data::{LineReader, decompress};
use libfuzzer_sys::fuzz_target;

/// A few bytes can stand for gigabytes.
const MOST: u64 = 1 << 22;

fn read(bytes: &[u8], step: usize) -> (Vec<u8>, bool) {
    let mut out = Vec::new();
    let Ok(reader) = decompress(bytes, "fuzz") else {
        return (out, false);
    };
    let (mut reader, mut buffer) = (reader.take(MOST), vec![0; step]);
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return (out, true),
            Ok(count) => out.extend_from_slice(&buffer[..count]),
            Err(_) => {
                // It stays an error.
                assert!(reader.read(&mut buffer).is_err());
                return (out, false);
            }
        }
    }
}

fuzz_target!(
    // The zstd decoder's own assertions are caught and become errors: no abort from the hook.
    // What is not caught still ends the fuzzer.
    init: drop(std::panic::take_hook()),
    |bytes: &[u8]| {
        let (whole, fine) = read(bytes, 1 << 16);
        let (pieces, also) = read(bytes, 997);
        assert_eq!(fine, also);
        if fine {
            assert!(whole == pieces);
        }
        if !matches!(bytes, [0x1f | 0x28 | 0x50..=0x5f, ..]) {
            assert!(fine && whole == bytes);
        }
        if let Ok(reader) = decompress(bytes, "fuzz") {
            let mut lines = LineReader::new(reader.take(MOST), "fuzz").with_limit(100);
            let mut last = 0;
            while let Ok(Some(line)) = lines.read() {
                assert!(line.number == last + 1 && line.text.len() <= 100);
                last = line.number;
            }
        }
    }
);
