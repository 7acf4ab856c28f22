//! Panics that end the work that panicked, and nothing else.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Polls a future, and turns its panic into what it said. The future must not be polled again after that.
///
/// This is unwind safe for futures that share only state behind locks that a panic cannot leave inconsistent.
pub fn poll_contained<F: Future + ?Sized>(
    future: Pin<&mut F>,
    context: &mut Context<'_>,
) -> Poll<Result<F::Output, String>> {
    match catch_unwind(AssertUnwindSafe(|| future.poll(context))) {
        Ok(poll) => poll.map(Ok),
        Err(panic) => Poll::Ready(Err(said(panic.as_ref()))),
    }
}

/// Runs a future, and turns its panic into what it said, as [`poll_contained`] does.
///
/// # Errors
///
/// When it panicked.
pub async fn contained<F: Future>(future: F) -> Result<F::Output, String> {
    let mut future = Box::pin(future);
    poll_fn(|context| poll_contained(future.as_mut(), context)).await
}

fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&'static str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("without a message").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_what_it_said_and_everything_else_is_the_result() {
        assert_eq!(contained(async { 1 }).await, Ok(1));
        let late = async {
            tokio::task::yield_now().await;
            panic!("number {}", 7);
        };
        let (now, other): (Result<(), _>, Result<(), _>) =
            (contained(async { panic!("at once") }).await, contained(late).await);
        assert_eq!((now, other), (Err("at once".to_owned()), Err("number 7".to_owned())));
        let odd: Result<(), _> = contained(async { std::panic::panic_any(7) }).await;
        assert_eq!(odd, Err("without a message".to_owned()));
    }
}
