//! Asks questions at the terminal.
//!
//! - Only input after the question counts. Input that was typed earlier is discarded, and the question is shown after a
//!   short pause, because a reply within that pause was meant for something else.
//! - Each line of a question starts with a [frame](FRAME) that untrusted text cannot contain. Long lines are folded by this
//!   module, not by the terminal, so every line has the frame.
//! - Replies are never read from a pipe.

use std::io::{IsTerminal, Read as _, Write};
use std::time::Duration;

use agentloop::BoxFuture;

use crate::failure::Failure;
use crate::notes::Notes;
use crate::printable::FRAME;
use crate::screen::{terminal, width};

/// The pause before a question is shown. People need longer than this to read and react.
const PAUSE: Duration = Duration::from_millis(400);

/// The smallest and the largest width that lines are folded to.
const WIDTHS: std::ops::RangeInclusive<usize> = 20..=400;

/// The longest line that is read without being shown, in bytes.
const MAX_HIDDEN_BYTES: usize = 64 << 10;

/// Prints a question and reads the reply from the same line. Returns `None` at the end of the input.
pub(crate) type Ask = fn(Notes, String) -> BoxFuture<'static, Option<String>>;

/// Asks the user at the terminal.
#[derive(Clone, Copy)]
pub(crate) struct Prompt {
    notes: Notes,
    ask: Ask,
    size: fn() -> (usize, usize),
}

impl Prompt {
    /// Returns a prompt, if stdin and stderr are a terminal.
    pub(crate) fn at_terminal(notes: Notes) -> Option<Self> {
        let is_terminal = std::io::stdin().is_terminal() && notes.is_terminal();
        is_terminal.then_some(Self {
            notes,
            ask: |notes, text| Box::pin(ask(notes, text)),
            size: || terminal::size_of(std::io::stderr()),
        })
    }

    /// Creates a prompt that replies with `ask`, at a terminal of this size.
    #[cfg(test)]
    pub(crate) fn for_test(ask: Ask, size: fn() -> (usize, usize)) -> Self {
        Self { notes: Notes::new(true), ask, size }
    }

    /// Prints lines of a question.
    pub(crate) fn show(&self, lines: &[String]) {
        let mut shown = String::new();
        for line in lines {
            shown.push_str(&self.frame(line));
            shown.push('\n');
        }
        self.notes.print_raw(&shown);
    }

    /// Asks a question and waits for a line.
    pub(crate) async fn ask(&self, question: &str) -> Option<String> {
        (self.ask)(self.notes, self.frame(question)).await
    }

    /// Asks a question without an async runtime.
    pub(crate) fn ask_blocking(&self, question: &str) -> Option<String> {
        std::thread::sleep(PAUSE);
        discard_typed();
        self.notes.print_raw(&self.frame(question));
        read_line()
    }

    /// Folds lines to the width of the terminal. Continuation lines are marked, so they cannot imitate a line of their own.
    pub(crate) fn fold_lines(&self, lines: impl IntoIterator<Item = String>) -> Vec<String> {
        let width = (self.size)().0.clamp(*WIDTHS.start(), *WIDTHS.end()) - 4;
        lines.into_iter().flat_map(|line| fold(&line, width)).collect()
    }

    /// Returns how many lines are shown at once.
    pub(crate) fn page_height(&self) -> usize {
        (self.size)().1.saturating_sub(4).max(5)
    }

    fn frame(&self, line: &str) -> String {
        if self.notes.is_styled() {
            format!("\x1b[1;33m{FRAME}\x1b[0m {line}")
        } else {
            format!("{FRAME} {line}")
        }
    }
}

/// Splits a line into pieces of at most `width` columns of any terminal.
fn fold(line: &str, width: usize) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut used = 0;
    for character in line.chars() {
        let columns = width::most_of_char(character);
        if used + columns > width {
            pieces.push("… ".to_owned());
            used = 2;
        }
        if let Some(piece) = pieces.last_mut() {
            piece.push(character);
        }
        used += columns;
    }
    pieces
}

/// Asks a question and waits for a line. If the future is dropped, its thread keeps reading until the command ends.
async fn ask(notes: Notes, question: String) -> Option<String> {
    tokio::time::sleep(PAUSE).await;
    discard_typed();
    notes.print_raw(&question);
    let (sender, receiver) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || sender.send(read_line()));
    receiver.await.ok().flatten()
}

fn read_line() -> Option<String> {
    let mut line = String::new();
    let read = std::io::stdin().read_line(&mut line);
    read.is_ok_and(|bytes| bytes > 0).then_some(line)
}

/// Discards input that was typed and not read yet.
fn discard_typed() {
    // Buffered output must be on the screen before the question.
    let _ = std::io::stdout().flush();
    #[cfg(unix)]
    let _ = rustix::termios::tcflush(std::io::stdin(), rustix::termios::QueueSelector::IFlush);
}

