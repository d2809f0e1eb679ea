//! Help: one screen with `-h`, everything with `--help`, a group of options with `ir help COMMAND
//! GROUP`, manual pages with `ir man`.

mod common_options;
pub(crate) mod man;

use std::io;
use std::process::ExitCode;

use clap::{Arg, Command};
use ir_bm25::models::NAMED_MODELS;

use crate::shared::console::{one_line, print_line};
use crate::shared::suggest::did_you_mean;
use crate::shared::system_options::list_types;
use common_options::common_options;

/// Name of the group of options without a heading.
const OPTIONS: &str = "Options";

/// Maximum width of help, in columns.
const MAX_WIDTH: usize = 100;

/// Maximum number of examples with `-h`.
const SHORT_EXAMPLES: usize = 3;

/// Maximum number of characters of a default value and of a text with `-h`.
const SHORT_VALUE: usize = 24;
const SHORT_TEXT: usize = 44;

/// Texts with `-h` of options with a long first clause.
const SHORT_TEXTS: [(&str, &str, &str); 7] = [
    (
        "search",
        "split",
        "Split of the judged queries [default: test]",
    ),
    ("search", "output", "Output file [default: standard output]"),
    ("search", "json", "Print one JSON object per hit"),
    ("search", "filter", "Condition, such as year>=2010"),
    ("search", "preset", "Parameters of a program or publication"),
    ("search", "vectors", "Vector index, which replaces BM25"),
    ("search", "alpha", "Weight of BM25 in the hybrid score"),
];

/// Arranges the options of all commands if the arguments ask for help.
pub(crate) fn arranged(command: Command, arguments: &[String]) -> Command {
    let asks = |flag: &str| arguments.iter().any(|argument| argument == flag);
    if asks("--help") {
        command.mut_subcommands(with_common_first)
    } else if asks("-h") {
        command.mut_subcommands(|command| shortened("ir", command))
    } else {
        command
    }
}

/// Rank of a common option.
fn rank(common: &[&str], option: &Arg) -> Option<usize> {
    let name = option.get_long()?;
    common.iter().position(|known| *known == name)
}

/// Lists the common options first. The others keep their headings.
pub(crate) fn with_common_first(command: Command) -> Command {
    let Some(common) = common_options(&command) else {
        return command;
    };
    let mut others = common.len();
    command.mut_args(|option| match rank(common, &option) {
        Some(rank) => option.help_heading(None).display_order(rank),
        None if option.get_help_heading().is_none() && !option.is_positional() => {
            others += 1;
            option.display_order(others)
        }
        None => option,
    })
}

/// One line per option, of the common options alone if there are many.
fn shortened(parent: &str, command: Command) -> Command {
    let name = command.get_name().to_owned();
    let path = format!("{parent} {name}");
    let common = common_options(&command);
    let rest = match (common, group_names(&command)) {
        (Some(_), groups) => format!(
            "All options: `{path} --help`, or a group of them: `{} GROUP` with a GROUP of {}.",
            path.replacen("ir ", "ir help ", 1),
            groups.join(", ")
        ),
        (None, _) => format!("Details: `{path} --help`."),
    };
    let rest = textwrap::fill(&rest, 78);
    let after = match command.get_after_help().map(ToString::to_string) {
        Some(after) => format!("{}\n\n{rest}", first_examples(&after)),
        None => rest,
    };
    command
        .mut_args(|option| {
            let option = option_in_one_line(&name, option);
            match common.map(|common| rank(common, &option)) {
                Some(Some(rank)) => option.help_heading(None).display_order(rank),
                Some(None) if !option.is_positional() => option.hide(true),
                _ => option,
            }
        })
        .after_help(after)
        // Narrower, clap puts the texts below the options.
        .term_width(MAX_WIDTH)
        .mut_subcommands(|command| shortened(&path, command))
}

/// Option with values that `-h` lists.
const TYPE: &str = "type";

/// Option with a text of one line, without values unless it is [`TYPE`], and with the first of
/// several value names.
fn option_in_one_line(command: &str, option: Arg) -> Arg {
    let help = option.get_help().map(ToString::to_string);
    let name = option.get_long().unwrap_or_default();
    let mut known = SHORT_TEXTS.iter();
    let known = known.find(|(of, option, _)| *of == command && *option == name);
    let help = match (known, help) {
        (Some((.., text)), _) => Some((*text).to_owned()),
        (None, help) => help.map(|help| without_end(&short_help(&help))),
    };
    let names = option.get_value_names().unwrap_or_default();
    let first = names.first().and_then(|name| name.as_str().split_once('|'));
    let first = first.map(|(first, _)| first.to_owned());
    let is_type = name == TYPE;
    let option = if option.get_action().takes_values() {
        option
            .hide_possible_values(!is_type)
            .hide_default_value(true)
    } else {
        option
    };
    let option = match first {
        Some(first) => {
            let first: &'static str = first.leak();
            option.value_name(first)
        }
        None => option,
    };
    match help {
        Some(help) => option.help(help),
        None => option,
    }
}

