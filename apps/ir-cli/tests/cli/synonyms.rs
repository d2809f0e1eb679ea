//! `ir search --synonyms`: expansion of queries, weights, and errors of the file.

use crate::common::Folder;

fn notes(here: &Folder) {
    let corpus = "{\"_id\": \"a\", \"text\": \"weakness in myasthenia gravis\"}\n\
                  {\"_id\": \"b\", \"text\": \"weakness of the heart\"}\n\
                  {\"_id\": \"c\", \"text\": \"heart attack\"}\n";
    here.write("notes.jsonl", corpus);
    let synonyms = "# names\nMG => myasthenia gravis\nheart attack, weakness\n";
    here.write("synonyms.txt", synonyms);
}

fn found(here: &Folder, query: &str, options: &[&str]) -> Vec<String> {
    let mut args = vec!["search", "notes.jsonl", query, "-o", "-"];
    args.extend(options);
    let run = here.ir(&args).ok().out;
    let doc = |line: &str| line.split(' ').nth(2).unwrap_or_default().to_owned();
    run.lines().map(doc).collect()
}

#[test]
fn queries_are_expanded() {
    let here = Folder::new();
    notes(&here);
    let file = ["--synonyms", "synonyms.txt"];
    assert_eq!(found(&here, "MG", &[]), [""; 0]);
    assert_eq!(found(&here, "MG", &file), ["a"]);
    let heavy = [&file[..], &["--synonym-weight", "10"]].concat();
    assert_eq!(found(&here, "heart attack", &file)[0], "c");
    assert_ne!(found(&here, "heart attack", &heavy)[0], "c");

    let run = |options: &[&str]| {
        let args = ["search", "notes.jsonl", "heart attack", "-o", "-"];
        here.ir(&[&args[..], options].concat()).ok().out
    };
    // 1:5 is the default, and weight 0 the search without synonyms.
    let with = |weight: &str| run(&[&file[..], &["--synonym-weight", weight]].concat());
    assert_eq!(with("1:5"), run(&file));
    assert_eq!(with("0.2"), run(&file));
    assert_ne!(with("1:2"), run(&file));
    assert_eq!(with("0"), run(&[]));

    let explained = ["search", "notes.jsonl", "MG", "--explain"];
    let explained = here.ir(&[&explained[..], &file].concat()).ok().out;
    assert!(
        explained.contains("gravi") && explained.contains("0.2"),
        "{explained}"
    );
}

#[test]
fn errors_name_the_option_and_the_line() {
    let here = Folder::new();
    notes(&here);
    here.write("alone.txt", "a, b\nalone\n");
    let many: String = (0..1000).map(|n| format!("word => synonym{n}\n")).collect();
    here.write("many.txt", many);
    here.write("cycle.txt", "heart => weakness\nweakness => heart\n");
    let search = |options: &[&str]| {
        let args = ["search", "notes.jsonl", "heart", "-o", "-"];
        here.ir(&[&args[..], options].concat())
    };
    here.write("latin-1.txt", b"a, b\nd\xe9f, e\n");
    search(&["--synonyms", "latin-1.txt"]).fails(
        1,
        &[
            "--synonyms",
            "latin-1.txt:2: expected UTF-8 text, found invalid bytes at column 2",
        ],
    );
    search(&["--synonyms", "alone.txt"]).fails(1, &["--synonyms", "alone.txt:2: expected two"]);
    search(&["--synonyms", "many.txt"]).fails(
        1,
        &["many.txt:257: expected at most 256 synonyms of \"word\""],
    );
    search(&["--synonyms", "none.txt"]).fails(1, &["--synonyms", "none.txt"]);
    search(&["--synonyms", "cycle.txt"]).ok();
    search(&["--synonym-weight", "1"])
        .fails(2, &["--synonym-weight: expected --synonyms, found none"]);
    for weight in ["-1", "1:0", "x", "1:2:3"] {
        let weight = format!("--synonym-weight={weight}");
        search(&["--synonyms", "synonyms.txt", &weight]).fails(
            2,
            &["expected a number of at least 0 or a ratio such as 1:5"],
        );
    }
    search(&["--synonyms", "synonyms.txt", "--sdm", "1,1,1"]).fails(2, &["--synonyms", "--sdm"]);
}

