//! Parameters, of building and of searching, and what can be wrong with them.

use serde::{Deserialize, Serialize};

/// How the graph of an [`HnswIndex`](crate::HnswIndex) is built. The same vectors and the same
/// values give the same graph, whatever the number of threads.
///
/// ```
/// use ir_knn::HnswConfig;
/// let config = HnswConfig::default().with_links(32);
/// assert_eq!((config.links, config.build_effort), (32, 200));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct HnswConfig {
    /// How many neighbours a new vector is linked to (M of the paper): 16 unless told otherwise. In
    /// the lowest layer a vector may come to have twice as many links. More are better for vectors
    /// of many dimensions and for recall near 1, and take more memory.
    pub links: usize,
    /// How many near vectors are looked at to find those neighbours (efConstruction of the paper):
    /// 200 unless told otherwise. More make a better graph, and take longer.
    pub build_effort: usize,
    /// Which vectors are in the upper layers, and the order in which all are linked, is drawn at
    /// random from this.
    pub seed: u64,
}

impl Default for HnswConfig {
    fn default() -> Self {
        Self {
            links: 16,
            build_effort: 200,
            seed: 0,
        }
    }
}

impl HnswConfig {
    /// The same with another number of links.
    #[must_use]
    pub const fn with_links(mut self, links: usize) -> Self {
        self.links = links;
        self
    }

    /// The same with another effort of building.
    #[must_use]
    pub const fn with_build_effort(mut self, effort: usize) -> Self {
        self.build_effort = effort;
        self
    }

    /// The same with another seed.
    #[must_use]
    pub const fn seeded(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    pub(super) fn check(&self) -> Result<(), HnswError> {
        if !(2..=MOST_LINKS).contains(&self.links) {
            return Err(HnswError::Links { found: self.links });
        }
        if self.build_effort == 0 {
            return Err(HnswError::BuildEffort);
        }
        Ok(())
    }
}

/// More links than these make a list of neighbours, not a graph.
pub(super) const MOST_LINKS: usize = 1024;

/// How many near vectors a search keeps in view (ef of the paper): the more, the better the recall,
/// and the longer it takes, about in proportion. A search for the best k keeps at least k in view.
///
/// It belongs to the search, not to the index: [`HnswIndex::searcher`](crate::HnswIndex::searcher)
/// makes as many searchers of one index as are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Effort(pub usize);

impl Default for Effort {
    /// 64.
    fn default() -> Self {
        Self(64)
    }
}

/// Why a graph cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HnswError {
    /// Too few links for a graph that hangs together, or very many.
    #[error("links: expected 2 to {MOST_LINKS}, found {found}")]
    Links {
        /// What was given.
        found: usize,
    },
    /// No vectors to choose neighbours from.
    #[error("build effort: expected at least 1, found 0")]
    BuildEffort,
    /// More different vectors than the graph can number.
    #[error("expected at most {most} different vectors, found {found}")]
    Vectors {
        /// How many it can number.
        most: usize,
        /// How many there are.
        found: usize,
    },
    /// Vectors too long for sums of 8-bit products.
    #[error("expected vectors of at most {most} dimensions, found {found}")]
    Dimensions {
        /// The most.
        most: usize,
        /// How many there are.
        found: usize,
    },
}