/// Text without the words after [`SHORT_TEXT`] characters.
fn without_end(text: &str) -> String {
    if text.chars().count() <= SHORT_TEXT {
        return text.to_owned();
    }
    let start: String = text.chars().take(SHORT_TEXT - 3).collect();
    let start = start.rsplit_once(' ').map_or(&*start, |(start, _)| start);
    format!("{}...", start.trim_end_matches([',', ' ']))
}

/// First clause of a help text, and the default value if it is short.
fn short_help(help: &str) -> String {
    let (effect, default) = match help.rfind("[default: ") {
        Some(start) => (&help[..start], &help[start..]),
        None => (help, ""),
    };
    let effect = effect.trim_end();
    let mut depth = 0;
    let mut is_quoted = false;
    let end = effect.char_indices().find_map(|(at, c)| {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            '`' => is_quoted = !is_quoted,
            _ => {}
        }
        let is_end = matches!(c, '.' | ';' | ':') && depth == 0 && !is_quoted;
        (is_end && effect[at + 1..].starts_with(char::is_whitespace)).then_some(at)
    });
    let effect = effect[..end.unwrap_or(effect.len())].trim_end_matches('.');
    if default.is_empty() || default.chars().count() > SHORT_VALUE {
        effect.to_owned()
    } else {
        format!("{effect} {default}")
    }
}

