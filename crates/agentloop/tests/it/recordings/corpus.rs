//! The recordings and their descriptions.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use agentloop::inspect::{self, DecodeOptions, HttpResponse};
use agentloop::{AgentLoop, ChatResponse, ChatStreamEvent, Error, Protocol, Provider};
use serde_json::Value;

#[derive(Clone)]
pub(crate) struct Recording {
    pub(crate) id: String,
    pub(crate) provider: String,
    pub(crate) protocol: Protocol,
    pub(crate) model: Option<String>,
    pub(crate) status: u16,
    pub(crate) streaming: bool,
    pub(crate) features: Vec<String>,
    pub(crate) body: Vec<u8>,
    /// Where it is.
    pub(crate) folder: PathBuf,
}

/// The wires of chats: one for each protocol, and that of InvokeModel, which wraps three of them.
pub(crate) const CHAT_WIRES: [&str; 8] = [
    "openai-chat",
    "openai-responses",
    "anthropic-messages",
    "gemini",
    "ollama-native",
    "cohere-v2",
    "bedrock-converse",
    "bedrock-invoke",
];

fn folder() -> Option<PathBuf> {
    let named = std::env::var_os("AGENTLOOP_RECORDINGS").map(PathBuf::from);
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/recordings");
    named.or(Some(beside)).filter(|folder| folder.is_dir())
}

/// The recordings of a wire, in order; `None` when there is no such folder.
pub(crate) fn recordings(wire: &str) -> Option<Vec<Recording>> {
    let mut found = Vec::new();
    for provider in subfolders(&folder()?) {
        for case in subfolders(&provider) {
            let meta: Value =
                serde_json::from_slice(&std::fs::read(case.join("meta.json")).unwrap()).unwrap();
            let text = |name: &str| meta[name].as_str().map(str::to_owned);
            let endpoint = text("endpoint").unwrap_or_default();
            if wire_of(&meta, &endpoint) != wire {
                continue;
            }
            found.push(Recording {
                id: case.file_name().unwrap().to_string_lossy().into_owned(),
                provider: text("provider").unwrap(),
                protocol: protocol(wire, &endpoint),
                model: text("model"),
                status: u16::try_from(meta["status"].as_u64().unwrap()).unwrap(),
                streaming: meta["streaming"].as_bool().unwrap(),
                features: meta["features"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|feature| feature.as_str().unwrap().to_owned())
                    .collect(),
                body: std::fs::read(case.join(text("body_file").unwrap())).unwrap(),
                folder: case,
            });
        }
    }
    Some(found)
}

/// The wire of a recording. The oldest models of InvokeModel complete texts, which is not a chat.
fn wire_of<'a>(meta: &'a Value, endpoint: &str) -> &'a str {
    let completes =
        ["anthropic.claude-v2", "cohere.command-"].iter().any(|it| endpoint.contains(it));
    match meta["wire"].as_str().unwrap() {
        "bedrock-invoke" if completes => "bedrock-invoke-text",
        wire => wire,
    }
}

/// The protocol that a wire is.
fn protocol(wire: &str, endpoint: &str) -> Protocol {
    match wire {
        "bedrock-invoke" if endpoint.contains("anthropic.") => Protocol::Anthropic,
        "bedrock-invoke" if endpoint.contains("openai.") => Protocol::OpenAiChat,
        "anthropic-messages" => Protocol::Anthropic,
        "gemini" | "gemini-embed" => Protocol::Gemini,
        "openai-responses" => Protocol::OpenAiResponses,
        "ollama-native" => Protocol::Ollama,
        "cohere-v2" | "cohere-embed" => Protocol::Cohere,
        "bedrock-converse" | "bedrock-invoke" | "bedrock-invoke-text" => Protocol::Bedrock,
        _ => Protocol::OpenAiChat,
    }
}

fn subfolders(folder: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    folders
}

/// A client that knows every provider of the recordings: hosts without a row are any compatible endpoint.
pub(crate) fn client() -> &'static AgentLoop {
    static CLIENT: OnceLock<AgentLoop> = OnceLock::new();
    CLIENT.get_or_init(|| {
        AgentLoop::builder()
            .env("AZURE_RESOURCE_NAME", "r")
            .env("AWS_REGION", "us-east-1")
            .env("VERTEX_LOCATION", "l")
            .env("VERTEX_PROJECT", "p")
            .provider(Provider::openai_compatible("other", "http://other.invalid/v1"))
            .provider(Provider::openai_compatible("openai-responses", "http://openai.invalid/v1"))
            .build()
            .unwrap()
    })
}

/// The events of a recording, and how they end.
pub(crate) struct Decoded {
    pub(crate) events: Vec<ChatStreamEvent>,
    pub(crate) error: Option<Error>,
}

impl Decoded {
    pub(crate) fn response(&self) -> Result<&ChatResponse, String> {
        match (self.events.last(), &self.error) {
            (Some(ChatStreamEvent::MessageDone { response }), None) => Ok(response),
            (_, Some(error)) => Err(format!("{error:?}")),
            (last, None) => Err(format!("ends with {last:?}")),
        }
    }
}

impl Recording {
    pub(crate) fn has(&self, feature: &str) -> bool {
        self.features.iter().any(|known| known == feature)
    }

    /// Whether the response is not an error, neither by status nor in its body.
    pub(crate) fn is_answer(&self) -> bool {
        self.status < 400
            && !self.has("error_in_stream")
            && !self.has("error_4xx")
            && !self.has("error_5xx")
    }

    /// The JSON values of the body: one, or those of a stream's events.
    pub(crate) fn values(&self) -> Vec<Value> {
        let text = String::from_utf8_lossy(&self.body);
        match serde_json::from_str(&text) {
            Ok(Value::Array(values)) => values,
            Ok(value) => vec![value],
            Err(_) => {
                let data =
                    |line: &str| serde_json::from_str(line.strip_prefix("data:")?.trim()).ok();
                text.lines().filter_map(data).collect()
            }
        }
    }

    pub(crate) fn decode(&self) -> Decoded {
        self.decode_bytes(&self.body, usize::MAX)
    }

    /// Decodes `bytes` in pieces of `size`, as if they were this recording's.
    pub(crate) fn decode_bytes(&self, bytes: &[u8], size: usize) -> Decoded {
        let (options, mut answer) = self.prepared(bytes);
        answer = answer.cut(size.min(bytes.len().max(1)));
        let mut events = Vec::new();
        let mut stream = match inspect::decode(client(), &options, answer) {
            Ok(stream) => stream,
            Err(error) => return Decoded { events, error: Some(error) },
        };
        // Everything is there already: the stream never waits.
        loop {
            match crate::support::now(stream.next()) {
                Some(Ok(event)) => events.push(event),
                Some(Err(error)) => return Decoded { events, error: Some(error) },
                None => return Decoded { events, error: None },
            }
        }
    }

    /// Reads vectors as if they were of that provider.
    pub(crate) fn embed_as(&self, provider: &str) -> Result<agentloop::EmbedResponse, Error> {
        let (mut options, answer) = self.prepared(&self.body);
        if provider != self.provider {
            (options.provider, options.protocol) = (provider.to_owned(), None);
        }
        inspect::decode_embed(client(), &options, &answer)
    }

    fn prepared(&self, bytes: &[u8]) -> (DecodeOptions, HttpResponse) {
        let mut options = DecodeOptions::new(&self.provider);
        options.model = self.model.clone();
        options.stream = self.streaming;
        options.protocol = Some(self.protocol);
        let mut answer = HttpResponse::new(bytes.to_vec());
        answer.status = self.status;
        (options, answer)
    }
}
