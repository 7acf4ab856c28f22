//! The open connections, by origin.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use ::http::uri::Authority;
use ::http::{HeaderValue, Uri};
use tokio::time::Instant;

use super::http1::Http1;
use super::http2::{Http2, Lease};
use super::origin::Origin;
use crate::error::{Error, ErrorKind, Result};
use crate::lock::lock;

/// How many idle HTTP/1.1 connections are kept for one origin. Further ones are closed when they become idle.
pub(super) const MAX_IDLE_PER_HOST: usize = 128;

/// How long an idle connection is kept. Load balancers close theirs after a minute or more, and a connection
/// that is closed while a request is under way costs a round trip.
pub(super) const MAX_IDLE_AGE: Duration = Duration::from_secs(55);

/// How many origins are compared with a URL by their spelling. With more, the origin is parsed and looked up.
const MAX_SPELLINGS: usize = 8;

/// The open connections, by origin.
#[derive(Default)]
pub(super) struct Pool(Mutex<HashMap<Origin, Arc<Host>>>);

/// The connections to one origin.
pub(super) struct Host {
    origin: Origin,
    /// The spelling in its first URL. Further URLs mostly have the same, and need not be parsed.
    spelled: Option<Authority>,
    /// Whether it is this machine.
    here: bool,
    /// The value of the `host` header, after it was needed.
    header: OnceLock<HeaderValue>,
    /// The most recent one is at the end: it is the least likely to have been closed.
    idle: Mutex<Vec<(Http1, Instant)>>,
    shared: Mutex<Vec<Arc<Http2>>>,
    /// Locked while a connection is made that other requests can share.
    pub(super) dialing: Arc<tokio::sync::Mutex<()>>,
    /// Whether the origin supports HTTP/1.1 only, so that requests do not wait for a shared connection.
    http1_only: AtomicBool,
}

impl Pool {
    /// Returns the connections to the origin of `uri`.
    pub(super) fn host(&self, uri: &Uri) -> Result<Arc<Host>> {
        let mut hosts = lock(&self.0);
        if let Some(host) = hosts.values().take(MAX_SPELLINGS).find(|host| host.is_spelled(uri)) {
            return Ok(host.clone());
        }
        let origin = Origin::of(uri)?;
        if let Some(host) = hosts.get(&origin) {
            return Ok(host.clone());
        }
        let host = Arc::new(Host {
            spelled: uri.authority().cloned(),
            here: origin.is_loopback(),
            http1_only: AtomicBool::new(!origin.https),
            origin: origin.clone(),
            header: OnceLock::new(),
            idle: Mutex::default(),
            shared: Mutex::default(),
            dialing: Arc::default(),
        });
        hosts.insert(origin, host.clone());
        Ok(host)
    }

    /// Closes connections that were idle for too long, of all origins. It is called when a connection is made, which is rare and slow, so it
    /// needs no task of its own.
    pub(super) fn sweep(&self) {
        let now = Instant::now();
        let mut closed = Vec::new();
        lock(&self.0).retain(|_, host| {
            closed.push(host.expired(now));
            Arc::strong_count(host) > 1 || !host.is_empty()
        });
    }
}

impl Host {
    fn is_spelled(&self, uri: &Uri) -> bool {
        let scheme = if self.origin.https { "https" } else { "http" };
        uri.scheme_str() == Some(scheme)
            && self.spelled.as_ref().map(Authority::as_str)
                == uri.authority().map(Authority::as_str)
    }

    /// Whether it is this machine.
    #[inline]
    pub(super) fn is_here(&self) -> bool {
        self.here
    }

    #[inline]
    pub(super) fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Returns the value of the `host` header.
    #[inline]
    pub(super) fn header(&self) -> Result<HeaderValue> {
        if let Some(header) = self.header.get() {
            return Ok(header.clone());
        }
        let header = HeaderValue::try_from(self.origin.host_header()).map_err(|error| {
            Error::new(ErrorKind::Config, "the host cannot be sent as a header").with_source(error)
        })?;
        Ok(self.header.get_or_init(|| header).clone())
    }

    pub(super) fn is_http1_only(&self) -> bool {
        self.http1_only.load(Ordering::Relaxed)
    }

    pub(super) fn learn_http1_only(&self, http1_only: bool) {
        self.http1_only.store(http1_only, Ordering::Relaxed);
    }

    /// Takes an idle HTTP/1.1 connection, and returns the time with it. If the server has closed it, the request on it fails before
    /// anything is sent.
    pub(super) fn take_http1(&self) -> Option<(Http1, Instant)> {
        let now = Instant::now();
        loop {
            let (connection, since) = lock(&self.idle).pop()?;
            if now.duration_since(since) < MAX_IDLE_AGE {
                return Some((connection, now));
            }
        }
    }

    /// Keeps a connection for another request.
    pub(super) fn put_http1(&self, connection: Http1) {
        let mut idle = lock(&self.idle);
        if idle.len() < MAX_IDLE_PER_HOST {
            idle.push((connection, Instant::now()));
        }
    }

    /// Closes the idle HTTP/1.1 connections.
    pub(super) fn close_idle(&self) {
        // Not while the lock is held.
        let idle = std::mem::take(&mut *lock(&self.idle));
        drop(idle);
    }

    /// Returns a lease for a stream on an HTTP/2 connection.
    #[inline]
    pub(super) fn lease(&self) -> Option<Lease> {
        let mut shared = lock(&self.shared);
        if shared.is_empty() {
            return None;
        }
        let now = Instant::now();
        let mut index = 0;
        while let Some(connection) = shared.get(index) {
            if !connection.is_usable(now) {
                shared.remove(index);
                continue;
            }
            // The first one with room, so that the last ones become idle when there are fewer requests.
            if let Some(lease) = Http2::lease(connection, true) {
                return Some(lease);
            }
            index += 1;
        }
        None
    }

    /// Shares a connection with further requests.
    pub(super) fn share(&self, connection: Arc<Http2>) {
        lock(&self.shared).push(connection);
    }

    /// Removes connections that were idle for too long. The caller drops them outside of all locks.
    fn expired(&self, now: Instant) -> (Vec<(Http1, Instant)>, Vec<Arc<Http2>>) {
        let is_old = |(_, since): &mut (Http1, Instant)| now.duration_since(*since) >= MAX_IDLE_AGE;
        let idle = lock(&self.idle).extract_if(.., is_old).collect();
        let shared =
            lock(&self.shared).extract_if(.., |connection| connection.is_expired(now)).collect();
        (idle, shared)
    }

    fn is_empty(&self) -> bool {
        lock(&self.idle).is_empty() && lock(&self.shared).is_empty()
    }
}
