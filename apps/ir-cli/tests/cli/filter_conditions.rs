//! `--filter`: dates, numbers and truth values in several spellings, conditions without effect.

use crate::common::{Folder, tiny};

#[test]
fn filter_conditions_without_effect() {
    let here = Folder::new();
    tiny(&here);
    here.ir("index tiny -o tiny.ir").ok();
    for what in ["tiny", "tiny.ir"] {
        let err = |filter| {
            here.ir(&["search", what, "tea", "--filter", filter])
                .ok()
                .err
        };
        for valid in [
            "year<=2015",
            "year!=2012",
            "kind=drink",
            "kind",
            "year=2012",
            "year==2012",
            "year<2016",
            "year > 2011",
        ] {
            assert_eq!(err(valid), "", "{valid}");
        }
        for (filter, expected) in [
            (
                "yeer<=2015",
                "no document has an attribute \"yeer\"; all pass (did you mean year?)",
            ),
            (
                "yeer<2015",
                "no document has an attribute \"yeer\"; all pass (did you mean year?)",
            ),
            (
                "year=2018-06-32",
                "\"2018-06-32\" is not a date and is compared as text (dates are YYYY-MM-DD)",
            ),
            (
                "yeer!=2015",
                "no document has an attribute \"yeer\"; all pass (did you mean year?)",
            ),
            (
                "yeer=2015",
                "no document has an attribute \"yeer\"; none passes",
            ),
            ("yeer", "no document has an attribute \"yeer\"; none passes"),
            (
                "kind<=3",
                "with a \"kind\" that cannot be compared with 3, such as",
            ),
        ] {
            let err = err(filter);
            assert!(
                err.starts_with("warning: --filter: ") && err.contains(expected),
                "{err}"
            );
        }
    }
    here.ir("index tiny -o bare.ir --store nothing").ok();
    here.ir("search bare.ir tea --filter year<=2015")
        .fails(1, &["bare.ir", "--filter", "--store attributes"]);
    let help = here.ir("search --help").ok().out;
    assert!(
        help.contains("document without the attribute satisfies <=, >=, <, > and !="),
        "{help}"
    );
}

/// Dates in the formats of ISO 8601 are compared, and timestamps are counted.
#[test]
fn dates_in_several_formats() {
    let here = Folder::new();
    let document = |id: &str, date: &str| {
        format!("{{\"id\": \"{id}\", \"text\": \"green tea\", \"date\": {date}}}\n")
    };
    let dates = [
        ("extended", "\"2020-03-10\""),
        ("basic", "\"20200310\""),
        ("number", "20200310"),
        ("milliseconds", "1583798400000"),
    ];
    let documents: String = dates.iter().map(|(id, date)| document(id, date)).collect();
    here.write("dates.jsonl", documents);
    let search = |filter: &str| {
        let ran = here.ir(&["search", "dates.jsonl", "tea", "--filter", filter]);
        let ran = ran.ok();
        let found = |(id, _): &&(&str, &str)| ran.out.contains(id);
        let found: Vec<&str> = dates.iter().filter(found).map(|(id, _)| *id).collect();
        (found, ran.err)
    };
    let warning = "warning: --filter: 1 document with a \"date\" that cannot be compared with \
                   \"2020-03-11\", such as 1583798400000: the limit does not hold \
                   (a timestamp? dates are YYYY-MM-DD; in pandas: to_json(date_format=\"iso\"))";
    for (filter, all) in [
        ("date<=2020-03-11", &["extended", "basic", "number"][..]),
        ("date>=2020-03-11", &[][..]),
    ] {
        let (found, err) = search(filter);
        assert_eq!(found, all, "{filter}");
        assert!(err.contains(warning), "{err}");
    }
    let (found, err) = search("date<=20200311");
    assert_eq!(found, ["extended", "basic", "number"]);
    assert_eq!(err, "");
    assert_eq!(search("date=20200310").0, ["extended", "basic", "number"]);
    assert_eq!(search("date=1583798400000").0, ["milliseconds"]);
}

/// Equality, ranges, lists and `!=` read numbers alike, and identifiers are found as texts.
#[test]
fn numbers_in_several_spellings() {
    let here = Folder::new();
    here.write(
        "n.jsonl",
        "{\"id\": \"a\", \"text\": \"boat\", \"n\": 1000, \"p\": 0.5, \"c\": 7, \"year\": 20150601}\n\
         {\"id\": \"b\", \"text\": \"boat\", \"n\": 5, \"p\": 5, \"c\": \"007\", \"year\": [2014, 2016]}\n",
    );
    for (filter, expected) in [
        ("n=1e3", "a"),
        ("n!=1e3", "b"),
        ("n>=1e3", "a"),
        ("n=1e3,+5", "ab"),
        ("n=5.", "b"),
        ("p=.5", "a"),
        ("p=+0.5", "a"),
        ("p<=.5", "a"),
        ("c=007", "ab"),
        ("c=\"007\"", "b"),
        ("c=7", "a"),
        ("year=2015", "a"),
        ("year<=2015", "ab"),
        ("year>2015", "b"),
        ("year>\"2015-06-30\"", "b"),
        ("year<2015", "b"),
    ] {
        let ran = here.ir(&["search", "n.jsonl", "boat", "--filter", filter, "--json"]);
        let ran = ran.ok();
        let mut found: Vec<&str> = ["a", "b"].to_vec();
        found.retain(|id| ran.out.contains(&format!("\"id\":\"{id}\"")));
        assert_eq!(found.concat(), expected, "{filter}: {}", ran.out);
        // A time filter takes no list.
        let list =
            "warning: 1 document with an attribute \"year\" that is neither a year nor a date\n";
        assert_eq!(ran.err, list, "{filter}");
    }
}

/// Truth values of JSON and texts of truth values are equal.
#[test]
fn truth_values_in_several_forms() {
    let here = Folder::new();
    let values = [
        ("json", "true"),
        ("python", "\"True\""),
        ("upper", "\"TRUE\""),
        ("closed", "false"),
        ("closed-text", "\"False\""),
    ];
    let documents: String = values
        .iter()
        .map(|(id, open)| {
            format!("{{\"id\": \"{id}\", \"text\": \"green tea\", \"open\": {open}}}\n")
        })
        .collect();
    here.write("open.jsonl", documents);
    for (filter, count) in [
        ("open=true", 3),
        ("open=True", 3),
        ("open=FALSE", 2),
        ("open!=True", 2),
    ] {
        let search = ["search", "open.jsonl", "tea", "--filter", filter, "--json"];
        let ran = here.ir(&search).ok();
        assert_eq!(ran.out.lines().count(), count, "{filter}: {}", ran.out);
    }
}
