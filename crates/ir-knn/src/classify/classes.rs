//! Classes of items, and stratified folds.

use rustc_hash::FxHashMap;

/// Classes of items, encoded as numbers: scikit-learn's `LabelEncoder`.
///
/// ```
/// use ir_knn::Classes;
/// let classes = Classes::new(["tea", "bread", "tea"]);
/// assert_eq!(classes.names(), ["bread", "tea"]);
/// assert_eq!(classes.codes(), [1, 0, 1]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Classes {
    names: Vec<String>,
    codes: Vec<u32>,
}

fn parse_integer(class: &str) -> Option<i64> {
    let value: i64 = class.parse().ok()?;
    (value.to_string() == class).then_some(value)
}

impl Classes {
    /// Encodes the class of each item. Classes are ordered as in scikit-learn, which breaks ties in
    /// votes: by value if all are integers ("7" and "-12", but not "07"), otherwise by code point.
    #[must_use]
    pub fn new<S: AsRef<str>>(items: impl IntoIterator<Item = S>) -> Self {
        // Numbered by first occurrence, then renumbered in order.
        let mut numbers: FxHashMap<String, u32> = FxHashMap::default();
        let mut number = |class: S| {
            let (class, next) = (class.as_ref(), numbers.len() as u32);
            let known = numbers.get(class).copied();
            known.unwrap_or_else(|| *numbers.entry(class.to_owned()).or_insert(next))
        };
        let mut codes: Vec<u32> = items.into_iter().map(&mut number).collect();
        let are_integers = numbers.keys().all(|name| parse_integer(name).is_some());
        let value = |name: &str| are_integers.then(|| parse_integer(name)).flatten();
        let classes = numbers.into_iter();
        let mut classes: Vec<_> = classes.map(|(name, n)| (value(&name), name, n)).collect();
        classes.sort_unstable();
        let mut code_by_number = vec![0; classes.len()];
        for (code, &(_, _, number)) in (0..).zip(&classes) {
            code_by_number[number as usize] = code;
        }
        for code in &mut codes {
            *code = code_by_number[*code as usize];
        }
        Self {
            names: classes.into_iter().map(|(_, name, _)| name).collect(),
            codes,
        }
    }

    /// Returns the number of items.
    #[must_use]
    pub fn len(&self) -> usize {
        self.codes.len()
    }

    /// Returns `true` if there are no items.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.codes.is_empty()
    }

    /// Names of the classes, in order.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Class of each item, as an index into [`Classes::names`].
    #[must_use]
    pub fn codes(&self) -> &[u32] {
        &self.codes
    }

    /// Returns the name of a class.
    ///
    /// # Panics
    /// When there is no such class.
    #[must_use]
    pub fn name(&self, code: u32) -> &str {
        &self.names[code as usize]
    }

    /// Returns the number of items of each class.
    #[must_use]
    pub fn sizes(&self) -> Vec<usize> {
        let mut sizes = vec![0; self.names.len()];
        for &code in &self.codes {
            sizes[code as usize] += 1;
        }
        sizes
    }

    /// Partitions the items into stratified folds, which preserve the fractions of the classes:
    /// scikit-learn's `StratifiedKFold` without shuffling, item for item.
    ///
    /// The items of a class fill the folds in order, so items sorted by time are tested on other
    /// times.
    ///
    /// ```
    /// use ir_knn::Classes;
    /// let classes = Classes::new("b b a a c a b a b b c c a b c".split(' '));
    /// let folds = classes.stratified_folds(3)?;
    /// assert_eq!(folds.assignment, [0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 1, 2, 2, 2, 2]);
    /// # Ok::<(), ir_knn::StratifiedFoldsError>(())
    /// ```
    ///
    /// # Errors
    /// When the number of folds is below 2, or exceeds the number of items or the size of the
    /// largest class. Smaller classes are listed in [`StratifiedFolds::small_classes`].
    pub fn stratified_folds(&self, folds: usize) -> Result<StratifiedFolds, StratifiedFoldsError> {
        if folds < 2 {
            return Err(StratifiedFoldsError::TooFew { found: folds });
        }
        let items = self.len();
        if folds > items {
            return Err(StratifiedFoldsError::TooMany { folds, items });
        }
        let sizes = self.sizes();
        let largest = sizes.iter().copied().max().unwrap_or(0);
        if folds > largest {
            return Err(StratifiedFoldsError::SmallClasses { folds, largest });
        }
        // With items sorted by the first occurrence of their class, fold f gets as many items of
        // each class as there are at positions f, f + folds, f + 2 folds and so on.
        let mut first = vec![None; sizes.len()];
        let mut order = Vec::with_capacity(sizes.len());
        for &code in &self.codes {
            first[code as usize].get_or_insert_with(|| order.push(code));
        }
        let mut remaining = vec![0_usize; folds * sizes.len()];
        let sorted = order
            .iter()
            .flat_map(|&code| std::iter::repeat_n(code, sizes[code as usize]));
        for (position, code) in sorted.enumerate() {
            remaining[code as usize * folds + position % folds] += 1;
        }
        let mut current = vec![0; sizes.len()];
        let mut fold_sizes = vec![0; folds];
        let assignment = self.codes.iter().map(|&code| {
            let fold = &mut current[code as usize];
            let remaining = &mut remaining[code as usize * folds..][..folds];
            while remaining[*fold] == 0 {
                *fold += 1;
            }
            remaining[*fold] -= 1;
            fold_sizes[*fold] += 1;
            *fold as u32
        });
        let assignment = assignment.collect();
        let classes = self.names.iter().cloned().zip(sizes);
        let small = classes.filter(|&(_, size)| size < folds);
        Ok(StratifiedFolds {
            assignment,
            sizes: fold_sizes,
            small_classes: small
                .map(|(name, size)| SmallClass { name, size })
                .collect(),
        })
    }
}

