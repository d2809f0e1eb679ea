//! Positions of the keys of an experiment file.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::{Location, SpecError, SystemError};

/// Path of an experiment file and the line of each of its keys, for error messages and relative
/// paths.
///
/// Two maps are equal always: positions do not belong to the value of an experiment.
#[derive(Debug, Clone, Default)]
pub struct SourceMap {
    path: Option<PathBuf>,
    lines: BTreeMap<String, usize>,
    /// Options in place of keys, for systems that the options of a command describe.
    options: Option<OptionNames>,
}

/// Names of the options of systems.
#[derive(Debug, Clone)]
struct OptionNames {
    /// Types of the systems.
    kinds: Vec<String>,
    /// Returns the option of a key of a type.
    name: fn(&str, &str) -> String,
}

impl OptionNames {
    /// Option of a key such as `systems[0].k1`.
    fn of_path(&self, path: &str) -> Option<String> {
        let (at, key) = path.strip_prefix("systems[")?.split_once(']')?;
        let kind = self.kinds.get(at.parse::<usize>().ok()?)?;
        Some((self.name)(kind, key.trim_start_matches('.')))
    }
}

impl PartialEq for SourceMap {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl SourceMap {
    /// Reads the positions of all keys.
    pub fn new(path: Option<&Path>, text: &str, root: &Spanned<DeTable<'_>>) -> Self {
        let mut map = Self {
            path: path.map(Path::to_owned),
            ..Self::default()
        };
        map.add_table("", root.get_ref(), text);
        map
    }

    fn add_table(&mut self, prefix: &str, table: &DeTable<'_>, text: &str) {
        for (key, value) in table {
            let dot = if prefix.is_empty() { "" } else { "." };
            let name = format!("{prefix}{dot}{}", key.get_ref());
            self.lines
                .insert(name.clone(), line_at(text, key.span().start));
            self.add_value(&name, value, text);
        }
    }

    fn add_value(&mut self, name: &str, value: &Spanned<DeValue<'_>>, text: &str) {
        match value.get_ref() {
            DeValue::Table(table) => self.add_table(name, table, text),
            DeValue::Array(items) => {
                for (n, item) in items.iter().enumerate() {
                    let name = format!("{name}[{n}]");
                    self.lines
                        .insert(name.clone(), line_at(text, item.span().start));
                    self.add_value(&name, item, text);
                }
            }
            _ => {}
        }
    }

    /// Returns the path of the file as it was given.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Returns the name of the file without its extension.
    #[must_use]
    pub fn name(&self) -> Option<String> {
        let stem = self.path.as_ref()?.file_stem()?;
        Some(stem.to_string_lossy().into_owned())
    }

    /// Returns the folder of the file, to which paths are relative; the current folder for an
    /// experiment that was built in memory.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        let folder = self.path.as_ref().and_then(|path| path.parent());
        let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
        folder.unwrap_or(Path::new(".")).to_owned()
    }

    /// Names keys in messages by options, for systems that the options of a command describe.
    /// `kinds` are the types of the systems, and `name` returns the option of a key of a type, or
    /// of the system itself for an empty key. Messages then have no lines.
    ///
    /// ```
    /// use ir_system::{Registry, SourceMap, SystemSpec};
    ///
    /// let text = "systems = [{ name = 's', type = 'lsi', min_df = 0 }]";
    /// let mut spec = SystemSpec::from_toml(text)?;
    /// let kinds = vec!["lsi".to_owned()];
    /// let name = |_: &str, key: &str| format!("--{}", key.replace('_', "-"));
    /// spec.source = spec.source.with_option_names(kinds, name);
    /// let error = spec.validate(&Registry::default()).unwrap_err();
    /// assert_eq!(error.to_string(), "--min-df: expected at least 1, found 0");
    /// assert_eq!(spec.source.flag_name("dense", "any_encoder"), "--any-encoder");
    /// assert_eq!(SourceMap::default().flag_name("dense", "any_encoder"), "any_encoder = true");
    /// # Ok::<(), ir_system::SpecError>(())
    /// ```
    #[must_use]
    pub fn with_option_names(mut self, kinds: Vec<String>, name: fn(&str, &str) -> String) -> Self {
        self.options = Some(OptionNames { kinds, name });
        self
    }

    /// Returns the name of a key such as `systems[0].k1` in messages: its option, or its path.
    #[must_use]
    pub fn key_name(&self, key: &str) -> String {
        let option = self.options.as_ref();
        let option = option.and_then(|options| options.of_path(key));
        option.unwrap_or_else(|| key.to_owned())
    }

    /// Returns the name of a key of a type in messages that are about another key: its option, or
    /// its last part, such as `pooling` of `encoder.pooling`.
    #[must_use]
    pub fn short_name(&self, kind: &str, key: &str) -> String {
        match &self.options {
            Some(options) => (options.name)(kind, key),
            None => key.rsplit('.').next().unwrap_or(key).to_owned(),
        }
    }

