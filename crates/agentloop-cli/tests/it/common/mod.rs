//! Runs the real binary, in an environment that knows no key and no configuration.

pub(crate) mod folder;
pub(crate) mod server;
pub(crate) mod sim;

use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;

/// A run of the command, being put together.
pub(crate) struct Run {
    command: Command,
    stdin: Vec<u8>,
    home: PathBuf,
}

/// What came of it.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// `agentloop` with these arguments.
pub(crate) fn agentloop<'a>(args: impl IntoIterator<Item = &'a str>) -> Run {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let home = std::env::temp_dir().join(format!("agentloop-cli-{}-{count}", std::process::id()));
    std::fs::create_dir_all(&home).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_agentloop"));
    command.env_clear().env("HOME", &home).current_dir(&home).args(args);
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

    /// With this text in the user's own configuration file.
    pub(crate) fn config(self, text: &str) -> Self {
        let folder = self.home.join(".config/agentloop");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("agentloop.toml"), text).unwrap();
        self
    }

    /// With this text in `agentloop.toml`, in the folder where the command runs.
    pub(crate) fn folder_config(self, text: &str) -> Self {
        std::fs::write(self.home.join("agentloop.toml"), text).unwrap();
        self
    }

    /// In this folder, in place of one of its own.
    pub(crate) fn within(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    pub(crate) fn run(mut self) -> Outcome {
        let mut child = self
            .command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let bytes = std::mem::take(&mut self.stdin);
        // From beside, because a full pipe waits for its reader; one that ends early is its own matter.
        let writer = std::thread::spawn(move || stdin.write_all(&bytes));
        let output = child.wait_with_output().unwrap();
        let _ = writer.join();
        let home = self.home.to_string_lossy().into_owned();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().replace(&home, "HOME");
        Outcome {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.home);
    }
}

impl Outcome {
    /// stdout as one JSON document.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in {self}"))
    }

    /// stdout as a JSON document a line.
    pub(crate) fn lines(&self) -> Vec<Value> {
        let read = |line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e} in {line}"));
        self.stdout.lines().map(read).collect()
    }

    /// The error that stands on stdout, after the exit code was seen to fit.
    pub(crate) fn error(&self) -> Value {
        assert_eq!(self.code, Some(1), "{self}");
        let error = self.json()["error"].take();
        assert!(error.is_object(), "{self}");
        error
    }

    /// The answer that stands on stdout, after the exit code was seen to fit.
    pub(crate) fn response(&self) -> Value {
        assert_eq!(self.code, Some(0), "{self}");
        self.json()
    }
}

impl Outcome {
    /// The same, with every time that something took as `0 ms`.
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

/// As snapshots show it.
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            Some(code) => writeln!(f, "exit {code}")?,
            None => writeln!(f, "ended by a signal")?,
        }
        write!(f, "--- stdout\n{}--- stderr\n{}", self.stdout, self.stderr)
    }
}

/// `decode` with these arguments of that body.
pub(crate) fn decode(args: &str, body: &str) -> Outcome {
    let args = std::iter::once("decode").chain(args.split_whitespace());
    agentloop(args).stdin(body).run()
}

/// `decode --stream` of these chunks, each an event, and `[DONE]`.
pub(crate) fn decode_chunks(args: &str, chunks: &[&str]) -> Outcome {
    decode(&format!("{args} --stream"), &sse(chunks, true))
}

/// Chunks as server-sent events.
pub(crate) fn sse(chunks: &[&str], done: bool) -> String {
    let end = done.then_some("[DONE]");
    let chunks = chunks.iter().copied().chain(end);
    chunks.map(|chunk| format!("data: {chunk}\n\n")).collect()
}

/// A chunk of one choice with this delta.
pub(crate) fn delta(delta: &str) -> String {
    format!(r#"{{"id":"c1","model":"m","choices":[{{"index":0,"delta":{delta}}}]}}"#)
}

/// The chunk that says why the answer ended.
pub(crate) fn finish(reason: &str) -> String {
    format!(
        r#"{{"id":"c1","model":"m","choices":[{{"index":0,"delta":{{}},"finish_reason":"{reason}"}}]}}"#
    )
}

/// The answer that these deltas and this reason make.
pub(crate) fn decode_deltas(args: &str, deltas: &[&str], reason: &str) -> Outcome {
    let mut chunks: Vec<String> = deltas.iter().map(|text| delta(text)).collect();
    chunks.push(finish(reason));
    let chunks: Vec<&str> = chunks.iter().map(String::as_str).collect();
    decode_chunks(args, &chunks)
}

/// `encode` of that request.
pub(crate) fn encode(args: &str, request: &Value) -> Outcome {
    let args = std::iter::once("encode").chain(args.split_whitespace());
    agentloop(args).stdin(request.to_string()).run()
}
