use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Grade;

/// Judged documents of one query and their grades, in ascending byte order of the ids.
///
/// Ids inserted in ascending order are packed into one string, so that millions of judgments need
/// little more memory than their file; otherwise a tree is used. See
/// [`Qrels::get`](crate::Qrels::get).
///
/// ```
/// use ir_core::JudgedDocs;
/// let judged: JudgedDocs = [("d3", 2), ("d1", 0)].into_iter().collect();
/// assert_eq!(judged.get("d3"), Some(2));
/// assert_eq!(judged.iter().collect::<Vec<_>>(), [("d1", 0), ("d3", 2)]);
/// ```
#[derive(Clone)]
pub struct JudgedDocs(Storage);

#[derive(Clone)]
enum Storage {
    Packed(PackedDocs),
    Tree(BTreeMap<String, Grade>),
}

/// Documents in ascending order of their ids.
#[derive(Clone, Default)]
struct PackedDocs {
    /// Concatenated ids, without separators.
    ids: String,
    /// End offset of each id, and its grade.
    rows: Vec<(usize, Grade)>,
}

impl PackedDocs {
    fn doc(&self, row: usize) -> &str {
        let from = row.checked_sub(1).map_or(0, |before| self.rows[before].0);
        &self.ids[from..self.rows[row].0]
    }

    /// Returns the row of a document, or its insertion point.
    fn find(&self, doc: &str) -> Result<usize, usize> {
        let (mut low, mut high) = (0, self.rows.len());
        while low < high {
            let middle = low + (high - low) / 2;
            match self.doc(middle).cmp(doc) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => return Ok(middle),
            }
        }
        Err(low)
    }

    fn iter(&self) -> impl ExactSizeIterator<Item = (&str, Grade)> {
        let mut from = 0;
        self.rows.iter().map(move |&(end, grade)| {
            let doc = &self.ids[from..end];
            from = end;
            (doc, grade)
        })
    }

    fn push(&mut self, doc: &str, grade: Grade) {
        self.ids.push_str(doc);
        self.rows.push((self.ids.len(), grade));
    }
}

impl JudgedDocs {
    /// Builds from distinct documents in ascending order; `bytes` is the total length of the ids.
    pub(crate) fn ascending<'d>(
        docs: impl ExactSizeIterator<Item = (&'d str, Grade)>,
        bytes: usize,
    ) -> Self {
        let mut packed = PackedDocs {
            ids: String::with_capacity(bytes),
            rows: Vec::with_capacity(docs.len()),
        };
        docs.for_each(|(doc, grade)| packed.push(doc, grade));
        Self(Storage::Packed(packed))
    }

    /// Inserts a grade and returns the grade that it replaces.
    pub(crate) fn insert(&mut self, doc: &str, grade: Grade) -> Option<Grade> {
        match &mut self.0 {
            Storage::Tree(tree) => tree.insert(doc.to_owned(), grade),
            Storage::Packed(packed) => match packed.find(doc) {
                Ok(row) => Some(std::mem::replace(&mut packed.rows[row].1, grade)),
                Err(row) if row == packed.rows.len() => {
                    packed.push(doc, grade);
                    None
                }
                Err(_) => {
                    let docs = packed.iter().map(|(doc, grade)| (doc.to_owned(), grade));
                    let mut tree: BTreeMap<String, Grade> = docs.collect();
                    let earlier = tree.insert(doc.to_owned(), grade);
                    self.0 = Storage::Tree(tree);
                    earlier
                }
            },
        }
    }

    /// Returns the grade of a document; `None` if unjudged.
    #[must_use]
    pub fn get(&self, doc: &str) -> Option<Grade> {
        match &self.0 {
            Storage::Packed(packed) => packed.find(doc).ok().map(|row| packed.rows[row].1),
            Storage::Tree(tree) => tree.get(doc).copied(),
        }
    }

    /// Iterates over documents and grades.
    #[must_use]
    pub fn iter(&self) -> Box<dyn ExactSizeIterator<Item = (&str, Grade)> + '_> {
        match &self.0 {
            Storage::Packed(packed) => Box::new(packed.iter()),
            Storage::Tree(tree) => Box::new(tree.iter().map(|(doc, &grade)| (doc.as_str(), grade))),
        }
    }

    /// Iterates over the grades, in the order of the documents.
    pub fn grades(&self) -> impl ExactSizeIterator<Item = Grade> {
        self.iter().map(|judged| judged.1)
    }

    /// Returns the number of judged documents.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.0 {
            Storage::Packed(packed) => packed.rows.len(),
            Storage::Tree(tree) => tree.len(),
        }
    }

    /// Returns whether no document is judged.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Default for JudgedDocs {
    fn default() -> Self {
        Self(Storage::Packed(PackedDocs::default()))
    }
}

impl PartialEq for JudgedDocs {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl Eq for JudgedDocs {}

impl fmt::Debug for JudgedDocs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<'j> IntoIterator for &'j JudgedDocs {
    type Item = (&'j str, Grade);
    type IntoIter = Box<dyn ExactSizeIterator<Item = Self::Item> + 'j>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<S: AsRef<str>> FromIterator<(S, Grade)> for JudgedDocs {
    /// Keeps the last grade of a document.
    fn from_iter<I: IntoIterator<Item = (S, Grade)>>(judged: I) -> Self {
        let mut docs = Self::default();
        for (doc, grade) in judged {
            docs.insert(doc.as_ref(), grade);
        }
        docs
    }
}

/// Serialized as a map from document to grade.
impl Serialize for JudgedDocs {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for JudgedDocs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let docs = BTreeMap::<String, Grade>::deserialize(deserializer)?;
        Ok(docs.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn behaves_like_a_sorted_map(rows in prop::collection::vec(("[a-cä]{0,3}", -2..3_i64), 0..40)) {
            let mut judged = JudgedDocs::default();
            let mut map = BTreeMap::new();
            for (doc, grade) in &rows {
                prop_assert_eq!(judged.insert(doc, *grade), map.insert(doc.as_str(), *grade));
            }
            prop_assert_eq!(judged.len(), map.len());
            let listed: Vec<_> = map.iter().map(|(doc, grade)| (*doc, *grade)).collect();
            prop_assert_eq!(&judged.iter().collect::<Vec<_>>(), &listed);
            for doc in ["", "a", "b", "ab", "c", "ä"] {
                prop_assert_eq!(judged.get(doc), map.get(doc).copied());
            }
            let backwards: JudgedDocs = judged.iter().collect::<Vec<_>>().into_iter().rev().collect();
            prop_assert_eq!(&backwards, &judged);
            let ascending = JudgedDocs::ascending(listed.iter().copied(), 0);
            prop_assert!(matches!(&ascending.0, Storage::Packed(_)));
            prop_assert_eq!(&ascending, &judged);
            if !map.is_empty() {
                let mut other = judged.clone();
                other.insert("zz", 0);
                prop_assert_ne!(&other, &judged);
            }
            let json = serde_json::to_string(&judged).unwrap();
            prop_assert_eq!(&json, &serde_json::to_string(&map).unwrap());
            prop_assert_eq!(serde_json::from_str::<JudgedDocs>(&json).unwrap(), judged);
        }
    }
}
