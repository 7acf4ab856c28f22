//! Tries one model and key after another, until one responds.

use std::time::Duration;

use agentloop::relay::RelayError;
use agentloop::{Error, ErrorKind};

use super::Call;
use crate::account::{Estimate, Hold};
use crate::route::{Blame, Busy, Member, Plan, blame};

/// The longest wait before the same provider is called again. If it asks for more, the client gets the error.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// The wait before the first retry of the same provider; it doubles each time.
const FIRST_WAIT: Duration = Duration::from_millis(250);

/// The most calls that are made for one request.
const MAX_ATTEMPTS: usize = 16;

/// The calls that are made for one request.
pub(crate) struct Attempts {
    plan: Plan,
    tried: Vec<bool>,
    next: usize,
    wait: Duration,
    /// How many calls were made.
    pub(crate) count: u32,
}

impl Attempts {
    pub(crate) fn new(plan: Plan) -> Self {
        let tried = vec![false; plan.members.len()];
        Self { plan, tried, next: 0, wait: FIRST_WAIT, count: 0 }
    }

    /// Returns the model and the key of the next call.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub(crate) fn begin(&mut self) -> Result<(Member, Busy), RelayError> {
        let Some(member) = self.plan.members.get(self.next) else {
            return Err(Error::new(ErrorKind::Config, "the route has no model").into());
        };
        self.tried[self.next] = true;
        self.count += 1;
        Ok((member.clone(), member.begin()))
    }

    /// Returns the model and the key of the next call, and a reservation for it: every request that a provider may charge for
    /// has one.
    ///
    /// # Errors
    ///
    /// When there is no next call, or when a budget does not allow it.
    pub(super) async fn reserve(
        &mut self,
        call: &Call,
        estimate: &Estimate,
    ) -> Result<(Member, Busy, Hold), RelayError> {
        let (member, busy) = self.begin()?;
        match call.reserve(&member, estimate).await {
            Ok(hold) => Ok((member, busy, hold)),
            Err(error) => {
                // It was not called.
                self.count -= 1;
                Err(error.into())
            }
        }
    }

    /// Records how a call ended, and returns its result. Returns `None` after the wait for the next call.
    ///
    /// # Errors
    ///
    /// The error of the call, if another call cannot help.
    pub(super) async fn settle<T>(
        &mut self,
        member: &Member,
        hold: Hold,
        result: Result<T, RelayError>,
    ) -> Result<Option<(T, Hold)>, RelayError> {
        match result {
            Ok(begun) => {
                member.succeeded();
                Ok(Some((begun, hold)))
            }
            Err(failed) => {
                hold.fail(&failed.error);
                // In a box, because most calls do not fail.
                Box::pin(self.failed(member, failed)).await.map(|()| None)
            }
        }
    }

    /// Records a call that failed, and waits until the next one.
    ///
    /// # Errors
    ///
    /// The error of the call, if another call cannot help.
    pub(crate) async fn failed(
        &mut self,
        member: &Member,
        failed: RelayError,
    ) -> Result<(), RelayError> {
        member.failed(&failed.error);
        let members = &self.plan.members;
        let total = (members.len() + self.plan.options.retries as usize).min(MAX_ATTEMPTS);
        if self.count as usize >= total || !can_help(&failed.error, members.len() > 1) {
            return Err(failed);
        }
        let is_provider = blame(&failed.error) == Blame::Provider;
        let untried = |other_provider: bool| {
            let of_other = |at: &usize| members[*at].provider() != member.provider();
            let free = |at: &usize| !self.tried[*at] && (!other_provider || of_other(at));
            (0..members.len()).find(free)
        };
        if let Some(other) = untried(is_provider).or_else(|| untried(false)) {
            self.next = other;
            return Ok(());
        }
        // The same again, after a while.
        let asked = failed.error.retry_after().unwrap_or(self.wait);
        if !failed.error.is_retryable() || asked > MAX_WAIT {
            return Err(failed);
        }
        tokio::time::sleep(asked).await;
        self.wait = (self.wait * 2).min(MAX_WAIT);
        self.tried.iter_mut().for_each(|tried| *tried = false);
        self.next = 0;
        Ok(())
    }
}

/// Returns whether another call may succeed: of the same model, or of another one if there is one.
fn can_help(error: &Error, has_others: bool) -> bool {
    match error.kind() {
        ErrorKind::Auth
        | ErrorKind::MissingKey
        | ErrorKind::Quota
        | ErrorKind::ContextLength
        | ErrorKind::NotFound => has_others,
        _ => error.is_retryable(),
    }
}
