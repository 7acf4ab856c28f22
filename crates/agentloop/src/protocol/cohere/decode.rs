//! Events → events: one state machine for streams and whole bodies.

use serde_json::{Map, Value};

use super::growing::Growing;
use super::wire::{Body, Event};
use crate::chat::{Logprobs, TokenLogprob};
use crate::error::Result;
use crate::nesting;
use crate::protocol::rest::Kept;
use crate::protocol::{DecodeContext, Emitter};

/// Reads one response.
#[derive(Debug)]
pub(crate) struct Decoder {
    pub(super) context: DecodeContext,
    pub(super) growing: Growing,
    pub(super) finish: Option<String>,
    /// Why the response failed, in the provider's words.
    pub(super) failure: Option<String>,
    pub(super) metadata: Map<String, Value>,
    /// Fields that the protocol does not name, and those of its usage.
    pub(super) rest: Kept,
    pub(super) usage_rest: Kept,
}

impl Decoder {
    pub(crate) fn new(context: DecodeContext) -> Self {
        Self {
            context,
            growing: Growing::default(),
            finish: None,
            failure: None,
            metadata: Map::new(),
            rest: Kept::default(),
            usage_rest: Kept::default(),
        }
    }

    /// Starts the response, unless it has started. The provider does not name the model.
    fn start(&self, id: &str, emitter: &mut Emitter) -> Result<()> {
        if !emitter.is_started() {
            emitter.start(id, self.context.model(), None);
        }
        emitter.ensure_choice(0)
    }

    /// Reads a complete body.
    pub(super) fn whole(&mut self, body: &mut Body<'_>, emitter: &mut Emitter) -> Result<()> {
        self.start(body.id.non_empty().unwrap_or_default(), emitter)?;
        self.rest.keep(&body.rest);
        if let Some(message) = body.message.0.take() {
            self.rest.keep(&message.rest);
            self.growing.plan(message.tool_plan.0.unwrap_or_default(), emitter)?;
            for block in message.content {
                self.growing.start_block(block, emitter)?;
            }
            // Sources refer to texts, which may be open.
            if let Some(citations) = message.citations {
                self.growing.cite(citations.get(), emitter)?;
            }
            for (at, call) in message.tool_calls.into_iter().enumerate() {
                self.growing.call(&call, i64::try_from(at).ok(), true, emitter)?;
            }
        }
        if let Some(raw) = body.logprobs {
            let content = logprobs(raw.get());
            emitter.logprobs(0, Logprobs { content, ..Logprobs::default() });
        }
        for usage in [&body.usage, &body.meta] {
            if let Some(usage) = &usage.0 {
                usage.emit(&mut self.usage_rest, emitter);
            }
        }
        self.finish = body.finish_reason.non_empty().map(str::to_owned);
        self.fail(body.error.non_empty(), body.error_type.non_empty());
        Ok(())
    }

    /// Reads an event of a stream. Returns whether it is the last one.
    pub(super) fn event(&mut self, event: &mut Event<'_>, emitter: &mut Emitter) -> Result<bool> {
        let kind = std::mem::take(&mut event.kind).0.unwrap_or_default();
        let Some(delta) = &mut event.delta.0 else {
            if kind == "content-end" {
                self.growing.close_active(emitter)?;
            }
            return Ok(kind == "message-end");
        };
        self.start(event.id.non_empty().unwrap_or_default(), emitter)?;
        let is_thinking = if let Some(message) = &mut delta.message.0 {
            let content = message.content.0.take();
            let is_thinking =
                content.as_ref().is_some_and(|content| content.text("thinking").is_some());
            match (kind.as_ref(), content) {
                ("content-start", Some(block)) => self.growing.start_block(block, emitter)?,
                (_, Some(block)) => self.growing.grow_block(block, emitter)?,
                (_, None) => {}
            }
            if let Some(plan) = std::mem::take(&mut message.tool_plan).into_non_empty() {
                self.growing.plan(plan, emitter)?;
            }
            if let Some(call) = &message.tool_calls.0 {
                self.growing.call(call, event.index.0, false, emitter)?;
            }
            if let Some(raw) = message.citations.filter(|raw| raw.get() != "[]") {
                self.growing.cite(raw.get(), emitter)?;
            }
            is_thinking
        } else {
            false
        };
        if let Some(raw) = event.logprobs {
            let tokens = logprobs(raw.get());
            emitter.logprobs(
                0,
                if is_thinking {
                    Logprobs { thinking: tokens, ..Logprobs::default() }
                } else {
                    Logprobs { content: tokens, ..Logprobs::default() }
                },
            );
        }
        if kind != "message-end" {
            return Ok(false);
        }
        self.rest.keep(&delta.rest);
        if let Some(usage) = &delta.usage.0 {
            usage.emit(&mut self.usage_rest, emitter);
        }
        self.finish = delta.finish_reason.non_empty().map(str::to_owned);
        let (error, kind) = (delta.error.non_empty(), delta.error_type.non_empty());
        self.fail(error, kind);
        Ok(true)
    }

    fn fail(&mut self, error: Option<&str>, kind: Option<&str>) {
        for (name, text) in [("error", error), ("errorType", kind)] {
            if let Some(text) = text {
                self.metadata.insert(name.to_owned(), text.into());
            }
        }
        self.failure = error.map(str::to_owned);
    }
}

/// Reads log probabilities: of one piece, or a list of them. A piece of several tokens has the sum of theirs.
fn logprobs(raw: &str) -> Vec<TokenLogprob> {
    let pieces = match nesting::read(raw) {
        Ok(Value::Array(list)) => list,
        Ok(one @ Value::Object(_)) => vec![one],
        _ => Vec::new(),
    };
    let read = |piece: &Value| {
        let numbers = piece.get("logprobs").and_then(Value::as_array);
        let sum = numbers
            .filter(|list| !list.is_empty())
            .map(|list| list.iter().filter_map(Value::as_f64).sum::<f64>());
        Some(TokenLogprob {
            token: piece.get("text")?.as_str()?.to_owned(),
            logprob: sum.filter(|sum| sum.is_finite()),
            ..TokenLogprob::default()
        })
    };
    pieces.iter().filter_map(read).collect()
}
