//! TREC documents in SGML, and markup that documents share with topics.

use std::io::Write;

use ir_core::Corpus;
use ir_data::sgml::{self, SgmlCorpus};
use ir_data::{DocumentFile, ReadOptions, TextEncoding};

#[test]
fn trec_documents() {
    let read = |text: &str| sgml::read_documents(text.as_bytes(), "f");
    let text = "\n<DOC>\n<DOCNO> FT911-3 </DOCNO>\n<PROFILE>_AN</PROFILE>\n<HEADLINE>\nFT  14 MAY /\n  Tea\n\
                </HEADLINE>\n<TEXT>\nprices &lt; 3 < 4\n<P>\nmore\n</TEXT>\n<DATE>940514</DATE>\n<TEXT>end</TEXT>\n</DOC>\r\n\
                <doc><docno>2</docno> <i class=\"x\">all</i> of it<DOCHDR>http</DOCHDR></doc>\n\
                <DOC>\n<DOCNO>3</DOCNO>\n</DOC>\n";
    let docs = read(text).unwrap();
    let expected = [
        ("FT911-3", "FT 14 MAY / Tea", "prices < 3 < 4\n\nmore\nend"),
        ("2", "", "all of it"),
        ("3", "", ""),
    ];
    let fields = docs.iter().map(|doc| (&*doc.id, &*doc.title, &*doc.text));
    assert_eq!(fields.collect::<Vec<_>>(), expected);
    // Other elements, such as a date, are neither text nor attributes, as the table says.
    assert!(docs.iter().all(|doc| doc.attributes.is_empty()));
    let format = ir_data::FORMATS.iter().find(|format| format.name == "TREC");
    assert!(format.unwrap().skipped.contains("such as DATE"));
    assert!(read("\n").unwrap().is_empty());
    let table = r#"tea => f:1: expected <DOC>, found "tea"
\n<DOC>\n<TEXT>a</TEXT>\n</DOC> => f:2: expected a field "DOCNO", found none
<DOC>\n<DOCNO>1</DOCNO>\n => f:1: expected </DOC>, found "the end of the file"
<DOC><DOCNO>1</DOCNO></DOC>\n<DOC><DOCNO>1</DOCNO></DOC> => f:2: expected a unique id, found "1", which is also on line 1"#;
    super::assert_cases(table, |text| read(text).unwrap_err().to_string());
}

