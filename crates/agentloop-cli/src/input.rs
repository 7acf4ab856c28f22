//! Reads stdin.

use std::io::{self, IsTerminal, Read};
use std::sync::mpsc;
use std::time::Duration;

use crate::failure::Failure;
use crate::notes::Notes;

/// How long to wait for the end of stdin before a note reports the wait.
const PATIENCE: Duration = Duration::from_secs(2);

/// The most bytes of text that are read from stdin. No model reads a tenth of it.
const MAX_TEXT_BYTES: usize = 64 << 20;

/// Returns whether stdin is a pipe or a file, not a terminal.
fn is_piped() -> bool {
    !io::stdin().is_terminal()
}

/// Reads all bytes of stdin, and refuses more than `limit`.
pub(crate) fn read_at_most(limit: usize) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    let read = io::stdin().lock().take(most).read_to_end(&mut bytes);
    read.map_err(|error| Failure::input(format!("cannot read stdin: {error}")))?;
    if bytes.len() > limit {
        Err(Failure::input(format!("stdin has more than the limit of {limit} bytes")))
    } else {
        Ok(bytes)
    }
}

/// Reads all text of stdin.
pub(crate) fn read_text() -> Result<String, Failure> {
    String::from_utf8(read_at_most(MAX_TEXT_BYTES)?).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::input_with_hint(
            format!("stdin is not UTF-8 text: invalid byte at offset {at}"),
            "pipe in text only; attach other files with --image, --file, --audio or --video",
        )
    })
}

/// Reads all text of stdin, and prints a note if stdin stays open.
///
/// A caller that leaves stdin open by mistake would otherwise wait forever without knowing why.
fn read_text_with_note(notes: Notes) -> Result<String, Failure> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(read_text()));
    let read = receiver.recv_timeout(PATIENCE).or_else(|_| {
        notes.print_note(
            "waiting for the end of stdin, which is appended to the prompt; to skip it, add `< /dev/null`",
        );
        receiver.recv()
    });
    read.unwrap_or_else(|_| Err(Failure::input("cannot read stdin")))
}

/// Returns the prompt: the words of the command line, a blank line, and the text of stdin.
pub(crate) fn read_prompt(typed: &[String], notes: Notes) -> Result<String, Failure> {
    let typed = typed.join(" ");
    let piped = match (is_piped(), typed.is_empty()) {
        (false, _) => String::new(),
        (true, true) => read_text()?,
        (true, false) => read_text_with_note(notes)?,
    };
    let piped = piped.trim_end_matches(['\r', '\n']);
    Ok(match (typed.is_empty(), piped.is_empty()) {
        (_, true) => typed,
        (true, false) => piped.to_owned(),
        (false, false) => format!("{typed}\n\n{piped}"),
    })
}

/// Creates the failure for an empty prompt.
pub(crate) fn missing_prompt() -> Failure {
    Failure::input_with_hint(
        "the prompt is empty",
        "give the prompt as an argument, for example `agentloop 'Hello'`, or pipe it in",
    )
}
