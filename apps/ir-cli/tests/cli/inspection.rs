//! `ir inspect`: why a file has a format, and what of it is skipped.

use crate::common::Folder;
use serde_json::Value;

#[test]
fn reasons_and_skipped_elements() {
    let here = Folder::new();
    let inspect = |name: &str| -> Value {
        let ran = here.ir(&["inspect", name, "--json"]).ok();
        serde_json::from_str(&ran.out).unwrap()
    };
    here.write("qrels", "q 0 a 1\nq 0 b -1\n");
    let reason = "the lines have four columns, the last an integer";
    assert_eq!(inspect("qrels")["reason"], reason);
    here.write("qrels.json", "{\"q\": {\"a\": 1}}");
    let found = inspect("qrels.json");
    assert_eq!(
        (&found["kind"], &found["format"]),
        (&"judgments".into(), &"JSON".into())
    );
    assert!(found["reason"].to_string().contains("objects have grades"));
    here.write("run.json", "{\"q\": {\"a\": 1.5}}");
    let found = inspect("run.json");
    assert_eq!(
        (&found["kind"], &found["format"]),
        (&"run".into(), &"JSON".into())
    );
    assert!(found["reason"].to_string().contains("object of scores"));
    here.write(
        "docs.sgml",
        "<DOC>\n<DOCNO>1</DOCNO>\n<DOCHDR>url</DOCHDR>\n<!-- a -->\n<GRAPHIC>map</GRAPHIC>\n\
         <TEXT>tea <i>x</i><script>f()</script></TEXT>\n</DOC>\n\
         <DOC>\n<DOCNO>2</DOCNO>\n<BODY>tea</BODY>\n<GRAPHIC/>\n</DOC>\n",
    );
    let one = "1 document";
    let note = format!(
        "skipped: <DOCHDR> ({one}), <GRAPHIC> ({one}), comments ({one}), scripts and style sheets ({one})"
    );
    assert_eq!(inspect("docs.sgml")["notes"], serde_json::json!([note]));
    here.write(
        "topics.sgml",
        "<TOPIC>\n<NUM>1</NUM>\n<SLANG>EN</SLANG>\n<TITLE>tea</TITLE>\n<CONC>milk</CONC>\n</TOPIC>\n\
         <TOPIC>\n<NUM>2</NUM>\n<TITLE>tea <b>x</b></TITLE>\n<CONC>milk</CONC>\n</TOPIC>\n",
    );
    let note = "skipped: <CONC> (2 topics), <SLANG> (1 topic)";
    assert_eq!(inspect("topics.sgml")["notes"], serde_json::json!([note]));
}
