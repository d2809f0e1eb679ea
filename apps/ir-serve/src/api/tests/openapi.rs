//! Structure of the description by the OpenAPI specification 3.1, and that it has every route.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::TestServer;

/// The description, and its text.
fn description(server: &TestServer) -> (Value, String) {
    let (status, text) = server.request("GET", "/openapi.json", None, "");
    assert_eq!(status, 200);
    (serde_json::from_str(&text).unwrap(), text)
}

/// Operations with their names, such as `post /v1/rerank`.
fn operations(description: &Value) -> Vec<(String, &str, &Map<String, Value>)> {
    let mut operations = Vec::new();
    for (path, item) in description["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let name = format!("{method} {path}");
            operations.push((name, path.as_str(), operation.as_object().unwrap()));
        }
    }
    operations
}

fn text_of<'a>(value: &'a Value, name: &str, at: &str) -> &'a str {
    let text = value[name].as_str().unwrap_or_default();
    assert!(!text.trim().is_empty(), "{at}: expected a text {name}");
    text
}

fn check_names(value: &Map<String, Value>, known: &[&str], at: &str) {
    for name in value.keys() {
        assert!(
            known.contains(&name.as_str()) || name.starts_with("x-"),
            "{at}: unknown field {name}"
        );
    }
}

/// Checks the media types of a body.
fn check_content(content: &Value, at: &str) {
    let content = content.as_object().unwrap();
    assert!(!content.is_empty(), "{at}: expected a media type");
    for (kind, media) in content {
        assert!(kind.contains('/'), "{at}: {kind}");
        check_schema(&media["schema"], &format!("{at}: {kind}"));
    }
}

/// Checks a schema, a dialect of JSON Schema 2020-12, with its parts.
fn check_schema(schema: &Value, at: &str) {
    const TYPES: [&str; 7] = [
        "null", "boolean", "object", "array", "number", "integer", "string",
    ];
    let Some(schema) = schema.as_object() else {
        assert!(
            schema.is_boolean(),
            "{at}: expected a schema, found {schema}"
        );
        return;
    };
    if let Some(kind) = schema.get("type") {
        let kinds = kind
            .as_array()
            .cloned()
            .unwrap_or_else(|| vec![kind.clone()]);
        for kind in kinds {
            let kind = kind.as_str().unwrap_or_default();
            assert!(TYPES.contains(&kind), "{at}: type {kind:?}");
        }
    }
    // A field of OpenAPI 3.0.
    assert!(!schema.contains_key("nullable"), "{at}: nullable");
    if let Some(required) = schema.get("required") {
        let names: Vec<&str> = required
            .as_array()
            .unwrap()
            .iter()
            .map(|name| name.as_str().unwrap())
            .collect();
        let unique: BTreeSet<&str> = names.iter().copied().collect();
        assert_eq!(unique.len(), names.len(), "{at}: required");
        for name in names {
            assert!(
                schema["properties"][name].is_object(),
                "{at}: required {name}"
            );
        }
    }
    for name in ["allOf", "anyOf", "oneOf"] {
        if let Some(parts) = schema.get(name) {
            let parts = parts.as_array().unwrap();
            assert!(!parts.is_empty(), "{at}: {name}");
            for part in parts {
                check_schema(part, &format!("{at}: {name}"));
            }
        }
    }
    for name in ["items", "additionalProperties"] {
        if let Some(part) = schema.get(name) {
            check_schema(part, &format!("{at}: {name}"));
        }
    }
    if let Some(properties) = schema.get("properties") {
        for (name, part) in properties.as_object().unwrap() {
            check_schema(part, &format!("{at}.{name}"));
        }
    }
}

