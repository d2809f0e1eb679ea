//! Measures of preference judgments.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::evaluate::ReportMeasure;
use crate::measure::Summary;

/// Preferences that a measure counts. A preference of a over b is fulfilled if a is ranked above b;
/// retrieved documents are ranked above those that are not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PreferenceScope {
    /// All preferences; not fulfilled if neither document is retrieved.
    All,
    /// Preferences between two retrieved documents, for dynamic collections.
    Retrieved,
    /// Preferences with at least one retrieved document.
    Implied,
}

/// Measure of how many preferences a ranked list fulfills. Displayed and parsed by trec_eval's
/// name.
///
/// After Carterette, Bennett, Chickering and Dumais, "Here or there: preference judgments for
/// relevance", ECIR 2008, in the forms that trec_eval gave them.
///
/// ```
/// use ir_eval::assess::preferences::{PreferenceMeasure, PreferenceScope};
/// let measure: PreferenceMeasure = "prefs_pair_ret".parse()?;
/// assert_eq!(measure, PreferenceMeasure::Pair(PreferenceScope::Retrieved));
/// assert_eq!(measure.to_string(), "prefs_pair_ret");
/// # Ok::<(), ir_eval::assess::preferences::ParsePreferenceMeasureError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum PreferenceMeasure {
    /// Number of preferences: `prefs_num_prefs_poss`. Summed over queries.
    Possible,
    /// Number of fulfilled preferences: `prefs_num_prefs_ful`. Summed over queries.
    Fulfilled,
    /// Number of fulfilled preferences between retrieved documents: `prefs_num_prefs_ful_ret`.
    /// Summed over queries.
    FulfilledRetrieved,
    /// Fraction of fulfilled preferences: `prefs_simp`, `prefs_simp_ret`, `prefs_simp_imp`.
    Simple(PreferenceScope),
    /// Mean over document pairs of the fraction of fulfilled preferences, over the groups that
    /// judged the pair: `prefs_pair`, `prefs_pair_ret`, `prefs_pair_imp`.
    Pair(PreferenceScope),
    /// Mean over groups of the fraction of fulfilled preferences; all groups have equal weight:
    /// `prefs_avgjg`, `prefs_avgjg_ret`, `prefs_avgjg_imp`.
    Group(PreferenceScope),
    /// [`PreferenceMeasure::Group`] with as many nonrelevant documents (level 0) as relevant ones,
    /// R, in each group: the first R of the list count, or R − N unretrieved documents are added.
    /// Similar to [`Bpref`](crate::measure::Bpref): `prefs_avgjg_Rnonrel`.
    ///
    /// Like trec_eval, in a group without subgroups and with more than R nonrelevant documents,
    /// the counted ones are also compared with all others of level 0, as if those were preferred.
    Balanced,
    /// [`PreferenceMeasure::Balanced`] between retrieved documents: `prefs_avgjg_Rnonrel_ret`.
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
    /// All measures, in trec_eval's output order.
    pub const ALL: [Self; NAMES.len()] = {
        let mut all = [Self::Possible; NAMES.len()];
        let mut at = 0;
        while at < NAMES.len() {
            all[at] = NAMES[at].1;
            at += 1;
        }
        all
    };

    /// Returns trec_eval's name of the measure.
    #[must_use]
    pub fn name(self) -> &'static str {
        let found = NAMES.iter().find(|entry| entry.1 == self);
        found.map_or("", |entry| entry.0)
    }
}

impl ReportMeasure for PreferenceMeasure {
    fn summary(&self) -> Summary {
        match self {
            Self::Possible | Self::Fulfilled | Self::FulfilledRetrieved => Summary::Sum,
            _ => Summary::Mean,
        }
    }
}

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

/// Error parsing a [`PreferenceMeasure`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?}: expected a preference measure (such as: prefs_simp, prefs_avgjg_ret)")]
pub struct ParsePreferenceMeasureError {
    /// Text that was parsed.
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
