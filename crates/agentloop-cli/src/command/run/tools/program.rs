//! Tools of the configuration, `[tools.NAME]`: programs that receive the arguments of a call as JSON on stdin and in `{name}` of
//! their command line.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agentloop::ProgramConfig;
use agentloop::agent::{Policy, Tool, ToolError, child_environment};
use serde_json::{Map, Value};
use tokio::process::Command;

use super::environment::expand;
use super::process;
use crate::failure::Failure;

/// How long a program may run by default.
const TIMEOUT: Duration = Duration::from_secs(120);

/// What the time limit of the call exceeds that of the program by, so that the program's is reported.
const SLACK: Duration = Duration::from_secs(10);

/// The longest word of a command, in bytes: what Linux passes to a program.
const MAX_WORD_BYTES: usize = 128 << 10;

/// Programs that run a text given as an argument. An argument of a call inside of such a text would be run as well.
const INTERPRETERS: [&str; 17] = [
    "ash",
    "bash",
    "cmd",
    "csh",
    "dash",
    "fish",
    "ksh",
    "node",
    "perl",
    "php",
    "powershell",
    "pwsh",
    "python",
    "python3",
    "ruby",
    "sh",
    "zsh",
];

/// A program with its command line and environment.
struct Program {
    command: Vec<String>,
    /// The names of the parameters, which are replaced in the command line.
    parameters: Vec<String>,
    env: Vec<(String, String)>,
    folder: PathBuf,
    timeout: Duration,
}

/// Builds a tool. The program starts in the folder of its table, else in `root`.
pub(super) fn tool(name: &str, config: &ProgramConfig, root: &Path) -> Result<Tool, Failure> {
    let table = format!("tools.{name}");
    let properties = config.parameters.get("properties").and_then(Value::as_object);
    let parameters: Vec<String> =
        properties.map(|it| it.keys().cloned().collect()).unwrap_or_default();
    check_command(&table, &config.command, &parameters)?;
    let folder = config.folder.as_deref().unwrap_or(root);
    let folder = folder.canonicalize().map_err(|error| Failure::file(folder, error))?;
    let mut env = Vec::new();
    for (variable, value) in &config.env {
        env.push((variable.clone(), expand(&table, value.expose())?));
    }
    let timeout = config.timeout.unwrap_or(TIMEOUT);
    let origin = format!("program {:?} in {folder:?}", config.command);
    let program =
        Arc::new(Program { command: config.command.clone(), parameters, env, folder, timeout });
    let schema = config.parameters.clone();
    Ok(Tool::dynamic(name, &config.description, schema, move |arguments: Value, _| {
        let program = Arc::clone(&program);
        async move { program.run(&arguments).await }
    })
    .policy(Policy::Ask)
    .timeout(timeout.saturating_add(SLACK))
    // Approval does not apply to another program of the same name.
    .origin(&origin))
}

/// Checks that no argument of a call can choose the program or become a part of a script.
fn check_command(table: &str, command: &[String], parameters: &[String]) -> Result<(), Failure> {
    let has_placeholder =
        |word: &String| parameters.iter().any(|name| word.contains(&format!("{{{name}}}")));
    let Some((program, words)) = command.split_first() else {
        return Err(Failure::input(format!("{table}: `command` is missing")));
    };
    if has_placeholder(program) {
        return Err(Failure::input_with_hint(
            format!("{table}: an argument of a call must not choose the program"),
            "use {…} only in the words after the program",
        ));
    }
    let stem = Path::new(program).file_stem().map(|stem| stem.to_string_lossy().to_lowercase());
    if !stem.is_some_and(|stem| INTERPRETERS.contains(&stem.as_str())) {
        return Ok(());
    }
    let is_script_option = |word: &String| {
        let is_short = word.starts_with('-') && !word.starts_with("--");
        (is_short && word.contains(['c', 'e', 'r', 'C']))
            || matches!(word.as_str(), "--eval" | "--command" | "--print" | "/c" | "/C" | "/k")
    };
    let scripts = words.iter().zip(words.iter().skip(1));
    for (option, script) in scripts {
        if is_script_option(option) && has_placeholder(script) {
            return Err(Failure::input_with_hint(
                format!(
                    "{table}: an argument of a call would be run as a part of the script after {option}"
                ),
                "pass it as a separate word, for example command = [\"sh\", \"-c\", \"echo \\\"$1\\\"\", \"sh\", \"{text}\"]",
            ));
        }
    }
    Ok(())
}

