use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use ir_core::Flow;
use ir_qa::documents::{DocumentError, DocumentReader, FolderReport};

use super::*;
use crate::store::DocumentState;

/// A service and a folder of papers.
struct Fixture {
    service: Service,
    papers: TempDir,
    _data: TempDir,
}

impl Fixture {
    fn new() -> Self {
        Self::open(TempDir::new().unwrap(), TempDir::new().unwrap())
    }

    fn open(data: TempDir, papers: TempDir) -> Self {
        let config =
            ServiceConfig::new(data.path()).with_papers(papers.path(), DocumentReader::default());
        Self {
            service: Service::open(config).unwrap(),
            papers,
            _data: data,
        }
    }

    /// Opens the service again on the same store.
    fn reopen(self) -> Self {
        let Self {
            service,
            papers,
            _data: data,
        } = self;
        drop(service);
        Self::open(data, papers)
    }

    /// Publishes and returns the ids and texts that queries see.
    fn published(&self) -> Vec<(String, String)> {
        publish(&self.service);
        let documents = self
            .service
            .store
            .documents(DocumentState::Published, 0, 100);
        let text = |record: SocoDocument| match record.content {
            SocoContent::Document(chunks) => {
                let mut content = chunks.into_iter();
                let content = content.find(|chunk| chunk.kind == ChunkKind::Content);
                content.and_then(|chunk| chunk.text).unwrap()
            }
            SocoContent::Faq(_) => unreachable!(),
        };
        let documents = documents.unwrap().into_iter();
        documents.map(|d| (d.id, text(d.record))).collect()
    }

    fn delete(&self, id: &str) {
        assert_eq!(self.service.delete(Some(&[id.to_owned()])).unwrap(), 1);
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.papers.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        std::fs::write(self.path(name), text).unwrap();
    }

    fn remove(&self, name: &str) {
        std::fs::remove_file(self.path(name)).unwrap();
    }

    fn try_read(&self) -> Result<FolderRead, ServiceError> {
        let reader = DocumentReader::default();
        self.service
            .read_folder(self.papers.path(), &reader, &mut ir_core::NoProgress)
    }

    fn read(&self) -> FolderReport {
        self.try_read().unwrap().report
    }

    fn ids(&self) -> Vec<String> {
        let documents = self.service.store.documents(DocumentState::Added, 0, 100);
        documents.unwrap().into_iter().map(|d| d.id).collect()
    }

    /// Stores a document as if it was read from a file.
    fn add_as_read(&self, file: &str, id: &str) {
        let store = &self.service.store;
        let added = [(id.to_owned(), document(id, "Tea is a drink."))];
        store.add(&added, Origin::Folder).unwrap();
        let file = (file.to_owned(), "stamp".to_owned(), vec![id.to_owned()]);
        store.set_files(&[file]).unwrap();
    }
}

const SQUAD: &str = r#"{"version": "1.1", "data": [
    {"title": "Tea", "paragraphs": [{"context": "Tea is a drink.", "qas": []}]},
    {"title": "Cup", "paragraphs": [{"context": "A cup is made of clay.", "qas": []}]}]}"#;

#[test]
fn damaged_files_of_several_documents_keep_them() {
    let fixture = Fixture::new();
    let soco = r#"{"doc_type": "soco_doc", "meta": {"doc_id": "a"}, "data": [{"type": "content", "text": "Tea."}]}"#;
    fixture.write("articles.json", SQUAD);
    fixture.write("sub/records.jsonl", soco);
    fixture.write("tea.txt", "Tea is hot.");
    assert_eq!(fixture.read().read(), 3);
    let all = [
        "articles.json#Cup",
        "articles.json#Tea",
        "sub/records.jsonl#a",
        "tea.txt",
    ];
    assert_eq!(fixture.ids(), all);
    fixture.write("articles.json", &SQUAD[..40]);
    fixture.write("sub/records.jsonl", &soco[..40]);
    // A failed reading does not change what the next one keeps, either.
    for _ in 0..2 {
        assert_eq!(fixture.read().failed(), 2);
        assert_eq!(fixture.ids(), all);
    }
    // Stores of older versions have no documents of files.
    fixture.service.store.execute("DELETE FROM files");
    assert_eq!(fixture.read().failed(), 2);
    assert_eq!(fixture.ids(), all);
    // A file that is read again, or does not exist, loses its documents.
    fixture.write("articles.json", &SQUAD.replace("Cup", "Mug"));
    fixture.remove("sub/records.jsonl");
    fixture.read();
    let rest = ["articles.json#Mug", "articles.json#Tea", "tea.txt"];
    assert_eq!(fixture.ids(), rest);
    fixture.remove("articles.json");
    fixture.read();
    assert_eq!(fixture.ids(), ["tea.txt"]);
}

