//! A response while it is written.

use agentloop::{Error, ErrorKind, Result};
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::token::LlamaToken;
use tokio::sync::mpsc::error::TrySendError;

use super::sampler::Sampler;
use super::text::Characters;
use crate::grammar::{CALL_END, CALL_START};
use crate::job::{Busy, ChatJob, Piece};
use crate::stop::StopFilter;

/// A chat that a model works on.
#[derive(Debug)]
pub(super) struct Chat {
    job: Box<ChatJob>,
    /// Given up before the end is sent, so that the caller finds the model free.
    busy: Option<Busy>,
    /// The tokens to evaluate: those of the prompt that the cache does not have, and later the last chosen one.
    pub(super) todo: std::collections::VecDeque<LlamaToken>,
    sampler: Sampler,
    characters: Characters,
    stop: StopFilter,
    /// Pieces that the reader has no room for.
    waiting: std::collections::VecDeque<Piece>,
    written: u64,
    limit: u64,
    is_done: bool,
}

impl Chat {
    /// Begins a chat whose prompt has been prepared.
    pub(super) fn new(
        model: &LlamaModel,
        job: Box<ChatJob>,
        busy: Busy,
        todo: &[LlamaToken],
        limit: u64,
        started: Piece,
    ) -> std::result::Result<Self, (Box<ChatJob>, Error)> {
        let sampler = Sampler::new(model, &job.sampling, job.grammar.as_ref(), job.logprobs);
        let sampler = match sampler {
            Ok(sampler) => sampler,
            Err(error) => return Err((job, error)),
        };
        Ok(Self {
            stop: StopFilter::new(&job.stop),
            limit: job.max_tokens.unwrap_or(u64::MAX).min(limit).max(1),
            job,
            busy: Some(busy),
            todo: todo.iter().copied().collect(),
            sampler,
            characters: Characters::default(),
            waiting: [started].into(),
            written: 0,
            is_done: false,
        })
    }

    /// Returns whether the reader is gone, or all of the response has been sent.
    pub(super) fn is_over(&self) -> bool {
        self.job.out.is_closed() || (self.is_done && self.waiting.is_empty())
    }

    /// Sends what waits. Returns whether the chat can continue.
    pub(super) fn flush(&mut self) -> bool {
        while let Some(piece) = self.waiting.pop_front() {
            match self.job.out.try_send(piece) {
                Ok(()) => {}
                Err(TrySendError::Full(piece)) => {
                    self.waiting.push_front(piece);
                    return false;
                }
                Err(TrySendError::Closed(_)) => return false,
            }
        }
        !self.is_done
    }

    /// Chooses the next token after an evaluation, and adds what can be shown.
    pub(super) fn advance(&mut self, model: &LlamaModel, context: &LlamaContext<'_>, output: i32) {
        match self.choose(model, context, output) {
            Ok(Some(token)) => self.todo.push_back(token),
            Ok(None) => {}
            Err(error) => self.fail(error),
        }
    }

    /// Returns the token to evaluate next, or nothing at the end of the response.
    fn choose(
        &mut self,
        model: &LlamaModel,
        context: &LlamaContext<'_>,
        output: i32,
    ) -> Result<Option<LlamaToken>> {
        let (token, logprob) = self.sampler.next(model, context, output)?;
        self.written += 1;
        if model.vocab().is_eog(token) {
            self.end(false);
            return Ok(None);
        }
        if let Some(logprob) = logprob {
            self.waiting.push_back(Piece::Logprob(logprob));
        }
        let text = self.characters.push(&bytes_of(model, token));
        let (shown, is_stopped) = self.stop.push(&text);
        if !shown.is_empty() {
            self.waiting.push_back(Piece::Text(shown));
        }
        if is_stopped {
            self.characters = Characters::default();
            self.end(false);
            return Ok(None);
        }
        if self.written >= self.limit {
            self.end(true);
            return Ok(None);
        }
        Ok(Some(token))
    }

    fn end(&mut self, is_truncated: bool) {
        let rest = self.characters.finish();
        let (mut shown, is_stopped) = self.stop.push(&rest);
        if !is_stopped {
            shown.push_str(&self.stop.finish());
        }
        if !shown.is_empty() {
            self.waiting.push_back(Piece::Text(shown));
        }
        let is_truncated = is_truncated && !is_stopped;
        self.busy = None;
        self.waiting.push_back(Piece::Done { is_truncated, completion_tokens: self.written });
        self.is_done = true;
    }

    /// Ends the chat with an error.
    pub(super) fn fail(&mut self, error: Error) {
        self.busy = None;
        self.waiting.push_back(Piece::Failed(error));
        self.is_done = true;
    }
}

/// Returns the text of a token. Control tokens have none, except the marks of tool calls, which some vocabularies have as such.
fn bytes_of(model: &LlamaModel, token: LlamaToken) -> Vec<u8> {
    let vocab = model.vocab();
    let bytes = vocab.token_to_piece(token, false, None);
    if bytes.is_empty() {
        let special = vocab.token_to_piece(token, true, None);
        if [CALL_START, CALL_END].iter().any(|mark| mark.as_bytes() == special) {
            return special;
        }
    }
    bytes
}

/// Returns the error of a prompt that does not fit.
pub(super) fn too_long(tokens: usize, context: usize) -> Error {
    Error::new(
        ErrorKind::ContextLength,
        format!("the prompt has {tokens} tokens, but the context has {context}, of which the response needs at least one"),
    )
    .with_code("context_length_exceeded")
    .with_hint("shorten the conversation, or set a larger context (`Local::context`, AGENTLOOP_LOCAL_CONTEXT)")
}
