//! Usage errors in one line, with the closest name for an unknown name.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::shared::console::{MAX_WORD, one_line, print_line, shortened};
use crate::shared::suggest::closest;

/// Prints requested help, or a usage error of a command line in one line. Returns the exit code.
pub(crate) fn report_usage_error(root: &Command, error: &clap::Error) -> ExitCode {
    let arguments = std::env::args_os().skip(1);
    let arguments: Vec<String> = arguments
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    match error.kind() {
        ErrorKind::DisplayHelp if let Some(found) = bundled_help(&arguments) => {
            print_line(format_args!(
                "error: unexpected argument '{found}' found; long options start with two dashes: '-{found}' (see --help)"
            ));
            ExitCode::from(2)
        }
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let printed = error.print().and_then(|()| io::stdout().flush());
            match printed {
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
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            ExitCode::from(2)
        }
        _ => {
            print_line(format_args!("{}", one_line_error(root, error, &arguments)));
            ExitCode::from(2)
        }
    }
}

/// Long option with one dash, such as Anserini's `-hits`, that clap parses as `-h` and other short
/// options.
fn bundled_help(arguments: &[String]) -> Option<&String> {
    let is_bundle = |argument: &&String| argument.len() > 2 && argument.starts_with("-h");
    arguments.iter().find(is_bundle)
}

/// Options that limit the number of documents, by preference.
const LIMITS: &[&str] = &["hits", "depth", "max-retrieved", "last-rank"];

/// Names of options in other tools, in lowercase without hyphens and underscores, and the options
/// of `ir`, by preference.
const OTHER_TOOLS: [(&[&str], &[&str]); 8] = [
    (&["k", "topk", "top", "numhits"], LIMITS),
    (
        &["topics", "topicfile", "queryfile", "queriesfile"],
        &["queries"],
    ),
    (&["metric", "metrics"], &["measure"]),
    (&["lr"], &["learning-rate"]),
    (&["hybrid"], &["alpha", "vectors"]),
    (&["bm25"], &["model"]),
    (&["jobs", "numthreads", "nthreads"], &["threads"]),
    (&["outfile", "outputfile", "out"], &["output"]),
];

/// Names of subcommands in other tools, and the subcommands of `ir`.
const OTHER_SUBCOMMANDS: [(&str, &str); 6] = [
    ("retrieve", "search"),
    ("rank", "search"),
    ("query", "search"),
    ("evaluate", "eval"),
    ("trec_eval", "eval"),
    ("embed", "encode"),
];

/// Subcommands of cargo features. One that is compiled is not unknown.
const OPTIONAL_SUBCOMMANDS: [(&str, &str); 6] = [
    ("backup", "serve"),
    ("encode", "dense"),
    ("load", "remote"),
    ("models", "dense"),
    ("train", "dense"),
    ("serve", "serve"),
];

/// Subcommands, each with a cargo feature and the options that need it.
const OPTIONAL_OPTIONS: [(&str, &str, &[&str]); 4] = [
    ("ask", "dense", &["model", "encode-context"]),
    ("search", "dense", &["vectors", "encoder", "query-vectors"]),
    ("search", "remote", &["engine", "engine-vectors"]),
    ("serve", "dense", &["model", "encode-context"]),
];

fn missing_feature(feature: &str) -> String {
    format!("this build lacks the cargo feature `{feature}`")
}

/// Tip for an unknown option, argument or subcommand.
fn tip_for_unknown(root: &Command, error: &clap::Error, arguments: &[String]) -> Option<String> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let (command, path) = find_command(root, &error.get(ContextKind::Usage)?.to_string());
    match error.kind() {
        ErrorKind::UnknownArgument => {
            let found = whole_argument(text(ContextKind::InvalidArg)?, arguments);
            tip_for_argument(command, found)
        }
        ErrorKind::InvalidSubcommand => {
            let found = text(ContextKind::InvalidSubcommand)?;
            if ["list", "ls"].contains(&found) {
                return Some(format!("`{path}` prints the list"));
            }
            let names = command
                .get_subcommands()
                .filter(|command| !command.is_hide_set())
                .map(Command::get_name);
            let names: Vec<&str> = names.collect();
            if let Some((_, feature)) = OPTIONAL_SUBCOMMANDS.iter().find(|known| known.0 == found) {
                return Some(missing_feature(feature));
            }
            let known = OTHER_SUBCOMMANDS.iter().find(|known| known.0 == found);
            let known = known.map(|known| known.1);
            let name = known.filter(|name| names.contains(name));
            let name = name.or_else(|| closest(found, names))?;
            Some(format!("a similar subcommand exists: '{name}'"))
        }
        _ => None,
    }
}

/// Subcommand that the usage of an error names, and its name after the names of its parents.
fn find_command<'a>(root: &'a Command, usage: &str) -> (&'a Command, String) {
    let (mut command, mut path) = (root, "ir".to_owned());
    let words = usage.split_whitespace().skip_while(|word| *word != "ir");
    for word in words.skip(1) {
        let Some(next) = command.find_subcommand(word) else {
            break;
        };
        command = next;
        path = format!("{path} {word}");
    }
    (command, path)
}

