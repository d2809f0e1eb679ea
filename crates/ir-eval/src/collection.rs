//! Statistics of a test collection: lengths, vocabulary, judgments, years.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use ir_core::{
    Analyzer, AttributeValue, Attributes, Corpus, CorpusError, Document, Grade, Qrels, Query,
};
use serde::Serialize;

/// Counts by integer value: documents by year, queries by number of relevant documents.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Histogram(
    /// Count of each value that occurs.
    pub BTreeMap<i64, u64>,
);

impl Histogram {
    /// Counts one more item with this value.
    pub fn add(&mut self, value: i64) {
        *self.0.entry(value).or_default() += 1;
    }

    /// Returns the number of items.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// Returns summary statistics of the items; [`None`] without items.
    ///
    /// ```
    /// use ir_eval::Histogram;
    /// let lengths: Histogram = [1, 2, 2, 9].into_iter().collect();
    /// let summary = lengths.summary().unwrap();
    /// assert_eq!((summary.min, summary.median, summary.mean, summary.max), (1, 2.0, 3.5, 9));
    /// assert_eq!((summary.items, summary.sum), (4, 14));
    /// ```
    #[must_use]
    pub fn summary(&self) -> Option<HistogramSummary> {
        let items = self.total();
        if items == 0 {
            return None;
        }
        let (min, max) = (*self.0.keys().next()?, *self.0.keys().next_back()?);
        let sum = self.0.iter();
        let sum: i128 = sum
            .map(|(&value, &count)| i128::from(value) * i128::from(count))
            .sum();
        let (lower, upper) = (self.nth((items - 1) / 2), self.nth(items / 2));
        Some(HistogramSummary {
            items,
            sum: sum.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64,
            min,
            median: (lower as f64 + upper as f64) / 2.0,
            mean: sum as f64 / items as f64,
            max,
        })
    }

    /// Value of an item in ascending order, from 0.
    fn nth(&self, n: u64) -> i64 {
        let mut before = 0;
        let found = self.0.iter().find(|(_, count)| {
            before += **count;
            before > n
        });
        found.map_or(0, |(value, _)| *value)
    }

    /// Returns counts by intervals of doubling length: `0`, `1`, `2-3`, `4-7`, ... Negative values
    /// are left out.
    #[must_use]
    pub fn by_doubling(&self) -> Vec<(String, u64)> {
        let mut bins: Vec<(String, u64)> = Vec::new();
        for (&value, &count) in self.0.range(0..) {
            let bin = (i64::BITS - value.leading_zeros()) as usize;
            while bins.len() <= bin {
                let low = 1_i64 << bins.len().saturating_sub(1);
                bins.push((
                    match bins.len() {
                        0 => "0".to_owned(),
                        1 => "1".to_owned(),
                        _ => format!("{low}-{}", 2 * (low - 1) + 1),
                    },
                    0,
                ));
            }
            bins[bin].1 += count;
        }
        bins
    }

    /// Returns counts by intervals of equal length, at most `limit`: `1990..1994`, `1995..1999` and
    /// so on. Lengths are 1, 2 or 5 times a power of ten; intervals start at multiples of their
    /// length. Intervals of one value are labeled with it.
    ///
    /// ```
    /// use ir_eval::Histogram;
    /// let years: Histogram = [1991, 1998, 1999, 2012].into_iter().collect();
    /// let bins = [("1990..1999", 3), ("2000..2009", 0), ("2010..2019", 1)];
    /// assert_eq!(years.by_interval(4), bins.map(|(label, count)| (label.to_owned(), count)));
    /// ```
    #[must_use]
    pub fn by_interval(&self, limit: usize) -> Vec<(String, u64)> {
        let (Some(&first), Some(&last)) = (self.0.keys().next(), self.0.keys().next_back()) else {
            return Vec::new();
        };
        let (first, last) = (i128::from(first), i128::from(last));
        // Intervals around zero need two of any length.
        let limit = limit.max(2) as i128;
        let powers = (0..).map(|power| 10_i128.pow(power));
        let mut lengths = powers.flat_map(|power| [power, 2 * power, 5 * power]);
        let bins = |length: i128| last.div_euclid(length) - first.div_euclid(length) + 1;
        let length = lengths.find(|length| bins(*length) <= limit).unwrap_or(1);
        let start = first.div_euclid(length);
        let mut counts = vec![0; bins(length) as usize];
        for (&value, &count) in &self.0 {
            counts[(i128::from(value).div_euclid(length) - start) as usize] += count;
        }
        let label = |low: i128| match length {
            1 => low.to_string(),
            _ => format!("{low}..{}", low + length - 1),
        };
        let counts = (start..).zip(counts);
        counts
            .map(|(bin, count)| (label(bin * length), count))
            .collect()
    }

