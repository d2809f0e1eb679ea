//! Numbers in memory or in a mapped file.

use std::borrow::Cow;

use ir_core::store::SectionBytes;

use crate::simd::AlignedBytes;

/// 32-bit number, little-endian in files.
pub(super) trait LittleEndian: bytemuck::Pod {
    fn from_le(bytes: [u8; 4]) -> Self;
    fn to_le(self) -> [u8; 4];
}

macro_rules! little_endian {
    ($($number:ty),*) => {$(
        impl LittleEndian for $number {
            fn from_le(bytes: [u8; 4]) -> Self {
                Self::from_le_bytes(bytes)
            }

            fn to_le(self) -> [u8; 4] {
                self.to_le_bytes()
            }
        }
    )*};
}

little_endian!(f32, u32);

/// Numbers in memory or in a mapped file.
#[derive(Debug)]
pub(super) enum NumberBuffer<T> {
    Owned(Vec<T>),
    Aligned(AlignedBytes),
    Mapped(SectionBytes),
}

impl<T: LittleEndian> NumberBuffer<T> {
    /// Numbers of a section; copied only on big-endian machines or if the section is unaligned.
    pub(super) fn from_section(section: SectionBytes) -> Self {
        if cfg!(target_endian = "little")
            && bytemuck::try_cast_slice::<u8, T>(section.as_ref()).is_ok()
        {
            return Self::Mapped(section);
        }
        let (numbers, _) = section.as_ref().as_chunks();
        Self::Owned(numbers.iter().map(|&bytes| T::from_le(bytes)).collect())
    }

    pub(super) fn get(&self) -> &[T] {
        match self {
            Self::Owned(values) => values,
            Self::Aligned(bytes) => bytemuck::try_cast_slice(bytes.as_ref()).unwrap_or_default(),
            Self::Mapped(section) => bytemuck::try_cast_slice(section.as_ref()).unwrap_or_default(),
        }
    }

    pub(super) fn to_bytes(&self) -> Cow<'_, [u8]> {
        if cfg!(target_endian = "little") {
            return Cow::Borrowed(bytemuck::cast_slice(self.get()));
        }
        self.get().iter().flat_map(|value| value.to_le()).collect()
    }
}

/// Bytes in memory or in a mapped file.
#[derive(Debug)]
pub(super) enum ByteBuffer {
    Owned(AlignedBytes),
    Mapped(SectionBytes),
}

impl AsRef<[u8]> for ByteBuffer {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Owned(bytes) => bytes.as_ref(),
            Self::Mapped(section) => section.as_ref(),
        }
    }
}
