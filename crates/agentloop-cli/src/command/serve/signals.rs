//! The signals that the gateway handles.
//!
//! They are handled from the moment that the values are created, so that a signal right after the start does not kill the
//! process while it serves requests.

use std::io;

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that end the gateway: Ctrl-C and SIGTERM.
pub(super) struct Stop {
    #[cfg(unix)]
    interrupt: Signal,
    #[cfg(unix)]
    terminate: Signal,
}

impl Stop {
    /// Handles the signals from now on.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            #[cfg(unix)]
            interrupt: signal(SignalKind::interrupt())?,
            #[cfg(unix)]
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for the next of them.
    pub(super) async fn wait(&mut self) {
        #[cfg(unix)]
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
        #[cfg(not(unix))]
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// The signal SIGHUP.
pub(super) struct Hangup(#[cfg(unix)] Option<Signal>);

impl Hangup {
    pub(super) fn new() -> Self {
        #[cfg(unix)]
        {
            Self(signal(SignalKind::hangup()).ok())
        }
        #[cfg(not(unix))]
        Self()
    }

    /// Waits for the signal.
    pub(super) async fn wait(&mut self) {
        #[cfg(unix)]
        if let Some(signal) = &mut self.0 {
            signal.recv().await;
            return;
        }
        std::future::pending::<()>().await;
    }
}
