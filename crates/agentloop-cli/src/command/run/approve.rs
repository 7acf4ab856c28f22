//! Asks the user at the terminal to approve tool calls.
//!
//! The question shows exactly what would run: the complete arguments that the tool receives, with invisible characters escaped.
//! Long arguments are shown in pages, and a yes is accepted only after the last page. The form of the question does not depend on
//! what the model wrote.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

use agentloop::BoxFuture;
use agentloop::agent::{Approver, Decision, Pending, Suspended, Wants};
use agentloop::internal::lock;
use serde_json::Value;

use super::kit::Kit;
use super::tools::files::{Root, edit};
use crate::notes::Notes;
use crate::printable;
use crate::prompt::Prompt;

/// How many times a question is repeated if the reply is not understood.
const MAX_QUESTIONS: usize = 10;

/// The reason that the model receives for a denied call.
const DENIED: &str = "the user denied the call";

const QUESTION: &str = "Run it? [y]es, [a]lways this tool, [n]o (add a reason), [q]uit: ";

/// Asks the user at the terminal.
pub(in crate::command) struct TerminalApprover {
    prompt: Prompt,
    /// The folder of `edit_file`, whose changes are shown as a diff, and the tool's definition.
    edits: Option<(Root, String)>,
    /// The tools that are always allowed, with the definition that the user allowed.
    always: Mutex<BTreeMap<String, String>>,
}

/// A reply of the user.
#[derive(Debug, PartialEq)]
enum Reply {
    Yes,
    Always,
    No(String),
    Quit,
}

impl TerminalApprover {
    /// Returns an approver, if stdin and stderr are a terminal.
    pub(in crate::command) fn at_terminal(notes: Notes) -> Option<Self> {
        Prompt::at_terminal(notes).map(Self::new)
    }

    fn new(prompt: Prompt) -> Self {
        Self { prompt, edits: None, always: Mutex::default() }
    }

    /// Shows the changes that `edit_file` makes in this folder.
    pub(in crate::command) fn with_root(mut self, root: &Path) -> Self {
        self.edits = Root::open(root).ok().map(|root| {
            let definition = edit::tool(root.clone()).fingerprint();
            (root, definition)
        });
        self
    }

    /// Asks the user whether a call may run.
    pub(super) async fn ask(&self, call: &Pending) -> Decision {
        let always = || lock(&self.always);
        let allowed = always().get(&call.tool).cloned();
        if allowed.is_some() && allowed == call.definition {
            return Decision::Allow;
        }
        let mut lines = vec![format!(
            "The model calls {} with these arguments:",
            printable::escape_name(&call.tool)
        )];
        if allowed.is_some() {
            lines.push("(the definition of this tool has changed since you allowed it)".to_owned());
        }
        lines.extend(self.preview(call).unwrap_or_else(|| format_arguments(call)));
        match self.show_pages(&self.prompt.fold_lines(lines)).await {
            Pages::AllShown => {}
            Pages::Ended(decision) => return decision,
        }
        for _ in 0..MAX_QUESTIONS {
            let Some(line) = self.prompt.ask(QUESTION).await else { break };
            match parse_reply(&line) {
                Some(Reply::Yes) => return Decision::Allow,
                Some(Reply::Always) => {
                    if let Some(definition) = &call.definition {
                        always().insert(call.tool.clone(), definition.clone());
                    }
                    return Decision::Allow;
                }
                Some(reply) => return refuse(reply),
                None => {}
            }
        }
        // Without a reply the run waits, and can be continued later.
        self.prompt.show(&["There is no reply, so the run waits for approval.".to_owned()]);
        Decision::Wait
    }

    /// Formats what an edit would change. Returns `None` if the call would fail, or calls another tool, perhaps of the same name.
    fn preview(&self, call: &Pending) -> Option<Vec<String>> {
        let (root, definition) = self.edits.as_ref()?;
        if call.definition.as_ref() != Some(definition) {
            return None;
        }
        edit::preview(root, &serde_json::from_str(&call.arguments).ok()?)
    }

