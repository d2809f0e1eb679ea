//! Metadata blocks of Markdown: YAML and TOML.

use ir_core::{AttributeValue, Attributes};
use saphyr_parser::{Event, Parser, ScalarStyle};

use super::paper::{Paper, single_spaced, year_in};

/// Maximum size of a block in bytes. Aliases, which multiply the size, are not read.
const MAX_BYTES: usize = 64 << 10;
/// Maximum number of nested lists and mappings.
const MAX_DEPTH: usize = 16;

const GIVEN: [&str; 6] = [
    "given",
    "given-names",
    "given_name",
    "first",
    "first-name",
    "firstname",
];
const FAMILY: [&str; 6] = [
    "family",
    "family_name",
    "surname",
    "last",
    "last-name",
    "lastname",
];

type Mapping = Vec<(String, Value)>;

/// Value of a field.
#[derive(Debug, Clone, PartialEq)]
enum Value {
    /// Text between quotation marks, or of several lines.
    Text(String),
    /// Scalar without quotation marks: a text, number or truth value.
    Plain(String),
    List(Vec<Self>),
    Mapping(Mapping),
}

/// Reads a block of YAML. Returns `false` if it has no fields, and is text.
pub(super) fn read_yaml(text: &str, paper: &mut Paper) -> bool {
    read(text, parse_yaml, ':', paper)
}

/// Reads a block of TOML. Returns `false` if it has no fields, and is text.
pub(super) fn read_toml(text: &str, paper: &mut Paper) -> bool {
    read(text, parse_toml, '=', paper)
}

fn read(
    text: &str,
    parse: fn(&str) -> Option<Mapping>,
    separator: char,
    paper: &mut Paper,
) -> bool {
    let Some(fields) = read_fields(text, parse, separator) else {
        return false;
    };
    for (name, value) in &fields {
        set_field(&name.to_lowercase(), value, paper);
    }
    true
}

/// Reads the title and the other fields of a block of YAML. `None` if it has no fields, and is
/// text.
pub(super) fn yaml_attributes(text: &str) -> Option<(Option<String>, Attributes)> {
    read_fields(text, parse_yaml, ':').map(with_title)
}

/// Reads the title and the other fields of a block of TOML. `None` if it has no fields, and is
/// text.
pub(super) fn toml_attributes(text: &str) -> Option<(Option<String>, Attributes)> {
    read_fields(text, parse_toml, '=').map(with_title)
}

fn with_title(fields: Mapping) -> (Option<String>, Attributes) {
    let (mut title, mut attributes) = (None, Attributes::new());
    for (name, value) in &fields {
        if name.eq_ignore_ascii_case("title") {
            title = text_of(value);
        } else if let Some(value) = attribute(value) {
            attributes.set(name.as_str(), value);
        }
    }
    (title, attributes)
}

/// Value as an attribute; `None` if it is blank. Plain scalars are truth values and numbers by the
/// rules of YAML, except that integers with leading zeros are texts.
fn attribute(value: &Value) -> Option<AttributeValue> {
    Some(match value {
        Value::Text(text) | Value::Plain(text) if text.trim().is_empty() => return None,
        Value::Text(text) => AttributeValue::Text(text.trim().to_owned()),
        Value::Plain(text) => {
            let integer = text.parse::<i64>().ok();
            let integer = integer.filter(|it| it.to_string() == *text);
            let is_decimal = text.contains('.')
                && text.contains(|c: char| c.is_ascii_digit())
                && !text.contains(|c: char| c.is_alphabetic());
            let float = text.parse::<f64>().ok().filter(|_| is_decimal);
            match (&**text, integer, float) {
                ("true" | "True" | "TRUE", ..) => AttributeValue::Bool(true),
                ("false" | "False" | "FALSE", ..) => AttributeValue::Bool(false),
                (_, Some(integer), _) => AttributeValue::Int(integer),
                (_, _, Some(float)) => AttributeValue::Float(float),
                _ => AttributeValue::Text(text.trim().to_owned()),
            }
        }
        Value::List(values) => AttributeValue::List(values.iter().filter_map(attribute).collect()),
        Value::Mapping(fields) => {
            let fields = fields.iter();
            let fields = fields.filter_map(|(name, value)| Some((name.clone(), attribute(value)?)));
            AttributeValue::Map(fields.collect())
        }
    })
}

