//! Classes, and the folds that keep their shares.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

/// The class of every item.
///
/// ```
/// use ir_knn::Labels;
/// let labels = Labels::new(["tea", "bread", "tea"]);
/// assert_eq!(labels.classes(), ["bread", "tea"]);
/// assert_eq!(labels.codes(), [1, 0, 1]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labels {
    classes: Vec<String>,
    codes: Vec<u32>,
}

fn whole_number(class: &str) -> Option<i64> {
    let value: i64 = class.parse().ok()?;
    (value.to_string() == class).then_some(value)
}

impl Labels {
    /// One label an item. The order of the classes decides votes that are tied: when all are whole
    /// numbers, as "7" and "-12" are and "07" is not, they are ordered by value, otherwise by code
    /// point. That is how scikit-learn orders integers and texts.
    #[must_use]
    pub fn new<S: AsRef<str>>(labels: impl IntoIterator<Item = S>) -> Self {
        // Numbered as they come, then renumbered in order.
        let mut numbers: FxHashMap<String, u32> = FxHashMap::default();
        let mut codes = Vec::new();
        for label in labels {
            let label = label.as_ref();
            let next = numbers.len() as u32;
            let number = match numbers.get(label) {
                Some(&number) => number,
                None => *numbers.entry(label.to_owned()).or_insert(next),
            };
            codes.push(number);
        }
        let mut order = vec![0; numbers.len()];
        let whole = numbers.keys().all(|class| whole_number(class).is_some());
        let value = |class: &str| whole.then(|| whole_number(class)).flatten();
        let sorted: BTreeSet<(Option<i64>, String, u32)> = numbers
            .into_iter()
            .map(|(class, number)| (value(&class), class, number))
            .collect();
        let mut classes = Vec::with_capacity(sorted.len());
        for (code, (_, class, number)) in (0..).zip(sorted) {
            order[number as usize] = code;
            classes.push(class);
        }
        for code in &mut codes {
            *code = order[*code as usize];
        }
        Self { classes, codes }
    }

    /// How many items there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.codes.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.codes.is_empty()
    }

    /// The classes, in their order.
    #[must_use]
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// The class of every item, as its place among [`Labels::classes`].
    #[must_use]
    pub fn codes(&self) -> &[u32] {
        &self.codes
    }

    /// The name of a class.
    ///
    /// # Panics
    /// When there is no such class.
    #[must_use]
    pub fn class(&self, code: u32) -> &str {
        &self.classes[code as usize]
    }

    /// How many items each class has.
    #[must_use]
    pub fn members(&self) -> Vec<usize> {
        let mut members = vec![0; self.classes.len()];
        for &code in &self.codes {
            members[code as usize] += 1;
        }
        members
    }

    /// Assigns every item to one of `folds` folds, so that every class is spread evenly over them:
    /// scikit-learn's `StratifiedKFold` without shuffling, item for item.
    ///
    /// The items of a class go to the folds in their order, so that items sorted by time are tested
    /// on other times.
    ///
    /// ```
    /// use ir_knn::Labels;
    /// let labels = Labels::new("b b a a c a b a b b c c a b c".split(' '));
    /// let folds = labels.stratified_folds(3)?;
    /// assert_eq!(folds.of_items(), [0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 1, 2, 2, 2, 2]);
    /// # Ok::<(), ir_knn::FoldsError>(())
    /// ```
    ///
    /// # Errors
    /// When fewer than two folds are wanted, or more than there are items, or more than any class
    /// has. Classes that alone are too small are told by [`Folds::small`].
    pub fn stratified_folds(&self, folds: usize) -> Result<Folds, FoldsError> {
        if folds < 2 {
            return Err(FoldsError::TooFew { found: folds });
        }
        let items = self.len();
        if folds > items {
            return Err(FoldsError::TooMany { folds, items });
        }
        let members = self.members();
        let largest = members.iter().copied().max().unwrap_or(0);
        if folds > largest {
            return Err(FoldsError::AllSmall { folds, largest });
        }
        // Classes in the order in which they come; all items sorted by that; every folds-th item,
        // counted from the fold's own number, says how many of which class a fold gets.
        let mut first = vec![None; members.len()];
        let mut order = Vec::with_capacity(members.len());
        for &code in &self.codes {
            first[code as usize].get_or_insert_with(|| order.push(code));
        }
        let mut share = vec![0_usize; folds * members.len()];
        let sorted = order
            .iter()
            .flat_map(|&code| std::iter::repeat_n(code, members[code as usize]));
        for (place, code) in sorted.enumerate() {
            share[code as usize * folds + place % folds] += 1;
        }
        let mut at = vec![0; members.len()];
        let of_items = self.codes.iter().map(|&code| {
            let fold = &mut at[code as usize];
            let share = &mut share[code as usize * folds..][..folds];
            while share[*fold] == 0 {
                *fold += 1;
            }
            share[*fold] -= 1;
            *fold as u32
        });
        let of_items = of_items.collect();
        let small = (0..).zip(&members).filter(|&(_, &count)| count < folds);
        Ok(Folds {
            folds,
            of_items,
            small: small
                .map(|(code, &members)| SmallClass {
                    class: self.class(code).to_owned(),
                    members,
                })
                .collect(),
        })
    }
}

