//! What became of the calls.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use agentloop::{Error, ErrorKind};

/// How many calls there were, by how they ended. All of it is of fixed size, whatever the time.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) begun: AtomicU64,
    pub(crate) right: AtomicU64,
    pub(crate) failed: AtomicU64,
    /// Their callers went away, as planned.
    pub(crate) left: AtomicU64,
    /// Answers that are not what was asked for. There must be none.
    pub(crate) wrong: AtomicU64,
    /// Calls that did not end. There must be none.
    pub(crate) hung: AtomicU64,
    /// Errors by kind; and the first of each kind that no fault explains.
    errors: Mutex<BTreeMap<String, u64>>,
    unexplained: Mutex<BTreeMap<String, String>>,
    pub(crate) by_call: Mutex<BTreeMap<&'static str, u64>>,
}

/// How one call ended.
pub(crate) enum End {
    Right,
    Wrong(String),
    Failed(Box<Error>),
    Left,
}

pub(crate) fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

pub(crate) fn more(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl Tally {
    /// Enters the end of a call; `None` is that it did not end.
    pub(crate) fn end(&self, kind: &'static str, end: Option<End>, explained: &[ErrorKind]) {
        *lock(&self.by_call).entry(kind).or_default() += 1;
        match end {
            None => more(&self.hung),
            Some(End::Right) => more(&self.right),
            Some(End::Left) => more(&self.left),
            Some(End::Wrong(what)) => {
                more(&self.wrong);
                lock(&self.unexplained).entry(format!("wrong {kind}")).or_insert(what);
            }
            Some(End::Failed(error)) => {
                more(&self.failed);
                let name = format!("{:?}", error.kind());
                if !is_explained(&error, explained) {
                    let entry = format!("{kind}: {name}");
                    lock(&self.unexplained).entry(entry).or_insert_with(|| format!("{error:?}"));
                }
                *lock(&self.errors).entry(name).or_default() += 1;
            }
        }
    }

    pub(crate) fn errors(&self) -> BTreeMap<String, u64> {
        lock(&self.errors).clone()
    }

    pub(crate) fn unexplained(&self) -> BTreeMap<String, String> {
        lock(&self.unexplained).clone()
    }
}

/// Whether all that went wrong is of these kinds.
fn is_explained(error: &Error, kinds: &[ErrorKind]) -> bool {
    let itself = error.kind() == ErrorKind::AllFailed || kinds.contains(&error.kind());
    itself && error.causes().iter().all(|cause| is_explained(cause, kinds))
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
