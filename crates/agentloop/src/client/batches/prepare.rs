//! Encodes the requests of a batch.

use std::time::SystemTime;

use crate::calendar::seconds_since_1970;
use crate::chat::{Batch, BatchEntry, ChatRequest, Warning, WarningKind};
use crate::client::Inner;
use crate::client::call::{resolve, warn_unused_fallbacks};
use crate::client::encode::{encode_chat, prepend};
use crate::error::{Error, ErrorKind, Result};
use crate::hash::random;
use crate::history::depth;
use crate::limits::MAX_BATCH_REQUESTS;
use crate::pace;
use crate::protocol::batches::{self, Input};
use crate::protocol::{Call, Encoded, OutputForm};

/// A batch that is ready to be submitted. [`Batches::prepare`](crate::Batches::prepare) returns it.
#[derive(Debug)]
pub struct PreparedBatch {
    pub(super) batch: Batch,
    pub(super) input: Input,
}

impl PreparedBatch {
    /// Returns the batch, which has no id yet.
    pub fn batch(&self) -> &Batch {
        &self.batch
    }
}

impl Inner {
    pub(super) async fn prepare_batch(&self, requests: &[ChatRequest]) -> Result<PreparedBatch> {
        let refuse = |message: String| Error::new(ErrorKind::InvalidRequest, message);
        let Some(first) = requests.first() else {
            return Err(refuse("the batch has no requests".to_owned()));
        };
        if requests.len() > MAX_BATCH_REQUESTS {
            let message = format!("the batch has more than {MAX_BATCH_REQUESTS} requests");
            return Err(Error::new(ErrorKind::TooLarge, message));
        }
        let target = resolve(&self.registry, first, None)?;
        let provider = self.registry.provider(&target.provider.name)?;
        batches::check(&provider)?;
        // A batch is processed where it is submitted. Azure serves Claude at another URL, whose batches it does not have.
        if target.provider.base_url != provider.base_url {
            let message = format!(
                "{} has no batches of requests in the protocol {}",
                provider.name,
                target.provider.protocol.name()
            );
            return Err(Error::new(ErrorKind::Unsupported, message)
                .with_provider(provider.name.as_ref())
                .with_model(target.model.as_str()));
        }
        let mut batch = Batch {
            provider: provider.name.to_string(),
            protocol: target.provider.protocol,
            label: format!("agentloop-{:016x}", random()),
            id: None,
            input_file: None,
            created: i64::try_from(seconds_since_1970(SystemTime::now())).unwrap_or(0),
            requests: Vec::with_capacity(requests.len()),
        };
        let mut input = Input::new(provider.quirks.storage.batches);
        for (index, request) in requests.iter().enumerate() {
            let about = |error: Error| error.about(&format!("request[{index}]"));
            let (model, encoded, entry) =
                self.prepare_entry(&batch, request).await.map_err(about)?;
            input.push(&batch.custom_id(index), &model, &encoded).map_err(about)?;
            batch.requests.push(entry);
            pace::pause().await;
        }
        Ok(PreparedBatch { batch, input })
    }

    /// Encodes one request as it would be sent alone.
    async fn prepare_entry(
        &self,
        batch: &Batch,
        request: &ChatRequest,
    ) -> Result<(String, Encoded, BatchEntry)> {
        let refuse = |message: String| Error::new(ErrorKind::InvalidRequest, message);
        if let Some(refusal) = depth::refusal(request) {
            return Err(refusal);
        }
        if request.access.is_some() {
            return Err(refuse("a request of a batch has no key and no URL of its own".to_owned())
                .with_hint("use `with_key`"));
        }
        let target = resolve(&self.registry, request, None)?;
        let provider = &target.provider;
        if provider.name != batch.provider {
            let message =
                format!("a batch has one provider, not {} and {}", batch.provider, provider.name);
            return Err(refuse(message));
        }
        if provider.protocol != batch.protocol {
            let (first, other) = (batch.protocol.name(), provider.protocol.name());
            return Err(refuse(format!("a batch has one protocol, not {first} and {other}"))
                .with_hint("set `protocol` of the requests, or send two batches"));
        }
        let (fetched, fetch_warnings) = self.fetcher.fetch(request, provider).await?;
        let (mut encoded, form) = encode_chat(Call::Chat, &target, &fetched)
            .map_err(|error| error.with_provider(provider.name.as_ref()))?;
        let mut warnings = std::mem::take(&mut encoded.warnings);
        prepend(&mut warnings, fetch_warnings);
        warnings.extend(warn_unused_fallbacks(&request.fallbacks));
        if !request.extra_headers.is_empty() {
            let message = "a request of a batch has no headers of its own, so they are left out";
            warnings.push(Warning::new(WarningKind::Dropped, "extra_headers", message));
        }
        if request.include_raw {
            let message = "a request of a batch has no raw response";
            warnings.push(Warning::new(WarningKind::Dropped, "include_raw", message));
        }
        let OutputForm { strategy, tool, wrapped } = form;
        let names = encoded.names.replaced();
        let entry = BatchEntry {
            model: target.model.clone(),
            tool_names: names.map(|(name, sent)| (name.to_owned(), sent.to_owned())).collect(),
            output_strategy: strategy,
            output_tool: tool,
            output_wrapped: wrapped,
            audio_format: provider.audio_format(request).map(str::to_owned),
            warnings,
        };
        Ok((target.model.clone(), encoded, entry))
    }
}
