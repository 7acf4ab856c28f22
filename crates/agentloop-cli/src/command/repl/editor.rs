//! Reads lines with editing, history and completion.

use std::path::PathBuf;
use std::sync::mpsc;

use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::{DefaultHistory, History as _};
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{CompletionType, Config, Context, Editor, Helper};

use super::command::{HELP, is_unfinished};
use crate::failure::Failure;

/// The most lines that are remembered.
const MAX_LINES: usize = 2_000;

/// The longest line that is remembered, in bytes. A pasted file is not.
const MAX_REMEMBERED: usize = 8_192;

/// How many completions are shown without a question.
const MAX_COMPLETIONS: usize = 60;

/// What the user entered.
#[derive(Debug, PartialEq)]
pub(super) enum Input {
    Line(String),
    /// Ctrl-C.
    Interrupted,
    /// Ctrl-D, or the terminal was closed.
    End,
}

/// Reads lines on a thread of its own, because reading blocks.
#[derive(Debug)]
pub(super) struct LineEditor {
    prompts: mpsc::Sender<String>,
    inputs: tokio::sync::mpsc::UnboundedReceiver<Result<Input, String>>,
}

impl LineEditor {
    /// Starts the thread. `models` are completed after `/model` and `tools` after `/tools`; lines are kept in the file `history`.
    pub(super) fn start(models: Vec<String>, tools: Vec<String>, history: Option<PathBuf>) -> Self {
        let (prompts, asked) = mpsc::channel::<String>();
        let (sender, inputs) = tokio::sync::mpsc::unbounded_channel();
        std::thread::spawn(move || {
            let mut reader = match Reader::new(models, tools, history) {
                Ok(reader) => reader,
                Err(error) => return drop(sender.send(Err(error.to_string()))),
            };
            // The loop ends when the editor is dropped.
            for prompt in asked {
                if sender.send(reader.read(&prompt)).is_err() {
                    break;
                }
            }
        });
        Self { prompts, inputs }
    }

    /// Reads a line, or several if the first is not finished.
    pub(super) async fn read(&mut self, prompt: &str) -> Result<Input, Failure> {
        let _ = self.prompts.send(prompt.to_owned());
        match self.inputs.recv().await {
            Some(Ok(input)) => Ok(input),
            Some(Err(error)) => {
                Err(Failure::input(format!("cannot read from the terminal: {error}")))
            }
            None => Ok(Input::End),
        }
    }
}

struct Reader {
    editor: Editor<Completions, DefaultHistory>,
    history: Option<PathBuf>,
}

impl Reader {
    fn new(
        models: Vec<String>,
        tools: Vec<String>,
        history: Option<PathBuf>,
    ) -> rustyline::Result<Self> {
        let config = Config::builder()
            .max_history_size(MAX_LINES)?
            .history_ignore_dups(true)?
            .history_ignore_space(true)
            .completion_type(CompletionType::List)
            .completion_prompt_limit(MAX_COMPLETIONS)
            .bracketed_paste(true)
            .build();
        let mut editor = Editor::with_config(config)?;
        editor.set_helper(Some(Completions { files: FilenameCompleter::new(), models, tools }));
        if let Some(path) = &history {
            // There is no file before the first line. A file that cannot be read is replaced.
            let _ = editor.load_history(path);
        }
        Ok(Self { editor, history })
    }