#[test]
fn records_are_never_merged() {
    let read = |text: &str| {
        let docs = sgml::read_documents(text.as_bytes(), "f").map_err(|error| error.to_string())?;
        let fields = docs.into_iter().map(|doc| (doc.id, doc.text));
        Ok::<Vec<_>, String>(fields.collect())
    };
    let two = [("1", "tea"), ("2", "milk")].map(|(id, text)| (id.to_owned(), text.to_owned()));
    for text in [
        "<DOC><DOCNO>1</DOCNO>tea</DOC><DOC><DOCNO>2</DOCNO>milk</DOC>",
        "<DOC><DOCNO>1</DOCNO>tea</DOC> \t <DOC><DOCNO>2</DOCNO>milk</DOC> \n ",
        "<DOC>\n<DOCNO>1</DOCNO>\ntea</doc > <DOC>\n<DOCNO>2</DOCNO>\nmilk </DOC>\n\n",
        " <DOC> <DOCNO>1</DOCNO>\n\ntea\n\n</DOC><doc>\n<DOCNO>2</DOCNO>\nmilk\n</DOC>",
        "<DOC\n lang='en'\n><DOCNO>1</DOCNO>tea</DOC\n>\n<DOC\n>\n<DOCNO>2</DOCNO>\nmilk</DOC>",
        "<DOC><DOCNO>1</DOCNO>tea<a b=\"x></DOC>\n<DOC><DOCNO>2</DOCNO><a b=\"y\">milk</DOC>",
        "<DOC><DOCNO>1</DOCNO>tea<a b=\"x>\n</DOC>\n<DOC><DOCNO>2</DOCNO><a b=\"y\">milk</DOC>",
        "<!DOCTYPE docs [\n<!ELEMENT docs (DOC)>\n]>\n<docs><DOC><DOCNO>1</DOCNO>tea</DOC>\n\
         <!-- <DOC>\n</DOC> -->\n<DOC id='2'>milk</DOC></docs>",
    ] {
        assert_eq!(read(text).unwrap(), two, "{text}");
    }
    let table = r#"<DOC>\n<DOCNO>1</DOCNO>\ntea\n<DOC>\n<DOCNO>2</DOCNO>\nmilk\n</DOC> => f:4: expected </DOC>, found "<DOC>"
<DOC><DOCNO>1</DOCNO>tea<doc id="2"><DOCNO>2</DOCNO>milk</DOC> => f:1: expected </DOC>, found "<doc id=\"2\">"
<DOC>\n<DOCNO>1</DOCNO>\n<DOC\n>\n<DOCNO>2</DOCNO>\n</DOC> => f:3: expected </DOC>, found "<DOC\n>"
<!-- <DOC>\n</DOC>\n<DOC>\n<DOCNO>1</DOCNO>\n<!-- tea --></DOC> => f:1: expected -->, found "<!--"
<!DOCTYPE docs [\n<DOC></DOC> => f:1: expected <DOC>, found "<!DOCTYPE docs ["
<!junk\n<DOC></DOC> => f:1: expected <DOC>, found "<!junk"
<DOC>\n<DOCNO>1</DOCNO>\n</DOC>\n<DOC>\n<DOCNO>2</DOCNO>\n\n<docno>3</docno>\n</DOC> => f:7: expected one field "DOCNO", found two
<DOC>\n<DOCNO>1</DOCNO>\n</DOC> tea\n<DOC>\n<DOCNO>2</DOCNO>\n</DOC> => f:3: expected <DOC>, found "tea"
<DOC><DOCNO>1</DOCNO></DOC><DOC><DOCNO>2</DOCNO>\n => f:1: expected </DOC>, found "the end of the file"
<DOC>\n<DOCNO> FT 1 </DOCNO>\n</DOC> => f:2: expected an id without white space in <DOCNO>, found "FT 1"
<DOC>\n<DOCNO>1\ntea\n</DOC> => f:2: expected an id without white space in <DOCNO>, found "1\ntea""#;
    super::assert_cases(table, |text| read(text).unwrap_err());
}

/// Tags of records in comments, CDATA sections, scripts and values of attributes are no tags.
#[test]
fn markup_of_several_lines() {
    let read = |text: &str| {
        let docs = sgml::read_documents(text.as_bytes(), "f").unwrap();
        let fields = docs.into_iter().map(|doc| {
            let words: Vec<&str> = doc.text.split_whitespace().collect();
            format!("{} {}", doc.id, words.join(" "))
        });
        fields.collect::<Vec<_>>()
    };
    for (body, expected) in [
        (
            "tea\n<!-- <DOC>\n<DOCNO>x</DOCNO>\n</DOC>\nno -->\nmilk",
            "1 tea milk",
        ),
        ("tea <![CDATA[a\n</DOC> <b>\n]]>", "1 tea a </DOC> <b>"),
        (
            "tea <script>\nif (a < b) write('</DOC>')\n</script> milk",
            "1 tea milk",
        ),
        ("tea <style\n>\n<DOC>\n</style\n> milk", "1 tea milk"),
        ("tea <p title=\"</DOC>\"\nclass='a > b'>milk", "1 tea milk"),
    ] {
        let text = format!(
            "<DOC>\n<DOCNO>1</DOCNO>\n<TEXT>\n{body}\n</TEXT>\n</DOC>\n<DOC id='2'>leaf</DOC>\n"
        );
        assert_eq!(read(&text), [expected, "2 leaf"], "{text}");
    }
}

/// An opening without an end is text, and does not reach into other documents.
#[test]
fn markup_without_an_end() {
    for (part, shown) in [
        ("<!-- ", "<!-- "),
        ("<![CDATA[ ", "<![CDATA[ "),
        ("<script> ", " "),
        ("<a href=\"b ", "<a href=\"b "),
        ("<a ", "<a "),
    ] {
        let end = match part {
            "<!-- " => "-->",
            "<![CDATA[ " => "]]>",
            "<script> " => "</script>",
            _ => "\">",
        };
        // No end in the file; an end of a second opening; two records without an end.
        for second in [
            "milk".to_owned(),
            format!("{part}milk {end} leaf"),
            format!("{part}milk"),
        ] {
            let text = format!(
                "<DOC>\n<DOCNO>1</DOCNO>\ntea\n{part}green\n</DOC>\n<DOC>\n\
                 <DOCNO>2</DOCNO>\n{second}\n</DOC>\n<DOC>\n<DOCNO>3</DOCNO>\nend\n</DOC>\n"
            );
            let docs = sgml::read_documents(text.as_bytes(), "f").unwrap();
            let ids: Vec<&str> = docs.iter().map(|doc| &*doc.id).collect();
            assert_eq!(ids, ["1", "2", "3"], "{text}");
            let first: Vec<&str> = docs[0].text.split_whitespace().collect();
            let expected = format!("tea {shown}green");
            let expected: Vec<&str> = expected.split_whitespace().collect();
            assert_eq!(first, expected, "{text}");
            assert!(!docs[1].text.is_empty(), "{text}");
            assert_eq!(docs[2].text, "end", "{text}");
        }
    }
}

/// An end in a later document is not the end of an opening before: no document is skipped.
#[test]
fn ends_of_markup_in_later_documents() {
    for (part, end) in [
        ("<!--", "-->"),
        ("<![CDATA[", "]]>"),
        ("<script>", "</script>"),
        ("<style>", "</style>"),
        ("<a href=\"b", "\">"),
    ] {
        for line_end in ["\n", " "] {
            let text = format!(
                "<DOC>\n<DOCNO>1</DOCNO>\ntea {part} green\n</DOC>{line_end}<DOC>\n\
                 <DOCNO>2</DOCNO>\nmilk\n</DOC>\n<DOC>\n<DOCNO>3</DOCNO>\n{end} end\n</DOC>\n"
            );
            let docs = sgml::read_documents(text.as_bytes(), "f").unwrap();
            let ids: Vec<&str> = docs.iter().map(|doc| &*doc.id).collect();
            assert_eq!(ids, ["1", "2", "3"], "{text}");
            assert!(docs[0].text.ends_with("green"), "{text}");
            assert_eq!(docs[1].text, "milk", "{text}");
            assert!(docs[2].text.ends_with("end"), "{text}");
        }
        let topics = format!(
            "<top><num>1<title>tea {part} green</top>\n<top><num>2<title>milk</top>\n\
             <top><num>3<title>{end} end</top>\n"
        );
        let topics = sgml::read_topics(topics.as_bytes(), "f").unwrap();
        assert_eq!(topics.len(), 3, "{part}");
    }
}

#[test]
fn documents_in_comments_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("docs");
    let text = "<DOC><DOCNO>1</DOCNO></DOC>\n<!-- <DOC>\n</DOC>\n<DOC id='x'></DOC> -->\n\
                <!-- no document -->\n<DOC><DOCNO>2</DOCNO><!-- <DOC></DOC> --></DOC>\n";
    std::fs::write(&path, text).unwrap();
    let corpus = SgmlCorpus::from_files([path]);
    for _ in 0..2 {
        assert_eq!(corpus.docs().unwrap().count(), 2);
        assert_eq!(corpus.skipped().commented_documents, 2);
    }
}

