//! Hints to the CPU to load memory into the cache.

/// Loads bytes into the cache in the background, on x86-64.
#[inline]
pub(crate) fn prefetch(bytes: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    {
        use pulp::core_arch::x86::Sse;
        use std::arch::x86_64::_MM_HINT_T0;

        /// Bytes per cache line.
        const LINE: usize = 64;
        if let Some(sse) = Sse::try_new() {
            // The last byte is in another line if the bytes are not aligned.
            let firsts = bytes.iter().step_by(LINE);
            for byte in firsts.chain(bytes.last()) {
                sse._mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(byte).cast());
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = bytes;
}
