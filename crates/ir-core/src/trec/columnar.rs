//! Columnar files in place of runs and qrels, for errors.

use super::is_space;

/// First bytes of Parquet and Arrow files.
const MAGIC: [(&[u8], &str); 2] = [(b"PAR1", "a Parquet file"), (b"ARROW1", "an Arrow file")];

/// Returns the format of a columnar file, by its first bytes. Text that starts with `PAR1` has
/// no control character there.
pub(super) fn columnar_format(head: &[u8]) -> Option<&'static str> {
    let mut known = MAGIC.iter();
    let found = known.find(|(magic, _)| {
        let next = head.strip_prefix(*magic).and_then(<[u8]>::first);
        next.is_some_and(|byte| byte.is_ascii_control() && !is_space(*byte))
    });
    found.map(|(_, format)| *format)
}

/// Returns `true` if further bytes are needed for [`columnar_format`].
pub(super) fn is_incomplete(head: &[u8]) -> bool {
    MAGIC.iter().any(|(magic, _)| magic.starts_with(head))
}
