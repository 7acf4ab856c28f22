//! Sends one of several equal calls that are made at the same time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use tokio::sync::watch;

use super::CacheKey;

use crate::lock::lock;

/// The calls that are running.
#[derive(Clone, Default)]
pub(super) struct Flights(Arc<Mutex<HashMap<CacheKey, watch::Receiver<Option<Bytes>>>>>);

/// The role of a call among equal calls.
pub(super) enum Seat {
    /// The first call, which is sent.
    Lead(Lead),
    /// A further call, which waits.
    Follow(Follow),
}

impl Flights {
    /// Adds a call to the flight of `key`.
    pub(super) fn board(&self, key: CacheKey) -> Seat {
        let mut flights = self.lock();
        if let Some(response) = flights.get(&key) {
            return Seat::Follow(Follow(response.clone()));
        }
        let (response, followers) = watch::channel(None);
        flights.insert(key, followers);
        Seat::Lead(Lead { flights: self.clone(), key, response })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<CacheKey, watch::Receiver<Option<Bytes>>>> {
        lock(&self.0)
    }
}

/// The call that is sent. When it is dropped, with or without a response, the waiting calls continue.
pub(super) struct Lead {
    flights: Flights,
    key: CacheKey,
    response: watch::Sender<Option<Bytes>>,
}

impl Lead {
    /// Shares the response with all calls of the flight.
    pub(super) fn share(&self, response: Bytes) {
        self.response.send_replace(Some(response));
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        // Removed before the waiting calls wake up, which is when `response` is dropped: the first of them then becomes
        // the leader.
        self.flights.lock().remove(&self.key);
    }
}

/// A call that waits.
pub(super) struct Follow(watch::Receiver<Option<Bytes>>);

impl Follow {
    /// Waits for the response. Returns `None` if the leader got none that can be shared.
    pub(super) async fn response(mut self) -> Option<Bytes> {
        self.0.wait_for(Option::is_some).await.ok().and_then(|response| response.clone())
    }
}
