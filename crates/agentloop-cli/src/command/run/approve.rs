//! Approval by the person at the terminal.
//!
//! The question shows exactly what would run: the arguments that the tool receives, complete, with everything visible that
//! does not print. Long ones come in pages, and a yes is taken only after the last. It always has the same form, whatever
//! the model wrote.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use agentloop::BoxFuture;
use agentloop::agent::{Approver, Decision, Pending, Suspended, Tool, Wants};
use serde_json::Value;

use crate::notes::Notes;
use crate::printable;
use crate::prompt::Prompt;

/// How often an answer that is not understood is asked for again.
const MAX_QUESTIONS: usize = 10;

const QUESTION: &str = "[y]es, [a]lways this tool, [n]o and why, [q]uit: ";

/// The person at the terminal.
pub(super) struct Person {
    prompt: Prompt,
    /// The tools that need not be asked for any more, with the definition that was allowed.
    always: Mutex<BTreeMap<String, String>>,
}

/// What was typed.
#[derive(Debug, PartialEq)]
enum Word {
    Yes,
    Always,
    No(String),
    Quit,
}

impl Person {
    /// Returns the person, if one is there to read the question and to answer it.
    pub(super) fn at_terminal(notes: Notes) -> Option<Self> {
        Prompt::at_terminal(notes).map(Self::new)
    }

    fn new(prompt: Prompt) -> Self {
        Self { prompt, always: Mutex::default() }
    }

    /// Asks whether a call may run.
    pub(super) async fn ask(&self, call: &Pending) -> Decision {
        let always = || self.always.lock().unwrap_or_else(PoisonError::into_inner);
        let allowed = always().get(&call.tool).cloned();
        if allowed.is_some() && allowed == call.definition {
            return Decision::Allow;
        }
        let mut lines =
            vec![format!("{} wants to run with these arguments:", printable::name(&call.tool))];
        if allowed.is_some() {
            lines.push("(its definition is not the one that you allowed before)".to_owned());
        }
        lines.extend(arguments(call));
        match self.show_all(&self.prompt.folded(lines)).await {
            Shown::All => {}
            Shown::Refused(decision) => return decision,
        }
        for _ in 0..MAX_QUESTIONS {
            let Some(line) = self.prompt.ask(QUESTION).await else { break };
            match word(&line) {
                Some(Word::Yes) => return Decision::Allow,
                Some(Word::Always) => {
                    if let Some(definition) = &call.definition {
                        always().insert(call.tool.clone(), definition.clone());
                    }
                    return Decision::Allow;
                }
                Some(word) => return refusal(word),
                None => {}
            }
        }
        // There is no answer: the run can be continued when there is one.
        self.prompt.show(&["no answer: the run waits".to_owned()]);
        Decision::Wait
    }

    /// Shows all lines, a page at a time.
    async fn show_all(&self, lines: &[String]) -> Shown {
        let page = self.prompt.page();
        let (mut shown, mut answers) = (0, 0);
        loop {
            let end = lines.len().min(shown + page);
            self.prompt.show(lines.get(shown..end).unwrap_or_default());
            shown = end;
            if shown >= lines.len() {
                return Shown::All;
            }
            loop {
                let question = format!(
                    "{} of {} lines. [Enter] more, [e]verything, [n]o and why, [q]uit: ",
                    shown,
                    lines.len()
                );
                let Some(line) = self.prompt.ask(&question).await else {
                    return Shown::Refused(Decision::Wait);
                };
                match (line.trim(), word(&line)) {
                    ("", _) => break,
                    ("e" | "everything", _) => {
                        self.prompt.show(lines.get(shown..).unwrap_or_default());
                        return Shown::All;
                    }
                    (_, Some(word @ (Word::No(_) | Word::Quit))) => {
                        return Shown::Refused(refusal(word));
                    }
                    // A yes to what has not been seen is not one.
                    _ => answers += 1,
                }
                if answers >= MAX_QUESTIONS {
                    return Shown::Refused(Decision::Wait);
                }
            }
        }
    }
}

/// Whether the person has seen all of a call.
enum Shown {
    All,
    Refused(Decision),
}

fn refusal(word: Word) -> Decision {
    match word {
        Word::No(reason) if reason.is_empty() => Decision::deny("the user does not allow it"),
        Word::No(reason) => Decision::deny(format!("the user does not allow it: {reason}")),
        _ => Decision::abort("the user ended it"),
    }
}

/// Lays out the arguments of a call: JSON in which everything that does not print is escaped.
fn arguments(call: &Pending) -> Vec<String> {
    let Ok(value) = serde_json::from_str::<Value>(&call.arguments) else {
        return vec![format!("  {}", printable::name(&call.arguments))];
    };
    let text = serde_json::to_string_pretty(&value).unwrap_or_default();
    printable::json(&text).lines().map(|line| format!("  {line}")).collect()
}

impl Approver for Person {
    fn decide<'a>(&'a self, call: &'a Pending) -> BoxFuture<'a, Decision> {
        Box::pin(self.ask(call))
    }
}

