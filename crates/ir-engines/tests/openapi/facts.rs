//! Requests against the table `facts.txt`.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::common::Request;

struct Operation {
    method: String,
    path: String,
    body: String,
    parameters: Vec<String>,
}

#[derive(Default)]
struct Type {
    /// Whether values have exactly one member.
    is_single: bool,
    /// Type expressions of members, and whether they are required.
    members: BTreeMap<String, (String, bool)>,
}

/// Operations and types of one engine.
pub(crate) struct Facts {
    operations: Vec<Operation>,
    /// By name, or by name and variant.
    types: BTreeMap<String, Type>,
}

impl Facts {
    /// Reads the section of an engine.
    pub(crate) fn of_engine(engine: &str) -> Self {
        let table = include_str!("facts.txt");
        let section = table.split(&format!("\n[{engine}]\n")).nth(1).unwrap();
        let section = section.split("\n[").next().unwrap();
        let mut facts = Self {
            operations: Vec::new(),
            types: BTreeMap::new(),
        };
        for line in section.replace("\n    ", " ").lines() {
            let Some((head, items)) = line.split_once(':') else {
                assert!(line.is_empty(), "{line}");
                continue;
            };
            let items = items.split_whitespace();
            match head.strip_prefix("type ") {
                None => {
                    let mut words = head.splitn(3, ' ').map(str::to_owned);
                    facts.operations.push(Operation {
                        method: words.next().unwrap(),
                        path: words.next().unwrap(),
                        body: words.next().unwrap(),
                        parameters: items.map(str::to_owned).collect(),
                    });
                }
                Some(name) => {
                    let mut kind = Type::default();
                    let name = name.strip_suffix(" one").unwrap_or(name);
                    kind.is_single = head.ends_with(" one");
                    for item in items {
                        let (member, expression) = item.split_once('=').unwrap();
                        let required = member.ends_with('!');
                        let member = member.trim_end_matches('!').to_owned();
                        kind.members
                            .insert(member, (expression.to_owned(), required));
                    }
                    let replaced = facts.types.insert(name.to_owned(), kind);
                    assert!(replaced.is_none(), "{name}");
                }
            }
        }
        facts
    }

    /// Operations by method and path.
    pub(crate) fn operations(&self) -> Vec<String> {
        let names = self.operations.iter();
        names
            .map(|it| format!("{} {}", it.method, it.path))
            .collect()
    }

    /// Checks a request; returns the operation that it is of, or what is wrong.
    pub(crate) fn check(&self, request: &Request) -> Result<String, Vec<String>> {
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        let is_of = |operation: &&Operation| {
            let (a, b) = (operation.path.split('/'), path.split('/'));
            operation.method == request.method
                && a.clone().count() == b.clone().count()
                && a.zip(b).all(|(template, part)| match template {
                    "{index}" => !part.starts_with('_') && !part.is_empty(),
                    "{id}" | "{name}" => !part.is_empty(),
                    fixed => fixed == part,
                })
        };
        let Some(operation) = self.operations.iter().find(is_of) else {
            return Err(vec![format!("no operation {} {path}", request.method)]);
        };
        let mut errors = Vec::new();
        for parameter in query.split('&').filter(|it| !it.is_empty()) {
            let name = parameter.split('=').next().unwrap();
            if !operation.parameters.iter().any(|known| known == name) {
                errors.push(format!("parameter {name}: not declared"));
            }
        }
        self.check_body(operation, request, &mut errors);
        if errors.is_empty() {
            Ok(format!("{} {}", operation.method, operation.path))
        } else {
            Err(errors)
        }
    }