#[test]
fn lines_after_markup_of_several_lines() {
    let text = "<?xml version=\"1.0\"\n?>\n<DOC\n id=\"1\">\n<!--\n</DOC>\n-->\n</DOC>\n\
                <DOC>\n<DOCNO>2</DOCNO>\n<DOCNO>3</DOCNO>\n</DOC>\n";
    let mut reader = sgml::SgmlReader::new(text.as_bytes(), "f");
    let mut doc = ir_core::Document::default();
    assert!(reader.read_into(&mut doc).unwrap());
    assert_eq!(doc.id, "1");
    let error = reader.read_into(&mut doc).unwrap_err().to_string();
    assert_eq!(error, "f:11: expected one field \"DOCNO\", found two");
}

/// Tags with long values, references without `;` and self-closing elements.
#[test]
fn markup_of_the_web() {
    let image = "QUJD".repeat(10_000);
    let text = format!(
        "<DOC><DOCNO>1</DOCNO><TITLE/><BODY>caf&eacute <img src=\"data:image/png;base64,{image}\"> \
         &copy 2020 AT&amp T</BODY></DOC>"
    );
    let docs = sgml::read_documents(text.as_bytes(), "f").unwrap();
    assert_eq!(docs[0].title, "");
    let words: Vec<&str> = docs[0].text.split_whitespace().collect();
    assert_eq!(words.join(" "), "café © 2020 AT& T");
}

