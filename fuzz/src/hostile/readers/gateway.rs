//! The gateway: requests of clients in front of a provider of every protocol, those of its operator, its configuration and its files.

use agentloop::Protocol;

use super::super::{Form, Reader, Words};
use super::files::TOML;
use super::responses::{FREE, seeds as chats};
use crate::targets::gateway::{
    CALLS, KEYS, OPERATOR, PROVIDER, PROVIDERS, QUERIES, ROW, check_config, config_seeds,
    read_journal, read_keys, read_records, send, send_given, send_to_operator, to_provider,
};

/// Why a request may take more than eight bytes for each of its own, twice.
const TREES: &str = "a value of JSON that has two bytes, such as `1,`, is 72 bytes in a tree; the gateway has the body also";

macro_rules! calls {
    ($($name:literal: $call:literal, [$($covers:literal),*];)*) => {
        &[$(
            Reader::new(
                $name,
                Form::Json,
                || vec![CALLS[$call].1.as_bytes().to_vec()],
                |input| call(CALLS[$call].0, input),
                &[$($covers),*],
            ).held(96, TREES),
        )*]
    };
}

/// Requests of clients.
pub(super) const GATEWAY: &[Reader] = calls![
    "chat completion at the gateway": 0,
        ["agentloop-gateway/src/body/", "agentloop-gateway/src/call/", "agentloop-gateway/src/account/estimate.rs",
         "agentloop-gateway/src/stream/", "agentloop-gateway/src/cache/canonical.rs"];
    "response at the gateway": 1, ["agentloop-gateway/src/stored.rs"];
    "message at the gateway": 2, ["agentloop-gateway/src/call/"];
    "content at the gateway": 3, ["agentloop-gateway/src/call/"];
    "count of a message at the gateway": 4, ["agentloop-gateway/src/call/other.rs"];
    "count of an input at the gateway": 5, ["agentloop-gateway/src/call/other.rs"];
    "count of contents at the gateway": 6, ["agentloop-gateway/src/call/other.rs"];
    "embeddings at the gateway": 7, ["agentloop-gateway/src/call/other.rs"];
    "embeddings of contents at the gateway": 8, ["agentloop-gateway/src/call/other.rs"];
    "image at the gateway": 9, ["agentloop-gateway/src/call/task.rs"];
    "ranking at the gateway": 11, ["agentloop-gateway/src/call/task.rs"];
    "moderation at the gateway": 12, ["agentloop-gateway/src/call/task.rs"];
];

macro_rules! translated {
    ($($protocol:ident $provider:literal $end:literal: $whole:literal, $stream:literal;)*) => {
        &[$(
            Reader::new(
                $whole,
                Form::Json,
                || chats(Protocol::$protocol, false),
                |input| send_given($provider, input, false),
                &["agentloop-gateway/src/call/translate.rs", "agentloop-gateway/src/stream.rs"],
            ).held(128, TRANSLATED).free(FREE),
            Reader::new(
                $stream,
                Form::Events($end),
                || chats(Protocol::$protocol, true),
                |input| send_given($provider, input, true),
                &["agentloop-gateway/src/stream/", "agentloop/src/protocol/serve/"],
            ).held(128, TRANSLATED).free(FREE),
        )*]
    };
}

const TRANSLATED: &str = "what a decoder holds of a response, and what is written of it";

/// Responses that the gateway relays to a client of the same API and translates for the others.
pub(super) const TRANSLATIONS: &[Reader] = translated![
    OpenAiChat "chat" "\n\n": "relayed openai_chat", "relayed stream of openai_chat";
    OpenAiResponses "responses" "\n\n": "relayed openai_responses", "relayed stream of openai_responses";
    Anthropic "claude" "\n\n": "relayed anthropic", "relayed stream of anthropic";
    Gemini "gemini" "\n\n": "relayed gemini", "relayed stream of gemini";
    Ollama "ollama" "\n": "relayed ollama", "relayed stream of ollama";
    Cohere "cohere" "\n\n": "relayed cohere", "relayed stream of cohere";
    GeminiInteractions "interactions" "\n\n": "relayed interactions", "relayed stream of interactions";
];

/// What else a gateway reads.
pub(super) const GATEWAY_FILES: &[Reader] = &[
    Reader::new(
        "body of the operator",
        Form::Json,
        || OPERATOR.map(|(_, _, body)| body.as_bytes().to_vec()).to_vec(),
        |input| {
            for (method, path, _) in OPERATOR {
                drop(send_to_operator(method, path, input));
            }
        },
        &["agentloop-gateway/src/server/admin/"],
    )
    .held(48, "a body of at most 64 kB is a tree"),
    Reader::new(
        "query of the operator",
        Form::Text(Words {
            nests: &[],
            repeats: &["&key=\0", "&since=1", "%41", "%", "+", "/", "&&", "=", "&tag=a"],
        }),
        || QUERIES.map(|query| query.as_bytes().to_vec()).to_vec(),
        |input| {
            let Ok(path) = std::str::from_utf8(input) else { return };
            drop(send_to_operator("GET", path, b""));
        },
        &["agentloop-gateway/src/server/admin/query.rs"],
    ),
    Reader::new(
        "configuration of the gateway",
        Form::Text(TOML),
        config_seeds,
        check_config,
        &["agentloop-gateway/src/key.rs"],
    )
    .held(600, "the parser's tree of TOML; a file has at most MAX_CONFIG_FILE_BYTES"),
    Reader::new(
        "record of the gateway",
        Form::Json,
        || vec![ROW.as_bytes().to_vec()],
        read_records,
        &["agentloop-gateway/src/store/sqlite/"],
    )
    .held(48, "a list of short tags; a gateway writes at most MAX_TAGS of them"),
    Reader::new(
        "journal",
        Form::Events("\n"),
        || vec![[ROW, ROW, ""].join("\n").into_bytes()],
        read_journal,
        &["agentloop-gateway/src/journal/"],
    ),
    Reader::new(
        "copy of the keys",
        Form::Json,
        || vec![KEYS.as_bytes().to_vec()],
        read_keys,
        &["agentloop-gateway/src/sync/snapshot.rs"],
    ),
];

/// Sends a request for a model of every provider.
fn call(path: &str, input: &[u8]) {
    for (provider, _) in PROVIDERS {
        let path = path.replace(PROVIDER, provider);
        drop(send(&path, &to_provider(input, provider)));
    }
}
