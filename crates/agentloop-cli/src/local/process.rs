//! A running `llama-server`: its start, what it prints, and its end.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentloop::internal::{kill_group, lock};
use agentloop::{Error, ErrorKind, Result, Secret};
use agentloop_gateway::new_key;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::guard;
use crate::own_program;

/// How much of a line is read at once, in bytes.
const MAX_LINE: u64 = 2_000;

/// How many of the last lines are kept.
const MAX_LINES: usize = 60;

/// How long to wait for the rest of what it printed after its guard has ended.
const REST_WAIT: Duration = Duration::from_millis(500);

/// The variables that it gets: what it needs to run, to use a GPU and to download. Keys of providers are not among them.
const VARIABLES: &str = "PATH HOME USER LANG LANGUAGE TMPDIR TEMP TMP XDG_CACHE_HOME LD_LIBRARY_PATH DYLD_LIBRARY_PATH SSL_CERT_FILE \
     SSL_CERT_DIR HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY LLAMA_CACHE MODEL_ENDPOINT HUGGINGFACE_HUB_CACHE ONEAPI_DEVICE_SELECTOR \
     SYSTEMROOT USERPROFILE APPDATA LOCALAPPDATA PROGRAMDATA";

/// How the names of more such variables begin.
const PREFIXES: &str = "LC_ HF_ GGML_ CUDA_ NVIDIA_ HIP_ ROCR_ HSA_ VK_";

/// Returns the variables that it gets.
pub(super) fn environment() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os().filter(|(name, _)| {
        let name = name.to_string_lossy().to_uppercase();
        VARIABLES.split(' ').any(|it| name == it)
            || PREFIXES.split(' ').any(|it| name.starts_with(it))
    })
}

/// A running server. It ends when this is dropped, and when this process ends.
pub(super) struct Process {
    pub(super) port: u16,
    pub(super) key: Secret,
    log: Arc<Mutex<Log>>,
    /// The guard ends the server when this closes.
    _owner: Option<ChildStdin>,
}

impl Process {
    /// Starts the server, and waits until it has printed its port. The line is that of the guard: a file that is removed at the end,
    /// the program, and its arguments.
    pub(super) async fn start(line: &[String], wait: Duration) -> Result<Self> {
        let (key, _) = new_key()?;
        let token = std::env::var("HF_TOKEN").ok().filter(|token| !token.is_empty());
        let secrets = [Some(key.expose().to_owned()), token].into_iter().flatten().collect();
        let failed = |error| Error::new(ErrorKind::Config, format!("llama-server: {error}"));
        let mut command = Command::new(own_program().map_err(failed)?);
        command.arg(guard::WORD).args(line);
        command.env_clear().envs(environment()).env("LLAMA_API_KEY", key.expose());
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        #[cfg(unix)]
        command.arg0("llama-guard").process_group(0);
        let mut guard = command.spawn().map_err(failed)?;
        let log = Arc::new(Mutex::new(Log { secrets, ..Log::default() }));
        let (sender, port) = oneshot::channel();
        let mut process = Self { port: 0, key, log: log.clone(), _owner: guard.stdin.take() };
        let file = line.first().cloned().unwrap_or_default();
        tokio::spawn(watch(guard, file, log, sender));
        process.port = match timeout(wait, port).await {
            Ok(Ok(port)) => port,
            Ok(Err(_)) => return Err(process.failed("llama-server ended before it listened")),
            Err(_) => return Err(process.failed("llama-server takes too long to start")),
        };
        Ok(process)
    }

    pub(super) fn is_running(&self) -> bool {
        lock(&self.log).ended.is_none()
    }

    /// Returns how many lines it has printed.
    pub(super) fn lines(&self) -> usize {
        lock(&self.log).count
    }

    /// Returns an error with what it has printed about errors after the first `lines` lines.
    pub(super) fn explain(&self, error: Error, lines: usize) -> Error {
        match lock(&self.log).reason(lines) {
            Some(reason) => error.with_hint(format!("it printed: {reason}")),
            None => error,
        }
    }

    /// Returns an error of its start.
    pub(super) fn failed(&self, message: &str) -> Error {
        let end = lock(&self.log).ended.clone().unwrap_or_default();
        self.explain(Error::new(ErrorKind::Config, format!("{message}{end}")), 0)
    }
}

