//! Approval by the person at the terminal.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use agentloop::BoxFuture;
use agentloop::agent::{Approver, Decision, Pending, Suspended, Wants};

use super::excerpt;
use crate::input;
use crate::notes::Notes;

/// How much of the arguments is shown, in characters.
const MAX_ARGUMENTS: usize = 4_000;

/// How often a word that is not understood is asked for again.
const MAX_QUESTIONS: usize = 10;

/// Reads a line; `None` when there is none any more.
type ReadLine = fn() -> BoxFuture<'static, Option<String>>;

/// The person at the terminal.
pub(super) struct Person {
    notes: Notes,
    read: ReadLine,
    /// The tools that need not be asked for any more.
    always: Mutex<BTreeSet<String>>,
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
    /// The person, if one is there: to read the question, and to answer it.
    pub(super) fn at_terminal(notes: Notes) -> Option<Self> {
        let is_there = !input::is_piped() && notes.is_terminal();
        is_there.then(|| Self::new(notes, || Box::pin(line())))
    }

    fn new(notes: Notes, read: ReadLine) -> Self {
        Self { notes, read, always: Mutex::default() }
    }

    /// Asks what becomes of a call.
    pub(super) async fn ask(&self, call: &Pending) -> Decision {
        let always = || self.always.lock().unwrap_or_else(PoisonError::into_inner);
        if always().contains(&call.tool) {
            return Decision::Allow;
        }
        let arguments = excerpt::whole(&call.arguments, MAX_ARGUMENTS);
        self.notes.question(&format!("{} wants to run: {arguments}\n", call.tool));
        for _ in 0..MAX_QUESTIONS {
            self.notes.question("  [y]es, [a]lways this tool, [n]o and why, [q]uit: ");
            let Some(line) = (self.read)().await else { break };
            match word(&line) {
                Some(Word::Yes) => return Decision::Allow,
                Some(Word::Always) => {
                    always().insert(call.tool.clone());
                    return Decision::Allow;
                }
                Some(Word::No(reason)) if reason.is_empty() => {
                    return Decision::deny("the user does not allow it");
                }
                Some(Word::No(reason)) => {
                    return Decision::deny(format!("the user does not allow it: {reason}"));
                }
                Some(Word::Quit) => return Decision::abort("the user ended it"),
                None => {}
            }
        }
        // Nobody has said anything: the run can be gone on with when somebody does.
        self.notes.question("\n");
        Decision::Wait
    }
}

impl Approver for Person {
    fn decide<'a>(&'a self, call: &'a Pending) -> BoxFuture<'a, Decision> {
        Box::pin(self.ask(call))
    }
}

/// Says to each call that waits what the command line says of its tool, else what the person does.
pub(super) async fn decide_waiting(
    run: &mut Suspended,
    allowed: &[String],
    denied: &[String],
    person: Option<&Person>,
) -> agentloop::Result<()> {
    // Should two calls have the same id, what is said to it holds for both: it must be allowed for each.
    let mut decisions: BTreeMap<String, Decision> = BTreeMap::new();
    for call in run.pending() {
        if call.wants != Wants::Decision {
            continue;
        }
        let decision = match person {
            _ if denied.contains(&call.tool) => Decision::deny("the user does not allow it"),
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

/// A line of stdin. Whoever no longer waits for it leaves a thread behind, which ends with the command.
async fn line() -> Option<String> {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = std::io::stdin().read_line(&mut line);
        sender.send(read.is_ok_and(|bytes| bytes > 0).then_some(line))
    });
    receiver.await.ok().flatten()
}

/// What a line says, if it says something.
fn word(line: &str) -> Option<Word> {
    let line = line.trim();
    let end = line.find(|c: char| c.is_whitespace() || c == ',' || c == ':').unwrap_or(line.len());
    let (word, rest) = line.split_at(end);
    let rest = rest.trim_start_matches([',', ':']).trim();
    match word.to_lowercase().as_str() {
        "n" | "no" => Some(Word::No(rest.to_owned())),
        // Only a no may have a reason: a yes with a condition is none.
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

    fn call(tool: &str) -> Pending {
        serde_json::from_value(serde_json::json!({
            "step": 1, "index": 0, "callId": "c1", "tool": tool, "arguments": "{}",
            "wants": { "type": "decision" },
        }))
        .unwrap()
    }

    fn says(read: ReadLine) -> Person {
        Person::new(Notes::new(true), read)
    }

    #[tokio::test]
    async fn nobody_is_asked_twice_about_a_tool_that_may_always_run() {
        static LINES: Mutex<Vec<&str>> = Mutex::new(vec![]);
        LINES.lock().unwrap().extend(["n not this\n", "a\n", "what?\n"]);
        let person = says(|| {
            let line = LINES.lock().unwrap().pop();
            Box::pin(std::future::ready(line.map(str::to_owned)))
        });
        // What is not understood is asked for again.
        assert_eq!(person.ask(&call("read_file")).await, Decision::Allow);
        assert_eq!(person.ask(&call("read_file")).await, Decision::Allow);
        assert_eq!(
            person.ask(&call("list_files")).await,
            Decision::deny("the user does not allow it: not this")
        );
        assert_eq!(person.ask(&call("list_files")).await, Decision::Wait);
    }

    #[tokio::test]
    async fn quitting_ends_the_run_and_babble_ends_the_questions() {
        let quits = says(|| Box::pin(std::future::ready(Some("q".to_owned()))));
        assert!(matches!(quits.ask(&call("t")).await, Decision::Abort { .. }));
        let babbles = says(|| Box::pin(std::future::ready(Some("well".to_owned()))));
        assert_eq!(babbles.ask(&call("t")).await, Decision::Wait);
    }
}
