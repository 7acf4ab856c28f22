//! `agentloop config edit`: opens the user's configuration file in an editor, and checks it afterwards.

use std::path::{Path, PathBuf};
use std::process::Command;

use agentloop::Config;

use crate::failure::Failure;
use crate::notes::Notes;
use crate::setup::is_set;
use crate::user_config::{self, require_user_path};

/// What a new file contains. Each setting is a comment.
const TEMPLATE: &str = r#"# Settings of agentloop. A line that starts with # is a comment; remove the # to use a setting.
# `agentloop config` shows what is set and where it comes from.

# The model that is used if none is named.
#default_model = "openai/gpt-4.1-mini"

# Short names for models: agentloop -m fast 'Hello'
#[aliases]
#fast = "groq/openai/gpt-oss-20b"

# A server of yours: agentloop -m lab/MODEL 'Hello'
#[providers.lab]
#base_url = "http://localhost:8000/v1"
#key_env = "LAB_KEY"

# How many times a temporary error is retried.
#[retry]
#max_retries = 3

# Models to ask when the first one fails.
#[fallback]
#models = ["mistral/mistral-medium-latest"]

# Responses are kept for so many seconds, and used again for the same request.
#[cache]
#ttl = 3600

# Calls beyond this amount of US dollars are refused.
#[cost]
#limit = "25.00"
#per = "month"

# Whether conversations are stored.
#[history]
#enabled = true
"#;

pub(crate) fn run(named: Option<&Path>, notes: Notes) -> Result<(), Failure> {
    let variable = std::env::var_os("AGENTLOOP_CONFIG").filter(|_| is_set("AGENTLOOP_CONFIG"));
    let path = match named.map(Path::to_owned).or(variable.map(PathBuf::from)) {
        Some(path) => path,
        None => require_user_path("agentloop.toml")?,
    };
    let exists = path.try_exists().map_err(|error| Failure::file(&path, error))?;
    if !exists {
        user_config::write(&path, TEMPLATE)?;
    }
    open_editor(&path)?;
    // The file is kept whatever it contains, so that nothing that was typed is lost.
    Config::read(&path).map_err(|error| {
        let hint = "correct it with `agentloop config edit`";
        let hint = error.hint().map_or(hint.to_owned(), |more| format!("{more}; {hint}"));
        Failure::Call(error.with_hint(hint))
    })?;
    notes.print_note(&format!("{} has no errors", path.display()));
    Ok(())
}

/// Opens the file in the user's editor, and waits for its end.
fn open_editor(path: &Path) -> Result<(), Failure> {
    let variable = ["VISUAL", "EDITOR"].into_iter().find(|variable| is_set(variable));
    let editor = variable.and_then(|variable| std::env::var(variable).ok());
    let editor = editor.unwrap_or_else(|| if cfg!(windows) { "notepad" } else { "vi" }.to_owned());
    let status = command(&editor, path).status();
    let hint = "set VISUAL or EDITOR to an editor that waits until the file is closed";
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::input_with_hint(
            format!("the editor `{editor}` failed ({status}); {} is not checked", path.display()),
            hint,
        )),
        Err(error) => {
            Err(Failure::input_with_hint(format!("cannot start `{editor}`: {error}"), hint))
        }
    }
}

/// The variables may contain options, and quotes around a path with spaces. A shell reads them as other programs do.
#[cfg(unix)]
fn command(editor: &str, path: &Path) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("{editor} \"$1\"")).arg("sh").arg(path);
    command
}

#[cfg(not(unix))]
fn command(editor: &str, path: &Path) -> Command {
    let mut words = editor.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or("notepad"));
    command.args(words).arg(path);
    command
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a panic fails the test")]

    use agentloop::ConfigReader;

    use super::*;

    #[test]
    fn the_template_is_valid_with_and_without_its_comments() {
        let used: Vec<&str> = TEMPLATE
            .lines()
            .filter_map(|line| line.strip_prefix('#'))
            .filter(|line| !line.starts_with(' '))
            .collect();
        assert!(used.len() > 15, "{used:?}");
        for text in [TEMPLATE.to_owned(), used.join("\n")] {
            let reader = ConfigReader::new().trusted(&text, Path::new("/")).unwrap();
            reader.finish().unwrap();
        }
    }
}
