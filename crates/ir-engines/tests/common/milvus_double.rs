//! Semantics of a Milvus collection behind `/api/v1` and `/v2/vectordb`, with an evaluator of
//! expressions.
#![allow(dead_code, unreachable_pub)]

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::sync::{Arc, Mutex};
use std::vec::IntoIter;

use serde_json::{Value, json};

use crate::common::HttpDouble;

#[derive(Default)]
pub struct MilvusState {
    pub collections: BTreeMap<String, Collection>,
    /// `/v2/vectordb` as in Milvus 2.4: no `flush`, no numbers of hits per query, and integers as
    /// text.
    pub is_v2_4: bool,
}

#[derive(Default)]
pub struct Collection {
    schema: Value,
    index: Option<Value>,
    is_in_memory: bool,
    pub rows: Vec<BTreeMap<String, Value>>,
}

pub fn start() -> (HttpDouble, Arc<Mutex<MilvusState>>) {
    let state = Arc::new(Mutex::new(MilvusState::default()));
    let shared = Arc::clone(&state);
    let double = HttpDouble::start(move |method, path, body| {
        let body: Value = serde_json::from_str(body).unwrap();
        let mut state = state.lock().unwrap();
        if let Some(path) = path.strip_prefix("/api/v1") {
            return (200, state.answer(method, path, &body).to_string());
        }
        let v2 = path.strip_prefix("/v2/vectordb");
        let response = v2.and_then(|path| state.answer_v2(method, path, &body));
        match response {
            Some(response) => (200, response.to_string()),
            None => (404, "404 page not found".to_owned()),
        }
    });
    (double, shared)
}

fn error(code: i64, reason: &str) -> Value {
    json!({"status": {"error_code": 1, "code": code, "reason": reason}})
}

