//! Loom's locks and atomics, in place of `transport/http/http2/sync.rs`.

pub(crate) use std::sync::TryLockError;

pub(crate) use loom::sync::Mutex;
use loom::sync::MutexGuard;
use loom::sync::atomic;
pub(crate) use loom::sync::atomic::Ordering;

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap()
}

// Loom treats sequentially consistent loads and stores as weaker than they are, and would report errors that cannot happen. Its
// read-modify-write operations always see the latest value, so with these every order of the operations is explored, and no other.

pub(crate) struct AtomicBool(atomic::AtomicBool);

impl AtomicBool {
    pub(crate) fn new(value: bool) -> Self {
        Self(atomic::AtomicBool::new(value))
    }

    pub(crate) fn load(&self, ordering: Ordering) -> bool {
        self.0.fetch_or(false, ordering)
    }

    pub(crate) fn store(&self, value: bool, ordering: Ordering) {
        self.0.swap(value, ordering);
    }

    pub(crate) fn swap(&self, value: bool, ordering: Ordering) -> bool {
        self.0.swap(value, ordering)
    }
}

pub(crate) struct AtomicUsize(atomic::AtomicUsize);

impl AtomicUsize {
    pub(crate) fn new(value: usize) -> Self {
        Self(atomic::AtomicUsize::new(value))
    }

    pub(crate) fn load(&self, ordering: Ordering) -> usize {
        self.0.fetch_add(0, ordering)
    }

    pub(crate) fn fetch_add(&self, value: usize, ordering: Ordering) -> usize {
        self.0.fetch_add(value, ordering)
    }

    pub(crate) fn fetch_sub(&self, value: usize, ordering: Ordering) -> usize {
        self.0.fetch_sub(value, ordering)
    }
}
