/// 64-bit FNV-1a. The values are the same on every platform and in every release.
///
/// Suited to seeds, fingerprints and file checks. Not collision-resistant against an adversary.
///
/// ```
/// use ir_core::Fnv1a;
/// assert_eq!(Fnv1a::hash(b"a"), 0xAF63_DC4C_8601_EC8C);
/// let mut hash = Fnv1a::new();
/// hash.write(b"foo");
/// hash.write(b"bar");
/// assert_eq!(hash.finish(), Fnv1a::hash(b"foobar"));
/// ```
///
/// # Source
/// Fowler, Noll and Vo; offset basis and prime of RFC 9923.
#[derive(Debug, Clone)]
pub struct Fnv1a(u64);

impl Fnv1a {
    /// Creates a hasher that has read no bytes.
    #[must_use]
    pub const fn new() -> Self {
        Self(0xCBF2_9CE4_8422_2325)
    }

    /// Returns the hash of `bytes`.
    #[must_use]
    pub fn hash(bytes: &[u8]) -> u64 {
        let mut hash = Self::new();
        hash.write(bytes);
        hash.finish()
    }

    /// Appends `bytes` to the input.
    pub fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
        }
    }

    /// Returns the hash of the bytes written so far.
    #[must_use]
    pub const fn finish(&self) -> u64 {
        self.0
    }
}

impl Default for Fnv1a {
    fn default() -> Self {
        Self::new()
    }
}
