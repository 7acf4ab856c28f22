//! Puts capsules into responses.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::capsule::{Entry, Place, seal, with_capsule};
use crate::chat::{
    ChatResponse, ChatStreamEvent, ContentPart, PartDelta, PartStart, Protocol, ProviderState,
    RedactedThinkingPart, ResponsePart, TextPart, ToolCallPart,
};
use crate::limits::MAX_REPEATED_BYTES;

/// Rewrites the events of a response for a client of another API: what that API cannot hold travels in capsules.
///
/// A tool call whose provider reports its state at the end is held back until it is complete, because the state is part
/// of the call's id.
///
/// ```
/// use agentloop::carry::{Carrier, restore};
/// use agentloop::{ChatRequest, ChatResponse, Protocol, ResponsePart, ThinkingPart};
///
/// let mut thinking = ThinkingPart::new("Two and two is four.");
/// thinking.signature = Some("EqoB".to_owned());
/// let response = ChatResponse::from_parts("anthropic/claude", [ResponsePart::from(thinking)]);
/// let shown = Carrier::new(Protocol::OpenAiResponses, Protocol::Anthropic).response(response.clone());
/// assert_ne!(shown, response);
///
/// let mut next = ChatRequest::new("anthropic/claude").message(shown.into_message());
/// restore(&mut next);
/// assert_eq!(next.messages[0].parts()[0], response.choices[0].content[0].clone().into());
/// ```
#[derive(Debug)]
pub struct Carrier {
    client: Protocol,
    /// Whether calls are held back until they are complete.
    holds_calls: bool,
    /// Whether thinking has a field of its own that the client sends back.
    returns_thinking: bool,
    model: String,
    choices: Vec<State>,
}

/// What is known of one choice.
#[derive(Debug, Default)]
struct State {
    index: u32,
    /// The parts that the client sees.
    seen: Place,
    /// What the next capsule has to hold.
    pending: Vec<Entry>,
    /// The parts as the client gets them.
    parts: Vec<ResponsePart>,
    /// The next free index of a part.
    next: u32,
    /// The open parts, by their indices in the provider's response.
    open: BTreeMap<u32, Open>,
}

#[derive(Debug)]
struct Open {
    /// The index that the client gets; `None` while the part is held back.
    to: Option<u32>,
    /// Where it is among the parts that the client sees.
    place: Place,
    kind: Kind,
    start: PartStart,
    /// Deltas that are held back.
    held: Vec<PartDelta>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The client sees it, and grows with it.
    Shown,
    Thinking,
    Call,
    /// The client does not see it.
    Hidden,
}

impl Carrier {
    /// Creates a carrier for one response of a provider that speaks `upstream` to a client that speaks `client`.
    pub fn new(client: Protocol, upstream: Protocol) -> Self {
        // The wires of Gemini and Ollama have no calls in pieces.
        let holds_calls = matches!(client, Protocol::Gemini | Protocol::Ollama)
            || matches!(
                upstream,
                Protocol::OpenAiResponses | Protocol::Gemini | Protocol::GeminiInteractions
            );
        let returns_thinking =
            matches!(client, Protocol::Anthropic | Protocol::OpenAiResponses | Protocol::Bedrock);
        Self { client, holds_calls, returns_thinking, model: String::new(), choices: Vec::new() }
    }

    setters! {
        /// Carries thinking in the ids of tool calls, for a client that does not send it back: one of the Responses API that does
        /// not ask for `reasoning.encrypted_content`.
        without_thinking(self) => self.returns_thinking = false;
    }

    /// Rewrites a complete response.
    pub fn response(mut self, mut response: ChatResponse) -> ChatResponse {
        self.model.clone_from(&response.model);
        for choice in &mut response.choices {
            let state = self.choice(choice.index);
            for part in std::mem::take(&mut choice.content) {
                let place = self.choices[state].seen;
                let parts = self.carry(state, place, part);
                self.choices[state].parts.extend(parts);
            }
            let last = self.flush(state);
            self.choices[state].parts.extend(last);
            choice.content = std::mem::take(&mut self.choices[state].parts);
        }
        response
    }

