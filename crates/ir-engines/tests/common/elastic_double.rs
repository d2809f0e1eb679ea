//! Semantics of an index of Elasticsearch or OpenSearch: visibility after a refresh, queries,
//! BM25 over words in lower case, vectors, explanations.
#![allow(dead_code, unreachable_pub)]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};

use crate::common::HttpDouble;

#[derive(Default)]
pub struct ElasticState {
    pub indexes: BTreeMap<String, Index>,
}

#[derive(Default)]
pub struct Index {
    pub body: Value,
    /// Sources by `_id`.
    pub visible: BTreeMap<String, Value>,
    pub written: BTreeMap<String, Value>,
}

pub fn start() -> (HttpDouble, Arc<Mutex<ElasticState>>) {
    let state = Arc::new(Mutex::new(ElasticState::default()));
    let shared = Arc::clone(&state);
    let double = HttpDouble::start(move |method, path, body| {
        let (status, response) = state.lock().unwrap().answer(method, path, body);
        (status, response.to_string())
    });
    (double, shared)
}

fn error(status: u16, kind: &str) -> (u16, Value) {
    (
        status,
        json!({"error": {"root_cause": [{"type": kind}], "type": kind}, "status": status}),
    )
}

impl ElasticState {
    /// Creates an index, in place of one with the same name.
    pub fn create(&mut self, name: &str, body: Value) {
        let index = Index {
            body,
            ..Index::default()
        };
        self.indexes.insert(name.to_owned(), index);
    }

    fn answer(&mut self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let mut parts = path.trim_start_matches('/').splitn(2, '/');
        let name = parts.next().unwrap().to_owned();
        let action = parts.next().unwrap_or_default();
        if (method, action) == ("PUT", "") {
            if self.indexes.contains_key(&name) {
                return error(400, "resource_already_exists_exception");
            }
            let body = serde_json::from_str(body).unwrap();
            self.create(&name, body);
            return (200, json!({"acknowledged": true}));
        }
        let Some(index) = self.indexes.get_mut(&name) else {
            return error(404, "index_not_found_exception");
        };
        let parsed = || serde_json::from_str::<Value>(body).unwrap();
        match (method, action) {
            ("DELETE", "") => {
                self.indexes.remove(&name);
                (200, json!({"acknowledged": true}))
            }
            ("GET", "_mapping") => (200, json!({name: {"mappings": index.body["mappings"]}})),
            ("GET", "_settings") => {
                let settings = settings(&name, &index.body["settings"]);
                (200, json!({name: {"settings": {"index": settings}}}))
            }
            ("PUT", "_mapping") => {
                index.body["mappings"]["_meta"] = parsed()["_meta"].clone();
                (200, json!({"acknowledged": true}))
            }
            ("POST", "_refresh") => {
                index.visible = index.written.clone();
                (200, json!({"_shards": {"failed": 0}}))
            }
            ("POST", "_bulk") => index.bulk(body),
            ("POST", "_count") => {
                let query = parsed()["query"].clone();
                (200, json!({"count": index.matching(&query).len()}))
            }
            ("POST", "_delete_by_query?refresh=true") => {
                let query = parsed()["query"].clone();
                let found: Vec<String> = index
                    .matching(&query)
                    .into_iter()
                    .map(|(id, _)| id.clone())
                    .collect();
                for id in found {
                    index.written.remove(&id);
                }
                index.visible = index.written.clone();
                (200, json!({}))
            }
            ("POST", "_search") => (200, index.search(&parsed())),
            ("POST", "_msearch?search_type=dfs_query_then_fetch") => {
                let lines: Vec<&str> = body.lines().collect();
                let responses = lines.chunks(2).map(|pair| {
                    assert_eq!(pair[0], "{}");
                    index.search(&serde_json::from_str(pair[1]).unwrap())
                });
                (200, json!({"responses": responses.collect::<Vec<_>>()}))
            }
            ("POST", explain) if explain.starts_with("_explain/") => {
                let id = explain.trim_start_matches("_explain/");
                let query = parsed()["query"].clone();
                let found = index
                    .visible
                    .get(id)
                    .and_then(|doc| index.score(&query, doc));
                (
                    200,
                    match found {
                        None => json!({"matched": false}),
                        Some(score) => {
                            let details: Vec<Value> = index
                            .terms(&query, &index.visible[id])
                            .into_iter()
                            .map(|(term, value)| json!({"value": value as f32, "description": format!("weight({term})"), "details": []}))
                            .collect();
                            json!({"matched": true, "explanation": {"value": score as f32, "description": "sum of:", "details": details}})
                        }
                    },
                )
            }
            _ => error(405, "method_not_allowed"),
        }
    }
}