#[test]
#[cfg(unix)]
fn skipped_files_and_folders_keep_their_documents() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let fixture = Fixture::new();
    fixture.write("tea.txt", "Tea is hot.");
    fixture.write("link.txt", "A link.");
    for name in [
        "closed/a.txt",
        "closed/deep/b.txt",
        "lost/c.txt",
        "open/d.txt",
    ] {
        fixture.write(name, "A cup is made of clay.");
    }
    fixture.read();
    // PDF is not read without a configuration.
    fixture.write("paper.pdf", "%PDF");
    fixture.add_as_read("paper.pdf", "paper.pdf");
    fixture.add_as_read("gone.pdf", "gone.pdf");
    fixture.write("book.epub", "");
    fixture.add_as_read("book.epub", "another id");
    fixture.remove("link.txt");
    symlink("/nowhere", fixture.path("link.txt")).unwrap();
    // A folder that became a broken link is reported as one without permission is.
    std::fs::remove_dir_all(fixture.path("lost")).unwrap();
    symlink("/nowhere", fixture.path("lost")).unwrap();
    let set_mode = |mode| {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(fixture.path("closed"), mode).unwrap();
    };
    set_mode(0o000);
    fixture.remove("open/d.txt");
    fixture.read();
    set_mode(0o755);
    let kept = [
        "another id",
        "closed/a.txt",
        "closed/deep/b.txt",
        "link.txt",
        "lost/c.txt",
        "paper.pdf",
        "tea.txt",
    ];
    assert_eq!(fixture.ids(), kept);
    for name in ["paper.pdf", "book.epub", "link.txt", "lost"] {
        fixture.remove(name);
    }
    fixture.read();
    assert_eq!(
        fixture.ids(),
        ["closed/a.txt", "closed/deep/b.txt", "tea.txt"]
    );
}

#[test]
fn a_folder_without_readable_files_changes_nothing() {
    let fixture = Fixture::new();
    fixture.write("tea.txt", "Tea is hot.");
    fixture.write("cup.txt", "A cup is made of clay.");
    let job = fixture.service.rescan().unwrap().publication.unwrap();
    wait(&fixture.service, &job.id);
    let first = fixture.service.store.folder_reading().unwrap().unwrap();
    assert_eq!(first.files, 2);
    fixture.remove("tea.txt");
    fixture.remove("cup.txt");
    // A foreign file in the folder below the mount.
    fixture.write("README", "not mounted");
    for _ in 0..2 {
        let error = fixture.service.rescan().unwrap_err();
        let expected = "expected papers, found none that can be read. Its 2 documents are kept";
        assert!(error.to_string().contains(expected), "{error}");
        assert!(matches!(
            error,
            ServiceError::NoReadableFiles { documents: 2, .. }
        ));
        assert_eq!(
            fixture.service.reading_state().error,
            Some(error.to_string())
        );
    }
    assert_eq!(fixture.ids(), ["cup.txt", "tea.txt"]);
    assert_eq!(
        answers(&fixture.service, "clay"),
        ["A cup is made of clay."]
    );
    assert_eq!(fixture.service.store.folder_reading().unwrap(), Some(first));
    // The folder that is mounted again has one file less.
    fixture.write("tea.txt", "Tea is hot.");
    assert!(fixture.service.rescan().unwrap().publication.is_some());
    assert_eq!(fixture.ids(), ["tea.txt"]);
    assert_eq!(fixture.service.reading_state().error, None);
    // An empty folder without documents is no error.
    fixture.service.delete(None).unwrap();
    fixture.remove("tea.txt");
    fixture.read();
}

