//! What a line of an interactive conversation means: a prompt, or a command such as `/model`.

use crate::argv::distance;

/// The commands, with their arguments and what they do.
pub(super) const HELP: [(&str, &str, &str); 12] = [
    ("/help", "", "show this list"),
    (
        "/model",
        "[MODEL]",
        "continue with another model, also of another provider; without MODEL, show the model",
    ),
    ("/system", "[TEXT]", "replace the system prompt; without TEXT, show it"),
    ("/file", "SOURCE…", "add files, folders, patterns or URLs to the next prompt"),
    ("/image", "PATH…", "add images to the next prompt"),
    (
        "/tools",
        "[NAME…]",
        "enable tools, groups or 'server:*', or disable them with -NAME; without NAME, list the tools",
    ),
    ("/retry", "", "send the last prompt again, for another response"),
    ("/undo", "", "remove the last prompt and its response"),
    ("/cost", "", "show the tokens and the cost of the conversation"),
    ("/save", "FILE", "save the conversation as Markdown, or as JSON if FILE ends in .json"),
    ("/new", "", "start a new conversation"),
    ("/quit", "", "leave; Ctrl-D does the same"),
];

/// What the user typed.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Typed {
    Nothing,
    Prompt(String),
    Command(Command),
    /// Not a command; with the most similar one, if there is one.
    Unknown(String, Option<&'static str>),
    /// A command with wrong arguments, and how it is used.
    Misused(String),
}

/// A command.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Command {
    Help,
    Model(Option<String>),
    System(Option<String>),
    File(Vec<String>),
    Image(Vec<String>),
    Tools(Vec<String>),
    Retry,
    Undo,
    Cost,
    Save(String),
    New,
    Quit,
}

/// Parses what the user typed.
///
/// A prompt that starts with a slash is written with two. A path such as `/etc/hosts` is a prompt, because its first word has a second slash.
pub(super) fn parse(typed: &str) -> Typed {
    let (text, is_block) = unquote(typed);
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Typed::Nothing;
    }
    if is_block {
        return Typed::Prompt(text);
    }
    let Some(rest) = trimmed.strip_prefix('/') else { return Typed::Prompt(text) };
    if rest.starts_with('/') {
        return Typed::Prompt(rest.to_owned());
    }
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let (name, argument) = (&rest[..end], rest[end..].trim());
    if name.contains('/') {
        return Typed::Prompt(text);
    }
    let optional = || (!argument.is_empty()).then(|| argument.to_owned());
    let words = match name {
        "file" | "f" | "image" | "tools" | "save" => split_words(argument),
        _ => Some(Vec::new()),
    };
    let Some(words) = words else {
        return Typed::Misused(format!("a quotation mark of `{argument}` is not closed"));
    };
    let command = match name {
        "help" | "h" | "?" => Command::Help,
        "model" | "m" => Command::Model(optional()),
        "system" => Command::System(optional()),
        "file" | "f" => Command::File(words),
        "image" => Command::Image(words),
        "tools" => Command::Tools(words),
        "retry" => Command::Retry,
        "undo" => Command::Undo,
        "cost" => Command::Cost,
        "save" => Command::Save(words.join(" ")),
        "new" | "clear" => Command::New,
        "quit" | "exit" | "q" => Command::Quit,
        _ => return Typed::Unknown(format!("/{name}"), suggest(name)),
    };
    match &command {
        Command::File(words) | Command::Image(words) if words.is_empty() => misused(name),
        Command::Save(file) if file.is_empty() => misused(name),
        Command::Retry | Command::Undo | Command::Cost | Command::New if !argument.is_empty() => {
            misused(name)
        }
        _ => Typed::Command(command),
    }
}

fn misused(name: &str) -> Typed {
    let known =
        HELP.iter().find(|(known, ..)| known[1..].starts_with(&name[..1]) && known.contains(name));
    let usage =
        known.map_or(format!("/{name}"), |(name, arguments, _)| format!("{name} {arguments}"));
    Typed::Misused(format!("use it as `{}`", usage.trim_end()))
}

/// Returns the command that was probably meant: one that starts with the same letters, or differs in one letter.
fn suggest(name: &str) -> Option<&'static str> {
    let names = || HELP.iter().map(|(name, ..)| *name);
    let starts =
        names().find(|known| known[1..].starts_with(name) || name.starts_with(&known[1..]));
    starts.or_else(|| names().find(|known| distance(name, &known[1..]) <= 1))
}

