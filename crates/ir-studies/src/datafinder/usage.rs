use std::collections::BTreeMap;

/// Number of texts that use a dataset, by the year of the text.
///
/// A count of all years leaks information from after the query; [`UsageCounts::before`] counts what
/// was known at the time of the query.
///
/// ```
/// use ir_studies::datafinder::UsageCounts;
/// let mut uses = UsageCounts::default();
/// for year in [Some(2015), Some(2017), Some(2019), None] {
///     uses.add("ImageNet", year);
/// }
/// assert_eq!((uses.total("ImageNet"), uses.dated("ImageNet")), (4, 3));
/// // Up to the year before the query.
/// assert_eq!(uses.before("ImageNet", 2017), 1);
/// assert_eq!(uses.before("COCO", 2017), 0);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UsageCounts {
    /// Number of texts by dataset and year.
    texts: BTreeMap<String, BTreeMap<Option<i64>, u64>>,
}

impl UsageCounts {
    /// Counts a text that uses a dataset. Texts without a year are in [`UsageCounts::total`] only.
    pub fn add(&mut self, dataset: &str, year: Option<i64>) {
        let by_year = match self.texts.get_mut(dataset) {
            Some(by_year) => by_year,
            None => self.texts.entry(dataset.to_owned()).or_default(),
        };
        *by_year.entry(year).or_default() += 1;
    }

    /// Returns the number of texts.
    #[must_use]
    pub fn total(&self, dataset: &str) -> u64 {
        self.sum(dataset, |_| true)
    }

    /// Returns the number of texts with a year.
    #[must_use]
    pub fn dated(&self, dataset: &str) -> u64 {
        self.sum(dataset, |year| year.is_some())
    }

    /// Returns the number of texts of the years before `year`.
    #[must_use]
    pub fn before(&self, dataset: &str, year: i64) -> u64 {
        self.sum(dataset, |of_text| of_text.is_some_and(|it| it < year))
    }

    fn sum(&self, dataset: &str, counts: impl Fn(Option<i64>) -> bool) -> u64 {
        let by_year = self.texts.get(dataset).into_iter().flatten();
        let counted = by_year.filter(|(year, _)| counts(**year));
        counted.map(|(_, count)| count).sum()
    }
}