/// Prints a question and reads a line that is not shown, if stdin and stderr are a terminal.
///
/// The terminal is restored however the wait ends: with a line, with Ctrl-C or with a signal that ends the process.
pub(crate) async fn read_hidden_line(
    question: &str,
    notes: Notes,
) -> Result<Option<String>, Failure> {
    if !std::io::stdin().is_terminal() || !notes.is_terminal() {
        return Ok(None);
    }
    let fail = |error: std::io::Error| Failure::input(format!("cannot read the key: {error}"));
    // Hidden before the question is shown, so that a quick reply is hidden as well.
    let hidden = Hidden::start().map_err(fail)?;
    // From here on a signal no longer ends the process.
    let signals = Signals::listen().map_err(fail)?;
    discard_typed();
    notes.print_raw(question);
    let (sender, receiver) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || sender.send(read_keys()));
    let read = tokio::select! {
        biased;
        () = signals.wait() => Err(std::io::ErrorKind::Interrupted.into()),
        read = receiver => read.unwrap_or_else(|_| Err(std::io::ErrorKind::UnexpectedEof.into())),
    };
    drop(hidden);
    // The line break of the user is not shown either.
    notes.print_raw("\n");
    match read {
        Ok(line) => Ok(Some(line)),
        Err(error) if error.kind() == std::io::ErrorKind::Interrupted => Err(Failure::Interrupted),
        Err(error) => Err(fail(error)),
    }
}

/// The signals that would end the process and leave the terminal as it is.
#[cfg(unix)]
struct Signals([tokio::signal::unix::Signal; 3]);

#[cfg(unix)]
impl Signals {
    fn listen() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let interrupted = signal(SignalKind::interrupt())?;
        Ok(Self([interrupted, signal(SignalKind::terminate())?, signal(SignalKind::hangup())?]))
    }

    async fn wait(self) {
        let [mut interrupted, mut ended, mut hung_up] = self.0;
        tokio::select! {
            _ = interrupted.recv() => {}
            _ = ended.recv() => {}
            _ = hung_up.recv() => {}
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    #[expect(clippy::unnecessary_wraps, reason = "it can fail on Unix")]
    fn listen() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn wait(self) {
        let _ = tokio::signal::ctrl_c().await;
    }
}

/// Reads keys up to Enter. Ctrl-C is an error of the kind `Interrupted`.
fn read_keys() -> std::io::Result<String> {
    let mut line = Vec::new();
    let mut stdin = std::io::stdin().lock();
    let mut key = [0];
    while stdin.read(&mut key)? > 0 {
        match key[0] {
            // Ctrl-D ends the input like Enter.
            b'\r' | b'\n' | 4 => break,
            // Ctrl-C.
            3 => return Err(std::io::ErrorKind::Interrupted.into()),
            // Backspace removes a character, which may have several bytes.
            8 | 127 => while line.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {},
            // Ctrl-U removes all.
            21 => line.clear(),
            byte if line.len() < MAX_HIDDEN_BYTES => line.push(byte),
            _ => return Err(std::io::Error::other("the line is too long")),
        }
    }
    String::from_utf8(line).map_err(|_| std::io::Error::other("the line is not UTF-8 text"))
}

/// Hides what is typed at the terminal until it is dropped.
///
/// Keys are read one by one: Ctrl-C is then a key and not a signal, which would end the process and leave the terminal hidden.
#[cfg(unix)]
struct Hidden(rustix::termios::Termios);

#[cfg(unix)]
impl Hidden {
    fn start() -> std::io::Result<Self> {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        let before = tcgetattr(std::io::stdin())?;
        let mut hidden = before.clone();
        hidden.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        tcsetattr(std::io::stdin(), OptionalActions::Now, &hidden)?;
        Ok(Self(before))
    }
}

#[cfg(unix)]
impl Drop for Hidden {
    fn drop(&mut self) {
        use rustix::termios::{OptionalActions, tcsetattr};
        // What was typed of the key and not read yet must not reach the shell, which would show it.
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Flush, &self.0);
    }
}

#[cfg(not(unix))]
struct Hidden;

#[cfg(not(unix))]
impl Hidden {
    /// What is typed cannot be hidden here, so keys must be piped in.
    fn start() -> std::io::Result<Self> {
        Err(std::io::Error::other("pipe the key in, because input cannot be hidden here"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_folded_and_its_continuation_is_marked() {
        assert_eq!(fold("abcdef", 6), ["abcdef"]);
        assert_eq!(fold("abcdefgh", 6), ["abcdef", "… gh"]);
        assert_eq!(fold("日日日日日", 6), ["日日日", "… 日日"]);
        // Some terminals draw these as wide, and marks apart.
        assert_eq!(fold("……………", 6), ["………", "… ……"]);
        assert_eq!(
            fold(&"e\u{301}".repeat(4), 6),
            ["e\u{301}".repeat(3), format!("… {}", "e\u{301}")]
        );
        assert_eq!(fold("", 6), [""]);
        let long = "x".repeat(1_000);
        let pieces = fold(&long, 20);
        assert!(pieces.iter().all(|piece| piece.chars().count() <= 20));
        assert_eq!(pieces.concat().replace("… ", ""), long);
    }
}
