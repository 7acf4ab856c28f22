//! The other protocols of a provider.

use std::borrow::Cow;

use super::{Auth, Quirks, Rule};
use crate::chat::Protocol;
use crate::models::pattern;

/// Another protocol that a provider speaks.
///
/// ```
/// use agentloop::Protocol;
/// use agentloop::provider::{Auth, Endpoint};
///
/// let endpoint = Endpoint::new(Protocol::Anthropic, "https://lab.example/anthropic", Auth::XApiKey);
/// assert!(endpoint.bends.is_none());
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Endpoint {
    /// The protocol.
    pub protocol: Protocol,
    /// The URL of the protocol.
    pub base_url: Cow<'static, str>,
    /// The header of the key.
    pub auth: Auth,
    /// What else differs; absent means that rules and quirks of the provider apply.
    pub bends: Option<Box<Bends>>,
    /// The models that it serves: `*` matches any text, letter case does not matter. Empty means every model of the provider.
    pub models: Vec<Cow<'static, str>>,
}

/// Rules and quirks of one protocol of a provider, which replace those of the provider.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Bends {
    /// Parameters that are not sent unchanged.
    pub rules: Vec<Rule>,
    /// The only parameters that it accepts, if it refuses all others.
    pub allow: Option<Vec<Cow<'static, str>>>,
    /// How the provider differs from the protocol.
    pub quirks: Quirks,
}

impl Endpoint {
    /// Creates an endpoint to which the rules and quirks of the provider apply.
    pub fn new(protocol: Protocol, base_url: impl Into<Cow<'static, str>>, auth: Auth) -> Self {
        Self { protocol, base_url: base_url.into(), auth, bends: None, models: Vec::new() }
    }

    /// Returns whether it serves a model.
    pub(crate) fn serves(&self, model: &str) -> bool {
        self.models.is_empty() || self.models.iter().any(|known| pattern::matches(known, model))
    }
}
