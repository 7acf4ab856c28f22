//! The protocols of a provider: which ones it supports, at which URL, and in which one a request is sent.

use std::borrow::Cow;

use super::{Auth, Bends, Endpoint, Provider, Quirks, Rule, Target, server_tools};
use crate::chat::{ChatRequest, Protocol, Role};
use crate::models::Action;
#[cfg(feature = "serve")]
use crate::provider::quirks::ModelPlace;

impl Provider {
    setters! {
        /// Sets the base URL. It also replaces the base URL of other protocols that were at the former one.
        base_url(self, base_url: impl Into<Cow<'static, str>>) =>
            self.set_base_url(base_url.into());
    }

    pub(crate) fn set_base_url(&mut self, base_url: Cow<'static, str>) {
        for endpoint in &mut self.endpoints {
            if endpoint.base_url == self.base_url {
                endpoint.base_url.clone_from(&base_url);
            }
        }
        if self.base_url != base_url {
            // Another server has other keys.
            self.key_url = None;
        }
        self.base_url = base_url;
    }

    /// Adds another protocol at this base URL, with the same rules and quirks.
    #[must_use]
    pub fn speaks(
        mut self,
        protocol: Protocol,
        base_url: impl Into<Cow<'static, str>>,
        auth: Auth,
    ) -> Self {
        self.endpoints.push(Endpoint::new(protocol, base_url, auth));
        self
    }

    /// Adds the protocol of `other`, with the base URL, authentication, rules and quirks of `other`. Rules that
    /// are added later count for both protocols.
    ///
    /// ```
    /// use agentloop::{Protocol, Provider};
    ///
    /// let lab = Provider::openai_compatible("lab", "http://localhost:8000/v1")
    ///     .speaks_as(Provider::responses_compatible("lab", "http://localhost:8000/v1"));
    /// assert!(lab.protocols().any(|known| known == Protocol::OpenAiResponses));
    /// ```
    #[must_use]
    pub fn speaks_as(mut self, other: Self) -> Self {
        let Self { protocol, base_url, auth, rules, allow, quirks, .. } = other;
        let bends = Some(Box::new(Bends { rules, allow, quirks }));
        self.endpoints.push(Endpoint { protocol, base_url, auth, bends, models: Vec::new() });
        self
    }

    /// Adds the protocol of `other`, as [`speaks_as`](Self::speaks_as) does, for the models that match one of the patterns.
    ///
    /// ```
    /// use agentloop::Provider;
    ///
    /// let messages = Provider::anthropic_compatible("lab", "http://localhost:8000/v1");
    /// let lab = Provider::openai_compatible("lab", "http://localhost:8000/v1").speaks_for(["claude-*"], messages);
    /// assert_eq!(lab.endpoints[0].models, ["claude-*"]);
    /// ```
    #[must_use]
    pub fn speaks_for(
        mut self,
        models: impl IntoIterator<Item = impl Into<Cow<'static, str>>>,
        other: Self,
    ) -> Self {
        self = self.speaks_as(other);
        if let Some(added) = self.endpoints.last_mut() {
            added.models = models.into_iter().map(Into::into).collect();
        }
        self
    }

    /// Adds OpenAI's Responses protocol at the same URL, with the rules and quirks of this row and what `change` changes.
    pub(super) fn also_responses(self, change: impl FnOnce(Self) -> Self) -> Self {
        let mut other = Self { protocol: Protocol::OpenAiResponses, ..self.clone() };
        other.endpoints.clear();
        self.speaks_as(change(other))
    }

    /// Adds a rule, also for the protocols that have rules of their own.
    pub(crate) fn add_rule(&mut self, rule: Rule) {
        for bends in self.all_bends() {
            bends.rules.push(rule.clone());
        }
        self.rules.push(rule);
    }

    /// Sets the only parameters that are sent, also for the protocols that have rules of their own.
    pub(crate) fn set_allow(&mut self, names: Vec<Cow<'static, str>>) {
        for bends in self.all_bends() {
            bends.allow = Some(names.clone());
        }
        self.allow = Some(names);
    }

    /// Returns the quirks of every protocol.
    pub(crate) fn all_quirks(&mut self) -> impl Iterator<Item = &mut Quirks> {
        let bends = self.endpoints.iter_mut().filter_map(|endpoint| endpoint.bends.as_deref_mut());
        std::iter::once(&mut self.quirks).chain(bends.map(|bends| &mut bends.quirks))
    }

    fn all_bends(&mut self) -> impl Iterator<Item = &mut Bends> {
        self.endpoints.iter_mut().filter_map(|endpoint| endpoint.bends.as_deref_mut())
    }

    /// Returns the protocols that the provider speaks, its default first.
    pub fn protocols(&self) -> impl Iterator<Item = Protocol> {
        let others = self.endpoints.iter().map(|endpoint| endpoint.protocol);
        std::iter::once(self.protocol).chain(others)
    }

    /// Returns the provider with the base URL, the authentication, the rules and the quirks that it has for `protocol`.
    /// A protocol that the provider does not list is assumed at its own base URL, with the defaults of
    /// [`anthropic_compatible`](Self::anthropic_compatible) and the other constructors for compatible providers.
    pub fn speaking(&self, protocol: Protocol) -> Cow<'_, Self> {
        if protocol == self.protocol {
            return Cow::Borrowed(self);
        }
        let [before, after] = [self.protocol, protocol]
            .map(|protocol| Self::compatible(protocol, self.name.clone(), self.base_url.clone()));
        let mut row = self.clone();
        row.protocol = protocol;
        row.headers.retain(|header| !before.headers.contains(header));
        let is_new = |(name, _): &(Cow<'_, str>, _)| {
            !self.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name))
        };
        row.headers.extend(after.headers.into_iter().filter(is_new));
        row.serves.embeddings &= after.serves.embeddings;
        row.serves.modalities &= after.serves.modalities;
        if let Some(endpoint) = self.endpoints.iter().find(|known| known.protocol == protocol) {
            row.base_url.clone_from(&endpoint.base_url);
            row.auth = endpoint.auth.clone();
            if let Some(bends) = endpoint.bends.as_deref().cloned() {
                (row.rules, row.allow, row.quirks) = (bends.rules, bends.allow, bends.quirks);
            }
        } else {
            if row.auth == before.auth {
                row.auth = after.auth;
            }
            if row.quirks.tool_result_images == before.quirks.tool_result_images {
                row.quirks.tool_result_images = after.quirks.tool_result_images;
            }
        }
        Cow::Owned(row)
    }

    /// Makes `protocol` the default of the provider. Requests can still choose the former default.
    pub(crate) fn change_protocol(&mut self, protocol: Protocol) {
        if protocol == self.protocol {
            return;
        }
        let former = Endpoint {
            protocol: self.protocol,
            base_url: self.base_url.clone(),
            auth: self.auth.clone(),
            bends: Some(Box::new(Bends {
                rules: self.rules.clone(),
                allow: self.allow.clone(),
                quirks: self.quirks.clone(),
            })),
            models: Vec::new(),
        };
        *self = self.speaking(protocol).into_owned();
        self.endpoints.retain(|endpoint| endpoint.protocol != protocol);
        self.endpoints.push(former);
    }

    /// Returns the protocol in which a request for `model` is sent. The first of these decides: the request, the model's rule about
    /// tools when there are tools, a restriction, the protocol that serves the most server tools of the request, the default.
    pub(crate) fn protocol_for(target: &Target, request: &ChatRequest) -> Protocol {
        let Target { provider: this, model, .. } = target;
        let with_tools = || {
            // Also when the request has no tools any more, so the model gets back what it thought between its calls.
            let tools = !request.tools.is_empty()
                || request.messages.iter().any(|message| message.role == Role::Tool);
            let rule = tools.then(|| this.ruled_traits(model).tools_in).flatten();
            rule.filter(|protocol| this.protocols().any(|known| known == *protocol))
        };
        request
            .protocol
            .or_else(with_tools)
            .or_else(|| restricted_to(target, request))
            .or_else(|| server_tools::better_protocol(this, model, request))
            .unwrap_or(this.protocol)
    }
}

