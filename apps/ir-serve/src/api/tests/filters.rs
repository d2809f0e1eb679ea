//! Warnings of values that a limit cannot be compared with.

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
        json!(["filter: no document has a field \"date\"", expected])
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
