//! Repeats calls that failed.

mod backoff;
mod budget;
#[cfg(feature = "config")]
pub(super) mod config;
mod earlier;
mod jitter;
mod policy;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

pub use backoff::Backoff;
pub use budget::RetryBudget;
pub use jitter::Jitter;

use earlier::{Earlier, Stop};
use policy::Policy;

use super::settle::{add_warnings, read_to_end};
use crate::error::{Error, Result};
use crate::middleware::{Middleware, Next, Request, Response};
use crate::transport::BoxFuture;

/// Repeats a call that failed with an error that may not last.
///
/// - It retries errors that are [retryable](Error::is_retryable), for which a provider's `x-should-retry` header is decisive, or those that
///   [`policy`](Self::policy) allows. Quota, billing and cancellation are never retried, whatever a policy or a provider says.
/// - It waits as long as the provider asks, else by [`backoff`](Self::backoff) with full jitter. If a provider asks for more than
///   [`max_wait`](Self::max_wait), the call fails at once, and the hint of the error contains the wait that the provider asked for. Dropping
///   the call ends the wait.
/// - [`max_retries`](Self::max_retries) limits the retries of one call, [`total`](Self::total) their time, and a
///   [`budget`](Self::budget) the retries of all calls together.
/// - A stream is retried only before its first content, so its reader sees one `message.start`. A complete response is read to its
///   end first, so it is also retried if it is cut off. Embeddings that need several calls are retried together.
/// - [`Timeouts`](crate::Timeouts) apply to each attempt.
///
/// A response that took several attempts has a warning of the kind [`Retried`](crate::WarningKind::Retried) with the reasons. If all
/// attempts fail, the call fails with the last error, which has the earlier ones in [`Error::causes`].
///
/// ```
/// use std::time::Duration;
/// use agentloop::AgentLoop;
/// use agentloop::middleware::{Backoff, Retry};
///
/// let retry = Retry::new()
///     .max_retries(3)
///     .backoff(Backoff::exponential(Duration::from_millis(200), 2.0, Duration::from_secs(5)))
///     .on_retry(|retry| eprintln!("{}: {}, again in {:?}", retry.model, retry.error, retry.wait));
/// let ai = AgentLoop::builder().layer(retry).build()?;
/// # Ok::<(), agentloop::Error>(())
/// ```
#[derive(Clone)]
#[must_use]
pub struct Retry {
    max_retries: u32,
    backoff: Backoff,
    jitter: Jitter,
    policy: Policy,
    max_wait: Duration,
    total: Option<Duration>,
    budget: Option<RetryBudget>,
    on_retry: Option<Arc<Hook>>,
}

type Hook = dyn Fn(&Retrying<'_>) + Send + Sync;

/// A retry that is about to be made, as [`Retry::on_retry`] sees it.
///
/// ```
/// use agentloop::middleware::Retry;
///
/// let retry = Retry::new().on_retry(|next| eprintln!("attempt {} in {:?}: {}", next.attempt, next.wait, next.error));
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Retrying<'a> {
    /// The number of the attempt that failed. The first is 1.
    pub attempt: u32,
    /// The error.
    pub error: &'a Error,
    /// The wait before the next attempt.
    pub wait: Duration,
    /// The model, as `provider/model`.
    pub model: &'a str,
}

impl Retry {
    /// Retries twice, with a backoff from half a second to 8 seconds. It waits at most a minute for one retry, and starts none more than
    /// 15 minutes after the call.
    ///
    /// There is no budget over all calls by default. These APIs often ask clients to wait, and a batch of calls that all have to
    /// wait should all be retried.
    pub fn new() -> Self {
        Self {
            max_retries: 2,
            backoff: Backoff::default(),
            jitter: Jitter::full(),
            policy: Policy::default(),
            max_wait: Duration::from_secs(60),
            total: Some(Duration::from_secs(15 * 60)),
            budget: None,
            on_retry: None,
        }
    }