    /// Returns counts by value, with 0 for values that do not occur between others. At most
    /// `limit` values, beginning with the first; the counts of the rest are added to a last one.
    #[must_use]
    pub fn by_value(&self, limit: usize) -> Vec<(String, u64)> {
        let (Some(&first), Some(&last)) = (self.0.keys().next(), self.0.keys().next_back()) else {
            return Vec::new();
        };
        let limit = i64::try_from(limit.max(1)).unwrap_or(i64::MAX);
        let end = last.min(first.saturating_add(limit - 1));
        let mut bins: Vec<(String, u64)> = (first..=end)
            .map(|value| {
                (
                    value.to_string(),
                    self.0.get(&value).copied().unwrap_or_default(),
                )
            })
            .collect();
        let rest: u64 = self.0.range(end.saturating_add(1)..).map(|(_, n)| n).sum();
        if rest > 0 {
            bins.push((format!(">{end}"), rest));
        }
        bins
    }
}

impl FromIterator<i64> for Histogram {
    fn from_iter<I: IntoIterator<Item = i64>>(values: I) -> Self {
        let mut histogram = Self::default();
        values.into_iter().for_each(|value| histogram.add(value));
        histogram
    }
}

/// Summary statistics of a [`Histogram`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct HistogramSummary {
    /// Number of values, repeated ones included.
    pub items: u64,
    /// Sum of the values.
    pub sum: i64,
    /// Minimum of the values.
    pub min: i64,
    /// Median; the mean of the two middle values if their number is even.
    pub median: f64,
    /// Arithmetic mean of the values.
    pub mean: f64,
    /// Maximum of the values.
    pub max: i64,
}

/// Documents by the values of an attribute: records by repository.
///
/// ```
/// use ir_core::{Attributes, AttributeValue};
/// use ir_eval::AttributeCounts;
/// let mut counts = AttributeCounts::new("repository");
/// for repository in ["geo", "pdb", "geo"] {
///     counts.add(&[("repository", repository)].into_iter().collect());
/// }
/// counts.add(&Attributes::new());
/// assert_eq!(counts.descending(), [("geo", 2), ("pdb", 1)]);
/// assert_eq!(counts.without, 1);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct AttributeCounts {
    /// Name of the attribute.
    pub attribute: String,
    /// Number of documents with each value: texts, and numbers and truth values as text. A
    /// document with a list counts once for each distinct value of the list.
    pub values: BTreeMap<String, u64>,
    /// Number of documents without a value. Maps and empty lists have none.
    pub without: u64,
}

impl AttributeCounts {
    /// Creates counts without documents.
    #[must_use]
    pub fn new(attribute: impl Into<String>) -> Self {
        Self {
            attribute: attribute.into(),
            ..Self::default()
        }
    }

    /// Counts a document by its attributes.
    pub fn add(&mut self, attributes: &Attributes) {
        let mut values = BTreeSet::new();
        if let Some(value) = attributes.get(&self.attribute) {
            collect_values(value, &mut values);
        }
        self.without += u64::from(values.is_empty());
        for value in values {
            *self.values.entry(value).or_default() += 1;
        }
    }

    /// Returns values and counts in descending order of the count; equal counts in byte order of
    /// the value.
    #[must_use]
    pub fn descending(&self) -> Vec<(&str, u64)> {
        let values = self.values.iter();
        let mut values: Vec<_> = values
            .map(|(value, &count)| (value.as_str(), count))
            .collect();
        values.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        values
    }
}

/// Adds the texts of a value and of the members of a list.
fn collect_values(value: &AttributeValue, values: &mut BTreeSet<String>) {
    match value {
        AttributeValue::Text(text) => {
            values.insert(text.clone());
        }
        AttributeValue::Int(number) => {
            values.insert(number.to_string());
        }
        AttributeValue::Float(number) => {
            values.insert(number.to_string());
        }
        AttributeValue::Bool(is) => {
            values.insert(is.to_string());
        }
        AttributeValue::List(members) => {
            members
                .iter()
                .for_each(|value| collect_values(value, values));
        }
        AttributeValue::Map(_) => {}
    }
}

