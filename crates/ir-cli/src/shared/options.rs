//! Option values and parsers that several subcommands share.

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use ir_bm25::Bm25;
use ir_core::Query;
use ir_data::attribute;

/// Parses a number of bytes: `512MB`, `1.5GiB`, `4000000`.
pub(crate) fn bytes(text: &str) -> Result<usize, String> {
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let expected = || format!("expected a size like 512MB or 2GiB, found {text:?}");
    let number: f64 = text[..end].parse().map_err(|_| expected())?;
    let unit: f64 = match text[end..].trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        "kib" => 1024.0,
        "mib" => 1024.0 * 1024.0,
        "gib" => 1024.0 * 1024.0 * 1024.0,
        _ => return Err(expected()),
    };
    let size = number * unit;
    if (1.0..1e18).contains(&size) {
        Ok(size as usize)
    } else {
        Err(expected())
    }
}

/// Parses an integer ≥ 1.
pub(crate) fn positive(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(format!("expected an integer of at least 1, found {text:?}")),
    }
}

/// Parses a run tag.
pub(crate) fn tag(text: &str) -> Result<String, String> {
    if text.is_empty() || text.contains(char::is_whitespace) {
        return Err(format!(
            "expected a tag without white space, found {text:?}"
        ));
    }
    Ok(text.to_owned())
}

/// Parses `k1` of BM25 (≥ 0).
pub(crate) fn k1(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(number) if number >= 0.0 && number.is_finite() => Ok(number),
        _ => Err(format!("expected a number of at least 0, found {text:?}")),
    }
}

/// Parses `b` of BM25 (0 to 1).
pub(crate) fn b(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(number) if (0.0..=1.0).contains(&number) => Ok(number),
        _ => Err(format!("expected a number from 0 to 1, found {text:?}")),
    }
}

/// BM25 parameters as options.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Model")]
pub(crate) struct Bm25Options {
    /// BM25 parameters [default: anserini (k1 0.9, b 0.4)]
    #[arg(long, value_enum, value_name = "NAME")]
    preset: Option<Bm25Preset>,

    /// Term-frequency saturation of BM25; 0 ignores repeated occurrences. Range: ≥ 0
    /// [default: from the preset]
    #[arg(long, alias = "bm25.k1", value_parser = k1, allow_negative_numbers = true, value_name = "K1")]
    k1: Option<f32>,

    /// Length normalization of BM25; 0 disables it, 1 normalizes fully. Range: 0 to 1
    /// [default: from the preset]
    #[arg(long, alias = "bm25.b", value_parser = b, allow_negative_numbers = true, value_name = "B")]
    b: Option<f32>,
}

impl Bm25Options {
    /// Parameters of the preset, with `--k1` and `--b` applied.
    pub(crate) fn parameters(&self) -> Bm25 {
        let mut bm25 = self.preset.unwrap_or(Bm25Preset::Anserini).bm25();
        bm25.k1 = self.k1.unwrap_or(bm25.k1);
        bm25.b = self.b.unwrap_or(bm25.b);
        bm25
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Bm25Preset {
    /// k1 0.9, b 0.4
    Anserini,
    /// k1 0.8, b 0.4: the baseline of the DataFinder paper
    Datafinder,
    /// k1 1.2, b 0.75
    Lucene,
}

impl Bm25Preset {
    pub(crate) fn bm25(self) -> Bm25 {
        match self {
            Self::Anserini => Bm25::ANSERINI,
            Self::Datafinder => Bm25::DATAFINDER,
            Self::Lucene => Bm25::LUCENE,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum QueryForm {
    /// The query text, usually a sentence
    Text,
    /// The attribute `keyphrase_query`
    Keyphrases,
}

/// Replaces the text of each query by its keyphrases.
pub(crate) fn take_keyphrases(queries: &mut [Query]) -> Result<()> {
    for query in queries {
        match query.attributes.text(attribute::KEYPHRASES) {
            Some(keyphrases) => query.text = keyphrases.to_owned(),
            None => bail!(
                "query {:?}: expected an attribute {:?} for --query-form keyphrases, found none",
                query.id,
                attribute::KEYPHRASES
            ),
        }
    }
    Ok(())
}

/// Sets the size of the global thread pool.
pub(crate) fn use_threads(threads: Option<usize>) -> Result<()> {
    if let Some(threads) = threads {
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build_global()
            .context("the thread pool could not be started")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(bytes("512MB"), Ok(512_000_000));
        assert_eq!(bytes("1.5 GiB"), Ok(1_610_612_736));
        assert_eq!(bytes("4096"), Ok(4096));
        for wrong in ["", "x", "-1", "0", "5 apples", "1e3", "9999999999GB"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn numbers_out_of_range_are_rejected() {
        assert_eq!(k1("0.9"), Ok(0.9));
        assert!(k1("-0.1").is_err() && k1("NaN").is_err() && k1("inf").is_err());
        assert_eq!(b("1"), Ok(1.0));
        assert!(b("1.1").is_err() && b("nan").is_err());
        assert!(positive("0").is_err() && positive("-3").is_err());
    }
}
