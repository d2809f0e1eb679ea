//! Numbers in memory or in a mapped file.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use bytemuck::Pod;
use ir_core::store::SectionBytes;

use crate::simd::AlignedBytes;

/// Bytes or 32-bit numbers in memory or in a mapped file, where they are little-endian.
#[derive(Debug)]
pub(super) enum NumberBuffer<T> {
    Owned(Vec<T>),
    Aligned(AlignedBytes),
    Mapped(SectionBytes),
    Shared(SharedNumbers<T>),
}

/// Numbers in memory of the application.
pub(super) struct SharedNumbers<T>(pub(super) Arc<dyn AsRef<[T]> + Send + Sync>);

impl<T> fmt::Debug for SharedNumbers<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let len = (*self.0).as_ref().len();
        f.debug_struct("SharedNumbers").field("len", &len).finish()
    }
}

impl<T: Pod> NumberBuffer<T> {
    /// If `true`, numbers have the same bytes in files and in memory.
    const IS_NATIVE: bool = cfg!(target_endian = "little") || size_of::<T>() == 1;

    /// Numbers of a section; copied only on big-endian machines or if the section is unaligned.
    pub(super) fn from_section(section: SectionBytes) -> Self {
        if Self::IS_NATIVE && bytemuck::try_cast_slice::<u8, T>(section.as_ref()).is_ok() {
            return Self::Mapped(section);
        }
        let (numbers, _) = section.as_ref().as_chunks();
        let numbers = numbers.iter().map(|&bytes| u32::from_le_bytes(bytes));
        Self::Owned(numbers.map(bytemuck::cast).collect())
    }

    pub(super) fn get(&self) -> &[T] {
        match self {
            Self::Owned(values) => values,
            Self::Aligned(bytes) => bytemuck::try_cast_slice(bytes.as_ref()).unwrap_or_default(),
            Self::Mapped(section) => bytemuck::try_cast_slice(section.as_ref()).unwrap_or_default(),
            Self::Shared(numbers) => (*numbers.0).as_ref(),
        }
    }

    /// Removes a mapped section from the resident memory.
    pub(super) fn release(&self) {
        if let Self::Mapped(section) = self {
            section.release();
        }
    }

    pub(super) fn to_bytes(&self) -> Cow<'_, [u8]> {
        to_le_bytes(self.get())
    }
}

/// Little-endian bytes of 32-bit numbers, or the bytes given; copied only on big-endian machines.
pub(super) fn to_le_bytes<T: Pod>(values: &[T]) -> Cow<'_, [u8]> {
    if NumberBuffer::<T>::IS_NATIVE {
        return Cow::Borrowed(bytemuck::cast_slice(values));
    }
    let numbers = values.iter().map(|&value| bytemuck::cast(value));
    numbers.flat_map(u32::to_le_bytes).collect()
}
