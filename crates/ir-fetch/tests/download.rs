//! Downloads from a server on the loopback interface.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[allow(unreachable_pub)]
mod server;

use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::time::Duration;

use ir_core::{Flow, NoProgress};
use ir_fetch::{Checksum, Download, DownloadError, HttpClient};
use server::{Reply, Server, server};

fn content() -> Vec<u8> {
    (0..100_000_u32)
        .flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes())
        .collect()
}

/// SHA-256 of [`content`] by `sha256sum`.
const SHA256: &str = "6899be7bb4c845a914bb47265b1124653015b95fe6fd02aaa9c2a7241392b9a6";
/// Git blob id of [`content`] by `git hash-object`.
const GIT_BLOB: &str = "fe1782552f97165cb372efc5c57e1c1e6f235a8c";
const BYTES: u64 = 400_000;

fn client() -> HttpClient {
    HttpClient::new().with_attempts(3, Duration::from_millis(1))
}

/// The file of the server with size and checksum.
fn verified(server: &Server) -> Download {
    Download {
        size: Some(BYTES),
        checksum: Some(Checksum::sha256(SHA256)),
        ..unverified(server)
    }
}

fn unverified(server: &Server) -> Download {
    Download::new(&server.address)
}

/// A folder with the destination `file`.
struct Folder {
    folder: tempfile::TempDir,
    path: PathBuf,
    partial: PathBuf,
}

impl Folder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let partial = folder.path().join(".file.part");
        Self {
            folder,
            path,
            partial,
        }
    }

    fn save(&self, download: &Download) -> Result<(), DownloadError> {
        client().save(download, &self.path, &mut NoProgress)
    }

    /// Saves the file and checks that it is complete and alone.
    fn save_complete(&self, download: &Download) {
        self.save(download).unwrap();
        assert_eq!(fs::read(&self.path).unwrap(), content());
        assert_eq!(self.names(), ["file"]);
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }
}

fn ranges(server: &Server) -> Vec<String> {
    server.ranges.lock().unwrap().clone()
}

#[test]
fn complete_file() {
    let server = server(content(), &[Reply::Serve]);
    let here = Folder::new();
    fs::write(&here.path, "old").unwrap();
    let mut last = (0, None);
    let mut watch = |stage: &str, done: u64, total: Option<u64>| {
        if stage == "downloading" {
            last = (done, total);
        }
        Flow::Continue
    };
    client()
        .save(&verified(&server), &here.path, &mut watch)
        .unwrap();
    assert_eq!(last, (BYTES, Some(BYTES)));
    assert_eq!(fs::read(&here.path).unwrap(), content());
    assert_eq!(here.names(), ["file"]);
    here.save_complete(&unverified(&server));
    here.save_complete(&Download {
        checksum: Some(Checksum::git_blob(GIT_BLOB)),
        ..unverified(&server)
    });
}

#[test]
fn short_document_in_memory() {
    let server = server(content(), &[Reply::Silence, Reply::Cut(9), Reply::Serve]);
    let document = client().get(&server.address, &mut NoProgress).unwrap();
    assert_eq!(document, content());
    assert_eq!(ranges(&server), ["", "", ""]);
    // Responses to a range request are not retried.
    for (reply, expected) in [(Reply::WrongRange, 206), (Reply::Status(416), 416)] {
        let server = self::server(content(), &[reply]);
        let error = client().get(&server.address, &mut NoProgress).unwrap_err();
        assert!(
            matches!(error, DownloadError::Status { status, .. } if status == expected),
            "{error}"
        );
        assert_eq!(ranges(&server).len(), 1);
    }
}

#[test]
fn interrupted_connection_is_resumed() {
    let replies = [
        Reply::Cut(100_000),
        Reply::Cut(50_000),
        Reply::Silence,
        Reply::Cut(1),
        Reply::Status(503),
        Reply::Serve,
    ];
    let server = server(content(), &replies);
    Folder::new().save_complete(&verified(&server));
    let expected = [
        "",
        "bytes=100000-",
        "bytes=150000-",
        "bytes=150000-",
        "bytes=150001-",
        "bytes=150001-",
    ];
    assert_eq!(ranges(&server), expected);
}

#[test]
fn interrupted_run_is_resumed() {
    let replies = [
        Reply::Cut(300_000),
        Reply::Silence,
        Reply::Silence,
        Reply::Serve,
    ];
    let server = server(content(), &replies);
    let here = Folder::new();
    let error = here.save(&verified(&server)).unwrap_err();
    assert!(
        matches!(error, DownloadError::NoResponse { attempts: 3, .. }),
        "{error}"
    );
    assert_eq!(here.names(), [".file.part"]);
    here.save_complete(&verified(&server));
    assert_eq!(ranges(&server)[3], "bytes=300000-");
}

