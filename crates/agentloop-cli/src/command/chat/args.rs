//! What was typed, and the request that it means.

use std::path::PathBuf;
use std::time::Duration;

use agentloop::limits::MAX_TIMEOUT;
use agentloop::{CacheMode, ChatRequest, ContentPart, Effort, OutputStrategy};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::Value;

use super::attached::Attached;
use crate::failure::Failure;
use crate::input;
use crate::setup::Setup;

/// What was typed.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The model, as provider/model or an alias; else AGENTLOOP_MODEL, else the configuration's default_model.
    #[arg(short, long, value_name = "MODEL")]
    pub(super) model: Option<String>,

    /// Instructions for the model.
    #[arg(short, long, value_name = "SYSTEM")]
    system: Option<String>,

    /// The whole ChatResponse as JSON, at the end.
    #[arg(long, conflicts_with = "events")]
    pub(super) json: bool,

    /// One event of the stream a line, as JSON; a failure is the last line, of type "error".
    #[arg(long)]
    pub(super) events: bool,

    /// Ask for the whole answer at once.
    #[arg(long)]
    pub(super) no_stream: bool,

    /// How freely to choose words; 0 is the least.
    #[arg(long, value_name = "T")]
    temperature: Option<f64>,

    /// The longest answer, in tokens, thinking included.
    #[arg(long, value_name = "N")]
    max_tokens: Option<u64>,

    /// How hard to think.
    #[arg(long, value_name = "LEVEL", value_parser = effort())]
    effort: Option<Effort>,

    #[command(flatten)]
    attached: Attached,

    /// Write the images, sounds and files of the answer into this folder.
    #[arg(long, value_name = "DIR")]
    pub(super) save: Option<PathBuf>,

    /// A field of the provider's own for the request's body, its value as JSON; may be given more than once.
    #[arg(long = "extra", value_name = "NAME=JSON", value_parser = extra)]
    extras: Vec<(String, Value)>,

    /// Answer with JSON that matches this JSON Schema: a file, or the schema itself.
    #[arg(long, value_name = "FILE|JSON", value_parser = schema, conflicts_with = "events")]
    pub(super) schema: Option<Value>,

    /// How the schema is asked for, instead of the best way that the model has.
    #[arg(long, value_name = "WAY", requires = "schema", value_parser = strategy())]
    strategy: Option<OutputStrategy>,

    /// A model to ask when the one before cannot answer; may be given more than once.
    #[arg(long = "fallback", value_name = "MODEL")]
    pub(super) fallbacks: Vec<String>,

    /// How often to try again what may succeed later; else as the configuration says.
    #[arg(long, value_name = "N")]
    pub(super) retries: Option<u32>,

    /// Ask also what was asked before, and leave the configuration's [cache] as it is.
    #[arg(long)]
    no_cache: bool,

    /// The longest that the whole call may take; where it is tried again, each try.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,

    /// What to say. Text that is piped in follows after a blank line.
    #[arg(value_name = "PROMPT")]
    prompt: Vec<String>,
}

fn effort() -> impl TypedValueParser<Value = Effort> {
    PossibleValuesParser::new(Effort::ALL.map(Effort::as_str)).try_map(|word| {
        Effort::ALL.into_iter().find(|effort| effort.as_str() == word).ok_or("no such level")
    })
}

fn strategy() -> impl TypedValueParser<Value = OutputStrategy> {
    const ALL: [OutputStrategy; 3] =
        [OutputStrategy::Native, OutputStrategy::Tool, OutputStrategy::Prompt];
    PossibleValuesParser::new(ALL.map(OutputStrategy::as_str)).try_map(|word| {
        ALL.into_iter().find(|strategy| strategy.as_str() == word).ok_or("no such way")
    })
}

fn schema(text: &str) -> Result<Value, String> {
    let read = match text.trim_start().starts_with('{') {
        true => text.to_owned(),
        false => std::fs::read_to_string(text).map_err(|error| error.to_string())?,
    };
    serde_json::from_str(&read).map_err(|error| format!("it is not JSON ({error})"))
}

fn extra(text: &str) -> Result<(String, Value), String> {
    let (name, value) = text.split_once('=').ok_or("write it as name=JSON")?;
    let value = serde_json::from_str(value).map_err(|error| {
        format!("the value is not JSON ({error}); text needs quotes: {name}='\"…\"'")
    })?;
    Ok((name.to_owned(), value))
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds")?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(Duration::ZERO) => Err("must be more than 0".to_owned()),
        Ok(duration) if duration <= MAX_TIMEOUT => Ok(duration),
        Err(_) if seconds.is_nan() => Err("not a number of seconds".to_owned()),
        Err(_) if seconds < 0.0 => Err("must not be negative".to_owned()),
        _ => Err(format!("must not be more than a year ({} seconds)", MAX_TIMEOUT.as_secs())),
    }
}

impl Args {
    /// The request, but for its model.
    pub(super) fn request(self, setup: &Setup) -> Result<ChatRequest, Failure> {
        let prompt = input::prompt(&self.prompt, setup.notes)?;
        let attached = self.attached.parts()?;
        if prompt.trim().is_empty() && attached.is_empty() {
            return Err(input::nothing());
        }
        let mut request = ChatRequest::default();
        if let Some(system) = self.system {
            request = request.system(system);
        }
        request = match attached.is_empty() {
            true => request.user(prompt),
            false => {
                let text = (!prompt.trim().is_empty()).then(|| ContentPart::text(prompt));
                request.user(text.into_iter().chain(attached).collect::<Vec<_>>())
            }
        };
        request.temperature = self.temperature;
        request.max_tokens = self.max_tokens;
        request.reasoning_effort = self.effort;
        request.output_strategy = self.strategy;
        request.fallbacks = self.fallbacks;
        request.extra_body.extend(self.extras);
        request.cache = self.no_cache.then_some(CacheMode::Bypass);
        request.timeouts = setup.timeouts(self.timeout);
        Ok(request)
    }
}
