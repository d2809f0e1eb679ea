//! Clauses are compared with predicates and sets of documents.

use ir_core::{DocSet, WithCondition};
use proptest::prelude::*;

use super::*;

impl Clause {
    /// Evaluates a clause, independently of any engine.
    pub(crate) fn matches(&self, doc: u32, attributes: &Attributes) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Known { name } => attributes.get(name).is_some(),
            Self::Integers { name, least, most } => attributes
                .int(name)
                .is_some_and(|n| (*least..=*most).contains(&n)),
            Self::Number { name, bound, limit } => {
                let number = match attributes.get(name) {
                    Some(AttributeValue::Int(n)) => *n as f64,
                    Some(AttributeValue::Float(x)) => *x,
                    _ => return false,
                };
                number.partial_cmp(limit).is_some_and(bound.passes())
            }
            Self::IntegerIn { name, values } => {
                attributes.int(name).is_some_and(|n| values.contains(&n))
            }
            Self::TextIn { name, values } => match attributes.get(name) {
                Some(AttributeValue::Text(text)) => values.contains(text),
                Some(AttributeValue::List(all)) => all.iter().any(
                    |member| matches!(member, AttributeValue::Text(text) if values.contains(text)),
                ),
                _ => false,
            },
            Self::Boolean { name, value } => {
                attributes.get(name) == Some(&AttributeValue::Bool(*value))
            }
            Self::DocRange { first, last } => (*first..=*last).contains(&doc),
            Self::DocIn(all) => all.contains(&doc),
            Self::All(all) => all.iter().all(|it| it.matches(doc, attributes)),
            Self::Any(all) => all.iter().any(|it| it.matches(doc, attributes)),
            Self::Not(inner) => !inner.matches(doc, attributes),
        }
    }
}

fn schema() -> CollectionSchema {
    CollectionSchema::default()
        .with_attribute("i", AttributeType::Integer)
        .with_attribute("x", AttributeType::Number)
        .with_attribute("b", AttributeType::Boolean)
        .with_attribute("t", AttributeType::Text)
        .with_attribute("l", AttributeType::Texts)
}

fn integer() -> impl Strategy<Value = i64> {
    prop_oneof![
        -3_i64..3,
        any::<i64>(),
        Just(i64::MIN),
        Just(i64::MAX),
        (1_i64 << 53) - 2..(1_i64 << 53) + 3,
        2019_i64..2022,
        prop::sample::select(vec![
            -10_000_i64,
            -9_999,
            9_999,
            10_000,
            10_000_100,
            29_991_232
        ]),
        20_200_108_i64..20_200_113,
        20_200_199_i64..20_200_202,
    ]
}

fn limit() -> impl Strategy<Value = AttributeValue> {
    prop_oneof![
        integer().prop_map(AttributeValue::from),
        integer().prop_map(|n| (n as f64).into()),
        (-3.0..3.0).prop_map(AttributeValue::from),
        any::<f64>().prop_map(AttributeValue::from),
        Just(f64::NAN.into()),
        Just(f64::INFINITY.into()),
        "(000[12]-0[12](-10)?|-?[0-3](\\.0)?|a)".prop_map(AttributeValue::from),
        "2020-0[12](-1[01])?|20200[12]1[01]|20200199".prop_map(AttributeValue::from),
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("a".to_owned()),
        Just("b".to_owned()),
        Just("True".to_owned()),
        Just(String::new())
    ]
}

fn value() -> impl Strategy<Value = AttributeValue> {
    prop_oneof![
        integer().prop_map(AttributeValue::Int),
        any::<bool>().prop_map(AttributeValue::Bool),
        text().prop_map(AttributeValue::Text),
        limit(),
    ]
}

/// Integers of an attribute `year`.
fn year() -> impl Strategy<Value = i64> {
    prop_oneof![
        integer().prop_filter("beyond f64", |n| n.unsigned_abs() < 1 << 50),
        2014_i64..2023,
        9_990_i64..10_010,
        20_141_229_i64..20_150_103,
        10_000_099_i64..10_000_105,
        29_991_229_i64..29_991_235,
    ]
}

fn predicate() -> impl Strategy<Value = Predicate> {
    predicate_of(&["i", "x", "b", "t", "l"])
}

fn predicate_of(names: &'static [&'static str]) -> impl Strategy<Value = Predicate> {
    let name = move || prop::sample::select(names).prop_map(str::to_owned);
    let leaf = prop_oneof![
        (name(), limit(), any::<bool>()).prop_map(|(name, limit, strict)| {
            Predicate::AtMost {
                name,
                limit,
                strict,
            }
        }),
        (name(), limit(), any::<bool>()).prop_map(|(name, limit, strict)| {
            Predicate::AtLeast {
                name,
                limit,
                strict,
            }
        }),
        (name(), prop::collection::vec(value(), 0..4))
            .prop_map(|(name, values)| Predicate::OneOf { name, values }),
        name().prop_map(|name| Predicate::Known { name }),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Predicate::All),
            prop::collection::vec(inner.clone(), 0..3).prop_map(Predicate::Any),
            inner.prop_map(|it| Predicate::Not(Box::new(it))),
        ]
    })
}

