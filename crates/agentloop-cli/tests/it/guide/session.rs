//! Turns the commands of a page into one session of a shell, and compares what they print.

use super::markdown::{Block, Page};

/// What is done on a page, in its order.
#[derive(Debug, PartialEq)]
pub(super) enum Step {
    /// Writes a file that the page shows.
    File { name: String, text: String },
    /// Runs a command.
    Command(Shown),
}

/// A command as the page shows it.
#[derive(Debug, PartialEq)]
pub(super) struct Shown {
    pub(super) line: usize,
    pub(super) text: String,
    /// The lines that it prints. `None` if the block shows no output at all.
    pub(super) output: Option<Vec<String>>,
    pub(super) code: i32,
    /// Whether every provider has a key, and the simulator is behind its URL.
    pub(super) has_keys: bool,
    /// Whether it ends with `&`.
    pub(super) is_background: bool,
}

/// Returns the steps of a page. Blocks that are not tested are left out.
pub(super) fn steps(page: &Page) -> Vec<Step> {
    let mut steps = Vec::new();
    for block in page.blocks.iter().filter(|block| block.untested().is_none()) {
        if let Some(name) = block.file() {
            steps.push(Step::File { name: name.to_owned(), text: block.text.clone() });
        } else if block.language == "console" {
            steps.extend(console(block).into_iter().map(Step::Command));
        } else if block.language == "sh" {
            // A subshell that ends with the first command that fails.
            let text = format!("(set -e\n{})", block.text);
            steps.push(Step::Command(shown(block, block.line, text)));
        }
    }
    steps
}

fn shown(block: &Block, line: usize, text: String) -> Shown {
    let has_keys = block.mark.as_ref().is_some_and(|(name, _)| name == "keys");
    let (command, comment) = text.rsplit_once(" # ").unwrap_or((&text, ""));
    let is_background = command.trim_end().ends_with('&');
    let code = comment.split_once("exit code ").map_or(0, |(_, rest)| {
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().unwrap_or(0)
    });
    Shown { line, text, output: None, code, has_keys, is_background }
}

/// Reads `$ command` and the lines below it. A command goes on after `\` and to the end of a here-document.
pub(super) fn console(block: &Block) -> Vec<Shown> {
    let mut commands: Vec<Shown> = Vec::new();
    let mut lines = block.text.lines().zip(block.line + 1..).peekable();
    let has_output = |line: &str| !line.starts_with("$ ");
    let mut shows_output = false;
    while let Some((line, number)) = lines.next() {
        if has_output(line) {
            shows_output = true;
            if let Some(last) = commands.last_mut() {
                last.output.get_or_insert_default().push(line.to_owned());
            }
            continue;
        }
        let mut text = line[2..].to_owned();
        let end = text.split_once("<<").map(|(_, rest)| {
            let word = rest.trim_start_matches(['-', ' ']).split_whitespace().next();
            word.unwrap_or_default().trim_matches(['\'', '"']).to_owned()
        });
        let mut is_open = text.ends_with('\\') || end.is_some();
        while is_open && let Some((more, _)) = lines.next() {
            text.push('\n');
            text.push_str(more);
            is_open = match &end {
                Some(word) => more != word,
                None => more.ends_with('\\'),
            };
        }
        commands.push(shown(block, number, text));
    }
    if shows_output {
        for command in &mut commands {
            command.output.get_or_insert_default();
        }
    }
    commands
}

/// Compares lines with what a page shows. `...` stands for anything: for lines if it is alone, else for a part of its line.
pub(super) fn matches(shown: &[String], printed: &[&str]) -> bool {
    match shown.split_first() {
        None => printed.is_empty(),
        Some((first, rest)) if first.trim() == "..." => {
            (0..=printed.len()).any(|skipped| matches(rest, &printed[skipped..]))
        }
        Some((first, rest)) => printed
            .split_first()
            .is_some_and(|(line, others)| matches_line(first, line) && matches(rest, others)),
    }
}

fn matches_line(shown: &str, printed: &str) -> bool {
    let (shown, printed) = (shown.trim_end(), printed.trim_end());
    let Some((start, rest)) = shown.split_once("...") else { return shown == printed };
    let Some(mut left) = printed.strip_prefix(start) else { return false };
    let mut parts: Vec<&str> = rest.split("...").collect();
    let end = parts.pop().unwrap_or_default();
    for part in parts {
        match left.split_once(part) {
            Some((_, after)) => left = after,
            None => return false,
        }
    }
    left.ends_with(end)
}

#[test]
fn commands_and_their_output_are_read() {
    let text = "```console\n$ cat > f <<'EOF'\na\nEOF\n$ agentloop x \\\n    -y  # exit code 2\nerror: ...\n\nhint\n$ agentloop serve &\n```\n\n```console\n$ ls   # anything\n```\n\n<!-- file: a/b.json -->\n```json\n{}\n```\n\n<!-- not tested: why -->\n```sh\nrm -rf /\n```\n\n```sh\nls\n```\n";
    let steps = steps(&Page::new("p", text));
    let command = |at: usize| match &steps[at] {
        Step::Command(shown) => shown,
        other => panic!("{other:?}"),
    };
    assert_eq!(steps.len(), 6);
    assert_eq!((command(0).text.as_str(), command(0).line), ("cat > f <<'EOF'\na\nEOF", 2));
    assert_eq!(command(0).output, Some(vec![]));
    assert_eq!(command(1).code, 2);
    assert_eq!(command(1).output.as_ref().unwrap().len(), 3);
    assert!(command(2).is_background && !command(1).is_background);
    assert_eq!(command(3).output, None);
    assert_eq!(steps[4], Step::File { name: "a/b.json".into(), text: "{}\n".into() });
    assert_eq!(command(5).text, "(set -e\nls\n)");
}

#[test]
fn three_dots_match_anything() {
    let compare = |shown: &[&str], printed: &[&str]| {
        let shown: Vec<String> = shown.iter().map(|line| (*line).to_owned()).collect();
        matches(&shown, printed)
    };
    assert!(compare(&["a", "..."], &["a"]));
    assert!(compare(&["...", "b", "..."], &["a", "b", "c", "d"]));
    assert!(compare(&["x ... y ...!"], &["x 1 y 2!"]));
    assert!(compare(&["a "], &["a"]));
    assert!(!compare(&["a"], &["a", "b"]));
    assert!(!compare(&["a", "b"], &["a"]));
    assert!(!compare(&["x ... y"], &["x 1 z"]));
    assert!(!compare(&["...b"], &["abc"]));
}
