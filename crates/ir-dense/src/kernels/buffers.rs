//! Buffers that are used again, because fresh memory costs page faults.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Elements of the smallest buffer that is kept: smaller ones are cheap.
const LEAST: usize = 1 << 14;

/// Pool of `f32` buffers that training takes and gives back.
#[derive(Debug, Default)]
pub(crate) struct BufferPool(Mutex<Vec<FreeBuffer>>);

#[derive(Debug)]
struct FreeBuffer {
    buffer: Vec<f32>,
    /// If `true`, the buffer was in use since the last call of [`BufferPool::free_unused`].
    used: bool,
}

impl BufferPool {
    /// Returns a buffer of `len` elements with any values: the smallest of the pool that is large
    /// enough, but not much larger, or a new one. Small buffers are always new.
    pub(crate) fn take(&self, len: usize) -> Vec<f32> {
        if len < LEAST {
            return vec![0.0; len];
        }
        let fits = len..=len + len / 4 + len / 16;
        let mut free = self.lock();
        let capacities = free.iter().map(|it| it.buffer.capacity()).enumerate();
        let found = capacities.filter(|(_, capacity)| fits.contains(capacity));
        if let Some((at, _)) = found.min_by_key(|(_, capacity)| *capacity) {
            let mut buffer = free.swap_remove(at).buffer;
            drop(free);
            buffer.resize(len, 0.0);
            return buffer;
        }
        drop(free);
        // For somewhat larger batches too; the operating system has no memory for what is unused.
        let mut buffer = vec![0.0; len + len / 8];
        buffer.truncate(len);
        buffer
    }

    /// Returns buffers to the pool.
    pub(crate) fn give(&self, buffers: impl IntoIterator<Item = Vec<f32>>) {
        let buffers = buffers.into_iter().filter(|it| it.capacity() >= LEAST);
        let buffers = buffers.map(|buffer| FreeBuffer { buffer, used: true });
        self.lock().extend(buffers);
    }

    /// Frees the buffers that were not in use since the last call.
    pub(crate) fn free_unused(&self) {
        let mut free = self.lock();
        free.retain(|it| it.used);
        free.iter_mut().for_each(|it| it.used = false);
    }

    /// Number of elements in the pool.
    #[cfg(test)]
    pub(crate) fn elements(&self) -> usize {
        self.lock().iter().map(|it| it.buffer.capacity()).sum()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<FreeBuffer>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::{BufferPool, LEAST};

    #[test]
    fn buffers_are_used_again() {
        let pool = BufferPool::default();
        let (small, large) = (pool.take(4 * LEAST), pool.take(1000 * LEAST));
        let addresses = [small.as_ptr(), large.as_ptr()];
        pool.give([small, large, vec![1.0]]);
        let (large, small) = (pool.take(1001 * LEAST), pool.take(4 * LEAST - 100));
        assert_eq!(pool.elements(), 0);
        assert_eq!([small.as_ptr(), large.as_ptr()], addresses);
        assert_eq!([small.len(), large.len()], [4 * LEAST - 100, 1001 * LEAST]);
        pool.give([small, large]);
        // Neither fits.
        let other = pool.take(2 * LEAST);
        assert_eq!(other, vec![0.0; 2 * LEAST]);
        pool.free_unused();
        pool.give([other]);
        pool.free_unused();
        assert_eq!(pool.elements(), 2 * LEAST + LEAST / 4);
    }
}
