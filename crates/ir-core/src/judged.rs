//! The judged documents of one query.

use std::fmt;
use std::ops::Range;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Grade;

/// The documents that were judged for one query and their grades, in ascending byte order of the
/// ids. All ids are in one text, so that millions of judgments take little more memory than their
/// file. See [`Qrels::get`](crate::Qrels::get).
///
/// ```
/// use ir_core::JudgedDocs;
/// let judged: JudgedDocs = [("d3", 2), ("d1", 0)].into_iter().collect();
/// assert_eq!(judged.get("d3"), Some(2));
/// assert_eq!(judged.iter().collect::<Vec<_>>(), [("d1", 0), ("d3", 2)]);
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct JudgedDocs {
    /// One behind the other.
    ids: String,
    /// Where each id ends, and its grade.
    rows: Vec<(usize, Grade)>,
}

impl JudgedDocs {
    /// Room for as many documents, whose ids have as many bytes together.
    pub(crate) fn with_capacity(docs: usize, bytes: usize) -> Self {
        Self {
            ids: String::with_capacity(bytes),
            rows: Vec::with_capacity(docs),
        }
    }

    /// Adds a document behind all others.
    pub(crate) fn push(&mut self, doc: &str, grade: Grade) {
        self.ids.push_str(doc);
        self.rows.push((self.ids.len(), grade));
    }

    /// Records a grade and gives the earlier one of the same document, which it replaces.
    pub(crate) fn insert(&mut self, doc: &str, grade: Grade) -> Option<Grade> {
        // Mostly they come in order.
        let last = self.rows.len().checked_sub(1);
        if last.is_none_or(|last| self.doc(last) < doc) {
            self.push(doc, grade);
            return None;
        }
        match self.find(doc) {
            Ok(row) => Some(std::mem::replace(&mut self.rows[row].1, grade)),
            Err(row) => {
                let from = self.range(row).start;
                self.ids.insert_str(from, doc);
                self.rows.insert(row, (from, grade));
                for (end, _) in &mut self.rows[row..] {
                    *end += doc.len();
                }
                None
            }
        }
    }

    fn range(&self, row: usize) -> Range<usize> {
        let from = row.checked_sub(1).map_or(0, |before| self.rows[before].0);
        from..self.rows[row].0
    }

    fn doc(&self, row: usize) -> &str {
        &self.ids[self.range(row)]
    }

    /// Where a document is, or would be.
    fn find(&self, doc: &str) -> Result<usize, usize> {
        let (mut low, mut high) = (0, self.rows.len());
        while low < high {
            let middle = low + (high - low) / 2;
            match self.doc(middle).cmp(doc) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return Ok(middle),
            }
        }
        Err(low)
    }

    /// The grade of a document; `None` when it was not judged.
    #[must_use]
    pub fn get(&self, doc: &str) -> Option<Grade> {
        self.find(doc).ok().map(|row| self.rows[row].1)
    }

    /// The documents and their grades.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, Grade)> {
        let mut from = 0;
        self.rows.iter().map(move |&(end, grade)| {
            let doc = &self.ids[from..end];
            from = end;
            (doc, grade)
        })
    }

    /// The grades alone, in the order of the documents.
    pub fn grades(&self) -> impl ExactSizeIterator<Item = Grade> {
        self.rows.iter().map(|row| row.1)
    }

    /// How many documents were judged.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether none was.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

impl fmt::Debug for JudgedDocs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<'j> IntoIterator for &'j JudgedDocs {
    type Item = (&'j str, Grade);
    type IntoIter = Box<dyn ExactSizeIterator<Item = Self::Item> + 'j>;

    fn into_iter(self) -> Self::IntoIter {
        Box::new(self.iter())
    }
}

impl<S: AsRef<str>> FromIterator<(S, Grade)> for JudgedDocs {
    /// The last grade of a document counts.
    fn from_iter<I: IntoIterator<Item = (S, Grade)>>(judged: I) -> Self {
        let mut docs = Self::default();
        for (doc, grade) in judged {
            docs.insert(doc.as_ref(), grade);
        }
        docs
    }
}

/// As a map from document to grade.
impl Serialize for JudgedDocs {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for JudgedDocs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Map;
        impl<'de> Visitor<'de> for Map {
            type Value = JudgedDocs;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map from document to grade")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<JudgedDocs, A::Error> {
                let mut docs = JudgedDocs::default();
                while let Some((doc, grade)) = map.next_entry::<String, Grade>()? {
                    docs.insert(&doc, grade);
                }
                Ok(docs)
            }
        }
        deserializer.deserialize_map(Map)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_sorted_map(rows in prop::collection::vec(("[a-cä]{0,3}", -2..3_i64), 0..40)) {
            let mut judged = JudgedDocs::default();
            let mut map = BTreeMap::new();
            for (doc, grade) in &rows {
                prop_assert_eq!(judged.insert(doc, *grade), map.insert(doc.as_str(), *grade));
            }
            prop_assert_eq!(judged.len(), map.len());
            let listed: Vec<_> = map.iter().map(|(doc, grade)| (*doc, *grade)).collect();
            prop_assert_eq!(judged.iter().collect::<Vec<_>>(), listed);
            for doc in ["", "a", "b", "ab", "c", "ä"] {
                prop_assert_eq!(judged.get(doc), map.get(doc).copied());
            }
            let backwards: JudgedDocs = judged.iter().collect::<Vec<_>>().into_iter().rev().collect();
            prop_assert_eq!(&backwards, &judged);
            let json = serde_json::to_string(&judged).unwrap();
            prop_assert_eq!(&json, &serde_json::to_string(&map).unwrap());
            prop_assert_eq!(serde_json::from_str::<JudgedDocs>(&json).unwrap(), judged);
        }
    }
}
