//! bioCADDIE records: the XML form of a record that was read gives the same record.
#![no_main]

use ir_data::biocaddie::{Record, TextRule};
use libfuzzer_sys::fuzz_target;

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

fuzz_target!(|bytes: &[u8]| {
    let _ = Record::read_xml(bytes, "fuzz");
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let Ok(record) = Record::from_json(text, "fuzz", 1) else {
        return;
    };
    let metadata = serde_json::to_string(&record.metadata).expect("JSON");
    let xml = format!(
        "<DOC><DOCNO>{}</DOCNO><TITLE>{}</TITLE><REPOSITORY>{}</REPOSITORY>\
         <METADATA>{}</METADATA></DOC>",
        escaped(&record.id),
        escaped(&record.title),
        escaped(&record.repository),
        escaped(&metadata),
    );
    if !xml.contains('\0') {
        let again = Record::read_xml(xml.as_bytes(), "fuzz").expect("what was written");
        assert_eq!(again.metadata, record.metadata);
        assert_eq!(again.id, record.id);
    }
    for rule in [
        TextRule::Paths,
        TextRule::Organizers,
        TextRule::WholeRecord,
        TextRule::Fields,
    ] {
        let _ = record.clone().into_document(rule);
    }
});
