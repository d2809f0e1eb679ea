//! TREC documents and topics in SGML.

use ir_data::sgml;

#[test]
fn trec_documents() {
    let read = |text: &str| sgml::read_documents(text.as_bytes(), "f");
    let text = "\n<DOC>\n<DOCNO> FT911-3 </DOCNO>\n<PROFILE>_AN</PROFILE>\n<HEADLINE>\nFT  14 MAY /\n  Tea\n\
                </HEADLINE>\n<TEXT>\nprices &lt; 3 < 4\n<P>\nmore\n</TEXT>\n<PUB>The paper</PUB>\n<TEXT>end</TEXT>\n</DOC>\r\n\
                <doc><docno>2</docno> <i class=\"x\">all</i> of it<DOCHDR>http</DOCHDR></doc>\n\
                <DOC>\n<DOCNO>3</DOCNO>\n</DOC>\n";
    let docs = read(text).unwrap();
    let fields: Vec<_> = docs
        .iter()
        .map(|doc| (doc.id.as_str(), doc.title.as_str(), doc.text.as_str()))
        .collect();
    assert_eq!(
        fields,
        [
            ("FT911-3", "FT 14 MAY / Tea", "prices < 3 < 4\n\nmore\nend"),
            ("2", "", "all of it"),
            ("3", "", ""),
        ]
    );
    assert!(read("\n").unwrap().is_empty());
    for (text, expected) in [
        ("tea", "f:1: expected <DOC>, found \"tea\""),
        (
            "\n<DOC>\n<TEXT>a</TEXT>\n</DOC>",
            "f:2: expected a field \"DOCNO\", found none",
        ),
        (
            "<DOC>\n<DOCNO>1</DOCNO>\n",
            "f:1: expected </DOC>, found \"the end of the file\"",
        ),
        (
            "<DOC><DOCNO>1</DOCNO></DOC>\n<DOC><DOCNO>1</DOCNO></DOC>",
            "f:2: expected a unique id, found \"1\", which is also on line 1",
        ),
    ] {
        assert_eq!(read(text).unwrap_err().to_string(), expected);
    }
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
    let fields: Vec<_> = topics
        .iter()
        .map(|topic| (topic.id.as_str(), topic.text.as_str()))
        .collect();
    assert_eq!(
        fields,
        [
            ("51", "Airbus Subsidies"),
            ("A7", "river"),
            ("203", "What is tea?"),
            ("0", "zero")
        ]
    );
    let attributes = &topics[0].attributes;
    assert_eq!(attributes.text("description"), Some("Aid & loans."));
    assert_eq!(attributes.text("narrative"), Some("All."));
    for (text, expected) in [
        (
            "<top>\n<title> tea\n</top>",
            "f:1: expected a field \"num\", found none",
        ),
        (
            "<top>\n<num> 1\n</top>",
            "f:1: expected a field \"title\", found none",
        ),
        ("<num> 1", "f:1: expected <top>, found \"<num> 1\""),
    ] {
        assert_eq!(read(text).unwrap_err().to_string(), expected);
    }
}
