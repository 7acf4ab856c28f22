//! Options that change what is sent: parameters of the request, fallbacks, retries and timeouts.

use std::path::Path;
use std::time::Duration;

use agentloop::limits::{MAX_CONFIG_FILE_BYTES, MAX_TIMEOUT};
use agentloop::{CacheMode, ChatRequest, Effort, OutputStrategy, Protocol};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::Value;

use crate::files;
use crate::setup::Setup;

/// Options that change what is sent.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Request")]
pub(crate) struct Parameters {
    /// The sampling temperature; 0 gives the least random text [default: the model's own]
    #[arg(long, value_name = "T")]
    temperature: Option<f64>,

    /// Sample only from the most likely tokens whose probabilities add up to P, for example 0.9 [default: the model's own]
    #[arg(long, value_name = "P")]
    top_p: Option<f64>,

    /// The maximum length of each response in tokens, including thinking.
    #[arg(long, value_name = "N")]
    max_tokens: Option<u64>,

    /// The effort that the model spends on thinking [default: the model's own]
    #[arg(long, value_name = "LEVEL", value_parser = effort_parser())]
    effort: Option<Effort>,

    /// The protocol to use, for example openai_chat or anthropic [default: the provider's protocol]
    #[arg(long, value_name = "PROTOCOL", value_parser = crate::args::parse_protocol)]
    protocol: Option<Protocol>,

    /// Add a provider-specific field to the body of the request, for example --extra top_k=40. Can be repeated.
    #[arg(long = "extra", value_name = "NAME=JSON", value_parser = parse_extra)]
    extras: Vec<(String, Value)>,

    /// Leave out attachments that the model does not accept, with a warning, instead of failing.
    #[arg(long)]
    lenient: bool,

    /// A model to use if the previous one fails, for example groq/llama-3.3-70b-versatile. Can be repeated.
    #[arg(long = "fallback", value_name = "MODEL")]
    pub(in crate::command) fallbacks: Vec<String>,

    /// The maximum number of retries after a temporary error [default: the configuration's [retry], else 2]
    #[arg(long, value_name = "N")]
    pub(in crate::command) retries: Option<u32>,

    /// The time limit of each response, for example 30 or 2.5. With retries it applies to each attempt.
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    timeout: Option<Duration>,

    /// Neither read from nor write to the cache that the configuration enables with [cache].
    #[arg(long)]
    no_cache: bool,
}

impl Parameters {
    /// Sets the parameters that are given. The others keep their values.
    pub(in crate::command) fn apply(&self, request: &mut ChatRequest, setup: &Setup) {
        request.temperature = self.temperature.or(request.temperature);
        request.top_p = self.top_p.or(request.top_p);
        request.max_tokens = self.max_tokens.or(request.max_tokens);
        request.reasoning_effort = self.effort.or(request.reasoning_effort);
        request.protocol = self.protocol.or(request.protocol);
        request.extra_body.extend(self.extras.iter().cloned());
        request.lenient |= self.lenient;
        if !self.fallbacks.is_empty() {
            request.fallbacks.clone_from(&self.fallbacks);
        }
        request.timeouts = setup.timeouts_with(self.timeout).or(request.timeouts);
        if self.no_cache {
            request.cache = Some(CacheMode::Bypass);
        }
    }

    /// Returns whether an option changes the request.
    pub(in crate::command) fn is_used(&self, setup: &Setup) -> bool {
        let mut request = ChatRequest::default();
        self.apply(&mut request, setup);
        request != ChatRequest::default()
    }
}

fn effort_parser() -> impl TypedValueParser<Value = Effort> {
    PossibleValuesParser::new(Effort::ALL.map(Effort::as_str)).try_map(|word| {
        Effort::ALL.into_iter().find(|effort| effort.as_str() == word).ok_or("unknown level")
    })
}

/// Returns a parser for the ways to request a schema.
pub(super) fn strategy_parser() -> impl TypedValueParser<Value = OutputStrategy> {
    const ALL: [OutputStrategy; 3] =
        [OutputStrategy::Native, OutputStrategy::Tool, OutputStrategy::Prompt];
    PossibleValuesParser::new(ALL.map(OutputStrategy::as_str)).try_map(|word| {
        ALL.into_iter().find(|strategy| strategy.as_str() == word).ok_or("unknown strategy")
    })
}

/// Parses a schema, or reads it from a file.
pub(in crate::command) fn parse_schema(text: &str) -> Result<Value, String> {
    let json = if text.trim_start().starts_with('{') {
        text.to_owned()
    } else {
        files::read_regular_text(Path::new(text), MAX_CONFIG_FILE_BYTES)
            .map_err(|error| format!("cannot read the file: {error}"))?
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

/// Parses a time limit.
pub(in crate::command) fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds")?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(Duration::ZERO) => Err("must be more than 0".to_owned()),
        Ok(duration) if duration <= MAX_TIMEOUT => Ok(duration),
        Err(_) if seconds.is_nan() => Err("not a number of seconds".to_owned()),
        Err(_) if seconds < 0.0 => Err("must not be negative".to_owned()),
        _ => Err(format!("must be at most a year ({} seconds)", MAX_TIMEOUT.as_secs())),
    }
}
