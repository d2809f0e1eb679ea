use std::collections::{BTreeMap, HashMap, HashSet};

use ir_core::fusion::interleave::{round_robin, to_run};
use ir_core::{Query, Run};

use super::{DocNames, ResultList};

/// Conversion of result lists to a run. Several lists of a query are merged by
/// [round robin](round_robin): the lists take turns in their order, and a document that is in the
/// merged list already uses up the turn. Scores are `hits`, `hits` − 1, ...
///
/// Results without a document and newer documents are removed before the lists are merged, and use
/// up no turn. A document that occurs twice in a list counts once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultImport {
    /// Maximum number of results read from each list. Default: all.
    pub depth: usize,
    /// Maximum number of documents per query. Default: 1000; DataFinder uses 5.
    pub hits: usize,
    /// If `true`, documents newer than the query (attribute `year`) are excluded. Documents without
    /// a year pass, and all documents pass for a query without a year. Default: false.
    pub not_later_than_query: bool,
}

impl Default for ResultImport {
    fn default() -> Self {
        Self {
            depth: usize::MAX,
            hits: 1000,
            not_later_than_query: false,
        }
    }
}

/// Imported run, with what was left out.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct ImportedResults {
    /// Merged lists of each query.
    pub run: Run,
    /// Number of results read, at most [`ResultImport::depth`] per list.
    pub results: usize,
    /// Results without a document, in the order of the lists.
    pub unmatched: Vec<UnmatchedResult>,
    /// Number of results excluded because the document is newer than the query.
    pub newer: usize,
    /// Ids of queries without a document in the run, in the order of the queries.
    pub without_results: Vec<String>,
}

/// Result that names no document of the collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnmatchedResult {
    /// Id of the query.
    pub query: String,
    /// Name or URL as in the list, with single spaces; of several alternatives the first.
    pub result: String,
}

/// Error importing result lists.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum ImportError {
    /// The id or text of a list is not the id or text of a query. `line` is the line of its first
    /// result.
    #[error("line {line}: expected the id or the text of a query, found {query:?}")]
    UnknownQuery { line: u64, query: String },
}

impl ResultImport {
    /// Verifies that every list belongs to a query; see [`ResultImport::run`].
    ///
    /// # Errors
    /// A list is of no query.
    pub fn check(&self, lists: &[ResultList], queries: &[Query]) -> Result<(), ImportError> {
        let known = numbers(queries);
        lists
            .iter()
            .try_for_each(|list| find(&known, list).map(drop))
    }

    /// Converts lists to a run with this tag. A list belongs to the query with its id or, if there
    /// is none, its text.
    ///
    /// # Errors
    /// A list is of no query.
    pub fn run(
        &self,
        tag: &str,
        lists: &[ResultList],
        names: &DocNames,
        queries: &[Query],
    ) -> Result<ImportedResults, ImportError> {
        let known = numbers(queries);
        let (mut results, mut newer) = (0, 0);
        let mut unmatched = Vec::new();
        let mut by_query: BTreeMap<&str, Vec<Vec<usize>>> = BTreeMap::new();
        for list in lists {
            let query = &queries[find(&known, list)?];
            let limit = query
                .attributes
                .year()
                .filter(|_| self.not_later_than_query);
            let (mut docs, mut seen) = (Vec::new(), HashSet::new());
            for result in list.results.iter().take(self.depth) {
                results += 1;
                let Some(doc) = names.find(result) else {
                    // The first alternative, as a cell of a map of names.
                    let name = result.split('\t').next().unwrap_or_default();
                    let words: Vec<&str> = name.split_whitespace().collect();
                    unmatched.push(UnmatchedResult {
                        query: query.id.clone(),
                        result: words.join(" "),
                    });
                    continue;
                };
                if let (Some(limit), Some(year)) = (limit, names.year(doc))
                    && year > limit
                {
                    newer += 1;
                } else if seen.insert(doc) {
                    docs.push(doc);
                }
            }
            by_query.entry(&query.id).or_default().push(docs);
        }
        let merged = by_query.iter().map(|(query, lists)| {
            let lists: Vec<Vec<String>> = lists
                .iter()
                .map(|docs| docs.iter().map(|&n| names.id(n).to_owned()).collect())
                .collect();
            let lists: Vec<&[String]> = lists.iter().map(Vec::as_slice).collect();
            ((*query).to_owned(), round_robin(&lists, self.hits))
        });
        let merged: BTreeMap<String, _> = merged.collect();
        let run = to_run(tag, &merged, self.hits);
        let without_results = queries.iter().filter(|query| run.get(&query.id).is_none());
        let without_results = without_results.map(|query| query.id.clone()).collect();
        Ok(ImportedResults {
            run,
            results,
            unmatched,
            newer,
            without_results,
        })
    }
}

/// Queries by id and text; an id precedes a text.
fn numbers(queries: &[Query]) -> HashMap<&str, usize> {
    let mut known: HashMap<&str, usize> = HashMap::new();
    for (n, query) in queries.iter().enumerate() {
        known.entry(query.text.as_str()).or_insert(n);
    }
    for (n, query) in queries.iter().enumerate() {
        known.insert(&query.id, n);
    }
    known
}

