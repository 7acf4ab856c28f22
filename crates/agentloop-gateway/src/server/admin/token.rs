//! The token of the admin listener.
//!
//! A right token is accepted at once, whatever else happens: no number of wrong ones, from any address, delays or locks out an operator. So
//! wrong tokens are counted for the whole listener, which takes one number, and each is answered later than the one before. Counting
//! per IP address was rejected: behind a proxy all clients have the same one, and a stranger may have as many as there are.

use std::sync::Mutex;
use std::time::Duration;

use agentloop::internal::lock;
use agentloop::protocol::serve::shown_key;
use agentloop::{Error, ErrorKind, Result, Secret};
use http::header::WWW_AUTHENTICATE;
use http::{HeaderMap, StatusCode};
use ring::digest::{SHA256, digest};
use tokio::time::Instant;

use super::reply::{Problem, problem};

/// The fewest bytes of a token of the admin listener.
pub const MIN_ADMIN_TOKEN_BYTES: usize = 16;

/// How long the response to a wrong token is delayed. Each further one takes twice as long.
const FIRST_DELAY: Duration = Duration::from_millis(100);

/// The longest delay of the response to a wrong token.
const MAX_DELAY: Duration = Duration::from_secs(5);

/// How many times the delay is doubled at most.
const MAX_DOUBLINGS: u32 = 6;

/// The time without a wrong token after which the delay is half as long.
const CALM: Duration = Duration::from_secs(10);

/// Checks that a token cannot be guessed.
///
/// ```
/// use agentloop_gateway::check_admin_token;
///
/// assert!(check_admin_token(&"x".into()).is_err());
/// assert!(check_admin_token(&"0d5a1c6f2b7e49830d5a1c6f2b7e4983".into()).is_ok());
/// ```
///
/// # Errors
///
/// When it has less than [`MIN_ADMIN_TOKEN_BYTES`].
pub fn check_admin_token(token: &Secret) -> Result<()> {
    let length = token.expose().len();
    if length >= MIN_ADMIN_TOKEN_BYTES {
        return Ok(());
    }
    let message = format!(
        "the token of the admin listener has {length} characters; at least {MIN_ADMIN_TOKEN_BYTES} are needed"
    );
    Err(Error::new(ErrorKind::Config, message).with_hint("make one with `openssl rand -hex 24`"))
}

/// The token that requests must show, if there is one.
#[derive(Debug)]
pub(super) struct Gate {
    token: Option<Secret>,
    wrong: Mutex<Wrong>,
}

/// The wrong tokens of the last time.
#[derive(Debug)]
struct Wrong {
    /// How many there were; every [`CALM`] takes one away.
    count: u32,
    last: Instant,
}

impl Gate {
    pub(super) fn new(token: Option<Secret>) -> Self {
        Self { token, wrong: Mutex::new(Wrong { count: 0, last: Instant::now() }) }
    }

    /// Returns whether everyone may pass.
    pub(super) fn is_open(&self) -> bool {
        self.token.is_none()
    }

    /// Checks the token of a request. The refusal of a wrong one comes late.
    pub(super) async fn check(&self, headers: &HeaderMap) -> Result<(), Problem> {
        let shown = shown_key(headers);
        if is_allowed(self.token.as_ref(), shown) {
            return Ok(());
        }
        // A request without a token guesses nothing: the page sends one to learn whether it needs a token.
        if shown.is_some() {
            tokio::time::sleep(self.count_wrong()).await;
        }
        let message = "send the admin token as `Authorization: Bearer`";
        let refused = problem(StatusCode::UNAUTHORIZED, "invalid_token", message);
        Err(refused.with_header(WWW_AUTHENTICATE, "Bearer"))
    }

