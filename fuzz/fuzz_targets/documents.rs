//! Documents of all formats: nothing panics, and answers of frames occur at their offsets.
#![no_main]

use ir_qa::documents::{DocumentFormat, DocumentReader};
use ir_qa::frames::FrameConfig;
use ir_qa::sentences::Language;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, &[u8])| {
    let formats = [
        DocumentFormat::Text,
        DocumentFormat::Markdown,
        DocumentFormat::Html,
        DocumentFormat::Xml,
        DocumentFormat::Squad,
    ];
    let (choice, bytes) = input;
    let format = formats[usize::from(choice) % formats.len()];
    let Ok(file) = DocumentReader::default().read_bytes(bytes, format, "fuzz", "fuzz") else {
        return;
    };
    for paper in &file.papers {
        for language in [Language::English, Language::Chinese] {
            for frame in FrameConfig::new(language).convert_paper(paper).frames {
                frame.check().expect("answer at its offset");
            }
        }
    }
});