#[test]
fn one_reading_at_a_time() {
    let fixture = Fixture::new();
    fixture.write("tea.txt", "Tea is hot.");
    let (service, papers): (&Service, &Path) = (&fixture.service, fixture.papers.path());
    let reader = DocumentReader::default();
    let mut progress = |_: &str, _: u64, _: Option<u64>| {
        assert!(service.reading_state().progress.is_some());
        assert!(matches!(service.rescan(), Err(ServiceError::ReadingFolder)));
        Flow::Stop
    };
    let read = service.read_folder(papers, &reader, &mut progress);
    let canceled = |error| matches!(error, ServiceError::Document(DocumentError::Canceled));
    assert!(canceled(read.unwrap_err()));
    // A canceled reading is not complete.
    assert_eq!(service.store.folder_reading().unwrap(), None);
    assert_eq!(service.reading_state().progress, None);
    // A reading that panics has ended, with an error.
    let mut progress = |_: &str, _: u64, _: Option<u64>| panic!("of a reader");
    let read = AssertUnwindSafe(|| service.read_folder(papers, &reader, &mut progress));
    assert!(catch_unwind(read).is_err());
    let state = service.reading_state();
    assert_eq!(state.progress, None);
    assert_eq!(state.error, Some(ServiceError::Panic.to_string()));
    fixture.read();
    assert!(service.store.folder_reading().unwrap().is_some());
    service.cancel_reading();
    assert!(canceled(service.rescan().unwrap_err()));
    let data = TempDir::new().unwrap();
    let other = Service::open(ServiceConfig::new(data.path())).unwrap();
    assert!(matches!(other.rescan(), Err(ServiceError::NoFolder)));
}

/// Documents that were added, replaced or deleted over REST are not overwritten by a rescan, a
/// restart or a reader with other parameters.
#[test]
fn readings_keep_changes_over_rest() {
    let mut fixture = Fixture::new();
    for name in ["cup.txt", "pot.txt", "tea.txt"] {
        fixture.write(name, &format!("File {name}."));
    }
    fixture.read();
    fixture.delete("tea.txt");
    let added = vec![document("cup.txt", "Cup of REST."), document("jug", "Jug.")];
    fixture.service.add(added).unwrap();
    let pair = |(id, text): (&str, &str)| (id.to_owned(), text.to_owned());
    let expected = [
        ("cup.txt", "Cup of REST."),
        ("jug", "Jug."),
        ("pot.txt", "File pot.txt."),
    ]
    .map(pair);
    assert_eq!(fixture.published(), expected);
    for _ in 0..2 {
        let rescan = fixture.service.rescan().unwrap();
        assert_eq!(rescan.report.unchanged(), 3);
        assert!(rescan.publication.is_none());
        fixture = fixture.reopen();
        let reader = DocumentReader::default().with_max_bytes(1_000);
        let read =
            fixture
                .service
                .read_folder(fixture.papers.path(), &reader, &mut ir_core::NoProgress);
        let read = read.unwrap();
        assert_eq!((read.report.read(), read.has_changes), (3, false));
        fixture.read();
        assert_eq!(fixture.published(), expected);
    }
    // Neither a changed nor a removed file changes the document of REST.
    fixture.write("cup.txt", "Another cup in a file.");
    assert!(fixture.service.rescan().unwrap().publication.is_none());
    fixture.remove("cup.txt");
    assert!(fixture.service.rescan().unwrap().publication.is_none());
    assert_eq!(fixture.published(), expected);
    // A file without changes over REST is removed with its document, and read when it is back.
    let time = fs_time(&fixture.path("pot.txt"));
    fixture.remove("pot.txt");
    fixture.read();
    assert_eq!(fixture.ids(), ["cup.txt", "jug"]);
    fixture.write("pot.txt", "File pot.txt.");
    let file = std::fs::File::options()
        .write(true)
        .open(fixture.path("pot.txt"));
    file.unwrap().set_modified(time).unwrap();
    fixture.read();
    assert_eq!(fixture.published(), expected);
}

fn fs_time(path: &Path) -> std::time::SystemTime {
    std::fs::metadata(path).unwrap().modified().unwrap()
}

