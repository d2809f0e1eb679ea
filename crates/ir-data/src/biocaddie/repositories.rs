//! The repositories of the collection.

/// Repository of the bioCADDIE collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repository {
    /// Name, as in the benchmark paper.
    pub name: &'static str,
    /// Key in the collection: the part of REPOSITORY before the first `_`.
    pub key: &'static str,
    /// Number of records in the collection.
    pub datasets: u64,
    /// Paths in METADATA to the texts that describe a record, names separated by dots.
    pub paths: &'static [&'static str],
}

/// Number of records of all repositories.
pub const DATASETS: u64 = 794_992;

/// The 20 repositories in the order of the benchmark paper.
///
/// ```
/// use ir_data::biocaddie::{DATASETS, REPOSITORIES};
/// let sizes = REPOSITORIES.iter().map(|repository| repository.datasets);
/// assert_eq!(sizes.sum::<u64>(), DATASETS);
/// ```
///
/// # Source
/// Names and sizes: Cohen et al., "A publicly available benchmark for biomedical dataset
/// retrieval", Database 2017, table 1. Paths: converters of two participants of the challenge.
pub const REPOSITORIES: [Repository; 20] = [
    Repository {
        name: "ArrayExpress",
        key: "arrayexpress",
        datasets: 60_881,
        paths: &[
            "dataItem.title",
            "dataItem.description",
            "organism.experiment.species",
        ],
    },
    Repository {
        name: "BioProject",
        key: "bioproject",
        datasets: 155_850,
        paths: &[
            "dataItem.title",
            "dataItem.description",
            "dataItem.keywords",
            "organism.target",
        ],
    },
    Repository {
        name: "The Cancer Imaging Archive",
        key: "cia",
        datasets: 63,
        paths: &["anatomicalPart", "disease", "organism"],
    },
    Repository {
        name: "ClinicalTrials",
        key: "clinicaltrials",
        datasets: 192_500,
        paths: &[
            "Dataset.keyword",
            "Dataset.description",
            "Study.recruits.gender",
            "Study.recruits.criteria",
            "Study.phase",
            "Study.studyType",
            "Study.location.city",
            "Study.location.country",
            "Study.location.othercountries",
            "StudyGroup.type",
            "StudyGroup.description",
            "Disease.name",
            "Treatment.title",
            "Treatment.description",
            "Treatment.agent",
        ],
    },
    Repository {
        name: "Clinical Trials Network",
        key: "ctn",
        datasets: 46,
        paths: &["dataset.description", "dataset.keywords", "organism"],
    },
    Repository {
        name: "Cardiovascular Research Grid",
        key: "cvrg",
        datasets: 29,
        paths: &["dataset.description"],
    },
    Repository {
        name: "Dataverse",
        key: "dataverse",
        datasets: 60_303,
        paths: &["dataset.description", "publication.description"],
    },
    Repository {
        name: "Dryad",
        key: "dryad",
        datasets: 67_455,
        paths: &["dataset.description", "dataset.keywords"],
    },
    Repository {
        name: "Gemma",
        key: "gemma",
        datasets: 2285,
        paths: &["dataItem.title", "dataItem.description", "organism.source"],
    },
    Repository {
        name: "Gene Expression Omnibus",
        key: "geo",
        datasets: 105_033,
        paths: &[
            "dataItem.title",
            "dataItem.source_name",
            "dataItem.organism",
            "dataItem.description",
        ],
    },
    Repository {
        name: "Mouse Phenome Database",
        key: "mpd",
        datasets: 235,
        paths: &[
            "dataset.title",
            "dataset.description",
            "dataset.dataType",
            "dataset.gender",
            "organism",
            "dimension",
        ],
    },
    Repository {
        name: "NeuroMorpho",
        key: "neuromorpho",
        datasets: 34_082,
        paths: &[
            "studyGroup.name",
            "anatomicalPart.name",
            "dataset.note",
            "cell.name",
            "treatment.title",
            "organism.strain",
            "organism.scientificName",
            "organism.name",
            "organism.gender",
            "dimension",
        ],
    },
    Repository {
        name: "NURSA",
        key: "nursadatasets",
        datasets: 389,
        paths: &[
            "dataset.title",
            "dataset.description",
            "dataset.keywords",
            "dataAcquisition.title",
            "publication.description",
            "organism",
        ],
    },
    Repository {
        name: "OpenfMRI",
        key: "openfmri",
        datasets: 36,
        paths: &[
            "dataset.title",
            "dataset.description",
            "dataAcquisition.title",
        ],
    },
    Repository {
        name: "PeptideAtlas",
        key: "peptideatlas",
        datasets: 76,
        paths: &[
            "dataset.title",
            "dataset.description",
            "instrument.name",
            "treatment.description",
            "organism",
        ],
    },
    Repository {
        name: "PhenDisco (dbGaP)",
        key: "phenodisco",
        datasets: 429,
        paths: &[
            "title",
            "desc",
            "MESHterm",
            "inexclude",
            "gender",
            "disease",
            "history",
        ],
    },
    Repository {
        name: "PhysioBank",
        key: "physiobank",
        datasets: 70,
        paths: &["dataset.title", "dataset.description", "dataset.dataType"],
    },
    Repository {
        name: "Protein Data Bank",
        key: "pdb",
        datasets: 113_493,
        paths: &[
            "dataItem.title",
            "dataItem.description",
            "dataItem.keywords",
            "organism.source",
            "organism.host",
            "gene",
        ],
    },
    Repository {
        name: "ProteomeXchange",
        key: "proteomexchange",
        datasets: 1716,
        paths: &["dataset.title", "keywords", "organism", "instrument.name"],
    },
    Repository {
        name: "Yale Protein Expression Database",
        key: "yped",
        datasets: 21,
        paths: &[
            "dataset.title",
            "dataset.description",
            "dataAcquisition.title",
            "organism.name",
        ],
    },
];

impl Repository {
    /// Returns the repository of a key.
    ///
    /// ```
    /// use ir_data::biocaddie::Repository;
    /// assert_eq!(Repository::find("geo").map(|found| found.datasets), Some(105_033));
    /// assert_eq!(Repository::find("geo_022216"), None);
    /// ```
    #[must_use]
    pub fn find(key: &str) -> Option<&'static Self> {
        REPOSITORIES.iter().find(|repository| repository.key == key)
    }
}