    /// Rewrites an event of a stream. The events that the client gets instead are appended to `events`.
    pub fn push(&mut self, event: ChatStreamEvent, events: &mut Vec<ChatStreamEvent>) {
        match event {
            ChatStreamEvent::MessageStart { ref model, .. } => {
                self.model.clone_from(model);
                events.push(event);
            }
            ChatStreamEvent::ContentStart { choice_index, part_index, part } => {
                self.start(choice_index, part_index, part, events);
            }
            ChatStreamEvent::ContentDelta { choice_index, part_index, delta } => {
                self.delta(choice_index, part_index, delta, events);
            }
            ChatStreamEvent::ContentDone { choice_index, part_index, part } => {
                self.done(choice_index, part_index, part, events);
            }
            ChatStreamEvent::ContentCitation { choice_index, part_index, citation } => {
                let state = self.choice(choice_index);
                let open = self.choices[state].open.get(&part_index);
                if let Some(part_index) = open.and_then(|open| open.to) {
                    events.push(ChatStreamEvent::ContentCitation {
                        choice_index,
                        part_index,
                        citation,
                    });
                }
            }
            ChatStreamEvent::MessageDelta { choice_index, .. } => {
                let state = self.choice(choice_index);
                if let Some(part) = self.flush(state) {
                    self.whole(state, part, events);
                }
                events.push(event);
            }
            ChatStreamEvent::MessageDone { mut response } => {
                for choice in &mut response.choices {
                    let state = self.choice(choice.index);
                    choice.content = std::mem::take(&mut self.choices[state].parts);
                }
                events.push(ChatStreamEvent::MessageDone { response });
            }
            event => events.push(event),
        }
    }

    /// Returns the place of a choice, which is added if it is new.
    fn choice(&mut self, index: u32) -> usize {
        match self.choices.iter().position(|known| known.index == index) {
            Some(at) => at,
            None => {
                self.choices.push(State { index, ..State::default() });
                self.choices.len() - 1
            }
        }
    }

    fn start(
        &mut self,
        choice_index: u32,
        from: u32,
        start: PartStart,
        events: &mut Vec<ChatStreamEvent>,
    ) {
        let at = self.choice(choice_index);
        let state = &mut self.choices[at];
        let kind = match start {
            PartStart::Thinking {} => Kind::Thinking,
            PartStart::ToolCall { .. } => Kind::Call,
            PartStart::Text {}
            | PartStart::Image { .. }
            | PartStart::Audio { .. }
            | PartStart::File { .. } => Kind::Shown,
            _ => Kind::Hidden,
        };
        let place = state.seen;
        state.seen.shown += u32::from(matches!(kind, Kind::Shown | Kind::Call));
        state.seen.calls += u32::from(kind == Kind::Call);
        // Whether a text is empty is not known yet.
        let is_held =
            matches!(kind, Kind::Call | Kind::Hidden) || matches!(start, PartStart::Text {});
        let to = (!is_held).then(|| state.new_index());
        if let Some(part_index) = to {
            let part = start.clone();
            events.push(ChatStreamEvent::ContentStart { choice_index, part_index, part });
        }
        state.open.insert(from, Open { to, place, kind, start, held: Vec::new() });
    }

