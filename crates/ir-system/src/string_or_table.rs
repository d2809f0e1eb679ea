//! Values of an experiment file that are a string or a table.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// Deserializes a string with `from_string`, or a table with `from_table`. `expected` names both
/// for errors.
pub fn string_or_table<'de, D, T, Table>(
    input: D,
    expected: &'static str,
    from_string: impl FnOnce(&str) -> T,
    from_table: impl FnOnce(Table) -> T,
) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    Table: Deserialize<'de>,
{
    input.deserialize_any(StringOrTable {
        expected,
        from_string,
        from_table,
        table: PhantomData,
    })
}

struct StringOrTable<S, F, Table> {
    expected: &'static str,
    from_string: S,
    from_table: F,
    table: PhantomData<Table>,
}

impl<'de, T, S, F, Table> Visitor<'de> for StringOrTable<S, F, Table>
where
    S: FnOnce(&str) -> T,
    F: FnOnce(Table) -> T,
    Table: Deserialize<'de>,
{
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E>(self, text: &str) -> Result<T, E> {
        Ok((self.from_string)(text))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        let table = Table::deserialize(MapAccessDeserializer::new(map))?;
        Ok((self.from_table)(table))
    }
}
