//! Parsed papers, answers of language models, and result lists of other engines.
#![no_main]

use ir_core::Document;
use ir_data::results::{DocNames, ResultColumn, read_results_json, read_results_tsv};
use ir_data::s2orc::read_papers;
use ir_studies::papers::{
    DatasetLinks, DatasetRecord, DatasetTagger, ExtractiveWriter, PaperQuery, QueryAnswer,
    QueryWriter, ScrubbingRule, TaggingRules, scrub_names, sentences,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let documents = [Document::new("a_b").with_title("t"), Document::new("c")];
    if let Ok(papers) = read_papers(bytes, "fuzz") {
        let datasets = documents.each_ref().map(DatasetRecord::from_document);
        let links = DatasetLinks::new(&datasets, &papers);
        for paper in &papers {
            for paragraph in paper.paragraphs() {
                for citation in &paragraph.citations {
                    assert!(paragraph.text.get(citation.range.clone()).is_some());
                }
            }
            let tagger = DatasetTagger::new(&datasets, &links, TaggingRules::default());
            let written = ExtractiveWriter::default().write(paper);
            if let (Ok(tags), Ok(answer)) = (tagger.tag(paper), written) {
                let rule = ScrubbingRule::default();
                let query = PaperQuery::new(paper, &answer, &tags, &datasets, rule);
                assert!(!query.positives.is_empty());
            }
        }
    }
    let names = DocNames::new(&documents);
    let columns = [
        ResultColumn::Query,
        ResultColumn::Rank,
        ResultColumn::Result,
    ];
    let lists = [
        read_results_tsv(bytes, "fuzz", &columns),
        read_results_json(bytes, "fuzz"),
    ];
    for result in lists
        .iter()
        .flatten()
        .flatten()
        .flat_map(|list| &list.results)
    {
        let _ = names.doc(result);
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let parts: usize = sentences(text)
        .map(|it| it.split_whitespace().count())
        .sum();
    assert!(parts >= text.split_whitespace().count());
    for rule in [ScrubbingRule::Corrected, ScrubbingRule::Published] {
        let name = text.get(..4).unwrap_or("name");
        let scrubbed = scrub_names(text, &[name], rule);
        assert!(!scrubbed.contains("[DATASET] [DATASET]"));
    }
    for parse in [QueryAnswer::parse, QueryAnswer::parse_completion] {
        if let Ok(answer) = parse(text) {
            assert_eq!(QueryAnswer::parse(&answer.to_string()), Ok(answer));
        }
    }
});
