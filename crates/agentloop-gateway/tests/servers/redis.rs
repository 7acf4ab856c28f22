//! A Redis of the test's own.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Runs a server until its input ends, which happens with the process of the test.
const WATCH: &str = r#"
"$@" > /dev/null 2>&1 &
server=$!
read word
kill -9 $server 2> /dev/null
wait $server
"#;

/// A server on a free port that keeps nothing on disk.
pub(crate) struct RedisServer {
    watch: Child,
    port: u16,
}

impl RedisServer {
    /// Starts a server. Returns `None`, with a note, if there is no `redis-server` on this machine; then a test has nothing to do,
    /// unless `AGENTLOOP_REQUIRE_REDIS` is set.
    pub(crate) fn start() -> Option<Self> {
        let there = Command::new("redis-server").arg("--version").stdout(Stdio::null()).status();
        if there.is_err() {
            let how = "redis-server is not there: install it (apt-get install redis-server)";
            assert!(std::env::var_os("AGENTLOOP_REQUIRE_REDIS").is_none(), "{how}");
            eprintln!("skipped: {how}, or leave this to CI");
            return None;
        }
        // Another process may take a free port before it is used.
        (0..5).find_map(|_| Self::launch()).or_else(|| panic!("redis-server does not start"))
    }

    fn launch() -> Option<Self> {
        let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
        let server = Self { watch: spawn(port), port };
        server.wait().then_some(server)
    }

    /// Waits until it responds.
    fn wait(&self) -> bool {
        for _ in 0..500 {
            if self.say(&["PING"]).is_some_and(|said| said.starts_with("+PONG")) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        false
    }

    /// Kills the server. Everything is lost.
    pub(crate) fn kill(&mut self) {
        drop(self.watch.stdin.take());
        self.watch.wait().unwrap();
    }

    /// Starts a server that was killed again on the same port.
    pub(crate) fn restart(&mut self) {
        self.watch = spawn(self.port);
        assert!(self.wait(), "redis-server does not start again");
    }

    /// Returns the number of the server's process, for signals.
    pub(crate) fn process(&self) -> String {
        let info = self.say(&["INFO", "server"]).unwrap();
        let line = info.lines().find_map(|line| line.strip_prefix("process_id:"));
        line.unwrap().trim().to_owned()
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
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
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
        stream.write_all(&command).ok()?;
        let mut buffer = vec![0; 65536];
        let length = stream.read(&mut buffer).ok()?;
        Some(String::from_utf8_lossy(&buffer[..length]).into_owned())
    }
}

fn spawn(port: u16) -> Child {
    Command::new("sh")
        .args(["-c", WATCH, "watch", "redis-server", "--port", &port.to_string()])
        .args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
        .current_dir(std::env::temp_dir())
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
    }
}
