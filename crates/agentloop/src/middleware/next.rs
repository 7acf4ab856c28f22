//! The inner part of the stack.

use std::sync::Arc;

use super::dispatch::Dispatch;
use super::{Request, Response, Witness};
use crate::chat::{EmbedRequest, Protocol};
use crate::error::Result;
use crate::provider::{Provider, Target};
use crate::secret::Secret;
use crate::timeouts::Timeouts;

/// The inner part of the stack, down to the provider.
#[derive(Clone)]
pub struct Next {
    call: Arc<Call>,
    at: usize,
    witness: Option<Witness>,
}

/// What all middlewares of a call share.
struct Call {
    client: Arc<dyn Dispatch>,
    /// The model of the request, as the caller named it.
    requested: String,
    /// What that model resolves to, looked up once per call. `None` if it does not resolve.
    target: Option<Arc<Target>>,
}

impl Next {
    /// Creates the whole stack, for a call to this model.
    pub(crate) fn new(client: Arc<dyn Dispatch>, model: &str) -> Self {
        let target = client.resolve(model).ok();
        let call = Arc::new(Call { client, requested: model.to_owned(), target });
        Self { call, at: 0, witness: None }
    }

    /// Runs the rest of the stack with a request. Can be called more than once.
    ///
    /// # Errors
    ///
    /// Returns the error of the call, if it fails before its first content.
    pub async fn run(&self, request: Request) -> Result<Response> {
        let rest = self.call.client.middleware().iter().enumerate().skip(self.at);
        for (at, middleware) in rest {
            if middleware.applies_to(&request) {
                let next = Self { at: at + 1, ..self.clone() };
                return middleware.call(request, next).await;
            }
        }
        let target = self.target(request.model()).ok();
        if let (Some(witness), Some(target)) = (&self.witness, &target) {
            witness.saw(Arc::clone(target));
        }
        self.call.client.dispatch(request, target).await
    }

    /// Returns the provider and the model that a model name stands for.
    ///
    /// # Errors
    ///
    /// Fails if the name cannot be resolved.
    pub fn resolve(&self, model: &str) -> Result<Target> {
        self.target(model).map(Arc::unwrap_or_clone)
    }

    /// Returns the target of a model. The model that the caller named is not looked up again.
    pub(crate) fn target(&self, model: &str) -> Result<Arc<Target>> {
        match &self.call.target {
            Some(target) if self.call.requested == model => Ok(Arc::clone(target)),
            _ => self.call.client.resolve(model),
        }
    }

    /// Returns the name of a model as `provider/model`, or unchanged if it cannot be resolved.
    pub(super) fn full_name(&self, model: &str) -> String {
        match self.target(model) {
            Ok(target) => format!("{}/{}", target.provider.name, target.model),
            Err(_) => model.to_owned(),
        }
    }

    /// Adds a witness that records which model is called.
    pub(crate) fn witnessed(mut self) -> (Self, Witness) {
        let witness = self.witness.get_or_insert_default().clone();
        (self, witness)
    }

    /// Returns the timeouts of requests that set none.
    pub(crate) fn timeouts(&self) -> Timeouts {
        self.call.client.timeouts()
    }

    /// Returns the provider's data for one of its protocols.
    pub(crate) fn speaking(&self, provider: &Arc<Provider>, protocol: Protocol) -> Arc<Provider> {
        self.call.client.speaking(provider, protocol)
    }

    /// Returns the base URL of calls to this provider.
    pub(crate) fn base_url(&self, provider: &Provider) -> Result<String> {
        self.call.client.base_url(provider)
    }

    /// Returns the key that the client sets for a provider in place of the provider's own.
    pub(crate) fn own_key(&self, provider: &str) -> Option<&Secret> {
        self.call.client.own_key(provider)
    }

    /// Returns how many calls to the provider the texts of a request need.
    pub(crate) fn embed_calls(&self, request: &EmbedRequest) -> usize {
        self.call.client.embed_calls(request)
    }
}

shown! { Next: self { at: self.at } }
