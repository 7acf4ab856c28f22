//! A tool that panics is a tool that failed.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;

use super::super::tool::{ToolError, ToolOutput};
use crate::transport::BoxFuture;

/// Runs the tool, and turns its panics into errors.
///
/// Nothing of the run's own is shared with the tool but what is behind locks that a panic cannot leave half changed, and
/// the future is not polled again.
pub(super) async fn guarded<'a>(
    start: impl FnOnce() -> BoxFuture<'a, Result<ToolOutput, ToolError>>,
) -> Result<ToolOutput, ToolError> {
    let mut future = match catch_unwind(AssertUnwindSafe(start)) {
        Ok(future) => future,
        Err(panic) => return Err(panicked(panic.as_ref())),
    };
    poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
        Ok(poll) => poll,
        Err(panic) => Poll::Ready(Err(panicked(panic.as_ref()))),
    })
    .await
}

fn panicked(panic: &(dyn Any + Send)) -> ToolError {
    let text = panic.downcast_ref::<&'static str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    ToolError::new(match text {
        Some(text) => format!("the tool broke down: {text}"),
        None => "the tool broke down".to_owned(),
    })
}
