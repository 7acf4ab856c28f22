//! A value that expires: kept, and replaced before it does.

use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use tokio::time::{Instant, timeout, timeout_at};

use crate::error::{Error, ErrorKind, Result};
use crate::limits::{CREDENTIAL_AHEAD, CREDENTIAL_AHEAD_WAIT, CREDENTIAL_RETRY, CREDENTIAL_WAIT};
use crate::lock::lock;

/// A value, and when it expires.
pub(super) struct Fetched<T> {
    pub(super) value: T,
    /// Absent if it does not expire.
    pub(super) expires: Option<SystemTime>,
}

/// Keeps a value that expires.
///
/// - It is replaced [`CREDENTIAL_AHEAD`] before it expires. While that fails, the old value is used as long as it is valid, and the next
///   attempt is made after [`CREDENTIAL_RETRY`].
/// - One caller at a time obtains it. The others use the old value if it is valid, and wait if not. They get the error if
///   the attempt that they waited for fails, and do not repeat it one after the other.
/// - A caller that is dropped while it obtains the value leaves the attempt to the next one.
pub(super) struct Refreshing<T> {
    held: Mutex<Held<T>>,
    /// Held by the caller that obtains the value.
    flight: tokio::sync::Mutex<()>,
}

struct Held<T> {
    kept: Option<Kept<T>>,
    /// How many attempts have ended.
    attempts: u64,
    /// The error of the last attempt.
    failed: Option<Error>,
    /// When the next attempt to replace a valid value may be made.
    next: Option<Instant>,
}

struct Kept<T> {
    value: Arc<T>,
    /// When it expires, by the clock of the system and by one that is never set.
    expires: Option<(SystemTime, Instant)>,
    since: Instant,
}

impl<T> Kept<T> {
    /// Returns how long the value is still valid; `None` if it has expired.
    fn left(&self) -> Option<Duration> {
        let Some((at, instant)) = self.expires else {
            return Some(Duration::MAX);
        };
        // The clock of the system may be set, the other one may stop while the machine sleeps. The earlier end counts.
        let by_system = at.duration_since(SystemTime::now()).ok()?;
        let by_instant = instant.checked_duration_since(Instant::now())?;
        Some(by_system.min(by_instant)).filter(|left| !left.is_zero())
    }
}

/// What is known of the value.
enum State<T> {
    Fresh(Arc<T>),
    /// Valid, but it expires soon.
    Due(Arc<T>),
    Missing,
}

impl<T> Default for Refreshing<T> {
    fn default() -> Self {
        let held = Held { kept: None, attempts: 0, failed: None, next: None };
        Self { held: Mutex::new(held), flight: tokio::sync::Mutex::new(()) }
    }
}

impl<T> Refreshing<T> {
    /// Returns the value, from `fetch` if there is none that is valid or if it expires soon.
    ///
    /// # Errors
    ///
    /// When there is no valid value and `fetch` fails or takes longer than [`CREDENTIAL_WAIT`].
    pub(super) async fn get<F>(&self, fetch: impl FnOnce() -> F) -> Result<Arc<T>>
    where
        F: Future<Output = Result<Fetched<T>>>,
    {
        match self.state() {
            State::Fresh(value) => Ok(value),
            State::Due(value) => {
                let Ok(_flight) = self.flight.try_lock() else { return Ok(value) };
                if let State::Fresh(value) = self.state() {
                    return Ok(value);
                }
                // The old value is good: the caller need not wait long, nor see the error.
                Ok(self.attempt(fetch(), CREDENTIAL_AHEAD_WAIT).await.unwrap_or(value))
            }
            State::Missing => {
                let seen = lock(&self.held).attempts;
                // Waiting for others and an attempt of its own are one wait.
                let end = Instant::now() + CREDENTIAL_WAIT;
                let waiting = timeout_at(end, self.flight.lock());
                let _flight = waiting.await.map_err(|_| too_slow(CREDENTIAL_WAIT))?;
                if let State::Fresh(value) | State::Due(value) = self.state() {
                    return Ok(value);
                }
                let failed = {
                    let held = lock(&self.held);
                    held.failed.clone().filter(|_| held.attempts != seen)
                };
                match failed {
                    Some(error) => Err(error),
                    None => self.attempt(fetch(), end.duration_since(Instant::now())).await,
                }
            }
        }
    }

    /// Forgets the value that a request was authorized with, if it is older than `age`. Returns whether the request is worth authorizing
    /// again: the value is forgotten, or another call has had it replaced since.
    pub(super) fn forget(&self, authorized: std::time::Instant, age: Duration) -> bool {
        let mut held = lock(&self.held);
        let Some(kept) = &held.kept else { return true };
        if kept.since.into_std() > authorized {
            return true;
        }
        let is_old = kept.since.elapsed() >= age;
        if is_old {
            held.kept = None;
        }
        is_old
    }

    fn state(&self) -> State<T> {
        let held = lock(&self.held);
        let Some((kept, left)) = held.kept.as_ref().and_then(|kept| Some((kept, kept.left()?)))
        else {
            return State::Missing;
        };
        let value = Arc::clone(&kept.value);
        let rests = held.next.is_some_and(|next| Instant::now() < next);
        if left > CREDENTIAL_AHEAD || rests { State::Fresh(value) } else { State::Due(value) }
    }

    async fn attempt(
        &self,
        fetch: impl Future<Output = Result<Fetched<T>>>,
        wait: Duration,
    ) -> Result<Arc<T>> {
        let fetched = timeout(wait, fetch).await;
        let mut held = lock(&self.held);
        held.next = Instant::now().checked_add(CREDENTIAL_RETRY);
        let fetched = match fetched {
            Ok(fetched) => fetched.and_then(keep),
            // Others that wait may have more time than this caller had, so its error is not theirs.
            Err(_) if wait < CREDENTIAL_WAIT => return Err(too_slow(CREDENTIAL_WAIT)),
            Err(_) => Err(too_slow(CREDENTIAL_WAIT)),
        };
        held.attempts = held.attempts.wrapping_add(1);
        match fetched {
            Ok(kept) => {
                let value = Arc::clone(&kept.value);
                held.kept = Some(kept);
                held.failed = None;
                Ok(value)
            }
            Err(error) => {
                held.failed = Some(error.clone());
                Err(error)
            }
        }
    }
}

/// Keeps a value that is valid now.
fn keep<T>(fetched: Fetched<T>) -> Result<Kept<T>> {
    let now = Instant::now();
    let expired = || {
        Error::new(ErrorKind::Auth, "the credential that was obtained has already expired")
            .with_hint("check that the clock of this machine is right, and obtain a new credential")
    };
    let expires = match fetched.expires {
        None => None,
        Some(at) => {
            let left = at.duration_since(SystemTime::now()).map_err(|_| expired())?;
            // A time beyond the range of the clock never comes.
            now.checked_add(left).map(|instant| (at, instant))
        }
    };
    Ok(Kept { value: Arc::new(fetched.value), expires, since: now })
}

fn too_slow(wait: Duration) -> Error {
    Error::new(ErrorKind::Timeout, format!("the credential was not obtained within {wait:?}"))
        .with_hint("check the service that the credential comes from")
}

shown! { <T> Refreshing<T>: self { } }

#[cfg(test)]
#[path = "refresh_tests.rs"]
mod tests;