    /// Shows all lines, one page at a time.
    async fn show_pages(&self, lines: &[String]) -> Pages {
        let page = self.prompt.page_height();
        let (mut shown, mut replies) = (0, 0);
        loop {
            let end = lines.len().min(shown + page);
            self.prompt.show(lines.get(shown..end).unwrap_or_default());
            shown = end;
            if shown >= lines.len() {
                return Pages::AllShown;
            }
            loop {
                let question = format!(
                    "{} of {} lines. [Enter] more, [e]verything, [n]o (add a reason), [q]uit: ",
                    shown,
                    lines.len()
                );
                let Some(line) = self.prompt.ask(&question).await else {
                    return Pages::Ended(Decision::Wait);
                };
                match (line.trim(), parse_reply(&line)) {
                    ("", _) => break,
                    ("e" | "everything", _) => {
                        self.prompt.show(lines.get(shown..).unwrap_or_default());
                        return Pages::AllShown;
                    }
                    (_, Some(reply @ (Reply::No(_) | Reply::Quit))) => {
                        return Pages::Ended(refuse(reply));
                    }
                    // A yes before the last page is not accepted.
                    _ => replies += 1,
                }
                if replies >= MAX_QUESTIONS {
                    return Pages::Ended(Decision::Wait);
                }
            }
        }
    }
}

/// Whether the user has seen all pages of a call.
enum Pages {
    AllShown,
    Ended(Decision),
}

fn refuse(reply: Reply) -> Decision {
    match reply {
        Reply::No(reason) if reason.is_empty() => Decision::deny(DENIED),
        Reply::No(reason) => Decision::deny(format!("{DENIED}: {reason}")),
        _ => Decision::abort("the user stopped the run"),
    }
}

/// Formats the arguments of a call as indented JSON with invisible characters escaped.
fn format_arguments(call: &Pending) -> Vec<String> {
    let Ok(value) = serde_json::from_str::<Value>(&call.arguments) else {
        return vec![format!("  {}", printable::escape_name(&call.arguments))];
    };
    let text = serde_json::to_string_pretty(&value).unwrap_or_default();
    printable::escape_json(&text).lines().map(|line| format!("  {line}")).collect()
}

impl Approver for TerminalApprover {
    fn decide<'a>(&'a self, call: &'a Pending) -> BoxFuture<'a, Decision> {
        Box::pin(self.ask(call))
    }
}

/// Decides about each call that waits for approval: by the command line, else by asking the user.
///
/// If the definition of a tool has changed since the run was saved, its calls are left to the run, which decides about them again
/// with the current definition.
pub(super) async fn decide_pending(
    run: &mut Suspended,
    kit: &Kit,
    approver: Option<&TerminalApprover>,
    notes: Notes,
) -> agentloop::Result<()> {
    // If two calls have the same id, a decision applies to both, so both must be allowed.
    let mut decisions: BTreeMap<String, Decision> = BTreeMap::new();
    for call in run.pending() {
        if call.wants != Wants::Decision {
            continue;
        }
        let now = kit.find(&call.tool).map(|offered| offered.tool.fingerprint());
        let is_changed = now.is_some() && now != call.definition;
        if is_changed {
            let tool = printable::escape_name(&call.tool);
            notes.print_note(&format!(
                "the definition of the tool `{tool}` has changed since the run was saved"
            ));
        }
        let decision = match approver {
            _ if kit.denied.contains(&call.tool) => Decision::deny(DENIED),
            _ if is_changed => Decision::Wait,
            _ if kit.allowed.contains(&call.tool) => Decision::Allow,
            Some(approver) => approver.ask(&call).await,
            None => Decision::Wait,
        };
        let is_abort = matches!(decision, Decision::Abort { .. });
        let combined = decisions.entry(call.call_id).or_insert(Decision::Allow);
        if *combined == Decision::Allow {
            *combined = decision;
        }
        if is_abort {
            break;
        }
    }
    decisions.into_iter().try_for_each(|(id, decision)| run.decide(&id, decision))
}

