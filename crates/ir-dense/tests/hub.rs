//! Models from a hub on the loopback, into a cache as Hugging Face's tools lay it out.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

/// Asserts that an error matches a pattern.
macro_rules! assert_matches {
    ($error:expr, $($pattern:tt)+) => {
        assert!(matches!($error, $($pattern)+), "{}", $error)
    };
}

#[path = "common/server.rs"]
#[allow(unreachable_pub)]
mod server;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use ir_core::{Encoder, Flow, NoProgress, Side};
use ir_dense::{BiEncoder, EncoderConfig, Hub, HubError, ModelCache, Pooling};
use ir_fetch::DownloadError;
use server::{BYTES, COMMIT, CONFIG, Reply, Server, Stored, WEIGHTS, repository};

const WEIGHTS_FILE: &str = "model.safetensors";
const FIRST: &str = "/api/models/org/tiny/revision/main?blobs=true";

struct Here {
    _folder: tempfile::TempDir,
    cache: ModelCache,
}

impl Here {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let cache = ModelCache::new(folder.path().join("hub"));
        Self {
            _folder: folder,
            cache,
        }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.cache.folder().join("models--org--tiny").join(path)
    }

    fn fetch(&self, hub: &Hub, name: &str) -> Result<PathBuf, HubError> {
        self.cache.fetch_from(hub, name, &mut NoProgress)
    }

    /// File names in a folder of the model.
    fn names(&self, path: &str) -> Vec<String> {
        let entries = fs::read_dir(self.at(path)).into_iter().flatten();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

fn usual(files: Vec<Stored>) -> Server {
    Server::start(files, |_, _| None)
}

fn hub(server: &Server) -> Hub {
    Hub::new(&server.endpoint).with_attempts(3, Duration::from_millis(1))
}

fn vectors(folder: &Path, config: &EncoderConfig) -> Vec<f32> {
    let encoder = BiEncoder::open_with(folder, config).unwrap();
    encoder.encode(Side::Query, &["the cat", "a ship"]).unwrap()
}

fn tiny() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/tiny/bert")
}

#[test]
fn downloads_a_model_that_encodes() {
    let (here, server) = (Here::new(), usual(repository()));
    let mut last = (0, None);
    let mut watch = |_: &str, done: u64, total: Option<u64>| {
        last = (done, total);
        Flow::Continue
    };
    let folder = here
        .cache
        .fetch_from(&hub(&server), "org/tiny", &mut watch)
        .unwrap();
    assert_eq!(folder, here.at("snapshots").join(COMMIT));
    let total = 569 + 168 + 94 + 227 + BYTES as u64;
    assert_eq!(last, (total, Some(total)));
    // What an encoder reads, and nothing else.
    let mut asked = server.asked();
    asked.sort();
    let expected = [
        FIRST,
        "1_Pooling/config.json",
        "config.json",
        WEIGHTS_FILE,
        "modules.json",
        "vocab.txt",
    ];
    assert_eq!(asked, expected);
    // The layout of huggingface_hub.
    assert_eq!(fs::read_to_string(here.at("refs/main")).unwrap(), COMMIT);
    assert_eq!(here.names("snapshots"), [COMMIT]);
    let blobs = here.names("blobs");
    assert_eq!(blobs.len(), 5, "{blobs:?}");
    assert!(blobs.contains(&WEIGHTS.to_owned()) && blobs.contains(&CONFIG.to_owned()));
    #[cfg(unix)]
    for (file, blob) in [
        (WEIGHTS_FILE, format!("../../blobs/{WEIGHTS}")),
        ("config.json", format!("../../blobs/{CONFIG}")),
        (
            "1_Pooling/config.json",
            "../../../blobs/c1bb9fbe61d43cd290fdb182c21472cd43863f0c".into(),
        ),
    ] {
        assert_eq!(fs::read_link(folder.join(file)).unwrap(), Path::new(&blob));
    }
    // modules.json has CLS pooling; the default is mean pooling.
    let cls = EncoderConfig::default().with_pooling(Pooling::Cls);
    let found = vectors(&folder, &EncoderConfig::default());
    assert_eq!(found, vectors(&tiny(), &cls));
    assert_ne!(found, vectors(&tiny(), &EncoderConfig::default()));

    assert_eq!(here.cache.find("org/tiny"), Some(folder.clone()));
    assert_eq!(here.cache.names(), ["org/tiny"]);
    // The second time, only whether there is something new is asked.
    assert_eq!(here.fetch(&hub(&server), "org/tiny").unwrap(), folder);
    assert_eq!(server.asked().len(), 7);
    assert_eq!(server.asked()[6], FIRST);
    // By its commit there is no name to be noted, by a branch with a stroke there is one.
    here.fetch(&hub(&server), &format!("org/tiny@{COMMIT}"))
        .unwrap();
    here.fetch(&hub(&server), "org/tiny@refs/pr/7").unwrap();
    let last = server.asked().pop().unwrap();
    assert!(last.contains("/revision/refs%2Fpr%2F7?"), "{last}");
    assert_eq!(here.names("refs"), ["main", "refs"]);
    assert_eq!(here.cache.find("org/tiny@refs/pr/7"), Some(folder));
}

