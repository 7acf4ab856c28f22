//! Embeddings: splits the texts into calls, runs a few of them at once, and joins the results in order.

mod at_once;

use std::ops::Range;
use std::sync::Arc;

use super::Inner;
use super::call::{raw_parts, warn_unused_fallbacks};
use super::limit::Limit;
use crate::chat::{
    Cost, EmbedRequest, EmbedResponse, EmbedUsage, RawResponse, Usage, Usd, Warning,
};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::{EMBED_BATCH, EMBED_BATCH_BYTES, EMBED_CONCURRENCY, MAX_BODY_BYTES};
use crate::models::Pricing;
use crate::protocol::{self, codec};
use crate::provider::{Registry, Target};
use crate::timeouts::Timeouts;

/// Returns the provider and the model of a request, and its texts split into batches.
pub(crate) fn prepare_embed(
    registry: &Registry,
    request: &EmbedRequest,
) -> Result<(Arc<Target>, Vec<Range<usize>>)> {
    let target = registry.resolve(&request.model)?;
    let provider = &target.provider;
    let named =
        |error: Error| error.with_provider(provider.name.as_ref()).with_model(&target.model);
    if !provider.serves.embeddings {
        let serving = registry.providers().filter(|row| row.serves.embeddings);
        let names: Vec<&str> = serving.map(|row| row.name.as_ref()).collect();
        let message = format!("{} has no embeddings API", provider.name);
        return Err(named(
            Error::new(ErrorKind::Unsupported, message)
                .with_hint(format!("use a provider that has one: {}", names.join(", "))),
        ));
    }
    let texts = request.input.as_slice();
    if texts.is_empty() {
        return Err(named(Error::new(
            ErrorKind::InvalidRequest,
            "the request has no texts to embed",
        )));
    }
    let most = codec(provider.protocol).embed_batch(provider, &target.model);
    let batches = batches(texts, most, provider.quirks.embeddings.batch_bytes);
    Ok((target, batches))
}

/// Splits the texts into batches: in order, each text in exactly one batch, as few batches as the provider allows.
fn batches(texts: &[String], most: Option<usize>, most_bytes: Option<usize>) -> Vec<Range<usize>> {
    let most = most.unwrap_or(EMBED_BATCH).max(1);
    let most_bytes = most_bytes.unwrap_or(EMBED_BATCH_BYTES);
    let mut batches = Vec::with_capacity(texts.len().div_ceil(most));
    let (mut start, mut bytes) = (0, 0_usize);
    for (at, text) in texts.iter().enumerate() {
        if at > start && (at - start == most || bytes.saturating_add(text.len()) > most_bytes) {
            batches.push(start..at);
            (start, bytes) = (at, 0);
        }
        bytes = bytes.saturating_add(text.len());
    }
    if start < texts.len() {
        batches.push(start..texts.len());
    }
    batches
}

/// The result of one call.
struct Batch {
    model: Option<String>,
    vectors: Vec<Vec<f32>>,
    usage: Option<EmbedUsage>,
    cost: Option<Cost>,
    request_id: Option<String>,
    warnings: Vec<Warning>,
    raw: Option<RawResponse>,
}

impl Inner {
    pub(super) async fn embed(&self, request: &EmbedRequest) -> Result<EmbedResponse> {
        let (target, batches) = prepare_embed(&self.registry, request)?;
        let texts = request.input.as_slice();
        let timeouts = request.timeouts.unwrap_or(self.timeouts);
        let all = Limit::new("the embeddings", timeouts.total);
        let call = |at: usize| {
            let (target, timeouts, range) = (&target, &timeouts, batches[at].clone());
            let several = batches.len() > 1;
            async move {
                let batch = self.embed_batch(target, request, &texts[range.clone()], timeouts, all);
                let with_range = |error: Error| {
                    if several {
                        error.about(&format!("input[{}..{}]", range.start, range.end))
                    } else {
                        error
                    }
                };
                batch.await.map_err(with_range)
            }
        };
        let mut sum = Sum::new(&target, &batches, texts.len());
        if request.include_raw {
            sum.response.raw.resize(batches.len(), RawResponse::default());
        }
        let limit = request.concurrency.unwrap_or(EMBED_CONCURRENCY);
        let calls = at_once::run(batches.len(), limit, call, |at, batch| sum.add(at, batch));
        all.within(calls).await.map_err(|error| {
            error.with_provider(target.provider.name.as_ref()).with_model(&target.model)
        })?;
        // The decoder has checked the lengths within each batch. This compares the batches.
        protocol::check_lengths(&sum.response.embeddings).map_err(|error| {
            error.with_provider(target.provider.name.as_ref()).with_model(&target.model)
        })?;
        sum.response.warnings.extend(warn_unused_fallbacks(&request.fallbacks));
        Ok(sum.response(&self.pricing(&target, request.access.as_deref(), None)))
    }

