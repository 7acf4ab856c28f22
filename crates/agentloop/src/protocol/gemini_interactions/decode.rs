//! Steps of a response → events: one state machine for streams and whole bodies.

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::growing::Steps;
use super::repeat::Added;
use super::usage::Usage;
use super::wire::Interaction;
use crate::calendar;
use crate::chat::{FinishReason, Warning};
use crate::error::Result;
use crate::protocol::json::compact;
use crate::protocol::rest::Kept;
use crate::protocol::{DecodeContext, Emitter, ReportedCost};

/// Reads one response.
#[derive(Debug)]
pub(crate) struct Decoder {
    pub(super) context: DecodeContext,
    pub(super) steps: Steps,
    metadata: Map<String, Value>,
    /// Fields that the protocol does not name, and those of its usage.
    rest: Kept,
    usage_rest: Kept,
    /// The status that the provider reported last, and the id of the interaction.
    pub(super) status: Option<String>,
    pub(super) id: String,
    /// What the last event added, if that was nothing but text.
    pub(super) added: Option<Added>,
}

impl Decoder {
    pub(crate) fn new(context: DecodeContext) -> Self {
        Self {
            context,
            steps: Steps::default(),
            metadata: Map::new(),
            rest: Kept::default(),
            usage_rest: Kept::default(),
            status: None,
            id: String::new(),
            added: None,
        }
    }

    /// Starts the response. A second start is ignored.
    pub(super) fn begin(
        &mut self,
        interaction: &Interaction<'_>,
        emitter: &mut Emitter,
    ) -> Result<()> {
        if let Some(id) = interaction.id.non_empty() {
            id.clone_into(&mut self.id);
        }
        if emitter.is_started() {
            return Ok(());
        }
        let asked = self.context.model();
        // An agent has no model.
        let model = interaction.model.non_empty().or(interaction.agent.non_empty());
        let created = interaction.created.non_empty().and_then(calendar::read_rfc3339);
        // The response to a request that is not stored has no id.
        emitter.start(&self.id, model.unwrap_or(asked), created);
        emitter.ensure_choice(0)
    }

    /// Begins the response if the provider left the beginning out.
    pub(super) fn ensure_started(&mut self, emitter: &mut Emitter) -> Result<()> {
        if emitter.is_started() { Ok(()) } else { self.begin(&Interaction::default(), emitter) }
    }

    /// Reads an interaction: all of it, or what was not streamed.
    pub(super) fn all(
        &mut self,
        interaction: &mut Interaction<'_>,
        emitter: &mut Emitter,
    ) -> Result<()> {
        self.begin(interaction, emitter)?;
        if let Some(usage) = &interaction.usage.0 {
            self.usage(usage, emitter);
        }
        if let Some(status) = interaction.status.non_empty() {
            self.status = Some(status.to_owned());
        }
        self.rest.keep(&interaction.rest);
        let words = [
            ("serviceTier", &interaction.service_tier),
            ("previousInteractionId", &interaction.previous_interaction_id),
            ("continuationToken", &interaction.continuation_token),
            ("environmentId", &interaction.environment_id),
            ("agent", &interaction.agent),
        ];
        for (name, word) in words {
            self.keep_word(name, word.non_empty(), emitter)?;
        }
        if let Some(errors) = interaction.errors.filter(super::wire::has_content) {
            emitter.keep_raw(&mut self.metadata, "errors", errors.get())?;
        }
        // The last event of a stream has no steps. If it has any, they are those that were streamed.
        if !self.steps.is_empty() {
            return Ok(());
        }
        let has_steps = !interaction.steps.is_empty();
        for step in std::mem::take(&mut interaction.steps) {
            self.steps.complete(step, emitter)?;
        }
        match interaction.outputs.filter(|_| !has_steps) {
            Some(outputs) => self.outputs(outputs, emitter),
            None => Ok(()),
        }
    }

    /// Reads contents that are not in a step.
    fn outputs(&mut self, contents: &RawValue, emitter: &mut Emitter) -> Result<()> {
        let step = format!(r#"{{"type":"model_output","content":{}}}"#, compact(contents.get()));
        match RawValue::from_string(step) {
            Ok(step) => self.steps.complete(&step, emitter),
            Err(_) => Ok(()),
        }
    }

    pub(super) fn usage(&mut self, usage: &Usage<'_>, emitter: &mut Emitter) {
        if let Some(usage) = usage.read(&mut self.usage_rest) {
            emitter.usage(usage, ReportedCost::Absent);
        }
    }

    pub(super) fn keep_word(
        &mut self,
        name: &str,
        word: Option<&str>,
        emitter: &mut Emitter,
    ) -> Result<()> {
        match word {
            Some(word) => emitter.keep(&mut self.metadata, name, Value::from(word)),
            None => Ok(()),
        }
    }

    /// Ends the response. `word` is the provider's own status.
    pub(super) fn close(&mut self, word: Option<String>, emitter: &mut Emitter) -> Result<()> {
        self.ensure_started(emitter)?;
        self.steps.stop_all(emitter)?;
        if let Some(error) = self.steps.take_error() {
            let message = error.get("message").and_then(Value::as_str).unwrap_or_default();
            let why = format!("the provider reports an error in a step: {message}");
            emitter.warn(Warning::about_response(why));
            emitter.keep(&mut self.metadata, "stepError", error)?;
        }
        let reason = match word.as_deref() {
            Some("completed") => FinishReason::Stop,
            Some("requires_action") => FinishReason::ToolCalls,
            // A response that could continue with another call was cut off too.
            Some("incomplete" | "budget_exceeded" | "requires_continuation") => {
                FinishReason::Length
            }
            Some(other) => FinishReason::from_word(other),
            None => {
                emitter.warn(Warning::about_response(
                    "the provider did not report a status; `completed` is assumed",
                ));
                FinishReason::Stop
            }
        };
        emitter.finish_choice(0, reason.with_tool_calls(self.steps.has_calls()), word);
        let full = self.usage_rest.put_as("usage", &mut self.metadata);
        for warning in full.into_iter().chain(self.rest.put_in(&mut self.metadata)) {
            emitter.warn(warning);
        }
        emitter.metadata(std::mem::take(&mut self.metadata));
        emitter.done()
    }

    /// Returns the error of an interaction that failed, as a body with one field.
    pub(super) fn failure(&mut self, interaction: &Interaction<'_>) -> Option<String> {
        if let Some(error) = interaction.error.filter(super::wire::has_content) {
            return Some(format!(r#"{{"error":{}}}"#, error.get()));
        }
        let listed = interaction.errors.and_then(|raw| {
            let list = crate::nesting::read_list(raw.get());
            list.into_iter().next()
        });
        let error = listed.or_else(|| self.steps.take_error())?;
        Some(json!({ "error": error }).to_string())
    }
}
