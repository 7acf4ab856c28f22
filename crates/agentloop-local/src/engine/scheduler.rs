//! Works on several chats at once: in each step, one token of every chat that is writing, and some tokens of a prompt.

use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use agentloop::{Error, ErrorKind, Result};
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::context::params::LlamaContextParams;
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::model::LlamaModel;

use super::backend;
use super::chat::{Chat, too_long};
use super::embed::{self, Embedding};
use super::slot::Slot;
use super::template::Templates;
use crate::gguf::Head;
use crate::job::{Busy, ChatJob, Job, Piece};
use crate::limits::{MAX_STEP_TOKENS, STEP_TIME};
use crate::local::Options;

/// How many tokens of a prompt the first step evaluates. Later steps take as many as fit into [`STEP_TIME`].
const FIRST_STEP_TOKENS: usize = 32;

/// The fewest tokens of a prompt in a step.
const MIN_STEP_TOKENS: usize = 8;

/// The smallest context of a chat, in tokens.
const MIN_CONTEXT: u32 = 128;

/// How long to wait for a reader, unless one wakes the thread.
const READER_WAIT: Duration = Duration::from_millis(20);

/// The chats and embeddings of one model.
pub(super) struct Scheduler<'a> {
    model: &'a LlamaModel,
    head: &'a Head,
    templates: Templates,
    threads: i32,
    /// Absent in models that only make embeddings.
    context: Option<LlamaContext<'a>>,
    batch: LlamaBatch<'a>,
    slots: Vec<Slot>,
    embeddings: VecDeque<Embedding<'a>>,
    step_tokens: usize,
    max_step: usize,
    chats: u64,
}

impl<'a> Scheduler<'a> {
    pub(super) fn new(model: &'a LlamaModel, head: &'a Head, options: &Options) -> Result<Self> {
        let threads = i32::try_from(options.threads).unwrap_or(1);
        let parallel = u32::try_from(options.parallel).unwrap_or(1);
        let trained = head.context_length.and_then(|length| u32::try_from(length).ok());
        let each = options.context.min(trained.unwrap_or(u32::MAX)).max(MIN_CONTEXT);
        let batch_tokens = MAX_STEP_TOKENS + options.parallel;
        let context = match head.is_embedder() {
            true => None,
            false => {
                let size = u32::try_from(batch_tokens).unwrap_or(u32::MAX);
                let params = LlamaContextParams::default()
                    .with_n_ctx(NonZeroU32::new(each.saturating_mul(parallel)))
                    .with_n_seq_max(parallel)
                    .with_n_batch(size)
                    .with_n_ubatch(size)
                    .with_n_threads(threads)
                    .with_n_threads_batch(threads)
                    .with_kv_unified(false)
                    .with_no_perf(true);
                let context = model.new_context(backend()?, params).map_err(|error| {
                    Error::new(
                        ErrorKind::Server,
                        format!("the engine cannot create a context for the model: {error}"),
                    )
                    .with_hint("there may not be enough memory; set a smaller context")
                })?;
                Some(context)
            }
        };
        // The engine makes batches at most as large as the context, and ends the process at larger ones.
        let fits = context.as_ref().map_or(0, |context| context.n_batch() as usize);
        Ok(Self {
            model,
            head,
            templates: Templates::new(model, head),
            threads,
            max_step: fits.saturating_sub(options.parallel).clamp(1, MAX_STEP_TOKENS),
            context,
            batch: LlamaBatch::new(batch_tokens, 1),
            slots: (0..parallel).map(Slot::new).collect(),
            embeddings: VecDeque::new(),
            step_tokens: FIRST_STEP_TOKENS,
            chats: 0,
        })
    }

    pub(super) fn is_idle(&self) -> bool {
        self.embeddings.is_empty() && self.slots.iter().all(|slot| slot.chat.is_none())
    }

    /// Returns whether another job can begin. Jobs wait in the queue otherwise.
    pub(super) fn has_room(&self) -> bool {
        self.embeddings.is_empty() && self.slots.iter().any(|slot| slot.chat.is_none())
    }

    /// Begins a job.
    pub(super) fn take(&mut self, job: Job, busy: Busy) {
        match job {
            Job::Embed(job) => {
                self.embeddings.push_back(Embedding::new(self.model, self.head, job, busy));
            }
            Job::Count(job) => {
                let prompt = self.templates.tokenize(self.model, &job.conversation);
                drop(busy);
                drop(job.out.send(prompt.map(|prompt| prompt.tokens.len() as u64)));
            }
            Job::Chat(job) => {
                if let Err((job, error)) = self.begin(job, busy) {
                    Job::Chat(job).fail(error);
                }
            }
        }
    }