#[test]
fn interrupted_download_resumes() {
    let here = Here::new();
    let server = Server::start(repository(), |file, before| {
        (file == WEIGHTS_FILE && before < 2).then_some(Reply::Cut(30_000))
    });
    let once = hub(&server).with_attempts(1, Duration::ZERO);
    let error = here.fetch(&once, "org/tiny").unwrap_err();
    let expected = BYTES as u64;
    assert_matches!(
        error,
        HubError::Download(DownloadError::Interrupted { expected: e, found: 30_000, .. })
        if e == expected
    );
    assert_eq!(here.cache.find("org/tiny"), None);
    assert_eq!(here.cache.find(&format!("org/tiny@{COMMIT}")), None);
    assert!(here.names("snapshots").is_empty() && here.names("refs").is_empty());
    assert!(
        here.names("blobs")
            .contains(&format!("{WEIGHTS}.incomplete"))
    );
    // The caller asks to stop: the same.
    let mut stop = |_: &str, done: u64, _: Option<u64>| {
        if done > 31_500 {
            Flow::Stop
        } else {
            Flow::Continue
        }
    };
    let error = here
        .cache
        .fetch_from(&once, "org/tiny", &mut stop)
        .unwrap_err();
    assert_matches!(error, HubError::Canceled);
    assert_eq!(here.cache.find("org/tiny"), None);

    let folder = here.fetch(&hub(&server), "org/tiny").unwrap();
    let ranges = server.ranges(WEIGHTS_FILE);
    assert_eq!(ranges[1], "bytes=30000-");
    assert!(ranges.len() == 3 && ranges[2] > ranges[1], "{ranges:?}");
    // What was complete before was not asked for again.
    assert_eq!(server.ranges("config.json").len(), 1);
    assert!(here.names("blobs").iter().all(|name| !name.contains('.')));
    assert_eq!(here.names(""), ["blobs", "refs", "snapshots"]);
    vectors(&folder, &EncoderConfig::default());
}

