//! A running `agentloop serve`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use serde_json::{Value, json};

use crate::common::patience::{PATIENCE, wait_until};
use crate::common::{command, signal};

/// A gateway and what it has written on stderr.
pub(crate) struct Gateway {
    child: Child,
    lines: Receiver<String>,
    /// The lines that were read so far.
    pub(crate) stderr: String,
    /// Where it listens, without the scheme.
    pub(crate) address: String,
}

/// An HTTP response.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: String,
}

impl Gateway {
    /// Starts a gateway with the simulator in a folder, on a free port and without an admin listener. Its data is in the folder `home`.
    pub(crate) fn start(folder: &Path, args: &[&str]) -> Self {
        Self::start_without_simulator(folder, &[&["--simulator"], args].concat())
    }

    /// Starts one without the simulator.
    pub(crate) fn start_without_simulator(folder: &Path, args: &[&str]) -> Self {
        let mut child = command(["serve", "--listen", "127.0.0.1:0", "--admin-listen", "off"])
            .args(args)
            .env("HOME", folder.join("home"))
            .env("CLIENT_KEY", "al-client")
            .current_dir(folder)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        let mut gateway = Self { child, lines, stderr: String::new(), address: String::new() };
        gateway.wait_for("GOOGLE_GEMINI_BASE_URL");
        gateway.address = address(&gateway.stderr);
        gateway
    }

    /// Reads stderr until it contains a text.
    pub(crate) fn wait_for(&mut self, text: &str) {
        let start = Instant::now();
        while !self.stderr.contains(text) {
            match self.lines.recv_timeout(PATIENCE.saturating_sub(start.elapsed())) {
                Ok(line) => {
                    self.stderr.push_str(&line);
                    self.stderr.push('\n');
                }
                Err(_) => panic!("no {text:?} in\n{}", self.stderr),
            }
        }
    }

    /// Sends a signal, for example `TERM`.
    pub(crate) fn signal(&self, name: &str) {
        signal(&self.child, name);
    }

    /// Waits for the end of the process, and returns its exit code.
    pub(crate) fn finish(&mut self) -> Option<i32> {
        let mut status = None;
        wait_until(&format!("the gateway ends\n{}", self.stderr), || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        for line in self.lines.iter() {
            self.stderr.push_str(&line);
            self.stderr.push('\n');
        }
        status.unwrap().code()
    }

    /// Sends a prompt to a model.
    pub(crate) fn chat(&self, key: &str, model: &str) -> Reply {
        read_reply(send_chat(&self.address, key, model, false))
    }

    /// Opens a stream of a model.
    pub(crate) fn open_stream(&self, key: &str, model: &str) -> BufReader<TcpStream> {
        BufReader::new(send_chat(&self.address, key, model, true))
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Reply {
    /// Parses the body as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }
}

/// Returns where a gateway listens, from the guide that it prints.
pub(crate) fn address(guide: &str) -> String {
    let (_, rest) = guide.split_once("The gateway listens at http://").expect(guide);
    rest.split_whitespace().next().unwrap().to_owned()
}

/// Sends a prompt to a model of a gateway.
pub(crate) fn send_chat(address: &str, key: &str, model: &str, stream: bool) -> TcpStream {
    let messages = json!([{"role": "user", "content": "Hello"}]);
    let body = json!({"model": model, "stream": stream, "messages": messages});
    send(address, key, "chat/completions", &body)
}

/// Sends a request to a gateway.
pub(crate) fn send(address: &str, key: &str, path: &str, body: &Value) -> TcpStream {
    let body = body.to_string();
    let mut connection = TcpStream::connect(address).unwrap();
    connection.set_read_timeout(Some(PATIENCE)).unwrap();
    let head = format!(
        "POST /v1/{path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\nauthorization: Bearer {key}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    connection.write_all((head + &body).as_bytes()).unwrap();
    connection
}

/// Reads a whole response. The connection ends with it.
pub(crate) fn read_reply(mut connection: impl Read) -> Reply {
    let mut text = String::new();
    connection.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split_whitespace().nth(1).and_then(|status| status.parse().ok());
    Reply { status: status.unwrap_or_else(|| panic!("no status in {text}")), body: body.to_owned() }
}
