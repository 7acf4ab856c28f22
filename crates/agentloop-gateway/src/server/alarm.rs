//! The timer of a connection of HTTP/1.1.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::{Duration, Instant as StdInstant};

use agentloop::internal::lock;
use hyper::rt::{Sleep, Timer};
use tokio::time::{self, Instant};

/// Measures the time that a client takes for the headers of each request, with one timer for all requests of a connection.
///
/// hyper creates a timer for every request and drops it when the headers are there, which is a moment later for a busy connection.
/// This one stays set for the request that set it, and is set again only when it has expired, which is as often as its time passes.
#[derive(Clone, Default)]
pub(super) struct Alarm(Arc<Mutex<Option<Pin<Box<time::Sleep>>>>>);

impl Timer for Alarm {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(self.now() + duration)
    }

    fn sleep_until(&self, deadline: StdInstant) -> Pin<Box<dyn Sleep>> {
        Box::pin(Wait { alarm: self.clone(), due: deadline.into() })
    }

    fn now(&self) -> StdInstant {
        Instant::now().into()
    }
}

/// Ends at a time. Only one of a connection is waited for at the same time.
struct Wait {
    alarm: Alarm,
    due: Instant,
}

impl Future for Wait {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut timer = lock(&self.alarm.0);
        let timer = timer.get_or_insert_with(|| Box::pin(time::sleep_until(self.due)));
        if timer.deadline() > self.due {
            timer.as_mut().reset(self.due);
        }
        while timer.as_mut().poll(context).is_ready() {
            if Instant::now() >= self.due {
                return Poll::Ready(());
            }
            timer.as_mut().reset(self.due);
        }
        Poll::Pending
    }
}

impl Sleep for Wait {}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(30);

    /// Waits until the time of `wait` is over, and returns how long it took.
    async fn rest_of(wait: Pin<Box<dyn Sleep>>) -> Duration {
        let began = Instant::now();
        wait.await;
        began.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn every_wait_ends_after_its_own_time() {
        let alarm = Alarm::default();
        assert_eq!(rest_of(alarm.sleep(LIMIT)).await, LIMIT, "the first one");
        assert_eq!(rest_of(alarm.sleep(LIMIT)).await, LIMIT, "after one that has ended");
        // One that is dropped does not shorten the next, nor make it longer.
        let mut dropped = alarm.sleep(LIMIT);
        let waiting = time::timeout(LIMIT / 3, dropped.as_mut()).await;
        assert!(waiting.is_err());
        drop(dropped);
        assert_eq!(rest_of(alarm.sleep(LIMIT)).await, LIMIT, "after one that was dropped");
        let mut dropped = alarm.sleep(2 * LIMIT);
        assert!(time::timeout(LIMIT / 3, dropped.as_mut()).await.is_err());
        drop(dropped);
        assert_eq!(rest_of(alarm.sleep(LIMIT)).await, LIMIT, "after a longer one");
    }
}