impl MilvusState {
    fn answer(&mut self, method: &str, path: &str, body: &Value) -> Value {
        let name = body["collection_name"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        if (method, path) == ("POST", "/collection") {
            if self.collections.contains_key(&name) {
                return json!({"error_code": 1, "reason": "exists"});
            }
            let schema = body["schema"].clone();
            self.collections.insert(
                name,
                Collection {
                    schema,
                    ..Collection::default()
                },
            );
            return json!({});
        }
        if path == "/persist" {
            return json!({"status": {}});
        }
        let Some(collection) = self.collections.get_mut(&name) else {
            return error(100, "can't find collection collection not found");
        };
        match (method, path) {
            ("GET", "/collection") => json!({"status": {}, "schema": collection.schema}),
            ("DELETE", "/collection") => {
                self.collections.remove(&name);
                json!({})
            }
            ("POST", "/collection/load") => match collection.index {
                Some(_) => json!({}),
                None => json!({"error_code": 1, "reason": "no index"}),
            },
            ("POST", "/index") => {
                collection.index = Some(body["extra_params"].clone());
                json!({})
            }
            ("GET", "/index") => match &collection.index {
                None => error(700, "index not found"),
                Some(_) => {
                    let rows = collection.rows.len();
                    json!({"status": {}, "index_descriptions": [{"state": 3, "indexed_rows": rows, "total_rows": rows}]})
                }
            },
            ("POST", "/entities") => collection.insert(body),
            ("DELETE", "/entities") => {
                let expression = Expression::parse(body["expr"].as_str().unwrap());
                collection.rows.retain(|row| !expression.passes(row));
                json!({"status": {}})
            }
            ("POST", "/query") => collection.query(body),
            ("POST", "/search") => collection.search(body),
            _ => error(1, "unknown path"),
        }
    }

    /// Response of `/v2/vectordb`; `None` for an unknown path.
    fn answer_v2(&mut self, method: &str, path: &str, body: &Value) -> Option<Value> {
        assert_eq!(method, "POST");
        let error = |code: i64, message: &str| Some(json!({"code": code, "message": message}));
        let done = |data: Value| Some(json!({"code": 0, "data": data}));
        if path == "/collections/flush" && self.is_v2_4 {
            return None;
        }
        let name = body["collectionName"].as_str().unwrap().to_owned();
        if path == "/collections/create" {
            if self.collections.contains_key(&name) {
                return error(65_535, "create duplicate collection");
            }
            assert_eq!(body["params"]["consistencyLevel"], "Strong");
            let fields = body["schema"]["fields"].as_array().unwrap().iter();
            let fields = fields.map(|field| {
                let kind = field["dataType"].as_str().unwrap();
                let parameters = &field["elementTypeParams"];
                match kind {
                    "VarChar" => assert_eq!(parameters["max_length"], 65_535),
                    "FloatVector" => assert!(parameters["dim"].as_u64() > Some(0)),
                    _ => assert!(["Int64", "Double", "Bool"].contains(&kind), "{kind}"),
                }
                json!({"name": field["fieldName"], "type": kind})
            });
            let schema = json!({"fields": fields.collect::<Vec<_>>()});
            let collection = Collection {
                schema,
                ..Collection::default()
            };
            self.collections.insert(name, collection);
            return done(json!({}));
        }
        let as_text = self.is_v2_4;
        let Some(collection) = self.collections.get_mut(&name) else {
            return error(100, "can't find collection");
        };
        let in_memory = ["/entities/query", "/entities/search", "/entities/delete"];
        if in_memory.contains(&path) && !collection.is_in_memory {
            return error(101, "collection not loaded");
        }
        match path {
            "/collections/describe" => done(json!({"fields": collection.schema["fields"]})),
            "/collections/drop" => {
                self.collections.remove(&name);
                done(json!({}))
            }
            "/collections/load" => {
                if collection.index.is_none() {
                    return error(700, "index not found");
                }
                collection.is_in_memory = true;
                done(json!({}))
            }
            "/collections/flush" => done(json!({})),
            "/indexes/create" => {
                let index = &body["indexParams"][0];
                assert!(
                    ["FLAT", "HNSW"]
                        .map(Value::from)
                        .contains(&index["params"]["index_type"])
                );
                assert_eq!(
                    (&index["fieldName"], &index["indexName"]),
                    (&json!("vector"), &json!("vector"))
                );
                collection.index =
                    Some(json!([{"key": "metric_type", "value": index["metricType"]}]));
                done(json!({}))
            }
            "/indexes/describe" => match collection.index {
                None => error(700, "index not found"),
                Some(_) => {
                    let rows = collection.rows.len();
                    done(json!([{"totalRows": rows, "indexedRows": rows, "pendingRows": 0}]))
                }
            },
            "/entities/insert" | "/entities/upsert" => {
                let rows = body["data"].as_array().unwrap();
                for row in rows {
                    let row = row.as_object().unwrap();
                    let fields = collection.schema["fields"].as_array().unwrap();
                    assert_eq!(row.len(), fields.len(), "{row:?}");
                    for field in fields {
                        assert!(row.contains_key(field["name"].as_str().unwrap()), "{field}");
                    }
                    if path == "/entities/upsert" {
                        collection.rows.retain(|known| known["n"] != row["n"]);
                    }
                    collection.rows.push(row.clone().into_iter().collect());
                }
                done(json!({"insertCount": rows.len()}))
            }
            "/entities/delete" => {
                let expression = Expression::parse(body["filter"].as_str().unwrap());
                collection.rows.retain(|row| !expression.passes(row));
                done(json!({}))
            }
            "/entities/query" => {
                let expression = Expression::parse(body["filter"].as_str().unwrap());
                let rows = collection.rows.iter().filter(|row| expression.passes(row));
                let integer = |value: &Value| {
                    if as_text && value.is_i64() {
                        json!(value.to_string())
                    } else {
                        value.clone()
                    }
                };
                if body["outputFields"] == json!(["count(*)"]) {
                    assert!(body.get("limit").is_none());
                    return done(json!([{"count(*)": integer(&json!(rows.count()))}]));
                }
                let limit = body["limit"].as_u64().unwrap() as usize;
                assert!((1..=16_384).contains(&limit));
                // In descending order: the real order is not defined.
                let rows = rows.rev().take(limit).map(|row| {
                    let fields = body["outputFields"].as_array().unwrap().iter();
                    let fields = fields.map(|field| {
                        let field = field.as_str().unwrap();
                        (field.to_owned(), integer(&row[field]))
                    });
                    fields.collect::<Value>()
                });
                done(rows.collect())
            }
            "/entities/search" => {
                let limit = body["limit"].as_u64().unwrap() as usize;
                let metric =
                    Collection::parameter(collection.index.as_ref().unwrap(), "metric_type");
                let filter = body["filter"].as_str().unwrap();
                let (ids, scores, counts) =
                    collection.nearest(filter, limit, &metric, &body["data"]);
                let rows = ids.iter().zip(scores).map(|(id, score)| {
                    let id = if as_text {
                        json!(id.to_string())
                    } else {
                        json!(id)
                    };
                    json!({"n": id, "id": id, "distance": score})
                });
                let mut response = json!({"code": 0, "data": rows.collect::<Vec<_>>()});
                if !as_text && !ids.is_empty() {
                    response["topks"] = json!(counts);
                }
                Some(response)
            }
            _ => None,
        }
    }
}

impl Collection {
    pub fn describe(&mut self, text: &str) {
        self.schema["description"] = json!(text);
    }