/// Parses a reply. Returns `None` if it is not understood.
fn parse_reply(line: &str) -> Option<Reply> {
    let line = line.trim();
    let end = line.find(|c: char| c.is_whitespace() || c == ',' || c == ':').unwrap_or(line.len());
    let (word, rest) = line.split_at(end);
    let rest = rest.trim_start_matches([',', ':']).trim();
    match word.to_lowercase().as_str() {
        "n" | "no" => Some(Reply::No(rest.to_owned())),
        // Only a no may have a reason: a yes with a condition is not accepted.
        _ if !rest.is_empty() => None,
        "y" | "yes" => Some(Reply::Yes),
        "a" | "always" => Some(Reply::Always),
        "q" | "quit" => Some(Reply::Quit),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::Ask;

    #[test]
    fn replies_are_parsed_and_a_yes_with_a_condition_is_rejected() {
        let no = |reason: &str| Some(Reply::No(reason.to_owned()));
        for (line, expected) in [
            ("y\n", Some(Reply::Yes)),
            (" YES \r\n", Some(Reply::Yes)),
            ("a", Some(Reply::Always)),
            ("always", Some(Reply::Always)),
            ("n", no("")),
            ("no", no("")),
            ("n use the other file", no("use the other file")),
            ("no, it is private", no("it is private")),
            ("q", Some(Reply::Quit)),
            ("yes, but only once", None),
            ("y n", None),
            ("nein", None),
            ("", None),
            ("\n", None),
        ] {
            assert_eq!(parse_reply(line), expected, "{line:?}");
        }
    }

    fn call(tool: &str, definition: &str, arguments: &str) -> Pending {
        serde_json::from_value(serde_json::json!({
            "step": 1, "index": 0, "callId": "c1", "tool": tool, "arguments": arguments,
            "definition": definition, "wants": { "type": "decision" },
        }))
        .unwrap()
    }

    fn approver(ask: Ask) -> TerminalApprover {
        TerminalApprover::new(Prompt::for_test(ask, || (80, 24)))
    }

    #[tokio::test]
    async fn a_tool_that_is_always_allowed_needs_approval_again_when_its_definition_changes() {
        static LINES: Mutex<Vec<&str>> = Mutex::new(vec![]);
        LINES.lock().unwrap().extend(["n not this\n", "a\n", "what?\n"]);
        let user = approver(|_, _| {
            let line = LINES.lock().unwrap().pop();
            Box::pin(std::future::ready(line.map(str::to_owned)))
        });
        // A reply that is not understood repeats the question.
        assert_eq!(user.ask(&call("read_file", "d1", "{}")).await, Decision::Allow);
        assert_eq!(user.ask(&call("read_file", "d1", "{}")).await, Decision::Allow);
        assert_eq!(
            user.ask(&call("read_file", "d2", "{}")).await,
            Decision::deny("the user denied the call: not this")
        );
        assert_eq!(user.ask(&call("list_files", "d1", "{}")).await, Decision::Wait);
    }

    #[test]
    fn an_edit_is_shown_as_a_diff_unless_another_tool_has_its_name() {
        let folder = crate::folder::Folder::with([("a.txt", "one\ntwo\n")]);
        let user = approver(|_, _| Box::pin(std::future::ready(None))).with_root(folder.path());
        let definition = user.edits.as_ref().unwrap().1.clone();
        let arguments = r#"{"path":"a.txt","old_text":"two","new_text":"2"}"#;
        let shown = user.preview(&call("edit_file", &definition, arguments)).unwrap().join("\n");
        assert_eq!(shown, "  a.txt, line 2\n    one\n  - two\n  + 2");
        assert_eq!(user.preview(&call("edit_file", "other", arguments)), None);
        assert_eq!(user.preview(&call("edit_file", &definition, "{}")), None);
    }

    #[tokio::test]
    async fn quit_aborts_the_run_and_unclear_replies_leave_it_waiting() {
        let quits = approver(|_, _| Box::pin(std::future::ready(Some("q".to_owned()))));
        assert!(matches!(quits.ask(&call("t", "d", "{}")).await, Decision::Abort { .. }));
        let unclear = approver(|_, _| Box::pin(std::future::ready(Some("well".to_owned()))));
        assert_eq!(unclear.ask(&call("t", "d", "{}")).await, Decision::Wait);
    }

    #[tokio::test]
    async fn a_yes_before_the_last_page_is_not_accepted() {
        let long = serde_json::json!({ "text": "x".repeat(10_000) }).to_string();
        let hasty = approver(|_, _| Box::pin(std::future::ready(Some("y".to_owned()))));
        assert_eq!(hasty.ask(&call("t", "d", &long)).await, Decision::Wait);
        static LINES: Mutex<Vec<&str>> = Mutex::new(vec![]);
        LINES.lock().unwrap().extend(["y\n", "e\n", "y\n", "\n"]);
        let patient = approver(|_, _| {
            let line = LINES.lock().unwrap().pop();
            Box::pin(std::future::ready(line.map(str::to_owned)))
        });
        assert_eq!(patient.ask(&call("t", "d", &long)).await, Decision::Allow);
        assert!(LINES.lock().unwrap().is_empty());
    }

    #[test]
    fn arguments_are_shown_completely_without_invisible_characters() {
        let hostile = "{\"path\":\"a\u{202e}b\u{2028}c\u{61c}d\u{ad}e\u{e0041}f\\n▌ [y]es\"}";
        let shown = format_arguments(&call("t", "d", hostile)).join("\n");
        assert!(shown.chars().all(|c| c == '\n' || (' '..='~').contains(&c)), "{shown}");
        let back: Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(back, serde_json::from_str::<Value>(hostile).unwrap());
    }
}
