//! The work of a model, and what comes back. The engine does it on a thread of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use agentloop::{Error, Result, TokenLogprob};
use tokio::sync::{mpsc, oneshot};

use crate::prompt::Conversation;

/// What a worker does.
#[derive(Debug)]
pub(crate) enum Job {
    Chat(Box<ChatJob>),
    Embed(EmbedJob),
    Count(CountJob),
}

/// A response to write.
#[derive(Debug)]
pub(crate) struct ChatJob {
    pub(crate) conversation: Conversation,
    pub(crate) max_tokens: Option<u64>,
    pub(crate) stop: Vec<String>,
    pub(crate) sampling: Sampling,
    pub(crate) grammar: Option<GrammarUse>,
    /// How many alternatives of each token are reported; absent if no log probabilities are.
    pub(crate) logprobs: Option<usize>,
    /// Where the response goes. A closed one cancels the job.
    pub(crate) out: mpsc::Sender<Piece>,
}

/// A grammar that the response follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GrammarUse {
    pub(crate) text: String,
    /// The text after which it applies; absent if it applies from the beginning.
    pub(crate) after: Option<&'static str>,
}

/// How tokens are chosen.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sampling {
    pub(crate) temperature: f32,
    pub(crate) top_p: f32,
    pub(crate) top_k: i32,
    pub(crate) min_p: f32,
    pub(crate) repeat_penalty: f32,
    pub(crate) frequency_penalty: f32,
    pub(crate) presence_penalty: f32,
    pub(crate) seed: u32,
}

/// A piece of a response.
#[derive(Debug)]
pub(crate) enum Piece {
    /// The prompt fits; it is being evaluated.
    Started {
        prompt_tokens: u64,
        cached_tokens: u64,
        warnings: Vec<String>,
    },
    Text(String),
    Logprob(TokenLogprob),
    Done {
        is_truncated: bool,
        completion_tokens: u64,
    },
    Failed(Error),
}

/// Texts to convert to vectors.
#[derive(Debug)]
pub(crate) struct EmbedJob {
    pub(crate) texts: Vec<String>,
    pub(crate) out: oneshot::Sender<Result<Embedded>>,
}

/// A prompt whose tokens are counted.
#[derive(Debug)]
pub(crate) struct CountJob {
    pub(crate) conversation: Conversation,
    pub(crate) out: oneshot::Sender<Result<u64>>,
}

/// The vectors of texts, and how many tokens the texts have.
#[derive(Debug)]
pub(crate) struct Embedded {
    pub(crate) vectors: Vec<Vec<f32>>,
    pub(crate) tokens: u64,
}

impl Job {
    /// Ends the job with an error.
    pub(crate) fn fail(self, error: Error) {
        match self {
            // The channel of a job that has not begun is empty.
            Self::Chat(job) => drop(job.out.try_send(Piece::Failed(error))),
            Self::Embed(job) => drop(job.out.send(Err(error))),
            Self::Count(job) => drop(job.out.send(Err(error))),
        }
    }
}

/// Counts a job as long as it exists.
#[derive(Debug)]
pub(crate) struct Busy(Arc<AtomicUsize>);

impl Busy {
    pub(crate) fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(count))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