/// Statistics of the documents of a collection.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CorpusStatistics {
    /// Number of documents, those with a repeated id included.
    pub documents: u64,
    /// Number of distinct ids.
    pub distinct_ids: u64,
    /// Number of documents with a title.
    pub with_title: u64,
    /// Number of distinct terms of titles and texts.
    pub vocabulary: u64,
    /// Documents by length of title and text in tokens.
    #[serde(serialize_with = "summarized")]
    pub lengths: Histogram,
    /// Documents by the attribute `year`.
    pub years: Histogram,
    /// Documents by the values of other attributes
    /// ([`CorpusStatistics::with_attributes`]).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_attribute: Vec<AttributeCounts>,
    /// Year by id, of the first document with the id.
    #[serde(skip)]
    year_by_id: HashMap<String, Option<i64>>,
}

/// Statistics of judged queries.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct JudgmentStatistics {
    /// Number of queries with judgments.
    pub queries: u64,
    /// Number of judged pairs of query and document.
    pub judgments: u64,
    /// Number of distinct judged documents.
    pub judged_documents: u64,
    /// Number of judgments of documents that are not in the collection.
    pub missing_documents: u64,
    /// Queries by length in tokens.
    #[serde(serialize_with = "summarized")]
    pub query_lengths: Histogram,
    /// Queries by number of judged documents.
    pub judged_per_query: Histogram,
    /// Queries by number of relevant documents.
    pub relevant_per_query: Histogram,
    /// Judgments by grade, those below the level of relevance included.
    pub grades: Histogram,
    /// Queries by the attribute `year`.
    pub query_years: Histogram,
    /// Relevant documents of a query by their age: year of the query minus year of the document.
    /// Negative for documents that are newer than the query.
    pub relevant_ages: Histogram,
    /// Relevant documents by the number of queries to which they are relevant.
    pub queries_per_document: Histogram,
    /// Documents that are relevant to the most queries, with these numbers, most first; equal
    /// numbers in order of the id. At most 10.
    pub most_relevant: Vec<(String, u64)>,
}

/// Number of documents in [`JudgmentStatistics::most_relevant`].
const MOST_RELEVANT: usize = 10;

/// Serializes summary statistics of a histogram with many values.
fn summarized<S: serde::Serializer>(histogram: &Histogram, to: S) -> Result<S::Ok, S::Error> {
    histogram.summary().serialize(to)
}

fn length(analyzer: &dyn Analyzer, text: &str, emit: &mut dyn FnMut(&str)) -> i64 {
    let mut tokens = 0;
    analyzer.analyze(text, &mut |token| {
        tokens += 1;
        emit(token.term);
    });
    tokens
}

impl CorpusStatistics {
    /// Reads all documents of a corpus.
    ///
    /// ```
    /// use ir_core::{Analyzer, Document, Token};
    /// use ir_eval::CorpusStatistics;
    ///
    /// struct Words;
    /// impl Analyzer for Words {
    ///     fn analyze(&self, text: &str, emit: &mut dyn FnMut(Token<'_>)) {
    ///         for (position, term) in (0..).zip(text.split_whitespace()) {
    ///             emit(Token { term, start: 0, end: 0, position });
    ///         }
    ///     }
    /// }
    /// let corpus = vec![Document::new("a").with_title("tea").with_text("green tea")];
    /// let statistics = CorpusStatistics::new(&corpus, &Words)?;
    /// assert_eq!((statistics.documents, statistics.vocabulary), (1, 2));
    /// assert_eq!(statistics.lengths.0[&3], 1);
    /// # Ok::<(), ir_core::CorpusError>(())
    /// ```
    ///
    /// # Errors
    /// The corpus cannot be read.
    pub fn new(corpus: &dyn Corpus, analyzer: &dyn Analyzer) -> Result<Self, CorpusError> {
        Self::with_attributes(corpus, analyzer, &[])
    }

