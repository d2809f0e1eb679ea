//! Collections of the folder `IR_DATA`.
#![allow(unreachable_pub)]

use ir_data::Collection;

/// A collection of SQuAD by name; `None` without the data.
pub fn squad(name: &str) -> Option<Collection> {
    let collection = ir_data::catalog::open(name).ok();
    if collection.is_none() {
        eprintln!("SKIPPED: no squad in IR_DATA");
    }
    collection
}
