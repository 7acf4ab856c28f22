//! Counts of what a simulator has served.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use agentloop::Usage;

/// Counts of what a simulator has served.
///
/// Compare them with the usage that your code reports. As with a provider's bill, a response counts completely even if the
/// client received only a part of it. A response that a fault replaced (an HTTP error, a web page) uses no tokens.
///
/// ```
/// use agentloop::{AgentLoop, ChatRequest};
/// use agentloop_sim::Simulator;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> agentloop::Result<()> {
/// let simulator = Simulator::new();
/// let ai = AgentLoop::builder().provider(simulator.provider()).build()?;
/// ai.chat(ChatRequest::new("sim/long-5").user("Hello there")).await?;
/// let ledger = simulator.ledger();
/// assert_eq!((ledger.calls, ledger.prompt_tokens, ledger.completion_tokens), (1, 2, 5));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ledger {
    /// The number of requests of all kinds.
    pub calls: u64,
    /// The number of requests with a fault.
    pub faults: u64,
    /// The largest number of requests in progress at the same time. A request is in progress until its response is sent or
    /// dropped.
    pub busiest: u64,
    /// The number of requests in progress now, of those that came over HTTP.
    pub in_progress: u64,
    /// The number of chat responses.
    pub chats: u64,
    /// The number of embeddings responses.
    pub embeds: u64,
    /// The number of responses of other modalities: images, speech, transcripts, rankings and moderations.
    pub tasks: u64,
    /// The number of prompt tokens, including those of embeddings.
    pub prompt_tokens: u64,
    /// The number of completion tokens, including reasoning.
    pub completion_tokens: u64,
    /// The number of reasoning tokens.
    pub reasoning_tokens: u64,
}

/// The counters of a simulator.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    calls: AtomicU64,
    faults: AtomicU64,
    busy: AtomicU64,
    busiest: AtomicU64,
    chats: AtomicU64,
    embeds: AtomicU64,
    tasks: AtomicU64,
    prompt_tokens: AtomicU64,
    completion_tokens: AtomicU64,
    reasoning_tokens: AtomicU64,
}

fn add(counter: &AtomicU64, more: u64) -> u64 {
    counter.fetch_add(more, Ordering::Relaxed)
}

impl Counters {
    /// Counts a request and returns its number. The first is 1.
    pub(crate) fn call(&self) -> u64 {
        add(&self.calls, 1) + 1
    }

    /// Counts a request as in progress until the returned guard is dropped.
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

    pub(crate) fn task(&self, usage: Option<&Usage>) {
        add(&self.tasks, 1);
        let count = |tokens: Option<u64>| tokens.unwrap_or(0);
        add(&self.prompt_tokens, count(usage.and_then(|usage| usage.prompt_tokens)));
        add(&self.completion_tokens, count(usage.and_then(|usage| usage.completion_tokens)));
    }

    pub(crate) fn read(&self) -> Ledger {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Ledger {
            calls: read(&self.calls),
            faults: read(&self.faults),
            busiest: read(&self.busiest),
            in_progress: read(&self.busy),
            chats: read(&self.chats),
            embeds: read(&self.embeds),
            tasks: read(&self.tasks),
            prompt_tokens: read(&self.prompt_tokens),
            completion_tokens: read(&self.completion_tokens),
            reasoning_tokens: read(&self.reasoning_tokens),
        }
    }
}

/// A request in progress.
#[derive(Debug)]
pub(crate) struct Busy(Arc<Counters>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::Relaxed);
    }
}
