/// Communities by substrings of venues, in the order in which the published code tests them.
const COMMUNITIES: [(&str, &[&str]); 5] = [
    ("Vision", &["CVPR", "ICCV", "WACV"]),
    ("NLP", &["ACL", "EMNLP", "NAACL", "TACL", "COLING"]),
    ("Speech", &["Interspeech", "ICASSP", "ASRU"]),
    ("Robotics", &["IROS", "ICRA", "RA-L", "IJRR"]),
    ("ML", &["NeurIPS", "ICML", "ICLR"]),
];

/// Minimum number of papers of a venue that [`community`] is applied to in DataFinder.
pub const MIN_PAPERS_OF_VENUE: usize = 3;

/// Returns the research community of a venue or journal: the first one with a name that the venue
/// contains, case-sensitively. [`None`] for other venues.
///
/// ```
/// use ir_studies::datafinder::community;
///
/// assert_eq!(community("2019 IEEE/CVF CVPR Workshops"), Some("Vision"));
/// assert_eq!(community("NAACL-HLT"), Some("NLP"));
/// assert_eq!(community("ICLR 2020"), Some("ML"));
/// assert_eq!(community("Nature"), None);
/// ```
///
/// # Source
/// Viswanathan et al., "DataFinder: Scientific Dataset Recommendation from Natural Language
/// Descriptions", ACL 2023, and the code published with it.
#[must_use]
pub fn community(venue: &str) -> Option<&'static str> {
    let has = |names: &&[&str]| names.iter().any(|name| venue.contains(name));
    let mut all = COMMUNITIES.iter();
    all.find(|(_, names)| has(names))
        .map(|(community, _)| *community)
}