/// Returns whether the user has not finished typing: the last line ends with a backslash, or a block of `"""` is open.
pub(super) fn is_unfinished(typed: &str) -> bool {
    let start = typed.trim_start();
    match start.strip_prefix(QUOTES) {
        Some(rest) => !rest.contains(QUOTES),
        None => typed.ends_with('\\') && !typed.ends_with("\\\\"),
    }
}

/// The start and the end of a prompt of several lines.
const QUOTES: &str = "\"\"\"";

/// Removes what only continued the input: the quotes around a block, and backslashes at the ends of lines.
///
/// Returns also whether it was a block, which is always a prompt.
fn unquote(typed: &str) -> (String, bool) {
    let trimmed = typed.trim();
    if let Some(rest) = trimmed.strip_prefix(QUOTES) {
        let inside = rest.find(QUOTES).map_or(rest, |end| &rest[..end]);
        return (inside.trim_matches('\n').to_owned(), true);
    }
    (typed.replace("\\\n", "\n"), false)
}

/// Splits arguments as a shell does. Returns `None` if a quotation mark is not closed.
fn split_words(text: &str) -> Option<Vec<String>> {
    // Windows separates folders with backslashes.
    if cfg!(windows) { shlex::split(&text.replace('\\', r"\\")) } else { shlex::split(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(text: &str) -> Typed {
        Typed::Prompt(text.to_owned())
    }

    #[test]
    fn lines_are_prompts_or_commands() {
        assert_eq!(parse("  \n"), Typed::Nothing);
        assert_eq!(parse("Hello there"), prompt("Hello there"));
        assert_eq!(parse("//quit is a command"), prompt("/quit is a command"));
        assert_eq!(parse("/etc/hosts is a file"), prompt("/etc/hosts is a file"));
        assert_eq!(parse("/model"), Typed::Command(Command::Model(None)));
        assert_eq!(parse("/m groq/x "), Typed::Command(Command::Model(Some("groq/x".into()))));
        assert_eq!(parse(" /quit"), Typed::Command(Command::Quit));
        assert_eq!(
            parse(r#"/file a.rs "b c.rs" d\ e.rs 'f'"#),
            Typed::Command(Command::File(vec![
                "a.rs".into(),
                "b c.rs".into(),
                "d e.rs".into(),
                "f".into()
            ]))
        );
        // The completion of names writes backslashes.
        assert_eq!(
            parse(r"/file a\(b\)\'s.txt"),
            Typed::Command(Command::File(vec!["a(b)'s.txt".into()]))
        );
        for open in ["/file it's.txt", "/save \"talk", "/tools x\\"] {
            assert!(matches!(parse(open), Typed::Misused(_)), "{open}");
        }
        assert_eq!(
            parse("/system It's fine"),
            Typed::Command(Command::System(Some("It's fine".into())))
        );
        assert_eq!(
            parse("/system You are\nbrief."),
            Typed::Command(Command::System(Some("You are\nbrief.".into())))
        );
    }

    #[test]
    fn a_mistyped_command_is_not_sent() {
        assert_eq!(parse("/modle x"), Typed::Unknown("/modle".into(), Some("/model")));
        assert_eq!(parse("/und"), Typed::Unknown("/und".into(), Some("/undo")));
        assert_eq!(parse("/systme"), Typed::Unknown("/systme".into(), Some("/system")));
        assert_eq!(parse("/xyzzy"), Typed::Unknown("/xyzzy".into(), None));
        assert_eq!(parse("/file"), Typed::Misused("use it as `/file SOURCE…`".into()));
        assert_eq!(parse("/undo 3"), Typed::Misused("use it as `/undo`".into()));
        assert_eq!(parse("/\u{301}"), Typed::Unknown("/\u{301}".into(), None));
    }

    #[test]
    fn several_lines_are_continued_with_a_backslash_or_in_quotes() {
        assert!(is_unfinished("one \\"));
        assert!(!is_unfinished("C:\\\\"));
        assert!(is_unfinished("\"\"\"\none"));
        assert!(!is_unfinished("\"\"\"\none\n\"\"\""));
        assert_eq!(parse("one\\\ntwo"), prompt("one\ntwo"));
        assert_eq!(parse("\"\"\"\n/undo is\n  a command\n\"\"\""), prompt("/undo is\n  a command"));
    }

    #[test]
    fn every_command_of_the_help_is_known() {
        for (name, arguments, _) in HELP {
            let typed = if arguments.is_empty() { name.to_owned() } else { format!("{name} x") };
            assert!(matches!(parse(&typed), Typed::Command(_)), "{name}");
        }
    }
}
