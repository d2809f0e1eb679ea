//! Files that are not read as they are: other encodings, line ends, archives and compressions, and
//! files of judgments with other names.

use crate::common::Folder;

/// Start of a file of bzip2 1.0.8.
const BZIP2: &[u8] = b"BZh91AY&SY\x5e\xe5";
const UNSUPPORTED: &str = "expected uncompressed, gzip or zstd data, found";

/// Notes in UTF-16 of both byte orders, as editors of Windows save them.
#[test]
fn notes_in_utf_16() {
    let here = Folder::new();
    let text = "\u{feff}a ship in a café\r\n";
    let units = || text.encode_utf16();
    here.write(
        "notes/le.md",
        units().flat_map(u16::to_le_bytes).collect::<Vec<_>>(),
    );
    here.write(
        "notes/be.txt",
        units().flat_map(u16::to_be_bytes).collect::<Vec<_>>(),
    );
    here.write("notes/plain.md", "a ship\n");
    for encoding in [
        "",
        "--encoding utf-8",
        "--encoding latin-1",
        "--encoding windows-1252",
    ] {
        let ran = here.ir(&format!("search notes ship {encoding}")).ok();
        for name in ["le.md", "be.txt", "plain.md"] {
            assert!(ran.out.contains(name), "{encoding}: {}", ran.out);
        }
        assert!(!ran.err.contains("skipped"), "{encoding}: {}", ran.err);
        let ran = here.ir(&format!("search notes café {encoding}")).ok();
        assert!(
            ran.out.contains("le.md") && ran.out.contains("be.txt"),
            "{}",
            ran.out
        );
    }
}

fn beir_folder() -> Folder {
    let here = Folder::new();
    here.write("c/corpus.jsonl", "{\"_id\": \"d1\", \"text\": \"boat\"}\n");
    here.write("c/queries.jsonl", "{\"_id\": \"q1\", \"text\": \"boat\"}\n");
    here.write("r", "q1 Q0 d1 1 2.5 t\n");
    here
}

/// Files in `qrels` or beside the corpus that are no split are named wherever the folder is read.
#[test]
fn judgments_with_other_names() {
    for name in [
        "qrels/test.txt",
        "qrels/test.trec",
        "qrels.tsv",
        "qrels.parquet",
    ] {
        let here = beir_folder();
        here.write(&format!("c/{name}"), "q1 0 d1 1\n");
        here.write("c/qrels/.hidden", "");
        let warning = format!(
            "warning: c: not read as judgments: {name} (name a file after its split, such as \
             qrels/test.tsv, or give the file itself)"
        );
        for command in [
            "search c -o found",
            "inspect c",
            "stats c",
            "index c -o c.ir",
        ] {
            let err = here.ir(command).ok().err;
            assert!(err.lines().any(|line| line == warning), "{command}: {err}");
        }
        let err = here.ir("eval c r").fails(1, &["c has no judgments"]).err;
        assert!(err.lines().any(|line| line == warning), "{err}");
    }
    let here = beir_folder();
    here.write("c/qrels/test.TSV", "q1 0 d1 1\n");
    let out = here.ir("eval c r AP").ok().out;
    assert!(out.ends_with("all\t1.0000\n"), "{out}");
    assert!(!here.ir("search c -o found").ok().err.contains("not read"));
}

#[test]
fn files_in_other_compressions() {
    let here = beir_folder();
    let remove = |name: &str| std::fs::remove_file(here.at(name)).unwrap();
    let message =
        |name: &str| format!("{name}: {UNSUPPORTED} bzip2 data (decompress the file first)");
    here.write("c/qrels/test.tsv.bz2", BZIP2);
    for command in ["eval c r", "search c -o found"] {
        here.ir(command)
            .fails(1, &[&message("c/qrels/test.tsv.bz2")]);
    }
    remove("c/qrels/test.tsv.bz2");
    remove("c/queries.jsonl");
    here.write("c/queries.jsonl.bz2", BZIP2);
    here.ir("search c -o found")
        .fails(1, &[&message("c/queries.jsonl.bz2")]);
    here.ir("search c boat").ok();
    remove("c/corpus.jsonl");
    here.write("c/corpus.jsonl.bz2", BZIP2);
    here.ir("search c boat")
        .fails(1, &[&message("c/corpus.jsonl.bz2")]);
    // Beside documents of TREC.
    here.write("disk/a", "<DOC>\n<DOCNO>1</DOCNO>\nboat\n</DOC>\n");
    here.write("disk/README", "Disk 4\n");
    here.write("disk/b.bz2", BZIP2);
    let err = here.ir("index disk -o disk.ir").ok().err;
    let expected = "disk: 2 of 3 files do not start with <DOC> and are skipped, such as disk/b.bz2 (bzip2 data)";
    assert!(err.contains(expected), "{err}");
}

#[test]
fn tar_archives() {
    let here = beir_folder();
    let mut archive = [0; 1024];
    archive[..5].copy_from_slice(b"a.txt");
    archive[257..265].copy_from_slice(b"ustar\x0000");
    here.write("docs.tar", archive);
    here.write("qrels", "q1 0 d1 1\n");
    let expected = format!("docs.tar: {UNSUPPORTED} a tar archive (extract its files first)");
    for command in [
        "search docs.tar boat",
        "eval docs.tar r",
        "eval qrels docs.tar",
        "search c boat --synonyms docs.tar",
    ] {
        here.ir(command).fails(1, &[&expected]);
    }
    here.write("words", "boat ".repeat(400));
    let err = here
        .ir("search c boat --synonyms words")
        .fails(1, &["words:1: "])
        .err;
    assert!(err.len() < 250, "{err}");
}

/// Files of old programs of the Macintosh are one line.
#[test]
fn lines_that_end_with_cr() {
    let here = beir_folder();
    here.write("mac.run", "q1 Q0 d1 1 2 t\rq1 Q0 d2 2 1 t\r");
    here.write("mac.qrels", "q1 0 d1 1\rq1 0 d2 0\r");
    here.write("mac.pairs", "q1 d1\rq1 d2\r");
    here.write("mac.tsv", "d1\tboat\rd2\tship\r");
    here.write("mac.csv", "id,text,title\rd1,boat,a\rd2,ship,b\r");
    here.write("qrels", "q1 0 d1 1\n");
    for (command, name) in [
        ("eval qrels mac.run", "mac.run"),
        ("fuse mac.run r -o fused", "mac.run"),
        ("eval mac.qrels r", "mac.qrels"),
        ("eval mac.pairs r", "mac.pairs"),
        ("search mac.tsv boat", "mac.tsv"),
        ("search c --queries mac.tsv", "mac.tsv"),
        ("index mac.csv -o x.ir", "mac.csv"),
    ] {
        let expected = format!("{name}:1: expected lines ended by LF or CRLF, found CR");
        here.ir(command).fails(1, &[&expected]);
    }
}