    async fn embed_batch(
        &self,
        target: &Target,
        request: &EmbedRequest,
        texts: &[String],
        timeouts: &Timeouts,
        all: Limit,
    ) -> Result<Batch> {
        let provider = &target.provider;
        let (mut outgoing, warnings) = {
            let (codec, access) = (codec(provider.protocol), request.access.as_deref());
            let encoded = codec.encode_embed(provider, &target.model, request, texts)?;
            self.http_request(target, encoded, access, &request.extra_headers)?
        };
        let secrets = outgoing.take_secrets();
        let limit = Limit::new("the embeddings", timeouts.first_content);
        let deadline = limit.deadline().min(all.deadline());
        let embedding = async {
            let response = self.send(provider, outgoing, timeouts, deadline).await?;
            let request_id = protocol::request_id(response.headers());
            let raw = request.include_raw.then(|| raw_parts(&response, &secrets));
            Ok((request_id, raw, response.into_body().collect(MAX_BODY_BYTES).await?))
        };
        let (request_id, raw, body) =
            limit.within(embedding).await.map_err(|error| secrets.hide(error))?;
        let named =
            |error: Error| secrets.hide(error.with_request_id(request_id.clone()).with_began(true));
        let decode = || codec(provider.protocol).decode_embed(provider, &body);
        let embedded = self.long_work.for_bytes(body.len()).run(decode).map_err(named)?;
        if embedded.vectors.len() != texts.len() {
            let (sent, came) = (texts.len(), embedded.vectors.len());
            let message = format!("the provider returned {came} vectors for {sent} texts");
            return Err(named(Error::new(ErrorKind::Protocol, message)));
        }
        let protocol::Embedded { model, vectors, usage, cost } = embedded;
        let (cost, invalid) = cost.split();
        let (raw, cut) = raw
            .map(|mut raw| {
                raw.push(&body);
                raw.finish()
            })
            .unzip();
        let warnings = warnings.into_iter().chain(invalid).chain(cut.flatten()).collect();
        Ok(Batch { model, vectors, usage, cost, request_id, warnings, raw })
    }
}

/// The response while its batches arrive, in any order.
struct Sum<'a> {
    batches: &'a [Range<usize>],
    response: EmbedResponse,
    /// `None` as soon as one batch reports no usage.
    usage: Option<EmbedUsage>,
    cost: Option<Cost>,
    /// The batch whose model is reported, and the one whose request id is reported.
    first: usize,
    last: usize,
}

impl<'a> Sum<'a> {
    fn new(target: &Target, batches: &'a [Range<usize>], texts: usize) -> Self {
        let vectors = vec![Vec::new(); texts];
        let name = target.provider.name.as_ref();
        Self {
            batches,
            response: EmbedResponse::new(&target.model, name, vectors),
            usage: Some(EmbedUsage::default()),
            cost: Some(Cost::from_provider(Usd::default())),
            first: usize::MAX,
            last: 0,
        }
    }

    fn add(&mut self, at: usize, batch: Batch) {
        let places = &mut self.response.embeddings[self.batches[at].clone()];
        for (place, vector) in places.iter_mut().zip(batch.vectors) {
            *place = vector;
        }
        if let Some(model) = batch.model.filter(|_| at < self.first) {
            (self.first, self.response.model) = (at, model);
        }
        if batch.request_id.is_some() && at >= self.last {
            (self.last, self.response.request_id) = (at, batch.request_id);
        }
        for warning in batch.warnings {
            if !self.response.warnings.contains(&warning) {
                self.response.warnings.push(warning);
            }
        }
        if let Some((place, raw)) = self.response.raw.get_mut(at).zip(batch.raw) {
            *place = raw;
        }
        self.usage = self.usage.zip(batch.usage).map(|(sum, more)| EmbedUsage {
            prompt_tokens: sum.prompt_tokens.saturating_add(more.prompt_tokens),
            total_tokens: sum.total_tokens.saturating_add(more.total_tokens),
        });
        self.cost = self.cost.take().zip(batch.cost).map(|(sum, more)| sum.plus(&more));
    }

    /// Returns the response, with its cost where the provider named it for every batch or the price is known.
    fn response(mut self, pricing: &Pricing) -> EmbedResponse {
        self.response.usage = self.usage;
        self.response.cost = self.cost.filter(|_| !self.batches.is_empty()).or_else(|| {
            let usage = self.usage.map(|usage| Usage {
                prompt_tokens: Some(usage.prompt_tokens),
                // Vectors are not counted in tokens.
                completion_tokens: Some(0),
                total_tokens: Some(usage.total_tokens),
                ..Usage::default()
            });
            pricing.cost(&usage?, None)
        });
        self.response
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_text_is_in_one_batch_and_in_order(
            lengths in prop::collection::vec(0_usize..40, 0..200),
            batch in 0_usize..20,
            batch_bytes in 0_usize..100,
        ) {
            let texts: Vec<String> = lengths.iter().map(|length| "x".repeat(*length)).collect();
            let batches = batches(&texts, Some(batch), Some(batch_bytes));
            let sent: Vec<usize> = batches.iter().cloned().flatten().collect();
            prop_assert_eq!(sent, (0..texts.len()).collect::<Vec<_>>());
            for range in batches {
                let bytes: usize = lengths[range.clone()].iter().sum();
                prop_assert!(!range.is_empty() && range.len() <= batch.max(1));
                prop_assert!(range.len() == 1 || bytes <= batch_bytes);
            }
        }
    }
}
