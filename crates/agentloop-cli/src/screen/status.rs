//! The status line: what the command waits for, with a spinner and the time.
//!
//! There is one status line, because there is one stderr. A thread redraws it, so that the time advances while the command is
//! busy or waits. Whatever else is written calls [`clear`] or [`erase_for`] first.

use std::io::Write as _;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use super::{terminal, width};
use crate::printable;

/// How often the line is redrawn.
const INTERVAL: Duration = Duration::from_millis(100);

/// A wait that is shorter than this is not shown, because a line that only flashes disturbs.
const DELAY: Duration = Duration::from_millis(150);

/// The pictures of the spinner, and those for the Linux console, whose font does not have them.
const FRAMES: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const ASCII_FRAMES: [char; 4] = ['|', '/', '-', '\\'];

const ERASE: &str = "\r\x1b[2K";

static LINE: Mutex<Line> = Mutex::new(Line::new());

#[derive(Debug)]
struct Line {
    wait: Option<Wait>,
    retry: Option<Retry>,
    /// A text that is shown as it is.
    fixed: Option<String>,
    is_drawn: bool,
    has_thread: bool,
    ticks: usize,
}

#[derive(Debug)]
struct Wait {
    label: String,
    since: Instant,
}

/// The wait before a retry. It is shown instead of the wait for the response.
#[derive(Debug)]
struct Retry {
    reason: String,
    until: Instant,
}

/// Shows what the command waits for, from now on.
pub(crate) fn show(label: &str) {
    let mut line = lock();
    line.wait = Some(Wait { label: clean(label), since: Instant::now() });
    line.start_thread();
}

/// Changes the label of the wait. The time goes on.
pub(crate) fn update(label: &str) {
    let mut line = lock();
    match &mut line.wait {
        Some(wait) => wait.label = clean(label),
        None => line.wait = Some(Wait { label: clean(label), since: Instant::now() }),
    }
    line.start_thread();
}

/// Shows a text as it is, without a spinner. An empty text removes the status line.
pub(crate) fn set(text: &str) {
    let mut line = lock();
    line.fixed = (!text.is_empty()).then(|| clean(text));
    line.draw();
}

/// Shows a countdown before a retry.
pub(crate) fn show_retry(reason: &str, wait: Duration) {
    let mut line = lock();
    // The progress of many calls is not replaced by the retry of one.
    if line.fixed.is_some() {
        return;
    }
    let Some(until) = Instant::now().checked_add(wait) else { return };
    line.retry = Some(Retry { reason: clean(reason), until });
    line.start_thread();
}

/// Removes the status line until the next wait.
pub(crate) fn clear() {
    let mut line = lock();
    line.wait = None;
    line.retry = None;
    line.fixed = None;
    line.erase();
}

/// Removes the status line while something else is written to stderr. It appears again below.
pub(crate) fn erase_for(write: impl FnOnce()) {
    let mut line = lock();
    line.erase();
    write();
}

fn lock() -> MutexGuard<'static, Line> {
    agentloop::internal::lock(&LINE)
}

/// Removes what could control the terminal.
fn clean(label: &str) -> String {
    printable::escape_line(label).into_owned()
}

impl Line {
    const fn new() -> Self {
        Self { wait: None, retry: None, fixed: None, is_drawn: false, has_thread: false, ticks: 0 }
    }

    fn start_thread(&mut self) {
        if self.has_thread {
            return;
        }
        // Without a thread there is no status line, which is not worth a failure.
        self.has_thread = std::thread::Builder::new()
            .name("status".to_owned())
            .spawn(|| {
                loop {
                    std::thread::sleep(INTERVAL);
                    lock().draw();
                }
            })
            .is_ok();
    }

    fn draw(&mut self) {
        let Some(text) = self.text(Instant::now()) else {
            return match self.fixed.clone() {
                Some(text) => self.write(&text),
                None => self.erase(),
            };
        };
        self.ticks = self.ticks.wrapping_add(1);
        let frame = if std::env::var_os("TERM").is_some_and(|term| term == "linux") {
            ASCII_FRAMES[self.ticks % ASCII_FRAMES.len()]
        } else {
            FRAMES[self.ticks % FRAMES.len()]
        };
        self.write(&format!("{frame} {text}"));
    }

    fn write(&mut self, text: &str) {
        // A line that fills the width would wrap, and a wrapped line cannot be removed again.
        let columns = terminal::size().0.saturating_sub(1);
        let text = width::shorten(text, columns);
        self.is_drawn = true;
        let mut stderr = std::io::stderr().lock();
        let _ = stderr.write_all(format!("{ERASE}{text}").as_bytes());
        let _ = stderr.flush();
    }

    fn text(&mut self, now: Instant) -> Option<String> {
        if let Some(retry) = self.retry.take_if(|retry| retry.until <= now) {
            drop(retry);
            // The next attempt is a wait of its own.
            if let Some(wait) = &mut self.wait {
                wait.since = now;
            }
        }
        if let Some(Retry { reason, until }) = &self.retry {
            let left = until.duration_since(now).as_millis().div_ceil(1_000);
            return Some(format!("retrying in {left} s ({reason})…"));
        }
        let wait = self.wait.as_ref()?;
        let elapsed = now.duration_since(wait.since);
        (elapsed >= DELAY).then(|| format!("{} · {}", wait.label, format_elapsed(elapsed)))
    }

    fn erase(&mut self) {
        if std::mem::take(&mut self.is_drawn) {
            let mut stderr = std::io::stderr().lock();
            let _ = stderr.write_all(ERASE.as_bytes());
            let _ = stderr.flush();
        }
    }
}

/// Formats a time in whole seconds, for example `3 s` or `2 min 5 s`.
pub(crate) fn format_elapsed(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds / 60 {
        0 => format!("{seconds} s"),
        minutes => format!("{minutes} min {} s", seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> Line {
        Line::new()
    }

    #[test]
    fn a_short_wait_is_not_shown() {
        let since = Instant::now();
        let mut line = line();
        assert_eq!(line.text(since), None);
        line.wait = Some(Wait { label: "waiting for a/b".to_owned(), since });
        assert_eq!(line.text(since), None);
        let shown = line.text(since + Duration::from_secs(65));
        assert_eq!(shown.as_deref(), Some("waiting for a/b · 1 min 5 s"));
    }

    #[test]
    fn a_retry_counts_down_and_the_wait_continues_after_it() {
        let since = Instant::now();
        let at = |ms| since + Duration::from_millis(ms);
        let mut line = line();
        line.wait = Some(Wait { label: "waiting".to_owned(), since });
        line.retry = Some(Retry { reason: "429 from openai".to_owned(), until: at(3_000) });
        for (ms, seconds) in [(0, 3), (1, 3), (1_001, 2), (2_999, 1)] {
            let text = format!("retrying in {seconds} s (429 from openai)…");
            assert_eq!(line.text(at(ms)), Some(text), "{ms}");
        }
        assert_eq!(line.text(at(3_000)), None);
        assert_eq!(line.text(at(4_100)).as_deref(), Some("waiting · 1 s"));
    }

    #[test]
    fn a_label_cannot_control_the_terminal() {
        assert_eq!(clean("a\u{1b}[2Jb\n\u{202e}"), "a\\u{1b}[2Jb\\n\\u{202e}");
    }
}
