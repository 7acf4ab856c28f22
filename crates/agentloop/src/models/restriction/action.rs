//! Changes to requests that would be refused.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::chat::{Effort, Param, Protocol};
use crate::media::MediaKind;

/// A change to a request. An action that limits something (a range, a list of levels, a count) does not change a
/// request that is within the limit.
///
/// ```
/// use agentloop::models::Action;
/// use agentloop::provider::Param;
///
/// assert!(!Action::Drop(vec![Param::Temperature]).is_lossless());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Action {
    /// Leaves these parameters out.
    Drop(Vec<Param>),
    /// Sends the nearest number of a range.
    Clamp {
        /// The parameter.
        param: Param,
        /// The least value.
        min: f64,
        /// The greatest value.
        max: f64,
    },
    /// Leaves a text parameter out that is longer than so many bytes.
    Longest {
        /// The parameter: `user`, `prompt_cache_key` or `service_tier`.
        param: Param,
        /// The most bytes.
        bytes: usize,
    },
    /// Leaves entries of `metadata` out that do not fit.
    Metadata {
        /// The most entries.
        entries: usize,
        /// The most bytes of a key.
        key: usize,
        /// The most bytes of a value.
        value: usize,
    },
    /// Asks for no other kinds of output than these.
    Modalities(Vec<Cow<'static, str>>),
    /// Sends the nearest of these levels of effort.
    Efforts(Vec<Effort>),
    /// Sends this level of effort.
    Effort(Effort),
    /// Switches thinking off.
    ThinkingOff,
    /// Sets `max_tokens`.
    MaxTokens(u64),
    /// Lets the model choose whether it calls a tool.
    ChoiceAuto,
    /// Asks for JSON in the instructions instead of natively.
    FormatInWords,
    /// Adds an instruction that names JSON, in JSON mode, when no message does.
    SayJson,
    /// Sends the first tools up to this number, and the one that must be called.
    KeepTools(usize),
    /// Leaves the functions out.
    DropFunctions,
    /// Leaves the tools out that the provider runs itself.
    DropServerTools,
    /// Sends functions without `strict`.
    LooseTools,
    /// Takes these keywords out of the root of every function's schema.
    SchemaWithout(Vec<Cow<'static, str>>),
    /// Inserts a message of the assistant between a tool's result and the next message of the user.
    AssistantAfterTool,
    /// Asks the model to continue, in a message of the user, when the conversation ends with one of the assistant.
    NoPrefill,
    /// Shortens ids of tool calls to so many bytes, the same way every time.
    ShortenIds(usize),
    /// Refuses media of a kind that are not of these types. In results of tools they become a remark.
    MediaTypes {
        /// The kind.
        kind: MediaKind,
        /// The media types that are taken; empty means none.
        types: Vec<Cow<'static, str>>,
    },
    /// Sends a field of the body, unless the request sets it.
    Field {
        /// Its name; names of nested fields are joined by dots.
        path: Cow<'static, str>,
        /// Its value.
        value: Value,
    },
    /// Sends another model's name, and with it fields of the body and tools.
    SendAs {
        /// The name; absent sends none.
        #[serde(default)]
        model: Option<Cow<'static, str>>,
        /// Fields of the body, which the request may replace.
        #[serde(default)]
        fields: Map<String, Value>,
        /// The types of tools that the provider runs, which are added unless the request has them.
        #[serde(default)]
        tools: Vec<Cow<'static, str>>,
    },
    /// Speaks another protocol of the provider, unless the request chooses one.
    Speak(Protocol),
}

impl Action {
    /// Returns whether everything that was requested is still requested. Such a change is made in strict mode too.
    pub fn is_lossless(&self) -> bool {
        matches!(
            self,
            Self::ShortenIds(_)
                | Self::SchemaWithout(_)
                | Self::Field { .. }
                | Self::SendAs { .. }
                | Self::Speak(_)
        )
    }

    /// Describes the action, for the documentation.
    pub fn describe(&self) -> String {
        let ticked = |names: &mut dyn Iterator<Item = &str>| {
            names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        };
        let levels = |levels: &[Effort]| ticked(&mut levels.iter().map(|level| level.as_str()));
        match self {
            Self::Drop(params) => {
                format!("leaves out {}", ticked(&mut params.iter().map(|param| param.name())))
            }
            Self::Clamp { param, min, max } => format!("`{param}` from {min} to {max}"),
            Self::Longest { param, bytes } => format!("leaves out `{param}` over {bytes} bytes"),
            Self::Metadata { entries, key, value } => format!(
                "at most {entries} entries of `metadata`, keys to {key} and values to {value} bytes"
            ),
            Self::Modalities(known) => {
                format!("output: only {}", ticked(&mut known.iter().map(AsRef::as_ref)))
            }
            Self::Efforts(known) => format!("effort: nearest of {}", levels(known)),
            Self::Effort(level) => format!("effort `{}`", level.as_str()),
            Self::ThinkingOff => "switches thinking off".to_owned(),
            Self::MaxTokens(tokens) => format!("sends `max_tokens` {tokens}"),
            Self::ChoiceAuto => "sends `tool_choice` `auto`".to_owned(),
            Self::FormatInWords => "asks for JSON in the instructions".to_owned(),
            Self::SayJson => "adds an instruction that names JSON".to_owned(),
            Self::KeepTools(most) => format!("sends the first {most} tools"),
            Self::DropFunctions => "leaves the functions out".to_owned(),
            Self::DropServerTools => "leaves the server tools out".to_owned(),
            Self::LooseTools => "sends functions without `strict`".to_owned(),
            Self::SchemaWithout(words) => {
                format!("function schemas without {}", ticked(&mut words.iter().map(AsRef::as_ref)))
            }
            Self::AssistantAfterTool => {
                "inserts an assistant message after tool results".to_owned()
            }
            Self::NoPrefill => "asks to continue in a user message".to_owned(),
            Self::ShortenIds(most) => format!("tool call ids of at most {most} bytes"),
            Self::MediaTypes { kind, types } if types.is_empty() => format!("refuses every {kind}"),
            Self::MediaTypes { kind, types } => {
                let types = ticked(&mut types.iter().map(AsRef::as_ref));
                format!("refuses every {kind} that is not {types}")
            }
            Self::Field { path, value } => format!("sends `{path}`: `{value}`"),
            Self::SendAs { model, fields, tools } => {
                let mut sent: Vec<String> = Vec::new();
                sent.extend(model.iter().map(|model| format!("model `{model}`")));
                sent.extend(fields.iter().map(|(name, value)| format!("`{name}`: `{value}`")));
                sent.extend(tools.iter().map(|kind| format!("the tool `{kind}`")));
                format!("sends {}", sent.join(", "))
            }
            Self::Speak(protocol) => format!("speaks `{}`", protocol.name()),
        }
    }
}
