//! Downloads from a small server on the loopback.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

use std::fs;
use std::io::{BufRead, BufReader, Cursor, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ir_core::{Flow, NoProgress};
use ir_data::catalogue::Catalogue;
use ir_data::fetch::{Download, FetchError};
use ir_data::{DataError, open};

/// What the server does with one request.
#[derive(Clone, Copy, Debug)]
enum Reply {
    /// All that was asked for; ranges are served.
    Serve,
    /// The same, but the connection is cut after so many bytes of the body.
    Cut(usize),
    /// Everything from the start, whatever was asked for, cut after so many bytes of the body.
    NoRanges(usize),
    /// Another part than was asked for.
    WrongRange,
    /// Only this status.
    Status(u16),
    /// Nothing: the connection is closed at once.
    Silence,
}

struct Server {
    address: String,
    /// The `Range` header of each request so far, or an empty text.
    ranges: Arc<Mutex<Vec<String>>>,
}

/// Serves `content` on the loopback, one reply per request; the last one for all that follow.
fn server(content: Vec<u8>, replies: &[Reply]) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/file", listener.local_addr().unwrap());
    let ranges = Arc::new(Mutex::new(Vec::new()));
    let (noted, replies) = (Arc::clone(&ranges), replies.to_vec());
    std::thread::spawn(move || {
        for (n, stream) in listener.incoming().enumerate() {
            let reply = replies[n.min(replies.len() - 1)];
            answer(stream.unwrap(), &content, reply, &noted);
        }
    });
    Server { address, ranges }
}

fn answer(mut stream: TcpStream, content: &[u8], reply: Reply, noted: &Mutex<Vec<String>>) {
    let mut range = String::new();
    for line in BufReader::new(stream.try_clone().unwrap()).lines() {
        let line = line.unwrap_or_default();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("range: ") {
            value.clone_into(&mut range);
        }
    }
    noted.lock().unwrap().push(range.clone());
    let start = range
        .strip_prefix("bytes=")
        .and_then(|range| range.strip_suffix('-'))
        .map(|start| start.parse::<usize>().unwrap());
    let (status, extra, body, cut) = match (reply, start) {
        (Reply::Silence, _) => return,
        (Reply::Status(status), _) => (status, String::new(), &b""[..], usize::MAX),
        (Reply::NoRanges(cut), _) => (200, String::new(), content, cut),
        (Reply::WrongRange, _) => (
            206,
            "Content-Range: bytes 0-9/100\r\n".into(),
            &content[..10],
            usize::MAX,
        ),
        (Reply::Serve | Reply::Cut(_), Some(start)) if start >= content.len() => (
            416,
            format!("Content-Range: bytes */{}\r\n", content.len()),
            &b""[..],
            usize::MAX,
        ),
        (Reply::Serve | Reply::Cut(_), start) => {
            let from = start.unwrap_or(0);
            let extra = match start {
                Some(_) => format!(
                    "Content-Range: bytes {from}-{}/{}\r\n",
                    content.len() - 1,
                    content.len()
                ),
                None => "ETag: \"v1\"\r\n".to_owned(),
            };
            let cut = if let Reply::Cut(cut) = reply {
                cut
            } else {
                usize::MAX
            };
            (
                if start.is_some() { 206 } else { 200 },
                extra,
                &content[from..],
                cut,
            )
        }
    };
    let head = format!(
        "HTTP/1.1 {status} Whatever\r\nContent-Length: {}\r\n{extra}Connection: close\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all(head.as_bytes());
    let _ = stream.write_all(&body[..cut.min(body.len())]);
    let _ = stream.flush();
}

fn content() -> Vec<u8> {
    (0..100_000_u32)
        .flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes())
        .collect()
}

/// Of [`content`], by `sha256sum`.
const SHA256: &str = "6899be7bb4c845a914bb47265b1124653015b95fe6fd02aaa9c2a7241392b9a6";
const BYTES: u64 = 400_000;

fn download(server: &Server) -> Download {
    Download::new(&server.address).attempts(3, Duration::from_millis(1))
}

fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_whole_file() {
    let server = server(content(), &[Reply::Serve]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, "old").unwrap();
    let mut last = (0, None);
    let mut watch = |stage: &str, done: u64, total: Option<u64>| {
        if stage == "downloading" {
            last = (done, total);
        }
        Flow::Continue
    };
    download(&server)
        .expecting(BYTES, SHA256)
        .to(&path, &mut watch)
        .unwrap();
    assert_eq!(last, (BYTES, Some(BYTES)));
    assert_eq!(fs::read(&path).unwrap(), content());
    assert_eq!(files(folder.path()), ["file"]);
    // Without any expectation, too.
    download(&server).to(&path, &mut NoProgress).unwrap();
    assert_eq!(fs::read(&path).unwrap(), content());
}

#[test]
fn a_cut_connection_is_resumed() {
    let server = server(
        content(),
        &[
            Reply::Cut(100_000),
            Reply::Cut(50_000),
            Reply::Silence,
            Reply::Cut(1),
            Reply::Status(503),
            Reply::Serve,
        ],
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    download(&server)
        .expecting(BYTES, SHA256)
        .to(&path, &mut NoProgress)
        .unwrap();
    assert_eq!(fs::read(&path).unwrap(), content());
    assert_eq!(
        *server.ranges.lock().unwrap(),
        [
            "",
            "bytes=100000-",
            "bytes=150000-",
            "bytes=150000-",
            "bytes=150001-",
            "bytes=150001-"
        ]
    );
}

#[test]
fn a_later_run_goes_on() {
    let server = server(
        content(),
        &[
            Reply::Cut(300_000),
            Reply::Silence,
            Reply::Silence,
            Reply::Serve,
        ],
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let error = download(&server)
        .expecting(BYTES, SHA256)
        .to(&path, &mut NoProgress)
        .unwrap_err();
    assert!(
        matches!(error, FetchError::NoAnswer { attempts: 3, .. }),
        "{error}"
    );
    assert_eq!(files(folder.path()), [".file.part"]);
    download(&server)
        .expecting(BYTES, SHA256)
        .to(&path, &mut NoProgress)
        .unwrap();
    assert_eq!(
        server.ranges.lock().unwrap().last().unwrap(),
        "bytes=300000-"
    );
    assert_eq!(fs::read(&path).unwrap(), content());
    assert_eq!(files(folder.path()), ["file"]);
}

#[test]
fn what_is_complete_already() {
    let server = server(content(), &[Reply::Serve]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let part = folder.path().join(".file.part");
    fs::write(&part, content()).unwrap();
    download(&server)
        .expecting(BYTES, SHA256)
        .to(&path, &mut NoProgress)
        .unwrap();
    assert!(
        server.ranges.lock().unwrap().is_empty(),
        "no request was needed"
    );
    // When the size is not known, the server says so.
    fs::write(&part, content()).unwrap();
    download(&server)
        .resuming()
        .to(&path, &mut NoProgress)
        .unwrap();
    assert_eq!(*server.ranges.lock().unwrap(), ["bytes=400000-"]);
    assert_eq!(fs::read(&path).unwrap(), content());
    // Longer than the file: it cannot be its beginning.
    fs::write(&part, [content(), b"more".to_vec()].concat()).unwrap();
    download(&server)
        .resuming()
        .to(&path, &mut NoProgress)
        .unwrap();
    assert_eq!(fs::read(&path).unwrap(), content());
    // Of no use without a hash, unless the caller says so.
    fs::write(&part, b"other").unwrap();
    download(&server).to(&path, &mut NoProgress).unwrap();
    assert_eq!(fs::read(&path).unwrap(), content());
}

#[test]
fn a_server_without_ranges_starts_again() {
    let replies = [
        Reply::NoRanges(200_000),
        Reply::NoRanges(10),
        Reply::NoRanges(usize::MAX),
    ];
    let server = server(content(), &replies);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    download(&server)
        .expecting(BYTES, SHA256)
        .to(&path, &mut NoProgress)
        .unwrap();
    assert_eq!(fs::read(&path).unwrap(), content());

    let replies = [Reply::NoRanges(200_000)];
    let server = self::server(content(), &replies);
    let error = download(&server)
        .expecting(BYTES, SHA256)
        .to(&path, &mut NoProgress)
        .unwrap_err();
    assert!(
        matches!(
            error,
            FetchError::Cut {
                expected: BYTES,
                found: 200_000,
                ..
            }
        ),
        "{error}"
    );
    assert_eq!(server.ranges.lock().unwrap().len(), 3);
}

#[test]
fn a_wrong_range_is_not_taken() {
    let server = server(
        content(),
        &[Reply::Cut(1000), Reply::WrongRange, Reply::Serve],
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    download(&server)
        .expecting(BYTES, SHA256)
        .to(&path, &mut NoProgress)
        .unwrap();
    assert_eq!(fs::read(&path).unwrap(), content());
}

#[test]
fn wrong_content_wrong_size_and_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let get = |reply, bytes, sha256: &str| {
        let server = server(content(), &[reply]);
        let error = download(&server)
            .expecting(bytes, sha256)
            .to(&path, &mut NoProgress)
            .unwrap_err();
        assert!(
            error.to_string().starts_with(&server.address) || matches!(error, FetchError::Data(_))
        );
        let requests = server.ranges.lock().unwrap().len();
        (error, requests)
    };
    let other = "0".repeat(64);
    let (error, _) = get(Reply::Serve, BYTES, &other);
    assert!(
        matches!(error, FetchError::Sha256 { ref found, .. } if found == SHA256),
        "{error}"
    );
    assert!(
        files(folder.path()).is_empty(),
        "wrong content does not stay"
    );
    let (error, requests) = get(Reply::Serve, BYTES - 1, SHA256);
    assert!(
        matches!(
            error,
            FetchError::Size {
                expected: 399_999,
                found: BYTES,
                ..
            }
        ),
        "{error}"
    );
    assert_eq!(requests, 1);
    let (error, requests) = get(Reply::Status(404), BYTES, SHA256);
    assert!(
        matches!(error, FetchError::Status { status: 404, .. }),
        "{error}"
    );
    assert_eq!(requests, 1, "what is not there is not asked for again");
    let (error, requests) = get(Reply::Status(503), BYTES, SHA256);
    assert!(
        matches!(error, FetchError::Status { status: 503, .. }),
        "{error}"
    );
    assert_eq!(requests, 3);
    assert!(files(folder.path()).is_empty());
}

#[test]
fn other_faults() {
    let folder = tempfile::tempdir().unwrap();
    // A port that nobody listens at.
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let nobody = Download::new(format!("http://127.0.0.1:{port}/")).attempts(2, Duration::ZERO);
    let error = nobody
        .to(folder.path().join("file"), &mut NoProgress)
        .unwrap_err();
    assert!(
        matches!(error, FetchError::NoAnswer { attempts: 2, .. }),
        "{error}"
    );
    let bad = Download::new("no address").attempts(1, Duration::ZERO);
    assert!(bad.to(folder.path().join("file"), &mut NoProgress).is_err());

    let server = server(content(), &[Reply::Serve]);
    let error = download(&server)
        .to(folder.path(), &mut NoProgress)
        .unwrap_err();
    assert!(matches!(error, FetchError::Data(DataError::Folder { .. })));
    let error = download(&server)
        .to(folder.path().join("no/file"), &mut NoProgress)
        .unwrap_err();
    assert!(
        matches!(error, FetchError::Data(DataError::Write { .. })),
        "{error}"
    );
    let stop = &mut |_: &str, _: u64, _: Option<u64>| Flow::Stop;
    let error = download(&server)
        .to(folder.path().join("file"), stop)
        .unwrap_err();
    assert!(matches!(error, FetchError::Data(DataError::Cancelled)));
    assert!(!folder.path().join("file").exists());
}

fn zip(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in files {
        zip.start_file(name.as_str(), zip::write::SimpleFileOptions::default())
            .unwrap();
        zip.write_all(content).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

#[test]
fn archives_that_are_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let catalogue = Catalogue::at(folder.path());
    let fetch = |content: Vec<u8>| {
        let server = server(content, &[Reply::Serve]);
        catalogue
            .fetch_mirror("beir/arguana", &server.address, &mut NoProgress)
            .unwrap_err()
    };
    assert!(matches!(
        fetch(b"no zip".to_vec()),
        FetchError::Archive { .. }
    ));
    assert!(matches!(fetch(zip(&[])), FetchError::Archive { .. }));
    let short = zip(&[("arguana/corpus.jsonl".to_owned(), b"short".to_vec())]);
    assert!(matches!(fetch(short), FetchError::Size { found: 5, .. }));
    let entry = catalogue.entry("beir/arguana").unwrap();
    let bytes = entry.files[0].plain.as_ref().unwrap().bytes as usize;
    let other = zip(&[("arguana/corpus.jsonl".to_owned(), vec![b'x'; bytes])]);
    assert!(matches!(fetch(other), FetchError::Sha256 { .. }));
    let long = zip(&[("arguana/corpus.jsonl".to_owned(), vec![b'x'; bytes + 1])]);
    assert!(matches!(fetch(long), FetchError::Size { .. }));
    // A server that says no, and a file that is right before one that is not.
    let nobody = server(Vec::new(), &[Reply::Status(404)]);
    let error = catalogue
        .fetch_mirror("beir/arguana", &nobody.address, &mut NoProgress)
        .unwrap_err();
    assert!(matches!(error, FetchError::Status { status: 404, .. }));
    assert!(files(folder.path()).is_empty(), "no empty folders stay");

    let no_address = catalogue.fetch("makg", &mut NoProgress).unwrap_err();
    assert!(matches!(no_address, FetchError::NoAddress { .. }));
    catalogue.fetch("bundled", &mut NoProgress).unwrap();
    let unknown = catalogue.fetch("none", &mut NoProgress).unwrap_err();
    assert!(matches!(
        unknown,
        FetchError::Data(DataError::UnknownCollection { .. })
    ));
}

#[test]
fn a_collection_out_of_its_archive() {
    let here = Catalogue::from_env();
    if !here.has("beir/arguana").unwrap() {
        eprintln!("skipped: no beir/arguana in IR_DATA");
        return;
    }
    let entry = here.entry("beir/arguana").unwrap();
    let mut members = Vec::new();
    for file in &entry.files {
        let mut content = Vec::new();
        open(here.root().unwrap().join(&file.path))
            .unwrap()
            .read_to_end(&mut content)
            .unwrap();
        let name = file
            .path
            .strip_prefix("beir/")
            .unwrap()
            .trim_end_matches(".zst");
        members.push((name.to_owned(), content));
    }
    let server = server(zip(&members), &[Reply::Cut(1_000_000), Reply::Serve]);
    let folder = tempfile::tempdir().unwrap();
    let catalogue = Catalogue::at(folder.path());
    assert!(!catalogue.has("beir/arguana").unwrap());
    catalogue
        .fetch_mirror("beir/arguana", &server.address, &mut NoProgress)
        .unwrap();
    let requests = server.ranges.lock().unwrap().clone();
    assert_eq!(requests, ["", "bytes=1000000-"]);
    assert!(catalogue.has("beir/arguana").unwrap());
    let verified = catalogue.verify("beir/arguana", &mut NoProgress).unwrap();
    assert_eq!((verified.files, verified.documents), (3, 8674));
    assert_eq!(
        files(&folder.path().join("beir/arguana")),
        ["corpus.jsonl", "qrels", "queries.jsonl"]
    );
    // Nothing to do the second time.
    catalogue
        .fetch_mirror("beir/arguana", &server.address, &mut NoProgress)
        .unwrap();
    assert_eq!(server.ranges.lock().unwrap().len(), 2);
}
