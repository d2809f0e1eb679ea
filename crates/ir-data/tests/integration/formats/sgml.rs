//! TREC documents and topics in SGML.

use std::io::Write;

use ir_core::Corpus;
use ir_data::sgml::{self, SgmlCorpus};
use ir_data::{DocumentFile, FileKind, ReadOptions, TextEncoding, read_queries_from};

#[test]
fn trec_documents() {
    let read = |text: &str| sgml::read_documents(text.as_bytes(), "f");
    let text = "\n<DOC>\n<DOCNO> FT911-3 </DOCNO>\n<PROFILE>_AN</PROFILE>\n<HEADLINE>\nFT  14 MAY /\n  Tea\n\
                </HEADLINE>\n<TEXT>\nprices &lt; 3 < 4\n<P>\nmore\n</TEXT>\n<PUB>The paper</PUB>\n<TEXT>end</TEXT>\n</DOC>\r\n\
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
    assert!(read("\n").unwrap().is_empty());
    let table = r#"tea => f:1: expected <DOC>, found "tea"
\n<DOC>\n<TEXT>a</TEXT>\n</DOC> => f:2: expected a field "DOCNO", found none
<DOC>\n<DOCNO>1</DOCNO>\n => f:1: expected </DOC>, found "the end of the file"
<DOC><DOCNO>1</DOCNO></DOC>\n<DOC><DOCNO>1</DOCNO></DOC> => f:2: expected a unique id, found "1", which is also on line 1"#;
    super::assert_cases(table, |text| read(text).unwrap_err().to_string());
}

