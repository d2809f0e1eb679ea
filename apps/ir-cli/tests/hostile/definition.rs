//! Subcommands and options of the command, read from its help.

use std::process::Command;

/// Subcommand, such as `datasets fetch`, with what it takes.
#[derive(Debug)]
pub(crate) struct Subcommand {
    /// `["datasets", "fetch"]`.
    pub(crate) path: Vec<String>,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) options: Vec<Argument>,
    /// Alternatives of which one is required.
    pub(crate) groups: Vec<Vec<String>>,
}

/// An option or a positional argument.
#[derive(Debug, Default)]
pub(crate) struct Argument {
    /// `--output`, `-v` or `COLLECTION`.
    pub(crate) name: String,
    /// Name of the value; `None` for a flag.
    pub(crate) value: Option<String>,
    pub(crate) is_value_optional: bool,
    pub(crate) possible_values: Vec<String>,
    pub(crate) help: String,
    pub(crate) is_required: bool,
    pub(crate) is_repeated: bool,
}

impl Argument {
    pub(crate) fn is_output(&self) -> bool {
        let is_path = self.possible_values.is_empty() && self.value.is_some();
        is_path && (self.help.starts_with("Output ") || self.is_cache())
    }

    /// Whether the argument is a folder that a failed command may fill, too.
    pub(crate) fn is_cache(&self) -> bool {
        self.help.starts_with("Cache ")
    }
}

impl Subcommand {
    pub(crate) fn name(&self) -> String {
        self.path.join(" ")
    }
}

/// All subcommands, nested ones included.
pub(crate) fn all() -> Vec<Subcommand> {
    let mut commands = Vec::new();
    read(Vec::new(), &mut commands);
    commands
}

fn read(path: Vec<String>, commands: &mut Vec<Subcommand>) {
    let output = Command::new(env!("CARGO_BIN_EXE_ir"))
        .args(&path)
        .arg("--help")
        .output();
    let help = String::from_utf8(output.unwrap().stdout).unwrap();
    // Commands in examples are not definitions.
    let help = help.split("\nExamples:\n  ir ").next().unwrap_or_default();
    let (mut arguments, mut options, mut nested) = (Vec::new(), Vec::new(), Vec::new());
    let mut section = "";
    for line in help.lines() {
        let indent = line.len() - line.trim_start().len();
        let text = line.trim();
        if indent == 0 && text.ends_with(':') {
            section = text;
        } else if section == "Commands:" && indent == 2 {
            // A server runs until it is stopped; its tests are in tests/serve.
            let name = text.split("  ").next().filter(|&name| name != "serve");
            nested.extend(name.map(str::to_owned));
        } else if section == "Arguments:" && indent == 2 {
            arguments.push(parse(text));
        } else if indent <= 6 && text.starts_with('-') {
            options.push(parse(text));
        } else if let Some(last) = if section == "Arguments:" {
            &mut arguments
        } else {
            &mut options
        }
        .last_mut()
        {
            describe(last, text);
        }
    }
    let usage = help
        .lines()
        .find_map(|line| line.strip_prefix("Usage: ir "));
    let usage = usage
        .and_then(|usage| usage.split_once("[OPTIONS]"))
        .map_or("", |usage| usage.1);
    let mut groups = Vec::new();
    for part in parts(usage) {
        if let Some(group) = part.strip_prefix("<--") {
            let names = group
                .split('|')
                .filter_map(|option| option.split(' ').next());
            groups.push(
                names
                    .map(|name| format!("--{}", name.trim_start_matches('-')))
                    .collect(),
            );
        } else if let Some(option) = options
            .iter_mut()
            .find(|option: &&mut Argument| option.name == part)
        {
            option.is_required = true;
        }
    }
    for name in nested {
        read([&path[..], &[name]].concat(), commands);
    }
    if !path.is_empty() {
        commands.push(Subcommand {
            path,
            arguments,
            options,
            groups,
        });
    }
}

/// Words of a usage line; text in angle brackets is one word.
fn parts(usage: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut depth = 0;
    for c in usage.chars() {
        match c {
            '<' => depth += 1,
            '>' => depth -= 1,
            _ => {}
        }
        if c == ' ' && depth == 0 {
            parts.push(String::new());
        } else if let Some(part) = parts.last_mut() {
            part.push(c);
        }
    }
    parts
}

/// Parses `-o, --output <FILE>`, `--per-topic[=<N>]`, `<QRELS>` or `[WORDS]...`, with the
/// description after two spaces, if any.
fn parse(line: &str) -> Argument {
    let (definition, help) = line.split_once("  ").unwrap_or((line, ""));
    let is_option = definition.starts_with('-');
    let value = definition
        .split_once('<')
        .and_then(|(_, rest)| rest.rsplit_once('>'));
    let value = value.map(|(value, _)| value.to_owned());
    let name = if is_option {
        let names = definition.split(['<', '[']).next().unwrap_or_default();
        names
            .trim()
            .rsplit(", ")
            .next()
            .unwrap_or_default()
            .trim()
            .to_owned()
    } else {
        definition
            .trim_matches(['<', '>', '[', ']', '.'])
            .to_owned()
    };
    let mut argument = Argument {
        value: if is_option { value } else { Some(name.clone()) },
        is_value_optional: definition.contains("[="),
        is_required: definition.starts_with('<'),
        is_repeated: definition.ends_with("..."),
        name,
        ..Argument::default()
    };
    describe(&mut argument, help.trim());
    argument
}

/// Adds a line of the description.
fn describe(argument: &mut Argument, line: &str) {
    if let Some(value) = line.strip_prefix("- ") {
        argument
            .possible_values
            .extend(value.split(':').next().map(str::to_owned));
    } else if let Some((_, values)) = line.split_once("[possible values: ") {
        let values = values.trim_end_matches(']').split(", ");
        argument.possible_values.extend(values.map(str::to_owned));
    }
    argument.help = [&argument.help, line].join(" ").trim().to_owned();
}
