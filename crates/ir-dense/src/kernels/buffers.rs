//! Buffers that are used again, because fresh memory costs page faults.

use std::sync::{Mutex, PoisonError};

/// Elements of the smallest buffer that is kept: smaller ones are cheap, and not all of them are
/// taken from the pool.
const LEAST: usize = 1 << 14;

/// Pool of buffers.
#[derive(Debug, Default)]
pub(crate) struct BufferPool(Mutex<Vec<Vec<f32>>>);

impl BufferPool {
    /// Returns a buffer of `len` elements with any values: the smallest of the pool that is large
    /// enough, or a new one in place of the largest.
    pub(crate) fn take(&self, len: usize) -> Vec<f32> {
        let found = {
            let mut free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let best = |(_, buffer): &(usize, &Vec<f32>)| match buffer.capacity() {
                capacity if capacity >= len => (0, capacity),
                capacity => (1, usize::MAX - capacity),
            };
            let best = free.iter().enumerate().min_by_key(best);
            best.map(|(at, _)| at).map(|at| free.swap_remove(at))
        };
        match found {
            Some(mut buffer) if buffer.capacity() >= len => {
                buffer.resize(len, 0.0);
                buffer
            }
            // Frees the smaller buffer first.
            found => {
                drop(found);
                vec![0.0; len]
            }
        }
    }

    /// Number of elements in the pool.
    #[cfg(test)]
    pub(crate) fn elements(&self) -> usize {
        let free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        free.iter().map(Vec::capacity).sum()
    }

    /// Returns buffers to the pool.
    pub(crate) fn give(&self, buffers: impl IntoIterator<Item = Vec<f32>>) {
        let mut free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        free.extend(buffers.into_iter().filter(|it| it.capacity() >= LEAST));
    }
}

#[cfg(test)]
mod tests {
    use super::{BufferPool, LEAST};

    #[test]
    fn buffers_are_used_again() {
        let pool = BufferPool::default();
        let (small, large) = (pool.take(LEAST), pool.take(1000 * LEAST));
        let addresses = [small.as_ptr(), large.as_ptr()];
        pool.give([small, large]);
        let (large, small) = (pool.take(LEAST + 1), pool.take(LEAST));
        assert_eq!([small.as_ptr(), large.as_ptr()], addresses);
        assert_eq!((small.len(), large.len()), (LEAST, LEAST + 1));
        pool.give([small, vec![1.0]]);
        // Too small: replaced.
        assert_eq!(pool.take(2 * LEAST), vec![0.0; 2 * LEAST]);
        assert_eq!(pool.take(1), [0.0]);
    }
}
