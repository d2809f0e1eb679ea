//! Compressed files, complete and corrupt, and invalid lines.

use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;

use ir_core::SplitMix64;
use ir_data::{Compression, DataError, InvalidText, LineReader, create, decompress, open};

/// Moderately compressible text of several blocks.
fn text(bytes: usize) -> Vec<u8> {
    let mut random = SplitMix64::new(7, 0);
    let mut text = Vec::with_capacity(bytes + 16);
    while text.len() < bytes {
        let number = random.next_u64() >> 40;
        text.extend_from_slice(format!("{number} green tea\n").as_bytes());
    }
    text
}

/// Bytes of a file, compressed by its name.
fn bytes(folder: &Path, name: &str, content: &[u8]) -> Vec<u8> {
    fs::read(written(folder, name, content)).unwrap()
}

fn written(folder: &Path, name: &str, content: &[u8]) -> std::path::PathBuf {
    let path = folder.join(name);
    let mut file = create(&path).unwrap();
    file.write_all(content).unwrap();
    file.commit().unwrap();
    path
}

fn read(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    decompress(bytes, "file")?.read_to_end(&mut out)?;
    Ok(out)
}

#[test]
fn compression_by_name_and_detection_by_content() {
    let folder = tempfile::tempdir().unwrap();
    for content in [text(0), text(10), text(300_000), text(9 << 20)] {
        for name in ["a.txt", "a.gz", "a.zst"] {
            let path = written(folder.path(), name, &content);
            // Reading ignores the name.
            let other = folder.path().join("renamed");
            fs::rename(&path, &other).unwrap();
            let mut back = Vec::new();
            open(&other).unwrap().read_to_end(&mut back).unwrap();
            assert!(back == content, "{name}, {} bytes", content.len());
        }
    }
    let head = |name: &str| bytes(folder.path(), name, b"tea")[..2].to_vec();
    assert_eq!(head("b.gz"), [0x1f, 0x8b]);
    assert_eq!(head("b.zst"), [0x28, 0xb5]);
    assert_eq!(head("b.jsonl"), *b"te");
}

#[test]
fn concatenated_members_and_frames() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.gz", "a.zst"] {
        let parts = [&b"green "[..], b"", b"tea\n"];
        let members = parts.map(|part| bytes(folder.path(), name, part)).concat();
        assert_eq!(read(&members).unwrap(), b"green tea\n", "{name}");
    }
    // A skippable frame before and between frames.
    let skip = [0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
    let frame = bytes(folder.path(), "a.zst", b"tea");
    let frames = [&skip, &*frame, &skip, &frame].concat();
    assert_eq!(read(&frames).unwrap(), b"teatea");
    assert!(read(&[&skip[..9], &[]].concat()).is_err());
}

/// Frame written by zstd 1.5.4.
#[test]
fn frame_of_the_reference_implementation() {
    // printf 'tea and milk\n' | zstd -c
    let piped = [
        0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x58, 0x69, 0x00, 0x00, 0x74, 0x65, 0x61, 0x20, 0x61, 0x6e,
        0x64, 0x20, 0x6d, 0x69, 0x6c, 0x6b, 0x0a, 0x1d, 0xc7, 0xf4, 0x57,
    ];
    let mut whole = piped.to_vec();
    assert_eq!(read(&whole).unwrap(), b"tea and milk\n");
    whole[10] ^= 1;
    let error = read(&whole).unwrap_err().to_string();
    let expected = "file: expected zstd data, found it corrupt (wrong checksum)";
    assert_eq!(error, expected);
}

/// The header of a file in POSIX format, as it is and compressed.
#[test]
fn tar_archives_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut archive = [0; 1024];
    archive[..5].copy_from_slice(b"a.txt");
    archive[257..265].copy_from_slice(b"ustar\x0000");
    for name in ["a.tar", "a.txt", "a.tar.gz", "a.zst"] {
        let path = written(folder.path(), name, &archive);
        let error = open(&path).err().unwrap().to_string();
        let expected = "expected uncompressed, gzip or zstd data, found a tar archive";
        let path = path.display();
        assert_eq!(
            error,
            format!("{path}: {expected} (extract its files first)")
        );
        assert!(!ir_data::is_plain(folder.path().join(name)).unwrap());
        let bytes = bytes(folder.path(), name, &archive);
        assert_eq!(
            read(&bytes).unwrap_err().to_string(),
            format!("file: {expected}")
        );
    }
    archive[257] = 0;
    assert_eq!(read(&archive).unwrap(), archive);
}

