//! Points of grids, made one at a time, and their maximum number.

use toml::{Table, Value};

use crate::entry::SystemEntry;
use crate::error::SpecError;
use crate::source::SourceMap;

/// Maximum number of points of the grids of a file.
pub const MAX_POINTS: u128 = 100_000;

impl SystemEntry {
    /// Returns the parameters of every point of the grid, in order: the last parameter varies
    /// fastest. A system without a grid has one point. Points are made one at a time.
    ///
    /// ```
    /// use ir_system::SystemEntry;
    /// let system = SystemEntry::new("BM25", "bm25").with_grid("k1", [0.9, 1.2]);
    /// assert_eq!(system.points().count(), 2);
    /// ```
    pub fn points(&self) -> impl Iterator<Item = Table> + '_ {
        let counts = self.grid.values().map(|values| list_of(values).len());
        grid_positions(counts.collect()).map(move |at| {
            let values = self.grid.iter().zip(at);
            let values = values.filter_map(|((key, values), at)| {
                let value = list_of(values).get(at)?;
                Some((key.clone(), value.clone()))
            });
            let mut point = self.parameters.clone();
            point.extend(values);
            point
        })
    }

    /// Returns the number of points of the grid, at most `u128::MAX`.
    ///
    /// ```
    /// use ir_system::SystemEntry;
    /// let system = SystemEntry::new("BM25", "bm25").with_grid("k1", [0.9, 1.2]);
    /// assert_eq!(system.with_grid("b", [0.2, 0.4, 0.6]).point_count(), 6);
    /// ```
    #[must_use]
    pub fn point_count(&self) -> u128 {
        let counts = || {
            self.grid
                .values()
                .map(|values| list_of(values).len() as u128)
        };
        if counts().any(|count| count == 0) {
            return 0;
        }
        counts().fold(1, u128::saturating_mul)
    }

    /// Returns points that have every value of the grid, as many as the longest list of values.
    /// Values of different parameters are not combined otherwise.
    ///
    /// ```
    /// use ir_system::SystemEntry;
    /// let system = SystemEntry::new("BM25", "bm25").with_grid("k1", [0.9, 1.2]);
    /// let system = system.with_grid("b", [0.2, 0.4, 0.6]);
    /// assert_eq!(system.points_of_values().count(), 3);
    /// ```
    pub fn points_of_values(&self) -> impl Iterator<Item = Table> + '_ {
        let counts = self.grid.values().map(|values| list_of(values).len());
        (0..counts.max().unwrap_or(1)).map(|n| {
            let values = self.grid.iter().filter_map(|(key, values)| {
                let values = list_of(values);
                Some((key, values.get(n).or(values.last())?))
            });
            let mut point = self.parameters.clone();
            point.extend(values.map(|(key, value)| (key.clone(), value.clone())));
            point
        })
    }
}

/// Returns the positions of the values of every point of a grid with these numbers of values, in
/// order: the last parameter varies fastest. Points are made one at a time.
///
/// ```
/// let points: Vec<_> = ir_system::grid_positions(vec![2, 2]).collect();
/// assert_eq!(points, [[0, 0], [0, 1], [1, 0], [1, 1]]);
/// ```
pub fn grid_positions(counts: Vec<usize>) -> impl Iterator<Item = Vec<usize>> {
    // `None` after the last point.
    let mut next = (!counts.contains(&0)).then(|| vec![0_usize; counts.len()]);
    std::iter::from_fn(move || {
        let at = next.as_mut()?;
        let point = at.clone();
        // The last position is the last digit.
        let mut digits = at.iter_mut().zip(&counts).rev();
        let is_last = digits.all(|(at, count)| {
            *at = (*at + 1) % count;
            *at == 0
        });
        if is_last {
            next = None;
        }
        Some(point)
    })
}

/// Values of a parameter.
fn list_of(values: &Value) -> &[Value] {
    values.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Checks that the grids of a file have at most [`MAX_POINTS`] points together.
///
/// # Errors
/// Returns [`SpecError::Key`] with the number of points, for the grid that exceeds it.
pub fn check_points(systems: &[SystemEntry], source: &SourceMap) -> Result<(), SpecError> {
    let mut total: u128 = 0;
    for (n, entry) in systems
        .iter()
        .enumerate()
        .filter(|it| !it.1.grid.is_empty())
    {
        let count = entry.point_count();
        total = total.saturating_add(count);
        if total > MAX_POINTS {
            let others = match total - count {
                0 => String::new(),
                others => format!(", and {others} in the grids before it"),
            };
            let message =
                format!("expected at most {MAX_POINTS} points in all grids, found {count}{others}");
            return Err(source.error(&format!("systems[{n}].grid"), message));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entry(counts: &[usize]) -> SystemEntry {
        let mut entry = SystemEntry::new("s", "bm25").with("preset", "lucene");
        for (n, count) in counts.iter().enumerate() {
            entry = entry.with_grid(&format!("p{n}"), 0..*count as i64);
        }
        entry
    }

    proptest! {
        #[test]
        fn points_are_the_product_of_the_values(counts in prop::collection::vec(0_usize..4, 0..4)) {
            let entry = entry(&counts);
            // The product, made as a whole.
            let mut expected = vec![entry.parameters.clone()];
            for (key, values) in &entry.grid {
                expected = expected
                    .iter()
                    .flat_map(|point| {
                        let with = |value: &Value| {
                            let mut point = point.clone();
                            point.insert(key.clone(), value.clone());
                            point
                        };
                        list_of(values).iter().map(with).collect::<Vec<_>>()
                    })
                    .collect();
            }
            prop_assert_eq!(entry.points().collect::<Vec<_>>(), expected);
            prop_assert_eq!(entry.point_count(), counts.iter().product::<usize>() as u128);
            let covering: Vec<Table> = entry.points_of_values().collect();
            prop_assert_eq!(covering.len(), counts.iter().copied().max().unwrap_or(1));
            for (key, values) in &entry.grid {
                let has = |value: &Value| covering.iter().any(|it| it.get(key) == Some(value));
                prop_assert!(list_of(values).iter().all(has));
            }
        }
    }

    #[test]
    fn grids_are_bounded() {
        let error = |systems: &[SystemEntry]| {
            check_points(systems, &SourceMap::default())
                .unwrap_err()
                .to_string()
        };
        assert!(check_points(&[entry(&[100, 1000])], &SourceMap::default()).is_ok());
        assert_eq!(
            error(&[entry(&[]), entry(&[1000; 40])]),
            format!(
                "systems[1].grid: expected at most 100000 points in all grids, found {}",
                u128::MAX
            )
        );
        assert_eq!(
            error(&[entry(&[10, 1000]), entry(&[100_000])]),
            "systems[1].grid: expected at most 100000 points in all grids, found 100000, and 10000 \
             in the grids before it"
        );
        // The first points of a grid of any size are made at once.
        assert_eq!(entry(&[1000; 40]).points().take(3).count(), 3);
    }
}
