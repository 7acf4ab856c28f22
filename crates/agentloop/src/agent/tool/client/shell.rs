//! Calls of the shell tool.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// A call of the shell tool, in one form for every provider.
///
/// ```
/// use agentloop::agent::ShellCall;
///
/// let call = ShellCall::new(["ls -l"]);
/// assert_eq!(call.commands, ["ls -l"]);
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ShellCall {
    /// The commands, in the order in which to run them.
    #[serde(default)]
    pub commands: Vec<String>,
    /// Whether to restart the shell first.
    #[serde(default)]
    pub restart: bool,
    /// The time limit of the commands in milliseconds.
    pub timeout_ms: Option<u64>,
    /// The most characters of output to return for each command.
    pub max_output_length: Option<u64>,
    /// The directory to run the commands in.
    pub working_directory: Option<String>,
    /// Environment variables for the commands.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
}

impl ShellCall {
    /// Creates a call with these commands, for tests of a handler.
    pub fn new<S: Into<String>>(commands: impl IntoIterator<Item = S>) -> Self {
        Self { commands: commands.into_iter().map(Into::into).collect(), ..Self::default() }
    }
}

/// The output of one command and how it ended.
///
/// ```
/// use agentloop::agent::CommandOutput;
///
/// let output = CommandOutput::new("README.md\n", 0).with_stderr("");
/// assert_eq!(output.exit_code, Some(0));
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CommandOutput {
    /// The standard output.
    pub stdout: String,
    /// The standard error.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
    /// The exit code; `None` if the command did not end by itself.
    pub exit_code: Option<i64>,
    /// Whether the command exceeded its time limit and was stopped.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
}

impl CommandOutput {
    /// Creates the output of a command that ended with this code.
    pub fn new(stdout: impl Into<String>, exit_code: i64) -> Self {
        Self { stdout: stdout.into(), exit_code: Some(exit_code), ..Self::default() }
    }

    /// Creates the output of a command that exceeded its time limit and was stopped.
    pub fn timed_out(stdout: impl Into<String>) -> Self {
        Self { stdout: stdout.into(), timed_out: true, ..Self::default() }
    }

    setters! {
        /// Sets the standard error.
        with_stderr(self, stderr: impl Into<String>) => self.stderr = stderr.into();
    }
}

/// Converts `{"command": "ls"}` of Anthropic, and `{"type": "exec", "command": ["ls", "-l"]}` and `{"commands": ["ls"]}` of
/// OpenAI, to the form of [`ShellCall`].
pub(super) fn normalize(arguments: Value) -> Value {
    let Value::Object(mut fields) = arguments else { return arguments };
    fields.retain(|_, value| !value.is_null());
    match fields.remove("command") {
        Some(Value::String(command)) => push_command(&mut fields, command),
        Some(Value::Array(words)) => {
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            match words {
                Some(words) => push_command(&mut fields, quote_words(&words)),
                None => return Value::Object(fields),
            }
        }
        Some(other) => {
            fields.insert("command".to_owned(), other);
        }
        None => {}
    }
    if fields.get("type") == Some(&json!("exec")) {
        fields.remove("type");
    }
    Value::Object(fields)
}

fn push_command(fields: &mut Map<String, Value>, command: String) {
    match fields.get_mut("commands") {
        Some(Value::Array(commands)) => commands.push(command.into()),
        _ => {
            fields.insert("commands".to_owned(), json!([command]));
        }
    }
}

/// Quotes the words of a command for a shell.
fn quote_words(words: &[&str]) -> String {
    let is_plain = |word: &str| {
        !word.is_empty()
            && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-./=:,@%+".contains(&b))
    };
    let words: Vec<String> = words
        .iter()
        .map(|word| {
            if is_plain(word) {
                (*word).to_owned()
            } else {
                format!("'{}'", word.replace('\'', r"'\''"))
            }
        })
        .collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_every_provider_become_one_form() {
        for (given, expected) in [
            (json!({ "command": "ls -l" }), json!({ "commands": ["ls -l"] })),
            (json!({ "restart": true }), json!({ "restart": true })),
            (
                json!({ "commands": ["a", "b"], "timeout_ms": 5, "max_output_length": null }),
                json!({ "commands": ["a", "b"], "timeout_ms": 5 }),
            ),
            (
                json!({ "type": "exec", "command": ["bash", "-lc", "echo 'it''s' $HOME"], "env": {} }),
                json!({ "commands": [r"bash -lc 'echo '\''it'\'''\''s'\'' $HOME'"], "env": {} }),
            ),
        ] {
            let normal = normalize(given);
            assert_eq!(normal, expected);
            assert_eq!(normalize(normal.clone()), normal);
            serde_json::from_value::<ShellCall>(normal).unwrap();
        }
    }
}
