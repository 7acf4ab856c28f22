//! The client as the middleware stack sees it.

use std::sync::Arc;

use super::{Middleware, Request, Response};
use crate::chat::{EmbedRequest, Protocol};
use crate::error::Result;
use crate::provider::{Provider, Target};
use crate::secret::Secret;
use crate::timeouts::Timeouts;
use crate::transport::BoxFuture;

/// The client as the middleware stack sees it.
///
/// `middleware` comes before `client` in the order of modules, so the stack calls the client through this trait.
pub(crate) trait Dispatch: Send + Sync {
    /// Returns the middleware of the client, outermost first.
    fn middleware(&self) -> &[Arc<dyn Middleware>];

    /// Sends the request to the provider. `target` is what the request's model resolves to, if that is known.
    fn dispatch(
        &self,
        request: Request,
        target: Option<Arc<Target>>,
    ) -> BoxFuture<'_, Result<Response>>;

    /// Returns the provider and the model that a name resolves to.
    fn resolve(&self, model: &str) -> Result<Arc<Target>>;

    /// Returns the provider's data for one of its protocols.
    fn speaking(&self, provider: &Arc<Provider>, protocol: Protocol) -> Arc<Provider>;

    /// Returns the URL that calls to this provider go to.
    fn base_url(&self, provider: &Provider) -> Result<String>;

    /// Returns the key that the client sets for a provider in place of the provider's own.
    fn own_key(&self, provider: &str) -> Option<&Secret>;

    /// Returns the timeouts of calls that set none.
    fn timeouts(&self) -> Timeouts;

    /// Returns how many calls to the provider the texts of a request need.
    fn embed_calls(&self, request: &EmbedRequest) -> usize;
}