impl Target {
    /// Returns whether the model can be called in a protocol. The endpoints of some providers serve some of their models only.
    ///
    /// ```
    /// use agentloop::{AgentLoop, Protocol};
    ///
    /// let ai = AgentLoop::from_env();
    /// let target = ai.resolve("openrouter/some/model")?;
    /// assert!(target.speaks(Protocol::OpenAiChat) && target.speaks(Protocol::Anthropic));
    /// let claude = ai.resolve("vertex/claude-opus-4-8")?;
    /// assert!(claude.speaks(Protocol::Anthropic) && !claude.speaks(Protocol::Gemini));
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    pub fn speaks(&self, protocol: Protocol) -> bool {
        let Self { provider, model, .. } = self;
        let only = self.restrictions().iter().find_map(|row| match row.then {
            Action::Speak(only) if row.when.is_empty() => Some(only),
            _ => None,
        });
        let mut others = provider.endpoints.iter().filter(|other| other.protocol == protocol);
        only.is_none_or(|only| only == protocol)
            && (provider.protocol == protocol || others.any(|other| other.serves(model)))
    }

    /// Returns whether requests in a protocol, and the responses to them, can be relayed unchanged. InvokeModel of Amazon's Bedrock puts
    /// the events of a stream into frames of its own.
    ///
    /// ```
    /// use agentloop::{AgentLoop, Protocol};
    ///
    /// let claude = AgentLoop::from_env().resolve("bedrock/us.anthropic.claude-haiku-4-5-20251001-v1:0")?;
    /// assert!(claude.speaks(Protocol::Anthropic) && !claude.relays(Protocol::Anthropic));
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    #[cfg(feature = "serve")]
    pub fn relays(&self, protocol: Protocol) -> bool {
        let mut others = self.provider.endpoints.iter().filter(|other| other.protocol == protocol);
        let bends = others.find_map(|other| other.bends.as_deref());
        let quirks = match bends {
            Some(bends) if self.provider.protocol != protocol => &bends.quirks,
            _ => &self.provider.quirks,
        };
        quirks.model_place != ModelPlace::Invoke && self.speaks(protocol)
    }
}

