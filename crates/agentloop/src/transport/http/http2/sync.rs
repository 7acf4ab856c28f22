//! The locks and atomics of this module. `tests/loom` checks [`shared_waker`](super::shared_waker) and [`driver`](super::driver) with
//! loom's instead.

pub(super) use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
pub(super) use std::sync::{Mutex, TryLockError};

pub(super) use crate::lock::lock;
