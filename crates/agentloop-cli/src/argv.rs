//! The words of the command line, before they are parsed.
//!
//! - `agentloop 'Why is the sky blue?'` is `agentloop chat 'Why is the sky blue?'`: `chat` is added if no command is named.
//! - A prompt may start with a hyphen: `agentloop '-5 plus 3'`. A word that is not a known option and that contains a space or starts
//!   with a number is part of the prompt.
//! - A single word that resembles a command is refused, because a mistyped command must not be sent to a model. So is one that is
//!   followed by an option that `chat` does not have: `agentloop serv --check`.
//! - Several words are a prompt, even if the first resembles a command. If nothing can be sent, for example without a key, the hint
//!   mentions the command.

use std::ffi::{OsStr, OsString};
use std::io::IsTerminal as _;

use agentloop::Provider;
use clap::Parser as _;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::args::{Cli, Command};
use crate::failure::Failure;

/// Marks a word of the prompt that starts with a hyphen. The words of a command line never contain this character.
const MARK: char = '\0';

/// How much of a word is compared with a known one, in characters: what is typed may be a whole file.
const MAX_COMPARED: usize = 32;

/// The longest rest of a prompt that a suggestion repeats, in characters.
const MAX_SHOWN_WORDS: usize = 60;

/// Why the command line cannot be used.
pub(crate) enum Refusal {
    /// The parser's message. It may also be the help.
    Usage(Box<clap::Error>),
    /// The only word of the prompt resembles a command.
    Command(Failure),
}

/// A command line, and what may have been meant by it.
pub(crate) struct Parsed {
    pub(crate) cli: Cli,
    /// A hint for the case that nothing can be sent: the first word of the prompt resembles a command.
    pub(crate) meant: Option<String>,
}

/// Parses the command line.
pub(crate) fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Parsed, Refusal> {
    let mut words: Vec<OsString> = words.into_iter().collect();
    let is_added = add_chat(&mut words, std::io::stdin().is_terminal());
    let first = words.get(2).and_then(|word| word.to_str()).map(str::to_owned);
    let cli = parse_marked(words).map_err(|error| {
        let refused = first.filter(|_| is_added).and_then(|word| refuse_option(&word, &error));
        refused.map_or_else(|| Refusal::Usage(Box::new(error)), Refusal::Command)
    })?;
    let mut meant = None;
    if let (true, Command::Chat(args)) = (is_added, &cli.command) {
        if let Some(failure) = refuse_command(args.words()) {
            return Err(Refusal::Command(failure));
        }
        meant = describe_near(args.words());
    }
    Ok(Parsed { cli, meant })
}

/// Adds `chat` if no command is named, and returns whether it did.
fn add_chat(words: &mut Vec<OsString>, is_terminal: bool) -> bool {
    let mut rest = words.iter().skip(1);
    let first = loop {
        match rest.next().and_then(|word| word.to_str()) {
            Some("-q" | "--quiet") => {}
            Some("--config") => drop(rest.next()),
            Some(word) if word.starts_with("--config=") => {}
            first => break first,
        }
    };
    let is_command = match first {
        Some("-h" | "--help" | "-V" | "--version") => true,
        Some(word) => Command::is_name(word),
        // Without any word the prompt is in a pipe, or the user wants a conversation. A first word that is not UTF-8 is
        // reported by the parser.
        None => is_terminal && words.len() < 2 && !crate::command::repl::is_at_terminal(),
    };
    if !is_command {
        words.insert(words.len().min(1), "chat".into());
    }
    !is_command
}

/// Parses the words. Words that only look like options are marked first.
fn parse_marked(mut words: Vec<OsString>) -> Result<Cli, clap::Error> {
    for _ in 0..words.len() {
        let error = match Cli::try_parse_from(&words) {
            Err(error) if error.kind() == ErrorKind::UnknownArgument => error,
            parsed => return parsed,
        };
        let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else {
            return Err(error);
        };
        let Some(word) = words.iter_mut().find(|word| is_text(word, unknown)) else {
            return Err(error);
        };
        let mut marked = OsString::from(MARK.to_string());
        marked.push(&word);
        *word = marked;
    }
    Cli::try_parse_from(&words)
}

/// Returns whether a word that starts with an unknown option is text.
fn is_text(word: &OsStr, unknown: &str) -> bool {
    let Some(word) = word.to_str().filter(|word| word.starts_with(unknown)) else { return false };
    let is_number = word
        .strip_prefix('-')
        .is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit() || first == '.'));
    word.starts_with('-') && (is_number || word.contains(char::is_whitespace))
}

/// Removes the mark of a word.
#[expect(clippy::unnecessary_wraps, reason = "the parser needs a function that can fail")]
pub(crate) fn unmark(word: &str) -> Result<String, String> {
    Ok(word.strip_prefix(MARK).unwrap_or(word).to_owned())
}

/// Returns a failure if the prompt resembles a command: a single word, or one that is followed by a provider or a model.
fn refuse_command(prompt: &[String]) -> Option<Failure> {
    let word = match prompt {
        [word] => word,
        [word, object] if object.contains('/') || Provider::builtin(object).is_some() => word,
        _ => return None,
    };
    let command = near_command(word)?;
    let message = if command == *word {
        format!("`{word}` is a command, and options of `chat` come before it")
    } else {
        format!("`{word}` is not a command; did you mean `{command}`?")
    };
    Some(Failure::input_with_hint(
        message,
        format!("to send it to a model as the prompt, use `agentloop chat {}`", prompt.join(" ")),
    ))
}