/// Whole argument of which clap reports the first letter: `-topics` for `-t`.
fn whole_argument<'a>(found: &'a str, arguments: &'a [String]) -> &'a str {
    if found.starts_with("--") {
        return found;
    }
    let whole = arguments
        .iter()
        .find(|argument| argument.starts_with(found));
    whole.map_or(found, |whole| whole.as_str())
}

fn tip_for_argument(command: &Command, found: &str) -> Option<String> {
    let name = command.get_name();
    if !found.starts_with('-') {
        return (name == "index").then(|| {
            "an index has one collection; `ir index COLLECTION -o FOLDER --add` adds another"
                .to_owned()
        });
    }
    let options = command
        .get_arguments()
        .filter(|option| !option.is_hide_set());
    let mut names = vec!["quiet", "help"];
    for option in options {
        names.extend(option.get_long());
        names.extend(option.get_visible_aliases().into_iter().flatten());
    }
    let found = found.trim_start_matches('-');
    let found = found.split('=').next().unwrap_or(found);
    let mut optional = OPTIONAL_OPTIONS.iter();
    if let Some((_, feature, _)) =
        optional.find(|(command, _, options)| *command == name && options.contains(&found))
    {
        return Some(missing_feature(feature));
    }
    let plain = found.to_lowercase().replace(['-', '_'], "");
    let known = OTHER_TOOLS
        .iter()
        .find(|known| known.0.contains(&plain.as_str()));
    let known = known.and_then(|known| known.1.iter().find(|name| names.contains(name)));
    if let Some(name) = known
        .copied()
        .or_else(|| closest(found, names.iter().copied()))
    {
        return Some(format!("a similar argument exists: '--{name}'"));
    }
    let has_judgments = command
        .get_arguments()
        .any(|argument| ["qrels", "judged"].contains(&argument.get_id().as_str()));
    match plain.as_str() {
        "output" | "out" if name == "eval" => {
            Some("redirect standard output to write a file: ir eval QRELS RUN > FILE".to_owned())
        }
        "split" if has_judgments => {
            Some("a split is named with its collection, as in beir/nfcorpus:dev".to_owned())
        }
        _ => None,
    }
}

/// Valid value that is closest to an invalid value.
fn closest_value(error: &clap::Error) -> Option<&str> {
    let (Some(ContextValue::String(found)), Some(ContextValue::Strings(known))) = (
        error.get(ContextKind::InvalidValue),
        error.get(ContextKind::ValidValue),
    ) else {
        return None;
    };
    closest(found, known.iter().map(String::as_str))
}

/// Names what is expected where the parser of a number says only what is wrong.
fn in_words(line: String, error: &clap::Error) -> String {
    let Some(ContextValue::String(found)) = error.get(ContextKind::InvalidValue) else {
        return line;
    };
    // As in the line.
    let found = shortened(found, MAX_WORD);
    let reasons = [
        ("invalid digit found in string", "an integer of at least 0"),
        ("cannot parse integer from empty string", "an integer"),
        (
            "number too large to fit in target type",
            "a smaller integer",
        ),
        ("number too small to fit in target type", "a larger integer"),
        ("invalid float literal", "a number"),
        ("cannot parse float from empty string", "a number"),
    ];
    if let Some((start, range)) = line.rsplit_once(&format!("{found} is not in ")) {
        return format!("{start}expected {}, found {found:?}", range_in_words(range));
    }
    let mut ended = reasons
        .into_iter()
        .filter(|(reason, _)| line.ends_with(reason));
    match ended.next() {
        Some((reason, expected)) => {
            let start = line.strip_suffix(reason).unwrap_or(&line);
            format!("{start}expected {expected}, found {found:?}")
        }
        None => line,
    }
}

/// Words for a range of clap: `1..=30`, `0..9223372036854775807`, where the end is the maximum of
/// the type, or `1..`.
fn range_in_words(range: &str) -> String {
    let (low, high) = range.split_once("..").unwrap_or((range, ""));
    let inclusive = high.strip_prefix('=');
    let last: Option<i128> = inclusive.unwrap_or(high).parse().ok();
    let last = last.map(|last| if inclusive.is_some() { last } else { last - 1 });
    match last.filter(|last| *last < i128::from(u32::MAX - 1)) {
        Some(last) => format!("an integer from {low} to {last}"),
        None => format!("an integer of at least {low}"),
    }
}