    /// Counts a wrong token, and returns how long its response is delayed.
    fn count_wrong(&self) -> Duration {
        let mut wrong = lock(&self.wrong);
        let now = Instant::now();
        let calm = now.duration_since(wrong.last).as_secs() / CALM.as_secs();
        let left = wrong.count.saturating_sub(u32::try_from(calm).unwrap_or(u32::MAX));
        *wrong = Wrong { count: (left + 1).min(MAX_DOUBLINGS + 1), last: now };
        (FIRST_DELAY * 2_u32.pow(left.min(MAX_DOUBLINGS))).min(MAX_DELAY)
    }
}

/// Compares hashes, so the time does not depend on how much of the token was guessed.
fn is_allowed(token: Option<&Secret>, shown: Option<&str>) -> bool {
    let hash = |text: &str| digest(&SHA256, text.as_bytes());
    token.is_none_or(|token| {
        shown.is_some_and(|shown| hash(shown).as_ref() == hash(token.expose()).as_ref())
    })
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::sync::Arc;
    use std::task::{Context, Waker};

    use tokio::task::JoinSet;

    use super::*;

    const TOKEN: &str = "0d5a1c6f2b7e4983";

    fn gate() -> Gate {
        Gate::new(Some(Secret::new(TOKEN)))
    }

    fn showing(token: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert("authorization", format!("Bearer {token}").parse().unwrap());
        headers
    }

    /// Returns the response to a token, if it is there at once.
    fn check_now(gate: &Gate, headers: &HeaderMap) -> Option<Result<(), Problem>> {
        let mut context = Context::from_waker(Waker::noop());
        match pin!(gate.check(headers)).poll(&mut context) {
            std::task::Poll::Ready(checked) => Some(checked),
            std::task::Poll::Pending => None,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_must_be_shown_exactly() {
        for (shown, is_right) in [
            (TOKEN, true),
            (&TOKEN[..15], false),
            (&format!("{TOKEN}2"), false),
            (&TOKEN.to_uppercase(), false),
        ] {
            assert_eq!(gate().check(&showing(shown)).await.is_ok(), is_right, "{shown}");
        }
        // Nothing is guessed, so the page need not wait.
        assert!(check_now(&gate(), &HeaderMap::new()).unwrap().is_err());
        assert!(Gate::new(None).check(&HeaderMap::new()).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn nine_thousand_wrong_tokens_wait_and_the_right_one_does_not() {
        let gate = Arc::new(gate());
        let mut guesses = JoinSet::new();
        for number in 0..9_000 {
            let gate = Arc::clone(&gate);
            guesses.spawn(async move { gate.check(&showing(&format!("guess-{number}"))).await });
        }
        tokio::task::yield_now().await;
        assert!(guesses.try_join_next().is_none(), "no wrong token is answered at once");
        assert!(check_now(&gate, &showing(TOKEN)).unwrap().is_ok());
        assert!(guesses.join_all().await.iter().all(Result::is_err));
        assert!(check_now(&gate, &showing(TOKEN)).unwrap().is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn the_delay_grows_to_a_bound_and_is_forgotten() {
        let gate = gate();
        let delays: Vec<u128> = (0..9).map(|_| gate.count_wrong().as_millis()).collect();
        assert_eq!(delays, [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000]);
        tokio::time::advance(3 * CALM).await;
        assert_eq!(gate.count_wrong(), FIRST_DELAY * 16);
        tokio::time::advance(Duration::from_secs(1 << 40)).await;
        assert_eq!(gate.count_wrong(), FIRST_DELAY);
    }

    #[test]
    fn a_short_token_is_refused_with_what_to_do_and_not_shown() {
        for short in ["", "x", "hunter2", "0d5a1c6f2b7e498"] {
            let error = check_admin_token(&Secret::new(short)).unwrap_err();
            assert!(error.hint().unwrap().contains("openssl rand -hex 24"), "{error}");
            assert!(short.is_empty() || !error.to_string().contains(&format!(" {short} ")));
        }
        assert!(check_admin_token(&Secret::new(TOKEN)).is_ok());
    }
}
