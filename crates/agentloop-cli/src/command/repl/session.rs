//! The conversation of an interactive session.

use agentloop::{AgentLoop, ChatMessage, ChatRequest, ChatResponse, ContentPart, Role, Usd};

use crate::screen::last_line;

/// A conversation, and what is added to its next prompt.
#[derive(Debug)]
pub(super) struct Session {
    /// The model, the system prompt, the parameters and all messages.
    pub(super) request: ChatRequest,
    /// The number of messages before each prompt of the session.
    starts: Vec<usize>,
    /// Files and images for the next prompt.
    parts: Vec<ContentPart>,
    tokens: u64,
    cost: Usd,
    /// Whether the cost of a response is not known.
    is_unpriced: bool,
    responses: u64,
}

impl Session {
    pub(super) fn new(request: ChatRequest) -> Self {
        Self {
            request,
            starts: Vec::new(),
            parts: Vec::new(),
            tokens: 0,
            cost: Usd::default(),
            is_unpriced: false,
            responses: 0,
        }
    }

    /// Adds parts to the next prompt, and returns how many there are now.
    pub(super) fn attach(&mut self, parts: Vec<ContentPart>) -> usize {
        self.parts.extend(parts);
        self.parts.len()
    }

    /// Adds a prompt with what was attached to it.
    pub(super) fn push_prompt(&mut self, text: String) {
        self.starts.push(self.request.messages.len());
        let parts = std::mem::take(&mut self.parts);
        self.request.messages.push(if parts.is_empty() {
            ChatMessage::user(text)
        } else {
            let parts = parts.into_iter().chain([ContentPart::text(text)]);
            ChatMessage::user(parts.collect::<Vec<_>>())
        });
    }

    /// Adds what the model responded: its message, or the messages of a run.
    pub(super) fn push_messages(&mut self, messages: impl IntoIterator<Item = ChatMessage>) {
        self.request.messages.extend(messages);
    }

    /// Removes the last prompt and everything after it. Returns whether there was one.
    pub(super) fn undo(&mut self) -> bool {
        let start = self.starts.pop().or_else(|| {
            // The prompts of a conversation that is continued.
            self.request.messages.iter().rposition(|message| message.role == Role::User)
        });
        match start {
            Some(start) => {
                self.request.messages.truncate(start);
                true
            }
            None => false,
        }
    }

    /// Removes the response to the last prompt, so that the prompt can be sent again. Returns whether there was a prompt.
    pub(super) fn retry(&mut self) -> bool {
        let last = self.request.messages.iter().rposition(|message| message.role == Role::User);
        match last {
            Some(last) => {
                self.request.messages.truncate(last + 1);
                true
            }
            None => false,
        }
    }

    /// Removes a prompt that could not be sent, so that the next one does not follow it.
    pub(super) fn withdraw(&mut self) {
        if let Some(start) = self.starts.pop() {
            self.request.messages.truncate(start);
        }
    }

    /// Starts a new conversation with the same model and system prompt.
    pub(super) fn clear(&mut self) {
        self.request.messages.retain(|message| message.role == Role::System);
        self.starts.clear();
        self.parts.clear();
    }

    /// Returns the system prompt.
    pub(super) fn system(&self) -> Option<String> {
        let first = self.request.messages.first();
        first.filter(|message| message.role == Role::System).map(ChatMessage::text)
    }

    /// Replaces the system prompt.
    pub(super) fn set_system(&mut self, text: String) {
        let had_one = self.system().is_some();
        self.request.messages.retain(|message| message.role != Role::System);
        self.request.messages.insert(0, ChatMessage::system(text));
        if !had_one {
            self.starts.iter_mut().for_each(|start| *start += 1);
        }
    }

    /// Counts the usage of a response.
    pub(super) fn count(&mut self, response: &ChatResponse, client: &AgentLoop) {
        self.responses += 1;
        self.tokens += response.usage.total_tokens.unwrap_or(0);
        match last_line::cost_of(response, client.catalog()) {
            Some(cost) => self.cost = self.cost + cost.usd,
            None => self.is_unpriced = true,
        }
    }

    /// Describes the usage of the session.
    pub(super) fn describe_cost(&self) -> String {
        let responses = match self.responses {
            1 => "1 response".to_owned(),
            count => format!("{count} responses"),
        };
        let cost = match (self.is_unpriced, self.responses) {
            (_, 0) | (false, _) => format!("${}", self.cost),
            (true, _) if self.cost == Usd::default() => "the price is not known".to_owned(),
            (true, _) => {
                format!("at least ${}; the price of some responses is not known", self.cost)
            }
        };
        format!("{responses}, {} tokens, {cost}", self.tokens)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a panic fails the test")]

    use super::*;

    fn session() -> Session {
        let mut session = Session::new(ChatRequest::new("sim/echo").system("Be brief."));
        for text in ["one", "two"] {
            session.push_prompt(text.to_owned());
            session.push_messages([ChatMessage::assistant(format!("re: {text}"))]);
        }
        session
    }

    fn texts(session: &Session) -> Vec<String> {
        session.request.messages.iter().map(ChatMessage::text).collect()
    }

    #[test]
    fn undo_removes_the_last_prompt_with_its_response() {
        let mut session = session();
        assert!(session.undo());
        assert_eq!(texts(&session), ["Be brief.", "one", "re: one"]);
        assert!(session.undo());
        assert!(!session.undo());
        assert_eq!(texts(&session), ["Be brief."]);
    }

    #[test]
    fn undo_works_on_a_conversation_that_is_continued() {
        let mut session = Session::new(session().request);
        assert!(session.undo());
        assert_eq!(texts(&session), ["Be brief.", "one", "re: one"]);
    }

    #[test]
    fn retry_keeps_the_prompt() {
        let mut session = session();
        assert!(session.retry());
        assert_eq!(texts(&session), ["Be brief.", "one", "re: one", "two"]);
        assert!(session.retry());
        assert_eq!(texts(&session).len(), 4);
        session.clear();
        assert!(!session.retry());
    }

    #[test]
    fn the_system_prompt_is_replaced_and_prompts_keep_their_places() {
        let mut session = Session::new(ChatRequest::new("sim/echo"));
        session.push_prompt("one".to_owned());
        session.set_system("First.".to_owned());
        session.set_system("Second.".to_owned());
        assert_eq!(session.system().as_deref(), Some("Second."));
        assert_eq!(texts(&session), ["Second.", "one"]);
        assert!(session.undo());
        assert_eq!(texts(&session), ["Second."]);
    }

    #[test]
    fn attachments_stand_before_the_next_prompt_only() {
        let mut session = Session::new(ChatRequest::new("sim/echo"));
        assert_eq!(session.attach(vec![ContentPart::text("file")]), 1);
        session.push_prompt("look".to_owned());
        session.push_prompt("again".to_owned());
        let json = serde_json::to_value(&session.request.messages).unwrap();
        assert_eq!(json[0]["content"][0]["text"], "file");
        assert_eq!(json[0]["content"][1]["text"], "look");
        assert_eq!(json[1]["content"], "again");
    }

    #[test]
    fn a_prompt_that_failed_is_withdrawn() {
        let mut session = session();
        session.push_prompt("fails".to_owned());
        session.withdraw();
        assert_eq!(texts(&session).len(), 5);
    }
}