/// Which fold every item is tested in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folds {
    folds: usize,
    of_items: Vec<u32>,
    small: Vec<SmallClass>,
}

impl Folds {
    /// How many folds there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.folds
    }

    /// The fold of every item, from 0.
    #[must_use]
    pub fn of_items(&self) -> &[u32] {
        &self.of_items
    }

    /// The classes with fewer items than folds, which some folds do not test. scikit-learn warns of
    /// them.
    #[must_use]
    pub fn small(&self) -> &[SmallClass] {
        &self.small
    }

    /// How many items each fold tests.
    #[must_use]
    pub fn sizes(&self) -> Vec<usize> {
        let mut sizes = vec![0; self.folds];
        for &fold in &self.of_items {
            sizes[fold as usize] += 1;
        }
        sizes
    }
}

/// A class with fewer items than there are folds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SmallClass {
    /// Its name.
    pub class: String,
    /// How many items it has.
    pub members: usize,
}

/// Why items cannot be spread over folds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FoldsError {
    /// One fold leaves nothing to learn from.
    #[error("expected at least 2 folds, found {found}")]
    TooFew {
        /// How many were wanted.
        found: usize,
    },
    /// Some folds would be empty.
    #[error("expected at most one fold an item, found {folds} folds for {items} items")]
    TooMany {
        /// How many were wanted.
        folds: usize,
        /// How many items there are.
        items: usize,
    },
    /// No class has an item for every fold.
    #[error("expected a class with at least {folds} items, one a fold; the largest has {largest}")]
    AllSmall {
        /// How many folds were wanted.
        folds: usize,
        /// The items of the largest class.
        largest: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_check_of_the_definition() {
        let labels = Labels::new("0 0 0 0 1 1 1 2 2 2 2 2 0".split(' '));
        let folds = labels.stratified_folds(2).unwrap();
        assert_eq!(folds.of_items(), [0, 0, 0, 1, 0, 1, 1, 0, 0, 0, 1, 1, 1]);
        assert_eq!(folds.sizes(), [7, 6]);
        assert!(folds.small().is_empty());
    }

    #[test]
    fn too_small() {
        let labels = Labels::new(["a", "a", "b", "c", "c", "c"]);
        let error = |folds| labels.stratified_folds(folds).unwrap_err().to_string();
        assert_eq!(error(1), "expected at least 2 folds, found 1");
        assert!(error(7).starts_with("expected at most one fold an item, found 7"));
        assert!(error(4).ends_with("the largest has 3"));
        let folds = labels.stratified_folds(3).unwrap();
        let small: Vec<_> = folds
            .small()
            .iter()
            .map(|s| (s.class.as_str(), s.members))
            .collect();
        assert_eq!(small, [("a", 2), ("b", 1)]);
        assert!(Labels::new::<&str>([]).stratified_folds(2).is_err());
    }
}
