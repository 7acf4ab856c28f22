//! A waker for a connection that is driven by the task that reads from it.
//!
//! hyper connects a connection and the body of its response with a channel, whose two ends wake each other. They are meant to be two
//! tasks. Here they are one, and a task that wakes itself while it runs is polled once more for nothing. For deltas that arrive one by
//! one that was a seventh of all instructions. The connection gets a waker that ignores the channel and passes on the socket's.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};

use crate::lock::lock;

/// Wakes pass.
const OPEN: u8 = 0;
/// Wakes are held back.
const MUTED: u8 = 1;
/// A wake was held back.
const MISSED: u8 = 2;

/// Wakes the task that drives the connection, unless it is muted.
#[derive(Debug)]
struct Shared {
    state: AtomicU8,
    task: Mutex<Waker>,
}

impl Wake for Shared {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let held_back =
            self.state.compare_exchange(MUTED, MISSED, Ordering::AcqRel, Ordering::Acquire);
        if held_back == Err(OPEN) {
            // Not under the lock: a waker may do anything, such as polling the task.
            let task = lock(&self.task).clone();
            task.wake();
        }
    }
}

/// The waker of one connection.
#[derive(Debug)]
pub(super) struct Gate {
    shared: Arc<Shared>,
    waker: Waker,
}

impl Gate {
    pub(super) fn new() -> Self {
        let task = Mutex::new(Waker::noop().clone());
        let shared = Arc::new(Shared { state: AtomicU8::new(OPEN), task });
        Self { waker: Waker::from(Arc::clone(&shared)), shared }
    }

    /// Returns the context in which the connection is polled by the task of `context`.
    #[inline]
    pub(super) fn context(&self, context: &Context<'_>) -> Context<'_> {
        let mut task = lock(&self.shared.task);
        if !task.will_wake(context.waker()) {
            task.clone_from(context.waker());
        }
        Context::from_waker(&self.waker)
    }

    /// Calls `poll`, during which the connection wakes no task, and returns whether a wake was held back. That may have been the
    /// socket's, so whoever waits afterwards polls the connection first, or wakes the task.
    #[inline]
    pub(super) fn mute<T>(&self, poll: impl FnOnce() -> T) -> (T, bool) {
        self.shared.state.store(MUTED, Ordering::Release);
        let polled = poll();
        let missed = self.shared.state.swap(OPEN, Ordering::AcqRel) == MISSED;
        (polled, missed)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn the_task_that_polled_last_is_woken_unless_the_gate_is_muted() {
        let (first, second) = (Arc::<Count>::default(), Arc::<Count>::default());
        let gate = Gate::new();
        for task in [&first, &second, &second] {
            let waker = Waker::from(Arc::clone(task));
            gate.context(&Context::from_waker(&waker)).waker().wake_by_ref();
        }
        assert!(gate.mute(|| gate.waker.wake_by_ref()).1, "it is reported");
        assert!(!gate.mute(|| ()).1);
        assert_eq!((first.0.load(Ordering::Relaxed), second.0.load(Ordering::Relaxed)), (1, 2));
        gate.waker.wake_by_ref();
        assert_eq!(second.0.load(Ordering::Relaxed), 3);
    }
}
