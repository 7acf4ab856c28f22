//! The JSON of responses, exactly as the API names it.

use serde_json::value::RawValue;

use super::usage::Usage;
use crate::protocol::fields::Fields;
use crate::protocol::fill::fill;
use crate::protocol::lenient::{Few, Int, Object, Text};
use crate::protocol::rest::Rest;

/// An event of a stream. Each kind of event has a few of the fields.
#[derive(Debug, Default)]
pub(super) struct Event<'a> {
    pub(super) kind: Text<'a>,
    /// The number of the step that the event belongs to.
    pub(super) index: Int,
    pub(super) step: Option<&'a RawValue>,
    pub(super) delta: Object<Fields<'a>>,
    pub(super) interaction: Object<Interaction<'a>>,
    /// Of an update of the status.
    pub(super) interaction_id: Text<'a>,
    pub(super) status: Text<'a>,
    pub(super) usage: Object<Usage<'a>>,
    pub(super) continuation_token: Text<'a>,
    pub(super) error: Option<&'a RawValue>,
}

fill!(Event {
    "event_type" => kind,
    "index" => index,
    "interaction_id" => interaction_id,
    "status" => status,
    "continuation_token" => continuation_token,
    "step" => step,
    "error" => error;
    "delta" => delta,
    "interaction" => interaction,
    "usage" => usage
});

/// An interaction: a whole body, or what is known of it while it is streamed.
#[derive(Debug, Default)]
pub(super) struct Interaction<'a> {
    /// Absent or empty if the interaction is not stored.
    pub(super) id: Text<'a>,
    pub(super) object: Text<'a>,
    pub(super) status: Text<'a>,
    pub(super) model: Text<'a>,
    pub(super) agent: Text<'a>,
    pub(super) created: Text<'a>,
    pub(super) steps: Few<&'a RawValue>,
    /// The contents of models of music, which have no steps (`Interaction._maybe_coerce_outputs` of the SDK).
    pub(super) outputs: Option<&'a RawValue>,
    pub(super) usage: Object<Usage<'a>>,
    pub(super) service_tier: Text<'a>,
    pub(super) previous_interaction_id: Text<'a>,
    pub(super) continuation_token: Text<'a>,
    pub(super) environment_id: Text<'a>,
    pub(super) error: Option<&'a RawValue>,
    pub(super) errors: Option<&'a RawValue>,
    pub(super) rest: Rest<'a>,
}

// Fields that repeat the request are skipped: they are long, and the caller has them.
fill!(Interaction {
    "id" => id,
    "object" => object,
    "status" => status,
    "model" => model,
    "agent" => agent,
    "created" => created,
    "outputs" => outputs,
    "service_tier" => service_tier,
    "previous_interaction_id" => previous_interaction_id,
    "continuation_token" => continuation_token,
    "environment_id" => environment_id,
    "error" => error,
    "errors" => errors,
    "steps" => steps;
    "usage" => usage
} rest except
    "updated", "input", "system_instruction", "tools", "generation_config", "agent_config", "response_format", "response_mime_type",
    "response_modalities", "safety_settings", "webhook_config", "cached_content", "environment", "labels", "store", "stream", "background",
    "role"
);

/// Returns whether an error has any content.
pub(super) fn has_content(raw: &&RawValue) -> bool {
    !matches!(raw.get(), "{}" | "[]" | "\"\"" | "false" | "null")
}