    fn read(&mut self, prompt: &str) -> Result<Input, String> {
        match self.editor.readline(prompt) {
            Ok(line) => {
                if !line.trim().is_empty() && line.len() <= MAX_REMEMBERED {
                    self.remember(&line);
                }
                Ok(Input::Line(line))
            }
            Err(ReadlineError::Interrupted) => Ok(Input::Interrupted),
            Err(ReadlineError::Eof) => Ok(Input::End),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Adds a line to the history. It is written at once, so that nothing is lost when the program is killed.
    fn remember(&mut self, line: &str) {
        let is_new = self.editor.history_mut().add(line).unwrap_or(false);
        if let (true, Some(path)) = (is_new, &self.history) {
            let _ = self.editor.append_history(path);
        }
    }
}

/// Completes commands, models, tools and paths.
struct Completions {
    files: FilenameCompleter,
    models: Vec<String>,
    tools: Vec<String>,
}

impl Completer for Completions {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        at: usize,
        context: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let before = line.get(..at).unwrap_or_default();
        if !before.starts_with('/') || before.starts_with("//") {
            return Ok((at, Vec::new()));
        }
        match before.split_once(char::is_whitespace) {
            None => Ok((0, complete_commands(before))),
            Some(("/model" | "/m", _)) => Ok(complete_models(before, &self.models)),
            Some(("/tools", _)) => Ok(complete_tools(before, &self.tools)),
            Some(("/file" | "/f" | "/image" | "/save", _)) => {
                self.files.complete(line, at, context)
            }
            _ => Ok((at, Vec::new())),
        }
    }
}

fn complete_commands(typed: &str) -> Vec<Pair> {
    let known = HELP.iter().filter(|(name, ..)| name.starts_with(typed));
    known
        .map(|(name, arguments, _)| {
            let space = if arguments.is_empty() { "" } else { " " };
            Pair { display: (*name).to_owned(), replacement: format!("{name}{space}") }
        })
        .collect()
}

/// Completes the last word: from its start, or from the name of a model after its provider.
fn complete_models(typed: &str, models: &[String]) -> (usize, Vec<Pair>) {
    let start = typed.rfind(char::is_whitespace).map_or(0, |at| at + 1);
    let word = &typed[start..];
    let matches = |model: &&String| {
        model.starts_with(word)
            || model
                .split_once('/')
                .is_some_and(|(_, name)| !word.is_empty() && name.starts_with(word))
    };
    let found = models
        .iter()
        .filter(matches)
        .map(|model| Pair { display: model.clone(), replacement: model.clone() });
    (start, found.collect())
}

/// Completes the last word. A minus in front of it stays.
fn complete_tools(typed: &str, tools: &[String]) -> (usize, Vec<Pair>) {
    let start = typed.rfind(char::is_whitespace).map_or(0, |at| at + 1);
    let start = if typed[start..].starts_with('-') { start + 1 } else { start };
    let found = tools
        .iter()
        .filter(|tool| tool.starts_with(&typed[start..]))
        .map(|tool| Pair { display: tool.clone(), replacement: tool.clone() });
    (start, found.collect())
}

impl Validator for Completions {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(if is_unfinished(context.input()) {
            ValidationResult::Incomplete
        } else {
            ValidationResult::Valid(None)
        })
    }
}

impl Hinter for Completions {
    type Hint = String;
}

impl Highlighter for Completions {}

impl Helper for Completions {}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(pairs: Vec<Pair>) -> Vec<String> {
        pairs.into_iter().map(|pair| pair.replacement).collect()
    }

    #[test]
    fn commands_are_completed_with_a_space_for_their_arguments() {
        assert_eq!(names(complete_commands("/mo")), ["/model "]);
        assert_eq!(names(complete_commands("/re")), ["/retry"]);
        assert_eq!(complete_commands("/").len(), HELP.len());
        assert!(complete_commands("/x").is_empty());
    }

    #[test]
    fn tools_are_completed_also_after_a_minus() {
        let tools = ["read_file".to_owned(), "research".to_owned(), "github:*".to_owned()];
        let complete = |typed: &str| {
            let (start, pairs) = complete_tools(typed, &tools);
            (start, names(pairs))
        };
        assert_eq!(complete("/tools rea"), (7, vec!["read_file".to_owned()]));
        assert_eq!(complete("/tools time -re").1, ["read_file", "research"]);
        assert_eq!(complete("/tools time -re").0, 13);
        assert!(complete("/tools ö").1.is_empty());
    }

    #[test]
    fn models_are_completed_with_and_without_their_provider() {
        let models =
            ["openai/gpt-4.1".to_owned(), "groq/gpt-oss".to_owned(), "sim/echo".to_owned()];
        let complete = |typed: &str| {
            let (start, pairs) = complete_models(typed, &models);
            (start, names(pairs))
        };
        assert_eq!(complete("/model op"), (7, vec!["openai/gpt-4.1".to_owned()]));
        assert_eq!(complete("/model gpt-").1.len(), 2);
        assert_eq!(complete("/model ").1.len(), 3);
        assert!(complete("/model ö").1.is_empty());
    }
}
