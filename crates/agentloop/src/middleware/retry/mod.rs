//! Tries again.

mod backoff;
mod budget;
mod config;
mod earlier;
mod jitter;
mod policy;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

pub use backoff::Backoff;
pub use budget::RetryBudget;
pub(crate) use config::RetryTable;
pub use jitter::Jitter;

use earlier::{Earlier, Stop};
use policy::Policy;

use super::settle::{warned, whole};
use crate::error::{Error, Result};
use crate::middleware::{Answer, Middleware, Next, Request};
use crate::transport::BoxFuture;

/// Tries again what may succeed later.
///
/// - Which errors: [`Error::is_retryable`], in which a host's `x-should-retry` has the first word, unless
///   [`policy`](Self::policy) says otherwise. Quota, billing and cancellation never, whatever a policy or a host says.
/// - How long it waits: as long as the provider asks, else by [`backoff`](Self::backoff) with full jitter. A provider that
///   asks for more than [`max_wait`](Self::max_wait) is not waited for: the call fails at once, and the error's hint says
///   how long it asked for. Dropping the call ends the wait.
/// - How often: [`max_retries`](Self::max_retries) for one call, [`total`](Self::total) in time, and if one is given a
///   [`budget`](Self::budget) over all calls.
/// - A stream is tried again only before its first content, so that its reader sees one `message.start`. An answer that is
///   wanted whole is read to its end first: one that breaks off in the middle is tried again too. Embeddings that need
///   several calls are tried again as a whole.
/// - [`Timeouts`](crate::Timeouts) are those of one try.
///
/// An answer that took several tries has a warning of the kind [`Retried`](crate::WarningKind::Retried), which says why. When all
/// tries fail, the last error is told, with those before it in [`Error::causes`].
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
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Retrying<'a> {
    /// Which try has failed, the first being 1.
    pub attempt: u32,
    /// Why.
    pub error: &'a Error,
    /// How long it will be waited now.
    pub wait: Duration,
    /// The model that was asked, as `provider/model`.
    pub model: &'a str,
}

impl Retry {
    /// Two retries, backoff from half a second to 8, at most a minute of waiting for one, no retry that would begin more
    /// than 15 minutes after the call, no budget over all calls.
    ///
    /// There is no such budget unless one is given, because being told to come back later is the daily bread of these
    /// APIs: a batch of calls that are all told so should all come back.
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

    /// How many tries are made after the first; 0 is none.
    pub fn max_retries(mut self, retries: u32) -> Self {
        self.max_retries = retries;
        self
    }

    /// How long to wait where the provider does not say.
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.backoff = backoff;
        self
    }

    /// Where below the backoff's ceiling a wait lies. A test fixes it.
    pub fn jitter(mut self, jitter: Jitter) -> Self {
        self.jitter = jitter;
        self
    }

    /// Which errors are worth another try, in place of [`Error::is_retryable`]. Quota, billing and cancellation never
    /// are, and are not even asked about.
    pub fn policy(mut self, allows: impl Fn(&Error) -> bool + Send + Sync + 'static) -> Self {
        self.policy = Policy::new(allows);
        self
    }

    /// The longest wait that a provider may ask for.
    pub fn max_wait(mut self, wait: Duration) -> Self {
        self.max_wait = wait;
        self
    }

    /// Until how long after the call a retry may begin, tries and waits counted; `None` is for ever. A try that has begun
    /// is not cut short: that is what [`Timeouts`](crate::Timeouts) are for.
    pub fn total(mut self, total: impl Into<Option<Duration>>) -> Self {
        self.total = total.into();
        self
    }

    /// How many retries all calls together may make.
    pub fn budget(mut self, budget: RetryBudget) -> Self {
        self.budget = Some(budget);
        self
    }

    /// Calls a function before each wait.
    pub fn on_retry(mut self, hook: impl Fn(&Retrying<'_>) + Send + Sync + 'static) -> Self {
        self.on_retry = Some(Arc::new(hook));
        self
    }

    /// How long to wait before the next try, if there is one.
    fn wait(&self, error: &Error, retry: u32, began: Instant) -> Result<Duration, Stop> {
        if !self.policy.allows(error) {
            return Err(Stop::Enough);
        }
        // To be asked to wait for no time is not to be asked.
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
    fn call<'a>(&'a self, mut request: Request, next: Next) -> BoxFuture<'a, Result<Answer>> {
        Box::pin(async move {
            let began = Instant::now();
            if let Some(budget) = &self.budget {
                budget.call();
            }
            let wanted_whole = matches!(request, Request::Chat(_));
            let mut earlier = Earlier::default();
            let mut retry = 0;
            loop {
                let again = (retry < self.max_retries).then(|| request.clone());
                let answer = match next.run(request).await {
                    Ok(Answer::Events(events)) if wanted_whole => {
                        whole(events).await.map(Answer::Events)
                    }
                    answer => answer,
                };
                let error = match answer {
                    Ok(answer) => return Ok(warned(answer, earlier.told(retry + 1))),
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
                // Apart, so that a call that need not wait carries no timer.
                Box::pin(tokio::time::sleep(wait)).await;
            }
        })
    }

    fn sees_steps(&self) -> bool {
        false
    }
}

impl fmt::Debug for Retry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retry")
            .field("max_retries", &self.max_retries)
            .field("backoff", &self.backoff)
            .field("max_wait", &self.max_wait)
            .field("total", &self.total)
            .field("budget", &self.budget)
            .finish_non_exhaustive()
    }
}