/// Heads of files written by bzip2 1.0.8, xz 5.4, lz4 1.9, Info-ZIP 3.0, lzip 1.24 and ncompress 5;
/// of 7z, rar and snappy by their specifications.
#[test]
fn other_formats_of_compression_are_named() {
    let folder = tempfile::tempdir().unwrap();
    for (head, found) in [
        (&b"BZh91AY&SY\x5e\xe5"[..], "bzip2 data"),
        (b"BZh9\x17rE8P\x90\0\0\0\0", "bzip2 data"),
        (b"\xfd7zXZ\0\0\x04", "xz data"),
        (b"\x04\x22\x4d\x18\x64\x40", "lz4 data"),
        (b"\x02\x21\x4c\x18\x05\0", "lz4 data"),
        (b"PK\x03\x04\x14\0\x09\0", "a zip archive"),
        (b"PK\x05\x06\0\0\0\0", "an empty zip archive"),
        (b"PK\x07\x08PK\x03\x04", "a part of a zip archive"),
        (b"LZIP\x01\x0c", "lzip data"),
        (b"\x1f\x9d\x90", "data of compress (.Z)"),
        (b"7z\xbc\xaf\x27\x1c\0\x04", "a 7z archive"),
        (b"Rar!\x1a\x07\x01\0", "a rar archive"),
        (b"\xff\x06\0\0sNaPpY", "snappy data"),
    ] {
        let expected = format!("expected uncompressed, gzip or zstd data, found {found}");
        let error = read(head).unwrap_err().to_string();
        assert_eq!(error, format!("file: {expected}"));
        // By content, not by name.
        for name in ["a.txt", "a.gz", "a.bz2"] {
            let path = folder.path().join(name);
            fs::write(&path, head).unwrap();
            let error = open(&path).err().unwrap();
            assert!(matches!(error, DataError::UnsupportedCompression { .. }));
            let path = path.display();
            let advice = if found.ends_with("archive") {
                "extract its files first"
            } else {
                "decompress the file first"
            };
            assert_eq!(error.to_string(), format!("{path}: {expected} ({advice})"));
        }
    }
    for text in ["BZh9 text", "BZh", "PK", "LZIP", "7z 1", "Rar!", "B"] {
        assert_eq!(read(text.as_bytes()).unwrap(), text.as_bytes());
    }
}

#[test]
fn every_truncation_is_detected() {
    let folder = tempfile::tempdir().unwrap();
    for (name, compression) in [("a.gz", Compression::Gzip), ("a.zst", Compression::Zstd)] {
        let small = text(2000);
        let bytes = bytes(folder.path(), name, &small);
        for cut in 2..bytes.len() {
            let error = read(&bytes[..cut]).expect_err(name);
            let expected =
                format!("file: expected more {compression} data, found the end of the file");
            assert_eq!(error.to_string(), expected, "{cut}");
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        }
        // Only the truncation between the two members leaves a complete file.
        let twice = [&*bytes, &bytes].concat();
        for cut in bytes.len() - 3..twice.len() {
            let is_complete = read(&twice[..cut]).is_ok();
            assert_eq!(is_complete, cut == bytes.len(), "{name} {cut}");
        }
    }
    assert!(read(&[0x1f]).is_err());
}

#[test]
fn truncation_error_names_file_and_line() {
    let folder = tempfile::tempdir().unwrap();
    let lines = text(400_000);
    for name in ["a.gz", "a.zst"] {
        let path = written(folder.path(), name, &lines);
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        let source = path.display().to_string();
        let mut reader = LineReader::new(open(&path).unwrap(), &source);
        let mut count = 0;
        let error = loop {
            match reader.read() {
                Ok(Some(_)) => count += 1,
                Ok(None) => panic!("the cut of {name} went unnoticed"),
                Err(error) => break error,
            }
        };
        assert!(error.is_corrupt());
        let DataError::Truncated { path, line, .. } = error else {
            panic!("{error}")
        };
        assert_eq!((path, line), (source, count + 1));
    }
}

/// A flipped bit is an error or leaves the data unchanged, as a few header bits do.
#[test]
fn flipped_bits_are_detected() {
    let folder = tempfile::tempdir().unwrap();
    let content = text(3000);
    for name in ["a.gz", "a.zst"] {
        let bytes = bytes(folder.path(), name, &content);
        for at in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[at / 8] ^= 1 << (at % 8);
            if let Ok(out) = read(&damaged) {
                // With wrong first bytes, a file counts as uncompressed.
                assert!(at < 32 || out == content, "{name}, bit {at}");
            }
        }
    }
}

/// The first read of the text fails, before the reader of lines: its error persists.
#[test]
fn damage_at_the_start_is_no_truncation() {
    let folder = tempfile::tempdir().unwrap();
    let mut damaged = bytes(folder.path(), "a.gz", &text(2000));
    // A block of the reserved type, behind a header of 10 bytes: RFC 1951, section 3.2.3.
    damaged[10] = 7;
    let error = read(&damaged).unwrap_err().to_string();
    let expected = "file: expected gzip data, found it corrupt (";
    assert!(error.starts_with(expected), "{error}");
}

#[test]
fn directories_and_missing_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display().to_string();
    let error = open(folder.path()).err().unwrap().to_string();
    assert_eq!(error, format!("{path}: expected a file, found a directory"));
    let missing = open(folder.path().join("none")).err().unwrap();
    assert!(missing.is_missing());
    assert!(matches!(missing, DataError::Read { .. }));
    for path in [folder.path(), &folder.path().join("no/file")] {
        assert!(matches!(create(path), Err(DataError::Write { .. })));
    }
}

