//! Reads messages: in the library's own form, and as OpenAI and compatible providers return them.

use serde::{Deserialize, Deserializer, de};
use serde_json::{Value, json};

use super::call::Function;
use super::{StateForm, nullable};
use crate::chat::{
    AudioPart, CacheControl, ChatMessage, Citation, ContentPart, ImagePart, MessageContent,
    OpaqueCitation, OpaquePart, Origin, ProviderState, Role, TextPart, ThinkingPart, ToolCall,
    UrlCitation, file_citation,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    role: Speaker,
    #[serde(default)]
    content: Option<MessageContent>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default, deserialize_with = "nullable")]
    tool_calls: Vec<ToolCall>,
    #[serde(default)]
    tool_call_id: Option<String>,
    #[serde(default, deserialize_with = "nullable")]
    is_error: bool,
    #[serde(default)]
    cache_control: Option<CacheControl>,
    #[serde(default)]
    origin: Option<Origin>,

    // What providers return in an assistant message.
    #[serde(default)]
    refusal: Option<String>,
    #[serde(default, deserialize_with = "nullable")]
    annotations: Vec<Value>,
    #[serde(default)]
    audio: Option<Audio>,
    #[serde(default)]
    function_call: Option<Function>,
    #[serde(default)]
    reasoning_content: Option<String>,
    #[serde(default)]
    reasoning: Option<String>,
    #[serde(default, deserialize_with = "nullable")]
    reasoning_details: Vec<Value>,
    #[serde(default, deserialize_with = "nullable")]
    images: Vec<Value>,
    #[serde(default)]
    extra_content: Option<Value>,
    #[serde(default)]
    executed_tools: Option<Value>,
    #[serde(default)]
    provider_metadata: Option<Value>,
}

/// The roles, with their older and alternative names.
#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Speaker {
    #[serde(alias = "developer")]
    System,
    User,
    #[serde(alias = "model")]
    Assistant,
    Tool,
    Function,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Audio {
    id: String,
    #[serde(default, deserialize_with = "nullable")]
    data: String,
    #[serde(default)]
    transcript: Option<String>,
    #[serde(default)]
    expires_at: Option<i64>,
    #[serde(default)]
    format: Option<String>,
}

impl<'de> Deserialize<'de> for ChatMessage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut form = Form::deserialize(deserializer)?;
        let role = match form.role {
            Speaker::System => Role::System,
            Speaker::User => Role::User,
            Speaker::Assistant => Role::Assistant,
            Speaker::Tool | Speaker::Function => Role::Tool,
        };
        if role == Role::Assistant {
            form.gather();
        } else if let Some(name) = form.returned() {
            return Err(de::Error::custom(format!(
                "`{name}` belongs to messages of the assistant, not of `{}`",
                role.as_str()
            )));
        }
        if form.role == Speaker::Function {
            // Calls in that older form have no id; the name identifies the call.
            form.tool_call_id.get_or_insert_default();
        }
        let Form {
            content, name, tool_calls, tool_call_id, is_error, cache_control, origin, ..
        } = form;
        Ok(Self { role, content, name, tool_calls, tool_call_id, is_error, cache_control, origin })
    }
}