#[test]
fn documents_after_an_error() {
    let text =
        "<DOC><DOCNO>1</DOCNO>\n<DOC><DOCNO>2</DOCNO></DOC> tea\n<DOC><DOCNO>3</DOCNO></DOC>";
    let mut reader = sgml::SgmlReader::new(text.as_bytes(), "f");
    let mut doc = ir_core::Document::default();
    assert!(reader.read_into(&mut doc).is_err());
    assert!(reader.read_into(&mut doc).unwrap());
    assert_eq!(doc.id, "2");
    assert!(reader.read_into(&mut doc).is_err());
    assert!(reader.read_into(&mut doc).unwrap());
    assert_eq!(doc.id, "3");
    assert!(!reader.read_into(&mut doc).unwrap());
}

/// Inputs of about 1 MB on which scans of all open sections, or of all the rest, are quadratic.
#[test]
fn linear_time() {
    const SIZE: usize = 1 << 20;
    let repeated = |part: &str| part.repeat(SIZE / part.len());
    let half = |part: &str| part.repeat(SIZE / 2 / part.len());
    for body in [
        half("<HL>") + &half("</x>"),
        half("<HL><TEXT>") + &half("</TITLE>"),
        half("<HL>\n<TEXT>\n") + &half("</HL>\n"),
        repeated("<"),
        repeated("<a"),
        repeated("</"),
        repeated("<!-"),
        repeated("<x>\n"),
    ] {
        let text = format!("<DOC>\n<DOCNO>1</DOCNO>\n{body}\n</DOC>\n");
        let docs = sgml::read_documents(text.as_bytes(), "f").unwrap();
        assert_eq!(docs.len(), 1);
        let text = format!("<top>\n<num> 1\n<title> tea {body}\n</top>\n");
        let topics = sgml::read_topics(text.as_bytes(), "f").unwrap();
        assert_eq!(topics.len(), 1);
    }
    let mut text = String::new();
    while text.len() < SIZE {
        text += &format!("<DOC><DOCNO>{}</DOCNO></DOC>", text.len());
    }
    let count = text.matches("<DOC>").count();
    text += &repeated(" ");
    let docs = sgml::read_documents(text.as_bytes(), "f").unwrap();
    assert_eq!(docs.len(), count);
}

/// Sections nested more than 64 deep are ignored; the text outside of them is read.
#[test]
fn deeply_nested_sections() {
    let body = "<HL><TEXT>".repeat(100) + "tea" + &"</TEXT></HL>".repeat(100);
    let text = format!("<DOC>\n<DOCNO>1</DOCNO>\n{body}<TEXT>milk</TEXT></DOC>\n");
    let docs = sgml::read_documents(text.as_bytes(), "f").unwrap();
    assert_eq!(docs[0].text, "tea milk");
}

