//! Which API and which call a request is for.

use agentloop::protocol::serve::{self, Operation};
use agentloop::{Modality, Protocol};
use http::{HeaderMap, HeaderName, Method, Uri};

/// A call of one of the APIs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Api {
    pub(crate) protocol: Protocol,
    pub(crate) work: Work,
    /// The path without the prefix that names the API, with its query.
    pub(crate) path: String,
}

/// What a call asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// A chat, embeddings, a count of tokens or models.
    Call(Operation),
    /// Another modality. Its paths are those of OpenAI's API; that of rankings is Cohere's.
    Task(Modality),
}

/// The prefixes that name an API, with the protocols that it has.
const PREFIXES: [(&str, &[Protocol]); 3] = [
    ("/openai/", &[Protocol::OpenAiResponses, Protocol::OpenAiChat]),
    ("/anthropic/", &[Protocol::Anthropic]),
    ("/gemini/", &[Protocol::Gemini]),
];

/// The protocols in the order in which they are tried: some share a path, and differ in a header.
const ALL: [Protocol; 4] =
    [Protocol::Gemini, Protocol::Anthropic, Protocol::OpenAiResponses, Protocol::OpenAiChat];

impl Api {
    /// Returns the call of a request; `None` if there is no such call.
    pub(crate) fn of(method: &Method, uri: &Uri, headers: &HeaderMap) -> Option<Self> {
        let whole = uri.path_and_query().map_or("/", |path| path.as_str());
        let (protocols, path) = prefixed(whole);
        let bare = path.split('?').next().unwrap_or_default();
        // The lists of models of several APIs have the same path, and a header decides between them. A prefix makes that
        // header unnecessary.
        let forced = protocols.len() < ALL.len();
        let mut owned = None;
        if forced {
            let headers = owned.insert(headers.clone());
            headers.insert(ANTHROPIC_VERSION, http::HeaderValue::from_static("2023-06-01"));
            headers.insert(GOOGLE_KEY, http::HeaderValue::from_static("-"));
        }
        let headers = owned.as_ref().unwrap_or(headers);
        let found = protocols.iter().find_map(|protocol| {
            let operation = serve::route(*protocol, method, bare, headers)?;
            Some((*protocol, Work::Call(operation)))
        });
        let task = || {
            let modality = task_of(method, bare)?;
            let protocol = protocols.iter().find(|it| **it == Protocol::OpenAiChat)?;
            Some((*protocol, Work::Task(modality)))
        };
        let (protocol, work) = found.or_else(task)?;
        Some(Self { protocol, work, path: path.to_owned() })
    }
}

/// The header that only clients of Anthropic's API send.
const ANTHROPIC_VERSION: HeaderName = HeaderName::from_static("anthropic-version");

/// The header in which clients of Google's API send their key.
const GOOGLE_KEY: HeaderName = HeaderName::from_static("x-goog-api-key");

/// Returns the modality of a path: without a version, or with the one that clients put before it.
fn task_of(method: &Method, path: &str) -> Option<Modality> {
    let rest = ["/v1/", "/v2/", "/"].into_iter().find_map(|start| path.strip_prefix(start))?;
    let is_known = rest.starts_with("images/")
        || rest.starts_with("audio/")
        || ["rerank", "moderations", "chat/moderations"].contains(&rest);
    let is_whole = rest.matches('/').count() <= 1;
    serve::route_task(method, path).filter(|_| is_known && is_whole)
}

/// Returns the protocol in whose format an error about a path is written.
pub(crate) fn protocol_of_path(path: &str, headers: &HeaderMap) -> Protocol {
    let (protocols, rest) = prefixed(path);
    match protocols {
        [protocol] => *protocol,
        _ if headers.contains_key(ANTHROPIC_VERSION) => Protocol::Anthropic,
        // The most frequent path: it is not searched for the others.
        _ if rest == "/v1/chat/completions" && !headers.contains_key(GOOGLE_KEY) => {
            Protocol::OpenAiChat
        }
        _ if rest.contains("/messages") => Protocol::Anthropic,
        _ if rest.starts_with("/v1beta") || headers.contains_key(GOOGLE_KEY) => Protocol::Gemini,
        _ if rest.contains("/responses") => Protocol::OpenAiResponses,
        _ => Protocol::OpenAiChat,
    }
}

fn prefixed(path: &str) -> (&'static [Protocol], &str) {
    for (prefix, protocols) in PREFIXES {
        if path.starts_with(prefix) {
            return (protocols, &path[prefix.len() - 1..]);
        }
    }
    (&ALL, path)
}