    fn check_body(&self, operation: &Operation, request: &Request, errors: &mut Vec<String>) {
        let body = request.body.as_str();
        let mut expect_type = |expected: Option<&str>| {
            if request.content_type.as_deref() != expected {
                let found = &request.content_type;
                errors.push(format!(
                    "content type: expected {expected:?}, found {found:?}"
                ));
            }
        };
        if body.is_empty() {
            expect_type(None);
            if operation.body != "-" && !operation.body.ends_with('?') {
                errors.push("expected a body, found none".to_owned());
            }
            return;
        }
        let Some(lines) = operation.body.strip_prefix('[') else {
            expect_type(Some("application/json"));
            match serde_json::from_str(body) {
                Ok(value) if operation.body != "-" => {
                    let kind = operation.body.trim_end_matches('?');
                    self.check_value(&value, kind, "body", errors);
                }
                found => errors.push(format!("expected {}, found {found:?}", operation.body)),
            }
            return;
        };
        expect_type(Some("application/x-ndjson"));
        let kinds: Vec<&str> = lines.trim_end_matches(']').split(' ').collect();
        if !body.ends_with('\n') || !body.lines().count().is_multiple_of(kinds.len()) {
            errors.push(format!("expected complete lines of {}", operation.body));
        }
        for (line, kind) in body.lines().zip(kinds.iter().cycle()) {
            match serde_json::from_str::<Value>(line) {
                Ok(value) if *kind == "source" && value.is_object() => {}
                Ok(value) => self.check_value(&value, kind, kind, errors),
                Err(error) => errors.push(format!("{kind}: {error}")),
            }
        }
    }

    /// Checks a value against alternatives; adds the errors of the nearest one: the fewest of those
    /// with the form of the value.
    fn check_value(&self, value: &Value, types: &str, at: &str, errors: &mut Vec<String>) {
        let alternatives = types.split('|').map(|kind| {
            let mut found = Vec::new();
            let fits = self.check_one(value, kind, at, &mut found);
            (fits, found)
        });
        let nearest = alternatives.min_by_key(|(fits, found)| (!fits, found.len()));
        errors.extend(nearest.unwrap().1);
    }

    /// Checks a value against a type; returns whether the value has its form.
    fn check_one(&self, value: &Value, kind: &str, at: &str, errors: &mut Vec<String>) -> bool {
        let list = kind.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
        let map = kind.strip_prefix('{').and_then(|it| it.strip_suffix('}'));
        let fits = match (value, kind) {
            (_, "any") => true,
            (Value::String(_), "string") | (Value::Bool(_), "boolean") => true,
            (Value::Number(_), "number") => true,
            (Value::Number(number), "integer") => number.is_i64() || number.is_u64(),
            (Value::String(text), fixed) if fixed.starts_with('\'') => fixed == format!("'{text}'"),
            (Value::Array(all), _) if list.is_some() => {
                for (index, value) in all.iter().enumerate() {
                    self.check_value(value, list.unwrap(), &format!("{at}[{index}]"), errors);
                }
                true
            }
            (Value::Object(all), _) if map.is_some() => {
                for (name, value) in all {
                    self.check_value(value, map.unwrap(), &format!("{at}.{name}"), errors);
                }
                true
            }
            (Value::Object(_), _) => {
                let variant = format!("{kind} {}", value["type"].as_str().unwrap_or("object"));
                let types = [self.types.get(kind), self.types.get(&variant)];
                let types: Vec<&Type> = types.into_iter().flatten().collect();
                self.check_members(value, &types, at, errors);
                !types.is_empty()
            }
            _ => false,
        };
        if !fits {
            let found: String = value.to_string().chars().take(60).collect();
            errors.push(format!("{at}: expected {kind}, found {found}"));
        }
        fits
    }

    fn check_members(&self, value: &Value, types: &[&Type], at: &str, errors: &mut Vec<String>) {
        let members = value.as_object().unwrap();
        for kind in types {
            for (name, (_, required)) in &kind.members {
                if *required && !members.contains_key(name) {
                    errors.push(format!("{at}.{name}: missing"));
                }
            }
            if kind.is_single && members.len() != 1 {
                errors.push(format!(
                    "{at}: expected one member, found {}",
                    members.len()
                ));
            }
        }
        for (name, value) in members {
            let mut found = types.iter().filter_map(|kind| kind.members.get(name));
            let mut others = types.iter().filter_map(|kind| kind.members.get("*"));
            match found.next().or_else(|| others.next()) {
                Some((kind, _)) => self.check_value(value, kind, &format!("{at}.{name}"), errors),
                None => errors.push(format!("{at}.{name}: not declared")),
            }
        }
    }
}