#[test]
fn wrong_content_is_never_cached() {
    let weights = repository().into_iter().find(|file| file.large).unwrap();
    let mut wrong = weights.bytes;
    wrong[50_000] ^= 1;
    let here = Here::new();
    let server = Server::start(repository(), move |file, before| match (file, before) {
        (WEIGHTS_FILE, 0) => Some(Reply::Bytes(wrong.clone())),
        _ => None,
    });
    let error = here.fetch(&hub(&server), "org/tiny").unwrap_err();
    let HubError::Download(DownloadError::Checksum {
        expected, found, ..
    }) = error
    else {
        panic!("{error}");
    };
    assert!(expected == WEIGHTS && found != WEIGHTS);
    assert_eq!(here.cache.find("org/tiny"), None);
    let blobs = here.names("blobs");
    assert!(!blobs.iter().any(|name| name.starts_with(WEIGHTS)));
    // The next attempt restarts.
    here.fetch(&hub(&server), "org/tiny").unwrap();
    assert_eq!(server.ranges(WEIGHTS_FILE), ["", ""]);

    // A complete partial file of another program needs no request.
    let here = Here::new();
    fs::create_dir_all(here.at("blobs")).unwrap();
    let part = here.at(&format!("blobs/{WEIGHTS}.incomplete"));
    fs::copy(tiny().join(WEIGHTS_FILE), part).unwrap();
    here.fetch(&hub(&server), "org/tiny").unwrap();
    assert_eq!(server.ranges(WEIGHTS_FILE), ["", ""]);

    // Git blobs and sizes are verified, too.
    for (bytes, checksum) in [(569, true), (568, false), (570, false)] {
        let here = Here::new();
        let server = Server::start(repository(), move |file, _| {
            (file == "config.json").then(|| Reply::Bytes(vec![b' '; bytes]))
        });
        let error = here.fetch(&hub(&server), "org/tiny").unwrap_err();
        match error {
            HubError::Download(DownloadError::Checksum { expected, .. }) => {
                assert!(checksum && expected == CONFIG);
            }
            HubError::Download(DownloadError::Size {
                expected: 569,
                found,
                ..
            }) => assert!(!checksum && found == bytes as u64),
            other => panic!("{other}"),
        }
        assert!(
            !here
                .names("blobs")
                .iter()
                .any(|name| name.starts_with(CONFIG))
        );
    }
}

#[test]
fn http_errors_have_their_own_variants() {
    let failed = |status, code, hub_of: fn(&Server) -> Hub| {
        let here = Here::new();
        let server = Server::start(repository(), move |_, _| Some(Reply::Status(status, code)));
        let error = here.fetch(&hub_of(&server), "org/tiny@v1").unwrap_err();
        assert!(!here.cache.folder().exists(), "nothing is made for nothing");
        (error, server.asked().len())
    };
    for (status, code) in [(404, "RepoNotFound"), (401, "RepoNotFound"), (401, "")] {
        let (error, asked) = failed(status, code, hub);
        assert_matches!(error, HubError::NoModel { token: false, .. });
        assert!(error.to_string().contains("HF_TOKEN"), "{error}");
        assert_eq!(asked, 1, "what is not there is not asked for again");
    }
    let (error, _) = failed(401, "", |server| hub(server).with_token("secret"));
    assert_matches!(error, HubError::NoModel { token: true, .. });
    let (error, _) = failed(404, "RevisionNotFound", hub);
    assert_eq!(error.to_string(), "org/tiny has no revision \"v1\"");
    for status in [401, 403] {
        let (error, _) = failed(status, "GatedRepo", hub);
        assert_matches!(error, HubError::Gated { .. });
    }
    let (error, asked) = failed(503, "", hub);
    assert_matches!(
        error,
        HubError::Download(DownloadError::Status { status: 503, .. })
    );
    assert_eq!(asked, 3);
    let (error, _) = failed(410, "", hub);
    assert_matches!(
        error,
        HubError::Download(DownloadError::Status { status: 410, .. })
    );
}

