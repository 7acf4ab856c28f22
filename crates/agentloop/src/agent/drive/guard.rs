//! Turns a panic of a tool into a failure of its call.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;

use super::super::tool::{ToolError, ToolOutput};
use crate::transport::BoxFuture;

/// Runs the tool and turns its panics into errors.
///
/// This is unwind safe: the tool shares only state behind locks that a panic cannot leave inconsistent, and the future is
/// not polled again.
pub(super) async fn catch_panics<'a>(
    start: impl FnOnce() -> BoxFuture<'a, Result<ToolOutput, ToolError>>,
) -> Result<ToolOutput, ToolError> {
    let mut future = match catch_unwind(AssertUnwindSafe(start)) {
        Ok(future) => future,
        Err(panic) => return Err(panic_error(panic.as_ref())),
    };
    poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
        Ok(poll) => poll,
        Err(panic) => Poll::Ready(Err(panic_error(panic.as_ref()))),
    })
    .await
}

fn panic_error(panic: &(dyn Any + Send)) -> ToolError {
    let text = panic.downcast_ref::<&'static str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    ToolError::new(match text {
        Some(text) => format!("the tool panicked: {text}"),
        None => "the tool panicked".to_owned(),
    })
}
