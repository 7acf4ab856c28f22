//! Converts texts to vectors.

use std::num::NonZeroU32;

use agentloop::{Error, ErrorKind, Result};
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::context::params::{LlamaContextParams, LlamaPoolingType};
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::token::LlamaToken;
use tokio::sync::oneshot;

use super::backend;
use crate::gguf::Head;
use crate::job::{Busy, EmbedJob, Embedded};
use crate::limits::MAX_EMBEDDED_TOKENS;

/// The texts of a request while they are converted, one in each step.
pub(super) struct Embedding<'a> {
    texts: std::result::Result<Vec<Vec<LlamaToken>>, Error>,
    pooling: LlamaPoolingType,
    vectors: Vec<Vec<f32>>,
    context: Option<LlamaContext<'a>>,
    out: Option<oneshot::Sender<Result<Embedded>>>,
    busy: Option<Busy>,
}

impl<'a> Embedding<'a> {
    pub(super) fn new(model: &LlamaModel, head: &Head, job: EmbedJob, busy: Busy) -> Self {
        let most = head.context_length.and_then(|length| usize::try_from(length).ok());
        let most = most.unwrap_or(MAX_EMBEDDED_TOKENS).min(MAX_EMBEDDED_TOKENS);
        Self {
            texts: tokenize(model, &job.texts, most),
            pooling: match head.pooling {
                Some(pooling) if pooling != 0 => LlamaPoolingType::Unspecified,
                _ => LlamaPoolingType::Mean,
            },
            vectors: Vec::with_capacity(job.texts.len()),
            context: None,
            out: Some(job.out),
            busy: Some(busy),
        }
    }

    /// Converts the next text. Returns whether the request is done or was cancelled.
    pub(super) fn step(&mut self, model: &'a LlamaModel, threads: i32) -> bool {
        if self.out.as_ref().is_none_or(oneshot::Sender::is_closed) {
            return true;
        }
        let result = match &self.texts {
            Err(error) => Err(error.clone()),
            Ok(texts) => match texts.get(self.vectors.len()) {
                None => {
                    let tokens = texts.iter().map(|text| text.len() as u64).sum();
                    Ok(Embedded { vectors: std::mem::take(&mut self.vectors), tokens })
                }
                Some(text) => {
                    let size = texts.iter().map(Vec::len).max().unwrap_or(1);
                    match convert(model, &mut self.context, text, size, self.pooling, threads) {
                        Ok(vector) => {
                            self.vectors.push(vector);
                            return false;
                        }
                        Err(error) => Err(error),
                    }
                }
            },
        };
        self.busy = None;
        if let Some(out) = self.out.take() {
            drop(out.send(result));
        }
        true
    }
}

fn tokenize(model: &LlamaModel, texts: &[String], most: usize) -> Result<Vec<Vec<LlamaToken>>> {
    let convert = |text: &String| {
        let tokens = model.vocab().tokenize(text.as_bytes(), true, false);
        match tokens.len() {
            0 => Err(Error::new(ErrorKind::InvalidRequest, "a text to embed is empty")),
            count if count > most => Err(Error::new(
                ErrorKind::ContextLength,
                format!("a text has {count} tokens, but at most {most} can be embedded at once"),
            )),
            _ => Ok(tokens),
        }
    };
    texts.iter().map(convert).collect()
}

/// Returns the vector of a text, of length 1.
fn convert<'a>(
    model: &'a LlamaModel,
    kept: &mut Option<LlamaContext<'a>>,
    text: &[LlamaToken],
    size: usize,
    pooling: LlamaPoolingType,
    threads: i32,
) -> Result<Vec<f32>> {
    let context = match kept {
        Some(context) => context,
        None => kept.insert(build_context(model, size, pooling, threads)?),
    };
    context.clear_kv_cache();
    let mut batch = LlamaBatch::new(text.len(), 1);
    batch.add_sequence(text, 0, true).map_err(|error| fail(&error))?;
    context.decode(&mut batch).map_err(|error| fail(&error))?;
    let vector = context.embeddings_seq_ith(0).map_err(|error| fail(&error))?;
    let length = vector.iter().map(|number| f64::from(*number).powi(2)).sum::<f64>().sqrt();
    if !length.is_finite() || length == 0.0 {
        return Err(fail(&"the vector has no length"));
    }
    #[expect(clippy::cast_possible_truncation, reason = "vectors have single precision")]
    Ok(vector.iter().map(|number| (f64::from(*number) / length) as f32).collect())
}

/// Creates a context in which a whole text is evaluated at once, as its pooling needs.
fn build_context<'a>(
    model: &'a LlamaModel,
    size: usize,
    pooling: LlamaPoolingType,
    threads: i32,
) -> Result<LlamaContext<'a>> {
    let size = u32::try_from(size.next_multiple_of(64)).unwrap_or(u32::MAX);
    let params = LlamaContextParams::default()
        .with_n_ctx(NonZeroU32::new(size))
        .with_n_batch(size)
        .with_n_ubatch(size)
        .with_n_seq_max(1)
        .with_embeddings(true)
        .with_pooling_type(pooling)
        .with_n_threads(threads)
        .with_n_threads_batch(threads)
        .with_no_perf(true);
    model.new_context(backend()?, params).map_err(|error| fail(&error))
}

fn fail(error: &dyn std::fmt::Display) -> Error {
    Error::new(ErrorKind::Server, format!("the engine cannot embed the text: {error}"))
}

/// Returns the error of a chat with a model that only makes embeddings.
pub(super) fn not_for_chat() -> Error {
    Error::new(ErrorKind::Unsupported, "this model only makes embeddings, so it cannot chat")
}