/// Decides on each call that waits: by the command line, else by asking the person.
///
/// A call whose tool has another definition now than when the run was saved is left to the run, which decides on it again
/// with the tool as it is.
pub(super) async fn decide_waiting(
    run: &mut Suspended,
    tools: &[Tool],
    allowed: &[String],
    denied: &[String],
    person: Option<&Person>,
    notes: Notes,
) -> agentloop::Result<()> {
    // Should two calls have the same id, a decision on it holds for both: it must be allowed for each.
    let mut decisions: BTreeMap<String, Decision> = BTreeMap::new();
    for call in run.pending() {
        if call.wants != Wants::Decision {
            continue;
        }
        let now = tools.iter().find(|tool| tool.name() == call.tool).map(Tool::fingerprint);
        let is_changed = now.is_some() && now != call.definition;
        if is_changed {
            let tool = printable::name(&call.tool);
            notes.note(&format!("the definition of `{tool}` has changed since the run was saved"));
        }
        let decision = match person {
            _ if denied.contains(&call.tool) => Decision::deny("the user does not allow it"),
            _ if is_changed => Decision::Wait,
            _ if allowed.contains(&call.tool) => Decision::Allow,
            Some(person) => person.ask(&call).await,
            None => Decision::Wait,
        };
        let ends = matches!(decision, Decision::Abort { .. });
        let said = decisions.entry(call.call_id).or_insert(Decision::Allow);
        if *said == Decision::Allow {
            *said = decision;
        }
        if ends {
            break;
        }
    }
    decisions.into_iter().try_for_each(|(id, decision)| run.decide(&id, decision))
}

/// Returns what a line says, if it says something.
fn word(line: &str) -> Option<Word> {
    let line = line.trim();
    let end = line.find(|c: char| c.is_whitespace() || c == ',' || c == ':').unwrap_or(line.len());
    let (word, rest) = line.split_at(end);
    let rest = rest.trim_start_matches([',', ':']).trim();
    match word.to_lowercase().as_str() {
        "n" | "no" => Some(Word::No(rest.to_owned())),
        // Only a no may have a reason: a yes with a condition is not a yes.
        _ if !rest.is_empty() => None,
        "y" | "yes" => Some(Word::Yes),
        "a" | "always" => Some(Word::Always),
        "q" | "quit" => Some(Word::Quit),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::Ask;

    #[test]
    fn words_are_understood_and_a_yes_with_a_condition_is_none() {
        let no = |reason: &str| Some(Word::No(reason.to_owned()));
        for (line, wanted) in [
            ("y\n", Some(Word::Yes)),
            (" YES \r\n", Some(Word::Yes)),
            ("a", Some(Word::Always)),
            ("always", Some(Word::Always)),
            ("n", no("")),
            ("no", no("")),
            ("n use the other file", no("use the other file")),
            ("no, it is private", no("it is private")),
            ("q", Some(Word::Quit)),
            ("yes, but only once", None),
            ("y n", None),
            ("nein", None),
            ("", None),
            ("\n", None),
        ] {
            assert_eq!(word(line), wanted, "{line:?}");
        }
    }

    fn call(tool: &str, definition: &str, arguments: &str) -> Pending {
        serde_json::from_value(serde_json::json!({
            "step": 1, "index": 0, "callId": "c1", "tool": tool, "arguments": arguments,
            "definition": definition, "wants": { "type": "decision" },
        }))
        .unwrap()
    }

    fn says(ask: Ask) -> Person {
        Person::new(Prompt::of_test(ask, || (80, 24)))
    }

    #[tokio::test]
    async fn a_tool_that_may_always_run_is_asked_for_again_when_its_definition_changes() {
        static LINES: Mutex<Vec<&str>> = Mutex::new(vec![]);
        LINES.lock().unwrap().extend(["n not this\n", "a\n", "what?\n"]);
        let person = says(|_, _| {
            let line = LINES.lock().unwrap().pop();
            Box::pin(std::future::ready(line.map(str::to_owned)))
        });
        // What is not understood is asked for again.
        assert_eq!(person.ask(&call("read_file", "d1", "{}")).await, Decision::Allow);
        assert_eq!(person.ask(&call("read_file", "d1", "{}")).await, Decision::Allow);
        assert_eq!(
            person.ask(&call("read_file", "d2", "{}")).await,
            Decision::deny("the user does not allow it: not this")
        );
        assert_eq!(person.ask(&call("list_files", "d1", "{}")).await, Decision::Wait);
    }

    #[tokio::test]
    async fn quitting_ends_the_run_and_babble_ends_the_questions() {
        let quits = says(|_, _| Box::pin(std::future::ready(Some("q".to_owned()))));
        assert!(matches!(quits.ask(&call("t", "d", "{}")).await, Decision::Abort { .. }));
        let babbles = says(|_, _| Box::pin(std::future::ready(Some("well".to_owned()))));
        assert_eq!(babbles.ask(&call("t", "d", "{}")).await, Decision::Wait);
    }

    #[tokio::test]
    async fn a_yes_before_all_pages_are_shown_does_not_count() {
        let long = serde_json::json!({ "text": "x".repeat(10_000) }).to_string();
        let hasty = says(|_, _| Box::pin(std::future::ready(Some("y".to_owned()))));
        assert_eq!(hasty.ask(&call("t", "d", &long)).await, Decision::Wait);
        static LINES: Mutex<Vec<&str>> = Mutex::new(vec![]);
        LINES.lock().unwrap().extend(["y\n", "e\n", "y\n", "\n"]);
        let patient = says(|_, _| {
            let line = LINES.lock().unwrap().pop();
            Box::pin(std::future::ready(line.map(str::to_owned)))
        });
        assert_eq!(patient.ask(&call("t", "d", &long)).await, Decision::Allow);
        assert!(LINES.lock().unwrap().is_empty());
    }

    #[test]
    fn arguments_are_shown_complete_and_nothing_in_them_is_hidden() {
        let hostile = "{\"path\":\"a\u{202e}b\u{2028}c\u{61c}d\u{ad}e\u{e0041}f\\n▌ [y]es\"}";
        let shown = arguments(&call("t", "d", hostile)).join("\n");
        assert!(shown.chars().all(|c| c == '\n' || (' '..='~').contains(&c)), "{shown}");
        let back: Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(back, serde_json::from_str::<Value>(hostile).unwrap());
    }
}
