//! The help, the manual pages and the completions of every command, from the definition of the command line.

use clap::{Command, CommandFactory as _};
use clap_complete::{Shell, generate};
use clap_mangen::Man;

use super::Cli;

/// Returns every command with its words, for example `agentloop tools try`.
fn commands() -> Vec<(String, Command)> {
    fn collect(words: String, command: &Command, all: &mut Vec<(String, Command)>) {
        for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
            collect(format!("{words} {}", inner.get_name()), inner, all);
        }
        all.push((words, command.clone()));
    }
    let mut root = Cli::command();
    root.build();
    let mut all = Vec::new();
    collect("agentloop".to_owned(), &root, &mut all);
    all
}

/// Puts a text into one line, without the escapes of a manual page.
fn one_line(text: &str) -> String {
    let text = text
        .replace("\\fI", "")
        .replace("\\fB", "")
        .replace("\\fR", "")
        .replace("\\*(Aq", "'")
        .replace('\\', "");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns what the help of a command must contain: its own text, the options, and what they mean.
fn texts(command: &Command) -> Vec<String> {
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string);
    let mut texts: Vec<String> = about.into_iter().collect();
    for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
        let help = argument.get_long_help().or(argument.get_help()).map(ToString::to_string);
        let help = help.unwrap_or_else(|| panic!("{} has no help", argument.get_id()));
        assert!(!help.is_empty() && !help.contains('\u{1b}'), "{}: {help:?}", argument.get_id());
        texts.push(help);
        texts.extend(argument.get_long().map(|name| format!("--{name}")));
        texts.extend(argument.get_short().map(|letter| format!("-{letter}")));
        if !argument.is_hide_possible_values_set() && argument.get_action().takes_values() {
            let values = argument.get_possible_values();
            texts.extend(values.iter().map(|value| value.get_name().to_owned()));
        }
    }
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        let about = inner.get_about().unwrap_or_else(|| panic!("{} has no help", inner.get_name()));
        texts.push(format!("{} {about}", inner.get_name()));
    }
    texts
}

#[test]
fn the_help_of_every_command_has_its_text_and_all_options() {
    let all = commands();
    assert!(all.len() > 40, "{}", all.len());
    for (words, mut command) in all {
        let help = one_line(&command.render_long_help().to_string());
        assert!(words == "agentloop" || help.contains(&format!("Usage: {words}")), "{help}");
        for text in texts(&command) {
            assert!(help.contains(&one_line(&text)), "{words}: {text:?} is not in {help}");
        }
        let short = command.render_help().to_string();
        assert!(command.get_about().is_some() && short.contains("Usage:"), "{words}: {short}");
    }
}

#[test]
fn every_command_has_a_manual_page_with_all_options() {
    for (words, command) in commands() {
        let mut page = Vec::new();
        Man::new(command.clone()).render(&mut page).unwrap();
        let page = one_line(&String::from_utf8(page).unwrap());
        for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
            let help = argument.get_long_help().or(argument.get_help()).unwrap().to_string();
            let first = help.lines().next().unwrap_or_default();
            assert!(page.contains(&one_line(first)), "{words}: {first:?} is not in {page}");
        }
    }
}

#[test]
fn completions_have_every_command_and_option() {
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish, Shell::PowerShell, Shell::Elvish] {
        let mut script = Vec::new();
        generate(shell, &mut Cli::command(), "agentloop", &mut script);
        let script = String::from_utf8(script).unwrap();
        for (words, command) in commands() {
            let name = command.get_name();
            assert!(script.contains(name), "{shell}: {words}");
            for long in command.get_arguments().filter_map(clap::Arg::get_long) {
                // Fish writes options without their dashes.
                let option =
                    if shell == Shell::Fish { format!("-l {long}") } else { format!("--{long}") };
                assert!(script.contains(&option), "{shell}: {words} {option}");
            }
        }
    }
}
