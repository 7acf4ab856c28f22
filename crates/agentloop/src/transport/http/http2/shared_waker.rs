//! Decides which task is woken when an HTTP/2 connection has something to do. See ADR 14.

use std::mem;
use std::sync::Arc;
use std::task::{Wake, Waker};

use super::sync::{AtomicBool, AtomicUsize, Mutex, Ordering, lock};

/// The waker of a connection that many tasks share.
///
/// Every task polls the connection with this waker. When it is woken (the socket can be read, a stream wants to write), one of the
/// tasks that wait for a stream of the connection must drive the connection.
///
/// - It wakes one task, the one that drove the connection last. Waking all of them would cost one poll per stream for each event.
/// - A task may be woken and not poll its stream, because it waits for something else too or keeps the stream for later. So only one
///   task is woken while the [`Watchdog`] is set, which wakes all of them if the connection was not driven in time. While it
///   is not set, all tasks are woken at once.
pub(super) struct SharedWaker {
    /// Whether the connection must be polled.
    signalled: AtomicBool,
    /// How many tasks are about to drive the connection anyway, so that no task needs to be woken for it.
    driving: AtomicUsize,
    /// Whether the watchdog is set.
    watched: AtomicBool,
    waiters: Mutex<Waiters>,
}

#[derive(Default)]
struct Waiters {
    slots: Vec<Slot>,
    /// The slot of the task that drove the connection last.
    leader: usize,
}

/// The slot of one stream among the waiters.
enum Slot {
    Free,
    Taken,
    Waiting(Waker),
}

impl Slot {
    /// Takes the waker out. Its task must register again.
    fn take(&mut self) -> Option<Waker> {
        match self {
            Self::Waiting(_) => match mem::replace(self, Self::Taken) {
                Self::Waiting(waker) => Some(waker),
                Self::Free | Self::Taken => None,
            },
            Self::Free | Self::Taken => None,
        }
    }
}

impl SharedWaker {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            signalled: AtomicBool::new(true),
            driving: AtomicUsize::new(0),
            watched: AtomicBool::new(false),
            waiters: Mutex::new(Waiters::default()),
        })
    }

    /// Returns a slot for one more stream.
    pub(super) fn add_stream(&self) -> usize {
        let slots = &mut lock(&self.waiters).slots;
        match slots.iter().position(|slot| matches!(slot, Slot::Free)) {
            Some(slot) => {
                slots[slot] = Slot::Taken;
                slot
            }
            None => {
                slots.push(Slot::Taken);
                slots.len() - 1
            }
        }
    }

    /// Frees the slot of a stream.
    pub(super) fn remove_stream(&self, slot: usize) {
        let mut waiters = lock(&self.waiters);
        let removed = waiters.slots.get_mut(slot).map(|slot| mem::replace(slot, Slot::Free));
        // Outside of the lock: the last reference to a task may be dropped with it.
        drop(waiters);
        drop(removed);
    }

    /// Registers a task to be woken with the connection. The caller must drive the connection next.
    pub(super) fn register(&self, slot: usize, waker: &Waker) {
        let mut waiters = lock(&self.waiters);
        waiters.leader = slot;
        let Some(slot) = waiters.slots.get_mut(slot) else {
            return;
        };
        let before = match slot {
            Slot::Waiting(known) if known.will_wake(waker) => return,
            slot => mem::replace(slot, Slot::Waiting(waker.clone())),
        };
        drop(waiters);
        drop(before);
    }

    /// Lets another task be woken with the connection instead. The caller must drive the connection next, because it may have been woken
    /// already.
    pub(super) fn unregister(&self, slot: usize) {
        let mut waiters = lock(&self.waiters);
        let waker = waiters.slots.get_mut(slot).and_then(Slot::take);
        // Outside of the lock, as above.
        drop(waiters);
        drop(waker);
    }

    /// Returns whether the connection must be polled.
    pub(super) fn is_signalled(&self) -> bool {
        self.signalled.load(Ordering::SeqCst)
    }

    /// Clears the signal and returns whether it was set. The caller must then poll the connection.
    pub(super) fn take_signal(&self) -> bool {
        self.signalled.swap(false, Ordering::SeqCst)
    }

    /// Runs `act`, which may wake the connection, without waking a task for it. The caller must drive the connection afterwards.
    pub(super) fn without_waking<T>(&self, act: impl FnOnce() -> T) -> T {
        // Decremented also when `act` unwinds.
        struct Decrement<'a>(&'a AtomicUsize);
        impl Drop for Decrement<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::SeqCst);
            }
        }
        self.driving.fetch_add(1, Ordering::SeqCst);
        let _decrement = Decrement(&self.driving);
        act()
    }

    /// Wakes all waiting tasks.
    pub(super) fn wake_all(&self) {
        let waiting: Vec<Waker> =
            lock(&self.waiters).slots.iter_mut().filter_map(Slot::take).collect();
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Wakes the task that drove the connection last, or any other if that one does not wait.
    fn wake_one(&self) {
        let mut waiters = lock(&self.waiters);
        let leader = waiters.leader;
        let one = match waiters.slots.get_mut(leader).and_then(Slot::take) {
            Some(waker) => Some(waker),
            None => waiters.slots.iter_mut().find_map(Slot::take),
        };
        drop(waiters);
        if let Some(waker) = one {
            waker.wake();
        }
    }

    pub(super) fn is_watched(&self) -> bool {
        self.watched.load(Ordering::SeqCst)
    }

    /// Records that the watchdog is set.
    pub(super) fn set_watched(&self) {
        self.watched.store(true, Ordering::SeqCst);
    }
}

impl Wake for SharedWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // This sets the signal and then looks at `driving` and `watched`. Tasks and the watchdog go the other way: they reset
        // theirs and then look at the signal. So one of the two sees the other.
        self.signalled.store(true, Ordering::SeqCst);
        if self.driving.load(Ordering::SeqCst) > 0 {
            return;
        }
        if self.is_watched() {
            self.wake_one();
        } else {
            self.wake_all();
        }
    }
}

/// The waker of the timer by which the connection should have been driven.
pub(super) struct Watchdog(pub(super) Arc<SharedWaker>);

impl Wake for Watchdog {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.watched.store(false, Ordering::SeqCst);
        if self.0.is_signalled() {
            self.0.wake_all();
        }
    }
}