/// A deleted document is read again when its file has changed.
#[test]
fn changed_files_of_deleted_documents_are_read() {
    let fixture = Fixture::new();
    fixture.write("articles.json", SQUAD);
    fixture.write("tea.txt", "Tea is hot.");
    fixture.read();
    fixture.delete("articles.json#Cup");
    fixture.delete("tea.txt");
    fixture.read();
    assert_eq!(fixture.ids(), ["articles.json#Tea"]);
    fixture.write("tea.txt", "Tea is cold now.");
    fixture.read();
    assert_eq!(fixture.ids(), ["articles.json#Tea", "tea.txt"]);
    fixture.delete("tea.txt");
    fixture.write("articles.json", &SQUAD.replace("clay", "porcelain"));
    fixture.read();
    assert_eq!(fixture.ids(), ["articles.json#Cup", "articles.json#Tea"]);
    // All documents.
    fixture.service.delete(None).unwrap();
    fixture.read();
    assert!(fixture.published().is_empty());
}

/// A deleted document of REST stays deleted although its file exists, whichever was first.
#[test]
fn deleted_documents_of_rest_are_not_read_from_their_files() {
    let fixture = Fixture::new();
    fixture.write("tea.txt", "Tea is hot.");
    fixture.read();
    let texts = ["Tea of REST.", "Cup of REST."];
    let added = vec![document("tea.txt", texts[0]), document("cup.txt", texts[1])];
    fixture.service.add(added.clone()).unwrap();
    fixture.write("cup.txt", "A cup is made of clay.");
    fixture.read();
    for _ in 0..2 {
        assert_eq!(fixture.ids(), ["cup.txt", "tea.txt"]);
        fixture.delete("cup.txt");
        fixture.delete("tea.txt");
        fixture.read();
        assert_eq!(fixture.ids(), [""; 0]);
        fixture.service.add(added.clone()).unwrap();
        fixture.read();
    }
    let published = fixture.published();
    let published: Vec<&str> = published.iter().map(|(_, text)| &**text).collect();
    assert_eq!(published, ["Cup of REST.", "Tea of REST."]);
}

/// A document that is deleted while its folder is read stays deleted.
#[test]
fn documents_deleted_during_a_canceled_reading_stay_deleted() {
    let fixture = Fixture::new();
    let files = super::super::folder::FOLDER_BATCH + 1;
    for n in 0..files {
        fixture.write(&format!("{n:03}.txt"), "Tea is hot.");
    }
    let reader = DocumentReader::default();
    let mut progress = |_: &str, done: u64, _: Option<u64>| {
        if done < files as u64 - 1 {
            Flow::Continue
        } else {
            Flow::Stop
        }
    };
    let papers = fixture.papers.path();
    let read = fixture.service.read_folder(papers, &reader, &mut progress);
    assert!(read.is_err());
    fixture.delete("000.txt");
    assert_eq!(fixture.read().read(), files);
    assert_eq!(fixture.ids()[0], "001.txt");
}

#[test]
fn unchanged_files_are_not_read_again() {
    let (data, papers) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let write = |name: &str, text: &str| std::fs::write(papers.path().join(name), text).unwrap();
    write("tea.txt", "Tea is a drink.");
    write("cup.txt", "A cup is made of clay.");
    write("broken.xml", "<article>");
    let service = Service::open(ServiceConfig::new(data.path())).unwrap();
    let reader = DocumentReader::default();
    let read = |reader: &DocumentReader| {
        let read = service.read_folder(papers.path(), reader, &mut ir_core::NoProgress);
        let read = read.unwrap();
        (
            read.report.read(),
            read.report.unchanged(),
            read.report.failed(),
            read.has_changes,
        )
    };
    assert_eq!(read(&reader), (2, 0, 1, true));
    publish(&service);
    assert_eq!(read(&reader), (0, 2, 1, false));
    write("tea.txt", "Tea is a hot drink.");
    assert_eq!(read(&reader), (1, 1, 1, true));
    // Documents that were deleted or replaced are not read again.
    service.delete(Some(&["cup.txt".to_owned()])).unwrap();
    assert_eq!(read(&reader), (0, 2, 1, true));
    add(&service, "cup.txt", "Another cup.");
    assert_eq!(read(&reader), (0, 2, 1, true));
    // A reader with other parameters reads all files again.
    assert_eq!(read(&reader.clone().with_max_bytes(1_000)), (2, 0, 1, true));
    std::fs::remove_file(papers.path().join("cup.txt")).unwrap();
    assert_eq!(read(&reader), (1, 0, 1, true));
    // The document that was added over REST is kept.
    let documents = service.store.documents(DocumentState::Added, 0, 9).unwrap();
    assert_eq!(documents.len(), 2);
}
