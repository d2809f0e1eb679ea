//! A system with its parts as one value, read from and written to a file.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use ir_core::store::AtomicFile;
use serde::{Deserialize, Serialize};

use crate::cache::Cache;
use crate::entries::EncoderEntry;
use crate::entry::{DocumentOrder, SystemEntry};
use crate::error::SpecError;
use crate::graph::{max_hits, order};
use crate::hash::FileHashes;
use crate::index_keys::{check_fields, check_index_keys};
use crate::index_needs::IndexNeeds;
use crate::observer::Observer;
use crate::registry::Registry;
use crate::source::SourceMap;
use crate::system::{OpenSystem, ParsedSystem, PreparedSystem, Session, SystemContext};
use crate::system_data::SystemData;
use crate::systems::check_run;
use crate::table_schema::check_ranges;
use crate::toml_file::{FILE_VERSION, parse_versioned_toml, read_text};

/// System to search with its parts: the tables `[[systems]]` and `[encoders]` of an experiment
/// file.
///
/// The system to search is the last one that is not hidden. Its tables stand in an experiment file
/// unchanged.
///
/// ```
/// use ir_core::{Document, NoProgress, Search};
/// use ir_bm25::{Index, IndexConfig};
/// use ir_system::{Cache, IndexData, Registry, Resources, SystemSpec};
///
/// let spec = SystemSpec::from_toml(r#"
///     [[systems]]
///     name = "Lucene"
///     type = "bm25"
///     preset = "lucene"
/// "#)?;
/// let registry = Registry::default();
/// spec.validate(&registry)?;
/// let notes = [Document::new("tea").with_text("Green tea is steeped for two minutes.")];
/// let index = Index::build(&notes[..], &IndexConfig::default(), &mut NoProgress)?;
/// let data = IndexData::new("notes", index.into(), Vec::new());
/// let mut resources = Resources::new(Cache::temporary()?);
/// let open = spec.open_on(&registry, &data, &mut resources, &mut NoProgress)?;
/// let ranking = open.retriever.search("green tea", &Search::top(1))?;
/// assert_eq!(open.retriever.ids().id(ranking.hits()[0].doc), "tea");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SystemSpec {
    /// Version of the file format.
    #[serde(default = "version")]
    version: u32,
    /// Order in which the documents of a collection are read, as the key of an experiment. An index
    /// has its own.
    #[serde(default, skip_serializing_if = "DocumentOrder::is_of_the_collection")]
    pub document_order: DocumentOrder,
    /// Encoders by name, for the key `encoder` of systems.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub encoders: BTreeMap<String, EncoderEntry>,
    /// Systems: the one to search, and its parts.
    pub systems: Vec<SystemEntry>,
    /// Path and line numbers of the file; empty for a value that was built in memory.
    #[serde(skip)]
    pub source: SourceMap,
}

const fn version() -> u32 {
    FILE_VERSION
}

/// Cache, opened indexes and models, and hashes of files, which systems of one process share.
#[derive(Debug)]
pub struct Resources {
    cache: Cache,
    hashes: FileHashes,
    session: Session,
}

impl Resources {
    /// Creates resources with a cache of stages.
    #[must_use]
    pub fn new(cache: Cache) -> Self {
        Self {
            cache,
            hashes: FileHashes::default(),
            session: Session::default(),
        }
    }

    /// Sets the compute backend of the encoders that are opened from now on. Default: the CPU.
    #[cfg(feature = "dense")]
    pub fn set_backend(&mut self, backend: ir_dense::Backend) {
        self.session.backend = backend;
    }
}

/// Checks the entries of `[encoders]`.
///
/// # Errors
/// Returns [`SpecError::Key`] for the first invalid key, such as `encoders.small.max_tokens`.
pub fn check_encoders(
    encoders: &BTreeMap<String, EncoderEntry>,
    source: &SourceMap,
) -> Result<(), SpecError> {
    encoders.iter().try_for_each(|(name, encoder)| {
        let checked = check_ranges(encoder).and_then(|()| encoder.check());
        checked.map_err(|error| source.system_error(&format!("encoders.{name}"), error))
    })
}

impl SystemSpec {
    /// Creates a system of its parts and itself, which is last.
    #[must_use]
    pub fn new(systems: Vec<SystemEntry>) -> Self {
        Self {
            version: FILE_VERSION,
            document_order: DocumentOrder::default(),
            encoders: BTreeMap::new(),
            systems,
            source: SourceMap::default(),
        }
    }

