//! stdin.

use std::io::{self, IsTerminal, Read};
use std::sync::mpsc;
use std::time::Duration;

use crate::failure::Failure;
use crate::notes::Notes;

/// Whether something other than a person's keyboard is there to be read.
pub(crate) fn is_piped() -> bool {
    !io::stdin().is_terminal()
}

/// All bytes of stdin.
pub(crate) fn bytes() -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    io::stdin()
        .lock()
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::input(format!("stdin cannot be read: {error}")))?;
    Ok(bytes)
}

/// How long stdin may stay open before a person is told what is waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// All text of stdin, which joins a prompt that is there already. A caller that leaves stdin open by mistake would
/// wait for ever without knowing why: it is told.
fn more_text(notes: Notes) -> Result<String, Failure> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(text()));
    let read = receiver.recv_timeout(PATIENCE).or_else(|_| {
        notes.note(
            "waiting for stdin to end, whose text joins the prompt; `< /dev/null` leaves it out",
        );
        receiver.recv()
    });
    read.unwrap_or_else(|_| Err(Failure::input("stdin cannot be read")))
}

/// All text of stdin.
pub(crate) fn text() -> Result<String, Failure> {
    String::from_utf8(bytes()?).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::input_with_hint(
            format!("stdin is not UTF-8 text (byte {at})"),
            "only text can be piped in",
        )
    })
}

/// What was typed, a blank line, and what is piped in.
pub(crate) fn prompt(typed: &[String], notes: Notes) -> Result<String, Failure> {
    let typed = typed.join(" ");
    let piped = match (is_piped(), typed.is_empty()) {
        (false, _) => String::new(),
        (true, true) => text()?,
        (true, false) => more_text(notes)?,
    };
    let piped = piped.trim_end_matches(['\r', '\n']);
    Ok(match (typed.is_empty(), piped.is_empty()) {
        (_, true) => typed,
        (true, false) => piped.to_owned(),
        (false, false) => format!("{typed}\n\n{piped}"),
    })
}

/// There is no prompt.
pub(crate) fn nothing() -> Failure {
    Failure::input_with_hint(
        "there is nothing to say",
        "give a prompt as arguments, or pipe one in",
    )
}
