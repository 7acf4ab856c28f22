//! The progress of a batch: a status line at a terminal, and a summary at the end.

use std::time::Duration;

use agentloop::Usd;
use tokio::time::Instant;

use crate::notes::Notes;

/// What has happened so far.
#[derive(Debug)]
pub(in crate::command) struct Progress {
    notes: Notes,
    started: Instant,
    total: u64,
    /// Rows that an earlier process finished.
    pub(in crate::command) skipped: u64,
    pub(in crate::command) done: u64,
    pub(in crate::command) failed: u64,
    pub(in crate::command) tokens: u64,
    pub(in crate::command) spent: Usd,
    /// Responses whose cost is not known.
    pub(in crate::command) unpriced: u64,
}

impl Progress {
    pub(in crate::command) fn new(total: u64, notes: Notes) -> Self {
        Self {
            notes,
            started: Instant::now(),
            total,
            skipped: 0,
            done: 0,
            failed: 0,
            tokens: 0,
            spent: Usd::default(),
            unpriced: 0,
        }
    }

    /// Returns the average cost of a row, or nothing if no row has a cost yet.
    pub(in crate::command) fn average(&self) -> Usd {
        let priced = self.done.saturating_sub(self.unpriced);
        Usd::from_picos(self.spent.picos() / i128::from(priced.max(1)))
    }

    /// Shows the status line.
    pub(in crate::command) fn show(&self) {
        if self.notes.has_status_line() {
            self.notes.set_status(&self.format_status(self.started.elapsed()));
        }
    }

    /// Removes the status line.
    pub(in crate::command) fn hide(&self) {
        self.notes.set_status("");
    }

    fn format_status(&self, elapsed: Duration) -> String {
        let ended = self.done + self.failed;
        let left = self.total.saturating_sub(self.skipped + ended);
        let mut words = vec![format!("{} of {}", self.skipped + ended, self.total)];
        if self.failed > 0 {
            words.push(format!("{} failed", self.failed));
        }
        let seconds = elapsed.as_secs_f64();
        if ended > 0 && seconds > 0.0 {
            let rate = ended as f64 / seconds;
            words.push(if rate >= 1.0 {
                format!("{rate:.1}/s")
            } else {
                format!("{:.1}/min", rate * 60.0)
            });
            if left > 0 {
                words.push(format!("{} left", format_seconds(left as f64 / rate)));
            }
        }
        if self.spent > Usd::default() {
            let expected = self.spent.picos() + self.average().picos() * i128::from(left);
            words.push(format!(
                "${} of about ${}",
                format_usd(self.spent),
                format_usd(Usd::from_picos(expected))
            ));
        }
        words.join(", ")
    }

    /// Returns the summary.
    pub(in crate::command) fn summarize(&self) -> String {
        let mut words = vec![match self.done + self.failed + self.skipped {
            1 => "1 row".to_owned(),
            rows => format!("{rows} rows"),
        }];
        if self.skipped > 0 {
            words.push(format!("{} done before", self.skipped));
        }
        if self.failed > 0 {
            words.push(format!("{} failed", self.failed));
        }
        words.push(format!("{} tokens", self.tokens));
        if self.spent > Usd::default() {
            words.push(format!("${}", format_usd(self.spent)));
        }
        if self.unpriced > 0 {
            words.push(format!("{} without a known price", self.unpriced));
        }
        words.push(format_seconds(self.started.elapsed().as_secs_f64()));
        words.join(", ")
    }
}

/// Formats an amount with as many digits as are useful.
pub(in crate::command) fn format_usd(usd: Usd) -> String {
    let dollars = usd.picos() as f64 / 1e12;
    match dollars.abs() {
        0.0 => "0".to_owned(),
        0.0..0.001 => format!("{dollars:.6}"),
        0.001..1.0 => format!("{dollars:.4}"),
        _ => format!("{dollars:.2}"),
    }
}

/// Formats a time, for example `12 s`, `3 min` or `2 h 5 min`.
fn format_seconds(seconds: f64) -> String {
    let seconds = Duration::from_secs_f64(seconds.clamp(0.0, 1e9).round()).as_secs();
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        _ => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_line_has_rate_cost_and_the_time_that_is_left() {
        let mut progress = Progress::new(100, Notes::new(true));
        assert_eq!(progress.format_status(Duration::ZERO), "0 of 100");
        progress.skipped = 10;
        progress.done = 18;
        progress.failed = 2;
        progress.spent = Usd::from_picos(1_800_000_000);
        assert_eq!(
            progress.format_status(Duration::from_secs(10)),
            "30 of 100, 2 failed, 2.0/s, 35 s left, $0.0018 of about $0.0088"
        );
        assert_eq!(
            progress.format_status(Duration::from_secs(1_000)),
            "30 of 100, 2 failed, 1.2/min, 58 min left, $0.0018 of about $0.0088"
        );
    }

    #[test]
    fn amounts_have_as_many_digits_as_are_useful() {
        let format = |text: &str| format_usd(text.parse().unwrap_or_default());
        assert_eq!(format("0"), "0");
        assert_eq!(format("0.0000123"), "0.000012");
        assert_eq!(format("0.01234"), "0.0123");
        assert_eq!(format("12.345"), "12.35");
    }
}