#[test]
fn unreachable_hub_and_invalid_names() {
    let here = Here::new();
    // A port that nobody listens at.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let nobody = Hub::new(format!("http://127.0.0.1:{port}/")).with_attempts(2, Duration::ZERO);
    let error = here.fetch(&nobody, "org/tiny").unwrap_err();
    assert_matches!(
        error,
        HubError::Download(DownloadError::NoResponse { attempts: 2, .. })
    );
    let nonsense = Hub::new("no address");
    let error = here.fetch(&nonsense, "org/tiny").unwrap_err();
    assert_matches!(
        error,
        HubError::Download(DownloadError::NoResponse { attempts: 1, .. })
    );
    for name in [
        "",
        "a/b/c",
        "../etc",
        "org/tiny@",
        "org/ti ny",
        "org/tiny@../x",
    ] {
        let error = here.fetch(&nobody, name).unwrap_err();
        assert!(matches!(error, HubError::Name { .. }), "{name}: {error}");
    }
    // A cache that is a file.
    let file = tempfile::NamedTempFile::new().unwrap();
    let server = usual(repository());
    let error = ModelCache::new(file.path())
        .fetch_from(&hub(&server), "org/tiny", &mut NoProgress)
        .unwrap_err();
    assert_matches!(error, HubError::Download(DownloadError::Write { .. }));
}