#[test]
fn several_files() {
    let folder = tempfile::tempdir().unwrap();
    let files = [
        ("b", "<DOC><DOCNO>2</DOCNO>caf\u{e9}</DOC>"),
        ("c", ""),
        (
            "a.gz",
            "<DOC><DOCNO>1</DOCNO>tea</DOC>\n<DOC><DOCNO>2</DOCNO></DOC>",
        ),
    ];
    let files = files.map(|(name, text)| {
        let path = folder.path().join(name);
        let mut file = ir_data::create(&path).unwrap();
        let latin_1: Vec<u8> = text.chars().map(|char| char as u8).collect();
        file.write_all(&latin_1).unwrap();
        file.commit().unwrap();
        path
    });
    let corpus = SgmlCorpus::from_files(files.clone()).with_encoding(TextEncoding::Latin1);
    let mut docs = corpus.docs().unwrap();
    let mut next = || docs.next().unwrap().map(|doc| (doc.id, doc.text));
    let some = |id: &str, text: &str| (id.to_owned(), text.to_owned());
    assert_eq!(next().unwrap(), some("2", "caf\u{e9}"));
    assert_eq!(next().unwrap(), some("1", "tea"));
    let error = next().unwrap_err().reason().to_string();
    let at = files[2].display();
    assert_eq!(
        error,
        format!("{at}:2: expected an id that no earlier file has, found \"2\"")
    );
    assert_eq!(SgmlCorpus::from_files([]).docs().unwrap().count(), 0);
}

/// The encoding of an XML declaration is the default of documents and topics.
#[test]
fn declared_encodings() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.xml");
    let read = |declaration: &str, cafe: &[u8], encoding: TextEncoding| {
        let documents = "<docs><doc><docno>1</docno>#</doc></docs>";
        let topics = "<topics><topic number='1'><title>#</title></topic></topics>";
        let indri = "<parameters><query><number>1</number><text>#</text></query></parameters>";
        let [documents, topics, indri] = [documents, topics, indri].map(|markup| {
            let (before, after) = markup.split_once('#').unwrap();
            [
                declaration.as_bytes(),
                before.as_bytes(),
                cafe,
                after.as_bytes(),
            ]
            .concat()
        });
        let options = ReadOptions {
            encoding,
            ..ReadOptions::default()
        };
        std::fs::write(&path, documents).unwrap();
        let file = DocumentFile::open(&path, &options).unwrap();
        let doc = file.docs().and_then(|mut docs| docs.next().unwrap());
        let mut found = vec![
            doc.map(|doc| doc.text)
                .map_err(|error| error.reason().to_string()),
        ];
        for queries in [topics, indri] {
            std::fs::write(&path, queries).unwrap();
            let read = ir_data::read_queries(&path, &options);
            let text = read.map(|(queries, _)| queries[0].text.clone());
            found.push(text.map_err(|error| error.to_string()));
        }
        found
    };
    let utf8 = TextEncoding::Utf8;
    for (declaration, cafe, encoding) in [
        (
            "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>\n",
            &b"caf\xe9"[..],
            utf8,
        ),
        (
            "<?xml version='1.0' encoding='windows-1252' ?>",
            b"caf\xe9",
            utf8,
        ),
        (
            "<?xml version='1.0' encoding='utf-8'?>",
            "café".as_bytes(),
            utf8,
        ),
        ("<?xml version='1.0'?>", "café".as_bytes(), utf8),
        ("", "café".as_bytes(), utf8),
        // A byte order mark and an option take precedence.
        (
            "\u{feff}<?xml version='1.0' encoding='ISO-8859-1'?>",
            "café".as_bytes(),
            utf8,
        ),
        (
            "<?xml version='1.0' encoding='KOI8-R'?>",
            b"caf\xe9",
            TextEncoding::Latin1,
        ),
    ] {
        let expected = vec![Ok("café".to_owned()); 3];
        assert_eq!(read(declaration, cafe, encoding), expected, "{declaration}");
    }
    let declaration = "<?xml version='1.0' encoding='KOI8-R'?>";
    let expected = format!(
        "{}:1: expected the encoding UTF-8, ISO-8859-1 or Windows-1252, found \"KOI8-R\"",
        path.display()
    );
    for found in read(declaration, b"cafe", utf8) {
        assert_eq!(found.unwrap_err(), expected);
    }
}