    /// [`CorpusStatistics::new`], with the number of documents by the values of attributes.
    ///
    /// # Errors
    /// The corpus cannot be read.
    pub fn with_attributes(
        corpus: &dyn Corpus,
        analyzer: &dyn Analyzer,
        attributes: &[String],
    ) -> Result<Self, CorpusError> {
        let mut statistics = Self {
            by_attribute: attributes.iter().map(AttributeCounts::new).collect(),
            ..Self::default()
        };
        let mut terms: HashSet<String> = HashSet::new();
        let mut reader = corpus.open()?;
        let mut doc = Document::default();
        while reader.read(&mut doc)? {
            statistics.documents += 1;
            statistics.with_title += u64::from(!doc.title.is_empty());
            let mut emit = |term: &str| {
                if !terms.contains(term) {
                    terms.insert(term.to_owned());
                }
            };
            let tokens =
                length(analyzer, &doc.title, &mut emit) + length(analyzer, &doc.text, &mut emit);
            statistics.lengths.add(tokens);
            let year = doc.attributes.year();
            year.into_iter().for_each(|year| statistics.years.add(year));
            for counts in &mut statistics.by_attribute {
                counts.add(&doc.attributes);
            }
            if !statistics.year_by_id.contains_key(&doc.id) {
                statistics.year_by_id.insert(doc.id.clone(), year);
            }
        }
        statistics.vocabulary = terms.len() as u64;
        statistics.distinct_ids = statistics.year_by_id.len() as u64;
        Ok(statistics)
    }

    /// Computes the statistics of judged queries. A document is relevant from grade `level`.
    pub fn judgments(
        &self,
        queries: &[Query],
        qrels: &Qrels,
        level: Grade,
        analyzer: &dyn Analyzer,
    ) -> JudgmentStatistics {
        let mut statistics = JudgmentStatistics::default();
        let mut year_by_query = HashMap::new();
        for query in queries {
            let tokens = length(analyzer, &query.text, &mut |_| ());
            statistics.query_lengths.add(tokens);
            if let Some(year) = query.attributes.year() {
                statistics.query_years.add(year);
                year_by_query.insert(query.id.as_str(), year);
            }
        }
        let mut judged: HashSet<&str> = HashSet::new();
        let mut relevant: BTreeMap<&str, u64> = BTreeMap::new();
        for (query, documents) in qrels.iter() {
            statistics.queries += 1;
            let mut of_query = (0, 0);
            for (doc, grade) in documents.iter() {
                judged.insert(doc);
                of_query.0 += 1;
                statistics.grades.add(grade);
                let year = self.year_by_id.get(doc);
                statistics.missing_documents += u64::from(year.is_none());
                if grade < level {
                    continue;
                }
                of_query.1 += 1;
                *relevant.entry(doc).or_default() += 1;
                if let (Some(Some(year)), Some(now)) = (year, year_by_query.get(query)) {
                    statistics.relevant_ages.add(now.saturating_sub(*year));
                }
            }
            statistics.judged_per_query.add(of_query.0);
            statistics.relevant_per_query.add(of_query.1);
        }
        statistics.judgments = statistics.grades.total();
        statistics.judged_documents = judged.len() as u64;
        for &count in relevant.values() {
            statistics.queries_per_document.add(count as i64);
        }
        let mut most: Vec<(String, u64)> = relevant
            .into_iter()
            .map(|(doc, count)| (doc.to_owned(), count))
            .collect();
        most.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        most.truncate(MOST_RELEVANT);
        statistics.most_relevant = most;
        statistics
    }
}

#[cfg(test)]
mod tests {
    use ir_core::Token;

    use super::*;

    struct Words;

    impl Analyzer for Words {
        fn analyze(&self, text: &str, emit: &mut dyn FnMut(Token<'_>)) {
            for (position, term) in (0..).zip(text.split_whitespace()) {
                let (start, end) = (0, 0);
                emit(Token {
                    term,
                    start,
                    end,
                    position,
                });
            }
        }
    }