fn one_line_error(root: &Command, error: &clap::Error, arguments: &[String]) -> String {
    let text = error.to_string();
    // clap's tips include hidden aliases, and names that share a few letters.
    let ends = ["\n\n  tip: ", "\nUsage:", "\nFor more information"].map(|start| text.find(start));
    let end = ends.into_iter().flatten().min().unwrap_or(text.len());
    let mut line = in_words(one_line(&text[..end]), error);
    if let Some(tip) = tip_for_unknown(root, error, arguments) {
        line.push_str(&format!("; {tip}"));
    }
    if let Some(value) = closest_value(error) {
        line.push_str(&format!("; a similar value exists: '{value}'"));
    }
    format!("{line} (see --help)")
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;
    use crate::cli::{Cli, with_negative_values};

    fn line(arguments: &str) -> String {
        let arguments: Vec<String> = arguments.split(' ').map(str::to_owned).collect();
        let command = with_negative_values(Cli::command());
        let error = command.try_get_matches_from(&arguments).unwrap_err();
        one_line_error(&Cli::command(), &error, &arguments[1..])
    }

    #[test]
    fn usage_errors_are_one_line() {
        let error = Cli::try_parse_from(["ir", "eval", "qrels"]).unwrap_err();
        let missing = one_line_error(&Cli::command(), &error, &[]);
        assert!(missing.starts_with("error: the following required arguments were not provided"));
        assert!(
            !missing.contains('\n') && missing.contains("<RUN>"),
            "{missing}"
        );
        let negative = line("ir mine bundled -n -1 -o out");
        assert!(negative.contains("invalid value '-1'"), "{negative}");
    }

    #[test]
    fn ranges_are_in_words() {
        for (arguments, expected) in [
            (
                "ir eval -l -5 qrels run",
                "expected an integer of at least 0, found \"-5\"",
            ),
            (
                "ir eval -N -5 qrels run",
                "expected an integer of at least 0, found \"-5\"",
            ),
            (
                "ir compare --samples 0 qrels run run",
                "expected an integer of at least 1, found \"0\"",
            ),
        ] {
            let line = line(arguments);
            assert!(line.contains(expected), "{line}");
        }
        assert_eq!(range_in_words("1..=30"), "an integer from 1 to 30");
        assert_eq!(range_in_words("0..8"), "an integer from 0 to 7");
        assert_eq!(range_in_words("2.."), "an integer of at least 2");
    }

    #[test]
    fn tips_for_unknown_names() {
        for (arguments, tip) in [
            ("ir search bundled tea --topk 5", "'--hits'"),
            ("ir search bundled tea --top-k=5", "'--hits'"),
            ("ir search bundled --topics file", "'--queries'"),
            ("ir search bundled --query-file=q", "'--queries'"),
            ("ir search bundled -topics file", "'--queries'"),
            ("ir search bundled tea --bm25", "'--model'"),
            ("ir search bundled tea --huts 5", "'--hits'"),
            ("ir fuse a b --top_k 5", "'--hits'"),
            ("ir pool a b --topk 5", "'--depth'"),
            ("ir compare qrels a b -k 5", "'--max-retrieved'"),
            ("ir mine bundled -k 5", "'--last-rank'"),
            ("ir eval qrels run --output scores", "> FILE"),
            ("ir eval qrels run --quiett", "'--quiet'"),
            ("ir eval beir/nfcorpus run --split dev", "beir/nfcorpus:dev"),
            ("ir overlap a b --split dev", "beir/nfcorpus:dev"),
            ("ir index a b -o c", "--add"),
            ("ir retrieve a", "subcommand exists: 'search'"),
            ("ir serach a", "subcommand exists: 'search'"),
            ("ir datasets verfy a", "subcommand exists: 'verify'"),
            ("ir datasets list", "`ir datasets` prints the list"),
        ] {
            let found = line(arguments);
            assert!(found.contains(tip), "{arguments}: {found}");
            assert!(!found.contains("tip:") && !found.contains('\n'), "{found}");
        }
    }

    #[test]
    #[cfg(not(feature = "dense"))]
    fn missing_features_are_named() {
        for arguments in [
            "ir encode model notes",
            "ir train model examples.jsonl",
            "ir ask bundled tea --model minilm",
            "ir search bundled tea --vectors=vectors.ir",
        ] {
            let found = line(arguments);
            assert!(found.contains("lacks the cargo feature `dense`"), "{found}");
        }
    }

    #[test]
    #[cfg(not(feature = "remote"))]
    fn engines_name_their_feature() {
        for arguments in [
            "ir load milvus://localhost/papers",
            "ir search bundled --engine milvus://localhost/papers",
        ] {
            let found = line(arguments);
            let expected = "lacks the cargo feature `remote`";
            assert!(found.contains(expected), "{found}");
        }
    }

    #[test]
    #[cfg(not(feature = "serve"))]
    fn serve_names_its_feature() {
        let found = line("ir serve papers");
        assert!(found.contains("lacks the cargo feature `serve`"), "{found}");
    }

    /// No suggestion is better than one that shares a few letters, or a hidden alias.
    #[test]
    fn names_without_similar_ones() {
        for arguments in [
            "ir index notes --k1 0.9",
            "ir search bundled tea --format trec",
            "ir interleave a b --hybrid",
            "ir search bundled tea --xyz",
            "ir eval qrels run -x",
            "ir sing a",
        ] {
            let found = line(arguments);
            assert!(!found.contains(';'), "{found}");
        }
    }
}
