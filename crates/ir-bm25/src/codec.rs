//! Fixed-width integer arrays and zigzag encoding.

/// Element `n` of an array of little-endian integers; [`None`] past the end.
#[inline]
pub(crate) fn u64_at(bytes: &[u8], n: usize) -> Option<u64> {
    let start = n.checked_mul(8)?;
    let eight = bytes.get(start..start.checked_add(8)?)?;
    eight.try_into().ok().map(u64::from_le_bytes)
}

/// Zigzag encoding: maps integers of small magnitude to small unsigned integers.
pub(crate) const fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

/// Inverse of [`zigzag`].
pub(crate) const fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zigzag_round_trips() {
        for n in [0, -1, 1, i64::MIN, i64::MAX] {
            assert_eq!(unzigzag(zigzag(n)), n);
        }
    }

    #[test]
    fn nothing_is_read_past_the_end() {
        assert_eq!(u64_at(&[0; 8], usize::MAX), None);
        assert_eq!(u64_at(&[0; 8], 1), None);
    }
}