/// Reads what the server prints until it ends, and then kills what it has left behind.
async fn watch(mut guard: Child, file: String, log: Arc<Mutex<Log>>, port: oneshot::Sender<u16>) {
    let (group, output) = (guard.id(), guard.stderr.take());
    let mut port = Some(port);
    let mut read = Box::pin(async {
        let Some(mut output) = output.map(BufReader::new) else { return };
        let mut line = Vec::new();
        while let Ok(1..) = (&mut output).take(MAX_LINE).read_until(b'\n', &mut line).await {
            let text = String::from_utf8_lossy(&line).trim_end().to_owned();
            if let Some(found) = find_port(&text) {
                let _ = port.take().map(|port| port.send(found));
            }
            lock(&log).push(text);
            line.clear();
        }
    });
    let is_read = tokio::select! {
        _ = guard.wait() => false,
        () = &mut read => true,
    };
    let status = guard.wait().await.map(|status| format!(" ({status})"));
    kill_group(group);
    lock(&log).ended = Some(status.unwrap_or_default());
    let _ = std::fs::remove_file(file);
    if !is_read {
        let _ = timeout(REST_WAIT, read).await;
    }
}

/// Returns the port of the line with which the server states where it listens. Lines of a router's instances begin with a bracket.
fn find_port(line: &str) -> Option<u16> {
    let (_, rest) =
        line.split_once("listening on http://127.0.0.1:").filter(|_| !line.starts_with('['))?;
    rest.split(' ').next()?.parse().ok().filter(|port| *port > 0)
}

/// What the server has printed last.
#[derive(Default)]
struct Log {
    secrets: Vec<String>,
    lines: VecDeque<String>,
    count: usize,
    /// How the guard has ended, if it has.
    ended: Option<String>,
}

impl Log {
    fn push(&mut self, line: String) {
        self.lines.push_back(line);
        self.lines.drain(..self.lines.len().saturating_sub(MAX_LINES));
        self.count += 1;
    }

    /// Returns the first line about an error after the first `from` lines, else the last one, without secrets.
    fn reason(&self, from: usize) -> Option<String> {
        let new = || self.lines.iter().skip((from + self.lines.len()).saturating_sub(self.count));
        let words = ["error", "fail", "invalid"];
        let is_error = |line: &&String| words.iter().any(|it| line.to_lowercase().contains(it));
        let line = new().find(is_error).or_else(|| new().rfind(|line| !line.is_empty()))?;
        Some(self.secrets.iter().fold(line.clone(), |line, secret| line.replace(secret, "[key]")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_is_read_from_what_every_version_prints() {
        for (line, port) in [
            ("0.00.021.921 I srv  llama_server: listening on http://127.0.0.1:40141", Some(40_141)),
            (
                "main: server is listening on http://127.0.0.1:8081 - starting the main loop",
                Some(8_081),
            ),
            ("[40055] 0.00.000.001 I srv  llama_server: listening on http://127.0.0.1:40055", None),
            ("listening on http://0.0.0.0:1", None),
            ("listening on http://127.0.0.1:0", None),
            ("listening on http://127.0.0.1:99999", None),
            ("listening on http://127.0.0.1:80@evil.example", None),
            ("listening on http://127.0.0.1:", None),
        ] {
            assert_eq!(find_port(line), port, "{line}");
        }
    }

    #[test]
    fn a_reason_is_short_and_has_no_secrets() {
        let mut log = Log { secrets: vec!["hush".to_owned()], ..Log::default() };
        log.push("[1] 0.00.1 I srv  loading model".to_owned());
        log.push("[1] 0.00.2 E gguf_init: invalid magic hush".to_owned());
        log.push("[1] 0.00.3 E gguf_init: invalid magic hush".to_owned());
        log.push("0.00.4 I srv  done".to_owned());
        assert_eq!(log.reason(0).unwrap(), "[1] 0.00.2 E gguf_init: invalid magic [key]");
        assert_eq!(log.reason(3).unwrap(), "0.00.4 I srv  done");
        assert_eq!(log.reason(4), None);
        (0..10_000).for_each(|number| log.push(format!("error {number}")));
        assert_eq!(log.lines.len(), MAX_LINES);
        assert_eq!(log.reason(0).unwrap(), "error 9940");
    }
}
