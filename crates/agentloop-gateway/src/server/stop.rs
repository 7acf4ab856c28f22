//! Connections that end when the server stops.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Poll, Waker};

use tokio::sync::watch;

use crate::connections::Usage;

/// Waits until the server stops.
pub(super) async fn wait_for_stop(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

/// Runs a connection until it ends, is asked to end, or the server stops. Returns whether it has ended.
///
/// It is polled several times for every request. Waiting for the stop takes a lock that all connections share, so it is done once for each
/// waker, and then only if there is something new.
pub(super) async fn until_stop<F: Future>(
    mut serving: Pin<&mut F>,
    stop: &mut watch::Receiver<bool>,
    usage: &Usage,
) -> bool {
    let news = stop.clone();
    let mut stopping = pin!(async {
        tokio::select! {
            () = wait_for_stop(stop) => {}
            () = usage.wait_for_end() => {}
        }
    });
    let mut waker: Option<Waker> = None;
    poll_fn(|context| {
        if serving.as_mut().poll(context).is_ready() {
            return Poll::Ready(true);
        }
        let is_known = waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker()));
        if is_known && !usage.is_ending() && matches!(news.has_changed(), Ok(false)) {
            return Poll::Pending;
        }
        waker = Some(context.waker().clone());
        stopping.as_mut().poll(context).map(|()| false)
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// A connection that never ends, and counts how often it is polled.
    async fn connection(polls: Arc<AtomicUsize>) {
        poll_fn(|_| {
            polls.fetch_add(1, Ordering::SeqCst);
            Poll::<()>::Pending
        })
        .await;
    }

    #[tokio::test]
    async fn a_connection_learns_of_a_stop_before_during_and_after_it_was_polled() {
        for wait in [0, 1, 3] {
            let (sender, mut stop) = watch::channel(false);
            let polls = Arc::new(AtomicUsize::new(0));
            let seen = Arc::clone(&polls);
            if wait == 0 {
                sender.send(true).unwrap();
            }
            let running = tokio::spawn(async move {
                let mut serving = pin!(connection(seen));
                until_stop(serving.as_mut(), &mut stop, &Usage::default()).await
            });
            for _ in 0..wait {
                tokio::task::yield_now().await;
            }
            sender.send(true).unwrap();
            assert!(!running.await.unwrap());
            assert!(polls.load(Ordering::SeqCst) >= 1);
        }
    }

    #[tokio::test]
    async fn a_connection_that_is_moved_to_another_task_learns_of_a_stop() {
        let (sender, mut stop) = watch::channel(false);
        let polls = Arc::new(AtomicUsize::new(0));
        let mut running = Box::pin(async move {
            let mut serving = pin!(connection(polls));
            until_stop(serving.as_mut(), &mut stop, &Usage::default()).await
        });
        let first = poll_fn(|context| Poll::Ready(running.as_mut().poll(context)));
        assert!(first.await.is_pending());
        let moved = tokio::spawn(running);
        tokio::task::yield_now().await;
        sender.send(true).unwrap();
        assert!(!moved.await.unwrap());
    }

    #[tokio::test]
    async fn a_server_that_is_dropped_ends_its_connections() {
        let (sender, mut stop) = watch::channel(false);
        let running = tokio::spawn(async move {
            let mut serving = pin!(connection(Arc::default()));
            until_stop(serving.as_mut(), &mut stop, &Usage::default()).await
        });
        tokio::task::yield_now().await;
        drop(sender);
        assert!(!running.await.unwrap());
    }

    #[tokio::test]
    async fn a_connection_that_ends_is_not_stopped() {
        let (_sender, mut stop) = watch::channel(false);
        let mut serving = pin!(tokio::task::yield_now());
        assert!(until_stop(serving.as_mut(), &mut stop, &Usage::default()).await);
    }
}
