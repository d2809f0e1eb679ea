//! Tagged texts in CoNLL-U: no line panics, and a filter of all tags keeps the words.
#![no_main]

use ir_studies::part_of_speech::{
    PartOfSpeech, PartOfSpeechFilter, PartOfSpeechTagger, TaggedTexts,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(texts) = TaggedTexts::read(bytes, "fuzz") else {
        return;
    };
    let text = String::from_utf8_lossy(bytes);
    if let Ok(words) = texts.tag(&text) {
        let kept = PartOfSpeechFilter::new(PartOfSpeech::ALL).apply(&texts, &text);
        let words: Vec<String> = words.into_iter().map(|word| word.text).collect();
        assert!(text.trim().is_empty() || kept.expect("tagged before") == words.join(" "));
    }
});
