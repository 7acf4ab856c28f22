//! Several futures at once, without tasks of their own.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

/// Waits for all, and gives their results in the order of the futures.
pub(super) async fn all<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    enum Slot<F: Future> {
        Running(Pin<Box<F>>),
        Done(Option<F::Output>),
    }
    let mut slots: Vec<Slot<F>> =
        futures.into_iter().map(|future| Slot::Running(Box::pin(future))).collect();
    poll_fn(|context| {
        let mut all_done = true;
        for slot in &mut slots {
            if let Slot::Running(future) = slot {
                match future.as_mut().poll(context) {
                    Poll::Ready(output) => *slot = Slot::Done(Some(output)),
                    Poll::Pending => all_done = false,
                }
            }
        }
        if all_done { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    let done = slots.into_iter().filter_map(|slot| match slot {
        Slot::Done(output) => output,
        Slot::Running(_) => None,
    });
    done.collect()
}
