//! The rest of the stack.

use std::fmt;
use std::sync::Arc;

use super::dispatch::Dispatch;
use super::{Answer, Request, Witness};
use crate::chat::{EmbedRequest, Protocol};
use crate::error::Result;
use crate::provider::{Provider, Target};
use crate::secret::Secret;
use crate::timeouts::Timeouts;

/// The rest of the stack, down to the provider.
#[derive(Clone)]
pub struct Next {
    call: Arc<Call>,
    at: usize,
    witness: Option<Witness>,
}

/// What all layers of a call share.
struct Call {
    client: Arc<dyn Dispatch>,
    /// The model that the caller asked, as the caller named it.
    asked: String,
    /// Where that leads, looked up once for all layers; `None` if nowhere.
    target: Option<Arc<Target>>,
}

impl Next {
    /// The whole stack, for a call that asks this model.
    pub(crate) fn new(client: Arc<dyn Dispatch>, model: &str) -> Self {
        let target = client.resolve(model).ok();
        let call = Arc::new(Call { client, asked: model.to_owned(), target });
        Self { call, at: 0, witness: None }
    }

    /// Hands the request on. It can be done more than once.
    ///
    /// # Errors
    ///
    /// What the call fails with, if it fails before its first content.
    pub async fn run(&self, request: Request) -> Result<Answer> {
        let rest = self.call.client.middleware().iter().enumerate().skip(self.at);
        for (at, middleware) in rest {
            if middleware.concerns(&request) {
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

    /// Which provider and model the name of a model leads to.
    ///
    /// # Errors
    ///
    /// When it leads to none.
    pub fn resolve(&self, model: &str) -> Result<Target> {
        self.target(model).map(Arc::unwrap_or_clone)
    }

    /// The same, shared. Nothing is looked up again for the model that the caller asked.
    pub(crate) fn target(&self, model: &str) -> Result<Arc<Target>> {
        match &self.call.target {
            Some(target) if self.call.asked == model => Ok(Arc::clone(target)),
            _ => self.call.client.resolve(model),
        }
    }

    /// The name of a model as `provider/model`, for people; as it is where it leads nowhere.
    pub(super) fn full_name(&self, model: &str) -> String {
        match self.target(model) {
            Ok(target) => format!("{}/{}", target.provider.name, target.model),
            Err(_) => model.to_owned(),
        }
    }

    /// The same, with a witness of which model is asked in the end.
    pub(crate) fn witnessed(mut self) -> (Self, Witness) {
        let witness = self.witness.get_or_insert_default().clone();
        (self, witness)
    }

    /// How long a call waits that says nothing else.
    pub(crate) fn timeouts(&self) -> Timeouts {
        self.call.client.timeouts()
    }

    /// The row of a provider as it is when `protocol` is spoken.
    pub(crate) fn speaking(&self, provider: &Arc<Provider>, protocol: Protocol) -> Arc<Provider> {
        self.call.client.speaking(provider, protocol)
    }

    /// The address that calls to this provider go to.
    pub(crate) fn base_url(&self, provider: &Provider) -> Result<String> {
        self.call.client.base_url(provider)
    }

    /// Returns the key that the client sets for a provider in place of the provider's own.
    pub(crate) fn own_key(&self, provider: &str) -> Option<&Secret> {
        self.call.client.own_key(provider)
    }

    /// How many calls to the provider it takes to embed what is asked.
    pub(crate) fn embed_calls(&self, request: &EmbedRequest) -> usize {
        self.call.client.embed_calls(request)
    }
}

impl fmt::Debug for Next {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Next").field("at", &self.at).finish_non_exhaustive()
    }
}
