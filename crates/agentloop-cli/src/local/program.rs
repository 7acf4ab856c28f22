//! The program `llama-server`: where it is, and what this version can do.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use agentloop::{Error, ErrorKind, LocalConfig, Result};
use tokio::io::AsyncReadExt as _;
use tokio::process::Command;
use tokio::time::timeout;

use super::{Reach, process};
use crate::model;

/// Its name.
const PROGRAM: &str = if cfg!(windows) { "llama-server.exe" } else { "llama-server" };

/// How many bytes of its list of options are read.
const MAX_HELP: u64 = 1 << 20;

/// How long it may take to print the list.
const HELP_WAIT: Duration = Duration::from_secs(30);

/// After how many seconds without a call the server ends, and a model of a router leaves the memory.
pub(super) const IDLE_SECONDS: u64 = 300;

/// How it is installed on this system.
const PACKAGES: &str = if cfg!(windows) {
    "`winget install llama.cpp`"
} else if cfg!(target_os = "macos") {
    "`brew install llama.cpp`"
} else {
    "`apt install llama.cpp-tools`, `dnf install llama-cpp`, `brew install llama.cpp` or `nix profile install nixpkgs#llama-cpp`"
};

/// An installed version.
pub(super) struct Program {
    pub(super) path: PathBuf,
    help: String,
}

impl Program {
    /// Finds the program, and reads the list of its options.
    pub(super) async fn find(config: &LocalConfig) -> Result<Self> {
        let Some(path) = look_up(config) else { return Err(not_installed(config).await) };
        let mut command = Command::new(&path);
        command.arg("--help").env_clear().envs(process::environment()).kill_on_drop(true);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut help = Vec::new();
        let read = async {
            let mut child = command.spawn()?;
            let output = child.stdout.take().ok_or(std::io::ErrorKind::BrokenPipe)?;
            output.take(MAX_HELP).read_to_end(&mut help).await
        };
        let _ = timeout(HELP_WAIT, read).await;
        let program = Self { path, help: String::from_utf8_lossy(&help).into_owned() };
        if program.has("--host") && program.has("--port") {
            return Ok(program);
        }
        let path = program.path.display();
        let message = format!("{path} --help prints no options of llama-server");
        Err(Error::new(ErrorKind::Config, message))
    }

    /// Returns whether one process can serve several models.
    pub(super) fn has_router(&self) -> bool {
        self.has("--models-preset")
    }

    fn has(&self, option: &str) -> bool {
        let mut words = self.help.split(|letter: char| letter.is_whitespace() || letter == ',');
        words.any(|word| word == option)
    }

    /// Returns the arguments that every server gets. Those of the user are first, because the last of two counts.
    pub(super) fn arguments(&self, config: &LocalConfig, reach: Reach) -> Vec<String> {
        let mut all = config.options.clone();
        all.extend(["--host", "127.0.0.1", "--port", "0"].map(str::to_owned));
        if self.has_router() && self.has("--sleep-idle-seconds") {
            all.extend(["--sleep-idle-seconds".to_owned(), IDLE_SECONDS.to_string()]);
        }
        // A version without this option refuses it, so nothing is downloaded.
        all.extend((reach == Reach::Listed).then(|| "--offline".to_owned()));
        all
    }
}

/// Returns where the program is: what the user has set, else the first in `PATH`.
pub(super) fn look_up(config: &LocalConfig) -> Option<PathBuf> {
    if let Some(set) = &config.program {
        return Some(set.clone()).filter(|set| set.is_file());
    }
    agentloop::internal::find_program(PROGRAM, &std::env::var_os("PATH")?)
}

async fn not_installed(config: &LocalConfig) -> Error {
    let message = match &config.program {
        Some(set) => format!("[local] program: there is no file {}", set.display()),
        None => "llama-server, the server of llama.cpp, is not in PATH".to_owned(),
    };
    let ollama = std::env::var("AGENTLOOP_OLLAMA_BASE_URL");
    let is_running =
        model::is_listening(ollama.as_deref().unwrap_or("http://localhost:11434")).await;
    let or = if is_running { "; or use Ollama, which runs: `agentloop models ollama`" } else { "" };
    Error::new(ErrorKind::Config, message).with_hint(format!(
        "install it with {PACKAGES}; all ways: https://github.com/ggml-org/llama.cpp/blob/master/docs/install.md{or}"
    ))
}
