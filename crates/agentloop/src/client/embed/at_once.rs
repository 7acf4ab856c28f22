//! Runs a few calls at once, without spawning tasks.

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};

use crate::error::Result;
use crate::pace;

/// Starts `call(0)`, `call(1)`, … up to `count`, in that order and at most `limit` at once, and passes each result to
/// `take` as it arrives. The first error is returned, and the other calls are cancelled.
pub(super) async fn run<T, F: Future<Output = Result<T>>>(
    count: usize,
    limit: usize,
    mut call: impl FnMut(usize) -> F,
    mut take: impl FnMut(usize, T),
) -> Result<()> {
    let calls = stream::iter(0..count).map(|at| {
        let call = call(at);
        async move { call.await.map(|value| (at, value)) }
    });
    let mut ended = std::pin::pin!(calls.buffer_unordered(limit.max(1)));
    while let Some((at, value)) = ended.try_next().await? {
        take(at, value);
        // Lets the runtime run other tasks: a batch may be large, and the next one may be ready already.
        pace::pause().await;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use crate::error::{Error, ErrorKind};

    fn clock() -> tokio::runtime::Runtime {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_time().start_paused(true).build().unwrap()
    }

    proptest! {
        #[test]
        fn each_call_is_made_once_and_at_most_limit_calls_run_at_once(
            waits in prop::collection::vec(0_u64..5, 0..60),
            limit in 0_usize..9,
        ) {
            let (busy, busiest) = (Cell::new(0), Cell::new(0));
            let mut started = Vec::new();
            let mut ended = Vec::new();
            let call = |at: usize| {
                started.push(at);
                let (wait, busy, busiest) = (waits[at], &busy, &busiest);
                async move {
                    busy.set(busy.get() + 1);
                    busiest.set(busy.get().max(busiest.get()));
                    if wait > 0 {
                        tokio::time::sleep(Duration::from_millis(wait)).await;
                    }
                    busy.set(busy.get() - 1);
                    Ok(at * 10)
                }
            };
            clock().block_on(run(waits.len(), limit, call, |at, value| ended.push((at, value)))).unwrap();
            ended.sort_unstable();
            let all: Vec<usize> = (0..waits.len()).collect();
            prop_assert_eq!(&started, &all);
            prop_assert_eq!(ended, all.iter().map(|at| (*at, at * 10)).collect::<Vec<_>>());
            prop_assert!(busiest.get() <= limit.max(1));
            if waits.iter().all(|wait| *wait > 0) {
                prop_assert_eq!(busiest.get(), limit.max(1).min(waits.len()));
            }
        }
    }

    #[test]
    fn the_first_error_cancels_the_other_calls() {
        let mut started = 0;
        let call = |at: usize| {
            started += 1;
            async move {
                tokio::time::sleep(Duration::from_secs(if at == 1 { 1 } else { 60 })).await;
                Err::<(), _>(Error::new(ErrorKind::Server, at.to_string()))
            }
        };
        let error = clock().block_on(run(100, 3, call, |_, ()| {})).unwrap_err();
        assert_eq!((error.message(), started), ("1", 3));
    }
}
