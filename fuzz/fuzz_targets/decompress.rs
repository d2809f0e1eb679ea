//! Uncompressed, gzip and zstd data, UTF-16: any bytes are converted or rejected, independently of
//! the size of reads. Other data is unchanged, or named in the error: bzip2, a tar archive.
#![no_main]

use std::io::Read;

use ir_data::{LineReader, decompress};
use libfuzzer_sys::fuzz_target;

/// Maximum number of decompressed bytes: small inputs may expand to gigabytes.
const MAX_BYTES: u64 = 1 << 22;

fn read(bytes: &[u8], step: usize) -> (Vec<u8>, bool) {
    let mut out = Vec::new();
    let Ok(reader) = decompress(bytes, "fuzz") else {
        return (out, false);
    };
    let (mut reader, mut buffer) = (reader.take(MAX_BYTES), vec![0; step]);
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return (out, true),
            Ok(count) => out.extend_from_slice(&buffer[..count]),
            Err(_) => {
                // Errors persist.
                assert!(reader.read(&mut buffer).is_err());
                return (out, false);
            }
        }
    }
}

fuzz_target!(
    // Removes libFuzzer's panic hook: assertions of the zstd decoder are caught and become errors.
    // Uncaught panics still abort.
    init: drop(std::panic::take_hook()),
    |bytes: &[u8]| {
        let (large_reads, is_valid) = read(bytes, 1 << 16);
        let (small_reads, is_valid_again) = read(bytes, 997);
        assert_eq!(is_valid, is_valid_again);
        if is_valid {
            assert!(large_reads == small_reads);
        }
        if !matches!(bytes, [0x1f | 0x28 | 0x50..=0x5f, ..] | [0xff, 0xfe, ..] | [0xfe, 0xff, ..]) {
            match decompress(bytes, "fuzz") {
                Ok(_) => assert!(is_valid && large_reads == bytes),
                // Data in another compression, or a tar archive.
                Err(error) => assert!(error.to_string().contains("expected uncompressed")),
            }
        }
        if let Ok(reader) = decompress(bytes, "fuzz") {
            let mut lines = LineReader::new(reader.take(MAX_BYTES), "fuzz").with_limit(100);
            let mut last = 0;
            while let Ok(Some(line)) = lines.read() {
                assert!(line.number == last + 1 && line.text.len() <= 100);
                last = line.number;
            }
        }
    }
);
