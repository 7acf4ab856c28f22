//! One account: its slots, its buckets, and the queue of calls that wait for them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Waker;
use std::time::Duration;

use tokio::time::Instant;

use super::bucket::{Cost, Meter};
use super::held::Held;
use super::limit::Limit;
use super::place::Place;
use super::shared::SharedLimits;
use super::through::Acquired;
use crate::error::{Error, ErrorKind, Result};
use crate::lock::lock;

/// The code of errors that come from our own limits.
pub(super) const CODE: &str = "local_limit";

/// A provider, model or account with limits.
///
/// Calls are sent in the order in which they were made. Only the first call of the queue looks at the clock and at the slots. So a large
/// call is not overtaken by small ones, and one call is woken for each that is sent.
pub(super) struct Scope {
    pub(super) name: String,
    pub(super) limit: Limit,
    pub(super) shared: Option<Arc<dyn SharedLimits>>,
    /// Not locked across an `await`, nor while another task is woken.
    state: Mutex<State>,
}

pub(super) struct State {
    pub(super) meter: Meter,
    /// Slots in use.
    pub(super) busy: usize,
    /// Until when the provider asked to wait.
    pub(super) paused_until: Option<Instant>,
    /// The waiting calls, in the order of their tickets.
    queue: VecDeque<Waiter>,
    tickets: u64,
    /// Tokens used beyond those taken that have not been reported to the shared limits yet.
    pub(super) owed: i64,
    /// Until when the shared limits are not used, because they did not respond.
    pub(super) alone_until: Option<Instant>,
}

struct Waiter {
    ticket: u64,
    cost: Cost,
    waker: Option<Waker>,
}

/// What a waiting call finds when it checks.
pub(super) enum Look {
    /// It is first, and can be sent.
    Ready,
    /// It is first, and can be sent at this time.
    At(Instant),
    /// It will be woken by the call before it, or by a free slot.
    Later,
}

