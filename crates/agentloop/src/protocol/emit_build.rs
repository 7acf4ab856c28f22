//! What is set on an emitter before its first step.

use super::Emitter;
use crate::models::Pricing;
use crate::protocol::ToolNames;
use crate::protocol::output::{OutputForm, OutputParts};

impl Emitter {
    /// Sets the id by which the provider's support knows the call.
    #[inline]
    pub(crate) fn with_request_id(mut self: Box<Self>, id: Option<String>) -> Box<Self> {
        self.request_id = id;
        self
    }

    /// Undoes the names under which tools were sent.
    #[inline]
    pub(crate) fn with_names(mut self: Box<Self>, names: ToolNames) -> Box<Self> {
        self.names = names;
        self
    }

    /// Sets the prices, from which the cost is computed if the provider does not report it.
    #[inline]
    pub(crate) fn with_pricing(mut self: Box<Self>, pricing: Pricing) -> Box<Self> {
        self.pricing = pricing.model.is_some().then_some(pricing);
        self
    }

    /// Sets the form in which the output was requested, so the response can be restored from it.
    #[inline]
    pub(crate) fn with_form(mut self: Box<Self>, form: OutputForm) -> Box<Self> {
        self.strategy = form.strategy;
        self.output = OutputParts::new(form);
        self
    }

    /// Makes up the same id in every reading of the same bytes.
    pub(crate) fn reproducibly(mut self) -> Self {
        self.reproducible = true;
        self
    }
}