impl Form {
    /// Returns the first field that only messages of the assistant have.
    fn returned(&self) -> Option<&'static str> {
        let list: [(&str, bool); 11] = [
            ("refusal", self.refusal.is_some()),
            ("annotations", !self.annotations.is_empty()),
            ("audio", self.audio.is_some()),
            ("function_call", self.function_call.is_some()),
            ("reasoning_content", self.reasoning_content.is_some()),
            ("reasoning", self.reasoning.is_some()),
            ("reasoning_details", !self.reasoning_details.is_empty()),
            ("images", !self.images.is_empty()),
            ("extra_content", self.extra_content.is_some()),
            ("executed_tools", self.executed_tools.is_some()),
            ("provider_metadata", self.provider_metadata.is_some()),
        ];
        list.into_iter().find(|(_, set)| *set).map(|(name, _)| name)
    }

    /// Turns the fields beside the content into parts, in the order in which a model produces them.
    fn gather(&mut self) {
        if let Some(function) = self.function_call.take() {
            self.tool_calls.push(function.into_tool_call());
        }
        if self.returned().is_none() {
            return;
        }
        let owner = self.origin.as_ref().map(|origin| origin.provider.clone());
        let of = |known: &str| owner.clone().unwrap_or_else(|| known.to_owned());
        let mut parts = Vec::new();
        parts.extend(self.thinking(&of).map(ContentPart::Thinking));
        let before = parts.len();
        match self.content.take() {
            Some(MessageContent::Text(text)) if !text.is_empty() => {
                parts.push(ContentPart::text(text));
            }
            Some(MessageContent::Parts(more)) => parts.extend(more),
            _ => {}
        }
        if let Some(refusal) = self.refusal.take().filter(|refusal| !refusal.is_empty()) {
            parts.push(ContentPart::text(refusal));
        }
        self.annotate(&mut parts, before, &of);
        parts.extend(self.images.drain(..).map(picture));
        if let Some(Audio { id, data, transcript, expires_at, format }) = self.audio.take() {
            let state = ProviderState::new(of(StateForm::AudioId.maker()), json!({ "id": id }));
            parts.push(ContentPart::Audio(AudioPart {
                mime_type: format!("audio/{}", format.as_deref().unwrap_or("*")),
                data,
                transcript,
                expires_at,
                provider_state: Some(Box::new(state)),
            }));
        }
        // Records that cannot be sent back. They are parts, so leaving them out is a warning.
        for (kind, data) in [
            ("executed_tools", self.executed_tools.take()),
            ("provider_metadata", self.provider_metadata.take()),
        ] {
            parts.extend(data.map(|data| opaque(kind, data)));
        }
        self.content = Some(MessageContent::Parts(parts));
    }

    fn thinking(&mut self, of: &impl Fn(&str) -> String) -> Option<ThinkingPart> {
        let texts = [self.reasoning_content.take(), self.reasoning.take()];
        let thoughts = texts.into_iter().flatten().find(|text| !text.is_empty());
        let details = std::mem::take(&mut self.reasoning_details);
        if thoughts.is_none() && details.is_empty() {
            return None;
        }
        let text = |detail: &Value| {
            let text = detail.get("text").or_else(|| detail.get("summary"))?;
            text.as_str().map(str::to_owned)
        };
        let thinking = thoughts.unwrap_or_else(|| details.iter().filter_map(text).collect());
        let state = (!details.is_empty()).then(|| {
            let data = json!({ "reasoning_details": details });
            Box::new(ProviderState::new(of(StateForm::ReasoningDetails.maker()), data))
        });
        Some(ThinkingPart { thinking, signature: None, provider_state: state })
    }

    /// Attaches sources, and state that a vendor attached to the message, to the text that they belong to.
    fn annotate(
        &mut self,
        parts: &mut Vec<ContentPart>,
        from: usize,
        of: &impl Fn(&str) -> String,
    ) {
        let annotations = std::mem::take(&mut self.annotations);
        let extra = self.extra_content.take().filter(|extra| !extra.is_null());
        let text = parts[from..].iter_mut().rev().find_map(|part| match part {
            ContentPart::Text(text) => Some(text),
            _ => None,
        });
        match text {
            Some(TextPart { citations, provider_state, .. }) => {
                citations.extend(annotations.into_iter().map(|source| citation(source, of)));
                if let Some(extra) = extra {
                    let state = vendor_state(&extra, of);
                    provider_state.get_or_insert_with(|| Box::new(state));
                }
            }
            None => {
                if !annotations.is_empty() {
                    parts.push(opaque("annotations", Value::Array(annotations)));
                }
                if let Some(extra) = extra {
                    let state = Some(Box::new(vendor_state(&extra, of)));
                    let text = TextPart { provider_state: state, ..TextPart::default() };
                    parts.push(ContentPart::Text(text));
                }
            }
        }
    }
}

/// Returns state that a provider attached under its name: `{"google": {"thought_signature": "…"}}`.
pub(crate) fn vendor_state(extra: &Value, of: &impl Fn(&str) -> String) -> ProviderState {
    let vendor = extra.as_object().and_then(|fields| fields.keys().next());
    let provider = of(vendor.map_or("", String::as_str));
    ProviderState::new(provider, json!({ "extra_content": extra }))
}

fn opaque(kind: &str, data: Value) -> ContentPart {
    ContentPart::Opaque(OpaquePart { provider: String::new(), kind: kind.to_owned(), data })
}

fn citation(source: Value, of: &impl Fn(&str) -> String) -> Citation {
    let kind = source.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    let inner = source.get(&kind).unwrap_or(&source);
    let word = |name: &str| inner.get(name).and_then(Value::as_str).map(str::to_owned);
    match word("url") {
        Some(url) if kind == "url_citation" => Citation::Url(UrlCitation {
            url,
            title: word("title"),
            cited_text: word("content"),
            start_index: inner.get("start_index").and_then(Value::as_u64),
            end_index: inner.get("end_index").and_then(Value::as_u64),
            ..UrlCitation::default()
        }),
        _ => match file_citation::read(source, &of("")) {
            Ok(file) => Citation::File(file),
            Err(data) => Citation::Opaque(OpaqueCitation { provider: of(""), kind, data }),
        },
    }
}

fn picture(image: Value) -> ContentPart {
    let place = image.get("image_url").unwrap_or(&image);
    let Some(url) = place.as_str().or_else(|| place.get("url")?.as_str()) else {
        return opaque("images", image);
    };
    let part = match url.strip_prefix("data:").and_then(|data| data.split_once(";base64,")) {
        Some((mime_type, data)) => ImagePart {
            mime_type: mime_type.to_owned(),
            data: data.to_owned(),
            ..ImagePart::default()
        },
        None => ImagePart {
            mime_type: "image/*".to_owned(),
            url: Some(url.to_owned()),
            ..ImagePart::default()
        },
    };
    ContentPart::Image(part)
}