/// Returns the key in the query of a request: `?key=…`.
pub(crate) fn key_of_query(uri: &Uri) -> Option<&str> {
    uri.query()?.split('&').find_map(|pair| pair.strip_prefix("key=")).filter(|key| !key.is_empty())
}

/// Returns the query without the key.
pub(crate) fn query_without_key(path: &str) -> String {
    let Some((_, query)) = path.split_once('?') else { return String::new() };
    let rest: Vec<&str> = query.split('&').filter(|pair| !pair.starts_with("key=")).collect();
    rest.join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(method: &str, path: &str, header: Option<&'static str>) -> Option<(Protocol, Operation)> {
        let mut headers = HeaderMap::new();
        if let Some(name) = header {
            headers.insert(name, http::HeaderValue::from_static("x"));
        }
        let method: Method = method.parse().unwrap();
        let api = Api::of(&method, &path.parse().unwrap(), &headers)?;
        match api.work {
            Work::Call(operation) => Some((api.protocol, operation)),
            Work::Task(_) => None,
        }
    }

    #[test]
    fn every_path_of_the_contract_is_found() {
        use Operation::{Chat, Count, Embed, Models};
        use Protocol::{Anthropic, Gemini, OpenAiChat, OpenAiResponses};
        for (method, path, header, expected) in [
            ("POST", "/v1/chat/completions", None, (OpenAiChat, Chat)),
            ("POST", "/openai/v1/chat/completions", None, (OpenAiChat, Chat)),
            ("POST", "/v1/responses", None, (OpenAiResponses, Chat)),
            ("POST", "/v1/responses/input_tokens", None, (OpenAiResponses, Count)),
            ("POST", "/v1/messages?beta=true", None, (Anthropic, Chat)),
            ("POST", "/messages", None, (Anthropic, Chat)),
            ("POST", "/anthropic/v1/messages/count_tokens", None, (Anthropic, Count)),
            ("POST", "/v1beta/models/a/b:generateContent", None, (Gemini, Chat)),
            ("POST", "/v1/models/a%2Fb:streamGenerateContent?alt=sse", None, (Gemini, Chat)),
            ("POST", "/gemini/v1beta/models/m:countTokens", None, (Gemini, Count)),
            ("POST", "/models/m:batchEmbedContents", None, (Gemini, Embed)),
            ("GET", "/v1/models", Some("anthropic-version"), (Anthropic, Models)),
            ("GET", "/anthropic/v1/models", None, (Anthropic, Models)),
            ("GET", "/v1beta/models", None, (Gemini, Models)),
        ] {
            assert_eq!(of(method, path, header), Some(expected), "{path}");
        }
        let embed = of("POST", "/v1/embeddings", None).unwrap();
        assert_eq!(embed.1, Embed);
        assert_eq!(of("GET", "/v1/models", None).unwrap().1, Models);
        for path in
            ["/", "/v1", "/v1/nothing", "/openai/v1/messages", "/gemini/v1/chat/completions"]
        {
            assert_eq!(of("POST", path, None), None, "{path}");
        }
    }

    #[test]
    fn the_paths_of_other_modalities_are_those_of_openai() {
        let of = |method: Method, path: &str| {
            Api::of(&method, &path.parse().unwrap(), &HeaderMap::new()).map(|api| api.work)
        };
        for (path, modality) in [
            ("/v1/images/generations", Modality::Image),
            ("/openai/v1/images/edits", Modality::Image),
            ("/audio/speech", Modality::Speech),
            ("/v1/audio/transcriptions", Modality::Transcription),
            ("/v1/audio/translations", Modality::Transcription),
            ("/v2/rerank", Modality::Rerank),
            ("/v1/moderations", Modality::Moderation),
            ("/v1/chat/moderations", Modality::Moderation),
        ] {
            assert_eq!(of(Method::POST, path), Some(Work::Task(modality)), "{path}");
            assert_eq!(of(Method::GET, path), None, "{path}");
        }
        for path in [
            "/v1/x/moderations",
            "/anthropic/v1/rerank",
            "/v1/x/rerank",
            "/v1/images/generations/x",
        ] {
            assert_eq!(of(Method::POST, path), None, "{path}");
        }
    }

    #[test]
    fn the_key_is_taken_out_of_the_query() {
        let uri: Uri = "/v1beta/models/m:generateContent?alt=sse&key=abc".parse().unwrap();
        assert_eq!(key_of_query(&uri), Some("abc"));
        assert_eq!(query_without_key(&uri.to_string()), "alt=sse");
        assert_eq!(query_without_key("/x"), "");
    }
}