#[test]
fn trec_topics() {
    let read = |text: &str| sgml::read_topics(text.as_bytes(), "f");
    let text = "<top>\n\n<head> Tipster Topic\n<num> Number: 051\n<dom> Domain: Economics\n\
                <title> Topic:  Airbus\nSubsidies\n\n<desc> Description:\nAid &amp; loans.\n\n<narr> Narrative:\nAll.\n\n</top>\n\
                <top>\n<num>A7</num><title>river</title>\n</top>\n\
                <top>\n<num> Number: 203\n<desc> Description:\nWhat is tea?\n</top>\n\
                <top>\n<num> 0\n<title> zero\n</top>\n";
    let topics = read(text).unwrap();
    let expected = [
        ("51", "Airbus Subsidies"),
        ("A7", "river"),
        ("203", "What is tea?"),
        ("0", "zero"),
    ];
    let fields = topics.iter().map(|topic| (&*topic.id, &*topic.text));
    assert_eq!(fields.collect::<Vec<_>>(), expected);
    let attributes = &topics[0].attributes;
    assert_eq!(attributes.text("description"), Some("Aid & loans."));
    assert_eq!(attributes.text("narrative"), Some("All."));
    let table = r#"<top>\n<title> tea\n</top> => f:1: expected a field "num", found "title"
<topic lang="en" key=1>\n<docid>4</docid><title>tea</title>\n</topic> => f:1: expected a field "num", found "lang", "key", "docid", "title"
<top>\n<num> 1\n</top> => f:1: expected a field "title", found none
<num> 1 => f:1: expected <top>, <topic>, <inex_topic> or <query> below <queries>, found "<num> 1"
</topic> => f:1: expected <top>, <topic>, <inex_topic> or <query> below <queries>, found "</topic>"
<?xml version='1.0'?>\n<!-- a\n<top> => f:2: expected -->, found "the end of the file"
<topics>\n<topic number='1'>\n<disease>flu</disease></topic> => f:2: expected a field "title", found "disease""#;
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

#[test]
fn topics_are_never_merged() {
    let read = |text: &str| {
        let topics = sgml::read_topics(text.as_bytes(), "f").map_err(|error| error.to_string())?;
        let fields = topics.into_iter().map(|topic| (topic.id, topic.text));
        Ok::<Vec<_>, String>(fields.collect())
    };
    let two = [("1", "tea"), ("2", "milk")].map(|(id, text)| (id.to_owned(), text.to_owned()));
    let text = "<top><num>1<title>tea</top><top><num>2<title>milk</top>";
    assert_eq!(read(text).unwrap(), two);
    let table = r#"<top>\n<num> 1\n<title> tea\n\n<top>\n<num> 2\n<title> milk\n</top> => f:5: expected </top>, found "<top>"
<top>\n<num> 1\n<title> tea\n<TOP\n>\n<title> milk\n</top> => f:4: expected </top>, found "<TOP\n>"
<top>\n<num> 1\n<title> tea\n<num> 2\n<title> milk\n</top> => f:4: expected one field "num", found two
<top>\n<num> 1\n<title> tea\n<desc> a\n<TITLE> milk\n</top> => f:5: expected one field "title", found two
<top>\n<num> 1\n<title> tea\n => f:1: expected </top>, found "the end of the file"
<top>\n<num> Number: 1\ntea\n<title> milk\n</top> => f:2: expected an id without white space in <num>, found "1 tea""#;
    super::assert_cases(table, |text| read(text).unwrap_err());
}

/// Only tags of topic sections end a field.
#[test]
fn topic_fields_with_other_tags() {
    let text = "<top>\n<num> 1\n<title> the <i>green</i> tea <br/> leaves\n\
                <desc> a <b>b</b> c\n<con> Concepts: d\n<narr> e </p> f\n<fac> g <nat> h </fac> i\n</top>\n\
                <top>\n<num> 2 </num>\n<title> milk </title>\n<querytime> now </querytime>\n</top>\n";
    let topics = sgml::read_topics(text.as_bytes(), "f").unwrap();
    assert_eq!(topics[0].text, "the green tea leaves");
    assert_eq!(topics[0].attributes.text("description"), Some("a b c"));
    assert_eq!(topics[0].attributes.text("narrative"), Some("e f"));
    assert_eq!(topics[1].text, "milk");
    for name in ["con", "smry", "fac", "def", "dom", "head", "nat", "TIME"] {
        for tag in [format!("<{name}>"), format!("</{name}>")] {
            let text = format!("<top>\n<num> 1\n<title> tea\n{tag} milk\n</top>\n");
            let topics = sgml::read_topics(text.as_bytes(), "f").unwrap();
            assert_eq!(topics[0].text, "tea", "{tag}");
        }
    }
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

/// The forms of TREC, TREC in XML (COVID, Web, Clinical Trials), CLEF, NTCIR and FIRE, by hand.
#[test]
fn topics_of_all_tracks() {
    let topics = [
        "<topics>\n<top lang=\"en\">\n<num>7</num>\n<title>green tea</title>\n</top>\n</topics>\n",
        "<?xml version=\"1.0\"?>\n<!DOCTYPE topics>\n<topics task='adhoc'>\n<!-- one\ntopic -->\n\
         <topic number=\"7\" type=\"faceted\">\n  <query>green tea</query>\n  <question>Is green \
         tea &lt; hot?</question>\n  <narrative>All.</narrative>\n  <subtopic number=\"1\">\
         black</subtopic>\n</topic>\n</topics>\n",
        "<topics><topic number=\"7\">\n green\n tea\n</topic></topics>",
        "<topic><identifier>7</identifier><title>green tea</title><description>Tea \
         leaves.</description></topic>",
        "<top>\n<num> 7 </num>\n<EN-title> green tea </EN-title>\n<EN-desc> Tea. </EN-desc>\n\
         <EN-narr> All. </EN-narr>\n</top>\n",
        "<TOPIC>\n<NUM>7</NUM>\n<TITLE>green tea</TITLE>\n<CONC>leaves</CONC>\n</TOPIC>\n",
        "<topic id='7'><title><![CDATA[green tea]]></title></topic>",
        "<topic number=\"7\"\n type=\"x\">\n<title>green tea</title>\n</topic>",
        "<topics>\n<topic id=\"7\" title=\"green\n tea\"/>\n</topics>",
        "<topic id=\"7\"><title/><query>green tea</query></topic>",
        "<queries>\n<query>\n<qid>7</qid>\n<content>green tea</content>\n\
         <description>Tea.</description>\n</query>\n</queries>",
        "<?xml version=\"1.0\"?>\n<queries>\n<query><id>7</id><title>green tea</title>\
         <desc>Tea.</desc></query>\n</queries>",
        "\u{feff}<TOP>\r\n<NUM> Number: 7\r\n<TITLE> green\r\ntea\r\n</TOP>\r\n",
    ];
    for text in topics {
        let read = sgml::read_topics(text.as_bytes(), "f").unwrap();
        let found: Vec<_> = read
            .iter()
            .map(|topic| (&*topic.id, &*topic.text))
            .collect();
        assert_eq!(found, [("7", "green tea")], "{text}");
    }
    let covid = sgml::read_topics(topics[1].as_bytes(), "f").unwrap();
    let attributes: Vec<_> = covid[0].attributes.iter().map(|(name, _)| name).collect();
    assert_eq!(attributes, ["narrative", "question"]);
    assert_eq!(
        covid[0].attributes.text("question"),
        Some("Is green tea < hot?")
    );
}

#[test]
fn fields_of_subtopics_are_skipped() {
    let sub = "<num>9</num><title>black</title><description>hot</description>";
    for subtopics in [
        format!("<subtopic number=\"1\">{sub}</subtopic>"),
        format!("<SUBTOPIC>{sub}</SUBTOPIC>\n<subtopic>black <i>tea</i> {sub}</subtopic\n>"),
        format!("<subtopics><subtopic>{sub}</subtopic></subtopics>"),
        format!("<subtopic>{sub}<subtopic>{sub}</subtopic>{sub}</subtopic>"),
        "<subtopic number=\"1\"/>".to_owned(),
        "<subtopic> black".to_owned(),
    ] {
        let text = format!(
            "<topics><topic number=\"7\">\n<title>tea</title>\n{subtopics}\n\
             <description>a leaf</description>{subtopics}</topic></topics>"
        );
        let topics = sgml::read_topics(text.as_bytes(), "f").unwrap();
        let fields = (&*topics[0].id, &*topics[0].text);
        assert_eq!(fields, ("7", "tea"), "{text}");
        let description = topics[0].attributes.text("description");
        assert_eq!(description, Some("a leaf"), "{text}");
    }
}

/// Only `Number:` says that the zeros before an id are none of the judgments.
#[test]
fn leading_zeros_of_topics() {
    for (topic, expected) in [
        ("<top><num> Number: 051<title>tea</top>", "51"),
        (
            "<TOP>\n<NUM>Number:\n051</NUM><TITLE>tea</TITLE></TOP>",
            "51",
        ),
        ("<top><num> Number: 000<title>tea</top>", "000"),
        ("<top><num> Number: 0A7<title>tea</top>", "0A7"),
        ("<top><num>051</num><title>tea</title></top>", "051"),
        (
            "<queries><query><qid>0001</qid><content>tea</content></query></queries>",
            "0001",
        ),
        (
            "<topics><topic number=\"007\"><query>tea</query></topic></topics>",
            "007",
        ),
        (
            "<topic><identifier>0010</identifier><title>tea</title></topic>",
            "0010",
        ),
    ] {
        let topics = sgml::read_topics(topic.as_bytes(), "f").unwrap();
        assert_eq!(topics[0].id, expected, "{topic}");
    }
    let both = "<top><num>1<title>tea</top>\n<top><num>01<title>milk</top>";
    assert_eq!(sgml::read_topics(both.as_bytes(), "f").unwrap().len(), 2);
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

/// Ids of topics of NTCIR and INEX, as attributes and as elements.
#[test]
fn ids_of_ntcir_and_inex() {
    for (text, id) in [
        ("<TOPIC q=0101><TITLE>boats</TITLE></TOPIC>", "0101"),
        (
            "<TOPIC><TOPICID>0001</TOPICID><TITLE>boats</TITLE></TOPIC>",
            "0001",
        ),
        (
            "<topic topic_id=\"201\" q='x'><title>boats</title></topic>",
            "201",
        ),
        ("<topic number='7' q='x'><title>boats</title></topic>", "7"),
        (
            "<?xml version=\"1.0\"?>\n<inex_topic topic_id=\"202\" query_type=\"CO+S\">\n\
             <title>boats</title>\n<castitle>//article[about(., boats)]</castitle>\n</inex_topic>",
            "202",
        ),
        (
            "<inex_topics><inex_topic topic_id=\"3\"><title>boats</title></inex_topic></inex_topics>",
            "3",
        ),
    ] {
        let (queries, format) =
            read_queries_from(text.as_bytes(), "f", &ReadOptions::default()).unwrap();
        assert_eq!(format.name(), "topics", "{text}");
        let found: Vec<_> = queries.iter().map(|it| (&*it.id, &*it.text)).collect();
        assert_eq!(found, [(id, "boats")], "{text}");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        std::fs::write(&path, text).unwrap();
        assert_eq!(
            FileKind::detect(&path).unwrap(),
            FileKind::Queries,
            "{text}"
        );
    }
}