#[test]
fn abandoned_file_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a", "a.gz", "a.zst"] {
        let mut file = create(folder.path().join(name)).unwrap();
        file.write_all(&text(100_000)).unwrap();
        drop(file);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn invalid_lines() {
    let error_message = |bytes: &[u8]| {
        let mut lines = LineReader::new(bytes, "f").with_limit(100);
        loop {
            match lines.read() {
                Ok(Some(_)) => {}
                Ok(None) => return "nothing".to_owned(),
                Err(error) => return error.to_string(),
            }
        }
    };
    for (bytes, expected) in [
        (
            &b"\xff\xfet\0e\0a\0"[..],
            "1: the byte order mark of UTF-16",
        ),
        (b"\xfe\xff\0t", "1: the byte order mark of UTF-16"),
        (b"ok\nte\0a\n", "2: a NUL byte at column 3"),
        (b"ok\nte\xffa\n", "2: invalid bytes at column 3"),
    ] {
        let expected = expected.replace(':', ": expected UTF-8 text, found");
        assert_eq!(error_message(bytes), format!("f:{expected}"));
    }
    let too_long = "f:1: expected at most 100 bytes in a line, found more";
    assert_eq!(error_message(&[b'x'; 101]), too_long);
    let long = [&[b'x'; 100], &b"\n"[..]].concat();
    for bytes in [&b"\xef\xbb\xbfok"[..], b"", &long[..]] {
        assert_eq!(error_message(bytes), "nothing");
    }
    let mut lines = LineReader::new(&b"\xef\xbb\xbfok\r\n\n\x0bend"[..], "f");
    for expected in ["ok\r", "", "\x0bend"] {
        assert_eq!(lines.read().unwrap().unwrap().text, expected);
    }
    assert!(lines.read().unwrap().is_none());
    let mut endless = LineReader::new(io::BufReader::new(io::repeat(b'x')), "f");
    let error = endless.read().unwrap_err();
    assert!(matches!(
        error,
        DataError::LineTooLong {
            limit: ir_data::MAX_LINE,
            ..
        }
    ));
    let wrong = InvalidText::Invalid { column: 3 };
    assert_eq!(wrong.to_string(), "invalid bytes at column 3");
}

/// A full disk, simulated by a limit on file sizes, under which the test runs itself again.
#[cfg(target_os = "linux")]
#[test]
fn full_disk() {
    const FOLDER: &str = "IR_DATA_TEST_FULL_DISK";
    if let Some(folder) = std::env::var_os(FOLDER) {
        let folder = Path::new(&folder);
        let mut random = SplitMix64::new(1, 0);
        let noise: Vec<u8> = (0..1 << 21).map(|_| random.next_u64() as u8).collect();
        for name in ["a", "a.gz", "a.zst"] {
            let mut file = create(folder.join(name)).unwrap();
            let outcome = match file.write_all(&noise) {
                Ok(()) => file.commit().map_err(|error| error.to_string()),
                Err(error) => Err(error.to_string()),
            };
            assert!(outcome.is_err(), "{name}");
        }
        let mut docs = ir_data::JsonlWriter::create(folder.join("docs.jsonl")).unwrap();
        let text = "tea ".repeat(1 << 20);
        let doc = ir_core::Document::new("d").with_text(text);
        let error = docs.document(&doc).unwrap_err();
        assert!(matches!(error, DataError::Write { .. }), "{error}");
        drop(docs);
        assert_eq!(fs::read_dir(folder).unwrap().count(), 0);
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // Ignoring the signal of the limit makes writing fail as on a full disk.
    let output = std::process::Command::new("sh")
        .arg("-c")
        .arg("trap '' XFSZ; ulimit -f 64; exec \"$0\" --exact streams::full_disk --nocapture")
        .arg(std::env::current_exe().unwrap())
        .env(FOLDER, folder.path())
        .output()
        .unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    let passed = output.status.success() && stdout.contains("1 passed");
    assert!(passed, "{stdout}{stderr}");
}

/// Data after the last member is corrupt, not truncated.
#[test]
fn trailing_data_after_gzip() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), "a.gz", b"green tea\n");
    let whole = fs::read(&path).unwrap();
    for behind in [&b"x"[..], b"<html>", b"garbage, and a lot of it", &[0; 512]] {
        fs::write(&path, [&whole, behind].concat()).unwrap();
        let mut lines = LineReader::new(open(&path).unwrap(), "a.gz");
        assert_eq!(lines.read().unwrap().unwrap().text, "green tea");
        let error = lines.read().unwrap_err().to_string();
        let expected = "expected gzip data, found it corrupt (other data after the end)";
        assert_eq!(error, format!("a.gz:2: {expected}"));
        assert!(read(&[&whole, behind].concat()).is_err());
    }
    // Only the first bytes of another member.
    let error = read(&[&whole, &whole[..5]].concat())
        .unwrap_err()
        .to_string();
    let expected = "file: expected more gzip data, found the end of the file";
    assert_eq!(error, expected);
}