/// Settings as engines return them: scalars are strings, and there are more.
fn settings(name: &str, body: &Value) -> Value {
    fn strings(value: &Value) -> Value {
        match value {
            Value::Object(all) => all
                .iter()
                .map(|(name, value)| (name.trim_start_matches("index.").to_owned(), strings(value)))
                .collect(),
            Value::Array(all) => all.iter().map(strings).collect(),
            Value::String(text) => json!(text),
            other => json!(other.to_string()),
        }
    }
    let mut all = strings(body);
    all["uuid"] = json!("x3kWmXyqRC6yhT1-eSXVbQ");
    all["provided_name"] = json!(name);
    all["creation_date"] = json!("1700000000000");
    all["number_of_replicas"] = json!("1");
    all["version"] = json!({"created": "8505000"});
    all
}

fn words(text: &Value) -> Vec<String> {
    let text = text.as_str().unwrap_or_default().to_lowercase();
    let words = text.split(|c: char| !c.is_alphanumeric());
    words
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

fn floats(value: &Value) -> Vec<f64> {
    let all = value.as_array().unwrap().iter();
    all.map(|x| f64::from(x.as_f64().unwrap() as f32)).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

impl Index {
    fn bulk(&mut self, body: &str) -> (u16, Value) {
        let lines: Vec<Value> = body
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let properties = self.body["mappings"]["properties"]
            .as_object()
            .unwrap()
            .clone();
        let mut items = Vec::new();
        for pair in lines.chunks(2) {
            let id = pair[0]["index"]["_id"].as_str().unwrap().to_owned();
            // The mapping is strict.
            let unknown = pair[1]
                .as_object()
                .unwrap()
                .keys()
                .any(|key| !properties.contains_key(key));
            let item = if unknown {
                json!({"status": 400, "error": {"type": "strict_dynamic_mapping_exception"}})
            } else {
                self.written.insert(id, pair[1].clone());
                json!({"status": 201})
            };
            items.push(json!({"index": item}));
        }
        (200, json!({"errors": false, "items": items}))
    }

    fn matching(&self, query: &Value) -> Vec<(&String, f64)> {
        let all = self.visible.iter();
        all.filter_map(|(id, doc)| Some((id, self.score(query, doc)?)))
            .collect()
    }

    fn search(&self, body: &Value) -> Value {
        let size = body["size"].as_u64().unwrap() as usize;
        assert!(size <= 10_000);
        let mut scores: BTreeMap<&String, f64> = BTreeMap::new();
        if body["query"].is_object() {
            scores.extend(self.matching(&body["query"]));
        }
        if let Some(knn) = body.get("knn") {
            assert!(knn["num_candidates"].as_u64() >= knn["k"].as_u64());
            let filter = knn
                .get("filter")
                .cloned()
                .unwrap_or(json!({"match_all": {}}));
            let mut found: Vec<(&String, f64)> = self
                .matching(&filter)
                .into_iter()
                .map(|(id, _)| (id, self.vector_score(knn, &self.visible[id])))
                .collect();
            found.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(a.0)));
            found.truncate(knn["k"].as_u64().unwrap() as usize);
            let boost = knn.get("boost").and_then(Value::as_f64).unwrap_or(1.0);
            for (id, score) in found {
                *scores.entry(id).or_insert(0.0) += boost * score;
            }
        }
        let number = |id: &String| self.visible[id]["n"].as_u64().unwrap();
        let mut hits: Vec<(&String, f32)> = scores
            .into_iter()
            .map(|(id, score)| (id, score as f32))
            .collect();
        match body
            .get("sort")
            .and_then(|sort| sort.as_array())
            .map(Vec::len)
        {
            Some(1) => hits.sort_by_key(|(id, _)| number(id)),
            Some(_) => hits.sort_by(|a, b| b.1.total_cmp(&a.1).then(number(a.0).cmp(&number(b.0)))),
            // Ties in descending order.
            None => hits.sort_by(|a, b| b.1.total_cmp(&a.1).then(number(b.0).cmp(&number(a.0)))),
        }
        hits.truncate(size);
        let hits = hits.into_iter().map(|(id, score)| {
            let fields = body["_source"]["includes"].as_array().unwrap().iter();
            let source: Map<String, Value> = fields
                .map(|field| {
                    (
                        field.as_str().unwrap().to_owned(),
                        self.visible[id][field.as_str().unwrap()].clone(),
                    )
                })
                .collect();
            json!({"_id": id, "_score": score, "_source": source})
        });
        json!({"timed_out": false, "_shards": {"failed": 0}, "hits": {"hits": hits.collect::<Vec<_>>()}, "status": 200})
    }

    fn field<'d>(doc: &'d Value, path: &str) -> Vec<&'d Value> {
        let found = doc.pointer(&format!("/{}", path.replace('.', "/")));
        match found {
            Some(Value::Array(all)) => all.iter().collect(),
            Some(value) => vec![value],
            None => Vec::new(),
        }
    }

    fn score(&self, query: &Value, doc: &Value) -> Option<f64> {
        let (kind, inner) = query.as_object()?.iter().next().unwrap();
        let first = || inner.as_object().unwrap().iter().next().unwrap();
        let constant = |passes: bool| passes.then_some(1.0);
        match kind.as_str() {
            "match_all" => Some(1.0),
            "match_none" => None,
            "term" => constant(Self::field(doc, first().0).contains(&&first().1["value"])),
            "terms" => {
                let values = first().1.as_array().unwrap();
                assert!(values.len() <= 65_536);
                constant(
                    Self::field(doc, first().0)
                        .iter()
                        .any(|it| values.contains(it)),
                )
            }
            "range" => {
                let (path, bounds) = first();
                let within = |value: &Value, bound: &str, other: &Value| {
                    let order = match (value.as_i64(), other.as_i64()) {
                        (Some(a), Some(b)) => a.cmp(&b),
                        _ => value.as_f64().unwrap().total_cmp(&other.as_f64().unwrap()),
                    };
                    match bound {
                        "gte" => order.is_ge(),
                        "gt" => order.is_gt(),
                        "lte" => order.is_le(),
                        "lt" => order.is_lt(),
                        other => panic!("{other}"),
                    }
                };
                let bounds = bounds.as_object().unwrap();
                constant(Self::field(doc, path).iter().any(|value| {
                    bounds
                        .iter()
                        .all(|(bound, other)| within(value, bound, other))
                }))
            }
            "bool" => {
                let list = |name: &str| inner[name].as_array().cloned().unwrap_or_default();
                let passes = |query: &Value| self.score(query, doc).is_some();
                let should = list("should");
                let chosen = list("filter").iter().all(passes)
                    && !list("must_not").iter().any(passes)
                    && (should.is_empty() || should.iter().any(passes));
                let must: Option<Vec<f64>> = list("must")
                    .iter()
                    .map(|query| self.score(query, doc))
                    .collect();
                must.filter(|_| chosen).map(|scores| scores.iter().sum())
            }
            "match" => {
                let terms = self.terms(query, doc);
                (!terms.is_empty()).then(|| terms.iter().map(|(_, value)| value).sum())
            }
            "script_score" => {
                self.score(&inner["query"], doc)?;
                let script = &inner["script"];
                let knn = match script["lang"].as_str() {
                    Some("knn") => {
                        json!({"query_vector": script["params"]["query_value"], "exact": script["params"]["space_type"]})
                    }
                    _ => json!({"query_vector": script["params"]["q"], "exact": script["source"]}),
                };
                Some(self.vector_score(&knn, doc))
            }
            "knn" => {
                let knn = &inner["vector"];
                if let Some(filter) = knn.get("filter") {
                    self.score(filter, doc)?;
                }
                Some(self.vector_score(&json!({"query_vector": knn["vector"]}), doc))
            }
            other => panic!("{other}"),
        }
    }

    /// Score of the documentation, by the space of the field or the script.
    fn vector_score(&self, knn: &Value, doc: &Value) -> f64 {
        let (q, v) = (floats(&knn["query_vector"]), floats(&doc["vector"]));
        let field = &self.body["mappings"]["properties"]["vector"];
        let exact = knn["exact"].as_str();
        let space = exact
            .or(field["similarity"].as_str())
            .or(field["method"]["space_type"].as_str())
            .unwrap();
        let cosine = || dot(&q, &v) / (dot(&q, &q) * dot(&v, &v)).sqrt();
        if space.contains("cosine") {
            return if exact.is_some() {
                cosine() + 1.0
            } else {
                (1.0 + cosine()) / 2.0
            };
        }
        if space.contains("l2") {
            let difference: Vec<f64> = q.iter().zip(&v).map(|(x, y)| x - y).collect();
            return 1.0 / (1.0 + dot(&difference, &difference));
        }
        assert!(
            space.contains("inner") || space.contains("dotProduct"),
            "{space}"
        );
        let inner = dot(&q, &v);
        if inner < 0.0 {
            1.0 / (1.0 - inner)
        } else {
            inner + 1.0
        }
    }

    /// Terms of a match query, alone or in a filter, and their BM25 scores.
    fn terms(&self, query: &Value, doc: &Value) -> Vec<(String, f64)> {
        if let Some(must) = query.pointer("/bool/must/0") {
            return self.terms(must, doc);
        }
        let text = &query["match"]["contents"]["query"];
        let bm25 = &self.body["settings"]["similarity"]["bm25"];
        let (k1, b) = (bm25["k1"].as_f64().unwrap(), bm25["b"].as_f64().unwrap());
        let all: Vec<Vec<String>> = self
            .visible
            .values()
            .map(|doc| words(&doc["contents"]))
            .collect();
        let average = all.iter().map(Vec::len).sum::<usize>() as f64 / all.len() as f64;
        let own = words(&doc["contents"]);
        let score = |term: String| {
            let frequency = own.iter().filter(|word| **word == term).count() as f64;
            let documents = all.iter().filter(|words| words.contains(&term)).count() as f64;
            let idf = (1.0 + (all.len() as f64 - documents + 0.5) / (documents + 0.5)).ln();
            let norm = k1 * (1.0 - b + b * own.len() as f64 / average);
            (frequency > 0.0).then(|| (term, idf * frequency / (frequency + norm)))
        };
        words(text).into_iter().filter_map(score).collect()
    }
}
