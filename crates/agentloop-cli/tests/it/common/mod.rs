//! Runs the binary in an environment without keys and without a configuration.

#[path = "../../../../agentloop/tests/it/support/folder.rs"]
pub(crate) mod folder;
#[cfg(unix)]
pub(crate) mod gateway;
#[path = "../../../../agentloop/tests/it/support/patience.rs"]
pub(crate) mod patience;
#[path = "../../../../agentloop/tests/it/support/port.rs"]
pub(crate) mod port;
#[cfg(unix)]
#[path = "../../../../agentloop/tests/it/support/program.rs"]
pub(crate) mod programs;
#[cfg(unix)]
pub(crate) mod pty;
#[cfg(feature = "redis")]
#[path = "../../../../agentloop/tests/it/support/redis.rs"]
pub(crate) mod redis;
pub(crate) mod server;
pub(crate) mod sim;

use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;

/// The configuration of a tool that needs no approval and always returns the same.
pub(crate) const SUM: &str =
    "allow = ['sum']\n[tools.sum]\ncommand = ['/usr/bin/printf', '14']\ndescription = 'Adds'\n";

/// A command to run.
pub(crate) struct Run {
    command: Command,
    stdin: Vec<u8>,
    home: PathBuf,
}

/// The exit code and the output of a command.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Prepares the process of a command, without any variable and without stdin.
pub(crate) fn command<'a>(args: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_agentloop"));
    command.args(args).env_clear().current_dir(std::env::temp_dir());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Sends a signal to a process, for example `TERM`.
pub(crate) fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status();
    assert!(status.unwrap().success());
}

/// Creates a command with these arguments.
pub(crate) fn agentloop<'a>(args: impl IntoIterator<Item = &'a str>) -> Run {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let home = std::env::temp_dir().join(format!("agentloop-cli-{}-{count}", std::process::id()));
    std::fs::create_dir_all(&home).unwrap();
    let mut command = command(args);
    command.env("HOME", &home).current_dir(&home);
    Run { command, stdin: Vec::new(), home }
}

impl Run {
    pub(crate) fn stdin(mut self, stdin: impl Into<Vec<u8>>) -> Self {
        self.stdin = stdin.into();
        self
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// Writes the user's configuration file.
    pub(crate) fn config(self, text: &str) -> Self {
        self.user_file("agentloop.toml", text)
    }

    /// Writes a file in the user's configuration folder.
    pub(crate) fn user_file(self, name: &str, text: &str) -> Self {
        let path = self.home.join(".config/agentloop").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    /// Writes `agentloop.toml` in the folder where the command runs.
    pub(crate) fn folder_config(self, text: &str) -> Self {
        std::fs::write(self.home.join("agentloop.toml"), text).unwrap();
        self
    }

    /// Runs the command in this folder.
    pub(crate) fn within(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    pub(crate) fn run(mut self) -> Outcome {
        let mut child = self.command.stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let bytes = std::mem::take(&mut self.stdin);
        // A thread writes stdin, because a full pipe blocks. The command may end before it has read everything.
        let writer = std::thread::spawn(move || stdin.write_all(&bytes));
        let mut done = Outcome::of(child);
        let _ = writer.join();
        let home = self.home.to_string_lossy().into_owned();
        for text in [&mut done.stdout, &mut done.stderr] {
            *text = text.replace(&home, "HOME");
        }
        done
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.home);
    }
}

impl Outcome {
    /// Waits for the end of a process.
    pub(crate) fn of(child: Child) -> Self {
        let done = child.wait_with_output().unwrap();
        let [stdout, stderr] = [done.stdout, done.stderr].map(|b| String::from_utf8(b).unwrap());
        Self { code: done.status.code(), stdout, stderr }
    }

    /// Parses stdout as one JSON document.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in {self}"))
    }

    /// Parses stdout as one JSON document per line.
    pub(crate) fn lines(&self) -> Vec<Value> {
        let read = |line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e} in {line}"));
        self.stdout.lines().map(read).collect()
    }

