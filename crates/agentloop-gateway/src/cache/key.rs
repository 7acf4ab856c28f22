//! The key of a request: everything that changes the response, and who may share it.

use agentloop::Protocol;
use agentloop::middleware::CacheKey;
use http::HeaderMap;
use ring::digest::{Context, SHA256};

use super::canonical;

/// The version of keys. It changes when equal requests get other keys than before.
const VERSION: &str = "agentloop gateway cache 1";

/// The largest body of a request that is cached, in bytes.
pub const MAX_CACHED_REQUEST: usize = 4 << 20;

/// What a key is made of.
pub(crate) struct Identity<'a> {
    /// Who may share the response: a kind (`key`, `team`, `all`) and a name.
    pub(crate) scope: (&'a str, &'a str),
    /// The API of the client.
    pub(crate) protocol: Protocol,
    /// The call, as in the record.
    pub(crate) call: &'a str,
    /// The method of a Gemini call and the query, without the client's key.
    pub(crate) method: &'a str,
    /// Whether the response is streamed.
    pub(crate) stream: bool,
    /// The name of the route.
    pub(crate) route: &'a str,
    /// The models of the route. A route that changed has other responses.
    pub(crate) models: Vec<String>,
    /// Whether a request of which something would be left out is refused.
    pub(crate) strict: bool,
    /// The headers that change the response.
    pub(crate) headers: &'a HeaderMap,
    pub(crate) body: &'a [u8],
}

impl Identity<'_> {
    /// Returns the key; `None` if the body is not JSON or too large to be cached.
    pub(crate) fn key(mut self) -> Option<CacheKey> {
        if self.body.len() > MAX_CACHED_REQUEST {
            return None;
        }
        let body = canonical::digest(self.body, not_in_the_key(self.protocol, self.stream))?;
        // The order of models changes with their load and their health.
        self.models.sort_unstable();
        self.models.dedup();
        let mut context = Context::new(&SHA256);
        let mut put = |bytes: &[u8]| {
            context.update(&(bytes.len() as u64).to_be_bytes());
            context.update(bytes);
        };
        for text in [
            VERSION,
            self.scope.0,
            self.scope.1,
            self.protocol.name(),
            self.call,
            self.method,
            self.route,
            if self.stream { "stream" } else { "whole" },
            if self.strict { "strict" } else { "" },
        ] {
            put(text.as_bytes());
        }
        put(&(self.models.len() as u64).to_be_bytes());
        for model in &self.models {
            put(model.as_bytes());
        }
        let mut headers: Vec<(&str, &[u8])> =
            self.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
        headers.sort_unstable();
        for (name, value) in headers {
            put(name.as_bytes());
            put(value);
        }
        put(&body);
        let mut digest = [0; 32];
        digest.copy_from_slice(context.finish().as_ref());
        Some(CacheKey::new(digest))
    }
}

/// Returns the fields of a request that do not change the response.
///
/// The Responses API repeats `user`, `metadata` and the like in its responses, so there they count. `stream_options` changes the
/// events of a stream.
fn not_in_the_key(protocol: Protocol, stream: bool) -> &'static [&'static str] {
    const CHAT: [&str; 6] = [
        "metadata",
        "user",
        "safety_identifier",
        "prompt_cache_key",
        "prompt_cache_retention",
        "stream_options",
    ];
    match (protocol, stream) {
        (Protocol::OpenAiChat, true) => &CHAT[..5],
        (Protocol::OpenAiChat, false) => &CHAT,
        (Protocol::OpenAiResponses, false) => &["stream_options"],
        (Protocol::Anthropic, _) => &["metadata"],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use http::HeaderValue;

    use super::*;

    fn identity<'a>(headers: &'a HeaderMap, body: &'a str) -> Identity<'a> {
        Identity {
            scope: ("key", "a"),
            protocol: Protocol::OpenAiChat,
            call: "chat",
            method: "",
            stream: false,
            route: "fast",
            models: vec!["p/m".to_owned(), "q/n".to_owned()],
            strict: false,
            headers,
            body: body.as_bytes(),
        }
    }

    #[test]
    fn every_part_of_the_identity_is_in_the_key() {
        let none = HeaderMap::new();
        let mut beta = HeaderMap::new();
        beta.insert("anthropic-beta", HeaderValue::from_static("one"));
        let of = |change: &dyn Fn(&mut Identity<'_>)| {
            let mut one = identity(&none, r#"{"model":"fast","seed":1}"#);
            change(&mut one);
            one.key().unwrap()
        };
        let keys = [
            of(&|_| {}),
            of(&|one| one.scope = ("key", "b")),
            of(&|one| one.scope = ("team", "a")),
            of(&|one| one.scope = ("all", "")),
            of(&|one| one.protocol = Protocol::Anthropic),
            of(&|one| one.call = "embed"),
            of(&|one| one.method = "alt=sse"),
            of(&|one| one.stream = true),
            of(&|one| one.route = "slow"),
            of(&|one| one.models = vec!["p/m".to_owned()]),
            of(&|one| one.models = vec!["p/mq".to_owned(), "/n".to_owned()]),
            of(&|one| one.strict = true),
            identity(&beta, r#"{"model":"fast","seed":1}"#).key().unwrap(),
            identity(&none, r#"{"model":"fast","seed":2}"#).key().unwrap(),
        ];
        let different: HashSet<_> = keys.iter().collect();
        assert_eq!(different.len(), keys.len());
        let same = of(&|one| {
            one.models = vec!["q/n".to_owned(), "p/m".to_owned(), "p/m".to_owned()];
        });
        assert_eq!(same, keys[0]);
    }

    #[test]
    fn fields_about_the_caller_count_only_where_the_response_repeats_them() {
        let none = HeaderMap::new();
        let key = |protocol: Protocol, stream: bool, body: &str| {
            Identity { protocol, stream, ..identity(&none, body) }.key().unwrap()
        };
        let (one, other) = (r#"{"metadata":{"user_id":"a"}}"#, r#"{"metadata":{"user_id":"b"}}"#);
        for (protocol, counts) in [
            (Protocol::OpenAiChat, false),
            (Protocol::Anthropic, false),
            (Protocol::OpenAiResponses, true),
            (Protocol::Gemini, true),
        ] {
            let differ = key(protocol, false, one) != key(protocol, false, other);
            assert_eq!(differ, counts, "{protocol:?}");
        }
        let usage = r#"{"stream_options":{"include_usage":true}}"#;
        assert_ne!(key(Protocol::OpenAiChat, true, usage), key(Protocol::OpenAiChat, true, "{}"));
        assert_eq!(key(Protocol::OpenAiChat, false, usage), key(Protocol::OpenAiChat, false, "{}"));
    }

    #[test]
    fn large_and_broken_bodies_are_not_cached() {
        let none = HeaderMap::new();
        let large = format!("{{\"a\":\"{}\"}}", "x".repeat(MAX_CACHED_REQUEST));
        assert!(identity(&none, &large).key().is_none());
        assert!(identity(&none, "{\"a\":").key().is_none());
    }
}
