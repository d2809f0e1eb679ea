//! Long options with one dash, as in Anserini (`-hits 10`) and other Java tools.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Usage error of a long option with one dash, which clap parses as bundled short options: `-hits`
/// as `-h -i -t -s`. `None` for other errors.
pub(crate) fn usage_error(
    error: &clap::Error,
    arguments: impl IntoIterator<Item = String>,
) -> Option<String> {
    let first = match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::DisplayHelp, _) => "-h",
        (ErrorKind::UnknownArgument, Some(ContextValue::String(found))) => found,
        _ => return None,
    };
    if first.starts_with("--") {
        return None;
    }
    let is_long = |argument: &String| {
        argument.strip_prefix(first).is_some_and(|rest| {
            rest.starts_with(|c: char| c.is_ascii_alphabetic()) && !rest.contains('=')
        })
    };
    let found = arguments.into_iter().find(is_long)?;
    Some(format!(
        "error: unexpected argument '{found}' found; long options start with two dashes: '-{found}' (see --help)"
    ))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn options_of_anserini() {
        let line = |text: &str| {
            let arguments = || text.split(' ').map(str::to_owned);
            let error = Cli::try_parse_from(arguments()).unwrap_err();
            usage_error(&error, arguments())
        };
        for (text, option) in [
            ("ir search x -hits 10", "-hits"),
            ("ir search x -topics q.tsv", "-topics"),
            ("ir search x -bm25.k1 1.2", "-bm25.k1"),
        ] {
            let found = line(text).unwrap();
            assert!(found.contains(&format!("'{option}' found")), "{found}");
            assert!(found.contains(&format!("'-{option}'")), "{found}");
        }
        for text in [
            "ir search -h",
            "ir search x --topics q.tsv",
            "ir eval -Z",
            "ir search",
        ] {
            assert_eq!(line(text), None, "{text}");
        }
    }
}