    /// Checks the exit code.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self}");
        self
    }

    /// Checks that stdout contains these words.
    #[track_caller]
    pub(crate) fn shows(&self, words: &str) -> &Self {
        assert!(self.stdout.contains(words), "{words:?} is not on stdout: {self}");
        self
    }

    /// Checks that stderr contains these words.
    #[track_caller]
    pub(crate) fn reports(&self, words: &str) -> &Self {
        assert!(self.stderr.contains(words), "{words:?} is not on stderr: {self}");
        self
    }

    /// Checks that the exit code is 0, and that stdout is this text.
    #[track_caller]
    pub(crate) fn prints(&self, text: &str) -> &Self {
        assert_eq!((self.code, self.stdout.as_str()), (Some(0), text), "{self}");
        self
    }

    /// Checks the exit code, and that stderr contains these words.
    #[track_caller]
    pub(crate) fn fails(&self, code: i32, words: &str) -> &Self {
        assert_eq!(self.code, Some(code), "{self}");
        self.reports(words)
    }

    /// Checks that the exit code is 2, that stdout is empty, and that stderr contains these words.
    #[track_caller]
    pub(crate) fn refuses(&self, words: &str) -> &Self {
        assert_eq!(self.stdout, "", "{self}");
        self.fails(2, words)
    }

    /// Checks that the exit code is 1, and returns the error on stdout.
    pub(crate) fn error(&self) -> Value {
        assert_eq!(self.code, Some(1), "{self}");
        let error = self.json()["error"].take();
        assert!(error.is_object(), "{self}");
        error
    }

    /// Checks that the exit code is 0, and returns the response on stdout.
    pub(crate) fn response(&self) -> Value {
        assert_eq!(self.code, Some(0), "{self}");
        self.json()
    }
}

impl Outcome {
    /// Replaces all durations on stderr by `0 ms`.
    pub(crate) fn timeless(mut self) -> Self {
        let lines = self.stderr.split_inclusive('\n').map(|line| {
            let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            for at in 1..words.len() {
                let unit = words[at].trim_end_matches([':', ',', '\n']);
                let is_number = words[at - 1].parse::<f64>().is_ok();
                if is_number && matches!(unit, "ms" | "s") {
                    let rest = words[at][unit.len()..].to_owned();
                    words[at] = format!("ms{rest}");
                    "0".clone_into(&mut words[at - 1]);
                }
            }
            words.join(" ")
        });
        self.stderr = lines.collect();
        self
    }
}

/// The format of snapshots.
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            Some(code) => writeln!(f, "exit {code}")?,
            None => writeln!(f, "ended by a signal")?,
        }
        write!(f, "--- stdout\n{}--- stderr\n{}", self.stdout, self.stderr)
    }
}

/// Runs `decode` with these arguments on a body.
pub(crate) fn decode(args: &str, body: &str) -> Outcome {
    let args = std::iter::once("decode").chain(args.split_whitespace());
    agentloop(args).stdin(body).run()
}

/// Formats chunks as server-sent events.
pub(crate) fn sse(chunks: &[&str], done: bool) -> String {
    let end = done.then_some("[DONE]");
    let chunks = chunks.iter().copied().chain(end);
    chunks.map(|chunk| format!("data: {chunk}\n\n")).collect()
}

/// Formats a chunk of one choice with this delta.
pub(crate) fn delta(delta: &str) -> String {
    format!(r#"{{"id":"c1","model":"m","choices":[{{"index":0,"delta":{delta}}}]}}"#)
}

/// Formats the chunk with the finish reason.
pub(crate) fn finish(reason: &str) -> String {
    format!(
        r#"{{"id":"c1","model":"m","choices":[{{"index":0,"delta":{{}},"finish_reason":"{reason}"}}]}}"#
    )
}

/// Runs `encode` on a request.
pub(crate) fn encode(args: &str, request: &Value) -> Outcome {
    let args = std::iter::once("encode").chain(args.split_whitespace());
    agentloop(args).stdin(request.to_string()).run()
}
