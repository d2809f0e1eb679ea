//! Chat templates: the prompt of a language model for a pair, such as Qwen3-Reranker's.

use std::path::{Path, PathBuf};

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, Error, ErrorKind, Value as TemplateValue, context};
use serde_json::{Map, Value, json};

use crate::encode::ModelTokenizer;
use crate::encode::files::CHAT_TEMPLATE;
use crate::encode::tokenizer_files::TokenizerSettings;
use crate::error::ModelError;
use crate::model_folder::{read_bytes, read_json};

/// Name of the template in its environment.
const NAME: &str = "chat";

/// Special tokens that a template may contain.
const TOKENS: [&str; 7] = [
    "bos_token",
    "eos_token",
    "unk_token",
    "sep_token",
    "pad_token",
    "cls_token",
    "mask_token",
];

/// Parts of a template that read the content of a message as a list.
const STRUCTURED: [&str; 6] = [
    "content[0]",
    ".type",
    "'type'",
    "\"type\"",
    "item.type",
    "message.content[",
];

/// Models with messages of text, whatever the template is.
const FLAT_MODELS: [&str; 4] = ["apertus", "deepseek_v3", "gpt_oss", "seed_oss"];

/// Chat template of a folder.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ChatSettings {
    path: PathBuf,
    source: String,
    /// If `true`, the content of a message is a list of parts.
    is_structured: bool,
    /// Values of the template besides the messages: special tokens and settings.
    values: Map<String, Value>,
}

/// Template with the prompt of the model.
#[derive(Debug, Clone)]
pub(crate) struct ChatTemplate {
    path: PathBuf,
    environment: Environment<'static>,
    is_structured: bool,
    values: Map<String, Value>,
    /// Content of the system message; empty for none.
    prompt: String,
    /// Tokens at the end of every sequence, which truncation keeps.
    pub(super) suffix: Vec<u32>,
}

impl ChatSettings {
    /// Reads the template of a folder; `None` without one. `format`: `structured` or `flat`; by
    /// default it is inferred from the template.
    pub(super) fn read(
        folder: &Path,
        values: &Map<String, Value>,
        format: Option<&str>,
    ) -> Result<Option<Self>, ModelError> {
        let config_path = folder.join("tokenizer_config.json");
        let config = read_json::<Map<String, Value>>(&config_path)?.unwrap_or_default();
        let path = folder.join(CHAT_TEMPLATE);
        let (path, source) = match read_bytes(&path)? {
            Some(bytes) => (path, String::from_utf8_lossy(&bytes).into_owned()),
            None => match config.get("chat_template") {
                None | Some(Value::Null) => return Ok(None),
                Some(template) => match default_template(template) {
                    Some(source) => (config_path, source.to_owned()),
                    None => {
                        let expected = "a template, or a list with a template \"default\"";
                        let field = "chat_template";
                        return Err(ModelError::setting(&config_path, field, expected, template));
                    }
                },
            },
        };
        let is_structured = match format {
            Some("structured") => true,
            Some("flat") => false,
            _ => {
                let model = read_json::<Map<String, Value>>(&folder.join("config.json"))?;
                let model = model.unwrap_or_default();
                let kind = model.get("model_type").and_then(Value::as_str);
                !kind.is_some_and(|kind| FLAT_MODELS.contains(&kind))
                    && STRUCTURED.iter().any(|part| source.contains(part))
            }
        };
        let settings = TokenizerSettings::read(folder)?;
        let tokens = TOKENS.iter().filter_map(|&name| {
            let token = settings.token(name)?;
            Some((name.to_owned(), Value::String(token)))
        });
        let defaults = [("add_generation_prompt".to_owned(), Value::Bool(false))];
        let mut all: Map<String, Value> = tokens.chain(defaults).collect();
        all.extend(values.clone());
        Ok(Some(Self {
            path,
            source,
            is_structured,
            values: all,
        }))
    }

