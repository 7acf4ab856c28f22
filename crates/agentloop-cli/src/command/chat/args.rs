//! Options of `agentloop chat`, and the request that they describe.

use std::path::PathBuf;
use std::time::Duration;

use agentloop::limits::MAX_TIMEOUT;
use agentloop::{CacheMode, ChatRequest, ContentPart, Effort, OutputStrategy};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::Value;

use super::attachments::Attachments;
use crate::failure::Failure;
use crate::input;
use crate::setup::Setup;

/// Options of `agentloop chat`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The model, as provider/model or an alias [default: AGENTLOOP_MODEL, else default_model of the configuration]
    #[arg(short, long, value_name = "MODEL")]
    pub(super) model: Option<String>,

    /// The system prompt: instructions for the model.
    #[arg(short, long, value_name = "TEXT")]
    system: Option<String>,

    /// Print the complete ChatResponse as JSON when it is finished.
    #[arg(long, conflicts_with = "events")]
    pub(super) json: bool,

    /// Print one JSON event per line as the response arrives. An error is the last line, with the type "error".
    #[arg(long)]
    pub(super) events: bool,

    /// Request the complete response at once instead of a stream.
    #[arg(long)]
    pub(super) no_stream: bool,

    /// The sampling temperature; 0 gives the least random text [default: the model's own]
    #[arg(long, value_name = "T")]
    temperature: Option<f64>,

    /// The maximum length of the response in tokens, including thinking.
    #[arg(long, value_name = "N")]
    max_tokens: Option<u64>,

    /// The effort that the model spends on thinking [default: the model's own]
    #[arg(long, value_name = "LEVEL", value_parser = effort_parser())]
    effort: Option<Effort>,

    #[command(flatten)]
    attachments: Attachments,

    /// Save the images, audio and files of the response to this folder.
    #[arg(long, value_name = "DIR")]
    pub(super) save: Option<PathBuf>,

    /// Add a provider-specific field to the body of the request, for example --extra top_k=40. Can be repeated.
    #[arg(long = "extra", value_name = "NAME=JSON", value_parser = parse_extra)]
    extras: Vec<(String, Value)>,

    /// Print JSON that matches this JSON Schema. The value is a file or the schema itself.
    #[arg(long, value_name = "FILE|JSON", value_parser = parse_schema, conflicts_with = "events")]
    pub(super) schema: Option<Value>,

    /// How to request the schema: by the provider's own feature, by a tool call or in the prompt [default: the best that the
    /// model supports]
    #[arg(long, value_name = "STRATEGY", requires = "schema", value_parser = strategy_parser())]
    strategy: Option<OutputStrategy>,

    /// A model to use if the previous one fails, for example groq/llama-3.3-70b-versatile. Can be repeated.
    #[arg(long = "fallback", value_name = "MODEL")]
    pub(super) fallbacks: Vec<String>,

    /// The maximum number of retries after a temporary error [default: the configuration's [retry], else 0]
    #[arg(long, value_name = "N")]
    pub(super) retries: Option<u32>,

    /// Neither read from nor write to the cache that the configuration enables with [cache].
    #[arg(long)]
    no_cache: bool,

    /// The time limit of the whole call, for example 30 or 2.5. With retries it applies to each attempt.
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    timeout: Option<Duration>,

    /// The prompt. Text from stdin is appended after a blank line.
    #[arg(value_name = "PROMPT")]
    prompt: Vec<String>,
}

fn effort_parser() -> impl TypedValueParser<Value = Effort> {
    PossibleValuesParser::new(Effort::ALL.map(Effort::as_str)).try_map(|word| {
        Effort::ALL.into_iter().find(|effort| effort.as_str() == word).ok_or("unknown level")
    })
}

fn strategy_parser() -> impl TypedValueParser<Value = OutputStrategy> {
    const ALL: [OutputStrategy; 3] =
        [OutputStrategy::Native, OutputStrategy::Tool, OutputStrategy::Prompt];
    PossibleValuesParser::new(ALL.map(OutputStrategy::as_str)).try_map(|word| {
        ALL.into_iter().find(|strategy| strategy.as_str() == word).ok_or("unknown strategy")
    })
}

fn parse_schema(text: &str) -> Result<Value, String> {
    let json = match text.trim_start().starts_with('{') {
        true => text.to_owned(),
        false => std::fs::read_to_string(text)
            .map_err(|error| format!("cannot read the file: {error}"))?,
    };
    serde_json::from_str(&json).map_err(|error| format!("the schema is not JSON: {error}"))
}

fn parse_extra(text: &str) -> Result<(String, Value), String> {
    let (name, value) =
        text.split_once('=').ok_or("write it as NAME=JSON, for example top_k=40")?;
    let value = serde_json::from_str(value).map_err(|error| {
        format!("the value is not JSON: {error}; a string needs quotes: {name}='\"text\"'")
    })?;
    Ok((name.to_owned(), value))
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds")?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(Duration::ZERO) => Err("must be more than 0".to_owned()),
        Ok(duration) if duration <= MAX_TIMEOUT => Ok(duration),
        Err(_) if seconds.is_nan() => Err("not a number of seconds".to_owned()),
        Err(_) if seconds < 0.0 => Err("must not be negative".to_owned()),
        _ => Err(format!("must be at most a year ({} seconds)", MAX_TIMEOUT.as_secs())),
    }
}

impl Args {
    /// Builds the request, without its model.
    pub(super) fn into_request(self, setup: &Setup) -> Result<ChatRequest, Failure> {
        let prompt = input::read_prompt(&self.prompt, setup.notes)?;
        let attachments = self.attachments.read_parts()?;
        if prompt.trim().is_empty() && attachments.is_empty() {
            return Err(input::missing_prompt());
        }
        let mut request = ChatRequest::default();
        if let Some(system) = self.system {
            request = request.system(system);
        }
        request = match attachments.is_empty() {
            true => request.user(prompt),
            false => {
                let text = (!prompt.trim().is_empty()).then(|| ContentPart::text(prompt));
                request.user(text.into_iter().chain(attachments).collect::<Vec<_>>())
            }
        };
        request.temperature = self.temperature;
        request.max_tokens = self.max_tokens;
        request.reasoning_effort = self.effort;
        request.output_strategy = self.strategy;
        request.fallbacks = self.fallbacks;
        request.extra_body.extend(self.extras);
        request.cache = self.no_cache.then_some(CacheMode::Bypass);
        request.timeouts = setup.timeouts_with(self.timeout);
        Ok(request)
    }
}