    fn insert(&mut self, body: &Value) -> Value {
        let count = body["num_rows"].as_u64().unwrap() as usize;
        let columns = body["fields_data"].as_array().unwrap();
        let names: Vec<&str> = columns
            .iter()
            .map(|it| it["field_name"].as_str().unwrap())
            .collect();
        for field in self.schema["fields"].as_array().unwrap() {
            assert!(names.contains(&field["name"].as_str().unwrap()), "{field}");
        }
        for at in 0..count {
            let row = columns.iter().map(|column| {
                let name = column["field_name"].as_str().unwrap().to_owned();
                (name, column["field"][at].clone())
            });
            self.rows.push(row.collect());
        }
        json!({"status": {}, "insert_cnt": count})
    }

    fn query(&self, body: &Value) -> Value {
        let expression = Expression::parse(body["expr"].as_str().unwrap());
        let rows: Vec<_> = self
            .rows
            .iter()
            .filter(|row| expression.passes(row))
            .collect();
        let fields = body["output_fields"].as_array().unwrap();
        let columns = fields.iter().map(|field| {
            let field = field.as_str().unwrap();
            let (kind, data) = match field {
                "count(*)" => ("LongData", vec![json!(rows.len())]),
                // In descending order: the real order is not defined.
                _ => {
                    let values = rows.iter().rev().map(|row| row[field].clone()).collect();
                    (
                        if field == "n" {
                            "LongData"
                        } else {
                            "StringData"
                        },
                        values,
                    )
                }
            };
            json!({"field_name": field, "Field": {"Scalars": {"Data": {kind: {"data": data}}}}})
        });
        json!({"status": {}, "fields_data": columns.collect::<Vec<_>>()})
    }

    fn parameter(list: &Value, key: &str) -> String {
        let all = list.as_array().unwrap();
        let found = all.iter().find(|pair| pair["key"] == key).unwrap();
        found["value"].as_str().unwrap().to_owned()
    }

    fn search(&self, body: &Value) -> Value {
        let limit: usize = Self::parameter(&body["search_params"], "topk")
            .parse()
            .unwrap();
        let metric = Self::parameter(&body["search_params"], "metric_type");
        if metric != Self::parameter(self.index.as_ref().unwrap(), "metric_type") {
            return error(65_535, "metric type not match");
        }
        let filter = body["dsl"].as_str().unwrap();
        let (ids, scores, counts) = self.nearest(filter, limit, &metric, &body["vectors"]);
        if ids.is_empty() {
            return json!({"status": {"reason": "search result is empty"}, "results": {"num_queries": counts.len(), "topks": counts}});
        }
        json!({"status": {}, "results": {"topks": counts, "scores": scores, "ids": {"IdField": {"IntId": {"data": ids}}}}})
    }

    /// Numbers and scores of the hits of all queries, and how many hits each has.
    fn nearest(
        &self,
        filter: &str,
        limit: usize,
        metric: &str,
        queries: &Value,
    ) -> (Vec<u64>, Vec<f32>, Vec<usize>) {
        let expression = Expression::parse(filter);
        assert!((1..=16_384).contains(&limit));
        let floats = |value: &Value| -> Vec<f32> {
            value
                .as_array()
                .unwrap()
                .iter()
                .map(|x| x.as_f64().unwrap() as f32)
                .collect()
        };
        let (mut ids, mut scores, mut counts) = (Vec::new(), Vec::new(), Vec::new());
        for query in queries.as_array().unwrap() {
            let query = floats(query);
            let rows = self.rows.iter().filter(|row| expression.passes(row));
            let mut hits: Vec<(f32, u64)> = rows
                .map(|row| {
                    let vector = floats(&row["vector"]);
                    assert_eq!(vector.len(), query.len());
                    let dot = |a: &[f32], b: &[f32]| -> f64 {
                        a.iter()
                            .zip(b)
                            .map(|(x, y)| f64::from(*x) * f64::from(*y))
                            .sum()
                    };
                    let score = match metric {
                        "IP" => dot(&query, &vector),
                        "COSINE" => {
                            dot(&query, &vector)
                                / (dot(&query, &query) * dot(&vector, &vector)).sqrt()
                        }
                        _ => {
                            let difference: Vec<f32> =
                                query.iter().zip(&vector).map(|(x, y)| x - y).collect();
                            -dot(&difference, &difference)
                        }
                    };
                    (score as f32, row["n"].as_u64().unwrap())
                })
                .collect();
            // Ties in descending order of numbers.
            hits.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
            hits.truncate(limit);
            counts.push(hits.len());
            for (score, id) in hits {
                ids.push(id);
                scores.push(if metric == "L2" { -score } else { score });
            }
        }
        (ids, scores, counts)
    }
}

/// Parsed expression of a filter.
enum Expression {
    True,
    Compare(String, String, Value),
    In(String, Vec<Value>),
    Not(Box<Self>),
    All(Vec<Self>),
    Any(Vec<Self>),
}

impl Expression {
    fn parse(text: &str) -> Self {
        if text.is_empty() {
            return Self::True;
        }
        let mut tokens = tokens(text).into_iter().peekable();
        let parsed = Self::any(&mut tokens);
        assert!(tokens.next().is_none(), "{text}");
        parsed
    }