    /// Returns the name of a key that is set to true: its option, or `key = true`. An option that
    /// contains the key, such as `--set exact`, has a value, too: `--set exact=true`.
    #[must_use]
    pub fn flag_name(&self, kind: &str, key: &str) -> String {
        let name = self.short_name(kind, key);
        match &self.options {
            None => format!("{name} = true"),
            Some(_) if name.contains(' ') => format!("{name}=true"),
            Some(_) => name,
        }
    }

    /// Returns the name of a key with its position before it: `file.toml:3: systems[0].where`.
    #[must_use]
    pub fn located_key(&self, key: &str) -> String {
        format!("{}{}", self.location(key), self.key_name(key))
    }

    /// Returns whether the file has a key.
    pub fn has(&self, key: &str) -> bool {
        self.lines.contains_key(key)
    }

    /// Returns the position of a key, or of the closest key that contains it.
    #[must_use]
    pub fn location(&self, key: &str) -> Location {
        if self.options.is_some() {
            return Location::default();
        }
        let mut prefix = key;
        let line = loop {
            if let Some(line) = self.lines.get(prefix) {
                break Some(*line);
            }
            match prefix.rfind(['.', '[']) {
                Some(end) => prefix = &prefix[..end],
                None => break None,
            }
        };
        Location {
            path: self.path.clone(),
            line,
        }
    }

    /// Creates the error of an invalid key.
    #[must_use]
    pub fn error(&self, key: &str, message: impl Into<String>) -> SpecError {
        SpecError::Key {
            location: self.location(key),
            key: self.key_name(key),
            message: message.into(),
        }
    }

    /// Adds the location of a system to its error.
    pub fn system_error(&self, system: &str, error: SystemError) -> SpecError {
        let join = |key: String| {
            let own = format!("{system}.{key}");
            let (name, _) = key.split_once(['.', '[']).unwrap_or((&key, ""));
            if key.is_empty() {
                system.to_owned()
            } else if self.has(&format!("{system}.grid.{name}")) {
                // A value of the grid.
                format!("{system}.grid.{name}")
            } else {
                own
            }
        };
        match error {
            SystemError::Parameter { key, message } => self.error(&join(key), message),
            SystemError::Conflict { first, key, reason } => {
                let message = format!("expected either {first} or {key}, found both: {reason}");
                self.error(&join(key), message)
            }
            SystemError::Requires { key, needed } => {
                let message = format!("expected the key {needed}, found none");
                self.error(&join(key), message)
            }
            SystemError::Missing { key, message } => {
                let key = join(key);
                SpecError::Missing {
                    location: self.location(&key),
                    key: self.key_name(&key),
                    message,
                }
            }
            SystemError::Stage { stage, source } => SpecError::Stage {
                location: self.location(system),
                key: self.key_name(system),
                stage,
                source,
            },
            SystemError::Located(error) => *error,
        }
    }

    /// Adds the location of `key` to an error that names it in full.
    pub fn located(&self, key: &str, error: SystemError) -> SpecError {
        match error {
            SystemError::Missing { key, message } => SpecError::Missing {
                location: self.location(&key),
                key: self.key_name(&key),
                message,
            },
            other => self.system_error(key, other),
        }
    }

    /// Resolves a path: `$NAME` at its start is an environment variable, and a relative path is
    /// relative to the file.
    ///
    /// # Errors
    /// [`SystemError::Missing`] if the variable is not set.
    pub fn resolve(&self, key: &str, path: &str) -> Result<PathBuf, SystemError> {
        let path = match path.strip_prefix('$') {
            None => PathBuf::from(path),
            Some(rest) => {
                let (name, rest) = rest.split_once('/').unwrap_or((rest, ""));
                let value = std::env::var_os(name).filter(|value| !value.is_empty());
                let Some(value) = value else {
                    let message = format!("environment variable {name} is not set");
                    return Err(SystemError::missing(key, message));
                };
                let value = PathBuf::from(value);
                return Ok(if rest.is_empty() {
                    value
                } else {
                    value.join(rest)
                });
            }
        };
        Ok(match self.path {
            Some(_) => self.folder().join(path),
            None => path,
        })
    }
}

impl SourceMap {
    /// Resolves the path of a file that must exist. A folder, device, pipe or socket is an error:
    /// files of experiments are read more than once.
    ///
    /// # Errors
    /// Returns [`SystemError::Missing`] if there is no such file, and [`SystemError::Parameter`] if
    /// it is no regular file.
    pub fn existing_file(&self, key: &str, path: &str) -> Result<PathBuf, SystemError> {
        let resolved = self.resolve(key, path)?;
        match fs::metadata(&resolved) {
            Ok(found) if found.is_file() => Ok(resolved),
            Ok(found) => {
                let found = if found.is_dir() {
                    "a folder"
                } else {
                    "a device, pipe or socket"
                };
                let message = format!("{}: expected a file, found {found}", resolved.display());
                Err(SystemError::parameter(key, message))
            }
            Err(error) => {
                let message = format!("{}: cannot be read: {error}", resolved.display());
                Err(SystemError::missing(key, message))
            }
        }
    }
}

/// Line number of a byte offset, from 1.
pub fn line_at(text: &str, offset: usize) -> usize {
    let before = &text.as_bytes()[..offset.min(text.len())];
    1 + before.iter().filter(|byte| **byte == b'\n').count()
}