    setters! {
        /// Sets how many attempts follow the first. 0 disables retries.
        max_retries(self, retries: u32) => self.max_retries = retries;

        /// Sets the waits if the provider does not ask for one.
        backoff(self, backoff: Backoff) => self.backoff = backoff;

        /// Sets how a wait below the backoff's ceiling is chosen. Tests can fix it.
        jitter(self, jitter: Jitter) => self.jitter = jitter;

        /// Sets which errors are retried, instead of those that are [retryable](Error::is_retryable). The function is not called for quota, billing
        /// and cancellation, which are never retried.
        policy(self, allows: impl Fn(&Error) -> bool + Send + Sync + 'static) =>
            self.policy = Policy::new(allows);

        /// Sets the longest wait that a provider may ask for.
        max_wait(self, wait: Duration) => self.max_wait = wait;

        /// Sets how long after the call a retry may still start. `None` means no limit. An attempt that has started is not cut short;
        /// [`Timeouts`](crate::Timeouts) do that.
        total(self, total: impl Into<Option<Duration>>) => self.total = total.into();

        /// Limits the retries of all calls together.
        budget(budget: RetryBudget);

        /// Calls a function before each wait.
        on_retry(self, hook: impl Fn(&Retrying<'_>) + Send + Sync + 'static) =>
            self.on_retry = Some(Arc::new(hook));
    }

    /// Returns the wait before the next attempt, or why there is none.
    fn wait(&self, error: &Error, retry: u32, began: Instant) -> Result<Duration, Stop> {
        if !self.policy.allows(error) {
            return Err(Stop::Enough);
        }
        // A wait of zero counts as none.
        let wait = match error.retry_after().filter(|wait| !wait.is_zero()) {
            Some(asked) if asked > self.max_wait => {
                return Err(Stop::Asks { asked, most: self.max_wait });
            }
            Some(asked) => asked,
            None => self.jitter.wait(self.backoff.ceiling(retry)).min(self.max_wait),
        };
        if let Some(total) =
            self.total.filter(|total| began.elapsed().saturating_add(wait) > *total)
        {
            return Err(Stop::Late(total));
        }
        match &self.budget {
            Some(budget) if !budget.take() => Err(Stop::Spent),
            _ => Ok(wait),
        }
    }
}

impl Default for Retry {
    fn default() -> Self {
        Self::new()
    }
}

impl Middleware for Retry {
    fn call<'a>(&'a self, mut request: Request, next: Next) -> BoxFuture<'a, Result<Response>> {
        Box::pin(async move {
            let began = Instant::now();
            if let Some(budget) = &self.budget {
                budget.call();
            }
            let is_chat = matches!(request, Request::Chat(_));
            let mut earlier = Earlier::default();
            let mut retry = 0;
            loop {
                let again = (retry < self.max_retries).then(|| request.clone());
                let response = match next.run(request).await {
                    Ok(Response::Events(events)) if is_chat => {
                        read_to_end(events).await.map(Response::Events)
                    }
                    response => response,
                };
                let error = match response {
                    Ok(response) => return Ok(add_warnings(response, earlier.warnings(retry + 1))),
                    Err(error) => error,
                };
                let Some(again) = again else {
                    return Err(earlier.end(error, Stop::Enough));
                };
                let wait = match self.wait(&error, retry, began) {
                    Ok(wait) => wait,
                    Err(stop) => return Err(earlier.end(error, stop)),
                };
                retry += 1;
                let model = next.full_name(again.model());
                if let Some(hook) = &self.on_retry {
                    hook(&Retrying { attempt: retry, error: &error, wait, model: &model });
                }
                earlier.add(model, error);
                request = again;
                // Boxed, so the future of a call that does not wait does not reserve space for a timer.
                Box::pin(tokio::time::sleep(wait)).await;
            }
        })
    }

    fn needs_events(&self) -> bool {
        false
    }
}

shown! {
    Retry: self {
        max_retries: self.max_retries,
        backoff: self.backoff,
        max_wait: self.max_wait,
        total: self.total,
        budget: self.budget,
    }
}
