//! The words behind `cargo bench ... --`.

use std::env;
use std::fmt::Display;
use std::str::FromStr;

use anyhow::{Result, anyhow, bail};

/// Options of a comparison: a name, as `--rounds`, and its value.
#[derive(Debug)]
pub struct Options(Vec<(String, String)>);

impl Options {
    /// Those that this program was given.
    ///
    /// # Errors
    /// When one is none of `names`, or has no value.
    pub fn given(names: &[&str]) -> Result<Self> {
        // cargo adds the last word.
        let mut words = env::args().skip(1).filter(|word| word != "--bench");
        let mut options = Vec::new();
        while let Some(name) = words.next() {
            if !names.contains(&name.as_str()) {
                bail!("expected one of {}, found {name:?}", names.join(" "));
            }
            let value = words
                .next()
                .ok_or_else(|| anyhow!("{name}: expected a value"))?;
            options.push((name, value));
        }
        Ok(Self(options))
    }

    /// The value of one.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        let mut all = self.0.iter();
        all.find_map(|(other, value)| (other == name).then_some(value.as_str()))
    }

    /// The value of one as a number, or `default` where it is not given.
    ///
    /// # Errors
    /// When its value is no such number.
    pub fn number<T: FromStr<Err: Display>>(&self, name: &str, default: T) -> Result<T> {
        self.text(name).map_or(Ok(default), |text| {
            let number = text.parse();
            number.map_err(|error| anyhow!("{name}: expected a number, found {text:?}: {error}"))
        })
    }
}
