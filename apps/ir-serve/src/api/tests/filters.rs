//! Filters, their warnings, and counts of values.

use ir_core::{Attributes, DocIds, Ranking, Retriever, Search, SearchError};

use super::*;
use crate::config::Collection;

/// Retriever that finds no document.
struct NoHits(DocIds);

impl Retriever for NoHits {
    type Query = str;

    fn ids(&self) -> &DocIds {
        &self.0
    }

    fn search(&self, _: &str, _: &Search<'_>) -> Result<Ranking, SearchError> {
        Ok(Ranking::default())
    }
}

#[test]
fn values_that_limits_cannot_be_compared_with() {
    let server = TestServer::with_config(|config| {
        let years = ["spring", "2010", "soon"];
        config.collections.push(Collection {
            name: "c".to_owned(),
            retriever: Arc::new(NoHits(["a", "b", "c"].into_iter().collect())),
            attributes: years
                .map(|year| Attributes::from_iter([("year", year)]))
                .to_vec(),
        });
    });
    let warnings = |filter: Value| {
        let body = json!({"query": "tea", "filter": filter});
        let path = "/v1/collections/c/search";
        server.success(path, &server.query, &body)["warnings"].clone()
    };
    let expected = "filter: 2 documents with a \"year\" that cannot be compared with 2019, such as \
                    \"spring\": the limit does not hold";
    assert_eq!(warnings(json!("year<=2019")), json!([expected]));
    assert_eq!(
        warnings(json!(["date", "year<=2019"])),
        json!([
            "filter: no document has an attribute \"date\"; none passes",
            expected
        ])
    );
    assert_eq!(warnings(json!("year=2010")), Value::Null);

    // Answers are sentences, and documents are counted.
    let mut spring = document("s", "Tea is a drink. Tea grows in Asia.");
    spring["meta"]["year"] = json!("spring");
    let mut dated = document("d", "Tea is a plant.");
    dated["meta"]["year"] = json!(2010);
    let data = json!({"data": [spring, dated]});
    let (status, body) = server.post("/v1/index/add", &server.admin, &data);
    assert_eq!(status, 200, "{body}");
    server.publish();
    let body = json!({"query": {"query": "tea", "filter": "year<=2019"}});
    let body = server.success("/v1/search/query", &server.query, &body);
    let expected = expected.replace("2 documents", "1 document");
    assert_eq!(body["warnings"], json!([expected]));
}

/// Server with a document for each of these values of the field `year`.
fn with_years(years: &[Value]) -> TestServer {
    let server = TestServer::new();
    let data = years.iter().enumerate().map(|(n, year)| {
        let mut added = document(&format!("d{n}"), &format!("Tea is drink number {n}."));
        added["meta"]["year"] = year.clone();
        added
    });
    let data = json!({"data": data.collect::<Vec<_>>()});
    let (status, body) = server.post("/v1/index/add", &server.admin, &data);
    assert_eq!(status, 200, "{body}");
    server.publish();
    server
}

#[test]
fn values_are_counted_as_filters_compare_them() {
    let server = with_years(&[
        json!(2015),
        json!(2015.0),
        json!("2015"),
        json!("2015.0"),
        json!("2016-03-01"),
        json!(20_160_301),
        json!("soon"),
    ]);
    let body = json!({
        "query": {"query": "tea"}, "aggs": {"years": {"field": "year"}},
    });
    let body = server.success("/v1/search/query", &server.query, &body);
    let counts = body["aggs"]["years"].as_array().unwrap();
    let mut counts: Vec<u64> = (counts.iter())
        .map(|count| count["count"].as_u64().unwrap())
        .collect();
    counts.sort_unstable();
    assert_eq!(counts, [1, 2, 4]);
    let found = |filter: &str| {
        server
            .answers(json!({"query": "tea", "filter": filter}))
            .len()
    };
    assert_eq!(found("year=2015"), 4);
    assert_eq!(found("year=2016-03-01"), 2);
    assert_eq!(found("year>2015"), 2);
}

/// A list passes if one of its members does, also with several conditions.
#[test]
fn lists_pass_strict_ranges() {
    let server = with_years(&[json!([2014, 2016]), json!([2015, 2016])]);
    let found = |filter: Value| {
        let body = json!({"query": "tea", "filter": filter});
        server.answers(body).len()
    };
    assert_eq!(found(json!("year>2014")), 2);
    assert_eq!(found(json!(["year>=2015", "year<2016"])), 2);
    assert_eq!(found(json!(["year>=2015", {"known": {"name": "year"}}])), 2);
    assert_eq!(found(json!("year>2016")), 0);
}

#[test]
fn fields_beside_the_query_are_told() {
    let server = with_years(&[json!(2015)]);
    let body = json!({"query": {"query": "tea"}, "n_best": 1, "explain": true});
    let body = server.success("/v1/search/query", &server.query, &body);
    let warning = |name: &str| {
        format!("body: field {name}: expected in the field query, found beside it: no effect")
    };
    assert_eq!(
        body["warnings"],
        json!([warning("n_best"), warning("explain")])
    );
}