    fn begin(
        &mut self,
        job: Box<ChatJob>,
        busy: Busy,
    ) -> std::result::Result<(), (Box<ChatJob>, Error)> {
        let Some(context) = &mut self.context else {
            return Err((job, embed::not_for_chat()));
        };
        let prompt = match self.templates.tokenize(self.model, &job.conversation) {
            Ok(prompt) => prompt,
            Err(error) => return Err((job, error)),
        };
        let size = context.n_ctx() as usize / self.slots.len();
        let count = prompt.tokens.len();
        if count >= size || count == 0 {
            return Err((job, too_long(count, size)));
        }
        // The free place whose last chat began in the same way, else the one that was not used for the longest time.
        let free = self.slots.iter_mut().filter(|slot| slot.chat.is_none());
        let best = free.max_by_key(|slot| (slot.common(&prompt.tokens), u64::MAX - slot.used));
        let Some(slot) = best else {
            let error = Error::new(ErrorKind::Overloaded, "the model is busy with other chats");
            return Err((job, error));
        };
        self.chats += 1;
        slot.used = self.chats;
        let kept = slot.keep(context, slot.common(&prompt.tokens));
        let started = Piece::Started {
            prompt_tokens: count as u64,
            cached_tokens: kept as u64,
            warnings: prompt.warnings,
        };
        let limit = (size - count) as u64;
        let chat = Chat::new(self.model, job, busy, &prompt.tokens[kept..], limit, started)?;
        slot.chat = Some(chat);
        Ok(())
    }

    /// Evaluates some tokens, and sends what follows from them.
    pub(super) fn step(&mut self) {
        if let Some(mut embedding) = self.embeddings.pop_front()
            && !embedding.step(self.model, self.threads)
        {
            self.embeddings.push_front(embedding);
        }
        let (has_chats, outputs) = self.fill_batch();
        if self.batch.n_tokens() > 0 {
            self.evaluate(&outputs);
        } else if has_chats && self.embeddings.is_empty() {
            // All readers are slower than the model. Each wakes this thread when it has taken a piece.
            std::thread::park_timeout(READER_WAIT);
        }
    }

    /// Adds the next tokens of all chats to the batch. Returns whether there are chats, and which of them have an output at which token.
    fn fill_batch(&mut self) -> (bool, Vec<(usize, i32)>) {
        let mut outputs = Vec::with_capacity(self.slots.len());
        let mut has_chats = false;
        let mut left = self.step_tokens.min(self.max_step);
        self.batch.clear();
        for (index, slot) in self.slots.iter_mut().enumerate() {
            let sequence = [slot.sequence_id()];
            let Some(chat) = &mut slot.chat else { continue };
            let can_continue = chat.flush();
            if chat.is_over() {
                slot.chat = None;
                continue;
            }
            has_chats = true;
            if !can_continue {
                continue;
            }
            // A chat that is writing has one token. Prompts share the tokens of the step.
            let take = if chat.todo.len() == 1 { 1 } else { left.min(chat.todo.len()) };
            left -= if take == 1 { 0 } else { take };
            for _ in 0..take {
                let Some(token) = chat.todo.pop_front() else { break };
                let position = i32::try_from(slot.tokens.len()).unwrap_or(i32::MAX);
                let is_last = chat.todo.is_empty();
                // The batch has room for the tokens of a step and one of each chat.
                if self.batch.add(token, position, &sequence, is_last).is_err() {
                    chat.todo.push_front(token);
                    break;
                }
                slot.tokens.push(token);
                if is_last {
                    outputs.push((index, self.batch.n_tokens() - 1));
                }
            }
        }
        (has_chats, outputs)
    }

    /// Evaluates the batch, and chooses the next token of every chat with an output.
    fn evaluate(&mut self, outputs: &[(usize, i32)]) {
        let Some(context) = &mut self.context else { return };
        let started = Instant::now();
        let tokens = usize::try_from(self.batch.n_tokens()).unwrap_or(1);
        if let Err(error) = context.decode(&mut self.batch) {
            for slot in &mut self.slots {
                if let Some(chat) = &mut slot.chat {
                    let message = format!("the engine cannot evaluate the tokens: {error}");
                    chat.fail(Error::new(ErrorKind::Server, message));
                }
                // What the context holds after an error is not known.
                slot.forget(context);
            }
            return;
        }
        if tokens >= MIN_STEP_TOKENS {
            self.step_tokens = tokens_per_step(tokens, started.elapsed());
        }
        for (index, output) in outputs {
            let Some(slot) = self.slots.get_mut(*index) else { continue };
            let Some(chat) = &mut slot.chat else { continue };
            chat.advance(self.model, context, *output);
            chat.flush();
            // The next chat of the conversation may come at once, and needs the place with its beginning.
            if chat.is_over() {
                slot.chat = None;
            }
        }
    }
}

/// Returns how many tokens fit into [`STEP_TIME`], after a step with so many tokens took so long.
fn tokens_per_step(tokens: usize, took: Duration) -> usize {
    let took = took.as_micros().max(1);
    let fit = (tokens as u128 * STEP_TIME.as_micros()) / took;
    // Growing slowly keeps one fast measurement from making the next step long.
    let fit = usize::try_from(fit).unwrap_or(MAX_STEP_TOKENS).min(tokens.saturating_mul(2));
    fit.clamp(MIN_STEP_TOKENS, MAX_STEP_TOKENS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_takes_as_many_tokens_as_its_time_allows() {
        assert_eq!(tokens_per_step(32, STEP_TIME / 8), 64);
        assert_eq!(tokens_per_step(64, STEP_TIME * 2), 32);
        assert_eq!(tokens_per_step(8, STEP_TIME * 100), MIN_STEP_TOKENS);
        assert_eq!(tokens_per_step(512, Duration::ZERO), MAX_STEP_TOKENS);
    }
}
