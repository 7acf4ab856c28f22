//! The list of the models that a provider serves.

use std::sync::Arc;

use super::Inner;
use super::limit::{Limit, shorter};
use crate::chat::ExtraHeaders;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::{MAX_MODEL_LIST_BYTES, MAX_MODEL_PAGES, MAX_MODELS, MODEL_LIST_TIMEOUT};
use crate::models::ModelInfo;
use crate::pace;
use crate::protocol::codec;
use crate::provider::Target;

impl Inner {
    pub(crate) async fn models(&self, provider: &str) -> Result<Vec<ModelInfo>> {
        let provider = self.registry.provider(provider)?;
        let named = |error: Error| error.with_provider(provider.name.as_ref());
        if !provider.serves.models {
            return Err(named(Error::new(
                ErrorKind::Unsupported,
                format!("{} has no API that lists its models", provider.name),
            )));
        }
        let all = shorter(self.timeouts.total, Some(MODEL_LIST_TIMEOUT));
        let all = Limit::new("the model list", all);
        let target = Target::new(Arc::clone(&provider), "");
        all.within(self.model_pages(&target, all)).await.map_err(named)
    }

    async fn model_pages(&self, target: &Target, all: Limit) -> Result<Vec<ModelInfo>> {
        let provider = &target.provider;
        let codec = codec(provider.protocol);
        let mut models = Vec::new();
        let mut next: Option<String> = None;
        let mut bytes_left = MAX_MODEL_LIST_BYTES;
        for _ in 0..MAX_MODEL_PAGES {
            let (mut outgoing, _) = {
                let encoded = codec.encode_models(provider, next.as_deref())?;
                self.http_request(target, encoded, None, &ExtraHeaders::default())?
            };
            if let Some(uri) = codec.models_uri(outgoing.http.uri()) {
                *outgoing.http.uri_mut() = uri;
            }
            let secrets = outgoing.take_secrets();
            let limit = Limit::new("a page of the model list", self.timeouts.first_content);
            let deadline = limit.deadline().min(all.deadline());
            let page = async {
                let response = self.send(provider, outgoing, &self.timeouts, deadline).await?;
                response.into_body().collect(bytes_left).await.map_err(|error| match error.kind() {
                    ErrorKind::TooLarge => too_large(&format!("{MAX_MODEL_LIST_BYTES} bytes")),
                    _ => error,
                })
            };
            let body = limit.within(page).await.map_err(|error| secrets.hide(error))?;
            bytes_left -= body.len();
            let page = codec.decode_models(provider, &body).map_err(|error| secrets.hide(error))?;
            models.extend(page.models);
            if models.len() > MAX_MODELS {
                return Err(too_large(&format!("{MAX_MODELS} models")));
            }
            next = page.next;
            if next.is_none() {
                break;
            }
            pace::pause().await;
        }
        Ok(models)
    }
}

fn too_large(limit: &str) -> Error {
    Error::new(ErrorKind::TooLarge, format!("the model list has more than {limit}"))
}