/// A byte order mark, UTF-16 and compression; other compression is an error.
#[test]
fn encodings_and_compression_of_the_file() {
    let here = Folder::new();
    notes(&here);
    let marked = "\u{feff}MG => myasthenia gravis\n";
    here.write("marked.txt", marked);
    let wide: Vec<u8> = marked.encode_utf16().flat_map(u16::to_le_bytes).collect();
    here.write("wide.txt", wide);
    let mut packed = ir_data::create(here.at("packed.txt.gz")).unwrap();
    std::io::Write::write_all(&mut packed, b"MG => myasthenia gravis\n").unwrap();
    packed.commit().unwrap();
    for file in ["marked.txt", "wide.txt", "packed.txt.gz"] {
        assert_eq!(found(&here, "MG", &["--synonyms", file]), ["a"], "{file}");
    }
    here.write("other.txt", b"BZh91AY&SY\x00\x00\x00\x00");
    here.ir("search notes.jsonl MG --synonyms other.txt -o -")
        .fails(1, &["other.txt", "bzip2"]);
}

/// UMLS and MeSH, recognized by their content.
#[test]
fn terminologies() {
    let here = Folder::new();
    notes(&here);
    let row = |language: &str, string: &str, suppress: &str| {
        format!(
            "C0026896|{language}|P|L1|PF|S1|Y|A1||||MSH|MH|D009157|{string}|0|{suppress}|256|\n"
        )
    };
    let rows = [
        row("FRE", "faiblesse", "N"),
        row("ENG", "MG", "N"),
        row("ENG", "Myasthenia Gravis", "N"),
        row("ENG", "heart", "O"),
    ];
    here.write("MRCONSO.RRF", rows.concat());
    let record = "<?xml version=\"1.0\"?>\n<DescriptorRecordSet LanguageCode=\"eng\">\n\
                  <DescriptorRecord DescriptorClass=\"1\">\n<DescriptorName><String>X</String>\
                  </DescriptorName>\n<ConceptList><Concept><TermList><Term><String>MG</String>\
                  </Term>\n<Term><String>Myasthenia Gravis</String></Term></TermList></Concept>\
                  </ConceptList>\n</DescriptorRecord>\n</DescriptorRecordSet>\n";
    here.write("desc.xml", record);
    let mesh = "http://id.nlm.nih.gov/mesh/";
    let triples = format!(
        "<{mesh}M1> <{mesh}vocab#term> <{mesh}T2> .\n\
         <{mesh}M1> <{mesh}vocab#preferredTerm> <{mesh}T1> .\n\
         <{mesh}T1> <{mesh}vocab#prefLabel> \"Myasthenia Gravis\"@en .\n\
         <{mesh}T2> <{mesh}vocab#prefLabel> \"MG\"@en .\n"
    );
    here.write("mesh.nt", &triples);
    for file in ["MRCONSO.RRF", "desc.xml", "mesh.nt"] {
        assert_eq!(found(&here, "MG", &["--synonyms", file]), ["a"], "{file}");
    }
    // Suppressed, and another language.
    assert_eq!(
        found(&here, "faiblesse", &["--synonyms", "MRCONSO.RRF"]),
        [""; 0]
    );
    let search =
        |file: &str| here.ir(&["search", "notes.jsonl", "MG", "-o", "-", "--synonyms", file]);
    here.write("french.RRF", row("FRE", "faiblesse", "N"));
    search("french.RRF").fails(
        1,
        &["french.RRF:1: expected a row in English (LAT ENG)", "FRE"],
    );
    here.write(
        "short.RRF",
        [&*row("ENG", "MG", "N"), "C0026896|ENG|\n"].concat(),
    );
    search("short.RRF").fails(1, &["short.RRF:2: expected 18 columns, found 2"]);
    here.write("cut.xml", &record[..record.len() - 50]);
    search("cut.xml").fails(1, &["cut.xml:3: expected the end tag of the record"]);
    here.write(
        "bad.nt",
        triples.replace("<http://id.nlm.nih.gov/mesh/T1> .", "T1 ."),
    );
    search("bad.nt").fails(1, &["bad.nt:2: expected a triple"]);
}
