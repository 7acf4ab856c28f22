//! Why a request is refused: limits and budgets.

use std::time::Duration;

use agentloop::{Error, ErrorKind, Protocol, Usd};
use http::StatusCode;

use super::scope::{Scope, Short, Wait};
use super::window;
use crate::call::own;
use crate::store::Limits;

/// The wait that is proposed when too many requests are in progress: how long they take is not known.
const BUSY: Duration = Duration::from_secs(1);

fn named(scope: &Scope) -> String {
    match scope {
        Scope::Key(name) => format!("the API key `{name}`"),
        Scope::Team(name) => format!("the team `{name}`"),
    }
}

/// Returns the error of a request over a limit. It can be sent again after a while.
pub(super) fn over_limit(scope: &Scope, limits: &Limits, wait: Wait) -> Error {
    let who = named(scope);
    let (wait, what) = match wait {
        Wait::Running => {
            let most = limits.concurrency.unwrap_or_default();
            (BUSY, format!("{who} may have {most} requests in progress at the same time"))
        }
        Wait::Requests(wait) => {
            let most = limits.requests_per_minute.unwrap_or_default();
            (wait, format!("{who} may send {most} requests per minute"))
        }
        Wait::Tokens(wait) => {
            let most = limits.tokens_per_minute.unwrap_or_default();
            (wait, format!("{who} may use {most} tokens per minute"))
        }
    };
    // Rounded up, as the header is.
    let seconds = wait.as_millis().div_ceil(1_000);
    let message = format!("{what}; try again in {seconds} s");
    own(StatusCode::TOO_MANY_REQUESTS, "rate_limit_exceeded", message).with_retry_after(Some(wait))
}

/// Returns the error of a request for which a budget has not enough left. It cannot succeed soon, so clients must not repeat it:
/// callers of the Responses API recognise that by one code, all others by the status.
pub(super) fn over_budget(scope: &Scope, short: &Short, amount: Usd, protocol: Protocol) -> Error {
    let period = short.budget.per;
    let per = match window::next(period, short.start) {
        Some(_) => format!("per {}", period.as_str()),
        None => "in total".to_owned(),
    };
    let until = match window::next(period, short.start) {
        Some(next) => format!(" until {} 00:00 UTC", window::day_name(next)),
        None => String::new(),
    };
    let message = format!(
        "the budget of {} is {} USD {per}: {} USD is left{until}, and this request can cost up to {amount} USD; limit the length of the response, or ask the operator for a larger budget",
        named(scope),
        short.budget.usd,
        short.left,
    );
    match protocol {
        Protocol::OpenAiResponses => Error::new(ErrorKind::Quota, message)
            .with_status(429)
            .with_code("insufficient_quota")
            .with_retryable(false),
        _ => Error::new(ErrorKind::SpendingLimit, message)
            .with_status(402)
            .with_code("budget_exceeded"),
    }
}

/// Returns the error of a model without a price, for a key with a budget.
pub(super) fn without_price(model: &str) -> Error {
    let message = format!(
        "the price of `{model}` is not known, so the budget of this API key cannot be applied; the operator can set the price in `[models]` of agentloop.toml, or `allow_unpriced` in `[gateway.ledger]`"
    );
    own(StatusCode::FORBIDDEN, "model_without_price", message)
}

/// Returns the error of a request for which it is not known what other gateways use. It can be sent again soon.
pub(super) fn others_unknown() -> Error {
    let message = "the limits of this API key cannot be checked, because what other gateways use is not known; try again in 1 s";
    own(StatusCode::SERVICE_UNAVAILABLE, "limits_unavailable", message).with_retry_after(Some(BUSY))
}

/// Returns the error of a request whose cost cannot be recorded.
pub(super) fn not_recorded(error: &Error) -> Error {
    let message = format!("the gateway cannot record what this request costs: {}", error.message());
    own(StatusCode::SERVICE_UNAVAILABLE, "ledger_unavailable", message)
}