/// Stratified folds of items.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StratifiedFolds {
    /// Fold of each item, from 0.
    pub assignment: Vec<u32>,
    /// Number of items of each fold.
    pub sizes: Vec<usize>,
    /// Classes with fewer items than folds, which are missing in some folds. scikit-learn warns
    /// about them.
    pub small_classes: Vec<SmallClass>,
}

/// Class with fewer items than folds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SmallClass {
    /// Name of the class.
    pub name: String,
    /// Number of items of the class.
    pub size: usize,
}

/// Error partitioning items into stratified folds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "fields are named in the messages")]
pub enum StratifiedFoldsError {
    /// There are fewer than two folds.
    #[error("expected at least 2 folds, found {found}")]
    TooFew { found: usize },
    /// There are more folds than items.
    #[error("expected at most one fold per item, found {folds} folds for {items} items")]
    TooMany { folds: usize, items: usize },
    /// Every class has fewer items than folds.
    #[error("expected a class of at least {folds} items, one per fold; the largest has {largest}")]
    SmallClasses { folds: usize, largest: usize },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_are_those_of_scikit_learn() {
        let classes = Classes::new("0 0 0 0 1 1 1 2 2 2 2 2 0".split(' '));
        let folds = classes.stratified_folds(2).unwrap();
        assert_eq!(folds.assignment, [0, 0, 0, 1, 0, 1, 1, 0, 0, 0, 1, 1, 1]);
        assert_eq!(folds.sizes, [7, 6]);
        assert!(folds.small_classes.is_empty());
    }

    #[test]
    fn small_classes_are_listed_and_too_many_folds_rejected() {
        let classes = Classes::new(["a", "a", "b", "c", "c", "c"]);
        let error = |folds| classes.stratified_folds(folds).unwrap_err().to_string();
        assert_eq!(error(1), "expected at least 2 folds, found 1");
        assert!(error(7).starts_with("expected at most one fold per item, found 7"));
        assert!(error(4).ends_with("the largest has 3"));
        let folds = classes.stratified_folds(3).unwrap();
        let small = folds.small_classes.iter();
        let small: Vec<_> = small.map(|s| (s.name.as_str(), s.size)).collect();
        assert_eq!(small, [("a", 2), ("b", 1)]);
        assert!(Classes::new::<&str>([]).stratified_folds(2).is_err());
    }
}
