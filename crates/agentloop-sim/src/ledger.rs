//! What was served.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use agentloop::Usage;

/// What a simulator has served so far: compare it with what a client says it used.
///
/// An answer counts when the model has made it, as a provider bills it, also when the client then got only
/// a piece of it. An answer that was never begun (a status, a web page) uses nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ledger {
    /// All calls, answered or not.
    pub calls: u64,
    /// Calls that asked for a fault, or got one from a schedule.
    pub faults: u64,
    /// The most calls that were under way at once: begun, and their answers not yet sent or dropped.
    pub busiest: u64,
    /// Chats that the model answered.
    pub chats: u64,
    /// Embeddings calls that were answered.
    pub embeds: u64,
    /// Prompt tokens, those of embeddings included.
    pub prompt_tokens: u64,
    /// Completion tokens.
    pub completion_tokens: u64,
    /// Of those, reasoning.
    pub reasoning_tokens: u64,
}

/// The ledger while it is written.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    calls: AtomicU64,
    faults: AtomicU64,
    busy: AtomicU64,
    busiest: AtomicU64,
    chats: AtomicU64,
    embeds: AtomicU64,
    prompt_tokens: AtomicU64,
    completion_tokens: AtomicU64,
    reasoning_tokens: AtomicU64,
}

fn add(counter: &AtomicU64, more: u64) -> u64 {
    counter.fetch_add(more, Ordering::Relaxed)
}

impl Counters {
    /// Counts a call and gives its number, the first being 1.
    pub(crate) fn call(&self) -> u64 {
        add(&self.calls, 1) + 1
    }

    /// Counts a call as under way for as long as what is returned lives.
    pub(crate) fn begin(self: &Arc<Self>) -> Busy {
        let busy = add(&self.busy, 1) + 1;
        self.busiest.fetch_max(busy, Ordering::Relaxed);
        Busy(Arc::clone(self))
    }

    pub(crate) fn fault(&self) {
        add(&self.faults, 1);
    }

    pub(crate) fn chat(&self, usage: &Usage) {
        add(&self.chats, 1);
        add(&self.prompt_tokens, usage.prompt_tokens.unwrap_or(0));
        add(&self.completion_tokens, usage.completion_tokens.unwrap_or(0));
        add(&self.reasoning_tokens, usage.details.reasoning_tokens.unwrap_or(0));
    }

    pub(crate) fn embed(&self, tokens: u64) {
        add(&self.embeds, 1);
        add(&self.prompt_tokens, tokens);
    }

    pub(crate) fn read(&self) -> Ledger {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Ledger {
            calls: read(&self.calls),
            faults: read(&self.faults),
            busiest: read(&self.busiest),
            chats: read(&self.chats),
            embeds: read(&self.embeds),
            prompt_tokens: read(&self.prompt_tokens),
            completion_tokens: read(&self.completion_tokens),
            reasoning_tokens: read(&self.reasoning_tokens),
        }
    }
}

/// A call that is under way.
#[derive(Debug)]
pub(crate) struct Busy(Arc<Counters>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::Relaxed);
    }
}
