//! Questions to the person at the terminal.
//!
//! - Only what is typed after a question has appeared counts: what was typed before is thrown away, and a question takes
//!   input only after a short pause, because a person who answers earlier answers something else.
//! - Each line of a question begins with a [frame](printable::FRAME) that text from outside cannot contain. Long lines are
//!   folded here and not by the terminal, so no line begins without it.
//! - Nothing is read from a pipe.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use agentloop::BoxFuture;

use crate::notes::Notes;
use crate::printable::FRAME;

/// How long a question is shown before it takes input. People need longer to read and react.
const PAUSE: Duration = Duration::from_millis(400);

/// The size of a terminal that does not report one.
const USUAL_SIZE: (usize, usize) = (80, 24);

/// The least and the largest width that lines are folded to.
const WIDTHS: std::ops::RangeInclusive<usize> = 20..=400;

/// Reads the answer to a question that is shown on the same line; `None` when there is no more input.
pub(crate) type Ask = fn(Notes, String) -> BoxFuture<'static, Option<String>>;

/// The person at the terminal.
#[derive(Clone, Copy)]
pub(crate) struct Prompt {
    notes: Notes,
    ask: Ask,
    size: fn() -> (usize, usize),
}

impl Prompt {
    /// Returns the person, if one is there to read the question and to answer it.
    pub(crate) fn at_terminal(notes: Notes) -> Option<Self> {
        let is_there = std::io::stdin().is_terminal() && notes.is_terminal();
        is_there.then_some(Self { notes, ask: |notes, text| Box::pin(ask(notes, text)), size })
    }

    /// A person of a test, who answers at a terminal of this size.
    #[cfg(test)]
    pub(crate) fn of_test(ask: Ask, size: fn() -> (usize, usize)) -> Self {
        Self { notes: Notes::new(true), ask, size }
    }

    /// Shows lines of a question.
    pub(crate) fn show(&self, lines: &[String]) {
        let mut shown = String::new();
        for line in lines {
            shown.push_str(&self.framed(line));
            shown.push('\n');
        }
        self.notes.raw(&shown);
    }

    /// Asks, and waits for a line.
    pub(crate) async fn ask(&self, question: &str) -> Option<String> {
        (self.ask)(self.notes, self.framed(question)).await
    }

    /// Asks before there is a runtime.
    pub(crate) fn ask_blocking(&self, question: &str) -> Option<String> {
        std::thread::sleep(PAUSE);
        forget_typed();
        self.notes.raw(&self.framed(question));
        read_line()
    }

    /// Folds lines to the width of the terminal. What continues a line is marked, so it cannot look like a line of its own.
    pub(crate) fn folded(&self, lines: impl IntoIterator<Item = String>) -> Vec<String> {
        let width = (self.size)().0.clamp(*WIDTHS.start(), *WIDTHS.end()) - 4;
        lines.into_iter().flat_map(|line| fold(&line, width)).collect()
    }

    /// How many lines are shown at once.
    pub(crate) fn page(&self) -> usize {
        (self.size)().1.saturating_sub(4).max(5)
    }

    fn framed(&self, line: &str) -> String {
        match self.notes.is_styled() {
            true => format!("\x1b[1;33m{FRAME}\x1b[0m {line}"),
            false => format!("{FRAME} {line}"),
        }
    }
}

/// Cuts a line into pieces of at most `width` columns. Every sign beyond ASCII is taken to be two columns wide.
fn fold(line: &str, width: usize) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut used = 0;
    for letter in line.chars() {
        let columns = if letter.is_ascii() { 1 } else { 2 };
        if used + columns > width {
            pieces.push("… ".to_owned());
            used = 2;
        }
        if let Some(piece) = pieces.last_mut() {
            piece.push(letter);
        }
        used += columns;
    }
    pieces
}

/// Asks, and waits for a line. A caller that no longer waits leaves a thread behind, which ends with the command.
async fn ask(notes: Notes, question: String) -> Option<String> {
    tokio::time::sleep(PAUSE).await;
    forget_typed();
    notes.raw(&question);
    let (sender, receiver) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || sender.send(read_line()));
    receiver.await.ok().flatten()
}

fn read_line() -> Option<String> {
    let mut line = String::new();
    let read = std::io::stdin().read_line(&mut line);
    read.is_ok_and(|bytes| bytes > 0).then_some(line)
}

/// Throws away what was typed and not read yet.
fn forget_typed() {
    // What is on its way to the screen appears before the answer can.
    let _ = std::io::stdout().flush();
    #[cfg(unix)]
    let _ = rustix::termios::tcflush(std::io::stdin(), rustix::termios::QueueSelector::IFlush);
}

#[cfg(unix)]
fn size() -> (usize, usize) {
    match rustix::termios::tcgetwinsize(std::io::stderr()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => {
            (usize::from(size.ws_col), usize::from(size.ws_row))
        }
        _ => USUAL_SIZE,
    }
}

#[cfg(not(unix))]
fn size() -> (usize, usize) {
    USUAL_SIZE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_folded_and_its_rest_is_marked() {
        assert_eq!(fold("abcdef", 6), ["abcdef"]);
        assert_eq!(fold("abcdefgh", 6), ["abcdef", "… gh"]);
        assert_eq!(fold("äääää", 6), ["äää", "… ää"]);
        assert_eq!(fold("", 6), [""]);
        let long = "x".repeat(1_000);
        let pieces = fold(&long, 20);
        assert!(pieces.iter().all(|piece| piece.chars().count() <= 20));
        assert_eq!(pieces.concat().replace("… ", ""), long);
    }
}