/// Reads the fields that `parse` finds in the block or, if the block is invalid, in each field. The
/// text of an invalid field without a list is its value: `title: Tea: a study`. `None` if the block
/// has no fields and is not a comment.
fn read_fields(text: &str, parse: fn(&str) -> Option<Mapping>, separator: char) -> Option<Mapping> {
    let is_comment = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    if text.lines().all(is_comment) {
        return Some(Mapping::new());
    }
    if text.len() > MAX_BYTES {
        return None;
    }
    let fields = parse(text).unwrap_or_else(|| {
        let fields = field_texts(text, separator).into_iter();
        fields
            .flat_map(|field| field_of(&field, parse, separator))
            .collect()
    });
    Some(fields).filter(|fields| !fields.is_empty())
}

/// Lines of each field: a line that starts with a name, and indented lines and items of a list.
fn field_texts(text: &str, separator: char) -> Vec<String> {
    let mut fields: Vec<String> = Vec::new();
    for line in text.lines() {
        let starts = line.contains(separator)
            && !line.starts_with(|c: char| c.is_whitespace() || matches!(c, '-' | '#' | '['));
        match fields.last_mut().filter(|_| !starts) {
            Some(field) => *field += &format!("\n{line}"),
            None => fields.push(line.to_owned()),
        }
    }
    fields
}

fn field_of(text: &str, parse: fn(&str) -> Option<Mapping>, separator: char) -> Mapping {
    if let Some(fields) = parse(text) {
        return fields;
    }
    let is_list = text.lines().any(|line| line.trim_start().starts_with('-'));
    match text.split_once(separator) {
        Some((name, value)) if !is_list => {
            let value = Value::Plain(value.trim().to_owned());
            vec![(name.trim().to_owned(), value)]
        }
        _ => Mapping::new(),
    }
}

/// List or mapping in progress.
enum Open {
    List(Vec<Value>),
    /// Fields, and the name of the next one.
    Mapping(Mapping, Option<String>),
}

