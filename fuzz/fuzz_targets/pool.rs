//! Judgment pools: a round trip preserves them.
#![no_main]

use ir_eval::assess::Pool;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(mut pool) = Pool::read(bytes, "fuzz") else {
        return;
    };
    let mut out = Vec::new();
    pool.write(&mut out)
        .expect("ids from a file have no white space");
    assert_eq!(
        Pool::read(&out[..], "fuzz").expect("written by Pool::write"),
        pool
    );
    assert_eq!(pool.iter().count(), pool.documents());
    assert_eq!(pool.shuffled(1).len(), pool.to_judge().count());
    let next = pool.to_judge().next();
    if let Some((query, doc)) = next.map(|(query, doc)| (query.to_owned(), doc.to_owned())) {
        let before = pool.to_judge().count();
        pool.judge(&query, &doc, 1).expect("a document to judge");
        assert_eq!(pool.to_judge().count(), before - 1);
    }
    let _ = (pool.qrels(), pool.strata("q1"));
});