    #[test]
    fn summaries_and_bins() {
        let histogram: Histogram = [3, 0, 1, 5, 8, 8].into_iter().collect();
        let summary = histogram.summary().unwrap();
        assert_eq!(
            (summary.median, summary.mean, summary.max),
            (4.0, 25.0 / 6.0, 8)
        );
        let bins = |bins: Vec<(String, u64)>| {
            let bins = bins.into_iter().map(|(label, n)| format!("{label}:{n}"));
            bins.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(bins(histogram.by_doubling()), "0:1 1:1 2-3:1 4-7:1 8-15:2");
        assert_eq!(bins(histogram.by_value(4)), "0:1 1:1 2:0 3:1 >3:3");
        assert_eq!(
            bins(histogram.by_value(100)),
            "0:1 1:1 2:0 3:1 4:0 5:1 6:0 7:0 8:2"
        );
        assert_eq!(
            bins(histogram.by_interval(9)),
            "0:1 1:1 2:0 3:1 4:0 5:1 6:0 7:0 8:2"
        );
        assert_eq!(
            bins(histogram.by_interval(8)),
            "0..1:2 2..3:1 4..5:1 6..7:0 8..9:2"
        );
        assert_eq!(bins(histogram.by_interval(3)), "0..4:3 5..9:3");
        let ages: Histogram = [-7, -1, 0, 12].into_iter().collect();
        assert_eq!(
            bins(ages.by_interval(5)),
            "-10..-6:1 -5..-1:1 0..4:1 5..9:0 10..14:1"
        );
        assert!(Histogram::default().by_interval(3).is_empty());
        assert_eq!(Histogram::default().summary(), None);
        assert!(Histogram::default().by_value(3).is_empty());
        let huge: Histogram = [i64::MIN, i64::MAX].into_iter().collect();
        assert_eq!(huge.by_value(2).len(), 3);
        assert_eq!(huge.by_doubling().last().unwrap().1, 1);
        assert_eq!(huge.by_interval(2).iter().map(|bin| bin.1).sum::<u64>(), 2);
    }

    #[test]
    fn documents_and_judgments() {
        let corpus = vec![
            Document::new("a").with_title("tea").with("year", 2010_i64),
            Document::new("a")
                .with_text("black tea")
                .with("year", 2011_i64),
            Document::new("b").with_text("milk"),
        ];
        let statistics = CorpusStatistics::new(&corpus, &Words).unwrap();
        assert_eq!((statistics.documents, statistics.distinct_ids), (3, 2));
        assert_eq!((statistics.with_title, statistics.vocabulary), (1, 3));
        assert_eq!(statistics.years.total(), 2);

        let by = ["year".to_owned(), "kind".to_owned()];
        let by = CorpusStatistics::with_attributes(&corpus, &Words, &by).unwrap();
        let [years, kinds] = &by.by_attribute[..] else {
            panic!("{by:?}");
        };
        assert_eq!(
            (years.descending(), years.without),
            (vec![("2010", 1), ("2011", 1)], 1)
        );
        assert_eq!((kinds.values.len(), kinds.without), (0, 3));

        let mut qrels = Qrels::new();
        for (query, doc, grade) in [("1", "a", 2), ("1", "b", 0), ("2", "a", 1), ("2", "x", 1)] {
            qrels.insert(query, doc, grade);
        }
        let queries = [
            Query::new("1", "green tea").with("year", 2012_i64),
            Query::new("2", "coffee").with("year", 2009_i64),
        ];
        let judged = statistics.judgments(&queries, &qrels, 1, &Words);
        assert_eq!((judged.queries, judged.judgments), (2, 4));
        assert_eq!((judged.judged_documents, judged.missing_documents), (3, 1));
        assert_eq!(judged.relevant_per_query, [1, 2].into_iter().collect());
        assert_eq!(judged.grades, [0, 1, 1, 2].into_iter().collect());
        // The first record of a counts.
        assert_eq!(judged.relevant_ages, [2, -1].into_iter().collect());
        assert_eq!(judged.most_relevant[0], ("a".to_owned(), 2));
        assert_eq!(judged.queries_per_document, [2, 1].into_iter().collect());
    }

    /// Members of a list count once, and maps have no value.
    #[test]
    fn values_of_every_type() {
        let mut counts = AttributeCounts::new("a");
        let nested: Attributes = serde_json::from_str(r#"{"a": {"b": 1}}"#).unwrap();
        for attributes in [
            [("a", AttributeValue::from(vec!["x", "y", "x"]))]
                .into_iter()
                .collect(),
            [("a", AttributeValue::from("x"))].into_iter().collect(),
            [("a", AttributeValue::from(1.5))].into_iter().collect(),
            [("a", AttributeValue::from(true))].into_iter().collect(),
            [("a", AttributeValue::List(Vec::new()))]
                .into_iter()
                .collect(),
            nested,
        ] {
            counts.add(&attributes);
        }
        assert_eq!(
            counts.descending(),
            [("x", 2), ("1.5", 1), ("true", 1), ("y", 1)]
        );
        assert_eq!(counts.without, 2);
    }
}
