//! The timeouts of a call.

use std::time::Duration;

use crate::limits::MAX_TIMEOUT;

/// The longest time that each stage of a call may take. A stage that takes longer is a [`Timeout`](crate::ErrorKind::Timeout) error that
/// names the stage.
///
/// Timeouts apply to one attempt. If [`Retry`](crate::middleware::Retry) makes several, they start again for each, and
/// [`Retry::total`](crate::middleware::Retry::total) limits all of them. To limit the whole exactly, put `tokio::time::timeout` around the call:
/// dropping the call ends everything.
///
/// ```
/// use std::time::Duration;
/// use agentloop::Timeouts;
///
/// let patient = Timeouts::default().idle(Duration::from_secs(600)).total(None);
/// assert_eq!(patient.idle, Some(Duration::from_secs(600)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeouts {
    /// The time to connect, with TLS and proxy.
    pub connect: Option<Duration>,
    /// The time from sending the request to the first content of the response. For a complete response, to its end.
    pub first_content: Option<Duration>,
    /// The time between two pieces of a stream, while its reader waits. A keep-alive comment counts as a piece.
    pub idle: Option<Duration>,
    /// The time of the whole call.
    pub total: Option<Duration>,
}

/// Converts the seconds of a configuration.
///
/// # Errors
///
/// Returns an error if the number is negative, not a number, or more than [`MAX_TIMEOUT`].
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
    /// Returns 10 seconds to connect, 10 minutes to the first content (providers queue requests for as long), 2 minutes between two pieces of a
    /// stream, and no limit for the whole call.
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
    /// Returns no timeouts at all.
    pub fn none() -> Self {
        Self { connect: None, first_content: None, idle: None, total: None }
    }

    setters! {
        /// Sets the time to [connect](Self#structfield.connect). `None` means no limit.
        connect(self, time: impl Into<Option<Duration>>) => self.connect = time.into();

        /// Sets the time to the [first content](Self#structfield.first_content). `None` means no limit.
        first_content(self, time: impl Into<Option<Duration>>) => self.first_content = time.into();

        /// Sets the time between two [pieces of a stream](Self#structfield.idle). `None` means no limit.
        idle(self, time: impl Into<Option<Duration>>) => self.idle = time.into();

        /// Sets the time of the [whole call](Self#structfield.total). `None` means no limit.
        total(self, time: impl Into<Option<Duration>>) => self.total = time.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, ErrorKind};

    #[test]
    fn an_impossible_time_is_a_configuration_error() {
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