#[test]
fn existing_partial_files() {
    let server = server(content(), &[Reply::Serve]);
    let here = Folder::new();
    fs::write(&here.partial, content()).unwrap();
    here.save_complete(&verified(&server));
    assert!(ranges(&server).is_empty(), "no request was needed");
    // Without a known size, the server decides.
    let resumed = Download {
        unverified_resume: true,
        ..unverified(&server)
    };
    fs::write(&here.partial, content()).unwrap();
    here.save_complete(&resumed);
    assert_eq!(ranges(&server), ["bytes=400000-"]);
    // Longer than the file.
    for download in [&resumed, &verified(&server)] {
        fs::write(&here.partial, [content(), b"more".to_vec()].concat()).unwrap();
        here.save_complete(download);
    }
    // Not resumed without a checksum by default.
    fs::write(&here.partial, b"other").unwrap();
    here.save_complete(&unverified(&server));
    // Under another name.
    let partial = here.folder.path().join("file.incomplete");
    fs::write(&partial, &content()[..1000]).unwrap();
    here.save_complete(&Download {
        partial_file: Some(partial),
        ..verified(&server)
    });
    assert_eq!(ranges(&server).last().unwrap(), "bytes=1000-");
}

#[test]
fn server_without_ranges_restarts() {
    let replies = [
        Reply::NoRanges(200_000),
        Reply::NoRanges(10),
        Reply::NoRanges(usize::MAX),
    ];
    let here = Folder::new();
    here.save_complete(&verified(&server(content(), &replies)));

    let server = server(content(), &[Reply::NoRanges(200_000)]);
    let error = here.save(&verified(&server)).unwrap_err();
    assert!(
        matches!(
            error,
            DownloadError::Interrupted {
                expected: BYTES,
                found: 200_000,
                ..
            }
        ),
        "{error}"
    );
    assert_eq!(ranges(&server).len(), 3);
}

#[test]
fn wrong_range_is_rejected() {
    let replies = [Reply::Cut(1000), Reply::WrongRange, Reply::Serve];
    let server = server(content(), &replies);
    Folder::new().save_complete(&verified(&server));
}

#[test]
fn wrong_content_size_and_status() {
    let here = Folder::new();
    let save = |reply, bytes, checksum: Checksum| {
        let server = server(content(), &[reply]);
        let download = Download {
            size: Some(bytes),
            checksum: Some(checksum),
            ..unverified(&server)
        };
        let error = here.save(&download).unwrap_err();
        assert!(error.to_string().starts_with(&server.address), "{error}");
        assert!(here.names().is_empty(), "wrong content is removed");
        (error, ranges(&server).len())
    };
    let sha256 = || Checksum::sha256(SHA256);
    let zeros = "0".repeat(64);
    let (error, _) = save(Reply::Serve, BYTES, Checksum::sha256(zeros));
    assert!(
        matches!(error, DownloadError::Checksum { algorithm: "SHA-256", ref found, .. } if found == SHA256),
        "{error}"
    );
    let zeros = "0".repeat(40);
    let (error, _) = save(Reply::Serve, BYTES, Checksum::git_blob(zeros));
    assert!(
        matches!(error, DownloadError::Checksum { ref found, .. } if found == GIT_BLOB),
        "{error}"
    );
    for size in [BYTES - 1, BYTES + 1] {
        let (error, requests) = save(Reply::Serve, size, sha256());
        assert!(
            matches!(error, DownloadError::Size { expected, found: BYTES, .. } if expected == size),
            "{error}"
        );
        assert_eq!(requests, 1);
    }
    // Only transient statuses are retried.
    for (sent, expected_requests) in [(404, 1), (503, 3)] {
        let (error, requests) = save(Reply::Status(sent), BYTES, sha256());
        assert!(
            matches!(error, DownloadError::Status { status, .. } if status == sent),
            "{error}"
        );
        assert_eq!(requests, expected_requests);
    }
}

#[test]
fn other_errors() {
    let here = Folder::new();
    // A port without a listener.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    for (url, expected) in [
        (format!("http://127.0.0.1:{port}/"), 3),
        ("no address".to_owned(), 1),
    ] {
        let error = here.save(&Download::new(url)).unwrap_err();
        assert!(
            matches!(error, DownloadError::NoResponse { attempts, .. } if attempts == expected),
            "{error}"
        );
    }
    let server = server(content(), &[Reply::Serve]);
    let save = |path: PathBuf| {
        let saved = client().save(&unverified(&server), path, &mut NoProgress);
        saved.unwrap_err()
    };
    let error = save(here.folder.path().to_owned());
    assert!(matches!(error, DownloadError::Directory { .. }), "{error}");
    let error = save(here.folder.path().join("absent/file"));
    assert!(matches!(error, DownloadError::Write { .. }), "{error}");
    let stop = &mut |_: &str, _: u64, _: Option<u64>| Flow::Stop;
    let error = client().save(&verified(&server), &here.path, stop);
    let error = error.unwrap_err();
    assert!(matches!(error, DownloadError::Canceled), "{error}");
    assert!(!here.path.exists());
    let client = client().with_bearer_token("secret");
    assert!(!format!("{client:?}").contains("secret"));
}
