//! Chooses the next token.

use agentloop::{Error, ErrorKind, Result, TokenLogprob};
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::sampling::LlamaSampler;
use llama_cpp_2::token::LlamaToken;
use llama_cpp_2::token::data::LlamaTokenData;
use llama_cpp_2::token::data_array::LlamaTokenDataArray;

use crate::job::{GrammarUse, Sampling};

/// How many tokens the penalties look back.
const PENALTY_TOKENS: i32 = 256;

/// Chooses tokens by their probability, among those that the grammar allows.
#[derive(Debug)]
pub(super) struct Sampler {
    chain: LlamaSampler,
    grammar: Option<LlamaSampler>,
    logprobs: Option<usize>,
}

impl Sampler {
    pub(super) fn new(
        model: &LlamaModel,
        sampling: &Sampling,
        grammar: Option<&GrammarUse>,
        logprobs: Option<usize>,
    ) -> Result<Self> {
        let grammar = grammar.map(|grammar| build_grammar(model, grammar)).transpose()?;
        Ok(Self { chain: build_chain(model, sampling), grammar, logprobs })
    }

    /// Chooses the token that follows the output `index` of the last evaluation.
    pub(super) fn next(
        &mut self,
        model: &LlamaModel,
        context: &LlamaContext<'_>,
        index: i32,
    ) -> Result<(LlamaToken, Option<TokenLogprob>)> {
        let mut candidates = context.token_data_array_ith(index);
        candidates.apply_sampler(&mut self.chain);
        let mut token = chosen(&candidates)?;
        // Testing one token is much cheaper than testing all, and the model usually chooses one that the grammar allows.
        if let Some(grammar) = &mut self.grammar {
            let mut one =
                LlamaTokenDataArray::new(vec![LlamaTokenData::new(token, 1.0, 1.0)], false);
            one.apply_sampler(grammar);
            if !is_allowed(&one, token) {
                candidates = context.token_data_array_ith(index);
                candidates.apply_sampler(grammar);
                candidates.data.retain(|candidate| candidate.logit().is_finite());
                if candidates.data.is_empty() {
                    return Err(dead_end());
                }
                candidates.apply_sampler(&mut self.chain);
                token = chosen(&candidates)?;
            }
        }
        let logprob =
            self.logprobs.map(|top| logprob_of(model, context.get_logits_ith(index), token, top));
        if !model.vocab().is_eog(token) {
            self.chain.try_accept(token).map_err(|_| dead_end())?;
            if let Some(grammar) = &mut self.grammar {
                grammar.try_accept(token).map_err(|_| dead_end())?;
            }
        }
        Ok((token, logprob))
    }
}

fn build_chain(model: &LlamaModel, sampling: &Sampling) -> LlamaSampler {
    let mut chain = Vec::with_capacity(6);
    let is_neutral =
        (sampling.repeat_penalty, sampling.frequency_penalty, sampling.presence_penalty)
            == (1.0, 0.0, 0.0);
    if !is_neutral {
        chain.push(LlamaSampler::penalties(
            model.n_vocab(),
            PENALTY_TOKENS,
            sampling.repeat_penalty,
            sampling.frequency_penalty,
            sampling.presence_penalty,
        ));
    }
    if sampling.temperature <= 0.0 {
        chain.push(LlamaSampler::greedy());
    } else {
        if sampling.top_k > 0 {
            chain.push(LlamaSampler::top_k(sampling.top_k));
        }
        if sampling.top_p < 1.0 {
            chain.push(LlamaSampler::top_p(sampling.top_p, 1));
        }
        if sampling.min_p > 0.0 {
            chain.push(LlamaSampler::min_p(sampling.min_p, 1));
        }
        chain.push(LlamaSampler::temp(sampling.temperature));
        chain.push(LlamaSampler::dist(sampling.seed));
    }
    LlamaSampler::chain(chain, true)
}

fn build_grammar(model: &LlamaModel, grammar: &GrammarUse) -> Result<LlamaSampler> {
    let built = match grammar.after {
        None => LlamaSampler::grammar(model, &grammar.text, "root"),
        Some(word) => LlamaSampler::grammar_lazy(model, &grammar.text, "root", [word], &[]),
    };
    built.map_err(|error| {
        Error::new(
            ErrorKind::InvalidRequest,
            format!("the engine does not accept the grammar of the schema or the tools: {error}"),
        )
        .with_hint("use a simpler schema")
    })
}

fn is_allowed(candidates: &LlamaTokenDataArray, token: LlamaToken) -> bool {
    let mut found = candidates.data.iter().filter(|candidate| candidate.id() == token);
    found.next().is_some_and(|candidate| candidate.logit().is_finite())
}

fn chosen(candidates: &LlamaTokenDataArray) -> Result<LlamaToken> {
    candidates.selected_token().ok_or_else(dead_end)
}

fn dead_end() -> Error {
    Error::new(ErrorKind::Server, "the model has no token that the grammar allows")
}

/// Returns the log probability of a token and of the most probable ones, before temperature and limits.
fn logprob_of(model: &LlamaModel, logits: &[f32], token: LlamaToken, top: usize) -> TokenLogprob {
    let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = logits.iter().map(|logit| f64::from(logit - most).exp()).sum();
    let base = f64::from(most) + sum.ln();
    let describe = |token: LlamaToken, logit: f32| {
        let bytes = model.vocab().token_to_piece(token, true, None);
        let mut described = TokenLogprob::default();
        described.token = String::from_utf8_lossy(&bytes).into_owned();
        described.logprob = Some(f64::from(logit) - base);
        described.bytes = Some(bytes);
        described
    };
    let at = usize::try_from(token.0).unwrap_or(usize::MAX);
    let mut described = describe(token, logits.get(at).copied().unwrap_or(f32::NEG_INFINITY));
    if top > 0 {
        let mut order: Vec<(i32, f32)> = (0..).zip(logits.iter().copied()).collect();
        let top = top.min(order.len());
        if top < order.len() {
            order.select_nth_unstable_by(top, |a, b| b.1.total_cmp(&a.1));
        }
        order.truncate(top);
        order.sort_by(|a, b| b.1.total_cmp(&a.1));
        described.top_logprobs =
            order.into_iter().map(|(id, logit)| describe(LlamaToken(id), logit)).collect();
    }
    described
}
