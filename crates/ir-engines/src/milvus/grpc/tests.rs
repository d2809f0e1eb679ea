//! Bytes of messages, compared with the bytes of the Python package protobuf 7.36.2 with the
//! message types of pymilvus 3.0.2.

use ir_core::{Attributes, VectorSimilarity};

use super::messages::{Ids, IndexDescription, Longs, SearchResultData, pairs};
use super::*;
use crate::AttributeType;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits = (0..hex.len()).step_by(2);
    digits
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
        .collect()
}

const SCHEMA: &str = "0a0670617065727312077b2272223a317d220712016e18012805221b12026964281532130a0a6d61785f6c656e6774681205363535333522141206766563746f72286532080a0364696d12013222621208636f6e74656e7473281532130a0a6d61785f6c656e6774681205363535333532170a0f656e61626c655f616e616c797a657212047472756532260a0f616e616c797a65725f706172616d7312137b2274797065223a227374616e64617264227d220c12057465726d732868800101220f1209617474725f7965617228056801220e120a6b6e6f776e5f7965617228013a190a04626d323520012a08636f6e74656e74733a057465726d73";

const INSERT: &str = "1a067061706572732a0d080512016e1a061a040a0207082a110815120269641a0932070a01610a02c3bc2a2208651206766563746f722216080212120a100000803f000000bf0000803e000000402a2208151208636f6e74656e74731a1432120a0a5469746c6520746578740a04746578742a1608051209617474725f796561721a071a050a03df0f002a160801120a6b6e6f776e5f796561721a060a040a0201002a20080b1206617474725f781a142a120a10000000000000e03f00000000000000002a13080112076b6e6f776e5f781a060a040a0201003802";

