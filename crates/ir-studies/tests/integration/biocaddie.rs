//! Synthetic records: sizes, metadata, and the same records from the same seed.

use std::collections::BTreeMap;

use ir_core::{Corpus, Document};
use ir_data::biocaddie::{DATASETS, REPOSITORIES, Record, Repository};
use ir_studies::biocaddie::SyntheticRecords;

#[test]
fn synthetic_records() {
    let records = SyntheticRecords::new(3).with_fraction(0.001);
    let mut sizes: BTreeMap<String, u64> = BTreeMap::new();
    let (mut lists, mut without) = (0, 0);
    for (number, record) in (1_u64..).zip(records.iter()) {
        assert_eq!(record.id, number.to_string());
        *sizes.entry(record.repository_key().to_owned()).or_default() += 1;
        without += u64::from(record.metadata.is_none());
        let repository = Repository::find(record.repository_key()).unwrap();
        for path in repository.paths {
            let texts = record.texts(path);
            lists += u64::from(texts.len() > 1);
            assert_eq!(texts.is_empty(), record.metadata.is_none(), "{path}");
        }
        // Both forms give the record back.
        let metadata = serde_json::to_string(&record.metadata).unwrap();
        let title = serde_json::to_string(&record.title).unwrap();
        let line = format!(
            r#"{{"DOCNO": "{}", "TITLE": {title}, "REPOSITORY": "{}", "METADATA": {metadata}}}"#,
            record.id, record.repository
        );
        assert_eq!(Record::from_json(&line, "7.json", 1).unwrap(), record);
    }
    assert_eq!(sizes.values().sum::<u64>(), records.len());
    for repository in &REPOSITORIES {
        let expected = ((repository.datasets as f64 / 1000.0).round() as u64).max(1);
        assert_eq!(sizes[repository.key], expected);
    }
    assert!(lists > 100, "{lists} lists");
    assert!(without <= 5, "{without} records without METADATA");
    // The same seed, the same records; another seed, others.
    assert!(
        records
            .iter()
            .eq(SyntheticRecords::new(3).with_fraction(0.001).iter())
    );
    let first = |records: SyntheticRecords| records.iter().next().unwrap();
    assert_ne!(first(records).title, first(SyntheticRecords::new(4)).title);
    let whole = SyntheticRecords::new(3);
    assert_eq!(whole.len(), DATASETS);
    let docs: Vec<Document> = records.docs().unwrap().map(Result::unwrap).collect();
    assert_eq!(docs.len() as u64, records.len_hint().unwrap());
}