/// Fields of a mapping in YAML. `None` for other and invalid YAML, aliases and deep nesting.
fn parse_yaml(text: &str) -> Option<Mapping> {
    let mut open: Vec<Open> = Vec::new();
    for event in Parser::new_from_str(text) {
        let (event, _) = event.ok()?;
        let value = match event {
            Event::Scalar(text, style, ..) => {
                let is_null =
                    style == ScalarStyle::Plain && matches!(&*text, "~" | "null" | "Null" | "NULL");
                match style {
                    _ if is_null => Value::Plain(String::new()),
                    ScalarStyle::Plain => Value::Plain(text.into_owned()),
                    _ => Value::Text(text.into_owned()),
                }
            }
            Event::SequenceStart(..) if open.len() < MAX_DEPTH => {
                open.push(Open::List(Vec::new()));
                continue;
            }
            Event::MappingStart(..) if open.len() < MAX_DEPTH => {
                open.push(Open::Mapping(Mapping::new(), None));
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop()? {
                Open::List(values) => Value::List(values),
                Open::Mapping(fields, _) => Value::Mapping(fields),
            },
            Event::SequenceStart(..) | Event::MappingStart(..) | Event::Alias(_) => return None,
            _ => continue,
        };
        match (open.last_mut(), value) {
            (Some(Open::List(values)), value) => values.push(value),
            (Some(Open::Mapping(fields, name)), value) => match (name.take(), value) {
                (Some(name), value) => fields.push((name, value)),
                (None, Value::Text(text) | Value::Plain(text)) => *name = Some(text),
                (None, _) => return None,
            },
            (None, Value::Mapping(fields)) => return Some(fields),
            (None, _) => return None,
        }
    }
    None
}

/// Fields of TOML. `None` for invalid TOML.
fn parse_toml(text: &str) -> Option<Mapping> {
    let table: toml::Table = text.parse().ok()?;
    match toml_value(toml::Value::Table(table), MAX_DEPTH)? {
        Value::Mapping(fields) => Some(fields),
        _ => None,
    }
}

fn toml_value(value: toml::Value, depth: usize) -> Option<Value> {
    let depth = depth.checked_sub(1)?;
    Some(match value {
        toml::Value::String(text) => Value::Text(text),
        toml::Value::Array(values) => {
            let values = values.into_iter();
            Value::List(
                values
                    .map(|it| toml_value(it, depth))
                    .collect::<Option<_>>()?,
            )
        }
        toml::Value::Table(fields) => {
            let fields = fields.into_iter();
            let field = |(name, it)| Some((name, toml_value(it, depth)?));
            Value::Mapping(fields.map(field).collect::<Option<_>>()?)
        }
        other => Value::Plain(other.to_string()),
    })
}

fn set_field(name: &str, value: &Value, paper: &mut Paper) {
    if matches!(name, "author" | "authors") {
        paper.authors.extend(names(value));
        return;
    }
    let Some(text) = text_of(value) else { return };
    match name {
        "title" => paper.title = text,
        "year" | "date" => paper.year = paper.year.or_else(|| year_in(&text)),
        "venue" | "journal" | "conference" => paper.venue = Some(text),
        "doi" | "arxiv" => paper.metadata.set(name, text),
        "arxiv_id" | "eprint" => paper.metadata.set("arxiv", text),
        _ => {}
    }
}

/// Text of a value, of the first one of a list, or of the name or title of a mapping. `None` if it
/// is blank.
fn text_of(value: &Value) -> Option<String> {
    let text = match value {
        Value::Text(text) | Value::Plain(text) => single_spaced(text),
        Value::List(values) => text_of(values.first()?)?,
        Value::Mapping(fields) => field(fields, &["name", "title"]).and_then(text_of)?,
    };
    Some(text).filter(|text| !text.is_empty())
}

fn field<'a>(fields: &'a Mapping, names: &[&str]) -> Option<&'a Value> {
    let is_named = |name: &str| names.iter().any(|it| it.eq_ignore_ascii_case(name));
    let mut fields = fields.iter();
    fields
        .find(|(name, _)| is_named(name))
        .map(|(_, value)| value)
}

