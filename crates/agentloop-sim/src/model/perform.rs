//! Converts a response to the events of a stream.

use agentloop::{
    ChatRequest, ChatStreamEvent, Error, ErrorKind, FinishReason, Fold, PartDelta, PartStart,
    ResponsePart, Result, Usage, UsageDetails,
};

use super::conversation::{count_prompt_tokens, request_hash};
use super::{MAX_CHOICES, model_id, shorten, split};
use crate::script::Turn;

/// The creation time of every response, in Unix seconds. It is constant, so that responses are deterministic.
const CREATED: i64 = 1_750_000_000;

/// Returns the events of a response. The events of choices, and those of consecutive tool calls, are interleaved.
pub(super) fn perform(turn: &Turn, request: &ChatRequest) -> Result<Vec<ChatStreamEvent>> {
    let choices = request.n.unwrap_or(1).max(1);
    if choices > MAX_CHOICES {
        let message = format!("`n` is {choices}, but the maximum is {MAX_CHOICES}");
        return Err(Error::new(ErrorKind::InvalidRequest, message).with_status(400));
    }
    let stopped = shorten::cut_at_stop(&turn.parts, request.stop.as_ref());
    let reason = match &stopped {
        Some(_) => FinishReason::Stop,
        None => turn.reason(),
    };
    let parts = stopped.as_deref().unwrap_or(&turn.parts);
    let mut tokens = Tokens::default();
    let performed: Vec<Vec<ChatStreamEvent>> = (0..choices)
        .map(|choice| {
            let mut performance = Performance::new(choice, turn.delta_size, request.max_tokens);
            performance.perform_parts(parts);
            tokens.add(&performance.tokens);
            performance.finish(&reason)
        })
        .collect();
    let mut events = vec![ChatStreamEvent::MessageStart {
        id: format!("sim-{:016x}", request_hash(request)),
        model: model_id(&request.model).to_owned(),
        provider: "sim".to_owned(),
        created: Some(CREATED),
        request_id: None,
        output_strategy: None,
        cached: false,
    }];
    events.extend(interleave(performed));
    events.push(ChatStreamEvent::Usage {
        usage: match &turn.usage {
            Some(usage) => usage.clone(),
            None => tokens.usage(count_prompt_tokens(request)),
        },
        cost: None,
    });
    let mut fold = Fold::new();
    let fail = |error| {
        Error::new(ErrorKind::Other, "the events of the simulated response are not valid")
            .with_source(error)
    };
    for event in &events {
        fold.push(event).map_err(fail)?;
    }
    events.push(ChatStreamEvent::MessageDone { response: Box::new(fold.finish().map_err(fail)?) });
    Ok(events)
}

/// Takes one item of each list in rotation, until all lists are empty.
fn interleave<T>(lists: Vec<Vec<T>>) -> Vec<T> {
    let mut merged = Vec::with_capacity(lists.iter().map(Vec::len).sum());
    let mut lists: Vec<_> = lists.into_iter().map(Vec::into_iter).collect();
    while !lists.is_empty() {
        lists.retain_mut(|list| match list.next() {
            Some(item) => {
                merged.push(item);
                true
            }
            None => false,
        });
    }
    merged
}

/// The tokens that a response has used.
#[derive(Clone, Copy, Debug, Default)]
struct Tokens {
    all: u64,
    thinking: u64,
}

impl Tokens {
    fn add(&mut self, more: &Self) {
        self.all += more.all;
        self.thinking += more.thinking;
    }

    fn usage(self, prompt: u64) -> Usage {
        let mut details = UsageDetails::default();
        details.reasoning_tokens = Some(self.thinking).filter(|tokens| *tokens > 0);
        Usage::new(prompt, self.all).with_details(details)
    }
}

/// The events of one choice, while they are built.
struct Performance {
    choice_index: u32,
    size: Option<usize>,
    max_tokens: Option<u64>,
    tokens: Tokens,
    opened: u32,
    is_truncated: bool,
    events: Vec<ChatStreamEvent>,
}

impl Performance {
    fn new(choice_index: u32, size: Option<usize>, max_tokens: Option<u64>) -> Self {
        Self {
            choice_index,
            size,
            max_tokens,
            tokens: Tokens::default(),
            opened: 0,
            is_truncated: false,
            events: Vec::new(),
        }
    }

    /// Adds the events of all parts.
    fn perform_parts(&mut self, parts: &[ResponsePart]) {
        let is_call = |part: &ResponsePart| matches!(part, ResponsePart::ToolCall(_));
        for group in parts.chunk_by(|a, b| is_call(a) && is_call(b)) {
            let (mut growing, mut closing) = (Vec::new(), Vec::new());
            for part in group {
                if self.is_truncated || self.tokens_left() == 0 {
                    self.is_truncated = true;
                    break;
                }
                let (grow, close) = self.open_part(self.with_unique_id(part));
                growing.push(grow);
                closing.push(close);
            }
            self.events.extend(interleave(growing));
            self.events.extend(closing);
        }
    }

    /// Opens a part, and returns its deltas and the event that closes it.
    fn open_part(&mut self, part: ResponsePart) -> (Vec<ChatStreamEvent>, ChatStreamEvent) {
        let (choice_index, part_index) = (self.choice_index, self.opened);
        self.opened += 1;
        let mut deltas = split::deltas(&part, self.size);
        let start = PartStart::of(&part);
        let part = if shorten::limit_tokens(&mut deltas, self.tokens_left()) {
            self.is_truncated = true;
            shorten::rebuild(&part, &deltas)
        } else {
            part
        };
        self.count_tokens(&deltas);
        self.events.push(ChatStreamEvent::ContentStart { choice_index, part_index, part: start });
        let grow = deltas
            .into_iter()
            .map(|delta| ChatStreamEvent::ContentDelta { choice_index, part_index, delta })
            .collect();
        let close = ChatStreamEvent::ContentDone { choice_index, part_index, part };
        (grow, close)
    }

    /// Makes the id of a tool call unique among the choices.
    fn with_unique_id(&self, part: &ResponsePart) -> ResponsePart {
        let mut part = part.clone();
        if let ResponsePart::ToolCall(call) = &mut part
            && self.choice_index > 0
        {
            call.id = format!("{}_{}", call.id, self.choice_index);
        }
        part
    }

    fn tokens_left(&self) -> u64 {
        match self.max_tokens {
            Some(most) => most.saturating_sub(self.tokens.all),
            None => u64::MAX,
        }
    }

    fn count_tokens(&mut self, deltas: &[PartDelta]) {
        let count = |of: fn(&PartDelta) -> bool| deltas.iter().filter(|delta| of(delta)).count();
        self.tokens.all += count(split::is_token) as u64;
        self.tokens.thinking += count(|delta| matches!(delta, PartDelta::Thinking { .. })) as u64;
    }

    fn finish(mut self, reason: &FinishReason) -> Vec<ChatStreamEvent> {
        let finish_reason = if self.is_truncated { FinishReason::Length } else { reason.clone() };
        self.events.push(ChatStreamEvent::MessageDelta {
            choice_index: self.choice_index,
            finish_reason,
            raw_finish_reason: None,
        });
        self.events
    }
}
