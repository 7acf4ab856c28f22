//! The JSON of responses, exactly as the API names it. A chunk of a stream and a whole body are one type.

use std::borrow::Cow;
use std::fmt;
use std::mem::size_of;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::usage::WireUsage;
use crate::protocol::fill::{Fill, FillFields, fill, fill_object};
use crate::protocol::lenient::{Few, Int, JsonText, Object, Text};
use crate::protocol::rest::Rest;
use crate::protocol::room;

/// A chunk of a stream, or a whole body.
#[derive(Debug, Default)]
pub(super) struct Chunk<'a> {
    pub(super) id: Text<'a>,
    pub(super) model: Text<'a>,
    pub(super) created: Int,
    pub(super) choices: Few<ChunkChoice<'a>>,
    pub(super) usage: Object<WireUsage<'a>>,
    pub(super) error: Option<&'a RawValue>,
    pub(super) x_groq: Object<Extension<'a>>,
    pub(super) system_fingerprint: Text<'a>,
    pub(super) service_tier: Text<'a>,
    pub(super) citations: Option<&'a RawValue>,
    pub(super) search_results: Option<&'a RawValue>,
    pub(super) images: Option<&'a RawValue>,
    pub(super) related_questions: Option<&'a RawValue>,
    pub(super) videos: Option<&'a RawValue>,
    pub(super) moderation: Option<&'a RawValue>,
    pub(super) prompt_filter_results: Option<&'a RawValue>,
    pub(super) warnings: Option<&'a RawValue>,
    pub(super) timings: Option<&'a RawValue>,
    pub(super) usage_breakdown: Option<&'a RawValue>,
    pub(super) provider: Option<&'a RawValue>,
    pub(super) rest: Rest<'a>,
}

fill!(Chunk {
    "id" => id,
    "model" => model,
    "created" => created,
    "error" => error,
    "system_fingerprint" => system_fingerprint,
    "service_tier" => service_tier,
    "citations" => citations,
    "search_results" => search_results,
    "images" => images,
    "related_questions" => related_questions,
    "videos" => videos,
    "moderation" => moderation,
    "prompt_filter_results" => prompt_filter_results,
    "warnings" => warnings,
    "timings" => timings,
    "usage_breakdown" => usage_breakdown,
    "provider" => provider;
    "choices" => choices,
    "usage" => usage,
    "x_groq" => x_groq
} rest except "object", "obfuscation", "p");

/// `x_groq`, where Groq reports the usage of a stream and errors inside it (recordings
/// groq-stream-code-execution-search-results-3534f422 and groq-stream-error-in-stream-58d2c9e4, 2026).
#[derive(Debug, Default)]
pub(super) struct Extension<'a> {
    pub(super) usage: Option<&'a RawValue>,
    pub(super) error: Option<&'a RawValue>,
    pub(super) rest: Rest<'a>,
}

fill!(Extension { "usage" => usage, "error" => error; } rest except);

#[derive(Debug, Default)]
pub(super) struct ChunkChoice<'a> {
    pub(super) index: Int,
    pub(super) delta: Object<Delta<'a>>,
    pub(super) message: Object<Delta<'a>>,
    pub(super) finish_reason: Text<'a>,
    pub(super) native_finish_reason: Text<'a>,
    pub(super) logprobs: Option<&'a RawValue>,
    pub(super) content_filter_results: Option<&'a RawValue>,
    pub(super) error: Option<&'a RawValue>,
    pub(super) top_logprobs: Option<&'a RawValue>,
    pub(super) usage: Object<WireUsage<'a>>,
    pub(super) rest: Rest<'a>,
}

fill!(ChunkChoice {
    "index" => index,
    "finish_reason" => finish_reason,
    "native_finish_reason" => native_finish_reason,
    "logprobs" => logprobs,
    "content_filter_results" => content_filter_results,
    "error" => error,
    "top_logprobs" => top_logprobs;
    "usage" => usage,
    "delta" => delta,
    "message" => message
} rest except "text", "obfuscation");