/// Names of authors: texts, and mappings with `name`, with given and family names, or with the name
/// as their key.
fn names(value: &Value) -> Vec<String> {
    match value {
        Value::Text(_) | Value::Plain(_) => text_of(value).into_iter().collect(),
        Value::List(values) => values.iter().flat_map(names).collect(),
        Value::Mapping(fields) => {
            if let Some(name) = field(fields, &["name", "literal"]) {
                return names(name);
            }
            let parts = [&GIVEN[..], &FAMILY].map(|names| field(fields, names).and_then(text_of));
            let parts: Vec<String> = parts.into_iter().flatten().collect();
            match &**fields {
                _ if !parts.is_empty() => vec![parts.join(" ")],
                // The key of an author with an affiliation: `Ann Doe: {institute: x}`.
                [(name, Value::Mapping(_) | Value::List(_))] => vec![single_spaced(name)],
                _ => Vec::new(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn yaml_paper(text: &str) -> (bool, Paper) {
        let mut paper = Paper::new("p");
        (read_yaml(text, &mut paper), paper)
    }

    #[test]
    fn scalars_of_yaml() {
        for (text, title) in [
            ("title: >\n  Cups and\n  pots\n", "Cups and pots"),
            ("title: |-\n  Cups\n  and pots", "Cups and pots"),
            (r#"title: "A \"th\u00e9\" cup""#, "A \"thé\" cup"),
            ("title: 'Tea''s cups' # new", "Tea's cups"),
            ("title: Cups # new", "Cups"),
            ("Title: Cups: a study", "Cups: a study"),
            ("title: [Cups, Pots]", "Cups"),
            ("title: ~", ""),
            ("# title: Cups", ""),
            ("a: &a [b]\nc: *a\ntitle: Cups", "Cups"),
        ] {
            let (is_metadata, paper) = yaml_paper(text);
            assert!(is_metadata, "{text}");
            assert_eq!(paper.title, title, "{text}");
        }
    }

    #[test]
    fn authors_of_yaml() {
        for (text, authors) in [
            ("author: Eve Cup", &["Eve Cup"][..]),
            ("author: [\"Cup, Eve\", Bo Pot]", &["Cup, Eve", "Bo Pot"]),
            (
                "authors:\n- name: Eve Cup\n  orcid: 1\n- Bo Pot",
                &["Eve Cup", "Bo Pot"],
            ),
            ("author:\n  name: {given: Eve, family: Cup}", &["Eve Cup"]),
            (
                "author:\n  - {first: Eve, last: Cup}\n  - {surname: Pot}",
                &["Eve Cup", "Pot"],
            ),
            ("author:\n  - Eve Cup:\n      institute: [x]", &["Eve Cup"]),
            ("title: A: b\nauthor:\n- name: Eve Cup", &["Eve Cup"]),
        ] {
            assert_eq!(yaml_paper(text).1.authors, authors, "{text}");
        }
    }

    #[test]
    fn fields_of_toml() {
        let text = "title = \"Cups, pots\"\nauthors = [\"Eve Cup\"]\ndate = 2016-05-12\n[journal]\nname = \"Tea\"";
        let mut paper = Paper::new("p");
        assert!(read_toml(text, &mut paper));
        assert_eq!((&*paper.title, paper.year), ("Cups, pots", Some(2016)));
        assert_eq!(
            (&*paper.authors[0], paper.venue.as_deref()),
            ("Eve Cup", Some("Tea"))
        );
    }

    #[test]
    fn attributes_with_types() {
        let text = "Title: Cups\nyear: 2010\nrating: 4.5\nid: 007\nedition: \"2\"\ndraft: true\n\
                    date: 2021-05-01\ntags: [tea, 3]\nplace:\n  city: Jena\nnone: ~\nblank: \"\"";
        let (title, attributes) = yaml_attributes(text).unwrap();
        assert_eq!(title.as_deref(), Some("Cups"));
        let expected = serde_json::json!({
            "year": 2010, "rating": 4.5, "id": "007", "edition": "2", "draft": true,
            "date": "2021-05-01", "tags": ["tea", 3], "place": {"city": "Jena"}
        });
        assert_eq!(serde_json::to_value(&attributes).unwrap(), expected);
        let toml =
            "title = \"Cups\"\nyear = 2010\nedition = \"2\"\ndate = 2021-05-01\ndraft = false";
        let (title, attributes) = toml_attributes(toml).unwrap();
        assert_eq!(title.as_deref(), Some("Cups"));
        let expected = serde_json::json!({
            "year": 2010, "edition": "2", "date": "2021-05-01", "draft": false
        });
        assert_eq!(serde_json::to_value(&attributes).unwrap(), expected);
        assert!(yaml_attributes("A sentence between lines.").is_none());
    }

    #[test]
    fn hostile_blocks_end_soon() {
        let laughs: String = (1..20)
            .map(|n| format!("a{n}: &a{n} [*a{0}, *a{0}, *a{0}, *a{0}]\n", n - 1))
            .collect();
        let start = std::time::Instant::now();
        for (text, is_metadata) in [
            (format!("title: Cups\na0: &a0 x\n{laughs}"), true),
            (format!("title: Cups\na: {}", "[".repeat(60_000)), true),
            (format!("title: Cups\na:\n{}", "- ".repeat(30_000)), true),
            (format!("title: Cups\n{}", "a: {b: ".repeat(9_000)), true),
            (format!("title: Cups\n{}", "? ".repeat(30_000)), true),
            (format!("title: Cups\n{}", "\n".repeat(70_000)), false),
            ("A sentence between lines.".to_owned(), false),
        ] {
            let (found, paper) = yaml_paper(&text);
            assert_eq!(found, is_metadata);
            assert_eq!(paper.title.starts_with("Cups"), is_metadata);
        }
        assert!(start.elapsed().as_secs() < 20);
    }
}