impl Program {
    async fn run(&self, arguments: &Value) -> Result<String, ToolError> {
        let words = self.fill(arguments.as_object().unwrap_or(&Map::new()))?;
        let mut words = words.iter();
        let Some(program) = words.next() else { return Err(ToolError::new("there is no program")) };
        let mut command = Command::new(program);
        command
            .args(words)
            .current_dir(&self.folder)
            .env_clear()
            .envs(child_environment())
            .envs(self.env.iter().map(|(name, value)| (name, value)));
        let mut input = serde_json::to_vec(arguments)?;
        input.push(b'\n');
        let ended = process::run(command, Some(input), self.timeout).await;
        let ended = ended
            .map_err(|error| ToolError::new(format!("the program cannot be started: {error}")))?;
        let Some(ended) = ended else {
            let seconds = self.timeout.as_secs_f64();
            return Err(ToolError::new(format!("the program was ended after {seconds} seconds")));
        };
        let (stdout, stderr) = (ended.stdout.trim_end(), ended.stderr.trim());
        if ended.status.success() {
            return Ok(if stdout.is_empty() {
                "[the program printed nothing]".to_owned()
            } else {
                stdout.to_owned()
            });
        }
        let status = match ended.status.code() {
            Some(code) => format!("exit code {code}"),
            None => format!("ended by a signal ({})", ended.status),
        };
        let why = if stderr.is_empty() { stdout } else { stderr };
        Err(ToolError::new(if why.is_empty() { status } else { format!("{status}: {why}") }))
    }

    /// Replaces `{name}` in the command line. A word with an argument that is missing is left out.
    fn fill(&self, arguments: &Map<String, Value>) -> Result<Vec<String>, ToolError> {
        let mut filled = Vec::with_capacity(self.command.len());
        // After `--`, programs read no options.
        let mut has_ended_options = false;
        for word in &self.command {
            if let Some(word) = self.fill_word(word, arguments, has_ended_options)? {
                has_ended_options |= word == "--";
                filled.push(word);
            }
        }
        Ok(filled)
    }

    fn fill_word(
        &self,
        word: &str,
        arguments: &Map<String, Value>,
        has_ended_options: bool,
    ) -> Result<Option<String>, ToolError> {
        let (mut filled, mut rest) = (String::new(), word);
        while let Some((at, name)) = self.next_placeholder(rest) {
            filled.push_str(&rest[..at]);
            rest = &rest[at + name.len() + 2..];
            let text = match arguments.get(name) {
                None | Some(Value::Null) => return Ok(None),
                Some(Value::String(text)) => text.clone(),
                Some(value) => value.to_string(),
            };
            if text.contains('\0') {
                return Err(ToolError::new(format!("`{name}` contains a NUL character")));
            }
            let is_text = arguments.get(name).is_some_and(Value::is_string);
            if filled.is_empty() && is_text && text.starts_with('-') && !has_ended_options {
                return Err(ToolError::new(format!(
                    "`{name}` must not start with -, because the program would read it as an option"
                )));
            }
            if filled.len() + text.len() > MAX_WORD_BYTES {
                return Err(ToolError::new(format!(
                    "`{name}` makes a word too long for a program"
                )));
            }
            filled.push_str(&text);
        }
        filled.push_str(rest);
        Ok(Some(filled))
    }

    /// Returns the first `{name}` of a text that is a parameter. Other braces are text.
    fn next_placeholder(&self, text: &str) -> Option<(usize, &str)> {
        let places = self.parameters.iter().filter_map(|name| {
            let at = text.find(&format!("{{{name}}}"))?;
            Some((at, name.as_str()))
        });
        places.min_by_key(|(at, _)| *at)
    }
}

#[cfg(all(test, unix))]
#[path = "program_tests.rs"]
mod tests;
