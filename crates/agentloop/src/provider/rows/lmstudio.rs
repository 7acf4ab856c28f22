//! LM Studio, on this machine.
//!
//! Sources, read on 2026-11-16: reports of others. JSON mode without a schema gets 400 (lmstudio-bug-tracker#189, confirmed for
//! LM Studio 0.4.20 in webai-at-home#219). There are no recordings.

use super::common::local;
use crate::provider::quirks::{IncludeForm, JsonSchemaSupport};
use crate::provider::{Feature, Provider};

impl Provider {
    /// Returns the built-in provider `lmstudio`: LM Studio on this machine, at port 1234. The key in `LMSTUDIO_API_KEY` is
    /// sent if it is set.
    ///
    /// ```
    /// use agentloop::{AgentLoop, Provider};
    ///
    /// let elsewhere = Provider::lmstudio().base_url("http://192.168.1.20:1234/v1");
    /// let ai = AgentLoop::builder().provider(elsewhere).build()?;
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    pub fn lmstudio() -> Self {
        local("lmstudio", "http://localhost:1234/v1", "LMSTUDIO_API_KEY")
            .quirks(|q| q.json_schema = JsonSchemaSupport::SchemaOnly)
            .also_responses(|row| row.quirks(|q| q.include = IncludeForm::Refused))
            .makes([Feature::Thinking])
    }
}