    fn delta(
        &mut self,
        choice_index: u32,
        from: u32,
        delta: PartDelta,
        events: &mut Vec<ChatStreamEvent>,
    ) {
        let at = self.choice(choice_index);
        let holds = self.holds_calls;
        let Some(open) = self.choices[at].open.get_mut(&from) else { return };
        match (open.kind, &delta) {
            // The complete part has it.
            (Kind::Hidden, _)
            | (_, PartDelta::ProviderState { .. } | PartDelta::ThinkingSignature { .. }) => return,
            (Kind::Call, _) if open.to.is_none() => {
                open.held.push(delta);
                // A second piece: the call arrives piece by piece.
                if !holds && open.held.len() > 1 {
                    self.release(at, from, None, events);
                }
                return;
            }
            (Kind::Shown, PartDelta::Text { text }) if open.to.is_none() && text.is_empty() => {
                return;
            }
            (Kind::Shown, _) if open.to.is_none() => {
                let part = open.start.clone();
                let part_index = self.choices[at].new_index();
                if let Some(open) = self.choices[at].open.get_mut(&from) {
                    open.to = Some(part_index);
                }
                events.push(ChatStreamEvent::ContentStart { choice_index, part_index, part });
                events.push(ChatStreamEvent::ContentDelta { choice_index, part_index, delta });
                return;
            }
            _ => {}
        }
        if let Some(part_index) = open.to {
            events.push(ChatStreamEvent::ContentDelta { choice_index, part_index, delta });
        }
    }

    /// Sends the start of a call that was held back, and what followed it. `id` is the id with its capsule.
    fn release(
        &mut self,
        at: usize,
        from: u32,
        id: Option<&str>,
        events: &mut Vec<ChatStreamEvent>,
    ) {
        let state = &mut self.choices[at];
        let (choice_index, part_index) = (state.index, state.new_index());
        let Some(open) = state.open.get_mut(&from) else { return };
        open.to = Some(part_index);
        if let PartStart::ToolCall { id: own, .. } = &mut open.start {
            match id {
                Some(id) => id.clone_into(own),
                None => *own = sealed_id(own, &std::mem::take(&mut state.pending)),
            }
        }
        let part = open.start.clone();
        events.push(ChatStreamEvent::ContentStart { choice_index, part_index, part });
        let held = std::mem::take(&mut open.held).into_iter();
        events.extend(held.map(|delta| ChatStreamEvent::ContentDelta {
            choice_index,
            part_index,
            delta,
        }));
    }

    fn done(
        &mut self,
        choice_index: u32,
        from: u32,
        part: ResponsePart,
        events: &mut Vec<ChatStreamEvent>,
    ) {
        let at = self.choice(choice_index);
        let state = &mut self.choices[at];
        let Some(open) = state.open.get(&from) else { return };
        let (kind, place, to) = (open.kind, open.place, open.to);
        match (kind, to) {
            (Kind::Call, Some(part_index)) => {
                // The id was sent before the state was known.
                let mut part = part;
                if let (ResponsePart::ToolCall(call), PartStart::ToolCall { id, .. }) =
                    (&mut part, &open.start)
                {
                    call.id.clone_from(id);
                    call.provider_state = None;
                }
                state.parts.push(part.clone());
                events.push(ChatStreamEvent::ContentDone { choice_index, part_index, part });
            }
            (Kind::Call, None) => {
                if let Some(part) = self.carry(at, place, part) {
                    if let ResponsePart::ToolCall(call) = &part {
                        self.release(at, from, Some(&call.id.clone()), events);
                    }
                    self.close(at, from, part, events);
                }
            }
            // An empty text, which clients and APIs leave out.
            (Kind::Shown, None) => {
                state.seen.shown -= 1;
                if let Some(part) = self.carry(at, place, part) {
                    self.whole(at, part, events);
                }
            }
            (Kind::Hidden, _) => {
                if let Some(part) = self.carry(at, place, part) {
                    self.whole(at, part, events);
                }
            }
            (Kind::Thinking | Kind::Shown, _) => {
                if let Some(part) = self.carry(at, place, part) {
                    if let (ResponsePart::Thinking(thinking), Some(part_index)) = (&part, to)
                        && let Some(signature) = thinking.signature.clone()
                    {
                        let delta = PartDelta::ThinkingSignature { signature };
                        events.push(ChatStreamEvent::ContentDelta {
                            choice_index,
                            part_index,
                            delta,
                        });
                    }
                    self.close(at, from, part, events);
                }
            }
        }
        // A text stays known, because sources may follow.
        let state = &mut self.choices[at];
        if kind != Kind::Shown {
            state.open.remove(&from);
        }
    }