/// The content that a chunk adds to a message, or a complete message.
#[derive(Debug, Default)]
pub(super) struct Delta<'a> {
    pub(super) content: Content<'a>,
    pub(super) reasoning_content: Text<'a>,
    pub(super) reasoning: Text<'a>,
    pub(super) reasoning_details: Option<&'a RawValue>,
    pub(super) refusal: Text<'a>,
    pub(super) tool_calls: Few<WireToolCall<'a>>,
    pub(super) function_call: Object<WireFunction<'a>>,
    pub(super) audio: Object<WireAudio<'a>>,
    pub(super) annotations: Option<&'a RawValue>,
    pub(super) images: Option<&'a RawValue>,
    pub(super) executed_tools: Option<&'a RawValue>,
    /// Opaque state of the whole message.
    pub(super) extra_content: Option<&'a RawValue>,
    pub(super) thought_signature: Option<&'a RawValue>,
    pub(super) rest: Rest<'a>,
}

fill!(Delta {
    "content" => content,
    "reasoning_content" => reasoning_content,
    "reasoning" => reasoning,
    "reasoning_details" => reasoning_details,
    "refusal" => refusal,
    "function_call" => function_call,
    "audio" => audio,
    "annotations" => annotations,
    "images" => images,
    "executed_tools" => executed_tools,
    "extra_content" => extra_content,
    "thought_signature" => thought_signature;
    "tool_calls" => tool_calls
} rest except "role", "token_id", "channel");

#[derive(Debug, Default)]
pub(super) struct WireToolCall<'a> {
    pub(super) index: Int,
    pub(super) id: Text<'a>,
    pub(super) kind: Text<'a>,
    pub(super) function: Object<WireFunction<'a>>,
    pub(super) custom: Object<WireCustom<'a>>,
    pub(super) extra_content: Option<&'a RawValue>,
    /// All other fields: those of a call whose type is not known.
    pub(super) rest: Vec<(Cow<'a, str>, &'a RawValue)>,
}

impl<'de> Fill<'de> for WireToolCall<'de> {
    fn fill<D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
        fill_object(self, "a tool call", deserializer)
    }
}

impl<'de> FillFields<'de> for WireToolCall<'de> {
    fn fill_fields<A: MapAccess<'de>>(&mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(Text(name)) = map.next_key()? {
            let name = name.unwrap_or_default();
            match name.as_ref() {
                "index" => self.index = map.next_value()?,
                "id" => self.id = map.next_value()?,
                "type" => self.kind = map.next_value()?,
                "function" => self.function = map.next_value()?,
                "custom" => self.custom = map.next_value()?,
                "extra_content" => self.extra_content = map.next_value()?,
                _ => {
                    room::take(size_of::<(Cow<'_, str>, &RawValue)>() + name.len())?;
                    self.rest.push((name, map.next_value()?));
                }
            }
        }
        Ok(())
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireFunction<'a> {
    #[serde(borrow)]
    pub(super) name: Text<'a>,
    #[serde(borrow)]
    pub(super) arguments: JsonText<'a>,
}

/// A call of a tool that takes free text.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireCustom<'a> {
    #[serde(borrow)]
    pub(super) name: Text<'a>,
    #[serde(borrow)]
    pub(super) input: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct WireAudio<'a> {
    pub(super) id: Text<'a>,
    pub(super) data: Text<'a>,
    pub(super) transcript: Text<'a>,
    pub(super) expires_at: Int,
}

/// `content`: a text, a list of pieces, an object, or nothing.
#[derive(Debug, Default)]
pub(super) enum Content<'a> {
    #[default]
    None,
    Text(Cow<'a, str>),
    Chunks(Vec<ContentChunk<'a>>),
    /// An object, as its JSON. Cloudflare sends structured output so.
    Object(String),
}

/// A piece of a `content` that is a list.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct ContentChunk<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Text<'a>,
    pub(super) text: Text<'a>,
    pub(super) refusal: Text<'a>,
    pub(super) thinking: Thoughts<'a>,
    pub(super) signature: Text<'a>,
    pub(super) image_url: Option<&'a RawValue>,
    /// The piece unchanged. `None` for plain text.
    #[serde(skip)]
    pub(super) raw: Option<&'a RawValue>,
}

/// `thinking`: text, or a list of pieces.
#[derive(Debug, Default)]
pub(super) struct Thoughts<'a>(pub(super) Vec<Thought<'a>>);

/// A piece of `thinking`.
#[derive(Debug)]
pub(super) enum Thought<'a> {
    Text(Cow<'a, str>),
    /// A piece that is not text: Mistral's references.
    Other(&'a RawValue),
}

/// What counts of a piece of `thinking`. It has no pieces of its own: each is read by a parser that counts its levels from zero.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct ThoughtPiece<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    text: Text<'a>,
}

