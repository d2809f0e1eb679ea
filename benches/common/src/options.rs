//! Options after `cargo bench ... --`.

use std::env;
use std::fmt::Display;
use std::str::FromStr;

use anyhow::{Result, anyhow, bail};

/// Options of a benchmark: names such as `--rounds` with values.
#[derive(Debug)]
pub struct Options(Vec<(String, String)>);

impl Options {
    /// Parses the program's arguments. `names` are separated by blanks.
    ///
    /// # Errors
    /// If an option is not in `names` or has no value.
    pub fn parse(names: &str) -> Result<Self> {
        // cargo appends `--bench`.
        let mut words = env::args().skip(1).filter(|word| word != "--bench");
        let mut options = Vec::new();
        while let Some(name) = words.next() {
            if !names.split_whitespace().any(|known| known == name) {
                bail!("expected one of {names}, found {name:?}");
            }
            let value = words
                .next()
                .ok_or_else(|| anyhow!("{name}: expected a value"))?;
            options.push((name, value));
        }
        Ok(Self(options))
    }

    /// Value of an option.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&str> {
        let mut all = self.0.iter();
        all.find_map(|(other, value)| (other == name).then_some(value.as_str()))
    }

    /// Value of an option as a number, or `default`.
    ///
    /// # Errors
    /// If the value is not a number of the type.
    pub fn number<T: FromStr<Err: Display>>(&self, name: &str, default: T) -> Result<T> {
        self.value(name).map_or(Ok(default), |text| {
            let number = text.parse();
            number.map_err(|error| anyhow!("{name}: expected a number, found {text:?}: {error}"))
        })
    }
}
