//! Numbers as bytes.

/// Appends a number, seven bits a byte, the lowest first.
pub(crate) fn put(to: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

/// Takes bytes apart; every step is checked and gives `None` beyond the end.
#[derive(Debug, Clone)]
pub(crate) struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Input<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.at >= self.bytes.len()
    }

    pub(crate) fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(n)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    pub(crate) fn rest(&mut self) -> &'a [u8] {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        self.at = self.bytes.len();
        rest
    }

    pub(crate) fn varint(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let &byte = self.bytes.get(self.at)?;
            self.at += 1;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    pub(crate) fn varint32(&mut self) -> Option<u32> {
        u32::try_from(self.varint()?).ok()
    }

    pub(crate) fn sized(&mut self) -> Option<&'a [u8]> {
        let n = usize::try_from(self.varint()?).ok()?;
        self.take(n)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        u32_at(self.take(4)?, 0)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        u64_at(self.take(8)?, 0)
    }
}

/// The `n`-th of an array of little-endian numbers.
#[inline]
pub(crate) fn u32_at(bytes: &[u8], n: usize) -> Option<u32> {
    let start = n.checked_mul(4)?;
    let four = bytes.get(start..start.checked_add(4)?)?;
    four.try_into().ok().map(u32::from_le_bytes)
}

/// The `n`-th of an array of little-endian numbers.
#[inline]
pub(crate) fn u64_at(bytes: &[u8], n: usize) -> Option<u64> {
    let start = n.checked_mul(8)?;
    let eight = bytes.get(start..start.checked_add(8)?)?;
    eight.try_into().ok().map(u64::from_le_bytes)
}

/// A signed number as an unsigned one that is small when the number is near zero.
pub(crate) const fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

/// The way back of [`zigzag`].
pub(crate) const fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        let numbers = [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX];
        let mut bytes = Vec::new();
        numbers.iter().for_each(|&n| put(&mut bytes, n));
        let mut input = Input::new(&bytes);
        assert!(numbers.iter().all(|&n| input.varint() == Some(n)));
        assert_eq!(input.varint(), None);
        assert_eq!(Input::new(&[0xff; 12]).varint(), None);
        for n in [0, -1, 1, i64::MIN, i64::MAX] {
            assert_eq!(unzigzag(zigzag(n)), n);
        }
    }

    #[test]
    fn nothing_is_read_beyond_the_end() {
        assert_eq!(u32_at(&[1, 0, 0], 0), None);
        assert_eq!(u32_at(&[1, 0, 0, 0], usize::MAX), None);
        assert_eq!(u64_at(&[0; 8], 1), None);
        assert_eq!(Input::new(&[5, 1]).sized(), None);
    }
}