/// First examples of the text after the options.
fn first_examples(after: &str) -> String {
    let mut examples = 0;
    let lines = after.lines().take_while(|line| {
        examples += usize::from(line.starts_with("  ir "));
        !line.is_empty() && examples <= SHORT_EXAMPLES
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn heading(option: &Arg) -> &str {
    option.get_help_heading().unwrap_or(OPTIONS)
}

/// Groups of options, in the order of the help.
fn groups(command: &Command) -> Vec<&str> {
    let mut groups = Vec::new();
    for option in command.get_arguments() {
        let group = heading(option);
        if !option.is_positional() && !option.is_hide_set() && !groups.contains(&group) {
            groups.push(group);
        }
    }
    groups
}

/// Name of a group on the command line.
fn group_name(heading: &str) -> String {
    heading.to_lowercase().replace(' ', "-")
}

fn group_names(command: &Command) -> Vec<String> {
    groups(command).into_iter().map(group_name).collect()
}

/// Returns `true` if two names of groups are equal up to case and plural.
fn is_same_group(a: &str, b: &str) -> bool {
    let stem = |name: &str| {
        let name = group_name(name);
        match name.strip_suffix("ies") {
            Some(stem) => format!("{stem}y"),
            None => name.trim_end_matches('s').to_owned(),
        }
    };
    stem(a) == stem(b)
}

/// Command and group of the names after `ir help`; `None` if the last name is no group.
pub(crate) fn find_group<'a>(
    root: &'a Command,
    names: &'a [String],
) -> Option<(&'a Command, String, &'a str)> {
    let (group, path) = names.split_last()?;
    let mut command = root;
    for name in path {
        command = command.find_subcommand(name)?;
    }
    let path = format!("ir {}", path.join(" "));
    let is_group = !path.trim_end().eq("ir") && !command.has_subcommands();
    is_group.then_some((command, path, group))
}

/// Prints the help of a group of options. Returns the exit code.
pub(crate) fn print_group(command: &Command, path: &str, name: &str) -> ExitCode {
    let found = groups(command);
    let Some(group) = found.iter().find(|group| is_same_group(group, name)) else {
        let known = group_names(command);
        print_line(format_args!(
            "error: expected a group of the options of `{path}` ({}), found {}{}",
            known.join(", "),
            one_line(&format!("{name:?}")),
            did_you_mean(name, known.iter().map(String::as_str))
        ));
        return ExitCode::from(2);
    };
    let printed = help_of_group(command, group).print_long_help();
    match printed.and_then(|()| io::Write::flush(&mut io::stdout())) {
        // A closed pipe is not a failure.
        Err(fault) if fault.kind() != io::ErrorKind::BrokenPipe => {
            print_line(format_args!(
                "error: standard output: cannot be written: {fault}"
            ));
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}

/// Command with the options of a group alone.
fn help_of_group(command: &Command, group: &str) -> Command {
    let group = group.to_owned();
    let after = match &*group {
        "Model" => list_models(),
        "System" => list_types(),
        _ => String::new(),
    };
    command
        .clone()
        .disable_help_flag(true)
        .disable_version_flag(true)
        .max_term_width(MAX_WIDTH)
        .help_template("{all-args}{after-help}")
        .mut_args(move |option| {
            let is_shown = !option.is_positional() && heading(&option) == group;
            let is_hidden = option.is_hide_set();
            option.hide(is_hidden || !is_shown)
        })
        .after_help(after)
}

/// Scoring models with the default values of their parameters, as `--model` accepts them.
fn list_models() -> String {
    let mut lines = vec!["Models with their parameters, which are options, too:".to_owned()];
    for model in NAMED_MODELS {
        let parameters = model.parameters.iter();
        let parameters =
            parameters.map(|parameter| format!("{}={}", parameter.name, parameter.default));
        let parameters: Vec<String> = parameters.collect();
        lines.push(match &*parameters {
            [] => format!("  {}", model.name),
            _ => format!("  {}({})", model.name, parameters.join(",")),
        });
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::common_options::COMMON;
    use super::*;
    use crate::cli::Cli;

    fn for_each_command(command: &Command, check: &mut dyn FnMut(&Command)) {
        for command in command.get_subcommands() {
            check(command);
            for_each_command(command, check);
        }
    }

    /// `-h` of each command is one screen, which says how to see the rest.
    #[test]
    fn short_help_is_one_screen() {
        let arguments = ["-h".to_owned()];
        let mut command = arranged(Cli::command(), &arguments);
        command.build();
        for_each_command(&command, &mut |command| {
            let help = command.clone().render_help().to_string();
            assert!(help.lines().count() <= 42, "{help}");
            if command.get_name() != "help" {
                assert!(help.contains("--help"), "{help}");
            }
        });
    }

    /// `--help` has every option, the common ones first.
    #[test]
    fn long_help_is_complete() {
        let plain = Cli::command();
        let command = arranged(Cli::command(), &["--help".to_owned()]);
        for (name, common) in COMMON {
            let (Some(plain), Some(command)) =
                (plain.find_subcommand(name), command.find_subcommand(name))
            else {
                continue;
            };
            let help = command.clone().render_long_help().to_string();
            let at = |option: &str| {
                let ends = [' ', '\n'].into_iter();
                ends.filter_map(|end| help.find(&format!("--{option}{end}")))
                    .min()
            };
            let options = plain.get_arguments().filter(|option| !option.is_hide_set());
            for option in options.filter_map(Arg::get_long) {
                assert!(
                    at(option).is_some() || help.contains(&format!("--{option}[")),
                    "{name} --{option}"
                );
            }
            let first = help.find("\n  -h, --help").unwrap();
            assert!(
                common.iter().all(|option| at(option) < Some(first)),
                "{help}"
            );
        }
    }

    #[test]
    fn first_clauses() {
        for (help, expected) in [
            (
                "Number of hits [default: 10]",
                "Number of hits [default: 10]",
            ),
            (
                "Number of hits [default: 1000 for a run, 10 for a list]",
                "Number of hits",
            ),
            ("Query file: JSON lines; `-` for input", "Query file"),
            ("A (b; c. d) e. F", "A (b; c. d) e"),
            ("Weights, such as `a: 1`; more", "Weights, such as `a: 1`"),
            (
                "b 0.4. Range: 0 to 1 [default: 0.4]",
                "b 0.4 [default: 0.4]",
            ),
        ] {
            assert_eq!(short_help(help), expected);
        }
    }

    #[test]
    fn groups_are_found_by_name() {
        let command = Cli::command();
        let search = command.find_subcommand("search").unwrap();
        for (name, heading) in [
            ("models", "Model"),
            ("Model", "Model"),
            ("filters", "Filter"),
            ("query", "Queries"),
            ("systems", "System"),
        ] {
            let found = groups(search);
            let mut found = found.iter().filter(|group| is_same_group(group, name));
            assert_eq!(found.next(), Some(&heading));
            assert_eq!(found.next(), None);
        }
        let help = help_of_group(search, "Filter")
            .render_long_help()
            .to_string();
        assert!(
            help.starts_with("Filter:\n") && help.contains("--filter"),
            "{help}"
        );
        assert!(!help.contains("--k1") && !help.contains("--help"), "{help}");
        let models = help_of_group(search, "Model")
            .render_long_help()
            .to_string();
        assert!(models.contains("\n  qld(mu=1000)\n"), "{models}");
        let systems = help_of_group(search, "System")
            .render_long_help()
            .to_string();
        assert!(
            systems.contains("\n  lsi: Latent semantic indexing: "),
            "{systems}"
        );
        assert!(
            systems.contains("\n    dim: Number of dimensions: "),
            "{systems}"
        );
        assert!(!systems.contains("\n  hybrid: "), "{systems}");
    }
}