    fn any(tokens: &mut Peekable<IntoIter<String>>) -> Self {
        let mut all = vec![Self::all(tokens)];
        while tokens.next_if(|it| it == "or").is_some() {
            all.push(Self::all(tokens));
        }
        Self::Any(all)
    }

    fn all(tokens: &mut Peekable<IntoIter<String>>) -> Self {
        let mut all = vec![Self::one(tokens)];
        while tokens.next_if(|it| it == "and").is_some() {
            all.push(Self::one(tokens));
        }
        Self::All(all)
    }

    fn one(tokens: &mut Peekable<IntoIter<String>>) -> Self {
        let first = tokens.next().unwrap();
        match first.as_str() {
            "not" => return Self::Not(Box::new(Self::one(tokens))),
            "(" => {
                let inner = Self::any(tokens);
                assert_eq!(tokens.next().unwrap(), ")");
                return inner;
            }
            _ => {}
        }
        let negated = tokens.next_if(|it| it == "not").is_some();
        let sign = tokens.next().unwrap();
        if sign == "in" {
            assert_eq!(tokens.next().unwrap(), "[");
            let mut values = Vec::new();
            while let Some(value) = tokens.next_if(|it| it != "]") {
                if value != "," {
                    values.push(serde_json::from_str(&value).unwrap());
                }
            }
            assert_eq!(tokens.next().unwrap(), "]");
            let list = Self::In(first, values);
            return if negated {
                Self::Not(Box::new(list))
            } else {
                list
            };
        }
        let value = serde_json::from_str(&tokens.next().unwrap()).unwrap();
        Self::Compare(first, sign, value)
    }

    fn passes(&self, row: &BTreeMap<String, Value>) -> bool {
        match self {
            Self::True => true,
            Self::Compare(field, sign, value) => {
                let found = &row[field.as_str()];
                let order = match (found.as_i64(), value.as_i64()) {
                    (Some(a), Some(b)) => a.cmp(&b),
                    _ => match (found.as_f64(), value.as_f64()) {
                        (Some(a), Some(b)) => a.total_cmp(&b),
                        _ => return sign == "==" && found == value,
                    },
                };
                match sign.as_str() {
                    "<" => order.is_lt(),
                    "<=" => order.is_le(),
                    ">" => order.is_gt(),
                    ">=" => order.is_ge(),
                    "==" => order.is_eq(),
                    other => panic!("{other}"),
                }
            }
            Self::In(field, values) => values.contains(&row[field.as_str()]),
            Self::Not(inner) => !inner.passes(row),
            Self::All(all) => all.iter().all(|it| it.passes(row)),
            Self::Any(all) => all.iter().any(|it| it.passes(row)),
        }
    }
}

fn tokens(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '(' | ')' | '[' | ']' | ',' => 1,
            '"' => {
                let mut escaped = false;
                let end = rest[1..].char_indices().find(|&(_, c)| {
                    let ends = c == '"' && !escaped;
                    escaped = c == '\\' && !escaped;
                    ends
                });
                end.unwrap().0 + 2
            }
            '<' | '>' | '=' | '!' => rest.find(|c| !"<>=!".contains(c)).unwrap(),
            _ => rest
                .find(|c: char| " ()[],<>=!".contains(c))
                .unwrap_or(rest.len()),
        };
        all.push(rest[..end].to_owned());
        rest = rest[end..].trim_start();
    }
    all
}
