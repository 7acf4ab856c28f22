//! From what is answered to the steps of a stream.

use agentloop::{
    ChatRequest, ChatStreamEvent, Error, ErrorKind, FinishReason, Fold, PartDelta, PartStart,
    ResponsePart, Result, Usage, UsageDetails,
};

use super::conversation::{prompt_tokens, request_hash};
use super::{MAX_CHOICES, model_id, shorten, split};
use crate::script::Turn;

/// When every answer is made (Unix seconds): it must be the same each time.
const CREATED: i64 = 1_750_000_000;

/// The steps of an answer. Choices come side by side, and so do tool calls that follow each other.
pub(super) fn perform(turn: &Turn, request: &ChatRequest) -> Result<Vec<ChatStreamEvent>> {
    let choices = request.n.unwrap_or(1).max(1);
    if choices > MAX_CHOICES {
        let message = format!("`n` is {choices}, and at most {MAX_CHOICES} answers are made");
        return Err(Error::new(ErrorKind::InvalidRequest, message).with_status(400));
    }
    let stopped = shorten::stopped(&turn.parts, request.stop.as_ref());
    let reason = match &stopped {
        Some(_) => FinishReason::Stop,
        None => turn.reason(),
    };
    let parts = stopped.as_deref().unwrap_or(&turn.parts);
    let mut tokens = Tokens::default();
    let performed: Vec<Vec<ChatStreamEvent>> = (0..choices)
        .map(|choice| {
            let mut performance = Performance::new(choice, turn.delta_size, request.max_tokens);
            performance.parts(parts);
            tokens.add(&performance.tokens);
            performance.end(&reason)
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
    events.extend(side_by_side(performed));
    events.push(ChatStreamEvent::Usage {
        usage: match &turn.usage {
            Some(usage) => usage.clone(),
            None => tokens.usage(prompt_tokens(request)),
        },
        cost: None,
    });
    let mut fold = Fold::new();
    let broken = |error| {
        Error::new(ErrorKind::Other, "the simulated answer breaks the grammar").with_source(error)
    };
    for event in &events {
        fold.push(event).map_err(broken)?;
    }
    events
        .push(ChatStreamEvent::MessageDone { response: Box::new(fold.finish().map_err(broken)?) });
    Ok(events)
}

/// One from each list in turn, until all are used up.
fn side_by_side<T>(lists: Vec<Vec<T>>) -> Vec<T> {
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

/// What an answer has used.
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
        Usage {
            prompt_tokens: Some(prompt),
            completion_tokens: Some(self.all),
            total_tokens: Some(prompt + self.all),
            details: UsageDetails {
                reasoning_tokens: Some(self.thinking).filter(|tokens| *tokens > 0),
                ..UsageDetails::default()
            },
        }
    }
}

/// One choice while it is performed.
struct Performance {
    choice_index: u32,
    size: Option<usize>,
    max_tokens: Option<u64>,
    tokens: Tokens,
    opened: u32,
    cut: bool,
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
            cut: false,
            events: Vec::new(),
        }
    }

    fn parts(&mut self, parts: &[ResponsePart]) {
        let is_call = |part: &ResponsePart| matches!(part, ResponsePart::ToolCall(_));
        for group in parts.chunk_by(|a, b| is_call(a) && is_call(b)) {
            let (mut growing, mut closing) = (Vec::new(), Vec::new());
            for part in group {
                if self.cut || self.left() == 0 {
                    self.cut = true;
                    break;
                }
                let (grow, close) = self.part(self.named(part));
                growing.push(grow);
                closing.push(close);
            }
            self.events.extend(side_by_side(growing));
            self.events.extend(closing);
        }
    }

    /// Opens a part, and says how it grows and closes.
    fn part(&mut self, part: ResponsePart) -> (Vec<ChatStreamEvent>, ChatStreamEvent) {
        let (choice_index, part_index) = (self.choice_index, self.opened);
        self.opened += 1;
        let mut deltas = split::deltas(&part, self.size);
        let start = PartStart::of(&part);
        let part = if shorten::limit(&mut deltas, self.left()) {
            self.cut = true;
            shorten::rebuilt(&part, &deltas)
        } else {
            part
        };
        self.count(&deltas);
        self.events.push(ChatStreamEvent::ContentStart { choice_index, part_index, part: start });
        let grow = deltas
            .into_iter()
            .map(|delta| ChatStreamEvent::ContentDelta { choice_index, part_index, delta })
            .collect();
        let close = ChatStreamEvent::ContentDone { choice_index, part_index, part };
        (grow, close)
    }

    /// No two choices share the id of a call.
    fn named(&self, part: &ResponsePart) -> ResponsePart {
        let mut part = part.clone();
        if let ResponsePart::ToolCall(call) = &mut part
            && self.choice_index > 0
        {
            call.id = format!("{}_{}", call.id, self.choice_index);
        }
        part
    }

    fn left(&self) -> u64 {
        match self.max_tokens {
            Some(most) => most.saturating_sub(self.tokens.all),
            None => u64::MAX,
        }
    }

    fn count(&mut self, deltas: &[PartDelta]) {
        let count = |of: fn(&PartDelta) -> bool| deltas.iter().filter(|delta| of(delta)).count();
        self.tokens.all += count(split::is_token) as u64;
        self.tokens.thinking += count(|delta| matches!(delta, PartDelta::Thinking { .. })) as u64;
    }

    fn end(mut self, reason: &FinishReason) -> Vec<ChatStreamEvent> {
        let finish_reason = if self.cut { FinishReason::Length } else { reason.clone() };
        self.events.push(ChatStreamEvent::MessageDelta {
            choice_index: self.choice_index,
            finish_reason,
            raw_finish_reason: None,
        });
        self.events
    }
}
