//! A system with its parts as one value, read from and written to a file.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use ir_core::store::AtomicFile;
use serde::{Deserialize, Serialize};

use crate::cache::Cache;
use crate::entries::EncoderEntry;
use crate::entry::SystemEntry;
use crate::error::SpecError;
use crate::graph::order;
use crate::grid::check_points;
use crate::index_needs::IndexNeeds;
use crate::observer::Observer;
use crate::registry::Registry;
use crate::source::SourceMap;
use crate::system::{
    FileHashes, OpenSystem, ParsedSystem, PreparedSystem, Session, SystemContext, SystemData,
};
use crate::table_schema::check_ranges;
use crate::toml_file::{parse_toml, read_text};

/// Version of the file format.
const VERSION: u32 = 1;

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
    VERSION
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
            version: VERSION,
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
        let (mut spec, source): (Self, _) = parse_toml(text, path)?;
        if spec.version != VERSION {
            let message = format!("expected {VERSION}, found {}", spec.version);
            return Err(source.error("version", message));
        }
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
        if self.root().is_none() {
            let message = "expected a system that is not hidden, found none";
            return Err(self.source.error("systems", message));
        }
        check_encoders(&self.encoders, &self.source)?;
        check_points(&self.systems, &self.source)?;
        let mut names = HashSet::new();
        for (n, entry) in self.systems.iter().enumerate() {
            let at = format!("systems[{n}]");
            if !names.insert(&entry.name) {
                let message = format!("expected different names, found {:?} twice", entry.name);
                return Err(self.source.error(&format!("{at}.name"), message));
            }
            for point in entry.points() {
                let parsed = registry.parse(&entry.kind, &point);
                parsed.map_err(|error| self.source.system_error(&at, error))?;
            }
        }
        order(&self.systems, &self.source, registry).map(drop)
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
    /// # Errors
    /// Returns [`SpecError`] with the key of the system if a parameter is invalid, data are missing
    /// or a stage failed, and [`SpecError::Canceled`] if the observer requested a stop.
    pub fn open_on(
        &self,
        registry: &Registry,
        data: &dyn SystemData,
        resources: &mut Resources,
        observer: &mut dyn Observer,
    ) -> Result<OpenSystem, SpecError> {
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
        let Some(root) = self.root() else {
            let message = "expected a system that is not hidden, found none";
            return Err(self.source.error("systems", message));
        };
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
