//! What is measured.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Which preferences a measure looks at. A preference of a over b is kept when a stands above b in
/// the list; a document that was retrieved stands above one that was not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PreferenceScope {
    /// All. Where neither document was retrieved, the preference counts as not kept.
    All,
    /// Those between two retrieved documents: for collections that change.
    Retrieved,
    /// Those of which at least one document was retrieved.
    Implied,
}

/// A measure of how well a ranked list keeps preferences. Printed and read by trec_eval's names.
///
/// After Carterette, Bennett, Chickering and Dumais, "Here or there: preference judgments for
/// relevance", ECIR 2008, in the forms that trec_eval gave them.
///
/// ```
/// use ir_eval::preferences::{PreferenceMeasure, PreferenceScope};
/// let measure: PreferenceMeasure = "prefs_pair_ret".parse()?;
/// assert_eq!(measure, PreferenceMeasure::Pair(PreferenceScope::Retrieved));
/// assert_eq!(measure.to_string(), "prefs_pair_ret");
/// # Ok::<(), ir_eval::preferences::ParsePreferenceMeasureError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum PreferenceMeasure {
    /// How many preferences there are: `prefs_num_prefs_poss`. Summed over queries.
    Possible,
    /// How many are kept: `prefs_num_prefs_ful`. Summed over queries.
    Fulfilled,
    /// How many are kept between retrieved documents: `prefs_num_prefs_ful_ret`. Summed over
    /// queries.
    FulfilledRetrieved,
    /// The share that is kept: `prefs_simp`, `prefs_simp_ret`, `prefs_simp_imp`.
    Simple(PreferenceScope),
    /// The mean over pairs of documents of the share that is kept, where groups disagree about a
    /// pair: `prefs_pair`, `prefs_pair_ret`, `prefs_pair_imp`.
    Pair(PreferenceScope),
    /// The mean over groups of the share that is kept: every group counts the same however much it
    /// says. `prefs_avgjg`, `prefs_avgjg_ret`, `prefs_avgjg_imp`.
    Group(PreferenceScope),
    /// Like [`PreferenceMeasure::Group`] over all preferences, with as many documents that are not
    /// relevant (level 0) as there are relevant ones, R, in each group: the first R of the list
    /// count, or R − N that were never retrieved are made up. Akin to
    /// [`Bpref`](crate::Kind::Bpref). `prefs_avgjg_Rnonrel`.
    ///
    /// As trec_eval computes it: in a group without subgroups that has more than R such documents,
    /// the ones that count are also compared with all of level 0, as if those were preferred.
    Balanced,
    /// The same between retrieved documents: `prefs_avgjg_Rnonrel_ret`.
    BalancedRetrieved,
}

use PreferenceMeasure as P;

const NAMES: [(&str, PreferenceMeasure); 14] = [
    ("prefs_num_prefs_poss", P::Possible),
    ("prefs_num_prefs_ful", P::Fulfilled),
    ("prefs_num_prefs_ful_ret", P::FulfilledRetrieved),
    ("prefs_simp", P::Simple(PreferenceScope::All)),
    ("prefs_pair", P::Pair(PreferenceScope::All)),
    ("prefs_avgjg", P::Group(PreferenceScope::All)),
    ("prefs_avgjg_Rnonrel", P::Balanced),
    ("prefs_simp_ret", P::Simple(PreferenceScope::Retrieved)),
    ("prefs_pair_ret", P::Pair(PreferenceScope::Retrieved)),
    ("prefs_avgjg_ret", P::Group(PreferenceScope::Retrieved)),
    ("prefs_avgjg_Rnonrel_ret", P::BalancedRetrieved),
    ("prefs_simp_imp", P::Simple(PreferenceScope::Implied)),
    ("prefs_pair_imp", P::Pair(PreferenceScope::Implied)),
    ("prefs_avgjg_imp", P::Group(PreferenceScope::Implied)),
];

impl PreferenceMeasure {
    /// All of them, in the order in which trec_eval prints them.
    pub const ALL: [Self; NAMES.len()] = {
        let mut all = [Self::Possible; NAMES.len()];
        let mut at = 0;
        while at < NAMES.len() {
            all[at] = NAMES[at].1;
            at += 1;
        }
        all
    };

    /// trec_eval's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        let found = NAMES.iter().find(|entry| entry.1 == self);
        found.map_or("", |entry| entry.0)
    }

    /// Whether it is a number of preferences, which is summed over queries; the others are shares
    /// and averaged.
    #[must_use]
    pub const fn is_count(self) -> bool {
        matches!(
            self,
            Self::Possible | Self::Fulfilled | Self::FulfilledRetrieved
        )
    }
}

/// By name.
impl Serialize for PreferenceMeasure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for PreferenceMeasure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = Cow::<'de, str>::deserialize(deserializer)?;
        name.parse().map_err(serde::de::Error::custom)
    }
}

impl fmt::Display for PreferenceMeasure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A text names no measure of preferences.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?}: no such measure of preferences (examples: prefs_simp, prefs_avgjg_ret)")]
pub struct ParsePreferenceMeasureError {
    /// What was to be read.
    pub text: String,
}

impl FromStr for PreferenceMeasure {
    type Err = ParsePreferenceMeasureError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = NAMES.iter().find(|entry| entry.0 == text);
        let unknown = || ParsePreferenceMeasureError {
            text: text.to_owned(),
        };
        found.map(|entry| entry.1).ok_or_else(unknown)
    }
}