    /// Compiles the template for a prompt, which is the system message.
    ///
    /// # Errors
    /// If the template is invalid, or does not contain query and document.
    pub(super) fn compile(
        &self,
        prompt: &str,
        tokenizer: &ModelTokenizer,
    ) -> Result<ChatTemplate, ModelError> {
        let invalid = |source| ModelError::Template {
            path: self.path.clone(),
            source,
        };
        let mut environment = Environment::new();
        let syntax = SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build();
        environment.set_syntax(syntax.map_err(invalid)?);
        environment
            .set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        environment.add_function("raise_exception", |message: String| {
            Err::<String, Error>(Error::new(ErrorKind::InvalidOperation, message))
        });
        let added = environment.add_template_owned(NAME, self.source.clone());
        added.map_err(invalid)?;
        let mut template = ChatTemplate {
            path: self.path.clone(),
            environment,
            is_structured: self.is_structured,
            values: self.values.clone(),
            prompt: prompt.to_owned(),
            suffix: Vec::new(),
        };
        let all = [
            ("alpha", "bravo"),
            ("charlie", "bravo"),
            ("alpha", "foxtrot"),
        ];
        let all = all.map(|(query, document)| template.render(query, document));
        let [base, query, document] = all;
        let base = base?;
        for (name, other) in [("query", query?), ("document", document?)] {
            if other == base {
                let expected = "a template with messages of the roles query and document";
                let found = format!("without the {name}");
                let field = "chat_template";
                return Err(ModelError::setting(&self.path, field, expected, found));
            }
        }
        // The fillers have different tokens, so that common tokens at the end are the template's.
        let [first, second] = ["0", "1 2 3 4"].map(|filler| {
            let text = template.render(filler, filler)?;
            Ok::<_, ModelError>(tokenizer.encode_start(&text, usize::MAX)?.0)
        });
        let (first, second) = (first?, second?);
        let (first, second) = (first.get_ids(), second.get_ids());
        let pairs = first.iter().rev().zip(second.iter().rev());
        let common = pairs.take_while(|(a, b)| a == b).count();
        if common < first.len().min(second.len()) {
            template.suffix = first[first.len() - common..].to_vec();
        }
        Ok(template)
    }
}

impl ChatTemplate {
    /// Returns the text for a pair.
    pub(super) fn render(&self, query: &str, document: &str) -> Result<String, ModelError> {
        let message = |role: &str, content: &str| {
            let content = if self.is_structured {
                json!([{"type": "text", "text": content}])
            } else {
                json!(content)
            };
            json!({"role": role, "content": content})
        };
        let system = (!self.prompt.is_empty()).then(|| message("system", &self.prompt));
        let pair = [message("query", query), message("document", document)];
        let messages: Vec<Value> = system.into_iter().chain(pair).collect();
        let values = TemplateValue::from(Serde(&self.values));
        let rendered = self.environment.get_template(NAME).and_then(|template| {
            template.render(context! { messages => Serde(messages), ..values })
        });
        rendered.map_err(|source| ModelError::Template {
            path: self.path.clone(),
            source,
        })
    }

    /// Format of the messages.
    pub(super) fn format(&self) -> &'static str {
        if self.is_structured {
            "structured"
        } else {
            "flat"
        }
    }

    /// Values that identify the template.
    pub(super) fn identity(&self) -> Value {
        let template = self.environment.get_template(NAME);
        json!({
            "source": template.map_or(String::new(), |template| template.source().to_owned()),
            "values": self.values,
            "prompt": self.prompt,
            "is_structured": self.is_structured,
        })
    }
}

/// Returns a template, or the one named `default` of several.
fn default_template(template: &Value) -> Option<&str> {
    let named = |it: &&Value| it["name"] == "default";
    let all = template.as_array();
    let default = all.and_then(|all| all.iter().find(named)?["template"].as_str());
    template.as_str().or(default)
}
