//! Requests: those of clients of a gateway in the format of each API with what every provider is sent, those that are JSON of this
//! library, and bodies of other calls.

use agentloop::carry::restore;
use agentloop::inspect::{encode, encode_embed};
use agentloop::protocol::serve::{read_chat, read_embed, read_form, read_task};
use agentloop::{ChatRequest, EmbedRequest, Protocol};
use bytes::Bytes;

use super::super::{Form, Reader, Words};
use crate::targets::laws::{client, speakers};
use crate::targets::{embed, encode as requests, readers, tasks};

/// Why eight translations of a request may hold more than one.
const TREES: &str = "a value of JSON that has two bytes, such as `1,`, is 72 bytes in a tree, twice while it is converted";

/// What converted schemas may take that are kept: `MAX_KEPT_SCHEMA_BYTES`.
const KEPT: u64 = 8 << 20;

/// Why a request with a large schema may cost more than in proportion.
const KEPT_ONCE: &str = "a converted schema of more than an eighth of that is not kept, so it is converted for every call";

macro_rules! clients {
    ($($protocol:ident, $name:literal;)*) => {
        &[$(
            Reader::new(
                $name,
                Form::Json,
                || without_head(readers::seeds(Protocol::$protocol)),
                |input| served(Protocol::$protocol, input),
                &["agentloop/src/protocol/serve.rs", "agentloop/src/protocol/serve/", "agentloop/src/carry/", "agentloop/src/schema/"],
            ).held(128, TREES).free(KEPT).growth(8, KEPT_ONCE),
        )*]
    };
}

/// Requests of clients. They have the fixtures of all protocols in their history, so the encoders run through all of their parts.
pub(super) const CLIENTS: &[Reader] = clients![
    OpenAiChat, "request in openai_chat";
    OpenAiResponses, "request in openai_responses";
    Anthropic, "request in anthropic";
    Gemini, "request in gemini";
    Ollama, "request in ollama";
    Cohere, "request in cohere";
    Bedrock, "request in bedrock";
    GeminiInteractions, "request in gemini_interactions";
];

pub(super) const BODIES: &[Reader] = &[
    Reader::new(
        "request of the library",
        Form::Json,
        || vec![requests::everything().to_string().into_bytes()],
        |input| {
            if let Ok(request) = serde_json::from_slice::<ChatRequest>(input) {
                everywhere(request);
            }
        },
        &["agentloop/src/chat/", "agentloop/src/client/encode.rs", "agentloop/src/nesting/"],
    )
    .held(600, TREES)
    .free(KEPT)
    .growth(8, KEPT_ONCE),
    Reader::new(
        "request for embeddings",
        Form::Json,
        || without_head(readers::embed_seeds()),
        |input| {
            for protocol in Protocol::ALL {
                for path in [
                    "/v1/embeddings",
                    "/v1beta/models/m:embedContent",
                    "/v1beta/models/m:batchEmbedContents",
                ] {
                    let Ok(served) = read_embed(*protocol, path, input) else { continue };
                    embedded(served.request);
                }
            }
        },
        &["agentloop/src/protocol/embed/", "agentloop/src/protocol/gemini/embed.rs"],
    )
    .held(96, TREES),
    Reader::new(
        "response with embeddings",
        Form::Json,
        || without_head(embed::seeds()),
        |input| {
            if let Ok(request) = serde_json::from_slice::<EmbedRequest>(input) {
                embedded(request);
            }
            embed::read_all(input);
        },
        &["agentloop/src/protocol/embed/"],
    )
    .held(96, TREES),
    Reader::new(
        "request of a task",
        Form::Json,
        || {
            tasks::request_seeds()
                .into_iter()
                .filter(|seed| seed[1] == 0)
                .map(|seed| seed[2..].to_vec())
                .collect()
        },
        |input| {
            for path in tasks::PATHS {
                drop(read_task(path, "application/json", &Bytes::copy_from_slice(input)));
            }
        },
        &["agentloop/src/protocol/serve/task/"],
    )
    .held(96, TREES),
    Reader::new(
        "form of a task",
        Form::Text(Words {
            nests: &[],
            repeats: &[
                "--b\r\n",
                "--b\r\n\r\n\r\n",
                "--b\r\nContent-Disposition: form-data; name=\"k\0\"\r\n\r\nv\r\n",
                "\r\n",
                "-",
                "--",
                "a: b\r\n",
            ],
        }),
        || {
            tasks::request_seeds()
                .into_iter()
                .filter(|seed| seed[1] == 1)
                .map(|seed| seed[2..].to_vec())
                .collect()
        },
        |input| {
            let kind = "multipart/form-data; boundary=b";
            drop(read_form(kind, &Bytes::copy_from_slice(input)));
            for path in tasks::PATHS {
                drop(read_task(path, kind, &Bytes::copy_from_slice(input)));
            }
        },
        &["agentloop/src/protocol/multipart.rs", "agentloop/src/protocol/multipart/"],
    ),
    Reader::new(
        "response of a task",
        Form::Json,
        || {
            tasks::seeds()
                .into_iter()
                .filter(|seed| seed[1] == 0 && seed[0] < 5)
                .map(|seed| seed[2..].to_vec())
                .collect()
        },
        |input| tasks::read_all(input, "application/json"),
        &[
            "agentloop/src/protocol/task/",
            "agentloop/src/protocol/image/",
            "agentloop/src/protocol/speech/",
            "agentloop/src/protocol/transcribe/",
            "agentloop/src/protocol/rerank/",
            "agentloop/src/protocol/moderate/",
        ],
    )
    .held(96, TREES),
    Reader::new(
        "stream of a task",
        Form::Events("\n\n"),
        || {
            tasks::seeds()
                .into_iter()
                .filter(|seed| seed[1] == 1)
                .map(|seed| seed[2..].to_vec())
                .collect()
        },
        |input| tasks::read_all(input, "text/event-stream"),
        &["agentloop/src/protocol/task/events.rs", "agentloop/src/protocol/transcribe/"],
    )
    .held(96, TREES),
    Reader::new(
        "results of a batch",
        Form::Events("\n"),
        || {
            tasks::seeds()
                .into_iter()
                .filter(|seed| seed[0] == 5)
                .map(|seed| seed[2..].to_vec())
                .collect()
        },
        tasks::read_batch,
        &["agentloop/src/protocol/batches/", "agentloop/src/client/batches/"],
    )
    .held(96, TREES),
];

/// The bodies of inputs that begin with how they are to be read.
pub(super) fn without_head(seeds: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    seeds.into_iter().map(|seed| seed[2..].to_vec()).collect()
}

fn served(protocol: Protocol, input: &[u8]) {
    let path = match protocol {
        Protocol::Gemini => "/v1beta/models/some-model:streamGenerateContent?alt=sse",
        _ => "/v1/chat/completions",
    };
    let Ok(served) = read_chat(protocol, path, input) else { return };
    let mut request = served.request;
    drop(restore(&mut request));
    everywhere(request);
}

/// Encodes a request for a provider of every protocol.
fn everywhere(mut request: ChatRequest) {
    for protocol in Protocol::ALL {
        request.model = format!("{}/some-model", speakers(*protocol)[0]);
        request.protocol = Some(*protocol);
        drop(encode(client(), &request, true));
    }
}

fn embedded(mut request: EmbedRequest) {
    for provider in ["openai", "google", "cohere", "bedrock"] {
        request.model = format!("{provider}/m");
        drop(encode_embed(client(), &request));
    }
}
