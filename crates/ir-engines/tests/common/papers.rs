//! Documents with attributes of every type, vectors and conditions, for the tests of all engines.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

use ir_core::{DocIds, Document, Predicate};
use ir_engines::{AttributeType, CollectionSchema, LoadOptions, RemoteVectorIndex, VectorTable};
use ir_testkit::toy;

pub const BATCH: LoadOptions = LoadOptions { batch: 7 };
pub const GRAPH: RemoteVectorIndex = RemoteVectorIndex::Hnsw {
    m: 16,
    ef_construction: 100,
};

pub fn table(n: usize) -> VectorTable {
    let ids: DocIds = (0..n).map(|n| format!("v{n:03}")).collect();
    VectorTable::new(ids, 6, toy::vectors(n, 6).concat()).unwrap()
}

/// Documents of [`schema`] and an attribute `tags`, which is a list. Attributes are absent from
/// some.
pub fn documents(n: usize) -> Vec<Document> {
    let document = |at: usize| {
        let mut document = Document::new(format!("v{at:03}")).with_text(format!("tea number {at}"));
        if !at.is_multiple_of(4) {
            document = document.with("year", 2000 + at as i64 % 20);
        }
        if !at.is_multiple_of(3) {
            document = document.with("venue", ["ACL", "a\"b\\", ""][at % 7 % 3]);
        }
        if !at.is_multiple_of(5) {
            document = document.with("x", at as f64 / 3.0 - 5.0);
            document = document.with("tags", [vec!["a", "b"], vec![], vec!["b"]][at % 3].clone());
        }
        document.with("open", at.is_multiple_of(2))
    };
    (0..n).map(document).collect()
}

pub fn schema() -> CollectionSchema {
    CollectionSchema::default()
        .with_attribute("year", AttributeType::Integer)
        .with_attribute("venue", AttributeType::Text)
        .with_attribute("x", AttributeType::Number)
        .with_attribute("open", AttributeType::Boolean)
}

/// Conditions on the attributes of [`schema`], further conditions, and combinations of them.
pub fn conditions(further: &[&str]) -> Vec<Predicate> {
    let all = [
        "year<=2007.5",
        "year>=2008",
        "year=2003,2005",
        "year!=2003",
        "year",
        "venue=ACL",
        "venue=a\"b\\",
        "venue!=ACL",
        "x<=-1",
        "x>=2.5",
        "x=2.5",
        "x!=-1,0",
        "open=true",
        "open!=true",
        "year>2008",
        "year<2008",
        "x>2.5",
        "x<2.5",
    ];
    let parse = |text: &&str| text.parse().unwrap();
    let mut all: Vec<Predicate> = all.iter().chain(further).map(parse).collect();
    let both = Predicate::All(all[..2].to_vec());
    let any = Predicate::Any(vec![all[0].clone(), all[5].clone()]);
    let neither = Predicate::Not(Box::new(any.clone()));
    all.extend([both, any, neither, Predicate::Any(Vec::new())]);
    all
}
