//! Who is woken when an HTTP/2 connection has something to do.

use std::mem;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Wake, Waker};

use super::super::pool::lock;

/// The waker of a connection that many tasks share.
///
/// The connection is polled with this waker by every task in turn. When it is woken (the socket can be read, a
/// stream wants to write), one of the tasks that wait for a stream of the connection must drive it.
///
/// - One is woken, and it is the one that drove last. Waking all costs as many polls for each event as there are
///   streams.
/// - But a task may be woken and not look at its stream: it waits for something else too, or keeps the stream for
///   later. So this is done only while the [`Watch`] is set, which wakes all if nobody came in time. While it is
///   not set, all are woken at once.
pub(super) struct Baton {
    /// Whether the connection must be polled.
    signalled: AtomicBool,
    /// How many tasks are about to drive the connection anyway, so that nobody need be woken for it.
    quiet: AtomicUsize,
    /// Whether the watch is set.
    watched: AtomicBool,
    waiters: Mutex<Waiters>,
}

#[derive(Default)]
struct Waiters {
    slots: Vec<Slot>,
    /// The place of the one that drove last.
    leader: usize,
}

/// The place of one stream among the waiters.
enum Slot {
    Free,
    Taken,
    Waiting(Waker),
}

impl Slot {
    /// The waker in it, which is then no longer in it: it must ask again.
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

impl Baton {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            signalled: AtomicBool::new(true),
            quiet: AtomicUsize::new(0),
            watched: AtomicBool::new(false),
            waiters: Mutex::default(),
        })
    }

    /// A place for one more stream.
    pub(super) fn enter(&self) -> usize {
        let slots = &mut lock(&self.waiters).slots;
        match slots.iter().position(|slot| matches!(slot, Slot::Free)) {
            Some(place) => {
                slots[place] = Slot::Taken;
                place
            }
            None => {
                slots.push(Slot::Taken);
                slots.len() - 1
            }
        }
    }

    /// Gives a place up.
    pub(super) fn leave(&self, place: usize) {
        let mut waiters = lock(&self.waiters);
        let left = waiters.slots.get_mut(place).map(|slot| mem::replace(slot, Slot::Free));
        // Outside of the lock: the last reference to a task may go with it.
        drop(waiters);
        drop(left);
    }

    /// Asks to be woken with the connection, and says that the caller drives it next.
    pub(super) fn wait(&self, place: usize, waker: &Waker) {
        let mut waiters = lock(&self.waiters);
        waiters.leader = place;
        let Some(slot) = waiters.slots.get_mut(place) else {
            return;
        };
        let before = match slot {
            Slot::Waiting(known) if known.will_wake(waker) => return,
            slot => mem::replace(slot, Slot::Waiting(waker.clone())),
        };
        drop(waiters);
        drop(before);
    }

    /// Whether the connection must be polled.
    pub(super) fn is_signalled(&self) -> bool {
        self.signalled.load(Ordering::SeqCst)
    }

    /// The same, and says that it is being done.
    pub(super) fn take_signal(&self) -> bool {
        self.signalled.swap(false, Ordering::SeqCst)
    }

    /// Does something to a stream of the connection and wakes nobody for it. The caller must see to the
    /// connection afterwards.
    pub(super) fn quietly<T>(&self, act: impl FnOnce() -> T) -> T {
        // Lowered also when `act` unwinds.
        struct Lower<'a>(&'a AtomicUsize);
        impl Drop for Lower<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::SeqCst);
            }
        }
        self.quiet.fetch_add(1, Ordering::SeqCst);
        let _lower = Lower(&self.quiet);
        act()
    }

    /// Wakes all who wait.
    pub(super) fn rouse(&self) {
        let waiting: Vec<Waker> =
            lock(&self.waiters).slots.iter_mut().filter_map(Slot::take).collect();
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Wakes the one that drove last, or any other if it does not wait.
    fn rouse_one(&self) {
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

    /// Says that the watch is set.
    pub(super) fn set_watched(&self) {
        self.watched.store(true, Ordering::SeqCst);
    }
}

impl Wake for Baton {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // First the signal, then the look at who is quiet and whether the watch is set. They go the other way,
        // first lowering theirs and then looking at the signal, so that one of both sees the other.
        self.signalled.store(true, Ordering::SeqCst);
        if self.quiet.load(Ordering::SeqCst) > 0 {
            return;
        }
        if self.is_watched() {
            self.rouse_one();
        } else {
            self.rouse();
        }
    }
}

/// What is woken when the time is up in which the connection should have been driven.
pub(super) struct Watch(pub(super) Arc<Baton>);

impl Wake for Watch {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.watched.store(false, Ordering::SeqCst);
        if self.0.is_signalled() {
            self.0.rouse();
        }
    }
}
