//! Responses to chats: complete and streamed, in every protocol, and the framing of streams.

use agentloop::Protocol;
use agentloop::inspect::{DecodeOptions, HttpResponse};

use super::super::{Form, Reader, Words};
use crate::seeds::{fixtures, stream_of};
use crate::targets::laws::{read_through, speakers};

/// Why a decoder may hold more than other readers.
const DECODED: &str = "a part or an item of a list has a size of its own: the library counts it up to MAX_HELD_PER_BYTE, and it is in \
    memory twice while its event is returned";

/// What a response may hold however short it is: `MAX_HELD_FREE_BYTES`, in memory up to three times.
pub(super) const FREE: u64 = 48 << 20;

const fn whole(
    name: &'static str,
    seeds: fn() -> Vec<Vec<u8>>,
    read: fn(&[u8]),
    covers: &'static [&'static str],
) -> Reader {
    Reader::new(name, Form::Json, seeds, read, covers)
}

macro_rules! responses {
    ($($protocol:ident, $whole:literal, $stream:literal, $end:literal, [$($covers:literal),* $(,)?];)*) => {
        &[$(
            whole(
                $whole,
                || seeds(Protocol::$protocol, false),
                |input| read(Protocol::$protocol, false, input),
                &[$($covers),*],
            ).held(128, DECODED).free(FREE),
            Reader::new(
                $stream,
                Form::Events($end),
                || seeds(Protocol::$protocol, true),
                |input| read(Protocol::$protocol, true, input),
                &[$($covers),*],
            ).prepare(|input| stream_of(Protocol::$protocol, input)).held(128, DECODED).free(FREE),
        )*]
    };
}

pub(super) const RESPONSES: &[Reader] = responses![
    OpenAiChat, "response of openai_chat", "stream of openai_chat", "\n\n",
        ["agentloop/src/protocol/openai_chat/", "agentloop/src/protocol/openai/", "agentloop/src/protocol/base64_join.rs",
         "agentloop/src/protocol/cost.rs", "agentloop/src/protocol/emit.rs", "agentloop/src/protocol/fields.rs",
         "agentloop/src/protocol/free_text.rs", "agentloop/src/protocol/json.rs", "agentloop/src/protocol/recognize.rs",
         "agentloop/src/protocol/rest.rs"];
    OpenAiResponses, "response of openai_responses", "stream of openai_responses", "\n\n",
        ["agentloop/src/protocol/openai_responses/"];
    Anthropic, "response of anthropic", "stream of anthropic", "\n\n",
        ["agentloop/src/protocol/anthropic/", "agentloop/src/protocol/blocks/"];
    Gemini, "response of gemini", "stream of gemini", "\n\n",
        ["agentloop/src/protocol/gemini/", "agentloop/src/protocol/google/"];
    Ollama, "response of ollama", "stream of ollama", "\n",
        ["agentloop/src/protocol/ollama/"];
    Cohere, "response of cohere", "stream of cohere", "\n\n",
        ["agentloop/src/protocol/cohere/"];
    Bedrock, "response of bedrock", "stream of bedrock", "\n",
        ["agentloop/src/protocol/bedrock/", "agentloop/src/framing/event_stream.rs"];
    GeminiInteractions, "response of gemini_interactions", "stream of gemini_interactions", "\n\n",
        ["agentloop/src/protocol/gemini_interactions/"];
];

/// What has the form of a stream, and is read by the decoders of three of them.
pub(super) const FRAMING: &[Reader] = &[
    Reader::new(
        "lines of a stream of events",
        Form::Text(Words {
            nests: &[("[", "", "]")],
            repeats: &[
                "\n", "\r", "\r\n", ":\n", ": comment\n", "data:\n", "data: a\n", "data: {\n", "event: \0\n", "id: \0\n",
                "retry: 1\n", "data: {}\n\n", "data: [DONE]\n\n", "event: a\n\n", "\u{feff}", "field\n", "data: {}\r\r",
                "data: [\n\n", "data: {\"choices\":[{}]}\n\n", "a", "data: a", "\0: \0\n",
            ],
        }),
        || vec![b"event: x\nid: 1\ndata: {\"choices\":[]}\n\ndata: [DONE]\n\n".to_vec()],
        |input| {
            for protocol in [Protocol::OpenAiChat, Protocol::Anthropic, Protocol::Gemini, Protocol::Ollama] {
                read(protocol, true, input);
            }
        },
        &["agentloop/src/framing/", "agentloop/src/transport/http/compression.rs"],
    ).held(128, DECODED).free(FREE),
    Reader::new(
        "list of events",
        Form::Json,
        || vec![br#"[{"candidates":[{"content":{"parts":[{"text":"a"}]}}]},{"candidates":[]}]"#.to_vec()],
        |input| read(Protocol::Gemini, true, input),
        &["agentloop/src/framing/json_array.rs"],
    ).held(128, DECODED).free(FREE),
    Reader::new(
        "frames of bytes",
        Form::Text(Words { nests: &[], repeats: &["\0", "\u{1}", "\u{7f}", "    ", "aaaa"] }),
        || vec![stream_of(Protocol::Bedrock, b"messageStart {\"role\":\"assistant\"}\nmessageStop {\"stopReason\":\"end_turn\"}\n")],
        |input| read(Protocol::Bedrock, true, input),
        &["agentloop/src/framing/event_stream.rs"],
    ).held(128, DECODED).free(FREE),
    Reader::new(
        "body of an error",
        Form::Json,
        || [
            r#"{"error":{"message":"no","type":"t","code":"c","param":"p","status":"S","details":[{"@type":"t","retryDelay":"46s","metadata":{"a":"b"}}],"metadata":{"raw":"{\"error\":{\"message\":\"no\"}}","headers":{"X-RateLimit-Remaining":"0"}}},"request_id":"r"}"#,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"no"}}"#,
            r#"{"message":"no","detail":[{"loc":["body",0],"msg":"m","type":"t"}],"__type":"x#ThrottlingException"}"#,
            r#"[{"error":{"code":429,"message":"no"}}]"#,
            r#"{"Error":{"Code":"AccessDenied","Message":"no"},"errors":["a",{"message":"b"}]}"#,
        ].map(|seed| seed.as_bytes().to_vec()).to_vec(),
        |input| for protocol in Protocol::ALL {
            let mut response = HttpResponse::new(input.to_vec());
            response.status = 429;
            read_through(&options(*protocol, false), response);
        },
        &["agentloop/src/protocol/error_body.rs", "agentloop/src/protocol/error_body/", "agentloop/src/protocol/exceptions.rs",
          "agentloop/src/protocol/retry_after.rs", "agentloop/src/secret/echo.rs"],
    ).held(64, "a body is read as a tree; MAX_ERROR_BODY_BYTES of it are read"),
];

fn options(protocol: Protocol, stream: bool) -> DecodeOptions {
    let mut options = DecodeOptions::new(speakers(protocol)[0]);
    options.protocol = Some(protocol);
    options.stream = stream;
    options
}

pub(super) fn seeds(protocol: Protocol, stream: bool) -> Vec<Vec<u8>> {
    let of = fixtures(protocol).into_iter().filter(|(is_stream, _)| *is_stream == stream);
    of.map(|(_, bytes)| bytes).collect()
}

fn read(protocol: Protocol, stream: bool, input: &[u8]) {
    read_through(&options(protocol, stream), HttpResponse::new(input.to_vec()));
}