#[test]
fn rejects_invalid_listings_and_unsupported_models() {
    let described = |text: &str| {
        let (here, text) = (Here::new(), text.to_owned());
        let server = Server::start(repository(), move |_, _| {
            Some(Reply::Bytes(text.clone().into()))
        });
        here.fetch(&hub(&server), "org/tiny").unwrap_err()
    };
    for text in ["<html>", "{}", r#"{"sha": 1, "siblings": []}"#] {
        let error = described(text);
        assert_matches!(error, HubError::Listing { .. });
    }
    for sha in ["../../..", "", "0123456789ABCDEF0123456789abcdef01234567"] {
        let text = format!(r#"{{"sha": "{sha}", "siblings": []}}"#);
        let error = described(&text);
        assert_matches!(error, HubError::Field { ref field, .. } if field == "sha");
    }
    for (file, part) in [
        (r#""size": 5"#, "blobId of config.json"),
        (r#""blobId": "../../x", "size": 5"#, "blobId of config.json"),
        (
            r#""lfs": {"sha256": "ff", "size": 5}"#,
            "lfs.sha256 of config.json",
        ),
        (
            r#""blobId": "0000000000000000000000000000000000000000""#,
            "size of config.json",
        ),
    ] {
        let text = format!(
            r#"{{"sha": "{COMMIT}", "siblings": [{{"rfilename": "config.json", {file}}}]}}"#
        );
        let error = described(&text);
        assert_matches!(error, HubError::Field { ref field, .. } if field == part);
    }
    // A file is missing.
    for (absent, part) in [
        ("config.json", "config.json"),
        (
            "vocab.txt",
            "tokenizer.json, vocab.txt, or vocab.json with merges.txt",
        ),
        ("weights", "model.safetensors or pytorch_model.bin"),
    ] {
        let weights = |name: &str| name == WEIGHTS_FILE || name == "pytorch_model.bin";
        let mut files = repository();
        files.retain(|file| file.name != absent && !(absent == "weights" && weights(file.name)));
        let (here, server) = (Here::new(), usual(files));
        let error = here.fetch(&hub(&server), "org/tiny").unwrap_err();
        assert_matches!(error, HubError::MissingFile { expected, .. } if expected == part);
    }
    // Another architecture: its weights are not downloaded.
    let mut files = repository();
    let config = files
        .iter_mut()
        .find(|file| file.name == "config.json")
        .unwrap();
    config.bytes = br#"{"model_type":"gpt2","vocab_size":10,"hidden_size":4,"num_hidden_layers":1,"num_attention_heads":1,"intermediate_size":4,"max_position_embeddings":8}"#.into();
    config.hash = "5741209d26893171f28d95b40c67ee26a34815c7";
    let (here, server) = (Here::new(), usual(files));
    let error = here.fetch(&hub(&server), "org/tiny").unwrap_err();
    assert_matches!(error, HubError::Model { .. });
    assert_eq!(server.asked().len(), 3);
    assert_eq!(here.cache.find("org/tiny"), None);
}

/// An adapter has the weights, the configuration and the tokenizer of its base model.
#[test]
fn downloads_adapters_without_their_base_model() {
    let large = |name, bytes: &str, hash| Stored {
        name,
        bytes: bytes.into(),
        hash,
        large: true,
    };
    let lora = r#"{"peft_type": "LORA", "base_model_name_or_path": "org/base"}"#;
    let bottleneck = r#"{"config": {"mh_adapter": false, "output_adapter": true, "original_ln_before": true, "reduction_factor": 16, "non_linearity": "relu"}, "hidden_size": 768, "model_name": "org/base", "model_type": "bert", "name": "x"}"#;
    for (config, hash, weights) in [
        (
            lora,
            "0a2a66cd01e99e840aaf4881af0cc066462b69fa7df4b1bff53c3b482454a124",
            "adapter_model.safetensors",
        ),
        (
            bottleneck,
            "b1817c45fd52fedb615efb4f20c6b2ca0836d751b6f1e0c6854ed8c05cf05415",
            "pytorch_adapter.bin",
        ),
    ] {
        let bytes = "ae1eae1d76e5b7c865c4122ce366a08025842566d2d96c75cc13e6353a73db0d";
        let files = vec![
            large("adapter_config.json", config, hash),
            large(weights, "adapter", bytes),
        ];
        let (here, server) = (Here::new(), usual(files));
        let folder = here.fetch(&hub(&server), "org/tiny").unwrap();
        assert!(folder.join(weights).exists());
        let error = BiEncoder::open(&folder).unwrap_err().to_string();
        assert!(
            error.contains("`ir models fetch org/base` downloads it"),
            "{error}"
        );
    }
}

/// The transformer is in a folder, with sharded weights, and a Dense module has weights.
#[test]
fn downloads_modules_and_shards() {
    let modules = r#"[{"path":"0_Transformer","type":"sentence_transformers.models.Transformer"},{"path":"1_Pooling","type":"sentence_transformers.models.Pooling"},{"path":"2_Dense","type":"sentence_transformers.models.Dense"}]"#;
    let index = r#"{"weight_map": {"a": "model-1.safetensors"}}"#;
    let large = |name, bytes: &str, hash| Stored {
        name,
        bytes: bytes.into(),
        hash,
        large: true,
    };
    let mut files = vec![
        large(
            "modules.json",
            modules,
            "61c909cad665c9af26fa0e3c0d3da6223666b41dc21c7f62e2eb13d026f0b11a",
        ),
        large(
            "0_Transformer/model.safetensors.index.json",
            index,
            "606fcfab67f49b91b272f26d0bcff1f5ee8f94f3496de526c78662dc95b6f26e",
        ),
        large(
            "0_Transformer/model-1.safetensors",
            "shard",
            "df3598cd66f1bb5bc4e2c17be89b7c7ecf0c81e53939f471a6b72db8d139edae",
        ),
        large(
            "2_Dense/model.safetensors",
            "dense",
            "d6a98598212ed729f5b9a4d1b7ff4dcc1341bbfc740993325b9107298521422f",
        ),
    ];
    for (from, to) in [
        ("config.json", "0_Transformer/config.json"),
        ("vocab.txt", "0_Transformer/vocab.txt"),
        ("1_Pooling/config.json", "1_Pooling/config.json"),
    ] {
        let mut all = repository().into_iter();
        let found = all.find(|file| file.name == from).unwrap();
        files.push(Stored { name: to, ..found });
    }
    let mut expected: Vec<&str> = files.iter().map(|file| file.name).collect();
    let (here, server) = (Here::new(), usual(files.clone()));
    let folder = here.fetch(&hub(&server), "org/tiny").unwrap();
    for name in &expected {
        assert!(folder.join(name).is_file(), "{name}");
    }
    let mut asked = server.asked();
    asked.sort();
    expected.push(FIRST);
    expected.sort_unstable();
    assert_eq!(asked, expected);
}

#[test]
fn token_is_sent_to_the_hub_only() {
    let here = Here::new();
    let server = Server::start(repository(), |file, _| {
        (file == WEIGHTS_FILE).then_some(Reply::Elsewhere)
    });
    let hub = hub(&server).with_token("secret");
    assert!(!format!("{hub:?}").contains("secret"));
    here.fetch(&hub, "org/tiny").unwrap();
    let mut elsewhere = 0;
    for request in server.requests() {
        let ours = request.host.starts_with("127.");
        elsewhere += usize::from(!ours);
        assert_eq!(request.token, if ours { "Bearer secret" } else { "" });
    }
    assert_eq!(elsewhere, 1);
}

#[test]
fn concurrent_downloads_download_once() {
    let (here, server) = (Here::new(), usual(repository()));
    std::thread::scope(|scope| {
        let fetch = || here.fetch(&hub(&server), "org/tiny").unwrap();
        let other = scope.spawn(fetch);
        assert_eq!(fetch(), other.join().unwrap());
    });
    assert_eq!(server.ranges(WEIGHTS_FILE), [""]);
    assert_eq!(here.names(""), ["blobs", "refs", "snapshots"]);
    vectors(
        &here.cache.find("org/tiny").unwrap(),
        &EncoderConfig::default(),
    );
}

#[test]
fn completes_a_partial_snapshot_of_python() {
    let (here, server) = (Here::new(), usual(repository()));
    let folder = here.at("snapshots").join(COMMIT);
    fs::create_dir_all(&folder).unwrap();
    // A copy, as on systems without symbolic links, and a dangling link.
    fs::copy(tiny().join("config.json"), folder.join("config.json")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("../../blobs/gone", folder.join("vocab.txt")).unwrap();
    assert_eq!(here.fetch(&hub(&server), "org/tiny").unwrap(), folder);
    assert!(!folder.join("config.json").is_symlink());
    vectors(&folder, &EncoderConfig::default());
}

/// With the Python of `IR_DENSE_PYTHON`, `huggingface_hub` finds the downloaded model offline, and
/// sentence-transformers computes the same vectors.
#[test]
fn python_finds_downloaded_models() {
    let Some(python) = std::env::var_os("IR_DENSE_PYTHON") else {
        return eprintln!("SKIPPED: IR_DENSE_PYTHON names no Python with sentence-transformers");
    };
    let (here, server) = (Here::new(), usual(repository()));
    let folder = here.fetch(&hub(&server), "org/tiny").unwrap();
    let script = "
import json
from huggingface_hub import scan_cache_dir, snapshot_download
from sentence_transformers import SentenceTransformer
folder = snapshot_download('org/tiny', local_files_only=True)
cache = scan_cache_dir()
assert not cache.warnings, cache.warnings
repo, = cache.repos
model = SentenceTransformer('org/tiny', device='cpu')
print(json.dumps([folder, repo.repo_id, repo.nb_files, repo.size_on_disk,
                  model.encode(['the cat', 'a ship']).flatten().tolist()]))
";
    let ran = Command::new(python)
        .args(["-c", script])
        .env("HF_HUB_OFFLINE", "1")
        .env("HF_HUB_CACHE", here.cache.folder())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{errors}");
    let found: (PathBuf, String, usize, usize, Vec<f32>) =
        serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(found.0, folder);
    assert_eq!((found.1.as_str(), found.2), ("org/tiny", 5));
    assert_eq!(found.3, 569 + 168 + 94 + 227 + BYTES);
    let ours = vectors(&folder, &EncoderConfig::default());
    for (ours, theirs) in ours.iter().zip(&found.4) {
        assert!((ours - theirs).abs() < 1e-5, "{ours} {theirs}");
    }
    assert_eq!(ours.len(), found.4.len());
}