    /// Reads a file. Relative paths of its keys are relative to the file.
    ///
    /// # Errors
    /// Returns [`SpecError`] with file, line and key if the file cannot be read, is not TOML, has
    /// another version, or has an unknown key or a value of another type.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, SpecError> {
        let path = path.as_ref();
        Self::parse(&read_text(path)?, Some(path))
    }

    /// Parses the text of a file. Relative paths are relative to the current folder.
    ///
    /// # Errors
    /// Returns the errors of [`SystemSpec::open`].
    pub fn from_toml(text: &str) -> Result<Self, SpecError> {
        Self::parse(text, None)
    }

    fn parse(text: &str, path: Option<&Path>) -> Result<Self, SpecError> {
        let (mut spec, source): (Self, _) = parse_versioned_toml(text, path)?;
        spec.source = source;
        Ok(spec)
    }

    /// Returns the text of a file: `version`, then the systems as in an experiment file.
    ///
    /// # Errors
    /// Returns [`SpecError::Syntax`] if a value cannot be written as TOML.
    pub fn to_toml(&self) -> Result<String, SpecError> {
        toml::to_string(self).map_err(|error| SpecError::Syntax {
            location: self.source.location(""),
            message: error.to_string(),
        })
    }

    /// Writes a file atomically, with a comment before the tables.
    ///
    /// # Errors
    /// Returns [`SpecError::Write`] if the file cannot be written.
    pub fn save(&self, path: &Path, comment: &str) -> Result<(), SpecError> {
        let mut text = String::new();
        for line in comment.lines() {
            let _ = writeln!(text, "# {line}");
        }
        text.push_str(&self.to_toml()?);
        let write = || -> std::io::Result<()> {
            let mut file = AtomicFile::create(path)?;
            std::io::Write::write_all(&mut file, text.as_bytes())?;
            file.commit()
        };
        write().map_err(|source| SpecError::Write {
            path: path.to_owned(),
            source,
        })
    }

    /// Returns the system to search: the last one that is not hidden.
    #[must_use]
    pub fn root(&self) -> Option<&SystemEntry> {
        self.systems.iter().rev().find(|system| !system.hidden)
    }

    /// Checks everything that needs no data: names, types, parameters, references between systems.
    ///
    /// # Errors
    /// Returns [`SpecError::Key`] for the first invalid key.
    pub fn validate(&self, registry: &Registry) -> Result<(), SpecError> {
        self.search_root()?;
        check_encoders(&self.encoders, &self.source)?;
        self.check_common_keys()?;
        let mut names = HashSet::new();
        for (n, entry) in self.systems.iter().enumerate() {
            if !names.insert(&entry.name) {
                let message = format!("expected different names, found {:?} twice", entry.name);
                return Err(self.source.error(&format!("systems[{n}].name"), message));
            }
        }
        self.parsed(registry)?;
        order(&self.systems, &self.source, registry).map(drop)
    }

    /// The system to search, or an error if there is none.
    fn search_root(&self) -> Result<&SystemEntry, SpecError> {
        let message = "expected a system that is not hidden, found none";
        self.root()
            .ok_or_else(|| self.source.error("systems", message))
    }

    /// Rejects keys of an entry that a search by this system would ignore.
    fn check_common_keys(&self) -> Result<(), SpecError> {
        for (n, entry) in self.systems.iter().enumerate() {
            let error = |key: &str, message: &str| {
                Err(self.source.error(&format!("systems[{n}].{key}"), message))
            };
            if !entry.grid.is_empty() {
                let message = "expected no grid; `ir sweep --grid` and experiments with \
                               [selection] compare several settings";
                return error("grid", message);
            }
            check_run(entry, &self.source, &format!("systems[{n}]"))?;
            if entry.hits == Some(0) {
                return error("hits", "expected at least 1, found 0");
            }
            let of_a_run = [
                ("hits", entry.hits.is_some()),
                ("filter", entry.filter.is_some()),
                ("where", entry.condition.is_some()),
                ("scores", entry.scores.is_some()),
            ];
            let given = of_a_run.into_iter().find(|(_, is_given)| *is_given);
            if let Some((key, _)) = given.filter(|_| entry.hidden) {
                let message = "expected a system that is not hidden; a part of others has no run";
                return error(key, message);
            }
            let checked = entry.check_filter();
            checked.map_err(|error| self.source.system_error(&format!("systems[{n}]"), error))?;
        }
        Ok(())
    }

    /// Compares the system to search and its parts with the index of the data.
    fn check_index(
        &self,
        systems: &BTreeMap<String, PreparedSystem>,
        root: &str,
        context: &mut SystemContext<'_>,
    ) -> Result<(), SpecError> {
        let Some(index) = context.data.index() else {
            return Ok(());
        };
        let mut used = BTreeSet::from([root]);
        let mut next = vec![root];
        while let Some(prepared) = next.pop().and_then(|name| systems.get(name)) {
            let inputs = prepared.inputs.iter().map(String::as_str);
            next.extend(inputs.filter(|input| used.insert(*input)));
        }
        for (n, entry) in self.systems.iter().enumerate() {
            if !used.contains(entry.name.as_str()) {
                continue;
            }
            let at = format!("systems[{n}]");
            let (kind, parameters) = (&entry.kind, &entry.parameters);
            let failed = |error| self.source.system_error(&at, error);
            let warning = check_index_keys(kind, parameters, index.config()).map_err(failed)?;
            // Without a file, `fields` are names that weights may have, of an unknown index.
            if self.source.has(&format!("{at}.fields")) {
                check_fields(parameters, index.config()).map_err(failed)?;
            }
            if let Some(warning) = warning {
                let key = self.source.key_name(&format!("{at}.template"));
                context.warn_once(&format!("{key}: {warning}"));
            }
        }
        Ok(())
    }

    /// Returns the systems with their parameters, in the order of the file.
    fn parsed(&self, registry: &Registry) -> Result<Vec<(String, ParsedSystem)>, SpecError> {
        let parse = |(n, entry): (usize, &SystemEntry)| {
            let at = format!("systems[{n}]");
            let parsed = registry.parse(&entry.kind, &entry.parameters);
            let parsed = parsed.map_err(|error| self.source.system_error(&at, error))?;
            Ok((at, parsed))
        };
        self.systems.iter().enumerate().map(parse).collect()
    }

    /// Returns what the system and its parts read of an index: see [`System::index_needs`].
    ///
    /// # Errors
    /// Returns [`SpecError::Key`] for the first invalid key.
    ///
    /// [`System::index_needs`]: crate::System::index_needs
    pub fn index_needs(&self, registry: &Registry) -> Result<IndexNeeds, SpecError> {
        let parsed = self.parsed(registry)?.into_iter();
        let needs = parsed.map(|(_, parsed)| parsed.system.index_needs());
        Ok(needs.fold(IndexNeeds::default(), IndexNeeds::and))
    }

    /// Returns the maximum number of hits of the system to search, if it has one: see
    /// [`System::max_hits`](crate::System::max_hits).
    ///
    /// # Errors
    /// Returns [`SpecError::Key`] for the first invalid key.
    pub fn max_hits(&self, registry: &Registry) -> Result<Option<usize>, SpecError> {
        let root = &self.search_root()?.name;
        let parsed = self.parsed(registry)?;
        let systems = |name: &str| {
            let mut named = self.systems.iter().zip(&parsed);
            let found = named.find(|(entry, _)| entry.name == name);
            found.map(|(_, (_, parsed))| parsed)
        };
        Ok(max_hits(root, &systems))
    }

    /// Returns `true` if the system or a part has vectors of the queries of the data: see
    /// [`System::uses_query_ids`](crate::System::uses_query_ids).
    ///
    /// # Errors
    /// Returns [`SpecError::Key`] for the first invalid key.
    pub fn uses_query_ids(&self, registry: &Registry) -> Result<bool, SpecError> {
        let mut parsed = self.parsed(registry)?.into_iter();
        Ok(parsed.any(|(_, parsed)| parsed.system.uses_query_ids()))
    }

    /// Opens the system on data. Systems that were opened with the same resources share indexes,
    /// models and vectors.
    ///
    /// On an index, a key of a file that describes another index is an error: `analyzer`,
    /// `fields`, and `template` of the type `bm25`. The index has its own values of absent keys.
    ///
    /// # Errors
    /// Returns [`SpecError`] with the key of the system if a parameter is invalid or differs from
    /// the index, data are missing or a stage failed, and [`SpecError::Canceled`] if the observer
    /// requested a stop.
    pub fn open_on(
        &self,
        registry: &Registry,
        data: &dyn SystemData,
        resources: &mut Resources,
        observer: &mut dyn Observer,
    ) -> Result<OpenSystem, SpecError> {
        let root = self.search_root()?;
        self.check_common_keys()?;
        let mut systems = BTreeMap::new();
        let parsed = self.parsed(registry)?;
        let mut uses: HashMap<String, usize> = HashMap::new();
        for (_, part) in parsed.iter().flat_map(|(_, it)| it.system.inputs()) {
            *uses.entry(part).or_default() += 1;
        }
        for (entry, (at, parsed)) in self.systems.iter().zip(parsed) {
            let inputs = parsed.system.inputs().into_iter().map(|(_, name)| name);
            let prepared = PreparedSystem {
                at,
                kind: entry.kind.clone(),
                label: entry.name.clone(),
                inputs: inputs.collect(),
                parsed: Arc::new(parsed),
                is_shared: uses.get(&entry.name).is_some_and(|uses| *uses > 1),
            };
            systems.insert(entry.name.clone(), prepared);
        }
        // Systems depend on the queries of the data.
        resources.session.close_systems();
        let mut context = SystemContext {
            data,
            training: None,
            validation: None,
            encoders: &self.encoders,
            source: &self.source,
            cache: &resources.cache,
            systems: &systems,
            hashes: &resources.hashes,
            session: &mut resources.session,
            observer,
        };
        self.check_index(&systems, &root.name, &mut context)?;
        let opened = context.system(&root.name);
        let mut opened = opened.map_err(|error| {
            let at = systems
                .get(&root.name)
                .map_or("systems", |it| it.at.as_str());
            self.source.system_error(at, error)
        })?;
        if systems.values().any(|system| system.is_shared) {
            opened.retriever = resources.session.for_single_searches(opened.retriever);
        }
        Ok(opened)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use ir_bm25::{Index, IndexConfig, IndexedFields, StoredFields};
    use ir_core::{Document, Flow, NoProgress, Progress};

    use super::*;
    use crate::index_data::IndexData;

    fn system(keys: &str) -> String {
        format!("[[systems]]\nname = \"a\"\ntype = \"bm25\"\n{keys}\n")
    }

    #[test]
    fn keys_that_a_search_would_ignore() {
        let error = |text: &str| {
            let spec = SystemSpec::from_toml(text);
            let checked = spec.and_then(|spec| spec.validate(&Registry::default()));
            checked.unwrap_err().to_string()
        };
        for (keys, expected) in [
            (
                "grid = { k1 = [1, 2] }",
                "line 4: systems[0].grid: expected no grid; `ir sweep --grid` and experiments with \
                 [selection] compare several settings",
            ),
            (
                "hits = 0",
                "line 4: systems[0].hits: expected at least 1, found 0",
            ),
            (
                "hidden = true\nwhere = { known = { name = \"year\" } }",
                "line 5: systems[0].where: expected a system that is not hidden; a part of others \
                 has no run",
            ),
        ] {
            let root = system("").replace("\"a\"", "\"b\"");
            assert_eq!(error(&format!("{}{root}", system(keys))), expected);
        }
        // A newer version may have other keys.
        assert_eq!(
            error("version = 2\nnew = 1\n"),
            "line 1: version: expected 1, found 2"
        );
        let unknown = error("version = 1\nnew = 1\n");
        assert!(unknown.contains("new"), "{unknown}");
        let text = error("version = \"2\"\n");
        assert!(text.starts_with("line 1: version: "), "{text}");
    }

    #[test]
    fn priors_have_the_maximum_of_their_part() {
        let rerank = "name = \"r\"\ntype = \"rerank\"\nfirst = \"a\"\nsecond = \"a\"\ndepth = 7\n";
        let systems = format!(
            "{}hidden = true\n[[systems]]\n{rerank}hidden = true\n",
            system("")
        );
        let most = |of: &str| {
            let prior = format!("[[systems]]\nname = \"p\"\ntype = \"prior\"\nof = \"{of}\"\n");
            let spec = SystemSpec::from_toml(&format!("{systems}{prior}")).unwrap();
            spec.max_hits(&Registry::default()).unwrap()
        };
        assert_eq!(most("r"), Some(7));
        assert_eq!(most("a"), None);
        // A cycle, which is an error when the system is opened.
        assert_eq!(most("p"), None);
    }

    #[test]
    fn systems_in_conflict() {
        let validate = |text: &str| {
            let spec = SystemSpec::from_toml(text)?;
            spec.validate(&Registry::default())
        };
        let prior = "[[systems]]\nname = \"p\"\ntype = \"prior\"\nof = \"a\"\n";
        let rerank = "[[systems]]\nname = \"r\"\ntype = \"rerank\"\nfirst = \"p\"\n";
        let reranked = |cleaning: &str, by: &str| {
            let part = system(&format!("hidden = true\n{cleaning}"));
            validate(&format!("{part}{prior}hidden = true\n{rerank}{by}\n"))
        };
        let model = "model = \"m\"";
        for (cleaning, key) in [
            ("cleaning = { punctuation = true }", "cleaning"),
            ("cleaning = { tags = \"t\" }", "cleaning.tags"),
        ] {
            let error = reranked(cleaning, model).unwrap_err().to_string();
            let expected = "expected none below a reranking by a model, which reads the queries \
                            unchanged";
            assert_eq!(error, format!("line 5: systems[0].{key}: {expected}"));
            assert!(reranked(cleaning, "second = \"a\"").is_ok());
        }
        assert!(reranked("", model).is_ok());
        let error = |filter: &str| {
            let text = format!("{}{prior}filter = \"{filter}\"\n", system("hidden = true"));
            validate(&text).unwrap_err().to_string()
        };
        for filter in ["published-year", "year-of-best-record"] {
            assert_eq!(
                error(filter),
                format!(
                    "line 9: systems[1].filter: {filter}: expected a system of type bm25, found prior"
                )
            );
            let expanded = format!("feedback = \"rm3\"\nfilter = \"{filter}\"");
            assert!(validate(&system(&expanded)).is_ok());
        }
    }

    #[derive(Default)]
    struct Warnings(Vec<String>);

    impl Progress for Warnings {
        fn report(&mut self, _: &str, _: u64, _: Option<u64>) -> Flow {
            Flow::Continue
        }
    }

    impl Observer for Warnings {
        fn warning(&mut self, warning: &str) {
            self.0.push(warning.to_owned());
        }
    }

    /// Opens systems on an index with these fields, one after the other. Returns the warnings.
    fn open(fields: IndexedFields, texts: &[&str]) -> Result<Vec<String>, SpecError> {
        let documents = [Document::new("d").with_text("tea")];
        let config = IndexConfig::default()
            .with_fields(fields)
            .with_store(StoredFields::Everything);
        let index = Index::build(&documents[..], &config, &mut NoProgress).unwrap();
        let data = IndexData::new("documents", index.into(), Vec::new());
        let mut resources = Resources::new(Cache::temporary().unwrap());
        let mut warnings = Warnings::default();
        for text in texts {
            let spec = SystemSpec::from_toml(text)?;
            spec.open_on(&Registry::default(), &data, &mut resources, &mut warnings)?;
        }
        Ok(warnings.0)
    }

    #[test]
    fn keys_of_another_index() {
        let (one, text) = (IndexedFields::One, IndexedFields::TextOnly);
        for (fields, keys, expected) in [
            (
                one,
                "analyzer = \"english\"",
                "line 4: systems[0].analyzer: expected the analyzer of the index, porter, found \
                 english",
            ),
            (
                text,
                "fields = \"separate\"",
                "line 4: systems[0].fields: expected the fields of the index, text, found separate",
            ),
            (
                one,
                "fields = [\"title\"]",
                "line 4: systems[0].fields: expected the fields of the index, one, found \
                 [\"title\"]",
            ),
            (
                one,
                "template = \"{title}\"",
                "line 4: systems[0].template: expected no template, the index has the fields one, \
                 found \"{title}\"",
            ),
        ] {
            let error = open(fields, &[&system(keys)]).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
        let other = system("").replace("bm25", "tfidf");
        let other = format!("{other}analyzer = \"whitespace\"\n");
        let error = open(one, &[&other]).unwrap_err().to_string();
        let expected = "line 5: systems[0].analyzer: ";
        assert!(error.starts_with(expected), "{error}");
        let none: [&str; 0] = [];
        let same = system("analyzer = \"porter\"\nfields = \"one\"");
        assert_eq!(open(one, &[&same, &system("")]).unwrap(), none);
        // A system that is not searched.
        let unused = other.replace("\"a\"", "\"b\"");
        assert_eq!(open(one, &[&format!("{unused}{same}")]).unwrap(), none);
        // An index does not record its template.
        let template = system("template = \"{title} {text}\"");
        let warning = "systems[0].template: the index has no record of its template, which must be \
                       \"{title} {text}\"";
        assert_eq!(open(text, &[&template, &template]).unwrap(), [warning]);
        let template = system("template = \"{text}\"");
        assert_eq!(open(text, &[&template]).unwrap(), none);
    }
}
