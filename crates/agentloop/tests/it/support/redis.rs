//! A Redis of the test's own. The tests of the gateway use this file too.

#![allow(dead_code, reason = "each program of tests uses a part of it")]
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::patience::{PATIENCE, wait_until};
use super::port::Port;

/// Runs a server until its input ends, which happens with the process of the test, also if it is killed.
const WATCH: &str = r#"
"$@" > /dev/null 2>&1 &
server=$!
read word
kill -9 $server 2> /dev/null
wait $server
"#;

/// A server on a port of its own and on a socket, which keeps nothing on disk.
pub(crate) struct RedisServer {
    watch: Child,
    port: Port,
    folder: PathBuf,
    options: Vec<String>,
}

impl RedisServer {
    /// Starts a server. Returns `None`, with a note, if there is no `redis-server` on this machine; then a test has nothing to do,
    /// unless `AGENTLOOP_REQUIRE_REDIS` is set.
    pub(crate) fn start() -> Option<Self> {
        Self::start_with(&[])
    }

    /// Starts a server with options of the command line.
    pub(crate) fn start_with(options: &[&str]) -> Option<Self> {
        let there = Command::new("redis-server").arg("--version").stdout(Stdio::null()).status();
        if there.is_err() {
            let how = "redis-server is not there: install it (apt-get install redis-server)";
            assert!(std::env::var_os("AGENTLOOP_REQUIRE_REDIS").is_none(), "{how}");
            eprintln!("skipped: {how}, or leave this to CI");
            return None;
        }
        let port = Port::reserve();
        let name = format!("agentloop-redis-{}-{}", std::process::id(), port.number());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let options: Vec<String> = options.iter().map(ToString::to_string).collect();
        let watch = spawn(&port, &folder, &options);
        let server = Self { watch, port, folder, options };
        server.wait();
        Some(server)
    }

    fn wait(&self) {
        // A server that wants a password says so.
        let responds = || self.say(&["PING"]).is_some_and(|said| said.starts_with(['+', '-']));
        wait_until("redis-server responds", responds);
    }

    /// Kills the server. Everything is lost.
    pub(crate) fn kill(&mut self) {
        drop(self.watch.stdin.take());
        self.watch.wait().unwrap();
    }

    /// Starts a server that was killed again on the same port.
    pub(crate) fn restart(&mut self) {
        self.watch = spawn(&self.port, &self.folder, &self.options);
        self.wait();
    }

    /// Returns the number of the server's process, for signals.
    pub(crate) fn process(&self) -> String {
        let info = self.say(&["INFO", "server"]).unwrap();
        let line = info.lines().find_map(|line| line.strip_prefix("process_id:"));
        line.unwrap().trim().to_owned()
    }

    pub(crate) fn port(&self) -> u16 {
        self.port.number()
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://{}", self.port.address())
    }

    /// Returns the URL of the server's socket.
    pub(crate) fn socket_url(&self) -> String {
        format!("unix://{}", self.folder.join(SOCKET).display())
    }

    /// Returns the raw response of Redis to a command.
    pub(crate) fn say(&self, words: &[&str]) -> Option<String> {
        self.say_bytes(&words.iter().map(|word| word.as_bytes()).collect::<Vec<_>>())
    }

    /// Returns the raw response of Redis to a command whose words are any bytes.
    pub(crate) fn say_bytes(&self, words: &[&[u8]]) -> Option<String> {
        let mut command = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            command.extend(format!("${}\r\n", word.len()).into_bytes());
            command.extend_from_slice(word);
            command.extend_from_slice(b"\r\n");
        }
        let mut stream = TcpStream::connect(self.port.address()).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        stream.write_all(&command).ok()?;
        let mut buffer = vec![0; 65536];
        let length = stream.read(&mut buffer).ok()?;
        Some(String::from_utf8_lossy(&buffer[..length]).into_owned())
    }
}

/// The name of the socket in the server's folder.
const SOCKET: &str = "redis.sock";

fn spawn(port: &Port, folder: &Path, options: &[String]) -> Child {
    Command::new("sh")
        .args(["-c", WATCH, "watch", "redis-server", "--port", &port.number().to_string()])
        .args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--unixsocket", SOCKET])
        .args(options)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Sends a signal to a process, such as `STOP` and `CONT`.
pub(crate) fn signal(process: &str, name: &str) {
    let status = Command::new("kill").args([&format!("-{name}"), process]).status();
    assert!(status.unwrap().success());
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        drop(self.watch.stdin.take());
        let _ = self.watch.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
