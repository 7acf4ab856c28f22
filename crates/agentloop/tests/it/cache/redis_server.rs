//! A Redis of the test's own.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A `redis-server` on a free port and on a socket, which ends with the test.
pub(crate) struct RedisServer {
    process: Child,
    folder: PathBuf,
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
        let folder = std::env::temp_dir().join(format!("agentloop-redis-{port}"));
        std::fs::create_dir_all(&folder).unwrap();
        let process = Command::new("redis-server")
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""])
            .args(["--appendonly", "no", "--unixsocket"])
            .arg(folder.join("redis.sock"))
            .current_dir(&folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut server = Self { process, folder, port };
        for _ in 0..500 {
            if server.process.try_wait().unwrap().is_some() {
                return None;
            }
            if server.says("PING").is_some_and(|said| said.starts_with("+PONG")) {
                return Some(server);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        None
    }

    pub(crate) fn address(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub(crate) fn socket(&self) -> String {
        format!("unix://{}", self.folder.join("redis.sock").display())
    }

    /// Returns the raw response of Redis to a command.
    pub(crate) fn says(&self, command: &str) -> Option<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
        stream.write_all(format!("{command}\r\n").as_bytes()).ok()?;
        let mut buffer = vec![0; 65536];
        let length = stream.read(&mut buffer).ok()?;
        Some(String::from_utf8_lossy(&buffer[..length]).into_owned())
    }

    pub(crate) fn die(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
