use std::collections::HashSet;

use super::*;

fn example() -> TrainingExample {
    TrainingExample::new("tea")
        .with_query_id("q1")
        .positive(TrainingText::new("leaves").with_id("d1"))
        .negative(TrainingText::new("beans").with_score(0.5))
}

#[test]
fn the_fingerprint_is_the_hash_of_the_documented_bytes() {
    // The same computation by CPython 3.11.7:
    //   def fnv(b):
    //       h = 0xcbf29ce484222325
    //       for x in b: h = (h ^ x) * 0x100000001b3 % 2**64
    //       return h
    //   n = lambda k: k.to_bytes(8, "little")
    //   t = lambda s: n(len(s)) + s
    //   fnv(b"\1" + t(b"q1") + t(b"tea") + n(1) + b"\1" + t(b"d1") + t(b"leaves") + b"\0"
    //       + n(1) + b"\0" + t(b"beans") + b"\1" + struct.pack("<f", .5))
    assert_eq!(vec![example()].fingerprint(), 0x3865_4AE9_57B3_2647);
    assert_eq!(Vec::new().fingerprint(), 0xCBF2_9CE4_8422_2325);
}

#[test]
fn fingerprint_depends_on_every_field() {
    let whole = vec![example()].fingerprint();
    let change = |edit: &dyn Fn(&mut TrainingExample)| {
        let mut other = example();
        edit(&mut other);
        vec![other].fingerprint()
    };
    let others = [
        change(&|e| e.query_id = None),
        change(&|e| e.query.push('s')),
        change(&|e| e.positives[0].id = None),
        change(&|e| e.positives[0].text.clear()),
        change(&|e| e.negatives[0].score = None),
        change(&|e| e.negatives.clear()),
        change(&|e| e.positives.append(&mut e.negatives)),
        vec![example(), example()].fingerprint(),
    ];
    let different: HashSet<u64> = others.into_iter().chain([whole]).collect();
    assert_eq!(different.len(), others.len() + 1);
}

#[test]
fn invalid_examples() {
    let check = |edit: &dyn Fn(&mut TrainingExample)| {
        let mut other = example();
        edit(&mut other);
        match vec![example(), other].get(1) {
            Err(TrainingSetError::Invalid { index: 1, source }) => Some(source),
            Err(error) => panic!("{error}"),
            Ok(_) => None,
        }
    };
    use InvalidExample::{EmptyPositive, EmptyQuery, NoPositives, PositiveIsNegative, Score};
    assert_eq!(check(&|e| e.query = " \n".into()), Some(EmptyQuery));
    assert_eq!(check(&|e| e.positives.clear()), Some(NoPositives));
    let (positive, negative) = (0, 0);
    let twice = Some(PositiveIsNegative { positive, negative });
    for text in ["leaves", " leaves\n"] {
        assert_eq!(check(&|e| e.negatives[0].text = text.into()), twice);
    }
    assert_eq!(check(&|e| e.negatives[0].id = Some("d1".into())), twice);
    let infinite = check(&|e| e.negatives[0].score = Some(f32::INFINITY));
    let (field, at, found) = ("negatives", 0, f32::INFINITY);
    assert_eq!(infinite, Some(Score { field, at, found }));
    let empty = check(&|e| e.positives.push(TrainingText::new(" \t")));
    assert_eq!(empty, Some(EmptyPositive { positive: 1 }));
    // Valid: no negatives, an empty negative, a text of a megabyte.
    assert_eq!(check(&|e| e.negatives.clear()), None);
    assert_eq!(check(&|e| e.negatives.push(TrainingText::new(""))), None);
    assert_eq!(check(&|e| e.positives[0].text = "x".repeat(1 << 20)), None);
    let none = Vec::new().get(3).unwrap_err().to_string();
    assert_eq!(none, "expected a training example below 0, found 3");
}