    /// Ends a part that the client sees.
    fn close(
        &mut self,
        at: usize,
        from: u32,
        part: ResponsePart,
        events: &mut Vec<ChatStreamEvent>,
    ) {
        let state = &mut self.choices[at];
        let to = state.open.get(&from).and_then(|open| open.to);
        if let Some(part_index) = to {
            state.parts.push(part.clone());
            let choice_index = state.index;
            events.push(ChatStreamEvent::ContentDone { choice_index, part_index, part });
        }
    }

    /// Sends a part that arrives whole.
    fn whole(&mut self, at: usize, part: ResponsePart, events: &mut Vec<ChatStreamEvent>) {
        let state = &mut self.choices[at];
        let (choice_index, part_index) = (state.index, state.new_index());
        state.parts.push(part.clone());
        let start = PartStart::of(&part);
        events.push(ChatStreamEvent::ContentStart { choice_index, part_index, part: start });
        events.push(ChatStreamEvent::ContentDone { choice_index, part_index, part });
    }

    /// Returns a part as the client gets it; none if it travels in a later capsule. `place` is where it is among the parts
    /// that the client sees.
    fn carry(&mut self, at: usize, place: Place, part: ResponsePart) -> Option<ResponsePart> {
        let is_empty = |text: &TextPart| text.text.is_empty() && text.citations.is_empty();
        let is_shown = !matches!(
            &part,
            ResponsePart::Thinking(_)
                | ResponsePart::RedactedThinking(_)
                | ResponsePart::CodeExecution(_)
                | ResponsePart::CodeResult(_)
                | ResponsePart::ServerToolCall(_)
                | ResponsePart::ServerToolResult(_)
                | ResponsePart::Opaque(_)
        ) && !matches!(&part, ResponsePart::Text(text) if is_empty(text));
        let has_sites = self.returns_thinking;
        let client = self.client;
        let state = &mut self.choices[at];
        // A complete response counts its parts here; those of a stream are counted when they start.
        if is_shown {
            let calls = u32::from(matches!(part, ResponsePart::ToolCall(_)));
            state.seen.shown = state.seen.shown.max(place.shown + 1);
            state.seen.calls = state.seen.calls.max(place.calls + calls);
        }
        let mut part = part;
        own(&mut part, &self.model);
        match part {
            ResponsePart::Text(text) if is_empty(&text) => {
                text.provider_state.as_ref()?;
                let entry = Entry::hidden(place, ContentPart::Text(text));
                state.pending.push(entry);
                None
            }
            ResponsePart::Text(mut text) => {
                let is_plain = text.provider_state.is_none() && text.citations.is_empty();
                if !is_plain {
                    let mut kept = TextPart::new("");
                    kept.citations.clone_from(&text.citations);
                    kept.provider_state = text.provider_state.take();
                    state.pending.push(Entry::shown(place, ContentPart::Text(kept)));
                }
                Some(ResponsePart::Text(text))
            }
            ResponsePart::ToolCall(mut call) => {
                let mut entries = std::mem::take(&mut state.pending);
                let mut own = ToolCallPart::new("", "", "");
                own.provider_state = call.provider_state.take();
                if is_rewritten(client, &call.arguments) {
                    own.arguments.clone_from(&call.arguments);
                }
                if own.provider_state.is_some() || !own.arguments.is_empty() {
                    entries.push(Entry::shown(place, ContentPart::ToolCall(own)));
                }
                match client {
                    Protocol::Gemini => call.provider_state = signed(&entries),
                    _ => call.id = sealed_id(&call.id, &entries),
                }
                Some(ResponsePart::ToolCall(call))
            }
            ResponsePart::Thinking(mut thinking) => {
                let entry = Entry::hidden(place, ContentPart::Thinking(thinking.clone()));
                thinking.provider_state = None;
                thinking.signature = None;
                if has_sites {
                    thinking.signature = seal(&[entry]);
                } else {
                    state.pending.push(entry);
                }
                Some(ResponsePart::Thinking(thinking))
            }
            part if !is_shown => {
                let entry = Entry::hidden(place, part);
                if has_sites {
                    return redacted(&[entry]);
                }
                state.pending.push(entry);
                None
            }
            part => Some(part),
        }
    }

