//! The retriever contract of `ir-testkit` for an encoder behind [`Encoded`].

#![allow(clippy::unwrap_used, clippy::expect_used)]

use ir_core::{DocIds, Document, Encoded};
use ir_dense::{BiEncoder, RandomModel};
use ir_testkit::oracle::NaiveInnerProduct;
use ir_testkit::{check_text, toy};

fn text(document: &Document) -> String {
    format!("{} {}", document.title, document.text)
}

#[test]
fn encoder_satisfies_the_retriever_contract() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("model");
    let texts: Vec<String> = toy::documents().iter().map(text).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let config = RandomModel::default().with_shape(32, 2, 4);
    config.create(&model, &texts).unwrap();
    let encoder = BiEncoder::open(&model).unwrap();
    check_text(|documents| {
        let ids: DocIds = documents.iter().map(|d| d.id.as_str()).collect();
        let texts: Vec<String> = documents.iter().map(text).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let vectors = encoder.encode_documents(&texts).unwrap();
        let vectors = vectors.rows().into_iter().map(|row| row.to_vec());
        Encoded::new(
            encoder.clone(),
            NaiveInnerProduct::new(ids, vectors.collect()),
        )
    });
}
