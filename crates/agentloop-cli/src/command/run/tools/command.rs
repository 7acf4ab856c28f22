//! The tool `run_command` runs a shell command in the user's folder.

use std::path::{Path, PathBuf};
use std::time::Duration;

use agentloop::agent::{Policy, Tool, ToolError};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::process::Command;

use super::process;
use crate::failure::Failure;

/// How long a command may run, in seconds: by default, and at most.
const TIMEOUT_SECONDS: u64 = 120;
const MAX_TIMEOUT_SECONDS: u64 = 1_800;

/// Ends of the names of environment variables that the command does not get.
const SECRETS: [&str; 6] = ["_API_KEY", "_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_CREDENTIALS"];

#[derive(Debug, Deserialize)]
pub(super) struct Asked {
    pub(super) command: String,
    pub(super) timeout_seconds: Option<u64>,
}

pub(super) fn tool(folder: &Path) -> Result<Tool, Failure> {
    let folder = folder.canonicalize().map_err(|error| Failure::file(folder, error))?;
    let parameters = json!({
        "type": "object",
        "properties": {
            "command": { "type": "string", "description": "The command, as it is typed into a POSIX shell" },
            "timeout_seconds": {
                "type": "integer", "minimum": 1, "maximum": MAX_TIMEOUT_SECONDS,
                "description": format!("How long it may run. Default: {TIMEOUT_SECONDS}."),
            },
        },
        "required": ["command"],
    });
    let about = "Runs a shell command in the user's folder, without a terminal, and returns its exit code and output. Processes \
                 that it leaves in the background are ended.";
    Ok(Tool::dynamic("run_command", about, parameters, move |arguments: Value, _| {
        let folder = folder.clone();
        async move {
            let asked: Asked = serde_json::from_value(arguments)?;
            run(&folder, &asked).await
        }
    })
    .policy(Policy::Ask)
    .status(|arguments| Some(format!("Running {}", arguments.get("command")?.as_str()?))))
}

/// Runs the command. It ends with everything that it started when the time is over or the run is cancelled.
pub(super) async fn run(folder: &PathBuf, asked: &Asked) -> Result<String, ToolError> {
    if asked.command.trim().is_empty() || asked.command.contains('\0') {
        return Err(ToolError::new("the command is empty or contains a NUL character"));
    }
    let seconds = asked.timeout_seconds.unwrap_or(TIMEOUT_SECONDS).clamp(1, MAX_TIMEOUT_SECONDS);
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(&asked.command).current_dir(folder);
    for (name, _) in std::env::vars_os() {
        let upper = name.to_string_lossy().to_ascii_uppercase();
        if SECRETS.iter().any(|end| upper.ends_with(end)) {
            command.env_remove(&name);
        }
    }
    let Some(ended) = process::run(command, None, Duration::from_secs(seconds)).await? else {
        return Err(ToolError::new(format!(
            "the command was ended after {seconds} seconds; give it more time with timeout_seconds"
        )));
    };
    let status = ended.status;
    let mut result = match status.code() {
        Some(code) => format!("exit code {code}"),
        None => format!("ended by a signal ({status})"),
    };
    for (name, text) in [("stdout", ended.stdout), ("stderr", ended.stderr)] {
        if !text.trim().is_empty() {
            result.push_str(&format!("\n--- {name}\n{}", text.trim_end()));
        }
    }
    Ok(result)
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a panic fails the test")]

    use super::process::MAX_OUTPUT;
    use super::*;

    async fn sh(command: &str, timeout_seconds: Option<u64>) -> Result<String, String> {
        let asked = Asked { command: command.to_owned(), timeout_seconds };
        let folder = std::env::temp_dir().canonicalize().unwrap();
        run(&folder, &asked).await.map_err(|error| error.message().to_owned())
    }

    #[tokio::test]
    async fn the_result_has_the_exit_code_and_both_outputs() {
        assert_eq!(sh("true", None).await.unwrap(), "exit code 0");
        assert_eq!(
            sh("echo out; echo err >&2; exit 3", None).await.unwrap(),
            "exit code 3\n--- stdout\nout\n--- stderr\nerr"
        );
        assert!(sh("kill -9 $$", None).await.unwrap().starts_with("ended by a signal"));
        assert_eq!(sh("cat", None).await.unwrap(), "exit code 0");
        assert!(sh("  ", None).await.is_err());
        assert!(sh("a\0b", None).await.is_err());
    }

    #[tokio::test]
    async fn a_command_that_takes_too_long_is_ended_with_what_it_started() {
        let name = format!("agentloop-command-{}", std::process::id());
        let path = std::env::temp_dir().join(&name);
        let command = format!("(sleep 3; touch {name}) & wait");
        let error = sh(&command, Some(1)).await.unwrap_err();
        assert!(error.starts_with("the command was ended after 1 seconds"), "{error}");
        let listed = sh("ps -eo args", None).await.unwrap();
        assert!(!listed.contains(&format!("touch {name}")), "{listed}");
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn a_flood_of_output_is_kept_in_part() {
        let text = sh("head -c 1000000 /dev/zero | tr '\\0' x; echo END", None).await.unwrap();
        assert!(text.len() < MAX_OUTPUT + 200, "{}", text.len());
        assert!(
            text.contains("940004 bytes are left out") && text.ends_with("END"),
            "{}",
            &text[text.len() - 100..]
        );
    }

    #[tokio::test]
    async fn output_that_is_not_text_is_readable() {
        assert_eq!(
            sh("printf 'a\\377b'", None).await.unwrap(),
            "exit code 0\n--- stdout\na\u{fffd}b"
        );
    }
}