    /// Returns a last part with what no capsule holds so far, if the client's API has a place for it.
    fn flush(&mut self, at: usize) -> Option<ResponsePart> {
        let entries = std::mem::take(&mut self.choices[at].pending);
        if entries.is_empty() {
            return None;
        }
        match self.client {
            Protocol::Anthropic | Protocol::OpenAiResponses | Protocol::Bedrock => {
                redacted(&entries)
            }
            Protocol::Gemini => {
                let mut text = TextPart::new("");
                text.provider_state = signed(&entries);
                text.provider_state.is_some().then_some(ResponsePart::Text(text))
            }
            Protocol::OpenAiChat
            | Protocol::Ollama
            | Protocol::Cohere
            | Protocol::GeminiInteractions => None,
        }
    }
}

impl State {
    fn new_index(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }
}

/// Records the model that made the state of a part. Removes state that only names the provider, unless the part is
/// thinking: that is only sent back to its provider. A name that is longer than any is not repeated in each part.
fn own(part: &mut ResponsePart, model: &str) {
    let keeps = matches!(part, ResponsePart::Thinking(_) | ResponsePart::RedactedThinking(_));
    let slot = match part {
        ResponsePart::Text(part) => &mut part.provider_state,
        ResponsePart::ToolCall(part) => &mut part.provider_state,
        ResponsePart::Thinking(part) => &mut part.provider_state,
        ResponsePart::RedactedThinking(part) => &mut part.provider_state,
        _ => return,
    };
    if slot.as_ref().is_some_and(|state| state.data.is_null()) && !keeps {
        *slot = None;
    }
    if let Some(state) = slot
        && state.model.is_none()
        && (1..=MAX_REPEATED_BYTES).contains(&model.len())
    {
        state.model = Some(model.to_owned());
    }
}

/// Returns whether the API of the client has arguments as an object, and would write these in another way.
fn is_rewritten(client: Protocol, arguments: &str) -> bool {
    use Protocol::{Anthropic, Bedrock, Gemini, GeminiInteractions, Ollama};
    matches!(client, Anthropic | Gemini | GeminiInteractions | Ollama | Bedrock)
        && serde_json::from_str::<Value>(arguments)
            .is_ok_and(|value| arguments != value.to_string().as_str())
}

fn redacted(entries: &[Entry]) -> Option<ResponsePart> {
    let data = seal(entries)?;
    let part = RedactedThinkingPart { data, ..RedactedThinkingPart::default() };
    Some(ResponsePart::RedactedThinking(part))
}

/// Returns state with a capsule as its thought signature.
fn signed(entries: &[Entry]) -> Option<Box<ProviderState>> {
    if entries.is_empty() {
        return None;
    }
    let data = json!({ "thoughtSignature": seal(entries)? });
    Some(Box::new(ProviderState::new("", data)))
}

/// Returns the id of a call with a capsule, if there is anything for it to hold.
fn sealed_id(id: &str, entries: &[Entry]) -> String {
    let capsule = if entries.is_empty() { None } else { seal(entries) };
    capsule.map_or_else(|| id.to_owned(), |capsule| with_capsule(id, &capsule))
}
