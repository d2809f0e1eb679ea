//! Long options with one dash that start with `-h`, as Anserini's `-hits`.

use clap::error::ErrorKind;

/// Usage error of a long option with one dash that clap parses as `-h` and further short options;
/// [`None`] for other errors and for requested help.
pub(crate) fn usage_error(error: &clap::Error, arguments: &[String]) -> Option<String> {
    if error.kind() != ErrorKind::DisplayHelp {
        return None;
    }
    let is_long = |argument: &&String| argument.len() > 2 && argument.starts_with("-h");
    let found = arguments.iter().find(is_long)?;
    Some(format!(
        "error: unexpected argument '{found}' found; long options start with two dashes: '-{found}' (see --help)"
    ))
}