prop_compose! {
    fn attributes()(
        i in prop::option::of(integer()),
        x in prop::option::of(-3.0..3.0),
        b in prop::option::of(any::<bool>()),
        t in prop::option::of(text()),
        l in prop::option::of(prop::collection::vec(text(), 0..3)),
    ) -> Attributes {
        let mut attributes = Attributes::new();
        if let Some(i) = i { attributes.set("i", i); }
        if let Some(x) = x { attributes.set("x", x); }
        if let Some(b) = b { attributes.set("b", b); }
        if let Some(t) = t { attributes.set("t", t); }
        if let Some(l) = l { attributes.set("l", l); }
        attributes
    }
}

proptest! {
    #[test]
    fn clauses_equal_predicates(predicate in predicate(), attributes in attributes()) {
        match Clause::from_predicate(&predicate, &schema()) {
            Ok(clause) => {
                let expected = predicate.matches(&attributes);
                prop_assert_eq!(clause.matches(0, &attributes), expected);
            }
            // Numbers of texts, and integers beyond f64, have no clause.
            Err(error) => {
                let text = error.to_string();
                let of_texts = text.contains("\"t\"") || text.contains("\"l\"");
                let is_known = of_texts && text.contains("found texts")
                    || text.contains("\"x\": expected a number of double precision")
                    || text.contains("\"x\": expected a number such as a year, found a date");
                prop_assert!(is_known, "{}", text);
            }
        }
    }

    /// Years are numbers, and dates as YYYYMMDD.
    #[test]
    fn clauses_of_years_equal_predicates(
        predicate in predicate_of(&["year"]), year in year(), fraction in 0..4_u8,
    ) {
        let number = year as f64 + f64::from(fraction) / 4.0;
        for (kind, value) in [
            (AttributeType::Integer, AttributeValue::from(year)),
            (AttributeType::Number, AttributeValue::from(number)),
        ] {
            let schema = CollectionSchema::default().with_attribute("year", kind);
            let attributes = Attributes::from_iter([("year", value)]);
            match Clause::from_predicate(&predicate, &schema) {
                Ok(clause) => {
                    let expected = predicate.matches(&attributes);
                    prop_assert_eq!(clause.matches(0, &attributes), expected, "{:?}", attributes);
                }
                Err(error) => {
                    let text = error.to_string();
                    let is_known = text.contains("expected a number of double precision")
                        || text.contains("expected a number such as a year, found a date");
                    prop_assert!(kind == AttributeType::Number && is_known, "{}", text);
                }
            }
        }
    }

    #[test]
    fn clauses_equal_sets(
        members in prop::collection::vec(any::<bool>(), 0..400), repeat in 1_usize..5,
    ) {
        let n = members.len() * repeat;
        let set = DocSet::select(n, |doc| members[doc.index() / repeat]);
        let clause = Clause::from_filter(&set, n, &schema()).unwrap();
        for doc in 0..n as u32 {
            let inside = set.contains(DocNum::new(doc));
            prop_assert_eq!(clause.matches(doc, &Attributes::new()), inside);
        }
    }
}

#[test]
fn filters_that_cannot_be_expressed() {
    let unknown = Predicate::Known {
        name: "year".into(),
    };
    let message = Clause::from_predicate(&unknown, &schema())
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("(i, x, b, t, l), found \"year\""),
        "{message}"
    );
    let texts = "expected numbers, found texts";
    let integer = "expected a number of double precision, found 9007199254740993";
    let date = "expected a number such as a year, found a date";
    for (condition, expected) in [
        ("t>=2015", texts),
        ("t=2015", texts),
        ("l=2015-03-01", texts),
        ("t=007", texts),
        ("x<=9007199254740993", integer),
        ("x<=2015-03-01", date),
        ("x=2015-03", date),
    ] {
        let predicate: Predicate = condition.parse().unwrap();
        let error = Clause::from_predicate(&predicate, &schema()).unwrap_err();
        let message = error.to_string();
        assert!(message.contains(expected), "{condition}: {message}");
    }
    for condition in [
        "t=geo",
        "t=\"007\"",
        "l=true",
        "x=2015",
        "x=20150301",
        "i=2015",
        "i<=9007199254740993",
        "i<=2015-03-01",
    ] {
        let condition: Predicate = condition.parse().unwrap();
        assert!(Clause::from_predicate(&condition, &schema()).is_ok());
    }
    let odd = |doc: DocNum| doc.get() % 2 == 1;
    assert!(Clause::from_documents(&odd, 2 * MAX_NUMBERS).is_ok());
    let message = Clause::from_documents(&odd, 2 * MAX_NUMBERS + 2)
        .unwrap_err()
        .to_string();
    assert!(message.contains("100001 ranges"), "{message}");
    // The condition of a filter has no limit. Without the attribute, its documents are used.
    let described = |name: &str| {
        let condition = Predicate::Known { name: name.into() };
        let filter = WithCondition {
            filter: &odd,
            condition,
        };
        Clause::from_filter(&filter, 2 * MAX_NUMBERS + 2, &schema())
    };
    let known = Clause::Known { name: "i".into() };
    assert_eq!(described("i").unwrap(), known);
    let message = described("year").unwrap_err().to_string();
    assert!(message.contains("100001 ranges"), "{message}");
}