impl<'a> Thought<'a> {
    fn of(raw: &'a RawValue) -> serde_json::Result<Option<Self>> {
        let text = match raw.get().as_bytes().first() {
            Some(b'{') => {
                let piece: ThoughtPiece<'a> = serde_json::from_str(raw.get())?;
                if piece.text.non_empty().is_none() && !is_typed(&piece.kind) {
                    return Ok(Some(Self::Other(raw)));
                }
                piece.text
            }
            Some(b'"') => serde_json::from_str(raw.get())?,
            _ => Text::default(),
        };
        Ok(text.into_non_empty().map(Self::Text))
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text or a list of pieces")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Content<'de>, E> {
        Ok(Content::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Content<'de>, E> {
        Ok(Content::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_string<E>(self, text: String) -> Result<Content<'de>, E> {
        Ok(Content::Text(Cow::Owned(text)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Content<'de>, A::Error> {
        let mut chunks = Vec::new();
        while let Some(Piece(chunk)) = seq.next_element()? {
            room::take(size_of::<ContentChunk<'_>>())?;
            chunks.extend(chunk);
        }
        Ok(Content::Chunks(chunks))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Content<'de>, A::Error> {
        let mut text = String::from("{");
        while let Some((Text(name), value)) = map.next_entry::<Text<'de>, &'de RawValue>()? {
            room::take(value.get().len())?;
            if text.len() > 1 {
                text.push(',');
            }
            text.push_str(&Value::from(name.unwrap_or_default()).to_string());
            text.push(':');
            push_compact(&mut text, value.get());
        }
        text.push('}');
        Ok(Content::Object(text))
    }

    fn visit_unit<E>(self) -> Result<Content<'de>, E> {
        Ok(Content::None)
    }
}

/// Adds JSON without the white space between its tokens.
fn push_compact(text: &mut String, json: &str) {
    let (mut is_quoted, mut is_escaped) = (false, false);
    text.extend(json.chars().filter(|&c| {
        let quotes = c == '"' && !is_escaped;
        is_escaped = is_quoted && c == '\\' && !is_escaped;
        is_quoted ^= quotes;
        is_quoted || quotes || !c.is_ascii_whitespace()
    }));
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

/// An element of a list of pieces: an object, or plain text.
struct Piece<'a>(Option<ContentChunk<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for Piece<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&'de RawValue>::deserialize(deserializer)?;
        Ok(Piece(match raw.get().as_bytes().first() {
            Some(b'{') => Some(ContentChunk::of(raw).map_err(D::Error::custom)?),
            Some(b'"') => {
                let text = serde_json::from_str(raw.get()).map_err(D::Error::custom)?;
                Some(ContentChunk { text, ..ContentChunk::default() })
            }
            _ => None,
        }))
    }
}

impl<'a> ContentChunk<'a> {
    fn of(raw: &'a RawValue) -> serde_json::Result<Self> {
        let chunk = serde_json::from_str(raw.get())?;
        Ok(Self { raw: Some(raw), ..chunk })
    }

    /// Returns whether the type is one of which all that counts has a field here.
    pub(super) fn is_typed(&self) -> bool {
        is_typed(&self.kind)
    }
}

fn is_typed(kind: &Text<'_>) -> bool {
    let kind = kind.0.as_deref();
    matches!(kind, Some("text" | "output_text" | "thinking" | "refusal" | "image_url"))
}

struct ThoughtsVisitor;

impl<'de> Visitor<'de> for ThoughtsVisitor {
    type Value = Thoughts<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text or a list of text pieces")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Thoughts<'de>, E> {
        Ok(Thoughts(vec![Thought::Text(Cow::Borrowed(text))]))
    }

    fn visit_str<E>(self, text: &str) -> Result<Thoughts<'de>, E> {
        Ok(Thoughts(vec![Thought::Text(Cow::Owned(text.to_owned()))]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Thoughts<'de>, A::Error> {
        let mut thoughts = Vec::new();
        while let Some(raw) = seq.next_element::<&'de RawValue>()? {
            room::take(size_of::<Thought<'_>>())?;
            thoughts.extend(Thought::of(raw).map_err(A::Error::custom)?);
        }
        Ok(Thoughts(thoughts))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Thoughts<'de>, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Thoughts::default())
    }

    fn visit_bool<E>(self, _: bool) -> Result<Thoughts<'de>, E> {
        Ok(Thoughts::default())
    }

    fn visit_unit<E>(self) -> Result<Thoughts<'de>, E> {
        Ok(Thoughts::default())
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Thoughts<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ThoughtsVisitor)
    }
}
