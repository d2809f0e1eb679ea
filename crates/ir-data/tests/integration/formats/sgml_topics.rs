//! TREC topics in SGML, with the elements of other campaigns.

use ir_data::{FileKind, ReadOptions, read_queries_from, sgml};

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