/// Returns a failure if an option is not known and the word before it resembles a command that may have it.
fn refuse_option(word: &str, error: &clap::Error) -> Option<Failure> {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    if error.kind() != ErrorKind::UnknownArgument || !option.starts_with('-') {
        return None;
    }
    let command = near_command(word).filter(|command| *command != word)?;
    Some(Failure::input_with_hint(
        format!("`{word}` is not a command; did you mean `{command}`?"),
        format!(
            "without a command the words are a prompt for `chat`, which has no option `{option}`"
        ),
    ))
}

/// Returns what may have been meant by a prompt of several words of which the first resembles a command.
fn describe_near(prompt: &[String]) -> Option<String> {
    let (word, rest) = prompt.split_first().filter(|(_, rest)| !rest.is_empty())?;
    let command = near_command(word).filter(|command| command != word)?;
    let rest = rest.join(" ");
    let rest = if rest.chars().count() > MAX_SHOWN_WORDS { "…" } else { &rest };
    Some(format!("did you mean `agentloop {command} {rest}`? `{word}` is not a command"))
}

/// Returns the command that a word resembles, or is.
fn near_command(word: &str) -> Option<String> {
    if word.contains(char::is_whitespace) {
        return None;
    }
    let typed = word.to_lowercase();
    let most = if typed.chars().count() < 6 { 1 } else { 2 };
    let near = Command::names().into_iter().map(|name| (distance(&typed, &name), name)).min()?;
    let (_, command) = Some(near).filter(|(distance, _)| *distance <= most)?;
    // Few typing errors hit the first letter. A short word with another one is usually a word: `dog`, `what`.
    let rest = |word: &str| word.chars().skip(1).collect::<String>();
    if most == 1 && typed != command && rest(&typed) == rest(&command) {
        return None;
    }
    Some(command)
}

/// Returns the number of insertions, deletions, replacements and swaps of neighbours that turn one word into the other.
pub(crate) fn distance(one: &str, other: &str) -> usize {
    let one: String = one.chars().take(MAX_COMPARED).collect();
    strsim::osa_distance(&one, other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(line: &str) -> (bool, String) {
        let mut words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let added = add_chat(&mut words, true);
        (added, words.join(OsStr::new(" ")).into_string().unwrap_or_default())
    }

    #[test]
    fn chat_is_added_if_no_command_is_named() {
        for (line, expected) in [
            ("agentloop hello", "agentloop chat hello"),
            ("agentloop -q hello", "agentloop chat -q hello"),
            ("agentloop --config models hello", "agentloop chat --config models hello"),
            ("agentloop -m sim/echo models", "agentloop chat -m sim/echo models"),
        ] {
            assert_eq!(added(line), (true, expected.to_owned()));
        }
        for line in [
            "agentloop models",
            "agentloop -q --config x models",
            "agentloop --config=x run",
            "agentloop --help",
            "agentloop -V",
            "agentloop help chat",
            "agentloop",
        ] {
            assert_eq!(added(line), (false, line.to_owned()));
        }
    }

    #[test]
    fn every_command_is_known_by_its_name() {
        let names = Command::names();
        assert!(names.len() > 20 && names.iter().all(|name| Command::is_name(name)), "{names:?}");
        assert!(names.iter().any(|name| name == "help") && !Command::is_name("hello"));
    }

    #[test]
    fn only_a_single_word_that_resembles_a_command_is_refused() {
        let is_refused = |prompt: &[&str]| {
            let prompt: Vec<String> = prompt.iter().map(|word| (*word).to_owned()).collect();
            refuse_command(&prompt).is_some()
        };
        for prompt in [
            &["modles"][..],
            &["Models"],
            &["provider"],
            &["modles", "groq"],
            &["lgo"],
            &["olg"],
            &["chatt"],
        ] {
            assert!(is_refused(prompt), "{prompt:?}");
        }
        for prompt in [
            &["hello"][..],
            &["what", "now"],
            &["models are fun"],
            &["Guten Tag"],
            &[],
            &["dog"],
            &["what"],
            &["fun"],
            &["logic"],
        ] {
            assert!(!is_refused(prompt), "{prompt:?}");
        }
    }

    #[test]
    fn a_prompt_of_several_words_may_begin_with_a_mistyped_command() {
        let meant = |prompt: &[&str]| {
            let prompt: Vec<String> = prompt.iter().map(|word| (*word).to_owned()).collect();
            describe_near(&prompt)
        };
        let hint = meant(&["chta", "hello", "you"]).unwrap_or_default();
        assert!(hint.contains("`agentloop chat hello you`"), "{hint}");
        let long = "x".repeat(10_000);
        assert!(meant(&["chta", &long]).unwrap_or_default().len() < 200);
        for prompt in [&["chta"][..], &[], &["chat", "x"], &["why", "is", "it"], &["dog", "x"]] {
            assert_eq!(meant(prompt), None, "{prompt:?}");
        }
    }

    #[test]
    fn the_distance_counts_swapped_neighbours_once() {
        assert_eq!(distance("modles", "models"), 1);
        assert_eq!(distance("chat", "what"), 1);
        assert_eq!(distance("", "run"), 3);
        assert_eq!(distance(&"x".repeat(100_000), "run"), 32);
    }
}
