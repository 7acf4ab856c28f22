//! How long to wait.

use std::time::Duration;

use crate::limits::MAX_TIMEOUT;

/// How long to wait for each stage of a call. Each stage that takes longer is a
/// [`Timeout`](crate::ErrorKind::Timeout) error that names the stage.
///
/// They are those of one try. Where a [`Retry`](crate::middleware::Retry) makes several, each has them anew, and
/// [`Retry::total`](crate::middleware::Retry::total) bounds them all; a caller who wants the whole bounded to the second
/// puts `tokio::time::timeout` around the call: dropping it ends everything.
///
/// ```
/// use std::time::Duration;
/// use agentloop::Timeouts;
///
/// let patient = Timeouts { idle: Some(Duration::from_secs(600)), ..Timeouts::default() };
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Until the connection stands, TLS and proxy included.
    pub connect: Option<Duration>,
    /// From sending the request until the first content of the answer. For a whole answer, all of it.
    pub first_content: Option<Duration>,
    /// Between two signs of life of a stream. A keep-alive comment is one.
    pub idle: Option<Duration>,
    /// The whole call.
    pub total: Option<Duration>,
}

/// Reads a number of seconds as a configuration has it.
///
/// # Errors
///
/// When it is negative, not a number, or more than [`MAX_TIMEOUT`].
pub(crate) fn seconds(seconds: f64) -> Result<Duration, String> {
    let most = MAX_TIMEOUT.as_secs();
    match Duration::try_from_secs_f64(seconds) {
        Ok(time) if time <= MAX_TIMEOUT => Ok(time),
        Err(_) if seconds.is_nan() => Err("it is not a number of seconds".to_owned()),
        Err(_) if seconds < 0.0 => Err(format!("{seconds} seconds: it must not be negative")),
        _ => Err(format!("{seconds} seconds are more than a year ({most} seconds)")),
    }
}

impl Default for Timeouts {
    /// 10 seconds to connect, 10 minutes to the first content (providers queue requests for as long), 2
    /// minutes between signs of life, and no limit to the whole call.
    fn default() -> Self {
        Self {
            connect: Some(Duration::from_secs(10)),
            first_content: Some(Duration::from_secs(600)),
            idle: Some(Duration::from_secs(120)),
            total: None,
        }
    }
}

impl Timeouts {
    /// Wait for ever.
    pub fn none() -> Self {
        Self { connect: None, first_content: None, idle: None, total: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, ErrorKind};

    #[test]
    fn a_time_that_no_clock_has_is_an_error_of_the_configuration() {
        for seconds in ["1e19", "1e300", "inf", "nan", "-1", "31536001"] {
            for (table, key) in [
                ("timeouts", "connect"),
                ("timeouts", "first_content"),
                ("timeouts", "idle"),
                ("timeouts", "total"),
                ("media", "timeout"),
                ("cache", "ttl"),
                ("retry", "total"),
            ] {
                let text = format!("[{table}]\n{key} = {seconds}\n");
                let error = Config::parse(&text).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Config, "{text}: {error}");
                assert!(error.message().contains(key), "{text}: {error}");
            }
        }
        let config = Config::parse("[timeouts]\ntotal = 31536000\nidle = 0\n").unwrap();
        let timeouts = config.timeouts.unwrap();
        assert_eq!((timeouts.total, timeouts.idle), (Some(MAX_TIMEOUT), None));
    }
}