#[test]
fn requests_have_the_bytes_of_protobuf() {
    let record = CollectionRecord {
        format: RECORD_FORMAT.to_owned(),
        schema: CollectionSchema::default()
            .with_attribute("year", AttributeType::Integer)
            .with_partition_key("year"),
        dim: Some(2),
        texts: true,
        engine_settings: String::new(),
        documents: 2,
        fingerprint: String::new(),
        attributes_fingerprint: None,
        encoder: None,
    };
    let texts = TextIndexing {
        analysis: TextAnalysis::LuceneStandard,
        ..TextIndexing::default()
    };
    let built = schema("papers", r#"{"r":1}"#, &record, Some(&texts)).unwrap();
    assert_eq!(hex(&built.encode_to_vec()), SCHEMA);
    let create = CreateCollectionRequest {
        collection_name: "papers".to_owned(),
        schema: vec![1, 2],
        shards_num: 1,
        consistency_level: level(Consistency::Strong),
        properties: pairs([(PROPERTY, r#"{"r":1}"#.to_owned())]),
    };
    assert_eq!(
        hex(&create.encode_to_vec()),
        "1a067061706572732202010228013a140a0969725f72656d6f746512077b2272223a317d"
    );
    let mut attributes = Attributes::new();
    attributes.set("year", 2015_i64);
    attributes.set("x", 0.5);
    let pair = |title: &str, text: &str| (title.to_owned(), text.to_owned());
    // The first row is not sent.
    let batch = RowBatch {
        first: 6,
        ids: vec!["z".to_owned(), "a".to_owned(), "ü".to_owned()],
        texts: vec![pair("", ""), pair("Title", "text"), pair("", "text")],
        attributes: vec![Attributes::new(), attributes, Attributes::new()],
        vectors: vec![9.0, 9.0, 1.0, -0.5, 0.25, 2.0],
    };
    let with_x = CollectionSchema::default()
        .with_attribute("year", AttributeType::Integer)
        .with_attribute("x", AttributeType::Number);
    let insert = InsertRequest {
        collection_name: "papers".to_owned(),
        fields_data: columns(&with_x, &batch, &[1, 2]),
        num_rows: 2,
    };
    assert_eq!(hex(&insert.encode_to_vec()), INSERT);
    let search = |field, metric, ef| GrpcSearch {
        collection: "papers",
        field,
        expression: "n >= 1",
        limit: 10,
        metric,
        ef,
        consistency: Consistency::Eventual,
    };
    let metric = metric(VectorSimilarity::InnerProduct);
    let vectors = search(VECTOR, metric, Some(100)).vectors(&[&[1.0, -0.5]]);
    assert_eq!(
        hex(&vectors.encode_to_vec()),
        "1a067061706572732a066e203e3d203132120a100a02243010651a080000803f000000bf38014a140a0a616e6e735f6669656c641206766563746f724a0a0a04746f706b120231304a110a0b6d65747269635f74797065120249504a140a06706172616d73120a7b226566223a3130307d4a130a0d726f756e645f646563696d616c12022d31580160017003"
    );
    let texts = search(super::TERMS, "BM25", None).texts(&["tea"]);
    assert_eq!(
        hex(&texts.encode_to_vec()),
        "1a067061706572732a066e203e3d2031320d0a0b0a02243010151a0374656138014a130a0a616e6e735f6669656c6412057465726d734a0a0a04746f706b120231304a130a0b6d65747269635f747970651204424d32354a0c0a06706172616d7312027b7d4a130a0d726f756e645f646563696d616c12022d31580160017003"
    );
}

#[test]
fn responses_are_those_of_protobuf() {
    let results = bytes(
        "0a00122008021002220c0000003f0000803e000040402a080a060a040401ac02320202011a06706170657273",
    );
    let results = SearchResults::decode(&*results).unwrap();
    assert_eq!(results.status, Some(Status::default()));
    let data = results.results.unwrap();
    assert_eq!(data.scores, [0.5, 0.25, 3.0]);
    assert_eq!(data.ids.unwrap().integers.unwrap().data, [4, 1, 300]);
    assert_eq!(data.topks, [2, 1]);
    let description = format!(
        "0a1a08041214636f6c6c656374696f6e206e6f7420666f756e64186412fb01{SCHEMA}6a140a0969725f72656d6f746512077b2272223a317d"
    );
    let description = DescribeCollectionResponse::decode(&*bytes(&description)).unwrap();
    assert!(is_missing(description.status().unwrap()));
    assert!(check(description.status(), "describe the collection").is_err());
    let decoded = description.schema.unwrap();
    assert_eq!(decoded.description, r#"{"r":1}"#);
    assert_eq!(decoded.fields.len(), 7);
    assert!(decoded.fields[4].is_function_output && decoded.fields[5].is_partition_key);
    assert_eq!(description.properties[0].key, PROPERTY);
}

#[test]
fn analyses_that_milvus_has() {
    let texts = |analysis, k1| TextIndexing {
        analysis,
        k1,
        b: 0.4,
    };
    for analysis in [
        TextAnalysis::English,
        TextAnalysis::LuceneStandard,
        TextAnalysis::Whitespace,
    ] {
        check_texts(&texts(analysis, 0.9)).unwrap();
        assert!(check_texts(&texts(analysis, 0.0)).is_err());
    }
    let message = check_texts(&TextIndexing::default())
        .unwrap_err()
        .to_string();
    assert!(message.contains("found anserini"), "{message}");
}

#[test]
fn errors_that_another_attempt_may_resolve() {
    // Field 4 of Status is `retriable`.
    let status = Status::decode(&b"\x08\x01\x12\x04busy\x18\x67\x20\x01"[..]).unwrap();
    assert_eq!(
        transient(&status),
        Some((503, "busy (code 103)".to_owned()))
    );
    let status = |code, retriable| Status {
        error_code: 1,
        reason: "busy".to_owned(),
        code,
        retriable,
    };
    let limited = Some((429, "busy (code 8)".to_owned()));
    assert_eq!(transient(&status(8, false)), limited);
    assert_eq!(transient(&status(1, false)), None);
    assert_eq!(transient(&status(0, true)), None);
    assert_eq!(transient(&Status::default()), None);
}

#[test]
fn the_index_of_a_field() {
    let index = |field: &str, rows| IndexDescription {
        field_name: field.to_owned(),
        indexed_rows: rows,
        total_rows: rows + 1,
        pending_index_rows: -1,
    };
    // Milvus describes all indexes of the collection.
    let mut response = DescribeIndexResponse {
        status: Some(Status::default()),
        index_descriptions: vec![index(TERMS, 3), index(VECTOR, 5)],
    };
    // Field 4 of IndexDescription is the name of the field.
    let encoded = response.index_descriptions[0].encode_to_vec();
    assert!(encoded.starts_with(b"\x22\x05terms"), "{encoded:?}");
    assert_eq!(rows_of_index(&response, VECTOR).unwrap(), Some((5, 6, 0)));
    assert_eq!(rows_of_index(&response, TERMS).unwrap(), Some((3, 4, 0)));
    response.index_descriptions.truncate(1);
    assert_eq!(rows_of_index(&response, VECTOR).unwrap(), None);
    for (error_code, code) in [(25, 700), (11, 0), (0, 700)] {
        response.status = Some(Status {
            error_code,
            code,
            reason: "index not found".to_owned(),
            ..Status::default()
        });
        assert_eq!(rows_of_index(&response, TERMS).unwrap(), None);
    }
    response.status = Some(Status {
        error_code: 1,
        ..Status::default()
    });
    assert!(rows_of_index(&response, TERMS).is_err());
}

#[test]
fn hits_with_invalid_counts() {
    let data = |topks: &[i64], numbers: &[i64]| SearchResultData {
        scores: vec![0.5; numbers.len()],
        ids: Some(Ids {
            integers: Some(Longs {
                data: numbers.to_vec(),
            }),
        }),
        topks: topks.to_vec(),
    };
    let found = hits(&data(&[2, 0, 1], &[4, 1, 7]), 3).unwrap();
    assert_eq!(found, [vec![(4, 0.5), (1, 0.5)], vec![], vec![(7, 0.5)]]);
    for topks in [
        &[2, 2][..],
        &[1, 1],
        &[4, -1],
        &[i64::MAX, i64::MAX],
        &[i64::MAX, 1],
        &[3],
    ] {
        assert_eq!(hits(&data(topks, &[4, 1, 7]), 2), None, "{topks:?}");
    }
    assert_eq!(hits(&data(&[1], &[-1]), 1), None);
    let mut unequal = data(&[1], &[4]);
    unequal.scores.clear();
    assert_eq!(hits(&unequal, 1), None);
}
