use std::collections::{BTreeSet, HashMap};

use super::{Store, StoreError, select};

impl Store {
    /// Returns the tags of all papers that have some, by the id of the document.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn tags(&self) -> Result<HashMap<String, BTreeSet<String>>, StoreError> {
        let rows = "SELECT document, tag FROM tags";
        let rows: Vec<(String, String)> = select(&self.connection(), rows, [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
        let mut tags: HashMap<String, BTreeSet<String>> = HashMap::new();
        for (document, tag) in rows {
            tags.entry(document).or_default().insert(tag);
        }
        Ok(tags)
    }

    /// Adds tags to a paper, then removes tags, and returns its tags. Changes nothing if the paper
    /// had more than `limit` tags.
    pub(crate) fn change_tags(
        &self,
        document: &str,
        added: &[String],
        removed: &[String],
        limit: usize,
    ) -> Result<BTreeSet<String>, StoreError> {
        self.write(|transaction| {
            for (sql, tags) in [
                (
                    "INSERT OR IGNORE INTO tags (document, tag) VALUES (?, ?)",
                    added,
                ),
                ("DELETE FROM tags WHERE document = ? AND tag = ?", removed),
            ] {
                for tag in tags {
                    transaction.prepare_cached(sql)?.execute([document, tag])?;
                }
            }
            let tags = "SELECT tag FROM tags WHERE document = ?";
            let tags: BTreeSet<String> = select(transaction, tags, [document], |row| row.get(0))?;
            match tags.len() {
                found if found > limit => Err(StoreError::Tags { limit, found }),
                _ => Ok(tags),
            }
        })
    }
}
