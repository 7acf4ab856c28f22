//! The reference server, from npm.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::sync::Mutex;

const PACKAGE: &str = "@modelcontextprotocol/server-everything";
const VERSION: &str = "2026.8.31";

/// The tests of one process install the server once. Each process uses its own folder.
static INSTALLING: Mutex<()> = Mutex::const_new(());

/// The time limit for the registry.
const PATIENCE: Duration = Duration::from_secs(45);

/// Returns the server's program for `node`, which is installed below `target/` the first time. Without Node or the registry it
/// prints a note and returns `None`; with `AGENTLOOP_REQUIRE_NPM=1` that is a failure.
pub(crate) async fn everything() -> Option<PathBuf> {
    let _one_by_one = INSTALLING.lock().await;
    let folder =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("server-everything-{VERSION}"));
    let program = folder.join("node_modules").join(PACKAGE).join("dist/index.js");
    if program.exists() && runs("node", &["--version"]).await.is_ok() {
        return Some(program);
    }
    match install(&folder).await {
        Ok(()) => Some(program),
        Err(why) => {
            assert!(std::env::var_os("AGENTLOOP_REQUIRE_NPM").is_none(), "{why}");
            eprintln!("!! SKIPPED: {PACKAGE} {VERSION} could not be had from npm: {why}");
            None
        }
    }
}

async fn install(folder: &Path) -> Result<(), String> {
    runs("node", &["--version"]).await?;
    // Whoever is first moves it to its place, so that it is never there by half.
    let begun = folder.with_extension(format!("{}", std::process::id()));
    std::fs::create_dir_all(&begun).map_err(|error| error.to_string())?;
    let (prefix, package) = (begun.to_str().unwrap(), format!("{PACKAGE}@{VERSION}"));
    let quiet = ["--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=1"];
    let mut arguments = vec!["install", "--prefix", prefix, package.as_str()];
    arguments.extend(quiet);
    let installed = runs("npm", &arguments).await;
    if installed.is_ok() && std::fs::rename(&begun, folder).is_ok() {
        return Ok(());
    }
    let _ = std::fs::remove_dir_all(&begun);
    if folder.exists() { Ok(()) } else { installed }
}

async fn runs(program: &str, arguments: &[&str]) -> Result<(), String> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(PATIENCE, command.output()).await;
    let output = output.map_err(|_| format!("{program} took longer than {PATIENCE:?}"))?;
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        Ok(())
    } else {
        Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr).trim()))
    }
}