/// Returns the protocol that a restriction chooses. The last one counts.
fn restricted_to(target: &Target, request: &ChatRequest) -> Option<Protocol> {
    let provider = &target.provider;
    target.restrictions().iter().rev().find_map(|row| match row.then {
        Action::Speak(protocol)
            if provider.meets(row, request)
                && provider.protocols().any(|known| known == protocol) =>
        {
            Some(protocol)
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::chat::{ChatMessage, ToolDefinition};
    use crate::provider::quirks::StoreForm;
    use crate::provider::{ModelRule, Param};

    fn lab() -> Provider {
        let other = Provider::responses_compatible("lab", "http://lab.invalid/v1")
            .quirks(|q| q.store = StoreForm::Omitted);
        Provider::openai_compatible("lab", "http://lab.invalid/v1")
            .speaks(Protocol::Anthropic, "http://other.invalid", Auth::XApiKey)
            .speaks_as(other)
            .model(ModelRule::new("deep*").with_tools_in(Protocol::OpenAiResponses))
            .model(ModelRule::new("odd*").with_tools_in(Protocol::Gemini))
    }

    #[test]
    fn what_differs_in_a_protocol_counts_only_there() {
        let row = lab();
        assert_eq!(row.quirks.store, StoreForm::Sent);
        assert_eq!(row.speaking(Protocol::OpenAiResponses).quirks.store, StoreForm::Omitted);
        assert_eq!(row.speaking(Protocol::Anthropic).base_url, "http://other.invalid");
    }

    #[test]
    fn an_endpoint_can_serve_some_models_only() {
        let speaks = |provider: Provider, model: &str| {
            let target = Target::new(Arc::new(provider), model);
            [Protocol::OpenAiChat, Protocol::Anthropic, Protocol::Gemini]
                .map(|protocol| target.speaks(protocol))
        };
        assert_eq!(speaks(Provider::vertex(), "claude-opus-4-8"), [false, true, false]);
        assert_eq!(speaks(Provider::vertex(), "gemini-2.5-pro"), [false, false, true]);
        assert_eq!(speaks(Provider::azure(), "our-Claude-deployment"), [false, true, false]);
        assert_eq!(speaks(Provider::azure(), "gpt-6"), [true, false, false]);
        assert_eq!(speaks(Provider::openrouter(), "a/b"), [true, true, false]);
        // A condition that a request may meet leaves the protocols as they are.
        assert_eq!(speaks(Provider::ollama(), "qwen3"), [true, true, false]);
    }

    #[test]
    fn a_rule_that_is_added_later_counts_in_every_protocol() {
        let row = lab().strip([Param::Metadata]);
        for protocol in row.protocols() {
            assert!(!row.speaking(protocol).takes(Param::Metadata), "{protocol:?}");
        }
    }

    #[test]
    fn a_new_base_url_applies_to_every_protocol_at_the_old_one() {
        let row = lab().base_url("http://new.invalid");
        assert_eq!(row.speaking(Protocol::OpenAiResponses).base_url, "http://new.invalid");
        assert_eq!(row.speaking(Protocol::Anthropic).base_url, "http://other.invalid");
    }

    #[test]
    fn a_model_that_takes_tools_in_one_protocol_is_called_in_it() {
        let row = Arc::new(lab());
        let plain = ChatRequest::new("m").user("Hi");
        let with_tool = plain.clone().tool(ToolDefinition::function("f", serde_json::json!({})));
        let with_result = plain.clone().message(ChatMessage::tool("1", "yes"));
        for (model, request, protocol) in [
            ("deep", &plain, Protocol::OpenAiChat),
            ("deep", &with_tool, Protocol::OpenAiResponses),
            ("deep", &with_result, Protocol::OpenAiResponses),
            ("deep", &with_tool.clone().protocol(Protocol::OpenAiChat), Protocol::OpenAiChat),
            ("flat", &with_tool, Protocol::OpenAiChat),
            // A protocol that the provider does not support is not chosen.
            ("odd", &with_tool, Protocol::OpenAiChat),
        ] {
            let target = Target::new(Arc::clone(&row), model);
            assert_eq!(Provider::protocol_for(&target, request), protocol, "{model}");
        }
    }
}