#[test]
fn the_description_has_the_structure_of_the_specification() {
    let server = TestServer::new();
    let (description, text) = description(&server);
    let version = text_of(&description, "openapi", "description");
    assert!(version.starts_with("3.1."), "{version}");
    for name in ["title", "version"] {
        text_of(&description["info"], name, "info");
    }
    let mut ids = BTreeSet::new();
    for (name, path, operation) in operations(&description) {
        let known = [
            "tags",
            "summary",
            "description",
            "operationId",
            "parameters",
            "requestBody",
            "responses",
            "security",
        ];
        check_names(operation, &known, &name);
        let operation = Value::Object(operation.clone());
        assert!(
            ids.insert(text_of(&operation, "operationId", &name).to_owned()),
            "{name}"
        );
        // Parameters of the path are declared, and no others.
        let declared = operation["parameters"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let declared: BTreeSet<String> = declared
            .iter()
            .map(|parameter| {
                assert_eq!(parameter["in"], "path", "{name}");
                assert_eq!(parameter["required"], true, "{name}");
                check_schema(&parameter["schema"], &name);
                text_of(parameter, "name", &name).to_owned()
            })
            .collect();
        let of_path = path.split('/').filter_map(|segment| {
            let name = segment.strip_prefix('{')?.strip_suffix('}')?;
            Some(name.to_owned())
        });
        assert_eq!(declared, of_path.collect::<BTreeSet<String>>(), "{name}");
        if let Some(body) = operation.get("requestBody") {
            check_content(&body["content"], &name);
        }
        let responses = operation["responses"].as_object().unwrap();
        assert!(responses.contains_key("200"), "{name}");
        for (status, response) in responses {
            let at = format!("{name}: {status}");
            let digits = status.strip_suffix("XX").unwrap_or(status);
            let is_status = digits.bytes().all(|byte| byte.is_ascii_digit());
            assert!(is_status && [1, 3].contains(&digits.len()), "{at}");
            text_of(response, "description", &at);
            let response = response.as_object().unwrap();
            check_names(
                response,
                &["description", "headers", "content", "links"],
                &at,
            );
            check_content(&response["content"], &at);
        }
        for requirement in operation["security"].as_array().unwrap() {
            for scheme in requirement.as_object().unwrap().keys() {
                let schemes = &description["components"]["securitySchemes"];
                assert!(schemes[scheme].is_object(), "{name}: {scheme}");
            }
        }
    }
    let schemas = description["components"]["schemas"].as_object().unwrap();
    for (name, schema) in schemas {
        check_schema(schema, name);
    }
    // Every reference has a target.
    for reference in text.split("\"$ref\":\"").skip(1) {
        let reference = reference.split('"').next().unwrap();
        let name = reference.strip_prefix("#/components/schemas/");
        assert!(
            name.is_some_and(|name| schemas.contains_key(name)),
            "{reference}"
        );
    }
}

/// The validator of the specification's schema. `.ci/peers` creates its environment.
#[test]
#[allow(clippy::print_stderr)]
fn the_description_is_valid_for_another_validator() {
    let Some(python) = std::env::var_os("IR_PYTHON") else {
        eprintln!("SKIPPED: IR_PYTHON is not set");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("openapi.json");
    std::fs::write(&file, description(&TestServer::new()).1).unwrap();
    let ran = std::process::Command::new(python)
        .args(["-m", "openapi_spec_validator"])
        .arg(&file)
        .output()
        .unwrap();
    let messages = String::from_utf8_lossy(&ran.stdout);
    let errors = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{messages}{errors}");
}

#[test]
fn description_has_every_route() {
    let server = TestServer::new();
    let (description, _) = description(&server);
    let paths: Vec<&String> = description["paths"].as_object().unwrap().keys().collect();
    assert_eq!(paths.len(), 16, "{paths:?}");
    for path in paths {
        let path = path.replace("{name}", "x").replace("{op_id}", "x");
        let status = server.status("POST", &path, None);
        assert!([401, 405].contains(&status), "{path} {status}");
    }
    for (name, path, operation) in operations(&description) {
        let responses = &operation["responses"];
        let schema = &responses["500"]["content"]["application/json"]["schema"]["$ref"];
        assert_eq!(schema, "#/components/schemas/ErrorBody", "{name}");
        assert_eq!(
            responses["507"].is_object(),
            path.starts_with("/v1/index/") || path == "/v1/papers/tag",
            "{name}"
        );
        let reads = ["/v1/search/", "/v1/papers/"];
        assert_eq!(
            responses["503"].is_object(),
            reads.iter().any(|start| path.starts_with(start)),
            "{name}"
        );
    }
    let schemas = description["components"]["schemas"].as_object().unwrap();
    for name in [
        "DocumentRecord",
        "ChunkDocument",
        "ChunkRecord",
        "FaqDocument",
        "FaqRecord",
    ] {
        assert!(schemas.contains_key(name), "{name}");
    }
}
