//! Common options of the commands with many options.

use clap::Command;

/// Commands with more options than a screen has lines, and their common options in the order of
/// use. `-h` lists these alone; `--help` starts with them.
pub(super) const COMMON: [(&str, &[&str]); 10] = [
    (
        "index",
        &[
            "output",
            "analysis",
            "stemmer",
            "stop-words",
            "fields",
            "positions",
            "store",
            "template",
            "memory",
            "encoding",
            "id-field",
            "text-field",
            "add",
            "prune",
            "delete",
            "compact",
            "shard",
            "threads",
        ],
    ),
    (
        "search",
        &[
            "query", "queries", "split", "hits", "output", "json", "explain", "filter", "type",
            "set", "model", "preset", "k1", "b", "feedback", "vectors", "encoder", "alpha",
            "threads",
        ],
    ),
    (
        "ask",
        &[
            "questions",
            "hits",
            "filter",
            "model",
            "rerank",
            "candidates",
            "language",
            "reader",
            "headings",
            "explain",
            "json",
            "bibtex",
        ],
    ),
    (
        "mine",
        &[
            "output",
            "split",
            "queries",
            "qrels",
            "examples",
            "template",
            "negatives",
            "random",
            "first-rank",
            "last-rank",
            "draw",
            "margin",
            "relative-margin",
            "run",
            "model",
            "preset",
            "filter",
            "not-later-than-query",
            "leave-out",
            "seed",
            "threads",
        ],
    ),
    (
        "sweep",
        &[
            "measure",
            "queries",
            "grid",
            "query-file",
            "split",
            "model",
            "preset",
            "k1",
            "b",
            "feedback",
            "system",
            "type",
            "set",
            "fields",
            "level",
            "json",
        ],
    ),
    (
        "train",
        &[
            "output",
            "preset",
            "late-interaction",
            "config",
            "epochs",
            "batch",
            "negatives",
            "learning-rate",
            "temperature",
            "precision",
            "seed",
            "texts",
            "template",
            "dev",
            "measure",
            "patience",
            "history",
            "curves",
            "backend",
            "threads",
        ],
    ),
    (
        "train-reranker",
        &[
            "output",
            "config",
            "loss",
            "epochs",
            "batch",
            "negatives",
            "learning-rate",
            "precision",
            "seed",
            "max-tokens",
            "texts",
            "template",
            "dev",
            "measure",
            "candidates",
            "patience",
            "history",
            "curves",
            "backend",
            "threads",
        ],
    ),
    (
        "encode",
        &[
            "output",
            "queries",
            "split",
            "template",
            "prefix",
            "max-tokens",
            "pooling",
            "normalize",
            "truncate-dim",
            "quantize",
            "precision",
            "backend",
            "add",
            "hnsw",
            "delete",
            "batch-tokens",
            "shard",
            "threads",
        ],
    ),
    (
        "compare",
        &[
            "measure",
            "baseline",
            "all-pairs",
            "test",
            "correction",
            "alpha",
            "interval",
            "samples",
            "seed",
            "level",
            "common",
            "per-topic",
            "format",
            "plots",
            "output",
        ],
    ),
    (
        "serve",
        &[
            "data",
            "listen",
            "host",
            "behind-tls",
            "base-path",
            "model",
            "language",
            "headings",
            "questions",
            "generate",
            "collection",
            "check",
            "new-keys",
            "rate-limit",
            "max-requests",
            "max-size",
            "log",
        ],
    ),
];

/// Common options of a command; `None` if `-h` lists all of its options.
pub(super) fn common_options(command: &Command) -> Option<&'static [&'static str]> {
    let mut known = COMMON.iter();
    known.find_map(|(name, options)| (*name == command.get_name()).then_some(*options))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::COMMON;
    use crate::cli::Cli;

    #[test]
    fn common_options_exist() {
        let command = Cli::command();
        for (name, options) in COMMON {
            let Some(command) = command.find_subcommand(name) else {
                continue;
            };
            for option in options {
                let mut known = command.get_arguments();
                let is_optional = cfg!(not(feature = "dense"))
                    && [
                        "vectors",
                        "encoder",
                        "alpha",
                        "model",
                        "rerank",
                        "candidates",
                    ]
                    .contains(option);
                assert!(
                    is_optional || known.any(|known| known.get_long() == Some(option)),
                    "{name} --{option}"
                );
            }
        }
    }
}