fn find(known: &HashMap<&str, usize>, list: &ResultList) -> Result<usize, ImportError> {
    let found = known.get(list.query.as_str()).copied();
    found.ok_or_else(|| ImportError::UnknownQuery {
        line: list.line,
        query: list.query.clone(),
    })
}

#[cfg(test)]
mod tests {
    use ir_core::Document;

    use super::*;

    fn list(query: &str, results: &[&str]) -> ResultList {
        ResultList {
            query: query.to_owned(),
            search: String::new(),
            results: results.iter().map(|&it| it.to_owned()).collect(),
            line: 7,
        }
    }

    /// Documents a to f of the years 2010 to 2014; f without a year.
    fn names() -> DocNames {
        let docs = ["a", "b", "c", "d", "e"].iter().zip(2010_i64..);
        let docs = docs.map(|(id, year)| Document::new(*id).with("year", year));
        let docs: Vec<Document> = docs.chain([Document::new("f")]).collect();
        DocNames::new(&docs)
    }

    fn imported(import: ResultImport, lists: &[ResultList], year: Option<i64>) -> ImportedResults {
        let mut query = Query::new("q", "some text");
        if let Some(year) = year {
            query = query.with("year", year);
        }
        let queries = [query, Query::new("empty", "another text")];
        import.run("engine", lists, &names(), &queries).unwrap()
    }

    fn ranked(imported: &ImportedResults) -> Vec<(&str, f64)> {
        let list = imported.run.get("q").unwrap_or_default();
        list.iter().map(|it| (it.doc.as_str(), it.score)).collect()
    }

    const TOP_5: ResultImport = ResultImport {
        depth: usize::MAX,
        hits: 5,
        not_later_than_query: true,
    };

    /// The example of the published turn rule: a duplicate uses up the turn of its list.
    #[test]
    fn turns() {
        let lists = [
            list("q", &["a", "b", "c", "d"]),
            list("some text", &["c", "a", "e"]),
            list("q", &["a", "f"]),
        ];
        let found = imported(TOP_5, &lists, None);
        let expected = [("a", 5.0), ("c", 4.0), ("b", 3.0), ("f", 2.0), ("e", 1.0)];
        assert_eq!(ranked(&found), expected);
        assert_eq!(found.results, 9);
        assert_eq!(found.without_results, ["empty"]);
        assert_eq!(found.run.tag, "engine");
    }

    #[test]
    fn removed_results_use_up_no_turn() {
        let lists = [
            list("q", &["unknown", "e", "a", "A", "b"]),
            list("q", &["c", "d"]),
        ];
        let found = imported(TOP_5, &lists, Some(2012));
        assert_eq!(ranked(&found), [("a", 5.0), ("c", 4.0), ("b", 3.0)]);
        assert_eq!(found.newer, 2);
        let unmatched = UnmatchedResult {
            query: "q".to_owned(),
            result: "unknown".to_owned(),
        };
        assert_eq!(found.unmatched, [unmatched]);
        // The filter of a query without a year, and without the filter.
        let all = [("e", 5.0), ("c", 4.0), ("a", 3.0), ("d", 2.0), ("b", 1.0)];
        assert_eq!(ranked(&imported(TOP_5, &lists, None)), all);
        let unfiltered = ResultImport {
            not_later_than_query: false,
            ..TOP_5
        };
        assert_eq!(ranked(&imported(unfiltered, &lists, Some(2000))), all);
        // A document without a year passes.
        let found = imported(TOP_5, &[list("q", &["a", "f"])], Some(2000));
        assert_eq!(ranked(&found), [("f", 5.0)]);
    }

    /// An unmatched result is the key of a map of names, also if it has alternatives.
    #[test]
    fn unmatched_results_are_names_of_a_map() {
        let lists = [list("q", &["http://x.org/1\tsome name", "two\n lines"])];
        let found = imported(TOP_5, &lists, None);
        let results: Vec<&str> = found
            .unmatched
            .iter()
            .map(|it| it.result.as_str())
            .collect();
        assert_eq!(results, ["http://x.org/1", "two lines"]);
        let mut names = names();
        let map = format!("{}\ta\n{}\tb\n", results[0], results[1]);
        names.read_map(map.as_bytes(), "map").unwrap();
        let query = Query::new("q", "some text");
        let found = TOP_5.run("engine", &lists, &names, &[query]).unwrap();
        assert_eq!(ranked(&found), [("a", 5.0), ("b", 4.0)]);
    }

    #[test]
    fn depth_counts_results_of_a_list() {
        let import = ResultImport { depth: 2, ..TOP_5 };
        let lists = [list("q", &["unknown", "a", "b"]), list("q", &["c"])];
        let found = imported(import, &lists, None);
        assert_eq!(ranked(&found), [("a", 5.0), ("c", 4.0)]);
        assert_eq!(found.results, 3);
    }

    #[test]
    fn unknown_queries() {
        let error = TOP_5
            .run("t", &[list("x", &[])], &names(), &[])
            .unwrap_err();
        let expected = "line 7: expected the id or the text of a query, found \"x\"";
        assert_eq!(error.to_string(), expected);
    }
}