impl Scope {
    pub(super) fn new(name: &str, limit: Limit, shared: Option<Arc<dyn SharedLimits>>) -> Self {
        let state = State {
            meter: Meter::new(&limit, Instant::now()),
            busy: 0,
            paused_until: None,
            queue: VecDeque::new(),
            tickets: 0,
            owed: 0,
            alone_until: None,
        };
        Self { name: name.to_owned(), limit, shared, state: Mutex::new(state) }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Waits until the call can be sent.
    pub(super) async fn enter(self: &Arc<Self>, cost: Cost) -> Result<Held> {
        match self.at_once(cost) {
            Some(held) => Ok(held),
            // Boxed, so the future of a call that does not wait does not reserve space for it.
            None => Box::pin(self.wait(cost)).await,
        }
    }

    /// Admits a call that does not have to wait: the queue is empty, there is room, and the limits are not shared.
    fn at_once(self: &Arc<Self>, cost: Cost) -> Option<Held> {
        if self.shared.is_some() {
            return None;
        }
        let cost = self.capped(cost);
        let now = Instant::now();
        let mut state = self.lock();
        if !state.queue.is_empty() || !matches!(self.room(&state, now, cost), Look::Ready) {
            return None;
        }
        state.meter.take(now, cost);
        state.busy += cost.slots;
        drop(state);
        Some(Held::new(Arc::clone(self), cost, false))
    }

    async fn wait(self: &Arc<Self>, cost: Cost) -> Result<Held> {
        let place = self.line_up(cost)?;
        loop {
            place.first().await?;
            match self.acquire(place.cost()).await {
                Acquired::Granted => return Ok(place.go(true)),
                Acquired::Alone => return Ok(place.go(false)),
                Acquired::Wait(wait) => place.rest(wait).await?,
            }
        }
    }

    /// Returns what the call takes here, which is never more than the limit.
    fn capped(&self, cost: Cost) -> Cost {
        Cost {
            slots: self.limit.concurrency.map_or(cost.slots, |most| cost.slots.min(most)),
            requests: cost.requests,
            // A call may request more than the allowance of a minute and use little of it. The rest is taken when it is
            // used.
            tokens: self.limit.tokens_per_minute.map_or(cost.tokens, |most| cost.tokens.min(most)),
        }
    }

    /// Adds a call to the queue, unless it is too long.
    fn line_up(self: &Arc<Self>, cost: Cost) -> Result<Place> {
        let cost = self.capped(cost);
        let now = Instant::now();
        let mut state = self.lock();
        if !state.queue.is_empty() || !matches!(self.room(&state, now, cost), Look::Ready) {
            let (waiting, wait) = (state.queue.len(), state.wait(now, cost));
            if waiting >= self.limit.queue {
                drop(state);
                let calls = if waiting == 1 { "call waits" } else { "calls wait" };
                return Err(self.refused(&format!("{waiting} {calls} already"), wait));
            }
            if wait > self.limit.max_wait {
                drop(state);
                return Err(self.too_long(wait));
            }
        }
        let ticket = state.tickets;
        state.tickets += 1;
        state.queue.push_back(Waiter { ticket, cost, waker: None });
        let deadline = now.checked_add(self.limit.max_wait).unwrap_or(now);
        Ok(Place::new(Arc::clone(self), ticket, cost, deadline))
    }

    /// Returns whether there is room for the first call of the queue.
    fn room(&self, state: &State, now: Instant, cost: Cost) -> Look {
        let free = self.limit.concurrency.is_none_or(|most| state.busy + cost.slots <= most);
        let ready = state.meter.ready_at(now, cost).max(state.paused_until.unwrap_or(now));
        match (free, ready <= now) {
            (true, true) => Look::Ready,
            (true, false) => Look::At(ready),
            (false, _) => Look::Later,
        }
    }

    /// Returns what the call with that ticket finds. `waker` is woken when it should look again.
    pub(super) fn look(&self, ticket: u64, waker: &Waker) -> Look {
        let now = Instant::now();
        let mut state = self.lock();
        let look = match state.queue.front() {
            Some(first) if first.ticket == ticket => self.room(&state, now, first.cost),
            _ => Look::Later,
        };
        if let Some(at) = state.find(ticket) {
            state.queue[at].waker = Some(waker.clone());
        }
        look
    }

    /// Takes what the first call of the queue needs, and wakes the next one.
    pub(super) fn take(&self, ticket: u64, cost: Cost) {
        let mut state = self.lock();
        state.meter.take(Instant::now(), cost);
        state.busy += cost.slots;
        drop(state);
        self.leave(ticket);
    }

    /// Removes a call from the queue, and wakes the one that is then first.
    pub(super) fn leave(&self, ticket: u64) {
        let mut state = self.lock();
        let Some(at) = state.find(ticket) else {
            return;
        };
        state.queue.remove(at);
        let next = if at == 0 { state.first() } else { None };
        drop(state);
        wake(next);
    }

    /// Changes the state, and wakes the first call of the queue.
    pub(super) fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.lock();
        change(&mut state);
        let first = state.first();
        drop(state);
        wake(first);
    }

    pub(super) fn too_long(&self, wait: Duration) -> Error {
        let (wait_seconds, most) = (wait.as_secs_f64(), self.limit.max_wait.as_secs_f64());
        self.refused(&format!("a call would wait {wait_seconds:.1} s, longer than {most} s"), wait)
    }

    /// Returns the error of a call that our own limits refuse. The call can be made later, or to another provider.
    pub(super) fn refused(&self, why: &str, wait: Duration) -> Error {
        let message = format!("the client's own limits of `{}`: {why}", self.name);
        Error::new(ErrorKind::RateLimit, message)
            .with_code(CODE)
            .with_retry_after((!wait.is_zero()).then_some(wait))
            .with_hint(
                "nothing was sent; raise the limits, `queue` or `max_wait`, or make fewer calls",
            )
    }
}

impl State {
    fn find(&self, ticket: u64) -> Option<usize> {
        self.queue.binary_search_by_key(&ticket, |waiter| waiter.ticket).ok()
    }

    fn first(&mut self) -> Option<Waker> {
        self.queue.front_mut().and_then(|waiter| waiter.waker.take())
    }

    /// Returns how long a new call would wait at least, if slots were always free. When they will be free is not known.
    fn wait(&self, now: Instant, cost: Cost) -> Duration {
        let mut meter = self.meter;
        let mut at = self.paused_until.unwrap_or(now).max(now);
        for waiter in &self.queue {
            at = meter.ready_at(at, waiter.cost);
            meter.take(at, waiter.cost);
        }
        meter.ready_at(at, cost) - now
    }
}

fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}
