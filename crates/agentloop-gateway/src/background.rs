//! Tasks that run as long as the gateway does.

use std::time::Duration;

use agentloop::internal::contained;

/// How long a task that panicked waits before it starts again.
const RESTART_WAIT: Duration = Duration::from_secs(1);

/// Runs a task to its end. If it panics, the panic is logged, and it starts again: without the task that stores rows or reads keys a
/// gateway would look healthy and stop doing so.
pub(crate) async fn keep_running<F: Future<Output = ()>>(
    name: &'static str,
    mut start: impl FnMut() -> F,
) {
    while let Err(said) = contained(start()).await {
        tracing::error!(name, said, "a task of the gateway panicked and starts again");
        tokio::time::sleep(RESTART_WAIT).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_task_that_panics_starts_again_until_it_ends() {
        let mut starts = 0;
        let task = keep_running("test", || {
            starts += 1;
            let start = starts;
            async move {
                tokio::task::yield_now().await;
                assert_eq!(start, 3, "not yet");
            }
        });
        task.await;
        assert_eq!(starts, 3);
    }
}
