//! Numbers in memory or in a mapped file.

use std::borrow::Cow;

use super::align::Lines;
use super::file::Part;

/// Numbers of 32 bits, little-endian in files.
pub(crate) trait Number: bytemuck::Pod {
    fn from_le(bytes: [u8; 4]) -> Self;
    fn to_le(self) -> [u8; 4];
}

macro_rules! number {
    ($($number:ty),*) => {$(
        impl Number for $number {
            fn from_le(bytes: [u8; 4]) -> Self {
                Self::from_le_bytes(bytes)
            }

            fn to_le(self) -> [u8; 4] {
                self.to_le_bytes()
            }
        }
    )*};
}

number!(f32, u32);

#[derive(Debug)]
pub(crate) enum Numbers<T> {
    Owned(Vec<T>),
    /// The numbers of a buffer that begins at a line of the cache.
    Aligned(Lines),
    Mapped(Part),
}

impl<T: Number> Numbers<T> {
    /// Those of a file; copied only where the bytes are not as this machine has them.
    pub(crate) fn of(part: Part) -> Self {
        if cfg!(target_endian = "little")
            && bytemuck::try_cast_slice::<u8, T>(part.as_ref()).is_ok()
        {
            return Self::Mapped(part);
        }
        let (fours, _) = part.as_ref().as_chunks();
        Self::Owned(fours.iter().map(|&four| T::from_le(four)).collect())
    }

    pub(crate) fn get(&self) -> &[T] {
        match self {
            Self::Owned(values) => values,
            Self::Aligned(lines) => bytemuck::try_cast_slice(lines.as_ref()).unwrap_or_default(),
            Self::Mapped(part) => bytemuck::try_cast_slice(part.as_ref()).unwrap_or_default(),
        }
    }

    pub(crate) fn bytes(&self) -> Cow<'_, [u8]> {
        if cfg!(target_endian = "little") {
            return Cow::Borrowed(bytemuck::cast_slice(self.get()));
        }
        self.get().iter().flat_map(|value| value.to_le()).collect()
    }
}

/// Bytes in memory or in a mapped file.
#[derive(Debug)]
pub(crate) enum Bytes {
    Owned(Lines),
    Mapped(Part),
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Owned(bytes) => bytes.as_ref(),
            Self::Mapped(part) => part.as_ref(),
        }
    }
}
