//! A terminal with a screen, on which the command runs.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZero;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Instant;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::common::patience::PATIENCE;
use crate::common::{command, signal};

/// Opens a terminal. Returns the side that shows and types, and opens the side of a command.
pub(crate) fn open_terminal() -> (File, impl Fn() -> File) {
    let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&controller).unwrap();
    unlockpt(&controller).unwrap();
    let name = ptsname(&controller, Vec::new()).unwrap();
    let open = move || {
        let name = OsStr::from_bytes(name.as_bytes());
        File::options().read(true).write(true).open(name).unwrap()
    };
    (File::from(controller), open)
}

/// Types each reply when its question appears, and returns what the terminal shows until its last process ends. `never` must not appear
/// after the last reply.
pub(crate) fn converse(mut terminal: File, replies: &[(&str, &str)], never: &str) -> String {
    let (mut seen, mut bytes, mut looked) = (String::new(), Vec::new(), 0);
    let (mut replies, mut buffer) = (replies.iter().peekable(), [0; 4096]);
    // Reading fails when the last process closes the terminal.
    while let Ok(read @ 1..) = terminal.read(&mut buffer) {
        bytes.extend_from_slice(&buffer[..read]);
        seen = String::from_utf8_lossy(&bytes).into_owned();
        let (question, reply) = replies.peek().map_or((never, ""), |reply| **reply);
        if let Some(at) = seen[looked..].find(question) {
            assert!(replies.next().is_some(), "one question more: {seen}");
            looked += at + question.len();
            terminal.write_all(reply.as_bytes()).unwrap();
        }
    }
    assert_eq!(replies.next(), None, "not asked: {seen}");
    seen.replace("\r\n", "\n")
}

/// A command that runs on a terminal of its own.
pub(crate) struct Terminal {
    child: Child,
    controller: File,
    output: Receiver<Vec<u8>>,
    parser: vt100::Parser,
    /// All bytes that the command has written.
    pub(crate) bytes: Vec<u8>,
}

/// A command that is not started yet.
pub(crate) struct Setup {
    command: Command,
    columns: u16,
    rows: u16,
    is_stdout_piped: bool,
}

/// Prepares a command on a terminal of 80 columns and 24 rows, which understands escape sequences.
pub(crate) fn terminal(folder: &Path, args: &[&str]) -> Setup {
    let mut command = command(args.iter().copied());
    command.env("TERM", "xterm-256color").env("HOME", folder.join("home")).current_dir(folder);
    Setup { command, columns: 80, rows: 24, is_stdout_piped: false }
}

impl Setup {
    pub(crate) fn size(mut self, columns: u16, rows: u16) -> Self {
        (self.columns, self.rows) = (columns, rows);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// Makes stdout a pipe. Its content is not read.
    pub(crate) fn pipe_stdout(mut self) -> Self {
        self.is_stdout_piped = true;
        self
    }

    pub(crate) fn start(mut self) -> Terminal {
        let (controller, open) = open_terminal();
        let terminal = open();
        let size = Winsize { ws_row: self.rows, ws_col: self.columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&terminal, size).unwrap();
        self.command.stdin(open()).stderr(open());
        if self.is_stdout_piped {
            self.command.stdout(Stdio::null())
        } else {
            self.command.stdout(terminal)
        };
        let child = self.command.spawn().unwrap();
        // The command must be the only one that has the terminal open, so that its end can be seen.
        drop(self.command);
        let mut reader = controller.try_clone().unwrap();
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 65_536];
            // Reading fails when the last process closes the terminal.
            while let Ok(read @ 1..) = reader.read(&mut buffer) {
                if sender.send(buffer[..read].to_vec()).is_err() {
                    break;
                }
            }
        });
        let parser = vt100::Parser::new(non_zero(self.rows), non_zero(self.columns), 1_000);
        Terminal { child, controller, output, parser, bytes: Vec::new() }
    }
}

impl Terminal {
    /// Waits until the screen contains a text.
    pub(crate) fn wait_for(&mut self, text: &str) {
        self.wait_until(text, |screen| screen.contains(text));
    }

    /// Waits until the screen is as expected.
    pub(crate) fn wait_until(&mut self, what: &str, is_expected: impl Fn(&str) -> bool) {
        let start = Instant::now();
        while !is_expected(&self.screen()) {
            match self.output.recv_timeout(PATIENCE.saturating_sub(start.elapsed())) {
                Ok(bytes) => self.process(&bytes),
                Err(RecvTimeoutError::Timeout) => panic!("no {what:?} on\n{}", self.screen()),
                Err(RecvTimeoutError::Disconnected) => {
                    panic!("the command ended without {what:?} on\n{}", self.screen())
                }
            }
        }
    }

    /// Waits for the end of the command, and returns its exit code.
    pub(crate) fn finish(&mut self) -> Option<i32> {
        while let Ok(bytes) = self.output.recv_timeout(PATIENCE) {
            self.process(&bytes);
        }
        self.child.wait().unwrap().code()
    }

    fn process(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.parser.process(bytes);
    }

    /// Changes the size of the terminal, as the user does with the edge of a window.
    pub(crate) fn resize(&mut self, columns: u16, rows: u16) {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.controller, size).unwrap();
        self.parser.screen_mut().set_size(non_zero(rows), non_zero(columns));
    }

    /// Types on the keyboard of the terminal.
    pub(crate) fn press(&mut self, keys: &str) {
        self.controller.write_all(keys.as_bytes()).unwrap();
    }

    /// Returns whether the terminal shows what is typed.
    pub(crate) fn shows_typing(&self) -> bool {
        use rustix::termios::{LocalModes, tcgetattr};
        tcgetattr(&self.controller).unwrap().local_modes.contains(LocalModes::ECHO)
    }

    /// Interrupts the command as Ctrl-C does.
    pub(crate) fn interrupt(&self) {
        signal(&self.child, "INT");
    }

    /// Returns the text on the screen, without spaces at the end of lines and empty lines at the end. Durations are replaced.
    pub(crate) fn screen(&self) -> String {
        let screen = self.parser.screen();
        let rows = screen.rows(0, screen.size().1.get());
        let text = rows.map(|row| row.trim_end().to_owned()).collect::<Vec<_>>().join("\n");
        text.trim_end().lines().map(timeless).collect::<Vec<_>>().join("\n")
    }

    /// Returns the text of the screen with its style, as escape sequences.
    #[allow(dead_code, reason = "for pictures of screens")]
    pub(crate) fn formatted(&self) -> String {
        self.parser.screen().contents_formatted()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn non_zero(number: u16) -> NonZero<u16> {
    NonZero::new(number).expect("a terminal has columns and rows")
}

/// Replaces durations such as `12 ms` and `1.5 s` by `N s`.
fn timeless(text: &str) -> String {
    let mut words: Vec<&str> = text.split(' ').collect();
    for at in 1..words.len() {
        let unit = words[at].trim_end_matches([':', ',', ';']);
        if matches!(unit, "ms" | "s") && words[at - 1].parse::<f64>().is_ok() {
            words[at - 1] = "N";
            words[at] = words[at].strip_prefix('m').unwrap_or(words[at]);
        }
    }
    words.join(" ")
}
