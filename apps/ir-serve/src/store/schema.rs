//! Tables of the data folder, and their migrations.

use rusqlite::Connection;

use super::StoreError;

/// File of a data folder.
pub(super) const DATABASE: &str = "store.sqlite";

/// Identifies the file as a store of this crate: "irqa" in ASCII.
const APPLICATION_ID: i32 = 0x6972_7161;

/// Migrations in order. The version of a store is the number of those that were applied.
const MIGRATIONS: [&str; 9] = [
    include_str!("migrations/1.sql"),
    include_str!("migrations/2.sql"),
    include_str!("migrations/3.sql"),
    include_str!("migrations/4.sql"),
    include_str!("migrations/5.sql"),
    include_str!("migrations/6.sql"),
    include_str!("migrations/7.sql"),
    include_str!("migrations/8.sql"),
    include_str!("migrations/9.sql"),
];

/// Creates the tables of an empty store, or applies the migrations that an older one lacks, each in
/// a transaction.
///
/// # Errors
/// The file is another program's database, or a later version wrote it.
pub(super) fn migrate(connection: &mut Connection, path: &str) -> Result<(), StoreError> {
    let version = check_version(connection, path)?;
    for (number, migration) in (1..).zip(MIGRATIONS).skip(version) {
        let transaction = connection.transaction()?;
        transaction.execute_batch(migration)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", number)?;
        transaction.commit()?;
    }
    Ok(())
}

/// Returns the version of a store; 0 for an empty file.
///
/// # Errors
/// The file is another program's database, or a later version wrote it.
pub(super) fn check_version(connection: &Connection, path: &str) -> Result<usize, StoreError> {
    let application: i32 = connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    let version: usize = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let is_empty = tables == 0 && version == 0 && application == 0;
    if !is_empty && application != APPLICATION_ID {
        return Err(StoreError::NotAStore { path: path.into() });
    }
    if version > MIGRATIONS.len() {
        return Err(StoreError::Version {
            path: path.into(),
            expected: MIGRATIONS.len(),
            found: version,
        });
    }
    Ok(version)
}