/// As in Lucene's `TrecDocParser.stripTags`, which replaces a tag by a space.
#[test]
fn removed_tags_separate_words() {
    let text = |body: &str| {
        let text = format!("<DOC><DOCNO>1</DOCNO>{body}</DOC>");
        let docs = sgml::read_documents(text.as_bytes(), "f").unwrap();
        (docs[0].title.clone(), docs[0].text.clone())
    };
    for (body, expected) in [
        ("tea<br>leaves", "tea leaves"),
        ("tea<!-- black -->leaves<p></p><p>milk", "tea leaves milk"),
        ("g<b>ree</b>n", "g ree n"),
        ("<TEXT>tea</TEXT><TEXT>milk</TEXT>", "tea milk"),
        ("tea<HL></HL>milk", "tea milk"),
        ("tea <br>\nmilk<br> sugar", "tea \nmilk sugar"),
        ("3<4 &lt;b>5", "3<4 <b>5"),
    ] {
        assert_eq!(text(body), (String::new(), expected.to_owned()));
    }
    let titles = "<HL>Tea</HL><HL>prices</HL><TITLE>up</TITLE>";
    assert_eq!(text(titles).0, "Tea prices up");
    let topic = "<top><num>1</num><title>tea<br>leaves</title><desc>a<p>b</desc><desc>c</top>";
    let topics = sgml::read_topics(topic.as_bytes(), "f").unwrap();
    assert_eq!(topics[0].text, "tea leaves");
    assert_eq!(topics[0].attributes.text("description"), Some("a b c"));
}

/// The forms of TREC's disks, web pages and Gigaword, by hand.
#[test]
fn documents_of_all_collections() {
    let documents = [
        "<DOC>\n<DOCNO> d </DOCNO>\n<LP>\nGreen tea.\n</LP>\n<TEXT>\nBlack tea.\n</TEXT>\n</DOC>",
        "<DOCS>\n<DOC id=\"d\" type='story'>\n<LEADPARA>Green tea.</LEADPARA>\n<TEXT>\nBlack \
         tea.</TEXT>\n</DOC>\n</DOCS>",
        "<DOC><DOCNO>d</DOCNO><DOCHDR>http://x.org</DOCHDR><html><script type=\"x>y\">if (a<b) \
         write(\"<p>no</p>\")</script><style>p > a {}</style><!-- <b>no</b> > no --><p \
         title=\"a > b\">Green tea.<br>Black tea.</p></html></DOC>",
        "<DOC><DOCNO>d</DOCNO>Green&#32;tea&#x2e; <![CDATA[Black tea.]]></DOC>",
    ];
    for text in documents {
        let docs = sgml::read_documents(text.as_bytes(), "f").unwrap();
        let words: Vec<&str> = docs[0].text.split_whitespace().collect();
        assert_eq!((docs.len(), &*docs[0].id), (1, "d"), "{text}");
        assert_eq!(words.join(" "), "Green tea. Black tea.", "{text}");
    }
}

/// A field is named by its element in any case and form, by another element, or by an attribute.
#[test]
fn texts_of_named_fields() {
    let topics = "<top id='7' topic='coffee'>\n<title> Topic: tea\n<desc> Description:\ngreen tea\n\
                  <narr> leaves\n<conc>milk &amp; <b>sugar</b>\n</top>\n\
                  <top id='8' topic='x'><title>t<desc>d<narr>n<conc>c<conc>e</top>";
    let read = |name: &str| {
        let topics = sgml::read_topics_by_field(topics.as_bytes(), "f", name);
        topics.map(|topics| {
            topics
                .into_iter()
                .map(|topic| topic.text)
                .collect::<Vec<_>>()
        })
    };
    for (name, expected) in [
        ("title", ["tea", "t"]),
        ("text", ["tea", "t"]),
        ("desc", ["green tea", "d"]),
        ("Description", ["green tea", "d"]),
        ("NARR", ["leaves", "n"]),
        ("CONC", ["milk & sugar", "c e"]),
        ("topic", ["coffee", "x"]),
    ] {
        assert_eq!(read(name).unwrap(), expected, "{name}");
    }
    let error = read("b").unwrap_err().to_string();
    assert!(
        error.starts_with("f:8: expected a field \"b\", found \"title\""),
        "{error}"
    );
}
