//! tokio's clock, stopped.

use std::sync::mpsc;

/// Stops tokio's clock until what is returned is dropped: no deadline passes, however long this machine takes.
///
/// The runtime must have one thread. A paused clock moves by itself when all tasks wait, but not while a blocking task runs.
pub(crate) fn stop_clock() -> StoppedClock {
    tokio::time::pause();
    let (end, ended) = mpsc::channel();
    tokio::task::spawn_blocking(move || ended.recv());
    StoppedClock { _end: end }
}

/// Keeps tokio's clock stopped.
pub(crate) struct StoppedClock {
    _end: mpsc::Sender<()>,
}
